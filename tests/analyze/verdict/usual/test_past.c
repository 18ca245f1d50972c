/* SPDX-License-Identifier: BSD-3-Clause */
/* Which host an address certainly belongs to, and the sessions of a route under earlier names of
 * its ends: those of certain addresses, and no others; and how many sessions are taken. */
#include "analyze/verdict/usual/past.h"
#include "analyze/verdict/evidence/hostaddresses.h"

#include "tests/filled.h"

static const struct {
	const char *name, *owner, *peer, *addresses;
} senders[] = {
	{ "dtn-a", "host:dtn-a", "10.0.1.1/4000", NULL },
	{ "dtn-b", "host:dtn-b", "10.0.1.2/4000", "10.0.2.2 2001:db8::2" },
	/* behind one address with dtn-c */
	{ "nat-1", "host:nat-1", "10.0.1.9/4000", NULL },
	{ "nat-2", "host:nat-2", "10.0.1.9/4001", NULL },
	/* speaks from an address that the certificate of dtn-b lists */
	{ "evil", "host:evil", "10.0.2.2/4000", NULL },
	/* names without certificates, and documents with another host's name */
	{ "plain", "addr:10.0.1.7", "10.0.1.7/4000", NULL },
	{ "local", "user:0", "127.0.0.1/4000", NULL },
	{ "claimed", "host:evil", "10.0.1.8/4000", "10.0.2.8" },
};
enum { SENDERS = sizeof(senders) / sizeof(senders[0]) };

static const struct {
	const char *address, *host;
} wanted[] = {
	{ "10.0.1.1", "dtn-a" },
	{ "10.0.1.2", "dtn-b" },
	{ "10.0.2.2", "dtn-b" },
	{ "2001:db8::2", "dtn-b" },
	{ "10.0.1.9", NULL },
	{ "10.0.1.7", NULL },
	{ "10.0.1.8", NULL },
	{ "10.0.2.8", NULL },
	{ "127.0.0.1", NULL },
	{ "dtn-a", NULL },
	{ "", NULL },
};

/* Routes of the sessions, in the order of time. */
static const char *const routes[] = { "dtn-a -> 10.0.2.2", "dtn-a -> dtn-b", "dtn-a -> 10.0.1.2",
	"10.0.1.1 -> dtn-b", "dtn-a -> 10.0.1.9", "dtn-a -> evil", "evil -> 10.0.2.2",
	"dtn-a -> dtn-b" };
enum { ROUTES = sizeof(routes) / sizeof(routes[0]) };

/* A route with more sessions than are taken. */
static const char old_route[] = "dtn-b -> dtn-a";
enum { OLD_FROM = 101, OLD = PAST_MAX + 200 };

static void
session_put(struct nw_batch *b, int64_t id, const char *route)
{
	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){
			  .id = id, .opened_wall_ns = 999 + id, .closed_wall_ns = 1999 + id }),
	    NW_OK);
	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = id,
			  .json = "{}",
			  .route = route,
			  .program = "rsync",
			  .bytes = 1e9,
			  .bytes_per_s = 1e6,
			  .effect = NAN,
			  .start_wall_ns = 999 + id,
			  .duration_ns = 1000,
			  .usual = NAN,
			  .exit_status = NAN }),
	    NW_OK);
}

static void
store_fill(struct store *st)
{
	struct nw_batch *b = nw_batch_new();
	int64_t i;

	for (i = 0; i < SENDERS; i++) {
		CHECK_INT(
		    nw_batch_host(b, &(struct nw_host_rec){ .id = i + 1, .name = senders[i].name }),
		    NW_OK);
		CHECK_INT(nw_batch_xsp(b,
			      &(struct nw_xsp_rec){ .id = i + 1,
				  .host_id = i + 1,
				  .sess_id_hex = "00",
				  .peer = senders[i].peer,
				  .owner = senders[i].owner,
				  .addresses = senders[i].addresses }),
		    NW_OK);
	}
	for (i = 0; i < ROUTES; i++)
		session_put(b, i + 1, routes[i]);
	for (i = 0; i < OLD; i++)
		session_put(b, OLD_FROM + i, old_route);
	filled_commit(st, b);
}

static void
test_addresses(struct store_reader *r)
{
	struct host_addresses a;
	const char *host;
	size_t i;

	CHECK_INT(host_addresses_load(r, &a), NW_OK);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		host = host_addresses_find(&a, wanted[i].address);
		CHECK_STR(host != NULL ? host : "", wanted[i].host != NULL ? wanted[i].host : "");
	}
	host_addresses_clear(&a);
}

static void
past_check(struct store_reader *r, const char *route, const int64_t *ids, size_t n)
{
	struct past p;
	size_t i;

	CHECK_INT(past_load(r, route, "rsync", INT64_MAX, 0, &p), NW_OK);
	CHECK_INT(p.n, n);
	for (i = 0; i < n && i < p.n; i++)
		CHECK_INT(p.session[i].id, ids[i]);
	past_clear(&p);
}

/* Of an old route the newest sessions are taken, and the first of them is the same for long. */
static void
test_old(struct store_reader *r)
{
	struct past p;
	int64_t id, first = 0, moves = 0;

	for (id = OLD_FROM + PAST_MAX - 100; id <= OLD_FROM + OLD; id++) {
		CHECK_INT(past_load(r, old_route, "rsync", 999 + id, 0, &p), NW_OK);
		CHECK_INT(p.session[p.n - 1].id, id - 1);
		CHECK_INT(p.n, id - p.session[0].id);
		if (id - OLD_FROM < PAST_MAX)
			CHECK_INT(p.session[0].id, OLD_FROM);
		else
			CHECK(p.n <= PAST_MAX && p.n > PAST_MAX - PAST_SLACK);
		moves += p.session[0].id != first;
		first = p.session[0].id;
		past_clear(&p);
	}
	CHECK(moves >= 2 && moves <= 10);
}

int
main(void)
{
	struct store *st = filled_open(NULL);
	struct store_reader *r;
	char why[STORE_WHY_BYTES];

	store_fill(st);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	test_addresses(r);
	past_check(r, "dtn-a -> dtn-b", (int64_t[]){ 1, 2, 3, 4, 8 }, 5);
	past_check(r, "dtn-a -> evil", (int64_t[]){ 6 }, 1);
	past_check(r, "dtn-a -> nat-1", NULL, 0);
	past_check(r, "dtn-a (local)", NULL, 0);
	test_old(r);
	store_reader_end(r);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_past");
}
