/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments in words. */
#include "analyze/verdict/judge/segments.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/verdict/judge/judge.h"
#include "narrows/xmalloc.h"

#define HIDDEN_WORDS ", by waits outside its calls"

#define DRIFT_SAID 1.2 /* least ratio of the ends of a drift that is told */

enum { STORY_PARTS_MAX = 4, NS_PER_S = 1000000000 };

char *
segment_words(const struct evidence *e, const struct nw_path *p, const struct segment *s)
{
	char *stage, *words;

	if (!s->known)
		return xstrdup("cannot tell");
	stage = judge_stage_text(e, &p->stage[s->stage]);
	if (s->hidden == 0)
		return stage;
	words = xasprintf("%s%s", stage, HIDDEN_WORDS);
	free(stage);
	return words;
}

/* Time of day, with tenths where windows are shorter than a second. */
static char *
clock_text(const struct evidence *e, size_t window)
{
	int64_t t_wall_ns = e->t0_wall_ns + (int64_t)window * e->step_ns;
	time_t seconds = (time_t)(t_wall_ns / NS_PER_S);
	char day[16];
	struct tm tm;

	if (t_wall_ns <= 0 || gmtime_r(&seconds, &tm) == NULL)
		return xstrdup("?");
	strftime(day, sizeof(day), "%H:%M:%S", &tm);
	if (e->step_ns >= NS_PER_S)
		return xasprintf("%s UTC", day);
	return xasprintf("%s.%d UTC", day, (int)(t_wall_ns % NS_PER_S / (NS_PER_S / 10)));
}

/* The stage of a known segment, as text of the caller's, and the way in which it shows. */
static struct claim_value
place_of(const struct evidence *e, const struct nw_path *p, const struct segment *s, char **text)
{
	*text = judge_stage_text(e, &p->stage[s->stage]);
	return claim_text(*text);
}

static struct claim_value
how_of(const struct segment *s)
{
	return claim_text(s->hidden == 0 ? "" : HIDDEN_WORDS);
}

static void
story_part(const struct evidence *e, const struct nw_path *p, const struct segment *before,
    const struct segment *now, struct claims *out)
{
	char *when = clock_text(e, now->first), *was, *is;
	struct claim_value from = place_of(e, p, before, &was), to = place_of(e, p, now, &is);

	if (out->n == 0)
		CLAIM_SAY(out, story_first, before->stage, claim_text(when), from, how_of(before),
		    to, how_of(now));
	else
		CLAIM_SAY(out, story_next, now->stage, claim_text(when), to, how_of(now));
	free(when);
	free(was);
	free(is);
}

/* Whether two known segments name the same stage at the same place, whatever shows the limit: two
 * processes of a program are one place. */
static bool
is_same_place(const struct evidence *e, const struct nw_path *p, const struct segment *a,
    const struct segment *b)
{
	char *was, *is;
	bool same;

	if (a->stage == b->stage)
		return true;
	was = judge_stage_text(e, &p->stage[a->stage]);
	is = judge_stage_text(e, &p->stage[b->stage]);
	same = strcmp(was, is) == 0;
	free(was);
	free(is);
	return same;
}

void
segments_story(
    const struct evidence *e, const struct nw_path *p, const struct segments *s, struct claims *out)
{
	const struct segment *last = NULL;
	size_t i, parts = 0;

	for (i = 0; i < s->n; i++) {
		const struct segment *now = &s->segment[i];

		if (!now->known || (last != NULL && is_same_place(e, p, last, now)))
			continue;
		if (last != NULL && parts++ < STORY_PARTS_MAX)
			story_part(e, p, last, now, out);
		last = now;
	}
	if (parts > STORY_PARTS_MAX)
		CLAIM_SAY(out, story_more, CLAIM_NO_STAGE,
		    claim_number((double)(parts - STORY_PARTS_MAX)));
}

/* The delivered rate is the first series. */
void
segments_shape(const struct evidence *e, const struct segments *s, struct claims *out)
{
	const struct nw_changes *c;
	size_t i;

	if (s->n_series == 0)
		return;
	c = &s->series[0].changes;
	if (c->cycle.period > 0) {
		CLAIM_SAY(out, cycles, CLAIM_NO_STAGE,
		    claim_number(c->cycle.period * (double)e->step_ns / NS_PER_S),
		    claim_number(c->cycle.low), claim_number(c->cycle.high));
		return;
	}
	for (i = 0; i < c->n_segments; i++)
		if (c->segment[i].drifts && c->segment[i].high > DRIFT_SAID * c->segment[i].low) {
			CLAIM_SAY(out, drifts, CLAIM_NO_STAGE, claim_number(c->segment[i].low),
			    claim_number(c->segment[i].high));
			return;
		}
}
