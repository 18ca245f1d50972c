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
		const char *owner, *peer; /* after a blank: addresses of the certificate */
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
	{ "a stranger that repeats the host's connection", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, CONNECTION("10.0.0.1", 4000, "10.0.0.3", 873) },
		{ 2, CONNECTION("10.0.0.1", 4000, "10.0.0.3", 873) } },
	    "u-" },
	{ "a stranger at an end that is another's", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" },
		{ "host:c", "10.0.0.3/1 10.0.9.4 10.0.9.3" } },
	    { { 1, CONNECTION("10.0.0.1", 4000, "10.0.9.3", 873) },
		{ 2, CONNECTION("10.0.9.3", 873, "10.0.0.1", 4000) },
		{ 3, CONNECTION("10.0.9.3", 873, "10.0.0.1", 4000) } },
	    "u-u" },
	{ "addresses of certificates, without ports", "nightly",
	    { { "host:a", "10.0.0.1/1 10.0.9.1" }, { "host:b", "10.0.0.2/1 10.0.9.2" } },
	    { { 1, ADDRESSES("10.0.9.1", "10.0.9.2") }, { 2, ADDRESSES("10.0.9.2", "10.0.9.1") } },
	    "uu" },
	{ "addresses without certificates, without ports", "nightly",
	    { { "host:a", "10.0.0.1/1" }, { "host:b", "10.0.0.2/1" } },
	    { { 1, ADDRESSES("10.0.9.1", "10.0.9.2") }, { 2, ADDRESSES("10.0.9.2", "10.0.9.1") } },
	    "u-" },
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
		char *peer = strdup(cases[c].sender[i].peer != NULL ? cases[c].sender[i].peer : ""),
		     *addresses = strchr(peer, ' ');
		struct nw_xsp_rec x = { .id = base + i + 1,
			.host_id = i + 1,
			.session_id = s.id,
			.sess_id_hex = "00",
			.peer = peer,
			.owner = cases[c].sender[i].owner,
			.addresses = addresses != NULL ? addresses + 1 : NULL,
			.docs = 3,
			.bytes = 100 };

		if (addresses != NULL)
			*addresses = '\0';
		CHECK_INT(nw_batch_xsp(b, &x), NW_OK);
		free(peer);
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

/* A session in which a stranger tries ports of the other host's connection. */
enum { GUESSING = 49 };

static void
guesses_add(struct nw_batch *b, int64_t session, int guesses)
{
	struct nw_session_rec s = { .id = session, .task_id = "nightly" };
	char subject[128];
	int64_t i;

	CHECK_INT(nw_batch_session(b, &s), NW_OK);
	for (i = 0; i < 2; i++) {
		struct nw_xsp_rec x = { .id = session * 100 + i,
			.host_id = i + 1,
			.session_id = session,
			.sess_id_hex = "00",
			.peer = i == 0 ? "10.0.0.1/1" : "10.0.0.2/1",
			.owner = i == 0 ? "host:a" : "host:b" };

		CHECK_INT(nw_batch_xsp(b, &x), NW_OK);
	}
	for (i = 0; i <= guesses; i++) {
		struct nw_meta_rec m = { .id = session * 100 + i,
			.session_id = session,
			.host_id = i == 0 ? 1 : 2,
			.xsp_id = session * 100 + (i == 0 ? 0 : 1),
			.mid = "m",
			.event_type = "nw:connection",
			.subject_json = subject,
			.params_json = "{}" };

		snprintf(subject, sizeof(subject),
		    "{\"src\":\"%s\",\"sport\":%d,\"dst\":\"%s\",\"dport\":%d}",
		    i == 0 ? "10.0.9.1" : "10.0.9.2", i == 0 ? 4200 : 873,
		    i == 0 ? "10.0.9.2" : "10.0.9.1", i == 0 ? 873 : 4199 + (int)i);
		CHECK_INT(nw_batch_meta(b, &m), NW_OK);
	}
}

static bool
guesses_tie(struct store_reader *r, int64_t session)
{
	struct owners o;
	bool used;

	CHECK_INT(owners_load(r, session, "nightly", &o), NW_OK);
	CHECK_INT(o.n, 2);
	used = o.n == 2 && o.owner[1].used;
	owners_clear(&o);
	return used;
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
	guesses_add(b, GUESSING, 100);
	guesses_add(b, 70, 1000);
	CHECK_INT(store_open(path, &store_opts_default, &st, why), NW_OK);
	CHECK_INT(store_submit(st, b), NW_OK);
	CHECK_INT(store_sync(st), NW_OK);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	for (c = 0; c < CASES; c++)
		session_check(r, c);
	CHECK(guesses_tie(r, GUESSING));
	CHECK(!guesses_tie(r, 70));
	store_reader_end(r);
	store_reader_close(r);
	store_close(st);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("test_owners");
}
