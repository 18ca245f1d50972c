/* SPDX-License-Identifier: BSD-3-Clause */
/* host.conf of a user: what counts before the file, and a faulty file. */
#include "host/lib/hostconf.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/hostname.h"
#include "host/lib/tlsfiles.h"
#include "narrows/err.h"
#include "narrows/provider.h"
#include "tests/check.h"

static char dir[] = "/tmp/test_hostconf.XXXXXX", file[128];

static void
file_put(const char *text)
{
	FILE *f = fopen(file, "w");

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The files are read once in a process, so each case is a process. */
static void
in_child(void (*run)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	if ((pid = fork()) == 0) {
		run();
		_exit(check_failed != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
}

static int
provider_try(const char *box)
{
	const struct nw_provider_opts o = { .box = box };
	struct nw_provider *p = NULL;
	int rc = nw_provider_new(&o, &p);

	nw_provider_close(p, 0);
	return rc;
}

static void
run_whole(void)
{
	static const struct tlsfiles_opts none;
	char name[HOSTNAME_BYTES];
	struct tlsfiles f = { NULL, NULL, NULL };

	file_put("# of join\nbox tls://192.0.2.1/5007\nhost dtn7\ntls-dir /srv/tls\nwatch yes\n");
	CHECK_STR(hostconf_get()->box, "tls://192.0.2.1/5007");
	CHECK(hostconf_get()->watch);
	CHECK(hostconf_fault() == NULL);
	CHECK_STR(hostname_get(NULL, name), "dtn7");
	CHECK_STR(hostname_get("dtn8", name), "dtn8");
	CHECK_INT(tlsfiles_find(&f, &none, "dtn7"), NW_OK);
	CHECK_STR(f.key, "/srv/tls/dtn7.key");
	tlsfiles_clear(&f);
	setenv("NARROWS_HOST", "dtn9", 1);
	CHECK_STR(hostname_get(NULL, name), "dtn9");
	setenv("NARROWS_TLS", "/e", 1);
	CHECK_INT(tlsfiles_find(&f, &none, "dtn7"), NW_OK);
	CHECK_STR(f.key, "/e/dtn7.key");
	tlsfiles_clear(&f);
	CHECK_INT(provider_try(NULL), NW_OK);
}

static void
run_faulty(void)
{
	file_put("box tls://192.0.2.1/5007\nboks 192.0.2.2\n");
	CHECK(hostconf_get()->box == NULL);
	CHECK(hostconf_fault() != NULL && strstr(hostconf_fault(), "host.conf:2: ") != NULL);
	/* never to another box in silence */
	CHECK_INT(provider_try(NULL), NW_EINVAL);
	CHECK_INT(provider_try("127.0.0.1/5006"), NW_OK);
	setenv("NARROWS_BOX", "127.0.0.1/5006", 1);
	CHECK_INT(provider_try(NULL), NW_OK);
}

static void
test_listeners(void)
{
	static const char *const wrong[] = { "far", "192.0.2.1/", "192.0.2.1/0", "192.0.2.1/65536",
		"192.0.2.1/-1", "192.0.2.1/9x", "box.example.net/10514", "192.0.2",
		"1::2 1::3 1::4 1::5 1::6", "01234567890123456789012345678901234567890123456789" };
	struct hostconf_listeners l;
	unsigned e, a;
	size_t i;

	CHECK_INT(hostconf_listeners("192.0.2.1 destination\tfd00::7/10333", &l), NW_OK);
	CHECK(l.destination && l.n == 2 && l.at[0].family == AF_INET && l.at[0].port == 10514);
	CHECK(l.at[1].family == AF_INET6 && l.at[1].port == 10333 && l.at[1].ip[15] == 7);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_INT(hostconf_listeners(wrong[i], &l), NW_EINVAL);
	CHECK(hostconf_scitag("2.65535", &e, &a) == NW_OK && e == 2 && a == 65535);
	CHECK_INT(hostconf_scitag("2", &e, &a), NW_EINVAL);
	CHECK_INT(hostconf_scitag("2.65536", &e, &a), NW_EINVAL);
	CHECK_INT(hostconf_scitag("2.9.1", &e, &a), NW_EINVAL);
	CHECK_INT(hostconf_scitag("-2.9", &e, &a), NW_EINVAL);
}

static void
run_foreign(void)
{
	file_put("host intruder\n");
	if (chown(file, 65534, 65534) != 0)
		return; /* only root has the case */
	CHECK(hostconf_get()->host == NULL);
}

int
main(void)
{
	char sub[64];

	unsetenv("NARROWS_BOX");
	unsetenv("NARROWS_HOST");
	unsetenv("NARROWS_TLS");
	unsetenv("CREDENTIALS_DIRECTORY");
	CHECK(mkdtemp(dir) != NULL);
	snprintf(sub, sizeof(sub), "%s/narrows", dir);
	snprintf(file, sizeof(file), "%s/host.conf", sub);
	CHECK(mkdir(sub, 0700) == 0);
	setenv("XDG_CONFIG_HOME", dir, 1);
	in_child(run_whole);
	in_child(run_faulty);
	in_child(run_foreign);
	test_listeners();
	unlink(file);
	rmdir(sub);
	rmdir(dir);
	return check_done("hostconf");
}
