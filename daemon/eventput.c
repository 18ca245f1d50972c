/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/eventput.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/box.h"
#include "daemon/gate/hearsay.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/hostlist.h"
#include "daemon/session.h"
#include "narrows/event.h"
#include "narrows/siteconf.h"
#include "narrows/speakers.h"
#include "narrows/task.h"

enum { TASK_BYTES = 256 };

static bool
names_task(const struct nw_attr *a)
{
	return a->type == NW_ATTR_TEXT && strlen(a->v.text) < TASK_BYTES &&
	    (strcmp(a->key, "task_id") == 0 ||
		(strcmp(a->key, "TASKID") == 0 && strcmp(a->v.text, "none") != 0));
}

const char *
event_task(const struct nw_event *e)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++)
		if (names_task(&e->attrs[i]))
			return e->attrs[i].v.text;
	return NULL;
}

void
event_speakers_read(struct box *box)
{
	char *dir = siteconf_tls_dir(box->conf->state_dir, box->conf->tls_dir);

	free(box->speakers);
	box->speakers = speakers_read(dir, box->conf->speaks_for);
	free(dir);
}

/* Returns true if the sender may speak for the host of the event. Peers in clear have no name that
 * a certificate proves, and no host to stay with. */
static bool
may_speak(const struct box *box, const struct event_source *from, const struct nw_event *e)
{
	const char *owner = from->guest->owner;

	if (e->host == NULL || strncmp(owner, "host:", 5) != 0 ||
	    strcasecmp(e->host, from->host->name) == 0 || session_guest_is(from->guest, e->host))
		return true;
	return speakers_may(box->speakers, owner, "host", e->host) ||
	    (strncmp(e->name, "DPSS_", 5) == 0 &&
		speakers_may(box->speakers, owner, "storage", e->host));
}

int
event_put(struct box *box, const struct event_source *from, const struct nw_event *e)
{
	const char *task = event_task(e);
	struct nw_attr attrs[NW_EVENT_ATTRS_MAX];
	struct nw_event kept = *e;
	char copy[TASK_BYTES];
	size_t i;

	memcpy(attrs, e->attrs, e->n_attrs * sizeof(*attrs));
	kept.attrs = attrs;
	if (task != NULL && task_is_secret(task)) {
		strcpy(copy, task); /* names_task() knows that it fits */
		task_mask(task, copy, strlen(copy));
		for (i = 0; i < e->n_attrs; i++)
			if (attrs[i].type == NW_ATTR_TEXT && strcmp(attrs[i].v.text, task) == 0)
				attrs[i].v.text = copy;
	}
	if (!may_speak(box, from, e)) {
		counter_add(&box->counters.events_for_others, 1);
		kept.host = from->host->name;
		if (kept.n_attrs < NW_EVENT_ATTRS_MAX)
			attrs[kept.n_attrs++] = (struct nw_attr){
				.key = "said_host", .type = NW_ATTR_TEXT, .v.text = e->host
			};
	}
	if (box->announce != NULL && from->session_id == 0)
		announce_event(box->announce, from->host->name, &kept);
	return nw_batch_event(commit_batch(box->commit), from->session_id, from->host->id, &kept);
}
