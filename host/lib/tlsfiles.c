/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/tlsfiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

#define DEFAULT_DIR "/etc/narrows/tls"

static int
file_find(char **out, const char *said, const char *variable, const char *dir, const char *host,
    const char *ending)
{
	size_t cap;

	if (said == NULL && dir == NULL)
		said = secure_getenv(variable);
	if (dir == NULL && (dir = secure_getenv("NARROWS_TLS")) == NULL)
		dir = DEFAULT_DIR;
	cap = said != NULL ? strlen(said) + 1 : strlen(dir) + strlen(host) + strlen(ending) + 2;
	if ((*out = malloc(cap)) == NULL)
		return NW_ENOMEM;
	if (said != NULL)
		snprintf(*out, cap, "%s", said);
	else
		snprintf(*out, cap, "%s/%s%s", dir, host, ending);
	return NW_OK;
}

int
tlsfiles_find(struct tlsfiles *f, const struct tlsfiles_opts *o, const char *host)
{
	int rc;

	if ((rc = file_find(&f->ca, o->ca, "NARROWS_TLS_CA", o->dir, "ca", ".crt")) < 0 ||
	    (rc = file_find(&f->cert, o->cert, "NARROWS_TLS_CERT", o->dir, host, ".crt")) < 0)
		return rc;
	return file_find(&f->key, o->key, "NARROWS_TLS_KEY", o->dir, host, ".key");
}

void
tlsfiles_clear(struct tlsfiles *f)
{
	free(f->ca);
	free(f->cert);
	free(f->key);
	memset(f, 0, sizeof(*f));
}

int
tlsfiles_load(const struct tlsfiles *f, struct nw_tls_ctx **out, char why[NW_TLS_WHY_BYTES])
{
	const struct nw_tls_opts o = { .ca_path = f->ca, .cert_path = f->cert, .key_path = f->key };

	return nw_tls_ctx_new(&o, out, why);
}
