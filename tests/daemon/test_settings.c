/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of hosts, from documents on a played wire to the readers of the store: changes only,
 * and bounds for a host that sends what is wrong, too long or too much. */
#include "daemon/settings.h"

#include "narrows/clock.h"
#include "narrows/eventtype.h"
#include "tests/daemon/wired.h"

#define SECOND_NS INT64_C(1000000000)

/* A document of n settings; names and values alternate. */
static int
tell(struct wired *w, const char *from, const char *until, int64_t t_ns, const char *const *texts,
    size_t n)
{
	struct nw_kv subject[] = { { "from", NW_KV_TEXT, { .text = from } },
		{ "until", NW_KV_TEXT, { .text = until } }, { "t_ns", NW_KV_INT, { .i = t_ns } } };
	struct nw_kv kv[SETTINGS_PER_DOCUMENT];
	struct nw_doc_buf doc = { 0 };
	const char *why = NULL;
	size_t i;
	int rc;

	for (i = 0; i < n; i++)
		kv[i] = (struct nw_kv){ texts[2 * i], NW_KV_TEXT, { .text = texts[2 * i + 1] } };
	CHECK_INT(nw_meta_encode(&doc, "c", NULL, NW_TYPE_CONFIG, subject, 3, kv, n), NW_OK);
	rc = xsess_block(w->x, NW_OPT_META, doc.data, doc.len, &why);
	nw_doc_buf_clear(&doc);
	return rc;
}

/* Lines "name=value<before" of the readers, joined by blanks. */
static int
join(void *arg, const struct nw_setting_rec *s)
{
	char *text = arg;

	snprintf(text + strlen(text), 200, "%s=%s%s%s%s ", s->name,
	    s->value != NULL ? s->value : "-", s->before != NULL ? "<" : "",
	    s->before != NULL ? s->before : "", s->first ? "!" : "");
	return 0;
}

/* `again`: the changes without first reports. */
static void
check_history(int64_t host_id, int64_t from_ns, int64_t to_ns, const char *at_end,
    const char *changes, const char *again)
{
	char why[STORE_WHY_BYTES], text[2000] = "";
	struct store_reader *r;

	CHECK_INT(store_reader_open(boxed_path, &r, why), NW_OK);
	CHECK_INT(store_config_at(r, host_id, to_ns, join, text), NW_OK);
	CHECK_STR(text, at_end);
	text[0] = '\0';
	CHECK_INT(store_config_changes(r, host_id, from_ns, to_ns, join, text), NW_OK);
	CHECK_STR(text, changes);
	text[0] = '\0';
	CHECK_INT(store_config_again(r, host_id, from_ns, to_ns, join, text), NW_OK);
	CHECK_STR(text, again);
	store_reader_close(r);
}

static void
test_history(void)
{
	static const char *const one[] = { "net.a", "1", "net.b", "2", "net.c", "3" },
				 *const two[] = { "net.a", "1", "net.c", "4" },
				 *const disk[] = { "disk.x", "9" };
	int64_t t = nw_wall_ns() - 100 * SECOND_NS;
	struct wired w;

	wired_open(&w, "192.0.2.1", NULL);
	CHECK_INT(wired_hello(&w, "conf", 1, 0, NULL, "dtn1"), NW_OK);
	CHECK_INT(tell(&w, "net.", "net/", t, one, 3), NW_OK);
	CHECK_INT(tell(&w, "disk.", "disk/", t + 1, disk, 1), NW_OK);
	CHECK_INT(tell(&w, "net.", "net/", t + 2, one, 3), NW_OK); /* says nothing new */
	CHECK_INT(tell(&w, "net.", "net/", t + 3, two, 2), NW_OK);
	CHECK_INT(tell(&w, "net.", "net.c", t + 4, one, 2), NW_OK); /* b is back, c not touched */
	wired_store();
	check_history(w.x->host->id, t - 1, t + 2, "disk.x=9 net.a=1 net.b=2 net.c=3 ",
	    "net.a=1! net.b=2! net.c=3! disk.x=9! ", "");
	check_history(w.x->host->id, t + 2, t + 3, "disk.x=9 net.a=1 net.c=4 ",
	    "net.b=-<2 net.c=4<3 ", "net.b=-<2 net.c=4<3 ");
	check_history(w.x->host->id, t - 1, t + 9, "disk.x=9 net.a=1 net.b=2 net.c=4 ",
	    "net.a=1! net.b=2! net.c=3! disk.x=9! net.b=-<2 net.c=4<3 net.b=2 ",
	    "net.b=-<2 net.c=4<3 net.b=2 ");
	CHECK_INT(sqlcount(boxed_path, "SELECT count(*) FROM metadata"), 0);
	CHECK_INT(sqlcount(boxed_path,
		      "SELECT count(*) FROM v_config WHERE newest AND value IS NOT NULL"),
	    4);
	wired_close(&w);
}

/* Ranges over several groups, names out of range, numbers for text, and the times of wrong
 * clocks. */
static void
test_hostile(void)
{
	static const char *const some[] = { "net.a", "1" };
	static const struct {
		const char *from, *until;
		int rc;
	} ranges[] = { { "net.", "os/", NW_EPROTO }, { "", "net/", NW_EPROTO },
		{ ".", "/", NW_EPROTO }, { "net", "net/", NW_EPROTO },
		{ "net.b", "net.a", NW_EPROTO }, { "net.", "net.", NW_EPROTO },
		{ NULL, NULL, NW_EPROTO }, { "net.", "net0", NW_EPROTO },
		{ "kernel.", "kernel/", NW_OK } };
	uint64_t refused = counter_get(&box.counters.refused_settings), rejected;
	int64_t now = nw_wall_ns();
	struct wired w;
	size_t i;

	wired_open(&w, "192.0.2.2", NULL);
	CHECK_INT(wired_hello(&w, "bad", 1, 0, NULL, "evil"), NW_OK);
	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		rejected = w.x->rejected;
		CHECK_INT(tell(&w, ranges[i].from, ranges[i].until, now, some, 1), NW_OK);
		CHECK_INT(w.x->rejected - rejected, ranges[i].rc != NW_OK);
	}
	CHECK_INT(counter_get(&box.counters.refused_settings) - refused, 1); /* out of kernel */
	CHECK_INT(tell(&w, "net.", "net/", INT64_MAX, some, 1), NW_OK);
	wired_store();
	CHECK_INT(sqlcount(boxed_path,
		      "SELECT count(*) FROM config c JOIN host h ON h.id = c.host_id WHERE"
		      " h.name = 'evil'"),
	    1);
	CHECK_INT(
	    sqlcount(boxed_path, "SELECT count(*) FROM config WHERE t_ns > 4000000000000000000"),
	    0);
	wired_close(&w);
}

/* A provider of one program speaks of programs only. */
static void
test_program(void)
{
	static const char *const net[] = { "net.a", "7" },
				 *const program[] = { "program.cp.build", "abc" };
	uint64_t refused = counter_get(&box.counters.refused_settings);
	struct wired w;

	wired_open(&w, "192.0.2.3", NULL);
	CHECK_INT(wired_hello(&w, "prog", 1, 0, "a-task", "dtn3"), NW_OK);
	CHECK_INT(tell(&w, "net.", "net/", nw_wall_ns(), net, 1), NW_OK);
	CHECK_INT(tell(&w, "program.cp.", "program.cp/", nw_wall_ns(), program, 1), NW_OK);
	wired_store();
	CHECK_INT(counter_get(&box.counters.refused_settings) - refused, 1);
	CHECK_INT(sqlcount(boxed_path, "SELECT count(*) FROM v_config WHERE host = 'dtn3'"), 1);
	wired_close(&w);
}

/* 10^6 settings: the history has a bound, what is over the pace is refused and counted, and other
 * hosts keep theirs. */
static void
test_flood(void)
{
	static char names[SETTINGS_PER_DOCUMENT][40];
	const char *texts[2 * SETTINGS_PER_DOCUMENT], *from, *until;
	uint64_t refused = counter_get(&box.counters.refused_settings);
	char ends[2][40];
	struct wired w;
	int i, k;

	wired_open(&w, "192.0.2.4", NULL);
	CHECK_INT(wired_hello(&w, "flood", 1, 0, NULL, "flooder"), NW_OK);
	for (i = 0; i < 4000; i++) {
		snprintf(ends[0], sizeof(ends[0]), "net.%06d", i);
		snprintf(ends[1], sizeof(ends[1]), "net.%06d", i + 1);
		from = ends[0];
		until = ends[1];
		for (k = 0; k < SETTINGS_PER_DOCUMENT - 6; k++) {
			snprintf(names[k], sizeof(names[k]), "net.%06d.%03d", i, k);
			texts[2 * k] = names[k];
			texts[2 * k + 1] = "x";
		}
		CHECK_INT(
		    tell(&w, from, until, nw_wall_ns(), texts, SETTINGS_PER_DOCUMENT - 6), NW_OK);
	}
	wired_store();
	CHECK(counter_get(&box.counters.refused_settings) - refused > 900000);
	CHECK(sqlcount(boxed_path, "SELECT count(*) FROM config") <= STORE_SETTINGS_MAX + 20);
	CHECK(sqlcount(boxed_path, "SELECT count(*) FROM config") > STORE_SETTINGS_MAX / 2);
	CHECK(sqlcount(boxed_path, "SELECT count(*) FROM v_config WHERE host = 'dtn1'") > 4);
	wired_close(&w);
}

/* A full history loses lines that have a successor first: what never changed stays. */
static void
test_trim(void)
{
	struct nw_batch *b = nw_batch_new();
	struct nw_setting_rec rec = {
		.host_id = 1, .t_wall_ns = 1, .name = "os.name", .value = "steady"
	};
	char value[16];
	int i;

	CHECK_INT(nw_batch_setting(b, &rec), NW_OK);
	rec.name = "net.wild";
	rec.value = value;
	for (i = 0; i < STORE_SETTINGS_MAX + 10; i++) {
		snprintf(value, sizeof(value), "%d", i);
		rec.t_wall_ns = 2 + i;
		CHECK_INT(nw_batch_setting(b, &rec), NW_OK);
	}
	CHECK_INT(nw_batch_settings_end(b, 1, 2 + i, "disk.", "disk/", "{}"), NW_OK);
	CHECK_INT(store_submit(box.store, b), NW_OK);
	CHECK_INT(store_sync(box.store), NW_OK);
	store_run_completions(box.store);
	CHECK_INT(sqlcount(boxed_path, "SELECT count(*) FROM config WHERE value = 'steady'"), 1);
	CHECK(sqlcount(boxed_path, "SELECT count(*) FROM config WHERE host_id = 1") <=
	    STORE_SETTINGS_MAX);
	CHECK_INT(sqlcount(boxed_path,
		      "SELECT value FROM config WHERE name = 'net.wild' ORDER BY t_ns DESC"),
	    STORE_SETTINGS_MAX + 9);
}

int
main(void)
{
	boxed_begin();
	test_history();
	test_hostile();
	test_program();
	test_flood();
	test_trim();
	boxed_end();
	return check_done("test_settings");
}
