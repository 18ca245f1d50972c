/* SPDX-License-Identifier: BSD-3-Clause */
/* One metadata item, of any generation. Metadata comes once per series: the path is for tolerance,
 * not for speed. */
#include <math.h>
#include <stdlib.h>

#include "xsp/decoder.h"

/* Text of a subject, NULL when empty. Numbers become digits: a README of the originals shows
 * stream_id as a number. */
static const char *
subject_text(struct nw_doc_decoder *d, const struct element *e)
{
	const char *text;
	char digits[32];
	size_t len;
	double v;

	if (e->type == BSON_TYPE_UTF8) {
		text = element_text(e, &len);
		if (len == 0)
			return NULL;
		return text_is_valid(text, len) ? text : text_repair(&d->scratch, text, len);
	}
	if (element_number(e, &v) == NUMBER_OK && isfinite(v))
		return text_repair(&d->scratch, digits, (size_t)number_text(digits, v));
	return NULL;
}

static uint16_t
subject_port(const struct element *e)
{
	double v;

	if (element_number(e, &v) == NUMBER_OK && v >= 0 && v <= 65535 && v == (uint16_t)v)
		return (uint16_t)v;
	return 0;
}

static int64_t
subject_size(const struct element *e)
{
	double v;

	if (e->type == BSON_TYPE_INT64)
		return (int64_t)get_le64(e->value);
	if (element_number(e, &v) == NUMBER_OK && v >= 0 && v < 9.2e18)
		return (int64_t)v;
	return -1;
}

enum subject_field {
	SUBJECT_TASK_ID,
	SUBJECT_XFER_ID,
	SUBJECT_STREAM_ID,
	SUBJECT_TYPE,
	SUBJECT_SRC,
	SUBJECT_DST,
	SUBJECT_RESOURCE,
	SUBJECT_HOSTNAME,
	SUBJECT_TEXTS,
	SUBJECT_SPORT = SUBJECT_TEXTS,
	SUBJECT_DPORT,
	SUBJECT_SIZE,
	SUBJECT_ENDPOINTS,
	SUBJECT_COUNT
};

static enum subject_field
subject_field_of_key(const struct element *e)
{
	static const struct {
		const char *key;
		enum subject_field field;
	} known[] = {
		{ "task_id", SUBJECT_TASK_ID },
		{ "xfer_id", SUBJECT_XFER_ID },
		{ "stream_id", SUBJECT_STREAM_ID },
		{ "type", SUBJECT_TYPE },
		{ "hostname", SUBJECT_HOSTNAME },
		{ "size", SUBJECT_SIZE },
		{ "src", SUBJECT_SRC },
		{ "LocalAddress", SUBJECT_SRC },
		{ "source", SUBJECT_SRC },
		{ "dst", SUBJECT_DST },
		{ "RemAddress", SUBJECT_DST },
		{ "destination", SUBJECT_DST },
		{ "sport", SUBJECT_SPORT },
		{ "LocalPort", SUBJECT_SPORT },
		{ "dport", SUBJECT_DPORT },
		{ "RemPort", SUBJECT_DPORT },
		{ "resource", SUBJECT_RESOURCE },
		{ "FILE", SUBJECT_RESOURCE },
		{ "filename", SUBJECT_RESOURCE },
		{ "endPointPair", SUBJECT_ENDPOINTS },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(e->key, known[i].key) == 0)
			return known[i].field;
	return SUBJECT_COUNT;
}

/* The first element of each field, under any of its names, in the subject or in an endPointPair. */
static void
subject_collect(
    struct nw_doc_decoder *d, const struct element *subject, struct element found[SUBJECT_COUNT])
{
	enum subject_field f;
	struct element e;
	struct walk w;

	walk_enter(&w, subject, d->lim.text_max_bytes);
	while (walk_next(&w, &e) > 0) {
		f = subject_field_of_key(&e);
		if (f == SUBJECT_COUNT || found[f].type != 0)
			continue;
		found[f] = e;
		if (f == SUBJECT_ENDPOINTS && element_is_container(&e))
			subject_collect(d, &e, found);
	}
}

/* The ports of a caliper's transfer stand in stream_id "l:r" alone. */
static void
subject_ports_from_stream(struct nw_subject *s)
{
	unsigned long local, remote;
	char *end;

	if (s->stream_id == NULL || s->stream_id[0] < '0' || s->stream_id[0] > '9')
		return;
	local = strtoul(s->stream_id, &end, 10);
	if (*end != ':' || end[1] < '0' || end[1] > '9')
		return;
	remote = strtoul(end + 1, &end, 10);
	if (*end != '\0' || local > 65535 || remote > 65535)
		return;
	if (s->sport == 0)
		s->sport = (uint16_t)local;
	if (s->dport == 0)
		s->dport = (uint16_t)remote;
}

static void
subject_decode(struct nw_doc_decoder *d, const struct element *subject, struct nw_subject *s)
{
	struct element found[SUBJECT_COUNT] = { { 0 } };
	const char *text[SUBJECT_TEXTS];
	int i;

	subject_collect(d, subject, found);
	for (i = 0; i < SUBJECT_TEXTS; i++)
		text[i] = found[i].type != 0 ? subject_text(d, &found[i]) : NULL;
	s->task_id = text[SUBJECT_TASK_ID];
	s->xfer_id = text[SUBJECT_XFER_ID];
	s->stream_id = text[SUBJECT_STREAM_ID];
	s->type = text[SUBJECT_TYPE];
	s->src = text[SUBJECT_SRC];
	s->dst = text[SUBJECT_DST];
	s->resource = text[SUBJECT_RESOURCE];
	s->hostname = text[SUBJECT_HOSTNAME];
	if (found[SUBJECT_SPORT].type != 0)
		s->sport = subject_port(&found[SUBJECT_SPORT]);
	if (found[SUBJECT_DPORT].type != 0)
		s->dport = subject_port(&found[SUBJECT_DPORT]);
	if (found[SUBJECT_SIZE].type != 0)
		s->size_bytes = subject_size(&found[SUBJECT_SIZE]);
	subject_ports_from_stream(s);
}

/* The name of the collection interval has no unit. XIO wrote seconds; generation 4 documents show
 * milliseconds, by their size, but never say so: their interval stays in params_json only. */
static void
params_decode(const struct element *params, struct nw_meta *m)
{
	double *to, v;
	struct element e;
	struct walk w;

	walk_enter(&w, params, UINT32_MAX);
	while (walk_next(&w, &e) > 0) {
		if (strcmp(e.key, "dt") == 0 || strcmp(e.key, "dt_s") == 0)
			to = &m->dt_s;
		else if (strcmp(e.key, "collectionInterval") == 0 && m->generation != NW_GEN_4)
			to = &m->dt_s;
		else if (strcmp(e.key, "ts") == 0)
			to = &m->ts_s;
		else
			continue;
		if (!isnan(*to))
			continue;
		if (e.type == BSON_TYPE_DATE_TIME)
			*to = (double)(int64_t)get_le64(e.value) / 1e3;
		else if (element_number(&e, &v) == NUMBER_OK && isfinite(v))
			*to = v;
	}
}

static enum nw_generation
generation_of(const struct item *it)
{
	bool old_id = item_has(it, PART_ID_OLD) && !item_has(it, PART_ID);

	if (item_has(it, PART_UNIS))
		return NW_GEN_4;
	if (it->in_envelope)
		return old_id ? NW_GEN_1 : NW_GEN_2;
	return old_id ? NW_GEN_1 : NW_GEN_3;
}

/* The event type; for structure of generation 2 the type; else "untyped". */
static int
event_type_decode(struct nw_doc_decoder *d, const struct item *it, char hex[25], struct nw_meta *m)
{
	m->structural = !item_has(it, PART_EVENT_TYPE);
	if (!m->structural)
		return decode_id(d, &it->part[PART_EVENT_TYPE], hex, &m->event_type);
	if (item_has(it, PART_TYPE))
		return decode_id(d, &it->part[PART_TYPE], hex, &m->event_type);
	if (!it->in_envelope || !item_has(it, PART_SUBJECT))
		return decode_fail(d, NW_EPROTO, "metadata without an event type");
	m->event_type = "untyped"; /* processes of generation 2 */
	return NW_OK;
}

static int
json_decode(struct nw_doc_decoder *d, const struct item *it, enum part p, const char **out)
{
	struct element object;
	int rc;

	*out = "{}";
	if (!item_has(it, p) || it->part[p].type == BSON_TYPE_NULL)
		return NW_OK;
	object = it->part[p];
	if (!element_is_container(&object))
		return decode_fail(d, NW_EPROTO, "subject or parameters is not a document");
	object.type = BSON_TYPE_DOCUMENT; /* even where the sender declared an array */
	*out = d->scratch.p + d->scratch.len;
	if ((rc = json_put(d, &d->scratch, &object)) < 0)
		return rc;
	scratch_put(&d->scratch, "", 1);
	return NW_OK;
}

static bool
has_pid(const struct item *it)
{
	const struct element *e = &it->part[PART_PID];

	return item_has(it, PART_PID) && e->type != BSON_TYPE_NULL &&
	    !(e->type == BSON_TYPE_UTF8 && e->value_len == 5);
}

int
meta_decode(struct nw_doc_decoder *d, const struct item *it)
{
	const struct element *id = &it->part[item_has(it, PART_ID) ? PART_ID : PART_ID_OLD];
	struct nw_meta m = { .subject = { .size_bytes = -1 },
		.dt_s = NAN,
		.ts_s = NAN,
		.raw = it->doc,
		.raw_len = it->len };
	char id_hex[25], pid_hex[25], type_hex[25];
	int rc;

	/* Enough for all text: JSON is at most six times as long (control characters), repaired
	 * text three times, and occurs once more. */
	if (scratch_reserve(&d->scratch, 10 * it->len + 512) < 0)
		return decode_fail(d, NW_ENOMEM, "out of memory");
	m.generation = generation_of(it);
	if ((rc = item_check_rest(d, it, 0)) < 0 || (rc = decode_id(d, id, id_hex, &m.id)) < 0)
		return rc;
	if (has_pid(it) && (rc = decode_id(d, &it->part[PART_PID], pid_hex, &m.pid)) < 0)
		return rc;
	if ((rc = event_type_decode(d, it, type_hex, &m)) < 0)
		return rc;
	if ((rc = json_decode(d, it, PART_SUBJECT, &m.subject_json)) < 0 ||
	    (rc = json_decode(d, it, PART_PARAMS, &m.params_json)) < 0)
		return rc;
	if (item_has(it, PART_SUBJECT) && element_is_container(&it->part[PART_SUBJECT]))
		subject_decode(d, &it->part[PART_SUBJECT], &m.subject);
	if (item_has(it, PART_PARAMS) && element_is_container(&it->part[PART_PARAMS]))
		params_decode(&it->part[PART_PARAMS], &m);
	if (d->scratch.len > d->scratch.cap)
		return decode_fail(d, NW_ETOOBIG, "metadata too long as JSON");
	rc = d->sink->on_meta != NULL ? d->sink->on_meta(d->sink->arg, &m) : NW_OK;
	return rc < 0 ? rc : NW_OK;
}
