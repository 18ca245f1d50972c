/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows backup: copies the store to one file while the box runs. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/watch.h"
#include "narrows/xmalloc.h"
#include "narrows/format.h"

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "force", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 } };
	struct watch watch;
	char why[STORE_WHY_BYTES], *path;
	bool force = false;
	struct stat sb;
	int rc, ch;

	while ((ch = getopt_long(argc, argv, "f", longs, NULL)) == 'f')
		force = true;
	if (ch != -1 || optind + 1 != argc)
		return command_misused(env->command);
	path = xasprintf("%s/narrows.db", env->state_dir);
	watch_begin(&watch);
	rc = store_backup(path, argv[optind], force, &watch.store, why);
	watch_end(&watch);
	if (rc < 0)
		fprintf(stderr, "narrows: %s to %s: %s\n", path, argv[optind], why);
	else if (stat(argv[optind], &sb) == 0)
		printf("%s: %s, checked\n", argv[optind], fmt_bytes((double)sb.st_size).s);
	free(path);
	return rc < 0 || fflush(stdout) != 0;
}

const struct command command_backup = {
	.name = "backup",
	.summary = "copy the store to a file, while the box runs",
	.usage = "[-f] FILE     (-f: even if FILE exists)",
	.help = "The copy is one moment of the store, and is checked before it gets its name.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
