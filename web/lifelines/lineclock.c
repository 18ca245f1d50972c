/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/lifelines/lineclock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/format.h"

enum { TOLD_MAX = 3 };

static void
times_shift(struct lineset *s, const uint16_t *host, const struct nw_line_wrong *w)
{
	struct lineset_clock *c = &s->clock[w->host];
	size_t i;

	for (i = 0; i < s->lines.n * s->lines.n_points; i++)
		if (s->t[i] != NW_LINE_NEVER && host[i] == w->host &&
		    __builtin_sub_overflow(
			s->t[i], llround(nw_line_wrong_lead(w, s->t[i]) * 1e9), &s->t[i]))
			s->t[i] = INT64_MAX;
	c->drift_from_ns = w->from_ns + c->lead_ns;
	c->drift = w->rate;
	c->lead_ns += llround(w->lead_s * 1e9);
	c->bound_s = s->bound[w->host] = w->error_s;
}

int64_t
lineclock_lead_ns(const struct lineset_clock *c, int64_t t_wall_ns)
{
	return c->lead_ns + llround(c->drift * ((double)t_wall_ns - (double)c->drift_from_ns));
}

int
lineclock_settle(struct lineset *s, const uint16_t *host, bool raw)
{
	struct nw_line_clock *c = calloc(s->hosts.n + 1, sizeof(*c));
	int rc = NW_OK;
	size_t i;

	s->wrong = calloc(s->hosts.n + 1, sizeof(*s->wrong));
	if (c == NULL || s->wrong == NULL) {
		free(c);
		return NW_ENOMEM;
	}
	if (s->lines.n_points > 0 && s->path_source != LINESET_LEARNED) {
		nw_lines_clocks(&s->lines, c);
		rc = nw_lines_wrong(&s->lines, c, s->wrong, &s->n_wrong);
	}
	for (i = 0; i < s->n_wrong && !raw; i++)
		if (isfinite(s->wrong[i].high_s) && s->wrong[i].moved_s == 0) {
			times_shift(s, host, &s->wrong[i]);
			s->n_shifted++;
		}
	free(c);
	return rc;
}

/* An interval of a lead in words: "2 ms to 3 ms behind", "1 ms behind to 2 ms ahead of". */
static void
lead_tell(double low_s, double high_s, const char *ahead, char *out, size_t size)
{
	bool behind = high_s < 0;
	double least = fmin(fabs(low_s), fabs(high_s)), most = fmax(fabs(low_s), fabs(high_s));

	if (low_s < 0 && high_s > 0)
		snprintf(out, size, "%s behind to %s %s", fmt_duration(-low_s).s,
		    fmt_duration(high_s).s, ahead);
	else
		snprintf(out, size, "%s%s%s%s %s", isfinite(most) ? "" : "at least ",
		    fmt_duration(least).s, isfinite(most) ? " to " : "",
		    isfinite(most) ? fmt_duration(most).s : "", behind ? "behind" : ahead);
}

static int
one_tell(const struct lineset *s, const struct nw_line_wrong *w, char *out, size_t size)
{
	const char *host = s->hosts.text[w->host],
		   *against =
		       w->against != NW_LINE_ANY ? s->hosts.text[w->against] : "all other hosts";
	char first[120], last[120];

	if (w->moved_s > 0)
		return snprintf(out, size,
		    "The clock of %.80s moved against that of %.80s, by %s or more, and not at a "
		    "steady rate. ",
		    host, against, fmt_duration(w->moved_s).s);
	if (w->rate != 0) {
		lead_tell(w->low_s, w->high_s, "ahead", first, sizeof(first));
		lead_tell(w->end_low_s, w->end_high_s, "ahead", last, sizeof(last));
		return snprintf(out, size,
		    "The clock of %.80s %s %s to %s ppm against that of %.80s: first %s, last "
		    "%s. ",
		    host, w->rate > 0 ? "gains" : "loses",
		    fmt_ratio(1e6 * fmin(fabs(w->rate_low), fabs(w->rate_high))).s,
		    fmt_ratio(1e6 * fmax(fabs(w->rate_low), fabs(w->rate_high))).s, against, first,
		    last);
	}
	lead_tell(w->low_s, w->high_s, "ahead of", first, sizeof(first));
	return snprintf(
	    out, size, "The clock of %.80s is %s that of %.80s. ", host, first, against);
}

size_t
lineclock_words(const struct lineset *s, char *out, size_t size)
{
	size_t i, len = 0;

	out[0] = '\0';
	for (i = 0; i < s->n_wrong && i < TOLD_MAX && len < size; i++)
		len += (size_t)one_tell(s, &s->wrong[i], out + len, size - len);
	if (s->n_wrong > TOLD_MAX && len < size)
		len += (size_t)snprintf(
		    out + len, size - len, "So are %zu more clocks. ", s->n_wrong - TOLD_MAX);
	if (s->n_wrong > 0 && len < size)
		len += (size_t)snprintf(out + len, size - len,
		    "Nothing arrives before its sending, so the lines prove that. %s",
		    s->n_shifted > 0 ? "With the middle taken off: " : "");
	return len < size ? len : size - 1;
}

/* Of a host's clock against the clock where lines end. */
static double
host_doubt(const struct lineset *s, uint32_t host, bool *proven)
{
	const struct nw_line_clock *c = &s->clock[host].causal;
	double by_lines = fmax(fabs(c->low_s), fabs(c->high_s));
	size_t i;

	if (c->n == 0 && !isfinite(c->low_s) && !isfinite(c->high_s))
		return isfinite(s->bound[host]) ? s->bound[host] : 0; /* where lines end */
	for (i = 0; i < s->n_wrong; i++)
		if (s->wrong[i].host == host) {
			*proven = true;
			return by_lines;
		}
	return fmin(isfinite(s->bound[host]) ? s->bound[host] : INFINITY, by_lines);
}

double
lineclock_doubt(const struct lineset *s, uint32_t lane, unsigned from, unsigned to, bool *proven)
{
	const uint32_t *host = s->lane_host + (size_t)lane * s->lines.n_points;

	*proven = false;
	return host[from] == host[to]
	    ? 0
	    : host_doubt(s, host[from], proven) + host_doubt(s, host[to], proven);
}
