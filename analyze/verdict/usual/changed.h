/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What changed: differences between the sessions of a route before and after a change of its rates,
 * settings of the hosts and metrics of the sessions alike. Changes that may be the cause are
 * weighed against each other (narrows/cause.h); metrics are also told by their chance.
 *
 * Settings are those of the hosts at the begin of each session. Metrics come from the result
 * documents: what each stage could carry, how long the stage held the data, hosts, connections,
 * sizes.
 */
#ifndef CHANGED_H
#define CHANGED_H

#include <jansson.h>

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/usual/past.h"
#include "narrows/cause.h"

#define CHANGED_Q_METRICS 0.05
#define CHANGED_Q_ALONE   0.001 /* for metrics of a single session, chosen as a slow one */

/* Metrics with a size that is an effect of a slowdown, too. */
#define CHANGED_OTHERS    "Share of others at the limiting resource"
#define CHANGED_FILE_SIZE "Mean size of a file"

enum { DIFFERENCES_MAX = 20 };

enum difference_kind { DIFFERENCE_SETTING, DIFFERENCE_METRIC };

struct difference {
	enum difference_kind kind;
	char *host; /* NULL: of the session */
	char *name;
	const char *unit;
	int64_t at_wall_ns;             /* of a setting */
	char *before_text, *after_text; /* of a setting; NULL: the host had none */
	double before, after;           /* of a metric */
	double p, q;                    /* of a metric; NaN: of a setting */
	bool *moved;                    /* of a setting: see struct nw_cause */
	size_t host_at;                 /* of a setting, index in the evidence */
	uint64_t n_quiet;               /* of a setting: its earlier moves, on any host */
	double weight;                  /* as the cause */
	bool named;                     /* whether among the few that are told as the cause */
	bool beyond;                    /* named, or a metric beyond chance */
	bool limits; /* whether a metric is about the limiting stage of our session */
	char *sentence;
	struct claims told; /* the sentence's */
};

/* Sessions in time order, from `split` on after the change. The last session is ours. */
struct changed_ask {
	const struct past_session *session;
	size_t n, split;
	size_t low, high;                /* bounds of the first session after the change */
	const struct evidence *evidence; /* its hosts */
	const json_t *own;               /* result document of our session so far */
	struct analysis_memo *memo;      /* NULL: none */
};

struct changed {
	bool asked;
	size_t n_before, n_after;
	size_t n_settings, n_metrics;
	size_t n_survived;             /* moments of changes outside of the interval */
	size_t n_named;                /* differences told as the cause */
	double unexplained;            /* weight of no recorded change */
	struct difference *difference; /* first the one most worth a look */
	size_t n;
	char *sentence;
	struct claims told; /* the sentence's */
};

/* The store's code, or NW_ENOMEM. */
int changed_find(struct store_reader *r, const struct changed_ask *ask, struct changed *out);
void changed_clear(struct changed *c);

/* Each adds what differs, and sets the number of what was compared. */
int changed_settings(struct store_reader *r, const struct changed_ask *ask, struct changed *out);
int changed_metrics(struct store_reader *r, const struct changed_ask *ask, struct changed *out);
/* What other routes over the two hosts vouch for; the store's code. */
int changed_reach(struct store_reader *r, const struct changed_ask *ask, struct nw_reach *out);
/* The end of the route that the host is. */
enum nw_cause_place changed_place(const struct changed_ask *ask, const char *host);
/* Largest q of a metric beyond chance. */
double changed_q_metrics(const struct changed *c);
struct difference *changed_add(struct changed *c, enum difference_kind kind);

#endif
