/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock record of a host: offset and bound over time, from the series of the store. */
#include "web/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/plot.h"

#define RECORD_NS (30 * INT64_C(86400000000000)) /* the longest time that a record shows */

enum { STEPS = 240, OFFSET = 0, BOUND, LOST, FIELDS };

/* A series of the store that tells of a host's clock. */
struct source {
	const char *event_type;
	const char *id, *title; /* of the figure */
	const char *against;    /* the clock that the offset is counted from */
	bool apart;             /* the bound is of the offset alone, and does not cover it */
};

static const struct source sources[] = {
	{ "nw:clock", "clock", "Clock against the box", "the box's clock", true },
	{ "ps:tools:blipp:linux:clock", "clock-service", "Clock by the host's time service",
	    "the time service", false },
};

struct record {
	struct store_reader *r;
	const char *event_type;
	int64_t from_wall_ns, to_wall_ns, step_ns;
	uint32_t field[2]; /* of the layout that is read */
	/* sums of the offsets and their number, and largest bounds; afterwards means, NaN where
	 * nothing is */
	double n[STEPS], offset[STEPS], bound[STEPS], x[STEPS];
	size_t n_steps, n_apart; /* steps with values; steps whose offset is beyond the bound */
	double lowest, highest, worst;
};

static int
on_buckets(void *arg, const struct store_bucket_block *b)
{
	struct record *c = arg;
	const uint32_t o = c->field[OFFSET], w = c->field[BOUND];
	size_t i;
	int64_t at;

	for (i = 0; i < b->n_buckets; i++) {
		at = (b->t_wall_ns[i] - c->from_wall_ns) / c->step_ns;
		if (at < 0 || at >= STEPS || !(b->n[o][i] > 0) || !(b->max[w][i] >= 0) ||
		    !isfinite(b->sum[o][i]))
			continue;
		c->n[at] += b->n[o][i];
		c->offset[at] += b->sum[o][i];
		c->bound[at] = fmax(c->bound[at], b->max[w][i]);
		c->lowest = fmin(c->lowest, b->min[o][i]);
		c->highest = fmax(c->highest, b->max[o][i]);
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct record *c = arg;
	uint32_t i;

	c->field[OFFSET] = c->field[BOUND] = UINT32_MAX;
	for (i = 0; i < l->n_fields; i++) {
		if (strcmp(l->fields[i], "offset_s") == 0)
			c->field[OFFSET] = i;
		if (strcmp(l->fields[i], "bound_s") == 0)
			c->field[BOUND] = i;
	}
	if (c->field[OFFSET] == UINT32_MAX || c->field[BOUND] == UINT32_MAX)
		return 0;
	return store_buckets(
	    c->r, l->id, c->field, 2, c->from_wall_ns, c->to_wall_ns, c->step_ns, on_buckets, c);
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	struct record *c = arg;

	return strcmp(m->event_type, c->event_type) == 0 ? store_layouts(c->r, m->id, on_layout, c)
							 : 0;
}

/* Closes the gaps: only steps with values stay, hours since the first of them. */
static void
record_finish(struct record *c)
{
	size_t i, k = 0, first = 0;

	for (i = 0; i < STEPS; i++) {
		if (!(c->n[i] > 0))
			continue;
		if (k == 0)
			first = i;
		c->offset[k] = c->offset[i] / c->n[i];
		c->bound[k] = c->bound[i];
		c->x[k] = (double)(i - first) * (double)c->step_ns / 3600e9;
		c->worst = fmax(c->worst, c->bound[k]);
		c->n_apart += fabs(c->offset[k]) > c->bound[k];
		k++;
	}
	c->n_steps = k;
	c->from_wall_ns += (int64_t)first * c->step_ns;
}

static int
record_read(struct record *c, const struct nw_host_rec *host, const struct source *s)
{
	int64_t from = host->first_seen_wall_ns, to = host->last_seen_wall_ns;
	int rc;

	if (to < from || to > INT64_MAX - 2 * RECORD_NS || from < 0)
		return NW_OK;
	if (to - from > RECORD_NS)
		from = to - RECORD_NS;
	c->step_ns = (to - from) / STEPS + INT64_C(1000000000);
	c->from_wall_ns = from;
	c->to_wall_ns = from + STEPS * c->step_ns;
	c->event_type = s->event_type;
	c->lowest = INFINITY;
	c->highest = -INFINITY;
	rc = store_metas(c->r, 0, host->id, s->event_type, on_meta, c);
	record_finish(c);
	return rc;
}

static void
record_sentence(char *text, size_t size, const struct record *c, const struct source *s)
{
	char from[80], to[80];

	snprintf(from, sizeof(from), "%s", fmt_si(c->lowest, "s").s);
	snprintf(to, sizeof(to), "%s", fmt_si(c->highest, "s").s);
	snprintf(text, size,
	    "In the hours since %s, the clock was %s to %s ahead of %s (less than 0: behind), "
	    "known within %s at worst.",
	    page_local(c->from_wall_ns).s, from, to, s->against, fmt_si(c->worst, "s").s);
}

/* Whether the clocks differ, and not only the knowledge of them: bounds that cover the offset say
 * nothing. */
static void
record_judge(struct html *h, const struct record *c)
{
	html_raw(h, "<p>");
	if (c->n_apart == 0)
		html_raw(
		    h, "No offset was larger than its bound: the clocks may have been the same.");
	else {
		html_raw(h, "The offset was larger than its bound in ");
		html_int(h, (int64_t)c->n_apart);
		html_raw(h, " of ");
		html_int(h, (int64_t)c->n_steps);
		html_raw(h, " steps: there the clocks were apart.");
	}
	html_raw(h, "</p>");
}

static void
record_write(struct html *h, const struct record *c, const struct source *s)
{
	char sentence[400];
	const struct plot_line lines[] = {
		{ "offset", c->offset, 0, true },
		{ "bound", c->bound, 1, false },
	};
	const struct plot p = { .id = s->id,
		.title = s->title,
		.unit = PLOT_SECONDS,
		.sentence = sentence,
		.n = c->n_steps,
		.x = c->x,
		.across = PLOT_VALUE,
		.across_words = "Hours since the first",
		.lines = lines,
		.n_lines = sizeof(lines) / sizeof(lines[0]) };

	record_sentence(sentence, sizeof(sentence), c, s);
	plot_write(h, &p);
	if (s->apart)
		record_judge(h, c);
}

int
host_clock(struct html *h, struct store_reader *r, const struct nw_host_rec *host)
{
	struct record *c = malloc(sizeof(*c));
	size_t i, n = 0;
	int rc = c != NULL ? NW_OK : NW_ENOMEM;

	html_raw(h, "<section><h2>Clock</h2>");
	for (i = 0; i < sizeof(sources) / sizeof(sources[0]) && rc == NW_OK; i++) {
		*c = (struct record){ .r = r };
		rc = record_read(c, host, &sources[i]);
		if (c->n_steps == 0)
			continue;
		if (n++ == 0)
			plot_write_markers(h);
		record_write(h, c, &sources[i]);
	}
	if (n == 0)
		html_raw(h,
		    "<p>There is no record: no collector of this host exchanged clocks with the "
		    "box.</p>");
	html_raw(h, "</section>");
	free(c);
	return rc;
}
