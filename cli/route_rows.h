/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that list something by route and program. */
#ifndef ROUTE_ROWS_H
#define ROUTE_ROWS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/cmd.h"
#include "cli/source.h"
#include "narrows/result.h"

/* What a command lists by route and program: a document of the source and the texts of its rows. */
struct route_rows {
	bool knows_all;
	json_t *(*fetch)(struct source *source); /* a new reference; NULL: said why */
	enum result_key list, route, program;
	const char *heading; /* a line above the rows, or NULL */
	void (*print)(const json_t *row, bool all);
};

/* Runs the command: --json, --host, --program and, where the command knows it, --all. */
int
route_rows_run(const struct route_rows *rows, const struct command_env *env, int argc, char **argv);

#endif
