/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * InfluxDB line protocol: one line per metadata and time.
 *
 *	event_type,session=7,host=dtn1,series_id=412,KEY=VALUE... FIELD=VALUE... t_ns
 *
 * Tags after series_id are the subject's. All values are floats, also whole numbers: a field keeps
 * the type of its first value for ever, and a later value may have a fraction or pass 2^63.
 * Infinities have no spelling in the protocol and are left out. A name has comma, blank and =
 * escaped. Control characters, for which no escape exists, become blanks. A backslash at the end of
 * a name would escape the next character and gets a blank behind it. Empty tags are left out.
 */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/export/shape.h"

static void
put_name(FILE *f, const char *text, const char *special)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 127) {
			fputs("\\ ", f);
			continue;
		}
		if (strchr(special, *text) != NULL)
			putc('\\', f);
		putc(*text, f);
		if (*text == '\\' && text[1] == '\0')
			fputs("\\ ", f);
	}
}

static void
put_tag(FILE *f, const char *key, const char *value)
{
	if (key[0] == '\0' || value[0] == '\0')
		return;
	putc(',', f);
	put_name(f, key, ", =");
	putc('=', f);
	put_name(f, value, ", =");
}

static bool
is_own_tag(const char *key)
{
	return strcmp(key, "session") == 0 || strcmp(key, "host") == 0 ||
	    strcmp(key, "series_id") == 0;
}

static int
prefix(struct export *x, FILE *f, const struct walk_meta *m)
{
	json_t *subject = json_loads(m->subject_json, JSON_REJECT_DUPLICATES, NULL), *v;
	const char *key;

	put_name(f, m->event_type[0] != '\0' ? m->event_type : "untyped", ", ");
	put_tag(f, "session", fmt_int(x->session_id).s);
	put_tag(f, "host", m->host);
	put_tag(f, "series_id", fmt_int(m->id).s);
	json_object_foreach(subject, key, v)
	{
		if (is_own_tag(key))
			continue;
		if (json_is_string(v))
			put_tag(f, key, json_string_value(v));
		else if (json_is_integer(v))
			put_tag(f, key, fmt_int(json_integer_value(v)).s);
		else if (json_is_real(v))
			put_tag(f, key, fmt_exact(json_real_value(v)).s);
		else if (json_is_boolean(v))
			put_tag(f, key, json_is_true(v) ? "true" : "false");
	}
	json_decref(subject);
	return NW_OK;
}

static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	(void)x, (void)m;
	put_name(f, field, ", =");
	putc('=', f);
}

static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	const char *sep = " ";
	size_t k;
	int rc;

	for (k = 0; k < r->n_fields; k++) {
		if (!isfinite(r->values[k]))
			continue;
		if ((sep[0] == ' ' && (rc = textout_puts(&x->out, before)) < 0) ||
		    (rc = textout_puts(&x->out, sep)) < 0 ||
		    (rc = textout_puts(&x->out, r->labels[k])) < 0 ||
		    (rc = textout_exact(&x->out, r->values[k])) < 0)
			return rc;
		sep = ",";
	}
	if (sep[0] == ' ')
		return NW_OK;
	if ((rc = textout_put(&x->out, " ", 1)) < 0 ||
	    (rc = textout_puts(&x->out, fmt_int(r->t_wall_ns).s)) < 0)
		return rc;
	return textout_put(&x->out, "\n", 1);
}

const struct shape shape_influx = {
	.name = "influx",
	.ending = ".lp",
	.content_type = "text/plain; charset=utf-8",
	.prefix = prefix,
	.label = label,
	.row = row,
};
