/* SPDX-License-Identifier: BSD-3-Clause */
/* The state in which the sessions of a route are read (incident.c), and from which the reading can
 * go on (story_memo.c). */
#ifndef ANALYZE_TELLING_H
#define ANALYZE_TELLING_H

#include "analyze/incident/forecast.h"
#include "analyze/incident/tails.h"
#include "narrows/incident.h"

enum { SUSPECTS_MAX = 24 };

/* A watched begin. The models that do not count before the begin have no say whether there
 * is a step, and so they see the sessions since only once there is (suspects_complete()). */
struct suspect {
	size_t begin;
	struct tails tails_before;      /* of the sessions before */
	struct tails tails;             /* with the far sessions since, as if without a step */
	struct forecast before;         /* without the sessions from the begin on */
	double weight[FORECAST_MODELS]; /* of `before` */
	struct forecast step;           /* with a step at the begin */
};

/* A return to the usual level that is watched, while an incident is open. */
struct comeback {
	bool watched;
	size_t begin;
	double evidence;
	struct forecast usual, incident;
};

struct telling {
	const struct nw_job *job;
	size_t n;
	struct nw_story *out;
	struct forecast_row *row;
	struct forecast level;                 /* of the newest level without an open incident */
	size_t *member, n_members;             /* sessions of that level */
	struct tails tails;                    /* of the level's noise */
	struct suspect *room;                  /* of SUSPECTS_MAX */
	struct suspect *suspect[SUSPECTS_MAX]; /* rising in begin, then the unused */
	size_t n_suspects, n_former;           /* former: of the open incident's opening */
	size_t told_from;         /* usual rates of earlier sessions are not asked for */
	struct nw_incident *open; /* the open step, or NULL */
	struct forecast incident; /* the level before, with a step */
	struct forecast fall;     /* the level before, with a slope */
	struct comeback back;
	bool drifts;
	size_t drift;           /* index of the open drift */
	size_t contiguous_from; /* the first session with its predecessor on the same level */
};

/* Before the first session; NULL: memory was short. out: on loan, and empty. */
struct telling *telling_new(struct nw_story *out);
void telling_free(struct telling *t);
/* Makes room for n sessions. NW_ENOMEM */
int arrays_grow(struct telling *t, size_t n);
/* Makes the rows from an index on, the next session's among them. */
void rows_make(struct telling *t, size_t from);
/* Reads the sessions from..to. NW_ENOMEM */
int sessions_read(
    struct telling *t, size_t from, size_t to, const int64_t *accepted_wall_ns, size_t n_accepted);
/* Reads the sessions from an index on, and ends the story. NW_ENOMEM */
int story_end(struct telling *t, size_t from, const int64_t *accepted_wall_ns, size_t n_accepted);

#endif
