/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check of a document by its claims: each sentence is the print of its claims, each value is
 * the document's, neighbouring places differ, and no line REFUTED or SHARES of claims.def holds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/claim/claim_path.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

/* Largest relative difference of a value from its field. */
static const double SAME = 1e-6;

enum { NO_KIND = -1 };

static const struct {
	int kind; /* NO_KIND: whether or not there are claims */
	const char *name, *clauses;
} refuted[] = {
#define CLAIM(kind, words)
#define REFUTED(kind, name, clauses)  { CLAIM_##kind, name, clauses },
#define REFUTED_ALWAYS(name, clauses) { NO_KIND, name, clauses },
#define SHARES(list, part, from, to)
#define WORDS(of, most)
#include "analyze/verdict/claim/claims.def"
#undef REFUTED
#undef REFUTED_ALWAYS
#undef SHARES
#undef WORDS
};

static const struct {
	const char *list, *part;
	double from, to;
} shares[] = {
#define REFUTED(kind, name, clauses)
#define REFUTED_ALWAYS(name, clauses)
#define SHARES(list, part, from, to) { list, part, from, to },
#define WORDS(of, most)
#include "analyze/verdict/claim/claims.def"
#undef REFUTED
#undef REFUTED_ALWAYS
#undef SHARES
#undef WORDS
};

static const struct {
	const char *of;
	size_t most;
} lengths[] = {
#define REFUTED(kind, name, clauses)
#define REFUTED_ALWAYS(name, clauses)
#define SHARES(list, part, from, to)
#define WORDS(of, most) { of, most },
#include "analyze/verdict/claim/claims.def"
#undef CLAIM
#undef REFUTED
#undef REFUTED_ALWAYS
#undef SHARES
#undef WORDS
};

struct check {
	const json_t *doc, *list; /* the document and its claims */
	struct claims claims;     /* the same, in the list's order */
	claim_fault_fn *on_fault;
	void *arg;
	size_t faults;
};

static const char *
of_claim(const struct check *c, size_t i)
{
	const char *of = result_text(json_array_get(c->list, i), KEY_claim_of);

	return of != NULL ? of : "";
}

/* Takes the text. */
static void
fault(struct check *c, const char *of, char *text)
{
	c->on_fault(c->arg, of, text);
	free(text);
	c->faults++;
}

/* --- records --- */

static struct claim_value
value_read(const json_t *pair)
{
	const json_t *v = json_array_get(pair, 1);

	return json_is_string(v) ? claim_text(json_string_value(v))
				 : claim_number(json_is_number(v) ? json_number_value(v) : NAN);
}

/* Reads a claim with the values of the kind's slots. Texts are on loan. */
static bool
claim_read(const json_t *o, struct claim *out)
{
	const json_t *values = result_list(o, KEY_claim_values);
	const char *kind = result_text(o, KEY_claim_kind), *words;
	double stage = result_number(o, KEY_claim_stage);
	struct claim_slot slot;
	size_t i;

	*out =
	    (struct claim){ .stage = stage >= 0 && stage < 1e6 ? (size_t)stage : CLAIM_NO_STAGE };
	if (kind == NULL || !claim_find(kind, &out->kind))
		return false;
	words = claim_words(out->kind);
	for (i = 0; claim_slot_next(&words, &slot); i++) {
		out->value[i] = value_read(json_array_get(values, i));
		if (claim_type(slot.type)->is_text != out->value[i].is_text)
			return false;
	}
	return json_array_size(values) == i;
}

static void
claims_read(struct check *c)
{
	size_t i, n = json_array_size(c->list);

	c->claims = (struct claims){ .claim = xcalloc(n + 1, sizeof(struct claim)) };
	for (i = 0; i < n; i++) {
		if (!claim_read(json_array_get(c->list, i), &c->claims.claim[c->claims.n]))
			fault(c, of_claim(c, i), xstrdup("a record is of no known kind"));
		c->claims.n++;
	}
}

/* --- the checks --- */

static bool
value_is(const struct claim_value *a, const struct claim_value *b)
{
	if (a->is_text != b->is_text)
		return false;
	if (a->is_text)
		return strcmp(a->text, b->text) == 0;
	return fabs(a->number - b->number) <= SAME * fmax(fabs(a->number), fabs(b->number)) + 1e-9;
}

static void
fields_check(struct check *c, size_t i)
{
	const struct claim *one = &c->claims.claim[i];
	const struct path_scope scope = { c->doc, &c->claims, one };
	const char *words = claim_words(one->kind);
	struct path_values field;
	struct claim_slot slot;
	size_t k, i_field;

	for (k = 0; claim_slot_next(&words, &slot); k++) {
		if (!one->value[k].is_text && !isfinite(one->value[k].number))
			fault(c, of_claim(c, i),
			    xasprintf("%s: %.*s is no number", claim_name(one->kind),
				(int)slot.name.len, slot.name.s));
		if (slot.field.len == 0)
			continue;
		path_values(&scope, slot.field, &field);
		for (i_field = 0; i_field < field.n; i_field++)
			if (value_is(&one->value[k], &field.value[i_field]))
				break;
		if (i_field == field.n)
			fault(c, of_claim(c, i),
			    xasprintf("%s: %.*s differs from %.*s", claim_name(one->kind),
				(int)slot.name.len, slot.name.s, (int)slot.field.len,
				slot.field.s));
	}
}

/* Whether two places are one, but for a capital. */
static bool
place_is(const char *a, const char *b)
{
	return *a != '\0' && (*a | 0x20) == (*b | 0x20) && strcmp(a + 1, b + 1) == 0;
}

/* The sentence of the claims from `first` to `end`. */
static void
places_check(struct check *c, size_t first, size_t end)
{
	const char *last = NULL, *words;
	struct claim_slot slot;
	size_t i, k;

	for (i = first; i < end; i++) {
		words = claim_words(c->claims.claim[i].kind);
		for (k = 0; claim_slot_next(&words, &slot); k++) {
			if (!claim_type(slot.type)->is_place)
				continue;
			if (last != NULL && place_is(last, c->claims.claim[i].value[k].text))
				fault(c, of_claim(c, first), xasprintf("names %s twice", last));
			last = c->claims.claim[i].value[k].text;
		}
	}
}

/* Whether a text is the sentence, or the sentence without the full stop. */
static bool
text_is(const char *text, const char *sentence)
{
	size_t len = strlen(text);

	return strncmp(text, sentence, len) == 0 && len + 1 >= strlen(sentence);
}

static void
sentence_check(struct check *c, size_t first, size_t end)
{
	const struct path_scope scope = { c->doc, &c->claims, NULL };
	const struct claims sentence = { c->claims.claim + first, end - first };
	const char *of = of_claim(c, first);
	struct path_values told;
	char *text = claims_text(&sentence);

	path_values(&scope, (struct claim_part){ of, strlen(of) }, &told);
	if (told.n != 1 || !told.value[0].is_text || !text_is(told.value[0].text, text))
		fault(c, of, xasprintf("is not the sentence of its records: %s", text));
	free(text);
}

static void
sentences_check(struct check *c)
{
	size_t first, end;

	for (first = 0; first < c->claims.n; first = end) {
		for (end = first; end < c->claims.n; end++) {
			if (strcmp(of_claim(c, end), of_claim(c, first)) != 0)
				break;
			fields_check(c, end);
		}
		places_check(c, first, end);
		sentence_check(c, first, end);
	}
}

static void
refuted_check(struct check *c)
{
	struct path_scope scope = { c->doc, &c->claims, NULL };
	size_t i, k;

	for (k = 0; k < sizeof(refuted) / sizeof(refuted[0]); k++) {
		scope.own = NULL;
		if (refuted[k].kind == NO_KIND && path_holds(&scope, refuted[k].clauses))
			fault(c, "", xstrdup(refuted[k].name));
		for (i = 0; i < c->claims.n; i++) {
			scope.own = &c->claims.claim[i];
			if ((int)scope.own->kind == refuted[k].kind &&
			    path_holds(&scope, refuted[k].clauses))
				fault(c, of_claim(c, i), xstrdup(refuted[k].name));
		}
	}
}

/* Adds the part of each element up, for each list that the rest of the path leads to. */
static void
shares_walk(struct check *c, size_t row, const json_t *at, const char *path)
{
	const char *part = shares[row].part;
	size_t len = strcspn(path, "."), i, n = 0;
	char key[64];
	double sum = 0;

	if (json_is_array(at) && *path == '\0') {
		for (i = 0; i < json_array_size(at); i++) {
			const json_t *v = json_object_get(json_array_get(at, i), part);

			sum += json_number_value(v);
			n += json_is_number(v);
		}
		if (n > 0 && !(sum >= shares[row].from && sum <= shares[row].to))
			fault(c, "",
			    xasprintf("%s of %s add up to %.4g", part, shares[row].list, sum));
	} else if (json_is_array(at)) {
		for (i = 0; i < json_array_size(at); i++)
			shares_walk(c, row, json_array_get(at, i), path);
	} else if (*path != '\0' && len < sizeof(key)) {
		memcpy(key, path, len);
		key[len] = '\0';
		shares_walk(c, row, json_object_get(at, key), path + len + (path[len] == '.'));
	}
}

static size_t
words_count(const char *text)
{
	size_t n = 0;

	for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
		text += strcspn(text, " ");
		n++;
	}
	return n;
}

static void
lengths_check(struct check *c)
{
	const struct path_scope scope = { c->doc, &c->claims, NULL };
	struct path_values told;
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		path_values(
		    &scope, (struct claim_part){ lengths[i].of, strlen(lengths[i].of) }, &told);
		if (told.n == 1 && told.value[0].is_text &&
		    words_count(told.value[0].text) > lengths[i].most)
			fault(c, lengths[i].of,
			    xasprintf("has more than %zu words", lengths[i].most));
	}
}

size_t
claims_check(const json_t *doc, claim_fault_fn *on_fault, void *arg)
{
	struct check c = { .doc = doc,
		.list = result_list(doc, KEY_result_claims),
		.on_fault = on_fault,
		.arg = arg };
	size_t i;

	if (c.list == NULL)
		return 0;
	claims_read(&c);
	if (c.faults == 0) {
		sentences_check(&c);
		refuted_check(&c);
		lengths_check(&c);
		for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
			shares_walk(&c, i, doc, shares[i].list);
	}
	free(c.claims.claim);
	return c.faults;
}
