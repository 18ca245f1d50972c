/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another box as the fleet: one HTTPS request for each batch (fleet/receive has the other end), in
 * which the site shows its certificate. The box answers once the rows are on its disk.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "fleet/fleet.h"
#include "fleet/rowpack.h"
#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"
#include "send/exchange.h"

enum { ANSWER_MAX_BYTES = 256 << 20 };

struct box {
	const struct fleet_conf *conf;
	char *base; /* without a slash at the end */
};

/* free(answer->text), NULL without an answer. */
static int
talk(const struct box *b, const char *path, const char *body, size_t len,
    struct exchange_text *answer, char why[FLEET_WHY_BYTES])
{
	const struct fleet_conf *c = b->conf;
	char *url = xasprintf("%s%s", b->base, path), reason[EXCHANGE_WHY_BYTES] = "";
	const struct exchange x = { .url = url,
		.ca_file = c->ca_file,
		.cert_file = conf_or_null(c->cert_file),
		.key_file = conf_or_null(c->cert_key_file),
		.proxy = conf_or_null(c->proxy),
		.body = body,
		.body_len = len,
		.timeout_ns = c->timeout_ns };
	int status = 0, rc = exchange(&x, exchange_keep, answer, &status, reason);

	if (rc == NW_OK && status != 200) {
		snprintf(reason, sizeof(reason), "%d: %.250s", status,
		    answer->text != NULL ? answer->text : "");
		rc = NW_EPROTO;
	}
	if (rc < 0)
		snprintf(why, FLEET_WHY_BYTES, "%s", reason);
	free(url);
	return rc;
}

static int
say(const struct box *b, const char *path, const char *body, size_t len, char why[FLEET_WHY_BYTES])
{
	struct exchange_text answer = { .len_max = ANSWER_MAX_BYTES };
	int rc = body != NULL ? talk(b, path, body, len, &answer, why) : NW_ENOMEM;

	free(answer.text);
	return rc;
}

/* --- the engine --- */

static void
engine_close(void *e)
{
	struct box *b = e;

	if (b == NULL)
		return;
	free(b->base);
	free(b);
}

/* https://HOST:PORT */
static int
engine_open(const struct fleet_conf *c, bool writes, void **out, char why[FLEET_WHY_BYTES])
{
	const char *host = c->fleet + strlen("https:");
	struct box *b;
	size_t len;

	(void)writes;
	host += strncmp(host, "//", 2) == 0 ? 2 : 0;
	len = strcspn(host, "/");
	if (host == c->fleet + strlen("https:") || len == 0 ||
	    host[len + strspn(host + len, "/")] != '\0') {
		snprintf(why, FLEET_WHY_BYTES, "%.200s: write https://host:port", c->fleet);
		return NW_EINVAL;
	}
	b = xcalloc(1, sizeof(*b));
	b->conf = c;
	b->base = xasprintf("https://%.*s", (int)len, host);
	*out = b;
	return NW_OK;
}

static int
engine_put(void *e, const struct fleet_rows *rows, char why[FLEET_WHY_BYTES])
{
	char *body;
	size_t len;
	int rc = rowpack_write(rows, &body, &len);

	if (rc == NW_OK)
		rc = say(e, "/fleet/rows", body, len, why);
	else
		snprintf(why, FLEET_WHY_BYTES, "%s", nw_strerror(rc));
	free(body);
	return rc;
}

static int
json_say(const struct box *b, const char *path, json_t *o, char why[FLEET_WHY_BYTES])
{
	char *body = json_dumps(o, JSON_COMPACT | JSON_ENCODE_ANY);
	int rc = say(b, path, body, body != NULL ? strlen(body) : 0, why);

	free(body);
	json_decref(o);
	return rc;
}

static int
engine_put_site(void *e, const struct fleet_site *s, char why[FLEET_WHY_BYTES])
{
	return json_say(e, "/fleet/site",
	    json_pack("{s:s, s:s}", "clock", s->clock, "software", s->software), why);
}

static int
engine_remove(
    void *e, const char *site, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	json_t *o = n > 0 ? json_array() : json_string("all");
	size_t i;

	(void)site; /* the certificate has it */
	for (i = 0; i < n; i++)
		json_array_append_new(o, json_integer((json_int_t)sessions[i]));
	return json_say(e, "/fleet/gone", o, why);
}

/* The answer is lines, each a JSON list of texts or nulls. */
static int
table_read(const char *text, fleet_table_fn *fn, void *arg)
{
	const char **texts = NULL, *line = text, *end;
	size_t n = 0, cap = 0, i;
	int rc = NW_OK;

	for (; rc == NW_OK && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);

		if (!json_is_array(row) || (line != text && json_array_size(row) != n))
			rc = NW_EPROTO;
		n = json_array_size(row);
		if (rc == NW_OK && !array_room(&texts, &cap, n + 1, sizeof(*texts)))
			rc = NW_ENOMEM;
		for (i = 0; rc == NW_OK && i < n; i++)
			texts[i] = json_string_value(json_array_get(row, i));
		if (rc == NW_OK)
			rc = fn(arg, n, texts);
		json_decref(row);
	}
	free(texts);
	return rc;
}

static int
engine_ask(void *e, const char *sql, const char *parameter, fleet_table_fn *fn, void *arg,
    char why[FLEET_WHY_BYTES])
{
	struct exchange_text answer = { .len_max = ANSWER_MAX_BYTES };
	json_t *o = json_pack("{s:s, s:s*}", "sql", sql, "parameter", parameter);
	char *body = json_dumps(o, JSON_COMPACT);
	int rc = body != NULL ? talk(e, "/fleet/ask", body, strlen(body), &answer, why) : NW_ENOMEM;

	if (rc == NW_OK && answer.text != NULL && (rc = table_read(answer.text, fn, arg)) < 0)
		snprintf(why, FLEET_WHY_BYTES, "the answer is no table");
	free(body);
	free(answer.text);
	json_decref(o);
	return rc;
}

struct list {
	int64_t *number;
	size_t n, cap;
	bool named; /* the name of the column has come */
};

static int
on_number(void *arg, size_t n, const char *const *texts)
{
	struct list *l = arg;

	if (n != 1 || texts[0] == NULL)
		return NW_EPROTO;
	if (!l->named) {
		l->named = true;
		return NW_OK;
	}
	if (!array_room(&l->number, &l->cap, l->n + 1, sizeof(*l->number)))
		abort();
	l->number[l->n++] = strtoll(texts[0], NULL, 10);
	return NW_OK;
}

static int
engine_gone(void *e, const char *site, int64_t **sessions, size_t *n, char why[FLEET_WHY_BYTES])
{
	struct list l = { 0 };
	int rc = engine_ask(e, "SELECT session FROM gone", NULL, on_number, &l, why);

	(void)site; /* the certificate has the site */
	*sessions = l.number;
	*n = l.n;
	return rc;
}

/* The box keeps a site's own rows in SQLite while it answers. */
static const char *
engine_report(enum fleet_report which)
{
	return engine_sqlite.report(which);
}

static int
engine_schema(void *e, bool apply, FILE *f, char why[FLEET_WHY_BYTES])
{
	(void)e, (void)apply, (void)why;
	fputs("-- the other box makes its tables itself: narrows fleet schema there\n", f);
	return NW_OK;
}

const struct fleet_engine engine_box = {
	.scheme = "https",
	.open = engine_open,
	.close = engine_close,
	.put = engine_put,
	.put_site = engine_put_site,
	.remove = engine_remove,
	.gone = engine_gone,
	.ask = engine_ask,
	.report = engine_report,
	.schema = engine_schema,
};
