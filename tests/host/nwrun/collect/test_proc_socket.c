/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process has a socket: the process that the kernel names, then a child, then any. */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/nwrun/collect/proc_facts.h"
#include "tests/check.h"

enum { NEAR = 32, TRIES = 200 };

static uint32_t
inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint32_t)st.st_ino : 0;
}

/* A child that has `keeps` open until this process closes the other end of a pipe. When the call
 * returns, the child has closed `drops`. */
static pid_t
child_start(int keeps, int drops, int *hold)
{
	int end[2], ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(end) != 0 || pipe(ready) != 0)
		exit(1);
	if ((pid = fork()) == 0) {
		close(end[1]);
		close(drops);
		(void)!write(ready[1], &byte, 1);
		(void)!read(end[0], &byte, 1);
		close(keeps);
		_exit(0);
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(end[0]);
	*hold = end[1];
	return pid;
}

static struct proc_socket
find(uint32_t ino, int32_t pid, int32_t not_pid)
{
	struct proc_socket s = { .ino = ino, .pid = pid, .not_pid = not_pid };

	proc_socket_find(&s);
	return s;
}

/* Both this process and a child have one end: asked for another process than the first, the answer
 * is the child behind the process that asks, although this process has the lower number. */
static bool
test_child(void)
{
	int pair[2], hold[2];
	pid_t asks, child;
	uint32_t ino;
	bool near;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		exit(1);
	ino = inode_of(pair[1]);
	asks = child_start(pair[0], pair[1], &hold[0]);
	child = child_start(pair[1], pair[0], &hold[1]);
	near = child > asks && child <= asks + NEAR;
	if (near)
		CHECK_INT(find(ino, 0, asks).pid, child);
	CHECK_INT(find(ino, getpid(), asks).pid, getpid());
	CHECK_INT(find(ino, 0, getpid()).pid, child);
	CHECK(find(ino, 0, getpid()).program[0] != '\0');
	close(pair[0]);
	close(pair[1]);
	close(hold[0]);
	close(hold[1]);
	CHECK_INT(waitpid(asks, NULL, 0), asks);
	CHECK_INT(waitpid(child, NULL, 0), child);
	CHECK_INT(find(ino, 0, 0).pid, 0);
	return near;
}

int
main(void)
{
	int i = 0;

	/* other programs take numbers, too */
	while (!test_child() && ++i < TRIES)
		;
	CHECK(i < TRIES);
	return check_done("test_proc_socket");
}
