/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the documents of sessions tell as a setting would: the directory from which, and into which,
 * a host moved the most bytes; the way to each other end; and the switch ports of the hosts.
 */
#include "analyze/verdict/usual/changed_told.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/usual/changed.h"
#include "narrows/err.h"
#include "narrows/moves.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

/* A name on a host, and what each session tells: NULL, nothing. */
struct track {
	char *name, *host;
	char **value;
};

struct changed_told {
	struct track *track;
	size_t n, n_sessions;
};

enum { TRACKS_MAX = 200 };
/* A move on the very route without an effect says as much as so many on any route. */
enum { QUIET_HERE = 3 };

static const struct {
	const char *name;
	enum result_key bytes;
} directories[] = {
	{ "data.source", KEY_file_read_bytes },
	{ "data.destination", KEY_file_write_bytes },
};
enum { DIRECTORIES = sizeof(directories) / sizeof(directories[0]) };

/* --- documents --- */

/* Takes both texts. */
typedef void told_fn(void *arg, char *name, const char *host, char *value);

/* Whether an earlier file is of the same host. */
static bool
is_told(const json_t *files, size_t until, const char *host)
{
	const char *own;
	size_t i;

	for (i = 0; i < until; i++) {
		own = result_text(json_array_get(files, i), KEY_file_host);
		if (own != NULL && strcmp(own, host) == 0)
			return true;
	}
	return false;
}

/* The file of the host with the most bytes, or NULL. */
static const json_t *
largest_of(const json_t *files, const char *host, enum result_key bytes)
{
	const json_t *best = NULL, *o;
	const char *own;
	double most = 0, n;
	size_t i;

	json_array_foreach(files, i, o)
	{
		own = result_text(o, KEY_file_host);
		n = result_number(o, bytes);
		if (own != NULL && strcmp(own, host) == 0 && n > most) {
			best = o;
			most = n;
		}
	}
	return best;
}

bool
changed_told_is_most(const json_t *files, const json_t *file)
{
	const char *host = result_text(file, KEY_file_host);
	size_t w;

	for (w = 0; w < DIRECTORIES && host != NULL; w++)
		if (largest_of(files, host, directories[w].bytes) == file)
			return true;
	return false;
}

static void
directories_tell(const json_t *session, told_fn *tell, void *arg)
{
	const json_t *files = result_list(session, KEY_session_files), *o;
	const char *host, *path, *slash;
	size_t i, w;

	json_array_foreach(files, i, o)
	{
		host = result_text(o, KEY_file_host);
		if (host == NULL || is_told(files, i, host))
			continue;
		for (w = 0; w < DIRECTORIES; w++) {
			path = result_text(
			    largest_of(files, host, directories[w].bytes), KEY_file_path);
			if (path == NULL || path[0] != '/')
				continue;
			slash = strrchr(path, '/');
			tell(arg, xstrdup(directories[w].name), host,
			    xasprintf("%.*s", slash == path ? 1 : (int)(slash - path), path));
		}
	}
}

static void
number_tell(const char *host, char *name, double value, told_fn *tell, void *arg)
{
	if (host != NULL && isfinite(value))
		tell(arg, name, host, xasprintf("%.0f", value));
	else
		free(name);
}

static void
ways_tell(const json_t *session, told_fn *tell, void *arg)
{
	const json_t *list = result_list(session, KEY_session_ways), *o;
	const char *host, *peer;
	size_t i;

	json_array_foreach(list, i, o)
	{
		host = result_text(o, KEY_way_host);
		peer = result_text(o, KEY_way_peer);
		if (peer == NULL)
			continue;
		number_tell(host, xasprintf("way.%s.hops", peer), result_number(o, KEY_way_hops),
		    tell, arg);
		number_tell(host, xasprintf("way.%s.mtu", peer),
		    result_number(o, KEY_way_mtu_bytes), tell, arg);
	}
}

/* The ports of a host; free() the text. */
static char *
ports_of(const json_t *ports, const char *host)
{
	const char *own, *name, *port;
	char *out = xstrdup(""), *longer;
	const json_t *o;
	size_t i;

	json_array_foreach(ports, i, o)
	{
		own = result_text(o, KEY_port_host);
		name = result_text(o, KEY_port_switch);
		port = result_text(o, KEY_port_port);
		if (own == NULL || strcmp(own, host) != 0 || name == NULL || port == NULL)
			continue;
		longer = xasprintf("%s%s%s %s", out, *out != '\0' ? ", " : "", name, port);
		free(out);
		out = longer;
	}
	return out;
}

static void
ports_tell(const json_t *session, told_fn *tell, void *arg)
{
	const json_t *list = result_list(session, KEY_session_ports), *o;
	const char *host, *name, *port;
	size_t i;

	json_array_foreach(list, i, o)
	{
		host = result_text(o, KEY_port_host);
		name = result_text(o, KEY_port_switch);
		port = result_text(o, KEY_port_port);
		if (host == NULL || name == NULL || port == NULL)
			continue;
		number_tell(host, xasprintf("switch.%s.%s.speed_mbit_s", name, port),
		    result_number(o, KEY_port_speed_bit_s) / 1e6, tell, arg);
		tell(arg, xstrdup("switch.port"), host, ports_of(list, host));
	}
}

static void
document_tell(const json_t *doc, told_fn *tell, void *arg)
{
	const json_t *session = result_get(doc, KEY_result_session);

	directories_tell(session, tell, arg);
	ways_tell(session, tell, arg);
	ports_tell(session, tell, arg);
}

/* --- one value --- */

bool
changed_told_is(const char *name)
{
	static const char *const groups[] = { "data.", "way.", "switch." };
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strncmp(name, groups[i], strlen(groups[i])) == 0)
			return true;
	return false;
}

struct told_search {
	const char *name, *host;
	char *value;
};

static void
on_told_value(void *arg, char *name, const char *host, char *value)
{
	struct told_search *q = arg;

	if (q->value == NULL && strcmp(name, q->name) == 0 && strcmp(host, q->host) == 0)
		q->value = value;
	else
		free(value);
	free(name);
}

char *
changed_told_value(const json_t *doc, const char *host, const char *name)
{
	struct told_search q = { name, host, NULL };

	document_tell(doc, on_told_value, &q);
	return q.value;
}

/* --- histories --- */

struct told_read {
	struct changed_told *told;
	size_t session;
};

static void
on_told(void *arg, char *name, const char *host, char *value)
{
	const struct told_read *read = arg;
	struct changed_told *told = read->told;
	struct track *t = told->track;

	while (
	    t < told->track + told->n && (strcmp(t->name, name) != 0 || strcmp(t->host, host) != 0))
		t++;
	if (t == told->track + told->n && told->n < TRACKS_MAX) {
		told->track = xreallocarray(told->track, told->n + 1, sizeof(*told->track));
		t = &told->track[told->n++];
		*t = (struct track){ xstrdup(name), xstrdup(host),
			xcalloc(told->n_sessions, sizeof(*t->value)) };
	}
	free(name);
	if (t == told->track + told->n || t->value[read->session] != NULL)
		free(value);
	else
		t->value[read->session] = value;
}

struct changed_told *
changed_told_new(size_t n_sessions)
{
	struct changed_told *told = xcalloc(1, sizeof(*told));

	told->n_sessions = n_sessions;
	return told;
}

void
changed_told_read(struct changed_told *told, size_t session, const json_t *doc)
{
	document_tell(doc, on_told, &(struct told_read){ told, session });
}

void
changed_told_free(struct changed_told *told)
{
	size_t i;

	while (told->n > 0) {
		struct track *t = &told->track[--told->n];

		for (i = 0; i < told->n_sessions; i++)
			free(t->value[i]);
		free(t->value);
		free(t->name);
		free(t->host);
	}
	free(told->track);
	free(told);
}

/* The values of the sessions as the history of a setting. A session without a value may have had
 * the value before or the one after: what came in between counts from the interval's begin on, if
 * the begin is in between, too. */
static size_t
lines_make(const struct changed_ask *ask, const struct track *t, struct nw_setting_line *line)
{
	const char *last = NULL;
	size_t i, from, known = 0, n = 0;

	for (i = 0; i < ask->n; i++) {
		if (t->value[i] == NULL)
			continue;
		if (last == NULL || strcmp(t->value[i], last) != 0) {
			from = last == NULL || ask->low > i ? i : ask->low;
			from = from > known || last == NULL ? from : known + 1;
			line[n++] = (struct nw_setting_line){ .name = t->name,
				.value = t->value[i],
				.before = last,
				.t_wall_ns = ask->session[from].start_wall_ns,
				.first = last == NULL };
			last = t->value[i];
		}
		known = i;
	}
	return n;
}

static int
track_compare(
    const struct changed_ask *ask, size_t host, const struct track *t, struct changed *out)
{
	int64_t *at = xcalloc(ask->n + 1, sizeof(*at));
	struct nw_setting_line *line = xcalloc(ask->n + 1, sizeof(*line));
	const struct nw_moves_ask moves = { at, ask->n, ask->low };
	struct difference *d;
	struct nw_move move;
	size_t i, n;
	int rc = NW_OK;

	for (i = 0; i < ask->n; i++)
		at[i] = ask->session[i].start_wall_ns;
	n = lines_make(ask, t, line);
	if (n > 0 && nw_move_find(&moves, line, n, &move, &rc)) {
		d = changed_add(out, DIFFERENCE_SETTING);
		d->name = xstrdup(t->name);
		d->host = xstrdup(t->host);
		d->host_at = host;
		d->before_text = xstrdup(move.before);
		d->after_text = xstrdup(move.after);
		d->at_wall_ns = move.t_wall_ns;
		d->moved = move.moved;
		for (i = 0; i < n; i++) /* what changes each day is no cause */
			d->n_quiet += nw_move_is_quiet(&moves, &line[i]) ? QUIET_HERE : 0;
		out->n_settings++;
	}
	free(line);
	free(at);
	return rc;
}

int
changed_told_compare(
    const struct changed_told *told, const struct changed_ask *ask, struct changed *out)
{
	const struct track *t;
	int rc = NW_OK;

	for (t = told->track; t < told->track + told->n && rc == NW_OK; t++)
		rc = track_compare(ask, evidence_host_find(ask->evidence, t->host), t, out);
	return rc;
}
