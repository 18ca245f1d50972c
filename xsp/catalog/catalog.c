/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_NONFATAL_OOM 1
#include "narrows/catalog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <utlist.h>

#include "narrows/err.h"

enum {
	PARENTS_MAX = 32,               /* depth of inheritance */
	INHERITED_MAX_BYTES = 64 << 10, /* a subject together with its transfer's subject */
	SERIES_OVERHEAD_BYTES = 200,    /* of malloc and hash */
	REPORT_SLACK_NS = 10000         /* generation 3 tells times as doubles in seconds */
};
static const int64_t TIME_END_S = 7258118400; /* 2200-01-01 */

/* A data document whose metadata has not arrived. */
struct held {
	struct held *prev, *next;
	char *mid;
	uint16_t opt;
	size_t len, bytes;
	uint8_t *doc;
};

/* --- life --- */

void
catalog_init(struct catalog *c, size_t series_max, void (*on_forget)(struct series *gone))
{
	*c = (struct catalog){ .series_max = series_max, .on_forget = on_forget };
}

static void
layout_clear(struct layout *l)
{
	size_t i;

	for (i = 0; i < l->n_fields; i++)
		free(l->fields[i]);
	free(l->fields);
}

static void
series_free(struct series *s)
{
	layout_clear(&s->layout);
	free(s->mid);
	free(s->event_type);
	free(s->pid);
	free(s->params_json);
	free(s->subject_json);
	json_decref(s->whole_subject);
	free(s->inherited_json);
	free(s->task_id);
	free(s->hostname);
	free(s);
}

/* The series is in no list any more. */
static void
series_forget(struct catalog *c, struct series *s)
{
	c->n_series--;
	c->n_fields -= s->layout.n_fields;
	c->bytes -= s->bytes;
	if (c->on_forget != NULL)
		c->on_forget(s);
	series_free(s);
}

static void
series_forget_all(struct catalog *c, struct series *newest)
{
	struct series *older;

	for (; newest != NULL; newest = older) {
		older = newest->older;
		series_forget(c, newest);
	}
}

static void
held_free(struct catalog *c, struct held *h)
{
	DL_DELETE(c->held, h);
	c->n_held--;
	c->held_bytes -= h->len;
	c->bytes -= h->bytes;
	free(h->mid);
	free(h->doc);
	free(h);
}

void
catalog_clear(struct catalog *c)
{
	struct series *s, *tmp;

	HASH_ITER (hh, c->series, s, tmp) {
		HASH_DEL(c->series, s);
		series_forget_all(c, s);
	}
	while (c->held != NULL)
		held_free(c, c->held);
}

/* --- series --- */

struct series *
catalog_find(struct catalog *c, const char *mid, const char *event_type)
{
	struct series *s;

	HASH_FIND_STR(c->series, mid, s);
	while (s != NULL && event_type != NULL && strcmp(s->event_type, event_type) != 0)
		s = s->older;
	return s;
}

/* Copies text (NULL stays NULL) and adds its size to the series. Returns false without memory. */
static bool
text_keep(struct series *s, char **copy, const char *text)
{
	size_t len;

	if (text == NULL)
		return true;
	len = strlen(text) + 1;
	if ((*copy = malloc(len)) == NULL)
		return false;
	memcpy(*copy, text, len);
	s->bytes += len;
	return true;
}

/* Subject of the transfer, with the ports of one stream, under the series' own subject. */
static json_t *
subjects_merge(json_t *whole, json_t *own_json, const struct nw_subject *own)
{
	char port[8];

	if (!json_is_object(whole) || !json_is_object(own_json))
		return NULL;
	if (own->stream_id != NULL && own->sport != 0 && own->dport != 0) {
		snprintf(port, sizeof(port), "%u", own->sport);
		json_object_set_new(whole, "sport", json_string(port));
		snprintf(port, sizeof(port), "%u", own->dport);
		json_object_set_new(whole, "dport", json_string(port));
	}
	return json_object_update(whole, own_json) == 0 ? json_incref(whole) : NULL;
}

/*
 * The transfer notice of generation 1 says what is measured, disk or network and where; the subject
 * of its calipers is empty, or has the ports of one stream. Returns false without memory.
 */
static bool
subject_inherit(struct catalog *c, struct series *s, const struct nw_subject *own)
{
	const struct series *transfer = s->pid != NULL ? catalog_find(c, s->pid, NULL) : NULL;
	json_t *whole, *own_json;

	if (transfer == NULL || strncmp(transfer->event_type, "xfer", 4) != 0 ||
	    strlen(transfer->subject_json) + strlen(s->subject_json) > INHERITED_MAX_BYTES)
		return true;
	whole = json_loads(transfer->subject_json, 0, NULL);
	own_json = json_loads(s->subject_json, 0, NULL);
	if ((s->whole_subject = subjects_merge(whole, own_json, own)) != NULL &&
	    (s->inherited_json = json_dumps(s->whole_subject, JSON_COMPACT)) != NULL)
		s->bytes += 4 * strlen(s->inherited_json); /* the text, and as much for the tree */
	json_decref(whole);
	json_decref(own_json);
	return s->whole_subject == NULL || s->inherited_json != NULL;
}

static void
text_fill(const char **text, const struct series *s, const char *key)
{
	if (*text == NULL)
		*text = json_string_value(json_object_get(s->whole_subject, key));
}

void
series_subject(const struct series *s, struct nw_subject *subject)
{
	text_fill(&subject->type, s, "type");
	text_fill(&subject->resource, s, "resource");
	text_fill(&subject->src, s, "src");
	text_fill(&subject->dst, s, "dst");
}

/* Takes missing parts of the series from its parents. Returns false without memory. */
static bool
series_inherit(struct catalog *c, struct series *s)
{
	const struct series *p = s;
	bool ok = true;
	unsigned depth;

	for (depth = 0; depth < PARENTS_MAX && p->pid != NULL && ok; depth++) {
		if ((p = catalog_find(c, p->pid, NULL)) == NULL || p == s)
			break;
		if (s->task_id == NULL)
			ok = text_keep(s, &s->task_id, p->task_id);
		if (s->hostname == NULL)
			ok = ok && text_keep(s, &s->hostname, p->hostname);
		if (isnan(s->dt_s))
			s->dt_s = p->dt_s;
		if (isnan(s->ts_s))
			s->ts_s = p->ts_s;
	}
	return ok;
}

/* NULL: no memory. */
static struct series *
series_new(struct catalog *c, const struct nw_meta *m)
{
	struct series *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->bytes = sizeof(*s) + SERIES_OVERHEAD_BYTES;
	s->dt_s = m->dt_s;
	s->ts_s = m->ts_s;
	if (text_keep(s, &s->mid, m->id) && text_keep(s, &s->pid, m->pid) &&
	    text_keep(s, &s->event_type, m->event_type) &&
	    text_keep(s, &s->params_json, m->params_json) &&
	    text_keep(s, &s->subject_json, m->subject_json) &&
	    text_keep(s, &s->task_id, m->subject.task_id) &&
	    text_keep(s, &s->hostname, m->subject.hostname) && series_inherit(c, s) &&
	    subject_inherit(c, s, &m->subject))
		return s;
	series_free(s);
	return NULL;
}

/* Makes `next` (NULL for none) the newest series of a mid whose newest series is `head` (NULL for
 * none). Returns false without memory; the catalogue then has no series of the mid. */
static bool
head_replace(struct catalog *c, struct series *head, struct series *next)
{
	if (head != NULL)
		HASH_DEL(c->series, head);
	if (next != NULL)
		HASH_ADD_KEYPTR(hh, c->series, next->mid, strlen(next->mid), next);
	return next == NULL || next->hh.tbl != NULL;
}

int
catalog_add(struct catalog *c, const struct nw_meta *m, struct series **out, bool *is_new)
{
	struct series *s;

	*is_new = false;
	for (s = catalog_find(c, m->id, NULL); s != NULL; s = s->older)
		if (strcmp(s->event_type, m->event_type) == 0 &&
		    strcmp(s->params_json, m->params_json) == 0 &&
		    strcmp(s->subject_json, m->subject_json) == 0) {
			*out = s;
			return NW_OK;
		}
	if (c->n_series >= c->series_max)
		return NW_ETOOBIG;
	if ((s = series_new(c, m)) == NULL)
		return NW_ENOMEM;
	c->n_series++;
	c->bytes += s->bytes;
	s->older = catalog_find(c, m->id, NULL);
	if (!head_replace(c, s->older, s)) {
		series_forget_all(c, s);
		return NW_ENOMEM;
	}
	*out = s;
	*is_new = true;
	return NW_OK;
}

static void
series_drop(struct catalog *c, struct series *s)
{
	struct series *head = catalog_find(c, s->mid, NULL), *newer = head;

	if (head != s) {
		while (newer->older != s)
			newer = newer->older;
		newer->older = s->older;
	} else if (!head_replace(c, s, s->older))
		series_forget_all(c, s->older);
	series_forget(c, s);
}

size_t
catalog_prune(struct catalog *c, const struct series *keep,
    bool (*is_over)(struct series *s, int64_t now_wall_ns), int64_t now_wall_ns)
{
	struct series *head, *tmp, *s, *older;
	size_t n = c->n_series;

	HASH_ITER (hh, c->series, head, tmp)
		for (s = head; s != NULL; s = older) {
			older = s->older;
			if (s != keep && is_over(s, now_wall_ns))
				series_drop(c, s);
		}
	return n - c->n_series;
}

/* --- data --- */

static bool
has_newer(const struct series *newest, const struct series *s)
{
	while (newest != s && strcmp(newest->event_type, s->event_type) != 0)
		newest = newest->older;
	return newest != s;
}

/* Length of a report in seconds, NaN if the report does not tell its length. */
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
 * Candidates are the series whose last report had ended when this report began (and, with
 * number >= 0, whose next number this is). Once the pause before the last report is known of every
 * candidate, the report belongs to the candidate with the most similar pause. Until then: a
 * candidate that paused for less than half of this report reports all the time, and among several
 * such the one with the longest pause comes next; without such a candidate the last reporter goes
 * on.
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
catalog_series_of(struct catalog *c, const struct nw_data *d)
{
	struct series *newest = catalog_find(c, d->mid, d->event_type), *found;
	int64_t begin_wall_ns, length_ns;
	double dur_s;

	if (newest == NULL || newest->older == NULL || d->event_type != NULL ||
	    newest->last_wall_ns == 0)
		return newest; /* the first data behind new metadata belong to that metadata */
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

/* Senders of generation 1 number their samples and tell the time of the first sample once. */
static int64_t
time_of_sample(const struct series *s, int64_t number, int64_t now_wall_ns)
{
	double t_s = s->ts_s + (double)number * s->dt_s;

	/* without a number, or outside the sane times, the time of arrival is the best estimate */
	if (number < 0 || !(t_s >= 0 && t_s < (double)TIME_END_S))
		return now_wall_ns;
	return (int64_t)(t_s * 1e9);
}

int64_t
series_row_time(struct series *s, const struct nw_data *d, size_t row, int64_t now_wall_ns)
{
	int64_t t = d->t_wall_ns[row], number = d->sample_number[row];

	if (t == NW_TIME_BY_SAMPLE)
		t = time_of_sample(s, number, now_wall_ns);
	if (t > s->last_wall_ns)
		s->last_wall_ns = t;
	s->next_sample = number < 0 || number == INT64_MAX ? 0 : number + 1;
	return t;
}

/* --- layouts --- */

/* Fields almost always come in the layout's order: each search starts behind the last hit. */
bool
layout_map(const struct layout *l, const struct nw_data *d, uint32_t *where)
{
	size_t i, k, tries, at = 0;

	for (i = 0; i < d->n_fields; i++) {
		for (tries = 0; tries < l->n_fields; tries++) {
			k = at + tries < l->n_fields ? at + tries : at + tries - l->n_fields;
			if (strcmp(l->fields[k], d->fields[i]) == 0)
				break;
		}
		if (tries == l->n_fields)
			return false;
		where[i] = (uint32_t)k;
		at = k + 1 < l->n_fields ? k + 1 : 0;
	}
	return true;
}

static bool
layout_has(const struct layout *l, const char *field)
{
	size_t i;

	for (i = 0; i < l->n_fields; i++)
		if (strcmp(l->fields[i], field) == 0)
			return true;
	return false;
}

int
layout_extend(struct catalog *c, struct series *s, const struct nw_data *d)
{
	struct layout *l = &s->layout;
	size_t i, bytes = s->bytes;
	char **grown;

	if ((grown = realloc(l->fields, (l->n_fields + d->n_fields) * sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	l->fields = grown;
	s->n_layouts++;
	for (i = 0; i < d->n_fields; i++) {
		if (layout_has(l, d->fields[i]))
			continue;
		l->fields[l->n_fields] = NULL;
		if (!text_keep(s, &l->fields[l->n_fields], d->fields[i]))
			break;
		s->bytes += sizeof(*grown);
		l->n_fields++;
		c->n_fields++;
	}
	c->bytes += s->bytes - bytes;
	return i < d->n_fields ? NW_ENOMEM : NW_OK;
}

/* --- documents that wait for their metadata --- */

int
catalog_hold(struct catalog *c, const char *mid, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct held *h;

	if (len > CATALOG_HELD_MAX_BYTES - c->held_bytes)
		return NW_EFULL;
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return NW_ENOMEM;
	h->mid = strdup(mid);
	h->doc = malloc(len > 0 ? len : 1);
	if (h->mid == NULL || h->doc == NULL) {
		free(h->mid);
		free(h->doc);
		free(h);
		return NW_ENOMEM;
	}
	memcpy(h->doc, doc, len);
	h->opt = opt;
	h->len = len;
	h->bytes = sizeof(*h) + strlen(mid) + 1 + len;
	DL_APPEND(c->held, h);
	c->n_held++;
	c->held_bytes += len;
	c->bytes += h->bytes;
	return NW_OK;
}

uint8_t *
catalog_held_take(struct catalog *c, const char *mid, uint16_t *opt, size_t *len)
{
	struct held *h;
	uint8_t *doc;

	DL_FOREACH (c->held, h)
		if (strcmp(h->mid, mid) == 0)
			break;
	if (h == NULL)
		return NULL;
	doc = h->doc;
	h->doc = NULL;
	*opt = h->opt;
	*len = h->len;
	held_free(c, h);
	return doc;
}
