/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/nmwg.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "narrows/calendar.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum { SEPARATOR = '|', SLICE_BYTES = 1 << 20, LOOK_BYTES = 4096, TYPES_MAX = 16 };

/* A parameter without value so far. */
struct open_parameter {
	char *name;
	bool of_subject, is_json;
};

struct reader {
	XML_Parser xml;
	const struct nmwg_sink *sink;
	int rc;
	const char *why;
	/* Depths of the open elements; 0: not open. leaf: the newest element. */
	unsigned depth, leaf, meta, subject, data, common, datum;
	char text[NMWG_TEXT_MAX_BYTES + 1]; /* character data of the leaf */
	size_t text_len;
	struct nmwg_pair pairs[NMWG_PAIRS_MAX];
	size_t n_pairs;
	struct open_parameter parameter;
	char *id, *ref, *host, *own_id, *own_pid; /* of the open metadata */
	char *own_type, *known_type, *subject_space;
	char *data_ref, *time, *from, *unit; /* of the open data and datum */
};

/* Newer libraries want another name, which Debian 12 lacks, for systems with a short `long`. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static size_t
offset_now(const struct reader *r)
{
	XML_Index index = XML_GetCurrentByteIndex(r->xml);

	return index > 0 ? (size_t)index : 0;
}
#pragma GCC diagnostic pop

static void
stop(struct reader *r, int rc, const char *why)
{
	if (r->rc < 0)
		return;
	r->rc = rc;
	r->why = why;
	XML_StopParser(r->xml, XML_FALSE);
}

/* --- names, attributes, texts --- */

/* The local name of an element of NM-WG's namespaces; "" for any other. */
static const char *
local_name(const char *name)
{
	const char *bar = strrchr(name, SEPARATOR);

	return bar != NULL && strncmp(name, NMWG_SPACE, strlen(NMWG_SPACE)) == 0 ? bar + 1 : "";
}

static const char *
attribute(const char *const *attributes, const char *name)
{
	for (; attributes[0] != NULL; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static void
text_set(struct reader *r, char **to, const char *text)
{
	free(*to);
	*to = NULL;
	if (text == NULL)
		return;
	if (strlen(text) > NMWG_TEXT_MAX_BYTES)
		stop(r, NW_ETOOBIG, "a text is too long");
	else
		*to = xstrdup(text);
}

static void
pair_add(struct reader *r, const char *name, const char *value, bool of_subject, bool is_json)
{
	if (strlen(name) > NMWG_TEXT_MAX_BYTES || strlen(value) > NMWG_TEXT_MAX_BYTES ||
	    r->n_pairs == NMWG_PAIRS_MAX) {
		stop(r, NW_ETOOBIG, "a description or a datum is too long");
		return;
	}
	r->pairs[r->n_pairs++] = (struct nmwg_pair){ .name = xstrdup(name),
		.value = xstrdup(value),
		.of_subject = of_subject,
		.is_json = is_json,
		.is_topology = r->subject != 0 };
}

static void
pairs_clear(struct reader *r)
{
	while (r->n_pairs > 0) {
		r->n_pairs--;
		free(r->pairs[r->n_pairs].name);
		free(r->pairs[r->n_pairs].value);
	}
}

static void
parameter_clear(struct reader *r)
{
	free(r->parameter.name);
	r->parameter = (struct open_parameter){ 0 };
}

static void
texts_clear(struct reader *r)
{
	char **const texts[] = { &r->id, &r->ref, &r->host, &r->own_id, &r->own_pid, &r->own_type,
		&r->known_type, &r->subject_space, &r->time, &r->from, &r->unit };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		text_set(r, texts[i], NULL);
	pairs_clear(r);
	parameter_clear(r);
}

/* The character data of the leaf without blanks around them. */
static const char *
leaf_text(struct reader *r)
{
	char *from = r->text;

	while (r->text_len > 0 && strchr(" \t\r\n", r->text[r->text_len - 1]) != NULL)
		r->text_len--;
	r->text[r->text_len] = '\0';
	return from + strspn(from, " \t\r\n");
}

/* --- metadata --- */

static void
meta_begin(struct reader *r, const char *const *attributes)
{
	texts_clear(r);
	r->meta = r->depth;
	text_set(r, &r->id, attribute(attributes, "id"));
	text_set(r, &r->ref, attribute(attributes, "metadataIdRef"));
	text_set(r, &r->host, attribute(attributes, NMWG_OWN "|host"));
	text_set(r, &r->own_id, attribute(attributes, NMWG_OWN "|id"));
	text_set(r, &r->own_pid, attribute(attributes, NMWG_OWN "|pid"));
}

/* The namespace of a subject names the tool where no event type does. */
static void
subject_begin(struct reader *r, const char *name)
{
	const char *bar = strrchr(name, SEPARATOR);
	char *space = xasprintf("%.*s", (int)(bar - name), name);

	r->subject = r->depth;
	if (strstr(space, "/base/") == NULL && strstr(space, "/ops/") == NULL)
		text_set(r, &r->subject_space, space);
	free(space);
}

static void
end_point(struct reader *r, bool is_source, const char *const *attributes)
{
	const char *value = attribute(attributes, "value"), *port = attribute(attributes, "port");

	if (value != NULL)
		pair_add(r, is_source ? "src" : "dst", value, true, false);
	if (port != NULL)
		pair_add(r, is_source ? "sport" : "dport", port, true, false);
}

static void
parameter_begin(struct reader *r, const char *const *attributes)
{
	const char *name = attribute(attributes, "name"), *value = attribute(attributes, "value"),
		   *of = attribute(attributes, NMWG_OWN "|of");
	bool of_subject = of != NULL && strcmp(of, "subject") == 0,
	     is_json = attribute(attributes, NMWG_OWN "|json") != NULL;

	parameter_clear(r);
	if (name != NULL && value != NULL)
		pair_add(r, name, value, of_subject, is_json);
	else if (name != NULL)
		r->parameter = (struct open_parameter){ xstrdup(name), of_subject, is_json };
}

static void
meta_element(struct reader *r, const char *name, const char *local, const char *const *attributes)
{
	if (strcmp(local, "subject") == 0)
		subject_begin(r, name);
	else if (r->subject != 0 && (strcmp(local, "src") == 0 || strcmp(local, "dst") == 0))
		end_point(r, local[0] == 's', attributes);
	else if (strcmp(local, "parameter") == 0)
		parameter_begin(r, attributes);
}

static void
type_take(struct reader *r, const char *type)
{
	char *text = xstrdup(type);
	size_t len = strlen(text);

	if (len > 0 && text[len - 1] == '/')
		text[len - 1] = '\0';
	if (strncmp(text, NMWG_SPACE, strlen(NMWG_SPACE)) != 0) {
		if (r->own_type == NULL && *text != '\0')
			text_set(r, &r->own_type, text);
	} else if (r->known_type == NULL)
		text_set(r, &r->known_type, text);
	free(text);
}

static void
meta_element_end(struct reader *r, const char *local)
{
	bool is_leaf = r->leaf == r->depth;
	const char *text = is_leaf ? leaf_text(r) : "";

	if (strcmp(local, "eventType") == 0)
		type_take(r, text);
	else if (strcmp(local, "parameter") == 0) {
		if (r->parameter.name != NULL)
			pair_add(r, r->parameter.name, text, r->parameter.of_subject,
			    r->parameter.is_json);
		parameter_clear(r);
	} else if (r->subject != 0 && is_leaf && *text != '\0')
		pair_add(r, local, text, true, false);
}

static void
meta_end(struct reader *r)
{
	struct nmwg_meta m = { .id = r->id,
		.ref = r->ref,
		.host = r->host,
		.own_id = r->own_id,
		.own_pid = r->own_pid,
		.own = r->own_id != NULL,
		.pairs = r->pairs,
		.n_pairs = r->n_pairs };

	if (r->own_type == NULL && r->known_type == NULL && r->subject_space != NULL)
		type_take(r, r->subject_space);
	m.event_type = r->own_type != NULL ? r->own_type : r->known_type;
	r->rc = r->sink->on_meta(r->sink->arg, offset_now(r), &m);
	texts_clear(r);
}

/* --- data --- */

static void
time_take(struct reader *r, const char *const *attributes)
{
	static const char *const names[] = { "timeValue", "endTime", NULL };
	const char *time = NULL;
	size_t i;

	for (i = 0; names[i] != NULL && time == NULL; i++)
		time = attribute(attributes, names[i]);
	if (time == NULL && r->common == r->depth)
		time = attribute(attributes, "value");
	if (time != NULL)
		text_set(r, &r->time, time);
	if (attribute(attributes, "startTime") != NULL)
		text_set(r, &r->from, attribute(attributes, "startTime"));
	if (r->time == NULL && r->from != NULL)
		text_set(r, &r->time, r->from);
}

/* Attributes of a datum without values. */
static bool
is_about(const char *name)
{
	static const char *const about[] = { "timeType", "timeValue", "startTime", "endTime",
		"valueUnits", NULL };
	size_t i;

	for (i = 0; about[i] != NULL; i++)
		if (strcmp(name, about[i]) == 0)
			return true;
	return strchr(name, SEPARATOR) != NULL;
}

static void
datum_begin(struct reader *r, const char *const *attributes)
{
	const char *name = attribute(attributes, "name"), *value = attribute(attributes, "value");
	bool is_json = attribute(attributes, NMWG_OWN "|json") != NULL;

	r->datum = r->depth;
	time_take(r, attributes);
	if (name != NULL && value != NULL) {
		pair_add(r, name, value, false, is_json);
		return;
	}
	if (attribute(attributes, "valueUnits") != NULL)
		text_set(r, &r->unit, attribute(attributes, "valueUnits"));
	for (; attributes[0] != NULL; attributes += 2)
		if (!is_about(attributes[0]))
			pair_add(r, attributes[0], attributes[1], false, false);
}

/* A bucket of a histogram, as owamp's summaries have: <value_bucket value="12" count="3"/>. */
static void
bucket_take(struct reader *r, const char *local, const char *const *attributes)
{
	const char *value = attribute(attributes, "value"), *ttl = attribute(attributes, "ttl"),
		   *count = attribute(attributes, "count");
	char *name;

	value = value != NULL ? value : ttl;
	if (value == NULL || count == NULL)
		return;
	name = xasprintf("%s:%s", local, value);
	pair_add(r, name, count, false, false);
	free(name);
}

static void
data_element(struct reader *r, const char *local, const char *const *attributes)
{
	if (strcmp(local, "commonTime") == 0) {
		r->common = r->depth;
		time_take(r, attributes);
	} else if (strcmp(local, "datum") == 0)
		datum_begin(r, attributes);
	else if (r->datum != 0)
		bucket_take(r, local, attributes);
}

static void
datum_end(struct reader *r)
{
	struct nmwg_datum d = { .ref = r->data_ref,
		.time = r->time,
		.from = r->from,
		.unit = r->unit,
		.pairs = r->pairs,
		.n_pairs = r->n_pairs };

	if (r->n_pairs > 0)
		r->rc = r->sink->on_datum(r->sink->arg, offset_now(r), &d);
	texts_clear(r);
}

/* --- elements --- */

static void XMLCALL
on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
	struct reader *r = arg;
	const char *local = local_name(name);
	const char *const *a = (const char *const *)attributes;

	if (r->rc < 0)
		return;
	r->leaf = ++r->depth;
	r->text_len = 0;
	if (r->depth > NMWG_DEPTH_MAX)
		stop(r, NW_ETOOBIG, "too many elements within elements");
	else if (r->meta != 0)
		meta_element(r, name, local, a);
	else if (r->data != 0)
		data_element(r, local, a);
	else if (strcmp(local, "metadata") == 0)
		meta_begin(r, a);
	else if (strcmp(local, "data") == 0) {
		texts_clear(r);
		r->data = r->depth;
		text_set(r, &r->data_ref, attribute(a, "metadataIdRef"));
	}
}

static void
element_close(struct reader *r)
{
	if (r->depth == r->meta) {
		r->meta = r->subject = 0;
		meta_end(r);
	} else if (r->depth == r->subject)
		r->subject = 0;
	else if (r->depth == r->datum) {
		r->datum = 0;
		if (r->common == 0)
			datum_end(r);
	} else if (r->depth == r->common) {
		r->common = 0;
		datum_end(r);
	} else if (r->depth == r->data)
		r->data = 0;
}

static void XMLCALL
on_end(void *arg, const XML_Char *name)
{
	struct reader *r = arg;

	if (r->rc < 0)
		return;
	if (r->meta != 0 && r->depth > r->meta)
		meta_element_end(r, local_name(name));
	element_close(r);
	r->depth--;
	if (r->rc < 0)
		XML_StopParser(r->xml, XML_FALSE);
}

static void XMLCALL
on_text(void *arg, const XML_Char *text, int len)
{
	struct reader *r = arg;

	if (r->rc < 0 || r->meta == 0 || r->leaf != r->depth)
		return;
	if ((size_t)len > NMWG_TEXT_MAX_BYTES - r->text_len) {
		stop(r, NW_ETOOBIG, "a text is too long");
		return;
	}
	memcpy(r->text + r->text_len, text, (size_t)len);
	r->text_len += (size_t)len;
}

/* Entities come with a document type, which no message of NM-WG has. */
static void XMLCALL
on_doctype(void *arg, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id,
    int has_subset)
{
	(void)name, (void)system_id, (void)public_id, (void)has_subset;
	stop(arg, NW_EPROTO, "a document type is not allowed");
}

static void
feed(struct reader *r, const char *bytes, size_t len)
{
	size_t from, n;

	for (from = 0; r->rc == NW_OK; from += n) {
		n = len - from < SLICE_BYTES ? len - from : SLICE_BYTES;
		if (XML_Parse(r->xml, bytes + from, (int)n, from + n == len) != XML_STATUS_OK &&
		    r->rc == NW_OK) {
			r->rc = NW_EPROTO;
			r->why = XML_ErrorString(XML_GetErrorCode(r->xml));
		}
		if (from + n == len)
			break;
	}
}

int
nmwg_read(const char *bytes, size_t len, const struct nmwg_sink *sink, size_t *at, const char **why)
{
	struct reader *r = xcalloc(1, sizeof(*r));
	size_t index;
	int rc;

	*why = NULL;
	*at = 0;
	r->sink = sink;
	if ((r->xml = XML_ParserCreateNS(NULL, SEPARATOR)) == NULL) {
		free(r);
		return NW_ENOMEM;
	}
	XML_SetUserData(r->xml, r);
	XML_SetElementHandler(r->xml, on_start, on_end);
	XML_SetCharacterDataHandler(r->xml, on_text);
	XML_SetStartDoctypeDeclHandler(r->xml, on_doctype);
	feed(r, bytes, len);
	index = offset_now(r);
	*at = index < len ? index : 0;
	*why = r->why;
	rc = r->rc < 0 ? r->rc : NW_OK;
	XML_ParserFree(r->xml);
	texts_clear(r);
	free(r->data_ref);
	free(r);
	return rc;
}

bool
nmwg_is(const char *bytes, size_t len)
{
	size_t look = len < LOOK_BYTES ? len : LOOK_BYTES, i = 0;

	while (i < look && strchr(" \t\r\n", bytes[i]) != NULL && bytes[i] != '\0')
		i++;
	return i < look && bytes[i] == '<' &&
	    memmem(bytes, look, NMWG_SPACE, strlen(NMWG_SPACE)) != NULL;
}

bool
nmwg_time_words(const char *text, long long *t_wall_ns)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char day[4], month[4], fraction[32] = "", zone[4];
	struct calendar c = { 0 };
	const char *found;
	int64_t unit = 100000000, t;
	int n = 0;
	size_t i;

	if (sscanf(text, "%3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d%n", day, month, &c.day, &c.hour,
		&c.minute, &c.second, &n) != 6)
		return false;
	text += n;
	if (*text == '.' && sscanf(text, ".%31[0-9]%n", fraction, &n) == 1)
		text += n;
	n = 0;
	if (sscanf(text, " %3[A-Z] %4d%n", zone, &c.year, &n) != 2 || text[n] != '\0' ||
	    (strcmp(zone, "UTC") != 0 && strcmp(zone, "GMT") != 0))
		return false;
	if (strlen(month) != 3 || (found = strstr(months, month)) == NULL ||
	    (found - months) % 3 != 0)
		return false;
	c.month = (int)(found - months) / 3 + 1;
	for (i = 0; fraction[i] != '\0' && unit > 0; i++, unit /= 10)
		c.ns += (fraction[i] - '0') * unit;
	if (!calendar_ns(&c, &t))
		return false;
	*t_wall_ns = t;
	return true;
}
