/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/advice/advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/advice/advice_in.h"
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

/* What stands in a text for an unknown fact: a thing for the reader to fill in, or no number. */
static const char *
unknown_words(const char *name)
{
	static const struct {
		const char *end, *words;
	} things[] = { { ".interface", "INTERFACE" }, { ".device", "DEVICE" },
		{ ".mountpoint", "MOUNTPOINT" }, { ".directory", "DIRECTORY" },
		{ "src_host", "the sending host" }, { "dst_host", "the receiving host" },
		{ "at_host", "the host" }, { "program", "the program" }, { "others", "unknown" } };
	size_t i, len = strlen(name);

	for (i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (len >= strlen(things[i].end) &&
		    strcmp(name + len - strlen(things[i].end), things[i].end) == 0)
			return things[i].words;
	return "an unknown number of";
}

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
			snprintf(value, sizeof(value), "%s", unknown_words(name));
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
			if (advice_kept(predicted, obtained))
				a->card[k].n_kept++;
			else if (a->card[k].n_kept == 0) /* the newest come first */
				a->card[k].n_failed++;
		}
	}
	json_decref(doc);
	return 1;
}

void
advice_card_setting(struct advice_card *c, const char *host, const char *name, const char *value)
{
	if (c->n_settings < ADVICE_SETTINGS_MAX)
		c->setting[c->n_settings++] =
		    (struct advice_setting){ xstrdup(host), xstrdup(name), xstrdup(value) };
}

/* The setting of a fact such as "src.net.*.mtu" or "at.sysctl.vm.swappiness". */
static void
setting_add(const struct facts *f, const char *fact, struct advice_card *c)
{
	static const struct {
		const char *group, *thing;
	} things[] = { { "net.*", "interface" }, { "disk.*", "device" },
		{ "mount.*", "mountpoint" } };
	char role[8], name[NAME_BYTES], full[2 * NAME_BYTES];
	const char *setting = strchr(fact, '.') + 1, *host, *thing;
	size_t i, len;

	snprintf(role, sizeof(role), "%.*s", (int)(setting - 1 - fact), fact);
	snprintf(name, sizeof(name), "%s_host", role);
	if ((host = facts_get(f, name)) == NULL)
		return;
	snprintf(full, sizeof(full), "%s", setting);
	for (i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		len = strlen(things[i].group);
		if (strncmp(setting, things[i].group, len) != 0)
			continue;
		snprintf(name, sizeof(name), "%s.%s", role, things[i].thing);
		if ((thing = facts_get(f, name)) == NULL)
			return;
		snprintf(
		    full, sizeof(full), "%.*s%s%s", (int)len - 1, setting, thing, setting + len);
	}
	advice_card_setting(c, host, full, facts_get(f, fact));
}

/* The settings that the rule's condition is about. */
static void
settings_of(const char *when, const struct facts *f, struct advice_card *c)
{
	static const char *const roles[] = { "src.", "dst.", "at." };
	char fact[NAME_BYTES];
	size_t i, len;

	for (; *when != '\0'; when += len + strspn(when + len, " ")) {
		len = strcspn(when, " ");
		snprintf(fact, sizeof(fact), "%.*s", (int)strcspn(when, "#=!~<>"), when);
		for (i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
			if (strncmp(fact, roles[i], strlen(roles[i])) == 0)
				setting_add(f, fact, c);
	}
}

/* A rule about a setting that is set back already says the same again. */
static bool
is_set_back(const struct advice *a, const struct advice_card *c)
{
	size_t i, k, n;

	for (i = 0; i < a->n; i++)
		for (k = 0; k < a->card[i].n_settings; k++)
			for (n = 0; n < c->n_settings; n++)
				if (strcmp(a->card[i].setting[k].name, c->setting[n].name) == 0 &&
				    strcmp(a->card[i].setting[k].host, c->setting[n].host) == 0)
					return true;
	return false;
}

static void
card_clear(struct advice_card *c)
{
	while (c->n_settings > 0) {
		free(c->setting[--c->n_settings].host);
		free(c->setting[c->n_settings].name);
		free(c->setting[c->n_settings].value);
	}
	free(c->title);
	free(c->evidence);
	claims_clear(&c->told);
	free(c->check);
	free(c->change);
	free(c->undo);
}

/* The rule's own gain, else the gain of lifting the limit. */
static double
card_gain(const struct facts *f, const struct advice_rule *rule, double limit)
{
	char name[NAME_BYTES];
	const char *own;

	snprintf(name, sizeof(name), "gain.%s", rule->name);
	if ((own = facts_get(f, name)) != NULL)
		return strtod(own, NULL);
	return strstr(rule->when, "stage=") != NULL || strstr(rule->when, "cause=") != NULL ||
		strstr(rule->when, "held_by=") != NULL
	    ? limit
	    : NAN;
}

static void
cards_make(const struct facts *f, double gain, struct advice *out)
{
	const struct advice_rule *rule;
	struct advice_card *c;

	for (rule = advice_rules; rule < advice_rules + advice_rules_count; rule++) {
		if (out->n == ADVICE_CARDS_MAX || !advice_holds(rule->when, f, NULL))
			continue;
		c = &out->card[out->n];
		*c = (struct advice_card){ .rule = rule,
			.title = text_fill(rule->title, f),
			.check = text_fill(rule->check, f),
			.evidence = text_fill(rule->evidence, f),
			.change = text_fill(rule->change, f),
			.undo = text_fill(rule->undo, f),
			.gain = card_gain(f, rule, gain),
			.gain_history = NAN };
		settings_of(rule->when, f, c);
		if (is_set_back(out, c))
			card_clear(c);
		else
			out->n++;
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
	setback_cards(doc, out);
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
	while (a->n > 0)
		card_clear(&a->card[--a->n]);
}
