/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "fleet/fleet_sqlite.h"
#include "fleet/receive/receive.h"
#include "fleet/rowpack.h"
#include "narrows/clock.h"
#include "narrows/err.h"

/* --- the head --- */

static const char *const paths[] = { [RECEIVE_ROWS] = "/fleet/rows",
	[RECEIVE_SITE] = "/fleet/site",
	[RECEIVE_GONE] = "/fleet/gone",
	[RECEIVE_ASK] = "/fleet/ask" };

/* The value of a header, or NULL: none, or it stands twice. *len without blanks around it. */
static const char *
header_find(const char *text, const char *end, const char *name, size_t *len, size_t *n)
{
	const char *line, *stop, *value = NULL;

	*n = 0;
	for (line = memchr(text, '\n', (size_t)(end - text)); line != NULL && ++line < end;
	     line = memchr(line, '\n', (size_t)(end - line))) {
		if ((size_t)(end - line) <= strlen(name) ||
		    strncasecmp(line, name, strlen(name)) != 0 || line[strlen(name)] != ':')
			continue;
		value = line + strlen(name) + 1;
		stop = memchr(value, '\r', (size_t)(end - value));
		while (value < stop && (*value == ' ' || *value == '\t'))
			value++;
		*len = stop != NULL ? (size_t)(stop - value) : 0;
		++*n;
	}
	return *n == 1 ? value : NULL;
}

int
receive_head(const char *text, size_t len, struct receive_head *head)
{
	static const char post[] = "POST ";
	const char *end = text + len, *path = text + strlen(post), *value;
	size_t i, n, digits, path_len;

	if (len < strlen(post) || memchr(text, 0, len) != NULL)
		return 400;
	if (memcmp(text, post, strlen(post)) != 0)
		return 405;
	for (path_len = 0; path + path_len < end && path[path_len] > ' '; path_len++)
		continue;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strlen(paths[i]) == path_len && memcmp(paths[i], path, path_len) == 0)
			break;
	if (i == sizeof(paths) / sizeof(paths[0]))
		return 404;
	head->what = (enum receive_what)i;
	if (header_find(text, end, "Transfer-Encoding", &digits, &n) != NULL || n > 0)
		return 411;
	if ((value = header_find(text, end, "Content-Length", &digits, &n)) == NULL || digits == 0)
		return n > 1 ? 400 : 411;
	head->body_bytes = 0;
	for (i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)value[i]))
			return 400;
		head->body_bytes = 10 * head->body_bytes + (size_t)(value[i] - '0');
		if (head->body_bytes > RECEIVE_BODY_MAX_BYTES)
			return 413;
	}
	return 0;
}

/* --- questions of a site --- */

struct doing {
	const struct fleet_conf *conf;
	const char *body;
	size_t len;
	FILE *answer;
	char why[FLEET_WHY_BYTES];
};

static int
opened(struct doing *d, struct fleet **fleet, const struct fleet_engine **engine, void **e)
{
	int rc = fleet_open(d->conf, true, fleet, d->why);

	if (rc == NW_OK)
		*engine = fleet_engine_of(*fleet, e);
	return rc;
}

static int
rows_do(struct doing *d)
{
	const struct fleet_engine *engine;
	struct fleet_rows rows = { 0 };
	struct fleet *fleet = NULL;
	void *e;
	size_t i;
	int rc = rowpack_read(d->body, d->len, &rows);

	for (i = 0; i < rows.n; i++)
		fleet_text_set(&rows.row[i], 0, d->conf->site); /* the first of every key */
	if (rc == NW_OK && rows.n > 0 && (rc = opened(d, &fleet, &engine, &e)) == NW_OK)
		rc = engine->put(e, &rows, d->why);
	fleet_close(fleet);
	fleet_rows_clear(&rows);
	return rc;
}

/* The time is this box's: a site cannot look alive in the future. */
static int
site_do(struct doing *d)
{
	json_t *o = json_loadb(d->body, d->len, 0, NULL);
	struct fleet_site site = { .site = d->conf->site, .seen_ns = nw_wall_ns() };
	const struct fleet_engine *engine;
	struct fleet *fleet = NULL;
	void *e;
	int rc = NW_EPROTO;

	if (json_unpack(o, "{s:s, s:s}", "clock", &site.clock, "software", &site.software) == 0 &&
	    (rc = opened(d, &fleet, &engine, &e)) == NW_OK)
		rc = engine->put_site(e, &site, d->why);
	fleet_close(fleet);
	json_decref(o);
	return rc;
}

/* "all", or a list of numbers of sessions. */
static int
gone_do(struct doing *d)
{
	json_t *o = json_loadb(d->body, d->len, JSON_DECODE_ANY, NULL);
	const char *text = json_string_value(o);
	size_t n = json_array_size(o), i;
	int64_t *sessions = calloc(n + 1, sizeof(*sessions));
	const struct fleet_engine *engine;
	struct fleet *fleet = NULL;
	void *e;
	int rc = n > 0 || (text != NULL && strcmp(text, "all") == 0) ? NW_OK : NW_EPROTO;

	if (sessions == NULL)
		rc = NW_ENOMEM;
	for (i = 0; rc == NW_OK && i < n; i++) {
		if (!json_is_integer(json_array_get(o, i)))
			rc = NW_EPROTO;
		sessions[i] = (int64_t)json_integer_value(json_array_get(o, i));
	}
	if (rc == NW_OK && (rc = opened(d, &fleet, &engine, &e)) == NW_OK)
		rc = engine->remove(e, d->conf->site, sessions, n, d->why);
	fleet_close(fleet);
	free(sessions);
	json_decref(o);
	return rc;
}

static int
on_row(void *arg, size_t n, const char *const *texts)
{
	json_t *row = json_array();
	struct doing *d = arg;
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(row, texts[i] != NULL ? json_string(texts[i]) : json_null());
	json_dumpf(row, d->answer, JSON_COMPACT);
	fputc('\n', d->answer);
	json_decref(row);
	return ftell(d->answer) < RECEIVE_BODY_MAX_BYTES ? NW_OK : NW_ETOOBIG;
}

static int
ask_do(struct doing *d)
{
	json_t *o = json_loadb(d->body, d->len, 0, NULL);
	const char *sql, *parameter = NULL;
	const struct fleet_engine *engine;
	struct fleet *fleet = NULL;
	void *e;
	int rc = NW_EPROTO;

	if (strncmp(d->conf->fleet, "sqlite:", 7) != 0) {
		snprintf(d->why, sizeof(d->why), "this fleet answers at its own box alone");
		rc = NW_EUNSUPPORTED;
	} else if (json_unpack(o, "{s:s, s?s}", "sql", &sql, "parameter", &parameter) == 0 &&
	    (rc = opened(d, &fleet, &engine, &e)) == NW_OK) /* which makes missing tables */
		rc = fleet_sqlite_ask_own(
		    d->conf->fleet + 7, d->conf->site, sql, parameter, on_row, d, d->why);
	fleet_close(fleet);
	json_decref(o);
	return rc;
}

int
receive_do(const struct fleet_conf *conf, const struct receive_head *head, const char *body,
    char **answer, size_t *len)
{
	static int (*const dos[])(struct doing * d) = { [RECEIVE_ROWS] = rows_do,
		[RECEIVE_SITE] = site_do,
		[RECEIVE_GONE] = gone_do,
		[RECEIVE_ASK] = ask_do };
	struct doing d = { .conf = conf,
		.body = body,
		.len = head->body_bytes,
		.answer = open_memstream(answer, len) };
	int rc;

	if (d.answer == NULL) {
		*answer = NULL;
		return 503;
	}
	rc = dos[head->what](&d);
	if (rc < 0) {
		rewind(d.answer);
		fputs(d.why[0] != '\0' ? d.why : nw_strerror(rc), d.answer);
	}
	if (fclose(d.answer) != 0)
		return 503;
	return rc == NW_OK ? 200 : rc == NW_EPROTO || rc == NW_EINVAL ? 400 : 503;
}
