/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/natural.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/splitmix.h"

/* Standard deviation of hosts, in log rates, that the spread of few hosts is never taken to be
 * below. */
static const double SPREAD_MIN = 0.01;

struct fleet {
	size_t n_hosts, n_days;
	double *step; /* of each host and day: mean after minus mean before; NaN: too few days */
	size_t who[NW_NATURAL_HOSTS_MAX]; /* the host whose outcome a host has */
};

/* --- a host --- */

static double
mean_of(const double *y, size_t from, size_t to)
{
	double sum = 0;
	size_t i, n = 0;

	for (i = from; i < to; i++)
		if (!isnan(y[i])) {
			sum += y[i];
			n++;
		}
	return n >= NW_NATURAL_DAYS_MIN ? sum / (double)n : NAN;
}

/* The day of the change itself is on neither side. */
static void
steps_fill(struct fleet *f, const double *y)
{
	size_t h, d, from, to;

	for (h = 0; h < f->n_hosts; h++, y += f->n_days)
		for (d = 0; d < f->n_days; d++) {
			from = d > NW_NATURAL_WINDOW ? d - NW_NATURAL_WINDOW : 0;
			to = d + 1 + NW_NATURAL_WINDOW;
			to = to < f->n_days ? to : f->n_days;
			f->step[h * f->n_days + d] = mean_of(y, d + 1, to) - mean_of(y, from, d);
		}
}

static double
step_of(const struct fleet *f, size_t host, int day)
{
	return f->step[f->who[host] * f->n_days + (size_t)day];
}

/* --- a setting --- */

/* Differences of hosts against hosts that kept the setting, on the same days. */
struct comparison {
	double changed[NW_NATURAL_HOSTS_MAX], kept[NW_NATURAL_HOSTS_MAX];
	size_t n_changed, n_kept, n_of_kept[NW_NATURAL_HOSTS_MAX];
};

/* The mean step of the hosts that kept the setting, over a day; NaN: too few. */
static double
kept_mean(const struct fleet *f, const int *day, int at)
{
	double sum = 0, v;
	size_t h, n = 0;

	for (h = 0; h < f->n_hosts; h++)
		if (day[h] == NW_NATURAL_KEPT && !isnan(v = step_of(f, h, at))) {
			sum += v;
			n++;
		}
	return n >= NW_NATURAL_HOSTS_MIN ? sum / (double)n : NAN;
}

static void
compare(const struct fleet *f, const int *day, struct comparison *c)
{
	size_t h, k, n;
	double own, mean, v;

	*c = (struct comparison){ .n_changed = 0 };
	for (h = 0; h < f->n_hosts; h++) {
		if (day[h] < 0 || isnan(own = step_of(f, h, day[h])) ||
		    isnan(mean = kept_mean(f, day, day[h])))
			continue;
		c->changed[c->n_changed++] = own - mean;
		for (k = 0; k < f->n_hosts; k++)
			if (day[k] == NW_NATURAL_KEPT && !isnan(v = step_of(f, k, day[h]))) {
				c->kept[k] += v - mean;
				c->n_of_kept[k]++;
			}
	}
	for (k = n = 0; k < f->n_hosts; k++)
		if (c->n_of_kept[k] > 0)
			c->kept[n++] = c->kept[k] / (double)c->n_of_kept[k];
	c->n_kept = n;
}

/* Student's statistic of the hosts with the change against the others; *mean is the effect. */
static double
statistic(const struct comparison *c, double *mean)
{
	const double n = (double)c->n_changed, m = (double)c->n_kept;
	double sum = 0, square = 0, spread;
	size_t i;

	*mean = NAN;
	if (c->n_changed < NW_NATURAL_HOSTS_MIN || c->n_kept < NW_NATURAL_HOSTS_MIN)
		return 0;
	for (i = 0; i < c->n_changed; i++)
		sum += c->changed[i];
	*mean = sum / n;
	for (i = 0; i < c->n_changed; i++)
		square += (c->changed[i] - *mean) * (c->changed[i] - *mean);
	for (i = 0; i < c->n_kept; i++)
		square += c->kept[i] * c->kept[i];
	spread = sqrt(square / (n + m - 2) + SPREAD_MIN * SPREAD_MIN);
	return *mean / (spread * sqrt(1 / n + 1 / m));
}

static struct nw_natural_side
side_of(const double *v, size_t n)
{
	struct nw_natural_side s = { .n = n };
	size_t i;

	for (i = 0; i < n; i++) {
		s.n_fell += v[i] <= -log(NW_NATURAL_EFFECT);
		s.n_rose += v[i] >= log(NW_NATURAL_EFFECT);
	}
	return s;
}

/* --- all settings --- */

static void
hosts_permute(struct fleet *f, uint64_t *seed)
{
	size_t i, k, swap;

	for (i = f->n_hosts; i-- > 1;) {
		k = (size_t)(nw_splitmix(seed) % (i + 1));
		swap = f->who[i];
		f->who[i] = f->who[k];
		f->who[k] = swap;
	}
}

static double
farthest(const struct fleet *f, const struct nw_natural_setting *setting, size_t n)
{
	struct comparison c;
	double most = 0, mean;
	size_t i;

	for (i = 0; i < n; i++) {
		if (isnan(setting[i].effect))
			continue;
		compare(f, setting[i].day, &c);
		most = fmax(most, fabs(statistic(&c, &mean)));
	}
	return most;
}

static void
measure(const struct fleet *f, struct nw_natural_setting *setting, size_t n, double *own)
{
	struct comparison c;
	size_t i;

	for (i = 0; i < n; i++) {
		compare(f, setting[i].day, &c);
		own[i] = fabs(statistic(&c, &setting[i].effect));
		setting[i].changed = side_of(c.changed, c.n_changed);
		setting[i].kept = side_of(c.kept, c.n_kept);
		setting[i].p = 1;
		setting[i].told = false;
	}
}

static void
chances_fill(struct fleet *f, struct nw_natural_setting *setting, size_t n, const double *own,
    size_t n_permutations, uint64_t seed)
{
	double most;
	size_t i, k;

	for (i = 0; i < n; i++)
		setting[i].p = isnan(setting[i].effect) ? (double)n_permutations + 1 : 1;
	for (k = 0; k < n_permutations; k++) {
		hosts_permute(f, &seed);
		most = farthest(f, setting, n);
		for (i = 0; i < n; i++)
			setting[i].p += !isnan(setting[i].effect) && most >= own[i];
	}
	for (i = 0; i < n; i++) {
		setting[i].p /= (double)n_permutations + 1;
		setting[i].told = setting[i].p <= NW_NATURAL_P &&
		    fabs(setting[i].effect) >= log(NW_NATURAL_EFFECT);
	}
}

int
nw_natural(const double *y, size_t n_hosts, size_t n_days, struct nw_natural_setting *setting,
    size_t n_settings, size_t n_permutations, uint64_t seed)
{
	struct fleet f = { .n_hosts = n_hosts, .n_days = n_days };
	double *own;
	size_t h;
	int rc = NW_ENOMEM;

	if (n_hosts > NW_NATURAL_HOSTS_MAX)
		return NW_EINVAL;
	for (h = 0; h < n_hosts; h++)
		f.who[h] = h;
	f.step = calloc(n_hosts * n_days + 1, sizeof(*f.step));
	own = calloc(n_settings + 1, sizeof(*own));
	if (f.step != NULL && own != NULL) {
		steps_fill(&f, y);
		measure(&f, setting, n_settings, own);
		chances_fill(&f, setting, n_settings, own, n_permutations, seed);
		rc = NW_OK;
	}
	free(own);
	free(f.step);
	return rc;
}
