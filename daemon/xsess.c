/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/xsess.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/control.h"
#include "daemon/hostclock.h"
#include "daemon/hostlist.h"
#include "daemon/join.h"
#include "narrows/log.h"
#include "daemon/origin.h"
#include "daemon/peer.h"
#include "daemon/rules.h"
#include "daemon/schedule.h"
#include "daemon/session.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { LAYOUTS_MAX = 16, HELLO_KEYS_MAX = 32, ROWS_AT_ONCE = 64, FIELDS_MAX = 256 };

struct xsess {
	struct box *box;
	struct peer *peer;
	int64_t id;
	char sess_id_hex[33];
	char *peer_name;          /* address/port */
	char *software, *task_id; /* of HELLO */
	struct host *host;
	struct origin *origin;
	struct session *session;      /* the first it fed, or NULL; attached */
	struct control_peer *control; /* NULL: takes no orders */
	/* for_host: it said HELLO and speaks for the host, not for one task */
	bool hello, for_host;
	bool certified;    /* host is what its certificate says */
	uint64_t next_seq; /* of the next data document, after HELLO */
	uint64_t lost;     /* so many before it, by HELLO */
	uint64_t dropped;  /* of them, those we never had */
	int64_t opened_wall_ns, closed_wall_ns;
	uint64_t docs, samples, rejected, bytes;
	const char *end_reason;
	double *scatter; /* rows in the layout's order */
	size_t scatter_cap;
	int64_t now_wall_ns; /* of the document in hand */
	uint16_t opt;        /* of the block in hand, for documents that must wait */
	const uint8_t *doc;
	size_t doc_len;
	const char *only_mid; /* of a held document: what is wanted of it */
};

static void
xsess_write(struct xsess *x)
{
	struct nw_xsp_rec rec;

	x->session = session_now(x->session);
	rec = (struct nw_xsp_rec){
		.id = x->id,
		.host_id = x->host->id,
		.session_id = x->session != NULL ? x->session->id : 0,
		.sess_id_hex = x->sess_id_hex,
		.peer = x->peer_name,
		.software = x->software,
		.provider = x->origin->provider_id,
		.opened_wall_ns = x->opened_wall_ns,
		.closed_wall_ns = x->closed_wall_ns,
		.docs = x->docs,
		.samples = x->samples,
		.rejected = x->rejected,
		.bytes = x->bytes,
		.dropped = x->dropped,
		.end_reason = x->end_reason,
	};

	if (nw_batch_xsp(commit_batch(x->box->commit), &rec) < 0)
		fatalx("out of memory");
}

struct xsess *
xsess_open(struct box *box, struct peer *peer, const uint8_t sess_id[16], const char *peer_name,
    const char *peer_address)
{
	struct xsess *x = xcalloc(1, sizeof(*x));
	size_t i;

	x->box = box;
	x->peer = peer;
	x->id = box->next.xsp++;
	for (i = 0; i < 16; i++)
		snprintf(x->sess_id_hex + 2 * i, 3, "%02X", sess_id[i]);
	x->peer_name = xstrdup(peer_name);
	x->certified = peer_certified_name(peer) != NULL;
	x->host = host_seen(box, x->certified ? peer_certified_name(peer) : peer_address, NULL);
	x->origin = origin_get(box, NULL);
	x->origin->xsess = x;
	x->opened_wall_ns = nw_wall_ns();
	xsess_write(x);
	counter_add(&box->counters.xsess_open, 1);
	return x;
}

void
xsess_close(struct xsess *x, const char *reason)
{
	if (x == NULL)
		return;
	control_leave(x->control);
	x->closed_wall_ns = nw_wall_ns();
	x->end_reason = reason;
	xsess_write(x);
	if ((x->session = session_now(x->session)) != NULL) {
		session_detach(x->session);
		session_release(x->session);
	}
	if (x->origin->xsess == x)
		x->origin->xsess = NULL;
	origin_release(x->origin);
	counter_sub(&x->box->counters.xsess_open, 1);
	free(x->scatter);
	free(x->peer_name);
	free(x->software);
	free(x->task_id);
	free(x);
}

void
xsess_abort(struct xsess *x, const char *why)
{
	peer_fail(x->peer, NW_EIO, why);
}

static void
kv_send(struct xsess *x, uint16_t opt, const struct nw_kv *kv, size_t n)
{
	struct nw_doc_buf out = { 0 };

	if (nw_kv_encode(&out, kv, n) == NW_OK)
		peer_send(x->peer, opt, out.data, out.len);
	nw_doc_buf_clear(&out);
}

void
xsess_stored(struct xsess *x, uint64_t stored_seq)
{
	struct nw_kv kv = { .key = "stored", .type = NW_KV_INT, .v.i = (int64_t)stored_seq };

	if (x->hello)
		kv_send(x, NW_OPT_STORED, &kv, 1);
}

void
xsess_trouble(struct xsess *x)
{
	struct nw_kv kv[2] = {
		{ .key = "stored", .type = NW_KV_INT, .v.i = (int64_t)x->origin->stored_seq },
		{ .key = "trouble", .type = NW_KV_TEXT, .v.text = x->box->trouble },
	};

	if (x->hello)
		kv_send(x, NW_OPT_STORED, kv, 2);
}

static const char *
kv_text(const struct nw_kv *kv, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (kv[i].type == NW_KV_TEXT && strcmp(kv[i].key, key) == 0 &&
		    kv[i].v.text[0] != '\0')
			return kv[i].v.text;
	return NULL;
}

static int64_t
kv_int(const struct nw_kv *kv, size_t n, const char *key, int64_t def)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (kv[i].type == NW_KV_INT && strcmp(kv[i].key, key) == 0)
			return kv[i].v.i;
	return def;
}

/* The first session an XSP session feeds is the one it keeps open, until that has ended and another
 * begins. */
static void
session_bind(struct xsess *x, struct session *s)
{
	x->session = session_now(x->session);
	if (s == NULL || x->session == s ||
	    (x->session != NULL && x->session->state != SESSION_CLOSED))
		return;
	if (x->session != NULL) {
		session_detach(x->session);
		session_release(x->session);
	}
	x->session = s;
	s->refs++;
	session_attach(s);
	rules_host(control_rules(x->box->control), s, x->host->name);
	xsess_write(x);
}

static void
on_order(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	struct xsess *x = arg;

	peer_send(x->peer, opt, data, len);
}

/* It has heard the answer to HELLO: now it may hear more. */
static void
control_enter(struct xsess *x, const struct nw_kv *kv, size_t n)
{
	struct control_hello h = { .host = x->host->name,
		.can = kv_text(kv, n, "can"),
		.addresses = kv_text(kv, n, "addresses"),
		.for_host = x->for_host };
	char *address = xstrdup(x->peer_name);

	*strrchr(address, '/') = '\0';
	h.address = address;
	x->control = control_join(x->box->control, &h, on_order, x);
	free(address);
}

/* STATUS and CLOCK, of whom may say them. */
static int
control_take(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len)
{
	int64_t now = nw_wall_ns();
	double offset_s, bound_s;
	const char *why = "said without HELLO, or not offered there";
	int rc = NW_EPROTO;

	if (x->control != NULL && opt == NW_OPT_STATUS)
		rc = control_take_status(x->control, data, len, now, &why);
	else if (x->control != NULL &&
	    (rc = control_take_clock(x->control, data, len, now, &offset_s, &bound_s, &why)) ==
		NW_OK) {
		hostclock_put(x->box, x->host, x->id, offset_s, bound_s, now);
		commit_check(x->box->commit);
	}
	if (rc < 0) {
		x->rejected++;
		counter_add(&x->box->counters.rejected_control, 1);
		log_debug("control.reject peer=%s opt=0x%02x why=\"%s\"", x->peer_name, opt,
		    why != NULL ? why : nw_strerror(rc));
	}
	return NW_OK;
}

/* In TLS the certificate is the host; nobody speaks for another one. */
static int
host_certified(struct xsess *x, const char *name, const char **why)
{
	if (!x->certified || name == NULL || strcasecmp(name, x->host->name) == 0)
		return NW_OK;
	counter_add(&x->box->counters.rejected_tls, 1);
	*why = "HELLO names another host than the certificate";
	return NW_EPROTO;
}

/* Who we are, what is on disk, what we understand, and how good our clock is. */
static void
hello_answer(struct xsess *x)
{
	struct schedule_stats clock;
	struct nw_kv kv[7] = {
		{ "software", NW_KV_TEXT, { .text = "narrowsd" } },
		{ "version", NW_KV_TEXT, { .text = NW_VERSION } },
		{ "stored", NW_KV_INT, { .i = (int64_t)x->origin->stored_seq } },
		{ "can", NW_KV_TEXT, { .text = "start stop rate status clock batch" } },
		{ "time_ns", NW_KV_INT, { .i = nw_wall_ns() } },
	};
	size_t n = 5;

	schedule_get_stats(x->box->schedule, &clock);
	if (clock.clock_known) {
		kv[n++] =
		    (struct nw_kv){ "clock_synced", NW_KV_BOOL, { .i = clock.clock_synchronised } };
		kv[n++] =
		    (struct nw_kv){ "clock_bound_s", NW_KV_REAL, { .d = clock.clock_bound_s } };
	}
	kv_send(x, NW_OPT_HELLO, kv, n);
}

/* A provider introduces itself, or begins its numbering anew. */
static int
hello_take(struct xsess *x, const uint8_t *data, size_t len, const char **why)
{
	struct nw_kv kv[HELLO_KEYS_MAX];
	const char *provider, *name;
	bool again = x->hello;
	struct session *s;
	struct origin *o;
	int64_t first, lost;
	size_t n = 0;
	int rc;

	if ((rc = nw_kv_decode(data, len, kv, HELLO_KEYS_MAX, &n, why)) < 0)
		return rc;
	provider = kv_text(kv, n, "provider");
	first = kv_int(kv, n, "first_seq", 1);
	if (provider == NULL || strlen(provider) > 64 || first < 1) {
		*why = "HELLO without provider or with a bad first_seq";
		return NW_EPROTO;
	}
	if (!x->hello) {
		name = kv_text(kv, n, "host");
		if ((rc = host_certified(x, name, why)) < 0)
			return rc;
		o = origin_get(x->box, provider);
		if (x->origin->xsess == x)
			x->origin->xsess = NULL;
		origin_release(x->origin);
		x->origin = o;
		x->software = xstrdup(kv_text(kv, n, "software"));
		x->task_id = xstrdup(kv_text(kv, n, "task_id"));
		if (name != NULL && strlen(name) <= 255 && !x->certified)
			x->host = host_seen(x->box, name, NULL);
		if (o->xsess != NULL && o->xsess != x)
			xsess_abort(o->xsess, "the same provider connected again");
		o->xsess = x;
		x->hello = true;
		x->for_host = x->task_id == NULL;
		if (x->task_id != NULL) {
			s = session_join(x->box, x->task_id);
			session_name(s, kv_text(kv, n, "program"));
			session_bind(x, s);
			session_release(s);
		}
		xsess_write(x);
	}
	x->next_seq = (uint64_t)first;
	lost = kv_int(kv, n, "lost", 0);
	x->lost = lost > 0 ? (uint64_t)lost : 0;
	hello_answer(x);
	if (x->box->trouble[0] != '\0')
		xsess_trouble(x);
	if (!again)
		control_enter(x, kv, n);
	return NW_OK;
}

/* Series of calipers and transfers make a session even without a task; those of hosts do not. */
static bool
event_is_transfer(const char *event_type)
{
	return strncmp(event_type, "nl:", 3) == 0 || strncmp(event_type, "nl.", 3) == 0 ||
	    strncmp(event_type, "nw:", 3) == 0 || strncmp(event_type, "xfer", 4) == 0;
}

/* What a host says about somebody's transfer neither opens its session nor keeps it open. */
static bool
is_witness(const struct xsess *x, const struct series *sr)
{
	return x->for_host && !event_is_transfer(sr->event_type);
}

static struct session *
session_of(struct xsess *x, const struct series *sr, const struct nw_meta *m)
{
	const char *task = sr->task_id != NULL ? sr->task_id : x->task_id;
	struct nw_subject subject = m->subject;
	struct join_clue clue = { .host_id = x->host->id,
		.sess_id_hex = x->sess_id_hex,
		.subject = &subject,
		.event_type = m->event_type,
		.xfer_id = m->subject.xfer_id };

	if (task != NULL)
		return is_witness(x, sr) ? session_find(x->box, task) : session_join(x->box, task);
	if (!event_is_transfer(sr->event_type))
		return NULL;
	origin_series_subject(sr, &subject);
	if (clue.xfer_id == NULL && strncmp(m->event_type, "xfer", 4) == 0)
		clue.xfer_id = m->id;
	clue.current = x->session = session_now(x->session);
	return join_find(x->box, &clue);
}

static int documents_release(struct xsess *x, const char *mid);

static int
on_meta(void *arg, const struct nw_meta *m)
{
	struct nw_meta_rec rec = { 0 };
	struct xsess *x = arg;
	struct series *sr;
	bool is_new;

	if ((sr = origin_series_add(x->origin, m, &is_new)) == NULL)
		return NW_ETOOBIG;
	if (!is_new)
		return NW_OK;
	sr->witness = is_witness(x, sr);
	if ((sr->session = session_of(x, sr, m)) != NULL && !sr->witness) {
		session_bind(x, sr->session);
		rules_connection(
		    control_rules(x->box->control), sr->session, x->host->name, &m->subject);
	}
	sr->meta_id = x->box->next.meta++;
	rec.id = sr->meta_id;
	rec.session_id = sr->session != NULL ? sr->session->id : 0;
	rec.host_id = x->host->id;
	rec.xsp_id = x->id;
	rec.mid = m->id;
	rec.pid = m->pid;
	rec.event_type = m->event_type;
	rec.subject_json = sr->inherited_json != NULL ? sr->inherited_json : m->subject_json;
	rec.params_json = m->params_json;
	rec.first_wall_ns = nw_wall_ns();
	rec.raw = m->raw;
	rec.raw_len = m->raw_len;
	if (nw_batch_meta(commit_batch(x->box->commit), &rec) < 0)
		fatalx("out of memory");
	return documents_release(x, m->id);
}

/* A layout that holds the old fields and the new ones behind them; older rows keep the old
 * layout. */
static int
layout_extend(struct xsess *x, struct series *sr, const struct nw_data *d)
{
	struct layout *l = &sr->layout;
	struct nw_layout_rec rec;
	size_t i, j;

	if (sr->n_layouts >= LAYOUTS_MAX ||
	    (x->origin->n_fields + d->n_fields > x->box->conf->max_series_per_session &&
		(!origin_make_room(x->origin, sr) ||
		    x->origin->n_fields + d->n_fields > x->box->conf->max_series_per_session)))
		return NW_ETOOBIG;
	for (i = 0; i < d->n_fields; i++) {
		for (j = 0; j < l->n_fields; j++)
			if (strcmp(l->fields[j], d->fields[i]) == 0)
				break;
		if (j < l->n_fields)
			continue;
		l->fields = xreallocarray(l->fields, l->n_fields + 1, sizeof(*l->fields));
		l->fields[l->n_fields++] = xstrdup(d->fields[i]);
		x->origin->n_fields++;
	}
	l->id = x->box->next.layout++;
	sr->n_layouts++;
	rec.id = l->id;
	rec.meta_id = sr->meta_id;
	rec.n_fields = l->n_fields;
	rec.fields = (const char *const *)l->fields;
	if (nw_batch_layout(commit_batch(x->box->commit), &rec) < 0)
		fatalx("out of memory");
	return NW_OK;
}

/*
 * Where each field of d is in the layout; false when one is not. Fields almost always come in the
 * layout's order: the search starts where the last one was found.
 */
static bool
fields_find(const struct layout *l, const struct nw_data *d, uint32_t *where)
{
	size_t i, k, tries, at = 0;

	for (i = 0; i < d->n_fields; i++) {
		for (tries = 0; tries < l->n_fields; tries++) {
			k = at + tries < l->n_fields ? at + tries : at + tries - l->n_fields;
			if (strcmp(l->fields[k], d->fields[i]) == 0)
				break;
		}
		if (tries == l->n_fields)
			return false;
		where[i] = (uint32_t)k;
		at = k + 1 < l->n_fields ? k + 1 : 0;
	}
	return true;
}

/* Rows in the layout's order: those of d as they are when that is theirs. */
static const double *
rows_place(struct xsess *x, const struct layout *l, const struct nw_data *d, const uint32_t *where,
    size_t first, size_t n)
{
	const double *from = d->values + first * d->n_fields;
	size_t i, k;

	for (i = 0; i < d->n_fields && where[i] == i; i++)
		continue;
	if (i == l->n_fields)
		return from;
	if (n * l->n_fields > x->scatter_cap) {
		x->scatter_cap = n * l->n_fields;
		x->scatter = xreallocarray(x->scatter, x->scatter_cap, sizeof(*x->scatter));
	}
	for (i = 0; i < n * l->n_fields; i++)
		x->scatter[i] = NAN;
	for (i = 0; i < n; i++)
		for (k = 0; k < d->n_fields; k++)
			x->scatter[i * l->n_fields + where[k]] = from[i * d->n_fields + k];
	return x->scatter;
}

/* Rows in slices: what they take in memory does not depend on how many a document has. */
static void
rows_append(struct xsess *x, struct series *sr, const struct nw_data *d, const uint32_t *where,
    int64_t now_wall_ns)
{
	int64_t t[ROWS_AT_ONCE];
	const double *rows;
	size_t i, n, first;

	for (first = 0; first < d->n_rows; first += n) {
		n = d->n_rows - first < ROWS_AT_ONCE ? d->n_rows - first : ROWS_AT_ONCE;
		for (i = 0; i < n; i++)
			t[i] = series_row_time(sr, d, first + i, now_wall_ns);
		rows = rows_place(x, &sr->layout, d, where, first, n);
		if (nw_batch_rows(commit_batch(x->box->commit), sr->layout.id, sr->layout.n_fields,
			n, t, rows, d->hist, d->hist_len) < 0)
			fatalx("out of memory");
	}
}

static int
on_data(void *arg, const struct nw_data *d)
{
	struct xsess *x = arg;
	struct series *sr;
	uint32_t where[FIELDS_MAX];
	int rc;

	if (x->only_mid != NULL && strcmp(x->only_mid, d->mid) != 0)
		return NW_OK; /* was taken when the document came, or waits by itself */
	if (!data_times_are_sane(d))
		return NW_EPROTO;
	if ((sr = origin_series_of(x->origin, d)) == NULL) {
		if (x->doc != NULL &&
		    origin_held_add(x->origin, d->mid, x->opt, x->doc, x->doc_len))
			counter_add(&x->box->counters.held_documents, 1);
		else
			counter_add(&x->box->counters.data_without_metadata, 1);
		return NW_OK;
	}
	if (d->n_fields > FIELDS_MAX)
		return NW_ETOOBIG;
	if (!fields_find(&sr->layout, d, where)) {
		if ((rc = layout_extend(x, sr, d)) < 0)
			return rc;
		fields_find(&sr->layout, d, where);
	}
	if (sr->layout.n_fields == 0)
		return NW_OK;
	rows_append(x, sr, d, where, x->now_wall_ns);
	x->samples += d->n_rows * d->n_fields;
	counter_add(&x->box->counters.samples, d->n_rows * d->n_fields);
	if ((sr->session = session_now(sr->session)) != NULL && !is_witness(x, sr))
		session_touch(sr->session, x->now_wall_ns);
	return NW_OK;
}

static int
document_decode(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why)
{
	struct nw_doc_sink sink = { .arg = x, .on_meta = on_meta, .on_data = on_data };
	int rc;

	rc = nw_doc_decode(x->box->decoder, opt, data, len, &sink, why);
	if (rc == NW_ETOOBIG && *why == NULL)
		*why = "too many series in one session";
	return rc;
}

/* Metadata has come: what waited for it is taken now. */
static int
documents_release(struct xsess *x, const char *mid)
{
	struct nw_doc_decoder *decoder;
	const char *why = NULL;
	uint8_t *doc;
	uint16_t opt;
	size_t len;

	if (x->origin->held == NULL)
		return NW_OK;
	/* The decoder in use has the metadata in its memory: another one reads what was held. */
	if ((decoder = nw_doc_decoder_new(NULL)) == NULL)
		return NW_ENOMEM;
	while ((doc = origin_held_take(x->origin, mid, &opt, &len)) != NULL) {
		struct nw_doc_sink sink = { .arg = x, .on_meta = on_meta, .on_data = on_data };
		const uint8_t *outer = x->doc;

		x->doc = NULL; /* what is still unknown now is not held again */
		x->only_mid = mid;
		(void)nw_doc_decode(decoder, opt, doc, len, &sink, &why);
		x->only_mid = NULL;
		x->doc = outer;
		free(doc);
	}
	nw_doc_decoder_free(decoder);
	return NW_OK;
}

/*
 * The first document behind a gap. What its sender lost counts once, with this document: should it
 * come again, it is no longer new. Of the numbers in the gap more may be missing, but only because
 * nobody ever had them.
 */
static void
gap_note(struct xsess *x, uint64_t seq)
{
	uint64_t gap = seq - x->origin->accepted_seq - 1, lost = x->lost < gap ? x->lost : gap;

	x->lost = 0;
	if (lost == 0)
		return;
	x->dropped = lost < INT64_MAX - x->dropped ? x->dropped + lost : INT64_MAX;
	counter_add(&x->box->counters.dropped_documents, lost);
	log_warnx("document.gap peer=%s host=%s dropped=%llu", x->peer_name, x->host->name,
	    (unsigned long long)lost);
	xsess_write(x);
}

/* A data document of a provider has a number; one that was taken before is dropped. */
static bool
document_is_new(struct xsess *x)
{
	uint64_t seq;

	if (!x->hello)
		return true;
	seq = x->next_seq++;
	if (seq <= x->origin->accepted_seq) {
		x->lost = 0;
		counter_add(&x->box->counters.duplicates, 1);
		return false;
	}
	gap_note(x, seq);
	x->origin->accepted_seq = seq;
	return true;
}

static int
document_take(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why)
{
	bool numbered = opt == NW_OPT_DATA || opt == NW_OPT_BATCH;
	int rc;

	x->docs++;
	x->bytes += len;
	counter_add(&x->box->counters.documents, 1);
	if (numbered && !document_is_new(x))
		return NW_OK;
	x->now_wall_ns = nw_wall_ns();
	x->opt = opt;
	x->doc = data;
	x->doc_len = len;
	*why = NULL;
	rc = document_decode(x, opt, data, len, why);
	x->doc = NULL;
	if (opt == NW_OPT_XFER_END && (x->session = session_now(x->session)) != NULL)
		session_end(x->session);
	if (numbered && x->hello)
		commit_note_origin(x->box->commit, x->origin);
	if (rc < 0) {
		/* A bad document is the sender's loss, not the session's end. */
		x->rejected++;
		counter_add(&x->box->counters.rejected_documents, 1);
		log_debug("document.reject peer=%s opt=0x%02x why=\"%s\"", x->peer_name, opt,
		    *why != NULL ? *why : nw_strerror(rc));
	}
	commit_check(x->box->commit);
	return NW_OK;
}

int
xsess_block(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why)
{
	switch (opt) {
	case NW_OPT_META:
	case NW_OPT_DATA:
	case NW_OPT_BATCH:
	case NW_OPT_XFER_NEW:
	case NW_OPT_XFER_END:
	case NW_OPT_XFER_UPDATE: return document_take(x, opt, data, len, why);
	case NW_OPT_HELLO: return hello_take(x, data, len, why);
	case NW_OPT_STATUS:
	case NW_OPT_CLOCK: return control_take(x, opt, data, len);
	default: counter_add(&x->box->counters.unknown_options, 1); return NW_OK;
	}
}
