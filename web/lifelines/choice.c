/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/lifelines/choice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/format.h"

/* --- the query --- */

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
	    : c >= 'A' && c <= 'F'  ? c - 'A' + 10
				    : -1;
}

/* A value of a query, decoded. Returns false for a long value, a NUL, or a broken escape. */
static bool
decode(const char *v, size_t len, char *out, size_t size)
{
	size_t n = 0, i;
	int c;

	for (i = 0; i < len; i++) {
		c = v[i] == '+' ? ' ' : (unsigned char)v[i];
		if (v[i] == '%') {
			if (i + 2 >= len)
				return false;
			if (hex_digit(v[i + 1]) < 0 || hex_digit(v[i + 2]) < 0)
				return false;
			c = hex_digit(v[i + 1]) * 16 + hex_digit(v[i + 2]);
			i += 2;
		}
		if (c == 0 || n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

static bool
number(const char *text, double low, double high, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return end != text && *end == '\0' && errno == 0 && *out >= low && *out <= high;
}

/* "95" (the slowest five of a hundred) or "40-60" */
static bool
take_percentile(void *out, const char *text)
{
	struct choice *c = out;
	char low[32];
	size_t len = strcspn(text, "-");

	c->percentile_high = 100;
	snprintf(low, sizeof(low), "%.*s", (int)len, text);
	return len < sizeof(low) && number(low, 0, 100, &c->percentile_low) &&
	    (text[len] == '\0' ||
		number(text + len + 1, c->percentile_low, 100, &c->percentile_high));
}

/* "IDS@POINT" */
static bool
take_mark(void *out, const char *text)
{
	struct choice_mark *m = out;
	const char *at = strrchr(text, '@');

	if (at == NULL || (size_t)(at - text) >= sizeof(m->line) || strlen(at) >= sizeof(m->point))
		return false;
	snprintf(m->line, sizeof(m->line), "%.*s", (int)(at - text), text);
	snprintf(m->point, sizeof(m->point), "%s", at + 1);
	return true;
}

static bool
take_seconds(void *out, const char *text)
{
	return number(text, -1e9, 1e9, out);
}

static bool
take_bytes(void *out, const char *text)
{
	return number(text, 1, 1e15, out);
}

static bool
take_session(void *out, const char *text)
{
	double v;

	if (!number(text, 1, 9e15, &v))
		return false;
	*(int64_t *)out = (int64_t)v;
	return v == (double)(int64_t)v;
}

static bool
take_clock(void *out, const char *text)
{
	*(bool *)out = strcmp(text, "raw") == 0;
	return *(bool *)out || strcmp(text, "corrected") == 0;
}

#define AT(member) .at = offsetof(struct choice, member)
#define TEXT       .type = PARAM_TEXT, .max = CHOICE_TEXT_BYTES - 1, .form = "text"

static const char *const clocks[] = { "raw", "corrected", NULL };

const struct param choice_params[] = {
	{ "id", TEXT, AT(id), .meaning = "Part of the line's ids.", .example = "12" },
	{ "server", TEXT, AT(server), .meaning = "Name of the server.", .example = "server1" },
	{ "lane", TEXT, AT(lane), .meaning = "Attribute that names a server.",
	    .example = "server" },
	{ "by", TEXT, AT(by), .meaning = "Attributes that name an object.", .example = "block.id" },
	{ "path", PARAM_TEXT, .max = CHOICE_LIST_BYTES - 1, AT(path),
	    .meaning = "Points of the path, in order.", .form = "names with commas",
	    .example = "app.ask,app.get" },
	{ "percentile", .take = take_percentile, .meaning = "Of the duration of finished lines.",
	    .form = "95 or 40-60", .example = "95" },
	{ "from", AT(from_s), .take = take_seconds, .meaning = "Begin of the stretch.",
	    .form = "seconds since the first event", .example = "0.5" },
	{ "to", AT(to_s), .take = take_seconds, .meaning = "End of the stretch.",
	    .form = "seconds since the first event", .example = "2" },
	{ "a", AT(a), .take = take_mark, .meaning = "Begin of a measurement.", .form = "IDS@POINT",
	    .example = "12@app.ask" },
	{ "b", AT(b), .take = take_mark, .meaning = "End of a measurement.", .form = "IDS@POINT",
	    .example = "12@app.get" },
	{ "bytes", AT(line_bytes), .take = take_bytes,
	    .meaning = "Size of a line without a size of its own.", .form = "bytes",
	    .example = "65536" },
	{ "against", AT(against), .take = take_session,
	    .meaning = "Another session beside this one.", .form = "a number", .example = "3" },
	{ "clock", PARAM_WORD, .words = clocks, AT(raw), .take = take_clock,
	    .meaning = "Times as the hosts sent them, or corrected.", .form = "raw or corrected",
	    .example = "raw" },
	{ .name = NULL },
};

static bool
take(struct choice *c, const char *key, size_t key_len, const char *value, size_t len)
{
	char name[16], text[CHOICE_LIST_BYTES];
	const struct param *p;

	snprintf(name, sizeof(name), "%.*s", (int)key_len, key);
	if (key_len >= sizeof(name) || (p = param_find(choice_params, name, 0)) == NULL ||
	    !decode(value, len, text, sizeof(text)))
		return false;
	/* a form sends its empty fields, too */
	return (*text == '\0' && p->take != NULL) || param_take(p, c, text);
}

int
choice_parse(struct choice *c, const char *query, const char **why)
{
	size_t len, key;

	*c = (struct choice){ .percentile_low = NAN,
		.percentile_high = NAN,
		.from_s = NAN,
		.to_s = NAN,
		.line_bytes = NAN };
	for (; query != NULL && *query != '\0'; query += len + (query[len] == '&')) {
		len = strcspn(query, "&");
		key = strcspn(query, "=&");
		if (len == 0)
			continue;
		if (key >= len || !take(c, query, key, query + key + 1, len - key - 1)) {
			*why =
			    "id, server, lane, by, path: text; percentile: 95 or 40-60; from, to: "
			    "seconds; a, b: IDS@POINT; bytes: of a line; clock: raw or corrected; "
			    "against: a session";
			return NW_EINVAL;
		}
	}
	return NW_OK;
}

struct lineset_opts
choice_opts(const struct choice *c)
{
	return (struct lineset_opts){
		.path = c->path, .by = c->by, .lane = c->lane, .raw = c->raw, .stop = c->stop
	};
}

bool
choice_is_all(const struct choice *c)
{
	return c->id[0] == '\0' && c->server[0] == '\0' && isnan(c->percentile_low) &&
	    isnan(c->from_s) && isnan(c->to_s);
}

/* --- the lines --- */

struct limits {
	double total_low, total_high; /* NaN: none */
	int64_t from, to;
};

static int64_t
time_of(const struct lineset *s, double seconds, int64_t unlimited)
{
	int64_t t;

	if (isnan(seconds) || __builtin_add_overflow(s->first_wall_ns, llround(seconds * 1e9), &t))
		return unlimited;
	return t;
}

static int
limits_find(const struct choice *c, const struct lineset *s, struct limits *m)
{
	double *total = calloc(s->lines.n + 1, sizeof(*total));
	size_t i, n = 0;

	*m = (struct limits){ .total_low = NAN,
		.total_high = NAN,
		.from = time_of(s, c->from_s, INT64_MIN),
		.to = time_of(s, c->to_s, INT64_MAX) };
	if (total == NULL)
		return NW_ENOMEM;
	for (i = 0; i < s->lines.n && !isnan(c->percentile_low); i++)
		if (isfinite(total[n] = nw_line_total(&s->lines, i)))
			n++;
	if (n > 0) {
		m->total_low = quantile(total, n, c->percentile_low / 100);
		m->total_high = quantile(total, n, c->percentile_high / 100);
	}
	free(total);
	return NW_OK;
}

static bool
is_within(const struct lineset *s, size_t line, const struct limits *m)
{
	const int64_t *t = s->t + line * s->lines.n_points;
	size_t p;

	for (p = 0; p < s->lines.n_points; p++)
		if (t[p] != NW_LINE_NEVER && t[p] >= m->from && t[p] <= m->to)
			return true;
	return false;
}

static bool
is_chosen(const struct choice *c, const struct lineset *s, size_t line, const struct limits *m)
{
	double total;

	if (c->id[0] != '\0' && strstr(s->label[line], c->id) == NULL)
		return false;
	if (c->server[0] != '\0' && strcmp(s->lanes.text[s->lane[line]], c->server) != 0)
		return false;
	if (!isnan(c->percentile_low)) {
		total = nw_line_total(&s->lines, line);
		if (!(total >= m->total_low && total <= m->total_high))
			return false;
	}
	return is_within(s, line, m);
}

int
choice_take(const struct choice *c, const struct lineset *s, struct chosen *out)
{
	size_t i, n = 0, p = s->lines.n_points;
	struct limits m;
	int rc = limits_find(c, s, &m);

	*out = (struct chosen){ .lines = s->lines,
		.t = calloc(s->lines.n * p + 1, sizeof(*out->t)),
		.lane = calloc(s->lines.n + 1, sizeof(*out->lane)),
		.line = calloc(s->lines.n + 1, sizeof(*out->line)) };
	if (rc != NW_OK || out->t == NULL || out->lane == NULL || out->line == NULL) {
		chosen_clear(out);
		return NW_ENOMEM;
	}
	for (i = 0; i < s->lines.n; i++)
		if (is_chosen(c, s, i, &m)) {
			memcpy(out->t + n * p, s->t + i * p, p * sizeof(*s->t));
			out->lane[n] = s->lane[i];
			out->line[n++] = (uint32_t)i;
		}
	out->lines.n = n;
	out->lines.t_ns = out->t;
	out->lines.lane = out->lane;
	return NW_OK;
}

void
chosen_clear(struct chosen *k)
{
	free(k->t);
	free(k->lane);
	free(k->line);
	*k = (struct chosen){ .t = NULL };
}

/* --- as an address --- */

struct address {
	char *out;
	size_t len;
	const char *key, *value; /* the parameter that changes */
};

static void
address_put(struct address *a, const char *key, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *s;

	if (a->key != NULL && strcmp(a->key, key) == 0) {
		text = a->value;
		a->key = NULL;
	}
	if (text == NULL || *text == '\0')
		return;
	if (a->len + strlen(key) + 3 * strlen(text) + 3 >= CHOICE_HREF_BYTES)
		return;
	a->out[a->len] = a->len == 0 ? '?' : '&';
	a->len++;
	a->len += (size_t)sprintf(a->out + a->len, "%s=", key);
	for (s = (const unsigned char *)text; *s != '\0'; s++)
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		    (*s >= '0' && *s <= '9') || strchr("-._,", *s) != NULL)
			a->out[a->len++] = (char)*s;
		else {
			a->out[a->len++] = '%';
			a->out[a->len++] = hex[*s >> 4];
			a->out[a->len++] = hex[*s & 15];
		}
	a->out[a->len] = '\0';
}

static void
number_put(struct address *a, const char *key, double v)
{
	address_put(a, key, isnan(v) ? NULL : fmt_exact(v).s);
}

static void
mark_put(struct address *a, const char *key, const struct choice_mark *m)
{
	char text[2 * CHOICE_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s@%s", m->line, m->point);
	address_put(a, key, m->line[0] != '\0' ? text : NULL);
}

void
choice_href(char out[CHOICE_HREF_BYTES], const struct choice *c, const char *key, const char *value)
{
	struct address a = { .out = out, .key = key, .value = value };
	char range[160];

	out[0] = '\0';
	snprintf(range, sizeof(range), "%s-%s", fmt_exact(c->percentile_low).s,
	    fmt_exact(c->percentile_high).s);
	address_put(&a, "id", c->id);
	address_put(&a, "server", c->server);
	address_put(&a, "percentile", isnan(c->percentile_low) ? NULL : range);
	number_put(&a, "from", c->from_s);
	number_put(&a, "to", c->to_s);
	mark_put(&a, "a", &c->a);
	mark_put(&a, "b", &c->b);
	number_put(&a, "bytes", c->line_bytes);
	address_put(&a, "by", c->by);
	address_put(&a, "lane", c->lane);
	address_put(&a, "path", c->path);
	address_put(&a, "clock", c->raw ? "raw" : NULL);
	address_put(&a, "against", c->against != 0 ? fmt_int(c->against).s : NULL);
	if (out[0] == '\0')
		strcpy(out, "?");
}
