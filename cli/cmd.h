/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of `narrows`. A command is one file, cmd_NAME.c, with one descriptor, `const struct
 * command command_NAME`. The list in narrows.c names every command; no other place lists the
 * commands. */
#ifndef CMD_H
#define CMD_H

#include <stdio.h>

struct source;
struct command;

/* State that narrows.c prepares for a command, and releases behind the command. */
struct command_env {
	const struct command *command;
	const char *state_dir; /* directory of a box's store; may not exist */
	const char *tls_dir;   /* directory of the site's certificates, for NEEDS_TLS_DIR */
	struct source *source; /* open source, for NEEDS_SOURCE */
};

enum command_needs {
	NEEDS_NOTHING,
	NEEDS_SOURCE,    /* a store, or a running box by its URL */
	NEEDS_STATE_DIR, /* a state directory of this machine; a URL is refused */
	NEEDS_TLS_DIR,
};

enum { COMMAND_FAILED = 1, COMMAND_MISUSED = 2 }; /* exit statuses */

struct command {
	const char *name;
	const char *summary; /* line in the list of commands */
	const char *usage;   /* arguments, behind "usage: narrows NAME ", without newline */
	const char *help;    /* lines behind the usage; NULL where run answers --help */
	enum command_needs needs;
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(const struct command_env *env, int argc, char **argv);
};

/* Prints usage and help to stdout; returns 0. */
int command_help(const struct command *c);
/* Prints the usage to stderr; returns COMMAND_MISUSED. */
int command_misused(const struct command *c);
/* Prints "narrows: WHAT: WHY" to stderr, or "narrows: WHY" with WHAT NULL; returns
 * COMMAND_FAILED. */
int command_failed(const char *what, const char *why);

#endif
