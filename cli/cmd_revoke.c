/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows revoke: ends the certificates of a host. */
#include <unistd.h>

#include "narrows/ca.h"
#include "narrows/speakers.h"
#include "cli/cmd.h"

static int
run(const struct command_env *env, int argc, char **argv)
{
	char why[CONF_WHY_BYTES];

	if (getopt(argc, argv, "") != -1 || optind != argc - 1)
		return command_misused(env->command);
	if (ca_revoke(env->tls_dir, argv[optind], why) < 0 ||
	    speakers_revoke(env->tls_dir, argv[optind], why) < 0)
		return command_failed(NULL, why);
	return 0;
}

const struct command command_revoke = {
	.name = "revoke",
	.summary = "the certificates of a host are no longer good",
	.usage = "HOST",
	.help = "A running box ends the connections of that host within seconds.\n"
		"What the host may speak for is taken back, too.\n",
	.needs = NEEDS_TLS_DIR,
	.run = run,
};
