/* SPDX-License-Identifier: BSD-3-Clause */
/* How the kinds about one series find their columns. */
#include "cli/stat/stat_series.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "narrows/fnv.h"

int
series_table(const struct stat_args *a, struct stat_table **out, struct stat_error *err)
{
	const char *const *files;

	*out = NULL;
	if (stat_arg_files(a, &files) > 1)
		return stat_fail(
		    err, NW_EINVAL, "one file at a time: \"%.60s\" is too much", files[1]);
	return stat_table_read(files[0], out, err);
}

static bool
is_one_of(const char *name, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcasecmp(name, *words) == 0)
			return true;
	return false;
}

bool
column_is_clock(const struct stat_table *t, size_t col)
{
	static const char *const words[] = { "t", "time", "timestamp", "start", "start_time",
		"index", "row", "window", NULL };

	return is_one_of(t->cols[col].name, words);
}

bool
column_is_numeric(const struct stat_table *t, size_t col)
{
	const struct stat_column *c = &t->cols[col];

	return c->n_text == 0 || c->n_text + c->n_missing < t->n_rows;
}

size_t
series_column(const struct stat_table *t, const char *wanted, struct stat_error *err)
{
	static const char *const usual[] = { "duration", "duration_s", "duration_ns", "value", "y",
		NULL };
	size_t col, found = SIZE_MAX, named = SIZE_MAX, n = 0;
	long at;

	if (wanted != NULL) {
		if ((at = stat_table_find(t, wanted)) < 0)
			stat_fail(
			    err, NW_ENOTFOUND, "%s:1:1: no column \"%.40s\"", t->file, wanted);
		return at < 0 ? SIZE_MAX : (size_t)at;
	}
	if (t->n_cols == 1)
		return 0;
	for (col = 0; col < t->n_cols; col++) {
		if (!column_is_numeric(t, col) || column_is_clock(t, col))
			continue;
		if (named == SIZE_MAX && is_one_of(t->cols[col].name, usual))
			named = col;
		found = col;
		n++;
	}
	if (n == 1 || named != SIZE_MAX)
		return n == 1 ? found : named;
	stat_fail(err, NW_EINVAL, "%s:1:1: %s column of numbers; choose with --column", t->file,
	    n == 0 ? "no" : "more than one");
	return SIZE_MAX;
}

size_t
name_column(const struct stat_table *t, const char *wanted)
{
	static const char *const usual[] = { "group", "component", "condition", "name", "id",
		NULL };
	size_t col;

	if (wanted != NULL)
		return stat_table_find(t, wanted) < 0 ? SIZE_MAX
						      : (size_t)stat_table_find(t, wanted);
	for (col = 0; col < t->n_cols; col++)
		if (is_one_of(t->cols[col].name, usual))
			return col;
	for (col = 0; col < t->n_cols; col++)
		if (!column_is_numeric(t, col))
			return col;
	return SIZE_MAX;
}

int
series_groups_make(const char *const *text, size_t n_rows, struct series_groups *out)
{
	size_t n_slots = 16, row, at;
	/* 1 + group; 0 marks a free slot. At most half of the slots are taken. */
	uint32_t *slots, group;

	*out = (struct series_groups){ 0 };
	while (n_slots < 2 * n_rows)
		n_slots *= 2;
	slots = calloc(n_slots, sizeof(*slots));
	out->name = malloc((n_rows + 1) * sizeof(*out->name));
	out->of = malloc((n_rows + 1) * sizeof(*out->of));
	if (slots == NULL || out->name == NULL || out->of == NULL || n_rows >= UINT32_MAX) {
		free(slots);
		series_groups_free(out);
		return NW_ENOMEM;
	}
	for (row = 0; row < n_rows; row++) {
		at = fnv_text(FNV_BEGIN, text[row]) & (n_slots - 1);
		while ((group = slots[at]) != 0 && strcmp(out->name[group - 1], text[row]) != 0)
			at = (at + 1) & (n_slots - 1);
		if (group == 0) {
			out->name[out->n++] = text[row];
			slots[at] = group = (uint32_t)out->n;
		}
		out->of[row] = group - 1;
	}
	free(slots);
	return NW_OK;
}

void
series_groups_free(struct series_groups *g)
{
	free(g->name);
	free(g->of);
	*g = (struct series_groups){ 0 };
}
