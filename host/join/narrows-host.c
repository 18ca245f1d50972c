/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows-host: makes this machine a measured host of a box, and says what may be measured here. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/join/doctor.h"
#include "host/join/enlist.h"
#include "narrows/log.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"

static const struct {
	const char *name, *usage, *help;
	int (*run)(int argc, char **argv);
} commands[] = { { "join", enlist_usage, enlist_help, enlist_run },
	{ "doctor", doctor_usage, doctor_help, doctor_run } };
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void
usage(FILE *to)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		fprintf(to, "%s", commands[i].usage);
}

int
main(int argc, char **argv)
{
	size_t i;

	terminal_guard();
	umask(022); /* every user reads host.conf */
	log_open("narrows-host", true, false);
	signal(SIGPIPE, SIG_IGN);
	if (nw_program_words(argc, argv, "narrows-host"))
		return 0;
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (strcmp(argv[1], "-h") == 0) {
		usage(stdout);
		return 0;
	}
	for (i = 0; i < N_COMMANDS && strcmp(argv[1], commands[i].name) != 0; i++)
		continue;
	if (i == N_COMMANDS) {
		usage(stderr);
		return 2;
	}
	if (argc == 3 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0)) {
		printf("%s%s", commands[i].usage, commands[i].help);
		return 0;
	}
	return commands[i].run(argc - 1, argv + 1);
}
