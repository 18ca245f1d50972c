/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The story of a route: its levels, its incidents, and what was usual for each session.
 *
 * Model. The log rate of a session is a sum of the level, a smooth curve of the log of the size,
 * the hour, the weekday, a slow drift, and noise with a memory from session to session. Bayesian
 * linear models with and without each part, and with memories from none to .95, predict each
 * session from the earlier ones by Student's distribution; each has the weight that its predictions
 * so far have earned. A job that ends by the clock, as the jobs before, has a size by the
 * rate: the size explains nothing.
 *
 * Usual. The weighted predictions of the models give the median and the interval for the next
 * session of this size at this hour. They stand on the newest level that is no open incident:
 * sessions of an incident, and of a begin that is suspected, never widen it.
 *
 * Opening. For each of the latest begins, one to some dozens of sessions back, the models are
 * fitted with a step from there on. The odds of a step against none, summed over the begins, open
 * the incident (Shiryaev 1963, Roberts 1966). The chance of a single session alone opens, too. Both
 * allow for noise with tails as long as the sessions so far have shown: normal, or Student's with
 * 8, 4 or 3 degrees of freedom. The thresholds hold for every look, and are set by simulation
 * (tests/calibrate). A recorded change before a session raises the odds of a slowdown that begins
 * there, and the chance that opens alone up to one in a hundred. The likeliest begin stands on the
 * rates alone, for the causes are weighed by the begin.
 *
 * Bound. Opened after 15 independent sessions of unknown mean and spread, with a chance of 1 in
 * 2,000 to be wrong at a look: the best invariant test, which knows the begin and the mean size,
 * finds a step of 5 to 6 standard deviations by its first session in 80 %, and one of 4 by its
 * third in 98 %. More is found by the first session only as long as young routes are wrong more
 * often, and old routes less.
 *
 * End. The sessions since a return are likelier by a fixed factor on the usual level than on the
 * incident's. An incident is accepted after NW_INCIDENT_ACCEPTED sessions, or when the caller says
 * so: its level is usual from then on. A lasting step to faster is a new level by the same test.
 *
 * A drift is an incident of its own kind: the usual rate goes with the drift, and the drift's
 * sentence says how fast the rate falls. A level that falls from its first session on is a drift,
 * and so is an open incident if a slope explains the sessions by far better than a step. The begin
 * then moves to the begin of the slope, and the sessions since make a new level.
 *
 * Everything follows from the sessions in their order, whenever the functions are called.
 */
#ifndef NARROWS_INCIDENT_H
#define NARROWS_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NW_USUAL_MIN = 8,          /* sessions of a level that make a usual rate */
	NW_INCIDENT_ACCEPTED = 30, /* sessions after which an incident's level is usual */
};
#define NW_USEFUL 1.1 /* smallest ratio of rates worth a word */

/* A session of the route, as the rule sees it. Rates are positive and finite. */
struct nw_job {
	int64_t start_wall_ns;
	double bytes_per_s, bytes;
	unsigned hour, weekday; /* local, 0..23 and 0..6 */
	/* log of how much likelier a slowdown begins with this session by the changes that are
	 * recorded since the session before, nw_change_log_odds(); 0 without a change */
	double suspicion;
};

enum nw_against { NW_AGAINST_TOO_FEW, NW_AGAINST_USUAL, NW_AGAINST_SLOWER, NW_AGAINST_FASTER };

/* The usual rate of a session, from the sessions before. */
struct nw_usual {
	enum nw_against said;
	size_t n;                   /* sessions that made the level */
	double best, median, worst; /* best and worst of the sessions; NaN without any */
	double low, high;           /* the next session lies between in 80 % */
	double ratio;               /* median over the rate: above 1 is slower */
	double slower_than;         /* share of the level's faster sessions */
	double p;                   /* of a rate as far out on its side; NaN: too few */
};

enum nw_incident_kind { NW_INCIDENT_STEP, NW_INCIDENT_DRIFT };
enum nw_incident_state { NW_INCIDENT_OPEN, NW_INCIDENT_ENDED, NW_INCIDENT_IS_ACCEPTED };

/* Indexes are of sessions. */
struct nw_incident {
	enum nw_incident_kind kind;
	enum nw_incident_state state;
	size_t begin;        /* first session */
	size_t low, high;    /* first and last session that the begin may have */
	size_t opened;       /* session of the opening: the test was convinced */
	size_t end;          /* first session that is not in the incident; n while it is open */
	size_t closed;       /* session that convinced the test of the end; n while open */
	size_t n_before;     /* sessions of the level before */
	double usual, since; /* rates before and in the incident, of a job like its last one */
	double ratio;        /* usual over since; of a drift from its first to its last session */
	double ratio_low, ratio_high; /* 90 % lies between */
	double per_week;              /* of a drift: share lost a week */
	double p;                     /* of the test at the opening */
	int64_t accepted_wall_ns;     /* time of the acceptance by the caller; 0: without */
};

/* A stretch of sessions with one usual level; incidents that ended are no levels. */
struct nw_level {
	size_t begin, low, high; /* as of an incident; all 0 for the first level */
	size_t known;            /* the first session for which the level is usual */
	double before, after; /* rates, of a job like the first of the level; NaN for the first */
	bool was_incident;    /* an accepted incident */
};

struct nw_story {
	size_t n;               /* sessions */
	struct nw_usual *usual; /* for each session; one more: for the next one, like the last */
	struct nw_incident *incident; /* rising in begin */
	size_t n_incidents;
	struct nw_level *level; /* rising in begin, at least one */
	size_t n_levels;
};

/* Each of the times accepts the open incident: sessions that start later belong to the new level.
 * Free with nw_story_clear(), also after an error. NW_ENOMEM */
int nw_story_make(const struct nw_job *job, size_t n, const int64_t *accepted_wall_ns,
    size_t n_accepted, struct nw_story *out);
/* The same story in a fraction of the time, with usual[] from an index on alone: the usual rates of
 * earlier sessions are undefined. */
int nw_story_make_from(const struct nw_job *job, size_t n, const int64_t *accepted_wall_ns,
    size_t n_accepted, size_t told_from, struct nw_story *out);
/* The same story, at the price of the newest sessions alone, if the memo has read the older ones
 * with the same jobs and acceptances; else the memo is read anew. NULL: without a memo. A memo
 * takes some 2 MB, and belongs to one thread. */
struct nw_story_memo;
struct nw_story_memo *nw_story_memo_new(void); /* NULL: memory was short */
void nw_story_memo_free(struct nw_story_memo *m);
int nw_story_go_on(struct nw_story_memo *m, const struct nw_job *job, size_t n,
    const int64_t *accepted_wall_ns, size_t n_accepted, size_t told_from, struct nw_story *out);
void nw_story_clear(struct nw_story *s);

/* The incident that a session belongs to, or NULL: a session of two belongs to the step. */
const struct nw_incident *nw_story_incident_of(const struct nw_story *s, size_t session);

/* The sessions of the newest level before an index: on that level, and in no incident. Returns
 * their number, in `out` (room for `end`) rising. */
size_t nw_story_level(const struct nw_story *s, size_t end, size_t *out);

enum { NW_AROUND_BEFORE = 40, NW_AROUND_AFTER = 40 };

/* Sessions for the search of causes of the newest session. From `split` on: the sessions of the
 * newest session's incident, or the newest session alone. Before: the newest usual sessions. */
struct nw_around {
	size_t session[NW_AROUND_BEFORE + NW_AROUND_AFTER]; /* indexes, rising */
	size_t n, split;
	size_t low, high; /* indexes in `session`, between which the begin lies */
};

/* Returns NW_ENOTFOUND if nothing needs an explanation, NW_ENOMEM, or NW_OK. */
int nw_story_around(const struct nw_story *s, struct nw_around *out);

#endif
