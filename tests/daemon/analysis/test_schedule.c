/* SPDX-License-Identifier: BSD-3-Clause */
/* The analysis thread: who is over is judged, who is open is looked at and stays one run, and
 * stopping does not wait. */
#include "daemon/analysis/schedule.h"

#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/sqlcount.h"
#include "tests/transfer.h"

enum { AT_START = 3 }; /* sessions of the store without a verdict */

static char dir[] = "/dev/shm/nw-schedule-XXXXXX", path[64], why[STORE_WHY_BYTES];

static void
even_row(void *arg, int window, struct transfer_row *out)
{
	(void)window;
	out->bytes = 65536 * 100;
	out->count = 100;
	out->rate = 65536 * 1e3;
	out->busy = *(double *)arg;
}

static struct store *
store_make(void)
{
	double slow = 0.9, fast = 0.05;
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	int64_t id;

	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	for (id = 1; id <= 3; id++) {
		transfer_session(b, id, 20);
		transfer_stage(b, 10 * id + 1, id, 1, "read", "disk", 20, even_row, &slow);
		transfer_stage(b, 10 * id + 2, id, 1, "write", "network", 20, even_row, &fast);
	}
	CHECK_INT(store_submit(st, b), NW_OK);
	CHECK_INT(store_sync(st), NW_OK);
	return st;
}

static void
runs_await(struct schedule *s, uint64_t n)
{
	struct schedule_stats stats;
	int i;

	for (i = 0; i < 1000 * check_patience(); i++) {
		schedule_get_stats(s, &stats);
		if (stats.runs >= n)
			break;
		usleep(10000);
	}
	CHECK_INT(stats.runs, n);
	CHECK_INT(stats.failures, 0);
}

static int
on_result(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *result)
{
	(void)rec;
	CHECK(result != NULL && result->run_id == 10);
	CHECK(result != NULL && strstr(result->json, "host:b added to the session") != NULL);
	*(bool *)arg = true;
	return 0;
}

/* The session's document tells of the verdict before. */
static void
check_before(int64_t session_id)
{
	struct store_reader *r;
	bool seen = false;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_session_get(r, session_id, on_result, &seen), NW_OK);
	CHECK(seen);
	store_reader_close(r);
}

/* Looks at an open session share a run; each complete session has one verdict. */
static void
test_runs(struct schedule *s, struct store *st)
{
	int i;

	runs_await(s, AT_START); /* closed sessions without a result are judged at the start */
	CHECK_INT(store_sync(st), NW_OK);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM result"), AT_START);

	for (i = 1; i <= 3; i++) { /* looked at three times, each stored before the next */
		schedule_push(s, 1, "host:a", false);
		runs_await(s, AT_START + (uint64_t)i);
		CHECK_INT(store_sync(st), NW_OK);
	}
	schedule_push(s, 2, "host:a", true);
	runs_await(s, AT_START + 4);
	schedule_push(s, 2, "host:a", true); /* perhaps before the first is stored */
	runs_await(s, AT_START + 5);
	schedule_push(s, 1, "host:a", true);
	runs_await(s, AT_START + 6);
	CHECK_INT(store_sync(st), NW_OK);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM run"), 3);
	CHECK_INT(sqlcount(path,
		      "SELECT count(*) FROM result r JOIN run n ON n.id = r.run_id AND "
		      "n.session_id = r.session_id"),
	    3);
	CHECK_INT(sqlcount(path, "SELECT min(id) FROM run"), 7);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM result WHERE stage = 'disk.read'"), 3);
}

/* Session 2 opens again after its verdict: the next verdict is a run of its own. */
static void
test_again(struct schedule *s, struct store *st)
{
	struct nw_batch *b = nw_batch_new();

	CHECK_INT(
	    nw_batch_keep_result(b, 2, 5, "host:b added to the session after its end"), NW_OK);
	CHECK_INT(store_submit(st, b), NW_OK);
	CHECK_INT(store_sync(st), NW_OK);
	schedule_push(s, 2, "host:a", true);
	runs_await(s, AT_START + 7);
	schedule_push(s, 2, "host:a", true);
	runs_await(s, AT_START + 8);
	CHECK_INT(store_sync(st), NW_OK);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM run"), 4);
	CHECK_INT(sqlcount(path,
		      "SELECT count(*) FROM run WHERE session_id = 2 AND replaced_ns = 5 AND "
		      "stage = 'disk.read' AND sentence IS NOT NULL AND document IS NOT NULL"),
	    1);
	check_before(2);
}

int
main(void)
{
	struct schedule_stats stats;
	struct schedule *s;
	struct store *st;
	char command[64];
	int i;

	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	transfer_init();
	st = store_make();
	CHECK_INT(schedule_start(st, path, &transfer_params, 7, 0, &s, why), NW_OK);
	test_runs(s, st);
	test_again(s, st);
	schedule_push(
	    s, 3, "host:a", true); /* this one is still judged, but nobody waits for looks */
	for (i = 1000; i < 3000; i++)
		schedule_push(s, i, "host:a", false);
	schedule_push(s, 1500, "host:a", true); /* no longer one of them */
	schedule_get_stats(s, &stats);
	CHECK(stats.queued <= 2001);
	schedule_stop(s);
	CHECK_INT(store_sync(st), NW_OK);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM result"), 3);
	store_close(st);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("schedule");
}
