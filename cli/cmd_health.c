/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows health: the state of the running box, in the box's own words. Exit status 0 where the
 * box is well, 1 where the box is not well or does not run. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/source.h"

static int
run(const struct command_env *env, int argc, char **argv)
{
	int status = 0;
	char *text;

	if (getopt(argc, argv, "") != -1 || optind != argc)
		return command_misused(env->command);
	if ((text = source_health(env->source, &status)) == NULL)
		return COMMAND_FAILED;
	fputs(text, stdout);
	free(text);
	return fflush(stdout) != 0 || status != 200;
}

const struct command command_health = {
	.name = "health",
	.summary = "how the running box is",
	.usage = "",
	.help = "Prints the health of the running box, as JSON. Exit status 0: the box is "
		"well.\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
