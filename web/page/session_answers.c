/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first screen of a session's page: the verdict, then five questions in the order in which
 * people ask them, each with its answer in words. Where the data are too few for an answer, the
 * page says so instead.
 */
#include "web/page/page.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/incident.h"
#include "narrows/result.h"
#include "web/draw/plot_in.h"

enum { LIST_MAX = 20, CHANGES_SAID = 3, CARDS_SAID = 3, SEGMENTS_SAID = 3 };

/* --- the verdict --- */

/* "2 witnesses agree, 1 disagrees." Witnesses without an opinion are in the list below. */
static void
write_agreement(struct html *h, const json_t *witnesses)
{
	size_t i, n = json_array_size(witnesses), agree = 0, against = 0;

	for (i = 0; i < n; i++) {
		int agrees = result_bool(json_array_get(witnesses, i), KEY_witness_agrees);

		agree += agrees == 1;
		against += agrees == 0;
	}
	if (agree > 0) {
		html_raw(h, " ");
		html_int(h, (int64_t)agree);
		if (agree == 1)
			html_raw(h, " witness agrees");
		else
			html_raw(h, " witnesses agree");
	} else
		html_raw(h, " No witness confirms it");
	if (against > 0) {
		html_raw(h, ", ");
		html_int(h, (int64_t)against);
		if (against == 1)
			html_raw(h, " disagrees");
		else
			html_raw(h, " disagree");
	}
	html_raw(h, ".");
}

static void
write_reasons(struct html *h, const json_t *verdict)
{
	const json_t *reasons = result_list(verdict, KEY_verdict_reasons);
	size_t i, n = json_array_size(reasons);

	if (n == 0)
		return;
	html_raw(h, "<div class=\"why\"><h3>Why there?</h3><ul class=\"reasons\">");
	for (i = 0; i < n && i < LIST_MAX; i++) {
		html_raw(h, "<li>");
		html_text(h, json_string_value(json_array_get(reasons, i)));
		html_raw(h, "</li>");
	}
	html_raw(h, "</ul></div>");
}

/* Whether the verdict is an answer, perhaps of two stages. */
static bool
is_answered(const json_t *verdict)
{
	const char *confidence = result_text(verdict, KEY_verdict_confidence);

	return confidence != NULL && strcmp(confidence, "none") != 0;
}

static void
write_candidates(struct html *h, const json_t *verdict)
{
	const json_t *list = result_list(verdict, KEY_verdict_candidates);
	size_t i, n = json_array_size(list);

	if (n < 2 || is_answered(verdict))
		return;
	html_raw(h, "<p>It may have been ");
	for (i = 0; i < n && i < LIST_MAX; i++) {
		if (i > 0 && i + 1 == n)
			html_raw(h, " or ");
		else if (i > 0)
			html_raw(h, ", ");
		html_text(h, result_stage_words(json_string_value(json_array_get(list, i))));
	}
	html_raw(h, ".</p>");
}

/* A sentence made of the fields, for documents without a sentence. */
static void
write_sentence(struct html *h, const json_t *verdict, const char *stage)
{
	const char *sentence = result_text(verdict, KEY_verdict_sentence);

	if (sentence != NULL)
		html_text(h, sentence);
	else if (stage != NULL) {
		html_raw(h, "The ");
		html_text(h,
		    page_either(
			result_text(verdict, KEY_verdict_words), result_stage_words(stage)));
		html_raw(h, " limited this transfer.");
	} else
		html_raw(h, "The measurements do not show the limit of this transfer.");
}

/* Verdicts from before the closed session opened again, with the opener's name. */
static void
write_before(struct html *h, const json_t *list)
{
	const char *sentence;
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		sentence = result_text(o, KEY_before_sentence);
		html_raw(h, "<p class=\"note\">Until ");
		html_text(h, page_either(result_text(o, KEY_before_replaced), "?"));
		html_raw(h, " the verdict was: ");
		html_text(h, page_either(sentence, "none"));
		html_raw(h, " Then ");
		html_text(h, page_either(result_text(o, KEY_before_why), "the session went on"));
		html_raw(h, ".</p>");
	}
}

/* "Confidence: medium, an account of this transfer." */
static void
write_confidence(struct html *h, const json_t *verdict)
{
	const char *claim = result_text(verdict, KEY_verdict_claim);
	double n_eff = result_number(verdict, KEY_verdict_n_eff);

	html_raw(h, "<p>Confidence: <b>");
	html_text(h, page_either(result_text(verdict, KEY_verdict_confidence), "not stated"));
	html_raw(h, "</b>");
	if (claim != NULL && strcmp(claim, "account") == 0)
		html_raw(h, ", an account of this transfer alone");
	else if (claim != NULL && n_eff >= 1) {
		html_raw(h, ", inferred from intervals worth ");
		html_int(h, (int64_t)fmin(n_eff, 1e6));
		html_raw(h, " independent ones");
	}
	html_raw(h, ".");
	/* of two stages no witness says whether they limit together */
	if (result_text(verdict, KEY_verdict_stage) != NULL)
		write_agreement(h, result_list(verdict, KEY_verdict_witnesses));
	html_raw(h, "</p>");
}

static bool
is_set_back(const json_t *card)
{
	const char *rule = result_text(card, KEY_advice_rule);

	return rule != NULL && strcmp(rule, "set-back") == 0;
}

/* The remedy of a cause: a command behind the name of a host, or a sentence for a person. */
static void
write_change(struct html *h, const char *change)
{
	const bool command = strncmp(change, "On ", 3) == 0;

	if (command)
		html_raw(h, "<code>");
	html_text(h, change);
	if (command)
		html_raw(h, "</code>");
}

/* The command that sets the likeliest cause back. */
static void
write_command(struct html *h, const json_t *advice)
{
	const json_t *card = json_array_get(advice, 0);
	const char *change = is_set_back(card) ? result_text(card, KEY_advice_change) : NULL;

	if (change == NULL)
		return;
	html_raw(h, "<p class=\"command\">");
	write_change(h, change);
	html_raw(h, "</p>");
}

static void
answer_verdict(struct html *h, const json_t *doc)
{
	const json_t *verdict = result_get(doc, KEY_result_verdict);
	const char *stage = result_text(verdict, KEY_verdict_stage);

	if (stage == NULL && is_answered(verdict))
		html_raw(h,
		    "<section class=\"verdict none\"><p class=\"kicker\">Where did the transfer "
		    "narrow? Not in one place alone.</p>");
	else if (stage == NULL)
		html_raw(h,
		    "<section class=\"verdict none\"><p class=\"kicker\">Where did it narrow? The "
		    "box cannot tell.</p>");
	else
		html_raw(
		    h, "<section class=\"verdict\"><p class=\"kicker\">Where did it narrow?</p>");
	if (result_text(doc, KEY_result_headline) != NULL) {
		html_raw(h, "<h2 class=\"headline\">");
		html_text(h, result_text(doc, KEY_result_headline));
		html_raw(h, "</h2>");
	}
	if (result_text(doc, KEY_result_remedy) != NULL) {
		html_raw(h, "<p class=\"remedy\">");
		html_text(h, result_text(doc, KEY_result_remedy));
		html_raw(h, "</p>");
	}
	write_command(h, result_list(doc, KEY_result_advice));
	html_raw(h, "<p class=\"sentence\">");
	write_sentence(h, verdict, stage);
	html_raw(h, "</p>");
	if (stage != NULL || is_answered(verdict))
		write_confidence(h, verdict);
	else
		write_candidates(h, verdict);
	write_before(h, result_list(doc, KEY_result_before));
	html_raw(h, "</section>");
}

/* --- section 1: the rate beside the usual rate --- */

static void
ask(struct html *h, const char *number, const char *class, const char *question)
{
	html_raw(h, "<section");
	html_attr(h, "class", class);
	html_raw(h, "><h2><span class=\"soft\">");
	html_text(h, number);
	html_raw(h, "</span> ");
	html_text(h, question);
	html_raw(h, "</h2>");
}

/* Rates of the bullet bar. */
struct bullet {
	double own, low, median, high, best, worst;
};

static const struct bullet_row {
	const char *name, *class;
	size_t value, value2; /* offsets in the bullet; equal for a single rate */
} bullet_rows[] = {
	{ "this session", "own", offsetof(struct bullet, own), offsetof(struct bullet, own) },
	{ "usual band", "usual", offsetof(struct bullet, low), offsetof(struct bullet, high) },
	{ "median", "median", offsetof(struct bullet, median), offsetof(struct bullet, median) },
	{ "best", "best", offsetof(struct bullet, best), offsetof(struct bullet, best) },
	{ "worst", "worst", offsetof(struct bullet, worst), offsetof(struct bullet, worst) },
};
enum { N_BULLET_ROWS = sizeof(bullet_rows) / sizeof(bullet_rows[0]) };

static double
bullet_get(const struct bullet *b, size_t offset)
{
	return *(const double *)((const char *)b + offset);
}

static bool
bullet_read(struct bullet *b, const json_t *doc)
{
	const json_t *u = result_get(doc, KEY_result_usual);
	size_t i;

	*b = (struct bullet){ result_number(
				  result_get(doc, KEY_result_session), KEY_session_bytes_per_s),
		result_number(u, KEY_usual_low), result_number(u, KEY_usual_median),
		result_number(u, KEY_usual_high), result_number(u, KEY_usual_best),
		result_number(u, KEY_usual_worst) };
	for (i = 0; i < N_BULLET_ROWS; i++)
		if (!(bullet_get(b, bullet_rows[i].value) > 0 &&
			bullet_get(b, bullet_rows[i].value2) < 1e18))
			return false;
	return result_text(u, KEY_usual_sentence) != NULL;
}

static void
bullet_csv(FILE *f, const void *arg)
{
	size_t i;

	fputs("what,from_bytes_per_s,to_bytes_per_s\r\n", f);
	for (i = 0; i < N_BULLET_ROWS; i++)
		fprintf(f, "\"%s\",%s,%s\r\n", bullet_rows[i].name,
		    fmt_exact(bullet_get(arg, bullet_rows[i].value)).s,
		    fmt_exact(bullet_get(arg, bullet_rows[i].value2)).s);
}

/* A bar from one rate to another, on an axis from 0 to `whole`. */
static void
bullet_bar(struct html *h, const char *class, double from, double to, double whole)
{
	html_raw(h, "<rect");
	html_attr(h, "class", class);
	html_raw(h, " x=\"");
	plot_percent(h, from / whole);
	html_raw(h, "\" width=\"");
	plot_percent(h, (to - from) / whole);
	html_raw(h, "\"/>");
}

static void
bullet_tick(struct html *h, const char *class, double at, double whole)
{
	html_raw(h, "<line y2=\"26\"");
	html_attr(h, "class", class);
	html_raw(h, " x1=\"");
	plot_percent(h, at / whole);
	html_raw(h, "\" x2=\"");
	plot_percent(h, at / whole);
	html_raw(h, "\"/>");
}

/* The legend is the table of the figure: a swatch, a name, the rate. */
static void
bullet_legend(struct html *h, const struct bullet *b)
{
	size_t i;

	html_raw(h, "<dl class=\"key\">");
	for (i = 0; i < N_BULLET_ROWS; i++) {
		double from = bullet_get(b, bullet_rows[i].value),
		       to = bullet_get(b, bullet_rows[i].value2);

		html_raw(h, "<div><dt><span aria-hidden=\"true\"");
		html_attr(h, "class", bullet_rows[i].class);
		html_raw(h, "></span>");
		html_text(h, bullet_rows[i].name);
		html_raw(h, "</dt> <dd>");
		html_text(h, fmt_bytes_per_s(from).s);
		if (to > from) {
			html_raw(h, " to ");
			html_text(h, fmt_bytes_per_s(to).s);
		}
		html_raw(h, "</dd></div>");
	}
	html_raw(h, "</dl>");
}

/* This session's rate against the usual band, the best and the worst of its route. */
static void
write_bullet(struct html *h, const json_t *doc)
{
	struct bullet b;
	const struct plot_numbers numbers = { "p-usual",
		"the rate beside the usual rates of the route", bullet_csv, &b };
	double whole;

	if (!bullet_read(&b, doc))
		return;
	if (h->figure != NULL) {
		if (strcmp(h->figure, numbers.id) == 0)
			bullet_csv(h->figure_csv, &b);
		h->figure_found |= strcmp(h->figure, numbers.id) == 0;
		return;
	}
	whole = 1.02 * fmax(fmax(b.own, b.best), b.high);
	html_raw(h,
	    "<figure class=\"bullet\"><svg width=\"100%\" height=\"26\" role=\"img\" "
	    "aria-label=\"Rate beside the usual rates of the route\" "
	    "aria-describedby=\"p-usual\"><rect class=\"ground\" width=\"100%\"/>");
	bullet_bar(h, "usual", b.low, fmax(b.high, b.low + whole / 200), whole);
	bullet_bar(h, "own", 0, b.own, whole);
	bullet_tick(h, "median", b.median, whole);
	bullet_tick(h, "worst", b.worst, whole);
	bullet_tick(h, "best", b.best, whole);
	html_raw(h, "</svg><div id=\"p-usual\">");
	bullet_legend(h, &b);
	html_raw(h, "</div>");
	plot_csv_link(h, &numbers);
	html_raw(h, "</figure>");
}

/* "Too early to say: needs 8 earlier sessions, has 3." */
static void
write_too_few(struct html *h, const json_t *usual)
{
	double n = result_number(usual, KEY_usual_n),
	       needed = result_number(usual, KEY_usual_n_needed);

	if (!(n >= 0 && needed > n && needed < 1e6)) {
		html_raw(h, "Not compared with other sessions.");
		return;
	}
	if (n < 1)
		html_raw(h, "First session of this route; a comparison needs ");
	else
		html_raw(h, "Too early to say: needs ");
	html_int(h, (int64_t)needed);
	if (n < 1) {
		html_raw(h, " earlier ones.");
		return;
	}
	html_raw(h, " earlier sessions, has ");
	html_int(h, (int64_t)n);
	html_raw(h, ".");
}

static void
answer_slow(struct html *h, const json_t *doc)
{
	const json_t *usual = result_get(doc, KEY_result_usual),
		     *s = result_get(doc, KEY_result_session);
	const char *sentence = result_text(usual, KEY_usual_sentence);

	ask(h, "1", "slow", "Was it slow?");
	html_raw(h, "<p class=\"usual\">");
	if (sentence == NULL)
		write_too_few(h, usual);
	else {
		html_raw(h, "<b>");
		html_text(h, sentence);
		html_raw(h, "</b>");
	}
	if (!h->alone && !h->foreign && result_text(s, KEY_session_route) != NULL) {
		html_raw(h, " <a");
		page_route_href(h, "/route", result_text(s, KEY_session_route),
		    result_text(s, KEY_session_program));
		html_raw(h, ">History of the route</a>");
	}
	html_raw(h, "</p>");
	write_bullet(h, doc);
	html_raw(h, "</section>");
}

/* --- 2: where? --- */

static void
answer_where(struct html *h, const json_t *doc)
{
	ask(h, "2", "where", "Where?");
	if (json_is_true(
		result_get(result_get(doc, KEY_result_session), KEY_session_announced_alone)))
		html_raw(h,
		    "<p>No host of this transfer is measured: no stage has times of its own.</p>");
	session_pipe(h, doc);
	html_raw(h, "</section>");
}

/* --- 3: since when? --- */

static void
write_segments(struct html *h, const json_t *list)
{
	size_t i, n = json_array_size(list);

	if (n == 0) {
		html_raw(h, "<p>In this session: no measured call moved anything.</p>");
		return;
	}
	if (n == 1) {
		html_raw(h, "<p>In this session: all the time.</p>");
		return;
	}
	html_raw(h, "<p>In this session:</p><ul>");
	for (i = 0; i < n && i < SEGMENTS_SAID; i++) {
		const json_t *segment = json_array_get(list, i);
		const char *words = result_text(segment, KEY_segment_words);

		html_raw(h, "<li>from ");
		page_clock(h, result_ns(segment, KEY_segment_start_ns));
		html_raw(h, " ");
		html_text(h, words != NULL ? words : "no limit can be told");
		html_raw(h, ", ");
		html_text(h, fmt_bytes_per_s(result_number(segment, KEY_segment_bytes_per_s)).s);
		html_raw(h, "</li>");
	}
	html_raw(h, "</ul><p><a href=\"#changes\">");
	html_text(h, n > SEGMENTS_SAID ? "All " : "The ");
	html_int(h, (int64_t)n);
	html_raw(h, " stretches</a></p>");
}

/* The link to the incident that a session is in. */
static void
write_incident_link(struct html *h, const json_t *incident, const char *words)
{
	html_raw(h, "<a");
	html_attr(h, "href", result_text(incident, KEY_incident_page));
	html_raw(h, ">");
	html_text(h, words);
	html_raw(h, "</a>");
}

/* Later knowledge of the incident of this session. */
static void
write_later(struct html *h, const json_t *own, const json_t *incident)
{
	const char *said = result_text(own, KEY_incident_sentence),
		   *now = result_text(incident, KEY_incident_sentence);

	if (now == NULL)
		return;
	html_raw(h, "<p>");
	if (said == NULL || strcmp(said, now) != 0) {
		html_raw(h, "Known since: ");
		html_text(h, now);
		html_raw(h, " ");
	}
	write_incident_link(h, incident, "The incident");
	if (result_text(incident, KEY_incident_reach) != NULL) {
		html_raw(h, ". ");
		html_text(h, result_text(incident, KEY_incident_reach));
	}
	html_raw(h, "</p>");
}

static void
answer_since(struct html *h, const json_t *doc, const json_t *incident)
{
	const json_t *own = result_get(result_get(doc, KEY_result_usual), KEY_usual_incident);
	const json_t *segments =
	    result_list(result_get(doc, KEY_result_changes), KEY_changes_segments);

	ask(h, "3", "since", "Since when?");
	write_segments(h, segments);
	html_raw(h, "<p>");
	if (result_text(own, KEY_incident_sentence) != NULL) {
		html_raw(h, "This route: ");
		html_text(h, result_text(own, KEY_incident_sentence));
	} else
		html_text(h, result_no_incident(doc, incident != NULL));
	html_raw(h, "</p>");
	write_later(h, own, incident);
	html_raw(h, "</section>");
}

/* --- 4: what changed? --- */

static void
write_differences(struct html *h, const json_t *changed)
{
	const json_t *list = result_list(changed, KEY_changed_differences), *row;
	const bool some_named = result_number(changed, KEY_changed_n_named) > 0;
	size_t i, n = 0;

	json_array_foreach(list, i, row)
	{
		if (n == CHANGES_SAID ||
		    (some_named && result_bool(row, KEY_difference_named) != 1) ||
		    result_bool(row, KEY_difference_beyond_chance) != 1 ||
		    result_text(row, KEY_difference_sentence) == NULL)
			continue;
		if (n++ == 0)
			html_raw(h, "<ol>");
		html_raw(h, "<li>");
		html_text(h, result_text(row, KEY_difference_sentence));
		html_raw(h, "</li>");
	}
	if (n > 0)
		html_raw(h, "</ol>");
	else {
		html_raw(h, "<p>");
		html_text(h, result_text(changed, KEY_changed_sentence));
		html_raw(h, "</p>");
	}
	if (json_array_size(list) == 0)
		return;
	html_raw(h, "<p><a href=\"#changed\">All differences, likely causes first: ");
	html_int(h, (int64_t)json_array_size(list));
	html_raw(h, "</a></p>");
}

/* The cause as the newest session of the incident has it, unless this session has the same. */
static bool
write_later_cause(struct html *h, const json_t *changed, const json_t *incident)
{
	const char *cause = result_text(incident, KEY_incident_cause),
		   *said = result_text(changed, KEY_changed_sentence);

	if (cause == NULL || (said != NULL && strcmp(cause, said) == 0))
		return false;
	html_raw(h, "<p>Known since, by session ");
	html_int(h, (int64_t)result_number(incident, KEY_incident_causes_session));
	html_raw(h, ": ");
	html_text(h, cause);
	html_raw(h, "</p>");
	return true;
}

static void
answer_changed(struct html *h, const json_t *doc, const json_t *incident)
{
	const json_t *changed = result_get(doc, KEY_result_changed);

	ask(h, "4", "changed", "What changed?");
	if (changed != NULL)
		write_differences(h, changed);
	if (!write_later_cause(h, changed, incident) && changed == NULL) {
		html_raw(h, "<p>");
		html_text(h, result_no_change(doc, incident != NULL));
		html_raw(h, "</p>");
	}
	html_raw(h, "</section>");
}

/* --- section 5: the advice --- */

static void
write_advice(struct html *h, const json_t *card, double rate)
{
	double gain = fmax(result_number(card, KEY_advice_gain_history), 0);

	if (!(gain > 1))
		gain = result_number(card, KEY_advice_gain);
	html_raw(h, "<li><b>");
	html_text(h, result_text(card, KEY_advice_title));
	html_raw(h, "</b>");
	if (gain > 1 && isfinite(gain * rate)) {
		html_raw(h, " Expected: ");
		html_text(h, fmt_bytes_per_s(rate * gain).s);
		html_raw(h, ".");
	}
	if (result_text(card, KEY_advice_check) != NULL) {
		html_raw(h, " Check: <code>");
		html_text(h, result_text(card, KEY_advice_check));
		html_raw(h, "</code>");
	}
	if (result_text(card, KEY_advice_change) != NULL && is_set_back(card)) {
		html_raw(h, " Then: ");
		write_change(h, result_text(card, KEY_advice_change));
	}
	html_raw(h, "</li>");
}

/* Cards of later sessions of the incident, as far as this session lacks them. */
static size_t
write_later_cards(struct html *h, const json_t *own, const json_t *incident)
{
	const json_t *card, *o;
	const char *title, *said;
	size_t i, k, n = 0;

	json_array_foreach(result_list(incident, KEY_incident_advice), i, card)
	{
		title = result_text(card, KEY_route_advice_title);
		json_array_foreach(
		    own, k, o) if ((said = result_text(o, KEY_advice_title)) != NULL &&
		    title != NULL && strcmp(title, said) == 0) break;
		if (title == NULL || k < json_array_size(own) ||
		    result_get(card, KEY_route_advice_closed) != NULL || n == CARDS_SAID)
			continue;
		if (n++ == 0)
			html_raw(h, "<p>Known since: ");
		else
			html_raw(h, "; ");
		html_text(h, title);
	}
	if (n > 0) {
		html_raw(h, " (");
		write_incident_link(h, incident, "the incident");
		html_raw(h, ")</p>");
	}
	return n;
}

static void
answer_advice(struct html *h, const json_t *doc, const json_t *incident)
{
	const json_t *list = result_list(doc, KEY_result_advice), *card;
	double rate = result_number(result_get(doc, KEY_result_session), KEY_session_bytes_per_s);
	size_t i;

	ask(h, "5", "do", "What to do?");
	if (json_array_size(list) > 0) {
		html_raw(h, "<ol>");
		json_array_foreach(list, i, card) if (i < CARDS_SAID) write_advice(h, card, rate);
		html_raw(h, "</ol><p><a href=\"#advice\">Why, how, and how to undo</a></p>");
	}
	if (write_later_cards(h, list, incident) == 0 && json_array_size(list) == 0) {
		html_raw(h, "<p>");
		html_text(h, result_no_advice(doc, incident != NULL));
		html_raw(h, "</p>");
	}
	html_raw(h, "</section>");
}

/* --- the screen --- */

void
session_answers(struct html *h, const json_t *doc, const json_t *incident)
{
	if (h->figure != NULL) {
		write_bullet(h, doc);
		return;
	}
	if (result_get(doc, KEY_result_verdict) == NULL) {
		html_raw(h,
		    "<section class=\"verdict none\"><p class=\"kicker\">Where did it "
		    "narrow?</p><h2 class=\"sentence\">"
		    "This session has not been analysed yet.</h2><p>A session is analysed within "
		    "seconds after it ends.</p></section>");
		return;
	}
	answer_verdict(h, doc);
	html_raw(h, "<div class=\"answers\">");
	answer_slow(h, doc);
	answer_where(h, doc);
	answer_since(h, doc, incident);
	answer_changed(h, doc, incident);
	answer_advice(h, doc, incident);
	write_reasons(h, result_get(doc, KEY_result_verdict));
	html_raw(h, "</div>");
}

/* --- witnesses --- */

void
session_witnesses(struct html *h, const json_t *doc)
{
	const json_t *list =
	    result_list(result_get(doc, KEY_result_verdict), KEY_verdict_witnesses);
	size_t i, n = json_array_size(list);

	if (n == 0)
		return;
	html_raw(h, "<ul class=\"witnesses\">");
	for (i = 0; i < n && i < LIST_MAX; i++) {
		const json_t *w = json_array_get(list, i);
		const char *says = result_text(w, KEY_witness_says);

		switch (result_bool(w, KEY_witness_agrees)) {
		case 1:
			html_raw(h, "<li class=\"yes\"><b class=\"mark\">\xe2\x9c\x93 agrees</b>");
			break;
		case 0:
			html_raw(
			    h, "<li class=\"no\"><b class=\"mark\">\xe2\x9c\x97 disagrees</b>");
			break;
		default: html_raw(h, "<li><b class=\"mark\">\xe2\x80\x93 neutral</b>");
		}
		html_raw(h, "<span><b>");
		html_text(h, page_either(result_text(w, KEY_witness_name), "unnamed"));
		html_raw(h, "</b>");
		if (says != NULL) {
			html_raw(h, " says ");
			html_text(h, result_stage_words(says));
		}
		html_raw(h, "</span><span class=\"soft\">");
		html_text(h, result_text(w, KEY_witness_detail));
		html_raw(h, "</span></li>");
	}
	html_raw(h, "</ul>");
}
