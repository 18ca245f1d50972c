/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/conftable.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/quantity.h"

enum { LINE_BYTES = 1024 };

static const char blanks[] = " \t\r\n\v\f";
static const char out_of_range[] = "out of range"; /* the engine appends the bounds */

/* --- types --- */

const char *
conf_or_null(const char *value)
{
	return strcmp(value, "none") != 0 ? value : NULL;
}

int
conf_text_set(void *field, const char *value, const char **why)
{
	char **text = field, *copy = strdup(value);

	if (copy == NULL) {
		*why = nw_strerror(NW_ENOMEM);
		return NW_ENOMEM;
	}
	free(*text);
	*text = copy;
	return NW_OK;
}

int
conf_line_add(void *field, const char *value, const char **why)
{
	const char *before = *(char *const *)field;
	char *all;
	int rc;

	if (asprintf(&all, "%s%s%s", before != NULL ? before : "", before != NULL ? "\n" : "",
		value) < 0)
		return NW_ENOMEM;
	rc = conf_text_set(field, all, why);
	free(all);
	return rc;
}

static int
text_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	if (*value != '\0')
		return conf_text_set(field, value, why);
	*why = "empty";
	return NW_EINVAL;
}

static int
bool_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	bool *yes = field;

	(void)row;
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) {
		*why = "write yes or no";
		return NW_EINVAL;
	}
	*yes = value[0] == 'y';
	return NW_OK;
}

/* The words of a row stand between ", " and " or ". */
static int
word_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	size_t len = strlen(value), n;
	const char *at = row->min;
	int *place = field, i;

	for (i = 0; *at != '\0'; i++) {
		n = strcspn(at, ", ");
		if (n == len && memcmp(at, value, n) == 0) {
			*place = i;
			return NW_OK;
		}
		at += n;
		at += strspn(at, ", ");
		if (strncmp(at, "or ", 3) == 0)
			at += 3;
	}
	*why = row->min;
	return NW_EINVAL;
}

static int
bounded_parse(const struct conf_row *row, const char *value, const struct quantity_unit *units,
    double *out, const char **why)
{
	double low, high;
	int rc;

	if ((rc = quantity_parse(value, units, out, why)) < 0)
		return rc;
	if ((row->min != NULL && quantity_parse(row->min, units, &low, why) == NW_OK &&
		*out < low) ||
	    (row->max != NULL && quantity_parse(row->max, units, &high, why) == NW_OK &&
		*out > high)) {
		*why = out_of_range;
		return NW_EINVAL;
	}
	return NW_OK;
}

/* For fields of 64 bits: a row without bounds of its own has those of an int64_t. */
static int
whole_parse(const struct conf_row *row, const char *value, const struct quantity_unit *units,
    int64_t *out, const char **why)
{
	double v;
	int rc;

	if ((rc = bounded_parse(row, value, units, &v, why)) < 0)
		return rc;
	if (v >= 0x1p63) {
		*why = out_of_range;
		return NW_EINVAL;
	}
	*out = (int64_t)v;
	return NW_OK;
}

static int
duration_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	return whole_parse(row, value, quantity_time, field, why);
}

static int
unsigned_parse(const struct conf_row *row, const char *value, const struct quantity_unit *units,
    uint64_t *field, const char **why)
{
	int64_t v;
	int rc;

	if ((rc = whole_parse(row, value, units, &v, why)) == NW_OK)
		*field = (uint64_t)v;
	return rc;
}

static int
size_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	return unsigned_parse(row, value, quantity_size, field, why);
}

static int
count_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	return unsigned_parse(row, value, quantity_count, field, why);
}

static int
fraction_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	double v;
	int rc;

	if ((rc = bounded_parse(row, value, quantity_fraction, &v, why)) == NW_OK)
		*(double *)field = v;
	return rc;
}

const struct conf_type conf_text = { text_parse, true };
const struct conf_type conf_bool = { bool_parse, false };
const struct conf_type conf_word = { word_parse, false };
const struct conf_type conf_duration = { duration_parse, false };
const struct conf_type conf_size = { size_parse, false };
const struct conf_type conf_count = { count_parse, false };
const struct conf_type conf_fraction = { fraction_parse, false };

/* --- one directive --- */

const struct conf_row *
conftable_find(const struct conf_table *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	return NULL;
}

static int
row_set(const struct conf_row *row, void *conf, const char *value, char why[CONF_WHY_BYTES])
{
	const char *reason = "";
	int rc = row->type->parse(row, value, (char *)conf + row->offset, &reason);

	if (rc < 0 && reason == out_of_range)
		snprintf(why, CONF_WHY_BYTES, "%s %.120s: out of range %s to %s", row->name, value,
		    row->min ? row->min : "0", row->max ? row->max : "any");
	else if (rc < 0)
		snprintf(why, CONF_WHY_BYTES, "%s %.120s: %s%s", row->name, value,
		    reason == row->min ? "write " : "", reason);
	return rc;
}

int
conftable_set(const struct conf_table *t, void *conf, const char *name, const char *value,
    char why[CONF_WHY_BYTES])
{
	const struct conf_row *row = conftable_find(t, name);

	if (row == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.60s: unknown directive", name);
		return NW_EINVAL;
	}
	if (*value == '\0') {
		snprintf(why, CONF_WHY_BYTES, "%s: no value", name);
		return NW_EINVAL;
	}
	return row_set(row, conf, value, why);
}

/* --- the whole struct --- */

static char **
text_of(const struct conf_row *row, void *conf)
{
	return (char **)(void *)((char *)conf + row->offset);
}

int
conftable_init(const struct conf_table *t, void *conf, char why[CONF_WHY_BYTES])
{
	size_t i;
	int rc;

	memset(conf, 0, t->struct_bytes);
	if (t->n_rows > CONF_ROWS_MAX)
		return NW_EINVAL;
	for (i = 0; i < t->n_rows; i++)
		if (t->rows[i].def != NULL &&
		    (rc = row_set(&t->rows[i], conf, t->rows[i].def, why)) < 0) {
			conftable_clear(t, conf);
			return rc;
		}
	return NW_OK;
}

void
conftable_clear(const struct conf_table *t, void *conf)
{
	size_t i;

	for (i = 0; i < t->n_rows; i++)
		if (t->rows[i].type->is_text) {
			free(*text_of(&t->rows[i], conf));
			*text_of(&t->rows[i], conf) = NULL;
		}
}

/* NULL: no memory. */
static void *
conf_dup(const struct conf_table *t, void *conf)
{
	void *copy = malloc(t->struct_bytes);
	bool whole = true;
	char **text;
	size_t i;

	if (copy == NULL)
		return NULL;
	memcpy(copy, conf, t->struct_bytes);
	for (i = 0; i < t->n_rows; i++) {
		text = text_of(&t->rows[i], copy);
		if (t->rows[i].type->is_text && *text != NULL)
			whole = (*text = strdup(*text)) != NULL && whole;
	}
	if (!whole) {
		conftable_clear(t, copy);
		free(copy);
		return NULL;
	}
	return copy;
}

/* --- files --- */

static char *
trim(char *s)
{
	char *end;

	s += strspn(s, blanks);
	for (end = s + strlen(s); end > s && strchr(blanks, end[-1]) != NULL; end--)
		continue;
	*end = '\0';
	return s;
}

/* Cuts a line in its name and its value; an empty line has an empty name. */
static void
line_split(char *line, char **name, char **value)
{
	*name = trim(line);
	*value = *name + strcspn(*name, " \t=");
	if (**value == '\0')
		return;
	if (**value != '=') {
		*(*value)++ = '\0';
		*value += strspn(*value, blanks);
	}
	if (**value == '=')
		*(*value)++ = '\0';
	*value = trim(*value);
}

static int
line_apply(const struct conf_table *t, void *conf, char *line, unsigned number,
    unsigned seen[CONF_ROWS_MAX], char why[CONF_WHY_BYTES])
{
	const struct conf_row *row;
	char *name, *value;

	line[strcspn(line, "#")] = '\0';
	line_split(line, &name, &value);
	row = conftable_find(t, name);
	if (*name == '\0' || (row == NULL && t->skips_others))
		return NW_OK;
	if (row != NULL && seen[row - t->rows] != 0 && row->type->is_text != CONF_LINES) {
		snprintf(why, CONF_WHY_BYTES, "%s: given twice", name);
		return NW_EINVAL;
	}
	if (row != NULL)
		seen[row - t->rows] = number;
	return conftable_set(t, conf, name, value, why);
}

static int
file_apply(const struct conf_table *t, void *conf, FILE *f, unsigned *number,
    unsigned seen[CONF_ROWS_MAX], char why[CONF_WHY_BYTES])
{
	char line[LINE_BYTES];
	int rc = NW_OK;

	for (*number = 1; rc == NW_OK && fgets(line, sizeof(line), f) != NULL; ++*number) {
		if (strchr(line, '\n') == NULL && !feof(f)) {
			snprintf(why, CONF_WHY_BYTES, "line too long");
			rc = NW_EINVAL;
		} else {
			rc = line_apply(t, conf, line, *number, seen, why);
		}
	}
	--*number;
	if (rc == NW_OK && ferror(f)) {
		snprintf(why, CONF_WHY_BYTES, "%s", strerror(errno));
		rc = NW_EIO;
	}
	return rc;
}

int
conftable_read(const struct conf_table *t, void *conf, const char *path, unsigned *line,
    char why[CONF_WHY_BYTES])
{
	unsigned number, seen[CONF_ROWS_MAX] = { 0 };
	char reason[CONF_WHY_BYTES];
	FILE *f = fopen(path, "re");
	void *fresh;
	int rc;

	if (f == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.120s: %s", path, strerror(errno));
		return NW_EIO;
	}
	if ((fresh = conf_dup(t, conf)) == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.120s: %s", path, nw_strerror(NW_ENOMEM));
		fclose(f);
		return NW_ENOMEM;
	}
	rc = file_apply(t, fresh, f, &number, seen, reason);
	fclose(f);
	conftable_clear(t, rc == NW_OK ? conf : fresh);
	if (rc == NW_OK)
		memcpy(conf, fresh, t->struct_bytes);
	else
		snprintf(why, CONF_WHY_BYTES, "%.80s:%u: %.150s", path, number, reason);
	if (rc == NW_OK && line != NULL)
		memcpy(line, seen, t->n_rows * sizeof(*line));
	free(fresh);
	return rc;
}

int
conftable_override(const struct conf_table *t, void *conf, const char *assignment,
    const struct conf_row **row, char why[CONF_WHY_BYTES])
{
	char *copy = strdup(assignment), *name, *value, reason[CONF_WHY_BYTES];
	int rc;

	if (copy == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	line_split(copy, &name, &value);
	if ((rc = conftable_set(t, conf, name, value, reason)) < 0)
		snprintf(why, CONF_WHY_BYTES, "-o %.60s: %.150s", assignment, reason);
	else if (row != NULL)
		*row = conftable_find(t, name);
	free(copy);
	return rc;
}
