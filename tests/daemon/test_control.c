/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's end with played time: who is told what, for how long, and who is not. */
#include "daemon/control.h"

#include <event2/buffer.h>

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
	return (struct session){ .id = id, .key = key, .state = SESSION_OPEN, .refs = 1 };
}

static const char all[] = "start stop rate status clock";

static void
test_rule(void)
{
	static struct ear a, b, c, program;
	struct nw_subject u = {
		.src = "10.0.0.1", .dst = "10.0.0.2", .sport = 5000, .dport = 6000
	};
	struct session s = session_made(7, (char *)"a task");
	struct control *ctl;
	struct control_peer *pa, *pb, *pc, *pp;
	const struct nw_order *o;
	struct conf conf;
	struct rules *r;

	conf_init(&conf);
	ctl = control_new(NULL, &conf);
	r = control_rules(ctl);
	pa = join(ctl, &a, "dtn-a", "192.0.2.1", "192.0.2.1 10.0.0.1", all, true);
	pb = join(ctl, &b, "dtn-b", "192.0.2.2", "192.0.2.2 10.0.0.2", all, true);
	pp = join(ctl, &program, "dtn-a", "192.0.2.1", NULL, "rate stop status clock", false);
	CHECK(a.n == 0 && b.n == 0 && rules_idle(r));
	CHECK(join(ctl, &c, "original", "192.0.2.9", NULL, NULL, true) == NULL);
	CHECK(join(ctl, &c, "other", "192.0.2.9", NULL, "dance", true) == NULL);

	/* the sender's host, then its connection, whose other end is dtn-b's */
	rules_host(r, &s, "dtn-a");
	CHECK((o = heard(&a, "s7")) != NULL && o->opt == NW_OPT_RATE &&
	    o->collection_ns == S / 10 && o->report_ns == S / 2 && o->lease_ns == 5 * S);
	CHECK_STR(o->event_type, "ps:");
	CHECK(b.n == 0 && program.n == 0);
	rules_connection(r, &s, "dtn-a", &u);
	CHECK((o = heard(&a, "s7/1")) != NULL && o->opt == NW_OPT_START && o->sport == 5000 &&
	    o->dport == 6000);
	CHECK_STR(o->src, "10.0.0.1");
	CHECK_STR(o->task_id, "a task");
	CHECK(heard(&b, "s7") != NULL && (o = heard(&b, "s7/1")) != NULL && o->sport == 6000 &&
	    o->dport == 5000);
	CHECK_STR(o->src, "10.0.0.2");
	CHECK_INT(program.n, 0);
	/* the receiver's word on the same connection is nothing new */
	a.n = b.n = 0;
	u = (struct nw_subject){
		.src = "10.0.0.2", .dst = "10.0.0.1", .sport = 6000, .dport = 5000
	};
	rules_host(r, &s, "dtn-b");
	a.n = b.n = 0;
	rules_connection(r, &s, "dtn-b", &u);
	CHECK(a.n == 0 && b.n == 0);
	u.sport = 0;
	rules_connection(r, &s, "dtn-b", &u);
	CHECK_INT(b.n, 0);

	/* who comes later is told at once, by its address */
	rules_host(r, &s, "198.51.100.1");
	pc = join(ctl, &c, "dtn-c", "198.51.100.1", NULL, all, true);
	CHECK(heard(&c, "s7") != NULL && heard(&c, "s7/1") != NULL);
	control_leave(pc);

	/* renewed three times a lease, as long as it is open */
	control_tick(ctl, 100 * S);
	a.n = 0;
	control_tick(ctl, 101 * S);
	CHECK_INT(a.n, 0);
	control_tick(ctl, 102 * S);
	CHECK(heard(&a, "s7") != NULL && heard(&a, "s7/1") != NULL);
	a.n = b.n = 0;
	s.state = SESSION_LINGERING;
	control_tick(ctl, 102 * S + 1);
	CHECK((o = heard(&a, "s7")) != NULL && o->opt == NW_OPT_STOP && a.n == 1 && b.n == 1);
	s.state = SESSION_OPEN; /* it goes on after all */
	control_tick(ctl, 102 * S + 2);
	CHECK((o = heard(&b, "s7")) != NULL && o->opt == NW_OPT_RATE);
	s.state = SESSION_CLOSED;
	control_tick(ctl, 103 * S);
	CHECK((o = heard(&b, "s7")) != NULL && o->opt == NW_OPT_STOP && rules_idle(r));
	CHECK_INT(s.refs, 1);
	a.n = 0;
	control_tick(ctl, 200 * S);
	CHECK_INT(a.n, 0);
	CHECK_INT(program.n, 0);

	/* a session that turns out to be part of another one */
	{
		struct session from = session_made(8, (char *)"xsp:1"),
			       into = session_made(9, (char *)"task 9");

		u = (struct nw_subject){
			.src = "10.0.0.1", .dst = "10.0.0.2", .sport = 1, .dport = 2
		};
		rules_host(r, &from, "dtn-a");
		rules_connection(r, &from, "dtn-a", &u);
		from.state = SESSION_CLOSED;
		from.merged_into = &into;
		a.n = 0;
		control_tick(ctl, 201 * S);
		CHECK((o = heard(&a, "s8")) != NULL && o->opt == NW_OPT_STOP);
		CHECK((o = heard(&a, "s9/1")) != NULL && strcmp(o->task_id, "task 9") == 0);
		CHECK_INT(from.refs, 1);
		into.state = SESSION_CLOSED;
		control_tick(ctl, 202 * S);
		CHECK_INT(into.refs, 1);
	}

	conf.escalate = false;
	s.state = SESSION_OPEN;
	a.n = 0;
	rules_host(r, &s, "dtn-a");
	CHECK(a.n == 0 && rules_idle(r));
	control_leave(pa);
	control_leave(pb);
	control_leave(pp);
	control_free(ctl);
	conf_clear(&conf);
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

int
main(void)
{
	test_rule();
	test_hand();
	test_answers();
	return check_done("control");
}
