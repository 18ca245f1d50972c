/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a host keeps the files of `narrows enroll`: HOST.key, HOST.crt and ca.crt in one directory,
 * or three names. The program's options go before the environment (NARROWS_TLS for the directory,
 * NARROWS_TLS_CA, NARROWS_TLS_CERT and NARROWS_TLS_KEY for single files), the environment before a
 * service's credentials, the credentials before tls-dir of host.conf, and that before
 * /etc/narrows/tls.
 */
#ifndef HOST_TLSFILES_H
#define HOST_TLSFILES_H

#include "narrows/tls.h"

struct tlsfiles {
	char *ca, *cert, *key;
};

struct tlsfiles_opts {
	const char *dir, *ca, *cert, *key;
}; /* each may be NULL */

int tlsfiles_find(struct tlsfiles *f, const struct tlsfiles_opts *o, const char *host);
void tlsfiles_clear(struct tlsfiles *f);
/* Reads the files: anew for every connection, so that a new certificate needs no restart. */
int tlsfiles_load(const struct tlsfiles *f, struct nw_tls_ctx **out, char why[NW_TLS_WHY_BYTES]);

#endif
