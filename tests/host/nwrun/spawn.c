/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spawn PROGRAM ARGUMENT: runs the program by each call that runs programs, one after the other,
 * also from a thread and after a change of root (as root), and prints how each ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program, *argument;
static char *arguments[3];

static void
by_execve(void)
{
	execve(program, arguments, environ);
}

static void
by_execv(void)
{
	execv(program, arguments);
}

static void
by_execvp(void)
{
	execvp(program, arguments);
}

static void
by_execvp_searched(void)
{
	char *name = strrchr(program, '/');

	*name = '\0';
	setenv("PATH", program, 1);
	execvp(name + 1, arguments);
}

static void
by_execvpe(void)
{
	execvpe(program, arguments, environ);
}

static void
by_execl(void)
{
	execl(program, program, argument, (char *)NULL);
}

static void
by_execlp(void)
{
	execlp(program, program, argument, (char *)NULL);
}

static void
by_execle(void)
{
	execle(program, program, argument, (char *)NULL, environ);
}

static void
by_fexecve(void)
{
	fexecve(open(program, O_RDONLY), arguments, environ);
}

static void
by_execveat(void)
{
#ifdef __GLIBC__
	execveat(open("/", O_PATH), program + 1, arguments, environ, 0);
#else
	syscall(SYS_execveat, open("/", O_PATH), program + 1, arguments, environ, 0);
#endif
}

static void
by_root(void)
{
	if (chroot("/") == 0)
		execv(program, arguments);
}

static void *
thread_main(void *unused)
{
	execv(program, arguments);
	return unused;
}

static void
by_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread_main, NULL);
	pthread_join(t, NULL);
}

static void
by_signal(void)
{
	raise(SIGUSR2);
}

static void
tell(const char *name, int status)
{
	printf("%s: %s %d\n", name, WIFSIGNALED(status) ? "signal" : "status",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

static void
forked(const char *name, void (*run)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		run();
		_exit(99);
	}
	waitpid(pid, &status, 0);
	tell(name, status);
}

static void
vforked(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		execve(program, arguments, environ);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	tell("vfork", status);
}

static void
spawned(const char *name,
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
	const posix_spawnattr_t *, char *const *, char *const *))
{
	int status = 0;
	pid_t pid = -1;

	if (spawn(&pid, program, NULL, NULL, arguments, environ) != 0)
		printf("%s: fails\n", name);
	else if (waitpid(pid, &status, 0) == pid)
		tell(name, status);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = { { "execve", by_execve }, { "execv", by_execv }, { "execvp", by_execvp },
		{ "execvp in PATH", by_execvp_searched }, { "execvpe", by_execvpe },
		{ "execl", by_execl }, { "execlp", by_execlp }, { "execle", by_execle },
		{ "fexecve", by_fexecve }, { "execveat", by_execveat }, { "chroot", by_root },
		{ "thread", by_thread }, { "a signal", by_signal } };
	char command[1024];
	size_t i;

	if (argc != 3)
		return 2;
	arguments[0] = argv[1];
	program = argv[1];
	arguments[1] = argv[2];
	argument = argv[2];
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		forked(ways[i].name, ways[i].run);
	vforked();
	spawned("posix_spawn", posix_spawn);
	spawned("posix_spawnp", posix_spawnp);
	snprintf(command, sizeof(command), "%s %s", program, argument);
	tell("system", system(command));
	return 0;
}
