/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows incidents and accept: incidents of the routes, and their acceptance. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/query.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/store.h"
#include "narrows/terminal.h"
#include "narrows/utf8.h"
#include "narrows/xmalloc.h"
#include "web/answer/incidents.h"

struct filter {
	char *query;
	bool json;
};

/* Adds a condition; false, and said on stderr, for a value without sense. */
static bool
condition_add(struct filter *f, const char *name, const char *value)
{
	struct incidents_query asked;
	char *one = NULL;
	bool good;

	query_add(&one, name, value);
	good = incidents_query_parse(&asked, one);
	if (!good)
		fprintf(stderr, "narrows: incidents: \"%s\" is not %s\n", terminal_text(value),
		    param_find(incidents_params, name, 0)->form);
	query_add(&f->query, name, value);
	free(one);
	return good;
}

static bool
parse(struct filter *f, int argc, char **argv)
{
	static const struct option longs[] = { { "open", no_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' }, { "program", required_argument, NULL, 'p' },
		{ "since", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int ch;

	while (good && (ch = getopt_long(argc, argv, "j", longs, NULL)) != -1)
		switch (ch) {
		case 'o': good = condition_add(f, "state", "open"); break;
		case 'p': good = condition_add(f, "program", optarg); break;
		case 's': good = condition_add(f, "since", optarg); break;
		case 'j': f->json = true; break;
		default: good = false;
		}
	if (good && optind < argc)
		good = condition_add(f, "route", argv[optind++]);
	return good && optind == argc;
}

static void
line_print(const char *name, const char *text)
{
	if (text != NULL)
		printf("    %-8s %s\n", name, terminal_text(text));
}

static void
cards_print(const json_t *list)
{
	const json_t *card;
	size_t i;

	json_array_foreach(list, i, card)
	{
		const int kept = result_bool(card, KEY_route_advice_kept);
		const double predicted = result_number(card, KEY_route_advice_predicted);

		printf("    %-8s %s", i == 0 ? "to do" : "",
		    show_text(card, KEY_route_advice_title, "?"));
		if (isfinite(predicted))
			printf(", predicted %s times as fast", fmt_ratio(predicted).s);
		if (kept >= 0)
			printf(", obtained %s: prediction %s",
			    fmt_ratio(result_number(card, KEY_route_advice_obtained)).s,
			    kept == 1 ? "kept" : "not kept");
		else
			printf(", not tried");
		putchar('\n');
	}
}

static void
incident_print(const json_t *o)
{
	const char *before = result_text(o, KEY_incident_stage_before),
		   *since = result_text(o, KEY_incident_stage_since);

	printf("%8.0f  %-8s  %s (%s)\n", result_number(o, KEY_incident_session),
	    show_text(o, KEY_incident_state, "?"), show_text(o, KEY_incident_route, "?"),
	    show_text(o, KEY_incident_program, "unknown program"));
	line_print("", result_text(o, KEY_incident_sentence));
	if (since != NULL || before != NULL)
		printf("    %-8s %s before, %s since\n", "limits",
		    before != NULL ? terminal_text(result_stage_words(before)) : "no stage in most",
		    since != NULL ? terminal_text(result_stage_words(since)) : "no stage in most");
	line_print("cause", result_text(o, KEY_incident_cause));
	line_print("others", result_text(o, KEY_incident_reach));
	cards_print(result_list(o, KEY_incident_advice));
	if (result_text(o, KEY_incident_accepted) != NULL) {
		printf("    %-8s %s by %s: ", "accepted", show_text(o, KEY_incident_accepted, "?"),
		    show_text(o, KEY_incident_accepted_by, "?"));
		printf("%s\n", show_text(o, KEY_incident_accepted_why, "?"));
	}
}

static void
experiments_print(const json_t *experiments)
{
	const json_t *list = result_list(experiments, KEY_experiments_experiments), *o;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	puts("\nNatural experiments:");
	json_array_foreach(list, i, o)
	    printf("    %s\n", show_text(o, KEY_experiment_sentence, "?"));
	printf("    %s\n", show_text(experiments, KEY_experiments_sentence, ""));
}

static int
list_print(struct source *source, const struct filter *f)
{
	json_t *doc = source_incidents(source, f->query);
	const json_t *list, *o;
	size_t i;

	if (doc == NULL)
		return COMMAND_FAILED;
	list = result_list(doc, KEY_incidents_incidents);
	json_array_foreach(list, i, o)
	{
		if (f->json)
			show_json_line(o);
		else
			incident_print(o);
	}
	if (json_array_size(list) == 0 && !f->json)
		puts("No incident.");
	if (!f->json)
		experiments_print(result_get(doc, KEY_incidents_experiments));
	json_decref(doc);
	return ferror(stdout) || fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct filter f = { .query = xasprintf("limit=%d", INCIDENTS_LIMIT_MAX) };
	const int status =
	    parse(&f, argc, argv) ? list_print(env->source, &f) : command_misused(env->command);

	free(f.query);
	return status;
}

const struct command command_incidents = {
	.name = "incidents",
	.summary = "list the incidents: which routes are slower, since when, and why",
	.usage = "[--json] [--open] [--since TIME] [--program NAME] [ROUTE]",
	.help =
	    "  -j, --json        one JSON object a line\n"
	    "      --open        only open incidents\n"
	    "      --since       only incidents that went on then or later: ISO 8601, or a span\n"
	    "      --program     only routes of this program\n"
	    "ROUTE is as in the list of routes: \"dtn1 -> dtn2\".\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};

/* --- narrows accept: the rate of an open incident is usual from now on --- */

static int
incident_find(const char *path, struct nw_acceptance_rec *a, char why[STORE_WHY_BYTES])
{
	struct store_reader *r;
	int rc = store_reader_open(path, &r, why);

	if (rc != NW_OK)
		return rc;
	rc = acceptance_find(r, a);
	store_reader_close(r);
	snprintf(why, STORE_WHY_BYTES, "%s",
	    rc != NW_ENOTFOUND
		? nw_strerror(rc)
		: "no open incident begins with this session: \"narrows incidents --open\" has "
		  "their numbers; a drift cannot be accepted");
	return rc;
}

static const char *
own_name(void)
{
	const struct passwd *user = getpwuid(getuid());

	return user != NULL ? user->pw_name : "an operator";
}

static int
accept_incident(const struct command_env *env, struct nw_acceptance_rec *a)
{
	char *path = xasprintf("%s/narrows.db", env->state_dir), why[STORE_WHY_BYTES];
	int rc = incident_find(path, a, why), status = 0;

	if (rc == NW_OK)
		rc = store_acceptance_add(path, a, why);
	if (rc < 0)
		status = command_failed("accept", why);
	else
		printf("The rate of %s is usual from now on. A running box takes that over within "
		       "20 s.\n",
		    a->route);
	free((char *)(uintptr_t)a->route);
	free((char *)(uintptr_t)a->program);
	free(path);
	return status != 0 ? status : fflush(stdout) != 0;
}

static int
accept_run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "who", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 } };
	struct nw_acceptance_rec a = { .who = own_name() };
	char *end;
	int ch;

	while ((ch = getopt_long(argc, argv, "w:", longs, NULL)) != -1) {
		if (ch != 'w')
			return command_misused(env->command);
		a.who = optarg;
	}
	if (optind + 2 != argc)
		return command_misused(env->command);
	errno = 0;
	a.session_id = strtoll(argv[optind], &end, 10);
	a.why = argv[optind + 1];
	if (*end != '\0' || errno != 0 || a.session_id < 1) {
		command_failed(argv[optind], "not the number of an incident's first session");
		return COMMAND_MISUSED;
	}
	if (a.why[strspn(a.why, " \t\r\n")] == '\0' || !utf8_whole(a.why) || !utf8_whole(a.who)) {
		command_failed("accept", "the reason is a text in UTF-8, not blank");
		return COMMAND_MISUSED;
	}
	return accept_incident(env, &a);
}

const struct command command_accept = {
	.name = "accept",
	.summary = "take the rate of an open incident as usual from now on",
	.usage = "[--who NAME] NUMBER REASON     (NUMBER: of the incident's first session)",
	.help = "  -w, --who NAME  the name that is kept with the acceptance (the user's)\n"
		"\"narrows incidents --open\" lists the incidents with their numbers.\n",
	.needs = NEEDS_STATE_DIR,
	.run = accept_run,
};
