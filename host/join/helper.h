/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of the system that narrows-host starts: chronyc, systemctl. */
#ifndef HOST_JOIN_HELPER_H
#define HOST_JOIN_HELPER_H

#include <stdbool.h>
#include <stddef.h>

enum { HELPER_MISSING = 127 };

/* Runs a command, found in PATH, /usr/sbin or /sbin. out gets the first line of its output, without
 * the newline; out may be NULL. Returns the exit status, HELPER_MISSING without such a command, or
 * -1. */
int helper_run(const char *const argv[], char *out, size_t cap);
/* Returns true if a process of this host has one of the names, separated by blanks; name gets the
 * process's name. */
bool helper_is_running(const char *names, char name[32]);
/* Returns true if systemd runs the services of this machine. */
bool helper_has_systemd(void);

#endif
