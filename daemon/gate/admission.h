/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admission of connections. Connections without an open XSP session (unopened) and with one
 * (opened) have limits of their own, and each address a limit for both. At a limit an unopened
 * connection makes room: the oldest one of the same address at the address's limit, else the oldest
 * one of the address with most of them. So a crowd of silent connections locks no host out. Opened
 * connections make room only when their address has many times the newcomer's: fair shares.
 */
#ifndef ADMISSION_H
#define ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admission;
struct address;

struct admission_limits {
	size_t opened, unopened, per_address;
};

/* A connection's part, embedded in its owner's struct. */
struct guest {
	struct guest *prev, *next; /* list of the address, oldest first: unopened or opened */
	struct address *address;
	bool opened;
};

struct admission *admission_new(const struct admission_limits *limits);
void admission_free(struct admission *a); /* without guests */

/*
 * Returns true if the connection may enter now. Otherwise, if *victim is set, the owner frees the
 * victim and asks again. If *victim is NULL, the limit *why is reached.
 */
bool admission_may_enter(
    struct admission *a, const char *address, struct guest **victim, const char **why);
void admission_enter(struct admission *a, const char *address, struct guest *g);
/* The same questions for an unopened guest that opens its XSP session. */
bool admission_may_open(
    struct admission *a, const struct guest *g, struct guest **victim, const char **why);
void admission_open(struct admission *a, struct guest *g);
void admission_leave(struct admission *a, struct guest *g);

#endif
