/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments in words. */
#include "analyze/verdict/judge/segments.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/verdict/judge/judge.h"
#include "narrows/xmalloc.h"

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
	words = xasprintf("%s, by waits outside its calls", stage);
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

static char *
story_part(const struct evidence *e, const struct nw_path *p, const char *so_far,
    const struct segment *before, const struct segment *now)
{
	char *when = clock_text(e, now->first), *was = segment_words(e, p, before),
	     *is = segment_words(e, p, now), *text;

	if (so_far == NULL)
		text = xasprintf("until %s it was %s, then %s", when, was, is);
	else
		text = xasprintf("%s until %s, then %s", so_far, when, is);
	free(when);
	free(was);
	free(is);
	return text;
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

char *
segments_story(const struct evidence *e, const struct nw_path *p, const struct segments *s)
{
	const struct segment *last = NULL;
	char *text = NULL, *longer;
	size_t i, parts = 0;

	for (i = 0; i < s->n; i++) {
		const struct segment *now = &s->segment[i];

		if (!now->known || (last != NULL && is_same_place(e, p, last, now)))
			continue;
		if (last != NULL && parts++ < STORY_PARTS_MAX) {
			longer = story_part(e, p, text, last, now);
			free(text);
			text = longer;
		}
		last = now;
	}
	if (parts > STORY_PARTS_MAX) {
		longer = xasprintf(
		    "%s, and so on through %zu more changes", text, parts - STORY_PARTS_MAX);
		free(text);
		text = longer;
	}
	return text;
}
