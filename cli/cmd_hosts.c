/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows hosts: lists the certificates of the site. */
#include <stdio.h>
#include <unistd.h>

#include "narrows/ca.h"
#include "cli/cmd.h"
#include "cli/show.h"
#include "narrows/clock.h"
#include "narrows/err.h"

static int
on_host(void *arg, const struct ca_host *h)
{
	int64_t now_s = *(const int64_t *)arg;
	const char *state = h->revoked ? "revoked" : h->expires_wall_s < now_s ? "expired" : "good";

	printf("%-30s  %s  %-8s  %s\n", h->name, show_minute(h->expires_wall_s), state, h->serial);
	return NW_OK;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	int64_t now_s = nw_wall_ns() / 1000000000;
	char why[CONF_WHY_BYTES];

	if (getopt(argc, argv, "") != -1 || optind != argc)
		return command_misused(env->command);
	printf("%-30s  %-16s  %-8s  %s\n", "HOST", "UNTIL (UTC)", "STATE", "SERIAL");
	if (ca_hosts(env->tls_dir, on_host, &now_s, why) < 0)
		return command_failed(NULL, why);
	return fflush(stdout) != 0;
}

const struct command command_hosts = {
	.name = "hosts",
	.summary = "certificates, and until when they are good",
	.usage = "",
	.help = "Lists every certificate: host, end, state, serial number.\n",
	.needs = NEEDS_TLS_DIR,
	.run = run,
};
