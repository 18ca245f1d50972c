/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"

/* Prints a text with the signs of Markdown as themselves, and no line of its own. */
static void
text_put(const char *text, bool markdown)
{
	for (text = terminal_text(text); *text != '\0'; text++) {
		if (markdown && strchr("\\`*_{}[]<>#|", *text) != NULL)
			putchar('\\');
		putchar(*text);
	}
}

static void
answer_put(const char *question, const char *answer, bool markdown)
{
	printf(markdown ? "- **%s** " : "%-14s ", question);
	text_put(answer, markdown);
	putchar('\n');
}

static const char *
slow_words(const json_t *usual)
{
	static char words[128];

	if (result_text(usual, KEY_usual_sentence) != NULL)
		return result_text(usual, KEY_usual_sentence);
	if (usual == NULL)
		return "Nothing to compare with.";
	snprintf(words, sizeof(words),
	    "Too early to tell: the route has %.0f earlier sessions of %.0f.",
	    fmax(0, result_number(usual, KEY_usual_n)),
	    fmax(0, result_number(usual, KEY_usual_n_needed)));
	return words;
}

/* Words of later sessions about the session's incident. */
static void
later_put(const json_t *doc, const json_t *incident, bool markdown)
{
	const json_t *own = result_get(result_get(doc, KEY_result_usual), KEY_usual_incident);
	const char *now = result_text(incident, KEY_incident_sentence),
		   *said = result_text(own, KEY_incident_sentence),
		   *cause = result_text(incident, KEY_incident_cause),
		   *changed =
		       result_text(result_get(doc, KEY_result_changed), KEY_changed_sentence);

	if (now != NULL && (said == NULL || strcmp(said, now) != 0))
		answer_put("Known since:", now, markdown);
	if (cause != NULL && (changed == NULL || strcmp(changed, cause) != 0))
		answer_put("Known since:", cause, markdown);
}

static const char *
since_words(const json_t *doc, bool in_incident)
{
	const char *since =
	    result_text(result_get(result_get(doc, KEY_result_usual), KEY_usual_incident),
		KEY_incident_sentence);

	return since != NULL ? since : result_no_incident(doc, in_incident);
}

static const char *
changed_words(const json_t *doc, bool in_incident)
{
	const char *sentence =
	    result_text(result_get(doc, KEY_result_changed), KEY_changed_sentence);

	return sentence != NULL ? sentence : result_no_change(doc, in_incident);
}

/* "Set ... back. On b: sysctl -w ...". */
static void
remedy_put(const json_t *doc, bool in_incident, bool markdown)
{
	const json_t *card = json_array_get(result_list(doc, KEY_result_advice), 0);

	if (card == NULL) {
		answer_put("What to do?", result_no_advice(doc, in_incident), markdown);
		return;
	}
	printf(markdown ? "- **%s** " : "%-14s ", "What to do?");
	text_put(result_text(card, KEY_advice_title), markdown);
	if (result_text(card, KEY_advice_change) != NULL) {
		printf(". ");
		text_put(result_text(card, KEY_advice_change), markdown);
	}
	putchar('\n');
}

void
show_answers(const json_t *doc, const json_t *incident, bool markdown)
{
	const json_t *usual = result_get(doc, KEY_result_usual),
		     *verdict = result_get(doc, KEY_result_verdict);
	const char *head = result_text(doc, KEY_result_headline),
		   *remedy = result_text(doc, KEY_result_remedy),
		   *sentence = result_text(verdict, KEY_verdict_sentence);

	sentence = sentence != NULL ? sentence : "Not judged yet.";

	if (head != NULL) {
		printf("%s", markdown ? "**" : "");
		text_put(head, markdown);
		printf("%s\n", markdown ? "**" : "");
	}
	if (remedy != NULL) {
		text_put(remedy, markdown);
		putchar('\n');
	}
	if (markdown) {
		putchar('\n');
		answer_put("Where?", sentence, true);
	} else
		printf("%s\n", terminal_text(sentence));
	answer_put("Slow?", slow_words(usual), markdown);
	answer_put("Since when?", since_words(doc, incident != NULL), markdown);
	answer_put("What changed?", changed_words(doc, incident != NULL), markdown);
	later_put(doc, incident, markdown);
	remedy_put(doc, incident != NULL, markdown);
}
