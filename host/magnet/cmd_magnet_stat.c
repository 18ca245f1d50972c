/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet stat: statistics that the kernel keeps itself, per point and flow, once per interval. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"
#include "host/magnet/selection.h"
#include "narrows/clock.h"

struct table {
	bool csv;
	int64_t t_wall_ns;
	uint64_t rows;
};

static const char *
key_name(uint32_t point)
{
	const struct point *p = point_of(point);
	const struct wait_name *w;

	for (w = wait_names; w->name != NULL; w++)
		if (w->id == point)
			return w->name;
	return p != NULL ? p->name : "?";
}

/* Value below which a share of the events lies: the middle of the bucket where the count gets
 * there. */
static double
quantile(const struct magnet_stat *s, double share)
{
	uint64_t want = (uint64_t)ceil(share * (double)s->n), seen = 0;
	double low, step;
	uint32_t b;

	for (b = 0; b < MAGNET_STAT_BUCKETS; b++)
		if ((seen += s->hist[b]) >= want && seen > 0)
			break;
	if (b < MAGNET_STAT_SUB)
		return b;
	step = ldexp(1, (int)(b / MAGNET_STAT_SUB) - 1);
	low = step * (MAGNET_STAT_SUB + b % MAGNET_STAT_SUB);
	return fmin(fmax(low + step / 2, (double)s->min), (double)s->max);
}

static void
row_print(void *arg, const struct magnet_stat_key *key, const struct magnet_stat *s)
{
	struct table *t = arg;
	double n = (double)s->n, mean = (double)s->sum / n;
	double squares = ldexp((double)s->squares_hi, 64) + (double)s->squares_lo;
	double var = n > 1 ? (squares - n * mean * mean) / (n - 1) : 0;

	t->rows++;
	if (t->csv)
		printf("%" PRId64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		       ",%.17g,%.17g,%.6g,%.6g,%.6g\n",
		    t->t_wall_ns, key_name(key->point), key->id, s->n, s->sum, s->min, s->max, mean,
		    sqrt(fmax(var, 0)), quantile(s, 0.5), quantile(s, 0.9), quantile(s, 0.99));
	else
		printf("%-15s %12" PRIu64 " %10" PRIu64 " %12.5g %12.5g %10" PRIu64
		       " %10.4g %10.4g "
		       "%12" PRIu64 "\n",
		    key_name(key->point), key->id, s->n, mean, sqrt(fmax(var, 0)), s->min,
		    quantile(s, 0.5), quantile(s, 0.99), s->max);
}

static void
own_cost_print(struct kernel *k)
{
	uint64_t ns, runs, missed;

	kernel_own_cost_get(k, &ns, &runs, &missed);
	fprintf(stderr,
	    "magnet: programs ran %" PRIu64 " times, %.0f ns each, %" PRIu64
	    " missed by recursion\n",
	    runs, runs > 0 ? (double)ns / (double)runs : 0, missed);
}

static void
intervals_show(struct kernel *k, struct table *t, double interval_s, long count)
{
	long i;

	if (t->csv)
		puts("t_ns,point,id,n,sum,min,max,mean,sd,p50,p90,p99");
	fflush(stdout); /* tells a reader of the begin */
	for (i = 0; !stop_wanted && (count == 0 || i < count); i++) {
		usleep((useconds_t)(interval_s * 1e6));
		t->t_wall_ns = nw_wall_ns();
		if (!t->csv)
			printf("%-15s %12s %10s %12s %12s %10s %10s %10s %12s\n", "point", "id",
			    "n", "mean", "sd", "min", "p50", "p99", "max");
		kernel_stats_take(k, row_print, t);
		fflush(stdout);
	}
}

static int
stat_run(int argc, char **argv)
{
	char why[KERNEL_WHY_BYTES] = "";
	struct table t = { 0 };
	struct kernel *k = kernel_or_fail();
	double interval_s = 1, count = 0;
	bool waits = false, cost = false, flows = false;
	int o, rc = 0;

	if (k == NULL)
		return 1;
	while (rc == 0 && (o = getopt(argc, argv, "a:p:f:s:e:i:n:clCF")) != -1)
		switch (o) {
		case 'i':
			rc = (interval_s = number_of(optarg, 0.01, 3600, "-i")) < 0 ? -1 : 0;
			break;
		case 'n': rc = (count = number_of(optarg, 1, 1e9, "-n")) < 0 ? -1 : 0; break;
		case 'c': t.csv = true; break;
		case 'l': waits = true; break;
		case 'C': cost = true; break;
		case 'F': flows = true; break;
		case '?': rc = -1; break;
		default:
			if ((rc = selection_option(k, o, optarg, why)) < 0)
				fail("%s", why);
		}
	if (rc < 0 || optind < argc || (!waits && selection_points_on(k) == 0)) {
		kernel_close(k);
		return usage(&magnet_cmd_stat);
	}
	if (waits && (rc = kernel_waits_attach(k)) < 0)
		fail("%s", kernel_why(k));
	else if (waits && kernel_why(k)[0] != '\0')
		fail("not every wait is measured: %s", kernel_why(k));
	kernel_control(k)->latency = waits ? MAGNET_WAITS_ALL : 0;
	kernel_control(k)->statistics = flows ? 2 : 1;
	if (cost && kernel_own_cost(k, true) < 0)
		fail("the kernel does not report the run time of programs");
	if (rc == 0)
		intervals_show(k, &t, interval_s, (long)count);
	if (cost)
		own_cost_print(k);
	kernel_close(k);
	return rc != 0;
}

const struct command magnet_cmd_stat = { "stat",
	"stat [-p POINTS] [-a \"NAME PLACE [FIELD ...]\"] [-l] [-F] [-f KIND=VALUE] [-s N] [-e MS] "
	"[-i SECONDS] [-n COUNT] [-c] "
	"[-C]",
	"shows statistics that the kernel keeps, per point (-F: and flow), and waiting times (-l)",
	stat_run };
