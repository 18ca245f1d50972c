/* SPDX-License-Identifier: BSD-3-Clause */
/* Caliper windows as NetLogger text, one line each, in the file NL_FILE every NL_INTERVAL
 * seconds. */
#include "host/lib/caliper_text.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/caliper.h"
#include "narrows/err.h"
#include "narrows/format.h"

#define S_PER_NS   1e-9
#define INTERVAL_S 1.0

enum { LINE_BYTES = 2048 };

/* --- one line --- */

/* The originals say -1 for the deviation of fewer than two numbers. */
static size_t
put_sum(char *out, size_t cap, const char *letter, const struct nw_caliper_sum *s, uint64_t n,
    double unit)
{
	double sd = n > 1 ? sqrt(s->m2 / (double)(n - 1)) * unit : -1;

	if (n == 0)
		return 0;
	return (size_t)snprintf(out, cap,
	    " %s.sum=%.9g %s.min=%.9g %s.max=%.9g %s.mean=%.9g %s.sd=%.9g", letter, s->sum * unit,
	    letter, s->min * unit, letter, s->max * unit, letter, s->mean * unit, letter, sd);
}

size_t
nw_caliper_text(
    char *out, size_t cap, const char *event, int64_t t_wall_ns, const struct nw_caliper_window *w)
{
	const struct {
		const char *letter;
		const struct nw_caliper_sum *sum;
		uint64_t n;
		double unit;
	} sums[] = { { "v", &w->v, w->n, 1 }, { "r", &w->r, w->n_rate, 1 },
		{ "g", &w->g, w->n_rate, 1 }, { "d", &w->d, w->n, S_PER_NS } };
	size_t len, i;

	len = (size_t)snprintf(out, cap, "ts=%s event=%s", fmt_iso(t_wall_ns, 6).s, event);

	for (i = 0; i < sizeof(sums) / sizeof(sums[0]) && len < cap; i++)
		len += put_sum(
		    out + len, cap - len, sums[i].letter, sums[i].sum, sums[i].n, sums[i].unit);
	if (len < cap)
		len += (size_t)snprintf(out + len, cap - len, " count=%llu dur=%.9f dur.i=%.9f\n",
		    (unsigned long long)w->n,
		    w->n > 0 ? (double)(w->last_end_mono_ns - w->first_begin_mono_ns) * S_PER_NS
			     : 0,
		    w->n > 0 ? w->d.sum * S_PER_NS : 0);
	return len < cap ? len : 0;
}

/* --- the file --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int log_fd = -1;
static int64_t log_interval_ns;

static void
log_open(void)
{
	const char *path = secure_getenv("NL_FILE"), *interval = secure_getenv("NL_INTERVAL");
	double s = interval != NULL ? strtod(interval, NULL) : INTERVAL_S;

	log_interval_ns = (int64_t)((s >= 0.001 && s <= 86400 ? s : INTERVAL_S) * 1e9);
	if (path != NULL && path[0] != '\0')
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* A line goes in one write, so that lines of several threads and processes stay whole. */
static int
window_write(const char *event, const struct nw_caliper_window *w)
{
	char line[LINE_BYTES];
	size_t len = nw_caliper_text(line, sizeof(line), event, nw_wall_ns(), w);

	return len > 0 && write(log_fd, line, len) == (ssize_t)len ? NW_OK : NW_EIO;
}

/* The time since the last line, if there was anything: a program that ends sooner than a line is
 * due has its numbers, too. */
static void
log_end(struct nw_caliper *c)
{
	struct nw_caliper_window w;

	nw_caliper_take(c, nw_mono_ns(), &w);
	if (w.n > 0)
		(void)window_write(caliper_log_of(c)->event, &w);
}

static void
log_begin(struct caliper_log *log, const char *event, int64_t now_mono_ns)
{
	if (log->due_mono_ns == 0)
		log->due_mono_ns = now_mono_ns + log_interval_ns;
	log->said = event;
	log->end = log_end;
	snprintf(log->event, sizeof(log->event), "%s", event);
}

int
nw_caliper_log(struct nw_caliper *c, const char *event, int64_t now_mono_ns)
{
	struct caliper_log *log = caliper_log_of(c);
	struct nw_caliper_window w;

	pthread_once(&once, log_open);
	if (log_fd < 0)
		return NW_EAGAIN;
	if (log->said != event)
		log_begin(log, event, now_mono_ns);
	if (now_mono_ns < log->due_mono_ns)
		return NW_EAGAIN;
	log->due_mono_ns = now_mono_ns + log_interval_ns;
	nw_caliper_take(c, now_mono_ns, &w);
	return window_write(event, &w);
}
