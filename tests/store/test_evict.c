/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A full store takes room from the host that has most, the oldest data first, and keeps some of
 * every kind; it refuses nothing while anything may go. At ceilings of 16, 32 and 64 MiB.
 */
#include "store/write/evict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "narrows/err.h"
#include "store/write/writer.h"
#include "tests/check.h"
#include "tests/storefile.h"
#include "tests/verified.h"

enum { HOSTS = 4, WIDTH = 250, POINTS = 200 };
#define SECOND INT64_C(1000000000)
#define BASE   INT64_C(1795000000000000000)

static char dir[] = "/dev/shm/nw-evict-XXXXXX", why[STORE_WHY_BYTES];
static const char *names[WIDTH];

static struct writer *
open_writer(uint64_t max)
{
	struct store_opts o = store_opts_default;
	struct writer *w = NULL;
	struct nw_batch *b = nw_batch_new();
	char name[8];
	int64_t h;

	files_remove();
	o.max_bytes = max;
	o.sync_full = false;
	CHECK_INT(writer_open(path, &o, NULL, &w, why), NW_OK);
	w->c.test_wall_ns = BASE;
	for (h = 1; h <= HOSTS; h++) {
		snprintf(name, sizeof(name), "h%d", (int)h);
		nw_batch_host(b, &(struct nw_host_rec){ .id = h, .name = name });
		nw_batch_meta(b, &(struct nw_meta_rec){ .id = h, .host_id = h });
		nw_batch_layout(b, &(struct nw_layout_rec){ h, h, WIDTH, names });
	}
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	return w;
}

static int64_t
ask(struct writer *w, const char *sql, int64_t id)
{
	char text[256];
	int64_t n = -1;

	snprintf(text, sizeof(text), sql, (long long)id);
	CHECK_INT(db_int(w->c.db, text, &n), NW_OK);
	return n;
}

static uint64_t
bytes_now(void)
{
	struct stat sb;
	uint64_t n = stat(path, &sb) == 0 ? (uint64_t)sb.st_size : 0;
	char wal[80];

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return n + (stat(wal, &sb) == 0 ? (uint64_t)sb.st_size : 0);
}

/* Commits a batch and frees it; a step or more of maintenance. */
static int
commit(struct writer *w, struct nw_batch *b, int steps)
{
	int rc = writer_commit(w, b);

	nw_batch_free(b);
	while (steps-- > 0 && writer_maintain(w, steps == 0) == WRITER_MORE)
		;
	return rc;
}

/* n rows of noise, 8 * WIDTH bytes each, for a layout. */
static void
noise_put(struct nw_batch *b, int64_t layout, int64_t *t, size_t n)
{
	double v[WIDTH];
	size_t i, f;

	for (i = 0; i < n; i++) {
		*t += SECOND;
		for (f = 0; f < WIDTH; f++)
			v[f] = (double)rnd(1ull << 52);
		CHECK_INT(nw_batch_rows(b, layout, WIDTH, 1, t, v, NULL, 0), NW_OK);
	}
}

static int64_t
rows_of(struct writer *w, int64_t layout)
{
	const struct tail_layout *l = tail_find(w->mover.tail, layout);

	return ask(w, "SELECT coalesce(sum(n_rows), 0) FROM chunk WHERE layout_id = %lld", layout) +
	    (l == NULL ? 0 : (int64_t)l->n_rows);
}

/* A host stored a little; another one floods, with older times, too. */
static void
test_flood(uint64_t max)
{
	enum { KEPT = 500, AT_ONCE = 64 };
	struct writer *w = open_writer(max);
	struct nw_batch *b = nw_batch_new();
	int64_t t = BASE, t_flood = BASE - 100000 * SECOND;
	uint64_t sent = 0, most = 0;

	noise_put(b, 1, &t, KEPT);
	CHECK_INT(commit(w, b, 3), NW_OK);
	for (sent = 0; sent < 2 * max; sent += 8 * AT_ONCE * WIDTH) {
		if (sent > max && t_flood < BASE)
			t_flood = BASE + 100000 * SECOND;
		b = nw_batch_new();
		noise_put(b, 2, &t_flood, AT_ONCE);
		CHECK_INT(commit(w, b, 3), NW_OK);
		most = bytes_now() > most ? bytes_now() : most;
	}
	printf("flood of %llu MiB: %lld of %d rows of the other host, %lld of the flooder\n",
	    (unsigned long long)max >> 20, (long long)rows_of(w, 1), KEPT,
	    (long long)rows_of(w, 2));
	CHECK(most <= max);
	CHECK_INT(rows_of(w, 1), KEPT);
	CHECK((uint64_t)rows_of(w, 2) * 8 * WIDTH > max / 5);
	CHECK_INT(ask(w, "SELECT count(*) FROM rollup WHERE layout_id = %lld", 1), 0);
	CHECK(ask(w, "SELECT count(*) FROM rollup WHERE layout_id = %lld", 2) > 0);
	writer_close(w);
}

/* --- mixed load: sessions with documents --- */

/* A document of some KiB with a timeline. */
static char *
document_new(int64_t id)
{
	char *json = NULL;
	size_t len;
	FILE *f = open_memstream(&json, &len);
	int i, k;

	fprintf(f, "{\"session\":{\"id\":%lld,\"notes\":\"", (long long)id);
	for (i = 0; i < 300; i++)
		fprintf(f, "%06x", (unsigned)rnd(1 << 24));
	fputs("\"},\"timeline\":{", f);
	for (i = 0; i < 6; i++) {
		fprintf(f, "%s\"k%d\":[", i > 0 ? "," : "", i);
		for (k = 0; k < POINTS; k++)
			fprintf(f, "%s%.1f", k > 0 ? "," : "", (double)rnd(100000) / 10);
		fputs("]", f);
	}
	fputs("}}", f);
	fclose(f);
	return json;
}

/* A transfer of a host: described, measured, closed, judged. */
static int
session_put(struct writer *w, int64_t id, int64_t host, size_t n_rows)
{
	struct nw_batch *b = nw_batch_new();
	int64_t t = w->c.test_wall_ns - 30 * SECOND, layout = 100 + id;
	char *json = document_new(id);
	uint8_t raw[600];
	size_t i;

	for (i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)rnd(256);
	nw_batch_session(b,
	    &(struct nw_session_rec){
		.id = id, .opened_wall_ns = t, .closed_wall_ns = t + SECOND });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){ .id = id,
		.host_id = host,
		.session_id = id,
		.opened_wall_ns = t,
		.closed_wall_ns = t + SECOND });
	nw_batch_meta(b,
	    &(struct nw_meta_rec){ .id = layout,
		.session_id = id,
		.host_id = host,
		.xsp_id = id,
		.first_wall_ns = t,
		.raw = raw,
		.raw_len = sizeof(raw) });
	nw_batch_layout(b, &(struct nw_layout_rec){ layout, layout, WIDTH, names });
	noise_put(b, layout, &t, n_rows);
	nw_batch_run(b, &(struct nw_run_rec){ .id = id, .session_id = id, .kind = "verdict" });
	nw_batch_result(b,
	    &(struct nw_result_rec){ .session_id = id,
		.run_id = id,
		.json = json,
		.sentence = "It was the path.",
		.effect = NAN });
	nw_batch_seal(b, id);
	free(json);
	return commit(w, b, 8);
}

static int
on_document(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	const char **want = arg;

	(void)s;
	CHECK(res != NULL && res->json != NULL);
	if (res != NULL && res->json != NULL)
		CHECK(strstr(res->json, *want) != NULL && strstr(res->json, "\"k5\":[]") == NULL);
	return 0;
}

static void
check_whole(void)
{
	struct store_reader *r;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_verify(r, why), NW_OK);
	CHECK_STR(why, "");
	store_reader_close(r);
}

/* The newest session has rows, a document and a timeline. */
static void
check_newest(struct writer *w, int64_t id, size_t n_rows)
{
	const char *want = "\"k5\":[";
	struct store_reader *r;

	CHECK_INT(rows_of(w, 100 + id), n_rows);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_session_get(r, id, on_document, &want), NW_OK);
	store_reader_close(r);
	check_whole();
}

/* Who has less than the host with most has lost nothing: each lost only what was over its share. */
static void
check_fair(struct writer *w, const int64_t *sent_rows)
{
	int64_t most = 0, total[HOSTS + 1] = { 0 }, rows;
	int h;

	for (h = 1; h <= HOSTS; h++) {
		total[h] =
		    ask(w, "SELECT coalesce(sum(bytes), 0) FROM tier_size WHERE host_id = %lld", h);
		most = total[h] > most ? total[h] : most;
	}
	for (h = 1; h <= HOSTS; h++) {
		rows = ask(w,
		    "SELECT coalesce(sum(c.n_rows), 0) FROM chunk c JOIN layout l ON l.id = "
		    "c.layout_id JOIN metadata m ON m.id = l.meta_id WHERE m.host_id = %lld",
		    h);
		printf("  host %d: %lld of %lld rows, %lld KiB\n", h, (long long)rows,
		    (long long)sent_rows[h], (long long)total[h] >> 10);
		CHECK(total[h] > most * 3 / 4 || rows == sent_rows[h]);
	}
}

/* Hosts whose loads differ by 32; five hours, and a session every few seconds. */
static void
test_mixed(uint64_t max, int n_sessions)
{
	static const size_t rows[HOSTS + 1] = { 0, 1, 16, 64, 96 };
	struct writer *w = open_writer(max);
	int64_t id, sent[HOSTS + 1] = { 0 };
	int h = 1;

	for (id = 1; id <= n_sessions; id++) {
		w->c.test_wall_ns += 5 * SECOND;
		h = id % 8 == 1 ? 1 : id % 8 == 2 ? 2 : id % 8 < 5 ? 3 : 4;
		CHECK_INT(session_put(w, id, h, rows[h]), NW_OK);
		CHECK_STR(w->c.trouble, "");
		sent[h] += (int64_t)rows[h];
	}
	CHECK(bytes_now() <= max);
	printf("mixed load of %d sessions, %llu MiB: %lld sessions, %lld documents, %lld timelines "
	       "left\n",
	    n_sessions, (unsigned long long)max >> 20,
	    (long long)ask(w, "SELECT count(*) FROM session", 0),
	    (long long)ask(w, "SELECT count(*) FROM result WHERE document IS NOT NULL", 0),
	    (long long)ask(w, "SELECT count(*) FROM result WHERE timeline IS NOT NULL", 0));
	check_newest(w, n_sessions, rows[h]);
	CHECK_INT(ask(w, "SELECT count(*) FROM fieldset", 0), 1);
	check_fair(w, sent);
	/* sessions of 1 Hz: buckets of 10 s would save little */
	CHECK(w->c.sizes.bytes[STORE_ROWS] > 0 && w->c.sizes.bytes[STORE_1MIN] > 0 &&
	    w->c.sizes.bytes[SIZE_TIMELINES] > 0 && w->c.sizes.bytes[SIZE_DOCUMENTS] > 0);
	writer_close(w);
}

/* Descriptions of a burst of sessions fill the store within minutes: the oldest go, though none
 * ended an hour ago, and what was measured last stays. */
static void
test_burst(uint64_t max)
{
	const long sessions = check_repeats(2500, 1000);
	struct writer *w = open_writer(max);
	int64_t id;

	for (id = 1; id <= sessions; id++) {
		w->c.test_wall_ns += SECOND / 2;
		CHECK_INT(session_put(w, id, 1 + id % 2, 1), NW_OK);
	}
	CHECK_STR(w->c.trouble, "");
	printf("burst: %lld sessions left\n", (long long)ask(w, "SELECT count(*) FROM session", 0));
	CHECK(w->c.total.forgotten_sessions > 100);
	CHECK(ask(w, "SELECT count(*) FROM session", 0) > 200);
	check_newest(w, id - 1, 1);
	writer_close(w);
}

/* A connection of a host with metadata of 4 KB each, of a session or of the host alone. */
static int
talk_put(struct writer *w, int64_t id, int64_t host, int64_t session, int n_metas)
{
	struct nw_batch *b = nw_batch_new();
	int64_t t = w->c.test_wall_ns;
	uint8_t raw[4000];
	size_t i;
	int k;

	if (session != 0)
		nw_batch_session(b,
		    &(struct nw_session_rec){
			.id = session, .opened_wall_ns = t, .closed_wall_ns = t + SECOND });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){ .id = id,
		.host_id = host,
		.session_id = session,
		.opened_wall_ns = t,
		.closed_wall_ns = t + SECOND });
	for (k = 0; k < n_metas; k++) {
		for (i = 0; i < sizeof(raw); i++)
			raw[i] = (uint8_t)rnd(256);
		nw_batch_meta(b,
		    &(struct nw_meta_rec){ .id = 1000 * id + k,
			.session_id = session,
			.host_id = host,
			.xsp_id = id,
			.first_wall_ns = t,
			.raw = raw,
			.raw_len = sizeof(raw) });
	}
	return commit(w, b, 8);
}

/* One host has many small sessions, another one describes much: in few sessions, or by itself. Who
 * describes pays. */
static void
test_talk(uint64_t max, bool in_sessions)
{
	enum { SESSIONS = 60, METAS = 50 };
	struct writer *w = open_writer(max);
	uint64_t sent;
	int64_t id;

	for (id = 1; id <= SESSIONS; id++) {
		w->c.test_wall_ns += SECOND;
		CHECK_INT(session_put(w, id, 1, 1), NW_OK);
	}
	for (sent = 0; sent < 3 * max; sent += METAS * 4000, id++) {
		w->c.test_wall_ns += 120 * SECOND;
		CHECK_INT(talk_put(w, id, 2, in_sessions ? id : 0, METAS), NW_OK);
		CHECK_STR(w->c.trouble, "");
	}
	printf("talk %s: %lld sessions, %lld metadata of the talker left\n",
	    in_sessions ? "in sessions" : "of the host",
	    (long long)ask(w, "SELECT count(*) FROM session", 0),
	    (long long)ask(w, "SELECT count(*) FROM metadata WHERE host_id = %lld", 2));
	CHECK(bytes_now() <= max);
	CHECK_INT(ask(w, "SELECT count(*) FROM session WHERE id <= %lld", SESSIONS), SESSIONS);
	CHECK_INT(ask(w, "SELECT count(document) FROM result WHERE host_id = %lld", 1), SESSIONS);
	CHECK(ask(w, "SELECT count(*) FROM metadata WHERE host_id = %lld", 2) > METAS);
	check_newest(w, SESSIONS, 1);
	writer_close(w);
}

/* --- young descriptions --- */

enum young { YOUNG_NONE, YOUNG_METADATA, YOUNG_PROVIDERS, YOUNG_FIELDS };

/* 20 metadata of an open connection, with 3 KB of text or with 200 new names of fields each. */
static int
young_put(struct writer *w, int64_t first, int64_t xsp, enum young what)
{
	static char text[200][40];
	const char *fields[200];
	struct nw_batch *b = nw_batch_new();
	uint8_t raw[3000];
	size_t i;
	int k;

	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){ .id = xsp, .host_id = 2, .opened_wall_ns = w->c.test_wall_ns });
	for (k = 0; k < 20; k++) {
		for (i = 0; i < sizeof(raw); i++)
			raw[i] = (uint8_t)rnd(256);
		nw_batch_meta(b,
		    &(struct nw_meta_rec){ .id = first + k,
			.host_id = 2,
			.xsp_id = xsp,
			.first_wall_ns = w->c.test_wall_ns,
			.raw = raw,
			.raw_len = what == YOUNG_FIELDS ? 100 : sizeof(raw) });
		for (i = 0; i < 200 && what == YOUNG_FIELDS; i++) {
			snprintf(text[i], sizeof(text[i]), "%08x%08x%08x%08x",
			    (unsigned)rnd(1u << 31), (unsigned)rnd(1u << 31),
			    (unsigned)rnd(1u << 31), (unsigned)i);
			fields[i] = text[i];
		}
		if (what == YOUNG_FIELDS)
			nw_batch_layout(
			    b, &(struct nw_layout_rec){ first + k, first + k, 200, fields });
	}
	return commit(w, b, 2);
}

/* A host floods the store with descriptions that are in use: the host loses its oldest ones, and
 * another host loses nothing. Without a flood nobody does. */
static void
test_young(uint64_t max, enum young what)
{
	enum { KEPT = 400 };
	struct writer *w = open_writer(max);
	struct nw_batch *b = nw_batch_new();
	int64_t t = BASE, id = 1000, metas = 0,
		end = what == YOUNG_NONE ? 40 : (int64_t)(3 * max / 3000);

	noise_put(b, 1, &t, KEPT);
	CHECK_INT(commit(w, b, 3), NW_OK);
	for (; metas < end; metas += 20, id += 20) {
		CHECK_INT(young_put(w, id, what == YOUNG_PROVIDERS ? id : 1000, what), NW_OK);
		CHECK_STR(w->c.trouble, "");
		w->c.test_wall_ns += SECOND / 100;
		b = nw_batch_new();
		noise_put(b, 1, &t, metas % 1000 == 0);
		CHECK_INT(commit(w, b, 1), NW_OK);
	}
	printf("young descriptions %d: %lld of %lld left\n", (int)what,
	    (long long)ask(w, "SELECT count(*) FROM metadata WHERE id >= %lld", 1000),
	    (long long)metas);
	CHECK_INT(rows_of(w, 1), KEPT + (metas + 999) / 1000);
	CHECK_INT(ask(w, "SELECT count(*) FROM rollup WHERE layout_id = %lld", 1), 0);
	CHECK(ask(w, "SELECT count(*) FROM metadata WHERE id >= %lld", 1000) >
	    (what == YOUNG_NONE ? 39 : 200));
	CHECK_INT(ask(w, "SELECT max(id) FROM metadata", 0), id - 1);
	CHECK_INT(ask(w,
		      "SELECT count(*) FROM layout l WHERE NOT EXISTS"
		      " (SELECT 1 FROM metadata m WHERE m.id = l.meta_id)",
		      0),
	    0);
	check_whole();
	writer_close(w);
}

/* Rows and layouts of series that went come too late, and harm nothing. */
static void
test_young_late(uint64_t max)
{
	static const char *const more[] = { "x", "y" };
	struct writer *w = open_writer(max);
	struct nw_batch *b = nw_batch_new();
	int64_t t = BASE, id;
	uint64_t late;

	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 900, .host_id = 2, .opened_wall_ns = BASE });
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 900, .host_id = 2, .xsp_id = 900 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 900, 900, WIDTH, names });
	nw_batch_layout(b, &(struct nw_layout_rec){ 901, 1, 2, more }); /* the newest stays */
	noise_put(b, 1, &t, 100);
	CHECK_INT(commit(w, b, 1), NW_OK);
	for (id = 1000; id < 1000 + (int64_t)(2 * max / 3000); id += 20)
		CHECK_INT(young_put(w, id, 1000, YOUNG_METADATA), NW_OK);
	CHECK_INT(ask(w, "SELECT count(*) FROM metadata WHERE id = %lld", 900), 0);
	late = w->late_rows;
	b = nw_batch_new();
	noise_put(b, 900, &t, 3);
	nw_batch_layout(b, &(struct nw_layout_rec){ 902, 900, 2, more });
	noise_put(b, 1, &t, 1);
	CHECK_INT(commit(w, b, 1), NW_OK);
	CHECK_INT(w->late_rows - late, 3);
	CHECK_INT(rows_of(w, 1), 101);
	check_whole();
	writer_close(w);
}

/* The search for an equal set of names ends after some sets with the same length and beginning. */
static void
test_fieldsets(void)
{
	struct writer *w = open_writer(16 << 20);
	char name[100];
	const char *fields[] = { name };
	int64_t before = ask(w, "SELECT count(*) FROM fieldset", 0), id;
	struct nw_batch *b = nw_batch_new();

	for (id = 100; id < 142; id++) { /* the last two repeat the newest and the oldest set */
		snprintf(name, sizeof(name), "%080d",
		    (int)(id == 140     ? 139
			    : id == 141 ? 100
					: id));
		nw_batch_layout(b, &(struct nw_layout_rec){ id, 1, 1, fields });
	}
	CHECK_INT(commit(w, b, 1), NW_OK);
	CHECK_INT(ask(w, "SELECT count(*) FROM fieldset", 0) - before, 41);
	CHECK_INT(ask(w, "SELECT count(DISTINCT fields) FROM fieldset", 0) - before, 40);
	CHECK_INT(ask(w,
		      "SELECT count(*) FROM layout l JOIN fieldset s ON s.id = l.fieldset_id"
		      " WHERE l.id IN (100, 141) AND s.fields LIKE '%%0100\"]'",
		      0),
	    2);
	check_whole();
	writer_close(w);
}

int
main(int argc, char **argv)
{
	enum young what;
	size_t f;

	rng = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 0)
						     : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %llu\n", (unsigned long long)rng);
	for (f = 0; f < WIDTH; f++)
		names[f] = "x";
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_flood(16 << 20);
	test_mixed(16 << 20, 400);
	test_burst(5 << 20);
	test_talk(5 << 20, true);
	test_talk(5 << 20, false);
	for (what = YOUNG_NONE; what <= YOUNG_FIELDS; what++)
		test_young(8 << 20, what);
	test_young_late(8 << 20);
	test_fieldsets();
	if (check_repeats(1, 0) > 0) { /* a minute or two */
		test_flood(32 << 20);
		test_flood(64 << 20);
		test_mixed(32 << 20, 1500);
		test_mixed(64 << 20, 3600);
	}
	files_remove();
	rmdir(dir);
	return check_done("evict");
}
