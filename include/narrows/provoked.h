/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of the log that peers can provoke. All peers together have a rate of lines, and each peer
 * that provokes lines has an equal part of the rate: a flood of one peer hides no line of another.
 * Lines that are left out are counted, and the peer's next line tells the count.
 */
#ifndef PROVOKED_H
#define PROVOKED_H

#include "narrows/fairq.h"

enum { PROVOKED_LINES_PER_S = 60 };

/* Logs a warning on behalf of a peer: a host's name, an owner or an address. *rate is the account
 * of the caller's thread, NULL before its first line; fairrate_free() ends the account. */
void provoked_warnx(struct fairrate **rate, const char *peer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void provoked_info(struct fairrate **rate, const char *peer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
