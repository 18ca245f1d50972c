/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows sessions: the list, newest first, or those sessions that pass every filter. */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"
#include "web/session_filter.h"

enum { COUNT_DEFAULT = 20 };

struct filter {
	const char *verdict; /* NULL: any */
	char *query;         /* of the filters that the box applies */
	long count;
	bool json;
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
};

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
	longer =
	    xasprintf("%s&%s=%s", f->query != NULL ? f->query : "", params[i].parameter, encoded);
	free(f->query);
	free(encoded);
	f->query = longer;
	return true;
}

/* --- filters --- */

/* The verdict of a listed session as the list prints: a stage in words, "cannot tell", or the state
 * of a session without a verdict. */
static const char *
verdict_words(const json_t *o)
{
	const char *stage = result_text(o, KEY_listed_stage);

	if (stage != NULL)
		return result_stage_words(stage);
	if (result_text(o, KEY_listed_sentence) != NULL)
		return "cannot tell";
	return result_text(o, KEY_listed_state);
}

/* A verdict may be named by the stage's key or by the words. */
static bool
verdict_is(const json_t *o, const char *wanted)
{
	const char *stage = result_text(o, KEY_listed_stage), *words = verdict_words(o);

	return (stage != NULL && strcmp(stage, wanted) == 0) ||
	    (words != NULL && strcmp(words, wanted) == 0);
}

static bool
passes(const json_t *o, const struct filter *f)
{
	return f->verdict == NULL || verdict_is(o, f->verdict);
}

/* --- output --- */

static void
session_print(const json_t *o)
{
	const char *verdict = verdict_words(o);
	char start[32], imported[16] = "";

	if (result_bool(o, KEY_listed_imported) == 1)
		snprintf(imported, sizeof(imported), " (imported)");
	snprintf(start, sizeof(start), "%.19s", show_text(o, KEY_listed_start, "-"));
	printf("%6" JSON_INTEGER_FORMAT "  %-19s  %-28s  %-12s  %9s  %11s  %s%s\n",
	    json_integer_value(result_get(o, KEY_listed_id)), start,
	    show_text(o, KEY_listed_route, "-"), show_text(o, KEY_listed_program, "-"),
	    fmt_bytes(result_number(o, KEY_listed_bytes)).s,
	    fmt_bytes_per_s(result_number(o, KEY_listed_bytes_per_s)).s,
	    verdict != NULL ? show_string(verdict) : "-", imported);
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
		if (f->json)
			show_json_line(o);
		else
			session_print(o);
	}
}

/* Pages are read as long as they may hold what is asked for. */
static int
sessions_print(struct source *s, const struct filter *f)
{
	int64_t before = 0;
	long left = f->count;
	json_t *doc;

	do {
		if ((doc = source_sessions(s, before, f->query != NULL ? f->query : "")) == NULL)
			return COMMAND_FAILED;
		if (!f->json && before == 0)
			printf("%6s  %-19s  %-28s  %-12s  %9s  %11s  %s\n", "id", "start (UTC)",
			    "route", "program", "bytes", "rate", "limited by");
		page_print(result_list(doc, KEY_sessions_sessions), f, &left);
		before = json_integer_value(result_get(doc, KEY_sessions_next_before));
		json_decref(doc);
	} while (before > 0 && left > 0);
	return ferror(stdout) || fflush(stdout) != 0;
}

static bool
filter_parse(struct filter *f, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "host", required_argument, NULL, 'H' },
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
		case 'j': f->json = true; break;
		case 'n':
			f->count = strtol(optarg, &end, 10);
			good = f->count > 0 && *end == '\0';
			break;
		case 'v': f->verdict = optarg; break;
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
	.usage = "[-n COUNT] [--json] [--host HOST] [--program NAME] [--route ROUTE] [--label "
		 "LABEL] [--state STATE] [--since TIME] [--until TIME] [--rate-min RATE] "
		 "[--rate-max RATE] [--search TEXT] [--sort ORDER] [--verdict STAGE]",
	.help =
	    "  -n COUNT          list COUNT sessions; 20 if not given\n"
	    "  -j, --json        one JSON object a line\n"
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
	    "write\", \"cannot tell\", open\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
