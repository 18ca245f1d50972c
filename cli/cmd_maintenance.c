/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows backup, verify, restore: care of a store's file, on the machine where it lies. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "narrows/xmalloc.h"
#include "narrows/maintenance.h"
#include "narrows/err.h"
#include "narrows/format.h"

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* --- what is seen meanwhile --- */

struct shown {
	const char *doing;
	int percent;
};

static int
on_progress(void *arg, const char *doing, uint64_t done, uint64_t total)
{
	struct shown *s = arg;
	int percent = total == 0 ? 0 : (int)(100 * (double)done / (double)total);

	if (isatty(STDERR_FILENO) && (s->doing != doing || s->percent != percent)) {
		fprintf(stderr, "\r%s: %d %%\033[K", doing, percent);
		s->doing = doing;
		s->percent = percent;
	}
	return interrupted;
}

static void
progress_end(const struct shown *s)
{
	if (s->doing != NULL)
		fputs("\r\033[K", stderr);
}

static int
on_fault(void *arg, const char *what)
{
	progress_end(arg);
	puts(what);
	return ferror(stdout);
}

/* A file that is half made is removed when the work ends early. */
static void
watch_begin(struct store_watch *w, struct shown *s)
{
	struct sigaction sa = { .sa_handler = on_interrupt };

	*s = (struct shown){ NULL, -1 };
	*w = (struct store_watch){ .progress = on_progress, .fault = on_fault, .arg = s };
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* The one option, -f, and how many arguments come after it: -1 for wrong usage. */
static int
options(int argc, char **argv, bool *force)
{
	static const struct option longs[] = { { "force", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 } };
	int ch;

	while ((ch = getopt_long(argc, argv, force == NULL ? "" : "f",
		    force == NULL ? longs + 1 : longs, NULL)) != -1) {
		if (ch != 'f')
			return -1;
		*force = true;
	}
	return argc - optind;
}

/* --- the commands --- */

int
cmd_backup(const char *state_dir, int argc, char **argv)
{
	struct store_watch watch;
	struct shown shown;
	char why[STORE_WHY_BYTES], *path;
	bool force = false;
	struct stat sb;
	int rc;

	if (options(argc, argv, &force) != 1)
		return cmd_usage(argv[0], stderr);
	path = xasprintf("%s/narrows.db", state_dir);
	watch_begin(&watch, &shown);
	rc = store_backup(path, argv[optind], force, &watch, why);
	progress_end(&shown);
	if (rc < 0)
		fprintf(stderr, "narrows: %s to %s: %s\n", path, argv[optind], why);
	else if (stat(argv[optind], &sb) == 0)
		printf("%s: %s, checked\n", argv[optind], fmt_bytes((double)sb.st_size).s);
	free(path);
	return rc < 0 || fflush(stdout) != 0;
}

static void
counts_print(const char *path, const struct store_counts *n)
{
	printf("%s: %s: %" PRId64 " hosts, %" PRId64 " sessions, %" PRId64 " results, %" PRId64
	       " metadata, %" PRId64 " layouts; %" PRId64 " rows, %" PRId64 " values in %" PRId64
	       " chunks, %" PRId64 " roll-ups, %" PRId64 " blobs of the tail",
	    path, n->faults == 0 ? "whole" : "damaged", n->hosts, n->sessions, n->results, n->metas,
	    n->layouts, n->rows, n->values, n->chunks, n->rollups, n->tail_blobs);
	if (n->faults > 0)
		printf("; %" PRIu64 " faults", n->faults);
	putchar('\n');
}

int
cmd_verify(const char *state_dir, int argc, char **argv)
{
	struct store_reader *r = NULL;
	struct store_watch watch;
	struct store_counts counts;
	struct shown shown;
	char why[STORE_WHY_BYTES], *path;
	int n, rc;

	if ((n = options(argc, argv, NULL)) < 0 || n > 1)
		return cmd_usage(argv[0], stderr);
	path = n == 1 ? xstrdup(argv[optind]) : xasprintf("%s/narrows.db", state_dir);
	watch_begin(&watch, &shown);
	if ((rc = store_reader_open(path, &r, why)) == NW_OK) {
		rc = store_check(r, &watch, &counts);
		progress_end(&shown);
		if (rc == NW_OK || rc == NW_ECORRUPT)
			counts_print(path, &counts);
		else
			snprintf(why, sizeof(why), "%s",
			    rc == NW_ECLOSED ? "interrupted" : nw_strerror(rc));
	}
	if (rc < 0 && why[0] != '\0')
		fprintf(stderr, "narrows: %s: %s\n", path, why);
	store_reader_close(r);
	free(path);
	return rc < 0 || fflush(stdout) != 0;
}

int
cmd_restore(const char *state_dir, int argc, char **argv)
{
	struct store_watch watch;
	struct shown shown;
	char kept[STORE_WHY_BYTES], why[STORE_WHY_BYTES], *path;
	bool force = false;
	int rc;

	if (options(argc, argv, &force) != 1)
		return cmd_usage(argv[0], stderr);
	if (mkdir(state_dir, 0750) == -1 && errno != EEXIST) {
		fprintf(stderr, "narrows: %s: %s\n", state_dir, strerror(errno));
		return 1;
	}
	path = xasprintf("%s/narrows.db", state_dir);
	watch_begin(&watch, &shown);
	rc = store_restore(argv[optind], path, force, &watch, kept, why);
	progress_end(&shown);
	if (rc < 0)
		fprintf(stderr, "narrows: %s to %s: %s\n", argv[optind], path, why);
	else
		printf("%s: restored, checked\n", path);
	if (kept[0] != '\0')
		printf("%s: the store of before\n", kept);
	free(path);
	return rc < 0 || fflush(stdout) != 0;
}
