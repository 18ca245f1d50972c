/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of an installation, found from the place of the program that runs. */
#ifndef HOST_NWRUN_BESIDE_H
#define HOST_NWRUN_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* Finds the first file of `places` (names from the program's directory, NULL behind the last) that
 * access() grants in `mode` and whose absolute path has no character of `without`. */
bool beside_find(char path[PATH_MAX], const char *const *places, int mode, const char *without);

#endif
