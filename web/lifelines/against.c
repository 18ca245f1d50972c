/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/lifelines/against.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/lifelines/linereport.h"

enum { LINES_MIN = 20 };
#define MATERIAL 0.2  /* of the median line of the other session */
#define NOISE_S  2e-3 /* or so much, if the median line is not shorter */
#define CERTAIN  3.0  /* a difference is so many half intervals away from 0 */

struct middle { /* of a segment's durations */
	size_t n;
	double median_s, half_s;
};

static int
middle_of(const struct lineset *s, unsigned from, unsigned to, struct middle *m)
{
	double *v = calloc(s->lines.n + 1, sizeof(*v)), step;

	if (v == NULL)
		return NW_ENOMEM;
	*m = (struct middle){ .n = nw_lines_durations(&s->lines, from, to, v, NULL) };
	if (m->n > 0) {
		step = 0.98 / sqrt((double)m->n);
		m->median_s = quantile(v, m->n, 0.5);
		m->half_s = (quantile(v, m->n, fmin(0.5 + step, 1)) -
				quantile(v, m->n, fmax(0.5 - step, 0))) /
		    2;
	}
	free(v);
	return NW_OK;
}

/* What is slower in a than in b between two points; 0: nothing that matters. */
static int
segment_compare(const struct lineset *a, const struct lineset *b, unsigned from, unsigned to,
    double material_s, struct against *out)
{
	unsigned b_from = linereport_point(b, lineset_point(a, from)),
		 b_to = linereport_point(b, lineset_point(a, to));
	struct middle x, y;
	double size, half;

	if (b_from >= b->lines.n_points || b_to >= b->lines.n_points || b_from >= b_to)
		return NW_OK;
	if (middle_of(a, from, to, &x) != NW_OK || middle_of(b, b_from, b_to, &y) != NW_OK)
		return NW_ENOMEM;
	size = x.median_s - y.median_s;
	half = hypot(x.half_s, y.half_s);
	if (x.n < LINES_MIN || y.n < LINES_MIN || size < material_s || size < CERTAIN * half ||
	    (out->found && out->to != from && size <= out->size_s))
		return NW_OK;
	out->found = true;
	out->from = from;
	out->to = to;
	out->size_s = size;
	out->low_s = size - half;
	out->high_s = size + half;
	return NW_OK;
}

static int
sets_compare(const struct lineset *a, const struct lineset *b, struct against *out)
{
	struct nw_line_segments *of_a = calloc(1, sizeof(*of_a)), *of_b = calloc(1, sizeof(*of_b));
	int rc = of_a != NULL && of_b != NULL ? NW_OK : NW_ENOMEM;
	double median;
	size_t i;

	if (rc == NW_OK && (rc = nw_lines_segments(&a->lines, of_a)) == NW_OK)
		rc = nw_lines_segments(&b->lines, of_b);
	for (i = 0; rc == NW_OK && i < of_a->n; i++) {
		median = of_b->total_s[NW_LINE_MEDIAN];
		rc = segment_compare(a, b, of_a->segment[i].from, of_a->segment[i].to,
		    fmax(MATERIAL * median, fmin(median, NOISE_S)), out);
	}
	free(of_a);
	free(of_b);
	return rc;
}

static void
say(const struct lineset *s, struct against *g)
{
	if (!g->found)
		snprintf(g->sentence, sizeof(g->sentence),
		    "No segment is slower than in session %lld.", (long long)g->session_id);
	else
		snprintf(g->sentence, sizeof(g->sentence),
		    "From %.80s to %.80s, lines take %s longer than in session %lld (%s to %s).",
		    lineset_point(s, g->from), lineset_point(s, g->to), fmt_duration(g->size_s).s,
		    (long long)g->session_id, fmt_duration(g->low_s).s, fmt_duration(g->high_s).s);
}

int
against_make(
    struct store_reader *r, const struct lineset *s, const struct choice *c, struct against *out)
{
	struct lineset_opts opts = choice_opts(c);
	struct lineset *other = NULL;
	int rc;

	*out = (struct against){ .session_id = c->against };
	if (c->against == 0)
		return NW_OK;
	if ((rc = lineset_load(r, c->against, &opts, &other)) != NW_OK)
		return rc;
	if (s->lines.n > 0 && other->lines.n > 0)
		rc = sets_compare(s, other, out);
	say(s, out);
	lineset_free(other);
	return rc;
}

json_t *
against_json(const struct lineset *s, const struct against *g)
{
	json_t *o;

	if (g->session_id == 0)
		return json_null();
	o = json_object();
	result_put_int(o, KEY_line_against_session, g->session_id);
	result_put_text(o, KEY_line_against_sentence, g->sentence);
	if (!g->found) {
		result_set(o, KEY_line_against_from, json_null());
		return o;
	}
	result_put_text(o, KEY_line_against_from, lineset_point(s, g->from));
	result_put_text(o, KEY_line_against_to, lineset_point(s, g->to));
	result_put_real(o, KEY_line_against_size_s, g->size_s);
	result_put_real(o, KEY_line_against_size_low_s, g->low_s);
	result_put_real(o, KEY_line_against_size_high_s, g->high_s);
	return o;
}
