/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/origin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <utlist.h>

#include "daemon/box.h"
#include "daemon/conf.h"
#include "daemon/session.h"
#include "daemon/xsess.h"
#include "narrows/clock.h"

enum {
	HELD_MAX_BYTES = 256 << 10,     /* per origin */
	PARENTS_MAX = 32,               /* depth of inheritance */
	INHERITED_MAX_BYTES = 64 << 10, /* of a subject with what its transfer's says */
	REPORT_SLACK_NS = 10000,        /* times of generation 3 are doubles in seconds */
	IDLE_MAX = 1000,                /* providers that are gone, whose metadata is remembered */
	PROVIDERS_MAX = 100000          /* whose numbers are remembered */
};
static const int64_t TIME_END_S = 7258118400; /* 2200-01-01 */
#define PROVIDER_KEEP_NS   (10 * 60 * (int64_t)1000000000)
#define WITNESS_KEEP_NS    (60 * (int64_t)1000000000)
#define MAKE_ROOM_EVERY_NS ((int64_t)1000000000)

struct held {
	struct held *prev, *next;
	char *mid;
	uint16_t opt;
	size_t len;
	uint8_t *doc;
};

static void
series_free(struct series *s)
{
	size_t i;

	for (i = 0; i < s->layout.n_fields; i++)
		free(s->layout.fields[i]);
	free(s->layout.fields);
	free(s->mid);
	free(s->event_type);
	free(s->pid);
	free(s->params_json);
	free(s->subject_json);
	json_decref(s->whole_subject);
	free(s->inherited_json);
	free(s->task_id);
	free(s->hostname);
	session_release(s->session);
	free(s);
}

static void
held_free(struct origin *o, struct held *h)
{
	DL_DELETE(o->held, h);
	o->held_bytes -= h->len;
	free(h->mid);
	free(h->doc);
	free(h);
}

static void
series_forget(struct origin *o)
{
	struct series *s, *tmp, *older;

	HASH_ITER (hh, o->series, s, tmp) {
		HASH_DEL(o->series, s);
		for (; s != NULL; s = older) {
			older = s->older;
			series_free(s);
		}
	}
	o->n_fields = o->n_series = 0;
}

static void
origin_free(struct origin *o)
{
	if (o->provider_id != NULL)
		HASH_DEL(o->box->origins, o);
	series_forget(o);
	while (o->held != NULL) {
		counter_add(&o->box->counters.data_without_metadata, 1);
		held_free(o, o->held);
	}
	free(o->provider_id);
	free(o);
}

struct origin *
origin_get(struct box *box, const char *provider_id)
{
	struct origin *o = NULL;

	if (provider_id != NULL)
		HASH_FIND_STR(box->origins, provider_id, o);
	if (o == NULL) {
		o = xcalloc(1, sizeof(*o));
		o->box = box;
		o->provider_id = xstrdup(provider_id);
		if (provider_id != NULL)
			HASH_ADD_KEYPTR(
			    hh, box->origins, o->provider_id, strlen(o->provider_id), o);
	}
	return origin_hold(o);
}

struct origin *
origin_hold(struct origin *o)
{
	o->refs++;
	return o;
}

void
origin_release(struct origin *o)
{
	if (o == NULL || --o->refs > 0)
		return;
	if (o->provider_id == NULL)
		origin_free(o);
	else
		o->idle_since_mono_ns = nw_mono_ns();
}

void
origin_restore(struct box *box, const char *provider_id, uint64_t stored_seq)
{
	struct origin *o = origin_get(box, provider_id);

	o->accepted_seq = o->stored_seq = stored_seq;
	origin_release(o);
}

static bool
is_idle_with_series(const struct origin *o)
{
	return o->refs == 0 && o->series != NULL;
}

/*
 * Its metadata goes after a while, or when very many have gone since: a provider that is back says
 * it again, and the series only begin anew in the store. Its numbers stay, or what is sent again
 * after a long absence would be stored twice. The oldest go first: the hash keeps the order of
 * insertion.
 */
void
origin_expire(struct box *box, int64_t now_mono_ns)
{
	unsigned spare =
	    HASH_COUNT(box->origins) > PROVIDERS_MAX ? HASH_COUNT(box->origins) - PROVIDERS_MAX : 0;
	unsigned idle = 0;
	struct origin *o, *tmp;

	HASH_ITER (hh, box->origins, o, tmp)
		idle += is_idle_with_series(o);
	HASH_ITER (hh, box->origins, o, tmp) {
		if (is_idle_with_series(o) &&
		    (idle > IDLE_MAX || now_mono_ns - o->idle_since_mono_ns > PROVIDER_KEEP_NS)) {
			series_forget(o);
			idle--;
		}
		if (o->refs == 0 && spare > 0) {
			origin_free(o);
			spare--;
		}
	}
}

void
origin_free_all(struct box *box)
{
	struct origin *o, *tmp;

	HASH_ITER (hh, box->origins, o, tmp)
		origin_free(o);
}

void
origin_stored(struct origin *o, uint64_t seq)
{
	if (seq > o->stored_seq)
		o->stored_seq = seq;
	if (o->xsess != NULL)
		xsess_stored(o->xsess, o->stored_seq);
}

void
origin_lost(struct origin *o)
{
	o->accepted_seq = o->stored_seq;
	if (o->xsess != NULL)
		xsess_abort(o->xsess, "the store refused its data");
}

struct series *
origin_series(struct origin *o, const char *mid, const char *event_type)
{
	struct series *s;

	HASH_FIND_STR(o->series, mid, s);
	while (s != NULL && event_type != NULL && strcmp(s->event_type, event_type) != 0)
		s = s->older;
	return s;
}

static bool
has_newer(const struct series *newest, const struct series *s)
{
	while (newest != s && strcmp(newest->event_type, s->event_type) != 0)
		newest = newest->older;
	return newest != s;
}

/* NaN: the report does not say how long it was. */
static double
report_duration(const struct nw_data *d)
{
	size_t i;

	for (i = 0; i < d->n_fields && d->n_rows == 1; i++)
		if (strcmp(d->fields[i], "dur") == 0)
			return d->values[i];
	return NAN;
}

/*
 * Of the series whose last report had ended when this one began: the one that had waited as long
 * before its last report. Before that is known, one that waited for less than half of this report's
 * length reports all the time, and of several such it is the turn of the one that waited longest;
 * else the one that spoke last goes on. By number: only those whose next one this is.
 */
static struct series *
reporter_find(struct series *newest, int64_t begin_wall_ns, int64_t length_ns, int64_t number)
{
	struct series *s, *same = NULL, *turn = NULL, *last = NULL;
	int64_t waited, off, least_off = 0;
	bool know_all = true;

	for (s = newest; s != NULL; s = s->older) {
		waited = begin_wall_ns - s->last_wall_ns;
		if (waited < 0 || has_newer(newest, s) || (number >= 0 && s->next_sample != number))
			continue;
		off = waited > s->waited_ns ? waited - s->waited_ns : s->waited_ns - waited;
		if (s->waited_ns == 0)
			know_all = false;
		else if (same == NULL || off < least_off) {
			same = s;
			least_off = off;
		}
		if (waited < length_ns / 2 &&
		    (turn == NULL || s->last_wall_ns < turn->last_wall_ns))
			turn = s;
		if (last == NULL || s->last_wall_ns > last->last_wall_ns)
			last = s;
	}
	return know_all ? same : turn != NULL ? turn : last;
}

struct series *
origin_series_of(struct origin *o, const struct nw_data *d)
{
	struct series *newest = origin_series(o, d->mid, d->event_type), *found;
	int64_t begin_wall_ns, length_ns;
	double dur_s;

	if (newest == NULL || newest->older == NULL || d->event_type != NULL ||
	    newest->last_wall_ns == 0)
		return newest; /* metadata are followed by their first data */
	dur_s = report_duration(d);
	if (!(dur_s >= 0 && dur_s < 1e9) || d->t_wall_ns[0] == NW_TIME_BY_SAMPLE)
		return newest;
	length_ns = (int64_t)(dur_s * 1e9);
	begin_wall_ns = d->t_wall_ns[0] - length_ns + REPORT_SLACK_NS;
	if ((found = reporter_find(newest, begin_wall_ns, length_ns, d->sample_number[0])) ==
		NULL &&
	    (found = reporter_find(newest, begin_wall_ns, length_ns, -1)) == NULL)
		return newest;
	found->waited_ns = begin_wall_ns - found->last_wall_ns;
	return found;
}

bool
data_times_are_sane(const struct nw_data *d)
{
	size_t i;

	for (i = 0; i < d->n_rows; i++)
		if (d->t_wall_ns[i] != NW_TIME_BY_SAMPLE &&
		    (d->t_wall_ns[i] < 0 || d->t_wall_ns[i] >= TIME_END_S * 1000000000))
			return false;
	return true;
}

/* Senders of generation 1 number their samples and say once when the first was. */
static int64_t
time_of_sample(const struct series *s, int64_t number, int64_t now_wall_ns)
{
	double t_s = s->ts_s + (double)number * s->dt_s;

	/* not a number, or outside the times that can be told: when it arrived is the best word for
	 * it */
	if (number < 0 || !(t_s >= 0 && t_s < (double)TIME_END_S))
		return now_wall_ns;
	return (int64_t)(t_s * 1e9);
}

int64_t
series_row_time(struct series *s, const struct nw_data *d, size_t row, int64_t now_wall_ns)
{
	int64_t t = d->t_wall_ns[row];

	if (t == NW_TIME_BY_SAMPLE)
		t = time_of_sample(s, d->sample_number[row], now_wall_ns);
	if (t > s->last_wall_ns)
		s->last_wall_ns = t;
	s->next_sample = d->sample_number[row] < 0 ? 0 : d->sample_number[row] + 1;
	return t;
}

/*
 * The transfer notice of generation 1 says what is measured, disk or network and where; its
 * calipers' own subject is empty, or has the ports of one of its streams.
 */
static void
subject_inherit(struct origin *o, struct series *s, const struct nw_subject *own)
{
	const struct series *transfer = s->pid != NULL ? origin_series(o, s->pid, NULL) : NULL;
	json_t *whole, *mine;
	char port[8];

	if (transfer == NULL || strncmp(transfer->event_type, "xfer", 4) != 0 ||
	    strlen(transfer->subject_json) + strlen(s->subject_json) > INHERITED_MAX_BYTES)
		return;
	whole = json_loads(transfer->subject_json, 0, NULL);
	mine = json_loads(s->subject_json, 0, NULL);
	if (json_is_object(whole) && json_is_object(mine)) {
		if (own->stream_id != NULL && own->sport != 0 && own->dport != 0) {
			snprintf(port, sizeof(port), "%u", own->sport);
			json_object_set_new(whole, "sport", json_string(port));
			snprintf(port, sizeof(port), "%u", own->dport);
			json_object_set_new(whole, "dport", json_string(port));
		}
		json_object_update(whole, mine);
		s->whole_subject = json_incref(whole);
		s->inherited_json = json_dumps(whole, JSON_COMPACT);
	}
	json_decref(whole);
	json_decref(mine);
}

static void
text_fill(const char **text, const struct series *s, const char *key)
{
	if (*text == NULL)
		*text = json_string_value(json_object_get(s->whole_subject, key));
}

void
origin_series_subject(const struct series *s, struct nw_subject *subject)
{
	text_fill(&subject->type, s, "type");
	text_fill(&subject->resource, s, "resource");
	text_fill(&subject->src, s, "src");
	text_fill(&subject->dst, s, "dst");
}

/* What the subject or a parent says; own value first. */
static void
series_inherit(struct origin *o, struct series *s, const struct nw_meta *m)
{
	const struct series *p = s;
	unsigned depth;

	s->task_id = xstrdup(m->subject.task_id);
	s->hostname = xstrdup(m->subject.hostname);
	s->dt_s = m->dt_s;
	s->ts_s = m->ts_s;
	for (depth = 0; depth < PARENTS_MAX && p->pid != NULL; depth++) {
		if ((p = origin_series(o, p->pid, NULL)) == NULL || p == s)
			break;
		if (s->task_id == NULL)
			s->task_id = xstrdup(p->task_id);
		if (s->hostname == NULL)
			s->hostname = xstrdup(p->hostname);
		if (s->dt_s != s->dt_s)
			s->dt_s = p->dt_s;
		if (s->ts_s != s->ts_s)
			s->ts_s = p->ts_s;
	}
}

static void
series_drop(struct origin *o, struct series *s)
{
	struct series *head = origin_series(o, s->mid, NULL), *newer = head;

	if (head == s) {
		HASH_DEL(o->series, s);
		if (s->older != NULL)
			HASH_ADD_KEYPTR(
			    hh, o->series, s->older->mid, strlen(s->older->mid), s->older);
	} else {
		while (newer->older != s)
			newer = newer->older;
		newer->older = s->older;
	}
	o->n_series--;
	o->n_fields -= s->layout.n_fields;
	series_free(s);
}

static bool
series_is_over(struct series *s, int64_t now_wall_ns)
{
	if (!s->witness || (s->session = session_now(s->session)) == NULL)
		return false;
	return s->session->state == SESSION_CLOSED &&
	    now_wall_ns - s->session->closed_wall_ns > WITNESS_KEEP_NS;
}

bool
origin_make_room(struct origin *o, const struct series *but)
{
	int64_t now_mono_ns = nw_mono_ns(), now_wall_ns = nw_wall_ns();
	struct series *head, *tmp, *s, *older;
	size_t n = o->n_series;

	if (o->made_room_mono_ns != 0 && now_mono_ns - o->made_room_mono_ns < MAKE_ROOM_EVERY_NS)
		return false;
	o->made_room_mono_ns = now_mono_ns;
	HASH_ITER (hh, o->series, head, tmp)
		for (s = head; s != NULL; s = older) {
			older = s->older;
			if (s != but && series_is_over(s, now_wall_ns))
				series_drop(o, s);
		}
	return o->n_series < n;
}

struct series *
origin_series_add(struct origin *o, const struct nw_meta *m, bool *is_new)
{
	struct series *head, *s;

	*is_new = false;
	HASH_FIND_STR(o->series, m->id, head);
	for (s = head; s != NULL; s = s->older)
		if (strcmp(s->event_type, m->event_type) == 0 &&
		    strcmp(s->params_json, m->params_json) == 0 &&
		    strcmp(s->subject_json, m->subject_json) == 0)
			return s;
	if (o->n_series >= o->box->conf->max_series_per_session) {
		if (!origin_make_room(o, NULL))
			return NULL;
		HASH_FIND_STR(o->series, m->id, head);
	}
	s = xcalloc(1, sizeof(*s));
	s->mid = xstrdup(m->id);
	s->pid = xstrdup(m->pid);
	s->event_type = xstrdup(m->event_type);
	s->params_json = xstrdup(m->params_json);
	s->subject_json = xstrdup(m->subject_json);
	series_inherit(o, s, m);
	subject_inherit(o, s, &m->subject);
	s->older = head;
	if (head != NULL)
		HASH_DEL(o->series, head);
	HASH_ADD_KEYPTR(hh, o->series, s->mid, strlen(s->mid), s);
	o->n_series++;
	*is_new = true;
	return s;
}

bool
origin_held_add(struct origin *o, const char *mid, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct held *h;

	if (len > HELD_MAX_BYTES - o->held_bytes)
		return false;
	h = xcalloc(1, sizeof(*h));
	h->mid = xstrdup(mid);
	h->opt = opt;
	h->len = len;
	h->doc = memcpy(xmalloc(len), doc, len);
	DL_APPEND(o->held, h);
	o->held_bytes += len;
	return true;
}

uint8_t *
origin_held_take(struct origin *o, const char *mid, uint16_t *opt, size_t *len)
{
	struct held *h;
	uint8_t *doc;

	DL_FOREACH (o->held, h)
		if (strcmp(h->mid, mid) == 0)
			break;
	if (h == NULL)
		return NULL;
	doc = h->doc;
	h->doc = NULL;
	*opt = h->opt;
	*len = h->len;
	held_free(o, h);
	return doc;
}
