/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * narrows selftest: a first session for a box. The command runs itself below nwrun; the run below
 * moves bytes for some seconds from a temporary file through a connection on loopback into another
 * file.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/source.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum { FILE_BYTES = 32 << 20, PIECE_BYTES = 65536, RUN_S = 3, LONGEST_S = 60 };

/* --- the transfer --- */

static int
bytes_write(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	for (; len > 0; bytes += n, len -= (size_t)n)
		if ((n = write(fd, bytes, len)) <= 0)
			return NW_EIO;
	return NW_OK;
}

/* Reads the file over and over, until the time is up. */
static int
file_send(int file, int to)
{
	int64_t until_mono_ns = nw_mono_ns() + RUN_S * INT64_C(1000000000);
	char piece[PIECE_BYTES];
	ssize_t n;

	while (nw_mono_ns() < until_mono_ns) {
		if ((n = read(file, piece, sizeof(piece))) < 0)
			return NW_EIO;
		if (n == 0 && lseek(file, 0, SEEK_SET) != 0)
			return NW_EIO;
		if (n > 0 && bytes_write(to, piece, (size_t)n) < 0)
			return NW_EIO;
	}
	return NW_OK;
}

/* Writes received bytes over the file again and again, so that the file keeps its size. */
static int
file_receive(int from, int file)
{
	char piece[PIECE_BYTES];
	size_t at = 0;
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) > 0) {
		if (at + (size_t)n > FILE_BYTES && lseek(file, (off_t)(at = 0), SEEK_SET) != 0)
			return NW_EIO;
		if (bytes_write(file, piece, (size_t)n) < 0)
			return NW_EIO;
		at += (size_t)n;
	}
	return n == 0 ? NW_OK : NW_EIO;
}

/* Two ends of a connection on loopback. */
static int
connection_make(int ends[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ends[1] = -1;
	if (listener >= 0 && ends[0] >= 0 && bind(listener, (struct sockaddr *)&a, len) == 0 &&
	    listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&a, &len) == 0 &&
	    connect(ends[0], (struct sockaddr *)&a, len) == 0)
		ends[1] = accept(listener, NULL, NULL);
	if (listener >= 0)
		close(listener);
	return ends[1] >= 0 ? NW_OK : NW_EIO;
}

static int
file_make(const char *dir)
{
	static char piece[PIECE_BYTES];
	char *path = xasprintf("%s/narrows-selftest-XXXXXX", dir);
	int fd = mkstemp(path), i;

	if (fd >= 0)
		unlink(path);
	free(path);
	for (i = 0; fd >= 0 && i < FILE_BYTES / PIECE_BYTES; i++)
		if (bytes_write(fd, piece, sizeof(piece)) < 0) {
			close(fd);
			return -1;
		}
	return fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

static int
transfer_run(const char *dir)
{
	int from, to, ends[2], status = 0, rc;
	pid_t child;

	alarm(LONGEST_S);
	if ((from = file_make(dir)) < 0 || (to = file_make(dir)) < 0 || connection_make(ends) < 0 ||
	    (child = fork()) < 0)
		return command_failed("selftest", strerror(errno));
	if (child == 0) {
		close(ends[0]);
		_exit(file_receive(ends[1], to) < 0);
	}
	close(ends[1]);
	rc = file_send(from, ends[0]);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return rc == NW_OK && status == 0 ? 0 : command_failed("selftest", "the transfer failed");
}

/* --- the run below nwrun --- */

/* nwrun beside this program, else of PATH; the caller frees the text. */
static char *
nwrun_find(const char *self)
{
	char *path = xasprintf("%.*s/nwrun", (int)(strrchr(self, '/') - self), self);

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return xstrdup("nwrun");
}

static bool
box_is_empty(const char *state_dir)
{
	struct source *s = source_open(state_dir, NULL);
	json_t *doc = source_sessions(s, 0, "");
	bool empty = doc != NULL && json_array_size(result_list(doc, KEY_sessions_sessions)) == 0;

	json_decref(doc);
	source_close(s);
	return empty;
}

static int
measured_run(const char *state_dir)
{
	char self[PATH_MAX], *nwrun, *box = source_run_value(state_dir, "xsp");
	const char *dir = getenv("TMPDIR");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return command_failed("selftest", "this program's file is not known");
	self[n] = '\0';
	if (box != NULL && *box != '\0') {
		box[strcspn(box, " ,")] = '\0';
		setenv("NARROWS_BOX", box, 0);
	}
	setenv("NARROWS_INTERVAL", "200ms", 0);
	nwrun = nwrun_find(self);
	execlp(nwrun, nwrun, "-l", RESULT_SELFTEST_LABEL, self, "selftest", "--transfer",
	    dir != NULL ? dir : "/var/tmp", (char *)NULL);
	return command_failed(nwrun, strerror(errno));
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "if-empty", no_argument, NULL, 'e' },
		{ "transfer", required_argument, NULL, 't' }, { NULL, 0, NULL, 0 } };
	const char *dir = NULL;
	bool if_empty = false;
	int ch;

	while ((ch = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (ch != 'e' && ch != 't')
			return command_misused(env->command);
		if (ch == 't')
			dir = optarg;
		if_empty |= ch == 'e';
	}
	if (optind != argc)
		return command_misused(env->command);
	if (dir != NULL)
		return transfer_run(dir);
	if (if_empty && !box_is_empty(env->state_dir))
		return 0;
	return measured_run(env->state_dir);
}

const struct command command_selftest = {
	.name = "selftest",
	.summary = "measure a transfer within this machine: a first session",
	.usage = "[--if-empty]",
	.help = "Moves bytes for three seconds from a temporary file through a connection on\n"
		"loopback into another file, below nwrun. The session's label is self-test.\n"
		"  --if-empty   do nothing if the box has a session\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
