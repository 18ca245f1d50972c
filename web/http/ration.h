/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attempts to log in, rationed: a wrong password costs the web thread a memory-hard computation.
 *
 * Each address (an IPv6 network of 64 bits counts as one) has five wrong passwords at once, and
 * one more every 10 s. Beyond that the computations are of three classes, so that guessing in one
 * class takes nothing from the others:
 *   known addresses, from which a user logged in, have no further bound;
 *   addresses without a wrong password share four attempts a second, by fairrate (fairq.h); an
 *     IPv6 network of 48 bits is one of these owners;
 *   addresses with a wrong password in the last ten minutes, and the IPv6 networks of 48 bits
 *     around such addresses, share two attempts a second.
 *
 * Memory is of a fixed size. The web thread alone calls.
 */
#ifndef NARROWS_WEB_RATION_H
#define NARROWS_WEB_RATION_H

#include <stdbool.h>
#include <stdint.h>

struct ration;

/* NULL: out of memory. */
struct ration *ration_new(void);
void ration_free(struct ration *r);
/* Takes an attempt of the address. Returns 0, or the seconds after which to try again. */
unsigned ration_take(struct ration *r, const char *peer, int64_t now_mono_ns);
/* The outcome of an attempt that was taken. */
void ration_outcome(struct ration *r, const char *peer, int64_t now_mono_ns, bool good);

#endif
