/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may speak for what else: a list of an owner (narrows/store.h) and a thing. By default no host
 * speaks for another's. A clock and the sensors of a host are the host's own: no grant exists.
 *
 *	switch:NAME     the ports of a switch, as of nwswitch
 *	host:NAME       events with the name of another host, as of a relay of logs
 *	storage:NAME    the same, of the points of the storage system alone: a client of the
 *	                storage system logs the times at which servers handled its blocks
 *
 * NAME may be "*". Grants stand in the file speakers of the directory of keys, a line "OWNER THING"
 * each, and in the configuration of the box (speaks-for). No state; any thread.
 */
#ifndef NARROWS_SPEAKERS_H
#define NARROWS_SPEAKERS_H

#include <stdbool.h>

#include "narrows/conftable.h"

enum { SPEAKERS_MAX = 256, SPEAKERS_LINE_BYTES = 640 };

/* Makes a line of the list from "OWNER THING", where an OWNER is the name of a certificate,
 * user:UID or addr:ADDRESS. NW_EINVAL with static *why. */
int speakers_line(const char *text, char out[SPEAKERS_LINE_BYTES], const char **why);
/* Grants a thing to a host of the directory's CA. NW_EINVAL, NW_EFULL, NW_EIO, NW_ENOTFOUND: there
 * is no ca.key. */
int
speakers_grant(const char *tls_dir, const char *host, const char *thing, char why[CONF_WHY_BYTES]);
/* Takes every grant of a host back; NW_OK also where there is none. */
int speakers_revoke(const char *tls_dir, const char *host, char why[CONF_WHY_BYTES]);
/* The grants of the directory and of the configuration (lines of the directive, or NULL), a line
 * each. The caller frees the text. */
char *speakers_read(const char *tls_dir, const char *conf_lines);
/* Returns true if the list grants the thing to the owner, or if the owner is the box's own user,
 * root on the box's machine, or a file that an operator imported (NULL). */
bool speakers_may(const char *list, const char *owner, const char *kind, const char *name);

#endif
