/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/moves.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Settings of passing things (mounts, interfaces, disks) begin with the thing. All other
 * settings existed before their first report. */
static bool
is_of_a_thing(const char *name)
{
	static const char *const groups[] = { "mount.", "net.", "disk." };
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strncmp(name, groups[i], strlen(groups[i])) == 0)
			return true;
	return false;
}

/* The value at a time: the last line up to the time, or the value before the first line. Before
 * the host's first report of a setting, the value counts as the first reported value: a newer
 * blipp reports more, and a program reports its build at its first run. */
static const char *
value_at(const struct nw_setting_line *line, size_t n, int64_t t_wall_ns)
{
	const bool told_first =
	    line[0].first || (line[0].before == NULL && !is_of_a_thing(line[0].name));
	size_t i;

	for (i = 0; i < n && line[i].t_wall_ns <= t_wall_ns; i++)
		;
	return i > 0 ? line[i - 1].value : told_first ? line[0].value : line[0].before;
}

size_t
nw_moves_base(const struct nw_moves_ask *ask)
{
	return ask->low > 1 ? ask->low - 2 : 0;
}

bool
nw_move_find(const struct nw_moves_ask *ask, const struct nw_setting_line *line, size_t n,
    struct nw_move *out, int *rc)
{
	const int64_t *at = ask->settled_wall_ns;
	const size_t base = nw_moves_base(ask);
	size_t first = base + 1, i;

	*rc = NW_OK;
	*out = (struct nw_move){ .before = value_at(line, n, at[base]) };
	while (first < ask->n && is_same(value_at(line, n, at[first]), out->before))
		first++;
	if (first >= ask->n)
		return false;
	if ((out->moved = calloc(ask->n, sizeof(*out->moved))) == NULL) {
		*rc = NW_ENOMEM;
		return false;
	}
	out->after = value_at(line, n, at[first]);
	for (i = n; i-- > 1 && line[i].t_wall_ns > at[first];)
		;
	out->t_wall_ns = line[i].t_wall_ns;
	for (i = 0; i < ask->n; i++)
		out->moved[i] =
		    is_same(value_at(line, n, at[i]),
			i + 1 < ask->low ? out->after : out->before) == (i + 1 < ask->low);
	return true;
}

bool
nw_move_is_quiet(const struct nw_moves_ask *ask, const struct nw_setting_line *line)
{
	return line->t_wall_ns <= ask->settled_wall_ns[nw_moves_base(ask)] && !line->first &&
	    line->before != NULL;
}
