/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/join/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child: su leaves administrators without the directories of their own commands. */
static void
child_run(const char *const argv[], int fd)
{
	const char *path = getenv("PATH");
	int null = open("/dev/null", O_RDWR);
	char text[4096];

	snprintf(text, sizeof(text), "%s:/usr/sbin:/sbin", path != NULL ? path : "/usr/bin:/bin");
	if (null < 0 || setenv("PATH", text, 1) != 0 || dup2(null, 0) < 0 || dup2(fd, 1) < 0 ||
	    dup2(null, 2) < 0)
		_exit(HELPER_MISSING);
	execvp(argv[0], (char *const *)argv);
	_exit(HELPER_MISSING);
}

int
helper_run(const char *const argv[], char *out, size_t cap)
{
	char all[4096];
	size_t len = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -1;
	fflush(NULL);
	if ((pid = fork()) == 0)
		child_run(argv, fds[1]);
	close(fds[1]);
	while (pid > 0 && len < sizeof(all) - 1 &&
	    ((n = read(fds[0], all + len, sizeof(all) - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	close(fds[0]);
	all[len] = '\0';
	if (out != NULL)
		snprintf(out, cap, "%.*s", (int)strcspn(all, "\n"), all);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
is_among(const char *names, const char *name)
{
	size_t len = strlen(name);
	const char *at;

	for (at = names; (at = strstr(at, name)) != NULL; at += len)
		if ((at == names || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

bool
helper_is_running(const char *names, char name[32])
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	bool found = false;
	char path[300];
	FILE *f;

	while (dir != NULL && !found && (e = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || (f = fopen(path, "re")) == NULL)
			continue;
		if (fgets(name, 32, f) != NULL) {
			name[strcspn(name, "\n")] = '\0';
			found = name[0] != '\0' && is_among(names, name);
		}
		fclose(f);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

bool
helper_has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}
