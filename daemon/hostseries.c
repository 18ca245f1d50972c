/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/hostseries.h"

#include <stdlib.h>

#include <jansson.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/hostlist.h"
#include "narrows/xmalloc.h"

static char *
subject_text(const struct host *h, const struct hostseries_words *w)
{
	json_t *subject = json_pack("{s:s, s:s}", "hostname", h->name, "type", "host");
	char *text;

	if (subject != NULL && w->key != NULL)
		json_object_set_new(subject, w->key, json_string(w->name));
	if (subject != NULL && w->more != NULL)
		json_object_update(subject, w->more);
	text = subject != NULL ? json_dumps(subject, JSON_COMPACT) : NULL;
	json_decref(subject);
	return text;
}

int64_t
hostseries_new(struct box *box, const struct host *h, const struct hostseries_words *w,
    int64_t xsp_id, int64_t now_wall_ns)
{
	char *subject = subject_text(h, w);
	char *mid = w->name != NULL ? xasprintf("%s/%s/%s", h->name, w->event_type, w->name)
				    : xasprintf("%s/%s", h->name, w->event_type);
	struct nw_meta_rec meta = { .id = box->next.meta++,
		.host_id = h->id,
		.xsp_id = xsp_id,
		.mid = mid,
		.event_type = w->event_type,
		.subject_json = subject != NULL ? subject : "{}",
		.params_json = w->params_json,
		.first_wall_ns = now_wall_ns };
	struct nw_layout_rec layout = { .id = box->next.layout++,
		.meta_id = meta.id,
		.n_fields = w->n_fields,
		.fields = w->fields };

	while (nw_batch_meta(commit_batch(box->commit), &meta) < 0)
		xmalloc_spend();
	while (nw_batch_layout(commit_batch(box->commit), &layout) < 0)
		xmalloc_spend();
	free(subject);
	free(mid);
	return layout.id;
}

void
hostseries_put(struct box *box, int64_t layout_id, const double *values, uint32_t n_fields,
    int64_t now_wall_ns)
{
	while (nw_batch_rows(commit_batch(box->commit), layout_id, n_fields, 1, &now_wall_ns,
		   values, NULL, 0) < 0)
		xmalloc_spend();
}
