/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of the sessions of a route, from their result documents. */
#include "analyze/verdict/usual/changed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/usual/changed_told.h"
#include "analyze/verdict/usual/memo.h"
#include "narrows/differ.h"
#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum { METRICS_MAX = 200, NAME_BYTES = 96, HOST_BYTES = 128 };

struct metric {
	char name[NAME_BYTES], host[HOST_BYTES];
	const char *unit;
	bool limits;   /* of the stage limiting our session */
	double *value; /* of each session; NaN: not told */
};

struct metrics {
	struct metric *metric;
	size_t n, n_sessions, at; /* at: session of the document in hand */
	char limit[NAME_BYTES];   /* stage limiting our session; "": none */
};

/* --- reading documents --- */

static struct metric *
metric_of(struct metrics *m, const char *name, const char *host, const char *unit)
{
	struct metric *x;
	size_t i;

	for (x = m->metric; x < m->metric + m->n; x++)
		if (strcmp(x->name, name) == 0 && strcmp(x->host, host) == 0)
			return x;
	if (m->n == METRICS_MAX)
		return NULL;
	m->metric = xreallocarray(m->metric, m->n + 1, sizeof(*m->metric));
	x = &m->metric[m->n++];
	*x = (struct metric){ .unit = unit };
	snprintf(x->name, sizeof(x->name), "%s", name);
	snprintf(x->host, sizeof(x->host), "%s", host);
	x->value = xcalloc(m->n_sessions, sizeof(*x->value));
	for (i = 0; i < m->n_sessions; i++)
		x->value[i] = NAN;
	return x;
}

static struct metric *
metric_put(struct metrics *m, const char *name, const char *host, const char *unit, double value)
{
	struct metric *x =
	    isfinite(value) ? metric_of(m, name, host != NULL ? host : "", unit) : NULL;

	if (x != NULL)
		x->value[m->at] = value;
	return x;
}

static void
stages_read(struct metrics *m, const json_t *doc)
{
	const json_t *list =
			 result_list(result_get(doc, KEY_result_bottleneck), KEY_bottleneck_stages),
		     *o;
	char name[NAME_BYTES];
	struct metric *x;
	size_t i;

	json_array_foreach(list, i, o)
	{
		const char *words = result_stage_words(result_text(o, KEY_stage_stage)),
			   *host = result_text(o, KEY_stage_host),
			   *stage = result_text(o, KEY_stage_stage);

		if (words == NULL || strlen(words) > 40)
			continue;
		snprintf(name, sizeof(name), "Service rate of %s", words);
		x = metric_put(m, name, host, "By/s", result_number(o, KEY_stage_bytes_per_s));
		if (x != NULL)
			x->limits |= strcmp(stage, m->limit) == 0;
		snprintf(name, sizeof(name), "Rate of single operations of %s", words);
		metric_put(m, name, host, "By/s", result_number(o, KEY_stage_tput_i));
	}
}

static void
hosts_read(struct metrics *m, const json_t *doc)
{
	static const struct {
		enum result_key key;
		const char *name, *unit;
	} values[] = {
		{ KEY_timeline_host_cpu_busy, "Busy share of the processors", "%" },
		{ KEY_timeline_host_cpu_iowait, "Share of processors waiting for a disk", "%" },
		{ KEY_timeline_host_disk_busy, "Busy share of the busiest disk", "%" },
	};
	const json_t *list = result_list(result_get(doc, KEY_result_timeline), KEY_timeline_hosts),
		     *o;
	size_t i, k;

	json_array_foreach(list, i, o) for (k = 0; k < sizeof(values) / sizeof(values[0]); k++)
	    metric_put(m, values[k].name, result_text(o, KEY_timeline_host_host), values[k].unit,
		memo_mean(result_list(o, values[k].key)));
}

/* Sums over the connections of a sending host. */
static void
connections_read(struct metrics *m, const json_t *doc)
{
	const json_t *list =
			 result_list(result_get(doc, KEY_result_session), KEY_session_connections),
		     *o;
	double out, bytes = 0, retrans = 0, rtt = INFINITY, window = 0, n = 0;
	size_t i;

	json_array_foreach(list, i, o)
	{
		out = result_number(o, KEY_connection_bytes_out);
		if (!(out > 0) || out < result_number(o, KEY_connection_bytes_in))
			continue;
		n++;
		bytes += out;
		retrans += fmax(0, result_number(o, KEY_connection_retrans));
		rtt = fmin(rtt, result_number(o, KEY_connection_rtt_min_s));
		window = fmax(window, result_number(o, KEY_connection_cwnd_bytes));
	}
	if (n == 0)
		return;
	metric_put(m, "Connections that send", NULL, "1", n);
	metric_put(m, "Segments sent again per GB", NULL, "1", retrans / (bytes / 1e9));
	metric_put(m, "Shortest round trip time", NULL, "s", rtt);
	metric_put(m, "Congestion window", NULL, "By", window > 0 ? window : NAN);
}

/* What the switch ports of a host dropped; a port may serve an address. */
static void
ports_read(struct metrics *m, const json_t *s)
{
	const json_t *list = result_list(s, KEY_session_ports), *o;
	const double gb = result_number(s, KEY_session_bytes) / 1e9;
	size_t i;

	json_array_foreach(list, i, o)
	    metric_put(m, "Packets lost at the switch port per GB", result_text(o, KEY_port_host),
		"1", (result_number(o, KEY_port_dropped) + result_number(o, KEY_port_errors)) / gb);
}

static void
session_read(struct metrics *m, const json_t *doc)
{
	const json_t *s = result_get(doc, KEY_result_session),
		     *others = result_list(result_get(doc, KEY_result_verdict), KEY_verdict_others),
		     *o;
	double files = (double)json_array_size(result_list(s, KEY_session_files)), share = 0;
	size_t i;

	metric_put(m, "Bytes of the session", NULL, "By", result_number(s, KEY_session_bytes));
	metric_put(m, "Files", NULL, "1", files);
	metric_put(m, CHANGED_FILE_SIZE, NULL, "By",
	    files > 0 ? result_number(s, KEY_session_bytes) / files : NAN);
	json_array_foreach(others, i, o) share += fmax(0, result_number(o, KEY_other_share));
	metric_put(m, CHANGED_OTHERS, NULL, "%", fmin(1, share));
	stages_read(m, doc);
	hosts_read(m, doc);
	connections_read(m, doc);
	ports_read(m, s);
}

/* --- comparing --- */

static void
metric_compare(const struct metrics *m, const struct metric *x, size_t split, struct changed *out)
{
	size_t i, before = 0, after = 0;
	double a, b, p;
	struct difference *d;

	for (i = 0; i < m->n_sessions; i++)
		*(i < split ? &before : &after) += isfinite(x->value[i]);
	if (before < NW_DIFFER_BEFORE_MIN || after == 0)
		return;
	p = nw_level_chance(x->value, m->n_sessions, split, &a, &b);
	if (isnan(p))
		p = 1;
	d = changed_add(out, DIFFERENCE_METRIC);
	d->name = xstrdup(x->name);
	d->host = x->host[0] != '\0' ? xstrdup(x->host) : NULL;
	d->unit = x->unit;
	d->before = a;
	d->after = b;
	d->p = fabs(a - b) < 0.1 * fmax(fabs(a), fabs(b)) ? 1 : p;
	d->limits = x->limits;
	out->n_metrics++;
}

int
changed_metrics(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	const char *limit =
	    result_text(result_get(ask->own, KEY_result_verdict), KEY_verdict_stage);
	struct metrics m = { .n_sessions = ask->n };
	struct changed_told *told = changed_told_new(ask->n);
	json_t *doc;
	size_t i;
	int rc = NW_OK;

	snprintf(m.limit, sizeof(m.limit), "%s", limit != NULL ? limit : "");
	for (i = 0; i + 1 < ask->n && (rc == NW_OK || rc == NW_ENOTFOUND); i++) {
		m.at = i;
		if ((rc = memo_document(r, ask->memo, ask->session[i].id, &doc)) == NW_OK) {
			session_read(&m, doc);
			changed_told_read(told, i, doc);
		}
		json_decref(doc);
	}
	m.at = ask->n - 1;
	session_read(&m, ask->own);
	changed_told_read(told, ask->n - 1, ask->own);
	for (i = 0; i < m.n; i++) {
		metric_compare(&m, &m.metric[i], ask->split, out);
		free(m.metric[i].value);
	}
	free(m.metric);
	if (rc == NW_OK || rc == NW_ENOTFOUND)
		rc = changed_told_compare(told, ask, out);
	changed_told_free(told);
	return rc;
}
