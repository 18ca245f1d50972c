/* SPDX-License-Identifier: BSD-3-Clause */
/* How processes ended: by a signal, or with a status; told also after somebody has waited. */
#include "host/nwrun/collect/exitcode.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

/* A child that ends with a status, or by a signal. False where the kernel does not tell. */
static bool
child_end(int sig, int code, int *status)
{
	int gate[2], fd, waited;
	char byte;
	bool told;
	pid_t pid;

	CHECK(pipe(gate) == 0);
	if ((pid = fork()) == 0) {
		(void)close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		if (sig != 0)
			(void)kill(getpid(), sig);
		_exit(code);
	}
	fd = exitcode_open(pid);
	CHECK(!exitcode_get(fd, status)); /* alive */
	(void)close(gate[0]);
	(void)close(gate[1]);
	CHECK(waitpid(pid, &waited, 0) == pid);
	told = exitcode_get(fd, status);
	CHECK(!told || *status == waited);
	if (fd >= 0)
		(void)close(fd);
	return told;
}

int
main(void)
{
	int status = 0;

	CHECK_INT(exitcode_open(0), -1);
	CHECK(!exitcode_get(-1, &status));
	if (child_end(SIGKILL, 0, &status)) {
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		CHECK(child_end(0, 3, &status) && WIFEXITED(status) && WEXITSTATUS(status) == 3);
	} else
		puts("this kernel tells nobody but the parent how a process ended");
	return check_done("exitcode");
}
