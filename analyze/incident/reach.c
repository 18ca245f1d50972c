/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/reach.h"

#include <string.h>

struct ends {
	const char *from, *to;
	size_t from_len, to_len;
};

static bool
ends_read(const char *route, struct ends *e)
{
	static const char arrow[] = " -> ";
	const char *at = strstr(route, arrow);

	if (at == NULL)
		return false;
	*e = (struct ends){ route, at + sizeof(arrow) - 1, (size_t)(at - route),
		strlen(at + sizeof(arrow) - 1) };
	return true;
}

static bool
is_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static bool
is_over(const struct ends *e, const char *host, size_t len)
{
	return is_same(e->from, e->from_len, host, len) || is_same(e->to, e->to_len, host, len);
}

static enum nw_reach_place
place_of(const struct nw_reach *r)
{
	const bool from = r->n_from > 0 && r->n_from_fell == r->n_from,
		   to = r->n_to > 0 && r->n_to_fell == r->n_to;

	if (from && to)
		return NW_REACH_EITHER;
	if (from && r->n_to_fell == 0)
		return NW_REACH_FROM;
	if (to && r->n_from_fell == 0)
		return NW_REACH_TO;
	/* both hosts need a witness: a host that nobody else used may be the place */
	if (r->n_from > 0 && r->n_to > 0 && r->n_from_fell == 0 && r->n_to_fell == 0)
		return NW_REACH_PATH;
	return NW_REACH_UNKNOWN;
}

struct nw_reach
nw_reach_find(const char *route, const struct nw_reach_route *others, size_t n_others)
{
	struct nw_reach r = { .place = NW_REACH_UNKNOWN };
	struct ends own, e;
	size_t i;

	if (!ends_read(route, &own))
		return r;
	for (i = 0; i < n_others; i++) {
		bool from, to;

		if (!others[i].spoke || !ends_read(others[i].route, &e))
			continue;
		from = is_over(&e, own.from, own.from_len);
		to = is_over(&e, own.to, own.to_len);
		if (from == to)
			continue;
		r.n_from += from;
		r.n_to += to;
		r.n_from_fell += from && others[i].fell;
		r.n_to_fell += to && others[i].fell;
	}
	r.place = place_of(&r);
	return r;
}
