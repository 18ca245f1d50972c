/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/announced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/hearsay.h"
#include "daemon/gate/hidekey.h"
#include "daemon/gate/traces.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/ends.h"
#include "daemon/hostlist.h"
#include "daemon/session.h"
#include "narrows/announce.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/provoked.h"
#include "narrows/task.h"
#include "narrows/xmalloc.h"

enum { LATE_MOST = 4 }; /* late judgements of a session: anybody can send datagrams */

/* A flow's reference to its session: sessions merge. */
struct flow_session {
	struct session *s;
};

static bool
is_measured(const struct session *s)
{
	return strcmp(session_get_owner(s), SESSION_ANNOUNCER) != 0;
}

static char *
task_of(const struct nw_announcement *n)
{
	if (n->group[0] != '\0')
		return xasprintf(TASK_ANNOUNCED "%s", n->group);
	return xasprintf(TASK_ANNOUNCED "%s/%u-%s/%u-%lld", n->src, n->sport, n->dst, n->dport,
	    (long long)n->start_wall_ns);
}

/* Another group turned out to be the same transfer: its session becomes part of s. */
static void
also_join(struct box *box, const struct nw_announcement *n, struct session *s)
{
	const struct session_guest guest = { .owner = SESSION_ANNOUNCER };
	struct session *other;
	char *task;

	if (n->also[0] == '\0')
		return;
	task = xasprintf(TASK_ANNOUNCED "%s", n->also);
	other = session_now(session_find(box, task, &guest));
	if (other != NULL && other != s && !is_measured(other))
		session_merge(other, s);
	session_release(other);
	free(task);
}

/* The session of the flow or its group, which may have become part of a measured session. */
static struct session *
own_session(struct box *box, const struct nw_announcement *n, const struct nw_subject *ends)
{
	const struct session_guest guest = { .owner = SESSION_ANNOUNCER };
	char *task = task_of(n);
	struct session *s = session_now(session_find(box, task, &guest));

	if (s == NULL || !is_measured(s)) {
		session_release(s);
		s = session_now(session_join(box, task, &guest));
		session_take_part(s, &guest);
		session_name(s, n->application[0] != '\0' ? n->application : NULL);
		session_announced(s, true);
	}
	free(task);
	also_join(box, n, s);
	if (ends->sport != 0 && ends->dport != 0 && !is_measured(s))
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
	struct session *measured =
	    n->sport != 0 && n->dport != 0 ? ends_find(box->ends, &ends) : NULL;

	if (measured != NULL && n->group[0] == '\0') {
		w->s = measured;
		w->s->refs++;
	} else {
		w->s = own_session(box, n, &ends);
		if (measured != NULL && w->s != measured && !is_measured(w->s)) {
			session_merge(w->s, measured);
			w->s = session_now(w->s);
		}
	}
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
	const struct box *box = arg;
	struct flow_session *w = session;

	session_announced(w->s, false);
	w->s = session_now(w->s);
	if (!box->stopping && w->s->state == SESSION_CLOSED && w->s->n_judged_late < LATE_MOST) {
		w->s->n_judged_late++;
		session_judge_again(
		    w->s, "a program announced the end of the transfer after the session's end");
	}
	session_release(w->s);
	free(w);
}

/* A source that is no host of the box shares one host row with all such sources: a datagram makes
 * no host, and the sources' data have one host's share of the store. */
static int64_t
on_host(void *arg, const char *source)
{
	return host_seen(arg, host_is_known(arg, source) ? source : SESSION_ANNOUNCER, NULL)->id;
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

static void
on_lost(void *arg, unsigned n)
{
	counter_add(&((struct box *)arg)->counters.announcements_lost, n);
}

static void
on_hide(void *arg, const char *name, char out[ANNOUNCE_HIDDEN_BYTES])
{
	hidekey_hide(((struct box *)arg)->announce_key, name, out);
}

int
announced_start(struct box *box, const struct nw_scitags *names, struct announce **out,
    char why[CONF_WHY_BYTES])
{
	const struct announce_conf c = { box->conf->listen_announcements, box->conf->announce_from,
		names, box->conf->announce_hide };
	const struct announce_ops ops = { on_begin, on_more, on_end, on_host, on_batch, on_full,
		on_note, on_charge, on_lost, on_hide, &box->next, box };

	if (c.hide != ANNOUNCE_HIDE_NONE &&
	    hidekey_read(box->conf->state_dir, box->announce_key, why) < 0)
		return NW_EIO;
	return announce_start(box->base, &c, &ops, out, why);
}

static void
on_trace(void *arg, const char *sender, const struct nw_announcement *n)
{
	(void)announce_whole(((struct box *)arg)->announce, sender, n);
}

int
announced_traces_start(struct box *box, struct traces **out, char why[CONF_WHY_BYTES])
{
	return box->conf->take_traces
	    ? traces_start(box->base, box->conf->announce_from, on_trace, box, out, why)
	    : NW_OK;
}
