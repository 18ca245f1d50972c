/* SPDX-License-Identifier: BSD-3-Clause */
/* The printer of claims, and their form in the document. */
#include "analyze/verdict/claim/claim_in.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

static const struct {
	const char *name, *words;
} kinds[] = {
#define CLAIM(kind, words) { #kind, words },
#define REFUTED(kind, name, clauses)
#define REFUTED_ALWAYS(name, clauses)
#define SHARES(list, part, from, to)
#define WORDS(of, most)
#include "analyze/verdict/claim/claims.def"
#undef CLAIM
#undef REFUTED
#undef REFUTED_ALWAYS
#undef SHARES
#undef WORDS
};

/* --- types of slots --- */

static char *
text_print(const struct claim_value *v)
{
	return xstrdup(v->text);
}

static char *
capital_print(const struct claim_value *v)
{
	char *text = xstrdup(v->text);

	if (text[0] >= 'a' && text[0] <= 'z')
		text[0] = (char)(text[0] - 'a' + 'A');
	return text;
}

static char *
share_print(const struct claim_value *v)
{
	return xasprintf("%.0f %%", 100 * v->number);
}

static char *
times_print(const struct claim_value *v)
{
	return xasprintf("%.2g", v->number);
}

static char *
figure_print(const struct claim_value *v)
{
	return xasprintf("%.3g", v->number);
}

static char *
count_print(const struct claim_value *v)
{
	return xasprintf("%.0f", v->number);
}

static char *
rate_print(const struct claim_value *v)
{
	return xasprintf("%s (%s)", fmt_plain(fmt_bytes_per_s(v->number)).s,
	    fmt_plain(fmt_bits_per_s(v->number)).s);
}

static char *
bytes_print(const struct claim_value *v)
{
	return xstrdup(fmt_plain(fmt_bytes(v->number)).s);
}

static char *
duration_print(const struct claim_value *v)
{
	return xstrdup(fmt_plain(fmt_duration(v->number)).s);
}

static char *
seconds_print(const struct claim_value *v)
{
	return xstrdup(fmt_si(v->number, "s").s);
}

/* The same as pages print, with no-break spaces. */
static char *
percent_print(const struct claim_value *v)
{
	return xstrdup(fmt_share(v->number).s);
}

static char *
ratio_print(const struct claim_value *v)
{
	return xstrdup(fmt_ratio(v->number).s);
}

static char *
speed_print(const struct claim_value *v)
{
	return xstrdup(fmt_bytes_per_s(v->number).s);
}

static char *
took_print(const struct claim_value *v)
{
	return xstrdup(fmt_duration(v->number).s);
}

static const struct claim_type types[] = {
	{ "place", true, true, text_print }, { "Place", true, true, capital_print },
	{ "words", true, false, text_print }, { "share", false, false, share_print }, /* 94 % */
	{ "times", false, false, times_print },                                       /* 2.1 */
	{ "figure", false, false, figure_print },                                     /* 14.2 */
	{ "count", false, false, count_print },                                       /* 1200 */
	{ "rate", false, false, rate_print },         /* 41.3 MB/s (330 Mbit/s) */
	{ "bytes", false, false, bytes_print },       /* 3.15 MB */
	{ "duration", false, false, duration_print }, /* 17 min 29 s */
	{ "seconds", false, false, seconds_print },   /* 4.10 ms */
	{ "percent", false, false, percent_print },   /* 94 % */
	{ "ratio", false, false, ratio_print },       /* 6.52 */
	{ "speed", false, false, speed_print },       /* 41.3 MB/s */
	{ "took", false, false, took_print },         /* 6.50 s */
};

/* --- the table --- */

const char *
claim_name(enum claim_kind kind)
{
	return kinds[kind].name;
}

bool
claim_find(const char *name, enum claim_kind *out)
{
	int k;

	for (k = 0; k < CLAIM_KINDS; k++)
		if (strcmp(kinds[k].name, name) == 0) {
			*out = (enum claim_kind)k;
			return true;
		}
	return false;
}

const char *
claim_words(enum claim_kind kind)
{
	return kinds[kind].words;
}

const struct claim_type *
claim_type(size_t type)
{
	return &types[type];
}

bool
claim_slot_next(const char **words, struct claim_slot *out)
{
	const char *at = *words;
	struct claim_part type;

	*out = (struct claim_slot){ .before = { at, strcspn(at, "{") } };
	at += out->before.len;
	if (*at == '\0')
		return false;
	out->name = (struct claim_part){ at + 1, strcspn(at + 1, ":}") };
	at = out->name.s + out->name.len + 1;
	type = (struct claim_part){ at, strcspn(at, "=}") };
	at += type.len;
	if (*at == '=')
		out->field = (struct claim_part){ at + 1, strcspn(at + 1, "}") };
	*words = at + (*at == '=' ? 1 + out->field.len : 0) + 1;
	for (out->type = 0; out->type < sizeof(types) / sizeof(types[0]); out->type++)
		if (strlen(types[out->type].name) == type.len &&
		    strncmp(types[out->type].name, type.s, type.len) == 0)
			return true;
	return false;
}

size_t
claim_slot_find(enum claim_kind kind, struct claim_part name, struct claim_slot *out)
{
	const char *words = claim_words(kind);
	size_t i;

	for (i = 0; claim_slot_next(&words, out); i++)
		if (out->name.len == name.len && strncmp(out->name.s, name.s, name.len) == 0)
			return i;
	return CLAIM_SLOTS_MAX;
}

/* --- claims --- */

/* The number with the digits of a document: sentence and record round alike. */
static double
as_recorded(double v)
{
	char text[32];

	if (!isfinite(v))
		return v;
	snprintf(text, sizeof(text), "%.12g", v);
	return strtod(text, NULL);
}

void
claims_add(
    struct claims *c, enum claim_kind kind, size_t stage, const struct claim_value *value, size_t n)
{
	const char *words = claim_words(kind);
	struct claim_slot slot;
	struct claim *one;
	size_t i;

	c->claim = xreallocarray(c->claim, c->n + 1, sizeof(*c->claim));
	one = &c->claim[c->n++];
	*one = (struct claim){ .kind = kind, .stage = stage };
	for (i = 0; claim_slot_next(&words, &slot); i++) {
		assert(
		    i < n && i < CLAIM_SLOTS_MAX && value[i].is_text == types[slot.type].is_text);
		one->value[i] = value[i];
		one->value[i].number = as_recorded(value[i].number);
		if (value[i].is_text)
			one->value[i].text = xstrdup(value[i].text);
	}
	assert(i == n);
}

/* The claim behind the text so far. Frees `before`. */
static char *
claim_print(char *before, const struct claim *c)
{
	const char *words = claim_words(c->kind);
	struct claim_slot slot;
	bool more = true;
	size_t i;

	for (i = 0; more; i++) {
		char *value, *longer;

		more = claim_slot_next(&words, &slot);
		value = more ? types[slot.type].print(&c->value[i]) : NULL;
		longer = xasprintf(
		    "%s%.*s%s", before, (int)slot.before.len, slot.before.s, more ? value : "");
		free(value);
		free(before);
		before = longer;
	}
	return before;
}

char *
claims_phrase(const struct claims *c)
{
	char *text;
	size_t i;

	if (c->n == 0)
		return NULL;
	text = xstrdup("");
	for (i = 0; i < c->n; i++)
		text = claim_print(text, &c->claim[i]);
	return text;
}

char *
claims_text(const struct claims *c)
{
	char *text = claims_phrase(c), *whole = text != NULL ? xasprintf("%s.", text) : NULL;

	free(text);
	return whole;
}

void
claims_append(struct claims *c, const struct claims *more)
{
	const struct claim *one;
	struct claim_slot slot;
	const char *words;
	size_t i, n;

	for (i = 0; i < more->n; i++) {
		one = &more->claim[i];
		words = claim_words(one->kind);
		for (n = 0; claim_slot_next(&words, &slot);)
			n++;
		claims_add(c, one->kind, one->stage, one->value, n);
	}
}

void
claims_prepend(struct claims *c, struct claims *first)
{
	first->claim = xreallocarray(first->claim, first->n + c->n + 1, sizeof(*first->claim));
	if (c->n > 0)
		memcpy(first->claim + first->n, c->claim, c->n * sizeof(*c->claim));
	free(c->claim);
	*c = (struct claims){ first->claim, first->n + c->n };
	*first = (struct claims){ 0 };
}

void
claims_clear(struct claims *c)
{
	size_t i, k;

	for (i = 0; i < c->n; i++)
		for (k = 0; k < CLAIM_SLOTS_MAX; k++)
			free((char *)c->claim[i].value[k].text);
	free(c->claim);
	*c = (struct claims){ 0 };
}

/* --- the document --- */

static json_t *
values_doc(const struct claim *c)
{
	const char *words = claim_words(c->kind);
	json_t *list = json_array(), *value;
	struct claim_slot slot;
	size_t i;

	for (i = 0; claim_slot_next(&words, &slot); i++) {
		if (c->value[i].is_text)
			value = json_string(c->value[i].text);
		else
			value = isfinite(c->value[i].number) ? json_real(c->value[i].number) : NULL;
		json_array_append_new(list,
		    json_pack(
			"[s%o]", slot.name.s, slot.name.len, value != NULL ? value : json_null()));
	}
	return list;
}

void
claims_put(json_t *list, const char *of, const struct claims *c)
{
	json_t *o;
	size_t i;

	for (i = 0; i < c->n; i++) {
		o = json_object();
		result_put_text(o, KEY_claim_kind, claim_name(c->claim[i].kind));
		result_put_text(o, KEY_claim_of, of);
		if (c->claim[i].stage != CLAIM_NO_STAGE)
			result_put_int(o, KEY_claim_stage, (int64_t)c->claim[i].stage);
		result_set(o, KEY_claim_values, values_doc(&c->claim[i]));
		json_array_append_new(list, o);
	}
}
