/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/route_rows.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/show.h"

struct filter {
	const char *host, *program; /* NULL: any */
	bool json, all;
};

static bool
parse(struct filter *f, bool knows_all, int argc, char **argv)
{
	static const struct option longs[] = { { "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' }, { "host", required_argument, NULL, 'H' },
		{ "program", required_argument, NULL, 'p' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int ch;

	*f = (struct filter){ 0 };
	while (good &&
	    (ch = getopt_long(
		 argc, argv, knows_all ? "aj" : "j", knows_all ? longs : longs + 1, NULL)) != -1)
		switch (ch) {
		case 'a': f->all = true; break;
		case 'H': f->host = optarg; break;
		case 'j': f->json = true; break;
		case 'p': f->program = optarg; break;
		default: good = false;
		}
	return good && optind == argc;
}

static bool
passes(const struct filter *f, const char *route, const char *program)
{
	return (f->program == NULL || (program != NULL && strcmp(program, f->program) == 0)) &&
	    (f->host == NULL || (route != NULL && strstr(route, f->host) != NULL));
}

static int
rows_print(const struct route_rows *rows, const json_t *doc, const struct filter *f)
{
	const json_t *row;
	size_t i;

	if (rows->heading != NULL && !f->json)
		printf("%s\n", rows->heading);
	json_array_foreach(result_list(doc, rows->list), i, row)
	{
		if (!passes(f, result_text(row, rows->route), result_text(row, rows->program)))
			continue;
		if (f->json)
			show_json_line(row);
		else
			rows->print(row, f->all);
	}
	return ferror(stdout) || fflush(stdout) != 0;
}

int
route_rows_run(const struct route_rows *rows, const struct command_env *env, int argc, char **argv)
{
	struct filter f;
	json_t *doc;
	int status;

	if (!parse(&f, rows->knows_all, argc, argv))
		return command_misused(env->command);
	if ((doc = rows->fetch(env->source)) == NULL)
		return COMMAND_FAILED;
	status = rows_print(rows, doc, &f);
	json_decref(doc);
	return status;
}
