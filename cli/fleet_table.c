/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/fleet_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/clock.h"
#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

enum { WIDTH_MAX = 48 };

int
fleet_texts_add(void *arg, size_t n, const char *const *texts)
{
	struct fleet_texts *t = arg;
	size_t i;

	if (t->n_rows > 0 && t->keeps != NULL && !t->keeps(t->after_ns, texts))
		return NW_OK;
	if ((t->n_rows + 1) * n > t->cap) {
		t->cap = 2 * (t->n_rows + 1) * n;
		t->cells = xreallocarray(t->cells, t->cap, sizeof(*t->cells));
	}
	t->n = n;
	for (i = 0; i < n; i++)
		t->cells[t->n_rows * n + i] = xstrdup(texts[i]);
	t->n_rows++;
	return NW_OK;
}

static void
table_print(const struct fleet_texts *t)
{
	int *width = xcalloc(t->n + 1, sizeof(*width)), len;
	const char *text;
	size_t r, c;

	for (r = 0; r < t->n_rows; r++)
		for (c = 0; c < t->n; c++) {
			text = t->cells[r * t->n + c];
			len = text != NULL ? (int)strlen(terminal_text(text)) : 1;
			len = len < WIDTH_MAX ? len : WIDTH_MAX;
			width[c] = len > width[c] ? len : width[c];
		}
	for (r = 0; r < t->n_rows; r++)
		for (c = 0; c < t->n; c++) {
			text = t->cells[r * t->n + c];
			printf("%-*s%s", c + 1 < t->n ? width[c] : 0,
			    text != NULL ? terminal_text(text) : "-", c + 1 < t->n ? "  " : "\n");
		}
	free(width);
}

static void
table_print_json(const struct fleet_texts *t)
{
	json_t *o;
	size_t r, c;

	for (r = 1; r < t->n_rows; r++) {
		o = json_object();
		for (c = 0; c < t->n; c++)
			json_object_set_new(o, t->cells[c],
			    t->cells[r * t->n + c] != NULL ? json_string(t->cells[r * t->n + c])
							   : json_null());
		json_dumpf(o, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(o);
	}
}

static void
table_print_csv(const struct fleet_texts *t)
{
	size_t i;

	for (i = 0; i < t->n * t->n_rows; i++) {
		if (t->cells[i] != NULL)
			csv_cell(stdout, t->cells[i], 0);
		fputs((i + 1) % t->n == 0 ? "\r\n" : ",", stdout);
	}
}

void
fleet_texts_clear(struct fleet_texts *t)
{
	size_t i;

	for (i = 0; i < t->n * t->n_rows; i++)
		free(t->cells[i]);
	free(t->cells);
}

void
fleet_texts_print(const struct fleet_texts *t, enum fleet_form form)
{
	if (t->n_rows > 0)
		(form == FORM_CSV           ? table_print_csv
			: form == FORM_JSON ? table_print_json
					    : table_print)(t);
}

int
fleet_texts_column(const struct fleet_texts *t, const char *name)
{
	size_t c;

	for (c = 0; t->n_rows > 0 && c < t->n; c++)
		if (strcmp(t->cells[c], name) == 0)
			return (int)c;
	return -1;
}

/* Columns of the report: site, seen_ns, clock, ... */
bool
fleet_is_silent(int64_t after_ns, const char *const *texts)
{
	return texts[1] == NULL || strtoll(texts[1], NULL, 10) < nw_wall_ns() - after_ns;
}

bool
fleet_is_clockless(int64_t after_ns, const char *const *texts)
{
	(void)after_ns;
	return texts[2] == NULL || strcmp(texts[2], "synchronised") != 0;
}
