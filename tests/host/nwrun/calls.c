/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for sys_nwrun_cost.sh: runs a program and prints how many system calls its last image
 * made: all, and those of some kinds. Unlike times, the numbers are the same on a busy machine.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	long number;
	const char *name;
} kinds[] = { { SYS_statx, "statx" }, { SYS_readlinkat, "readlinkat" },
	{ SYS_clock_gettime, "clock_gettime" }, { SYS_openat, "openat" }, { SYS_mmap, "mmap" } };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
static unsigned long all, of_kind[KINDS];

static void
count(pid_t pid)
{
	struct __ptrace_syscall_info info;
	int i;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	all++;
	for (i = 0; i < KINDS; i++)
		of_kind[i] += info.entry.nr == (unsigned long)kinds[i].number;
}

static void
forget(void)
{
	int i;

	all = 0;
	for (i = 0; i < KINDS; i++)
		of_kind[i] = 0;
}

/* The exit status of the program. */
static int
follow(pid_t pid)
{
	int status, sig = 0;

	for (;; ptrace(PTRACE_SYSCALL, pid, 0, sig)) {
		if (waitpid(pid, &status, 0) != pid)
			return 1;
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		sig = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			count(pid);
		else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			forget();
		else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
			sig = WSTOPSIG(status);
	}
}

int
main(int argc, char *argv[])
{
	pid_t pid = argc > 1 ? fork() : -1;
	int i, status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(77);
		raise(SIGSTOP);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 77;
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC);
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	status = follow(pid);
	fprintf(stderr, "all %lu", all);
	for (i = 0; i < KINDS; i++)
		fprintf(stderr, " %s %lu", kinds[i].name, of_kind[i]);
	fprintf(stderr, "\n");
	return status;
}
