/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/hostlist.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/hostcost.h"
#include "narrows/clock.h"

static struct host *
host_new(struct box *box, int64_t id, const char *name, int64_t first_seen_wall_ns)
{
	struct host *h = xcalloc(1, sizeof(*h));

	h->id = id;
	h->name = xstrdup(name);
	h->first_seen_wall_ns = first_seen_wall_ns;
	HASH_ADD_KEYPTR(hh, box->hosts, h->name, strlen(h->name), h);
	return h;
}

struct host *
host_seen(struct box *box, const char *name, const char *info_json)
{
	struct nw_host_rec rec = {
		.name = name, .info_json = info_json, .last_seen_wall_ns = nw_wall_ns()
	};
	struct host *h;

	HASH_FIND_STR(box->hosts, name, h);
	if (h == NULL)
		h = host_new(box, box->next.host++, name, rec.last_seen_wall_ns);
	rec.id = h->id;
	rec.first_seen_wall_ns = h->first_seen_wall_ns;
	while (nw_batch_host(commit_batch(box->commit), &rec) < 0)
		xmalloc_spend();
	return h;
}

bool
host_is_known(const struct box *box, const char *name)
{
	struct host *h;

	HASH_FIND_STR(box->hosts, name, h);
	return h != NULL;
}

void
host_restore(struct box *box, int64_t id, const char *name, int64_t first_seen_wall_ns)
{
	host_new(box, id, name, first_seen_wall_ns);
}

void
host_free_all(struct box *box)
{
	struct host *h, *tmp;

	HASH_ITER (hh, box->hosts, h, tmp) {
		HASH_DEL(box->hosts, h);
		hostcost_free_all(h->collectors);
		free(h->name);
		free(h);
	}
}
