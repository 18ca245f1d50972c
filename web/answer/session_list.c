/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/session_list.h"

#include "narrows/err.h"

struct listing {
	const struct session_filter *f;
	store_session_fn *fn;
	void *arg;
	int64_t asked; /* the session that is read; 0: any */
	size_t n, limit;
	int64_t last_id;
	bool more;
};

static int
on_newest(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct listing *l = arg;

	l->more = l->n == l->limit;
	if (l->more)
		return 1;
	l->n++;
	l->last_id = s->id;
	return l->fn(l->arg, s, res);
}

static int
on_found(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct listing *l = arg;

	if (s->id != l->asked || !session_filter_passes(l->f, s, res))
		return 0;
	l->n++;
	return l->fn(l->arg, s, res);
}

static bool
is_plain(const struct session_filter *f)
{
	return f->sort == SORT_NEWEST && f->text[0] == '\0' && f->stage[0] == '\0' &&
	    f->program[0] == '\0' && f->label[0] == '\0' && f->host[0] == '\0' &&
	    f->route[0] == '\0' && f->state[0] == '\0' && f->since_wall_ns == 0 &&
	    f->until_wall_ns == 0 && !(f->rate_min > 0) && !(f->rate_max > 0);
}

static int
found_list(struct session_index *x, struct store_reader *r, struct listing *l,
    struct session_listed *listed)
{
	struct session_found found;
	size_t i;
	int rc;

	l->last_id = l->f->before;
	do {
		rc = session_index_find(x, l->f, l->last_id, l->limit - l->n, &found);
		if (rc == NW_OK)
			listed->n_all = found.n_pass;
		for (i = 0; rc == NW_OK && i < found.n; i++) {
			l->last_id = l->asked = found.id[i];
			rc = store_sessions(r, l->asked + 1, 1, on_found, l);
		}
	} while (rc == NW_OK && found.more && l->n < l->limit);
	l->more = rc == NW_OK && found.more;
	return rc;
}

static int
index_list(struct session_index *x, struct store_reader *r, struct listing *l,
    struct session_listed *listed)
{
	struct session_index *own = x == NULL ? session_index_new() : NULL,
			     *index = x != NULL ? x : own;
	bool done = false;
	int rc = index != NULL ? NW_OK : NW_ENOMEM;

	while (rc == NW_OK && !done)
		rc = session_index_follow(index, r, SESSION_FOLLOW, &done);
	if (rc == NW_OK)
		rc = found_list(index, r, l, listed);
	session_index_free(own);
	return rc;
}

int
session_list(struct session_index *x, struct store_reader *r, const struct session_filter *f,
    store_session_fn *fn, void *arg, struct session_listed *listed)
{
	struct listing l = { .f = f,
		.fn = fn,
		.arg = arg,
		.limit = f->limit > 0 ? (size_t)f->limit : SESSION_LIST_MAX };
	int rc;

	*listed = (struct session_listed){ 0 };
	rc = is_plain(f) ? store_sessions(r, f->before, l.limit + 1, on_newest, &l)
			 : index_list(x, r, &l, listed);
	listed->next = l.more ? l.last_id : 0;
	return rc;
}
