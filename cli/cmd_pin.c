/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows pin, unpin: whether a session keeps its rows when others get old. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/source.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

static int
pin(const char *state_dir, int argc, char **argv, bool pinned)
{
	struct source *s;
	char why[STORE_WHY_BYTES], *path;
	int64_t id;
	int rc;

	if (getopt(argc, argv, "") != -1 || optind + 1 != argc)
		return cmd_usage(argv[0], stderr);
	if ((s = source_open(state_dir, NULL)) == NULL)
		return 1;
	rc = source_session_id(s, argv[optind], &id);
	source_close(s);
	if (rc < 0)
		return 1;
	path = xasprintf("%s/narrows.db", state_dir);
	if ((rc = store_pin(path, id, pinned, why)) < 0)
		fprintf(stderr, "narrows: session %" PRId64 ": %s\n", id, why);
	free(path);
	return rc < 0;
}

int
cmd_pin(const char *state_dir, int argc, char **argv)
{
	return pin(state_dir, argc, argv, true);
}

int
cmd_unpin(const char *state_dir, int argc, char **argv)
{
	return pin(state_dir, argc, argv, false);
}
