/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/incident/telling.h"
#include "narrows/err.h"
#include "narrows/incident.h"
#include "narrows/special.h"

enum {
	SUSPECT_AGE_MAX = 48, /* sessions; an older begin is not looked for */
	FASTER_MIN = 5,       /* sessions of a lasting faster level */
	DIP_MAX = 2,          /* sessions of an incident that counts as a far session */
	DRIFT_MIN = 20,       /* sessions of a level that may drift */
	FALL_MIN = 8,         /* sessions of an incident that may turn out as a drift */
	FALL_LOOKS = 4,       /* sessions between two looks whether it does */
	FALL_BEFORE = 16,     /* sessions that a drift may begin before the incident */
	FALL_UNIT = 10,       /* sessions in which the slope of a fall goes on by one */
	CLOCKED_MIN = 3,      /* jobs before a job that ended by the clock */
};

/* --- thresholds, by simulation (tests/calibrate/incidents.c) --- */

/* Log of the odds of a step, summed over its begins, against none: what is asked of a route of
 * OLD_FROM sessions; the rise with the log of the sessions, to the most; and the rise towards a
 * younger route. A young route is watched with less suspicion, for the few looks at a young route
 * hardly add to the openings of a route's whole life. */
static const double ODDS = 4, ODDS_RISE = 2.3, ODDS_MOST = 7.5, ODDS_YOUNG = 5;
static const double OLD_FROM = 15;
/* Of the chance of a rate as low as that of a single session, by the sessions before; the most is
 * for a session behind a recorded change. */
static const double CHANCE_MOST = 0.007;
static const double CHANCE = 0.0026, CHANCE_MIN = 0.00015, CHANCE_FALL = 1.4, CHANCE_RISE = 0.5;
/* The score from which on a session since a suspect may be far and no step. */
static const double FAR = 2;
/* The exact chance is asked for up to so many times the chance that opens. */
static const double NEAR_CHANCE = 4;
/* Durations of jobs that end by the clock differ by this share at most. */
static const double CLOCKED_SAME = 0.01;
/* Smallest step worth an incident, as a ratio of rates. */
static const double STEP_MIN = 1.05;
/* Log of the ratio of likelihoods that ends an incident. */
static const double END_SURE = 4.5;
/* Log of the ratio of likelihoods of a lasting fall and a step, in an open incident. */
static const double FALL_SURE = 5;
static const double USUAL_ALPHA = 0.05;
/* From this chance on a session of an incident ran as before the incident. */
static const double AS_BEFORE = 0.2;
/* A drift: chance of a level that falls so, weight of the models with a drift, and the fall so far.
 * The drift ends where its chance is above DRIFT_OVER, or its weight below DRIFT_GONE. */
static const double DRIFT_CHANCE = 1e-4, DRIFT_SHARE = 0.7, DRIFT_OVER = 0.05, DRIFT_GONE = 0.1;

static double
odds_needed(size_t n_before)
{
	const double older = log((double)n_before / OLD_FROM);

	return fmin(ODDS_MOST, ODDS + (older > 0 ? ODDS_RISE : -ODDS_YOUNG) * older);
}

static double
chance_allowed(size_t n_before)
{
	const double n = (double)n_before;

	return fmax(CHANCE_MIN,
	    CHANCE *
		(n > OLD_FROM ? pow(OLD_FROM / n, CHANCE_FALL) : pow(n / OLD_FROM, CHANCE_RISE)));
}

/* The session before, if the session continues its level. */
static const struct forecast_row *
row_before(const struct telling *t, size_t i)
{
	return i > 0 && i >= t->contiguous_from ? &t->row[i - 1] : NULL;
}

static struct forecast_row
row_with_step(const struct telling *t, size_t i, size_t begin)
{
	struct forecast_row row = t->row[i];

	row.x[COLUMN_STEP] = i >= begin;
	return row;
}

/* --- usual --- */

static void
usual_count(const struct telling *t, double rate, struct nw_usual *u)
{
	size_t i, faster = 0;

	for (i = 0; i < t->n_members; i++) {
		double r = t->job[t->member[i]].bytes_per_s;

		u->best = i == 0 || r > u->best ? r : u->best;
		u->worst = i == 0 || r < u->worst ? r : u->worst;
		faster += r > rate;
	}
	if (t->n_members > 0 && rate > 0)
		u->slower_than = (double)faster / (double)t->n_members;
}

/* Of a row that continues the level after `before`, or stands alone. The normal score of its rate.
 */
static double
usual_fill(const struct telling *t, const struct forecast_row *row,
    const struct forecast_row *before, double rate, struct nw_usual *u)
{
	const bool is_told = (size_t)(u - t->out->usual) >= t->told_from;
	double chance = NAN;

	*u = (struct nw_usual){ .n = t->n_members,
		.best = NAN,
		.median = NAN,
		.worst = NAN,
		.low = NAN,
		.high = NAN,
		.ratio = NAN,
		.slower_than = NAN,
		.p = NAN };
	if (is_told)
		usual_count(t, rate, u);
	if (t->level.n < 2)
		return 0;
	if (is_told) {
		u->low = exp(forecast_quantile(&t->level, row, before, 0.1));
		u->high = exp(forecast_quantile(&t->level, row, before, 0.9));
	}
	if (is_told || t->open != NULL) /* an incident's size needs every median */
		u->median = exp(forecast_quantile(&t->level, row, before, 0.5));
	if (!(rate > 0))
		return 0;
	u->ratio = u->median / rate;
	chance = forecast_chance(&t->level, row, before);
	if (t->level.n >= NW_USUAL_MIN && isfinite(u->median)) {
		u->p = fmin(chance, 1 - chance);
		u->said = u->p > USUAL_ALPHA || fmax(u->ratio, 1 / u->ratio) < NW_USEFUL
		    ? NW_AGAINST_USUAL
		    : u->ratio > 1 ? NW_AGAINST_SLOWER
				   : NW_AGAINST_FASTER;
	}
	return nw_norm_quantile(fmin(1 - 1e-15, fmax(1e-15, chance)));
}

/* What an incident's session says beside what was usual before the incident. */
static void
usual_of_incident(struct telling *t, size_t i, const struct forecast_row *before)
{
	struct nw_usual *u = &t->out->usual[i];

	usual_fill(t, &t->row[i], before, t->job[i].bytes_per_s, u);
	if (u->said == NW_AGAINST_USUAL && u->ratio > 1 &&
	    (u->ratio >= NW_USEFUL || !(u->p > AS_BEFORE)))
		u->said = NW_AGAINST_SLOWER;
}

/* --- levels --- */

static int
level_add(struct telling *t, const struct nw_level *level)
{
	struct nw_story *s = t->out;
	void *room = realloc(s->level, (s->n_levels + 1) * sizeof(*s->level));

	if (room == NULL)
		return NW_ENOMEM;
	s->level = room;
	s->level[s->n_levels++] = *level;
	return NW_OK;
}

/* Leaves to the level its sessions before an index. */
static void
members_cut(struct telling *t, size_t end)
{
	while (t->n_members > 0 && t->member[t->n_members - 1] >= end)
		t->n_members--;
}

static void
members_take(struct telling *t, size_t begin, size_t end)
{
	for (; begin < end; begin++)
		t->member[t->n_members++] = begin;
}

/* --- suspects --- */

/* Old begins are watched at wider steps. */
static bool
is_watched(size_t begin, size_t age)
{
	return age < 8 || (age < 16 && begin % 2 == 0) || (age < SUSPECT_AGE_MAX && begin % 4 == 0);
}

static void
suspects_thin(struct telling *t, size_t now)
{
	size_t i, kept = 0;

	for (i = 0; i < t->n_suspects; i++)
		if (is_watched(t->suspect[i]->begin, now - t->suspect[i]->begin)) {
			struct suspect *s = t->suspect[i];

			t->suspect[i] = t->suspect[kept];
			t->suspect[kept++] = s;
		}
	t->n_suspects = kept;
}

/* A session's rows for a suspect. Returns the row of the session before, or NULL. */
static const struct forecast_row *
suspect_rows(const struct telling *t, const struct suspect *s, size_t i, struct forecast_row *row,
    struct forecast_row *before)
{
	*row = row_with_step(t, i, s->begin);
	if (row_before(t, i) == NULL)
		return NULL;
	*before = row_with_step(t, i - 1, s->begin);
	return before;
}

/* `far` has the ratios of the session's score on the level, or is NULL. */
static void
suspects_see(struct telling *t, size_t now, const double *far)
{
	struct forecast_row row, before;
	const struct forecast_row *prior;
	struct suspect *s;
	size_t i;

	suspects_thin(t, now);
	if (t->level.n >= NW_USUAL_MIN && t->n_suspects < SUSPECTS_MAX) {
		s = t->suspect[t->n_suspects++];
		s->begin = now;
		s->tails_before = s->tails = t->tails;
		forecast_copy(&s->before, &t->level);
		forecast_weights(&s->before, s->weight);
		forecast_step_watch(&s->step, &s->before, s->weight);
	}
	for (i = 0; i < t->n_suspects; i++) {
		s = t->suspect[i];
		prior = suspect_rows(t, s, now, &row, &before);
		forecast_step_see(&s->step, s->weight, &row, prior);
		if (far != NULL)
			tails_see(&s->tails, far);
	}
}

/* All models of all suspects see the sessions since the begins. */
static void
suspects_complete(struct telling *t, size_t now)
{
	struct forecast_row row, before;
	const struct forecast_row *prior;
	struct suspect *s;
	size_t i, k;

	for (i = 0; i < t->n_suspects; i++) {
		s = t->suspect[i];
		forecast_copy(&s->step, &s->before);
		forecast_step_begin(&s->step);
		for (k = s->begin; k <= now; k++) {
			prior = suspect_rows(t, s, k, &row, &before);
			forecast_see(&s->step, &row, prior);
		}
	}
}

/* The effect of a column by a forecast's own weights. */
static struct forecast_effect
effect_of(const struct forecast *f, unsigned column)
{
	double weight[FORECAST_MODELS];

	forecast_weights(f, weight);
	return forecast_effect(f, weight, column);
}

/* Whether a step at the suspect is large enough. *p: the chance of the step without a change. */
static bool
is_suspicious(const struct suspect *s, bool slower, double *p)
{
	const struct forecast_effect e = forecast_effect(&s->step, s->weight, COLUMN_STEP);

	*p = fmax(1e-15, slower ? e.chance : 1 - e.chance);
	return *p < 0.5 && fabs(e.mean) >= log(STEP_MIN);
}

/* How much likelier the sessions since the suspect are without a step than with normal noise,
 * because the route's tails are long; a log, never negative. */
static double
tails_excuse(const struct suspect *s)
{
	return fmax(0, tails_evidence(&s->tails) - tails_evidence(&s->tails_before));
}

/* What recorded changes add to the log odds of a slowdown that begins with a session. */
static double
suspicion_of(const struct telling *t, size_t begin, bool slower)
{
	return slower ? t->job[begin].suspicion : 0;
}

/* Log of the odds of a step that way, at any suspect of at least so many sessions, over what is
 * needed; negative infinity if nothing near. *p is the smallest chance of a step. */
static double
steps_odds(const struct telling *t, size_t now, bool slower, size_t n_since, double *p)
{
	const double level = forecast_evidence(&t->level), needed = odds_needed(t->level.n - 1);
	const enum forecast_way way = slower ? FORECAST_SLOWER : FORECAST_FASTER;
	double bound = 0, sum = 0, chance;
	const struct suspect *s;
	size_t i;

	*p = 1;
	for (i = 0; i < t->n_suspects && now - t->suspect[i]->begin + 1 >= n_since; i++) {
		s = t->suspect[i];
		bound += exp(suspicion_of(t, s->begin, slower) +
		    forecast_step_evidence(&s->step, s->weight, FORECAST_EITHER) - level);
	}
	if (!(log(bound) >= needed))
		return -INFINITY;
	for (i = 0; i < t->n_suspects && now - t->suspect[i]->begin + 1 >= n_since; i++) {
		s = t->suspect[i];
		if (!is_suspicious(s, slower, &chance))
			continue;
		sum += exp(suspicion_of(t, s->begin, slower) +
		    forecast_step_evidence(&s->step, s->weight, way) - level - tails_excuse(s));
		*p = fmin(*p, chance);
	}
	return log(sum) - needed;
}

/* The suspect with the likeliest begin, and the bounds of the begin. */
static const struct suspect *
suspect_likeliest(const struct telling *t, bool slower, size_t *low, size_t *high)
{
	static const double CUT = 3; /* of the log likelihood */
	const struct suspect *best = NULL, *s;
	double evidence[SUSPECTS_MAX], most = -INFINITY;
	size_t i;

	for (i = 0; i < t->n_suspects; i++) {
		const struct forecast *step = &t->suspect[i]->step;

		evidence[i] = (effect_of(step, COLUMN_STEP).mean < 0) == slower
		    ? forecast_evidence(step)
		    : -INFINITY;
		if (evidence[i] > most) {
			most = evidence[i];
			best = t->suspect[i];
		}
	}
	*low = *high = best != NULL ? best->begin : 0;
	for (i = 0; i < t->n_suspects; i++)
		if (evidence[i] > most - CUT) {
			s = t->suspect[i];
			*low = s->begin < *low ? s->begin : *low;
			*high = s->begin > *high ? s->begin : *high;
		}
	return best;
}

static struct nw_incident *
incident_add(struct telling *t, const struct nw_incident *incident)
{
	struct nw_story *s = t->out;
	void *room = realloc(s->incident, (s->n_incidents + 1) * sizeof(*s->incident));

	if (room == NULL)
		return NULL;
	s->incident = room;
	s->incident[s->n_incidents] = *incident;
	return &s->incident[s->n_incidents++];
}

/* --- drift --- */

static void
drift_measure(struct telling *t, size_t now, const struct forecast_effect *e)
{
	struct nw_incident *in = &t->out->incident[t->drift];
	const double sessions = (double)(now - in->begin) / FORECAST_DRIFT_SESSIONS,
		     weeks = (double)(t->job[now].start_wall_ns - t->job[in->begin].start_wall_ns) /
	    (7 * 86400e9);

	in->since = exp(forecast_quantile(&t->level, &t->row[now], NULL, 0.5));
	in->ratio = exp(-e->mean * sessions);
	in->ratio_low = exp((-e->mean - 1.645 * e->sd) * sessions);
	in->ratio_high = exp((-e->mean + 1.645 * e->sd) * sessions);
	in->usual = in->since * in->ratio;
	in->per_week = weeks > 0 ? 1 - pow(in->ratio, -1 / weeks) : NAN;
}

static void
drift_end(struct telling *t, size_t now)
{
	struct nw_incident *in = &t->out->incident[t->drift];

	in->state = NW_INCIDENT_ENDED;
	in->end = in->closed = now;
	t->drifts = false;
}

/* Whether an effect of the column drift is large enough for a drift since `begin`. */
static bool
is_drift_size(const struct telling *t, const struct forecast_effect *e, size_t begin, size_t now)
{
	return t->n_members >= DRIFT_MIN && e->share > DRIFT_SHARE &&
	    -e->mean * (double)(now - begin) / FORECAST_DRIFT_SESSIONS > log(NW_USEFUL);
}

/* Opens a drift of the level, measures an open drift, or ends the drift. */
static int
drift_look(struct telling *t, size_t now)
{
	struct forecast_effect e;
	double weight[FORECAST_MODELS];
	struct nw_incident in = { .kind = NW_INCIDENT_DRIFT,
		.state = NW_INCIDENT_OPEN,
		.begin = t->member[0],
		.low = t->member[0],
		.high = t->member[0],
		.opened = now,
		.end = t->n,
		.closed = t->n };

	forecast_weights(&t->level, weight);
	e = forecast_effect_size(&t->level, weight, COLUMN_DRIFT);
	if (t->drifts || is_drift_size(t, &e, in.begin, now))
		e = forecast_effect(&t->level, weight, COLUMN_DRIFT);
	in.p = e.chance;
	if (t->drifts && (e.chance > DRIFT_OVER || e.share < DRIFT_GONE))
		drift_end(t, now);
	if (!t->drifts && is_drift_size(t, &e, in.begin, now) && e.chance < DRIFT_CHANCE) {
		if (incident_add(t, &in) == NULL)
			return NW_ENOMEM;
		t->drift = t->out->n_incidents - 1;
		t->drifts = true;
	}
	if (t->drifts)
		drift_measure(t, now, &e);
	return NW_OK;
}

/* --- incidents --- */

/* Size of the step: the sessions before `end` against what was usual for each. */
static void
incident_measure(struct telling *t, size_t end)
{
	const struct forecast_effect e = effect_of(&t->incident, COLUMN_STEP);
	struct nw_incident *in = t->open;
	double sum = 0;
	size_t i;

	for (i = in->begin; i < end; i++)
		sum += log(t->out->usual[i].ratio);
	in->usual = t->out->usual[end - 1].median;
	in->ratio = exp(sum / (double)(end - in->begin));
	in->ratio_low = in->ratio * exp(-1.645 * e.sd);
	in->ratio_high = in->ratio * exp(1.645 * e.sd);
	in->since = in->usual / in->ratio;
}

static int
incident_open(struct telling *t, size_t now, double p)
{
	struct nw_incident in = {
		.state = NW_INCIDENT_OPEN, .opened = now, .end = t->n, .closed = t->n, .p = p
	};
	const struct suspect *s;
	size_t i;

	suspects_complete(t, now);
	s = suspect_likeliest(t, true, &in.low, &in.high);
	in.begin = s->begin;
	t->level = s->before;
	t->incident = s->step;
	t->tails = s->tails_before;
	members_cut(t, in.begin);
	in.n_before = t->n_members;
	if ((t->open = incident_add(t, &in)) == NULL)
		return NW_ENOMEM;
	for (i = in.begin; i <= now; i++)
		usual_of_incident(t, i, i == in.begin ? row_before(t, i) : NULL);
	t->n_former = t->n_suspects;
	t->n_suspects = 0;
	t->back.watched = false;
	incident_measure(t, now + 1);
	return NW_OK;
}

/* The far sessions of a dip tell how far the noise reaches. */
static void
dip_remember(struct telling *t, const struct nw_incident *in)
{
	double ratio[TAILS];
	size_t i;

	for (i = in->begin; i < in->end; i++) {
		if (isnan(t->out->usual[i].p))
			continue;
		tails_ratios(nw_norm_quantile(fmax(1e-15, t->out->usual[i].p)), ratio);
		tails_see(&t->tails, ratio);
	}
}

static void
incident_end(struct telling *t, size_t now)
{
	struct nw_incident *in = t->open;
	size_t i;

	in->state = NW_INCIDENT_ENDED;
	in->end = t->back.begin;
	in->closed = now;
	incident_measure(t, in->end);
	t->level = t->back.usual;
	t->contiguous_from = in->end + 1;
	if (in->end - in->begin <= DIP_MAX)
		dip_remember(t, in);
	for (i = in->end; i <= now; i++)
		usual_fill(
		    t, &t->row[i], row_before(t, i), t->job[i].bytes_per_s, &t->out->usual[i]);
	members_take(t, in->end, now + 1);
	t->open = NULL;
}

static int
incident_accept(struct telling *t, size_t now)
{
	struct nw_incident *in = t->open;
	struct nw_level level = { .begin = in->begin,
		.low = in->low,
		.high = in->high,
		.known = now,
		.before = in->usual,
		.after = in->since,
		.was_incident = true };

	in->state = NW_INCIDENT_IS_ACCEPTED;
	in->end = in->closed = now + 1;
	t->level = t->incident;
	forecast_step_end(&t->level);
	t->n_members = 0;
	members_take(t, in->begin, now + 1);
	t->contiguous_from = in->begin + 1;
	t->open = NULL;
	if (t->drifts)
		drift_end(t, in->begin);
	return level_add(t, &level);
}

static void
comeback_see(struct telling *t, size_t now)
{
	struct comeback *b = &t->back;
	const struct forecast_row row = row_with_step(t, now, 0),
				  before = row_with_step(t, now > 0 ? now - 1 : 0, 0);
	double usual, incident;

	if (!b->watched) {
		b->begin = now;
		b->evidence = 0;
		b->usual = t->level;
		b->incident = t->incident;
	}
	usual = forecast_evidence(&b->usual);
	incident = forecast_evidence(&b->incident);
	forecast_see(&b->usual, &t->row[now], now > b->begin ? &t->row[now - 1] : NULL);
	forecast_see(&b->incident, &row, &before);
	b->evidence += forecast_evidence(&b->usual) - usual;
	b->evidence -= forecast_evidence(&b->incident) - incident;
	b->watched = b->evidence > 0;
	forecast_see(&t->incident, &row, &before);
}

/* Accepts the open incident before the session `next`, which may be n, if one of the times lies
 * between the session that opened the incident and this session. */
static int
incident_ask(struct telling *t, size_t next, const int64_t *accepted_wall_ns, size_t n_accepted)
{
	const int64_t from = t->job[t->open->opened].start_wall_ns,
		      to = next < t->n ? t->job[next].start_wall_ns : INT64_MAX;
	size_t i;

	for (i = 0; i < n_accepted; i++)
		if (accepted_wall_ns[i] > from && accepted_wall_ns[i] <= to) {
			t->open->accepted_wall_ns = accepted_wall_ns[i];
			return incident_accept(t, next - 1);
		}
	return NW_OK;
}

/* --- incidents that are drifts --- */

/* A row of a fall from a session on. */
static struct forecast_row
row_with_fall(const struct telling *t, size_t i, size_t begin)
{
	struct forecast_row row = t->row[i];

	row.x[COLUMN_STEP] = i >= begin ? (double)(i - begin + 1) / FALL_UNIT : 0;
	return row;
}

/* Log of the density of all sessions if the route falls from a suspect on. */
static double
fall_evidence(struct telling *t, const struct suspect *s, size_t now)
{
	struct forecast_row row, before;
	size_t i;

	forecast_copy(&t->fall, &s->before);
	forecast_step_begin(&t->fall);
	for (i = s->begin; i <= now; i++) {
		row = row_with_fall(t, i, s->begin);
		if (row_before(t, i) != NULL)
			before = row_with_fall(t, i - 1, s->begin);
		forecast_see(&t->fall, &row, row_before(t, i) != NULL ? &before : NULL);
	}
	return forecast_evidence(&t->fall);
}

/* The likeliest begin of a fall; NULL if a step explains the open incident as well. */
static const struct suspect *
fall_find(struct telling *t, size_t now)
{
	double most = forecast_evidence(&t->incident) + FALL_SURE, evidence;
	const struct suspect *best = NULL, *s;
	size_t i;

	for (i = 0; i < t->n_former; i++) {
		s = t->suspect[i];
		if (s->begin > t->open->begin || s->begin + FALL_BEFORE < t->open->begin ||
		    (evidence = fall_evidence(t, s, now)) <= most ||
		    effect_of(&t->fall, COLUMN_STEP).mean >= 0)
			continue;
		most = evidence;
		best = s;
	}
	return best;
}

/* A falling level from the begin on. */
static void
incident_drifts(struct telling *t, const struct suspect *s, size_t now)
{
	struct nw_incident *in = t->open;
	struct forecast_effect e;
	size_t i;

	if (t->drifts)
		drift_end(t, s->begin);
	in->kind = NW_INCIDENT_DRIFT;
	in->low = s->begin;
	in->high = in->begin;
	in->begin = s->begin;
	t->contiguous_from = in->begin + 1;
	forecast_init(&t->level);
	for (i = in->begin; i < now; i++)
		forecast_see(&t->level, &t->row[i], row_before(t, i));
	members_cut(t, in->begin);
	in->n_before = t->n_members;
	t->n_members = 0;
	members_take(t, in->begin, now);
	usual_fill(
	    t, &t->row[now], row_before(t, now), t->job[now].bytes_per_s, &t->out->usual[now]);
	forecast_see(&t->level, &t->row[now], row_before(t, now));
	members_take(t, now, now + 1);
	e = effect_of(&t->level, COLUMN_DRIFT);
	in->p = e.chance;
	t->open = NULL;
	t->drifts = true;
	t->drift = (size_t)(in - t->out->incident);
	drift_measure(t, now, &e);
}

static void
fall_look(struct telling *t, size_t now)
{
	const size_t n = now - t->open->begin + 1;
	const struct suspect *s;

	if (n >= FALL_MIN && n % FALL_LOOKS == 0 && (s = fall_find(t, now)) != NULL)
		incident_drifts(t, s, now);
}

/* --- session by session --- */

static int
incident_go_on(struct telling *t, size_t now)
{
	usual_of_incident(t, now, NULL);
	comeback_see(t, now);
	if (t->back.watched && t->back.evidence >= END_SURE) {
		incident_end(t, now);
		return NW_OK;
	}
	incident_measure(t, now + 1);
	fall_look(t, now);
	return t->open != NULL && now - t->open->begin + 1 >= NW_INCIDENT_ACCEPTED
	    ? incident_accept(t, now)
	    : NW_OK;
}

static int
level_rise(struct telling *t, size_t now)
{
	struct nw_level level = { .known = now };
	const struct suspect *s;
	struct forecast_effect e;

	suspects_complete(t, now);
	s = suspect_likeliest(t, false, &level.low, &level.high);
	e = effect_of(&s->step, COLUMN_STEP);
	level.begin = s->begin;
	level.before = exp(forecast_quantile(&s->before, &t->row[s->begin], NULL, 0.5));
	level.after = level.before * exp(e.mean);
	t->level = s->step;
	t->tails = s->tails_before;
	forecast_step_end(&t->level);
	t->n_members = 0;
	members_take(t, level.begin, now + 1);
	t->n_suspects = 0;
	if (t->drifts)
		drift_end(t, level.begin);
	return level_add(t, &level);
}

/* The chance of a session so slow, if the noise is as before; 1 of a session that is not slow. */
static double
slow_chance(const struct telling *t, double score)
{
	return t->level.n >= NW_USUAL_MIN && score < 0 ? tails_upper(&t->tails, -score) : 1;
}

/* The chance of a rate as low as that of a session which opens an incident alone. */
static double
chance_opens(const struct telling *t, size_t now)
{
	return fmin(CHANCE_MOST, chance_allowed(t->level.n) * exp(t->job[now].suspicion));
}

/* Whether a session is too slow to be alone the usual noise, by the chance. */
static bool
is_slow_alone(const struct telling *t, size_t now, double chance)
{
	return chance <= chance_opens(t, now) &&
	    forecast_quantile(&t->level, &t->row[now], row_before(t, now), 0.5) - t->row[now].y >=
	    log(STEP_MIN);
}

static int
level_go_on(struct telling *t, size_t now)
{
	const bool is_known = t->level.n >= NW_USUAL_MIN;
	double p, score, ratio[TAILS] = { 0 };
	bool is_slow, is_far;

	score = is_known ? forecast_score(&t->level, &t->row[now], row_before(t, now)) : 0;
	is_far = fabs(score) > FAR;
	if (is_known)
		tails_ratios(score, ratio);
	/* the exact score costs more, and is of use for what is told, and for a far session */
	if (now >= t->told_from || t->level.n <= NW_USUAL_MIN ||
	    slow_chance(t, score) <= NEAR_CHANCE * chance_opens(t, now))
		score = usual_fill(t, &t->row[now], row_before(t, now), t->job[now].bytes_per_s,
		    &t->out->usual[now]);
	is_slow = is_slow_alone(t, now, slow_chance(t, score));
	suspects_see(t, now, is_far ? ratio : NULL);
	forecast_see(&t->level, &t->row[now], row_before(t, now));
	members_take(t, now, now + 1);
	if (steps_odds(t, now, true, 1, &p) >= 0 || is_slow)
		return incident_open(t, now, is_slow ? fmin(p, slow_chance(t, score)) : p);
	if (steps_odds(t, now, false, FASTER_MIN, &p) >= 0)
		return level_rise(t, now);
	tails_see(&t->tails, ratio);
	return drift_look(t, now);
}

/* --- the whole story --- */

static int
incident_compare(const void *a, const void *b)
{
	const struct nw_incident *x = a, *y = b;

	return x->begin != y->begin ? (x->begin > y->begin) * 2 - 1
				    : (x->opened > y->opened) - (x->opened < y->opened);
}

static double
duration_of(const struct nw_job *j)
{
	return j->bytes / j->bytes_per_s;
}

/* Whether a job ended by the clock, for the jobs before took as long. The size of the job
 * follows from the rate, and explains nothing. */
static bool
is_clocked(const struct nw_job *job, size_t i)
{
	const double own = duration_of(&job[i]);
	size_t k;

	if (i < CLOCKED_MIN || !(own > 0))
		return false;
	for (k = i - CLOCKED_MIN; k < i; k++)
		if (!(fabs(duration_of(&job[k]) - own) <= CLOCKED_SAME * own))
			return false;
	return true;
}

void
rows_make(struct telling *t, size_t from)
{
	size_t i;

	for (i = from; i < t->n; i++) {
		forecast_row(&t->job[i], &t->job[0], i, &t->row[i]);
		if (!is_clocked(t->job, i))
			continue;
		t->row[i].x[COLUMN_SIZE] = t->row[i - 1].x[COLUMN_SIZE];
		t->row[i].x[COLUMN_SIZE_BEND] = t->row[i - 1].x[COLUMN_SIZE_BEND];
	}
	if (t->n > 0) {
		t->row[t->n] = t->row[t->n - 1];
		t->row[t->n].y = NAN;
	}
}

int
arrays_grow(struct telling *t, size_t n)
{
	struct nw_story *s = t->out;
	struct nw_usual *usual = realloc(s->usual, (n + 1) * sizeof(*usual));
	struct forecast_row *row;
	size_t *member;

	s->usual = usual != NULL ? usual : s->usual;
	if ((row = realloc(t->row, (n + 1) * sizeof(*row))) != NULL)
		t->row = row;
	if ((member = realloc(t->member, (n + 1) * sizeof(*member))) != NULL)
		t->member = member;
	if (usual == NULL || row == NULL || member == NULL)
		return NW_ENOMEM;
	if (n > t->n || t->n == 0)
		memset(usual + t->n, 0, (n + 1 - t->n) * sizeof(*usual));
	t->n = s->n = n;
	return NW_OK;
}

void
telling_free(struct telling *t)
{
	if (t != NULL) {
		free(t->row);
		free(t->member);
		free(t->room);
	}
	free(t);
}

struct telling *
telling_new(struct nw_story *out)
{
	struct telling *t = calloc(1, sizeof(*t));
	size_t i;

	if (t == NULL)
		return NULL;
	t->out = out;
	t->contiguous_from = 1;
	tails_init(&t->tails);
	forecast_init(&t->level);
	if ((t->room = calloc(SUSPECTS_MAX, sizeof(*t->room))) == NULL ||
	    level_add(t, &(struct nw_level){ .before = NAN, .after = NAN }) < 0) {
		telling_free(t);
		return NULL;
	}
	for (i = 0; i < SUSPECTS_MAX; i++)
		t->suspect[i] = &t->room[i];
	return t;
}

int
sessions_read(
    struct telling *t, size_t from, size_t to, const int64_t *accepted_wall_ns, size_t n_accepted)
{
	size_t i;
	int rc = NW_OK;

	for (i = from; i < to && rc == NW_OK; i++) {
		if (t->open != NULL)
			rc = incident_ask(t, i, accepted_wall_ns, n_accepted);
		if (rc == NW_OK)
			rc = t->open != NULL ? incident_go_on(t, i) : level_go_on(t, i);
	}
	return rc;
}

int
story_end(struct telling *t, size_t from, const int64_t *accepted_wall_ns, size_t n_accepted)
{
	const size_t n = t->n;
	struct nw_story *out = t->out;
	int rc = sessions_read(t, from, n, accepted_wall_ns, n_accepted);

	if (rc == NW_OK && t->open != NULL)
		rc = incident_ask(t, n, accepted_wall_ns, n_accepted);
	if (rc == NW_OK)
		usual_fill(t, &t->row[n], t->open == NULL && n > 0 ? &t->row[n - 1] : NULL, NAN,
		    &out->usual[n]);
	if (out->n_incidents > 0)
		qsort(out->incident, out->n_incidents, sizeof(*out->incident), incident_compare);
	return rc;
}

int
nw_story_make(const struct nw_job *job, size_t n, const int64_t *accepted_wall_ns,
    size_t n_accepted, struct nw_story *out)
{
	return nw_story_make_from(job, n, accepted_wall_ns, n_accepted, 0, out);
}

int
nw_story_make_from(const struct nw_job *job, size_t n, const int64_t *accepted_wall_ns,
    size_t n_accepted, size_t told_from, struct nw_story *out)
{
	struct telling *t;
	int rc = NW_ENOMEM;

	*out = (struct nw_story){ .n = n };
	if ((t = telling_new(out)) == NULL)
		return NW_ENOMEM;
	if ((rc = arrays_grow(t, n)) == NW_OK) {
		t->job = job;
		t->told_from = told_from;
		rows_make(t, 0);
		rc = story_end(t, 0, accepted_wall_ns, n_accepted);
	}
	telling_free(t);
	return rc;
}

void
nw_story_clear(struct nw_story *s)
{
	free(s->usual);
	free(s->incident);
	free(s->level);
	*s = (struct nw_story){ 0 };
}

const struct nw_incident *
nw_story_incident_of(const struct nw_story *s, size_t session)
{
	const struct nw_incident *found = NULL, *in;

	for (in = s->incident; in < s->incident + s->n_incidents; in++)
		if (in->begin <= session && session < in->end &&
		    (found == NULL || in->kind == NW_INCIDENT_STEP))
			found = in;
	return found;
}
