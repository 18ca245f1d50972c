/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

int
table_begin(struct table *t, const struct table_style *style)
{
	if (t->names == NULL && (t->names = calloc(SERIES_FIELDS_MAX, sizeof(*t->names))) == NULL)
		return NW_ENOMEM;
	t->style = style;
	t->n = 0;
	t->changed = false;
	return NW_OK;
}

static bool
is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "Active(anon)" is no name for a column: characters that are neither letter nor digit become
 * one underscore between words. */
static void
put_plain(char out[TABLE_NAME_BYTES], const char *name)
{
	size_t n = 0;

	for (; *name != '\0'; name++) {
		if (is_word_char(*name))
			out[n++] = *name;
		else if (n > 0 && out[n - 1] != '_')
			out[n++] = '_';
	}
	while (n > 0 && out[n - 1] == '_')
		n--;
	out[n] = '\0';
}

static void
describe(struct table *t, size_t i, const char *unit)
{
	const struct table_style *style = t->style;
	const struct table_alias *a = style->aliases;
	struct table_name *name = &t->names[i];
	struct series_field *f = &t->fields[i];

	while (a != NULL && a->theirs != NULL && strcmp(a->theirs, name->theirs) != 0)
		a++;
	if (a != NULL && a->theirs == NULL)
		a = NULL;
	put_plain(name->ours, a != NULL && a->ours != NULL ? a->ours : name->theirs);
	f->name = name->ours;
	f->unit = a != NULL && a->unit != NULL ? a->unit : unit != NULL ? unit : style->unit;
	f->counter = style->counter != (a != NULL && a->other_kind);
	if (style->gauge_prefix != NULL &&
	    strncmp(name->theirs, style->gauge_prefix, strlen(style->gauge_prefix)) == 0)
		f->counter = false;
}

void
table_put(struct table *t, struct scan name, double value, const char *unit)
{
	size_t len = (size_t)(name.end - name.at), i = t->n;
	char *theirs;

	if (i == SERIES_FIELDS_MAX || len == 0 || len >= TABLE_NAME_BYTES)
		return;
	theirs = t->names[i].theirs;
	if (i >= t->n_known || memcmp(theirs, name.at, len) != 0 || theirs[len] != '\0') {
		memcpy(theirs, name.at, len);
		theirs[len] = '\0';
		describe(t, i, unit);
		t->changed = true;
	}
	t->values[i] = value;
	t->n++;
}

int
table_send(struct table *t, struct report *r)
{
	if (t->n == 0)
		return NW_OK;
	if (t->changed || t->n != t->n_known)
		t->series.announced = false;
	t->n_known = t->n;
	t->kind = (struct series_kind){ t->style->event_type, NULL, t->fields, t->n };
	return series_send(&t->series, &t->kind, r, t->values);
}

double
table_get(const struct table *t, const char *ours)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->names[i].ours, ours) == 0)
			return t->values[i];
	return NAN;
}

void
table_clear(struct table *t)
{
	free(t->names);
	t->names = NULL;
}
