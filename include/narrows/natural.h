/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Natural experiments: a setting changed on some hosts of a fleet and not on others.
 *
 * The host is the unit. Of each host with the change: the mean of its days after the change minus
 * the mean of its days before, less the same difference, on the same days, of the hosts without the
 * change. The mean of these differences is told in standard errors of hosts, pooled.
 *
 * Which hosts have which outcome is permuted, for all settings together; the chance of a setting is
 * the share of permutations in which any setting is as far out (Westfall and Young 1993). So every
 * setting that was looked at counts, and a fleet without an effect is silent with 1 - NW_NATURAL_P.
 *
 * calibrate, table "natural", simulates fleets with and without an effect.
 */
#ifndef NARROWS_NATURAL_H
#define NARROWS_NATURAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NW_NATURAL_WINDOW = 14,   /* days on either side of a change */
	NW_NATURAL_DAYS_MIN = 2,  /* days with data that a side needs */
	NW_NATURAL_HOSTS_MIN = 3, /* hosts with, and hosts without the change */
	NW_NATURAL_HOSTS_MAX = 64,
	/* days of a setting's hosts: the host kept its value, or is left out */
	NW_NATURAL_KEPT = -1,
	NW_NATURAL_LEFT_OUT = -2,
};
/* Up to this chance, and from this effect on as a ratio of rates, an experiment is told. */
#define NW_NATURAL_P      0.02
#define NW_NATURAL_EFFECT 1.05

/* Hosts of one side. */
struct nw_natural_side {
	size_t n, n_fell, n_rose; /* by NW_NATURAL_EFFECT at least */
};

struct nw_natural_setting {
	const int *day; /* of each host: index of the day of its change, or as above; on loan */
	/* results */
	struct nw_natural_side changed, kept;
	double effect; /* of log rates; NaN: too few hosts or days */
	double p;      /* 1 without an effect */
	bool told;
};

/* Log rates of n_hosts by day, y[host * n_days + day], NaN without data. Fills the results; the
 * seed chooses the permutations. NW_ENOMEM; NW_EINVAL: more hosts than NW_NATURAL_HOSTS_MAX. */
int nw_natural(const double *y, size_t n_hosts, size_t n_days, struct nw_natural_setting *setting,
    size_t n_settings, size_t n_permutations, uint64_t seed);

#endif
