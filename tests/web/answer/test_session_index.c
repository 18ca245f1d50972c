/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of sessions by the index: the same sessions in the same order as by reading them all, on
 * pages of any size, after changes of the store, too. */
#include "web/answer/session_list.h"

#include <math.h>

#include <sqlite3.h>

#include "narrows/splitmix.h"
#include "tests/filled.h"

enum { SESSIONS = 5200, BATCH = 1300 };
static const int64_t T0 = INT64_C(1780000000000000000), MINUTE_NS = INT64_C(60) * 1000000000;

static struct store *store;
static struct store_reader *reader;
static struct session_index *sessions;

static void
result_put(struct nw_batch *b, int64_t id, double rate, const char *stage)
{
	char route[40], sentence[80];
	uint64_t seed = (uint64_t)id, z = nw_splitmix(&seed);

	snprintf(route, sizeof(route), "dtn-%d -> dtn-%d", (int)(z % 4), (int)(z / 4 % 3));
	snprintf(sentence, sizeof(sentence), "Limited for %d seconds.", (int)(z / 64 % 500));
	nw_batch_result(b,
	    &(struct nw_result_rec){ .session_id = id,
		.route = route,
		.program = z / 16 % 2 ? "rsync" : NULL,
		.stage = stage,
		.sentence = sentence,
		.label = z / 1024 % 50 == 0 ? "nightly" : NULL,
		.bytes = z / 4096 % 9 == 0 ? 0 : 1e6 * (double)(1 + z / 4096 % 100),
		.bytes_per_s = rate,
		.effect = 2,
		.start_wall_ns = T0 + id * MINUTE_NS,
		.duration_ns = (int64_t)(z / 65536 % 3000) * 1000000000,
		.usual = (double)(z / 256 % 40) / 20,
		.exit_status = z / 32768 % 30 == 0 ? 1 : 0 });
}

static void
session_put(struct nw_batch *b, int64_t id, bool open)
{
	char task[32];

	snprintf(task, sizeof(task), "Task-%d", (int)id);
	nw_batch_session(b,
	    &(struct nw_session_rec){ .id = id,
		.task_id = task,
		.program = "mover",
		.opened_wall_ns = T0 + id * MINUTE_NS,
		.closed_wall_ns = open ? 0 : T0 + (id + 1) * MINUTE_NS });
}

static void
store_fill(void)
{
	static const char *const stages[] = { "network", "disk.write", NULL };
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	for (id = 1; id <= SESSIONS; id++) {
		session_put(b, id, id % 400 == 0);
		if (id % 37 != 0)
			result_put(b, id, 1e6 * (double)(id * 7919 % 5003), stages[id % 3]);
		if (id % BATCH == 0) {
			filled_commit(store, b);
			b = nw_batch_new();
		}
	}
	filled_commit(store, b);
}

/* --- what should come: all sessions, read and sorted --- */

struct expected {
	const struct session_filter *f;
	double rank[SESSIONS + 8];
	int64_t id[SESSIONS + 8];
	size_t n;
};

static double
rank_of(enum session_sort sort, const struct nw_result_rec *res)
{
	if (sort == SORT_NEWEST)
		return 0;
	if (res == NULL || !(res->bytes > 0))
		return NAN;
	return sort == SORT_SLOWEST ? -res->bytes_per_s
	    : sort == SORT_FASTEST  ? res->bytes_per_s
	    : sort == SORT_LONGEST  ? (double)res->duration_ns
				    : res->bytes;
}

static int
on_expected(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct expected *e = arg;
	double rank = rank_of(e->f->sort, res);
	size_t at;

	if (isnan(rank) || !session_filter_passes(e->f, s, res))
		return 0;
	for (at = e->n++; at > 0 && rank > e->rank[at - 1]; at--) {
		e->rank[at] = e->rank[at - 1];
		e->id[at] = e->id[at - 1];
	}
	e->rank[at] = rank;
	e->id[at] = s->id;
	return 0;
}

struct came {
	int64_t id[SESSIONS + 8];
	size_t n;
};

static int
on_came(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct came *c = arg;

	(void)res;
	c->id[c->n++] = s->id;
	return 0;
}

/* Returns how many sessions pass. */
static size_t
check_list(struct session_filter f, int64_t limit)
{
	static struct expected e;
	static struct came c;
	struct session_listed listed = { .next = 0 };
	size_t wrong = 0, i;

	e.f = &f;
	e.n = c.n = 0;
	CHECK_INT(store_sessions(reader, 0, SESSIONS + 8, on_expected, &e), NW_OK);
	f.limit = limit;
	do {
		f.before = listed.next;
		CHECK_INT(session_list(sessions, reader, &f, on_came, &c, &listed), NW_OK);
	} while (listed.next != 0 && c.n <= e.n);
	CHECK_INT(c.n, e.n);
	for (i = 0; i < c.n && i < e.n; i++)
		wrong += c.id[i] != e.id[i];
	CHECK_INT(wrong, 0);
	return e.n;
}

static void
check_all(void)
{
	static const struct session_filter cases[] = {
		{ .before = 0 },
		{ .text = "TASK-77" },
		{ .text = "for 77 " },
		{ .text = "nightly", .sort = SORT_LONGEST },
		{ .program = "mover" },
		{ .program = "rsync", .stage = "network" },
		{ .stage = "none", .sort = SORT_FASTEST },
		{ .label = "nightly" },
		{ .host = "dtn-3", .sort = SORT_SLOWEST },
		{ .route = "dtn-1 -> dtn-2", .sort = SORT_LARGEST },
		{ .state = "open" },
		{ .state = "failed", .sort = SORT_SLOWEST },
		{ .state = "slower" },
		{ .since_wall_ns = INT64_C(1780000000000000000) + INT64_C(180000000000000) },
		{ .until_wall_ns = INT64_C(1780000000000000000) + INT64_C(60000000000000),
		    .sort = SORT_FASTEST },
		{ .rate_min = 1e9, .rate_max = 3e9 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(check_list(cases[i], 0) > 0);
		CHECK(check_list(cases[i], 7 + (int64_t)i) > 0);
		CHECK(check_list(cases[i], SESSION_LIST_LIMIT_MAX) > 0);
	}
	for (i = SORT_NEWEST; i <= SORT_LARGEST; i++)
		CHECK(check_list((struct session_filter){ .sort = i }, 999) > 1000);
	CHECK_INT(check_list((struct session_filter){ .label = "nobody" }, 0), 0);
	CHECK_INT(check_list((struct session_filter){ .text = "nowhere" }, 0), 0);
}

/* An open session of long ago ends, another verdict comes for a new one, and sessions begin. */
static void
check_changes(void)
{
	struct nw_batch *b = nw_batch_new();

	session_put(b, 400, false);
	result_put(b, 400, 77e9, "network");
	result_put(b, SESSIONS - 3, 78e9, "receiver.cpu");
	session_put(b, SESSIONS + 1, true);
	session_put(b, SESSIONS + 2, false);
	result_put(b, SESSIONS + 2, 76e9, "network");
	filled_commit(store, b);
	CHECK_INT(
	    check_list((struct session_filter){ .rate_min = 7e10, .sort = SORT_FASTEST }, 2), 3);
	CHECK_INT(check_list((struct session_filter){ .stage = "receiver.cpu" }, 0), 1);
	check_all();
	/* once more for the long one: its last verdict comes after its end */
	b = nw_batch_new();
	result_put(b, 400, 79e9, "disk.read");
	filled_commit(store, b);
	CHECK_INT(check_list((struct session_filter){ .stage = "disk.read" }, 0), 1);
}

/* The store forgets sessions by another connection than the reader's. */
static void
check_forgotten(void)
{
	sqlite3 *db;

	CHECK_INT(sqlite3_open(filled_path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db,
		      "DELETE FROM result WHERE session_id IN (77, 100, 5190);"
		      "DELETE FROM session WHERE id IN (77, 100, 5190)",
		      NULL, NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(db);
	check_all();
}

int
main(void)
{
	char why[STORE_WHY_BYTES];

	store = filled_open(NULL);
	store_fill();
	CHECK_INT(store_reader_open(filled_path, &reader, why), NW_OK);
	sessions = session_index_new();
	check_all();
	check_changes();
	check_forgotten();
	session_index_free(sessions);
	sessions = NULL; /* without an index that is kept */
	CHECK_INT(check_list((struct session_filter){ .stage = "disk.read" }, 0), 1);
	store_reader_close(reader);
	store_close(store);
	filled_remove();
	return check_done("test_session_index");
}
