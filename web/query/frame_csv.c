/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tidy CSV, one line per time and field, without lines for missing values:
 *
 *	series_id,host,session,subject,event_type,field,unit,t_ns,value
 *
 * Statistics have the columns n,sum,mean,min,max,sd instead of the value; descriptions end with the
 * unit. A CSV answer has no place for `next`: a page is the last one if it is shorter than `limit`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "web/query/flat.h"
#include "web/query/frame_form.h"

static int
begin(struct frame_out *o)
{
	const struct frame_columns *c = &o->columns;
	size_t i;
	int rc = textout_puts(&o->out, "series_id,host,session,subject,event_type,field,unit");

	if (rc == NW_OK && c->n > 0)
		rc = textout_puts(&o->out, ",t_ns");
	for (i = 0; i < c->n && rc == NW_OK; i++)
		if ((rc = textout_puts(&o->out, ",")) == NW_OK)
			rc = textout_puts(&o->out, result_key_name(c->key[i]));
	return rc == NW_OK ? textout_puts(&o->out, "\n") : rc;
}

/* Cells before the time, which all lines of a field share. NULL: no memory. */
static char *
cells(const struct frame *f, const char *subject, size_t k)
{
	const struct found *m = f->of;
	char *text = NULL;
	size_t len;
	FILE *s = open_memstream(&text, &len);

	if (s == NULL)
		return NULL;
	fprintf(s, "%s,", fmt_int(m->series_id).s);
	csv_cell(s, m->host, 0);
	fprintf(s, ",%s,", m->session_id > 0 ? fmt_int(m->session_id).s : "");
	csv_cell(s, subject, CSV_QUOTED);
	putc(',', s);
	csv_cell(s, m->event_type, 0);
	putc(',', s);
	csv_cell(s, f->fields[k], 0);
	putc(',', s);
	csv_cell(s, f->units[k], 0);
	if (fclose(s) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static int
put_rows(struct frame_out *o, const struct frame *f, const char *before, size_t k)
{
	size_t n = o->columns.n, len = strlen(before), i, c;
	int rc = NW_OK;

	for (i = 0; i < f->n_rows; i++) {
		if (frame_is_missing(f, k, i))
			continue;
		if ((rc = textout_put(&o->out, before, len)) < 0 ||
		    (rc = textout_put(&o->out, ",", 1)) < 0 ||
		    (rc = textout_int(&o->out, f->t_wall_ns[i])) < 0)
			return rc;
		for (c = 0; c < n; c++)
			if ((rc = textout_put(&o->out, ",", 1)) < 0 ||
			    (rc = textout_exact(&o->out, f->values[c * f->n_fields + k][i])) < 0)
				return rc;
		if ((rc = textout_put(&o->out, "\n", 1)) < 0)
			return rc;
	}
	return rc;
}

static int
frame(struct frame_out *o, const struct frame *f)
{
	char *subject = flat_text(f->of->subject_json), *before;
	size_t k;
	int rc = subject != NULL ? NW_OK : NW_ENOMEM;

	for (k = 0; k < f->n_fields && rc == NW_OK; k++) {
		if ((before = cells(f, subject, k)) == NULL)
			rc = NW_ENOMEM;
		else if (f->n_rows > 0)
			rc = put_rows(o, f, before, k);
		else if ((rc = textout_puts(&o->out, before)) == NW_OK)
			rc = textout_puts(&o->out, "\n");
		free(before);
	}
	free(subject);
	return rc;
}

static int
end(struct frame_out *o, int64_t next)
{
	(void)o, (void)next;
	return NW_OK;
}

const struct frame_form frame_csv = { "text/csv; charset=utf-8; header=present", begin, frame, end,
	NULL };
