/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/resultdoc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "analyze/verdict/resultdoc_in.h"
#include "narrows/xmalloc.h"

enum {
	TIMELINE_POINTS_MAX = 300,
	TIMELINE_DIGITS = 5,
	/* of all others: more would be noise, and a document is kept for every session */
	NUMBER_DIGITS = 12
};

/* Undefined is null, never NaN. */
json_t *
resultdoc_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *
resultdoc_drawn(double v, int digits)
{
	char text[32];

	if (!isfinite(v))
		return json_null();
	snprintf(text, sizeof(text), "%.*g", digits, v);
	return json_real(strtod(text, NULL));
}

json_t *
resultdoc_text(const char *s)
{
	json_t *v = s != NULL ? json_string(s) : json_null();

	/* A name that is no UTF-8 is shown byte by byte rather than not at all. */
	if (v == NULL) {
		size_t n = 0, cap = strlen(s) * 4 + 1;
		char *t = malloc(cap);

		if (t == NULL)
			return NULL;
		for (t[0] = '\0'; *s != '\0'; s++)
			n += (size_t)snprintf(t + n, cap - n,
			    (unsigned char)*s < 0x80 ? "%c" : "\\x%02x", (unsigned char)*s);
		v = json_string(t);
		free(t);
	}
	return v != NULL ? v : json_null();
}

/* Nanoseconds do not fit a JavaScript number. */
json_t *
resultdoc_ns(int64_t ns)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%" PRId64, ns);
	return json_string(buf);
}

static json_t *
iso_text(int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	char buf[48], day[32];
	struct tm tm;

	if (wall_ns <= 0 || gmtime_r(&seconds, &tm) == NULL)
		return json_null();
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, sizeof(buf), "%s.%03dZ", day, (int)(wall_ns % 1000000000 / 1000000));
	return json_string(buf);
}

static const char *
host_of(const struct evidence *e, size_t host)
{
	return host < e->n_hosts ? e->hosts[host].name : "?";
}

static json_t *
hosts_doc(const struct evidence *e, const struct nw_path *p)
{
	json_t *list = json_array(), *h, *clock;
	const char *role;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		role = p->has_sender && p->sender_host == i    ? "source"
		    : p->has_receiver && p->receiver_host == i ? "destination"
							       : NULL;
		h = json_object();
		json_object_set_new(h, "id", json_integer(e->hosts[i].id));
		json_object_set_new(h, "name", resultdoc_text(e->hosts[i].name));
		json_object_set_new(h, "role", resultdoc_text(role));
		clock = json_object();
		json_object_set_new(clock, "known", json_boolean(e->hosts[i].clock_known));
		json_object_set_new(
		    clock, "synchronised", json_boolean(e->hosts[i].clock_synchronised));
		json_object_set_new(clock, "offset_s", resultdoc_real(e->hosts[i].clock_offset_s));
		json_object_set_new(clock, "bound_s", resultdoc_real(e->hosts[i].clock_bound_s));
		json_object_set_new(h, "clock", clock);
		json_array_append_new(list, h);
	}
	return list;
}

static json_t *
files_doc(const struct evidence *e)
{
	json_t *list = json_array(), *f;
	size_t i;

	for (i = 0; i < e->n_files; i++) {
		f = json_object();
		json_object_set_new(f, "host", resultdoc_text(host_of(e, e->files[i].host)));
		json_object_set_new(f, "path", resultdoc_text(e->files[i].path));
		json_object_set_new(f, "size_bytes",
		    e->files[i].size_bytes >= 0 ? json_integer(e->files[i].size_bytes)
						: json_null());
		json_object_set_new(f, "read_bytes", resultdoc_real(e->files[i].read_bytes));
		json_object_set_new(f, "write_bytes", resultdoc_real(e->files[i].write_bytes));
		json_array_append_new(list, f);
	}
	return list;
}

static json_t *
connections_doc(const struct evidence *e)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < e->n_connections; i++) {
		const struct evidence_connection *c = &e->connections[i];

		o = json_object();
		json_object_set_new(o, "host", resultdoc_text(host_of(e, c->host)));
		json_object_set_new(o, "src", resultdoc_text(c->src));
		json_object_set_new(o, "sport", json_integer(c->sport));
		json_object_set_new(o, "dst", resultdoc_text(c->dst));
		json_object_set_new(o, "dport", json_integer(c->dport));
		json_object_set_new(o, "bytes_out", resultdoc_real(c->bytes_out));
		json_object_set_new(o, "bytes_in", resultdoc_real(c->bytes_in));
		json_object_set_new(o, "rtt_s", resultdoc_real(c->rtt_s));
		json_object_set_new(o, "rtt_min_s", resultdoc_real(c->rtt_min_s));
		json_object_set_new(o, "retrans", resultdoc_real(c->retrans));
		json_object_set_new(o, "cwnd_bytes", resultdoc_real(c->cwnd_bytes));
		json_object_set_new(o, "busy_s", resultdoc_real(c->busy_s));
		json_object_set_new(o, "rwnd_limited_s", resultdoc_real(c->rwnd_limited_s));
		json_object_set_new(o, "sndbuf_limited_s", resultdoc_real(c->sndbuf_limited_s));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
session_doc(const struct evidence *e, const struct judgement *j)
{
	int64_t start = j->first_wall_ns ? j->first_wall_ns : e->opened_wall_ns;
	int64_t end = j->last_wall_ns ? j->last_wall_ns : e->closed_wall_ns;
	json_t *s = json_object();

	json_object_set_new(s, "id", json_integer(e->session_id));
	json_object_set_new(s, "task_id", resultdoc_text(e->task_id));
	json_object_set_new(s, "state", resultdoc_text(e->open ? "open" : "closed"));
	json_object_set_new(s, "program", resultdoc_text(j->program));
	json_object_set_new(s, "route", resultdoc_text(j->route));
	json_object_set_new(s, "start_ns", resultdoc_ns(start));
	json_object_set_new(s, "end_ns", resultdoc_ns(end));
	json_object_set_new(s, "start", iso_text(start));
	json_object_set_new(s, "end", iso_text(end));
	json_object_set_new(s, "duration_s", resultdoc_real(j->duration_s));
	json_object_set_new(s, "bytes", resultdoc_real(j->bytes));
	json_object_set_new(s, "bytes_per_s", resultdoc_real(j->bytes_per_s));
	json_object_set_new(s, "hosts", hosts_doc(e, &j->path));
	json_object_set_new(s, "files", files_doc(e));
	json_object_set_new(s, "connections", connections_doc(e));
	return s;
}

static json_t *
witnesses_doc(const struct judgement *j)
{
	json_t *list = json_array(), *w;
	size_t i;

	for (i = 0; i < j->n_witnesses; i++) {
		w = json_object();
		json_object_set_new(w, "name", resultdoc_text(j->witnesses[i].name));
		json_object_set_new(w, "says", resultdoc_text(j->witnesses[i].says));
		json_object_set_new(w, "agrees",
		    j->witnesses[i].agrees < 0 ? json_null()
					       : json_boolean(j->witnesses[i].agrees));
		json_object_set_new(w, "detail", resultdoc_text(j->witnesses[i].detail));
		json_array_append_new(list, w);
	}
	return list;
}

static json_t *
verdict_doc(const struct judgement *j)
{
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	json_t *v = json_object(), *list;
	size_t i;

	json_object_set_new(v, "stage",
	    resultdoc_text(
		j->limit.known ? nw_stage_kind_name(j->path.stage[j->limit.stage].kind) : NULL));
	json_object_set_new(v, "words", resultdoc_text(j->words));
	json_object_set_new(v, "confidence", resultdoc_text(j->confidence));
	json_object_set_new(v, "sentence", resultdoc_text(j->sentence));
	json_object_set_new(v, "effect", resultdoc_real(j->limit.effect));
	json_object_set_new(v, "interval",
	    json_pack(
		"[oo]", resultdoc_real(j->limit.effect_low), resultdoc_real(j->limit.effect_high)));
	json_object_set_new(v, "runner_up",
	    b->runner_up < j->path.n
		? resultdoc_text(nw_stage_kind_name(j->path.stage[b->runner_up].kind))
		: json_null());
	list = json_array();
	for (i = 0; i < j->path.n; i++)
		if (j->limit.tests[i].candidate)
			json_array_append_new(
			    list, resultdoc_text(nw_stage_kind_name(j->path.stage[i].kind)));
	json_object_set_new(v, "candidates", list);
	list = json_array();
	for (i = 0; i < j->n_reasons; i++)
		json_array_append_new(list, resultdoc_text(j->reasons[i]));
	json_object_set_new(v, "reasons", list);
	json_object_set_new(v, "witnesses", witnesses_doc(j));
	return v;
}

/* Mean throughput of single operations: of the operation this stage is about, where there is
 * one. */
static double
per_call_rate(const struct evidence *e, enum nw_stage_kind kind)
{
	static const int op_of[NW_STAGE_COUNT] = { [NW_STAGE_DISK_READ] = NW_OP_DISK_READ,
		[NW_STAGE_SENDER_HOST] = -1,
		[NW_STAGE_NET_WRITE] = NW_OP_NET_WRITE,
		[NW_STAGE_NETWORK] = NW_OP_NET_WRITE,
		[NW_STAGE_NET_READ] = NW_OP_NET_READ,
		[NW_STAGE_RECEIVER_HOST] = -1,
		[NW_STAGE_HOST] = -1,
		[NW_STAGE_DISK_WRITE] = NW_OP_DISK_WRITE };
	double rate = 0, ops = 0;
	int op = op_of[kind];
	size_t f, i;

	for (f = 0; op >= 0 && f < e->n_processes; f++)
		for (i = 0; e->processes[f].ops[op] != NULL && i < e->n_windows; i++) {
			rate += e->processes[f].rate_sum[op][i];
			ops += e->processes[f].ops[op][i];
		}
	return ops > 0 ? rate / ops : NAN;
}

static json_t *
stage_doc(const struct evidence *e, const struct judgement *j, size_t i)
{
	const struct nw_component_result *t = &j->limit.tests[i];
	const struct nw_path_stage *s = &j->path.stage[i];
	const char *words = judge_stage_words(s->kind), *program = judge_stage_program(e, s);
	double held = 1 - t->group.mean,
	       half = t->group.n >= 2 ? 1.96 * t->group.sd / sqrt(t->group.n) : NAN;
	json_t *o = json_object(), *host;
	char *named;

	host = s->to_host != s->host
	    ? json_sprintf("%s -> %s", host_of(e, s->host), host_of(e, s->to_host))
	    : NULL;
	json_object_set_new(o, "stage", resultdoc_text(nw_stage_kind_name(s->kind)));
	json_object_set_new(o, "host", host != NULL ? host : resultdoc_text(host_of(e, s->host)));
	named = program != NULL ? xasprintf("%s %s", words, program) : xstrdup(words);
	json_object_set_new(o, "words", resultdoc_text(named));
	json_object_set_new(o, "program", resultdoc_text(program));
	free(named);
	json_object_set_new(o, "bytes", resultdoc_real(s->bytes));
	json_object_set_new(o, "bytes_per_s", resultdoc_real(s->service_rate));
	json_object_set_new(o, "low", resultdoc_real(s->service_rate * held / (held + half)));
	json_object_set_new(o, "high",
	    held > half ? resultdoc_real(s->service_rate * held / (held - half)) : json_null());
	json_object_set_new(o, "free_share", resultdoc_real(t->group.mean));
	json_object_set_new(o, "tput_i", resultdoc_real(per_call_rate(e, s->kind)));
	json_object_set_new(o, "windows", json_integer((json_int_t)t->n_values));
	json_object_set_new(o, "n_eff", resultdoc_real(t->group.n));
	json_object_set_new(o, "busy_share", resultdoc_real(s->busy_share));
	json_object_set_new(o, "wait_share", resultdoc_real(s->wait_share));
	json_object_set_new(o, "candidate", json_boolean(t->candidate));
	json_object_set_new(o, "lowest", json_boolean(i == j->limit.bottleneck.lowest));
	json_object_set_new(
	    o, "t", i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->test.t));
	json_object_set_new(
	    o, "df", i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->test.df));
	json_object_set_new(
	    o, "p", i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->test.p));
	json_object_set_new(
	    o, "p_holm", i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->p_holm));
	return o;
}

static json_t *
bottleneck_doc(
    const struct evidence *e, const struct judgement *j, const struct judge_params *params)
{
	json_t *b = json_object(), *list = json_array();
	size_t i;

	for (i = 0; i < j->path.n; i++)
		json_array_append_new(list, stage_doc(e, j, i));
	json_object_set_new(b, "test", resultdoc_text("welch"));
	json_object_set_new(
	    b, "tested", resultdoc_text("share of each window that the stage left free"));
	json_object_set_new(b, "alpha", resultdoc_real(params->alpha));
	json_object_set_new(b, "n_eff", json_true());
	json_object_set_new(b, "window_s", resultdoc_real((double)e->step_ns * 1e-9));
	json_object_set_new(b, "stages", list);
	return b;
}

/* --- the timeline, thinned to what a plot can show --- */

struct thin {
	size_t n, by;
	double step_s;
};

static struct thin
thin_of(const struct evidence *e)
{
	struct thin t = { .by = 1 };

	while (e->n_windows / t.by > TIMELINE_POINTS_MAX)
		t.by++;
	t.n = e->n_windows > 0 ? (e->n_windows + t.by - 1) / t.by : 0;
	t.step_s = (double)e->step_ns * 1e-9 * (double)t.by;
	return t;
}

/* Means of the known values of each step, times factor. */
static json_t *
thin_mean(const struct evidence *e, const struct thin *t, const double *x, double factor)
{
	json_t *list = json_array();
	size_t i, k, n;
	double sum;

	for (i = 0; i < t->n; i++) {
		for (sum = 0, n = 0, k = i * t->by; k < (i + 1) * t->by && k < e->n_windows; k++)
			if (x != NULL && isfinite(x[k])) {
				sum += x[k];
				n++;
			}
		json_array_append_new(
		    list, resultdoc_drawn(n > 0 ? sum / (double)n * factor : NAN, TIMELINE_DIGITS));
	}
	return list;
}

static json_t *
thin_ratio(const struct evidence *e, const struct thin *t, const double *num, const double *den)
{
	json_t *list = json_array();
	size_t i, k;
	double a, b;

	for (i = 0; i < t->n; i++) {
		for (a = b = 0, k = i * t->by; k < (i + 1) * t->by && k < e->n_windows; k++) {
			a += num[k];
			b += den[k];
		}
		json_array_append_new(list, resultdoc_drawn(b > 0 ? a / b : NAN, TIMELINE_DIGITS));
	}
	return list;
}

static void
sum_into(double *to, const double *from, size_t n)
{
	size_t i;

	for (i = 0; from != NULL && i < n; i++)
		to[i] += from[i];
}

/* One operation on one host, all its processes together. NULL when none did it. */
static json_t *
timeline_stage(const struct evidence *e, const struct thin *t, size_t host, enum nw_op op)
{
	double *sum, *bytes, *busy, *wait, *rate, *ops;
	json_t *o = NULL;
	size_t f, n = e->n_windows;
	bool any = false;

	for (f = 0; f < e->n_processes; f++)
		any |= e->processes[f].host == host && e->processes[f].bytes[op] != NULL;
	if (!any || (sum = calloc(n, 5 * sizeof(*sum))) == NULL)
		return NULL;
	bytes = sum;
	busy = sum + n;
	wait = sum + 2 * n;
	rate = sum + 3 * n;
	ops = sum + 4 * n;
	for (f = 0; f < e->n_processes; f++) {
		if (e->processes[f].host != host)
			continue;
		sum_into(bytes, e->processes[f].bytes[op], n);
		sum_into(busy, e->processes[f].busy_s[op], n);
		sum_into(wait, e->processes[f].wait_s[op], n);
		sum_into(rate, e->processes[f].rate_sum[op], n);
		sum_into(ops, e->processes[f].ops[op], n);
	}
	o = json_object();
	json_object_set_new(o, "stage", resultdoc_text(nw_op_name(op)));
	json_object_set_new(o, "host", resultdoc_text(host_of(e, host)));
	json_object_set_new(o, "bytes_per_s", thin_mean(e, t, bytes, 1e9 / (double)e->step_ns));
	json_object_set_new(o, "tput_i", thin_ratio(e, t, rate, ops));
	json_object_set_new(o, "busy", thin_mean(e, t, busy, 1e9 / (double)e->step_ns));
	json_object_set_new(o, "wait", thin_mean(e, t, wait, 1e9 / (double)e->step_ns));
	free(sum);
	return o;
}

static json_t *
timeline_doc(const struct evidence *e)
{
	struct thin t = thin_of(e);
	json_t *o = json_object(), *stages = json_array(), *hosts = json_array(), *one;
	size_t h;
	int op;

	for (op = 0; op < NW_OP_COUNT; op++)
		for (h = 0; h < e->n_hosts; h++)
			if ((one = timeline_stage(e, &t, h, (enum nw_op)op)) != NULL)
				json_array_append_new(stages, one);
	for (h = 0; h < e->n_hosts; h++) {
		one = json_object();
		json_object_set_new(one, "host", resultdoc_text(e->hosts[h].name));
		json_object_set_new(one, "cpu_busy", thin_mean(e, &t, e->hosts[h].cpu_busy, 1));
		json_object_set_new(one, "cpu_iowait", thin_mean(e, &t, e->hosts[h].cpu_iowait, 1));
		json_object_set_new(one, "disk_busy", thin_mean(e, &t, e->hosts[h].disk_busy, 1));
		json_object_set_new(
		    one, "disk_bytes_per_s", thin_mean(e, &t, e->hosts[h].disk_bytes_per_s, 1));
		json_array_append_new(hosts, one);
	}
	json_object_set_new(o, "t0_ns", resultdoc_ns(e->t0_wall_ns));
	json_object_set_new(o, "step_s", resultdoc_real(t.step_s));
	json_object_set_new(o, "n", json_integer((json_int_t)t.n));
	json_object_set_new(o, "stages", stages);
	json_object_set_new(o, "hosts", hosts);
	return o;
}

/* What the kernel counted of a process itself. Children are in its parent's once that has waited
 * for them, not before. */
static double
kernel_own_bytes(const struct evidence *e, const struct evidence_process *parent)
{
	const struct evidence_process *f;
	double children = 0;

	for (f = e->processes; f < e->processes + e->n_processes; f++)
		if (f != parent && f->host == parent->host && f->parent_pid >= 0 &&
		    f->parent_pid == parent->pid)
			children += f->kernel_bytes;
	return fmax(
	    parent->kernel_bytes - children, fmin(parent->kernel_bytes, parent->seen_bytes));
}

static json_t *
quality_doc(const struct evidence *e)
{
	json_t *q = json_object(), *notes = json_array();
	double seen = 0, kernel = 0;
	size_t i;

	for (i = 0; i < e->n_processes; i++) {
		seen += e->processes[i].kernel_bytes > 0 ? e->processes[i].seen_bytes : 0;
		kernel += kernel_own_bytes(e, &e->processes[i]);
	}
	for (i = 0; i < e->n_hosts; i++)
		if (!e->hosts[i].clock_known)
			json_array_append_new(
			    notes, json_sprintf("%s does not report its clock.", e->hosts[i].name));
		else if (e->hosts[i].ahead_ns != 0)
			json_array_append_new(notes,
			    json_sprintf(
				"The clock of %s is %.3g s %s the box's, give or take %.1g s; that "
				"is taken off.",
				e->hosts[i].name, fabs((double)e->hosts[i].ahead_ns / 1e9),
				e->hosts[i].ahead_ns > 0 ? "ahead of" : "behind",
				e->hosts[i].exchange_bound_s));
	json_object_set_new(
	    q, "intervals_expected", json_integer((json_int_t)e->intervals_expected));
	json_object_set_new(q, "intervals_got", json_integer((json_int_t)e->intervals_got));
	json_object_set_new(q, "documents", json_integer((json_int_t)e->documents));
	json_object_set_new(
	    q, "documents_rejected", json_integer((json_int_t)e->documents_rejected));
	json_object_set_new(q, "documents_dropped", json_integer((json_int_t)e->documents_dropped));
	json_object_set_new(
	    q, "bytes_seen_share", resultdoc_real(kernel > 0 ? fmin(1, seen / kernel) : NAN));
	if (e->durations_rejected > 0)
		json_array_append_new(notes,
		    json_sprintf("Durations of operations are missing from %llu reports.",
			(unsigned long long)e->durations_rejected));
	if (e->documents_dropped > 0)
		json_array_append_new(notes,
		    json_sprintf(
			"%llu documents are missing: their hosts could not keep them until "
			"they were sent.",
			(unsigned long long)e->documents_dropped));
	json_object_set_new(q, "notes", notes);
	return q;
}

/* Whatever a number in the document depends on and the operator may change. */
static json_t *
parameters_doc(const struct analysis *a, const struct analysis_params *p)
{
	json_t *o = json_pack("{s:f, s:f, s:s, s:b, s:f, s:i}", "alpha", p->judge.alpha, "margin",
	    p->judge.margin, "test", "welch", "n_eff", 1, "window_s",
	    (double)a->evidence.step_ns * 1e-9, "windows_min", LIMIT_WINDOWS_MIN);

	json_object_set_new(o, "changes", resultdoc_changes_parameters(a));
	json_object_set_new(o, "density", resultdoc_density_parameters(&p->classes));
	json_object_set_new(o, "reduction", resultdoc_reduction_parameters(a, &p->reduction));
	return o;
}

static json_t *
run_doc(const struct analysis *a, const struct result_run *run)
{
	return json_pack("{s:I, s:o, s:f, s:s, s:I, s:I, s:o}", "id", (json_int_t)run->id,
	    "started", iso_text(run->started_wall_ns), "took_s", (double)run->took_ns * 1e-9,
	    "version", NW_VERSION, "rows", (json_int_t)a->evidence.rows, "samples",
	    (json_int_t)a->evidence.samples, "parameters", parameters_doc(a, &run->params));
}

char *
resultdoc_build(const struct analysis *a, const struct result_run *run)
{
	const struct evidence *e = &a->evidence;
	const struct judgement *j = &a->judgement;
	json_t *doc = json_object();
	char *out;

	json_object_set_new(doc, "schema", resultdoc_text("narrows-result/1"));
	json_object_set_new(doc, "session", session_doc(e, j));
	json_object_set_new(doc, "verdict", verdict_doc(j));
	json_object_set_new(doc, "bottleneck", bottleneck_doc(e, j, &run->params.judge));
	json_object_set_new(doc, "changes", resultdoc_changes(a));
	json_object_set_new(doc, "density", resultdoc_density(a, &run->params.classes));
	json_object_set_new(doc, "reduction", resultdoc_reduction(a, &run->params.reduction));
	json_object_set_new(doc, "timeline", timeline_doc(e));
	json_object_set_new(doc, "quality", quality_doc(e));
	json_object_set_new(doc, "run", run_doc(a, run));
	out = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(NUMBER_DIGITS));
	json_decref(doc);
	return out;
}
