/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nwrun/fit.h"
#include "host/nwrun/beside.h"

enum { ARGUMENTS_MAX = 32, NUMBER_BYTES = 32, ANSWER_BYTES = 256 };

struct command {
	char path[PATH_MAX];
	const char *argv[ARGUMENTS_MAX];
	char interval[NUMBER_BYTES], ready[NUMBER_BYTES], verdict[NUMBER_BYTES];
	size_t n;
};

static void
add(struct command *c, const char *option, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	c->argv[c->n++] = option;
	c->argv[c->n++] = value;
}

static const char *
command_make(struct command *c, const struct outside_opts *o)
{
	static const char *const places[] = { "nwflow", "../bin/nwflow", "../sbin/nwflow", NULL };
	const struct collect_opts *collect = &o->run->collect;

	memset(c, 0, sizeof(*c));
	if (!beside_find(c->path, places, X_OK, ""))
		return "nwflow was not found";
	c->argv[c->n++] = "nwflow";
	if (collect->interval_ns > 0)
		snprintf(
		    c->interval, sizeof(c->interval), "%.9f", (double)collect->interval_ns * 1e-9);
	add(c, "-b", o->run->box);
	add(c, "-H", collect->host);
	add(c, "-i", c->interval);
	add(c, "-l", collect->label);
	add(c, "-N", o->run->program != NULL ? o->run->program : collect->program);
	add(c, "-t", collect->task_id);
	add(c, "-p", o->pid);
	add(c, "-g", o->cgroup);
	add(c, "-u", o->unit);
	if (o->run->verdict_fd > 2) {
		fcntl(o->run->verdict_fd, F_SETFD, 0);
		snprintf(c->verdict, sizeof(c->verdict), "%d", o->run->verdict_fd);
		add(c, "-W", c->verdict);
	}
	if (o->quiet)
		c->argv[c->n++] = "-q";
	if (o->verbose)
		c->argv[c->n++] = "-v";
	return NULL;
}

static void
command_run(struct command *c)
{
	unsetenv("LD_PRELOAD"); /* nwrun under nwrun: the measuring process is not measured */
	execv(c->path, (char **)c->argv);
}

const char *
outside_become(const struct outside_opts *o)
{
	struct command c;
	const char *why = command_make(&c, o);

	if (why != NULL)
		return why;
	command_run(&c);
	return strerror(errno);
}

/* nwflow is a grandchild in a session of its own, without a signal for the program to find. */
static bool
command_start(struct command *c)
{
	pid_t pid = fit_fork();
	int status = 0;

	if (pid == 0) {
		setsid();
		if ((pid = fork()) == 0)
			command_run(c);
		_exit(pid < 0);
	}
	while (pid > 0 && waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			break;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char *
outside_start(const struct outside_opts *o)
{
	static char answer[ANSWER_BYTES];
	char own[NUMBER_BYTES];
	struct outside_opts mine = *o;
	struct command c;
	const char *why;
	int ready[2];
	ssize_t n = 0;
	bool started;

	snprintf(own, sizeof(own), "%d", (int)getpid());
	mine.pid = own;
	if ((why = command_make(&c, &mine)) != NULL)
		return why;
	if (pipe(ready) != 0)
		return "no pipe could be made";
	fcntl(ready[0], F_SETFD, FD_CLOEXEC);
	snprintf(c.ready, sizeof(c.ready), "%d", ready[1]);
	add(&c, "-R", c.ready);
	started = command_start(&c);
	close(ready[1]);
	if (o->run->verdict_fd > 2)
		fcntl(o->run->verdict_fd, F_SETFD, FD_CLOEXEC);
	while (started && (n = read(ready[0], answer, sizeof(answer) - 1)) < 0 && errno == EINTR)
		continue;
	close(ready[0]);
	answer[n > 0 ? n : 0] = '\0';
	if (answer[0] == '+')
		return NULL;
	return answer[0] == '-' ? answer + 1 : "nwflow cannot watch the program";
}
