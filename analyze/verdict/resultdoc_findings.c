/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes, classes of durations and reduced metrics as parts of the result document. */
#include "analyze/verdict/resultdoc_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS_MAX = 200 };
static const double NS = 1e-9;

static void
set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static void
set_real(json_t *o, const char *key, double v)
{
	set(o, key, resultdoc_real(v));
}

static void
set_text(json_t *o, const char *key, const char *text)
{
	set(o, key, resultdoc_text(text));
}

static void
set_count(json_t *o, const char *key, size_t n)
{
	set(o, key, json_integer((json_int_t)n));
}

static const char *
host_name(const struct evidence *e, size_t host)
{
	return host < e->n_hosts ? e->hosts[host].name : NULL;
}

/* --- changes --- */

static int64_t
window_ns(const struct evidence *e, size_t window)
{
	return e->t0_wall_ns + (int64_t)window * e->step_ns;
}

static json_t *
series_doc(const struct evidence *e, const struct change_series *s)
{
	json_t *o = json_object(), *at = json_array(), *means = json_array();
	size_t i;

	for (i = 0; i < s->changes.n_segments; i++) {
		if (i > 0)
			json_array_append_new(
			    at, resultdoc_ns(window_ns(e, s->changes.segment[i].start)));
		json_array_append_new(means, resultdoc_real(s->changes.segment[i].mean));
	}
	set_text(o, "what", s->delivered ? "delivered" : "tput_i");
	set_text(o, "stage", s->delivered ? NULL : nw_op_name(s->op));
	set_text(o, "host", s->delivered ? NULL : host_name(e, s->host));
	set_text(o, "status", nw_status_text(s->changes.status));
	set(o, "at_ns", at);
	set(o, "means", means);
	set_real(o, "penalty", s->changes.penalty);
	set_real(o, "r", s->changes.r);
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

	set(o, "start_ns", resultdoc_ns(window_ns(e, s->first)));
	set(o, "end_ns", resultdoc_ns(window_ns(e, s->end)));
	set_count(o, "windows", s->end - s->first);
	set_text(o, "stage", s->known ? nw_stage_kind_name(p->stage[s->stage].kind) : NULL);
	set_text(o, "words", words);
	set_real(o, "bytes", s->bytes);
	set_real(o, "bytes_per_s", s->bytes_per_s);
	set_text(o, "lowest",
	    s->limit.stage < p->n ? nw_stage_kind_name(p->stage[s->limit.stage].kind) : NULL);
	set_real(o, "held_share", limit_held(&s->limit));
	set_real(o, "effect", s->limit.effect);
	set(o, "interval",
	    json_pack(
		"[oo]", resultdoc_real(s->limit.effect_low), resultdoc_real(s->limit.effect_high)));
	set_real(o, "p", s->limit.p);
	set_real(o, "p_holm", s->p_holm);
	set(o, "hidden_wait", hidden_doc(s->hidden));
	free(words);
	return o;
}

json_t *
resultdoc_changes_parameters(const struct analysis *a)
{
	const struct segments *s = &a->segments;
	json_t *o = json_object();

	set_real(o, "penalty_per_ln_n", 3);
	set_count(o, "min_segment", s->options.min_segment);
	set_count(o, "join_windows", s->join_windows);
	set(o, "ar", json_boolean(s->options.ar));
	set_real(o, "winsorise_mad", s->options.winsorise_mad);
	set_text(o, "correction", "holm");
	return o;
}

json_t *
resultdoc_changes(const struct analysis *a)
{
	const struct segments *s = &a->segments;
	json_t *o = json_object(), *series = json_array(), *segments = json_array();
	size_t i;

	for (i = 0; i < s->n_series; i++)
		json_array_append_new(series, series_doc(&a->evidence, &s->series[i]));
	for (i = 0; i < s->n; i++)
		json_array_append_new(segments, segment_doc(a, &s->segment[i]));
	set(o, "series", series);
	set(o, "segments", segments);
	set(o, "parameters", resultdoc_changes_parameters(a));
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
		set(o, "name", class_name(i));
		set_real(o, "from_s", k->low * NS);
		set_real(o, "to_s", k->high * NS);
		set_real(o, "mode_s", k->peak * NS);
		set_real(o, "share_ops", c->n > 0 ? k->count / c->n : NAN);
		set_real(o, "share_time", c->sum_s > 0 ? k->sum * NS / c->sum_s : NAN);
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
	set(o, "x_s", x);
	set(o, "y", y);
	return o;
}

json_t *
resultdoc_density_parameters(const struct classes_params *params)
{
	json_t *o = json_object();

	set_text(o, "scale", "ln");
	set_text(o, "bandwidth", "nrd0");
	set_real(o, "adjust", params->adjust);
	set_real(o, "h_min", params->peak_min);
	set_real(o, "cutoff_fraction", params->cutoff);
	set_count(o, "operations_min", CLASSES_OPS_MIN);
	return o;
}

static json_t *
op_classes_doc(
    const struct analysis *a, const struct op_classes *c, const struct classes_params *params)
{
	const struct nw_density *d = &c->density;
	bool drawn = c->classes.n > 0;
	json_t *o = json_object(), *p = resultdoc_density_parameters(params);
	int k = c->of->size_class;

	set_text(o, "op", nw_op_name(c->of->op));
	set_text(o, "host", host_name(&a->evidence, c->of->host));
	set(o, "size_class", k < 0 ? json_null() : json_integer(k));
	set_real(o, "size_from_bytes", k < 0 ? NAN : pow(4, k));
	set_real(o, "size_to_bytes", k < 0 ? NAN : pow(4, k + 1));
	set_real(o, "n", c->n);
	set_text(o, "status", nw_status_text(d->status));
	set_real(o, "time_s", drawn ? c->sum_s : NAN);
	set_real(o, "cutoff_s", drawn ? c->classes.cutoff * NS : NAN);
	set_real(o, "outlier_share", drawn ? c->classes.n_outliers / c->n : NAN);
	set_real(o, "outlier_time_share",
	    drawn && c->sum_s > 0 ? c->classes.outlier_sum * NS / c->sum_s : NAN);
	set(o, "classes", classes_doc(c));
	set(o, "curve", drawn ? curve_doc(d) : json_null());
	set_real(p, "bw", drawn ? d->bw : NAN);
	set_count(p, "grid", d->m);
	set_real(p, "clock_step_s", drawn ? c->clock_step_s : NAN);
	set(p, "coarse", json_boolean(d->coarse));
	set(o, "parameters", p);
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

/* The cluster that candidate i of the elimination stands for. */
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
		set_text(o, "name", m->name);
		set_real(o, "coefficient", e->lm.coef[i].value);
		set_real(o, "se", e->lm.coef[i].se);
		set_text(o, "unit", m->unit);
		set_real(o, "r",
		    r->result.r_response != NULL
			? r->result.r_response[r->result.clusters.rep[cluster]]
			: NAN);
		set_real(o, "drift", r->result.drift[candidate]);
		set(o, "members", members_doc(r, cluster));
		set_real(o, "min_r", r->result.clusters.min_abs_r[cluster]);
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
		set_real(o, "threshold", s->threshold);
		set_real(o, "r2", s->r2);
		set_real(o, "r2_adj", s->adj_r2);
		set_real(o, "r2_oos", s->out_of_sample_r2);
		set_real(o, "rd", s->reduction_degree);
		set(o, "kept", ok ? json_integer((json_int_t)s->n_selected) : json_null());
		set_text(o, "status", nw_status_text(s->status));
		json_array_append_new(list, o);
	}
	return list;
}

static void
set_fit(json_t *o, const struct reduction *r)
{
	const struct nw_reduction *n = &r->result;
	bool ok = strcmp(r->status, "ok") == 0;

	set_real(o, "threshold", ok ? n->threshold : NAN);
	set(o, "kept", ok ? kept_doc(r) : json_array());
	set_real(o, "intercept", ok ? n->elimination.lm.intercept.value : NAN);
	set_real(o, "r2", ok ? n->elimination.lm.r2 : NAN);
	set_real(o, "r2_adjusted", ok ? n->elimination.lm.adj_r2 : NAN);
	set_real(o, "r2_out_of_sample", ok ? n->out_of_sample_r2 : NAN);
	set_real(o, "reduction_degree", ok ? n->reduction_degree : NAN);
	set_text(o, "warning",
	    ok && n->too_many_terms ? "The model has more terms than a fifth of its rows: "
				      "much of its R2 is chance."
				    : NULL);
	set(o, "scan", ok ? scan_doc(n) : json_array());
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
	json_t *o = json_object();

	set_text(o, "host", host_name(&a->evidence, r->response.host));
	set_text(o, "program", r->response.program);
	set_text(o, "response", response_words(params->operation_time));
	set_text(o, "response_unit", params->operation_time ? "s" : "B/s");
	set_text(o, "stage", nw_op_name(r->response.op));
	set_count(
	    o, "n_rows", r->result.prepared.row != NULL ? r->result.prepared.n_rows : r->n_rows);
	set_count(o, "n_sessions", r->response.n_sessions);
	set_count(o, "n_metrics", r->metrics != NULL ? r->metrics->n : 0);
	set_count(o, "n_varying", r->result.prepared.n_used);
	set_count(o, "n_clusters", r->result.clusters.n_clusters);
	set_text(o, "status", r->status);
	set_fit(o, r);
	set(o, "parameters", resultdoc_reduction_parameters(a, params));
	return o;
}

json_t *
resultdoc_reduction_parameters(const struct analysis *a, const struct reduction_params *params)
{
	const struct nw_reduce_options *n = &a->reductions.options;
	json_t *o = json_object();

	set_text(o, "mode", params->faithful ? "faithful" : "better");
	set_text(o, "response", response_words(params->operation_time));
	set_real(o, "window_s", (double)params->window_ns * NS);
	set_count(o, "rows_min", params->rows_min);
	set_real(o, "step_s", (double)a->reductions.step_ns * NS);
	set_real(o, "max_missing", n->prepare.max_missing);
	set(o, "near_zero_filter", json_boolean(n->prepare.near_zero_filter));
	set_real(o, "rho0", n->cluster.rho0);
	set_real(o, "alpha", n->cluster.alpha);
	set(o, "n_eff", json_boolean(n->cluster.n_eff));
	set(o, "f_remove",
	    isfinite(n->eliminate.f_remove) ? json_real(n->eliminate.f_remove)
					    : resultdoc_text("ln n"));
	set_real(o, "alias_tolerance", n->eliminate.alias_tolerance);
	set_count(o, "folds", n->folds);
	set(o, "screen", json_boolean(n->screen));
	set(o, "choose_threshold", json_boolean(n->choose_threshold));
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
