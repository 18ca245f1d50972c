/* SPDX-License-Identifier: BSD-3-Clause */
/* Moved data: the directory from which, and into which, a host moved the most bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/usual/changed.h"
#include "narrows/err.h"
#include "narrows/moves.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

static const struct {
	const char *name;
	enum result_key bytes;
} ways[] = {
	{ "data.source", KEY_file_read_bytes },
	{ "data.destination", KEY_file_write_bytes },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

bool
changed_data_is_most(const json_t *files, const json_t *file)
{
	const char *host = result_text(file, KEY_file_host), *other;
	const json_t *o;
	size_t i, w;
	bool most;

	for (w = 0; w < WAYS && host != NULL; w++) {
		const double bytes = result_number(file, ways[w].bytes);

		most = bytes > 0;
		json_array_foreach(files, i, o)
		{
			other = result_text(o, KEY_file_host);
			most &= other == NULL || strcmp(other, host) != 0 ||
			    !(result_number(o, ways[w].bytes) > bytes);
		}
		if (most)
			return true;
	}
	return false;
}

/* The directory of the host's file with the most bytes, or NULL. free() the text. */
static char *
place_find(const json_t *files, const char *host, enum result_key bytes)
{
	const char *best = NULL, *path, *own, *slash;
	const json_t *o;
	double most = 0, n;
	size_t i;

	json_array_foreach(files, i, o)
	{
		own = result_text(o, KEY_file_host);
		path = result_text(o, KEY_file_path);
		n = result_number(o, bytes);
		if (own != NULL && path != NULL && strcmp(own, host) == 0 && n > most) {
			best = path;
			most = n;
		}
	}
	slash = best != NULL ? strrchr(best, '/') : NULL;
	if (slash == NULL || best[0] != '/')
		return NULL;
	return xasprintf("%.*s", slash == best ? 1 : (int)(slash - best), best);
}

void
changed_data_read(const struct changed_ask *ask, size_t session, const json_t *doc, char **place)
{
	const json_t *files = result_list(result_get(doc, KEY_result_session), KEY_session_files);
	size_t h, w;

	for (h = 0; h < ask->evidence->n_hosts; h++)
		for (w = 0; w < WAYS && ask->evidence->hosts[h].name != NULL; w++)
			place[(h * WAYS + w) * ask->n + session] =
			    place_find(files, ask->evidence->hosts[h].name, ways[w].bytes);
}

char **
changed_data_new(const struct changed_ask *ask)
{
	return xcalloc(ask->evidence->n_hosts * WAYS * ask->n + 1, sizeof(char *));
}

void
changed_data_free(const struct changed_ask *ask, char **place)
{
	size_t i;

	for (i = 0; i < ask->evidence->n_hosts * WAYS * ask->n; i++)
		free(place[i]);
	free(place);
}

/* The places of the sessions as the history of a setting; a session without a place has the place
 * of the session before. */
static size_t
lines_make(const struct changed_ask *ask, const char *name, char *const *place,
    struct nw_setting_line *line)
{
	const char *last = NULL;
	size_t i, n = 0;

	for (i = 0; i < ask->n; i++) {
		if (place[i] == NULL || (last != NULL && strcmp(place[i], last) == 0))
			continue;
		line[n++] = (struct nw_setting_line){ .name = name,
			.value = place[i],
			.before = last,
			.t_wall_ns = ask->session[i].start_wall_ns,
			.first = last == NULL };
		last = place[i];
	}
	return n;
}

static int
place_compare(
    const struct changed_ask *ask, size_t host, size_t way, char *const *place, struct changed *out)
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
	n = lines_make(ask, ways[way].name, place, line);
	if (n > 0 && nw_move_find(&moves, line, n, &move, &rc)) {
		d = changed_add(out, DIFFERENCE_SETTING);
		d->name = xstrdup(ways[way].name);
		d->host = xstrdup(ask->evidence->hosts[host].name);
		d->host_at = host;
		d->before_text = xstrdup(move.before);
		d->after_text = xstrdup(move.after);
		d->at_wall_ns = move.t_wall_ns;
		d->moved = move.moved;
		for (i = 0; i < n; i++) /* a directory for each day is no cause */
			d->n_quiet += nw_move_is_quiet(&moves, &line[i]);
		out->n_settings++;
	}
	free(line);
	free(at);
	return rc;
}

int
changed_data(const struct changed_ask *ask, char *const *place, struct changed *out)
{
	size_t h, w;
	int rc = NW_OK;

	for (h = 0; h < ask->evidence->n_hosts && rc == NW_OK; h++)
		for (w = 0; w < WAYS && rc == NW_OK; w++)
			rc = place_compare(ask, h, w, &place[(h * WAYS + w) * ask->n], out);
	return rc;
}
