/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of a document by expressions, as in "1-stage.free_share": terms joined by + - * /, from
 * left to right. A term is a number or a path:
 *
 *   verdict.interval.0    from the document's root; a number is an index; without an index a list
 *                         stands for each of its elements
 *   stage.busy_share      of the claim's stage in bottleneck.stages
 *   .rate                 the claim's own value
 *   claim.KIND.rate       of each claim of the kind; claim.KIND is 1 for each such claim
 */
#ifndef CLAIM_PATH_H
#define CLAIM_PATH_H

#include "analyze/verdict/claim/claim_in.h"

enum { PATH_VALUES_MAX = 256 };

/* The values of a path; texts are on loan from the document or the claims. */
struct path_values {
	struct claim_value value[PATH_VALUES_MAX];
	size_t n;
};

/* The place of a question: the document, its claims, and the asking claim or NULL. */
struct path_scope {
	const json_t *doc;
	const struct claims *claims;
	const struct claim *own;
};

void path_values(const struct path_scope *s, struct claim_part expression, struct path_values *out);
/* Whether all clauses hold. */
bool path_holds(const struct path_scope *s, const char *clauses);

#endif
