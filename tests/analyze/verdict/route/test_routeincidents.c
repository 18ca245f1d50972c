/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incidents of a route as objects in a store: written with the history of the route, found by
 * filters, accepted by an operator, and gone with the route. Sessions that come in another order
 * leave the same objects.
 */
#include "narrows/routehist.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/result.h"
#include "tests/filled.h"
#include "tests/noise.h"

enum { SESSIONS = 60, BEGIN = 25, END = 40 };
#define HOUR_NS (INT64_C(3600) * 1000000000)

static const char route[] = "dtn1 -> dtn2", program[] = "rsync";
static const int64_t from_wall_ns = INT64_C(1700000000000000000);
static struct store *st;
static struct store_reader *r;
static struct nw_batch *batch; /* sessions since the last commit */
static double rates[SESSIONS];

static int64_t
start_of(size_t i)
{
	return from_wall_ns + (int64_t)i * 8 * HOUR_NS;
}

/* Session i has the number i + 1. The document of a slow session names a cause. */
static void
session_put(size_t i, double rate)
{
	const bool slow = i >= BEGIN && i < END;
	struct nw_batch *b = batch;
	char json[800] = "{}";

	if (slow)
		snprintf(json, sizeof(json),
		    "{\"usual\":{\"incident\":{\"at_ns\":\"%lld\"}},\"changed\":{\"sentence\":\"by "
		    "session %zu\",\"n_named\":1,\"unexplained\":0.2,\"differences\":[{\"kind\":"
		    "\"setting\",\"name\":\"sysctl.net.ipv4.tcp_rmem\",\"weight\":0.79},{\"kind\":"
		    "\"setting\",\"name\":\"sysctl.kernel.x\",\"weight\":0.001}]}}",
		    (long long)start_of(BEGIN), i + 1);
	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = (int64_t)i + 1,
			  .opened_wall_ns = start_of(i),
			  .closed_wall_ns = start_of(i) + 1000 }),
	    NW_OK);
	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = (int64_t)i + 1,
			  .json = json,
			  .route = route,
			  .program = program,
			  .stage = slow ? "network" : "disk.write",
			  .bytes = 1e10,
			  .bytes_per_s = rate,
			  .effect = NAN,
			  .start_wall_ns = start_of(i),
			  .duration_ns = 1000,
			  .usual = NAN,
			  .exit_status = NAN }),
	    NW_OK);
}

static void
history_make(void)
{
	struct nw_batch *b = nw_batch_new();
	struct nw_route_rec rec;

	filled_commit(st, batch);
	batch = nw_batch_new();
	CHECK_INT(routehist_make(r, route, program, nw_wall_ns(), &rec), NW_OK);
	CHECK_INT(nw_batch_route(b, &rec), NW_OK);
	filled_commit(st, b);
	routehist_clear(&rec);
}

static int
on_incident(void *arg, const struct nw_incident_rec *rec)
{
	json_t *list = arg;
	json_t *o = json_loads(rec->json, 0, NULL);

	CHECK_STR(rec->route, route);
	CHECK_STR(rec->program, program);
	CHECK_STR(rec->state, result_text(o, KEY_incident_state));
	CHECK_INT(rec->session_id, (int64_t)result_number(o, KEY_incident_session));
	json_array_append_new(list, o);
	return 0;
}

static json_t *
incidents(struct nw_incident_select s)
{
	json_t *list = json_array();

	s.limit = s.limit > 0 ? s.limit : 100;
	CHECK_INT(store_incidents(r, &s, on_incident, list), NW_OK);
	return list;
}

static void
count_check(struct nw_incident_select s, size_t n)
{
	json_t *list = incidents(s);

	CHECK_INT(json_array_size(list), n);
	json_decref(list);
}

static void
open_check(uint64_t wanted)
{
	uint64_t n;

	CHECK_INT(store_incidents_open(r, &n), NW_OK);
	CHECK_INT(n, wanted);
}

static void
object_is_whole(void)
{
	json_t *list = incidents((struct nw_incident_select){ .state = "open" });
	const json_t *o = json_array_get(list, 0), *cause;

	CHECK_INT(json_array_size(list), 1);
	CHECK_INT((int)result_number(o, KEY_incident_session), BEGIN + 1);
	CHECK_STR(result_text(o, KEY_incident_page), "/incident/26");
	CHECK_STR(result_text(o, KEY_incident_route), route);
	CHECK_STR(result_text(o, KEY_incident_program), program);
	CHECK_STR(result_text(o, KEY_incident_stage_before), "disk.write");
	CHECK_STR(result_text(o, KEY_incident_stage_since), "network");
	CHECK_STR(result_text(o, KEY_incident_cause), "by session 35");
	CHECK_INT((int)result_number(o, KEY_incident_causes_session), 35);
	CHECK_INT((int)result_number(o, KEY_incident_n_named), 1);
	CHECK_NEAR(result_number(o, KEY_incident_unexplained), 0.2, 1e-9, 0);
	CHECK_INT(json_array_size(result_list(o, KEY_incident_causes)), 1);
	cause = json_array_get(result_list(o, KEY_incident_causes), 0);
	CHECK_STR(result_text(cause, KEY_difference_name), "sysctl.net.ipv4.tcp_rmem");
	CHECK(result_text(o, KEY_incident_accepted) == NULL);
	json_decref(list);
}

static void
filters_hold(void)
{
	count_check((struct nw_incident_select){ .route = route }, 1);
	count_check((struct nw_incident_select){ .route = "dtn1 -> dtn3" }, 0);
	count_check((struct nw_incident_select){ .program = "cp" }, 0);
	count_check((struct nw_incident_select){ .state = "ended" }, 0);
	count_check((struct nw_incident_select){ .session_id = BEGIN + 1 }, 1);
	count_check((struct nw_incident_select){ .session_id = BEGIN + 2 }, 0);
	count_check((struct nw_incident_select){ .since_wall_ns = start_of(SESSIONS) }, 1);
	count_check((struct nw_incident_select){ .before_wall_ns = start_of(BEGIN) }, 0);
	count_check((struct nw_incident_select){ .before_wall_ns = start_of(BEGIN) + 1 }, 1);
	open_check(1);
}

static void
rates_make(void)
{
	size_t i;

	for (i = 0; i < SESSIONS; i++)
		rates[i] = 1e8 * exp(0.08 * noise_normal()) / (i >= BEGIN && i < END ? 2 : 1);
}

/* In order, with a look after each session, as the box does. */
static void
incident_lives(void)
{
	size_t i;

	for (i = 0; i < 35; i++) {
		session_put(i, rates[i]);
		if (i >= 24)
			history_make();
	}
	object_is_whole();
	filters_hold();
	for (; i < SESSIONS; i++) {
		session_put(i, rates[i]);
		if (i < END + 5 || i + 1 == SESSIONS)
			history_make();
	}
	open_check(0);
	count_check((struct nw_incident_select){ 0 }, 1);
	count_check((struct nw_incident_select){ .state = "open" }, 0);
	count_check((struct nw_incident_select){ .since_wall_ns = start_of(END) + 1 }, 0);
	count_check((struct nw_incident_select){ .since_wall_ns = start_of(END) }, 1);
}

static void
route_forget(void)
{
	struct nw_batch *b = nw_batch_new();

	CHECK_INT(
	    nw_batch_route(b, &(struct nw_route_rec){ .route = route, .program = program }), NW_OK);
	filled_commit(st, b);
	count_check((struct nw_incident_select){ 0 }, 0);
}

/* Late sessions, and sessions judged anew, leave the same objects. */
static void
order_does_not_matter(void)
{
	json_t *want = incidents((struct nw_incident_select){ 0 }), *got;
	size_t order[SESSIONS], i, k, swap;

	route_forget();
	for (i = 0; i < SESSIONS; i++)
		order[i] = i;
	for (i = SESSIONS - 1; i > 0; i--) {
		k = noise_bits() % (i + 1);
		swap = order[i];
		order[i] = order[k];
		order[k] = swap;
	}
	for (i = 0; i < SESSIONS; i++)
		session_put(order[i], 1e7); /* a first judgement, on a part of the data */
	history_make();
	for (i = 0; i < SESSIONS; i++) {
		session_put(order[i], rates[order[i]]);
		if (i % 10 == 0 || i + 1 == SESSIONS)
			history_make();
	}
	got = incidents((struct nw_incident_select){ 0 });
	CHECK_INT(json_array_size(want), 1);
	CHECK(json_equal(got, want));
	json_decref(got);
	json_decref(want);
}

/* What the box does to the oldest sessions when the store is full. */
static void
sessions_forget(int64_t to_id)
{
	char sql[200];
	sqlite3 *db;

	snprintf(sql, sizeof(sql),
	    "PRAGMA busy_timeout = 9000; DELETE FROM result WHERE session_id <= %lld;"
	    " DELETE FROM session WHERE id <= %lld",
	    (long long)to_id, (long long)to_id);
	CHECK_INT(sqlite3_open(filled_path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int
on_usual(void *arg, const struct nw_route_rec *rec)
{
	*(double *)arg = rec->bytes_per_s;
	return 1;
}

/* Sessions before the incident expire, then those of the incident: object and level stay. */
static void
sessions_expire(void)
{
	static const int64_t gone[] = { 10, 20, 24, 30, END, END + 5 };
	json_t *want = incidents((struct nw_incident_select){ 0 }), *got;
	double usual;
	size_t i;

	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		sessions_forget(gone[i]);
		history_make();
		got = incidents((struct nw_incident_select){ 0 });
		CHECK(json_equal(got, want));
		json_decref(got);
		CHECK_INT(store_route_get(r, route, program, on_usual, &usual), NW_OK);
		CHECK(usual > 0.85e8 && usual < 1.15e8);
	}
	json_decref(want);
	for (i = 0; i < END + 5; i++)
		session_put(i, rates[i]);
	history_make();
}

/* The sessions before an open incident expire, then its own but the newest: the incident stays as
 * it was, and ends where it would have ended. */
static void
open_incident_outlives_its_sessions(void)
{
	static const int64_t gone[] = { 10, 24, 27, 34 };
	json_t *want, *got;
	size_t i;

	route_forget();
	sessions_forget(SESSIONS);
	for (i = 0; i < 35; i++)
		session_put(i, rates[i]);
	history_make();
	want = incidents((struct nw_incident_select){ .state = "open" });
	CHECK_INT(json_array_size(want), 1);
	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		sessions_forget(gone[i]);
		history_make();
		got = incidents((struct nw_incident_select){ .state = "open" });
		CHECK(json_equal(got, want));
		json_decref(got);
	}
	json_decref(want);
	for (i = 35; i < SESSIONS; i++) {
		session_put(i, rates[i]);
		history_make();
	}
	got = incidents((struct nw_incident_select){ 0 });
	CHECK_INT(json_array_size(got), 1);
	CHECK_STR(result_text(json_array_get(got, 0), KEY_incident_state), "ended");
	CHECK_INT((int)result_number(json_array_get(got, 0), KEY_incident_session), BEGIN + 1);
	CHECK_INT((int)result_number(json_array_get(got, 0), KEY_incident_end_session), END + 1);
	json_decref(got);
	route_forget();
	for (i = 0; i < SESSIONS; i++)
		session_put(i, rates[i]);
	history_make();
}

static int
on_stale(void *arg, const struct nw_route_rec *rec)
{
	CHECK_STR(rec->route, route);
	CHECK_STR(rec->program, program);
	++*(size_t *)arg;
	return 0;
}

static void
stale_check(size_t wanted)
{
	size_t n = 0;

	CHECK_INT(store_routes_stale(r, 10, on_stale, &n), NW_OK);
	CHECK_INT(n, wanted);
}

/* The slow sessions begin anew at the end of the history, and an operator accepts them. */
static void
operator_accepts(void)
{
	char why[STORE_WHY_BYTES], text[STORE_ACCEPTANCE_BYTES + 2];
	struct nw_acceptance_rec a = { .route = route,
		.program = program,
		.session_id = SESSIONS - 5,
		.t_wall_ns = nw_wall_ns(),
		.who = "ann",
		.why = "the new link is slower" };
	json_t *list;
	const json_t *o;
	size_t i;

	CHECK_INT(store_acceptance_add(filled_path, &a, why), NW_ENOTFOUND);
	for (i = SESSIONS - 6; i < SESSIONS; i++)
		session_put(i, rates[i] / 3);
	history_make();
	open_check(1);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	a.why = text;
	CHECK_INT(store_acceptance_add(filled_path, &a, why), NW_ETOOBIG);
	a.why = "the new link is slower";
	stale_check(0);
	a.t_wall_ns = nw_wall_ns();
	CHECK_INT(store_acceptance_add(filled_path, &a, why), NW_OK);
	stale_check(1);
	history_make();
	stale_check(0);
	open_check(0);
	CHECK_INT(store_acceptance_add(filled_path, &a, why), NW_ENOTFOUND);
	list = incidents((struct nw_incident_select){ .limit = 1 });
	o = json_array_get(list, 0);
	CHECK_STR(result_text(o, KEY_incident_state), "accepted");
	CHECK_STR(result_text(o, KEY_incident_accepted_by), "ann");
	CHECK_STR(result_text(o, KEY_incident_accepted_why), "the new link is slower");
	CHECK(result_text(o, KEY_incident_accepted) != NULL);
	json_decref(list);
}

/* Routes with more sessions displace the route. */
static void
route_takes_its_incidents(void)
{
	struct nw_batch *b = nw_batch_new();
	char name[32];
	int i;

	count_check((struct nw_incident_select){ .route = route }, 2);
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "a -> b%d", i);
		CHECK_INT(nw_batch_route(b,
			      &(struct nw_route_rec){
				  .route = name, .program = "cp", .n_sessions = 1000 }),
		    NW_OK);
	}
	filled_commit(st, b);
	count_check((struct nw_incident_select){ .route = route }, 0);
	stale_check(0);
}

int
main(int argc, char **argv)
{
	char why[STORE_WHY_BYTES];

	noise_seed(argc, argv, 29);
	st = filled_open(NULL);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	batch = nw_batch_new();
	rates_make();
	incident_lives();
	order_does_not_matter();
	sessions_expire();
	open_incident_outlives_its_sessions();
	operator_accepts();
	route_takes_its_incidents();
	nw_batch_free(batch);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("routeincidents");
}
