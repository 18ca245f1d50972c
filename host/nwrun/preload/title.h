/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name of a process for people: "rsync", and for an interpreter the script, module or archive
 * that runs, "borg (python3)". No other argument becomes part of a name. interpreters.def has the
 * interpreters and their options. No allocation, no state; any thread.
 */
#ifndef NWRUN_TITLE_H
#define NWRUN_TITLE_H

#include <stddef.h>

/* The name by n arguments, cut to cap bytes with the NUL. */
void title_make(const char *const *argv, size_t n, char *out, size_t cap);
/* The same by /proc/PID/cmdline: len bytes, arguments with NULs behind, and a NUL at text[len]. */
void title_of_cmdline(const char *text, size_t len, char *out, size_t cap);

#endif
