/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/err.h"

int
aside_open(struct aside *a)
{
	if (a->epoll_fd != 0)
		return NW_OK;
	if ((a->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) {
		a->epoll_fd = 0;
		return NW_EIO;
	}
	return NW_OK;
}

static void
child_run(aside_fn *measure, const void *arg, int out_fd, pid_t parent)
{
	char text[ASIDE_TEXT_BYTES] = "";
	ssize_t len;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || nice(10) < 0 || !measure(arg, text))
		_exit(1);
	len = (ssize_t)strlen(text);
	_exit(write(out_fd, text, (size_t)len) == len ? 0 : 1);
}

int
aside_begin(struct aside *a, aside_fn *measure, const void *arg, int64_t now_mono_ns)
{
	struct epoll_event event = { .events = EPOLLIN };
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return NW_EIO;
	a->pid = fork();
	if (a->pid == 0)
		child_run(measure, arg, fds[1], parent);
	close(fds[1]);
	a->fd = fds[0];
	a->len = 0;
	a->begun_mono_ns = now_mono_ns;
	if (a->pid > 0 && epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fds[0], &event) == 0)
		return NW_OK;
	if (a->pid > 0)
		aside_end(a);
	else
		close(fds[0]);
	a->pid = 0;
	return NW_EIO;
}

void
aside_end(struct aside *a)
{
	if (a->pid <= 0)
		return;
	kill(a->pid, SIGKILL);
	waitpid(a->pid, NULL, 0);
	close(a->fd);
	a->pid = 0;
}

bool
aside_read(struct aside *a)
{
	ssize_t got;

	if (a->pid == 0)
		return false;
	got = read(a->fd, a->text + a->len, sizeof(a->text) - 1 - a->len);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got > 0) {
		a->len += (size_t)got;
		if (a->len < sizeof(a->text) - 1)
			return false;
	}
	a->text[a->len] = '\0';
	aside_end(a);
	return true;
}

void
aside_clear(struct aside *a)
{
	aside_end(a);
	if (a->epoll_fd > 0)
		close(a->epoll_fd);
	a->epoll_fd = 0;
}

int
aside_fd(const struct aside *a)
{
	return a->epoll_fd > 0 ? a->epoll_fd : -1;
}
