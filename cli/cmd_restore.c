/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows restore: puts a copy in the place of the store. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/watch.h"
#include "narrows/xmalloc.h"

static int
copy_restore(const char *copy, const char *path, bool force)
{
	char kept[STORE_WHY_BYTES], why[STORE_WHY_BYTES];
	struct watch watch;
	int rc;

	watch_begin(&watch);
	rc = store_restore(copy, path, force, &watch.store, kept, why);
	watch_end(&watch);
	if (rc < 0)
		fprintf(stderr, "narrows: %s to %s: %s\n", copy, path, why);
	else
		printf("%s: restored, checked\n", path);
	if (kept[0] != '\0')
		printf("%s: the former store\n", kept);
	return rc < 0 || fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "force", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 } };
	bool force = false;
	char *path;
	int status, ch;

	while ((ch = getopt_long(argc, argv, "f", longs, NULL)) == 'f')
		force = true;
	if (ch != -1 || optind + 1 != argc)
		return command_misused(env->command);
	if (mkdir(env->state_dir, 0750) == -1 && errno != EEXIST)
		return command_failed(env->state_dir, strerror(errno));
	path = xasprintf("%s/narrows.db", env->state_dir);
	status = copy_restore(argv[optind], path, force);
	free(path);
	return status;
}

const struct command command_restore = {
	.name = "restore",
	.summary = "put a copy in the place of the store",
	.usage = "[-f] FILE     (-f: even if there is a store; the store is kept)",
	.help = "The box must not run. The copy is checked first.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
