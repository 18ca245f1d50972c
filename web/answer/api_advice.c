/* SPDX-License-Identifier: BSD-3-Clause */
/* What came of advice on all routes, for programs. */
#include "web/answer/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/http/body.h"

enum { ROUTES_MAX = 500 };

/* Names of routes: the store gives one answer at a time. */
struct names {
	struct name {
		char *route, *program;
	} * all;
	size_t n;
};

static int
on_name(void *arg, const struct nw_route_rec *rec)
{
	struct names *list = arg;
	struct name *all = reallocarray(list->all, list->n + 1, sizeof(*all));

	if (all == NULL)
		return NW_ENOMEM;
	list->all = all;
	all[list->n] = (struct name){ strdup(rec->route), strdup(rec->program) };
	list->n++;
	return all[list->n - 1].route != NULL && all[list->n - 1].program != NULL ? 0 : NW_ENOMEM;
}

static void
names_free(struct names *list)
{
	while (list->n > 0) {
		free(list->all[--list->n].route);
		free(list->all[list->n].program);
	}
	free(list->all);
}

static void
count_add(json_t *score, enum result_key key, json_int_t n)
{
	result_put_int(score, key, result_number(score, key) + n);
}

/* The score of a rule; a new one of nothing. The rules' object lends the score. */
static json_t *
score_get(json_t *rules, const char *rule, const char *title)
{
	static const enum result_key counts[] = { KEY_advice_score_n_cards, KEY_advice_score_n_open,
		KEY_advice_score_n_closed, KEY_advice_score_n_kept };
	json_t *score = json_object_get(rules, rule);
	size_t i;

	if (score != NULL)
		return score;
	score = json_object();
	result_put_text(score, KEY_advice_score_rule, rule);
	result_put_text(score, KEY_advice_score_title, title != NULL ? title : rule);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		result_put_int(score, counts[i], 0);
	json_object_set_new(rules, rule, score);
	return score;
}

/* Sums until scores_finish() divides them. */
static void
sum_add(json_t *score, enum result_key key, double v)
{
	double before = result_number(score, key);

	if (isfinite(v))
		result_put_real(score, key, isfinite(before) ? before + v : v);
}

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	json_t *doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL, *score;
	const json_t *card;
	const char *rule;
	size_t i;

	json_array_foreach(result_list(doc, KEY_route_advice), i, card)
	{
		bool closed = isfinite(result_number(card, KEY_route_advice_closed));

		if ((rule = result_text(card, KEY_route_advice_rule)) == NULL)
			continue;
		score = score_get(arg, rule, result_text(card, KEY_route_advice_title));
		count_add(score, KEY_advice_score_n_cards, 1);
		count_add(score, closed ? KEY_advice_score_n_closed : KEY_advice_score_n_open, 1);
		if (!closed)
			continue;
		count_add(
		    score, KEY_advice_score_n_kept, result_bool(card, KEY_route_advice_kept) == 1);
		sum_add(score, KEY_advice_score_predicted,
		    result_number(card, KEY_route_advice_predicted));
		sum_add(score, KEY_advice_score_obtained,
		    result_number(card, KEY_route_advice_obtained));
	}
	json_decref(doc);
	return 0;
}

static json_t *
mean(const json_t *score, enum result_key key)
{
	double v = result_number(score, key) / result_number(score, KEY_advice_score_n_closed);

	return isfinite(v) ? json_real(v) : json_null();
}

static int
rule_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The scores by the names of their rules. */
static json_t *
scores_list(json_t *rules)
{
	const char **names = calloc(json_object_size(rules) + 1, sizeof(*names)), *name;
	json_t *list = json_array(), *score;
	size_t i, n = 0;

	json_object_foreach(rules, name, score) if (names != NULL) names[n++] = name;
	if (n > 1)
		qsort(names, n, sizeof(*names), rule_compare);
	for (i = 0; i < n; i++) {
		score = json_object_get(rules, names[i]);
		result_set(
		    score, KEY_advice_score_predicted, mean(score, KEY_advice_score_predicted));
		result_set(
		    score, KEY_advice_score_obtained, mean(score, KEY_advice_score_obtained));
		json_array_append(list, score);
	}
	free(names);
	return list;
}

int
api_advice(struct evbuffer *out, struct store_reader *r)
{
	json_t *rules = json_object(), *doc = json_object();
	struct names routes = { .n = 0 };
	int rc = store_routes(r, ROUTES_MAX, on_name, &routes);
	size_t i;

	for (i = 0; i < routes.n && rc == NW_OK; i++) {
		rc =
		    store_route_get(r, routes.all[i].route, routes.all[i].program, on_route, rules);
		rc = rc == NW_ENOTFOUND ? NW_OK : rc;
	}
	result_put_text(doc, KEY_advice_scores_schema, "narrows-advice/1");
	result_set(doc, KEY_advice_scores_rules, scores_list(rules));
	result_put_int(doc, KEY_advice_scores_n_routes, routes.n);
	names_free(&routes);
	json_decref(rules);
	if (rc == NW_OK)
		return body_put_document(out, doc);
	json_decref(doc);
	return rc;
}
