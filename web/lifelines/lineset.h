/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lifelines of a session, from its events: which ids make an object, in which order the points
 * stand, which server each line takes, and how far the hosts' clocks can be trusted.
 *
 * Objects: of the id key with the most values, all id keys that its events have in common. An
 * event with these keys is a point of a line, any other event belongs to its host alone. A line
 * that passes its first point again is a new line. Functions return NW_OK or NW_E*; memory that
 * runs out is NW_ENOMEM.
 */
#ifndef NARROWS_LINESET_H
#define NARROWS_LINESET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/lifeline.h"
#include "narrows/store.h"

enum {
	LINESET_EVENTS_MAX = 2000000, /* of a session; later ones are left out, and counted */
	LINESET_LINES_MAX = 600000,
	LINESET_CELLS_MAX = 4000000, /* lines times points: rare points are left out */
	LINESET_NAMES_MAX = 1024,    /* names, hosts, servers each; the rest becomes the last one */
	LINESET_SIDE_MAX = 100000,
	LINESET_KEYS_MAX = 8
};

/* Choices of the reader; NULL: learned from the events. */
struct lineset_opts {
	const char *path; /* names of points, divided by commas */
	const char *by;   /* id keys that make an object, divided by commas */
	const char *lane; /* attribute that names the server of a line */
	bool raw;         /* times as they were logged, without correction */
	/* becomes true when nobody waits for the lines any more: NW_ECLOSED; NULL: never */
	const atomic_bool *stop;
};

struct lineset_names {
	size_t n;
	char **text;
	uint32_t *slot; /* hash table */
};

enum lineset_path { LINESET_DECLARED, LINESET_KNOWN, LINESET_LEARNED };
enum lineset_state { LINESET_FINISHED, LINESET_FLUSHED, LINESET_UNFINISHED };
/* What an event says of its line without being a point: a flush ended the line; a server had the
 * object in memory. */
enum { LINESET_FLUSH = 1, LINESET_MEMORY = 2 };

struct lineset_clock {
	double offset_s; /* host minus box; NaN without a measurement */
	double bound_s;  /* largest error of the times as they are used here; NaN: not known */
	int64_t lead_ns; /* subtracted from all times of the host */
	double drift;    /* and so much more for each second behind drift_from_ns as logged */
	int64_t drift_from_ns;
	bool measured; /* the measured offset is part of lead_ns */
	struct nw_line_clock causal;
};

struct lineset_note { /* an annotation; texts are copies */
	int64_t id, t_wall_ns;
	char *line, *point, *text;
};

struct lineset_side { /* an event of a host alone */
	int64_t t_wall_ns;
	uint32_t name, host;
	uint32_t server; /* number in side_servers, or NW_LINE_ANY: the event names no server */
};

struct lineset {
	int64_t session_id;
	const atomic_bool *stop; /* of the question in hand, as in lineset_opts */
	int64_t n_events, n_left_out, n_repeats;
	int64_t first_wall_ns, last_wall_ns;
	struct lineset_names names, hosts, lanes;
	struct lineset_names side_servers; /* that events of hosts name */
	uint32_t lane_unknown; /* lane of lines without a server; NW_LINE_ANY: all have one */
	char *keys[LINESET_KEYS_MAX]; /* of an object */
	size_t n_keys;
	char lane_key[64]; /* attribute, or "host" */
	enum lineset_path path_source;
	uint32_t point_name[NW_LINE_POINTS_MAX]; /* by place on the path */
	struct nw_lines lines;                   /* into the arrays below */
	int64_t *t;
	uint32_t *lane, *lane_host;
	double *bound;
	char **label; /* ids of each line */
	size_t n_labels;
	uint8_t *state;
	uint8_t *flags;              /* of each line: LINESET_FLUSH, LINESET_MEMORY */
	double *bytes;               /* of each line, as its events tell; NaN: not told */
	struct lineset_clock *clock; /* by host */
	struct nw_line_wrong *wrong; /* clocks that the lines prove wrong */
	size_t n_wrong, n_shifted;   /* n_shifted: corrected by their lines */
	struct lineset_side *side;   /* rising in time */
	size_t n_side;
	struct lineset_note *notes; /* rising in time */
	size_t n_notes;
};

int lineset_load(
    struct store_reader *r, int64_t session_id, const struct lineset_opts *o, struct lineset **out);
void lineset_free(struct lineset *s);
/* Reads the notes anew. */
int lineset_notes(struct store_reader *r, struct lineset *s);

/* Returns true if nobody waits for the lines any more. */
static inline bool
lineset_stopped(const struct lineset *s)
{
	return s->stop != NULL && atomic_load_explicit(s->stop, memory_order_relaxed);
}
const char *lineset_point(const struct lineset *s, unsigned point);
const char *lineset_host(const struct lineset *s, size_t line, unsigned point);

/* --- names --- */

/* The number of a text, which is added if it is new; LINESET_NAMES_MAX - 1 when there are too
 * many. UINT32_MAX: no memory. */
uint32_t linename_put(struct lineset_names *n, const char *text);
void linenames_clear(struct lineset_names *n);

#endif
