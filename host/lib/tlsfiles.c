/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/tlsfiles.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/lib/hostconf.h"
#include "narrows/err.h"

#define DEFAULT_DIR       "/etc/narrows/tls"
#define CREDENTIAL_PREFIX "tls_"

/* The directory and the beginning of its file names, by the environment: what the administrator
 * says, then the credentials that systemd hands to a service (LoadCredential=tls:DIRECTORY), which
 * puts "tls_" before the names of the files. */
static const char *
default_dir(const char **prefix)
{
	const char *dir = secure_getenv("NARROWS_TLS"), *credentials;
	char path[PATH_MAX];

	*prefix = "";
	if (dir != NULL)
		return dir;
	credentials = secure_getenv("CREDENTIALS_DIRECTORY");
	if (credentials != NULL &&
	    (size_t)snprintf(path, sizeof(path), "%s/" CREDENTIAL_PREFIX "ca.crt", credentials) <
		sizeof(path) &&
	    access(path, F_OK) == 0) {
		*prefix = CREDENTIAL_PREFIX;
		return credentials;
	}
	dir = hostconf_get()->tls_dir;
	return dir != NULL ? dir : DEFAULT_DIR;
}

static int
file_find(char **out, const char *said, const char *variable, const char *dir, const char *host,
    const char *ending)
{
	const char *prefix = "";
	size_t cap;

	if (said == NULL && dir == NULL)
		said = secure_getenv(variable);
	if (dir == NULL)
		dir = default_dir(&prefix);
	cap = said != NULL ? strlen(said) + 1
			   : strlen(dir) + strlen(prefix) + strlen(host) + strlen(ending) + 2;
	if ((*out = malloc(cap)) == NULL)
		return NW_ENOMEM;
	if (said != NULL)
		snprintf(*out, cap, "%s", said);
	else
		snprintf(*out, cap, "%s/%s%s%s", dir, prefix, host, ending);
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
