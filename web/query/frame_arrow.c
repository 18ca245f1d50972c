/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrow tables: series_id, host, session, subject, event_type, field, time, and value or n, sum,
 * mean, min, max, sd. One row per time and field; missing values have no row. The session of series
 * that belong to a host alone is 0. Rows gather in batches of up to BATCH_ROWS, and the columns of
 * text share one dictionary.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "web/query/arrow.h"
#include "web/query/flat.h"
#include "web/query/frame_form.h"

enum { BATCH_ROWS = 8192 };
enum text_column { TEXT_HOST, TEXT_SUBJECT, TEXT_EVENT, TEXT_FIELD, TEXT_COLUMNS };
enum { OWN_COLUMNS = 3 + TEXT_COLUMNS };

struct table {
	json_t *numbers;    /* number of each name, by name */
	const char **names; /* names that were not written yet; texts belong to `numbers` */
	size_t n_names;
	bool names_begun;
	size_t n_rows;
	int64_t series_id[BATCH_ROWS], session[BATCH_ROWS], t[BATCH_ROWS];
	int32_t text[TEXT_COLUMNS][BATCH_ROWS];
	double value[QUERY_COLUMNS][BATCH_ROWS];
};

static void
state_free(void *state)
{
	struct table *t = state;

	json_decref(t->numbers);
	free(t->names);
	free(t);
}

static size_t
columns_of(const struct frame_out *o, const struct table *t, struct arrow_column out[])
{
	const struct frame_columns *c = &o->columns;
	size_t i;

	out[0] = (struct arrow_column){ "series_id", ARROW_INT64, t->series_id };
	out[1] = (struct arrow_column){ "host", ARROW_NAME, t->text[TEXT_HOST] };
	out[2] = (struct arrow_column){ "session", ARROW_INT64, t->session };
	out[3] = (struct arrow_column){ "subject", ARROW_NAME, t->text[TEXT_SUBJECT] };
	out[4] = (struct arrow_column){ "event_type", ARROW_NAME, t->text[TEXT_EVENT] };
	out[5] = (struct arrow_column){ "field", ARROW_NAME, t->text[TEXT_FIELD] };
	out[6] = (struct arrow_column){ "time", ARROW_TIME, t->t };
	for (i = 0; i < c->n; i++)
		out[OWN_COLUMNS + i] =
		    (struct arrow_column){ result_key_name(c->key[i]), ARROW_DOUBLE, t->value[i] };
	return OWN_COLUMNS + c->n;
}

static int
write_counted(void *arg, const char *bytes, size_t len)
{
	struct frame_out *o = arg;

	return textout_put(&o->out, bytes, len);
}

static int
begin(struct frame_out *o)
{
	struct arrow_column columns[ARROW_COLUMNS_MAX];
	struct table *t = o->state = calloc(1, sizeof(*t));

	if (t == NULL || (t->numbers = json_object()) == NULL)
		return NW_ENOMEM;
	return arrow_schema(columns, columns_of(o, t, columns), write_counted, o);
}

static int
names_write(struct frame_out *o, struct table *t)
{
	int rc;

	if (t->n_names == 0)
		return NW_OK;
	rc = arrow_names(t->names, t->n_names, !t->names_begun, write_counted, o);
	t->names_begun = true;
	t->n_names = 0;
	return rc;
}

static int
batch_write(struct frame_out *o, struct table *t)
{
	struct arrow_column columns[ARROW_COLUMNS_MAX];
	size_t n = columns_of(o, t, columns);
	int rc = NW_OK;

	if (t->n_rows > 0 && (rc = names_write(o, t)) == NW_OK)
		rc = arrow_rows(columns, n, t->n_rows, write_counted, o);
	t->n_rows = 0;
	return rc;
}

/* The number of a name, or a negative code. */
static int32_t
name_number(struct table *t, const char *name)
{
	json_t *known = json_object_get(t->numbers, name);
	int32_t number = (int32_t)json_object_size(t->numbers);
	const char **grown;

	if (known != NULL)
		return (int32_t)json_integer_value(known);
	if ((grown = reallocarray(t->names, t->n_names + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	t->names = grown;
	if (json_object_set_new_nocheck(t->numbers, name, json_integer(number)) != 0)
		return NW_ENOMEM;
	t->names[t->n_names++] = json_object_iter_key(json_object_iter_at(t->numbers, name));
	return number;
}

static int
put_rows(struct frame_out *o, struct table *t, const struct frame *f, size_t k,
    const int32_t text[TEXT_COLUMNS])
{
	size_t n = o->columns.n, i, c;
	int rc;

	for (i = 0; i < f->n_rows; i++) {
		if (frame_is_missing(f, k, i))
			continue;
		if (t->n_rows == BATCH_ROWS && (rc = batch_write(o, t)) < 0)
			return rc;
		t->series_id[t->n_rows] = f->of->series_id;
		t->session[t->n_rows] = f->of->session_id > 0 ? f->of->session_id : 0;
		for (c = 0; c < TEXT_COLUMNS; c++)
			t->text[c][t->n_rows] = text[c];
		t->t[t->n_rows] = f->t_wall_ns[i];
		for (c = 0; c < n; c++)
			t->value[c][t->n_rows] = f->values[c * f->n_fields + k][i];
		t->n_rows++;
	}
	return NW_OK;
}

static int
frame(struct frame_out *o, const struct frame *f)
{
	struct table *t = o->state;
	char *subject = flat_text(f->of->subject_json);
	int32_t text[TEXT_COLUMNS];
	size_t k, c;
	int rc = subject != NULL ? NW_OK : NW_ENOMEM;

	for (k = 0; k < f->n_fields && rc == NW_OK; k++) {
		const char *const words[TEXT_COLUMNS] = {
			[TEXT_HOST] = f->of->host,
			[TEXT_SUBJECT] = subject,
			[TEXT_EVENT] = f->of->event_type,
			[TEXT_FIELD] = f->fields[k],
		};

		for (c = 0; c < TEXT_COLUMNS && rc == NW_OK; c++)
			if ((text[c] = name_number(t, words[c])) < 0)
				rc = text[c];
		if (rc == NW_OK)
			rc = put_rows(o, t, f, k, text);
	}
	free(subject);
	return rc;
}

static int
end(struct frame_out *o, int64_t next)
{
	int rc = batch_write(o, o->state);

	(void)next;
	return rc == NW_OK ? arrow_end(write_counted, o) : rc;
}

const struct frame_form frame_arrow = { "application/vnd.apache.arrow.stream", begin, frame, end,
	state_free };
