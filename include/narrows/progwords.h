/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of every program as the only argument: --help, equal to -h, and --version. */
#ifndef NARROWS_PROGWORDS_H
#define NARROWS_PROGWORDS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Prints the version if it is asked for; true then, and the program ends with status 0. */
static inline bool
nw_program_words(int argc, char **argv, const char *name)
{
	static char help[] = "-h";

	if (argc != 2)
		return false;
	if (strcmp(argv[1], "--help") == 0)
		argv[1] = help;
	if (strcmp(argv[1], "--version") != 0 && strcmp(argv[1], "-V") != 0)
		return false;
	printf("%s %s\n", name, NW_VERSION);
	return true;
}

#endif
