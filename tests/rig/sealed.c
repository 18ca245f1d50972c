/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sealed FROM TO GO: opens FROM and TO, lets seccomp kill the process at every system call but the
 * few that a copy takes, waits for a byte from GO (a pipe), and copies in pieces of 64 KiB.
 * Status 4: seccomp is not to be had.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE = 65536 };

#define ALLOW(number)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int
seal(void)
{
	struct sock_filter calls[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_clock_gettime), /* a call where the processor's clock is not trusted */
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog filter = { sizeof(calls) / sizeof(calls[0]), calls };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0;
}

int
main(int argc, char **argv)
{
	static char piece[PIECE];
	int from, to, go;
	ssize_t n;

	if (argc != 4 || (from = open(argv[1], O_RDONLY)) < 0 ||
	    (to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644)) < 0 ||
	    (go = open(argv[3], O_RDONLY)) < 0)
		return 1;
	if (seal() != 0)
		return 4;
	if (read(go, piece, 1) != 1)
		return 1;
	while ((n = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)n) != n)
			return 1;
	return n < 0;
}
