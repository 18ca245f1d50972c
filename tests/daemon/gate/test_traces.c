/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of traces between two threads: whose are taken, a full way, and that each trace that was
 * taken arrives once. */
#include "daemon/gate/traces.h"

#include <event2/event.h>

#include "narrows/announce.h"
#include "narrows/err.h"
#include "tests/check.h"

#define DOWNLOAD                                                                         \
	"{\"eventType\": \"download\", \"clientState\": \"DONE\", \"filename\": \"f\", " \
	"\"remoteSite\": \"SITE\", \"filesize\": 5, \"transferStart\": 1795827805, "     \
	"\"transferEnd\": 1795827865}"

static unsigned arrived;
static char from[NW_ANNOUNCE_ADDRESS_BYTES];

static void
on_transfer(void *arg, const char *sender, const struct nw_announcement *n)
{
	CHECK(arg == &arrived);
	CHECK_INT(n->form, NW_ANNOUNCE_RUCIO);
	CHECK_STR(n->dst, sender);
	strcpy(from, sender);
	arrived++;
}

static int
take(struct traces *t, const char *sender, const char *body)
{
	char out[256] = "";
	int status = traces_take(t, sender, body, out, sizeof(out));

	CHECK(out[0] != '\0' && out[strlen(out) - 1] == '\n');
	return status;
}

int
main(void)
{
	struct event_base *base = event_base_new();
	struct traces *t = NULL;
	char why[CONF_WHY_BYTES] = "";
	unsigned taken = 0, turns = 0;

	CHECK_INT(traces_start(base, "10.0.0.0/33", on_transfer, &arrived, &t, why), NW_EINVAL);
	CHECK(t == NULL && strstr(why, "announce-from") != NULL);
	CHECK_INT(traces_start(base, "10.0.0.0/8", on_transfer, &arrived, &t, why), NW_OK);
	CHECK_INT(take(t, "10.1.2.3", "["), 400);
	CHECK_INT(take(t, "11.1.2.3", DOWNLOAD), 403);
	CHECK_INT(take(t, "?", DOWNLOAD), 403);
	CHECK_INT(take(t, "10.1.2.3", "{\"eventType\": \"touch\"}"), 201);
	CHECK_INT(take(t, "::ffff:10.1.2.3", "[" DOWNLOAD "," DOWNLOAD "]"), 201);
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	CHECK_INT(arrived, 2);
	CHECK_STR(from, "10.1.2.3");

	/* a net thread that does not come: the way has a bound, and what it took is not lost */
	arrived = 0;
	while (taken < 100000 && take(t, "10.1.2.3", DOWNLOAD) == 201)
		taken++;
	CHECK(taken > 64 && taken < 100000);
	while (arrived < taken && turns++ < 100000)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	CHECK_INT(arrived, taken);
	CHECK(turns > 1); /* a turn has a bound, too */
	CHECK_INT(take(t, "10.1.2.3", DOWNLOAD), 201);
	traces_stop(t);
	CHECK_INT(traces_start(base, "none", on_transfer, &arrived, &t, why), NW_OK);
	CHECK_INT(take(t, "10.1.2.3", DOWNLOAD), 403);
	traces_stop(t);
	traces_stop(NULL);
	event_base_free(base);
	return check_done("traces");
}
