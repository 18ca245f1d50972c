/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

static char *
usual_words(const struct nw_usual *u)
{
	const char *n = fmt_int((int64_t)u->n).s;

	switch (u->said) {
	case NW_AGAINST_SLOWER:
		return xasprintf(
		    "%s times slower than usual, slower than %s of %s earlier sessions.",
		    fmt_ratio(u->ratio).s, fmt_share(u->slower_than).s, n);
	case NW_AGAINST_FASTER:
		return xasprintf("%s times faster than usual, faster than %s of %s earlier "
				 "sessions.",
		    fmt_ratio(1 / u->ratio).s, fmt_share(1 - u->slower_than).s, n);
	case NW_AGAINST_USUAL:
		return xasprintf("As fast as usual: %s of %s earlier sessions were faster.",
		    fmt_share(u->slower_than).s, n);
	case NW_AGAINST_TOO_FEW: break;
	}
	return NULL;
}

/* Earlier sessions of about this size; this session comes last. */
static size_t
peers_keep(struct past *p, const struct judgement *j)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n; i++)
		if (past_is_alike(&p->session[i], j->bytes)) {
			struct past_session one = p->session[i];

			p->session[i] = p->session[kept];
			p->session[kept++] = one;
		}
	return kept;
}

/* Whether a change separates this session, the last one, from the time before. */
static int
since_find(const struct past_session *session, const double *rate, size_t n, struct usual *out)
{
	struct nw_route_changes c;
	int rc = nw_route_changes(rate, n, &c);

	if (rc < 0 || c.n == 0)
		return rc;
	out->has_since = true;
	change_tell(session, &c.change[c.n - 1], &out->since);
	return NW_OK;
}

static int
peers_compare(struct past *p, size_t n, const struct past_session *own, struct usual *out)
{
	double *rate = xcalloc(n + 1, sizeof(*rate));
	struct past_session *all = xcalloc(n + 1, sizeof(*all));
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		all[i] = p->session[i];
		rate[i] = all[i].bytes_per_s;
	}
	all[n] = *own;
	rate[n] = own->bytes_per_s;
	rc = nw_usual(rate, n, rate[n], &out->usual);
	if (rc == NW_OK && out->usual.said != NW_AGAINST_TOO_FEW)
		rc = since_find(all, rate, n + 1, out);
	out->sentence = usual_words(&out->usual);
	free(all);
	free(rate);
	return rc;
}

int
usual_find(
    struct store_reader *r, const struct evidence *e, const struct judgement *j, struct usual *out)
{
	int64_t start = j->first_wall_ns != 0 ? j->first_wall_ns : e->opened_wall_ns;
	struct past_session own = { e->session_id, start, j->bytes_per_s, j->bytes, NULL };
	struct past p;
	int rc;

	memset(out, 0, sizeof(*out));
	if (e->open || j->route == NULL || !(isfinite(j->bytes_per_s) && j->bytes_per_s > 0))
		return NW_OK;
	if ((rc = past_load(r, j->route, j->program, start, e->session_id, &p)) < 0)
		return rc;
	out->known = true;
	rc = peers_compare(&p, peers_keep(&p, j), &own, out);
	past_clear(&p);
	return rc;
}

void
usual_clear(struct usual *u)
{
	free(u->sentence);
	free(u->since.sentence);
	memset(u, 0, sizeof(*u));
}
