/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/query/prom_eval.h"
#include "web/query/prom_list.h"

struct request {
	struct store_reader *reader;
	const char *path;
	struct evkeyvalq form;
	int64_t now_ns;
	double cost_max;
	char *why;
};

static int
refuse(const struct request *q, const char *what, const char *why)
{
	snprintf(q->why, PROMQL_WHY_BYTES, "%s: %s", what, why);
	return NW_EINVAL;
}

/* --- parameters --- */

/* Seconds since 1970 with decimals, or RFC 3339 in UTC; `otherwise` for an absent parameter. */
static int
take_time(struct request *q, const char *name, int64_t otherwise, int64_t *out)
{
	const char *text = evhttp_find_header(&q->form, name);
	double v;
	char *end;

	*out = otherwise;
	if (text == NULL || (*out = fmt_parse_iso(text)) != 0)
		return NW_OK;
	v = strtod(text, &end);
	if (end == text || *end != '\0' || !(fabs(v) < 9e9))
		return refuse(q, name, "no time");
	*out = (int64_t)(v * 1e3) * 1000000;
	return NW_OK;
}

static int
take_step(struct request *q, int64_t *out)
{
	const char *text = evhttp_find_header(&q->form, "step");
	double v;
	char *end;

	if (text == NULL)
		return refuse(q, "step", "missing");
	if (promql_duration(text, out))
		return NW_OK;
	v = strtod(text, &end);
	if (end == text || *end != '\0' || !(v >= 1e-3 && v < 1e9))
		return refuse(q, "step", "no duration of at least 1ms");
	*out = (int64_t)(v * 1e3) * 1000000;
	return NW_OK;
}

static int
take_range(struct request *q, struct prom_range *out)
{
	int64_t end;
	int rc;

	*out = (struct prom_range){ .n_steps = 1, .instant = strcmp(q->path, "query") == 0 };
	if (out->instant)
		return take_time(q, "time", q->now_ns, &out->start_ns);
	if ((rc = take_time(q, "start", q->now_ns, &out->start_ns)) < 0 ||
	    (rc = take_time(q, "end", q->now_ns, &end)) < 0 ||
	    (rc = take_step(q, &out->step_ns)) < 0)
		return rc;
	if (end < out->start_ns)
		return refuse(q, "end", "before start");
	if ((end - out->start_ns) / out->step_ns >= PROM_STEPS_MAX)
		return refuse(q, "step", "more than 11000 steps");
	out->n_steps = (size_t)((end - out->start_ns) / out->step_ns) + 1;
	return NW_OK;
}

/* --- answers that are made at once --- */

struct text {
	char *text;
};

static int
text_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	struct text *t = state;

	*done = true;
	return write(arg, t->text, strlen(t->text));
}

static void
text_free(void *state)
{
	struct text *t = state;

	free(t->text);
	free(t);
}

/* Takes the text; NULL: no memory. */
static int
text_stream(char *text, struct stream *out)
{
	struct text *t = calloc(1, sizeof(*t));

	if (text == NULL || t == NULL) {
		free(text);
		free(t);
		return NW_ENOMEM;
	}
	t->text = text;
	*out = (struct stream){ .next = text_next, .free = text_free, .state = t };
	return NW_OK;
}

static void
put_number(FILE *f, int64_t t_wall_ns, double v)
{
	fprintf(f, "[%s,\"%s\"]", fmt_exact((double)(t_wall_ns / 1000000) / 1e3).s,
	    isnan(v)       ? "NaN"
		: isinf(v) ? v > 0 ? "+Inf" : "-Inf"
			   : fmt_exact(v).s);
}

static int
number_stream(const struct prom_range *range, double v, struct stream *out)
{
	char *text = NULL;
	size_t len, k;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NW_ENOMEM;
	fprintf(f, "{\"status\":\"success\",\"data\":{\"resultType\":\"%s\",\"result\":",
	    range->instant ? "scalar" : "matrix");
	if (!range->instant)
		fputs("[{\"metric\":{},\"values\":[", f);
	for (k = 0; k < range->n_steps; k++) {
		fputs(k > 0 ? "," : "", f);
		put_number(f, range->start_ns + (int64_t)k * range->step_ns, v);
	}
	fputs(range->instant ? "}}\n" : "]}]}}\n", f);
	if (fclose(f) != 0) {
		free(text);
		text = NULL;
	}
	return text_stream(text, out);
}

/* --- paths --- */

static int
answer_query(struct request *q, struct stream *out)
{
	const char *text = evhttp_find_header(&q->form, "query");
	struct prom_range range;
	struct promql *ql;
	int rc;

	if (text == NULL)
		return refuse(q, "query", "missing");
	if ((rc = take_range(q, &range)) < 0)
		return rc;
	if ((ql = malloc(sizeof(*ql))) == NULL)
		return NW_ENOMEM;
	rc = promql_parse(ql, text, q->why);
	if (rc == NW_OK)
		rc = ql->is_number ? number_stream(&range, ql->number, out)
				   : prom_eval_stream(q->reader, ql, &range, q->cost_max, out);
	free(ql);
	return rc;
}

/* libevent decodes values, not names. */
static bool
is_match(const char *key)
{
	return strcmp(key, "match[]") == 0 || strcasecmp(key, "match%5B%5D") == 0;
}

/*
 * Each path's parameters, as in Prometheus. Clients send a time limit, a wish for statistics and
 * the times of lists unasked; the box has its own limit and lists all that is stored.
 */
static const struct {
	const char *path; /* a last '/' stands for any rest */
	const char *names[9];
} known[] = {
	{ "query", { "query", "time", "timeout", "stats" } },
	{ "query_range", { "query", "start", "end", "step", "timeout", "stats" } },
	{ "series", { "match[]", "start", "end", "limit" } },
	{ "labels", { "match[]", "start", "end", "limit" } },
	{ "label/", { "match[]", "start", "end", "limit" } },
	{ "metadata", { "metric", "limit", "limit_per_metric" } },
	{ "status/buildinfo", { NULL } },
};

/* A parameter without effect would seem to have an effect. */
static int
params_check(const struct request *q)
{
	const char *const *name;
	const struct evkeyval *one;
	size_t i, len;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		len = strlen(known[i].path);
		if (known[i].path[len - 1] == '/' ? strncmp(q->path, known[i].path, len) == 0
						  : strcmp(q->path, known[i].path) == 0)
			break;
	}
	if (i == sizeof(known) / sizeof(known[0]))
		return NW_OK; /* no such path */
	TAILQ_FOREACH(one, &q->form, next)
	{
		const char *key = is_match(one->key) ? "match[]" : one->key;

		for (name = known[i].names; *name != NULL && strcmp(*name, key) != 0; name++)
			;
		if (*name == NULL) {
			snprintf(q->why, PROMQL_WHY_BYTES, "%.40s: there is no such parameter",
			    one->key);
			return NW_EINVAL;
		}
	}
	return NW_OK;
}

/* 0 is no limit, as in Prometheus. */
static int
take_limit(struct request *q, size_t *out)
{
	const char *text = evhttp_find_header(&q->form, "limit");
	unsigned long long v;
	char *end;

	*out = 0;
	if (text == NULL)
		return NW_OK;
	v = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || v > UINT32_MAX)
		return refuse(q, "limit", "no number of at most 4294967295");
	*out = (size_t)v;
	return NW_OK;
}

static int
answer_list(struct request *q, enum prom_list what, const char *label, struct stream *out)
{
	struct prom_list_ask *ask = calloc(1, sizeof(*ask));
	const struct evkeyval *one;
	int rc = ask != NULL ? take_limit(q, &ask->limit) : NW_ENOMEM;
	size_t n = 0;

	TAILQ_FOREACH(one, &q->form, next)
	{
		if (rc < 0 || !is_match(one->key))
			continue;
		rc = n == PROM_SELECTORS
		    ? refuse(q, "match[]", "given too often")
		    : promql_parse_selector(&ask->selectors[n], one->value, q->why);
		n += rc == NW_OK;
	}
	if (rc == NW_OK && n == 0 && what == PROM_LIST_SERIES)
		rc = refuse(q, "match[]", "missing");
	if (rc == NW_OK) {
		ask->what = what;
		ask->n_selectors = n;
		snprintf(ask->label, sizeof(ask->label), "%s", label);
		rc = prom_list_stream(q->reader, ask, out);
	}
	free(ask);
	return rc;
}

/* label/NAME/values */
static int
answer_values(struct request *q, struct stream *out)
{
	const char *name = q->path + sizeof("label/") - 1, *end = strchr(name, '/');
	char label[PROMQL_NAME_BYTES];

	if (end == NULL || strcmp(end, "/values") != 0 || end == name ||
	    (size_t)(end - name) >= sizeof(label))
		return NW_ENOTFOUND;
	snprintf(label, sizeof(label), "%.*s", (int)(end - name), name);
	return answer_list(q, PROM_LIST_VALUES, label, out);
}

static int
answer(struct request *q, struct stream *out)
{
	static const char build[] = "{\"status\":\"success\",\"data\":{\"application\":\"Narrows\","
				    "\"version\":\"" NW_VERSION "\",\"features\":{}}}\n";

	if (strcmp(q->path, "query") == 0 || strcmp(q->path, "query_range") == 0)
		return answer_query(q, out);
	if (strcmp(q->path, "series") == 0)
		return answer_list(q, PROM_LIST_SERIES, "", out);
	if (strcmp(q->path, "labels") == 0)
		return answer_list(q, PROM_LIST_LABELS, "", out);
	if (strncmp(q->path, "label/", 6) == 0)
		return answer_values(q, out);
	if (strcmp(q->path, "status/buildinfo") == 0)
		return text_stream(strdup(build), out);
	if (strcmp(q->path, "metadata") == 0)
		return text_stream(strdup("{\"status\":\"success\",\"data\":{}}\n"), out);
	return NW_ENOTFOUND;
}

int
prom_stream(struct store_reader *r, const char *path, const char *form, int64_t now_wall_ns,
    double cost_max, struct stream *out, char why[PROMQL_WHY_BYTES])
{
	struct request q = {
		.reader = r, .path = path, .now_ns = now_wall_ns, .cost_max = cost_max, .why = why
	};
	int rc;

	why[0] = '\0';
	if (form != NULL && *form != '\0' && evhttp_parse_query_str(form, &q.form) != 0)
		return refuse(&q, "parameters", "not NAME=VALUE&...");
	if (q.form.tqh_last == NULL) /* nothing parsed: still a list */
		q.form.tqh_last = &q.form.tqh_first;
	rc = params_check(&q);
	if (rc == NW_OK)
		rc = answer(&q, out);
	evhttp_clear_headers(&q.form);
	return rc;
}

int
prom_error(struct evbuffer *out, int code, const char *why)
{
	json_t *doc = json_pack("{s:s, s:s, s:s}", "status", "error", "errorType",
	    code == 400       ? "bad_data"
		: code == 404 ? "not_found"
		: code == 422 ? "execution"
			      : "internal",
	    "error", why);
	char *text = doc != NULL ? json_dumps(doc, 0) : NULL;
	int rc = text != NULL && evbuffer_add_printf(out, "%s\n", text) >= 0 ? NW_OK : NW_ENOMEM;

	free(text);
	json_decref(doc);
	return rc;
}
