/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages of a finished session alone, in the pattern of its program (replay.h), one at a time, as
 * the box orders them. This host's configuration decides: files need the directive `scratch` on the
 * mount of the ordered file, and are written in that directory alone; bytes are sent to a peer that
 * a line of `bandwidth` names. The directives bound bytes and time whatever the box orders, and the
 * replays of one session count as one measurement in scratch-every, or bandwidth-every.
 *
 * As of the probe `scratch`, no replay begins beside a transfer, and a transfer ends a replay.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/blipp/probe/aside.h"
#include "host/blipp/probe/probe.h"
#include "host/blipp/probe/quiet.h"
#include "host/blipp/probe/replay.h"
#include "host/lib/lease.h"
#include "host/lib/mount.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/frame.h"

#define PATIENCE_NS INT64_C(10000000000) /* beyond the time of a replay */
#define AGAIN_NS    INT64_C(2000000000)  /* after a replay that yielded, or found a busy peer */
#define SOON_NS     INT64_C(15000000000) /* a turn that comes later is declined: a box waits */

enum field { BYTES, CALLS_S, TOOK_S, COST_BYTES, COST_S };
static const struct series_field fields[] = {
	{ "bytes", "By", false },
	{ "calls_s", "s", false },
	{ "took_s", "s", false },
	{ "cost_bytes", "By", false },
	{ "cost_s", "s", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct series_kind kind = { NW_TYPE_REPLAY, NULL, fields, N_FIELDS };

/* The session with the turn of a measurement, the ways of replays already done, and the failed
 * ways. */
struct turn {
	char task_id[NW_ORDER_TEXT_BYTES];
	unsigned ways, failed;
	int64_t until_mono_ns;
};

/* The work of a child. */
struct work {
	struct nw_order order;
	struct scratch_conf scratch;
	struct bandwidth_conf bandwidth;
	struct sockaddr_storage to;
	socklen_t to_len;
};

struct replay_probe {
	struct aside aside;
	struct quiet quiet;
	struct work work;
	struct turn files, peers;
	int64_t next_mono_ns; /* no replay begins before */
	uint64_t n;           /* of results, for the ids of series */
};

static bool
measure(const void *arg, char text[ASIDE_TEXT_BYTES])
{
	const struct work *w = arg;
	struct replay_result m;
	int rc;

	rc = w->order.replay.way == NW_REPLAY_SEND
	    ? replay_send(
		  &w->order.replay, &w->bandwidth, (const struct sockaddr *)&w->to, w->to_len, &m)
	    : replay_file(&w->order.replay, &w->scratch, &m);
	if (rc == NW_EFULL && w->order.replay.way == NW_REPLAY_SEND)
		return snprintf(text, ASIDE_TEXT_BYTES, "busy\n") > 0;
	return rc == NW_OK &&
	    snprintf(text, ASIDE_TEXT_BYTES,
		"%" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64 "\n", m.bytes,
		m.calls_ns, m.took_ns, m.cost_bytes, m.cost_ns) < ASIDE_TEXT_BYTES;
}

/* --- what the configuration allows --- */

/* Whether the ordered file and the scratch directory are on one mount, by the table of mounts: the
 * file itself is not looked at. */
static bool
is_same_mount(const char *file, const char *directory)
{
	char *mounts = mount_table_read(0);
	struct mount a, b;
	bool same = mounts != NULL && file[0] == '/' && strstr(file, "/../") == NULL &&
	    mount_find_in(mounts, file, &a) == NW_OK && mount_find(directory, &b) == NW_OK &&
	    a.dev == b.dev;

	free(mounts);
	return same;
}

/* The line of `bandwidth` with the ordered address. */
static bool
peer_take(struct work *w, const char *lines)
{
	char host[PEER_HOST_BYTES];
	uint16_t port;

	while (peer_line_next(&lines, host, &port))
		if (strcmp(host, w->order.replay.target) == 0)
			return (w->to_len = peer_address(host, port, &w->to)) > 0;
	return false;
}

static bool
is_allowed(struct work *w, const struct report *r)
{
	if (w->order.replay.way == NW_REPLAY_SEND) {
		if (r->bandwidth == NULL || r->bandwidth->peers == NULL)
			return false;
		w->bandwidth = *r->bandwidth;
		return peer_take(w, r->bandwidth->peers);
	}
	if (r->scratch == NULL || r->scratch->directory == NULL)
		return false;
	w->scratch = *r->scratch;
	return is_same_mount(w->order.replay.target, r->scratch->directory);
}

static bool
turn_is_of(const struct turn *t, const struct nw_order *o)
{
	return strcmp(t->task_id, o->task_id) == 0;
}

static bool
turn_is_free(const struct turn *t, const struct nw_order *o, int64_t now_mono_ns)
{
	return now_mono_ns >= t->until_mono_ns ||
	    (turn_is_of(t, o) && (t->ways & 1U << o->replay.way) == 0);
}

static void
turn_take(struct turn *t, const struct nw_order *o, int64_t every_ns, int64_t now_mono_ns)
{
	if (now_mono_ns >= t->until_mono_ns) {
		memcpy(t->task_id, o->task_id, sizeof(t->task_id));
		t->ways = t->failed = 0;
		t->until_mono_ns = now_mono_ns + every_ns;
	}
	t->ways |= 1U << o->replay.way;
}

static struct turn *
turn_of(struct replay_probe *p, const struct nw_order *o)
{
	return o->replay.way == NW_REPLAY_SEND ? &p->peers : &p->files;
}

static bool
is_replay(const struct nw_order *o)
{
	return o->opt == NW_OPT_START && o->replay.way != NW_REPLAY_NONE &&
	    strcmp(o->event_type, NW_TYPE_REPLAY) == 0;
}

bool
replay_declines(void *state, const struct report *r, const struct nw_order *o, int64_t now_mono_ns)
{
	struct work w = { .order = *o };
	const struct turn *t;

	if (!is_replay(o))
		return false;
	t = turn_of(state, o);
	if (now_mono_ns < t->until_mono_ns &&
	    (turn_is_of(t, o) ? (t->failed & 1U << o->replay.way) != 0
			      : now_mono_ns + SOON_NS < t->until_mono_ns))
		return true;
	return !is_allowed(&w, r);
}

/* --- results --- */

/* A series of the session for each replay: its subject is the stage. */
static int
result_send(struct replay_probe *p, struct report *r, const double values[N_FIELDS])
{
	const struct nw_order *o = &p->work.order;
	struct nw_kv subject[] = {
		{ "hostname", NW_KV_TEXT, { .text = r->host } },
		{ "type", NW_KV_TEXT, { .text = "host" } },
		{ "task_id", NW_KV_TEXT, { .text = o->task_id } },
		{ "way", NW_KV_TEXT, { .text = nw_replay_word(o->replay.way) } },
		{ "target", NW_KV_TEXT, { .text = o->replay.target } },
	};
	const char *names[N_FIELDS];
	struct series_params params;
	char id[SERIES_ID_BYTES];
	size_t n = series_describe(&kind, r->interval_s, &params), i;
	int rc;

	for (i = 0; i < N_FIELDS; i++)
		names[i] = fields[i].name;
	snprintf(id, sizeof(id), "%.150s/replay/%" PRIu64 "/%.64s", r->host, ++p->n, o->id);
	rc = nw_provider_meta(r->provider, id, NULL, kind.event_type, subject,
	    sizeof(subject) / sizeof(subject[0]), params.kv, n);
	if (rc == NW_OK)
		rc = nw_provider_data(
		    r->provider, id, r->t_wall_ns, names, values, N_FIELDS, NULL, 0);
	nw_provider_meta_end(r->provider, id);
	r->values += N_FIELDS;
	return rc;
}

/* The replay on its way gives no result: the box is to know. */
static void
result_give_up(struct replay_probe *p, struct report *r)
{
	turn_of(p, &p->work.order)->failed |= 1U << p->work.order.replay.way;
	r->orders_failed = true;
}

/* "67108864 130271244 142606336 134217728 260542488" */
static void
ready(void *state, struct report *r)
{
	struct replay_probe *p = state;
	struct replay_result m;
	double all[N_FIELDS];

	if (!aside_read(&p->aside))
		return;
	if (strcmp(p->aside.text, "busy\n") == 0) {
		turn_of(p, &p->work.order)->ways &= ~(1U << p->work.order.replay.way);
		p->next_mono_ns = nw_mono_ns() + AGAIN_NS;
		return;
	}
	if (sscanf(p->aside.text, "%" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNd64,
		&m.bytes, &m.calls_ns, &m.took_ns, &m.cost_bytes, &m.cost_ns) != 5) {
		result_give_up(p, r);
		return;
	}
	all[BYTES] = m.bytes > 0 ? (double)m.bytes : NAN;
	all[CALLS_S] = m.bytes > 0 ? (double)m.calls_ns / 1e9 : NAN;
	all[TOOK_S] = m.bytes > 0 ? (double)m.took_ns / 1e9 : NAN;
	all[COST_BYTES] = (double)m.cost_bytes;
	all[COST_S] = (double)m.cost_ns / 1e9;
	(void)result_send(p, r, all);
}

/* --- the probe --- */

/* Ends a replay beside a transfer, or of a disk or peer that does not answer. */
static void
replay_look(struct replay_probe *p, struct report *r, int64_t now_mono_ns)
{
	if (p->aside.pid == 0 ||
	    (!r->transfers &&
		now_mono_ns - p->aside.begun_mono_ns < NW_REPLAY_TIME_MAX_NS + PATIENCE_NS))
		return;
	if (r->transfers)
		turn_of(p, &p->work.order)->ways &= ~(1U << p->work.order.replay.way);
	else
		result_give_up(p, r);
	p->next_mono_ns = now_mono_ns + AGAIN_NS;
	aside_end(&p->aside);
}

static bool
is_ordered(const struct leases *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (is_replay(&l->list[i].order))
			return true;
	return false;
}

/* The first due order of the configuration. */
static bool
work_find(struct replay_probe *p, const struct report *r, int64_t now_mono_ns)
{
	const struct nw_order *o;
	size_t i;

	for (i = 0; i < r->leases->n; i++) {
		o = &r->leases->list[i].order;
		if (!is_replay(o) || !turn_is_free(turn_of(p, o), o, now_mono_ns))
			continue;
		p->work = (struct work){ .order = *o };
		if (is_allowed(&p->work, r))
			return true;
	}
	return false;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct replay_probe *p = state;
	const struct nw_order *o = &p->work.order;
	int rc;

	if (r->leases == NULL)
		return NW_OK;
	if ((rc = aside_open(&p->aside)) < 0)
		return rc;
	replay_look(p, r, now_mono_ns);
	if (!is_ordered(r->leases)) {
		p->quiet.look_mono_ns = 0; /* the first look of an order begins the rate anew */
		return NW_OK;
	}
	if ((rc = quiet_look(&p->quiet, buf, now_mono_ns)) < 0)
		return rc;
	if (p->aside.pid != 0 || now_mono_ns < p->next_mono_ns || r->transfers ||
	    !quiet_is(&p->quiet) || !work_find(p, r, now_mono_ns))
		return NW_OK;
	turn_take(turn_of(p, o), o,
	    o->replay.way == NW_REPLAY_SEND ? r->bandwidth->every_ns : r->scratch->every_ns,
	    now_mono_ns);
	return aside_begin(&p->aside, measure, &p->work, now_mono_ns);
}

static int
fd(const void *state)
{
	return aside_fd(&((const struct replay_probe *)state)->aside);
}

static void
clear(void *state)
{
	struct replay_probe *p = state;

	aside_clear(&p->aside);
	procfs_close(&p->quiet.file);
}

const struct probe probe_replay = {
	.name = "replay",
	.source = "pwrite(2), pread(2), send(2)",
	.event_type = NW_TYPE_REPLAY,
	.kinds = { &kind },
	.state_bytes = sizeof(struct replay_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
