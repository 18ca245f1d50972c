/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes, classes of durations and reduced metrics as parts of the result document. */
#include "analyze/verdict/resultdoc_in.h"
#include "analyze/verdict/keep/timedoc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS_MAX = 200 };
static const double NS = 1e-9;

/* --- changes --- */

static int64_t
window_ns(const struct evidence *e, size_t window)
{
	return e->t0_wall_ns + (int64_t)window * e->step_ns;
}

static json_t *
series_doc(const struct evidence *e, const struct change_series *s)
{
	static const char *const whats[] = { "delivered", "tput_i", "held" };
	const struct nw_cycle *cycle = &s->changes.cycle;
	json_t *o = json_object(), *at = json_array(), *means = json_array();
	bool drifts = false, cyclic = cycle->period > 0;
	size_t i;

	for (i = 0; i < s->changes.n_segments; i++) {
		drifts |= s->changes.segment[i].drifts;
		if (i > 0)
			json_array_append_new(
			    at, resultdoc_ns(window_ns(e, s->changes.segment[i].start)));
		json_array_append_new(means, resultdoc_real(s->changes.segment[i].mean));
	}
	put_text(o, KEY_change_series_what, whats[s->what]);
	put_text(o, KEY_change_series_stage,
	    s->what == CHANGE_DELIVERED       ? NULL
		: s->what == CHANGE_OPERATION ? nw_op_name(s->op)
					      : nw_stage_kind_name(s->stage));
	put_text(o, KEY_change_series_host,
	    s->what == CHANGE_DELIVERED ? NULL : evidence_host_name(e, s->host, NULL));
	put_text(o, KEY_change_series_status, nw_status_text(s->changes.status));
	result_set(o, KEY_change_series_at_ns, at);
	result_set(o, KEY_change_series_means, means);
	result_set(o, KEY_change_series_drifts, json_boolean(drifts));
	put_real(
	    o, KEY_change_series_period_s, cyclic ? cycle->period * (double)e->step_ns * NS : NAN);
	put_real(o, KEY_change_series_cycle_low, cyclic ? cycle->low : NAN);
	put_real(o, KEY_change_series_cycle_high, cyclic ? cycle->high : NAN);
	put_real(o, KEY_change_series_penalty, s->changes.penalty);
	put_real(o, KEY_change_series_r, s->changes.r);
	return o;
}

/* Why a wait is said to be hidden, in words that stand alone. */
static json_t *
hidden_doc(unsigned hidden)
{
	json_t *list;

	if (hidden == 0)
		return json_null();
	list = json_array();
	if (hidden & NW_HIDDEN_FASTER_YET_LESS)
		json_array_append_new(list,
		    resultdoc_text("single operations became faster while less was delivered"));
	if (hidden & NW_HIDDEN_FEWER_AND_WILDER)
		json_array_append_new(
		    list, resultdoc_text("there were fewer operations, and they varied more"));
	if (hidden & NW_HIDDEN_UNACCOUNTED)
		json_array_append_new(
		    list, resultdoc_text("most of the time is no longer inside its operations"));
	return list;
}

static json_t *
segment_doc(const struct analysis *a, const struct segment *s)
{
	const struct evidence *e = &a->evidence;
	const struct nw_path *p = &a->judgement.path;
	char *words = segment_words(e, p, s);
	json_t *o = json_object();

	put_ns(o, KEY_segment_start_ns, window_ns(e, s->first));
	put_ns(o, KEY_segment_end_ns, window_ns(e, s->end));
	put_count(o, KEY_segment_windows, s->end - s->first);
	put_text(
	    o, KEY_segment_stage, s->known ? nw_stage_kind_name(p->stage[s->stage].kind) : NULL);
	put_text(o, KEY_segment_words, words);
	put_real(o, KEY_segment_bytes, s->bytes);
	put_real(o, KEY_segment_bytes_per_s, s->bytes_per_s);
	put_text(o, KEY_segment_lowest,
	    s->limit.stage < p->n ? nw_stage_kind_name(p->stage[s->limit.stage].kind) : NULL);
	put_real(o, KEY_segment_held_share, limit_held(&s->limit));
	put_real(o, KEY_segment_effect, s->limit.effect);
	result_set(o, KEY_segment_interval,
	    json_pack("[oo]", resultdoc_real(s->limit.printed_low),
		resultdoc_real(s->limit.printed_high)));
	put_real(o, KEY_segment_p, s->limit.p);
	put_real(o, KEY_segment_p_holm, s->p_holm);
	put_text(o, KEY_segment_claim, limit_claim_name(s->claim));
	result_set(o, KEY_segment_hidden_wait, hidden_doc(s->hidden));
	free(words);
	return o;
}

json_t *
resultdoc_changes_parameters(const struct analysis *a)
{
	const struct segments *s = &a->segments;
	json_t *o = json_object();

	put_real(o, KEY_changes_parameters_penalty_per_ln_n, 3);
	put_count(o, KEY_changes_parameters_min_segment, s->options.min_segment);
	put_count(o, KEY_changes_parameters_join_windows, s->join_windows);
	result_set(o, KEY_changes_parameters_ar, json_boolean(s->options.ar));
	put_real(o, KEY_changes_parameters_winsorise_mad, s->options.winsorise_mad);
	put_text(o, KEY_changes_parameters_correction, "holm");
	return o;
}

json_t *
resultdoc_changes(const struct analysis *a)
{
	const struct segments *s = &a->segments;
	json_t *o = json_object(), *series = json_array(), *segments = json_array();
	size_t i, withheld = 0;

	for (i = 0; i < s->n_series; i++)
		json_array_append_new(series, series_doc(&a->evidence, &s->series[i]));
	for (i = 0; i < s->n; i++) {
		const struct limit *l = &s->segment[i].limit;

		json_array_append_new(segments, segment_doc(a, &s->segment[i]));
		withheld += isfinite(l->effect) && isnan(l->printed_low);
	}
	result_set(o, KEY_changes_series, series);
	result_set(o, KEY_changes_segments, segments);
	put_count(o, KEY_changes_intervals_withheld, withheld);
	result_set(o, KEY_changes_parameters, resultdoc_changes_parameters(a));
	return o;
}

/* --- density --- */

/* A, B, .. Z, AA, .. */
static json_t *
class_name(size_t i)
{
	char name[8];
	size_t at = sizeof(name) - 1;

	name[at] = '\0';
	for (i++; i > 0 && at > 0; i = (i - 1) / 26)
		name[--at] = (char)('A' + (i - 1) % 26);
	return resultdoc_text(name + at);
}

static json_t *
classes_doc(const struct op_classes *c)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < c->classes.n; i++) {
		const struct nw_class *k = &c->classes.class[i];

		o = json_object();
		result_set(o, KEY_class_name, class_name(i));
		put_real(o, KEY_class_from_s, k->low * NS);
		put_real(o, KEY_class_to_s, k->high * NS);
		put_real(o, KEY_class_mode_s, k->peak * NS);
		put_real(o, KEY_class_share_ops, c->n > 0 ? k->count / c->n : NAN);
		put_real(o, KEY_class_share_time, c->sum_s > 0 ? k->sum * NS / c->sum_s : NAN);
		json_array_append_new(list, o);
	}
	return list;
}

/* Of each stretch of grid points the highest, so that no peak is lost. */
static json_t *
curve_doc(const struct nw_density *d)
{
	json_t *o = json_object(), *x = json_array(), *y = json_array();
	size_t by = d->m / CURVE_POINTS_MAX + (d->m % CURVE_POINTS_MAX != 0), i, k, top;
	double step = d->m > 1 ? (d->to - d->from) / (double)(d->m - 1) : 0;

	for (i = 0; i < d->m; i += by) {
		for (top = i, k = i; k < i + by && k < d->m; k++)
			if (d->y[k] > d->y[top])
				top = k;
		json_array_append_new(
		    x, resultdoc_drawn(exp(d->from + (double)top * step) * NS, 6));
		json_array_append_new(y, resultdoc_drawn(d->y[top], 4));
	}
	result_set(o, KEY_curve_x_s, x);
	result_set(o, KEY_curve_y, y);
	return o;
}

json_t *
resultdoc_density_parameters(const struct classes_params *params)
{
	json_t *o = json_object();

	put_text(o, KEY_density_parameters_scale, "ln");
	put_text(o, KEY_density_parameters_bandwidth, "nrd0");
	put_real(o, KEY_density_parameters_adjust, params->adjust);
	put_real(o, KEY_density_parameters_h_min, params->peak_min);
	put_real(o, KEY_density_parameters_cutoff_fraction, params->cutoff);
	put_count(o, KEY_density_parameters_operations_min, CLASSES_OPS_MIN);
	return o;
}

/* Operations by quarters of octaves of their duration, up to the longest. */
static json_t *
counts_doc(const uint64_t counts[NW_HIST_BUCKETS])
{
	uint64_t quarter[NW_HIST_QUARTERS] = { 0 };
	json_t *list = json_array();
	uint32_t i, n = 0, at;
	double low, high;

	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		if (counts[i] == 0)
			continue;
		nw_hist_bounds(i, &low, &high);
		at = nw_hist_quarter((uint64_t)low);
		quarter[at] += counts[i];
		n = at + 1;
	}
	for (i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)quarter[i]));
	return list;
}

static json_t *
op_classes_doc(
    const struct analysis *a, const struct op_classes *c, const struct classes_params *params)
{
	const struct nw_density *d = &c->density;
	bool drawn = c->classes.n > 0;
	json_t *o = json_object(), *p = resultdoc_density_parameters(params);
	int k = c->of->size_class;

	put_text(o, KEY_density_op, nw_op_name(c->of->op));
	put_text(o, KEY_density_host, evidence_host_name(&a->evidence, c->of->host, NULL));
	result_set(o, KEY_density_size_class, k < 0 ? json_null() : json_integer(k));
	put_real(o, KEY_density_size_from_bytes, k < 0 ? NAN : pow(4, k));
	put_real(o, KEY_density_size_to_bytes, k < 0 ? NAN : pow(4, k + 1));
	put_real(o, KEY_density_n, c->n);
	put_text(o, KEY_density_status, nw_status_text(d->status));
	put_real(o, KEY_density_time_s, drawn ? c->sum_s : NAN);
	put_real(o, KEY_density_cutoff_s, drawn ? c->classes.cutoff * NS : NAN);
	put_real(o, KEY_density_outlier_share, drawn ? c->classes.n_outliers / c->n : NAN);
	put_real(o, KEY_density_outlier_time_share,
	    drawn && c->sum_s > 0 ? c->classes.outlier_sum * NS / c->sum_s : NAN);
	result_set(o, KEY_density_classes, classes_doc(c));
	put_real(o, KEY_density_sure, drawn ? c->classes.sure : NAN);
	result_set(o, KEY_density_curve, drawn ? curve_doc(d) : json_null());
	result_set(o, KEY_density_counts, counts_doc(c->of->counts));
	put_real(p, KEY_density_parameters_bw, drawn ? d->bw : NAN);
	put_count(p, KEY_density_parameters_grid, d->m);
	put_real(p, KEY_density_parameters_clock_step_s, drawn ? c->clock_step_s : NAN);
	result_set(p, KEY_density_parameters_coarse, json_boolean(d->coarse));
	result_set(o, KEY_density_parameters, p);
	return o;
}

json_t *
resultdoc_density(const struct analysis *a, const struct classes_params *params)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < a->classes.n; i++)
		json_array_append_new(list, op_classes_doc(a, &a->classes.list[i], params));
	return list;
}

/* --- reduction --- */

/* The cluster of candidate i of the elimination. */
static size_t
cluster_of(const struct nw_reduction *r, size_t candidate)
{
	size_t i;

	for (i = 0; i < r->clusters.n_clusters; i++)
		if (r->prepared.used[r->clusters.rep[i]] == r->candidate[candidate])
			break;
	return i;
}

static json_t *
members_doc(const struct reduction *r, size_t cluster)
{
	const struct nw_clusters *c = &r->result.clusters;
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < c->n_metrics; i++)
		if (c->label[i] == cluster && i != c->rep[cluster])
			json_array_append_new(list,
			    resultdoc_text(r->metrics->metric[r->result.prepared.used[i]].name));
	return list;
}

static json_t *
kept_doc(const struct reduction *r)
{
	const struct nw_elimination *e = &r->result.elimination;
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < e->n_kept; i++) {
		size_t candidate = e->kept_terms[i].column,
		       cluster = cluster_of(&r->result, candidate);
		const struct hostmetric *m = &r->metrics->metric[r->result.candidate[candidate]];

		o = json_object();
		put_text(o, KEY_kept_metric_name, m->name);
		put_real(o, KEY_kept_metric_coefficient, e->lm.coef[i].value);
		put_real(o, KEY_kept_metric_se, e->lm.coef[i].se);
		put_text(o, KEY_kept_metric_unit, m->unit);
		put_real(o, KEY_kept_metric_r,
		    r->result.r_response != NULL
			? r->result.r_response[r->result.clusters.rep[cluster]]
			: NAN);
		put_real(o, KEY_kept_metric_drift, r->result.drift[candidate]);
		result_set(o, KEY_kept_metric_members, members_doc(r, cluster));
		put_real(o, KEY_kept_metric_min_r, r->result.clusters.min_abs_r[cluster]);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
scan_doc(const struct nw_reduction *r)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < r->n_scan; i++) {
		const struct nw_scan_point *s = &r->scan[i];
		bool ok = s->status == NW_STATUS_OK;

		o = json_object();
		put_real(o, KEY_scan_point_threshold, s->threshold);
		put_real(o, KEY_scan_point_r2, s->r2);
		put_real(o, KEY_scan_point_r2_adj, s->adj_r2);
		put_real(o, KEY_scan_point_r2_oos, s->out_of_sample_r2);
		put_real(o, KEY_scan_point_rd, s->reduction_degree);
		result_set(o, KEY_scan_point_kept,
		    ok ? json_integer((json_int_t)s->n_selected) : json_null());
		put_text(o, KEY_scan_point_status, nw_status_text(s->status));
		json_array_append_new(list, o);
	}
	return list;
}

static const char *
metric_name(const void *arg, size_t column)
{
	const struct hostmetrics *m = arg;

	return m->metric[column].name;
}

/* Time as a rival: the explained share, and the metrics with the same course in time. */
static void
set_time(json_t *o, const struct reduction *r, int64_t step_ns)
{
	json_t *starts = json_array();
	const struct nw_time_rival *t = &r->time;

	for (size_t i = 0; i < t->n_moments; i++) {
		json_t *one = json_object();

		put_ns(one, KEY_time_start_at_ns,
		    r->response.t0_wall_ns + (int64_t)t->moment[i] * step_ns);
		json_array_append_new(starts, one);
	}
	result_set(o, KEY_reduction_time_parts, timedoc_parts(t));
	result_set(o, KEY_reduction_time_starts, starts);
	put_real(o, KEY_reduction_r2_time, t->parts != 0 ? t->r2 : NAN);
	result_set(o, KEY_reduction_time_taken,
	    timedoc_taken(t, r->metrics != NULL ? r->metrics->n : 0, metric_name, r->metrics));
	put_count(o, KEY_reduction_n_time_taken, t->n_taken);
}

static void
set_fit(json_t *o, const struct reduction *r)
{
	const struct nw_reduction *n = &r->result;
	bool ok = strcmp(r->status, "ok") == 0, tested = ok && isfinite(r->worth.r2);

	put_real(o, KEY_reduction_threshold, ok ? n->threshold : NAN);
	result_set(o, KEY_reduction_kept, ok ? kept_doc(r) : json_array());
	put_real(o, KEY_reduction_intercept, ok ? n->elimination.lm.intercept.value : NAN);
	put_real(o, KEY_reduction_r2, ok ? n->elimination.lm.r2 : NAN);
	put_real(o, KEY_reduction_r2_adjusted, ok ? n->elimination.lm.adj_r2 : NAN);
	put_real(o, KEY_reduction_r2_out_of_sample,
	    !ok          ? NAN
		: tested ? r->worth.r2
			 : n->out_of_sample_r2);
	result_set(o, KEY_reduction_headline,
	    !tested ? json_null()
		    : json_boolean(r->worth.holds && n->elimination.n_metrics_kept > 0));
	put_real(o, KEY_reduction_r2_random, r->worth.random_r2);
	put_real(o, KEY_reduction_r2_minute_before, r->worth.minute_r2);
	put_real(o, KEY_reduction_shift_chance, tested ? r->worth.shift_chance : NAN);
	put_real(o, KEY_reduction_reduction_degree, ok ? n->reduction_degree : NAN);
	put_text(o, KEY_reduction_warning,
	    ok && n->too_many_terms ? "The model has more terms than a fifth of its rows: "
				      "much of its R2 is chance."
				    : NULL);
	result_set(o, KEY_reduction_scan, ok ? scan_doc(n) : json_array());
}

static const char *
response_words(bool operation_time)
{
	return operation_time ? "operation time" : "delivered rate";
}

static json_t *
one_reduction_doc(
    const struct analysis *a, const struct reduction *r, const struct reduction_params *params)
{
	const struct hostmetrics *m = r->metrics;
	json_t *o = json_object();

	put_text(o, KEY_reduction_host, evidence_host_name(&a->evidence, r->response.host, NULL));
	put_text(o, KEY_reduction_program, r->response.program);
	put_text(o, KEY_reduction_response, response_words(params->operation_time));
	put_text(o, KEY_reduction_response_unit, params->operation_time ? "s" : "B/s");
	put_text(o, KEY_reduction_stage, nw_op_name(r->response.op));
	put_count(o, KEY_reduction_n_rows,
	    r->result.prepared.row != NULL ? r->result.prepared.n_rows : r->n_rows);
	put_count(o, KEY_reduction_n_sessions, r->response.n_sessions);
	put_count(o, KEY_reduction_n_metrics, m != NULL ? m->n + m->n_idle + m->n_cut : 0);
	put_count(o, KEY_reduction_n_idle, m != NULL ? m->n_idle : 0);
	put_count(o, KEY_reduction_n_cut, m != NULL ? m->n_cut : 0);
	put_count(o, KEY_reduction_n_varying, r->result.prepared.n_used);
	put_count(o, KEY_reduction_n_clusters, r->result.clusters.n_clusters);
	put_text(o, KEY_reduction_status, r->status);
	set_time(o, r, a->reductions.step_ns);
	set_fit(o, r);
	result_set(o, KEY_reduction_parameters, resultdoc_reduction_parameters(a, params));
	return o;
}

json_t *
resultdoc_reduction_parameters(const struct analysis *a, const struct reduction_params *params)
{
	const struct nw_reduce_options *n = &a->reductions.options;
	json_t *o = json_object();

	put_text(o, KEY_reduction_parameters_mode, params->faithful ? "faithful" : "better");
	put_text(o, KEY_reduction_parameters_response, response_words(params->operation_time));
	put_real(o, KEY_reduction_parameters_window_s, (double)params->window_ns * NS);
	put_count(o, KEY_reduction_parameters_rows_min, params->rows_min);
	put_real(o, KEY_reduction_parameters_step_s, (double)a->reductions.step_ns * NS);
	put_real(o, KEY_reduction_parameters_max_missing, n->prepare.max_missing);
	result_set(o, KEY_reduction_parameters_near_zero_filter,
	    json_boolean(n->prepare.near_zero_filter));
	put_real(o, KEY_reduction_parameters_rho0, n->cluster.rho0);
	put_real(o, KEY_reduction_parameters_alpha, n->cluster.alpha);
	result_set(o, KEY_reduction_parameters_n_eff, json_boolean(n->cluster.n_eff));
	result_set(o, KEY_reduction_parameters_f_remove,
	    isfinite(n->eliminate.f_remove) ? json_real(n->eliminate.f_remove)
					    : resultdoc_text("ln n"));
	put_real(o, KEY_reduction_parameters_alias_tolerance, n->eliminate.alias_tolerance);
	put_count(o, KEY_reduction_parameters_folds, n->folds);
	result_set(o, KEY_reduction_parameters_screen, json_boolean(n->screen));
	result_set(o, KEY_reduction_parameters_choose_threshold, json_boolean(n->choose_threshold));
	return o;
}

json_t *
resultdoc_reduction(const struct analysis *a, const struct reduction_params *params)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < a->reductions.n; i++)
		json_array_append_new(list, one_reduction_doc(a, &a->reductions.list[i], params));
	return list;
}

static json_t *
setting_doc(const struct advice_setting *s)
{
	json_t *o = json_object();

	put_text(o, KEY_advice_setting_host, s->host);
	put_text(o, KEY_advice_setting_name, s->name);
	put_text(o, KEY_advice_setting_value, s->value);
	return o;
}

json_t *
resultdoc_advice(const struct analysis *a)
{
	json_t *list = json_array(), *o;
	const struct advice_card *c;
	size_t i;

	for (c = a->advice.card; c < a->advice.card + a->advice.n; c++) {
		o = json_object();
		put_text(o, KEY_advice_rule, c->rule->name);
		put_text(o, KEY_advice_title, c->title);
		put_text(o, KEY_advice_evidence, c->evidence);
		put_text(o, KEY_advice_check, c->check);
		put_text(o, KEY_advice_change, c->change);
		put_real(o, KEY_advice_gain, c->gain);
		put_real(o, KEY_advice_gain_history, c->gain_history);
		put_text(o, KEY_advice_undo, c->undo);
		put_text(o, KEY_advice_reference, c->rule->reference);
		put_count(o, KEY_advice_n_tried, c->n_tried);
		put_count(o, KEY_advice_n_kept, c->n_kept);
		put_count(o, KEY_advice_n_failed, c->n_failed);
		result_set(o, KEY_advice_settings, json_array());
		for (i = 0; i < c->n_settings; i++)
			json_array_append_new(
			    json_object_get(o, result_key_name(KEY_advice_settings)),
			    setting_doc(&c->setting[i]));
		json_array_append_new(list, o);
	}
	return list;
}
