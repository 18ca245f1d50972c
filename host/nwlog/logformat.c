/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwlog/logformat.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "narrows/calendar.h"
#include "narrows/err.h"

enum { NAME_BYTES = 32, TEXT_BYTES = 512, PARTS_MAX = 48, PATTERNS_MAX = 8 };

/* A slot, and the text behind it. The first part of a pattern has no slot. */
struct part {
	char name[NAME_BYTES]; /* "-": without use; empty: no slot */
	char text[TEXT_BYTES];
};

struct pattern {
	struct part *part;
	size_t n;
};

/* Reads a time at *p up to end, and moves *p behind the time. */
typedef bool time_fn(const char **p, const char *end, int64_t *t_wall_ns);

struct logformat {
	char event[NAME_BYTES], program[NAME_BYTES];
	time_fn *time;
	struct pattern pattern[PATTERNS_MAX];
	size_t n;
};

/* --- times --- */

static bool
digits(const char **p, const char *end, int n, int *out)
{
	for (*out = 0; n > 0; n--, (*p)++) {
		if (*p == end || **p < '0' || **p > '9')
			return false;
		*out = 10 * *out + (**p - '0');
	}
	return true;
}

static bool
literal(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

static bool
month_name(const char **p, const char *end, int *month)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	if (end - *p < 3)
		return false;
	for (*month = 1; *month <= 12; (*month)++)
		if (memcmp(*p, names + 3 * (*month - 1), 3) == 0) {
			*p += 3;
			return true;
		}
	return false;
}

/* "01:33:07" with a fraction or without. */
static bool
clock_read(const char **p, const char *end, struct calendar *c)
{
	int64_t unit = 100000000;

	if (!digits(p, end, 2, &c->hour) || !literal(p, end, ':') ||
	    !digits(p, end, 2, &c->minute) || !literal(p, end, ':') ||
	    !digits(p, end, 2, &c->second))
		return false;
	if (*p < end && **p == '.')
		for ((*p)++; *p < end && **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
			c->ns += unit * (**p - '0');
	return true;
}

/* "Z", "+0100" or "+01:00". */
static bool
zone_read(const char **p, const char *end, int64_t *east_s)
{
	int hour, minute, sign;

	*east_s = 0;
	if (literal(p, end, 'Z'))
		return true;
	if (*p == end || (**p != '+' && **p != '-'))
		return false;
	sign = *(*p)++ == '-' ? -1 : 1;
	if (!digits(p, end, 2, &hour))
		return false;
	(void)literal(p, end, ':');
	if (!digits(p, end, 2, &minute))
		return false;
	*east_s = sign * (3600 * hour + 60 * minute);
	return true;
}

static bool
zoned(const struct calendar *c, int64_t east_s, int64_t *t_wall_ns)
{
	if (!calendar_ns(c, t_wall_ns))
		return false;
	*t_wall_ns -= east_s * 1000000000;
	return true;
}

/* A time without zone is of this host's zone. */
static bool
local(const struct calendar *c, int64_t *t_wall_ns)
{
	struct tm tm = { .tm_year = c->year - 1900,
		.tm_mon = c->month - 1,
		.tm_mday = c->day,
		.tm_hour = c->hour,
		.tm_min = c->minute,
		.tm_sec = c->second,
		.tm_isdst = -1 };
	int64_t valid;
	time_t t;

	if (!calendar_ns(c, &valid) || (t = mktime(&tm)) == (time_t)-1)
		return false;
	*t_wall_ns = (int64_t)t * 1000000000 + c->ns;
	return true;
}

/* "1795827864.123" */
static bool
time_unix(const char **p, const char *end, int64_t *t_wall_ns)
{
	int64_t s = 0, ns = 0, unit = 100000000;
	const char *begin = *p;

	for (; *p < end && **p >= '0' && **p <= '9' && *p - begin < 10; (*p)++)
		s = 10 * s + (**p - '0');
	if (*p == begin || s > 9000000000)
		return false;
	if (*p < end && **p == '.')
		for ((*p)++; *p < end && **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
			ns += unit * (**p - '0');
	*t_wall_ns = s * 1000000000 + ns;
	return true;
}

static bool
date_read(const char **p, const char *end, char between, struct calendar *c)
{
	return digits(p, end, 4, &c->year) && literal(p, end, between) &&
	    digits(p, end, 2, &c->month) && literal(p, end, between) && digits(p, end, 2, &c->day);
}

/* "2026-11-28T01:33:07.123+00:00" */
static bool
time_iso(const char **p, const char *end, int64_t *t_wall_ns)
{
	struct calendar c = { 0 };
	int64_t east_s;

	return date_read(p, end, '-', &c) && literal(p, end, 'T') && clock_read(p, end, &c) &&
	    zone_read(p, end, &east_s) && zoned(&c, east_s, t_wall_ns);
}

/* "28/Nov/2026:01:33:07 +0000" */
static bool
time_clf(const char **p, const char *end, int64_t *t_wall_ns)
{
	struct calendar c = { 0 };
	int64_t east_s;

	return digits(p, end, 2, &c.day) && literal(p, end, '/') && month_name(p, end, &c.month) &&
	    literal(p, end, '/') && digits(p, end, 4, &c.year) && literal(p, end, ':') &&
	    clock_read(p, end, &c) && literal(p, end, ' ') && zone_read(p, end, &east_s) &&
	    zoned(&c, east_s, t_wall_ns);
}

/* "2026/11/28 01:33:07" */
static bool
time_slashes(const char **p, const char *end, int64_t *t_wall_ns)
{
	struct calendar c = { 0 };

	return date_read(p, end, '/', &c) && literal(p, end, ' ') && clock_read(p, end, &c) &&
	    local(&c, t_wall_ns);
}

/* "Sat Nov 28 01:33:07 2026", a day below ten behind two blanks */
static bool
time_ctime(const char **p, const char *end, int64_t *t_wall_ns)
{
	struct calendar c = { 0 };
	bool ok;

	if (end - *p < 4)
		return false;
	*p += 3;
	ok = literal(p, end, ' ') && month_name(p, end, &c.month) && literal(p, end, ' ');
	ok = ok && (literal(p, end, ' ') ? digits(p, end, 1, &c.day) : digits(p, end, 2, &c.day));
	return ok && literal(p, end, ' ') && clock_read(p, end, &c) && literal(p, end, ' ') &&
	    digits(p, end, 4, &c.year) && local(&c, t_wall_ns);
}

static const struct {
	const char *name;
	time_fn *fn;
} times[] = { { "unix", time_unix }, { "iso", time_iso }, { "clf", time_clf },
	{ "slashes", time_slashes }, { "ctime", time_ctime } };

/* --- files of formats --- */

static bool
name_read(const char *text, char out[NAME_BYTES])
{
	size_t n =
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (n == 0 || n >= NAME_BYTES || text[n] != '\0')
		return false;
	memcpy(out, text, n + 1);
	return true;
}

/* Cuts a pattern into parts. */
static int
pattern_read(const char *text, struct pattern *p, const char **why)
{
	const char *slot, *end;
	struct part *part;
	bool has_time = false;

	if ((p->part = calloc(PARTS_MAX, sizeof(*p->part))) == NULL)
		return NW_ENOMEM;
	*why = "a pattern has too much text, too many slots, or two slots without text between";
	for (;; text = end + 1) {
		part = &p->part[p->n++];
		if ((slot = strstr(text, "%{")) == NULL)
			slot = text + strlen(text);
		if ((size_t)(slot - text) >= TEXT_BYTES || p->n == PARTS_MAX ||
		    (p->n > 1 && slot == text && *slot != '\0'))
			return NW_EINVAL;
		memcpy(part->text, text, (size_t)(slot - text));
		if (*slot == '\0')
			break;
		*why = "a slot is written %{name}";
		if ((end = strchr(slot, '}')) == NULL || end - slot - 2 >= NAME_BYTES ||
		    end == slot + 2)
			return NW_EINVAL;
		part[1].name[0] = '\0';
		snprintf(part[1].name, NAME_BYTES, "%.*s", (int)(end - slot - 2), slot + 2);
		has_time = has_time || strcmp(part[1].name, "time") == 0;
		*why = "a pattern has too much text, too many slots, or two slots without text "
		       "between";
	}
	*why = "a pattern has no %{time}";
	return has_time ? NW_OK : NW_EINVAL;
}

static int
row_read(struct logformat *f, char *row, const char **why)
{
	char *value = row + strcspn(row, " \t");
	size_t i;

	if (*value != '\0')
		*value++ = '\0';
	value += strspn(value, " \t");
	*why = "write event, program, time or line, and a value";
	if (strcmp(row, "event") == 0)
		return name_read(value, f->event) ? NW_OK : NW_EINVAL;
	if (strcmp(row, "program") == 0)
		return name_read(value, f->program) ? NW_OK : NW_EINVAL;
	if (strcmp(row, "time") == 0) {
		*why = "the time is unix, iso, clf, slashes or ctime";
		for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
			if (strcmp(value, times[i].name) == 0)
				f->time = times[i].fn;
		return f->time != NULL ? NW_OK : NW_EINVAL;
	}
	if (strcmp(row, "line") != 0)
		return NW_EINVAL;
	*why = "more than eight lines";
	if (f->n == PATTERNS_MAX)
		return NW_EINVAL;
	return pattern_read(value, &f->pattern[f->n++], why);
}

int
logformat_read(const char *text, struct logformat **out, unsigned *line, const char **why)
{
	struct logformat *f = calloc(1, sizeof(*f));
	char row[4 * TEXT_BYTES];
	int rc = f != NULL ? NW_OK : NW_ENOMEM;
	size_t len;

	*why = "no memory";
	for (*line = 1; rc == NW_OK && *text != '\0'; (*line)++) {
		len = strcspn(text, "\n");
		*why = "a line is too long";
		if (len >= sizeof(row)) {
			rc = NW_EINVAL;
			break;
		}
		memcpy(row, text, len);
		row[len] = '\0';
		if (row[0] != '#' && row[0] != '\0' && (rc = row_read(f, row, why)) < 0)
			break;
		text += len + (text[len] == '\n');
	}
	if (rc == NW_OK &&
	    (f->event[0] == '\0' || f->program[0] == '\0' || f->time == NULL || f->n == 0)) {
		*why = "event, program, time or line is missing";
		rc = NW_EINVAL;
	}
	if (rc == NW_OK)
		*out = f;
	else
		logformat_free(f);
	return rc;
}

void
logformat_free(struct logformat *f)
{
	if (f == NULL)
		return;
	while (f->n > 0)
		free(f->pattern[--f->n].part);
	free(f);
}

/* --- lines of logs --- */

struct output {
	char *text;
	size_t len, cap;
};

/* A value between quotation marks; what would end or steer the line becomes a question mark. */
static void
value_put(struct output *o, const char *name, const char *text, size_t len)
{
	size_t i, n = strlen(name);

	if (o->len + n + len + 5 > o->cap) {
		o->len = o->cap;
		return;
	}
	o->len += (size_t)sprintf(o->text + o->len, " %s=\"", name);
	for (i = 0; i < len; i++)
		o->text[o->len++] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ||
			text[i] == '"' || text[i] == '\\'
		    ? '?'
		    : text[i];
	o->text[o->len++] = '"';
}

/* Where the text behind a slot begins; NULL if it does not come. */
static const char *
text_find(const char *p, const char *end, const char *text, bool is_last)
{
	size_t n = strlen(text);

	if (is_last && n <= (size_t)(end - p) && memcmp(end - n, text, n) == 0)
		return end - n;
	return is_last ? NULL : memmem(p, (size_t)(end - p), text, n);
}

/* Writes the values of a line that fits the pattern. Returns false for another line. */
static bool
pattern_fits(const struct logformat *f, const struct pattern *p, const char *line, const char *end,
    struct output *o, int64_t *t_wall_ns)
{
	size_t n = strlen(p->part[0].text), i;
	const char *at = line, *next;

	if ((size_t)(end - line) < n || memcmp(line, p->part[0].text, n) != 0)
		return false;
	at += n;
	for (i = 1; i < p->n; i++) {
		next = at;
		if (strcmp(p->part[i].name, "time") == 0) {
			if (!f->time(&next, end, t_wall_ns))
				return false;
			n = strlen(p->part[i].text);
			if ((size_t)(end - next) < n || memcmp(next, p->part[i].text, n) != 0)
				return false;
		} else {
			next = text_find(at, end, p->part[i].text, i + 1 == p->n);
			if (next == NULL)
				return false;
			if (strcmp(p->part[i].name, "-") != 0)
				value_put(o, p->part[i].name, at, (size_t)(next - at));
		}
		at = next + strlen(p->part[i].text);
	}
	return at == end;
}

int
logformat_line(const struct logformat *f, const char *line, size_t len, char *out, size_t cap)
{
	char head[4 * NAME_BYTES];
	struct output o;
	int64_t t_wall_ns;
	size_t i;
	int n;

	for (i = 0; i < f->n; i++) {
		/* the time is known at the end: the values leave room for the head */
		o = (struct output){ out + sizeof(head), 0, cap - sizeof(head) };
		if (cap <= sizeof(head) ||
		    !pattern_fits(f, &f->pattern[i], line, line + len, &o, &t_wall_ns))
			continue;
		if (o.len >= o.cap)
			return NW_ETOOBIG;
		n = snprintf(head, sizeof(head), "ts=%lld.%09lld event=%s prog=%s",
		    (long long)(t_wall_ns / 1000000000), (long long)(t_wall_ns % 1000000000),
		    f->event, f->program);
		memmove(out + n, o.text, o.len);
		memcpy(out, head, (size_t)n);
		out[(size_t)n + o.len] = '\0';
		return n + (int)o.len;
	}
	return NW_ENOTFOUND;
}
