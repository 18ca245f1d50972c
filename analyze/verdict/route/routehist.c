/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/routehist.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/verdict/usual/past.h"
#include "analyze/verdict/usual/story.h"
#include "analyze/verdict/usual/suspicion.h"
#include "narrows/history.h"
#include "analyze/verdict/put/resultdoc_put.h"
#include "analyze/verdict/put/resultdoc_usual.h"
#include "analyze/verdict/route/routeadvice.h"
#include "analyze/verdict/route/routeincidents.h"
#include "analyze/verdict/route/routemix.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

enum { STAGES_MAX = 16, HOURS_GROUP = 4, HOUR_GROUPS = 24 / HOURS_GROUP, WEEKDAYS = 7 };

struct tally {
	const char *stage; /* NULL: cannot tell; on loan */
	size_t n, n_late;
};

struct history {
	struct past past;
	json_t *newest;    /* document of the newest session, or NULL */
	json_t *advice;    /* cards of the route */
	json_t *changed;   /* what changed with the last change, or NULL */
	json_t *incidents; /* objects of the story's incidents */
	double *rate;
	double *level; /* mean rate of the level or incident of each session */
	struct nw_story story;
	struct incident_told *incident; /* of the story's incidents */
	struct nw_pattern hours, weekdays;
	struct tally tally[STAGES_MAX];
	size_t n_tally;
};

/* --- verdicts --- */

static void
verdict_count(struct history *h, const char *stage, bool late)
{
	struct tally *t;

	for (t = h->tally; t < h->tally + h->n_tally; t++)
		if ((stage == NULL) == (t->stage == NULL) &&
		    (stage == NULL || strcmp(stage, t->stage) == 0))
			break;
	if (t == h->tally + STAGES_MAX)
		return;
	if (t == h->tally + h->n_tally)
		*(h->tally + h->n_tally++) = (struct tally){ .stage = stage };
	t->n++;
	t->n_late += late;
}

static int
tally_compare(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->n > y->n ? -1 : x->n < y->n;
}

static const char *
stage_of_most(const struct history *h)
{
	return h->n_tally > 0 && 2 * h->tally[0].n > h->past.n ? h->tally[0].stage : NULL;
}

/* --- patterns --- */

static void
local_groups(int64_t t_wall_ns, int64_t *day, unsigned *hours, unsigned *weekday)
{
	time_t s = (time_t)(t_wall_ns / 1000000000);
	struct tm tm = { 0 };

	localtime_r(&s, &tm);
	*day = (int64_t)tm.tm_year * 366 + tm.tm_yday;
	*hours = (unsigned)tm.tm_hour / HOURS_GROUP;
	*weekday = (unsigned)tm.tm_wday;
}

static int
patterns_find(struct history *h)
{
	const size_t n = h->past.n;
	int64_t *day = xcalloc(n, sizeof(*day));
	unsigned *hours = xcalloc(n, sizeof(*hours)), *weekday = xcalloc(n, sizeof(*weekday));
	size_t i;
	int rc;

	for (i = 0; i < n; i++)
		local_groups(h->past.session[i].start_wall_ns, &day[i], &hours[i], &weekday[i]);
	rc = nw_pattern(h->rate, day, hours, n, HOUR_GROUPS, h->level, &h->hours);
	if (rc == NW_OK)
		rc = nw_pattern(h->rate, day, weekday, n, WEEKDAYS, h->level, &h->weekdays);
	free(day);
	free(hours);
	free(weekday);
	return rc;
}

static char *
hours_words(size_t group)
{
	return xasprintf("%02zu:00 to %02zu:00", group * HOURS_GROUP, (group + 1) * HOURS_GROUP);
}

static char *
weekday_words(size_t group)
{
	static const char *const names[WEEKDAYS] = { "Sundays", "Mondays", "Tuesdays", "Wednesdays",
		"Thursdays", "Fridays", "Saturdays" };

	return xstrdup(group < WEEKDAYS ? names[group] : "?");
}

static json_t *
pattern_doc(const struct nw_pattern *p, const char *when, char *(*words)(size_t group))
{
	char *slow, *fast, *sentence;
	json_t *o;

	if (!p->real)
		return json_null();
	slow = words(p->slow);
	fast = words(p->fast);
	sentence = xasprintf("Slowest %s %s (%s of the median), fastest %s %s (%s).", when, slow,
	    fmt_share(p->slow_ratio).s, when, fast, fmt_share(p->fast_ratio).s);
	o = json_object();
	put_text(o, KEY_route_pattern_slow, slow);
	put_real(o, KEY_route_pattern_slow_ratio, p->slow_ratio);
	put_text(o, KEY_route_pattern_fast, fast);
	put_real(o, KEY_route_pattern_fast_ratio, p->fast_ratio);
	put_real(o, KEY_route_pattern_p, p->p);
	put_text(o, KEY_route_pattern_sentence, sentence);
	free(slow);
	free(fast);
	free(sentence);
	return o;
}

/* --- the document --- */

/* The stretch of a session: an incident by its index, levels behind them. */
static size_t
stretch_of(const struct nw_story *s, size_t session)
{
	const struct nw_incident *in = nw_story_incident_of(s, session);
	size_t k;

	if (in != NULL && in->kind == NW_INCIDENT_STEP && in->state != NW_INCIDENT_IS_ACCEPTED)
		return (size_t)(in - s->incident);
	for (k = 0; k + 1 < s->n_levels && s->level[k + 1].begin <= session; k++)
		;
	return s->n_incidents + k;
}

static void
levels_find(struct history *h)
{
	const size_t n_stretches = h->story.n_incidents + h->story.n_levels;
	double *sum = xcalloc(n_stretches, sizeof(*sum));
	size_t *n = xcalloc(n_stretches, sizeof(*n)), i, k;

	h->level = xcalloc(h->past.n, sizeof(*h->level));
	for (i = 0; i < h->past.n; i++) {
		k = stretch_of(&h->story, i);
		sum[k] += log(h->rate[i]);
		n[k]++;
	}
	for (i = 0; i < h->past.n; i++) {
		k = stretch_of(&h->story, i);
		h->level[i] = exp(sum[k] / (double)n[k]);
	}
	free(sum);
	free(n);
}

static int
history_find(struct history *h)
{
	const size_t n = h->past.n;
	size_t i;
	int rc;

	h->rate = xcalloc(n, sizeof(*h->rate));
	for (i = 0; i < n; i++) {
		h->rate[i] = h->past.session[i].bytes_per_s;
		verdict_count(h, h->past.session[i].stage, i >= n / 2);
	}
	qsort(h->tally, h->n_tally, sizeof(h->tally[0]), tally_compare);
	if ((rc = story_make(h->past.session, n, &h->past, NULL, &h->story)) < 0)
		return rc;
	levels_find(h);
	h->incident = xcalloc(h->story.n_incidents + 1, sizeof(*h->incident));
	for (i = 0; i < h->story.n_incidents; i++)
		incident_tell(h->past.session, &h->story, &h->story.incident[i], &h->incident[i]);
	return patterns_find(h);
}

static void
history_clear(struct history *h)
{
	size_t i;

	for (i = 0; h->incident != NULL && i < h->story.n_incidents; i++)
		incident_told_clear(&h->incident[i]);
	free(h->incident);
	nw_story_clear(&h->story);
	json_decref(h->newest);
	json_decref(h->advice);
	json_decref(h->changed);
	json_decref(h->incidents);
	free(h->level);
	free(h->rate);
	past_clear(&h->past);
}

/* What is usual for the next session. */
static const struct nw_usual *
usual_of(const struct history *h)
{
	return &h->story.usual[h->past.n];
}

/* The open incident, the newest first; NULL without one. */
static const struct incident_told *
incident_open(const struct history *h)
{
	size_t i;

	for (i = h->story.n_incidents; i-- > 0;)
		if (h->incident[i].state == NW_INCIDENT_OPEN)
			return &h->incident[i];
	return NULL;
}

static char *
history_words(const struct history *h)
{
	const struct incident_told *open = incident_open(h);
	const struct nw_usual *u = usual_of(h);

	if (h->past.n < NW_USUAL_MIN)
		return xasprintf("%zu %s so far: a usual rate needs %d.", h->past.n,
		    h->past.n == 1 ? "session" : "sessions", NW_USUAL_MIN);
	return xasprintf("Usually %s (%s to %s), by %zu of %zu sessions.%s%s",
	    fmt_bytes_per_s(u->median).s, fmt_bytes_per_s(u->low).s, fmt_bytes_per_s(u->high).s,
	    u->n, h->past.n, open != NULL ? " " : "", open != NULL ? open->sentence : "");
}

/* The session with the highest or the lowest rate. */
static size_t
session_extreme(const struct history *h, bool best)
{
	size_t i, found = 0;

	for (i = 1; i < h->past.n; i++)
		if (best ? h->rate[i] > h->rate[found] : h->rate[i] < h->rate[found])
			found = i;
	return found;
}

static json_t *
verdicts_doc(const struct history *h)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < h->n_tally; i++) {
		o = json_object();
		put_text(o, KEY_route_verdict_stage, h->tally[i].stage);
		put_count(o, KEY_route_verdict_n, h->tally[i].n);
		put_count(o, KEY_route_verdict_n_late, h->tally[i].n_late);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
levels_doc(const struct history *h, json_t *claims)
{
	json_t *list = json_array();
	struct level_told told;
	char of[48];
	size_t i;

	for (i = 1; i < h->story.n_levels; i++) {
		level_tell(h->past.session, &h->story.level[i], &told);
		json_array_append_new(list, resultdoc_level(&told));
		snprintf(of, sizeof(of), "changes.%zu.sentence", i - 1);
		claims_put(claims, of, &told.told);
		level_told_clear(&told);
	}
	return list;
}

static json_t *
history_doc(const struct history *h, const struct nw_route_rec *rec)
{
	const struct past_session *s = h->past.session;
	json_t *o = json_object(), *claims = json_array();
	const size_t best = session_extreme(h, true), worst = session_extreme(h, false);
	char *mix = routemix_words(&h->past);

	put_text(o, KEY_route_schema, "narrows-route/1");
	put_text(o, KEY_route_route, rec->route);
	put_text(o, KEY_route_program, rec->program[0] != '\0' ? rec->program : NULL);
	put_text(o, KEY_route_made, fmt_iso(rec->made_wall_ns, 3).s);
	put_text(o, KEY_route_sentence, rec->sentence);
	put_count(o, KEY_route_n_sessions, h->past.n);
	put_count(o, KEY_route_n_failed, h->past.n_failed);
	put_ns(o, KEY_route_first_ns, s[0].start_wall_ns);
	put_ns(o, KEY_route_last_ns, s[h->past.n - 1].start_wall_ns);
	put_real(o, KEY_route_median, usual_of(h)->median);
	put_real(o, KEY_route_low, usual_of(h)->low);
	put_real(o, KEY_route_high, usual_of(h)->high);
	put_real(o, KEY_route_best, h->rate[best]);
	result_set(o, KEY_route_best_session, json_integer(s[best].id));
	put_real(o, KEY_route_worst, h->rate[worst]);
	result_set(o, KEY_route_worst_session, json_integer(s[worst].id));
	result_set(o, KEY_route_incidents, json_incref(h->incidents));
	result_set(o, KEY_route_changes, levels_doc(h, claims));
	result_set(o, KEY_route_claims, claims);
	result_set(o, KEY_route_changed,
	    h->changed != NULL && h->story.n_incidents > 0 ? json_incref(h->changed) : json_null());
	result_set(o, KEY_route_advice, h->advice != NULL ? json_incref(h->advice) : json_array());
	result_set(o, KEY_route_verdicts, verdicts_doc(h));
	put_text(o, KEY_route_verdicts_sentence, mix);
	result_set(o, KEY_route_periods, routemix_periods(&h->past));
	result_set(o, KEY_route_hours, pattern_doc(&h->hours, "from", hours_words));
	result_set(o, KEY_route_weekdays, pattern_doc(&h->weekdays, "on", weekday_words));
	free(mix);
	return o;
}

/* The route's history so far, as far as the next history needs. */
struct former {
	int64_t newest_session_id;
	json_t *advice, *changed;
};

static int
on_former(void *arg, const struct nw_route_rec *rec)
{
	struct former *f = arg;
	json_t *doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;

	f->newest_session_id = rec->newest_session_id;
	f->advice = json_incref(json_object_get(doc, result_key_name(KEY_route_advice)));
	f->changed = json_incref(json_object_get(doc, result_key_name(KEY_route_changed)));
	json_decref(doc);
	return 1;
}

static int
on_newest(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct history *h = arg;

	(void)s;
	h->newest = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	return 1;
}

/* A setting at the end of a session. */
struct setting_search {
	struct store_reader *r;
	int64_t t_wall_ns, host_id;
	const char *name;
	char *value;
};

static int
on_host_found(void *arg, const struct nw_host_rec *h)
{
	((struct setting_search *)arg)->host_id = h->id;
	return 1;
}

static int
on_setting_found(void *arg, const struct nw_setting_rec *s)
{
	struct setting_search *q = arg;

	if (strcmp(s->name, q->name) != 0)
		return 0;
	q->value = xstrdup(s->value);
	return 1;
}

static const char *
setting_now(void *arg, const char *host, const char *name, bool *known)
{
	struct setting_search *q = arg;

	free(q->value);
	q->value = NULL;
	q->host_id = 0;
	q->name = name;
	*known = store_host_named(q->r, host, on_host_found, q) == NW_OK && q->host_id != 0 &&
	    store_config_at(q->r, q->host_id, q->t_wall_ns, on_setting_found, q) == NW_OK;
	return q->value;
}

/* The newest session's document adds to the cards, once. */
static int
advice_update(struct store_reader *r, struct history *h, const char *route, const char *program)
{
	const struct past_session *own = &h->past.session[h->past.n - 1];
	const double took_s = own->bytes / own->bytes_per_s;
	struct setting_search q = { .r = r,
		.t_wall_ns = own->start_wall_ns +
		    (took_s > 0 && took_s < 1e6 ? (int64_t)(took_s * 1e9) : 0) };
	struct former f = { 0 };
	int rc = store_session_get(r, own->id, on_newest, h);

	if (rc == NW_OK || rc == NW_ENOTFOUND)
		rc = store_route_get(r, route, program, on_former, &f);
	h->advice = f.newest_session_id == own->id
	    ? json_incref(f.advice)
	    : routeadvice_after(f.advice,
		  &(struct routeadvice_session){
		      h->newest, own->id, own->bytes_per_s, setting_now, &q });
	free(q.value);
	json_decref(f.advice);
	h->changed = json_incref(json_object_get(h->newest, result_key_name(KEY_result_changed)));
	if (json_is_object(h->changed) || !json_is_object(f.changed))
		json_decref(f.changed);
	else {
		/* sessions long after a change do not explain it again */
		json_decref(h->changed);
		h->changed = f.changed;
	}
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

/* The incidents of the history, in its document and as records. */
static int
incidents_find(struct store_reader *r, struct history *h, struct nw_route_rec *rec)
{
	const struct routeincidents_ask ask = { .r = r,
		.route = rec->route,
		.program = rec->program,
		.past = &h->past,
		.story = &h->story,
		.told = h->incident,
		.advice = h->advice };
	int rc = routeincidents_doc(&ask, &h->incidents);

	if (rc == NW_OK)
		rec->incidents = routeincidents_records(&ask, h->incidents, &rec->n_incidents);
	return rc;
}

static int
record_fill(const struct history *h, struct nw_route_rec *out)
{
	json_t *doc;

	out->n_sessions = (int64_t)h->past.n;
	out->newest_session_id = h->past.session[h->past.n - 1].id;
	out->bytes_per_s = usual_of(h)->median;
	out->stage = xstrdup(stage_of_most(h));
	out->sentence = history_words(h);
	doc = history_doc(h, out);
	out->json = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(12));
	json_decref(doc);
	return out->json != NULL ? NW_OK : NW_ENOMEM;
}

int
routehist_make(struct store_reader *r, const char *route, const char *program, int64_t now_wall_ns,
    struct nw_route_rec *out)
{
	struct history h = { 0 };
	int rc;

	*out = (struct nw_route_rec){ .made_wall_ns = now_wall_ns };
	if ((rc = past_load(r, route, program, INT64_MAX, 0, &h.past)) < 0)
		return rc;
	if (h.past.n == 0)
		return NW_ENOTFOUND;
	out->route = xstrdup(route != NULL ? route : "");
	out->program = xstrdup(program != NULL ? program : "");
	if ((rc = advice_update(r, &h, out->route, out->program)) == NW_OK &&
	    (rc = suspicion_fill(r, route, h.past.session, h.past.n)) == NW_OK &&
	    (rc = history_find(&h)) == NW_OK && (rc = incidents_find(r, &h, out)) == NW_OK)
		rc = record_fill(&h, out);
	history_clear(&h);
	if (rc < 0)
		routehist_clear(out);
	return rc;
}

void
routehist_clear(struct nw_route_rec *rec)
{
	routeincidents_free((struct nw_incident_rec *)(uintptr_t)rec->incidents, rec->n_incidents);
	free((char *)rec->route);
	free((char *)rec->program);
	free((char *)rec->stage);
	free((char *)rec->sentence);
	free((char *)rec->json);
	memset(rec, 0, sizeof(*rec));
}
