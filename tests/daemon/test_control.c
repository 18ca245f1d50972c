/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's end with played time: who is told what, for how long, and who is not. */
#include "daemon/control.h"

#include <event2/buffer.h>

#include "daemon/analysis/behaviour.h"
#include "daemon/box.h"
#include "daemon/conf.h"
#include "daemon/ctl.h"
#include "daemon/rules.h"
#include "daemon/session.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "tests/check.h"

#define S INT64_C(1000000000)

enum { HEARD_MAX = 256 };

/* What a provider has heard since the last look. */
struct ear {
	struct nw_order orders[HEARD_MAX];
	size_t n, clocks;
	struct nw_clock clock;
};

static void
hear(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	struct ear *e = arg;
	const char *why;

	if (opt == NW_OPT_CLOCK) {
		CHECK_INT(nw_clock_decode(&e->clock, data, len, &why), NW_OK);
		e->clocks++;
		return;
	}
	CHECK(e->n < HEARD_MAX);
	CHECK_INT(nw_order_decode(&e->orders[e->n], opt, data, len, &why), NW_OK);
	e->n++;
}

/* The last order of that id, or NULL; forgets all when told to. */
static const struct nw_order *
heard(struct ear *e, const char *id)
{
	size_t i;

	for (i = e->n; i > 0; i--)
		if (strcmp(e->orders[i - 1].id, id) == 0)
			return &e->orders[i - 1];
	return NULL;
}

static struct control_peer *
join(struct control *c, struct ear *e, const char *host, const char *address, const char *addresses,
    const char *can, bool for_host)
{
	const struct control_hello h = { .host = host,
		.address = address,
		.addresses = addresses,
		.can = can,
		.for_host = for_host };

	memset(e, 0, sizeof(*e));
	return control_join(c, &h, hear, e);
}

static struct session
session_made(int64_t id, char *key)
{
	static struct box box;

	return (struct session){ .id = id,
		.label = key,
		.task_id = key,
		.state = SESSION_OPEN,
		.refs = 1,
		.box = &box };
}

/* The order names the session by the host's own alias: no task, and nothing for another host. */
static bool
is_alias(const struct nw_order *o, const struct session *s, const char *host, const char *other)
{
	char mine[SESSION_ALIAS_BYTES], others[SESSION_ALIAS_BYTES];

	session_alias(s, host, mine);
	session_alias(s, other, others);
	return strcmp(o->task_id, mine) == 0 && strcmp(mine, others) != 0 &&
	    strstr(mine, s->task_id) == NULL;
}

static const char all[] = "start stop rate status clock";

/* Two hosts with a provider each, and a program on the first host that feeds session 7. */
static struct {
	struct ear a, b, c, program;
	struct session s;
	struct control *ctl;
	struct control_peer *pa, *pb, *pp;
	struct conf conf;
	struct rules *r;
} net;

static void
net_begin(void)
{
	net.s = session_made(7, (char *)"a task");
	conf_init(&net.conf);
	net.ctl = control_new(NULL, &net.conf);
	net.r = rules_new(net.ctl, &net.conf);
	net.pa = join(net.ctl, &net.a, "dtn-a", "192.0.2.1", "192.0.2.1 10.0.0.1", all, true);
	net.pb = join(net.ctl, &net.b, "dtn-b", "192.0.2.2", "192.0.2.2 10.0.0.2", all, true);
	net.pp = join(
	    net.ctl, &net.program, "dtn-a", "192.0.2.1", NULL, "rate stop status clock", false);
	CHECK(net.a.n == 0 && net.b.n == 0 && rules_is_idle(net.r));
	CHECK(join(net.ctl, &net.c, "original", "192.0.2.9", NULL, NULL, true) == NULL);
	CHECK(join(net.ctl, &net.c, "other", "192.0.2.9", NULL, "dance", true) == NULL);
}

static void
net_end(void)
{
	control_leave(net.pa);
	control_leave(net.pb);
	control_leave(net.pp);
	rules_free(net.r);
	control_free(net.ctl);
	conf_clear(&net.conf);
}

/* The sender's host takes part, then its connection, whose other end belongs to dtn-b. */
static void
test_rule_begins(void)
{
	struct nw_subject u = {
		.src = "10.0.0.1", .dst = "10.0.0.2", .sport = 5000, .dport = 6000
	};
	const struct nw_order *o;

	rules_host(net.r, &net.s, "dtn-a");
	CHECK((o = heard(&net.a, "s7")) != NULL && o->opt == NW_OPT_RATE &&
	    o->collection_ns == S / 10 && o->report_ns == S / 2 && o->lease_ns == 5 * S);
	CHECK_STR(o->event_type, "ps:");
	CHECK(net.b.n == 0 && net.program.n == 0);
	rules_connection(net.r, &net.s, "dtn-a", &u);
	CHECK((o = heard(&net.a, "s7/1")) != NULL && o->opt == NW_OPT_START && o->sport == 5000 &&
	    o->dport == 6000);
	CHECK_STR(o->src, "10.0.0.1");
	CHECK(is_alias(o, &net.s, "dtn-a", "dtn-b"));
	CHECK(heard(&net.b, "s7") != NULL && (o = heard(&net.b, "s7/1")) != NULL &&
	    o->sport == 6000 && o->dport == 5000);
	CHECK_STR(o->src, "10.0.0.2");
	CHECK_INT(net.program.n, 0);
}

/* The receiver describes the same connection from its end: no new order. */
static void
test_rule_knows_both_ends(void)
{
	struct nw_subject u = {
		.src = "10.0.0.2", .dst = "10.0.0.1", .sport = 6000, .dport = 5000
	};

	rules_host(net.r, &net.s, "dtn-b");
	net.a.n = net.b.n = 0;
	rules_connection(net.r, &net.s, "dtn-b", &u);
	CHECK(net.a.n == 0 && net.b.n == 0);
	u.sport = 0;
	rules_connection(net.r, &net.s, "dtn-b", &u);
	CHECK_INT(net.b.n, 0);
}

/* A provider that comes later is found by its address and told at once; it learns the ports of a
 * connection when it has described the other end. */
static void
test_rule_tells_late_provider(void)
{
	struct nw_subject u = {
		.src = "10.0.0.1", .dst = "172.16.0.9", .sport = 5001, .dport = 6001
	};
	const struct nw_order *o;
	struct control_peer *pc;

	rules_connection(net.r, &net.s, "dtn-a", &u);
	rules_host(net.r, &net.s, "198.51.100.1");
	pc = join(net.ctl, &net.c, "dtn-c", "198.51.100.1", NULL, all, true);
	CHECK(heard(&net.c, "s7") != NULL && heard(&net.c, "s7/1") == NULL &&
	    heard(&net.c, "s7/2") == NULL);
	rules_connection(net.r, &net.s, "dtn-c",
	    &(struct nw_subject){ .src = u.dst, .dst = u.src, .sport = u.dport, .dport = u.sport });
	CHECK((o = heard(&net.c, "s7/2")) != NULL && o->sport == 6001 && o->dport == 5001);
	CHECK(heard(&net.c, "s7/1") == NULL && heard(&net.b, "s7/2") == NULL);
	control_leave(pc);
}

/* Orders are renewed three times a lease while the session is open, and stop when it ends. */
static void
test_rule_renews(void)
{
	const struct nw_order *o;

	control_tick(net.ctl, 100 * S);
	net.a.n = 0;
	control_tick(net.ctl, 101 * S);
	CHECK_INT(net.a.n, 0);
	control_tick(net.ctl, 102 * S);
	CHECK(heard(&net.a, "s7") != NULL && heard(&net.a, "s7/1") != NULL);
	net.a.n = net.b.n = 0;
	net.s.state = SESSION_LINGERING;
	control_tick(net.ctl, 102 * S + 1);
	CHECK((o = heard(&net.a, "s7")) != NULL && o->opt == NW_OPT_STOP && net.a.n == 1 &&
	    net.b.n == 1);
	net.s.state = SESSION_OPEN; /* the transfer goes on after all */
	control_tick(net.ctl, 102 * S + 2);
	CHECK((o = heard(&net.b, "s7")) != NULL && o->opt == NW_OPT_RATE);
	net.s.state = SESSION_CLOSED;
	control_tick(net.ctl, 103 * S);
	CHECK((o = heard(&net.b, "s7")) != NULL && o->opt == NW_OPT_STOP && rules_is_idle(net.r));
	CHECK_INT(net.s.refs, 1);
	net.a.n = 0;
	control_tick(net.ctl, 200 * S);
	CHECK_INT(net.a.n, 0);
	CHECK_INT(net.program.n, 0);
}

/* A session turns out to be part of another session: its orders follow. */
static void
test_rule_follows_merge(void)
{
	struct session from = session_made(8, (char *)"xsp:1"),
		       into = session_made(9, (char *)"task 9");
	struct nw_subject u = { .src = "10.0.0.1", .dst = "10.0.0.2", .sport = 1, .dport = 2 };
	const struct nw_order *o;

	rules_host(net.r, &from, "dtn-a");
	rules_connection(net.r, &from, "dtn-a", &u);
	from.state = SESSION_CLOSED;
	from.merged_into = &into;
	net.a.n = 0;
	control_tick(net.ctl, 201 * S);
	CHECK((o = heard(&net.a, "s8")) != NULL && o->opt == NW_OPT_STOP);
	CHECK((o = heard(&net.a, "s9/1")) != NULL && is_alias(o, &into, "dtn-a", "dtn-b"));
	CHECK_INT(from.refs, 1);
	into.state = SESSION_CLOSED;
	control_tick(net.ctl, 202 * S);
	CHECK_INT(into.refs, 1);
}

static struct session_outcome
outcome_made(int64_t session_id)
{
	static const struct nw_replay replay = { .way = NW_REPLAY_WRITE,
		.target = "/data/file",
		.op_bytes = 1,
		.bytes = 1,
		.time_ns = S };
	struct session_outcome o = { .session_id = session_id, .is_final = true };
	size_t i;

	o.question.n = 2;
	for (i = 0; i < 2; i++) {
		strcpy(o.question.ask[i].host, "dtn-c");
		o.question.ask[i].replay = replay;
	}
	return o;
}

/* Behind the verdict of a closed session the asked host, and no other, repeats its stages, one at a
 * time. */
static void
test_rule_asks(void)
{
	struct session s = session_made(11, (char *)"task 11");
	struct session_outcome o = outcome_made(11);
	struct control_peer *pc = join(net.ctl, &net.c, "dtn-c", "192.0.2.3", NULL,
	    "start stop rate status clock replay", true);
	const struct nw_order *order;

	rules_host(net.r, &s, "dtn-a");
	rules_host(net.r, &s, "dtn-c");
	rules_judged(net.r, &o, S); /* of a session that is open again */
	s.state = SESSION_CLOSED;
	control_tick(net.ctl, 301 * S);
	CHECK(heard(&net.c, "s11/p1") == NULL && !rules_is_idle(net.r));
	rules_judged(net.r, &o, S);
	CHECK((order = heard(&net.c, "s11/p1")) != NULL && order->opt == NW_OPT_START &&
	    order->replay.way == NW_REPLAY_WRITE && is_alias(order, &s, "dtn-c", "dtn-a"));
	CHECK(heard(&net.a, "s11/p1") == NULL && heard(&net.c, "s11/p2") == NULL);
	net.c.n = 0;
	rules_replayed(net.r, &s, "dtn-a", true); /* nobody asked dtn-a */
	CHECK_INT(net.c.n, 0);
	rules_replayed(net.r, &s, "dtn-c", true);
	CHECK((order = heard(&net.c, "s11/p1")) != NULL && order->opt == NW_OPT_STOP);
	CHECK((order = heard(&net.c, "s11/p2")) != NULL && order->opt == NW_OPT_START);
	s.state = SESSION_OPEN; /* the transfer goes on: nothing is asked any more */
	net.c.n = 0;
	control_tick(net.ctl, 302 * S);
	rules_replayed(net.r, &s, "dtn-c", true);
	CHECK(heard(&net.c, "s11/p2") == NULL);
	s.state = SESSION_CLOSED;
	control_leave(pc);
	control_tick(net.ctl, 303 * S);
	CHECK(rules_is_idle(net.r));
}

static void
decline(struct control_peer *p, const char *ids)
{
	const struct nw_order_status s = { .declined = ids, .cpu_s = 1 };
	struct nw_doc_buf doc = { 0 };
	const char *why;

	CHECK_INT(nw_order_status_encode(&doc, &s), NW_OK);
	CHECK_INT(control_take_status(p, doc.data, doc.len, S, &why), NW_OK);
	nw_doc_buf_clear(&doc);
}

/* The box does not wait for a host that declines the replay in hand; other ids change no order. */
static void
test_rule_declined(void)
{
	struct session s = session_made(13, (char *)"task 13");
	struct session_outcome o = outcome_made(13);
	struct control_peer *pc = join(net.ctl, &net.c, "dtn-c", "192.0.2.3", NULL,
	    "start stop rate status clock replay", true);
	const struct nw_order *order;

	rules_host(net.r, &s, "dtn-c");
	s.state = SESSION_CLOSED;
	control_tick(net.ctl, 501 * S);
	rules_judged(net.r, &o, S);
	net.c.n = 0;
	decline(pc, "s13/p2 s12/p1 s13");
	CHECK_INT(net.c.n, 0);
	decline(net.pa, "s13/p1"); /* nobody asked dtn-a */
	CHECK_INT(net.c.n, 0);
	decline(pc, "s9/p1 s13/p1");
	CHECK((order = heard(&net.c, "s13/p1")) != NULL && order->opt == NW_OPT_STOP);
	CHECK((order = heard(&net.c, "s13/p2")) != NULL && order->opt == NW_OPT_START);
	CHECK(!rules_is_idle(net.r));
	decline(pc, "s13/p2");
	control_tick(net.ctl, 502 * S);
	CHECK(rules_is_idle(net.r));
	control_leave(pc);
}

/* Of two stages that tie one answer is enough; a replay without a number is none. */
static void
test_rule_asks_once(void)
{
	struct session s = session_made(12, (char *)"task 12");
	struct session_outcome o = outcome_made(12);
	struct control_peer *pc = join(net.ctl, &net.c, "dtn-c", "192.0.2.3", NULL,
	    "start stop rate status clock replay", true);
	const struct nw_order *order;

	o.question.one = true;
	rules_host(net.r, &s, "dtn-c");
	s.state = SESSION_CLOSED;
	control_tick(net.ctl, 401 * S);
	rules_judged(net.r, &o, S);
	net.c.n = 0;
	rules_replayed(net.r, &s, "dtn-c", false);
	CHECK((order = heard(&net.c, "s12/p1")) != NULL && order->opt == NW_OPT_STOP);
	CHECK((order = heard(&net.c, "s12/p2")) != NULL && order->opt == NW_OPT_START);
	s.state = SESSION_OPEN; /* the transfer goes on, and ends again */
	control_tick(net.ctl, 402 * S);
	s.state = SESSION_CLOSED;
	control_tick(net.ctl, 403 * S);
	rules_judged(net.r, &o, S);
	net.c.n = 0;
	rules_replayed(net.r, &s, "dtn-c", true);
	CHECK((order = heard(&net.c, "s12/p1")) != NULL && order->opt == NW_OPT_STOP);
	CHECK(heard(&net.c, "s12/p2") == NULL);
	s.state = SESSION_OPEN;
	control_tick(net.ctl, 404 * S);
	s.state = SESSION_CLOSED;
	control_leave(pc);
	control_tick(net.ctl, 405 * S);
	CHECK(rules_is_idle(net.r));
}

static void
test_rule(void)
{
	net_begin();
	test_rule_begins();
	test_rule_knows_both_ends();
	test_rule_tells_late_provider();
	test_rule_renews();
	test_rule_follows_merge();
	test_rule_asks();
	test_rule_declined();
	test_rule_asks_once();
	net.conf.escalate = false;
	net.s.state = SESSION_OPEN;
	net.a.n = 0;
	rules_host(net.r, &net.s, "dtn-a");
	CHECK(net.a.n == 0 && rules_is_idle(net.r));
	net_end();
}

static bool
undecided_is(void *arg, int64_t session_id)
{
	return session_id == 7 && *(bool *)arg;
}

/* What happens inside the kernels is asked of the providers of kernel events alone, of a session
 * that cannot be told, and until the session ends. */
static void
test_rule_kernel(void)
{
	struct nw_subject u = {
		.src = "10.0.0.1", .dst = "10.0.0.2", .sport = 5000, .dport = 6000
	};
	struct control_peer *pk;
	const struct nw_order *o;
	bool undecided = false;

	net_begin();
	pk =
	    join(net.ctl, &net.c, "dtn-b", "192.0.2.2", "10.0.0.2", "start stop rate kernel", true);
	rules_set_undecided(net.r, undecided_is, &undecided);
	rules_host(net.r, &net.s, "dtn-a");
	rules_connection(net.r, &net.s, "dtn-a", &u);
	control_tick(net.ctl, 10 * S);
	CHECK(heard(&net.c, "s7") != NULL && heard(&net.c, "s7/1") == NULL);
	CHECK(heard(&net.c, "s7/k") == NULL && heard(&net.c, "s7/k1") == NULL);
	CHECK(heard(&net.b, "s7/1") != NULL);
	undecided = true;
	net.b.n = 0;
	control_tick(net.ctl, 10 * S + S / 4);
	CHECK((o = heard(&net.c, "s7/k1")) != NULL && o->opt == NW_OPT_START && o->sport == 6000);
	CHECK_STR(o->event_type, "ps:host:kernel");
	CHECK(is_alias(o, &net.s, "dtn-b", "dtn-a"));
	CHECK((o = heard(&net.c, "s7/k")) != NULL && !nw_order_has_connection(o));
	CHECK(heard(&net.b, "s7/k") == NULL && heard(&net.b, "s7/k1") == NULL);
	undecided = false;
	net.c.n = 0;
	control_tick(net.ctl, 20 * S);
	CHECK(heard(&net.c, "s7/k1") != NULL);
	net.s.state = SESSION_LINGERING;
	control_tick(net.ctl, 21 * S);
	CHECK((o = heard(&net.c, "s7")) != NULL && o->opt == NW_OPT_STOP);
	net.s.state = SESSION_CLOSED;
	control_tick(net.ctl, 22 * S);
	control_leave(pk);
	net_end();
}

/* One line to the socket's other side; true when it begins with that. */
static bool
says(struct control *c, const char *line, int64_t now, const char *begins)
{
	struct evbuffer *out = evbuffer_new();
	char text[512], *copy = strdup(line);
	bool good;
	int n;

	ctl_answer(c, copy, now, 1000 * S, out);
	n = evbuffer_remove(out, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	good = strncmp(text, begins, strlen(begins)) == 0;
	if (!good)
		fprintf(stderr, "\"%s\": %s", line, text);
	evbuffer_free(out);
	free(copy);
	return good;
}

static void
test_hand(void)
{
	static const char *const wrong[] = { "", "dtn-a", "dtn-a dance", "dtn-a rate",
		"dtn-a rate soon", "dtn-a rate 1ms", "dtn-a rate 2h", "dtn-a rate 1s report=0.1s",
		"dtn-a rate 1s color=red", "dtn-a rate 1s for=x", "nobody rate 1s", "dtn-a start",
		"dtn-a start tcp=1.2.3.4/5", "dtn-a start tcp=1.2.3.4/5-6", "dtn-a stop",
		"dtn-a stop h1", "nobody status" };
	static struct ear a, b;
	const struct nw_order *o;
	struct control_peer *pa, *pb;
	struct control *c;
	struct conf conf;
	char line[64];
	size_t i;

	conf_init(&conf);
	c = control_new(NULL, &conf);
	pa = join(c, &a, "dtn-a", "192.0.2.1", NULL, all, true);
	pb = join(c, &b, "dtn-b", "192.0.2.2", NULL, all, true);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(says(c, wrong[i], 0, "error "));
	CHECK(a.n == 0 && b.n == 0);

	CHECK(says(c, "dtn-a rate 50ms report=1s for=10s event=ps:tools", 0, "ok h1\n"));
	CHECK((o = heard(&a, "h1")) != NULL && o->collection_ns == S / 20 && o->report_ns == S &&
	    o->lease_ns == 5 * S);
	CHECK(says(c, "  192.0.2.2\tstart tcp=10.0.0.2/6-2001:db8::1/7 task=t  ", 0, "ok h2\n"));
	CHECK((o = heard(&b, "h2")) != NULL && o->opt == NW_OPT_START && o->sport == 6 &&
	    o->dport == 7);
	CHECK_STR(o->dst, "2001:db8::1");
	CHECK_STR(o->event_type, "ps:host:tcp");
	CHECK_INT(a.n, 1);
	control_tick(c, 2 * S);
	a.n = b.n = 0;
	control_tick(c, 4 * S);
	CHECK(a.n == 1 && b.n == 1); /* renewed */
	control_tick(c, 10 * S);
	CHECK((o = heard(&a, "h1")) != NULL && o->opt == NW_OPT_STOP);
	CHECK(says(c, "192.0.2.2 stop h2", 11 * S, "ok"));
	CHECK((o = heard(&b, "h2")) != NULL && o->opt == NW_OPT_STOP);
	a.n = b.n = 0;
	control_tick(c, 20 * S);
	CHECK(a.n == 0 && b.n == 0);
	for (i = 0; i < 64; i++)
		CHECK(says(c, "dtn-a rate 1s", 20 * S, "ok h"));
	CHECK(says(c, "dtn-a rate 1s", 20 * S, "error "));
	CHECK(says(c, "dtn-a stop", 20 * S, "ok"));
	snprintf(line, sizeof(line), "dtn-a status");
	CHECK(says(c, line, 20 * S, "ok\ndtn-a host: no status yet\n"));
	control_leave(pa);
	control_leave(pb);
	control_free(c);
	conf_clear(&conf);
}

static void
test_answers(void)
{
	struct nw_order_status s = {
		.collecting = "cpu \n\"", .orders = "s1", .collection_s = 0.1, .cpu_s = 1
	};
	struct nw_doc_buf doc = { 0 };
	struct control_peer *p;
	static struct ear e;
	struct control *c;
	struct conf conf;
	double offset_s, bound_s;
	struct nw_clock t;
	const char *why;

	conf_init(&conf);
	c = control_new(NULL, &conf);
	p = join(c, &e, "dtn-a\n", "192.0.2.1", NULL, "status clock", true);
	nw_order_status_encode(&doc, &s);
	CHECK_INT(control_take_status(p, doc.data, doc.len, 999 * S, &why), NW_OK);
	CHECK_INT(control_take_status(p, doc.data, doc.len - 1, 999 * S, &why), NW_EPROTO);
	CHECK(says(c, "all status", 0,
	    "ok\ndtn-a\\x0a host: age_s=1.0 interval_s=0.1 report_s=0 orders=\"s1\" "
	    "collecting=\"cpu \\x0a"));

	control_tick(c, 1 * S);
	CHECK_INT(e.clocks, 1);
	control_tick(c, 2 * S);
	CHECK_INT(e.clocks, 1);
	t = e.clock;
	t.t2_wall_ns = t.t3_wall_ns = t.t1_wall_ns + 2 * S;
	nw_clock_encode(&doc, &t);
	CHECK_INT(control_take_clock(
		      p, doc.data, doc.len, t.t1_wall_ns + S / 100, &offset_s, &bound_s, &why),
	    NW_OK);
	CHECK_NEAR(bound_s, 0.005, 1e-6, 0);
	CHECK_NEAR(offset_s, 1.995, 1e-6, 0);
	/* once only, and not what was never asked */
	CHECK_INT(
	    control_take_clock(p, doc.data, doc.len, t.t1_wall_ns + S, &offset_s, &bound_s, &why),
	    NW_EPROTO);
	control_tick(c, 11 * S);
	CHECK_INT(e.clocks, 2);
	t.t1_wall_ns = e.clock.t1_wall_ns + 1;
	nw_clock_encode(&doc, &t);
	CHECK_INT(
	    control_take_clock(p, doc.data, doc.len, t.t1_wall_ns + S, &offset_s, &bound_s, &why),
	    NW_EPROTO);
	nw_doc_buf_clear(&doc);
	control_leave(p);
	control_free(c);
	conf_clear(&conf);
}

/* Programs' orders have a bound for each owner, and never keep the operator from an order. */
static void
test_places(void)
{
	struct conf conf = { 0 };
	struct ear *e = calloc(1, sizeof(*e));
	struct nw_order o;
	struct control *c;
	struct control_peer *p;
	char owner[24];
	const char *why;
	int i, asked = 0, given = 0;

	conf_init(&conf);
	c = control_new(NULL, &conf);
	p = join(c, e, "dtn-a", "192.0.2.1", NULL, "start stop rate", true);
	for (i = 0; i < 200; i++) {
		o = (struct nw_order){ .opt = NW_OPT_START, .event_type = "ps:cpu" };
		o.collection_ns = S;
		snprintf(owner, sizeof(owner), "host:h%d", i / 20);
		asked += control_order(c, owner, "dtn-a", &o, 600 * S, 0, &why) == NW_OK;
		e->n = 0;
	}
	CHECK_INT(asked, 77); /* 8 each of 8 owners; the last two take places from them */
	for (i = 0; i < 20; i++) {
		o = (struct nw_order){ .opt = NW_OPT_START, .event_type = "ps:cpu" };
		o.collection_ns = S;
		given += control_order(c, CONTROL_OPERATOR, "dtn-a", &o, 600 * S, 0, &why) == NW_OK;
		CHECK(e->n >= 2 && e->orders[0].opt == NW_OPT_STOP); /* of a program's order */
		e->n = 0;
	}
	CHECK_INT(given, 20);
	control_leave(p);
	control_free(c);
	conf_clear(&conf);
	free(e);
}

int
main(void)
{
	test_rule();
	test_rule_kernel();
	test_hand();
	test_places();
	test_answers();
	return check_done("control");
}
