/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a setting against the sessions of a route: which sessions ran with another value.
 *
 * A session's value is the one at its end, since a collector tells a change some seconds after the
 * session's start. The sessions are those of a search for causes (narrows/cause.h): the last
 * session that is surely usual is the base, and has the old value.
 */
#ifndef NARROWS_MOVES_H
#define NARROWS_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value from a time on; texts on loan, NULL: absent. */
struct nw_setting_line {
	const char *name, *value, *before; /* before: the value until then, as far as known */
	int64_t t_wall_ns;
	bool first; /* the host's first report of the setting */
};

/* Sessions in time order, by the time at which their settings are known. */
struct nw_moves_ask {
	const int64_t *settled_wall_ns;
	size_t n, low; /* the first slow session is not before `low` */
};

struct nw_move {
	const char *before, *after; /* of the lines */
	int64_t t_wall_ns;          /* of the change to the new value */
	bool *moved;                /* of each session, as struct nw_cause has it; free() */
};

/* The session that a change is compared by. */
size_t nw_moves_base(const struct nw_moves_ask *ask);

/* Of the lines of one setting, rising in time, at least one: its change after the base. Returns
 * false if no session since the base ran with another value, or *rc is NW_ENOMEM. */
bool nw_move_find(const struct nw_moves_ask *ask, const struct nw_setting_line *line, size_t n,
    struct nw_move *out, int *rc);

/* Whether a line is a change that came before the base, and so had no effect. */
bool nw_move_is_quiet(const struct nw_moves_ask *ask, const struct nw_setting_line *line);

#endif
