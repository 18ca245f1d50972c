/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet: events of the kernel, at every layer of the network path and beside it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host/magnet/magnet_cmd.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"

static const struct command *const commands[] = { &magnet_cmd_points, &magnet_cmd_record,
	&magnet_cmd_dump, &magnet_cmd_stat, &magnet_cmd_top, &magnet_cmd_serve, &magnet_cmd_view,
	&magnet_cmd_on, &magnet_cmd_off, &magnet_cmd_filter, &magnet_cmd_sample, &magnet_cmd_add,
	&magnet_cmd_remove, &magnet_cmd_event, &magnet_cmd_status };
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int
help(void)
{
	size_t i;

	puts("usage: magnet COMMAND [OPTION ...]");
	for (i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->help);
	return 0;
}

static void
on_signal(int sig)
{
	(void)sig;
	stop_wanted = 1;
}

int
main(int argc, char **argv)
{
	struct sigaction stop = { .sa_handler = on_signal };
	size_t i;

	terminal_guard();
	if (nw_program_words(argc, argv, "magnet"))
		return 0;
	if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return argc < 2 ? help(), EXIT_USAGE : help();
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	for (i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, argv[1]) == 0)
			return commands[i]->run(argc - 1, argv + 1);
	fail("no command is called \"%s\"", argv[1]);
	return help(), EXIT_USAGE;
}
