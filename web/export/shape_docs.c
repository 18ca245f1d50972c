/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents as peers send them, one after the other; each BSON document begins with its length.
 * Each metadata comes before its rows. If a sender has several metadata of one id, data of all but
 * the first name their event type.
 *
 *	{"sender":"...","host":"dtn1","task_id":"..."}                   sender of the rest
 *	{"version":"0.1","meta":[{metadata, byte for byte}],"data":[]}   generations 1 and 2
 *	{"version":"0.1","meta":[],"data":[{row}]}
 *	{metadata, byte for byte}                                        generation 3
 *	{"mid":"...","data":{row}}
 *
 * The shape "bson" writes everything in the generation in which it was sent, and loses nothing that
 * is stored. The other shapes translate into their generation. Generation 2 has one value per
 * metadata, so each field of a row becomes a child of its metadata, with times of microseconds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "web/export/bson_document.h"
#include "web/export/shape.h"

struct docs {
	char *task_id;       /* task of the session, or NULL */
	char *sender;        /* sender named last */
	json_t *mids;        /* SENDER/MID of all metadata so far */
	json_t *senders;     /* number of each sender in this export, by the id in the store */
	unsigned generation; /* of the series in hand */
	struct document_series series;
	int64_t xsp_id; /* XSP session of the metadata */
	uint8_t *raw;   /* bytes of the metadata as sent, or NULL */
	size_t raw_len;
};

static int
put(struct export *x, const bson_t *doc)
{
	return textout_put(&x->out, (const char *)bson_get_data(doc), doc->len);
}

/* Writes an item with the envelope of its generation. */
static int
put_item(struct export *x, unsigned generation, bool is_data, const bson_t *item)
{
	struct document_envelope e;
	int rc;

	if (generation == DOCUMENT_G3)
		return put(x, item);
	document_begin(&e, is_data);
	document_item(&e, item);
	rc = put(x, document_end(&e));
	bson_destroy(&e.whole);
	return rc;
}

/* --- the sender --- */

struct sender {
	char *name; /* provider id, which stays in the box; then the number in the export */
	bson_t doc;
};

static int
on_xsp(void *arg, const struct nw_xsp_rec *xsp)
{
	struct sender *s = arg;

	s->name = bson_strdup(xsp->provider != NULL ? xsp->provider : xsp->sess_id_hex);
	if (xsp->software != NULL)
		bson_append_utf8(&s->doc, "software", 8, xsp->software, -1);
	return 0;
}

/* Exports number their senders: the ids of providers stay secret. */
static void
sender_number(struct docs *d, struct sender *s)
{
	json_t *number = json_object_get(d->senders, s->name);

	if (number == NULL) {
		number = json_integer((json_int_t)json_object_size(d->senders) + 1);
		json_object_set_new(d->senders, s->name, number);
	}
	bson_free(s->name);
	s->name = bson_strdup_printf("%lld", (long long)json_integer_value(number));
}

static int
put_sender(struct export *x, const struct walk_meta *m)
{
	struct docs *d = x->state;
	struct sender s = { 0 };
	bson_t doc;
	int rc;

	bson_init(&s.doc);
	if ((rc = store_xsp_get(x->reader, d->xsp_id, on_xsp, &s)) == NW_ENOTFOUND)
		rc = NW_OK;
	if (s.name == NULL)
		s.name = bson_strdup(m->host);
	sender_number(d, &s);
	if (rc == NW_OK && (d->sender == NULL || strcmp(d->sender, s.name) != 0)) {
		bson_init(&doc);
		bson_append_utf8(&doc, "sender", 6, s.name, -1);
		bson_append_utf8(&doc, "host", 4, m->host, -1);
		if (d->task_id != NULL)
			bson_append_utf8(&doc, "task_id", 7, d->task_id, -1);
		bson_concat(&doc, &s.doc);
		rc = put(x, &doc);
		bson_destroy(&doc);
		bson_free(d->sender);
		d->sender = s.name;
		s.name = NULL;
	}
	bson_free(s.name);
	bson_destroy(&s.doc);
	return rc;
}

/* --- metadata --- */

static int
on_meta(void *arg, const struct nw_meta_rec *rec)
{
	struct docs *d = arg;

	free(d->raw);
	d->raw = NULL;
	d->raw_len = rec->raw_len;
	d->xsp_id = rec->xsp_id;
	if (rec->raw_len > 0 && (d->raw = malloc(rec->raw_len)) == NULL)
		return NW_ENOMEM;
	if (d->raw != NULL)
		memcpy(d->raw, rec->raw, rec->raw_len);
	return 0;
}

/* Whether the sender described another metadata of the id before. */
static bool
mid_again(struct docs *d, const char *mid)
{
	char *key = bson_strdup_printf("%s/%s", d->sender, mid);
	bool again = json_object_get(d->mids, key) != NULL;

	json_object_set_new(d->mids, key, json_true());
	bson_free(key);
	return again;
}

/* In generation 1 the parameters hold the times of the rows. */
static void
series_begin(struct docs *d, const struct walk_meta *m)
{
	json_t *params = json_loads(m->params_json, 0, NULL);
	const json_t *ts = json_object_get(params, "ts"), *dt = json_object_get(params, "dt");

	d->series = (struct document_series){ .mid = m->mid,
		.event_type = m->event_type,
		.shares_mid = mid_again(d, m->mid),
		.ts_s = json_is_number(ts) ? json_number_value(ts) : NAN,
		.dt_s = json_is_number(dt) ? json_number_value(dt) : NAN };
	json_decref(params);
}

struct children {
	struct export *x;
	const bson_t *sent;
	const struct walk_meta *m;
	json_t *seen;
};

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct children *c = arg;
	bson_t item;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < l->n_fields && rc == NW_OK; i++) {
		if (strcmp(l->fields[i], "value") == 0 ||
		    json_object_get(c->seen, l->fields[i]) != NULL)
			continue;
		json_object_set_new(c->seen, l->fields[i], json_true());
		bson_init(&item);
		document_meta(&item, DOCUMENT_G2, c->m, c->sent, l->fields[i]);
		rc = put_item(c->x, DOCUMENT_G2, false, &item);
		bson_destroy(&item);
	}
	return rc;
}

static int
put_children(struct export *x, const struct walk_meta *m, const bson_t *sent)
{
	struct children c = { .x = x, .sent = sent, .m = m, .seen = json_object() };
	int rc = c.seen != NULL ? store_layouts(x->reader, m->id, on_layout, &c) : NW_ENOMEM;

	json_decref(c.seen);
	return rc;
}

static int
put_meta(struct export *x, const struct walk_meta *m)
{
	struct docs *d = x->state;
	unsigned came = DOCUMENT_G3;
	bson_t raw, item, *sent = d->raw != NULL ? &raw : NULL;
	int rc;

	if (sent != NULL) {
		if (!bson_init_static(&raw, d->raw, d->raw_len))
			return NW_ECORRUPT;
		came = document_generation(sent);
	}
	d->generation = x->opts.shape->generation != 0 ? x->opts.shape->generation : came;
	if (sent != NULL && came == d->generation)
		rc = put_item(x, came, false, sent);
	else {
		bson_init(&item);
		document_meta(&item, d->generation, m, sent, NULL);
		rc = put_item(x, d->generation, false, &item);
		bson_destroy(&item);
	}
	if (rc == NW_OK && x->opts.shape->generation == DOCUMENT_G2)
		rc = put_children(x, m, sent);
	return rc;
}

static int
prefix(struct export *x, FILE *f, const struct walk_meta *m)
{
	int rc;

	(void)f;
	if ((rc = store_meta_get(x->reader, m->id, on_meta, x->state)) < 0 ||
	    (rc = put_sender(x, m)) < 0)
		return rc;
	series_begin(x->state, m);
	return put_meta(x, m);
}

/* --- rows --- */

static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	(void)x, (void)m;
	fputs(field, f);
}

/* Writes a report as an envelope with an item for each value. */
static int
put_pairs(struct export *x, const struct document_series *s, const struct merge_row *r)
{
	struct document_envelope e;
	const char *field;
	bson_t item;
	size_t k;
	int rc;

	document_begin(&e, true);
	for (k = 0; k < r->n_fields; k++) {
		if (isnan(r->values[k]))
			continue;
		field = strcmp(r->labels[k], "value") == 0 ? NULL : r->labels[k];
		bson_init(&item);
		document_pair(&item, s, field, r->t_wall_ns, r->values[k]);
		document_item(&e, &item);
		bson_destroy(&item);
	}
	rc = put(x, document_end(&e));
	bson_destroy(&e.whole);
	return rc;
}

/* Whether a row has nothing but a value, at a time that generation 2 can express. */
static bool
is_pair(const struct merge_row *r)
{
	size_t k;

	for (k = 0; k < r->n_fields && (isnan(r->values[k]) || strcmp(r->labels[k], "value") == 0);
	     k++)
		;
	return k == r->n_fields && r->hist == NULL && document_time_fits(r->t_wall_ns);
}

/*
 * A row of fields from a sender of generation 2 goes unchanged into its envelope, unless all items
 * must be scalars.
 */
static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	struct docs *d = x->state;
	bson_t item;
	size_t k;
	int rc;

	(void)before;
	for (k = 0; k < r->n_fields && isnan(r->values[k]); k++)
		;
	if (k == r->n_fields)
		return NW_OK;
	if (d->generation == DOCUMENT_G2 &&
	    (x->opts.shape->generation == DOCUMENT_G2 || is_pair(r)))
		return put_pairs(x, &d->series, r);
	bson_init(&item);
	if (d->generation == DOCUMENT_G1)
		document_row_g1(&item, &d->series, r);
	else
		document_row_g3(&item, &d->series, r);
	rc = put_item(x, d->generation, true, &item);
	bson_destroy(&item);
	return rc;
}

/* --- state --- */

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct docs *d = arg;

	(void)res;
	d->task_id = bson_strdup(s->task_id);
	return 0;
}

static void
state_free(void *state)
{
	struct docs *d = state;

	free(d->raw);
	json_decref(d->mids);
	json_decref(d->senders);
	bson_free(d->sender);
	bson_free(d->task_id);
	free(d);
}

static int
state_new(struct export *x)
{
	struct docs *d = x->state = calloc(1, sizeof(*d));

	if (d == NULL || (d->mids = json_object()) == NULL || (d->senders = json_object()) == NULL)
		return NW_ENOMEM;
	return store_session_get(x->reader, x->session_id, on_session, d);
}

#define DOCS(name_, generation_)                                                           \
	{                                                                                  \
		.name = name_, .ending = ".bson", .content_type = "application/bson",      \
		.hist = true, .generation = generation_, .prefix = prefix, .label = label, \
		.row = row, .state_new = state_new, .state_free = state_free               \
	}
const struct shape shape_bson = DOCS("bson", 0), shape_g1 = DOCS("g1", DOCUMENT_G1),
		   shape_g2 = DOCS("g2", DOCUMENT_G2), shape_g3 = DOCS("g3", DOCUMENT_G3);
