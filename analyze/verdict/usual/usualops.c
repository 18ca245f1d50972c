/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/usualops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "analyze/verdict/usual/memo.h"
#include "narrows/err.h"
#include "narrows/incident.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

/* The band: the middle four fifths of the sessions. */
static const double LOW = 0.1, HIGH = 0.9;

/* An operation's counts in each session read. */
struct op_counts {
	char *op, *host;
	double (*counts)[NW_HIST_QUARTERS]; /* USUAL_OPS_SESSIONS_MAX */
};

struct gathering {
	struct op_counts op[USUAL_OPS_MAX];
	size_t n, session;
};

/* NULL: no room. */
static struct op_counts *
op_find(struct gathering *g, const char *op, const char *host)
{
	struct op_counts *c;

	for (c = g->op; c < g->op + g->n; c++)
		if (strcmp(c->op, op) == 0 && strcmp(c->host, host) == 0)
			return c;
	if (g->n == USUAL_OPS_MAX)
		return NULL;
	g->n++;
	*c = (struct op_counts){ xstrdup(op), xstrdup(host),
		xcalloc(USUAL_OPS_SESSIONS_MAX, sizeof(*c->counts)) };
	return c;
}

/* Adds the counts of all sizes of an operation. */
static void
entry_add(struct gathering *g, const json_t *entry)
{
	const char *op = result_text(entry, KEY_density_op),
		   *host = result_text(entry, KEY_density_host);
	const json_t *list = result_list(entry, KEY_density_counts), *v;
	struct op_counts *c;
	size_t i;

	if (op == NULL || host == NULL || json_array_size(list) > NW_HIST_QUARTERS ||
	    (c = op_find(g, op, host)) == NULL)
		return;
	json_array_foreach(list, i, v) if (json_number_value(v) > 0) c->counts[g->session][i] +=
	    json_number_value(v);
}

static int
session_add(
    struct store_reader *r, struct analysis_memo *memo, int64_t session_id, struct gathering *g)
{
	const json_t *list, *entry;
	json_t *doc;
	size_t i;
	int rc = memo_document(r, memo, session_id, &doc);

	list = result_list(doc, KEY_result_density);
	json_array_foreach(list, i, entry) entry_add(g, entry);
	json_decref(doc);
	return rc;
}

/* Counts become shares of operations up to each entry. Returns false where there are none. */
static bool
counts_accumulate(double counts[NW_HIST_QUARTERS])
{
	double sum = 0, all;
	size_t i;

	for (i = 0; i < NW_HIST_QUARTERS; i++)
		counts[i] = sum += counts[i];
	for (all = sum, i = 0; all > 0 && i < NW_HIST_QUARTERS; i++)
		counts[i] /= all;
	return all > 0;
}

/* The band of an operation over its sessions. */
static void
op_summarise(struct op_counts *c, size_t n_sessions, struct usual_op *out)
{
	double v[USUAL_OPS_SESSIONS_MAX];
	size_t i, k, n = 0;

	for (k = 0; k < n_sessions; k++)
		if (counts_accumulate(c->counts[k])) {
			memmove(c->counts[n], c->counts[k], sizeof(c->counts[k]));
			n++;
		}
	out->n = n;
	for (i = 0; n > 0 && i < NW_HIST_QUARTERS; i++) {
		for (k = 0; k < n; k++)
			v[k] = c->counts[k][i];
		out->low[i] = quantile(v, n, LOW);
		out->median[i] = quantile(v, n, 0.5);
		out->high[i] = quantile(v, n, HIGH);
	}
}

static void
ops_summarise(struct gathering *g, struct usual_ops *out)
{
	size_t i;

	out->op = xcalloc(g->n + 1, sizeof(*out->op));
	for (i = 0; i < g->n; i++) {
		struct usual_op *op = &out->op[out->n];

		op_summarise(&g->op[i], g->session, op);
		if (op->n < NW_USUAL_MIN)
			continue;
		op->op = xstrdup(g->op[i].op);
		op->host = xstrdup(g->op[i].host);
		out->n++;
	}
}

int
usual_ops_find(struct store_reader *r, struct analysis_memo *memo,
    const struct past_session *session, size_t n, struct usual_ops *out)
{
	struct gathering *g = xcalloc(1, sizeof(*g));
	size_t i = n > USUAL_OPS_SESSIONS_MAX ? n - USUAL_OPS_SESSIONS_MAX : 0;
	int rc = NW_OK;

	*out = (struct usual_ops){ 0 };
	for (; i < n && rc == NW_OK; i++, g->session++) {
		rc = session_add(r, memo, session[i].id, g);
		if (rc == NW_ENOTFOUND) /* expired meanwhile */
			rc = NW_OK;
	}
	if (rc == NW_OK)
		ops_summarise(g, out);
	for (i = 0; i < g->n; i++) {
		free(g->op[i].op);
		free(g->op[i].host);
		free(g->op[i].counts);
	}
	free(g);
	return rc;
}

void
usual_ops_clear(struct usual_ops *o)
{
	size_t i;

	for (i = 0; i < o->n; i++) {
		free(o->op[i].op);
		free(o->op[i].host);
	}
	free(o->op);
	*o = (struct usual_ops){ 0 };
}
