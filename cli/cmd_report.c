/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows report: the verdict of one session, in words first. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"

static void
stages_print(const json_t *list)
{
	const json_t *o;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\n  %-18s %-24s %12s %9s %9s %8s\n", "stage", "where", "could do", "busy",
	    "waiting", "windows");
	json_array_foreach(list, i, o) printf("%s %-18s %-24s %12s %9s %9s %8.0f\n",
	    json_is_true(json_object_get(o, "candidate")) ? "*" : " ", show_text(o, "words", "?"),
	    show_text(o, "host", "?"), fmt_bytes_per_s(show_number(o, "bytes_per_s")).s,
	    fmt_share(show_number(o, "busy_share")).s, fmt_share(show_number(o, "wait_share")).s,
	    show_number(o, "windows"));
}

static void
witnesses_print(const json_t *list)
{
	const json_t *o, *agrees;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\n");
	json_array_foreach(list, i, o)
	{
		agrees = json_object_get(o, "agrees");
		printf("  %-10s %-9s %s\n", show_text(o, "name", "?"),
		    json_is_true(agrees)        ? "agrees"
			: json_is_false(agrees) ? "disagrees"
						: "",
		    show_text(o, "detail", ""));
	}
}

static void
report_print(const json_t *doc)
{
	const json_t *s = json_object_get(doc, "session"), *v = json_object_get(doc, "verdict"),
		     *reason;
	const json_t *q = json_object_get(doc, "quality");
	size_t i;

	printf("session %" JSON_INTEGER_FORMAT "%s: %s, %s, %s",
	    json_integer_value(json_object_get(s, "id")),
	    strcmp(show_text(s, "state", ""), "open") == 0 ? " (still running)" : "",
	    show_text(s, "program", "unknown program"), show_text(s, "route", "unknown route"),
	    show_text(s, "start", "?"));
	if (result_task(s) != NULL)
		printf(", task %s", show_string(result_task(s)));
	printf("\n%s in %s: %s (%s)\n\n", fmt_bytes(show_number(s, "bytes")).s,
	    fmt_duration(show_number(s, "duration_s")).s,
	    fmt_bytes_per_s(show_number(s, "bytes_per_s")).s,
	    fmt_bits_per_s(show_number(s, "bytes_per_s")).s);
	printf("%s\n", show_text(v, "sentence", "Not judged yet."));
	if (v == NULL)
		return;
	printf("Confidence: %s.\n", show_text(v, "confidence", "none"));
	json_array_foreach(json_object_get(v, "reasons"), i, reason) if (json_is_string(reason))
	    printf("- %s\n", show_string(json_string_value(reason)));
	stages_print(json_object_get(json_object_get(doc, "bottleneck"), "stages"));
	witnesses_print(json_object_get(v, "witnesses"));
	printf("\nintervals expected %.0f, got %.0f; documents rejected %.0f\n",
	    show_number(q, "intervals_expected"), show_number(q, "intervals_got"),
	    show_number(q, "documents_rejected"));
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 } };
	json_t *doc;
	int64_t id;
	int ch, rc, json = 0;
	char *text;

	while ((ch = getopt_long(argc, argv, "j", longs, NULL)) != -1) {
		if (ch != 'j')
			return command_misused(env->command);
		json = 1;
	}
	if (optind + 1 != argc)
		return command_misused(env->command);
	if ((rc = source_session_id(env->source, argv[optind], &id)) < 0)
		return rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	if ((text = source_result(env->source, id)) == NULL)
		return COMMAND_FAILED;
	if (json)
		printf("%s%s", text, text[0] != '\0' && text[strlen(text) - 1] == '\n' ? "" : "\n");
	else if ((doc = json_loads(text, 0, NULL)) == NULL) {
		fprintf(stderr, "narrows: session %" PRId64 ": its document does not parse\n", id);
		free(text);
		return 1;
	} else {
		report_print(doc);
		json_decref(doc);
	}
	free(text);
	return ferror(stdout) || fflush(stdout) != 0;
}

const struct command command_report = {
	.name = "report",
	.summary = "the verdict of a session (ID, or \"last\")",
	.usage = "[--json] ID     (ID: a number, or \"last\")",
	.help = "  -j, --json   the result document, as it is stored\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
