/* SPDX-License-Identifier: BSD-3-Clause */
/* Before and after a change of the bottleneck. See stat_hidden.h. */
#include "cli/stat/stat_hidden.h"

#include <math.h>
#include <stdlib.h>

#include "cli/stat/stat_series.h"
#include "narrows/bottleneck.h"

struct stage_columns {
	const double *t, *count, *dur, *bytes, *mean, *sd;
	const char *const *names;
};

static int
find_stage_columns(struct stat_table *t, struct stage_columns *c, struct stat_error *err)
{
	const struct {
		const char *name;
		const double **to;
	} want[] = { { "t", &c->t }, { "count", &c->count }, { "dur_sum", &c->dur },
		{ "nbytes_sum", &c->bytes }, { "tput_mean", &c->mean }, { "tput_sd", &c->sd } };
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if ((*want[i].to = stat_table_numbers(t, want[i].name, err)) == NULL)
			return NW_EPROTO;
	c->names = stat_table_texts(t, "component", err);
	return c->names == NULL ? NW_EPROTO : NW_OK;
}

/* Length of a window: the smallest positive step of t. */
static double
window_length(const double *t, size_t n)
{
	double step = INFINITY;
	size_t i;

	for (i = 1; i < n; i++)
		if (t[i] > t[i - 1])
			step = fmin(step, t[i] - t[i - 1]);
	return isfinite(step) ? step : 1;
}

struct stage {
	struct nw_summary tput, sd, count, dur, bytes;
};

/* Component by component, the windows with low <= t < high. */
static void
collect_stages(const struct stage_columns *c, const struct series_groups *g, size_t n_rows,
    double low, double high, struct stage *stages)
{
	size_t i;

	for (i = 0; i < n_rows; i++) {
		struct stage *s = &stages[g->of[i]];

		if (!(c->t[i] >= low && c->t[i] < high))
			continue;
		nw_summary_add(&s->tput, c->mean[i]);
		nw_summary_add(&s->sd, c->sd[i]);
		nw_summary_add(&s->count, c->count[i]);
		nw_summary_add(&s->dur, c->dur[i]);
		nw_summary_add(&s->bytes, c->bytes[i]);
	}
}

static struct nw_stage_segment
segment_of(const struct stage *s, double window_s)
{
	return (struct nw_stage_segment){ .tput_mean = s->tput.mean,
		.tput_sd = s->sd.mean,
		.ops_per_window = s->count.mean,
		.delivered_bytes_per_s = s->bytes.mean / window_s,
		.busy_fraction = s->dur.mean / window_s };
}

/* Index of the plain verdict's group, and the report; g->n without data. */
static int
segment_verdict(const struct series_groups *g, const struct stage *stages, double window_s,
    size_t *lowest, json_t *out)
{
	struct nw_group *groups = calloc(g->n + 1, sizeof(*groups));
	struct nw_component_result *r = calloc(g->n + 1, sizeof(*r));
	json_t *tuples = json_object(), *busy = json_object(), *o;
	double delivered = INFINITY, accounted = 0;
	struct nw_bottleneck b;
	size_t i;
	int rc = groups == NULL || r == NULL ? NW_ENOMEM : NW_OK;

	for (i = 0; i < g->n && rc == NW_OK; i++) {
		struct nw_stage_segment s = segment_of(&stages[i], window_s);

		groups[i] = nw_group_of(&stages[i].tput);
		o = json_pack("{s:o,s:o,s:o}", "n", json_integer((json_int_t)groups[i].n), "mean",
		    stat_json(groups[i].mean), "sd", stat_json(groups[i].sd));
		json_object_set_new(tuples, g->name[i], o);
		json_object_set_new(busy, g->name[i], stat_json(s.busy_fraction));
		delivered = fmin(delivered, s.delivered_bytes_per_s);
		accounted += s.busy_fraction;
	}
	if (rc == NW_OK &&
	    (rc = nw_bottleneck_groups(groups, g->n, &nw_bottleneck_faithful, r, &b)) == NW_OK) {
		*lowest = b.lowest;
		json_object_set_new(out, "plain_verdict",
		    b.lowest < g->n ? json_string(g->name[b.lowest]) : json_null());
	}
	json_object_set_new(out, "tuples", tuples);
	json_object_set_new(out, "delivered_bytes_per_s", stat_json(delivered));
	json_object_set_new(out, "busy_fraction", busy);
	json_object_set_new(out, "accounted_fraction", stat_json(accounted));
	free(groups);
	free(r);
	return rc;
}

static json_t *
reasons_json(unsigned found)
{
	static const struct {
		unsigned bit;
		const char *text;
	} reasons[] = { { NW_HIDDEN_FASTER_YET_LESS, "faster per operation, yet less delivered" },
		{ NW_HIDDEN_FEWER_AND_WILDER, "fewer operations, more spread" },
		{ NW_HIDDEN_UNACCOUNTED, "most of the window is not accounted for" } };
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (found & reasons[i].bit)
			json_array_append_new(list, json_string(reasons[i].text));
	return list;
}

/* Lends each segment the windows of the group before and after the change, and compares them. */
static int
hidden_find(const struct stage_columns *c, const struct series_groups *g, size_t n,
    double change_at, size_t group, struct nw_stage_segment *from, struct nw_stage_segment *to,
    unsigned *found)
{
	double *store = calloc(4 * n + 1, sizeof(*store));
	struct nw_stage_segment *side[2] = { from, to };
	size_t count[2] = { 0, 0 }, i;
	int rc;

	if (store == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		size_t k = c->t[i] >= change_at;

		if (g->of[i] != group)
			continue;
		store[2 * k * n + count[k]] = c->mean[i];
		store[(2 * k + 1) * n + count[k]++] = c->sd[i];
	}
	for (i = 0; i < 2; i++) {
		side[i]->window_mean = store + 2 * i * n;
		side[i]->window_sd = store + (2 * i + 1) * n;
		side[i]->n_windows = count[i];
	}
	rc = nw_hidden_wait(from, to, found);
	from->window_mean = to->window_mean = from->window_sd = to->window_sd = NULL;
	free(store);
	return rc;
}

int
hidden_wait_report(struct stat_table *t, double change_at, json_t *out, struct stat_error *err)
{
	struct stage_columns c;
	struct series_groups g = { 0 };
	struct stage *before = NULL, *after = NULL;
	struct nw_stage_segment from, to;
	json_t *o;
	size_t was, is, truth;
	double window_s;
	unsigned found;
	int rc;

	if ((rc = find_stage_columns(t, &c, err)) != NW_OK ||
	    (rc = series_groups_make(c.names, t->n_rows, &g)) != NW_OK)
		return rc;
	was = is = g.n;
	before = calloc(g.n + 1, sizeof(*before));
	after = calloc(g.n + 1, sizeof(*after));
	if (before == NULL || after == NULL) {
		rc = NW_ENOMEM;
		goto out;
	}
	window_s = window_length(c.t, t->n_rows);
	collect_stages(&c, &g, t->n_rows, -INFINITY, change_at, before);
	collect_stages(&c, &g, t->n_rows, change_at, INFINITY, after);
	json_object_set_new(out, "before", o = json_object());
	if ((rc = segment_verdict(&g, before, window_s, &was, o)) != NW_OK)
		goto out;
	json_object_set_new(out, "after", o = json_object());
	if ((rc = segment_verdict(&g, after, window_s, &is, o)) != NW_OK || was == g.n || is == g.n)
		goto out;
	from = segment_of(&before[was], window_s);
	to = segment_of(&after[was], window_s);
	if ((rc = hidden_find(&c, &g, t->n_rows, change_at, was, &from, &to, &found)) != NW_OK)
		goto out;
	truth = found != 0 ? was : is;
	json_object_set_new(out, "count_ratio", stat_json(to.ops_per_window / from.ops_per_window));
	json_object_set_new(out, "sd_ratio", stat_json(to.tput_sd / from.tput_sd));
	json_object_set_new(out, "plain_verdict_after_is_wrong", json_boolean(truth != is));
	json_object_set_new(out, "true_bottleneck_after", json_string(g.name[truth]));
	json_object_set_new(
	    out, "hidden_wait_in", found != 0 ? json_string(g.name[was]) : json_null());
	json_object_set_new(out, "hidden_wait_reasons", reasons_json(found));
out:
	free(before);
	free(after);
	series_groups_free(&g);
	return rc;
}
