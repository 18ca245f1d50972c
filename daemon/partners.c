/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/partners.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "daemon/analysis/schedule.h"
#include "daemon/box.h"
#include "daemon/session.h"
#include "narrows/xmalloc.h"

struct search {
	int64_t id;
	struct session *found;
};

static void
on_session(struct session *s, void *arg)
{
	if (s->id == ((struct search *)arg)->id)
		((struct search *)arg)->found = s;
}

/* Aliases of sites and of hosts are apart: no name of a host begins with '@'. */
static void
alias_of(const struct session *s, const char *site, char out[SESSION_ALIAS_BYTES])
{
	char *name = xasprintf("@%s", site);

	session_alias(s, name, out);
	free(name);
}

static void
join_answer(struct box *box, const char *site, const char *number, struct evbuffer *out)
{
	struct search find = { .id = strtoll(number, NULL, 10) };
	char alias[SESSION_ALIAS_BYTES];

	session_each(box, on_session, &find);
	while (find.found != NULL && find.found->merged_into != NULL)
		find.found = find.found->merged_into;
	if (find.found == NULL) {
		evbuffer_add_printf(out, "error partner: the box has forgotten the session\n");
		return;
	}
	counter_add(&box->counters.partner_joins, 1);
	alias_of(find.found, site, alias);
	evbuffer_add_printf(out, "ok %s\n", alias);
}

void
partners_answer(struct box *box, const char *site, char *rest, struct evbuffer *out)
{
	struct schedule_stats clock = { .clock_known = false };

	if (box != NULL && strncmp(rest, "join ", 5) == 0)
		join_answer(box, site, rest + 5, out);
	else if (box != NULL && strcmp(rest, "refused") == 0) {
		counter_add(&box->counters.partner_refusals, 1);
		evbuffer_add_printf(out, "ok\n");
	} else if (box != NULL && strcmp(rest, "clock") == 0) {
		if (box->schedule != NULL)
			schedule_get_stats(box->schedule, &clock);
		evbuffer_add_printf(out, "ok %d %d %.9f\n", clock.clock_known,
		    clock.clock_known && clock.clock_synchronised,
		    clock.clock_known ? clock.clock_bound_s : 0.);
	} else
		evbuffer_add_printf(out, "error partner: join SESSION, refused or clock\n");
}

struct session *
partners_session(struct box *box, const char *task_id, const char *host)
{
	const char *at = host != NULL ? strrchr(host, '@') : NULL;

	return at != NULL ? session_of_alias(box, task_id, at) : NULL;
}
