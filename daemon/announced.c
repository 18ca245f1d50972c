/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/announced.h"

#include <stdlib.h>

#include "daemon/gate/hearsay.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/ends.h"
#include "daemon/hostlist.h"
#include "daemon/session.h"
#include "narrows/announce.h"
#include "narrows/provoked.h"
#include "narrows/xmalloc.h"

/* A flow's reference to its session: sessions merge. */
struct flow_session {
	struct session *s;
};

static struct session *
own_session(struct box *box, const struct nw_announcement *n, const struct nw_subject *ends)
{
	const struct session_guest guest = { .owner = SESSION_ANNOUNCER };
	char *task = xasprintf("announced:%s/%u-%s/%u-%lld", n->src, n->sport, n->dst, n->dport,
	    (long long)n->start_wall_ns);
	struct session *s = session_join(box, task, &guest);

	free(task);
	session_take_part(s, &guest);
	session_name(s, n->application[0] != '\0' ? n->application : NULL);
	session_announced(s, true);
	ends_announce(box->ends, s, ends);
	return s;
}

static void *
on_begin(void *arg, const struct nw_announcement *n, int64_t *session_id)
{
	const struct nw_subject ends = {
		.src = n->src, .dst = n->dst, .sport = n->sport, .dport = n->dport
	};
	struct box *box = arg;
	struct flow_session *w = xcalloc(1, sizeof(*w));

	if ((w->s = ends_find(box->ends, &ends)) != NULL)
		w->s->refs++;
	else
		w->s = own_session(box, n, &ends);
	*session_id = w->s->id;
	return w;
}

static void
on_more(void *arg, void *session)
{
	struct flow_session *w = session;

	(void)arg;
	w->s = session_now(w->s);
	w->s->fresh = true;
}

static void
on_end(void *arg, void *session)
{
	struct flow_session *w = session;

	(void)arg;
	session_announced(w->s, false);
	session_release(session_now(w->s));
	free(w);
}

static int64_t
on_host(void *arg, const char *source)
{
	return host_seen(arg, source, NULL)->id;
}

static struct nw_batch *
on_batch(void *arg)
{
	return commit_batch(((struct box *)arg)->commit);
}

static bool
on_full(void *arg)
{
	return commit_is_owner_full(((struct box *)arg)->commit, SESSION_ANNOUNCER);
}

static void
on_note(void *arg, enum announce_fate fate, const char *source, const char *why)
{
	struct box *box = arg;
	counter *const of[] = { [ANNOUNCE_TAKEN] = &box->counters.announcements,
		[ANNOUNCE_FOREIGN] = &box->counters.announcements_foreign,
		[ANNOUNCE_MALFORMED] = &box->counters.announcements_malformed,
		[ANNOUNCE_STALE] = &box->counters.announcements_stale,
		[ANNOUNCE_OVER_LIMIT] = &box->counters.announcements_over_limit };

	counter_add(of[fate], 1);
	if (fate == ANNOUNCE_MALFORMED)
		provoked_warnx(&box->log_rate, SESSION_ANNOUNCER,
		    "announcement.reject peer=%s why=\"%s\"", source, why);
	commit_check(box->commit);
}

static void
on_charge(void *arg, size_t bytes)
{
	commit_charge(((struct box *)arg)->commit, SESSION_ANNOUNCER, bytes);
}

int
announced_start(struct box *box, const struct nw_scitags *names, struct announce **out,
    char why[CONF_WHY_BYTES])
{
	const struct announce_conf c = { box->conf->listen_announcements, box->conf->announce_from,
		names };
	const struct announce_ops ops = { on_begin, on_more, on_end, on_host, on_batch, on_full,
		on_note, on_charge, &box->next, box };

	return announce_start(box->base, &c, &ops, out, why);
}
