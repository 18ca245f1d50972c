/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/source.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "cli/gather.h"
#include "cli/query.h"
#include "narrows/address.h"
#include "pki/ask/httpask.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/web.h"

struct source {
	char *url; /* NULL: the directory */
	char *ca_path;
	char *state_dir;
	struct store_reader *reader;
};

struct source *
source_open(const char *state_dir, const char *url)
{
	struct source *s = xcalloc(1, sizeof(*s));

	s->url = xstrdup(url);
	s->state_dir = xstrdup(state_dir);
	return s;
}

void
source_trust(struct source *s, const char *ca_path)
{
	free(s->ca_path);
	s->ca_path = xstrdup(ca_path);
}

void
source_close(struct source *s)
{
	if (s == NULL)
		return;
	store_reader_close(s->reader);
	free(s->url);
	free(s->ca_path);
	free(s->state_dir);
	free(s);
}

/* Opens the store, once. */
static int
reader_open(struct source *s)
{
	char why[STORE_WHY_BYTES], *path;
	int rc;

	if (s->reader != NULL)
		return NW_OK;
	path = xasprintf("%s/narrows.db", s->state_dir);
	if ((rc = store_reader_open(path, &s->reader, why)) < 0)
		fprintf(stderr, "narrows: %s: %s\n", path, why);
	free(path);
	return rc;
}

/* Asks for one path of the report, over HTTP or in the store. The body is the same as a
 * browser's. */
static int
source_get(struct source *s, const char *path, httpask_fn *fn, void *arg, int *status)
{
	char why[HTTPASK_WHY_BYTES];
	int rc;

	if (s->url == NULL && (rc = reader_open(s)) < 0)
		return rc;
	if (s->url != NULL)
		rc = httpask(&(struct httpask){ .base = s->url,
				 .ca_path = s->ca_path,
				 .path = path,
				 .token = secure_getenv("NARROWS_TOKEN") },
		    fn, arg, status, why);
	else {
		rc = web_answer(s->reader, path, fn, arg, status);
		snprintf(why, sizeof(why), "%s", nw_strerror(rc));
	}
	if (rc == NW_OK && (*status == 401 || *status == 403)) {
		snprintf(why, sizeof(why),
		    *status == 401 ? "the box needs a token: set NARROWS_TOKEN to a token "
				     "(\"narrows access token\" on the box makes one)"
				   : "the role of NARROWS_TOKEN does not allow that");
		rc = NW_EINVAL;
	}
	if (rc < 0)
		fprintf(stderr, "narrows: %s: %s\n", s->url != NULL ? s->url : s->state_dir, why);
	return rc;
}

static char *
source_text(struct source *s, const char *path, int *status)
{
	struct gathered t = { 0 };

	if (source_get(s, path, gather, &t, status) < 0) {
		free(t.s);
		return NULL;
	}
	return t.s != NULL ? t.s : xstrdup("");
}

/* The document at a path of the box; NULL (said) without one. */
static json_t *
source_document(struct source *s, const char *path, const char *what)
{
	json_t *doc = NULL;
	char *text;
	int status;

	text = source_text(s, path, &status);
	if (text != NULL && (status != 200 || (doc = json_loads(text, 0, NULL)) == NULL))
		fprintf(stderr, "narrows: the box sends no %s (HTTP status %d)\n", what, status);
	free(text);
	return doc;
}

json_t *
source_sessions(struct source *s, int64_t before_id, const char *query)
{
	char *path = before_id != 0
	    ? xasprintf("/sessions.json?before=%" PRId64 "%s", before_id, query)
	    : xasprintf("/sessions.json?%s", query);
	json_t *doc = source_document(s, path, "list of sessions");

	free(path);
	return doc;
}

json_t *
source_keep(struct source *s)
{
	return source_document(s, "/keep.json", "metrics worth keeping");
}

json_t *
source_diets(struct source *s)
{
	return source_document(s, "/api/v1/diets", "diets");
}

bool
source_is_remote(const struct source *s)
{
	return s->url != NULL;
}

json_t *
source_routes(struct source *s)
{
	return source_document(s, "/routes.json", "routes");
}

/* The document at a path with a query, which both are the caller's. */
static json_t *
source_query(struct source *s, const char *path, const char *query, const char *what)
{
	char *whole = xasprintf("%s?%s", path, query);
	json_t *doc = source_document(s, whole, what);

	free(whole);
	return doc;
}

json_t *
source_incidents(struct source *s, const char *query)
{
	return source_query(s, "/api/v1/incidents", query, "incidents");
}

json_t *
source_route(struct source *s, const char *route, const char *program)
{
	char *query = NULL;
	json_t *doc;

	query_add(&query, "route", route);
	query_add(&query, "program", program);
	doc = source_query(s, "/route.json", query, "history of the route");
	free(query);
	return doc;
}

json_t *
source_compare(struct source *s, const char *query)
{
	return source_query(s, "/api/v1/compare", query, "comparison");
}

json_t *
source_collectors(struct source *s)
{
	return source_document(s, "/api/v1/collectors", "collectors");
}

json_t *
source_expected(struct source *s)
{
	return source_document(s, "/api/v1/expected", "expected sessions");
}

char *
source_result(struct source *s, int64_t id)
{
	char *path = xasprintf("/session/%" PRId64 ".json", id), *text;
	int status;

	text = source_text(s, path, &status);
	if (text != NULL && status != 200) {
		fprintf(stderr, "narrows: session %" PRId64 ": %s\n", id,
		    status == 404 ? "no such session" : "the box does not send the session");
		free(text);
		text = NULL;
	}
	free(path);
	return text;
}

json_t *
source_notes(struct source *s, int64_t id)
{
	char *path = xasprintf("/api/v1/sessions/%" PRId64 "/notes", id);
	json_t *doc = source_document(s, path, "notes");

	free(path);
	return doc;
}

struct answer {
	httpask_fn *write;
	void *arg;
	int status;
};

/* An error page must not end up in the file. */
static int
answer_pass(void *arg, const char *text, size_t len)
{
	struct answer *a = arg;

	return a->status == 200 ? a->write(a->arg, text, len) : NW_OK;
}

int
source_export(struct source *s, int64_t id, const char *ending, const char *query,
    int (*write)(void *arg, const char *text, size_t len), void *arg)
{
	struct answer a = { .write = write, .arg = arg, .status = 200 };
	char *path = xasprintf("/session/%" PRId64 "%s?%s", id, ending, query);
	int rc = source_get(s, path, answer_pass, &a, &a.status);

	free(path);
	if (rc < 0 || a.status == 200)
		return rc;
	if (a.status == 400) {
		fputs("narrows: export: too many columns for a wide table: choose series with "
		      "--series\n",
		    stderr);
		return NW_EINVAL;
	}
	fprintf(stderr, "narrows: session %" PRId64 ": %s\n", id,
	    a.status == 404 ? "no such session" : "the box does not send the session");
	return NW_ENOTFOUND;
}

char *
source_run_value(const char *state_dir, const char *name)
{
	char *path = xasprintf("%s/narrowsd.run", state_dir), line[1024], *value = NULL;
	FILE *f = fopen(path, "r");
	size_t len = strlen(name);

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, len) == 0 && line[len] == ' ') {
			line[strcspn(line, "\n")] = '\0';
			free(value);
			value = xstrdup(line + len + 1);
		}
	if (f != NULL)
		fclose(f);
	free(path);
	return value;
}

char *
source_ports(struct source *s)
{
	char *xsp, *tls, *both;

	if (s->url != NULL)
		return NULL;
	xsp = source_run_value(s->state_dir, "xsp");
	tls = source_run_value(s->state_dir, "xsp-tls");
	both = xsp == NULL && tls == NULL
	    ? NULL
	    : xasprintf("%s %s\n", xsp != NULL ? xsp : "", tls != NULL ? tls : "");
	free(xsp);
	free(tls);
	return both;
}

bool
source_box_runs(const char *state_dir)
{
	char *pid = source_run_value(state_dir, "pid");
	bool live = pid != NULL && (kill((pid_t)atol(pid), 0) == 0 || errno == EPERM);

	free(pid);
	return live;
}

bool
source_is_live(struct source *s)
{
	return s->url != NULL || source_box_runs(s->state_dir);
}

char *
source_address(const struct source *s)
{
	char *run = s->url == NULL ? source_run_value(s->state_dir, "http") : NULL,
	     host[ADDRESS_HOST_BYTES], *address = NULL;
	uint16_t port;

	if (s->url != NULL)
		return xstrdup(s->url);
	if (run != NULL && address_parse(run, host, &port) == NW_OK)
		address = xasprintf(
		    strchr(host, ':') != NULL ? "http://[%s]:%u" : "http://%s:%u", host, port);
	free(run);
	return address;
}

char *
source_health(struct source *s, int *status)
{
	char *url = s->url != NULL ? xstrdup(s->url) : source_run_value(s->state_dir, "http");
	char why[HTTPASK_WHY_BYTES];
	struct gathered t = { 0 };

	if (url == NULL)
		fprintf(stderr, "narrows: %s: no box runs here\n", s->state_dir);
	else if (httpask(&(struct httpask){ .base = url,
			     .ca_path = s->ca_path,
			     .path = "/healthz",
			     .token = secure_getenv("NARROWS_TOKEN") },
		     gather, &t, status, why) < 0) {
		fprintf(stderr, "narrows: %s: %s\n", url, why);
		free(t.s);
		t.s = NULL;
	}
	free(url);
	return t.s;
}
