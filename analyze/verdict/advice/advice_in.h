/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make cards. */
#ifndef ADVICE_IN_H
#define ADVICE_IN_H

#include "analyze/verdict/advice/advice.h"

/* Adds a setting that the card's change is about, with its present value; texts are copied. */
void
advice_card_setting(struct advice_card *c, const char *host, const char *name, const char *value);
/* Adds a card for each setting that is named as the cause in the document, at most two. */
void setback_cards(const json_t *doc, struct advice *out);
/* The commands that show a setting and set it to the value; NULL without one. free() the texts. */
void setback_commands(const char *name, const char *value, char **check, char **set);

#endif
