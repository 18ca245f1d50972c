/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between sessions: in general, in settings of their hosts, and in metrics. */
#include "web/answer/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"

enum { SETTINGS_MAX = 100 };
/* From these differences on metrics differ: as a factor, and of shares as a difference, too. */
#define FACTOR 1.1
#define SHARE  0.05

struct rows {
	json_t *list;
	json_t *by_name; /* group, host and name: the row */
	size_t n;        /* sessions */
};

static const char *
words_of(const char *text)
{
	return text != NULL ? text : "unknown";
}

static json_t *
nulls(size_t n)
{
	json_t *list = json_array();

	while (n-- > 0)
		json_array_append_new(list, json_null());
	return list;
}

/* A row, which is added if it is new. host: NULL for none. */
static json_t *
row_of(struct rows *rows, const char *group, const char *name, const char *host)
{
	char key[600];
	json_t *row;

	snprintf(key, sizeof(key), "%s\n%.250s\n%.300s", group, host != NULL ? host : "", name);
	if ((row = json_object_get(rows->by_name, key)) != NULL)
		return row;
	row = json_object();
	result_put_text(row, KEY_compare_row_group, group);
	result_put_text(row, KEY_compare_row_name, name);
	result_set(row, KEY_compare_row_host, host != NULL ? json_string(host) : json_null());
	result_set(row, KEY_compare_row_unit, json_null());
	result_set(row, KEY_compare_row_differs, json_false());
	result_set(row, KEY_compare_row_values, nulls(rows->n));
	result_set(row, KEY_compare_row_numbers, nulls(rows->n));
	json_object_set_new(rows->by_name, key, json_incref(row));
	json_array_append_new(rows->list, row);
	return row;
}

static void
value_set(json_t *row, size_t i, const char *text)
{
	json_array_set_new((json_t *)(uintptr_t)result_list(row, KEY_compare_row_values), i,
	    text != NULL ? json_string(text) : json_null());
}

static void
number_set(json_t *row, size_t i, double v, const char *unit, struct fmt words)
{
	if (!isfinite(v))
		return;
	result_put_text(row, KEY_compare_row_unit, unit);
	json_array_set_new(
	    (json_t *)(uintptr_t)result_list(row, KEY_compare_row_numbers), i, json_real(v));
	value_set(row, i, words.s);
}

/* --- in general --- */

static void
fact_text(struct rows *rows, size_t i, const char *name, const char *text)
{
	value_set(row_of(rows, "session", name, NULL), i, words_of(text));
}

static void
fact_number(
    struct rows *rows, size_t i, const char *name, double v, const char *unit, struct fmt words)
{
	json_t *row = row_of(rows, "session", name, NULL);

	value_set(row, i, "unknown");
	number_set(row, i, v, unit, words);
}

static void
facts_add(struct rows *rows, size_t i, const json_t *doc)
{
	const json_t *s = result_get(doc, KEY_result_session),
		     *v = result_get(doc, KEY_result_verdict),
		     *usual = result_get(doc, KEY_result_usual);
	const char *confidence = result_text(v, KEY_verdict_confidence);
	double duration = result_number(s, KEY_session_duration_s),
	       bytes = result_number(s, KEY_session_bytes),
	       rate = result_number(s, KEY_session_bytes_per_s),
	       status = result_number(s, KEY_session_exit_status),
	       effect = result_number(v, KEY_verdict_effect);

	fact_text(rows, i, "Limited by",
	    result_limit_words(result_text(v, KEY_verdict_stage), confidence,
		result_text(v, KEY_verdict_sentence)));
	fact_text(rows, i, "Confidence", confidence);
	fact_number(rows, i, "Next stage is faster by", effect, "1", fmt_ratio(effect));
	fact_number(rows, i, "Mean rate", rate, "By/s", fmt_bytes_per_s(rate));
	fact_text(rows, i, "Against the usual", result_text(usual, KEY_usual_said));
	fact_text(rows, i, "Route", result_text(s, KEY_session_route));
	fact_text(rows, i, "Program", result_text(s, KEY_session_program));
	fact_text(rows, i, "Start", result_text(s, KEY_session_start));
	fact_number(rows, i, "Duration", duration, "s", fmt_duration(duration));
	fact_number(rows, i, "Bytes", bytes, "By", fmt_bytes(bytes));
	fact_text(rows, i, "Label", result_text(s, KEY_session_label));
	fact_number(rows, i, "Exit status", status, "1", fmt_ratio(status));
}

/* --- metrics --- */

static void
metric(struct rows *rows, size_t i, const char *name, const char *host, double v, const char *unit)
{
	struct fmt words = strcmp(unit, "1") == 0 ? fmt_share(v)
	    : strcmp(unit, "By/s") == 0           ? fmt_bytes_per_s(v)
	    : strcmp(unit, "s") == 0              ? fmt_duration(v)
						  : fmt_ratio(v);

	if (isfinite(v))
		number_set(row_of(rows, "metric", name, host), i, v, unit, words);
}

static double
mean_of(const json_t *list)
{
	const json_t *v;
	double sum = 0, n = 0;
	size_t i;

	json_array_foreach(list, i, v) if (json_is_number(v))
	{
		sum += json_number_value(v);
		n++;
	}
	return n > 0 ? sum / n : NAN;
}

static void
stages_add(struct rows *rows, size_t i, const json_t *doc)
{
	const json_t *o;
	char name[120];
	size_t k;

	json_array_foreach(
	    result_list(result_get(doc, KEY_result_bottleneck), KEY_bottleneck_stages), k, o)
	{
		const char *host = result_text(o, KEY_stage_host),
			   *words = result_text(o, KEY_stage_words);

		if (words == NULL)
			words = result_stage_words(result_text(o, KEY_stage_stage));
		snprintf(name, sizeof(name), "time held by %.90s", words_of(words));
		metric(rows, i, name, host, result_number(o, KEY_stage_busy_share), "1");
	}
}

static void
hosts_add(struct rows *rows, size_t i, const json_t *timeline)
{
	static const struct {
		enum result_key key;
		const char *name, *unit;
	} metrics[] = {
		{ KEY_timeline_host_cpu_busy, "processors busy", "1" },
		{ KEY_timeline_host_cpu_iowait, "processors that waited for a disk", "1" },
		{ KEY_timeline_host_disk_busy, "busiest disk busy", "1" },
		{ KEY_timeline_host_disk_bytes_per_s, "disks read and wrote", "By/s" },
	};
	const json_t *o;
	size_t k, m;

	json_array_foreach(result_list(timeline, KEY_timeline_hosts), k, o)
	{
		for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
			metric(rows, i, metrics[m].name, result_text(o, KEY_timeline_host_host),
			    mean_of(result_list(o, metrics[m].key)), metrics[m].unit);
	}
}

/* Means over all connections that the kernels of their senders told of. */
static void
connections_add(struct rows *rows, size_t i, const json_t *timeline)
{
	static const struct {
		enum result_key key;
		const char *name, *unit;
	} metrics[] = {
		{ KEY_timeline_connection_rtt_s, "round trip time of TCP", "s" },
		{ KEY_timeline_connection_retrans_per_s, "TCP segments sent again per second",
		    "{segment}/s" },
		{ KEY_timeline_connection_rwnd_limited, "TCP held by the receive window", "1" },
		{ KEY_timeline_connection_sndbuf_limited, "TCP held by the send buffer", "1" },
	};
	const json_t *list = result_list(timeline, KEY_timeline_connections), *o;
	size_t k, m;

	for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		double sum = 0, n = 0, v;

		json_array_foreach(
		    list, k, o) if (isfinite(v = mean_of(result_list(o, metrics[m].key))))
		{
			sum += v;
			n++;
		}
		metric(rows, i, metrics[m].name, NULL, n > 0 ? sum / n : NAN, metrics[m].unit);
	}
}

/* --- settings --- */

struct setting_of {
	struct rows *rows;
	size_t i; /* the session */
	const char *host;
	size_t n;
};

static int
on_setting(void *arg, const struct nw_setting_rec *s)
{
	struct setting_of *to = arg;

	to->n++;
	if (s->value != NULL)
		value_set(row_of(to->rows, "setting", s->name, to->host), to->i, s->value);
	return 0;
}

/* The settings of a session's hosts at its begin; known[i] names the hosts that told of any. */
static int
settings_add(struct rows *rows, struct store_reader *r, size_t i, const json_t *doc, json_t *known)
{
	const json_t *s = result_get(doc, KEY_result_session), *o;
	int rc = NW_OK;
	size_t k;

	json_array_foreach(result_list(s, KEY_session_hosts), k, o)
	{
		struct setting_of to = { rows, i, result_text(o, KEY_session_host_name), 0 };
		double id = result_number(o, KEY_session_host_id);

		if (to.host == NULL || !(id > 0 && id < 9e15) || rc < 0)
			continue;
		rc = store_config_at(
		    r, (int64_t)id, result_ns(s, KEY_session_start_ns), on_setting, &to);
		if (to.n > 0)
			json_object_set_new(known, to.host, json_true());
	}
	return rc;
}

/* Writes "not set" where a host reported its settings without this setting. */
static void
absent_say(const json_t *row, json_t *const *known, size_t n)
{
	const json_t *values = result_list(row, KEY_compare_row_values);
	const char *host = result_text(row, KEY_compare_row_host);
	size_t i;

	for (i = 0; i < n; i++)
		if (json_is_null(json_array_get(values, i)) &&
		    json_object_get(known[i], host) != NULL)
			value_set((json_t *)(uintptr_t)row, i, "not set");
}

/* --- what differs --- */

static bool
texts_differ(const json_t *row)
{
	const json_t *v;
	const char *first = NULL, *text;
	size_t i;

	json_array_foreach(result_list(row, KEY_compare_row_values), i, v)
	{
		if ((text = json_string_value(v)) == NULL)
			continue;
		if (first != NULL && strcmp(first, text) != 0)
			return true;
		first = text;
	}
	return false;
}

static bool
numbers_differ(const json_t *row)
{
	const char *unit = result_text(row, KEY_compare_row_unit);
	double low = INFINITY, high = -INFINITY;
	const json_t *v;
	size_t i;

	json_array_foreach(result_list(row, KEY_compare_row_numbers), i, v) if (json_is_number(v))
	{
		low = fmin(low, json_number_value(v));
		high = fmax(high, json_number_value(v));
	}
	return high > FACTOR * low &&
	    (unit == NULL || strcmp(unit, "1") != 0 || high - low >= SHARE);
}

/* Whether no session knows a fact. */
static bool
is_unknown(const json_t *row)
{
	const json_t *v;
	size_t i;

	json_array_foreach(result_list(row, KEY_compare_row_values), i, v)
	{
		if (json_is_string(v) && strcmp(json_string_value(v), words_of(NULL)) != 0)
			return false;
	}
	return true;
}

/* Unknown facts are left out. Settings that are equal go, and are counted; so do those beyond the
 * first hundred. */
static void
rows_judge(struct rows *rows, json_t *const *known, size_t *n_equal)
{
	size_t i, n_settings = 0;

	*n_equal = 0;
	for (i = 0; i < json_array_size(rows->list);) {
		json_t *row = json_array_get(rows->list, i);
		const char *group = result_text(row, KEY_compare_row_group);
		const bool setting = strcmp(group, "setting") == 0;
		bool differs;

		if (setting)
			absent_say(row, known, rows->n);
		differs = strcmp(group, "metric") == 0 ? numbers_differ(row) : texts_differ(row);
		*n_equal += setting && !differs;
		if (is_unknown(row) || (setting && (!differs || n_settings++ >= SETTINGS_MAX))) {
			json_array_remove(rows->list, i);
			continue;
		}
		result_put_flag(row, KEY_compare_row_differs, differs);
		i++;
	}
}

int
compare_rows(struct store_reader *r, const struct compared *session, size_t n, json_t *compare)
{
	struct rows rows = { json_array(), json_object(), n };
	json_t *known[COMPARE_MAX] = { NULL };
	size_t i, n_equal;
	int rc = NW_OK;

	for (i = 0; i < n; i++)
		facts_add(&rows, i, session[i].doc);
	for (i = 0; i < n && rc == NW_OK; i++) {
		known[i] = json_object();
		rc = settings_add(&rows, r, i, session[i].doc, known[i]);
	}
	for (i = 0; i < n; i++) {
		const json_t *timeline = result_get(session[i].doc, KEY_result_timeline);

		stages_add(&rows, i, session[i].doc);
		hosts_add(&rows, i, timeline);
		connections_add(&rows, i, timeline);
	}
	rows_judge(&rows, known, &n_equal);
	result_set(compare, KEY_compare_rows, rows.list);
	result_put_int(compare, KEY_compare_settings_equal, n_equal);
	json_decref(rows.by_name);
	for (i = 0; i < n; i++)
		json_decref(known[i]);
	return rc;
}
