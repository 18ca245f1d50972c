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

/* Cells before the time, which all lines of a field share: the texts of all fields one behind the
 * other, and their ends. */
struct heads {
	char *text;
	size_t *end; /* [n_fields] */
};

static void
heads_free(struct heads *h)
{
	free(h->text);
	free(h->end);
}

/* The cells that all fields share. NULL: no memory. */
static char *
common_make(const struct frame *f)
{
	char *subject = flat_text(f->of->subject_json), *text = NULL;
	const struct found *m = f->of;
	size_t len;
	FILE *s;

	if (subject == NULL || (s = open_memstream(&text, &len)) == NULL) {
		free(subject);
		return NULL;
	}
	fprintf(s, "%s,", fmt_int(m->series_id).s);
	csv_cell(s, m->host, 0);
	fprintf(s, ",%s,", m->session_id > 0 ? fmt_int(m->session_id).s : "");
	csv_cell(s, subject, CSV_QUOTED);
	putc(',', s);
	csv_cell(s, m->event_type, 0);
	putc(',', s);
	free(subject);
	if (fclose(s) == 0)
		return text;
	free(text);
	return NULL;
}

static int
heads_make(struct heads *h, const struct frame *f)
{
	char *common = common_make(f);
	size_t len, k;
	FILE *s;

	*h = (struct heads){ .end = calloc(f->n_fields + 1, sizeof(*h->end)) };
	if (common == NULL || h->end == NULL || (s = open_memstream(&h->text, &len)) == NULL) {
		free(common);
		return NW_ENOMEM;
	}
	for (k = 0; k < f->n_fields; k++) {
		fputs(common, s);
		csv_cell(s, f->fields[k], 0);
		putc(',', s);
		csv_cell(s, f->units[k], 0);
		fflush(s); /* sets len */
		h->end[k] = len;
	}
	free(common);
	return fclose(s) == 0 ? NW_OK : NW_ENOMEM;
}

/* The times' texts, which all fields share. NULL: no memory. */
static struct fmt *
times_make(const struct frame *f)
{
	struct fmt *times = calloc(f->n_rows, sizeof(*times));
	size_t i;

	for (i = 0; times != NULL && i < f->n_rows; i++)
		times[i] = fmt_int(f->t_wall_ns[i]);
	return times;
}

enum { TIME_BYTES = 20 }; /* of the longest time */
_Static_assert(1 + TIME_BYTES + QUERY_COLUMNS * (1 + FMT_EXACT_ROOM) + 1 <= TEXTOUT_ROOM,
    "a line behind its head has room");

static int
put_rows(struct frame_out *o, const struct frame *f, const struct fmt *times, const char *head,
    size_t head_len, size_t k)
{
	size_t n = o->columns.n, i, c;
	char *at;
	int rc;

	for (i = 0; i < f->n_rows; i++) {
		if (frame_is_missing(f, k, i))
			continue;
		if ((rc = textout_put(&o->out, head, head_len)) < 0 ||
		    (rc = textout_room(&o->out, &at)) < 0)
			return rc;
		*at++ = ',';
		memcpy(at, times[i].s, TIME_BYTES);
		at += strlen(times[i].s);
		for (c = 0; c < n; c++) {
			*at++ = ',';
			at = textout_number(&o->out, at, f->values[c * f->n_fields + k][i]);
		}
		*at++ = '\n';
		textout_took(&o->out, at);
	}
	return NW_OK;
}

static int
frame(struct frame_out *o, const struct frame *f)
{
	struct fmt *times = f->n_rows > 0 ? times_make(f) : NULL;
	struct heads h;
	size_t k, from, len;
	int rc = heads_make(&h, f);

	if (f->n_rows > 0 && times == NULL)
		rc = NW_ENOMEM;
	for (k = 0, from = 0; k < f->n_fields && rc == NW_OK; from = h.end[k++]) {
		len = h.end[k] - from;
		if (f->n_rows > 0)
			rc = put_rows(o, f, times, h.text + from, len, k);
		else if ((rc = textout_put(&o->out, h.text + from, len)) == NW_OK)
			rc = textout_put(&o->out, "\n", 1);
	}
	heads_free(&h);
	free(times);
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
