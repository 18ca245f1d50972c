/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NetLogger lines: ULM, as GridFTP servers write, and BP ("Logging Best Practices").
 *
 *	DATE=20260504100431.204417 HOST=dtn1 PROG=globus-gridftp-server NL.EVNT=FTP_INFO
 *	    START=... FILE=/a b BUFFER=0 ...
 *	ts=2026-05-04T10:00:01.118305Z event=org.example.xfer.end level=Info guid=... status=0
 *	    dur=2.5 msg="a \"b\""
 *
 * The event type is "nl:" and the event. Identifying names (guid, id, *.id, TASKID, SRC, DST, ...)
 * are the subject, the other numbers are the fields; VAL is "value", DELTA "delta". An event
 * without a number counts itself: count 1.
 *
 * The time of a transfer line is the transfer's end (DATE); dur_s is its duration, left out when
 * START is later, as after a clock step. File names are not kept: a series per file would be one
 * value each.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/eventtype.h"
#include "narrows/fnv.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

enum { PAIRS_MAX = 128, SERIES_MAX = 1000, SET_SLOTS = 4096 };

struct pair {
	struct slice name, value;
};

struct line {
	struct import *im;
	const char *start;
	struct pair pairs[PAIRS_MAX];
	size_t n;
	char *text; /* unescaped values */
};

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* The beginning of the next "NAME=" behind a blank; end without another pair. */
static const char *
next_pair(const char *p, const char *end, const char *name)
{
	const char *q;

	for (; p < end; p++) {
		if (*p != ' ')
			continue;
		for (q = p + 1; q < end && is_name(*q); q++)
			;
		if (q < end && q > p + 1 && *q == '=' &&
		    (name == NULL || slice_is((struct slice){ p + 1, (size_t)(q - p - 1) }, name)))
			return p;
	}
	return end;
}

/* From behind the quote; backslash-quote is the only escape. NULL: no end. */
static const char *
quoted(struct line *l, const char *p, const char *end, struct slice *out)
{
	/* big enough: unquoting never lengthens a value */
	char *to = l->text + (out->s - l->start), *first = to;

	for (; p < end && *p != '"'; p++) {
		if (*p == '\\' && p + 1 < end && p[1] == '"')
			p++;
		*to++ = *p;
	}
	*out = (struct slice){ first, (size_t)(to - first) };
	return p < end ? p + 1 : NULL;
}

/* Reads the value of one pair. A FILE is not quoted, may have blanks, and ends at " BUFFER=". */
static int
value_take(struct line *l, struct pair *pair, const char **p, const char *end)
{
	const char *start = *p;

	pair->value.s = start;
	if (start < end && *start == '"') {
		if ((*p = quoted(l, start + 1, end, &pair->value)) == NULL)
			return import_fail(l->im, start, "this quote has no end");
		return NW_OK;
	}
	if (slice_is(pair->name, "FILE"))
		*p = next_pair(start, end, "BUFFER");
	else
		while (*p < end && **p != ' ')
			++*p;
	pair->value.len = (size_t)(*p - start);
	return NW_OK;
}

static int
line_parse(struct line *l, struct slice line)
{
	const char *p = line.s, *end = line.s + line.len, *name;
	int rc;

	l->start = line.s;
	l->n = 0;
	l->text = xreallocarray(l->text, line.len + 1, 1);
	while (p < end) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		for (name = p; p < end && is_name(*p); p++)
			;
		if (p == end || *p != '=' || p == name) { /* other text is skipped */
			while (p < end && *p != ' ')
				p++;
			continue;
		}
		if (l->n == PAIRS_MAX)
			return import_fail(l->im, name, "more than %d values in a line", PAIRS_MAX);
		l->pairs[l->n].name = (struct slice){ name, (size_t)(p - name) };
		p++;
		if ((rc = value_take(l, &l->pairs[l->n], &p, end)) < 0)
			return rc;
		l->n++;
	}
	return NW_OK;
}

static struct slice
get(const struct line *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (slice_is(l->pairs[i].name, name))
			return l->pairs[i].value;
	return (struct slice){ "", 0 };
}

/* --- meanings of names --- */

enum role { FIELD, SKIP, SUBJECT };

static const struct known {
	const char *name, *as;
	enum role role;
} known[] = {
	{ "ts", NULL, SKIP },
	{ "event", NULL, SKIP },
	{ "DATE", NULL, SKIP },
	{ "NL.EVNT", NULL, SKIP },
	{ "NL.SEC", NULL, SKIP },
	{ "NL.USEC", NULL, SKIP },
	{ "START", NULL, SKIP },
	{ "FILE", NULL, SKIP },
	{ "level", NULL, SKIP },
	{ "LVL", NULL, SKIP },
	{ "msg", NULL, SKIP },
	{ "nlhash", NULL, SKIP },
	{ "_hash", NULL, SKIP },
	{ "retrans", NULL, SKIP },
	{ "HOST", "hostname", SUBJECT },
	{ "host", "hostname", SUBJECT },
	{ "PROG", "prog", SUBJECT },
	{ "prog", "prog", SUBJECT },
	{ "guid", "guid", SUBJECT },
	{ "id", "id", SUBJECT },
	{ "ID", "id", SUBJECT },
	{ "TASKID", "task_id", SUBJECT },
	{ "task_id", "task_id", SUBJECT },
	{ "SRC", "src", SUBJECT },
	{ "DST", "dst", SUBJECT },
	{ "DEST", "dst", SUBJECT },
	{ "src", "src", SUBJECT },
	{ "dst", "dst", SUBJECT },
	{ "TYPE", "type", SUBJECT },
	{ "USER", "user", SUBJECT },
	{ "VOLUME", "volume", SUBJECT },
	{ "VAL", "value", FIELD },
	{ "DELTA", "delta", FIELD },
	{ "NBYTES", "bytes", FIELD },
	{ "BUFFER", "buffer", FIELD },
	{ "BLOCK", "block", FIELD },
	{ "STREAMS", "streams", FIELD },
	{ "STRIPES", "stripes", FIELD },
	{ "CODE", "code", FIELD },
	{ "dur", "dur", FIELD },
};

static const struct known *
known_of(struct slice name)
{
	static const struct known same = { "", NULL, FIELD }, id = { "", NULL, SUBJECT };
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (slice_is(name, known[i].name))
			return &known[i];
	return name.len > 3 && memcmp(name.s + name.len - 3, ".id", 3) == 0 ? &id : &same;
}

static struct slice
name_of(const struct known *k, struct slice name)
{
	return k->as != NULL ? slice_of(k->as) : name;
}

/* Cleans a value: "none" is no task; a peer stands in brackets, in some versions behind a count;
 * 0.0.0.0 is no host. */
static struct slice
subject_value(struct slice name, struct slice value)
{
	static const struct slice nobody = { "", 0 };
	const char *open;

	if (slice_is(name, "TASKID"))
		return slice_is(value, "none") ? nobody : value;
	if (!slice_is(name, "DEST"))
		return value;
	open = memchr(value.s, '[', value.len);
	if (open != NULL && value.s[value.len - 1] == ']')
		value = (struct slice){ open + 1, (size_t)(value.s + value.len - open) - 2 };
	return slice_is(value, "0.0.0.0") ? nobody : value;
}

/* 36,17,0,4: of all streams */
static bool
sum_of(struct slice list, double *sum)
{
	const char *p = list.s, *end = list.s + list.len, *comma;
	double v;

	for (*sum = 0; p < end; p = comma + 1) {
		if ((comma = memchr(p, ',', (size_t)(end - p))) == NULL)
			comma = end;
		if (!import_number((struct slice){ p, (size_t)(comma - p) }, &v))
			return false;
		*sum += v;
	}
	return list.len > 0;
}

static int
line_series(struct line *l, struct slice event, struct import_series **out)
{
	char *key = xasprintf("%.*s", (int)event.len, event.s), *longer, *type;
	const struct known *k;
	const struct pair *p;
	struct slice v, host = get(l, "HOST");
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < l->n; i++) {
		p = &l->pairs[i];
		v = subject_value(p->name, p->value);
		if (known_of(p->name)->role != SUBJECT || v.len == 0)
			continue;
		longer =
		    xasprintf("%s\n%.*s=%.*s", key, (int)p->name.len, p->name.s, (int)v.len, v.s);
		free(key);
		key = longer;
	}
	*out = import_series_find(l->im, key, strlen(key));
	if (*out == NULL) {
		type = xasprintf(NW_TYPE_CALIPER "%.*s", (int)event.len, event.s);
		host = host.len > 0 ? host : get(l, "host");
		*out = import_series_add(l->im, l->start, slice_of(key), host, slice_of(type));
		free(type);
		for (i = 0; *out != NULL && i < l->n && rc == NW_OK; i++)
			if ((k = known_of(l->pairs[i].name))->role == SUBJECT)
				rc = import_set(l->im, l->start, (*out)->subject,
				    name_of(k, l->pairs[i].name),
				    subject_value(l->pairs[i].name, l->pairs[i].value));
	}
	free(key);
	return *out == NULL ? NW_EPROTO : rc;
}

static int
put_value(struct line *l, struct import_series *s, int64_t t, const char *name, const char *unit,
    double v, size_t *n)
{
	if (unit != NULL)
		import_set_unit(s, slice_of(name), unit);
	++*n;
	return import_value(l->im, s, l->start, t, slice_of(name), v);
}

static int
line_values(struct line *l, struct import_series *s, int64_t t)
{
	static const struct {
		const char *name, *unit;
	} units[] = {
		{ "bytes", "By" },
		{ "buffer", "By" },
		{ "block", "By" },
		{ "dur", "s" },
	};
	struct slice start = get(l, "START"), name;
	const struct known *k;
	size_t i, j, n = 0;
	int64_t t0;
	double v;
	int rc = NW_OK;

	for (i = 0; i < l->n && rc == NW_OK; i++) {
		if ((k = known_of(l->pairs[i].name))->role != FIELD ||
		    !import_number(l->pairs[i].value, &v))
			continue;
		name = name_of(k, l->pairs[i].name);
		for (j = 0; k->as != NULL && j < sizeof(units) / sizeof(units[0]); j++)
			if (strcmp(k->as, units[j].name) == 0)
				import_set_unit(s, name, units[j].unit);
		n++;
		rc = import_value(l->im, s, l->pairs[i].name.s, t, name, v);
	}
	if (rc == NW_OK && start.len > 0) {
		if (!import_time_ulm(start, &t0))
			return import_fail(l->im, start.s, "START is not a time");
		if (t0 <= t)
			rc = put_value(l, s, t, "dur_s", "s", (double)(t - t0) / 1e9, &n);
	}
	if (rc == NW_OK && sum_of(get(l, "retrans"), &v))
		rc = put_value(l, s, t, "retrans", "1", v, &n);
	return rc == NW_OK && n == 0 ? put_value(l, s, t, "count", "1", 1, &n) : rc;
}

/* --- lines that may be series --- */

static uint64_t
hash_more(uint64_t h, struct slice s)
{
	return (fnv_bytes(h, s.s, s.len) ^ 0x100) * FNV_PRIME;
}

/* A hash of what makes a series: the event and the identifying values. */
static uint64_t
series_hash(const struct line *l, struct slice event)
{
	uint64_t h = hash_more(FNV_BEGIN, event);
	size_t i;

	for (i = 0; i < l->n; i++)
		if (known_of(l->pairs[i].name)->role == SUBJECT)
			h = hash_more(hash_more(h, l->pairs[i].name),
			    subject_value(l->pairs[i].name, l->pairs[i].value));
	return h | 1;
}

/* Adds a number to a set of at most SERIES_MAX; false if the set is full. */
static bool
set_add(uint64_t set[SET_SLOTS], size_t *n, uint64_t h)
{
	size_t at;

	for (at = h % SET_SLOTS; set[at] != 0; at = (at + 1) % SET_SLOTS)
		if (set[at] == h)
			return true;
	if (*n == SERIES_MAX)
		return false;
	set[at] = h;
	++*n;
	return true;
}

/* Lines whose ids make series by the thousand are events and nothing else. */
static bool
lines_are_series(struct import *im, const char *event_name)
{
	uint64_t *set = xcalloc(SET_SLOTS, sizeof(*set));
	struct line l = { .im = im };
	const char *at = im->bytes;
	struct slice line;
	bool few = true;
	size_t n = 0;

	while (few && import_line(&at, im->end, &line))
		if (line.len > 0 && line.s[0] != '#' && line_parse(&l, line) == NW_OK)
			few = set_add(set, &n, series_hash(&l, get(&l, event_name)));
	free(l.text);
	free(set);
	return few;
}

static int
lines_take(struct import *im, const char *time_name, const char *event_name,
    bool (*time_of)(struct slice, int64_t *))
{
	struct line l = { .im = im };
	struct slice line, event, time;
	const char *at = im->bytes;
	struct import_series *s;
	int64_t t;
	int rc = NW_OK;

	while (rc == NW_OK && import_line(&at, im->end, &line)) {
		if (line.len == 0 || line.s[0] == '#')
			continue;
		if (line_parse(&l, line) < 0)
			continue; /* import_events() has counted and quoted such lines */
		event = get(&l, event_name);
		time = get(&l, time_name);
		if (event.len > 0 && time_of(time, &t) &&
		    (rc = line_series(&l, event, &s)) == NW_OK)
			rc = line_values(&l, s, t);
	}
	free(l.text);
	return rc;
}

static int
netlogger_take(struct import *im, const char *time_name, const char *event_name,
    bool (*time_of)(struct slice, int64_t *))
{
	int rc = import_events(im);

	if (rc == NW_OK && lines_are_series(im, event_name))
		rc = lines_take(im, time_name, event_name, time_of);
	else if (rc < 0)
		return rc;
	if (rc < 0 && rc != NW_EPROTO)
		return rc;
	im->err->text[0] = '\0'; /* what is no series is an event, or was counted as a bad line */
	return NW_OK;
}

int
import_ulm(struct import *im)
{
	return netlogger_take(im, "DATE", "NL.EVNT", import_time_ulm);
}

int
import_bp(struct import *im)
{
	return netlogger_take(im, "ts", "event", import_time);
}
