/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Causes of a slowdown, weighed: each recorded change against the others, and against "no recorded
 * change explains the slowdown".
 *
 * The weights are posterior probabilities. A change has a prior by its mechanism (causes.def): the
 * chance that such a change slows a transfer down which the limiting stage limits, less for small
 * steps and for steps in the direction that speeds up. Each earlier move of the setting without
 * effect, on any host, lowers the prior as a beta prior worth QUIET_WORTH observations would be.
 * A change counts if the first session with the new value is within the interval of the
 * slowdown's first session; the slowdown without a recorded change begins anywhere: between two
 * sessions with a chance of UNRECORDED, so once for each place of the interval. Sessions that
 * contradict a change (usual with the new value, slow with the old one) divide its weight.
 *
 * Routes that share a host with the slow route vouch (narrows/reach.h). A change of the host is
 * felt on all routes of the host with a chance that depends on the kind of change, else on no other
 * route. A fall of all routes without such a change has a small chance. "No recorded change" is at
 * the source, at the destination or between the hosts, each as likely.
 *
 * A metric (the load of others, the round trip time, the size of the data) counts by the Bayes
 * factor bound of its chance p without a change, -1 / (e p ln p) (Sellke, Bayarri, Berger 2001).
 *
 * calibrate, table "causes", simulates how often the weights are right.
 */
#ifndef NARROWS_CAUSE_H
#define NARROWS_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/reach.h"
#include "narrows/stage_words.h"

enum { NW_CAUSES_NAMED_MAX = 3 };
/* Changes of a setting on several hosts within so much time may be one change. */
#define NW_CHANGE_NEWS_NS INT64_C(86400000000000)
/* From this weight on a cause is sure. */
#define NW_CAUSE_SURE 0.9

/* Which step slows a transfer down: to fewer, to more (of numbers, on and off); a cap is a number
 * whose absence is no limit; to certain words; any step. */
enum nw_cause_step { NW_STEP_LOWER, NW_STEP_HIGHER, NW_STEP_CAP, NW_STEP_WORDS, NW_STEP_ANY };

/* A row of causes.def. */
struct nw_mechanism {
	const char
	    *pattern;    /* name of a setting or metric; '*' is a device, path, program or rest */
	unsigned stages; /* bit 1 << enum nw_stage_kind */
	enum nw_cause_step step;
	const char *words; /* apart by '|' */
	double prior;
	const char *source;
};

/* The row of a name; every name has one. Static. */
const struct nw_mechanism *nw_mechanism_find(const char *name);
/* All rows, for tests; *n is their number. */
const struct nw_mechanism *nw_mechanisms(size_t *n);
/* Whether the pattern fits the name; '*' stands for any text. *thing and *len (may be NULL) are the
 * text below the first '*'. */
bool nw_cause_fits(const char *pattern, const char *name, const char **thing, size_t *len);
/* Length of the part of a name that stands for one change: "program.rsync" of
 * "program.rsync.build", "kernel" of "kernel.release"; else the whole name. */
size_t nw_cause_unit(const char *name);

/* Sessions in time order; the first slow session is one of low .. high, the usual ones before. */
struct nw_begin {
	size_t n, low, high;
	size_t n_survived;     /* changes outside of the interval that are not among the causes */
	struct nw_reach reach; /* what other routes over the two hosts vouch for */
};

/* Where a cause is. */
enum nw_cause_place { NW_CAUSE_ANYWHERE, NW_CAUSE_FROM, NW_CAUSE_TO, NW_CAUSE_BETWEEN };

struct nw_cause {
	const char *name, *before, *after; /* on loan; a value of NULL is absent */
	size_t host;
	enum nw_cause_place place; /* of the host on the slow route */
	/* for a setting: of the sessions from low - 1 on whether each ran with another value than
	 * session low - 2 (or 0), of the earlier ones whether each ran with the new value; NULL for
	 * a metric */
	const bool *moved;
	size_t n_quiet; /* moves of the setting elsewhere, without effect as far as known */
	double chance;  /* of a metric's difference without a change */
	bool rose;      /* whether the metric rose */
	bool accounts;  /* whether the metric's size alone makes up most of the slowdown */
	/* results */
	const struct nw_mechanism *mechanism;
	double weight; /* 0: contradicted, or a part of another cause */
};

/* Fills the weights; *unexplained is the weight of no recorded change. `stage` limits the slow
 * sessions, NW_STAGE_COUNT: unknown. */
void nw_causes_weigh(struct nw_cause *cause, size_t n, const struct nw_begin *begin,
    enum nw_stage_kind stage, double *unexplained);

/* The chance that a change slows down a transfer, whatever stage limits the transfer: 0 to 1.
 * `n_quiet`: earlier moves of the setting without effect. */
double nw_change_chance(const char *name, const char *before, const char *after, size_t n_quiet);
/*
 * Log of how much likelier a slowdown begins between two sessions with recorded changes between
 * the sessions than without. `chance` is the sum of nw_change_chance() of the changes, `earlier`
 * the sum of all changes before: hosts with many changes survive most changes.
 */
double nw_change_log_odds(double chance, double earlier);

/* How many causes, from the heaviest, are worth naming: 0 if no recorded change is likelier than
 * all of them, else the smallest number with most of the explained weight, at most
 * NW_CAUSES_NAMED_MAX. Weights falling. */
size_t nw_causes_named(const double *weight, size_t n, double unexplained);

/* "Almost certainly", "Probably", "Possibly". */
const char *nw_cause_words(double weight);

#endif
