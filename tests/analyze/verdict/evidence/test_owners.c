/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose data count: senders of a session that name each other, and strangers. */
#include "analyze/verdict/evidence/owners.h"

#include <stdlib.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { SENDERS = 4, NAMES = 6 };

/* What a sender named of connections: from, to, ports. */
struct says {
	int sender; /* 1 to SENDERS; 0 ends the list */
	const char *subject;
};

#define CONNECTION(src, sport, dst, dport) \
	"{\"src\":\"" src "\",\"sport\":" #sport ",\"dst\":\"" dst "\",\"dport\":" #dport "}"
#define ADDRESSES(src, dst) "{\"src\":\"" src "\",\"dst\":\"" dst "\"}"

static const struct {
	const char *what, *task;
	struct {
		const char *owner, *peer;
	} sender[SENDERS];
	struct says says[NAMES];
	const char *used; /* a letter per owner: u or - */
} cases[] = {
	{ "two ends of one connection", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, CONNECTION("10.0.0.1", 4000, "10.0.0.2", 873) },
		{ 2, CONNECTION("10.0.0.2", 873, "10.0.0.1", 4000) } },
	    "uu" },
	{ "data and control on different interfaces", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, CONNECTION("192.168.9.1", 4000, "192.168.9.2", 873) },
		{ 2, CONNECTION("192.168.9.2", 873, "::ffff:192.168.9.1", 4000) } },
	    "uu" },
	{ "a stranger that names itself", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, CONNECTION("10.0.0.1", 4000, "10.0.0.3", 873) },
		{ 2, CONNECTION("10.0.0.2", 873, "10.0.0.1", 4000) } },
	    "u-" },
	{ "a stranger that names the host", "nightly",
	    { { "host:hosta", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 2, "{\"src\":\"hosta\",\"dst\":\"10.0.0.1\"}" } }, "u-" },
	{ "a stranger without a word", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } }, { { 0 } }, "u-" },
	{ "addresses of each other, without ports", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, ADDRESSES("10.0.0.1", "10.0.0.2") }, { 2, ADDRESSES("10.0.0.2", "10.0.0.1") } },
	    "uu" },
	{ "one of two names the other", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, ADDRESSES("10.0.0.1", "10.0.0.2") } }, "u-" },
	{ "users of one machine by loopback addresses", "nightly",
	    { { "user:1", "127.0.0.1/1" }, { "user:2", "127.0.0.1/2" } },
	    { { 1, ADDRESSES("127.0.0.1", "127.0.0.1") },
		{ 2, ADDRESSES("127.0.0.1", "127.0.0.1") } },
	    "u-" },
	{ "users of one machine by their connection", "nightly",
	    { { "user:1", "127.0.0.1/1" }, { "user:2", "127.0.0.1/2" } },
	    { { 1, CONNECTION("127.0.0.1", 40000, "127.0.0.1", 873) },
		{ 2, CONNECTION("127.0.0.1", 873, "127.0.0.1", 40000) } },
	    "uu" },
	{ "a chain of hosts, and one beside it", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" }, { "host:c", "10.0.0.3/1" },
		{ "host:d", "10.0.0.4/1" } },
	    { { 1, CONNECTION("10.0.0.1", 4000, "10.0.0.2", 22) },
		{ 2, CONNECTION("10.0.0.2", 22, "10.0.0.1", 4000) },
		{ 2, CONNECTION("10.0.0.2", 4001, "10.0.0.3", 22) },
		{ 3, CONNECTION("10.0.0.3", 22, "10.0.0.2", 4001) },
		{ 4, CONNECTION("10.0.0.4", 22, "10.0.0.2", 4001) } },
	    "uuu-" },
	{ "a secret ties all that know it", "task-0123456789012345678901234567890",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } }, { { 0 } }, "uu" },
	{ "a session without a task", "xsp:00112233",
	    { { "addr:10.0.0.1", "10.0.0.1/1" }, { "addr:10.0.0.2", "10.0.0.2/1" } }, { { 0 } },
	    "uu" },
	{ "a file beside a host", "nightly", { { "host:a", "10.0.0.1/1" }, { NULL, NULL } },
	    { { 0 } }, "u" },
	{ "two connections of one owner to the box", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:a", "10.0.9.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, ADDRESSES("10.0.9.1", "10.0.0.2") }, { 3, ADDRESSES("10.0.0.2", "10.0.9.1") } },
	    "uu" },
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void
session_add(struct nw_batch *b, size_t c)
{
	struct nw_session_rec s = { .id = (int64_t)c + 1, .task_id = cases[c].task };
	int64_t i, base = (int64_t)c * 100;

	CHECK_INT(nw_batch_session(b, &s), NW_OK);
	for (i = 0; i < SENDERS && cases[c].sender[i].owner != NULL; i++) {
		struct nw_xsp_rec x = { .id = base + i + 1,
			.host_id = i + 1,
			.session_id = s.id,
			.sess_id_hex = "00",
			.peer = cases[c].sender[i].peer,
			.owner = cases[c].sender[i].owner,
			.docs = 3,
			.bytes = 100 };

		CHECK_INT(nw_batch_xsp(b, &x), NW_OK);
	}
	for (i = 0; i < NAMES && cases[c].says[i].sender != 0; i++) {
		struct nw_meta_rec m = { .id = base + i + 1,
			.session_id = s.id,
			.host_id = cases[c].says[i].sender,
			.xsp_id = base + cases[c].says[i].sender,
			.mid = "m",
			.event_type = "nw:connection",
			.subject_json = cases[c].says[i].subject,
			.params_json = "{}" };

		CHECK_INT(nw_batch_meta(b, &m), NW_OK);
	}
}

static void
session_check(struct store_reader *r, size_t c)
{
	struct owners o;
	size_t i, aside = 0, n = strlen(cases[c].used);

	CHECK_INT(owners_load(r, (int64_t)c + 1, cases[c].task, &o), NW_OK);
	CHECK_INT(o.n, n);
	for (i = 0; i < o.n && i < n; i++) {
		if (o.owner[i].used != (cases[c].used[i] == 'u'))
			fprintf(stderr, "%s: %s\n", cases[c].what, o.owner[i].name);
		CHECK(o.owner[i].used == (cases[c].used[i] == 'u'));
		CHECK(o.owner[i].bytes >= 100 && o.owner[i].documents >= 3);
		aside += cases[c].used[i] != 'u';
	}
	CHECK_INT(o.n_set_aside, aside);
	for (i = 0; i < o.n_shares; i++)
		CHECK(owners_use(&o, o.share[i].xsp_id) == o.owner[o.share[i].owner].used);
	owners_use_all(&o);
	CHECK_INT(o.n_set_aside, 0);
	CHECK(o.n_shares > 0 && owners_use(&o, o.share[o.n_shares - 1].xsp_id));
	owners_clear(&o);
}

int
main(void)
{
	static char dir[] = "/tmp/test_owners.XXXXXX";
	char path[64], why[STORE_WHY_BYTES], command[64];
	struct store_reader *r;
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	size_t c;
	int64_t i;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	for (i = 1; i <= SENDERS; i++) {
		char name[8];
		struct nw_host_rec h = { .id = i, .name = name };

		snprintf(name, sizeof(name), "h%d", (int)i);
		CHECK_INT(nw_batch_host(b, &h), NW_OK);
	}
	for (c = 0; c < CASES; c++)
		session_add(b, c);
	CHECK_INT(store_open(path, &store_opts_default, &st, why), NW_OK);
	CHECK_INT(store_submit(st, b), NW_OK);
	CHECK_INT(store_sync(st), NW_OK);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	for (c = 0; c < CASES; c++)
		session_check(r, c);
	store_reader_end(r);
	store_reader_close(r);
	store_close(st);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("test_owners");
}
