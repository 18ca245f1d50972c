/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.conf: the box and the name of this host, once for all programs and users of the host.
 *
 * /etc/narrows/host.conf holds for the host, ~/.config/narrows/host.conf (or
 * $XDG_CONFIG_HOME/narrows/host.conf) for its user, who goes first. Options, configurations of a
 * single program and the environment go before both files. `narrows-host join` writes the host's.
 */
#ifndef HOST_HOSTCONF_H
#define HOST_HOSTCONF_H

#include <stdbool.h>
#include <stddef.h>

#include "host/lib/net_addr.h"
#include "narrows/conftable.h"

#define HOSTCONF_PATH "/etc/narrows/host.conf"

struct hostconf {
	char *box, *host, *tls_dir; /* NULL without such a line */
	char *report;               /* the box's https address, for narrows-host */
	bool watch;                 /* nwflow makes sessions of large flows */
	char *fireflies;            /* who hears of measured connections; hostconf_listeners() */
	char *scitag;               /* EXPERIMENT.ACTIVITY of fireflies */
};

enum { HOSTCONF_LISTENERS = 4, HOSTCONF_FIREFLY_PORT = 10514 };
struct hostconf_listeners {
	bool destination; /* the far end of each connection, at HOSTCONF_FIREFLY_PORT */
	struct net_addr at[HOSTCONF_LISTENERS];
	size_t n;
};
/* Words "destination", ADDRESS or ADDRESS/PORT. NW_EINVAL. */
int hostconf_listeners(const char *text, struct hostconf_listeners *out);
/* Numbers of the registry, each up to 65535. NW_EINVAL. */
int hostconf_scitag(const char *text, unsigned *experiment, unsigned *activity);

/* Reads both files at the first call; later calls return the same. A faulty file counts as empty.
 * Never NULL. Any thread. */
const struct hostconf *hostconf_get(void);
/* "FILE:LINE: what is wrong" of a faulty file, else NULL. */
const char *hostconf_fault(void);
/* Reads a single file, for its writer. conftable_read() has the codes. */
int hostconf_read(struct hostconf *c, const char *path, char why[CONF_WHY_BYTES]);
void hostconf_clear(struct hostconf *c);

/* Returns the first text that is there and not empty, or NULL. */
static inline const char *
hostconf_or(const char *first, const char *second)
{
	if (first != NULL && first[0] != '\0')
		return first;
	return second != NULL && second[0] != '\0' ? second : NULL;
}

#endif
