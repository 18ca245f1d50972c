/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/route_filter.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

bool
route_filter_parse(struct route_filter *f, bool knows_all, int argc, char **argv)
{
	static const struct option longs[] = { { "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' }, { "host", required_argument, NULL, 'H' },
		{ "program", required_argument, NULL, 'p' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int ch;

	*f = (struct route_filter){ 0 };
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

bool
route_filter_passes(const struct route_filter *f, const char *route, const char *program)
{
	return (f->program == NULL || (program != NULL && strcmp(program, f->program) == 0)) &&
	    (f->host == NULL || (route != NULL && strstr(route, f->host) != NULL));
}
