/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/batch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/jsontext.h"
#include "narrows/err.h"
#include "store/ground/tail.h"

enum {
	KEEPLISTS_MAX = 1000,
	ROUTES_MAX = 2000,
	EVENTS_BYTES = 8192 /* of an empty builder */
};

struct nw_batch *
nw_batch_new(void)
{
	return calloc(1, sizeof(struct nw_batch));
}

void
nw_batch_free(struct nw_batch *b)
{
	struct batch_events *e, *next;

	if (b == NULL)
		return;
	for (e = b->events; e != NULL; e = next) {
		next = e->next;
		nw_events_free(e->columns);
		free(e);
	}
	free(b->rows);
	free(b->recs);
	free(b->values);
	free(b->text);
	free(b);
}

size_t
nw_batch_bytes(const struct nw_batch *b)
{
	return b->rows_len + b->late_len + b->text_len + b->n_recs * sizeof(*b->recs) +
	    b->n_values * sizeof(*b->values) + b->event_bytes;
}

void
nw_batch_on_done(struct nw_batch *b, void (*done)(void *arg, int rc), void *arg)
{
	b->done = done;
	b->arg = arg;
}

static int
put_bytes(struct nw_batch *b, struct batch_value *v, const void *p, size_t len)
{
	if (p == NULL) {
		v->type = 0;
		return NW_OK;
	}
	if (!array_room(&b->text, &b->text_cap, b->text_len + len + 1, 1))
		return NW_ENOMEM;
	v->u.at = b->text_len;
	v->len = len;
	if (len > 0)
		memcpy(b->text + b->text_len, p, len);
	b->text[b->text_len + len] = '\0'; /* the packing of documents needs the end */
	b->text_len += len + 1;
	return NW_OK;
}

static int
put_value(struct nw_batch *b, struct batch_value *v, va_list *ap)
{
	const char *text;
	const void *blob;

	switch (v->type) {
	case 'i': v->u.i = va_arg(*ap, int64_t); return NW_OK;
	case 'n': /* 0 is "unknown" */
		v->u.i = va_arg(*ap, int64_t);
		v->type = v->u.i == 0 ? 0 : 'i';
		return NW_OK;
	case 'd': /* SQLite makes NaN a NULL */ v->u.d = va_arg(*ap, double); return NW_OK;
	case 't':
		text = va_arg(*ap, const char *);
		return put_bytes(b, v, text, text == NULL ? 0 : strlen(text));
	case 'b':
		blob = va_arg(*ap, const void *);
		return put_bytes(b, v, blob, va_arg(*ap, size_t));
	}
	assert(!"unknown type letter");
	return NW_EINVAL;
}

/* Appends a record with a value per type letter, or nothing. */
static int
put(struct nw_batch *b, enum batch_kind kind, const char *types, ...)
{
	size_t n = strlen(types), text_len = b->text_len, i;
	va_list ap;
	int rc = NW_OK;

	if (!array_room(&b->recs, &b->cap_recs, b->n_recs + 1, sizeof(*b->recs)) ||
	    !array_room(&b->values, &b->cap_values, b->n_values + n, sizeof(*b->values)))
		return NW_ENOMEM;
	va_start(ap, types);
	for (i = 0; rc == NW_OK && i < n; i++) {
		b->values[b->n_values + i].type = types[i];
		rc = put_value(b, &b->values[b->n_values + i], &ap);
	}
	va_end(ap);
	if (rc != NW_OK) {
		b->text_len = text_len;
		return rc;
	}
	b->recs[b->n_recs++] = (struct batch_rec){ kind, b->n_values, n };
	b->n_values += n;
	return NW_OK;
}

/* The order of values is the order of the parameters in writesql.c. */

int
nw_batch_host(struct nw_batch *b, const struct nw_host_rec *r)
{
	return put(b, BATCH_HOST, "ittnn", r->id, r->name, r->info_json, r->first_seen_wall_ns,
	    r->last_seen_wall_ns);
}

int
nw_batch_xsp(struct nw_batch *b, const struct nw_xsp_rec *r)
{
	return put(b, BATCH_XSP,
	    "inn"
	    "tttt"
	    "nn"
	    "iiiii"
	    "ttt",
	    r->id, r->host_id, r->session_id, r->sess_id_hex, r->peer, r->software, r->provider,
	    r->opened_wall_ns, r->closed_wall_ns, (int64_t)r->docs, (int64_t)r->samples,
	    (int64_t)r->rejected, (int64_t)r->bytes, (int64_t)r->dropped, r->end_reason, r->owner,
	    r->addresses);
}

int
nw_batch_session(struct nw_batch *b, const struct nw_session_rec *r)
{
	return put(b, BATCH_SESSION, "ittnnn", r->id, r->task_id, r->program, r->opened_wall_ns,
	    r->closed_wall_ns, r->last_data_wall_ns);
}

int
nw_batch_meta(struct nw_batch *b, const struct nw_meta_rec *r)
{
	return put(b, BATCH_META,
	    "innn"
	    "ttttt"
	    "nb",
	    r->id, r->session_id, r->host_id, r->xsp_id, r->mid, r->pid, r->event_type,
	    r->subject_json, r->params_json, r->first_wall_ns, (const void *)r->raw, r->raw_len);
}

int
nw_batch_layout(struct nw_batch *b, const struct nw_layout_rec *r)
{
	size_t size = 3, n = 0, c;
	char *json;
	int rc;

	if (r->n_fields == 0 || r->n_fields > TAIL_FIELDS_MAX)
		return NW_EINVAL;
	for (c = 0; c < r->n_fields; c++)
		size += jsontext_room(strlen(r->fields[c])) + 1;
	if ((json = malloc(size)) == NULL)
		return NW_ENOMEM;
	for (c = 0; c < r->n_fields; c++) {
		json[n++] = c == 0 ? '[' : ',';
		n += jsontext_write(json + n, r->fields[c], strlen(r->fields[c]));
	}
	json[n++] = ']';
	json[n] = '\0';
	rc = put(b, BATCH_LAYOUT, "iiti", r->id, r->meta_id, json, (int64_t)r->n_fields);
	free(json);
	return rc;
}

int
nw_batch_run(struct nw_batch *b, const struct nw_run_rec *r)
{
	return put(b, BATCH_RUN, "intnitt", r->id, r->session_id, r->kind, r->started_wall_ns,
	    r->took_ns, r->version, r->outcome);
}

int
nw_batch_result(struct nw_batch *b, const struct nw_result_rec *r)
{
	return put(b, BATCH_RESULT,
	    "in"
	    "tttt"
	    "dd"
	    "nn"
	    "tddtdt",
	    r->session_id, r->run_id, r->route, r->program, r->stage, r->sentence, r->bytes,
	    r->bytes_per_s, r->start_wall_ns, r->duration_ns, r->confidence, r->effect,
	    r->usual > 0 ? r->usual : NAN, r->label, r->exit_status, r->json);
}

int
nw_batch_keeplist(struct nw_batch *b, const struct nw_keeplist_rec *r)
{
	int rc = put(b, BATCH_KEEPLIST, "tttnnitt", r->route, r->program, r->response,
	    r->made_wall_ns, r->took_ns, (int64_t)r->headline, r->sentence, r->json);

	return rc == NW_OK ? put(b, BATCH_KEEPLISTS_TRIM, "i", (int64_t)KEEPLISTS_MAX) : rc;
}

int
nw_batch_diet(struct nw_batch *b, const struct nw_diet_rec *r)
{
	return put(b, BATCH_DIET, "itit", r->host_id, r->group, r->made_wall_ns, r->json);
}

int
nw_batch_diet_trim(struct nw_batch *b, int64_t host_id, int64_t before_wall_ns)
{
	return put(b, BATCH_DIET_TRIM, "ii", host_id, before_wall_ns);
}

int
nw_batch_diet_accept(struct nw_batch *b, int64_t id, int64_t now_wall_ns)
{
	return put(b, BATCH_DIET_ACCEPT, "ii", id, now_wall_ns);
}

int
nw_batch_diet_end(struct nw_batch *b, int64_t id, int64_t now_wall_ns)
{
	return put(b, BATCH_DIET_END, "ii", id, now_wall_ns);
}

int
nw_batch_diet_carried(struct nw_batch *b, int64_t id, int64_t now_wall_ns)
{
	return put(b, BATCH_DIET_CARRIED, "ii", id, now_wall_ns);
}

int
nw_batch_diet_seen(struct nw_batch *b, int64_t host_id, const char *json)
{
	return put(b, BATCH_DIET_SEEN, "it", host_id, json);
}

int
nw_batch_setting(struct nw_batch *b, const struct nw_setting_rec *r)
{
	return put(b, BATCH_SETTING, "itti", r->host_id, r->name, r->value, r->t_wall_ns);
}

int
nw_batch_settings_end(struct nw_batch *b, int64_t host_id, int64_t t_wall_ns, const char *from,
    const char *until, const char *names_json)
{
	int rc = put(b, BATCH_SETTINGS_GONE, "iittt", host_id, t_wall_ns, from, until, names_json);

	return rc == NW_OK ? put(b, BATCH_SETTINGS_TRIM, "ii", host_id, (int64_t)STORE_SETTINGS_MAX)
			   : rc;
}

int
nw_batch_route(struct nw_batch *b, const struct nw_route_rec *r)
{
	const struct nw_incident_rec *in = r->incidents;
	int rc = put(b, BATCH_ROUTE, "ttniidttt", r->route, r->program, r->made_wall_ns,
	    r->n_sessions, r->newest_session_id, r->bytes_per_s, r->stage, r->sentence, r->json);

	if (rc == NW_OK)
		rc = put(b, BATCH_INCIDENTS_GONE, "tt", r->route, r->program);
	for (; rc == NW_OK && in < r->incidents + r->n_incidents; in++)
		rc = put(b, BATCH_INCIDENT, "ttittintiit", r->route, r->program, in->session_id,
		    in->kind, in->state, in->begin_wall_ns, in->end_wall_ns, in->json,
		    in->from_wall_ns, in->to_wall_ns, in->sessions);
	return rc == NW_OK ? put(b, BATCH_ROUTES_TRIM, "i", (int64_t)ROUTES_MAX) : rc;
}

int
nw_batch_experiments(struct nw_batch *b, int64_t made_wall_ns, const char *json)
{
	return put(b, BATCH_EXPERIMENT, "it", made_wall_ns, json);
}

int
nw_batch_provider(struct nw_batch *b, const char *owner, const char *provider, uint64_t stored_seq)
{
	return put(b, BATCH_PROVIDER, "tti", owner, provider, (int64_t)stored_seq);
}

int
nw_batch_merge(struct nw_batch *b, int64_t from_id, int64_t into_id)
{
	struct batch_events *e;
	int rc;

	if ((rc = put(b, BATCH_MERGE_META, "ii", from_id, into_id)) == NW_OK &&
	    (rc = put(b, BATCH_MERGE_XSP, "ii", from_id, into_id)) == NW_OK &&
	    (rc = put(b, BATCH_MERGE_RUN, "ii", from_id, into_id)) == NW_OK &&
	    (rc = put(b, BATCH_MERGE_EVENTS, "ii", from_id, into_id)) == NW_OK &&
	    (rc = put(b, BATCH_MERGE_NOTES, "ii", from_id, into_id)) == NW_OK &&
	    (rc = put(b, BATCH_DROP_RESULT, "i", from_id)) == NW_OK &&
	    (rc = put(b, BATCH_MERGE_PIN, "ii", from_id, into_id)) == NW_OK)
		rc = put(b, BATCH_MERGE_SESSION, "i", from_id);
	/* events are written after all records */
	for (e = b->events; rc == NW_OK && e != NULL; e = e->next)
		if (e->session_id == from_id)
			e->session_id = into_id;
	return rc;
}

int
nw_batch_keep_result(struct nw_batch *b, int64_t session_id, int64_t now_wall_ns, const char *why)
{
	return put(b, BATCH_KEEP_RESULT, "iit", session_id, now_wall_ns, why);
}

int
nw_batch_drop_result(struct nw_batch *b, int64_t session_id)
{
	return put(b, BATCH_DROP_RESULT, "i", session_id);
}

int
nw_batch_seal(struct nw_batch *b, int64_t session_id)
{
	return put(b, BATCH_SEAL, "i", session_id);
}

static int
put_rows(struct nw_batch *b, const struct tail_rec *head, const int64_t *t_wall_ns,
    const double *values, const uint8_t *hist)
{
	size_t bytes = tail_rec_bytes(head->n_rows, head->n_fields, head->hist_len), n_values;
	uint8_t *p;

	if (!array_room(&b->rows, &b->rows_cap, b->rows_len + bytes, 1))
		return NW_ENOMEM;
	n_values = (size_t)head->n_rows * head->n_fields;
	p = b->rows + b->rows_len;
	memset(p + bytes - 8, 0, 8); /* the padding; all other bytes are written below */
	memcpy(p, head, sizeof(*head));
	p += sizeof(*head);
	memcpy(p, t_wall_ns, 8 * (size_t)head->n_rows);
	p += 8 * (size_t)head->n_rows;
	memcpy(p, values, 8 * n_values);
	if (head->hist_len > 0)
		memcpy(p + 8 * n_values, hist, head->hist_len);
	b->rows_len += bytes;
	b->n_rows += head->n_rows;
	b->n_samples += n_values;
	return NW_OK;
}

int
nw_batch_rows(struct nw_batch *b, int64_t layout_id, size_t n_fields, size_t n,
    const int64_t *t_wall_ns, const double *values, const uint8_t *hist, size_t hist_len)
{
	struct tail_rec head = { .layout_id = layout_id, .n_fields = (uint32_t)n_fields };
	size_t rows_len = b->rows_len, done, step;
	uint64_t n_rows = b->n_rows, n_samples = b->n_samples;
	int rc = NW_OK;

	if (n_fields == 0 || n_fields > TAIL_FIELDS_MAX || hist_len > TAIL_HIST_MAX_BYTES ||
	    (hist_len > 0 && n != 1))
		return NW_EINVAL;
	head.hist_len = hist == NULL ? 0 : (uint32_t)hist_len;
	for (done = 0; rc == NW_OK && done < n; done += step) {
		step = n - done < TAIL_ROWS_MAX ? n - done : TAIL_ROWS_MAX;
		head.n_rows = (uint32_t)step;
		rc = put_rows(b, &head, t_wall_ns + done, values + done * n_fields, hist);
	}
	if (rc != NW_OK) {
		b->rows_len = rows_len;
		b->n_rows = n_rows;
		b->n_samples = n_samples;
	}
	return rc;
}

/* --- events --- */

/* A builder of a pair, in front of the others. NULL: no memory */
static struct batch_events *
events_begin(struct nw_batch *b, int64_t session_id, int64_t host_id)
{
	struct batch_events *e = calloc(1, sizeof(*e));

	if (e == NULL || (e->columns = nw_events_new(NW_EVENT_KEPT_BYTES)) == NULL) {
		free(e);
		return NULL;
	}
	e->session_id = session_id;
	e->host_id = host_id;
	e->next = b->events;
	b->events = e;
	b->event_bytes += EVENTS_BYTES;
	return e;
}

/* Moves the builder in use of a pair to the front. */
static struct batch_events *
events_of(struct nw_batch *b, int64_t session_id, int64_t host_id)
{
	struct batch_events **at, *e;

	for (at = &b->events; (e = *at) != NULL; at = &e->next)
		if (e->session_id == session_id && e->host_id == host_id) {
			*at = e->next;
			e->next = b->events;
			return b->events = e;
		}
	return events_begin(b, session_id, host_id);
}

int
nw_batch_event(
    struct nw_batch *b, int64_t session_id, int64_t host_id, const struct nw_event *event)
{
	struct batch_events *e = events_of(b, session_id, host_id);
	int rc;

	if (e == NULL)
		return NW_ENOMEM;
	if ((rc = nw_events_add(e->columns, event)) == NW_ETOOBIG) {
		if ((e = events_begin(b, session_id, host_id)) == NULL)
			return NW_ENOMEM;
		rc = nw_events_add(e->columns, event);
	}
	b->event_bytes += nw_events_bytes(e->columns) - e->bytes;
	e->bytes = nw_events_bytes(e->columns);
	b->n_events += rc == NW_OK;
	return rc;
}
