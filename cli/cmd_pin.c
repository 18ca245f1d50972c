/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows pin, narrows unpin: the two directions of one switch, whether a session keeps its
 * samples when the samples of other sessions get old. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/source.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

static int
pin(const struct command_env *env, int argc, char **argv, bool pinned)
{
	struct source *s;
	char why[STORE_WHY_BYTES], *path;
	int64_t id;
	int rc;

	if (getopt(argc, argv, "") != -1 || optind + 1 != argc)
		return command_misused(env->command);
	s = source_open(env->state_dir, NULL);
	rc = last_or_number(s, argv[optind], &id);
	source_close(s);
	if (rc < 0)
		return rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	path = xasprintf("%s/narrows.db", env->state_dir);
	if ((rc = store_pin(path, id, pinned, why)) < 0)
		fprintf(stderr, "narrows: session %" PRId64 ": %s\n", id, why);
	free(path);
	return rc < 0 ? COMMAND_FAILED : 0;
}

static int
pin_run(const struct command_env *env, int argc, char **argv)
{
	return pin(env, argc, argv, true);
}

static int
unpin_run(const struct command_env *env, int argc, char **argv)
{
	return pin(env, argc, argv, false);
}

const struct command command_pin = {
	.name = "pin",
	.summary = "keep the samples of a session (ID, or \"last\") for ever",
	.usage = "ID     (a number, or \"last\")",
	.help = "The samples of the session, and those of its hosts from its time, stay whatever "
		"narrowsd.conf says of their age.\n",
	.needs = NEEDS_STATE_DIR,
	.run = pin_run,
};

const struct command command_unpin = {
	.name = "unpin",
	.summary = "let the samples of a pinned session get old like others",
	.usage = "ID     (a number, or \"last\")",
	.help = "Ends what \"narrows pin\" began.\n",
	.needs = NEEDS_STATE_DIR,
	.run = unpin_run,
};
