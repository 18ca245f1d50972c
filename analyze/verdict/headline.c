/* SPDX-License-Identifier: BSD-3-Clause */
/* The two lines of a session that can be read at arm's length: how fast, where, since when, in at
 * most twelve words; and the cause with its remedy. */
#include "analyze/verdict/claim/setting_text.h"
#include "analyze/verdict/resultdoc_in.h"
#include "analyze/verdict/usual/changed_told.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DAY_BYTES = 64 };

/* "12 November", with the year if it is not that of the session. */
static void
day_words(int64_t t_wall_ns, int64_t session_wall_ns, char *out, size_t size)
{
	const time_t t = (time_t)(t_wall_ns / 1000000000),
		     own = (time_t)(session_wall_ns / 1000000000);
	struct tm day = { 0 }, now = { 0 };

	gmtime_r(&t, &day);
	gmtime_r(&own, &now);
	if (strftime(out, size, day.tm_year == now.tm_year ? "%-d %B" : "%-d %B %Y", &day) == 0)
		snprintf(out, size, "earlier");
}

/* Of a session that differs from the usual ones by no more than chance allows. */
static void
as_usual_say(const struct usual *of, struct claims *c)
{
	const double ratio = of->usual.ratio;

	if (of->has_incident && of->incident.kind == NW_INCIDENT_STEP)
		CLAIM_SAY(c, head_before, CLAIM_NO_STAGE);
	else if (of->has_incident)
		CLAIM_SAY(c, head_drifts, CLAIM_NO_STAGE, claim_number(of->incident.per_week));
	else if (fmax(ratio, 1 / ratio) >= NW_USEFUL)
		CLAIM_SAY(c, head_within, CLAIM_NO_STAGE);
	else
		CLAIM_SAY(c, head_usual, CLAIM_NO_STAGE);
}

static void
speed_say(const struct analysis *a, struct claims *c)
{
	const struct nw_usual *u = &a->usual.usual;
	const double rate = a->judgement.bytes_per_s;

	if (a->evidence.exit_status > 0)
		CLAIM_SAY(c, head_failed, CLAIM_NO_STAGE, claim_number(a->evidence.exit_status));
	else if (u->said == NW_AGAINST_SLOWER)
		CLAIM_SAY(c, head_slower, CLAIM_NO_STAGE, claim_number(u->ratio));
	else if (u->said == NW_AGAINST_FASTER)
		CLAIM_SAY(c, head_faster, CLAIM_NO_STAGE, claim_number(1 / u->ratio));
	else if (u->said == NW_AGAINST_USUAL)
		as_usual_say(&a->usual, c);
	else if (rate > 0 && isfinite(rate))
		CLAIM_SAY(c, head_rate, CLAIM_NO_STAGE, claim_number(rate));
	else if (a->judgement.announced.alone && a->judgement.bytes != 0)
		CLAIM_SAY(c, head_no_rate, CLAIM_NO_STAGE);
	else
		CLAIM_SAY(c, head_nothing, CLAIM_NO_STAGE);
}

/* The first session of the incident, or the first slow one; 0 where neither is worth a word. */
static int64_t
since_of(const struct usual *u)
{
	if (u->usual.said == NW_AGAINST_SLOWER && u->n > u->split + 1)
		return u->session[u->split].start_wall_ns;
	return u->usual.said == NW_AGAINST_USUAL && u->has_incident &&
		u->incident.kind == NW_INCIDENT_DRIFT
	    ? u->incident.at_wall_ns
	    : 0;
}

void
headline_say(const struct analysis *a, struct claims *c)
{
	const struct judgement *j = &a->judgement;
	const int64_t since = since_of(&a->usual);
	enum nw_stage_kind kind;
	char day[DAY_BYTES];

	if (j->sentence == NULL)
		return;
	speed_say(a, c);
	if (judge_stage(j, &kind))
		CLAIM_SAY(c, head_where, CLAIM_NO_STAGE, claim_text(nw_stage_kind_words(kind)));
	else
		CLAIM_SAY(c, head_nowhere, CLAIM_NO_STAGE);
	if (!(a->evidence.exit_status > 0) && since != 0) {
		day_words(since, j->first_wall_ns, day, sizeof(day));
		CLAIM_SAY(c, head_since, CLAIM_NO_STAGE, claim_text(day));
	}
}

/* The cause as far as one change is likelier than all others, else how many share the weight. */
static void
cause_say(const struct changed *changed, struct claims *c)
{
	const struct difference *d = changed->difference;
	char *before, *after;

	if (changed->n_named == 0)
		CLAIM_SAY(c, remedy_unexplained, CLAIM_NO_STAGE);
	else if (changed->n_named > 1)
		CLAIM_SAY(
		    c, remedy_several, CLAIM_NO_STAGE, claim_number((double)changed->n_named));
	else if (d->kind == DIFFERENCE_METRIC)
		claims_append(c, &d->told);
	else {
		before = setting_text(d->before_text, d->after_text);
		after = setting_text(d->after_text, d->before_text);
		CLAIM_SAY(c, remedy_cause, CLAIM_NO_STAGE, claim_text(d->name),
		    claim_text(d->host != NULL ? " on " : ""), claim_text(d->host),
		    claim_text(before), claim_text(after));
		free(before);
		free(after);
	}
}

void
remedy_say(const struct analysis *a, struct claims *c)
{
	const struct advice_card *card = a->advice.n > 0 ? a->advice.card : NULL;
	const bool before = a->usual.usual.said == NW_AGAINST_SLOWER && a->changed.asked;
	double gain;

	if (before)
		cause_say(&a->changed, c);
	if (card == NULL)
		return;
	/* the cause is the subject of the sentence already */
	if (before && a->changed.n_named == 1 &&
	    a->changed.difference->kind == DIFFERENCE_SETTING &&
	    !changed_told_is(a->changed.difference->name) &&
	    strcmp(card->rule->name, "set-back") == 0)
		CLAIM_SAY(c, remedy_back, CLAIM_NO_STAGE);
	else
		CLAIM_SAY(c, remedy_do, CLAIM_NO_STAGE, claim_text(before ? ". " : ""),
		    claim_text(card->title));
	gain = isfinite(card->gain_history) ? card->gain_history : card->gain;
	if (gain > 1 && isfinite(gain * a->judgement.bytes_per_s))
		CLAIM_SAY(c, remedy_expect, CLAIM_NO_STAGE,
		    claim_number(gain * a->judgement.bytes_per_s));
}
