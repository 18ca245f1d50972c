/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/eventput.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "narrows/event.h"
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

int
event_put(struct box *box, int64_t session_id, int64_t host_id, const struct nw_event *e)
{
	const char *task = event_task(e);
	struct nw_attr attrs[NW_EVENT_ATTRS_MAX];
	struct nw_event masked = *e;
	char copy[TASK_BYTES];
	size_t i;

	if (task == NULL || !task_is_secret(task))
		return nw_batch_event(commit_batch(box->commit), session_id, host_id, e);
	strcpy(copy, task); /* names_task() knows that it fits */
	task_mask(task, copy, strlen(copy));
	memcpy(attrs, e->attrs, e->n_attrs * sizeof(*attrs));
	for (i = 0; i < e->n_attrs; i++)
		if (attrs[i].type == NW_ATTR_TEXT && strcmp(attrs[i].v.text, task) == 0)
			attrs[i].v.text = copy;
	masked.attrs = attrs;
	return nw_batch_event(commit_batch(box->commit), session_id, host_id, &masked);
}
