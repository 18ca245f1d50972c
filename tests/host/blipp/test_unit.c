/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blipp below the restrictions of conf/blipp.service, where no systemd runs: a filter lets through
 * the address families that the unit names, and blipp's questions to the kernel must pass.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/addresses.h"
#include "host/blipp/follow.h"
#include "host/lib/tcpinfo.h"
#include "tests/check.h"

enum { FAMILIES_MAX = 16 };

static const struct {
	const char *name;
	unsigned family;
} names[] = { { "AF_UNIX", AF_UNIX }, { "AF_INET", AF_INET }, { "AF_INET6", AF_INET6 },
	{ "AF_NETLINK", AF_NETLINK } };

/* The families of the unit's RestrictAddressFamilies. */
static size_t
unit_families(unsigned families[FAMILIES_MAX])
{
	static const char key[] = "RestrictAddressFamilies=";
	FILE *f = fopen("conf/blipp.service", "r");
	size_t n = 0, i;
	char line[512];
	char *word;

	CHECK(f != NULL);
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		for (word = strtok(line + sizeof(key) - 1, " \n"); word != NULL;
		     word = strtok(NULL, " \n"))
			for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
				if (strcmp(word, names[i].name) == 0)
					families[n++] = names[i].family;
	}
	if (f != NULL)
		fclose(f);
	return n;
}

/* As systemd does: socket(2) with another family fails with EAFNOSUPPORT. */
static bool
restrict_families(const unsigned *families, size_t n)
{
	struct sock_filter code[FAMILIES_MAX + 8];
	struct sock_fprog program = { .filter = code };
	unsigned short at = 0;
	size_t i;

	code[at++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	code[at++] = (struct sock_filter)BPF_JUMP(
	    BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, (unsigned char)(n + 2));
	code[at++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
	for (i = 0; i < n; i++)
		code[at++] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, families[i], (unsigned char)(n - i), 0);
	code[at++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = at;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Exit statuses of the restricted child. */
enum { FINE, NO_FILTER, NO_TCP, NO_ADDRESSES };

static int
restricted(const unsigned *families, size_t n, const char *addresses)
{
	struct followers f;
	char text[1024];

	if (!restrict_families(families, n))
		return NO_FILTER;
	followers_init(&f);
	if (f.fd < 0)
		return f.error == EAFNOSUPPORT ? NO_TCP : NO_FILTER;
	addresses_list(text, sizeof(text));
	return strcmp(text, addresses) == 0 ? FINE : NO_ADDRESSES;
}

static int
try_families(const unsigned *families, size_t n)
{
	char addresses[1024];
	int status;
	pid_t pid;

	addresses_list(addresses, sizeof(addresses));
	if ((pid = fork()) == 0)
		_exit(restricted(families, n, addresses));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
main(void)
{
	static const unsigned without[] = { AF_UNIX, AF_INET, AF_INET6 };
	unsigned families[FAMILIES_MAX];
	size_t n = unit_families(families);

	CHECK(n >= 3);
	CHECK_INT(try_families(families, n), FINE);
	CHECK_INT(try_families(without, 3), NO_TCP); /* the filter works, and the reason is known */
	return check_done("unit");
}
