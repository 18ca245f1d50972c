/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows health: what the running box says of itself. Exit status 0: well, 1: not, or no box
 * runs. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/source.h"

int
cmd_health(struct source *s, int argc, char **argv)
{
	int status = 0;
	char *text;

	if (getopt(argc, argv, "") != -1 || optind != argc)
		return cmd_usage(argv[0], stderr);
	if ((text = source_health(s, &status)) == NULL)
		return 1;
	fputs(text, stdout);
	free(text);
	return fflush(stdout) != 0 || status != 200;
}
