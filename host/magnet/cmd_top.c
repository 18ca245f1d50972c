/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet top: the identities that cause most, every interval, by the kernel's statistics. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"
#include "host/magnet/selection.h"
#include "narrows/format.h"
#include "narrows/terminal.h"

enum { ROWS_MAX = 1024, ROWS_SHOWN = 20 };

struct row {
	struct magnet_stat_key key;
	uint64_t n, sum, max;
};

struct top {
	struct row rows[ROWS_MAX];
	size_t n, shown;
	double interval_s;
};

static void
row_take(void *arg, const struct magnet_stat_key *key, const struct magnet_stat *s)
{
	struct top *t = arg;

	if (t->n < ROWS_MAX)
		t->rows[t->n++] = (struct row){ *key, s->n, s->sum, s->max };
}

/* Most first: by the sum, then by the count. */
static int
row_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return x->n != y->n ? (x->n < y->n ? 1 : -1) : 0;
}

static void
show(struct top *t)
{
	const struct point *p;
	size_t i;

	qsort(t->rows, t->n, sizeof(t->rows[0]), row_order);
	if (isatty(STDOUT_FILENO))
		terminal_steer(stdout, "\033[H\033[2J");
	printf("%-16s %20s %12s %14s %10s\n", "point", "id", "events/s", "sum/s", "largest");
	for (i = 0; i < t->n && i < t->shown; i++) {
		p = point_of(t->rows[i].key.point);
		printf("%-16s %20" PRIu64 " %12.1f %14s %10" PRIu64 "\n",
		    p != NULL ? p->name : "user", t->rows[i].key.id,
		    (double)t->rows[i].n / t->interval_s,
		    fmt_bytes_per_s((double)t->rows[i].sum / t->interval_s).s, t->rows[i].max);
	}
	fflush(stdout);
}

static int
options_take(struct kernel *k, int argc, char **argv, struct top *t, double *count)
{
	char why[KERNEL_WHY_BYTES] = "";
	double v;
	int o;

	while ((o = getopt(argc, argv, "a:p:f:i:n:r:")) != -1)
		switch (o) {
		case 'i':
			if ((t->interval_s = number_of(optarg, 0.1, 3600, "-i")) < 0)
				return -1;
			break;
		case 'n':
			if ((*count = number_of(optarg, 1, 1e9, "-n")) < 0)
				return -1;
			break;
		case 'r':
			if ((v = number_of(optarg, 1, ROWS_MAX, "-r")) < 0)
				return -1;
			t->shown = (size_t)v;
			break;
		case '?': return -1;
		default:
			if (selection_option(k, o, optarg, why) < 0)
				return fail("%s", why), -1;
		}
	if (selection_points_on(k) == 0 && selection_option(k, 'p', "socket", why) < 0)
		return fail("%s", why), -1;
	return optind < argc ? -1 : 0;
}

static int
top_run(int argc, char **argv)
{
	static struct top t = { .shown = ROWS_SHOWN, .interval_s = 1 };
	struct kernel *k = kernel_or_fail();
	double count = 0, i;

	if (k == NULL)
		return 1;
	kernel_control(k)->statistics = 2; /* by identity */
	if (options_take(k, argc, argv, &t, &count) < 0) {
		kernel_close(k);
		return usage(&magnet_cmd_top);
	}
	for (i = 0; !stop_wanted && (count == 0 || i < count); i++) {
		usleep((useconds_t)(t.interval_s * 1e6));
		t.n = 0;
		kernel_stats_take(k, row_take, &t);
		show(&t);
	}
	kernel_close(k);
	return 0;
}

const struct command magnet_cmd_top = { "top",
	"top [-p POINTS] [-a \"NAME PLACE [FIELD ...]\"] [-f KIND=VALUE] [-i SECONDS] [-n COUNT] "
	"[-r ROWS]",
	"shows the flows and tasks with the most, every interval", top_run };
