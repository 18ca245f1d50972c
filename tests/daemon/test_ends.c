/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ends of a connection become one session where an agent is at an end; other pairs do not. */
#include "daemon/ends.h"

#include "narrows/clock.h"
#include "tests/daemon/boxed.h"

static struct ends *ends;

/* An end: session, sender, the sender's address, agent or not, own address, other address. */
struct end_case {
	const char *task, *owner, *address;
	bool is_agent;
	const char *src;
	unsigned sport;
	const char *dst;
	unsigned dport;
};

static struct session *
note(const struct end_case *c)
{
	const struct session_guest guest = { .owner = c->owner, .address = c->address };
	const struct ends_sender sender = { &guest, c->is_agent };
	struct nw_subject subject = { 0 };
	struct session *s = session_join(&box, c->task, &guest);

	subject.src = c->src;
	subject.dst = c->dst;
	subject.sport = c->sport;
	subject.dport = c->dport;
	session_take_part(s, &guest);
	session_name_address(s, &guest, c->src);
	session_name_address(s, &guest, c->dst);
	ends_note(ends, s, &sender, &subject);
	return session_now(s);
}

/* Whether the two sessions become one, and whether the first session stays. */
static bool
joins(const struct end_case *a, const struct end_case *b, bool *first_stays)
{
	struct session *s = note(a), *t = note(b);
	bool one;

	*first_stays = s->merged_into == NULL;
	s = session_now(s);
	one = s == t;
	session_release(s);
	session_release(t);
	return one;
}

#define A(task, agent)                                                               \
	{                                                                            \
		task, "host:a", "10.0.0.1", agent, "10.0.0.1", 4000, "10.0.0.2", 873 \
	}
#define B(task, agent)                                                               \
	{                                                                            \
		task, "host:b", "10.0.0.2", agent, "10.0.0.2", 873, "10.0.0.1", 4000 \
	}

static void
test_who_joins(void)
{
	static const struct {
		struct end_case a, b;
		bool one, first_stays;
	} cases[] = {
		{ A("a1", true), B("b1", true), true, true },
		{ A("a2", true), B("b2", false), true, false },
		{ A("a3", false), B("b3", true), true, true },
		{ A("a4", false), B("b4", false), false, true }, /* two tasks of people */
		/* not the other end: another port, the same end, the same sender */
		{ A("a5", true),
		    { "b5", "host:b", "10.0.0.2", true, "10.0.0.2", 874, "10.0.0.1", 4000 }, false,
		    true },
		{ A("a6", true),
		    { "b6", "host:b", "10.0.0.1", true, "10.0.0.1", 4000, "10.0.0.2", 873 }, false,
		    true },
		{ A("a7", true),
		    { "b7", "host:a", "10.0.0.2", true, "10.0.0.2", 873, "10.0.0.1", 4000 }, false,
		    true },
		/* a third host says that it is the other end; the box's own host may */
		{ A("a8", true),
		    { "b8", "host:c", "10.0.0.3", true, "10.0.0.2", 873, "10.0.0.1", 4000 }, false,
		    true },
		{ A("a9", true),
		    { "b9", "user:0", "127.0.0.1", true, "10.0.0.2", 873, "10.0.0.1", 4000 }, true,
		    true },
		/* without a whole connection */
		{ A("a10", true),
		    { "b10", "host:b", "10.0.0.2", true, "10.0.0.2", 0, "10.0.0.1", 4000 }, false,
		    true },
		{ A("a11", true), { "b11", "host:b", "10.0.0.2", true, NULL, 1, NULL, 2 }, false,
		    true },
	};
	bool first_stays;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(joins(&cases[i].a, &cases[i].b, &first_stays) == cases[i].one);
		CHECK(first_stays == cases[i].first_stays);
		ends_free(ends);
		ends = ends_new();
	}
}

/* A connection with the addresses and ports of one that was over long ago is another. */
static void
test_late(void)
{
	static const struct end_case a = A("late a", true), b = B("late b", true);
	struct session *s = note(&a), *t;

	s->state = SESSION_CLOSED;
	s->closed_wall_ns = nw_wall_ns() - 3600 * INT64_C(1000000000);
	t = note(&b);
	CHECK(s != t && s->merged_into == NULL && t->merged_into == NULL);
	session_release(s);
	session_release(t);
	ends_free(ends);
	ends = ends_new();
}

/* The table has an end; the oldest are forgotten, and nothing of them is used. */
static void
test_many(void)
{
	struct end_case c = A("many", true);
	struct session *s;
	unsigned i;

	for (i = 1; i <= 5000; i++) {
		c.sport = i;
		s = note(&c);
		session_release(s);
	}
	CHECK(s->refs < 5000);
}

static struct session *
announce(const char *task, unsigned dport)
{
	const struct session_guest guest = { .owner = SESSION_ANNOUNCER };
	const struct nw_subject subject = {
		.src = "10.0.0.2", .dst = "10.0.0.1", .sport = 873, .dport = (uint16_t)dport
	};
	struct session *s = ends_find(ends, &subject);

	if (s != NULL) {
		s->refs++;
		return s;
	}
	s = session_join(&box, task, &guest);
	session_take_part(s, &guest);
	session_announced(s, true);
	ends_announce(ends, s, &subject);
	return s;
}

/* What was announced becomes part of what is measured, whichever comes first, and holds no measured
 * session open. */
static void
test_announced(void)
{
	const struct end_case first = { "n1", "host:a", "10.0.0.1", false, "10.0.0.1", 5001,
		"10.0.0.2", 873 },
			      later = { "n2", "host:a", "10.0.0.1", true, "10.0.0.1", 5002,
				      "10.0.0.2", 873 },
			      false_end = { "n3", "host:c", "10.0.0.3", true, "10.0.0.1", 5003,
				      "10.0.0.2", 873 };
	struct session *s, *t;

	s = note(&first);
	t = announce("announced:1", 5001);
	CHECK(s == t);
	CHECK_INT(s->live, 0);
	session_announced(t, false);
	CHECK_INT(s->live, 0);
	CHECK_STR(session_get_owner(s), "host:a");

	t = announce("announced:2", 5002);
	CHECK_INT(t->live, 1);
	s = note(&later);
	CHECK(t->merged_into == s);
	CHECK_INT(s->live, 0);
	CHECK_STR(session_get_owner(s), "host:a");
	t = session_now(t);
	session_announced(t, false);
	CHECK_INT(s->live, 0);

	/* an end that is not the sender's */
	t = announce("announced:3", 5003);
	s = note(&false_end);
	CHECK(t->merged_into == NULL && s != t);
	session_announced(t, false);
	CHECK_INT(t->live, 0);
	CHECK_INT(t->state, SESSION_LINGERING);
}

int
main(void)
{
	log_open("test_ends", false, false);
	boxed_begin();
	ends = ends_new();
	test_who_joins();
	test_announced();
	test_late();
	test_many();
	ends_free(ends);
	boxed_end();
	return check_done("test_ends");
}
