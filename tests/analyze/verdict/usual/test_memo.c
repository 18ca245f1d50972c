/* SPDX-License-Identifier: BSD-3-Clause */
/* The memo of documents: the parts are those of the document, and of the newest one. */
#include "analyze/verdict/usual/memo.h"

#include "narrows/result.h"
#include "tests/filled.h"

enum { SESSIONS = 700 }; /* more than a memo keeps */

static struct store *st;
static struct store_reader *r;

static void
result_put(struct nw_batch *b, int64_t id, double bytes)
{
	char json[512];

	snprintf(json, sizeof(json),
	    "{\"session\":{\"bytes\":%.1f,\"files\":[\"a\",\"b\"],\"connections\":[]},"
	    "\"timeline\":{\"hosts\":[{\"host\":\"h\",\"cpu_busy\":[0.25,null,0.75],"
	    "\"disk_busy\":[null]}]},\"density\":[{\"op\":\"read\",\"host\":\"h\","
	    "\"counts\":[1,%.1f],\"curve\":[1,2]}]}",
	    bytes, bytes + 1);
	CHECK_INT(
	    nw_batch_session(b, &(struct nw_session_rec){ .id = id, .closed_wall_ns = 1 }), 0);
	CHECK_INT(nw_batch_run(b,
		      &(struct nw_run_rec){
			  .id = id, .session_id = id, .kind = "verdict", .outcome = "ok" }),
	    0);
	CHECK_INT(nw_batch_result(
		      b, &(struct nw_result_rec){ .session_id = id, .run_id = id, .json = json }),
	    0);
}

static void
check_parts(struct analysis_memo *m, int64_t id, double bytes)
{
	const json_t *session, *host, *density;
	json_t *doc = NULL, *plain = NULL;

	CHECK_INT(memo_document(r, m, id, &doc), NW_OK);
	CHECK_INT(memo_document(r, NULL, id, &plain), NW_OK);
	CHECK(doc != NULL && json_equal(doc, plain));
	session = result_get(doc, KEY_result_session);
	CHECK_NEAR(result_number(session, KEY_session_bytes), bytes, 0, 0);
	CHECK_INT(json_array_size(result_list(session, KEY_session_files)), 2);
	host = json_array_get(
	    result_list(result_get(doc, KEY_result_timeline), KEY_timeline_hosts), 0);
	CHECK_STR(result_text(host, KEY_timeline_host_host), "h");
	CHECK_NEAR(memo_mean(result_list(host, KEY_timeline_host_cpu_busy)), 0.5, 0, 0);
	CHECK(isnan(memo_mean(result_list(host, KEY_timeline_host_disk_busy))));
	density = json_array_get(result_list(doc, KEY_result_density), 0);
	CHECK_NEAR(json_number_value(json_array_get(result_list(density, KEY_density_counts), 1)),
	    bytes + 1, 0, 0);
	json_decref(doc);
	json_decref(plain);
}

int
main(void)
{
	struct analysis_memo *m = memo_new();
	struct nw_batch *b = nw_batch_new();
	char why[STORE_WHY_BYTES];
	json_t *doc;
	int64_t id;

	st = filled_open(NULL);
	for (id = 1; id <= SESSIONS; id++)
		result_put(b, id, (double)id);
	filled_commit(st, b);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	for (id = 1; id <= SESSIONS; id++)
		check_parts(m, id, (double)id);
	check_parts(m, 1, 1);
	check_parts(m, SESSIONS, SESSIONS);
	/* the same run writes another document of the same length */
	b = nw_batch_new();
	result_put(b, SESSIONS, 900);
	filled_commit(st, b);
	check_parts(m, SESSIONS, 900);
	CHECK_INT(memo_document(r, m, SESSIONS + 1, &doc), NW_ENOTFOUND);
	CHECK(doc == NULL);
	memo_free(m);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("memo");
}
