/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to do: set back what is named as the cause of a slowdown, then rules of advice_rules.def
 * whose condition holds for the session. At most three cards, and none where nothing is sure.
 */
#ifndef ADVICE_H
#define ADVICE_H

#include <jansson.h>

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/evidence/evidence.h"

enum { ADVICE_CARDS_MAX = 3, ADVICE_SETTINGS_MAX = 4 };

struct advice_rule {
	const char *name, *when, *title, *evidence, *check, *change, *undo, *reference;
};
extern const struct advice_rule advice_rules[];
extern const size_t advice_rules_count;

/* A fact of a session by its name, as text. */
struct fact {
	char *name, *value;
};

struct facts {
	struct fact *fact;
	size_t n;
};

/* Facts of the result document as far as it is made, and settings of the hosts at the session's
 * end. The store's code. */
int
facts_read(struct store_reader *r, const struct evidence *e, const json_t *doc, struct facts *out);
void facts_put(struct facts *f, const char *name, const char *value);
const char *facts_get(const struct facts *f, const char *name); /* NULL: unknown */
void facts_clear(struct facts *f);

/* Whether the condition holds. *well (may be NULL): whether every clause can be read. */
bool advice_holds(const char *when, const struct facts *f, bool *well);

/* A setting that a card's change is about, and its value at the session. */
struct advice_setting {
	char *host, *name, *value; /* value NULL: absent */
};

struct advice_card {
	const struct advice_rule *rule;
	char *title, *evidence, *check, *change,
	    *undo;          /* with the facts inserted; check may be NULL */
	struct claims told; /* of the evidence, as far as it is a row of claims */
	struct advice_setting setting[ADVICE_SETTINGS_MAX];
	size_t n_settings;
	/* expected, as a factor on the rate: by the verdict, and by the route's usual rate; NaN:
	 * unknown */
	double gain, gain_history;
	/* earlier cards of the rule on this route whose setting was changed; cards with kept words;
	 * the latest of them without, in a row */
	size_t n_tried, n_kept, n_failed;
};

struct advice {
	struct advice_card card[ADVICE_CARDS_MAX];
	size_t n;
};

/* The document has the cause of a slowdown, if one is known (changed, usual). route, program: to
 * look the record of the rules up. The store's code. */
int advice_find(struct store_reader *r, const struct evidence *e, const json_t *doc,
    const char *route, const char *program, struct advice *out);
void advice_clear(struct advice *a);

/* Whether a card kept its word: half of the predicted gain was obtained, or a tenth where none was
 * predicted. */
bool advice_kept(double predicted, double obtained);

#endif
