/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows verify: checks a store, or a copy, down to every sample. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/watch.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

static void
counts_print(const char *path, const struct store_counts *n)
{
	printf("%s: %s: %" PRId64 " hosts, %" PRId64 " sessions, %" PRId64 " results, %" PRId64
	       " metadata, %" PRId64 " layouts, %" PRId64 " events; %" PRId64 " rows, %" PRId64
	       " values in %" PRId64 " chunks, %" PRId64 " roll-ups, %" PRId64 " blobs of the tail",
	    path, n->faults == 0 ? "whole" : "damaged", n->hosts, n->sessions, n->results, n->metas,
	    n->layouts, n->events, n->rows, n->values, n->chunks, n->rollups, n->tail_blobs);
	if (n->faults > 0)
		printf("; %" PRIu64 " faults", n->faults);
	putchar('\n');
}

static int
file_check(const char *path, char why[STORE_WHY_BYTES])
{
	struct store_reader *r = NULL;
	struct store_counts counts;
	struct watch watch;
	int rc;

	watch_begin(&watch);
	if ((rc = store_reader_open(path, &r, why)) == NW_OK) {
		rc = store_check(r, &watch.store, &counts);
		watch_end(&watch);
		if (rc == NW_OK || rc == NW_ECORRUPT)
			counts_print(path, &counts);
		else
			snprintf(why, STORE_WHY_BYTES, "%s",
			    rc == NW_ECLOSED ? "interrupted" : nw_strerror(rc));
	}
	store_reader_close(r);
	return rc;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	char why[STORE_WHY_BYTES] = "", *path;
	int rc;

	if (getopt(argc, argv, "") != -1 || argc - optind > 1)
		return command_misused(env->command);
	path = optind < argc ? xstrdup(argv[optind]) : xasprintf("%s/narrows.db", env->state_dir);
	if ((rc = file_check(path, why)) < 0 && why[0] != '\0')
		command_failed(path, why);
	free(path);
	return rc < 0 || fflush(stdout) != 0;
}

const struct command command_verify = {
	.name = "verify",
	.summary = "check a store, or a copy, down to every sample",
	.usage = "[FILE]     (without FILE: the store of the state directory)",
	.help = "Prints a line for each fault, and the counts of hosts, sessions, chunks and "
		"samples.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
