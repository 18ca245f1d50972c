/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: the states of one, two that become one, and what a restarted box remembers. */
#include "narrows/task.h"
#include "tests/daemon/wired.h"

#define LINGER_PASSES_US 20000

static const struct session_guest guest = { .owner = "host:a", .address = "192.0.2.1" };
static const struct session_guest stranger = { .owner = "host:b", .address = "192.0.2.2" };

static void
test_states(void)
{
	struct session *s = session_join(&box, "a task", &guest);
	int64_t id = s->id;

	boxed_conf.session_linger_ns = 1000000;
	CHECK_INT(s->state, SESSION_OPEN);
	session_take_part(s, &guest);
	session_attach(s, guest.owner);
	session_attach(s, guest.owner);
	session_detach(s);
	CHECK_INT(s->state, SESSION_OPEN);
	session_detach(s);
	CHECK_INT(s->state, SESSION_LINGERING);
	session_attach(s, guest.owner); /* comes back within the linger */
	CHECK_INT(s->state, SESSION_OPEN);
	session_detach(s);
	usleep(LINGER_PASSES_US);
	boxed_run();
	CHECK(s->state == SESSION_CLOSED && s->closed_wall_ns != 0);
	wired_store();
	CHECK_INT(boxed_judged, 1);
	session_release(s);
	s = session_join(&box, "a task", &guest);
	CHECK(s->id == id && s->state == SESSION_OPEN);
	session_end(s); /* the transfer is over: nobody is attached, and it lingers */
	CHECK_INT(s->state, SESSION_LINGERING);
	session_release(s);
}

static void
test_merge(void)
{
	struct session *from = session_join(&box, "from", &guest),
		       *into = session_join(&box, "into", &guest);

	session_attach(from, guest.owner);
	from->opened_wall_ns = 5;
	session_name(from, "cp");
	session_merge(from, into);
	CHECK(session_now(from) == into);
	CHECK(into->live == 1 && into->opened_wall_ns == 5 && into->refs == 3);
	CHECK_STR(into->program, "cp");
	from = session_join(&box, "from", &guest); /* by its old key */
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
	session_take_part(session_restore(&box, 1001, "was closed", "dd", 1, 3, 2), &guest);
	session_restore(&box, 1002, NULL, NULL, 1, 3, 2);
	CHECK(
	    (s = session_find(&box, "was open", &guest)) != NULL && s->state == SESSION_LINGERING);
	session_release(s);
	CHECK((s = session_find(&box, "was closed", &guest)) != NULL &&
	    s->state == SESSION_CLOSED && s->id == 1001);
	session_release(s);
	CHECK(session_find(&box, "was closed", &stranger) == NULL);
	CHECK(session_find(&box, "never was", &guest) == NULL);
}

/* An open session is analysed once an interval while rows come, and not otherwise. */
static void
test_tick(void)
{
	struct session *s = session_join(&box, "ticks", &guest);

	boxed_conf.analysis_interval_ns = 10;
	session_attach(s, guest.owner);
	session_touch(s, guest.owner, 1);
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

/* A closed session of host:a under this task; not released. */
static struct session *
closed_session(const char *task_id)
{
	struct session *s = session_join(&box, task_id, &guest);

	boxed_conf.session_linger_ns = 0;
	session_take_part(s, &guest);
	session_attach(s, guest.owner);
	session_detach(s);
	usleep(1000);
	boxed_run();
	CHECK_INT(s->state, SESSION_CLOSED);
	return s;
}

/* A stranger that knows only the label of a closed session begins a session of its own. */
static void
test_closed_is_closed(void)
{
	struct session *first = closed_session("public"), *other;

	CHECK(session_find(&box, "public", &stranger) == NULL);
	other = session_join(&box, "public", &stranger);
	CHECK(other != first && first->state == SESSION_CLOSED);
	CHECK_STR(other->label, first->label);
	session_take_part(other, &stranger);
	/* the host of the closed session still gets its own, and a third gets what is open */
	CHECK(session_join(&box, "public", &guest) == first && first->state == SESSION_OPEN);
	CHECK(session_find(&box, "public",
		  &(struct session_guest){ .owner = "host:c", .address = "192.0.2.3" }) == other);
	session_end(first);
	session_end(other);
	usleep(1000);
	boxed_run();
	/* a stranger that names the host's address does not draw the host into another session */
	session_name_address(other, &stranger, guest.address);
	CHECK(session_find(&box, "public", &guest) == first);
	CHECK(session_find(&box, "public",
		  &(struct session_guest){ .owner = "host:d", .address = guest.address }) == other);
}

/* Two open sessions become one when each names the other's address; a closed one never. */
static void
test_named_later(void)
{
	struct session *first = closed_session("ftp"), *other;

	other = session_join(&box, "ftp", &stranger);
	session_take_part(other, &stranger);
	CHECK(other != first);
	session_name_address(first, &guest, stranger.address);
	session_name_address(other, &stranger, guest.address); /* both, and one is closed */
	CHECK(session_now(other) == other && first->merged_into == NULL);
	session_end(other);
	usleep(1000);
	boxed_run();
}

static void
test_named_both(void)
{
	struct session *first = closed_session("both"), *other;

	other = session_join(&box, "both", &stranger);
	session_take_part(other, &stranger);
	CHECK(session_join(&box, "both", &guest) == first && first->state == SESSION_OPEN);
	session_name_address(first, &guest, "127.0.0.1"); /* everybody's */
	session_name_address(other, &stranger, "127.0.0.1");
	session_name_address(first, &guest, "b"); /* the name in its certificate */
	session_name_address(other, &stranger, "a");
	session_name_address(other, &stranger, guest.address);
	CHECK(session_now(other) == other); /* one of the two names the other */
	session_name_address(first, &guest, stranger.address);
	CHECK(session_now(other) == first);
	session_end(first);
}

static void
test_secret(void)
{
	static const char uuid[] = "01234567-89ab-4cde-8f01-23456789abcd";
	struct session *first = closed_session(uuid), *posed;
	char text[] = "x 01234567-89ab-4cde-8f01-23456789abcd y";

	CHECK(strncmp(first->label, "task-", 5) == 0 && strlen(first->label) == strlen(uuid));
	CHECK(strstr(first->label, "0123") == NULL);
	/* the label is public, and does not open the session */
	posed = session_join(&box, first->label, &stranger);
	CHECK(posed != first && strcmp(posed->label, first->label) != 0);
	CHECK(session_join(&box, uuid, &stranger) == first && first->state == SESSION_OPEN);
	task_mask(uuid, text, strlen(text));
	CHECK(strstr(text, "0123") == NULL && strstr(text, first->label) == text + 2);
	session_end(first);
	session_end(posed);
	usleep(1000);
	boxed_run();
}

/* A verdict of the session, by a run of this number. */
static void
verdict_write(const struct session *s, int64_t run_id)
{
	const struct nw_run_rec run = { .id = run_id, .session_id = s->id, .kind = "session" };
	const struct nw_result_rec result = { .session_id = s->id,
		.run_id = run_id,
		.stage = "network",
		.sentence = "The network was it.",
		.json = "{}" };

	CHECK_INT(nw_batch_run(commit_batch(box.commit), &run), NW_OK);
	CHECK_INT(nw_batch_result(commit_batch(box.commit), &result), NW_OK);
	wired_store();
}

/* Rows of a series that began while the session was open come after the session's end, and nobody
 * is attached: the session opens again, its verdict is kept, and the session ends by itself. */
static void
test_late_rows(void)
{
	struct session *s = closed_session("late rows");

	verdict_write(s, 1);
	session_touch(s, "host:late", 7);
	CHECK(s->state == SESSION_LINGERING && s->fresh);
	wired_store();
	CHECK_INT(sqlcount(boxed_path,
		      "SELECT count(*) FROM run WHERE id = 1 AND replaced_ns > 0 AND why ="
		      " 'host:late added to the session after its end' AND stage ="
		      " 'network'"),
	    1);
	usleep(1000);
	boxed_run();
	CHECK_INT(s->state, SESSION_CLOSED);
	session_attach(s, guest.owner);
	CHECK_INT(s->state, SESSION_OPEN);
	session_detach(s);
	usleep(1000);
	boxed_run();
}

/* A closed session turns out to be part of an open one: its verdict stays there. */
static void
test_merge_closed(void)
{
	struct session *from = closed_session("half"), *into = session_join(&box, "rest", &guest);
	char sql[160];

	verdict_write(from, 2);
	session_merge(from, into);
	wired_store();
	snprintf(sql, sizeof(sql),
	    "SELECT count(*) FROM run WHERE id = 2 AND replaced_ns > 0 AND session_id = %lld AND"
	    " why LIKE 'session %% turned out to be the same transfer'",
	    (long long)into->id);
	CHECK_INT(sqlcount(boxed_path, sql), 1);
	session_end(into);
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
	test_closed_is_closed();
	test_named_later();
	test_named_both();
	test_secret();
	test_late_rows();
	test_merge_closed();
	boxed_end();
	return check_done("test_session");
}
