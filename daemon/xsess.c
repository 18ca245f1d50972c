/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/xsess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <utlist.h>

#include "daemon/asked.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/control.h"
#include "daemon/hostclock.h"
#include "daemon/hostcost.h"
#include "daemon/hostlist.h"
#include "daemon/ingest.h"
#include "narrows/address.h"
#include "narrows/eventtype.h"
#include "narrows/log.h"
#include "daemon/origin.h"
#include "daemon/partners.h"
#include "daemon/rules.h"
#include "daemon/analysis/schedule.h"
#include "daemon/session.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"

/* The most requests of one XSP session for measurements, and the longest lease of a request. */
enum { ASKS_MAX = 16 };
#define ASK_MAX_NS INT64_C(600000000000)

enum { HELLO_KEYS_MAX = 32, PROVIDER_MAX_BYTES = 64, HOST_MAX_BYTES = 255 };

void
xsess_write(struct xsess *x)
{
	struct nw_xsp_rec rec;

	x->session = session_now(x->session);
	rec = (struct nw_xsp_rec){
		.id = x->id,
		.host_id = x->host->id,
		.session_id = x->session != NULL ? x->session->id : 0,
		.sess_id_hex = x->sess_id_hex,
		.peer = x->wire.name,
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
		.owner = x->wire.owner,
		.addresses = x->wire.certified_addresses,
	};

	if (nw_batch_xsp(commit_batch(x->box->commit), &rec) < 0)
		log_warnx("xsess.write peer=%s why=\"out of memory\"", x->wire.name);
}

void
xsess_change(struct xsess *x)
{
	if (x->changed)
		return;
	x->changed = true;
	DL_APPEND(x->box->changed, x);
	(void)commit_batch(x->box->commit);
}

static void
change_end(struct xsess *x)
{
	if (x->changed)
		DL_DELETE(x->box->changed, x);
	x->changed = false;
}

void
xsess_write_changed(struct box *box)
{
	struct xsess *x, *tmp;

	DL_FOREACH_SAFE(box->changed, x, tmp)
	{
		xsess_write(x);
		change_end(x);
	}
}

/* --- calls of the origin --- */

static void
kv_send(struct xsess *x, uint16_t opt, const struct nw_kv *kv, size_t n)
{
	struct nw_doc_buf out = { 0 };

	if (nw_kv_encode(&out, kv, n) == NW_OK)
		x->wire.send(x->wire.arg, opt, out.data, out.len);
	nw_doc_buf_clear(&out);
}

static void
on_stored(void *arg, uint64_t stored_seq)
{
	struct nw_kv kv = { .key = "stored", .type = NW_KV_INT, .v.i = (int64_t)stored_seq };
	struct xsess *x = arg;

	if (x->hello)
		kv_send(x, NW_OPT_STORED, &kv, 1);
}

static void
on_end(void *arg, const char *why)
{
	struct xsess *x = arg;

	x->wire.fail(x->wire.arg, NW_EIO, why);
}

static const struct origin_ops origin_calls = { .stored = on_stored, .end = on_end };

/* --- life --- */

struct xsess *
xsess_open(struct box *box, const struct xsess_wire *wire, const uint8_t sess_id[16])
{
	struct xsess *x = xcalloc(1, sizeof(*x));
	size_t i;

	x->box = box;
	x->wire = *wire;
	x->id = box->next.xsp++;
	for (i = 0; i < 16; i++)
		snprintf(x->sess_id_hex + 2 * i, 3, "%02X", sess_id[i]);
	x->certified = wire->certified_name != NULL;
	x->host = host_seen(box, x->certified ? wire->certified_name : wire->address, NULL);
	x->origin = origin_get(box, NULL, NULL);
	origin_attach(x->origin, &origin_calls, x);
	x->opened_wall_ns = nw_wall_ns();
	commit_charge(box->commit, wire->owner, COMMIT_RECORD_COST);
	xsess_write(x);
	counter_add(&box->counters.xsp_sessions_open, 1);
	return x;
}

void
xsess_close(struct xsess *x, const char *reason)
{
	if (x == NULL)
		return;
	if (x->control != NULL && x->control->status.slowed > 1)
		counter_add(&x->box->counters.slowed_providers, (uint64_t)-1);
	hostclock_leave(x->host, &x->clock);
	control_leave(x->control);
	x->closed_wall_ns = nw_wall_ns();
	x->end_reason = reason;
	change_end(x);
	xsess_write(x);
	asked_forget(x);
	if (x->session != NULL) {
		xsess_leave(x);
		session_release(x->session);
	}
	origin_detach(x->origin, x);
	origin_release(x->origin);
	counter_sub(&x->box->counters.xsp_sessions_open, 1);
	ingest_clear(x);
	free(x->software);
	free(x->task_id);
	free(x);
}

size_t
xsess_bytes(const struct xsess *x)
{
	return x->origin->catalog.bytes;
}

void
xsess_tell_store_error(struct xsess *x)
{
	struct nw_kv kv[2] = {
		{ .key = "stored", .type = NW_KV_INT, .v.i = (int64_t)x->origin->stored_seq },
		{ .key = "trouble", .type = NW_KV_TEXT, .v.text = x->box->store_error },
	};

	if (x->hello)
		kv_send(x, NW_OPT_STORED, kv, 2);
}

struct session_guest
xsess_guest(const struct xsess *x)
{
	return (struct session_guest){ .owner = x->wire.owner,
		.address = x->wire.address,
		.certified = x->wire.certified_addresses };
}

void
xsess_leave(struct xsess *x)
{
	x->session = session_now(x->session);
	if (!x->left)
		session_detach(x->session);
	x->left = true;
}

void
xsess_bind(struct xsess *x, struct session *s)
{
	x->session = session_now(x->session);
	if (s == NULL || x->session == s ||
	    (x->session != NULL && x->session->state != SESSION_CLOSED))
		return;
	if (x->session != NULL) {
		asked_forget(x);
		xsess_leave(x);
		session_release(x->session);
	}
	x->session = s;
	x->left = false;
	s->refs++;
	session_attach(s, x->wire.owner);
	rules_host(x->box->rules, s, x->host->name);
	xsess_write(x);
}

static void
on_order(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	struct xsess *x = arg;

	x->wire.send(x->wire.arg, opt, data, len);
}

/* The answer to HELLO is sent: orders may follow. */
static void
control_enter(struct xsess *x, const struct nw_kv *kv, size_t n)
{
	struct control_hello h = { .host = x->host->name,
		.can = nw_kv_text(kv, n, "can"),
		.addresses = address_is_loopback(x->wire.address) ? nw_kv_text(kv, n, "addresses")
								  : x->wire.certified_addresses,
		.address = x->wire.address,
		.for_host = x->for_host };

	x->control = control_join(x->box->control, &h, on_order, x);
	control_ask_clock(x->control, nw_mono_ns()); /* a short run ends before the next tick */
}

/* The providers that slow down are counted for the health page. */
static int
take_status(struct xsess *x, const uint8_t *data, size_t len, int64_t now_wall_ns, const char **why)
{
	bool before = x->control->status.slowed > 1, after;
	int rc = control_take_status(x->control, data, len, now_wall_ns, why);

	after = x->control->status.slowed > 1;
	if (before != after)
		counter_add(&x->box->counters.slowed_providers, after ? 1 : (uint64_t)-1);
	if (rc == NW_OK && x->for_host) {
		hostcost_put(x->box, x->host, x->id, x->software, &x->control->status, now_wall_ns);
		commit_check(x->box->commit);
	}
	return rc;
}

/* A message that cannot be taken ends no connection. */
static void
control_refused(struct xsess *x, uint16_t opt, const char *why)
{
	x->rejected++;
	counter_add(&x->box->counters.rejected_control, 1);
	log_debug("control.reject peer=%s opt=0x%02x why=\"%s\"", x->wire.name, opt, why);
}

/* A program asks for more of its own host: an order by hand, for ten minutes at most. */
static int
ask_take(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len)
{
	const char *why = "message before HELLO, or too often";
	struct nw_order o;
	int rc = NW_EPROTO;

	if (x->hello && x->asks < ASKS_MAX)
		rc = nw_order_decode(&o, opt, data, len, &why);
	if (rc == NW_OK &&
	    (nw_order_has_connection(&o) || !nw_type_begins(o.event_type, NW_TYPE_HOST) ||
		o.lease_ns > ASK_MAX_NS || o.keep_ns != 0 || o.replay.way != NW_REPLAY_NONE)) {
		why = "a program may ask for series of its host alone, for ten minutes";
		rc = NW_EPROTO;
	}
	if (rc == NW_OK)
		rc = control_order(x->box->control, x->wire.owner, x->host->name, &o, o.lease_ns,
		    nw_mono_ns(), &why);
	x->asks++;
	if (rc < 0)
		control_refused(x, opt, why != NULL ? why : nw_strerror(rc));
	return NW_OK;
}

/* Takes STATUS and CLOCK of a provider with orders. */
static int
control_take(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len)
{
	int64_t now = nw_wall_ns();
	double offset_s, bound_s;
	const char *why = "message before HELLO, or not offered there";
	int rc = NW_EPROTO;

	if (x->control != NULL && opt == NW_OPT_STATUS)
		rc = take_status(x, data, len, now, &why);
	else if (x->control != NULL &&
	    (rc = control_take_clock(x->control, data, len, now, &offset_s, &bound_s, &why)) ==
		NW_OK) {
		hostclock_put(x->box, x->host, &x->clock, x->id, offset_s, bound_s, now);
		commit_check(x->box->commit);
	}
	if (rc < 0)
		control_refused(x, opt, why != NULL ? why : nw_strerror(rc));
	return NW_OK;
}

/* A program that has sent everything wants to hear the verdict. */
static int
verdict_take(struct xsess *x)
{
	const char *why = "asked too often";
	int rc = x->asks < ASKS_MAX ? asked_take(x, &why) : NW_EPROTO;

	x->asks++;
	if (rc < 0)
		control_refused(x, NW_OPT_VERDICT, why);
	return NW_OK;
}

/* In TLS the certificate names the host: no peer speaks for another one. */
static int
host_certified(struct xsess *x, const char *name, const char **why)
{
	if (!x->certified || name == NULL || strcasecmp(name, x->host->name) == 0)
		return NW_OK;
	counter_add(&x->box->counters.rejected_tls, 1);
	*why = "HELLO names another host than the certificate";
	return NW_EPROTO;
}

/* Answers with the box's software, the stored number, the options and the clock's quality. */
static void
hello_answer(struct xsess *x)
{
	struct schedule_stats clock = { .clock_known = false };
	const struct nw_frame_limits *limits = &x->box->limits;
	bool joins = limits->blocks_max >= NW_FRAME_JOINED_BLOCKS &&
	    limits->message_max_bytes >= NW_FRAME_JOINED_BYTES;
	struct nw_kv kv[7] = {
		{ "software", NW_KV_TEXT, { .text = "narrowsd" } },
		{ "version", NW_KV_TEXT, { .text = NW_VERSION } },
		{ "stored", NW_KV_INT, { .i = (int64_t)x->origin->stored_seq } },
		{ "can", NW_KV_TEXT,
		    { .text = joins
			    ? "start stop rate status clock batch lost events verdict blocks"
			    : "start stop rate status clock batch lost events verdict" } },
		{ "time_ns", NW_KV_INT, { .i = nw_wall_ns() } },
	};
	size_t n = 5;

	if (x->box->schedule != NULL)
		schedule_get_stats(x->box->schedule, &clock);
	if (clock.clock_known) {
		kv[n++] =
		    (struct nw_kv){ "clock_synced", NW_KV_BOOL, { .i = clock.clock_synchronised } };
		kv[n++] =
		    (struct nw_kv){ "clock_bound_s", NW_KV_REAL, { .d = clock.clock_bound_s } };
	}
	kv_send(x, NW_OPT_HELLO, kv, n);
}

/* The first HELLO of a connection: the provider's origin, host and session take over. */
static int
hello_identify(
    struct xsess *x, const char *provider, const struct nw_kv *kv, size_t n, const char **why)
{
	const struct session_guest guest = xsess_guest(x);
	const char *name = nw_kv_text(kv, n, "host");
	struct session *s;
	int rc;

	if ((rc = host_certified(x, name, why)) < 0)
		return rc;
	origin_detach(x->origin, x);
	origin_release(x->origin);
	x->origin = origin_get(x->box, x->wire.owner, provider);
	x->software = xstrdup(nw_kv_text(kv, n, "software"));
	x->task_id = xstrdup(nw_kv_text(kv, n, "task_id"));
	if (name != NULL && strlen(name) <= HOST_MAX_BYTES && !x->certified)
		x->host = host_seen(x->box, name, NULL);
	origin_attach(x->origin, &origin_calls, x);
	x->hello = true;
	x->for_host = x->task_id == NULL;
	if (x->task_id != NULL) {
		commit_charge(x->box->commit, x->wire.owner, COMMIT_RECORD_COST);
		s = x->certified ? NULL : partners_session(x->box, x->task_id, name);
		if ((x->of_partner = s != NULL)) {
			free(x->task_id);
			x->task_id = xstrdup(s->label);
		} else
			s = session_join(x->box, x->task_id, &guest);
		session_take_part(s, &guest);
		session_name(s, nw_kv_text(kv, n, "program"));
		xsess_bind(x, s);
		session_release(s);
	}
	xsess_write(x);
	return NW_OK;
}

/*
 * A spool numbers its documents from 2^40 times its life on, below 2^62 (host/lib/spool_file.c); a
 * provider without spool has one life. Within a life, 2^36 documents are the most.
 */
static bool
number_is_first(int64_t seq)
{
	int64_t in_life = seq & ((INT64_C(1) << INGEST_LIFE_SHIFT) - 1);

	return seq >= 1 && seq < INGEST_SEQ_MAX && in_life >= 1 && in_life <= INT64_C(1) << 36;
}

/* A provider introduces itself, or begins its numbering anew. */
static int
hello_take(struct xsess *x, const uint8_t *data, size_t len, const char **why)
{
	struct nw_kv kv[HELLO_KEYS_MAX];
	const char *provider;
	bool again = x->hello;
	int64_t first, lost;
	size_t n = 0;
	int rc;

	if ((rc = nw_kv_decode(data, len, kv, HELLO_KEYS_MAX, &n, why)) < 0)
		return rc;
	provider = nw_kv_text(kv, n, "provider");
	first = nw_kv_int(kv, n, "first_seq", 1);
	if (provider == NULL || strlen(provider) > PROVIDER_MAX_BYTES || !number_is_first(first)) {
		*why = "HELLO without provider or with a bad first_seq";
		return NW_EPROTO;
	}
	if (!again && (rc = hello_identify(x, provider, kv, n, why)) < 0)
		return rc;
	lost = nw_kv_int(kv, n, "lost", 0);
	ingest_number(x, (uint64_t)first, lost > 0 ? (uint64_t)lost : 0);
	hello_answer(x);
	if (x->box->store_error[0] != '\0')
		xsess_tell_store_error(x);
	if (!again)
		control_enter(x, kv, n);
	return NW_OK;
}

int
xsess_block(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why)
{
	switch (opt) {
	case NW_OPT_META:
	case NW_OPT_DATA:
	case NW_OPT_BATCH:
	case NW_OPT_OPS:
	case NW_OPT_XFER_NEW:
	case NW_OPT_XFER_END:
	case NW_OPT_XFER_UPDATE: return ingest_document(x, opt, data, len, why);
	case NW_OPT_LOST: return ingest_lost(x, data, len, why);
	case NW_OPT_HELLO: return hello_take(x, data, len, why);
	case NW_OPT_START:
	case NW_OPT_RATE: return ask_take(x, opt, data, len);
	case NW_OPT_VERDICT: return verdict_take(x);
	case NW_OPT_STATUS:
	case NW_OPT_CLOCK: return control_take(x, opt, data, len);
	default: counter_add(&x->box->counters.unknown_options, 1); return NW_OK;
	}
}
