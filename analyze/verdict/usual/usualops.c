/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "analyze/verdict/usual/usualops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/incident.h"
#include "narrows/result.h"

/* Newest documents kept: those of a dozen busy routes. */
enum { MEMO_DOCS_MAX = 16 * USUAL_OPS_SESSIONS_MAX };

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

/* --- documents --- */

/* An entry of a document's densities: counts of operations, of one size. */
struct doc_op {
	char *op, *host;
	double *counts;
	size_t n;
};

struct doc_ops {
	int64_t session_id; /* hash key */
	uint64_t stamp;     /* of the document */
	struct doc_op *op;
	size_t n;
	UT_hash_handle hh;
};

struct analysis_memo {
	struct doc_ops *docs; /* hash by session, the oldest entry first */
};

static void
entry_read(struct doc_ops *d, const json_t *entry)
{
	const char *op = result_text(entry, KEY_density_op),
		   *host = result_text(entry, KEY_density_host);
	const json_t *list = result_list(entry, KEY_density_counts), *v;
	struct doc_op *o;
	size_t i;

	if (op == NULL || host == NULL || json_array_size(list) > NW_HIST_QUARTERS)
		return;
	d->op = xreallocarray(d->op, d->n + 1, sizeof(*d->op));
	o = &d->op[d->n++];
	*o = (struct doc_op){ xstrdup(op), xstrdup(host),
		xcalloc(json_array_size(list) + 1, sizeof(*o->counts)), json_array_size(list) };
	json_array_foreach(list, i, v) o->counts[i] = json_number_value(v);
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	json_t *doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	const json_t *list = result_list(doc, KEY_result_density), *entry;
	size_t i;

	(void)s;
	json_array_foreach(list, i, entry) entry_read(arg, entry);
	json_decref(doc);
	return 0;
}

static void
doc_free(struct doc_ops *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		free(d->op[i].op);
		free(d->op[i].host);
		free(d->op[i].counts);
	}
	free(d->op);
	free(d);
}

static void
memo_drop(struct analysis_memo *m, struct doc_ops *d)
{
	HASH_DEL(m->docs, d);
	doc_free(d);
}

struct analysis_memo *
analysis_memo_new(void)
{
	return xcalloc(1, sizeof(struct analysis_memo));
}

void
analysis_memo_free(struct analysis_memo *m)
{
	struct doc_ops *d, *tmp;

	if (m == NULL)
		return;
	HASH_ITER (hh, m->docs, d, tmp)
		memo_drop(m, d);
	free(m);
}

/* The document in the memo, or NULL. *stamp is that of the store. */
static struct doc_ops *
memo_find(struct store_reader *r, struct analysis_memo *m, int64_t session_id, uint64_t *stamp)
{
	struct doc_ops *d;

	if (m == NULL || store_result_stamp(r, session_id, stamp) < 0)
		return NULL;
	HASH_FIND(hh, m->docs, &session_id, sizeof(session_id), d);
	return d != NULL && d->stamp == *stamp ? d : NULL;
}

static void
memo_keep(struct analysis_memo *m, struct doc_ops *d)
{
	struct doc_ops *old;

	HASH_FIND(hh, m->docs, &d->session_id, sizeof(d->session_id), old);
	if (old == NULL && HASH_COUNT(m->docs) == MEMO_DOCS_MAX)
		old = m->docs;
	if (old != NULL)
		memo_drop(m, old);
	HASH_ADD(hh, m->docs, session_id, sizeof(d->session_id), d);
}

/* --- counts --- */

/* Adds the counts of all sizes of each operation. */
static void
doc_add(struct gathering *g, const struct doc_ops *d)
{
	const struct doc_op *o;
	struct op_counts *c;
	size_t i;

	for (o = d->op; o < d->op + d->n; o++) {
		if ((c = op_find(g, o->op, o->host)) == NULL)
			continue;
		for (i = 0; i < o->n; i++)
			if (o->counts[i] > 0)
				c->counts[g->session][i] += o->counts[i];
	}
}

static int
session_add(
    struct store_reader *r, struct analysis_memo *m, int64_t session_id, struct gathering *g)
{
	uint64_t stamp = 0;
	struct doc_ops *d = memo_find(r, m, session_id, &stamp);
	int rc;

	if (d != NULL) {
		doc_add(g, d);
		return NW_OK;
	}
	d = xcalloc(1, sizeof(*d));
	d->session_id = session_id;
	d->stamp = stamp;
	rc = store_session_get(r, session_id, on_session, d);
	doc_add(g, d);
	if (rc == NW_OK && stamp != 0)
		memo_keep(m, d);
	else
		doc_free(d);
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
