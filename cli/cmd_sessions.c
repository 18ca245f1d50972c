/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows sessions: the list, newest first, or those sessions that pass every filter. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/stage_words.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"
#include "web/answer/session_filter.h"

enum { COUNT_DEFAULT = 20 };

struct filter {
	const char *verdict; /* NULL: any */
	char *query;         /* of the filters that the box applies */
	long count;
	enum form { FORM_TABLE, FORM_JSON, FORM_CSV } form;
};

/* Options that are parameters of the list, by their letter. */
static const struct {
	int letter;
	const char *parameter;
} params[] = {
	{ 'H', "host" },
	{ 'p', "program" },
	{ 'S', "since" },
	{ 'U', "until" },
	{ 'l', "label" },
	{ 'r', "route" },
	{ 't', "state" },
	{ 'm', "rate_min" },
	{ 'M', "rate_max" },
	{ 'q', "q" },
	{ 'o', "sort" },
	{ 'V', "stage" },
};

/* Says what is wrong with a value. */
static bool
value_check(const char *parameter, const char *encoded, const char *value)
{
	char *one = xasprintf("%s=%s", parameter, encoded);
	const char *form = param_find(session_params, parameter, 0)->form;
	struct session_filter asked;
	bool good = session_filter_parse(&asked, one) == NW_OK;

	if (!good)
		fprintf(stderr, "narrows: sessions: --%s: \"%s\" is not %s\n",
		    strcmp(parameter, "q") == 0              ? "search"
			: strcmp(parameter, "rate_min") == 0 ? "rate-min"
			: strcmp(parameter, "rate_max") == 0 ? "rate-max"
							     : parameter,
		    terminal_text(value), form);
	free(one);
	return good;
}

static bool
query_add(struct filter *f, int letter, const char *value)
{
	char *encoded = evhttp_uriencode(value, -1, 0), *longer;
	size_t i;

	for (i = 0; i < sizeof(params) / sizeof(params[0]) && params[i].letter != letter; i++)
		;
	if (i == sizeof(params) / sizeof(params[0]) || encoded == NULL) {
		free(encoded);
		return false;
	}
	if (!value_check(params[i].parameter, encoded, value)) {
		free(encoded);
		return false;
	}
	longer =
	    xasprintf("%s&%s=%s", f->query != NULL ? f->query : "", params[i].parameter, encoded);
	free(f->query);
	free(encoded);
	f->query = longer;
	return true;
}

/* --- filters --- */

/* The verdict of a listed session as the list prints, or the state of a session without verdict. */
static const char *
verdict_words(const json_t *o)
{
	const char *stage = result_text(o, KEY_listed_stage),
		   *sentence = result_text(o, KEY_listed_sentence);

	if (stage == NULL && sentence == NULL)
		return result_text(o, KEY_listed_state);
	return result_limit_words(stage, result_text(o, KEY_listed_confidence), sentence);
}

/* A verdict may be named by the stage's key or by the words. */
static bool
verdict_is(const json_t *o, const char *wanted)
{
	const char *stage = result_text(o, KEY_listed_stage), *words = verdict_words(o);

	return (stage != NULL &&
		   (strcmp(stage, wanted) == 0 ||
		       strcmp(result_stage_words(stage), wanted) == 0)) ||
	    (words != NULL && strcmp(words, wanted) == 0);
}

static bool
passes(const json_t *o, const struct filter *f)
{
	return f->verdict == NULL || verdict_is(o, f->verdict);
}

/* --- output --- */

/* The exit status of the program; "-": unknown. */
static struct fmt
exit_words(const json_t *o)
{
	double status = result_number(o, KEY_listed_exit_status);

	return status >= 0 && status < 1e6 ? fmt_int((int64_t)status) : (struct fmt){ "-" };
}

static void
session_print(const json_t *o)
{
	const char *verdict = verdict_words(o);
	double duration = result_number(o, KEY_listed_duration_s);
	bool interim = result_text(o, KEY_listed_sentence) != NULL &&
	    strcmp(show_text(o, KEY_listed_state, ""), "open") == 0;
	const char *mark = result_bool(o, KEY_listed_imported) == 1 ? " (imported)"
	    : result_bool(o, KEY_listed_announced) == 1             ? " (announced)"
								    : "";
	char start[32];

	snprintf(start, sizeof(start), "%.19s", show_text(o, KEY_listed_start, "-"));
	printf("%6" JSON_INTEGER_FORMAT
	       "  %-19s  %10s  %-28s  %-12s  %4s  %9s  %11s  %-10s  %s%s%s\n",
	    json_integer_value(result_get(o, KEY_listed_id)), start,
	    isfinite(duration) ? fmt_duration(duration).s : "-",
	    show_text(o, KEY_listed_route, "-"), show_text(o, KEY_listed_program, "-"),
	    exit_words(o).s, fmt_bytes(result_number(o, KEY_listed_bytes)).s,
	    fmt_bytes_per_s(result_number(o, KEY_listed_bytes_per_s)).s,
	    show_text(o, KEY_listed_confidence, "-"), interim ? "so far: " : "",
	    verdict != NULL ? terminal_text(verdict) : "-", mark);
}

static const enum result_key csv_columns[] = { KEY_listed_id, KEY_listed_start, KEY_listed_state,
	KEY_listed_duration_s, KEY_listed_route, KEY_listed_program, KEY_listed_task_id,
	KEY_listed_label, KEY_listed_exit_status, KEY_listed_bytes, KEY_listed_bytes_per_s,
	KEY_listed_usual, KEY_listed_stage, KEY_listed_confidence, KEY_listed_effect,
	KEY_listed_imported, KEY_listed_announced, KEY_listed_sentence };
enum { CSV_COLUMNS = sizeof(csv_columns) / sizeof(csv_columns[0]) };

/* A cell without a value is empty. */
static void
session_csv(const json_t *o)
{
	size_t i;

	for (i = 0; i < CSV_COLUMNS; i++) {
		const json_t *v = result_get(o, csv_columns[i]);
		const char *number = json_is_integer(v) ? fmt_int(json_integer_value(v)).s
		    : json_is_real(v)                   ? fmt_exact(json_real_value(v)).s
		    : json_is_boolean(v)                ? json_is_true(v) ? "true" : "false"
							: "";

		if (i > 0)
			putchar(',');
		if (json_is_string(v))
			csv_cell(stdout, json_string_value(v), CSV_SAFE);
		else
			fputs(number, stdout);
	}
	fputs("\r\n", stdout);
}

static void
head_print(enum form form)
{
	size_t i;

	if (form == FORM_TABLE)
		printf("%6s  %-19s  %10s  %-28s  %-12s  %4s  %9s  %11s  %-10s  %s\n", "id",
		    "start (UTC)", "duration", "route", "program", "exit", "bytes", "rate",
		    "confidence", "limited by");
	for (i = 0; form == FORM_CSV && i < CSV_COLUMNS; i++)
		printf("%s%s", result_key_name(csv_columns[i]), i + 1 < CSV_COLUMNS ? "," : "\r\n");
}

/* Prints the sessions of a page that pass, at most *left of them. */
static void
page_print(const json_t *list, const struct filter *f, long *left)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		if (*left == 0 || !passes(o, f))
			continue;
		--*left;
		switch (f->form) {
		case FORM_TABLE: session_print(o); break;
		case FORM_CSV: session_csv(o); break;
		case FORM_JSON: show_json_line(o);
		}
	}
}

/* Pages are read as long as they may hold what is asked for. */
static int
sessions_print(struct source *s, const struct filter *f)
{
	char *query = xasprintf("%s&limit=%d", f->query != NULL ? f->query : "",
	    f->count < SESSION_LIST_LIMIT_MAX && f->verdict == NULL ? (int)f->count
								    : SESSION_LIST_LIMIT_MAX);
	int64_t before = 0;
	long left = f->count;
	json_t *doc;

	do {
		if ((doc = source_sessions(s, before, query)) == NULL)
			break;
		if (before == 0)
			head_print(f->form);
		page_print(result_list(doc, KEY_sessions_sessions), f, &left);
		before = json_integer_value(result_get(doc, KEY_sessions_next_before));
		json_decref(doc);
	} while (before > 0 && left > 0);
	free(query);
	return doc == NULL ? COMMAND_FAILED : ferror(stdout) || fflush(stdout) != 0;
}

/* The box looks for a stage that has a name; what the list calls the other sessions is found
 * here. Returns false, said on stderr, for words that are no verdict. */
static bool
verdict_ask(struct filter *f, const char *wanted)
{
	const char *name;
	int kind;

	f->verdict = wanted;
	for (kind = 0; kind < NW_STAGE_COUNT; kind++) {
		name = nw_stage_kind_name((enum nw_stage_kind)kind);
		if (strcmp(name, wanted) == 0 ||
		    strcmp(nw_stage_kind_words((enum nw_stage_kind)kind), wanted) == 0 ||
		    strcmp(result_limit_words(name, NULL, RESULT_PACE), wanted) == 0) {
			query_add(f, 'V', name);
			return true;
		}
	}
	if (strcmp(wanted, "open") == 0 || strcmp(wanted, "closed") == 0 ||
	    strcmp(wanted, result_limit_words(NULL, NULL, NULL)) == 0 ||
	    strcmp(wanted, result_limit_words(NULL, "low", NULL)) == 0 ||
	    strcmp(wanted, RESULT_CHANGED) == 0)
		return true;
	fprintf(stderr,
	    "narrows: %.60s: no verdict: write a stage, \"cannot tell\", \"two stages at once\", "
	    "\"" RESULT_CHANGED "\" or \"open\"\n",
	    wanted);
	return false;
}

static bool
filter_parse(struct filter *f, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, 'c' }, { "host", required_argument, NULL, 'H' },
		{ "program", required_argument, NULL, 'p' },
		{ "route", required_argument, NULL, 'r' },
		{ "label", required_argument, NULL, 'l' },
		{ "state", required_argument, NULL, 't' },
		{ "since", required_argument, NULL, 'S' },
		{ "until", required_argument, NULL, 'U' },
		{ "rate-min", required_argument, NULL, 'm' },
		{ "rate-max", required_argument, NULL, 'M' },
		{ "search", required_argument, NULL, 'q' },
		{ "sort", required_argument, NULL, 'o' },
		{ "verdict", required_argument, NULL, 'v' }, { NULL, 0, NULL, 0 } };
	struct session_filter asked;
	bool good = true;
	char *end;
	int ch;

	*f = (struct filter){ .count = COUNT_DEFAULT };
	while (good && (ch = getopt_long(argc, argv, "jn:", longs, NULL)) != -1)
		switch (ch) {
		case 'j': f->form = FORM_JSON; break;
		case 'c': f->form = FORM_CSV; break;
		case 'n':
			f->count = strtol(optarg, &end, 10);
			good = f->count > 0 && *end == '\0';
			break;
		case 'v': good = verdict_ask(f, optarg); break;
		default: good = ch != '?' && query_add(f, ch, optarg);
		}
	return good && optind == argc && session_filter_parse(&asked, f->query) == NW_OK;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct filter f;
	int status;

	if (!filter_parse(&f, argc, argv))
		status = command_misused(env->command);
	else
		status = sessions_print(env->source, &f);
	free(f.query);
	return status;
}

const struct command command_sessions = {
	.name = "sessions",
	.summary = "list sessions, newest first",
	.usage =
	    "[-n COUNT] [--json | --csv] [--host HOST] [--program NAME] [--route ROUTE] [--label "
	    "LABEL] [--state STATE] [--since TIME] [--until TIME] [--rate-min RATE] "
	    "[--rate-max RATE] [--search TEXT] [--sort ORDER] [--verdict STAGE]",
	.help =
	    "  -n COUNT          list COUNT sessions; 20 if not given\n"
	    "  -j, --json        one JSON object a line\n"
	    "      --csv         the same as CSV, with a head\n"
	    "      --host        only sessions with this host in their route\n"
	    "      --program     only sessions of this program\n"
	    "      --route       only sessions of this route, as the list prints it\n"
	    "      --label       only sessions with this label (nwrun -l)\n"
	    "      --state       only sessions that are open, failed, or slower than usual\n"
	    "      --since       only sessions from this time: 2026-11-20T08:12:11Z, or 2h, 7d "
	    "before now\n"
	    "      --until       only sessions that began before this time\n"
	    "      --rate-min    only sessions of at least this mean rate a second: 10MB\n"
	    "      --rate-max    only sessions of at most this mean rate\n"
	    "      --search      only sessions with this text in task, route, program, label or "
	    "verdict\n"
	    "      --sort        newest, slowest, fastest, longest or largest first\n"
	    "      --verdict     only sessions that this stage limited: network, \"disk "
	    "write\", \"changed on the way\", \"cannot tell\", open\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
