/* SPDX-License-Identifier: BSD-3-Clause */
#include "pki/ask/ctlask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 10 };

static int
box_connect(const char *state_dir)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	if ((size_t)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/narrowsd.ctl", state_dir) >=
	    sizeof(sun.sun_path)) {
		fprintf(stderr, "narrows: %s: too long for a socket\n", state_dir);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return fd;
	fprintf(stderr, "narrows: %s: %s\n", sun.sun_path,
	    errno == ENOENT || errno == ECONNREFUSED ? "no box runs here" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void
print(void *arg, const char *line)
{
	(void)arg;
	fputs(line, stdout);
}

/* What is behind "ok" and the lines below go to fn, an "error ..." goes to stderr. */
static int
answer_take(FILE *from, ctlask_fn *fn, void *arg)
{
	char line[8192];
	bool ok;

	if (fgets(line, sizeof(line), from) == NULL) {
		fputs("narrows: the box does not answer\n", stderr);
		return 1;
	}
	ok = strncmp(line, "ok", 2) == 0;
	if (!ok)
		fprintf(stderr, "narrows: %s", strncmp(line, "error ", 6) == 0 ? line + 6 : line);
	else if (line[2] == ' ')
		fn(arg, line + 3);
	while (fgets(line, sizeof(line), from) != NULL)
		if (ok)
			fn(arg, line);
		else
			fputs(line, stderr);
	return fflush(stdout) != 0 || !ok;
}

int
ctlask_each(const char *state_dir, const char *line, ctlask_fn *fn, void *arg)
{
	int fd = box_connect(state_dir), status = 1;
	FILE *f = NULL;

	if (fd < 0)
		return status;
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line) ||
	    (f = fdopen(fd, "r")) == NULL)
		fprintf(stderr,
		    "narrows: the box does not answer: %s; check that it runs: narrows health\n",
		    strerror(errno));
	else
		status = answer_take(f, fn, arg);
	if (f != NULL)
		fclose(f);
	else
		close(fd);
	return status;
}

int
ctlask(const char *state_dir, const char *line)
{
	return ctlask_each(state_dir, line, print, NULL);
}
