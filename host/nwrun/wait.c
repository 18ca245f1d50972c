/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/clock.h"

/* The collector prints within 2.8 s; a collector that was killed prints nothing. */
#define PATIENCE_NS INT64_C(3500000000)

/* A signal of the terminal reaches the program, too; a signal for nwrun alone is passed on. */
static bool
is_for_program(const siginfo_t *i, pid_t program)
{
	return i->si_signo != SIGCHLD && i->si_code <= 0 && i->si_pid != program;
}

/* A stopped program stops nwrun, so that the shell sees a stopped job. */
static void
stop_with(pid_t program)
{
	raise(SIGSTOP);
	kill(program, SIGCONT);
}

/* Returns the status of wait(2) at the program's end. */
static int
program_await(pid_t program, const sigset_t *all)
{
	siginfo_t info;
	int status;
	pid_t rc;

	for (;;) {
		while ((rc = waitpid(program, &status, WNOHANG | WUNTRACED)) == program) {
			if (!WIFSTOPPED(status))
				return status;
			stop_with(program);
		}
		if (rc < 0 && errno != EINTR)
			return 125 << 8;
		if (sigwaitinfo(all, &info) > 0 && is_for_program(&info, program))
			kill(program, info.si_signo);
	}
}

/* Copies the collector's words until the collector closes, or for a while. */
static void
verdict_copy(int fd)
{
	int64_t end_mono_ns = nw_mono_ns() + PATIENCE_NS, left_ns;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[PIPE_BUF];
	ssize_t n;

	while ((left_ns = end_mono_ns - nw_mono_ns()) > 0) {
		if (poll(&p, 1, (int)(left_ns / 1000000) + 1) <= 0)
			continue;
		if ((n = read(fd, text, sizeof(text))) <= 0)
			return;
		if (write(STDERR_FILENO, text, (size_t)n) != n)
			return;
	}
}

/* Ends as the program did; its core is enough. */
static int
end_like(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t one;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + WTERMSIG(status);
}

bool
wait_begin(int *verdict_fd, int *status)
{
	sigset_t all, before;
	pid_t program;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if ((program = fork()) <= 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		close(fds[0]);
		*verdict_fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
		close(fds[1]);
		if (program < 0 && *verdict_fd >= 0) {
			close(*verdict_fd);
			*verdict_fd = -1;
		}
		return false;
	}
	close(fds[1]);
	*status = program_await(program, &all);
	verdict_copy(fds[0]);
	*status = end_like(*status);
	return true;
}
