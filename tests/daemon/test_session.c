/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: the states of one, two that become one, and what a restarted box remembers. */
#include "tests/daemon/wired.h"

#define LINGER_PASSES_US 20000

static void
test_states(void)
{
	struct session *s = session_join(&box, "a task");
	int64_t id = s->id;

	boxed_conf.session_linger_ns = 1000000;
	CHECK_INT(s->state, SESSION_OPEN);
	session_attach(s);
	session_attach(s);
	session_detach(s);
	CHECK_INT(s->state, SESSION_OPEN);
	session_detach(s);
	CHECK_INT(s->state, SESSION_LINGERING);
	session_attach(s); /* comes back within the linger */
	CHECK_INT(s->state, SESSION_OPEN);
	session_detach(s);
	usleep(LINGER_PASSES_US);
	boxed_run();
	CHECK(s->state == SESSION_CLOSED && s->closed_wall_ns != 0);
	wired_store();
	CHECK_INT(boxed_judged, 1);
	session_release(s);
	s = session_join(&box, "a task");
	CHECK(s->id == id && s->state == SESSION_OPEN);
	session_end(s); /* the transfer is over: nobody is attached, and it lingers */
	CHECK_INT(s->state, SESSION_LINGERING);
	session_release(s);
}

static void
test_merge(void)
{
	struct session *from = session_join(&box, "from"), *into = session_join(&box, "into");

	session_attach(from);
	from->opened_wall_ns = 5;
	session_name(from, "cp");
	session_merge(from, into);
	CHECK(session_now(from) == into);
	CHECK(into->live == 1 && into->opened_wall_ns == 5 && into->refs == 3);
	CHECK_STR(into->program, "cp");
	from = session_join(&box, "from"); /* by its old key */
	CHECK(from == into);
	session_detach(into);
	while (into->refs > 1)
		session_release(into);
}

static void
test_restore(void)
{
	struct session *s;

	session_restore(&box, 1000, "was open", NULL, 1, 0, 2);
	session_restore(&box, 1001, "was closed", "dd", 1, 3, 2);
	session_restore(&box, 1002, NULL, NULL, 1, 3, 2);
	CHECK((s = session_find(&box, "was open")) != NULL && s->state == SESSION_LINGERING);
	session_release(s);
	CHECK((s = session_find(&box, "was closed")) != NULL && s->state == SESSION_CLOSED &&
	    s->id == 1001);
	session_release(s);
	CHECK(session_find(&box, "never was") == NULL);
}

/* An open session is analysed once an interval while rows come, and not otherwise. */
static void
test_tick(void)
{
	struct session *s = session_join(&box, "ticks");

	boxed_conf.analysis_interval_ns = 10;
	session_attach(s);
	session_touch(s, 1);
	session_tick(&box, 100);
	CHECK(s->fresh && s->analysed_mono_ns == 100);
	session_tick(&box, 105);
	CHECK(s->fresh);
	session_tick(&box, 111);
	CHECK(!s->fresh && s->analysed_mono_ns == 111);
	session_tick(&box, 200);
	CHECK_INT(s->analysed_mono_ns, 111);
	session_detach(s);
	session_release(s);
}

int
main(void)
{
	log_open("test_session", false, false);
	boxed_begin();
	test_states();
	test_merge();
	test_restore();
	test_tick();
	boxed_end();
	return check_done("test_session");
}
