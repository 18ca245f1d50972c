/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the files of a host are looked for: options, environment, a service's credentials. */
#include "host/lib/tlsfiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static void
expect(const struct tlsfiles_opts *o, const char *ca, const char *key)
{
	struct tlsfiles f = { NULL, NULL, NULL };

	CHECK_INT(tlsfiles_find(&f, o, "dtn7"), NW_OK);
	CHECK_STR(f.ca, ca);
	CHECK_STR(f.key, key);
	tlsfiles_clear(&f);
}

int
main(void)
{
	static const struct tlsfiles_opts none, dir = { .dir = "/d" }, key = { .key = "/k" };
	char credentials[] = "/tmp/test_tlsfiles.XXXXXX", ca[64], host_key[64];
	FILE *file;

	unsetenv("NARROWS_TLS");
	unsetenv("NARROWS_TLS_KEY");
	CHECK(mkdtemp(credentials) != NULL);
	setenv("CREDENTIALS_DIRECTORY", credentials, 1);
	expect(&none, "/etc/narrows/tls/ca.crt", "/etc/narrows/tls/dtn7.key");
	snprintf(ca, sizeof(ca), "%s/tls_ca.crt", credentials);
	snprintf(host_key, sizeof(host_key), "%s/tls_dtn7.key", credentials);
	CHECK((file = fopen(ca, "w")) != NULL && fclose(file) == 0);
	expect(&none, ca, host_key);
	expect(&dir, "/d/ca.crt", "/d/dtn7.key");
	expect(&key, ca, "/k");
	setenv("NARROWS_TLS_KEY", "/e.key", 1);
	expect(&none, ca, "/e.key");
	setenv("NARROWS_TLS", "/e", 1);
	expect(&none, "/e/ca.crt", "/e.key");
	unlink(ca);
	rmdir(credentials);
	return check_done("tlsfiles");
}
