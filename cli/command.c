/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/cmd.h"
#include "narrows/terminal.h"

static void
usage_print(const struct command *c, FILE *to)
{
	fprintf(to, "usage: narrows %s%s%s\n", c->name, c->usage[0] != '\0' ? " " : "", c->usage);
}

int
command_help(const struct command *c)
{
	usage_print(c, stdout);
	fputs(c->help, stdout);
	return fflush(stdout) != 0;
}

int
command_misused(const struct command *c)
{
	usage_print(c, stderr);
	return COMMAND_MISUSED;
}

int
command_failed(const char *what, const char *why)
{
	fprintf(stderr, "narrows: %s%s%s\n", what != NULL ? terminal_text(what) : "",
	    what != NULL ? ": " : "", terminal_text(why));
	return COMMAND_FAILED;
}
