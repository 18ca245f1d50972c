/* SPDX-License-Identifier: BSD-3-Clause */
/* A store in a temporary directory for tests of those who read it: commit batches and wait for
 * them. */
#ifndef FILLED_H
#define FILLED_H

#include <poll.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/store.h"
#include "tests/check.h"

static char filled_dir[] = "/dev/shm/nw-filled-XXXXXX";
static char filled_path[80];

static inline struct store *
filled_open(const char *path)
{
	struct store *st = NULL;
	char why[STORE_WHY_BYTES];

	if (path == NULL) {
		if (!check_dir(filled_dir))
			exit(1);
		snprintf(filled_path, sizeof(filled_path), "%s/store.db", filled_dir);
		path = filled_path;
	}
	CHECK_INT(store_open(path, &store_opts_default, &st, why), NW_OK);
	if (st == NULL) {
		fprintf(stderr, "%s: %s\n", path, why);
		exit(1);
	}
	return st;
}

static inline void
filled_remove(void)
{
	static const char *const end[] = { "", "-wal", "-shm", "-lock" };
	char name[96];
	size_t i;

	for (i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", filled_path, end[i]);
		unlink(name);
	}
	CHECK_INT(rmdir(filled_dir), 0);
}

static inline void
filled_on_done(void *arg, int rc)
{
	*(int *)arg = rc == NW_OK ? 1 : rc;
}

/* Takes b. */
static inline void
filled_commit(struct store *st, struct nw_batch *b)
{
	struct pollfd pfd = { .fd = store_completion_fd(st), .events = POLLIN };
	int done = 0;

	nw_batch_on_done(b, filled_on_done, &done);
	CHECK_INT(store_submit(st, b), NW_OK);
	while (done == 0 && poll(&pfd, 1, 120000) > 0)
		store_run_completions(st);
	CHECK_INT(done, 1);
}

#endif
