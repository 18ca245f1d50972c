/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "narrows/result.h"

enum { STEPS = 400, BINS = 100 };

const char *const compare_names[COMPARE_WAYS + 1] = { "start", "bytes", "clock", NULL };

const struct param compare_params[] = {
	{ "ids", .meaning = "Two to six sessions; the parameter may come again.",
	    .form = "numbers with commas", .example = "3,7" },
	{ "by", PARAM_WORD, .words = compare_names, .at = offsetof(struct compare_query, by),
	    .meaning = "How the rates are lined up.", .form = "start, bytes or clock",
	    .example = "bytes" },
	{ .name = NULL },
};

/* --- the query --- */

static void
id_take(struct compare_query *q, int64_t id)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		if (q->id[i] == id)
			return;
	if (q->n == COMPARE_MAX)
		q->why = "At most six sessions are compared at a time.";
	else
		q->id[q->n++] = id;
}

/* Numbers with commas or blanks between them. */
static void
ids_take(struct compare_query *q, const char *text)
{
	const size_t len = strlen(q->text);
	char *end;

	snprintf(q->text + len, sizeof(q->text) - len, "%s%s", len > 0 ? ", " : "", text);
	for (text += strspn(text, ", "); *text != '\0'; text = end + strspn(end, ", ")) {
		long long id;

		errno = 0;
		id = strtoll(text, &end, 10);
		if (*text < '1' || *text > '9' || errno != 0 ||
		    (*end != '\0' && *end != ',' && *end != ' ')) {
			q->why = "Sessions are given by their numbers, with commas between them.";
			return;
		}
		id_take(q, id);
	}
}

static void
by_take(struct compare_query *q, const char *text)
{
	if (!param_take(param_find(compare_params, "by", 0), q, text))
		q->why = "Sessions are lined up by start, bytes or clock.";
}

bool
compare_parse(struct compare_query *q, const char *query)
{
	struct evkeyvalq fields;
	struct evkeyval *f;

	*q = (struct compare_query){ 0 };
	if (query == NULL || *query == '\0')
		return false;
	if (evhttp_parse_query_str(query, &fields) != 0) {
		q->why = "The query cannot be read.";
		return false;
	}
	TAILQ_FOREACH(f, &fields, next)
	{
		if (strcmp(f->key, "ids") == 0)
			ids_take(q, f->value);
		else if (strcmp(f->key, "by") == 0)
			by_take(q, f->value);
	}
	evhttp_clear_headers(&fields);
	return q->why == NULL && q->n >= COMPARE_MIN;
}

/* --- rates --- */

struct rates {
	double *rate; /* delivered, by steps of the timeline */
	size_t n;
	double step_s;
	int64_t t0_wall_ns;
};

struct comparison {
	struct compared session[COMPARE_MAX];
	struct rates rates[COMPARE_MAX];
	size_t n;
	enum compare_by by;
};

static double
sum_of(const json_t *list)
{
	const json_t *v;
	double sum = 0;
	size_t i;

	json_array_foreach(list, i, v) sum += json_is_number(v) ? json_number_value(v) : 0;
	return sum;
}

/* The rate of the operation that moved most bytes; at equal bytes the last one of the path. */
static void
rates_read(struct rates *c, const json_t *doc)
{
	const json_t *t = result_get(doc, KEY_result_timeline), *o, *list, *best = NULL;
	double most = 0, sum;
	size_t i;

	json_array_foreach(result_list(t, KEY_timeline_stages), i, o)
	{
		list = result_list(o, KEY_timeline_stage_bytes_per_s);
		if ((sum = sum_of(list)) > 0 && sum >= 0.99 * most) {
			most = fmax(most, sum);
			best = list;
		}
	}
	c->step_s = result_number(t, KEY_timeline_step_s);
	c->t0_wall_ns = result_ns(t, KEY_timeline_t0_ns);
	c->n = json_array_size(best);
	if (!(c->step_s > 0) || c->n == 0 || (c->rate = calloc(c->n, sizeof(*c->rate))) == NULL)
		c->n = 0;
	else
		result_numbers(best, c->rate, c->n);
}

/* Mean rate of a stretch of the session's time, in seconds from its own begin. */
static double
mean_between(const struct rates *c, double from_s, double to_s)
{
	double sum = 0, n = 0;
	size_t i = from_s > 0 ? (size_t)(from_s / c->step_s) : 0;

	if (to_s <= 0)
		return NAN;
	for (; i < c->n && (double)i * c->step_s < to_s; i++)
		if (isfinite(c->rate[i])) {
			sum += c->rate[i];
			n++;
		}
	return n > 0 ? sum / n : NAN;
}

/* Rates by the share of the bytes that were moved. */
static void
bins_fill(const struct rates *c, double *y)
{
	double all = 0, so_far = 0;
	size_t i, bin;

	for (i = 0; i < BINS; i++)
		y[i] = NAN;
	for (i = 0; i < c->n; i++)
		all += isfinite(c->rate[i]) ? c->rate[i] : 0;
	for (i = 0; i < c->n && all > 0; i++) {
		double r = isfinite(c->rate[i]) ? c->rate[i] : 0;
		size_t last;

		bin = (size_t)(so_far / all * BINS);
		so_far += r;
		last = (size_t)(so_far / all * BINS);
		for (; bin <= last && bin < BINS; bin++)
			y[bin] = r;
	}
}

static int64_t
first_begin(const struct comparison *all)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->rates[i].n > 0 && all->rates[i].t0_wall_ns < first)
			first = all->rates[i].t0_wall_ns;
	return first;
}

static double
offset_s(const struct comparison *all, size_t i)
{
	return all->by == COMPARE_CLOCK
	    ? (double)(all->rates[i].t0_wall_ns - first_begin(all)) * 1e-9
	    : 0;
}

static double
length_s(const struct comparison *all)
{
	double longest = 0;
	size_t i;

	for (i = 0; i < all->n; i++)
		longest = fmax(
		    longest, offset_s(all, i) + (double)all->rates[i].n * all->rates[i].step_s);
	return longest;
}

static void
put_numbers(json_t *o, enum result_key key, const double *v, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(list, isfinite(v[i]) ? json_real(v[i]) : json_null());
	result_set(o, key, list);
}

/* The rates of session i at n positions; step_s: from one position to the next. */
static json_t *
rate_doc(const struct comparison *all, size_t i, size_t n, double step_s)
{
	const struct rates *c = &all->rates[i];
	json_t *o = json_object();
	double y[STEPS];
	size_t k;

	if (all->by == COMPARE_BYTES)
		bins_fill(c, y);
	for (k = 0; k < n && all->by != COMPARE_BYTES; k++)
		y[k] = c->n == 0 ? NAN
				 : mean_between(c, (double)k * step_s - offset_s(all, i),
				       (double)(k + 1) * step_s - offset_s(all, i));
	result_put_int(o, KEY_compare_rate_session, all->session[i].id);
	put_numbers(o, KEY_compare_rate_bytes_per_s, y, n);
	return o;
}

static void
rates_put(json_t *doc, const struct comparison *all)
{
	const size_t n = all->by == COMPARE_BYTES ? BINS : STEPS;
	const double length = length_s(all),
		     step = all->by == COMPARE_BYTES ? 100.0 / BINS : length / STEPS;
	json_t *list = json_array();
	double x[STEPS];
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = ((double)i + 0.5) * step;
	for (i = 0; i < all->n && length > 0; i++)
		json_array_append_new(list, rate_doc(all, i, n, step));
	put_numbers(doc, KEY_compare_positions, x, length > 0 ? n : 0);
	result_put_real(doc, KEY_compare_step, step);
	result_set(doc, KEY_compare_rates, list);
}

/* --- the document --- */

static int
on_session(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *res)
{
	struct compared *c = arg;

	c->id = rec->id;
	c->doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	return 1;
}

static int
sessions_read(
    struct comparison *all, struct store_reader *r, const struct compare_query *q, int64_t *missing)
{
	int rc = NW_OK;

	for (; all->n < q->n && rc == NW_OK; all->n += rc == NW_OK) {
		*missing = q->id[all->n];
		rc = store_session_get(r, *missing, on_session, &all->session[all->n]);
		if (rc == NW_OK)
			rates_read(&all->rates[all->n], all->session[all->n].doc);
	}
	return rc;
}

int
compare_document(
    struct store_reader *r, const struct compare_query *q, json_t **out, int64_t *missing)
{
	struct comparison all = { .by = q->by };
	json_t *doc = json_object(), *ids = json_array();
	int rc = sessions_read(&all, r, q, missing);
	size_t i;

	for (i = 0; i < all.n; i++)
		json_array_append_new(ids, json_integer(all.session[i].id));
	result_put_text(doc, KEY_compare_schema, "narrows-compare/1");
	result_set(doc, KEY_compare_sessions, ids);
	result_put_text(doc, KEY_compare_by, compare_names[q->by]);
	if (rc == NW_OK)
		rc = compare_rows(r, all.session, all.n, doc);
	if (rc == NW_OK)
		rates_put(doc, &all);
	for (i = 0; i < COMPARE_MAX; i++) {
		json_decref(all.session[i].doc);
		free(all.rates[i].rate);
	}
	if (rc < 0)
		json_decref(doc);
	else
		*out = doc;
	return rc;
}
