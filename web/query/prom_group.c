/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "web/query/prom_labels.h"

enum { MEMBER_BYTES = 512 }; /* labels of a series, about */

static bool
ranks(const struct prom_groups *g)
{
	return g->stage->aggregate == PROMQL_TOP || g->stage->aggregate == PROMQL_BOTTOM;
}

static int
bytes_take(struct prom_groups *g, size_t n)
{
	if (n > *g->bytes_left)
		return NW_ETOOBIG;
	*g->bytes_left -= n;
	g->n_bytes += n;
	return NW_OK;
}

static int
group_new(struct prom_groups *g, json_t *labels, const char *key)
{
	struct prom_group *grown;
	int rc = bytes_take(g, 2 * g->n_steps * sizeof(double) + strlen(key) * 4);

	if (rc < 0)
		return rc;
	if ((grown = reallocarray(g->list, g->n + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	g->list = grown;
	grown[g->n] = (struct prom_group){ .labels = json_incref(labels),
		.value = calloc(g->n_steps, sizeof(double)),
		.n = calloc(g->n_steps, sizeof(double)) };
	g->n++;
	if (grown[g->n - 1].value == NULL || grown[g->n - 1].n == NULL)
		return NW_ENOMEM;
	return json_object_set_new(g->index, key, json_integer((json_int_t)g->n - 1)) == 0
	    ? NW_OK
	    : NW_ENOMEM;
}

/* --- values --- */

static void
value_add(struct prom_group *g, enum promql_aggregate how, size_t k, double v)
{
	if (g->n[k]++ == 0)
		g->value[k] = how == PROMQL_BY_COUNT ? 1 : v;
	else if (how == PROMQL_BY_COUNT)
		g->value[k]++;
	else if (how == PROMQL_BY_MIN)
		g->value[k] = fmin(g->value[k], v);
	else if (how == PROMQL_BY_MAX)
		g->value[k] = fmax(g->value[k], v);
	else
		g->value[k] += v;
}

/* --- places --- */

/* Whether a value stands before an earlier value. NaN stands behind all numbers. */
static bool
is_before(enum promql_aggregate how, double a, double b)
{
	return (how == PROMQL_TOP ? a > b : a < b) || (isnan(b) && !isnan(a));
}

static int
slot_new(struct prom_groups *g, struct prom_group *of)
{
	struct prom_slot *grown;
	int rc = bytes_take(g, g->n_steps * (sizeof(double) + sizeof(uint32_t)));

	if (rc < 0)
		return rc;
	if ((grown = reallocarray(of->slots, of->n_slots + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	of->slots = grown;
	grown += of->n_slots++;
	grown->value = calloc(g->n_steps, sizeof(double));
	grown->member = calloc(g->n_steps, sizeof(uint32_t));
	return grown->value != NULL && grown->member != NULL ? NW_OK : NW_ENOMEM;
}

static int
member_new(struct prom_groups *g, struct prom_group *of, json_t *labels)
{
	json_t **grown;
	int rc = bytes_take(g, MEMBER_BYTES);

	if (rc < 0)
		return rc;
	if ((grown = reallocarray(of->members, of->n_members + 1, sizeof(json_t *))) == NULL)
		return NW_ENOMEM;
	of->members = grown;
	of->members[of->n_members++] = json_incref(labels);
	return NW_OK;
}

/* Puts a value of the member into the right place at a step; the last value may leave. */
static int
place(struct prom_groups *g, struct prom_group *of, size_t k, double v, uint32_t member)
{
	size_t n = (size_t)of->n[k], at;
	int rc;

	if ((double)n >= g->stage->number)
		n--;
	else if (n == of->n_slots && (rc = slot_new(g, of)) < 0)
		return rc;
	else
		of->n[k]++;
	for (at = n; at > 0 && is_before(g->stage->aggregate, v, of->slots[at - 1].value[k]);
	     at--) {
		of->slots[at].value[k] = of->slots[at - 1].value[k];
		of->slots[at].member[k] = of->slots[at - 1].member[k];
	}
	of->slots[at].value[k] = v;
	of->slots[at].member[k] = member;
	return NW_OK;
}

static int
rank(struct prom_groups *g, struct prom_group *of, json_t *labels, const double *v, const bool *has)
{
	bool is_member = false;
	size_t k, n;
	int rc = NW_OK;

	for (k = 0; k < g->n_steps && rc == NW_OK; k++) {
		n = (size_t)of->n[k];
		if (!has[k] || !(g->stage->number >= 1) ||
		    ((double)n + 1 > g->stage->number &&
			!is_before(g->stage->aggregate, v[k], of->slots[n - 1].value[k])))
			continue;
		if (!is_member)
			rc = member_new(g, of, labels);
		is_member = true;
		if (rc == NW_OK)
			rc = place(g, of, k, v[k], (uint32_t)of->n_members - 1);
	}
	return rc;
}

int
prom_groups_add(struct prom_groups *g, json_t *labels, const double *v, const bool *has)
{
	json_t *group = prom_group_labels(g->stage, labels);
	char *key = group != NULL ? json_dumps(group, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	const json_t *known;
	size_t k, i = g->n;
	int rc = key != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK && g->index == NULL && (g->index = json_object()) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK && (known = json_object_get(g->index, key)) != NULL)
		i = (size_t)json_integer_value(known);
	else if (rc == NW_OK)
		rc = group_new(g, group, key);
	if (rc == NW_OK && ranks(g))
		rc = rank(g, &g->list[i], labels, v, has);
	else
		for (k = 0; k < g->n_steps && rc == NW_OK; k++)
			if (has[k])
				value_add(&g->list[i], g->stage->aggregate, k, v[k]);
	free(key);
	json_decref(group);
	return rc;
}

/* --- the way out --- */

/* Members come in the order of their arrival; at one step alone, in the order of their places. */
static void
member_out(
    const struct prom_groups *g, const struct prom_group *of, json_t **labels, double *v, bool *has)
{
	size_t member = g->n_steps > 1 ? g->at_member : of->slots[g->at_member].member[0], k, i;

	*labels = of->members[member];
	for (k = 0; k < g->n_steps; k++) {
		has[k] = false;
		for (i = 0; i < (size_t)of->n[k] && !has[k]; i++)
			if ((has[k] = of->slots[i].member[k] == member))
				v[k] = of->slots[i].value[k];
	}
}

static bool
ranked_next(struct prom_groups *g, json_t **labels, double *v, bool *has)
{
	for (; g->at < g->n; g->at++, g->at_member = 0) {
		const struct prom_group *of = &g->list[g->at];

		if (g->at_member < (g->n_steps > 1 ? of->n_members : (size_t)of->n[0])) {
			member_out(g, of, labels, v, has);
			g->at_member++;
			return true;
		}
	}
	return false;
}

bool
prom_groups_next(struct prom_groups *g, json_t **labels, double *v, bool *has)
{
	const struct prom_group *of;
	size_t k;

	if (ranks(g))
		return ranked_next(g, labels, v, has);
	if (g->at == g->n)
		return false;
	of = &g->list[g->at++];
	*labels = of->labels;
	for (k = 0; k < g->n_steps; k++) {
		has[k] = of->n[k] > 0;
		v[k] =
		    g->stage->aggregate == PROMQL_BY_AVG ? of->value[k] / of->n[k] : of->value[k];
	}
	return true;
}

static void
group_clear(struct prom_group *g)
{
	size_t i;

	for (i = 0; i < g->n_slots; i++) {
		free(g->slots[i].value);
		free(g->slots[i].member);
	}
	for (i = 0; i < g->n_members; i++)
		json_decref(g->members[i]);
	free(g->slots);
	free(g->members);
	json_decref(g->labels);
	free(g->value);
	free(g->n);
}

void
prom_groups_clear(struct prom_groups *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		group_clear(&g->list[i]);
	free(g->list);
	json_decref(g->index);
	if (g->bytes_left != NULL)
		*g->bytes_left += g->n_bytes;
	*g = (struct prom_groups){ .n = 0 };
}
