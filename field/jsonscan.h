/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scanner of small JSON documents from strangers: every number, text and word is passed with its
 * path, in the order of the document. Nothing is allocated; depth, paths and texts have bounds.
 */
#ifndef JSONSCAN_H
#define JSONSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSONSCAN_DEPTH_MAX = 8, JSONSCAN_PATH_BYTES = 96, JSONSCAN_TEXT_BYTES = 1024 };

enum jsonscan_kind { JSONSCAN_TEXT, JSONSCAN_NUMBER, JSONSCAN_WORD /* true, false, null */ };

struct jsonscan_value {
	enum jsonscan_kind kind;
	const char *text; /* of a text, without escapes, UTF-8; ends with NUL */
	double number;
	/* of a number without fraction and exponent; INT64_MIN for all others */
	int64_t whole;
};

/* The path joins keys by full stops ("flow-id.src-ip"); an element of an array adds none. Path and
 * value are on loan. A negative answer ends the scan. */
typedef int jsonscan_fn(void *arg, const char *path, const struct jsonscan_value *v);

/* Scans one object; blanks and NUL behind the object are allowed. NW_EPROTO with static *why for
 * bytes that are no such object, NW_ETOOBIG beyond a bound, or the answer of fn. */
int jsonscan(const char *bytes, size_t len, jsonscan_fn *fn, void *arg, const char **why);

#endif
