/* SPDX-License-Identifier: BSD-3-Clause */
/* The claims of a document's sentences, with the place of each sentence. */
#include "analyze/verdict/resultdoc_in.h"

#include <stdio.h>

/* Puts the claims of sentence i of a list at its place, as in "verdict.reasons.3". */
static void
put_numbered(json_t *list, const char *before, size_t i, const char *behind, const struct claims *c)
{
	char of[64];

	snprintf(of, sizeof(of), "%s.%zu%s", before, i, behind);
	claims_put(list, of, c);
}

json_t *
resultdoc_claims(const struct analysis *a)
{
	const struct judgement *j = &a->judgement;
	json_t *list = json_array();
	size_t i;

	claims_put(list, "headline", &a->headline);
	claims_put(list, "remedy", &a->remedy);
	claims_put(list, "verdict.sentence", &j->said);
	for (i = 0; i < j->n_reasons; i++)
		put_numbered(list, "verdict.reasons", i, "", &j->because[i]);
	for (i = 0; i < j->n_witnesses; i++)
		put_numbered(list, "verdict.witnesses", i, ".detail", &j->witnesses[i].told);
	for (i = 0; i < a->others.n; i++)
		put_numbered(list, "verdict.others", i, ".sentence", &a->others.other[i].told);
	claims_put(list, "chain.sentence", &a->chain.told);
	for (i = 0; i < a->steps.n; i++)
		put_numbered(list, "steps", i, ".sentence", &a->steps.loop[i].told);
	claims_put(list, "usual.sentence", &a->usual.told);
	if (a->usual.has_incident)
		claims_put(list, "usual.incident.sentence", &a->usual.incident.told);
	claims_put(list, "changed.sentence", &a->changed.told);
	for (i = 0; i < a->advice.n; i++)
		put_numbered(list, "advice", i, ".evidence", &a->advice.card[i].told);
	for (i = 0; i < a->changed.n; i++)
		put_numbered(
		    list, "changed.differences", i, ".sentence", &a->changed.difference[i].told);
	return list;
}
