/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/advice/advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum { NAME_BYTES = 128, TEXT_BYTES = 1024 };

const struct advice_rule advice_rules[] = {
#define RULE(name, when, title, evidence, check, change, undo, reference) \
	{ name, when, title, evidence, check, change, undo, reference },
#include "analyze/verdict/advice/advice_rules.def"
#undef RULE
};
const size_t advice_rules_count = sizeof(advice_rules) / sizeof(advice_rules[0]);

/* --- conditions --- */

/* The value of "NAME" or of the n-th word, "NAME#n". */
static bool
fact_take(const struct facts *f, const char *name, char *out, size_t size)
{
	char plain[NAME_BYTES];
	const char *hash = strchr(name, '#'), *value;
	long word = hash != NULL ? strtol(hash + 1, NULL, 10) : 0;
	size_t len = hash != NULL ? (size_t)(hash - name) : strlen(name);

	if (len >= sizeof(plain))
		return false;
	memcpy(plain, name, len);
	plain[len] = '\0';
	if ((value = facts_get(f, plain)) == NULL)
		return false;
	for (; word > 1; word--) {
		value += strcspn(value, " \t");
		value += strspn(value, " \t");
	}
	len = word > 0 ? strcspn(value, " \t") : strlen(value);
	snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), value);
	return *out != '\0';
}

/* Whether one of the texts apart by '|' is the value, or is in it. */
static bool
texts_have(const char *texts, const char *value, bool within)
{
	char one[NAME_BYTES];
	size_t len;

	for (;; texts += len + 1) {
		len = strcspn(texts, "|");
		if (len < sizeof(one)) {
			memcpy(one, texts, len);
			one[len] = '\0';
			if (within ? strstr(value, one) != NULL : strcmp(value, one) == 0)
				return true;
		}
		if (texts[len] == '\0')
			return false;
	}
}

static bool
clause_holds(const char *clause, const struct facts *f, bool *well)
{
	const size_t len = strcspn(clause, "=!~<>");
	char name[NAME_BYTES], value[TEXT_BYTES], *end;
	const char *than = clause + len + 1;
	double number;

	if (len == 0 || len >= sizeof(name) || clause[len] == '\0' || *than == '\0' ||
	    (clause[len] == '!' && than[0] != '=')) {
		*well = false;
		return false;
	}
	memcpy(name, clause, len);
	name[len] = '\0';
	if (clause[len] == '<' || clause[len] == '>') {
		number = strtod(than, &end);
		*well &= *end == '\0';
		return fact_take(f, name, value, sizeof(value)) &&
		    (clause[len] == '<' ? strtod(value, NULL) < number
					: strtod(value, NULL) > number);
	}
	if (!fact_take(f, name, value, sizeof(value)))
		return false;
	return clause[len] == '!' ? !texts_have(than + 1, value, false)
				  : texts_have(than, value, clause[len] == '~');
}

bool
advice_holds(const char *when, const struct facts *f, bool *well)
{
	bool holds = true, readable = true;
	char clause[TEXT_BYTES];
	size_t len;

	for (; *when != '\0'; when += len + strspn(when + len, " ")) {
		len = strcspn(when, " ");
		if (len >= sizeof(clause))
			return false;
		memcpy(clause, when, len);
		clause[len] = '\0';
		holds &= clause_holds(clause, f, &readable);
	}
	if (well != NULL)
		*well = readable;
	return holds && readable;
}

/* --- cards --- */

/* The text with the facts in the place of {NAME}. */
static char *
text_fill(const char *text, const struct facts *f)
{
	char name[NAME_BYTES], value[TEXT_BYTES], *out = xstrdup(""), *longer;
	size_t len, inside;

	while (*text != '\0') {
		len = strcspn(text, "{");
		longer = xasprintf("%s%.*s", out, (int)len, text);
		free(out);
		out = longer;
		text += len;
		if (*text != '{')
			continue;
		inside = strcspn(text + 1, "}");
		snprintf(name, sizeof(name), "%.*s",
		    (int)(inside < sizeof(name) ? inside : sizeof(name) - 1), text + 1);
		if (!fact_take(f, name, value, sizeof(value)))
			snprintf(value, sizeof(value), "an unknown number of");
		longer = xasprintf("%s%.200s", out, value);
		free(out);
		out = longer;
		text += inside + 1 + (text[inside + 1] == '}');
	}
	return out;
}

bool
advice_kept(double predicted, double obtained)
{
	return obtained >= (isfinite(predicted) ? 1 + (predicted - 1) / 2 : 1.1);
}

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	struct advice *a = arg;
	json_t *doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	const json_t *o;
	const char *rule;
	double predicted, obtained;
	size_t i, k;

	json_array_foreach(result_list(doc, KEY_route_advice), i, o)
	{
		rule = result_text(o, KEY_route_advice_rule);
		predicted = result_number(o, KEY_route_advice_predicted);
		obtained = result_number(o, KEY_route_advice_obtained);
		for (k = 0; k < a->n && rule != NULL; k++) {
			if (strcmp(a->card[k].rule->name, rule) != 0 || !isfinite(obtained))
				continue;
			a->card[k].n_tried++;
			a->card[k].n_kept += advice_kept(predicted, obtained);
		}
	}
	json_decref(doc);
	return 1;
}

static void
cards_make(const struct facts *f, double gain, struct advice *out)
{
	const struct advice_rule *rule;
	struct advice_card *c;

	for (rule = advice_rules; rule < advice_rules + advice_rules_count; rule++) {
		if (out->n == ADVICE_CARDS_MAX || !advice_holds(rule->when, f, NULL))
			continue;
		c = &out->card[out->n++];
		*c = (struct advice_card){ .rule = rule,
			.evidence = text_fill(rule->evidence, f),
			.change = text_fill(rule->change, f),
			.undo = text_fill(rule->undo, f),
			.gain = strstr(rule->when, "stage=") != NULL ||
				strstr(rule->when, "cause=") != NULL
			    ? gain
			    : NAN };
	}
}

/* What lifting the limit gains, about or at least. */
static double
gain_of(const json_t *doc)
{
	const json_t *v = result_get(doc, KEY_result_verdict);
	double about = result_number(v, KEY_verdict_effect), ends[2];

	result_numbers(result_list(v, KEY_verdict_interval), ends, 2);
	return isfinite(about) ? about : ends[0];
}

int
advice_find(struct store_reader *r, const struct evidence *e, const json_t *doc, const char *route,
    const char *program, struct advice *out)
{
	struct facts f;
	int rc;

	*out = (struct advice){ 0 };
	if ((rc = facts_read(r, e, doc, &f)) < 0)
		return rc;
	cards_make(&f, gain_of(doc), out);
	facts_clear(&f);
	if (out->n == 0 || route == NULL)
		return NW_OK;
	rc = store_route_get(r, route, program != NULL ? program : "", on_route, out);
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

void
advice_clear(struct advice *a)
{
	while (a->n > 0) {
		free(a->card[--a->n].evidence);
		free(a->card[a->n].change);
		free(a->card[a->n].undo);
	}
}
