/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generation 0, the text of the XIO driver of January 2011 (xsp/doc_g0.c): a line for each
 * transfer, a line for each row. Generation 0 has no other descriptions: of a series the event
 * type, the handle and the stack remain. Numbers have all digits; the driver cut them at six.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "web/export/shape.h"

/* A text without what ends a word of a line. */
static void
word_put(FILE *f, const char *text)
{
	for (; *text != '\0'; text++)
		putc((unsigned char)*text <= ' ' || *text == '=' ? '_' : *text, f);
}

static const char *
text_of(const json_t *subject, const char *key)
{
	const char *text = json_string_value(json_object_get(subject, key));

	return text != NULL ? text : "(null)";
}

/* A number, or the digits of a text. */
static long long
number_of(const json_t *subject, const char *key)
{
	const json_t *v = json_object_get(subject, key);

	return json_is_integer(v) ? json_integer_value(v)
				  : strtoll(text_of(subject, key), NULL, 10);
}

static int
transfer_put(struct export *x, const json_t *s)
{
	char *line = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&line, &len);
	int rc = NW_ENOMEM;

	if (f == NULL)
		return rc;
	fprintf(f, "user=%s,task_id=%s,sport=%lld,dport=%lld,resource=%s,size=%lld",
	    text_of(s, "user"), text_of(s, "task_id"), number_of(s, "sport"), number_of(s, "dport"),
	    text_of(s, "resource"), number_of(s, "size"));
	if (strcmp(text_of(s, "src"), "(null)") != 0)
		fprintf(f, ",src=%s,dst=%s", text_of(s, "src"), text_of(s, "dst"));
	else
		fprintf(
		    f, ",filename=%s,fsize=%lld", text_of(s, "filename"), number_of(s, "fsize"));
	if (fclose(f) == 0 && strpbrk(line, "\r\n") == NULL &&
	    (rc = textout_put(&x->out, line, len)) == NW_OK)
		rc = textout_put(&x->out, "\n", 1);
	free(line);
	return rc;
}

/* The handle that came with the series, else the series' number in the store. */
static void
handle_put(FILE *f, const struct walk_meta *m)
{
	size_t n = strspn(m->mid, "-0123456789");

	if (n > 0 && m->mid[n] == ':' && strcmp(m->mid + n + 1, m->event_type) == 0)
		fprintf(f, " id=%.*s", (int)n, m->mid);
	else
		fprintf(f, " id=%s", fmt_int(m->id).s);
}

/* The beginning of a row's line behind its time, a NUL, and the line's end. */
static int
prefix(struct export *x, FILE *f, const struct walk_meta *m)
{
	json_t *subject = json_loads(m->subject_json, 0, NULL);
	const char *type = json_string_value(json_object_get(subject, "type"));
	int rc = NW_OK;

	if (nw_type_begins(m->event_type, NW_TYPE_XFER))
		rc = transfer_put(x, subject);
	fputs(" event=", f);
	if (nw_type_begins(m->event_type, NW_TYPE_SUMMARY)) {
		fputs(NW_TYPE_CALIPER_OLD, f);
		word_put(f, m->event_type + strlen(NW_TYPE_SUMMARY));
		fputs(".summary", f);
	} else
		word_put(f, m->event_type);
	putc('\0', f);
	handle_put(f, m);
	if (type != NULL && (strcmp(type, "disk") == 0 || strcmp(type, "network") == 0))
		fprintf(f, " type=%d", strcmp(type, "disk") == 0);
	putc('\n', f);
	json_decref(subject);
	return rc;
}

static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	size_t len = strlen(field);

	(void)x, (void)m;
	putc(' ', f);
	if (len > 2 && field[len - 2] == '_' && strchr("vrg", field[len - 1]) != NULL) {
		fprintf(f, "%c.", field[len - 1]);
		for (; len > 2; len--)
			putc(*field++, f);
	} else if (strcmp(field, "dur_inst") == 0)
		fputs("dur.i", f);
	else
		word_put(f, field);
	putc('=', f);
}

static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	struct fmt time =
	    r->t_wall_ns % 1000 == 0 ? fmt_iso(r->t_wall_ns, 6) : fmt_iso_ns(r->t_wall_ns);
	size_t k;
	int rc;

	for (k = 0; k < r->n_fields && isnan(r->values[k]); k++)
		;
	if (k == r->n_fields)
		return NW_OK;
	if ((rc = textout_puts(&x->out, "ts=")) < 0 || (rc = textout_puts(&x->out, time.s)) < 0 ||
	    (rc = textout_puts(&x->out, before)) < 0)
		return rc;
	for (k = 0; k < r->n_fields; k++)
		if (!isnan(r->values[k]) &&
		    ((rc = textout_puts(&x->out, r->labels[k])) < 0 ||
			(rc = textout_puts(&x->out, fmt_exact(r->values[k]).s)) < 0))
			return rc;
	return textout_puts(&x->out, before + strlen(before) + 1);
}

const struct shape shape_g0 = {
	.name = "g0",
	.ending = ".log",
	.content_type = "text/plain; charset=utf-8",
	.prefix = prefix,
	.label = label,
	.row = row,
};
