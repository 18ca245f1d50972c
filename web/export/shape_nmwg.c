/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store file of NM-WG (narrows/nmwg.h), which perfSONAR had until 2015: each series a metadata
 * and its data.
 *
 *	<nmwg:metadata id="m412" metadataIdRef="m410" own:host="dtn1" own:id="..." own:pid="...">
 *	 <nmwg:subject id="s412">
 *	  <nmwgt:endPointPair><nmwgt:src .../><nmwgt:dst .../></nmwgt:endPointPair></nmwg:subject>
 *	 <nmwg:eventType>ps:host:tcp</nmwg:eventType>
 *	 <nmwg:parameters id="p412"><nmwg:parameter name="src" own:of="subject" value="..."/>
 *	 </nmwg:parameters></nmwg:metadata>
 *	<nmwg:data id="d412" metadataIdRef="m412">
 *	 <nmwg:datum timeType="unix" timeValue="1795162331.250000000" value="0.25"/>
 *	 <nmwg:commonTime type="unix" value="1795162331.250000000">
 *	  <nmwg:datum name="mean_r" value="0.25"/></nmwg:commonTime></nmwg:data>
 *
 * Rows of the field "value" alone are datums, other rows a commonTime around them. Every key of a
 * subject is a parameter, too; the topology is for other readers. Characters that XML cannot hold
 * are escaped where a value may be JSON, and replaced elsewhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/hex.h"
#include "web/export/shape.h"

struct nmwg_state {
	int64_t open_id; /* series whose data are open, or 0 */
	json_t *ids;     /* series by host and id of the sender */
};

/* --- text --- */

static void
xml_put(FILE *f, const char *text)
{
	static const struct {
		char c;
		const char *as;
	} marks[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" },
		{ '\t', "&#9;" }, { '\n', "&#10;" }, { '\r', "&#13;" } };
	size_t i, n = sizeof(marks) / sizeof(marks[0]);

	for (; *text != '\0'; text++) {
		for (i = 0; i < n && marks[i].c != *text; i++)
			;
		if (i < n)
			fputs(marks[i].as, f);
		else if ((unsigned char)*text < ' ')
			fputs("\xef\xbf\xbd", f);
		else if (strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
		    strncmp(text, "\xef\xbf\xbf", 3) == 0) {
			fputs("\xef\xbf\xbd", f);
			text += 2;
		} else
			putc(*text, f);
	}
}

static void
attribute_put(FILE *f, const char *name, const char *value)
{
	fprintf(f, " %s=\"", name);
	xml_put(f, value);
	putc('"', f);
}

/* Returns true if XML holds the text as it is. */
static bool
is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < ' ' && strchr("\t\n\r", *text) == NULL) ||
		    strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0)
			return false;
	return true;
}

/* --- metadata --- */

/* Text, number, or NULL, under the first name that is there. */
static const char *
key_text(const json_t *subject, const char *a, const char *b, char number[32])
{
	const json_t *v = json_object_get(subject, a);

	v = v != NULL ? v : json_object_get(subject, b);
	if (json_is_integer(v)) {
		snprintf(number, 32, "%lld", (long long)json_integer_value(v));
		return number;
	}
	return json_string_value(v);
}

static void
end_point_put(FILE *f, const char *element, const char *address, const char *port)
{
	unsigned char in[sizeof(struct in6_addr)];

	fprintf(f, "<nmwgt:%s", element);
	attribute_put(f, "type",
	    inet_pton(AF_INET, address, in) == 1        ? "ipv4"
		: inet_pton(AF_INET6, address, in) == 1 ? "ipv6"
							: "hostname");
	attribute_put(f, "value", address);
	if (port != NULL)
		attribute_put(f, "port", port);
	fputs("/>", f);
}

static void
topology_put(FILE *f, const struct walk_meta *m, const json_t *subject)
{
	char number[4][32];
	const char *src = key_text(subject, "src", "LocalAddress", number[0]),
		   *dst = key_text(subject, "dst", "RemAddress", number[1]),
		   *interface = json_string_value(json_object_get(subject, "interface"));

	fprintf(f, " <nmwg:subject id=\"s%s\">", fmt_int(m->id).s);
	if (src != NULL && dst != NULL) {
		fputs("<nmwgt:endPointPair>", f);
		end_point_put(f, "src", src, key_text(subject, "sport", "LocalPort", number[2]));
		end_point_put(f, "dst", dst, key_text(subject, "dport", "RemPort", number[3]));
		fputs("</nmwgt:endPointPair>", f);
	} else {
		fputs("<nmwgt:interface><nmwgt:hostName>", f);
		xml_put(f, m->host);
		fputs("</nmwgt:hostName>", f);
		if (interface != NULL) {
			fputs("<nmwgt:ifName>", f);
			xml_put(f, interface);
			fputs("</nmwgt:ifName>", f);
		}
		fputs("</nmwgt:interface>", f);
	}
	fputs("</nmwg:subject>\n", f);
}

static void
parameters_put(FILE *f, json_t *object, bool of_subject)
{
	const char *name, *text;
	char *dump;
	json_t *v;

	json_object_foreach(object, name, v)
	{
		dump = NULL;
		text = json_string_value(v);
		if (text == NULL || !is_plain(text))
			text = dump = json_dumps(v,
			    JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17) |
				JSON_ENSURE_ASCII);
		fputs("  <nmwg:parameter", f);
		attribute_put(f, "name", name);
		if (of_subject)
			attribute_put(f, "own:of", "subject");
		if (dump != NULL)
			attribute_put(f, "own:json", "1");
		attribute_put(f, "value", text != NULL ? text : "null");
		fputs("/>\n", f);
		free(dump);
	}
}

/* The sender's ids are unique for a sender alone: the file's ids are the store's numbers. */
static void
ids_put(FILE *f, struct nmwg_state *s, const struct walk_meta *m)
{
	size_t room = strlen(m->host) + strlen(m->mid) + strlen(m->pid) + 2;
	char *key = malloc(room);
	const json_t *parent = NULL;

	if (key != NULL) {
		snprintf(key, room, "%s/%s", m->host, m->pid);
		parent = m->pid[0] != '\0' ? json_object_get(s->ids, key) : NULL;
		fprintf(f, "<nmwg:metadata id=\"m%s\"", fmt_int(m->id).s);
		if (parent != NULL)
			fprintf(f, " metadataIdRef=\"m%s\"", fmt_int(json_integer_value(parent)).s);
		snprintf(key, room, "%s/%s", m->host, m->mid);
		json_object_set_new(s->ids, key, json_integer(m->id));
	}
	free(key);
	attribute_put(f, "own:host", m->host);
	attribute_put(f, "own:id", m->mid);
	if (m->pid[0] != '\0')
		attribute_put(f, "own:pid", m->pid);
	fputs(">\n", f);
}

static int
data_close(struct export *x)
{
	struct nmwg_state *s = x->state;

	if (s->open_id == 0)
		return NW_OK;
	s->open_id = 0;
	return textout_puts(&x->out, "</nmwg:data>\n");
}

static int
prefix(struct export *x, FILE *out, const struct walk_meta *m)
{
	json_t *subject = json_loads(m->subject_json, 0, NULL),
	       *params = json_loads(m->params_json, 0, NULL);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc = NW_ENOMEM;

	(void)out;
	if (f != NULL) {
		ids_put(f, x->state, m);
		topology_put(f, m, subject);
		fputs(" <nmwg:eventType>", f);
		xml_put(f, m->event_type);
		fprintf(f, "</nmwg:eventType>\n <nmwg:parameters id=\"p%s\">\n", fmt_int(m->id).s);
		parameters_put(f, subject, true);
		parameters_put(f, params, false);
		fputs(" </nmwg:parameters></nmwg:metadata>\n", f);
		if (fclose(f) == 0 && (rc = data_close(x)) == NW_OK)
			rc = textout_put(&x->out, text, len);
	}
	free(text);
	json_decref(params);
	json_decref(subject);
	return rc;
}

/* --- rows --- */

/* The attributes of a field's datum before its value. The field "value" needs no name. */
static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	char unit[128];

	if (strcmp(field, "value") != 0)
		attribute_put(f, "name", field);
	else if (store_unit(x->reader, m->id, field, unit, sizeof(unit)) == NW_OK && *unit != '\0')
		attribute_put(f, "valueUnits", unit);
}

/* Seconds since 1970 with all nanoseconds. */
static void
time_text(char *out, size_t size, int64_t t_wall_ns)
{
	uint64_t ns = t_wall_ns < 0 ? -(uint64_t)t_wall_ns : (uint64_t)t_wall_ns;

	snprintf(out, size, "%s%llu.%09llu", t_wall_ns < 0 ? "-" : "",
	    (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
}

static bool
is_named(const char *label)
{
	return strncmp(label, " name=", 6) == 0;
}

/* The number of values, and the last of them. */
static size_t
values_count(const struct merge_row *r, size_t *last)
{
	size_t k, n = 0;

	for (k = 0; k < r->n_fields; k++)
		if (!isnan(r->values[k])) {
			*last = k;
			n++;
		}
	return n;
}

static int
datum_put(struct export *x, const char *begin, const char *label, double value)
{
	int rc;

	if ((rc = textout_puts(&x->out, begin)) < 0 || (rc = textout_puts(&x->out, label)) < 0 ||
	    (rc = textout_puts(&x->out, " value=\"")) < 0 ||
	    (rc = textout_puts(&x->out, fmt_exact(value).s)) < 0)
		return rc;
	return textout_puts(&x->out, "\"/>\n");
}

static int
hist_put(struct export *x, const struct merge_row *r)
{
	char hex[3];
	size_t i;
	int rc = textout_puts(&x->out, "  <nmwg:datum name=\"h_dur\" value=\"");

	for (i = 0; i < r->hist_len && rc == NW_OK; i++) {
		nw_hex_put(hex, &r->hist[i], 1);
		rc = textout_put(&x->out, hex, 2);
	}
	return rc < 0 ? rc : textout_puts(&x->out, "\"/>\n");
}

static int
common_put(struct export *x, const struct merge_row *r, const char *time)
{
	char text[128];
	size_t k;
	int rc;

	snprintf(text, sizeof(text), " <nmwg:commonTime type=\"unix\" value=\"%s\">\n", time);
	rc = textout_puts(&x->out, text);
	for (k = 0; k < r->n_fields && rc == NW_OK; k++)
		if (!isnan(r->values[k]))
			rc = datum_put(x, "  <nmwg:datum",
			    is_named(r->labels[k]) ? r->labels[k] : " name=\"value\"",
			    r->values[k]);
	if (rc == NW_OK && r->hist != NULL)
		rc = hist_put(x, r);
	return rc < 0 ? rc : textout_puts(&x->out, " </nmwg:commonTime>\n");
}

static int
data_open(struct export *x)
{
	struct nmwg_state *s = x->state;
	char text[192];

	if (s->open_id != 0)
		return NW_OK;
	s->open_id = x->meta->id;
	snprintf(text, sizeof(text), "<nmwg:data id=\"d%s\" metadataIdRef=\"m%s\">\n",
	    fmt_int(s->open_id).s, fmt_int(s->open_id).s);
	return textout_puts(&x->out, text);
}

static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	char time[48], begin[112];
	size_t last = 0, n = values_count(r, &last);
	int rc;

	(void)before;
	if (n == 0)
		return NW_OK;
	if ((rc = data_open(x)) < 0)
		return rc;
	time_text(time, sizeof(time), r->t_wall_ns);
	if (n > 1 || r->hist != NULL || is_named(r->labels[last]))
		return common_put(x, r, time);
	snprintf(begin, sizeof(begin), " <nmwg:datum timeType=\"unix\" timeValue=\"%s\"", time);
	return datum_put(x, begin, r->labels[last], r->values[last]);
}

/* --- the file --- */

static int
end(struct export *x)
{
	int rc = data_close(x);

	return rc < 0 ? rc : textout_puts(&x->out, "</nmwg:store>\n");
}

static void
state_free(void *state)
{
	struct nmwg_state *s = state;

	json_decref(s->ids);
	free(s);
}

static int
state_new(struct export *x)
{
	struct nmwg_state *s = x->state = calloc(1, sizeof(*s));

	return s != NULL && (s->ids = json_object()) != NULL ? NW_OK : NW_ENOMEM;
}

const struct shape shape_nmwg = {
	.name = "nmwg",
	.ending = ".xml",
	.content_type = "application/xml",
	.header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		  "<nmwg:store xmlns:nmwg=\"http://ggf.org/ns/nmwg/base/2.0/\"\n"
		  "    xmlns:nmwgt=\"http://ggf.org/ns/nmwg/topology/2.0/\" "
		  "xmlns:own=\"urn:narrows:nmwg\">",
	.hist = true,
	.prefix = prefix,
	.label = label,
	.row = row,
	.end = end,
	.state_new = state_new,
	.state_free = state_free,
};
