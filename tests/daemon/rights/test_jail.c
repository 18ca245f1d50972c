/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process may do after jail_enter(), and what not: files, system calls, programs, threads */
#include "daemon/rights/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static char outside[] = "/tmp/narrows-jail-out-XXXXXX", inside[] = "/tmp/narrows-jail-in-XXXXXX";

static int
file_write(const char *dir, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if ((fd = open(path, O_RDWR | O_CREAT, 0600)) < 0)
		return errno;
	close(fd);
	return 0;
}

static int
file_rename(const char *from_dir, const char *from, const char *to_dir, const char *to)
{
	char a[128], b[128];

	snprintf(a, sizeof(a), "%s/%s", from_dir, from);
	snprintf(b, sizeof(b), "%s/%s", to_dir, to);
	return rename(a, b) == 0 ? 0 : errno;
}

static void
check_files(void)
{
	char link[128];

	CHECK_INT(file_write(inside, "a"), 0);
	CHECK_INT(file_rename(inside, "a", inside, "b"), 0);
	CHECK(file_write(outside, "a") == EACCES);
	CHECK(file_write(outside, "there") == EACCES);
	CHECK(file_rename(inside, "b", outside, "b") != 0);
	CHECK(file_rename(outside, "there", inside, "there") != 0);
	/* a link that leads out does not lead out */
	snprintf(link, sizeof(link), "%s/link", inside);
	CHECK_INT(symlink(outside, link), 0);
	CHECK(file_write(link, "there") == EACCES);
	CHECK(open("/etc/shadow", O_RDONLY) < 0);
	CHECK(open("/proc/1/environ", O_RDONLY) < 0);
	CHECK(open("/usr/narrows-test", O_WRONLY | O_CREAT, 0600) < 0);
	CHECK(access("/usr/bin/env", R_OK) == 0 && open("/usr/bin/env", O_RDONLY) >= 0);
	CHECK(open("/dev/null", O_RDWR) >= 0);
}

static void
check_calls(void)
{
	struct sockaddr_in box = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd;

	CHECK(mount("none", inside, "tmpfs", 0, NULL) < 0 && errno == EPERM);
	CHECK(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
	CHECK(syscall(SYS_bpf, 0, NULL, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) < 0);
	CHECK(syscall(SYS_io_uring_setup, 1, NULL) < 0 && errno == EPERM);
	CHECK(setresuid(0, 0, 0) < 0);
	CHECK(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
	CHECK(kill(getppid(), SIGCONT) < 0 && errno == EPERM);
	CHECK((fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	box.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(connect(fd, (struct sockaddr *)&box, sizeof(box)) < 0 && errno == EACCES);
	close(fd);
	CHECK((fd = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
	close(fd);
	/* a name of a file is no way to its rights, whoever owns the file */
	CHECK(chmod("/etc/passwd", 0644) < 0 && errno == EPERM);
	CHECK(chmod(inside, 0700) < 0 && errno == EPERM);
	CHECK(chown(inside, geteuid(), getegid()) < 0 && errno == EPERM);
}

static atomic_bool closed;

static void *
in_old_thread(void *arg)
{
	while (!closed)
		sched_yield();
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM ? arg : NULL;
}

/* Behind the start: also threads that run already get no socket to a neighbour. */
static void
check_closed(void)
{
	pthread_t t;
	void *got = NULL;
	int fds[2], fd;

	CHECK_INT(pthread_create(&t, NULL, in_old_thread, fds), 0);
	CHECK(jail_close());
	closed = true;
	CHECK_INT(pthread_join(t, &got), 0);
	CHECK(got == fds);
	CHECK(socket(AF_UNIX, SOCK_DGRAM, 0) < 0 && errno == EPERM);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK((fd = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
	CHECK((fd = open(inside, O_RDONLY | O_DIRECTORY)) >= 0);
	CHECK_INT(fchmod(fd, 0700), 0);
	CHECK(fchmod(fd, 04700) < 0 && errno == EPERM);
	CHECK(fchmod(fd, 0702) < 0 && errno == EPERM);
}

static void *
in_thread(void *arg)
{
	return file_write(outside, "thread") == EACCES ? arg : NULL;
}

static void
check_children(void)
{
	char sh[] = "sh", c[] = "-c", script[200];
	char *argv[] = { sh, c, script, NULL }, *env[] = { NULL };
	pthread_t t;
	void *got = NULL;
	int status;
	pid_t pid;

	CHECK_INT(pthread_create(&t, NULL, in_thread, &pid), 0);
	CHECK_INT(pthread_join(t, &got), 0);
	CHECK(got == &pid);
	snprintf(
	    script, sizeof(script), "exec 2>/dev/null; : >%s/child || exit 7; exit 8", outside);
	CHECK_INT(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, env), 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 8);
	CHECK(access(inside, F_OK) == 0);
}

/* The line "name: ..." of /proc/self/status as a number. */
static unsigned long long
status_read(const char *name, int base)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long v = ~0ULL;
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			v = strtoull(line + strlen(name) + 1, NULL, base);
	if (f != NULL)
		fclose(f);
	return v;
}

static int
prisoner(void)
{
	const struct jail_opts o = { .state_dir = inside };
	struct jail jail;

	CHECK_INT(jail_enter(&o, &jail), 0);
	CHECK_STR(jail.capabilities, "none");
	CHECK_INT(status_read("CapEff", 16), 0);
	CHECK_INT(status_read("CapPrm", 16), 0);
	CHECK_INT(status_read("NoNewPrivs", 10), 1);
	if (geteuid() == 0)
		CHECK_INT(status_read("CapBnd", 16), 0);
	CHECK_INT(status_read("Seccomp", 10), jail.seccomp ? 2 : 0);
	if (jail.landlock && jail.seccomp) {
		check_files();
		check_calls();
		check_children();
		check_closed();
	}
	return check_failed;
}

int
main(void)
{
	char path[128];
	int status = 0;
	pid_t pid;

	CHECK(mkdtemp(outside) != NULL && mkdtemp(inside) != NULL);
	CHECK_INT(file_write(outside, "there"), 0);
	if ((pid = fork()) == 0)
		_exit(prisoner() == 0 ? 0 : 1);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	snprintf(path, sizeof(path), "rm -rf %s %s", outside, inside);
	CHECK_INT(system(path), 0);
	return check_done("test_jail");
}
