/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows export: everything measured for a session, as tidy CSV. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/cmd.h"
#include "daemon/source.h"
#include "daemon/xmalloc.h"
#include "narrows/err.h"

static int
file_write(void *arg, const char *text, size_t len)
{
	return fwrite(text, 1, len, arg) == len ? NW_OK : NW_EIO;
}

/* Into a file beside it first: a broken export leaves what was there. */
static int
export_to(struct source *s, int64_t id, const char *path)
{
	char *tmp = xasprintf("%s.part", path);
	FILE *f = fopen(tmp, "w");
	int rc = NW_EIO;

	if (f != NULL) {
		rc = source_csv(s, id, file_write, f);
		if (fclose(f) != 0)
			rc = rc < 0 ? rc : NW_EIO;
		if (rc == NW_OK && rename(tmp, path) != 0)
			rc = NW_EIO;
		if (rc < 0)
			unlink(tmp);
	}
	if (rc == NW_EIO)
		fprintf(stderr, "narrows: %s: %s\n", path, strerror(errno));
	free(tmp);
	return rc;
}

int
cmd_export(struct source *s, int argc, char **argv)
{
	static const struct option longs[] = { { "csv", required_argument, NULL, 'c' }, { NULL, 0, NULL, 0 } };
	const char *path = NULL;
	int64_t id;
	int ch, rc;

	while ((ch = getopt_long(argc, argv, "c:", longs, NULL)) != -1) {
		if (ch != 'c')
			goto usage;
		path = optarg;
	}
	if (optind + 1 != argc)
		goto usage;
	if (source_session_id(s, argv[optind], &id) < 0)
		return 1;
	if (path != NULL && strcmp(path, "-") != 0)
		return export_to(s, id, path) < 0;
	rc = source_csv(s, id, file_write, stdout);
	return rc < 0 || fflush(stdout) != 0;
usage:
	fputs("usage: narrows export ID [--csv FILE]     (ID: a number, or \"last\"; without FILE: standard output)\n", stderr);
	return 2;
}
