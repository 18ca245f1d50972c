/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The diet that the box has ordered: series which are sent at a slower interval. The samples
 * between are taken and thrown away, unless every series of a probe is on the diet: then the probe
 * looks less often. Counters stay what they are, because each sample tells a total. Times are
 * arguments.
 */
#ifndef DIET_H
#define DIET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/series.h"

struct diet {              /* zero to start */
	char *text;        /* the names, as they came, newlines replaced */
	const char **name; /* n names in order, in text */
	bool *met;         /* n: a series has the name */
	size_t n, n_met;
	int64_t interval_ns, until_mono_ns;
	uint32_t number; /* changes with every list; 0: there was none yet */
	/* series of a round, and those of them on the diet; diet_round() sets both to 0 */
	size_t n_asked, n_lean;
	bool seldom; /* the round itself comes at the diet's interval: every sample is sent */
};

/* Takes the order; *changed: the list or the interval is another. NW_EPROTO with *why, NW_ENOMEM:
 * the diet stays as it was. */
int diet_take(struct diet *d, const uint8_t *doc, size_t len, int64_t now_mono_ns, bool *changed,
    const char **why);
/* Ends a diet whose lease is over; true if there was one. */
bool diet_expire(struct diet *d, int64_t now_mono_ns);
/* A round of a probe begins. */
static inline void
diet_round(struct diet *d, bool seldom)
{
	d->n_asked = d->n_lean = 0;
	d->seldom = seldom;
}
/* Whether every series since diet_round() is on the diet. */
static inline bool
diet_is_whole(const struct diet *d)
{
	return d->n_asked > 0 && d->n_lean == d->n_asked;
}
/* Whether the sample is not to be sent. The first sample in each interval since 1970 is. */
bool
diet_holds(struct diet *d, struct series *s, const struct series_kind *kind, int64_t t_wall_ns);
void diet_clear(struct diet *d);

#endif
