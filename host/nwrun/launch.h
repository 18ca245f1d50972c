/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that a command starts in the end: behind env(1), in a container, in a script or a
 * shell's text. nwrun.so fits into most programs that start others, and perhaps into none of those.
 */
#ifndef HOST_NWRUN_LAUNCH_H
#define HOST_NWRUN_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#include "host/nwrun/fit.h"

/* The file that execvp() runs; false when there is none. */
bool launch_find(const char *name, char path[PATH_MAX]);
/*
 * Looks for a program that the command starts and that nwrun.so does not fit into. `path` is the
 * command's own file. Returns true if there is such a program: *out has its kind, `name` its word
 * in the command. A look reads at most 64 files; what a program is told in its own files or
 * variables is not seen.
 */
bool launch_look(
    const char *path, char *const argv[], const char *so, struct fit *out, char name[PATH_MAX]);

#endif
