/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/address.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "daemon/conf.h"
#include "daemon/analysis/behaviour.h"
#include "daemon/control.h"
#include "daemon/analysis/ruleline.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "daemon/session.h"
#include "narrows/frame.h"

/* bounds of a session; further hosts and connections are ignored */
enum { HOSTS_MAX = 32, CONNECTIONS_MAX = 64 };
/* analyses in a row without anything uneasy make a session steady */
enum { STEADY_LOOKS = 3 };
/* Longest wait for the verdict of a closed session, and for a host's replay: the host waits until
 * nothing else moves. */
#define VERDICT_WAIT_NS INT64_C(60000000000)
#define REPLAY_WAIT_NS  INT64_C(30000000000)
#define REPLAY_LOOK_NS  INT64_C(250000000)
#define REPLAYED        "its hosts repeated stages of it alone"

/* A connection as seen by the host `by`. */
struct connection {
	char src[NW_ORDER_ADDRESS_BYTES], dst[NW_ORDER_ADDRESS_BYTES];
	uint16_t sport, dport;
	char *by;
	char *far; /* the host that described the connection from the other end, or NULL */
};

struct escalation {
	int64_t session_id;      /* hash key */
	struct session *session; /* one reference */
	bool active;             /* the providers have been told */
	bool kernel;             /* waiting times inside the kernel are wanted, too */
	struct behaviour behaviour;
	char **hosts;
	size_t n_hosts;
	struct connection *connections;
	size_t n_connections;
	/* of a closed session: since when; whether the verdict is there; the question behind the
	 * verdict, the place of the replay in hand and its end, and the number of replays so far */
	int64_t closed_mono_ns;
	bool is_final;
	struct nw_question question;
	size_t at, replays;
	int64_t replay_mono_ns;
	UT_hash_handle hh;
};

struct rules {
	struct control *control;
	const struct conf *conf;
	struct escalation *escalations;
	rules_undecided_fn *undecided; /* NULL: no session is undecided */
	void *undecided_arg;
	struct ruleline lines[RULELINES_MAX]; /* of the configuration */
	size_t n_lines;
};

static void
escalation_free(struct rules *r, struct escalation *e)
{
	size_t i;

	HASH_DEL(r->escalations, e);
	session_release(e->session);
	for (i = 0; i < e->n_hosts; i++)
		free(e->hosts[i]);
	for (i = 0; i < e->n_connections; i++) {
		free(e->connections[i].by);
		free(e->connections[i].far);
	}
	free(e->hosts);
	free(e->connections);
	free(e);
}

/* --- orders --- */

/* Ids are "s12" for a session and "s12/3" for its third connection: a STOP of "s12" ends all. */
static void
order_id(struct nw_order *o, const struct escalation *e, size_t connection)
{
	if (connection == 0)
		snprintf(o->id, sizeof(o->id), "s%" PRId64, e->session->id);
	else
		snprintf(o->id, sizeof(o->id), "s%" PRId64 "/%zu", e->session->id, connection);
}

/* The longer a session is uneasy, the shorter, step by step. */
static int64_t
interval_ns(const struct rules *r, const struct escalation *e)
{
	int64_t ns = r->conf->escalate_interval_ns;
	unsigned i;

	for (i = 0; i < e->behaviour.step && ns / 2 >= r->conf->escalate_fastest_ns; i++)
		ns /= 2;
	return ns;
}

static void
tell_rate(const struct rules *r, const struct escalation *e, struct control_peer *p)
{
	struct nw_order o = { .opt = NW_OPT_RATE,
		.event_type = NW_TYPE_HOST,
		.collection_ns = interval_ns(r, e),
		.report_ns = r->conf->escalate_report_ns,
		.lease_ns = r->conf->escalate_lease_ns };

	if ((e->behaviour.is & BEHAVIOUR_STEADY) != 0 && r->conf->escalate_keep_ns > 0) {
		o.keep_ns = r->conf->escalate_keep_ns;
		o.collection_ns = r->conf->escalate_interval_ns;
		o.report_ns = 0;
	}
	order_id(&o, e, 0);
	control_tell(p, &o);
}

/* The rules of the configuration whose condition holds: the series are sampled so often, and begin
 * if they are off. The orders of others end. Ids are "s12/r0". */
static void
tell_rules(const struct rules *r, const struct escalation *e, struct control_peer *p)
{
	struct nw_order o = { .lease_ns = r->conf->escalate_lease_ns };
	size_t i;

	for (i = 0; i < r->n_lines; i++) {
		o.opt = (e->behaviour.is & r->lines[i].when) != 0 ? NW_OPT_START : NW_OPT_STOP;
		o.collection_ns = r->lines[i].interval_ns;
		memcpy(o.event_type, r->lines[i].event_type, sizeof(o.event_type));
		snprintf(o.id, sizeof(o.id), "s%" PRId64 "/r%zu", e->session->id, i);
		if (o.opt == NW_OPT_START || e->behaviour.judged)
			control_tell(p, &o);
	}
}

/* Returns true if the host of the provider is an end of the connection, by its own words or by its
 * address. Further hosts of the session do not learn the ports: with these a host could pose as the
 * other end. */
static bool
is_end(const struct connection *c, const struct control_peer *p)
{
	return control_peer_is(p, c->by) || (c->far != NULL && control_peer_is(p, c->far)) ||
	    control_peer_is(p, c->src) || control_peer_is(p, c->dst) || address_is_loopback(c->dst);
}

/* The host that described the connection gets the same ends, every other host the ends swapped. */
static void
tell_follow(const struct escalation *e, size_t i, struct control_peer *p, struct nw_order *o)
{
	const struct connection *c = &e->connections[i];
	bool own = control_peer_is(p, c->by);

	session_alias(e->session, p->host, o->task_id);
	memcpy(o->src, own ? c->src : c->dst, sizeof(o->src));
	memcpy(o->dst, own ? c->dst : c->src, sizeof(o->dst));
	o->sport = own ? c->sport : c->dport;
	o->dport = own ? c->dport : c->sport;
	control_tell(p, o);
}

/* blipp follows the connection, and magnet where the session needs what the kernel knows. */
static void
tell_connection(const struct rules *r, const struct escalation *e, size_t i, struct control_peer *p)
{
	struct nw_order o = { .opt = NW_OPT_START,
		.event_type = NW_TYPE_TCP,
		.collection_ns = interval_ns(r, e),
		.lease_ns = r->conf->escalate_lease_ns };

	if (!is_end(&e->connections[i], p))
		return;
	order_id(&o, e, i + 1);
	if (r->conf->escalate_tcp)
		tell_follow(e, i, p, &o);
	if (!e->kernel)
		return;
	o = (struct nw_order){ .opt = NW_OPT_START,
		.event_type = NW_TYPE_KERNEL,
		.lease_ns = r->conf->escalate_lease_ns };
	snprintf(o.id, sizeof(o.id), "s%" PRId64 "/k%zu", e->session->id, i + 1);
	tell_follow(e, i, p, &o);
}

/* The waits of all programs of the host: for a processor, and for block devices. */
static void
tell_kernel(const struct rules *r, const struct escalation *e, struct control_peer *p)
{
	struct nw_order o = { .opt = NW_OPT_START,
		.event_type = NW_TYPE_KERNEL,
		.lease_ns = r->conf->escalate_lease_ns };

	if (!e->kernel)
		return;
	snprintf(o.id, sizeof(o.id), "s%" PRId64 "/k", e->session->id);
	control_tell(p, &o);
}

static bool
takes_part(const struct escalation *e, const struct control_peer *p)
{
	size_t i;

	if (!p->for_host)
		return false;
	for (i = 0; i < e->n_hosts; i++)
		if (control_peer_is(p, e->hosts[i]))
			return true;
	return false;
}

/* Subject of a message to all providers. */
struct telling {
	struct rules *r;
	struct escalation *e;
	size_t connection; /* of tell_far() */
};

static void
tell_all(struct control_peer *p, void *arg)
{
	struct telling *t = arg;
	size_t i;

	if (!takes_part(t->e, p))
		return;
	tell_rate(t->r, t->e, p);
	tell_kernel(t->r, t->e, p);
	tell_rules(t->r, t->e, p);
	for (i = 0; i < t->e->n_connections; i++)
		tell_connection(t->r, t->e, i, p);
}

static void
tell_stop(struct control_peer *p, void *arg)
{
	struct telling *t = arg;
	struct nw_order o = { .opt = NW_OPT_STOP };

	if (!takes_part(t->e, p))
		return;
	order_id(&o, t->e, 0);
	control_tell(p, &o);
}

static void
tell_newest_connection(struct control_peer *p, void *arg)
{
	struct telling *t = arg;

	if (takes_part(t->e, p))
		tell_connection(t->r, t->e, t->e->n_connections - 1, p);
}

/* --- the question behind a verdict --- */

/* Subject of the order of a replay. */
struct asking {
	const struct escalation *e;
	struct nw_order order;
	size_t n; /* hosts that take the order */
};

static void
tell_replay(struct control_peer *p, void *arg)
{
	struct asking *a = arg;

	if (!takes_part(a->e, p) || (p->can & CAN_REPLAY) == 0 ||
	    !control_peer_is(p, a->e->question.ask[a->e->at].host))
		return;
	session_alias(a->e->session, p->host, a->order.task_id);
	control_tell(p, &a->order);
	a->n++;
}

static void
replay_id(const struct escalation *e, char id[NW_ORDER_ID_BYTES])
{
	snprintf(id, NW_ORDER_ID_BYTES, "s%" PRId64 "/p%zu", e->session->id, e->at + 1);
}

/* Gives the order of the replay in hand, or ends it. Returns false if no host takes the order. */
static bool
replay_order(const struct rules *r, const struct escalation *e, uint16_t opt)
{
	struct asking a = { .e = e,
		.order = { .opt = opt,
		    .event_type = NW_TYPE_REPLAY,
		    .collection_ns = REPLAY_LOOK_NS,
		    .lease_ns = r->conf->escalate_lease_ns,
		    .replay = e->question.ask[e->at].replay } };

	replay_id(e, a.order.id);
	control_each(r->control, tell_replay, &a);
	return a.n > 0;
}

static void
replayer_count(struct control_peer *p, void *arg)
{
	struct asking *a = arg;

	a->n += takes_part(a->e, p) && (p->can & CAN_REPLAY) != 0;
}

/* Whether a provider of the session's hosts takes orders of replays. */
static bool
has_replayer(const struct rules *r, const struct escalation *e)
{
	struct asking a = { .e = e };

	control_each(r->control, replayer_count, &a);
	return a.n > 0;
}

/* Goes on to the next replay that a host takes, one at a time: each stage alone. */
static void
replay_next(const struct rules *r, struct escalation *e, int64_t now_mono_ns)
{
	while (e->at < e->question.n && !replay_order(r, e, NW_OPT_START))
		e->at++;
	e->replay_mono_ns = now_mono_ns + REPLAY_WAIT_NS;
}

static void
replay_end(const struct rules *r, struct escalation *e, int64_t now_mono_ns)
{
	(void)replay_order(r, e, NW_OPT_STOP);
	e->at++;
	replay_next(r, e, now_mono_ns);
}

/* Returns false when nothing is to be asked any more. */
static bool
question_tick(const struct rules *r, struct escalation *e, bool renew, int64_t now_mono_ns)
{
	if (e->closed_mono_ns == 0)
		e->closed_mono_ns = now_mono_ns;
	if (!r->conf->escalate_replay || e->session->merged_into != NULL)
		return false;
	if (!e->is_final)
		return now_mono_ns - e->closed_mono_ns < VERDICT_WAIT_NS && has_replayer(r, e);
	if (e->at < e->question.n && now_mono_ns >= e->replay_mono_ns)
		replay_end(r, e, now_mono_ns);
	else if (e->at < e->question.n && renew)
		(void)replay_order(r, e, NW_OPT_START);
	if (e->at < e->question.n)
		return true;
	if (e->replays > 0)
		session_judge_again(e->session, REPLAYED);
	return false;
}

static void
question_take(const struct rules *r, struct escalation *e, const struct session_outcome *o,
    int64_t now_mono_ns)
{
	if (!o->is_final || e->is_final || e->session->state != SESSION_CLOSED)
		return;
	e->is_final = true;
	e->question = o->question;
	if (r->conf->escalate_replay)
		replay_next(r, e, now_mono_ns);
}

void
rules_replayed(struct rules *r, const struct session *s, const char *host, bool has_number)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct escalation *e;

	HASH_FIND(hh, r->escalations, &s->id, sizeof(s->id), e);
	if (e == NULL || e->at >= e->question.n || strcmp(e->question.ask[e->at].host, host) != 0)
		return;
	e->replays++;
	if (e->question.one && has_number) {
		(void)replay_order(r, e, NW_OPT_STOP);
		e->at = e->question.n;
		return;
	}
	log_debug("session.replayed id=%" PRId64 " host=\"%s\"", s->id, host);
	replay_end(r, e, now_mono_ns);
}

/* A host will not carry out the replay in hand: the next replay's turn. */
static void
on_declined(void *arg, const struct control_peer *p)
{
	struct escalation *e, *tmp;
	char id[NW_ORDER_ID_BYTES];
	struct rules *r = arg;

	HASH_ITER (hh, r->escalations, e, tmp) {
		replay_id(e, id);
		if (e->at >= e->question.n || !nw_order_word(p->status.declined, id) ||
		    !control_peer_is(p, e->question.ask[e->at].host))
			continue;
		log_info("session.declined id=%s", id);
		replay_end(r, e, nw_mono_ns());
	}
}

/* --- hosts and connections --- */

static struct escalation *
escalation_of(struct rules *r, struct session *s)
{
	struct escalation *e;

	HASH_FIND(hh, r->escalations, &s->id, sizeof(s->id), e);
	if (e != NULL)
		return e;
	e = xcalloc(1, sizeof(*e));
	e->session_id = s->id;
	e->session = s;
	s->refs++;
	e->active = true;
	e->kernel = r->conf->escalate_kernel == ESCALATE_KERNEL_ALWAYS;
	behaviour_begin(&e->behaviour, STEADY_LOOKS * r->conf->analysis_interval_ns, nw_mono_ns());
	HASH_ADD(hh, r->escalations, session_id, sizeof(e->session_id), e);
	control_wake(r->control);
	return e;
}

static bool
host_add(struct escalation *e, const char *host)
{
	size_t i;

	for (i = 0; i < e->n_hosts; i++)
		if (strcmp(e->hosts[i], host) == 0)
			return false;
	if (e->n_hosts == HOSTS_MAX)
		return false;
	e->hosts = xreallocarray(e->hosts, e->n_hosts + 1, sizeof(*e->hosts));
	e->hosts[e->n_hosts++] = xstrdup(host);
	return true;
}

void
rules_host(struct rules *r, struct session *s, const char *host)
{
	struct telling t = { .r = r };

	if (!r->conf->escalate || s->state != SESSION_OPEN)
		return;
	t.e = escalation_of(r, s);
	if (host_add(t.e, host))
		control_each(r->control, tell_all, &t);
}

/* The connection if either end has described it, else NULL. */
static struct connection *
connection_find(const struct escalation *e, const char *host, const struct nw_subject *u)
{
	struct connection *c;
	bool same, mirrored;
	size_t i;

	for (i = 0; i < e->n_connections; i++) {
		c = &e->connections[i];
		same = c->sport == u->sport && c->dport == u->dport &&
		    strcmp(c->src, u->src) == 0 && strcmp(c->dst, u->dst) == 0;
		mirrored = c->sport == u->dport && c->dport == u->sport &&
		    strcmp(c->src, u->dst) == 0 && strcmp(c->dst, u->src) == 0;
		if (strcmp(c->by, host) == 0 ? same : mirrored)
			return c;
	}
	return NULL;
}

static void
tell_far(struct control_peer *p, void *arg)
{
	struct telling *t = arg;
	const struct connection *c = &t->e->connections[t->connection];

	if (takes_part(t->e, p) && control_peer_is(p, c->far) && !control_peer_is(p, c->src) &&
	    !control_peer_is(p, c->dst)) /* an end follows its own connection */
		tell_connection(t->r, t->e, t->connection, p);
}

/* The host at the other end has described the connection, too, and follows its own end. */
static void
far_note(struct telling *t, struct connection *c, const char *host)
{
	if (c->far != NULL || strcmp(c->by, host) == 0)
		return;
	c->far = xstrdup(host);
	t->connection = (size_t)(c - t->e->connections);
	control_each(t->r->control, tell_far, t);
}

void
rules_connection(struct rules *r, struct session *s, const char *host, const struct nw_subject *u)
{
	struct telling t = { .r = r };
	struct connection *c;

	if (!r->conf->escalate ||
	    (!r->conf->escalate_tcp && r->conf->escalate_kernel == ESCALATE_KERNEL_NO) ||
	    s->state != SESSION_OPEN || u->src == NULL || u->dst == NULL || u->sport == 0 ||
	    u->dport == 0 || strlen(u->src) >= sizeof(c->src) || strlen(u->dst) >= sizeof(c->dst))
		return;
	t.e = escalation_of(r, s);
	if ((c = connection_find(t.e, host, u)) != NULL) {
		far_note(&t, c, host);
		return;
	}
	if (t.e->n_connections == CONNECTIONS_MAX)
		return;
	t.e->connections = xreallocarray(t.e->connections, t.e->n_connections + 1, sizeof(*c));
	c = &t.e->connections[t.e->n_connections++];
	*c = (struct connection){ .sport = u->sport, .dport = u->dport, .by = xstrdup(host) };
	strcpy(c->src, u->src);
	strcpy(c->dst, u->dst);
	/* the owner of the other address takes part, too; on loopback every host does */
	if (!address_is_loopback(u->dst) && host_add(t.e, u->dst))
		control_each(r->control, tell_all, &t);
	else
		control_each(r->control, tell_newest_connection, &t);
}

/* A new provider gets every order in force. */
static void
on_joined(void *arg, struct control_peer *p)
{
	struct rules *r = arg;
	struct telling t = { .r = r };
	struct escalation *tmp;

	HASH_ITER (hh, r->escalations, t.e, tmp)
		if (t.e->active)
			tell_all(p, &t);
}

/* Moves hosts and connections of a merged session to the session that remains. */
static void
escalation_move(struct rules *r, const struct escalation *e, struct session *into)
{
	const struct connection *c;
	size_t i;

	for (i = 0; i < e->n_hosts; i++)
		rules_host(r, into, e->hosts[i]);
	for (i = 0; i < e->n_connections; i++) {
		c = &e->connections[i];
		rules_connection(r, into, c->by,
		    &(struct nw_subject){
			.src = c->src, .dst = c->dst, .sport = c->sport, .dport = c->dport });
		if (c->far != NULL)
			rules_connection(r, into, c->far,
			    &(struct nw_subject){ .src = c->dst,
				.dst = c->src,
				.sport = c->dport,
				.dport = c->sport });
	}
}

/* Whether an open session has just turned out to need the kernels' accounts. The need stays: an
 * answer based on the kernels would not stand without their accounts. */
static bool
needs_kernel(const struct rules *r, struct escalation *e)
{
	if (e->kernel || r->conf->escalate_kernel != ESCALATE_KERNEL_UNDECIDED ||
	    r->undecided == NULL)
		return false;
	e->kernel = r->undecided(r->undecided_arg, e->session->id);
	return e->kernel;
}

/* Orders of a lingering session end, and begin again if the session goes on. */
static void
on_tick(void *arg, bool renew)
{
	struct rules *r = arg;
	struct telling t = { .r = r };
	struct escalation *e, *tmp;
	bool open;

	HASH_ITER (hh, r->escalations, e, tmp) {
		t.e = e;
		if (e->session->merged_into != NULL)
			escalation_move(r, e, e->session->merged_into);
		open = e->session->state == SESSION_OPEN;
		if (open ? needs_kernel(r, e) || renew || !e->active : e->active)
			control_each(r->control, open ? tell_all : tell_stop, &t);
		e->active = open;
		if (e->session->state != SESSION_CLOSED) {
			e->closed_mono_ns = 0;
			e->is_final = false;
			e->question.n = e->at = 0;
		} else if (!question_tick(r, e, renew, nw_mono_ns()))
			escalation_free(r, e);
	}
}

void
rules_judged(struct rules *r, const struct session_outcome *o, int64_t now_mono_ns)
{
	struct telling t = { .r = r };
	unsigned before, step;

	HASH_FIND(hh, r->escalations, &o->session_id, sizeof(o->session_id), t.e);
	if (t.e == NULL)
		return;
	question_take(r, t.e, o, now_mono_ns);
	before = t.e->behaviour.is;
	step = t.e->behaviour.step;
	behaviour_take(&t.e->behaviour, o, now_mono_ns);
	if (before == t.e->behaviour.is && step == t.e->behaviour.step)
		return;
	log_debug("session.behaviour id=%" PRId64
		  " slow=%d changed=%d untold=%d steady=%d interval_ms=%" PRId64,
	    o->session_id, (t.e->behaviour.is & BEHAVIOUR_SLOW) != 0,
	    (t.e->behaviour.is & BEHAVIOUR_CHANGED) != 0,
	    (t.e->behaviour.is & BEHAVIOUR_UNTOLD) != 0,
	    (t.e->behaviour.is & BEHAVIOUR_STEADY) != 0, interval_ns(r, t.e) / 1000000);
	if (t.e->active)
		control_each(r->control, tell_all, &t);
}

bool
rules_is_idle(const struct rules *r)
{
	return r->escalations == NULL;
}

static bool
is_idle(const void *arg)
{
	return rules_is_idle(arg);
}

struct rules *
rules_new(struct control *c, const struct conf *conf)
{
	struct rules *r = xcalloc(1, sizeof(*r));
	const char *line = conf->rules, *why;

	r->control = c;
	r->conf = conf;
	while (line != NULL && *line != '\0' && r->n_lines < RULELINES_MAX &&
	    ruleline_parse(line, &r->lines[r->n_lines], &line, &why) == NW_OK)
		r->n_lines++;
	control_set_rule(c,
	    &(struct control_rule){ .joined = on_joined,
		.tick = on_tick,
		.is_idle = is_idle,
		.declined = on_declined,
		.arg = r });
	return r;
}

void
rules_set_undecided(struct rules *r, rules_undecided_fn *fn, void *arg)
{
	r->undecided = fn;
	r->undecided_arg = arg;
}

void
rules_free(struct rules *r)
{
	if (r == NULL)
		return;
	control_set_rule(r->control, &(struct control_rule){ 0 });
	while (r->escalations != NULL)
		escalation_free(r, r->escalations);
	free(r);
}
