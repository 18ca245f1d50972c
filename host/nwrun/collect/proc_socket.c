/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process has a socket open, by the descriptors that /proc shows. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/lib/procread.h"
#include "host/nwrun/collect/proc_facts.h"
#include "host/nwrun/preload/title.h"

/* A host may have very many descriptors: the search is given up then. */
enum { LINKS_MAX = 100000, INIT = 1 };
/* Numbers behind the number of a process, for the first look: numbers of children. */
enum { NEXT_PIDS = 32 };

static bool
has_socket(int pid, const char *wanted, unsigned *left)
{
	char path[32], link[64];
	bool found = false;
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	if ((d = opendir(path)) == NULL)
		return false;
	while (!found && *left > 0 && (e = readdir(d)) != NULL) {
		(*left)--;
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		found = strcmp(link, wanted) == 0;
	}
	closedir(d);
	return found;
}

static int
search(const struct proc_socket *s)
{
	unsigned left = LINKS_MAX;
	char wanted[32];
	int pid = 0, at;
	struct dirent *e;
	DIR *d;

	snprintf(wanted, sizeof(wanted), "socket:[%u]", s->ino);
	if (s->pid > 0 && s->pid != s->not_pid && has_socket(s->pid, wanted, &left))
		return s->pid;
	/* The kernel names the process that made a pair of sockets. Its child, which has the other
	 * end, would be found last, after the descriptors of all processes of the host. */
	for (at = s->not_pid + 1; s->not_pid > 0 && at <= s->not_pid + NEXT_PIDS; at++)
		if (has_socket(at, wanted, &left))
			return at;
	if ((d = opendir("/proc")) == NULL)
		return 0;
	while (pid == 0 && left > 0 && (e = readdir(d)) != NULL) {
		at = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		if (at > INIT && at != s->not_pid && has_socket(at, wanted, &left))
			pid = at;
	}
	closedir(d);
	return pid;
}

/* Servers write "name: activity" in place of their arguments. */
static void
program_name(int pid, char *out, size_t cap)
{
	char text[1024], *colon;
	size_t len = procread(pid, "cmdline", text, sizeof(text));

	if ((colon = strstr(text, ": ")) != NULL) {
		*colon = '\0';
		len = strlen(text);
	}
	out[0] = '\0';
	if (len > 0)
		title_of_cmdline(text, len, out, cap);
	if (out[0] != '\0' || procread(pid, "comm", text, sizeof(text)) == 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	snprintf(out, cap, "%.*s", (int)cap - 1, text);
}

void
proc_socket_find(struct proc_socket *s)
{
	int pid = s->ino != 0 ? search(s) : 0;

	/* init listens for others, and who makes a pair of sockets may keep both or none */
	if (pid == 0 && s->pid > INIT && s->pid != s->not_pid)
		pid = s->pid;
	s->pid = pid;
	s->program[0] = '\0';
	if (pid > 0)
		program_name(pid, s->program, sizeof(s->program));
	if (s->program[0] == '\0')
		s->pid = 0;
}
