/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows stat: the statistics on a file of the user's own. The kinds are in cli/stat/. */
#include "cli/cmd.h"
#include "cli/stat/stat.h"

static int
run(const struct command_env *env, int argc, char **argv)
{
	(void)env;
	return cmd_stat(argc, argv);
}

const struct command command_stat = {
	.name = "stat",
	.summary = "the statistics on a CSV file of yours",
	.usage = "KIND [OPTION ...] FILE",
	.help = NULL, /* cmd_stat lists the kinds */
	.needs = NEEDS_NOTHING,
	.run = run,
};
