/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The site's own certificate authority: a directory.
 *
 *	ca.key, ca.crt     the authority, ten years; ca.crt goes to every host
 *	box.key, box.crt   the box's, one year, new at every start of the box
 *	hosts              a line per certificate: "valid|revoked SERIAL EXPIRES NAME"; no secrets
 *	tokens             tokens that hosts can exchange for a certificate: narrows/token.h
 *
 * Without ca.key nothing is issued: ca.crt, box.crt and box.key then come from elsewhere. Keys are
 * readable by their owner only; files that root makes belong to the owner of the directory. Changes
 * are made under a lock, and by renaming, so a running box and the narrows command may use the
 * directory at the same time.
 */
#ifndef NARROWS_CA_H
#define NARROWS_CA_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/conftable.h"
#include "narrows/cert.h"

struct ca_host {
	bool revoked;
	char serial[NW_TLS_SERIAL_BYTES];
	int64_t expires_wall_s;
	char name[NW_TLS_NAME_BYTES];
};

/* Makes the directory and the authority unless both are there. NW_EIO. */
int ca_ensure(const char *dir, char why[CONF_WHY_BYTES]);
/* Makes a new key and certificate for the box; *expires_wall_s is 0 when both come from
 * elsewhere. */
int ca_issue_box(const char *dir, const char *names, int64_t now_wall_s, int64_t *expires_wall_s,
    char why[CONF_WHY_BYTES]);
/* Runs work under the lock, with the authority on loan. NW_ENOTFOUND: there is no ca.key; why says
 * so. Other codes are the codes of work. */
int ca_use(const char *dir,
    int (*work)(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES]),
    void *arg, char why[CONF_WHY_BYTES]);
enum { CA_ADDRESSES_MAX = 8, CA_ADDRESSES_BYTES = CA_ADDRESSES_MAX * 46 };

struct ca_enrolment {
	const char *host;
	const char *addresses;   /* further addresses of the host, by blanks; NULL: none */
	const char *request_pem; /* for a key that the host made; NULL: a new key */
	int64_t now_wall_s, for_s;
	bool serves; /* others connect to the host, as to a server of the storage system */
};

/* Appends an address in its usual form. NW_EINVAL: not an address that names one host of a network.
 * NW_ETOOBIG: CA_ADDRESSES_MAX are there. Both come with static *why. */
int ca_address_add(char addresses[CA_ADDRESSES_BYTES], const char *text, const char **why);
/* A certificate for a host, with the key unless there is a request; the key is nowhere else.
 * NW_EINVAL: not a host name. */
int ca_enroll(
    const char *dir, const struct ca_enrolment *e, struct nw_cert *out, char why[CONF_WHY_BYTES]);
/* The same from within ca_use(). */
int ca_enroll_within(const char *dir, const struct nw_cert *ca, const struct ca_enrolment *e,
    struct nw_cert *out, char why[CONF_WHY_BYTES]);
/* Revokes every certificate of a name. NW_ENOTFOUND: no certificate has this name. */
int ca_revoke(const char *dir, const char *host_or_serial, char why[CONF_WHY_BYTES]);
/* Calls fn for each certificate, oldest first. fn returns 0, or a negative code, which ends the
 * calls. */
int ca_hosts(const char *dir, int (*fn)(void *arg, const struct ca_host *h), void *arg,
    char why[CONF_WHY_BYTES]);

/* Writes a file as a whole or not at all. */
int ca_file_write(
    const char *dir, const char *name, const char *text, unsigned mode, char why[CONF_WHY_BYTES]);

#endif
