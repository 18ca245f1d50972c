/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regular expressions of strangers: literals, . [set] [^set] ( ) | * + ? and \ before a byte that
 * is no letter or digit. Memory is in proportion to the expression, time to expression times text;
 * the C library's expressions know no such bounds.
 */
#ifndef NARROWS_WEB_REGEX_H
#define NARROWS_WEB_REGEX_H

#include <stdbool.h>
#include <stdint.h>

enum { REGEX_STEPS = 640, REGEX_SETS = 16 };

struct regex_step {
	uint8_t op, byte; /* byte: literal, or number of the set */
	int16_t a, b;     /* distances to the next steps */
};

struct regex {
	uint16_t n_steps, n_sets;
	struct regex_step step[REGEX_STEPS];
	uint8_t set[REGEX_SETS][32]; /* bit sets of bytes */
};

/* False with static *why. */
bool regex_compile(struct regex *r, const char *text, const char **why);
/* Whether the whole text matches. */
bool regex_match(const struct regex *r, const char *text);

#endif
