/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline of the result document: series on a common time axis, thinned to what a plot can
 * show. */
#include <math.h>
#include <stdlib.h>

#include "analyze/verdict/resultdoc_in.h"
#include "narrows/xmalloc.h"

enum { TIMELINE_POINTS_MAX = 300, TIMELINE_DIGITS = 5, TIMELINE_CONNECTIONS_MAX = 16 };

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

json_t *
resultdoc_timeline_ratio(const struct evidence *e, const double *num, const double *den)
{
	struct thin t = thin_of(e);

	return thin_ratio(e, &t, num, den);
}

static void
sum_into(double *to, const double *from, size_t n)
{
	size_t i;

	for (i = 0; from != NULL && i < n; i++)
		to[i] += from[i];
}

/* An operation on a host, all processes together. NULL: no process did the operation. */
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
	put_text(o, KEY_timeline_stage_stage, nw_op_name(op));
	put_text(o, KEY_timeline_stage_host, e->hosts[host].name);
	result_set(
	    o, KEY_timeline_stage_bytes_per_s, thin_mean(e, t, bytes, 1e9 / (double)e->step_ns));
	result_set(o, KEY_timeline_stage_tput_i, thin_ratio(e, t, rate, ops));
	result_set(o, KEY_timeline_stage_busy, thin_mean(e, t, busy, 1e9 / (double)e->step_ns));
	result_set(o, KEY_timeline_stage_wait, thin_mean(e, t, wait, 1e9 / (double)e->step_ns));
	free(sum);
	return o;
}

static json_t *
timeline_host(const struct evidence *e, const struct thin *t, const struct evidence_host *h)
{
	json_t *o = json_object();

	put_text(o, KEY_timeline_host_host, h->name);
	result_set(o, KEY_timeline_host_cpu_busy, thin_mean(e, t, h->cpu_busy, 1));
	result_set(o, KEY_timeline_host_cpu_iowait, thin_mean(e, t, h->cpu_iowait, 1));
	result_set(o, KEY_timeline_host_disk_busy, thin_mean(e, t, h->disk_busy, 1));
	result_set(o, KEY_timeline_host_disk_bytes_per_s, thin_mean(e, t, h->disk_bytes_per_s, 1));
	return o;
}

/* Counters are read a little early or late, but no share of a window is more than all of it. */
static json_t *
thin_share(const struct evidence *e, const struct thin *t, const double *x)
{
	double *capped = xcalloc(e->n_windows + 1, sizeof(*capped)),
	       whole = (double)e->step_ns * 1e-9;
	json_t *list;
	size_t i;

	for (i = 0; i < e->n_windows; i++)
		capped[i] = x == NULL ? NAN : isfinite(x[i]) ? fmin(x[i], whole) : x[i];
	list = thin_mean(e, t, capped, 1 / whole);
	free(capped);
	return list;
}

/* A connection as the kernel of the sending end saw the connection. */
static json_t *
timeline_connection(
    const struct evidence *e, const struct thin *t, const struct evidence_connection *c)
{
	double per_s = 1e9 / (double)e->step_ns;
	json_t *o = json_object();

	put_text(o, KEY_timeline_connection_host, e->hosts[c->host].name);
	put_text(o, KEY_timeline_connection_src, c->src);
	put_count(o, KEY_timeline_connection_sport, c->sport);
	put_text(o, KEY_timeline_connection_dst, c->dst);
	put_count(o, KEY_timeline_connection_dport, c->dport);
	result_set(o, KEY_timeline_connection_bytes_per_s, thin_mean(e, t, c->sent, per_s));
	result_set(o, KEY_timeline_connection_rtt_s, thin_mean(e, t, c->rtt, 1));
	result_set(o, KEY_timeline_connection_cwnd_bytes, thin_mean(e, t, c->cwnd, 1));
	result_set(o, KEY_timeline_connection_retrans_per_s, thin_mean(e, t, c->resent, per_s));
	result_set(o, KEY_timeline_connection_busy, thin_share(e, t, c->busy));
	result_set(o, KEY_timeline_connection_rwnd_limited, thin_share(e, t, c->rwnd));
	result_set(o, KEY_timeline_connection_sndbuf_limited, thin_share(e, t, c->sndbuf));
	return o;
}

static json_t *
connections_doc(const struct evidence *e, const struct thin *t)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < e->n_connections && json_array_size(list) < TIMELINE_CONNECTIONS_MAX; i++)
		if (e->connections[i].busy != NULL && e->connections[i].bytes_out > 0 &&
		    e->connections[i].bytes_out >= e->connections[i].bytes_in)
			json_array_append_new(list, timeline_connection(e, t, &e->connections[i]));
	return list;
}

/* The share of the time that a stage held the bytes: the values of the test. */
static json_t *
timeline_held(const struct evidence *e, const struct thin *t, const struct nw_path_stage *s)
{
	json_t *o = json_object(), *list = thin_mean(e, t, s->free_share, 1), *point;
	size_t i;

	json_array_foreach(list, i, point) if (json_is_real(point))
	    json_real_set(point, 1 - json_real_value(point));
	put_text(o, KEY_timeline_held_stage, nw_stage_kind_name(s->kind));
	put_text(o, KEY_timeline_held_host, e->hosts[s->host].name);
	result_set(o, KEY_timeline_held_held, list);
	return o;
}

json_t *
resultdoc_timeline(const struct analysis *a)
{
	const struct evidence *e = &a->evidence;
	const struct nw_path *p = &a->judgement.path;
	struct thin t = thin_of(e);
	json_t *o = json_object(), *stages = json_array(), *hosts = json_array(), *one;
	json_t *held = json_array();
	size_t i;
	int op;

	for (op = 0; op < NW_OP_COUNT; op++)
		for (i = 0; i < e->n_hosts; i++)
			if ((one = timeline_stage(e, &t, i, (enum nw_op)op)) != NULL)
				json_array_append_new(stages, one);
	for (i = 0; i < e->n_hosts; i++)
		json_array_append_new(hosts, timeline_host(e, &t, &e->hosts[i]));
	for (i = 0; i < p->n; i++)
		json_array_append_new(held, timeline_held(e, &t, &p->stage[i]));
	put_ns(o, KEY_timeline_t0_ns, e->t0_wall_ns);
	put_real(o, KEY_timeline_step_s, t.step_s);
	put_count(o, KEY_timeline_n, t.n);
	result_set(o, KEY_timeline_stages, stages);
	result_set(o, KEY_timeline_held, held);
	result_set(o, KEY_timeline_connections, connections_doc(e, &t));
	result_set(o, KEY_timeline_hosts, hosts);
	return o;
}
