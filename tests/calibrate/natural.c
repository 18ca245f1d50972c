/* SPDX-License-Identifier: BSD-3-Clause */
/* Natural experiments on fleets: silent where no setting does anything, whatever else happens to
 * hosts, routes and days; and a planted setting is told. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/natural.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

enum { HOSTS_MAX = 30, DAYS = 60, SETTINGS = 30, ROUTES_MAX = 90, PERMUTATIONS = 199 };

/* A kind of fleet. Every host is on some routes; a session counts for both of its hosts. */
struct kind {
	const char *name;
	size_t hosts, routes;
	bool hub;         /* every route ends at host 0 */
	double days;      /* standard deviation of a day of the whole fleet */
	double memory;    /* of the noise of a route from day to day */
	double incidents; /* share of the routes, and of the hosts, with an unrecorded slowdown */
	double seldom;    /* share of the days on which a route is silent */
	bool student;
};

static const struct kind kinds[] = {
	{ "mesh of 14 hosts", 14, 40, false, 0.05, 0, 0, 0.2, false },
	{ "mesh of 30 hosts", 30, 90, false, 0.05, 0, 0, 0.2, false },
	{ "hub of 14 hosts", 14, 13, true, 0.05, 0, 0, 0.2, false },
	{ "memory 0.7", 14, 40, false, 0.05, 0.7, 0, 0.2, false },
	{ "incidents of routes and hosts", 14, 40, false, 0.05, 0, 0.2, 0.2, false },
	{ "seldom", 14, 40, false, 0.05, 0, 0, 0.7, false },
	{ "long tails", 14, 40, false, 0.05, 0, 0, 0.2, true },
};

struct fleet {
	double y[HOSTS_MAX * DAYS], n[HOSTS_MAX * DAYS];
	int day[SETTINGS][HOSTS_MAX];
};

static size_t
up_to(size_t n)
{
	size_t i = (size_t)(noise_uniform() * (double)n);

	return i < n ? i : n - 1;
}

/* Settings come to a share of the hosts, at once or one host after the other. */
static void
settings_make(const struct kind *k, struct fleet *f)
{
	size_t s, h;

	for (s = 0; s < SETTINGS; s++) {
		const double share = 0.2 + 0.6 * noise_uniform();
		const int first = (int)(3 + up_to(DAYS - 12));
		const bool at_once = noise_uniform() < 0.5;

		for (h = 0; h < k->hosts; h++)
			f->day[s][h] = noise_uniform() >= share ? NW_NATURAL_KEPT
			    : at_once                           ? first
								: first + (int)up_to(8);
	}
}

static void
sessions_add(struct fleet *f, const double *route, size_t from, size_t to)
{
	double mean = 0, n = 0;
	size_t d;

	for (d = 0; d < DAYS; d++)
		if (!isnan(route[d])) {
			mean += route[d];
			n++;
		}
	mean /= fmax(1, n);
	for (d = 0; d < DAYS; d++)
		if (!isnan(route[d])) {
			f->y[from * DAYS + d] += route[d] - mean;
			f->n[from * DAYS + d]++;
			f->y[to * DAYS + d] += route[d] - mean;
			f->n[to * DAYS + d]++;
		}
}

/* A slowdown without a cause, on some days. */
static void
incident_add(double *y, double share)
{
	const size_t from = up_to(DAYS), to = from + up_to(30);
	const double by = 0.1 + 0.6 * noise_uniform();
	size_t d;

	for (d = from; noise_uniform() < share && d < to && d < DAYS; d++)
		y[d] -= by;
}

/* effect: of the first setting on the sessions of a host. */
static void
fleet_make(const struct kind *k, double effect, struct fleet *f)
{
	double host[HOSTS_MAX][DAYS] = { { 0 } }, day[DAYS], route[DAYS], state, noise;
	size_t r, h, d, from, to;

	for (h = 0; h < HOSTS_MAX * DAYS; h++)
		f->y[h] = f->n[h] = 0;
	settings_make(k, f);
	for (d = 0; d < DAYS; d++)
		day[d] = k->days * noise_normal();
	for (h = 0; h < k->hosts; h++) {
		incident_add(host[h], k->incidents);
		for (d = 0; d < DAYS; d++)
			host[h][d] += f->day[0][h] >= 0 && (int)d >= f->day[0][h] ? effect : 0;
	}
	for (r = 0; r < k->routes; r++) {
		from = k->hub ? 1 + r % (k->hosts - 1) : r % k->hosts;
		to = k->hub ? 0 : (from + 1 + up_to(k->hosts - 1)) % k->hosts;
		for (d = 0, state = noise_normal(); d < DAYS; d++) {
			noise = k->student ? noise_student(4) * M_SQRT1_2 : noise_normal();
			state = k->memory * state + sqrt(1 - k->memory * k->memory) * noise;
			route[d] = noise_uniform() < k->seldom
			    ? NAN
			    : 18 + day[d] + host[from][d] + host[to][d] + 0.08 * state;
		}
		incident_add(route, k->incidents);
		sessions_add(f, route, from, to);
	}
	for (h = 0; h < HOSTS_MAX * DAYS; h++)
		f->y[h] = f->n[h] > 0 ? f->y[h] / f->n[h] : NAN;
}

static void
fleet_ask(const struct kind *k, const struct fleet *f, struct nw_natural_setting *s)
{
	size_t i;

	for (i = 0; i < SETTINGS; i++)
		s[i] = (struct nw_natural_setting){ .day = f->day[i] };
	if (nw_natural(f->y, k->hosts, DAYS, s, SETTINGS, PERMUTATIONS, noise_bits()) != NW_OK)
		abort();
}

void
calibrate_natural(struct calibration *c)
{
	static struct fleet f;
	struct nw_natural_setting s[SETTINGS];
	size_t k, run, i, silent, found, runs = calibrate_runs(c, 5);
	char what[96];

	calibrate_title(c, "natural experiments of fleets, thirty settings looked at");
	for (k = 0; k < COUNT(kinds); k++) {
		for (silent = found = run = 0; run < runs; run++) {
			fleet_make(&kinds[k], 0, &f);
			fleet_ask(&kinds[k], &f, s);
			for (i = 0; i < SETTINGS && !s[i].told; i++)
				;
			silent += i == SETTINGS;
			fleet_make(&kinds[k], -0.2, &f);
			fleet_ask(&kinds[k], &f, s);
			found += s[0].told && s[0].effect < 0;
		}
		(void)snprintf(what, sizeof(what), "%s: silent without an effect", kinds[k].name);
		cell_at_least(c, what, silent, runs, 0.98);
		(void)snprintf(what, sizeof(what), "%s: an effect of 18 %% told", kinds[k].name);
		cell_at_least(c, what, found, runs, 0.3);
	}
}
