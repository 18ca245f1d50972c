/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analysis of a session: everything found out from a snapshot of the store. The result document
 * (resultdoc.h) is made of an analysis.
 */
#ifndef NARROWS_ANALYSIS_H
#define NARROWS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/order.h"
#include "narrows/store.h"

struct judge_params {
	double alpha;
	double margin; /* relative difference up to which two stages count as equal */
};

struct segments_params {
	double alpha, margin;
	size_t windows_min; /* shortest segment */
};

struct classes_params {
	double adjust;   /* factor on the bandwidth */
	double peak_min; /* least share of the operations, or of their time, that makes a class */
	double cutoff;   /* outliers lie where the curve is below this share of its last peak */
};

struct reduction_params {
	int64_t window_ns;
	size_t rows_min;
	bool operation_time; /* response is the time of operations, not the delivered rate */
	bool faithful;       /* method as published, not as it holds on data not yet seen */
	const char *series;  /* of reductions over days: "EVENT_TYPE FIELD", or NULL for the rate */
	int64_t history_ns;  /* of reductions over days */
};

/* Which owners may speak for others. list makes a text for may, and the caller frees the text.
 * NULL: files that an operator imported alone. Called from the analysis thread. */
struct analysis_speakers {
	char *(*list)(void *arg);
	bool (*may)(const char *list, const char *owner, const char *kind, const char *name);
	void *arg;
};

/* What analyses on one thread keep for later analyses, so that a busy route's documents are not
 * unpacked for each session. The results are the same without the memo. */
struct analysis_memo;
struct analysis_memo *analysis_memo_new(void); /* ends the process without memory */
void analysis_memo_free(struct analysis_memo *m);

struct analysis_params {
	struct judge_params judge;
	struct segments_params segments;
	struct classes_params classes;
	struct reduction_params reduction;
	struct analysis_speakers speakers;
	struct analysis_memo *memo; /* the caller's; NULL: nothing is kept */
};

/* The measurements that would tell more of a session that is over: stages to be repeated alone,
 * one after the other, each on a host. */
enum { NW_QUESTION_MAX = 4 };
struct nw_question {
	struct {
		char host[NW_ORDER_TEXT_BYTES];
		struct nw_replay replay;
	} ask[NW_QUESTION_MAX];
	size_t n; /* 0: no measurement would help, or all are there */
	bool one; /* the first answer is enough */
	/* of a session too short for any replay: how long the bytes pass that replays may cost, in
	 * seconds; else 0 */
	double short_s;
};

/* The outcome in short, for lists. All texts are on loan from the analysis. */
struct analysis_outcome {
	const char *route;
	const char *program;    /* NULL if unknown */
	const char *stage;      /* "disk.read", ...; NULL for "cannot tell" */
	const char *confidence; /* "high", "medium", "low", "none" */
	const char *sentence;
	bool is_final;      /* the session is over */
	double effect;      /* NaN if unknown */
	double usual;       /* usual rate of the route over this rate; NaN: too few sessions */
	const char *label;  /* user's name for the session, or NULL */
	double exit_status; /* NaN if unknown */
	double bytes, bytes_per_s, duration_s;
	int64_t start_wall_ns;
	const struct nw_question *question;
};

struct analysis;

/* NW_ENOTFOUND, NW_ENOMEM or what the store says; free the analysis with analysis_free(). */
int analysis_new(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis **out);
void analysis_free(struct analysis *a);
void analysis_outcome(const struct analysis *a, struct analysis_outcome *out);

/*
 * Hands over the newest `limit` closed sessions of whose path the test, with an id in the store, is
 * the nearest of the kind within an hour: an analysis of such a session has the test as a witness.
 * fn returns 0 to go on. The owner is on loan. The store's code.
 */
typedef int analysis_session_fn(void *arg, int64_t session_id, const char *owner);
int analysis_sessions_of_test(struct store_reader *r, const struct nw_active_test *test,
    size_t limit, analysis_session_fn *fn, void *arg);

#endif
