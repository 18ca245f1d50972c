/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims: what a document says in words, as records. Sentences are printed from claims and from
 * nothing else; the document keeps the claims beside the sentences. claims.def has all kinds. A
 * new claim is a line there and a CLAIM_SAY() where its values are known.
 */
#ifndef CLAIM_H
#define CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum { CLAIM_SLOTS_MAX = 8 };

enum claim_kind {
#define CLAIM(kind, words) CLAIM_##kind,
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
	CLAIM_KINDS /* number of all kinds */
};

/* The claim is about no stage. */
#define CLAIM_NO_STAGE SIZE_MAX

/* A number or a text, on loan. */
struct claim_value {
	double number;
	const char *text;
	bool is_text;
};

static inline struct claim_value
claim_number(double number)
{
	return (struct claim_value){ .number = number };
}

static inline struct claim_value
claim_text(const char *text)
{
	return (struct claim_value){ .text = text != NULL ? text : "", .is_text = true };
}

struct claim {
	enum claim_kind kind;
	size_t stage; /* index in bottleneck.stages, or CLAIM_NO_STAGE */
	struct claim_value value[CLAIM_SLOTS_MAX]; /* in the order of the slots; owns its texts */
};

/* The claims of a sentence. All zeroes is an empty sentence. */
struct claims {
	struct claim *claim;
	size_t n;
};

/* Adds a claim with n values, one for each slot of its kind, and copies the texts. */
void claims_add(struct claims *c, enum claim_kind kind, size_t stage,
    const struct claim_value *value, size_t n);
/* The two last arguments of claims_add(). */
#define CLAIM_VALUES(...)                            \
	(const struct claim_value[]){ __VA_ARGS__ }, \
	    sizeof((const struct claim_value[]){ __VA_ARGS__ }) / sizeof(struct claim_value)
#define CLAIM_SAY(claims, kind, stage, ...) \
	claims_add((claims), CLAIM_##kind, (stage), CLAIM_VALUES(__VA_ARGS__))
/* The sentence; NULL without claims. free() the text. */
char *claims_text(const struct claims *c);
/* The same without the full stop. */
char *claims_phrase(const struct claims *c);
/* Adds copies of the claims. */
void claims_append(struct claims *c, const struct claims *more);
/* Puts the claims of `first` before those of *c, and empties `first`. */
void claims_prepend(struct claims *c, struct claims *first);
void claims_clear(struct claims *c);

/* Appends the claims of the sentence at `of` ("verdict.reasons.2") to the list of a document. */
void claims_put(json_t *list, const char *of, const struct claims *c);

/* The check of a document (claim_check.c). Calls on_fault for each contradiction: `of` is the place
 * of the sentence, or "" for the document, `text` says what contradicts what; both on loan. Returns
 * the number of contradictions. A document without the list of claims has none. */
typedef void claim_fault_fn(void *arg, const char *of, const char *text);
size_t claims_check(const json_t *doc, claim_fault_fn *on_fault, void *arg);

#endif
