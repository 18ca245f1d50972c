/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/analysis/chrony.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/err.h"

enum { ANSWER_WAIT_MS = 1500 };

/* Comma separated: ref id, name, stratum, ref time, system offset, last offset, rms offset,
 * frequency, residual, skew, root delay, root dispersion, update interval, leap status. */
int
chrony_tracking_parse(const char *line, struct chrony_tracking *out)
{
	double field[14] = { 0 };
	const char *p = line, *leap = NULL;
	int i;

	for (i = 0; i < 14; i++) {
		leap = p;
		field[i] = strtod(p, NULL);
		if ((p = strchr(p, ',')) == NULL)
			break;
		p++;
	}
	if (i < 13)
		return NW_EPROTO;
	out->synchronised = strncmp(leap, "Not synchronised", 16) != 0;
	out->offset_s = field[4];
	out->bound_s = fabs(field[4]) + field[11] + field[10] / 2;
	return isfinite(out->bound_s) ? NW_OK : NW_EPROTO;
}

/* Reads until end, a full buffer or the deadline. */
static size_t
answer_read(int fd, char *buf, size_t cap)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t n = 0;
	ssize_t k;

	while (n + 1 < cap && poll(&pfd, 1, ANSWER_WAIT_MS) > 0 &&
	    (k = read(fd, buf + n, cap - 1 - n)) > 0)
		n += (size_t)k;
	buf[n] = '\0';
	return n;
}

int
chrony_tracking_get(struct chrony_tracking *out)
{
	static char name[] = "chronyc", csv[] = "-c", numeric[] = "-n", tracking[] = "tracking";
	static char *const argv[] = { name, csv, numeric, tracking, NULL };
	posix_spawn_file_actions_t actions;
	extern char **environ;
	char line[512];
	int fd[2], rc = NW_ENOTFOUND, status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return NW_EIO;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0) {
		close(fd[1]);
		fd[1] = -1;
		if (answer_read(fd[0], line, sizeof(line)) == 0)
			kill(pid, SIGKILL);
		else if (chrony_tracking_parse(line, out) == NW_OK)
			rc = NW_OK;
		while (waitpid(pid, &status, 0) < 0)
			;
		if (rc == NW_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
			rc = NW_ENOTFOUND;
	}
	posix_spawn_file_actions_destroy(&actions);
	close(fd[0]);
	if (fd[1] >= 0)
		close(fd[1]);
	return rc;
}
