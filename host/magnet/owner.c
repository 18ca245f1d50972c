/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "narrows/err.h"

int
owner_dial(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (s < 0)
		return -1;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path != NULL ? path : OWNER_SOCKET);
	if (connect(s, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return s;
	err = errno;
	close(s);
	errno = err;
	return -1;
}

/* Takes descriptors out of a message, and closes those without room. */
static void
fds_take(struct msghdr *m, int *fds)
{
	struct cmsghdr *c;
	int fd;
	size_t i, n, taken = 0;

	for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (fds != NULL && taken < OWNER_FDS)
				fds[taken++] = fd;
			else
				close(fd);
		}
	}
}

int
owner_ask(int s, const char *line, char *answer, int *fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { answer, OWNER_LINE_BYTES - 1 };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	if (fds != NULL)
		fds[0] = fds[1] = -1;
	answer[0] = '\0';
	/* an owner that refuses the connection says why before it closes the connection */
	if (send(s, line, strlen(line), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return NW_ECLOSED;
	n = recvmsg(s, &m, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return NW_ECLOSED;
	answer[n] = '\0';
	fds_take(&m, fds);
	if (strncmp(answer, "ok", 2) == 0) {
		memmove(answer, answer + (answer[2] == ' ' ? 3 : 2), (size_t)n - 1);
		return NW_OK;
	}
	if (strncmp(answer, "error ", 6) == 0)
		memmove(answer, answer + 6, (size_t)n - 5);
	return NW_EINVAL;
}
