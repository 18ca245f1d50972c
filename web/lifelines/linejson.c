/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON document of a session's lifelines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/density.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/lifelines/linereport.h"

enum { STALLS_MAX = 1000, WITH_MAX = 50, DENSITY_POINTS = 64 };

/* Takes o; a text that is not UTF-8 becomes null. */
static void
put(json_t *o, enum result_key key, json_t *v)
{
	result_set(o, key, v != NULL ? v : json_null());
}

static json_t *
time_text(int64_t t_wall_ns)
{
	return json_string(fmt_iso_ns(t_wall_ns).s);
}

static json_t *
path_json(const struct lineset *s)
{
	json_t *list = json_array();
	unsigned p;

	for (p = 0; p < s->lines.n_points; p++)
		json_array_append_new(list, json_string(lineset_point(s, p)));
	return list;
}

static json_t *
names_json(char *const *text, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(list, json_string(text[i]));
	return list;
}

static json_t *
clocks_json(const struct lineset *s)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < s->hosts.n; i++) {
		const struct lineset_clock *c = &s->clock[i];

		o = json_object();
		result_put_text(o, KEY_line_clock_host, s->hosts.text[i]);
		result_put_real(o, KEY_line_clock_offset_s, c->offset_s);
		result_put_real(o, KEY_line_clock_bound_s, c->bound_s);
		result_put_real(o, KEY_line_clock_corrected_s, (double)c->lead_ns * 1e-9);
		result_put_real(o, KEY_line_clock_corrected_rate, c->drift);
		result_put_real(o, KEY_line_clock_lead_by_causality_low_s, c->causal.low_s);
		result_put_real(o, KEY_line_clock_lead_by_causality_high_s, c->causal.high_s);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
wrong_json(const struct lineset *s)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < s->n_wrong; i++) {
		const struct nw_line_wrong *w = &s->wrong[i];

		o = json_object();
		result_put_text(o, KEY_line_wrong_host, s->hosts.text[w->host]);
		put(o, KEY_line_wrong_against,
		    w->against != NW_LINE_ANY ? json_string(s->hosts.text[w->against]) : NULL);
		put(o, KEY_line_wrong_kind,
		    json_string(w->moved_s > 0 ? "moved"
			    : w->rate != 0     ? "drift"
					       : "constant"));
		result_put_real(o, KEY_line_wrong_low_s, w->moved_s > 0 ? NAN : w->low_s);
		result_put_real(o, KEY_line_wrong_high_s, w->moved_s > 0 ? NAN : w->high_s);
		result_put_real(o, KEY_line_wrong_end_low_s, w->rate != 0 ? w->end_low_s : NAN);
		result_put_real(o, KEY_line_wrong_end_high_s, w->rate != 0 ? w->end_high_s : NAN);
		result_put_real(o, KEY_line_wrong_rate_low, w->rate != 0 ? w->rate_low : NAN);
		result_put_real(o, KEY_line_wrong_rate_high, w->rate != 0 ? w->rate_high : NAN);
		result_put_real(o, KEY_line_wrong_moved_s, w->moved_s > 0 ? w->moved_s : NAN);
		json_array_append_new(list, o);
	}
	return list;
}

/* Curve of ln duration as [seconds, density] pairs; null where durations have none. */
static json_t *
density_json(const struct chosen *k, const struct nw_line_segment *g)
{
	struct nw_density_options options = nw_density_defaults;
	struct nw_density d = { 0 };
	double *v = calloc(k->lines.n + 1, sizeof(*v)), step;
	json_t *list = NULL;
	size_t i, n;

	options.grid = DENSITY_POINTS;
	n = v != NULL ? nw_lines_durations(&k->lines, g->from, g->to, v, NULL) : 0;
	if (n > 1 && nw_density(v, n, &options, &d) == NW_OK && d.status == NW_STATUS_OK) {
		list = json_array();
		step = (d.to - d.from) / (double)(d.m - 1);
		for (i = 0; i < d.m; i++)
			json_array_append_new(
			    list, json_pack("[f,f]", exp(d.from + (double)i * step), d.y[i]));
	}
	nw_density_clear(&d);
	free(v);
	return list;
}

static json_t *
quantiles_json(const double *q)
{
	static const enum result_key keys[NW_LINE_QUANTILES] = { KEY_line_quantiles_min,
		KEY_line_quantiles_p5, KEY_line_quantiles_p25, KEY_line_quantiles_median,
		KEY_line_quantiles_p75, KEY_line_quantiles_p95, KEY_line_quantiles_p99,
		KEY_line_quantiles_max };
	json_t *o = json_object();
	size_t i;

	for (i = 0; i < NW_LINE_QUANTILES; i++)
		result_put_real(o, keys[i], q[i]);
	return o;
}

static json_t *
segments_json(const struct lineset *s, const struct chosen *k, const struct linereport *p)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < p->segments.n; i++) {
		const struct nw_line_segment *g = &p->segments.segment[i];

		o = json_object();
		result_put_text(o, KEY_line_segment_from, lineset_point(s, g->from));
		result_put_text(o, KEY_line_segment_to, lineset_point(s, g->to));
		result_put_int(o, KEY_line_segment_n, g->n);
		result_put_real(o, KEY_line_segment_mean_s, g->mean_s);
		put(o, KEY_line_segment_duration_s, quantiles_json(g->q_s));
		put(o, KEY_line_segment_density, density_json(k, g));
		result_put_real(o, KEY_line_segment_excess_share, g->excess_share);
		result_put_real(o, KEY_line_segment_excess_share_low, g->excess_low);
		result_put_real(o, KEY_line_segment_excess_share_high, g->excess_high);
		result_put_int(o, KEY_line_segment_crossings, g->crossings);
		result_put_int(o, KEY_line_segment_crossings_of_one_server, g->lane_crossings);
		result_put_int(o, KEY_line_segment_order_impossible, g->backwards);
		result_put_int(o, KEY_line_segment_order_uncertain, g->uncertain);
		result_put_int(o, KEY_line_segment_order_reversed, g->reversed);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
finding_json(const struct lineset *s, const struct nw_line_finding *f)
{
	static const char *const kinds[] = { "class", "server", "stall", "step" };
	json_t *o = json_object();

	result_put_text(o, KEY_line_finding_kind, kinds[f->kind]);
	result_put_text(o, KEY_line_finding_from, lineset_point(s, f->from));
	result_put_text(o, KEY_line_finding_to, lineset_point(s, f->to));
	put(o, KEY_line_finding_server,
	    f->lane != NW_LINE_ANY ? json_string(s->lanes.text[f->lane]) : NULL);
	result_put_real(o, KEY_line_finding_size_s, f->size_s);
	result_put_real(o, KEY_line_finding_size_low_s, f->size_low_s);
	result_put_real(o, KEY_line_finding_size_high_s, f->size_high_s);
	result_put_real(o, KEY_line_finding_slow_from_s, f->split_s);
	result_put_int(o, KEY_line_finding_lines, f->n_lines);
	result_put_int(o, KEY_line_finding_moments, f->n_moments);
	result_put_real(o, KEY_line_finding_share, f->share);
	result_put_real(o, KEY_line_finding_cost_s, f->cost_s);
	put(o, KEY_line_finding_first, time_text(f->first_ns));
	put(o, KEY_line_finding_last, time_text(f->last_ns));
	return o;
}

static json_t *
findings_json(const struct lineset *s, const struct linereport *p)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < p->found.n; i++)
		json_array_append_new(list, finding_json(s, &p->found.finding[i]));
	return list;
}

static json_t *
stalls_json(const struct lineset *s, const struct linereport *p)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < p->n_stalls && i < STALLS_MAX; i++) {
		const struct nw_line_stall *x = &p->stall[i];

		o = json_object();
		result_put_text(o, KEY_line_stall_server, s->lanes.text[x->lane]);
		result_put_text(o, KEY_line_stall_from, lineset_point(s, x->from));
		result_put_text(o, KEY_line_stall_to, lineset_point(s, x->to));
		put(o, KEY_line_stall_blocked, time_text(x->blocked_ns));
		put(o, KEY_line_stall_unblocked, time_text(x->unblocked_ns));
		result_put_real(o, KEY_line_stall_stood_s,
		    ((double)x->unblocked_ns - (double)x->blocked_ns) * 1e-9);
		result_put_int(o, KEY_line_stall_waiting, x->waiting);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
with_json(const struct lineset *s, const struct linereport *p)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < p->n_with && i < WITH_MAX; i++) {
		const struct linereport_with *w = &p->with[i];

		o = json_object();
		result_put_text(o, KEY_host_event_name, s->names.text[w->name]);
		result_put_text(o, KEY_host_event_host, s->hosts.text[w->host]);
		put(o, KEY_host_event_server,
		    w->server != NW_LINE_ANY ? json_string(s->side_servers.text[w->server]) : NULL);
		result_put_int(o, KEY_host_event_n, w->with.n);
		result_put_int(o, KEY_host_event_within, w->with.n_within);
		result_put_real(o, KEY_host_event_expected, w->with.expected);
		result_put_real(o, KEY_host_event_p, w->with.p);
		json_array_append_new(list, o);
	}
	return list;
}

/* --- measuring --- */

bool
linereport_spot(const struct lineset *s, const struct choice_mark *m, struct linereport_spot *out)
{
	if (m->line[0] == '\0')
		return false;
	out->line = linereport_line(s, m->line);
	out->point = linereport_point(s, m->point);
	if (out->line >= s->lines.n || out->point >= s->lines.n_points)
		return false;
	out->t_wall_ns = s->t[out->line * s->lines.n_points + out->point];
	return out->t_wall_ns != NW_LINE_NEVER;
}

static double
bound_at(const struct lineset *s, const struct linereport_spot *x)
{
	return s->bound[s->lane_host[s->lane[x->line] * s->lines.n_points + x->point]];
}

struct passed {
	size_t n;
	double bytes; /* NaN: a line of unknown size is among them */
};

/* The lines that pass the point from a time to another. */
static struct passed
passes(const struct lineset *s, const struct choice *c, unsigned point, int64_t from, int64_t to)
{
	struct passed out = { 0, 0 };
	size_t i;

	for (i = 0; i < s->lines.n; i++) {
		int64_t t = s->t[i * s->lines.n_points + point];

		if (t == NW_LINE_NEVER || t <= from || t > to)
			continue;
		out.n++;
		out.bytes += isnan(s->bytes[i]) ? c->line_bytes : s->bytes[i];
	}
	return out;
}

json_t *
linereport_measure(const struct lineset *s, const struct choice *c)
{
	struct linereport_spot a, b;
	struct passed passed;
	double seconds, error, rate;
	json_t *o;

	if (!linereport_spot(s, &c->a, &a) || !linereport_spot(s, &c->b, &b))
		return json_null();
	seconds = ((double)b.t_wall_ns - (double)a.t_wall_ns) * 1e-9;
	error = lineset_host(s, a.line, a.point) == lineset_host(s, b.line, b.point)
	    ? 0
	    : bound_at(s, &a) + bound_at(s, &b);
	passed = a.t_wall_ns < b.t_wall_ns ? passes(s, c, b.point, a.t_wall_ns, b.t_wall_ns)
					   : passes(s, c, b.point, b.t_wall_ns, a.t_wall_ns);
	rate = seconds != 0 ? 1 / fabs(seconds) : NAN;
	o = json_object();
	result_put_text(o, KEY_line_measure_a, s->label[a.line]);
	result_put_text(o, KEY_line_measure_a_point, lineset_point(s, a.point));
	result_put_text(o, KEY_line_measure_b, s->label[b.line]);
	result_put_text(o, KEY_line_measure_b_point, lineset_point(s, b.point));
	result_put_real(o, KEY_line_measure_seconds, seconds);
	result_put_real(o, KEY_line_measure_error_s, error);
	result_put_int(o, KEY_line_measure_lines_between, passed.n);
	result_put_real(o, KEY_line_measure_lines_per_s, (double)passed.n * rate);
	result_put_real(o, KEY_line_measure_bytes_between, passed.bytes);
	result_put_real(o, KEY_line_measure_bytes_per_s, passed.bytes * rate);
	return o;
}

/* Appends why a mark is no point of a line. */
static void
mark_lacks(const struct lineset *s, const char *which, const struct choice_mark *m, char *out)
{
	size_t len = strlen(out), size = LINEREPORT_SENTENCE_BYTES - len;
	struct linereport_spot at;

	if (m->line[0] == '\0')
		snprintf(out + len, size, "%s is missing. ", which);
	else if ((at.line = linereport_line(s, m->line)) >= s->lines.n)
		snprintf(out + len, size, "%s: no lifeline has the ids %s. ", which, m->line);
	else if ((at.point = linereport_point(s, m->point)) >= s->lines.n_points)
		snprintf(out + len, size, "%s: the path has no point %s. ", which, m->point);
	else if (!linereport_spot(s, m, &at))
		snprintf(out + len, size, "%s: the lifeline %s does not pass %s. ", which, m->line,
		    m->point);
}

void
linereport_lacks(
    const struct lineset *s, const struct choice *c, char out[LINEREPORT_SENTENCE_BYTES])
{
	size_t len;

	out[0] = '\0';
	if (c->a.line[0] == '\0' && c->b.line[0] == '\0')
		return;
	mark_lacks(s, "Point a", &c->a, out);
	mark_lacks(s, "Point b", &c->b, out);
	if ((len = strlen(out)) > 0)
		out[len - 1] = '\0'; /* the blank behind the last sentence */
}

static json_t *
notes_json(const struct lineset *s)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < s->n_notes; i++) {
		o = json_object();
		result_put_int(o, KEY_line_note_note, s->notes[i].id);
		put(o, KEY_line_note_at, time_text(s->notes[i].t_wall_ns));
		result_put_text(o, KEY_line_note_line, s->notes[i].line);
		result_put_text(o, KEY_line_note_point, s->notes[i].point);
		result_put_text(o, KEY_line_note_text, s->notes[i].text);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *
linereport_json(const struct lineset *s, const struct choice *c, const struct chosen *k,
    const struct linereport *p)
{
	static const char *const sources[] = { "declared", "known", "learned" };
	char lacks[LINEREPORT_SENTENCE_BYTES];
	json_t *o = json_object();

	if (o == NULL)
		return NULL;
	result_put_int(o, KEY_lifelines_session, s->session_id);
	result_put_text(o, KEY_lifelines_sentence, p->sentence);
	put(o, KEY_lifelines_finding,
	    p->found.n > 0 ? finding_json(s, &p->found.finding[0]) : NULL);
	put(o, KEY_lifelines_findings, findings_json(s, p));
	result_put_int(o, KEY_lifelines_events, s->n_events);
	result_put_int(o, KEY_lifelines_events_left_out, s->n_left_out);
	put(o, KEY_lifelines_first, time_text(s->first_wall_ns));
	put(o, KEY_lifelines_last, time_text(s->last_wall_ns));
	result_put_int(o, KEY_lifelines_lifelines, s->lines.n);
	result_put_int(o, KEY_lifelines_chosen, k->lines.n);
	result_put_int(o, KEY_lifelines_finished, p->n_finished);
	result_put_int(o, KEY_lifelines_flushed, p->n_flushed);
	result_put_int(o, KEY_lifelines_unfinished, p->n_unfinished);
	result_put_int(o, KEY_lifelines_from_memory, p->n_memory);
	result_put_real(o, KEY_lifelines_from_memory_s, p->memory_s);
	result_put_real(o, KEY_lifelines_not_from_memory_s, p->others_s);
	put(o, KEY_lifelines_object, names_json(s->keys, s->n_keys));
	result_put_text(o, KEY_lifelines_server_by, s->lane_key);
	put(o, KEY_lifelines_servers, names_json(s->lanes.text, s->lanes.n));
	put(o, KEY_lifelines_path, path_json(s));
	result_put_text(o, KEY_lifelines_path_source, sources[s->path_source]);
	put(o, KEY_lifelines_duration_s, quantiles_json(p->segments.total_s));
	result_put_int(o, KEY_lifelines_slow_lines, p->segments.n_slow);
	result_put_real(o, KEY_lifelines_slow_from_s, p->segments.slow_s);
	put(o, KEY_lifelines_segments, segments_json(s, k, p));
	put(o, KEY_lifelines_stalls, stalls_json(s, p));
	put(o, KEY_lifelines_host_events, with_json(s, p));
	put(o, KEY_lifelines_clocks, clocks_json(s));
	put(o, KEY_lifelines_wrong_clocks, wrong_json(s));
	put(o, KEY_lifelines_notes, notes_json(s));
	put(o, KEY_lifelines_measure, linereport_measure(s, c));
	linereport_lacks(s, c, lacks);
	put(o, KEY_lifelines_measure_lacks, lacks[0] != '\0' ? json_string(lacks) : NULL);
	return o;
}
