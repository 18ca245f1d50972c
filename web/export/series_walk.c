/* SPDX-License-Identifier: BSD-3-Clause */
/* A walk holds no query open while a client reads: it remembers the last id and seeks. */
#include "web/export/series_walk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"

enum { WINDOW_METAS = 256 };

struct walk_host {
	int64_t id;
	char *name;
};

struct walk {
	struct store_reader *reader;
	int64_t session_id, host_t0, host_t1; /* hosts' own series count from t0 to before t1 */
	int64_t clock_lead_ns;                /* series of clocks count longer, on both sides */
	char *prefix;
	struct walk_host *hosts;
	size_t n_hosts, source; /* 0: the session's series; k: series of hosts[k - 1] */
	struct walk_meta metas[WINDOW_METAS];
	size_t n_metas, next;
	int64_t after_id;
	bool last_window;
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct walk *w = arg;

	w->host_t0 = s->opened_wall_ns;
	w->host_t1 = INT64_MAX;
	if (s->closed_wall_ns != 0)
		w->host_t1 = (s->closed_wall_ns > s->last_data_wall_ns ? s->closed_wall_ns
								       : s->last_data_wall_ns) +
		    1;
	/* a session opens at the box; measurements may have begun earlier */
	if (res != NULL && res->start_wall_ns != 0 && res->start_wall_ns < w->host_t0)
		w->host_t0 = res->start_wall_ns;
	return 0;
}

static int
host_add(struct walk *w, int64_t id)
{
	struct walk_host *grown;
	size_t i;

	for (i = 0; i < w->n_hosts; i++)
		if (w->hosts[i].id == id)
			return 0;
	if ((grown = reallocarray(w->hosts, w->n_hosts + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	w->hosts = grown;
	w->hosts[w->n_hosts++] = (struct walk_host){ .id = id };
	return 0;
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *xsp)
{
	return host_add(arg, xsp->host_id);
}

/* A host where nothing of the session ran may have looked on: at the other end of a connection. */
static int
on_witness(void *arg, const struct nw_meta_rec *meta)
{
	return host_add(arg, meta->host_id);
}

static char *
dup_or_empty(const char *text)
{
	return strdup(text != NULL ? text : "");
}

static int
on_host(void *arg, const struct nw_host_rec *host)
{
	struct walk_host *h = arg;

	return (h->name = dup_or_empty(host->name)) != NULL ? 0 : NW_ENOMEM;
}

int
walk_new(struct store_reader *r, int64_t session_id, const char *prefix, struct walk **out)
{
	struct walk *w = calloc(1, sizeof(*w));
	size_t i;
	int rc;

	if (w == NULL || (w->prefix = dup_or_empty(prefix)) == NULL) {
		free(w);
		return NW_ENOMEM;
	}
	w->reader = r;
	w->session_id = session_id;
	if ((rc = store_session_get(r, session_id, on_session, w)) < 0 ||
	    (rc = store_xsp_of_session(r, session_id, on_xsp, w)) < 0 ||
	    (rc = store_metas(r, session_id, 0, NW_TYPE_HOST, on_witness, w)) < 0)
		goto out;
	for (i = 0; i < w->n_hosts; i++)
		if ((rc = store_host_get(r, w->hosts[i].id, on_host, &w->hosts[i])) < 0 &&
		    rc != NW_ENOTFOUND)
			goto out;
	*out = w;
	return NW_OK;
out:
	walk_free(w);
	return rc;
}

void
walk_lead(struct walk *w, int64_t clock_lead_ns)
{
	w->clock_lead_ns = clock_lead_ns;
}

static void
metas_clear(struct walk *w)
{
	size_t i;

	for (i = 0; i < w->n_metas; i++) {
		free(w->metas[i].mid);
		free(w->metas[i].pid);
		free(w->metas[i].event_type);
		free(w->metas[i].subject_json);
		free(w->metas[i].params_json);
	}
	w->n_metas = w->next = 0;
}

void
walk_free(struct walk *w)
{
	size_t i;

	if (w == NULL)
		return;
	metas_clear(w);
	for (i = 0; i < w->n_hosts; i++)
		free(w->hosts[i].name);
	free(w->hosts);
	free(w->prefix);
	free(w);
}

static const char *
host_name(const struct walk *w, int64_t id)
{
	size_t i;

	for (i = 0; i < w->n_hosts; i++)
		if (w->hosts[i].id == id && w->hosts[i].name != NULL)
			return w->hosts[i].name;
	return "";
}

static int
on_meta(void *arg, const struct nw_meta_rec *rec)
{
	struct walk *w = arg;
	struct walk_meta *m = &w->metas[w->n_metas];

	if (rec->id <= w->after_id)
		return 0;
	if (w->n_metas == WINDOW_METAS) {
		w->last_window = false;
		return 1;
	}
	*m = (struct walk_meta){ .id = rec->id,
		.host_id = rec->host_id,
		.host = host_name(w, rec->host_id),
		.t0_wall_ns = w->source > 0 ? w->host_t0 : INT64_MIN,
		.t1_wall_ns = w->source > 0 ? w->host_t1 : INT64_MAX };
	if (w->source > 0 && nw_type_begins(rec->event_type, NW_TYPE_EXCHANGE)) {
		m->t0_wall_ns -= w->clock_lead_ns;
		m->t1_wall_ns +=
		    m->t1_wall_ns < INT64_MAX - w->clock_lead_ns ? w->clock_lead_ns : 0;
	}
	w->n_metas++;
	if ((m->mid = dup_or_empty(rec->mid)) == NULL ||
	    (m->pid = dup_or_empty(rec->pid)) == NULL ||
	    (m->event_type = dup_or_empty(rec->event_type)) == NULL ||
	    (m->subject_json = dup_or_empty(rec->subject_json)) == NULL ||
	    (m->params_json = dup_or_empty(rec->params_json)) == NULL)
		return NW_ENOMEM;
	return 0;
}

static int
window_load(struct walk *w)
{
	bool of_host = w->source > 0;
	int rc;

	metas_clear(w);
	w->last_window = true;
	rc = store_metas(w->reader, of_host ? 0 : w->session_id,
	    of_host ? w->hosts[w->source - 1].id : 0, w->prefix, on_meta, w);
	if (w->n_metas > 0)
		w->after_id = w->metas[w->n_metas - 1].id;
	return rc;
}

int
walk_next(struct walk *w, const struct walk_meta **out)
{
	int rc;

	while (w->next == w->n_metas) {
		if (w->last_window) {
			w->last_window = false;
			w->after_id = 0;
			w->source++;
		}
		if (w->source > w->n_hosts) {
			w->source = 0;
			*out = NULL;
			return NW_OK;
		}
		if ((rc = window_load(w)) < 0)
			return rc;
	}
	*out = &w->metas[w->next++];
	return NW_OK;
}
