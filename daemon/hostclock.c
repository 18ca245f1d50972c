/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/hostclock.h"

#include <stdlib.h>

#include <jansson.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/hostlist.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

static const char *const fields[] = { "offset_s", "bound_s" };
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };

/* Once per host and life of the box. */
static void
announce(struct box *box, struct host *h, int64_t xsp_id, int64_t now_wall_ns)
{
	json_t *subject = json_pack("{s:s, s:s}", "hostname", h->name, "type", "host");
	char *text = subject != NULL ? json_dumps(subject, JSON_COMPACT) : NULL;
	char *mid = xasprintf("%s/nw:clock", h->name);
	struct nw_meta_rec meta = { .id = box->next.meta++,
		.host_id = h->id,
		.xsp_id = xsp_id,
		.mid = mid,
		.event_type = "nw:clock",
		.subject_json = text != NULL ? text : "{}",
		.params_json = "{\"unit\":\"s\",\"kind\":\"gauge\"}",
		.first_wall_ns = now_wall_ns };
	struct nw_layout_rec layout = {
		.id = box->next.layout++, .meta_id = meta.id, .n_fields = N_FIELDS, .fields = fields
	};

	while (nw_batch_meta(commit_batch(box->commit), &meta) < 0)
		xmalloc_spend();
	while (nw_batch_layout(commit_batch(box->commit), &layout) < 0)
		xmalloc_spend();
	h->clock_layout_id = layout.id;
	json_decref(subject);
	free(text);
	free(mid);
}

void
hostclock_put(struct box *box, struct host *h, int64_t xsp_id, double offset_s, double bound_s,
    int64_t now_wall_ns)
{
	const double values[N_FIELDS] = { offset_s, bound_s };

	if (h->clock_layout_id == 0)
		announce(box, h, xsp_id, now_wall_ns);
	while (nw_batch_rows(commit_batch(box->commit), h->clock_layout_id, N_FIELDS, 1,
		   &now_wall_ns, values, NULL, 0) < 0)
		xmalloc_spend();
}
