/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows compare: sessions side by side. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/query.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"
#include "web/answer/compare.h"

enum { NAME_WIDTH = 36, VALUE_WIDTH = 22 };

static void
row_print(const json_t *row)
{
	const char *host = result_text(row, KEY_compare_row_host);
	char *name = xasprintf("%s%s%s", show_text(row, KEY_compare_row_name, "?"),
	    host != NULL ? " on " : "", host != NULL ? terminal_text(host) : "");
	const json_t *v;
	size_t i;

	printf("%s %-*s", result_bool(row, KEY_compare_row_differs) == 1 ? "*" : " ", NAME_WIDTH,
	    name);
	json_array_foreach(result_list(row, KEY_compare_row_values), i, v) printf(
	    " %*s", VALUE_WIDTH, json_is_string(v) ? terminal_text(json_string_value(v)) : "-");
	putchar('\n');
	free(name);
}

static void
compare_print(const json_t *doc, bool all)
{
	const char *group = "", *of;
	const json_t *v, *row;
	size_t i;

	printf("  %-*s", NAME_WIDTH, "");
	json_array_foreach(result_list(doc, KEY_compare_sessions), i, v)
	{
		char *name = xasprintf("session %.0f", json_number_value(v));

		printf(" %*s", VALUE_WIDTH, name);
		free(name);
	}
	putchar('\n');
	json_array_foreach(result_list(doc, KEY_compare_rows), i, row)
	{
		of = result_text(row, KEY_compare_row_group);
		of = of != NULL ? of : "";
		if (!all && strcmp(of, "metric") == 0 &&
		    result_bool(row, KEY_compare_row_differs) != 1)
			continue;
		if (strcmp(of, group) != 0)
			printf("%s\n", terminal_text(of));
		group = of;
		row_print(row);
	}
	printf("%.0f settings of the hosts are equal.\n",
	    result_number(doc, KEY_compare_settings_equal));
}

/* The query of the sessions; NULL: the reason has been said. Free the text. */
static char *
query_make(struct source *source, const char *by, char **ids, int n)
{
	char *query = NULL;
	int64_t id;
	int i;

	query_add(&query, "by", by);
	for (i = 0; i < n; i++) {
		if (last_or_number(source, ids[i], &id) < 0) {
			free(query);
			return NULL;
		}
		query_add(&query, "ids", fmt_int(id).s);
	}
	return query;
}

static int
compare(struct source *source, const char *query, bool json, bool all)
{
	json_t *doc = source_compare(source, query);

	if (doc == NULL)
		return COMMAND_FAILED;
	if (json)
		show_json_line(doc);
	else
		compare_print(doc, all);
	json_decref(doc);
	return ferror(stdout) || fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "all", no_argument, NULL, 'a' }, { "by", required_argument, NULL, 'b' },
		{ NULL, 0, NULL, 0 } };
	const char *by = "start";
	bool json = false, all = false;
	char *query;
	int ch, i, status;

	while ((ch = getopt_long(argc, argv, "jab:", longs, NULL)) != -1)
		switch (ch) {
		case 'j': json = true; break;
		case 'a': all = true; break;
		case 'b': by = optarg; break;
		default: return command_misused(env->command);
		}
	for (i = 0; i < COMPARE_WAYS && strcmp(compare_names[i], by) != 0; i++)
		;
	if (i == COMPARE_WAYS || argc - optind < 2 || argc - optind > COMPARE_MAX)
		return command_misused(env->command);
	if ((query = query_make(env->source, by, argv + optind, argc - optind)) == NULL)
		return COMMAND_FAILED;
	status = compare(env->source, query, json, all);
	free(query);
	return status;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "two to six sessions side by side",
	.usage =
	    "[--json] [--all] [--by start|bytes|clock] ID ID ...     (ID: a number, or \"last\")",
	.help = "  -j, --json  the document of the comparison, with the rates over time\n"
		"  -a, --all   also metrics that do not differ\n"
		"  -b, --by    how --json lines up the rates (start)\n"
		"A line with a difference begins with a star.\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
