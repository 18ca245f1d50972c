/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/ingest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/eventput.h"
#include "daemon/ends.h"
#include "daemon/hostlist.h"
#include "daemon/join.h"
#include "daemon/origin.h"
#include "daemon/rules.h"
#include "daemon/session.h"
#include "daemon/settings.h"
#include "narrows/eventtype.h"
#include "narrows/task.h"
#include "daemon/xsess.h"
#include "narrows/provoked.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/event.h"
#include "narrows/log.h"

enum { ROWS_AT_ONCE = 64, LOST_KEYS_MAX = 8 };

static const int64_t EVENT_TIME_END_S = 7258118400; /* 2200-01-01, as of rows */

/* --- sessions --- */

/* A host's series of a transfer neither opens the session nor keeps the session open. */
static bool
is_witness(const struct xsess *x, const struct series *sr)
{
	return x->for_host && !nw_type_is_transfer(sr->event_type);
}

static struct session *
session_of(struct xsess *x, const struct series *sr, const struct nw_meta *m)
{
	const struct session_guest guest = xsess_guest(x);
	const char *task = sr->task_id != NULL ? sr->task_id : x->task_id;
	struct nw_subject subject = m->subject;
	struct session *ordered;
	struct join_clue clue = { .host_id = x->host->id,
		.sess_id_hex = x->sess_id_hex,
		.guest = &guest,
		.subject = &subject,
		.event_type = m->event_type,
		.xfer_id = m->subject.xfer_id };

	if (x->of_partner) {
		if (sr->task_id == NULL && nw_type_is_of_host(sr->event_type))
			return NULL;
		x->session = session_now(x->session);
		x->session->refs++;
		return x->session;
	}
	if (task != NULL && is_witness(x, sr) &&
	    (ordered = session_of_alias(x->box, task, x->host->name)) != NULL)
		return ordered;
	if (task != NULL)
		return is_witness(x, sr) ? session_find(x->box, task, &guest)
					 : session_join(x->box, task, &guest);
	if (!nw_type_is_transfer(sr->event_type))
		return NULL;
	series_subject(sr, &subject);
	if (clue.xfer_id == NULL && nw_type_begins(m->event_type, NW_TYPE_XFER))
		clue.xfer_id = m->id;
	clue.current = x->session = session_now(x->session);
	return join_find(x->box, &clue);
}

/* --- series --- */

static int documents_release(struct xsess *x, const char *mid);

/* Copies of text and bytes with the secret task id, if any, masked. */
static char *
copy_masked(const char *task_id, const void *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	if (task_id != NULL)
		task_mask(task_id, copy, len);
	return copy;
}

static int
meta_write(struct xsess *x, const struct series *sr, const struct nw_meta *m)
{
	const char *subject = sr->inherited_json != NULL ? sr->inherited_json : m->subject_json;
	char *masked = copy_masked(sr->task_id, subject, strlen(subject)),
	     *raw = copy_masked(sr->task_id, m->raw, m->raw_len);
	struct nw_meta_rec rec = { .id = sr->meta_id,
		.session_id = sr->session != NULL ? sr->session->id : 0,
		.host_id = x->host->id,
		.xsp_id = x->id,
		.mid = m->id,
		.pid = m->pid,
		.event_type = m->event_type,
		.subject_json = masked,
		.params_json = m->params_json,
		.first_wall_ns = nw_wall_ns(),
		.raw = (const uint8_t *)raw,
		.raw_len = m->raw_len };
	int rc = NW_ENOMEM;

	commit_charge(x->box->commit, x->wire.owner, COMMIT_RECORD_COST + 2 * m->raw_len);
	if (masked != NULL && raw != NULL)
		rc = nw_batch_meta(commit_batch(x->box->commit), &rec);
	free(masked);
	free(raw);
	return rc;
}

static void
end_note(const struct xsess *x, struct session *s, const struct session_guest *guest,
    const struct nw_subject *subject)
{
	const struct ends_sender sender = { .guest = guest,
		.is_agent = x->software != NULL && strcmp(x->software, "nwflow") == 0 };

	ends_note(x->box->ends, s, &sender, subject);
}

static int
on_meta(void *arg, const struct nw_meta *m)
{
	struct xsess *x = arg;
	const struct session_guest guest = xsess_guest(x);
	struct series *sr;
	bool is_new;
	int rc;

	if (settings_are(m)) {
		commit_charge(x->box->commit, x->wire.owner, COMMIT_RECORD_COST + 4 * m->raw_len);
		return settings_take(x, m);
	}
	if ((rc = origin_series_add(x->origin, m, &sr, &is_new)) < 0)
		return rc;
	if (!is_new)
		return NW_OK;
	sr->witness = is_witness(x, sr);
	if ((sr->session = session_of(x, sr, m)) != NULL && !sr->witness) {
		xsess_bind(x, sr->session);
		session_take_part(sr->session, &guest);
		session_name_address(sr->session, &guest, m->subject.src);
		session_name_address(sr->session, &guest, m->subject.dst);
		if (x->task_id != NULL)
			end_note(x, sr->session, &guest, &m->subject);
		sr->session = session_now(sr->session);
		rules_connection(x->box->rules, sr->session, x->host->name, &m->subject);
	}
	sr->meta_id = x->box->next.meta++;
	if ((rc = meta_write(x, sr, m)) < 0)
		return rc;
	return documents_release(x, m->id);
}

static bool
fields_fit(const struct xsess *x, const struct nw_data *d)
{
	return x->origin->catalog.n_fields + d->n_fields <= x->box->conf->max_series_per_session;
}

/* Gives the series a layout: the old fields, then the new ones of d. Older rows keep the old
 * layout. */
static int
layout_renew(struct xsess *x, struct series *sr, const struct nw_data *d)
{
	struct layout *l = &sr->layout;
	struct nw_layout_rec rec;
	size_t cost = COMMIT_RECORD_COST, i;
	int rc;

	if (sr->n_layouts >= CATALOG_LAYOUTS_MAX ||
	    (!fields_fit(x, d) && (!origin_make_room(x->origin, sr) || !fields_fit(x, d))))
		return NW_ETOOBIG;
	if ((rc = layout_extend(&x->origin->catalog, sr, d)) < 0)
		return rc;
	l->id = x->box->next.layout++;
	rec.id = l->id;
	rec.meta_id = sr->meta_id;
	rec.n_fields = l->n_fields;
	rec.fields = (const char *const *)l->fields;
	for (i = 0; i < l->n_fields; i++)
		cost += strlen(l->fields[i]);
	commit_charge(x->box->commit, x->wire.owner, 2 * cost);
	return nw_batch_layout(commit_batch(x->box->commit), &rec);
}

/* Rows in the layout's order: d's own rows if d has the same order. NULL without memory. */
static const double *
rows_place(struct xsess *x, const struct layout *l, const struct nw_data *d, const uint32_t *where,
    size_t first, size_t n)
{
	const double *from = d->values + first * d->n_fields;
	struct ingest *in = &x->in;
	double *grown;
	size_t i, k;

	for (i = 0; i < d->n_fields && where[i] == i; i++)
		continue;
	if (i == l->n_fields)
		return from;
	if (n * l->n_fields > in->scatter_cap) {
		if ((grown = realloc(in->scatter, n * l->n_fields * sizeof(*grown))) == NULL)
			return NULL;
		in->scatter = grown;
		in->scatter_cap = n * l->n_fields;
	}
	for (i = 0; i < n * l->n_fields; i++)
		in->scatter[i] = NAN;
	for (i = 0; i < n; i++)
		for (k = 0; k < d->n_fields; k++)
			in->scatter[i * l->n_fields + where[k]] = from[i * d->n_fields + k];
	return in->scatter;
}

/* Appends rows in slices: memory does not depend on the number of rows in a document. */
static int
rows_append(struct xsess *x, struct series *sr, const struct nw_data *d, const uint32_t *where)
{
	int64_t t[ROWS_AT_ONCE];
	const double *rows;
	size_t i, n, first;
	int rc = NW_OK;

	for (first = 0; first < d->n_rows && rc == NW_OK; first += n) {
		n = d->n_rows - first < ROWS_AT_ONCE ? d->n_rows - first : ROWS_AT_ONCE;
		for (i = 0; i < n; i++)
			t[i] = series_row_time(sr, d, first + i, x->in.now_wall_ns);
		if ((rows = rows_place(x, &sr->layout, d, where, first, n)) == NULL)
			return NW_ENOMEM;
		rc = nw_batch_rows(commit_batch(x->box->commit), sr->layout.id, sr->layout.n_fields,
		    n, t, rows, d->hist, d->hist_len);
	}
	return rc;
}

/* Data whose metadata has not arrived: a document waits for the metadata, if there is room. */
static int
data_hold(struct xsess *x, const struct nw_data *d)
{
	int rc = NW_EFULL;

	if (x->in.doc != NULL)
		rc = catalog_hold(&x->origin->catalog, d->mid, x->in.opt, x->in.doc, x->in.doc_len);
	if (rc == NW_OK)
		counter_add(&x->box->counters.held_documents, 1);
	else
		counter_add(&x->box->counters.data_without_metadata, 1);
	return NW_OK;
}

static int
on_data(void *arg, const struct nw_data *d)
{
	struct xsess *x = arg;
	struct series *sr;
	uint32_t where[CATALOG_FIELDS_MAX];
	int rc;

	if (x->in.only_mid != NULL && strcmp(x->in.only_mid, d->mid) != 0)
		return NW_OK; /* taken when the document came, or held by itself */
	if (!data_times_are_sane(d))
		return NW_EPROTO;
	if ((sr = catalog_series_of(&x->origin->catalog, d)) == NULL)
		return data_hold(x, d);
	if (d->n_fields > CATALOG_FIELDS_MAX)
		return NW_ETOOBIG;
	if (!layout_map(&sr->layout, d, where)) {
		if ((rc = layout_renew(x, sr, d)) < 0)
			return rc;
		layout_map(&sr->layout, d, where);
	}
	if (sr->layout.n_fields == 0)
		return NW_OK;
	if ((rc = rows_append(x, sr, d, where)) < 0)
		return rc;
	x->samples += d->n_rows * d->n_fields;
	counter_add(&x->box->counters.samples, d->n_rows * d->n_fields);
	if ((sr->session = session_now(sr->session)) == NULL)
		return NW_OK;
	if (!is_witness(x, sr))
		session_touch(sr->session, x->wire.owner,
		    x->of_partner ? sr->session->last_data_wall_ns : x->in.now_wall_ns);
	else if (strcmp(sr->event_type, NW_TYPE_REPLAY) == 0)
		rules_replayed(x->box->rules, sr->session, x->host->name, nw_data_has(d, "bytes"));
	return NW_OK;
}

/* Takes the documents held for the metadata `mid`. */
static int
documents_release(struct xsess *x, const char *mid)
{
	struct nw_doc_sink sink = { .arg = x, .on_meta = on_meta, .on_data = on_data };
	const uint8_t *outer = x->in.doc;
	struct nw_doc_decoder *decoder;
	const char *why = NULL;
	uint8_t *doc;
	uint16_t opt;
	size_t len;
	int rc = NW_OK;

	if (x->origin->catalog.held == NULL)
		return NW_OK;
	/* The decoder in use holds the metadata: a second decoder reads the held documents. */
	if ((decoder = nw_doc_decoder_new(NULL)) == NULL)
		return NW_ENOMEM;
	x->in.doc = NULL; /* data still without metadata is not held again */
	x->in.only_mid = mid;
	while (rc != NW_ENOMEM &&
	    (doc = catalog_held_take(&x->origin->catalog, mid, &opt, &len)) != NULL) {
		rc = nw_doc_decode(decoder, opt, doc, len, &sink, &why);
		free(doc);
	}
	x->in.only_mid = NULL;
	x->in.doc = outer;
	nw_doc_decoder_free(decoder);
	return rc == NW_ENOMEM ? rc : NW_OK;
}

/* --- numbers --- */

void
ingest_number(struct xsess *x, uint64_t first_seq, uint64_t lost)
{
	x->in.next_seq = first_seq;
	x->in.lost = lost;
}

static void
lost_add(struct xsess *x, uint64_t lost)
{
	if (lost == 0)
		return;
	x->dropped = lost < INT64_MAX - x->dropped ? x->dropped + lost : INT64_MAX;
	counter_add(&x->box->counters.dropped_documents, lost);
	provoked_warnx(&x->box->log_rate, x->wire.owner,
	    "document.gap peer=%s host=%s dropped=%llu", x->wire.name, x->host->name,
	    (unsigned long long)lost);
	xsess_write(x);
}

/* Two documents of one life of a provider: all numbers between them were given. */
static bool
is_one_life(uint64_t a, uint64_t b)
{
	return a >> INGEST_LIFE_SHIFT == b >> INGEST_LIFE_SHIFT;
}

/* Counts the documents lost by a provider before number seq, once, with the first new document
 * behind the gap. A gap between lives, or before the first number that the box hears of, has
 * numbers without documents; the provider says there how many are lost. */
static void
gap_note(struct xsess *x, uint64_t seq)
{
	uint64_t before = x->origin->accepted_seq, gap = seq - before - 1,
		 told = x->in.lost < gap ? x->in.lost : gap;

	x->in.lost = 0;
	lost_add(x, before > 0 && is_one_life(before, seq) ? gap : told);
}

/* Data documents of a provider have numbers; a document taken before is dropped. */
static bool
document_is_new(struct xsess *x)
{
	uint64_t seq = x->in.next_seq++;

	if (seq <= x->origin->accepted_seq) {
		x->in.lost = 0;
		counter_add(&x->box->counters.duplicates, 1);
		return false;
	}
	gap_note(x, seq);
	x->origin->accepted_seq = seq;
	return true;
}

/* The session of the lost documents' task, if the sender may join the session. */
static void
lost_bind(struct xsess *x, const char *task_id)
{
	const struct session_guest guest = xsess_guest(x);
	struct session *s;

	if (task_id == NULL || x->session != NULL ||
	    (s = session_find(x->box, task_id, &guest)) == NULL)
		return;
	xsess_bind(x, s);
	session_release(s);
}

int
ingest_lost(struct xsess *x, const uint8_t *data, size_t len, const char **why)
{
	struct nw_kv kv[LOST_KEYS_MAX];
	uint64_t seq = x->in.next_seq, first;
	size_t n = 0;
	int rc;

	if ((rc = nw_kv_decode(data, len, kv, LOST_KEYS_MAX, &n, why)) < 0)
		return rc;
	first = (uint64_t)nw_kv_int(kv, n, "first", 0);
	if (!x->hello || seq >= INGEST_SEQ_MAX || first < 1 || first > seq ||
	    !is_one_life(first, seq)) {
		*why = "lost documents without numbers";
		return NW_EPROTO;
	}
	x->in.next_seq++;
	if (seq <= x->origin->accepted_seq)
		return NW_OK;
	lost_bind(x, nw_kv_text(kv, n, "task_id"));
	if (first > x->origin->accepted_seq + 1)
		gap_note(x, first);
	else
		first = x->origin->accepted_seq + 1;
	x->in.lost = 0;
	x->origin->accepted_seq = seq;
	lost_add(x, seq - first + 1);
	commit_note_origin(x->box->commit, x->origin);
	return NW_OK;
}

/* --- events --- */

/* The session of a sender's events. The events keep the session open or open it again. NULL for
 * events of a host. */
static struct session *
events_session(struct xsess *x)
{
	const struct session_guest guest = xsess_guest(x);
	struct session *s;

	x->session = session_now(x->session);
	if (x->session == NULL && x->task_id != NULL) {
		s = session_join(x->box, x->task_id, &guest);
		session_take_part(s, &guest);
		xsess_bind(x, s);
		session_release(s);
	}
	return x->session;
}

static int
events_put(struct xsess *x, int64_t session_id)
{
	const struct session_guest guest = xsess_guest(x);
	const struct event_source from = {
		.guest = &guest, .host = x->host, .session_id = session_id
	};
	struct nw_event_block *b = x->box->events;
	size_t n = nw_event_block_count(b), i;
	struct nw_event e;
	int rc = NW_OK;

	for (i = 0; i < n && rc == NW_OK; i++) {
		nw_event_block_get(b, i, &e);
		rc = event_put(x->box, &from, &e);
	}
	counter_add(&x->box->counters.events, i);
	return rc;
}

/* Takes a block of events: all events, or, if the bytes are wrong, none. */
static int
events_decode(struct xsess *x, const uint8_t *data, size_t len, const char **why)
{
	struct session *s;
	size_t n;
	int rc;

	if (x->box->events == NULL && (x->box->events = nw_event_block_new()) == NULL)
		return NW_ENOMEM;
	if (len == 0 || data[0] != NW_EVENT_DOC_VERSION) {
		*why = "events of an unknown version";
		return NW_EPROTO;
	}
	if ((rc = nw_event_block_read(x->box->events, data + 1, len - 1, why)) < 0)
		return rc;
	n = nw_event_block_count(x->box->events);
	if (nw_event_block_time(x->box->events, 0) < 0 ||
	    nw_event_block_time(x->box->events, n - 1) >= EVENT_TIME_END_S * 1000000000) {
		*why = "an event before 1970 or after 2199";
		return NW_EPROTO;
	}
	s = events_session(x);
	if ((rc = events_put(x, s != NULL ? s->id : 0)) == NW_OK && s != NULL)
		session_touch(s, x->wire.owner, x->in.now_wall_ns);
	*why = nw_strerror(rc);
	return rc;
}

/* --- documents --- */

static int
document_decode(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why)
{
	struct nw_doc_sink sink = { .arg = x, .on_meta = on_meta, .on_data = on_data };
	int rc;

	x->in.now_wall_ns = nw_wall_ns();
	x->in.opt = opt;
	x->in.doc = data;
	x->in.doc_len = len;
	*why = NULL;
	rc = opt == NW_OPT_OPS ? events_decode(x, data, len, why)
			       : nw_doc_decode(x->box->decoder, opt, data, len, &sink, why);
	x->in.doc = NULL;
	origin_count(x->origin);
	if (*why == NULL)
		*why = rc == NW_ETOOBIG ? "too many series in one session" : nw_strerror(rc);
	return rc;
}

/* A bad document is the sender's loss, not the session's end. */
static void
document_reject(struct xsess *x, uint16_t opt, const char *why)
{
	x->rejected++;
	counter_add(&x->box->counters.rejected_documents, 1);
	log_debug("document.reject peer=%s opt=0x%02x why=\"%s\"", x->wire.name, opt, why);
}

int
ingest_document(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why)
{
	bool numbered =
	    (opt == NW_OPT_DATA || opt == NW_OPT_BATCH || opt == NW_OPT_OPS) && x->hello;
	uint64_t accepted = x->origin->accepted_seq;
	int rc;

	x->bytes += len;
	counter_add(&x->box->counters.documents, 1);
	if (numbered && x->in.next_seq >= INGEST_SEQ_MAX) {
		*why = "no numbers are left for documents";
		return NW_EPROTO;
	}
	if (numbered && !document_is_new(x))
		return NW_OK;
	if ((rc = document_decode(x, opt, data, len, why)) == NW_ENOMEM) {
		x->origin->accepted_seq = accepted; /* the provider sends the document again */
		return rc;
	}
	x->docs++;
	xsess_change(x);
	commit_charge(x->box->commit, x->wire.owner, len / COMMIT_ROWS_CHEAPER);
	if (opt == NW_OPT_XFER_END && (x->session = session_now(x->session)) != NULL)
		session_end(x->session);
	if (numbered)
		commit_note_origin(x->box->commit, x->origin);
	if (rc < 0)
		document_reject(x, opt, *why);
	commit_check(x->box->commit);
	return NW_OK;
}

void
ingest_clear(struct xsess *x)
{
	free(x->in.scatter);
}
