/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The administrator's own probes: a command whose output becomes a series. Lines of the output are
 * "key=value key=value ..." or flat JSON objects; every number is a field, the last one of a name
 * counts. Nothing waits for a command: its pipe is read on arrival, and a command that is not done
 * in time is killed. Whatever a command has started ends with the command, however that ends. A
 * command that is still running is not started again.
 */
#include "host/blipp/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/ticker.h"
#include "narrows/err.h"

enum { EVENT_BYTES = 96, COMMANDS_MAX = 32 };

struct command {
	struct exec_command of;
	char event_type[EVENT_BYTES];
	struct table_style style;
	struct table table;
	struct ticker ticker;
	pid_t pid; /* of the shell, which leads a process group, until it is reaped; else 0 */
	bool reading;
	int fd;
	int64_t started_mono_ns;
	char text[EXEC_OUTPUT_BYTES];
	size_t len;
};

struct exec_probe {
	struct command *list;
	size_t n;
	int epoll_fd;
	bool begun;
};

/* --- output --- */

static bool
is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '_' || c == '.' || c == '-' || c == '(' || c == ')' || c == '/';
}

static bool
number_take(const char *text, size_t len, double *out)
{
	char copy[64], *end;

	if (len == 0 || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*out = strtod(copy, &end);
	return *end == '\0' && isfinite(*out);
}

/* Keys and values apart from quotes, braces and blanks: both forms at once. In JSON, a value in
 * quotes is text and no number. */
bool
exec_next(struct scan *text, struct scan *key, double *value)
{
	static const char between[] = " \t\r\n,{}\"";
	const char *at;
	size_t n;

	while (text->at < text->end) {
		while (text->at < text->end && strchr(between, *text->at) != NULL)
			text->at++;
		for (key->at = at = text->at; at < text->end && is_key_char(*at); at++)
			;
		key->end = at;
		if (at < text->end && *at == '"')
			at++;
		while (at < text->end && *at == ' ')
			at++;
		if (key->at == key->end || at == text->end || (*at != '=' && *at != ':')) {
			text->at = at > text->at ? at : text->at + (text->at < text->end);
			continue;
		}
		for (at++; at < text->end && *at == ' '; at++)
			;
		for (n = 0; at + n < text->end && strchr(between, at[n]) == NULL; n++)
			;
		text->at = at + n;
		if (number_take(at, n, value))
			return true;
		/* a text of JSON, which may hold anything, ends with its quote */
		if (n == 0 && at < text->end && *at == '"')
			for (text->at = at + 1; text->at < text->end && *text->at++ != '"';)
				;
	}
	return false;
}

static void
command_say(struct command *c, struct report *r)
{
	struct scan text = scan_text(c->text, c->len), key;
	double value;
	size_t i;

	if (table_begin(&c->table, &c->style) < 0)
		return;
	while (exec_next(&text, &key, &value)) {
		for (i = 0; i < c->table.n; i++)
			if (scan_is(key, c->table.names[i].theirs))
				break;
		if (i < c->table.n)
			c->table.values[i] = value;
		else
			table_put(&c->table, key, value, NULL);
	}
	(void)table_send(&c->table, r);
}

/* --- processes --- */

/* The child, between fork and exec: becomes the user, its output goes to the pipe. */
static void
child_run(const struct exec_command *of, int out_fd)
{
	int null_fd = open("/dev/null", O_RDWR);
	struct passwd *user;
	sigset_t none;

	(void)setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (of->user[0] != '\0' &&
	    ((user = getpwnam(of->user)) == NULL || setgroups(0, NULL) != 0 ||
		setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
		_exit(126);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(null_fd, STDERR_FILENO) < 0)
		_exit(126);
	execl("/bin/sh", "sh", "-c", of->command, (char *)NULL);
	_exit(127);
}

static int
command_start(struct command *c, int epoll_fd, int64_t now_mono_ns)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return NW_EIO;
	c->pid = fork();
	if (c->pid == 0)
		child_run(&c->of, fds[1]);
	close(fds[1]);
	if (c->pid < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[0], &event) < 0) {
		close(fds[0]);
		c->pid = c->pid < 0 ? 0 : c->pid;
		return NW_EIO;
	}
	c->reading = true;
	c->fd = fds[0];
	c->len = 0;
	c->started_mono_ns = now_mono_ns;
	return NW_OK;
}

static void
command_close(struct command *c)
{
	close(c->fd);
	c->reading = false;
}

static void
command_kill(struct command *c)
{
	if (c->pid > 0 && kill(-c->pid, SIGKILL) < 0)
		kill(c->pid, SIGKILL);
	if (c->reading)
		command_close(c);
}

/* The number of an ended shell belongs to no other process until the shell is reaped, and so does
 * the number of its group. */
static bool
shell_ended(const struct command *c)
{
	siginfo_t ended = { 0 };

	return c->pid > 0 &&
	    waitid(P_PID, (id_t)c->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    ended.si_pid == c->pid;
}

/* Reads the contents of the pipe. Returns false if more may come later. */
static bool
command_read(struct command *c)
{
	ssize_t got;

	while (c->len < sizeof(c->text)) {
		got = read(c->fd, c->text + c->len, sizeof(c->text) - c->len);
		if (got > 0)
			c->len += (size_t)got;
		else if (got == 0 || (errno != EAGAIN && errno != EINTR))
			return true;
		else
			return false;
	}
	return true;
}

static void
command_over(struct command *c, struct report *r)
{
	bool reading = c->reading;

	if (reading)
		(void)command_read(c);
	command_kill(c);
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	if (reading)
		command_say(c, r);
}

/* --- the probe --- */

static int
begin(struct exec_probe *p, const char *text)
{
	const char *line = text, *why;
	size_t i;
	int rc;

	p->begun = true;
	if (text == NULL)
		return NW_OK;
	if ((p->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
	    (p->list = calloc(COMMANDS_MAX, sizeof(*p->list))) == NULL)
		return NW_ENOMEM;
	while (p->n < COMMANDS_MAX && *line != '\0') {
		if ((rc = exec_parse(line, &p->list[p->n].of, &why)) == NW_OK)
			p->n++;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	for (i = 0; i < p->n; i++) {
		struct command *c = &p->list[i];

		snprintf(c->event_type, sizeof(c->event_type), SERIES_PREFIX "exec:%s", c->of.name);
		c->style = (struct table_style){ .event_type = c->event_type, .unit = "1" };
	}
	return NW_OK;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct exec_probe *p = state;
	struct clock_pair now = clock_pair_now();
	struct command *c;
	int rc;

	(void)buf;
	if (!p->begun && (rc = begin(p, r->commands)) < 0)
		return rc;
	for (c = p->list; c < p->list + p->n; c++) {
		if (shell_ended(c))
			command_over(c, r);
		if (c->pid > 0 && now.mono_ns - c->started_mono_ns > c->of.timeout_ns)
			command_kill(c);
		ticker_set(&c->ticker, c->of.interval_ns, now);
		if (c->pid == 0 && !c->reading && ticker_is_due(&c->ticker, now))
			(void)command_start(c, p->epoll_fd, now.mono_ns);
	}
	return NW_OK;
}

static int
fd(const void *state)
{
	const struct exec_probe *p = state;

	return p->n > 0 ? p->epoll_fd : -1;
}

static void
ready(void *state, struct report *r)
{
	struct exec_probe *p = state;
	struct epoll_event event[COMMANDS_MAX];
	int n = epoll_wait(p->epoll_fd, event, COMMANDS_MAX, 0), i;
	struct command *c;

	for (i = 0; i < n; i++) {
		c = event[i].data.ptr;
		if (!command_read(c))
			continue;
		command_close(c);
		command_say(c, r);
	}
}

static void
clear(void *state)
{
	struct exec_probe *p = state;
	size_t i;

	for (i = 0; i < p->n; i++) {
		command_kill(&p->list[i]);
		if (p->list[i].pid > 0)
			waitpid(p->list[i].pid, NULL, 0);
		table_clear(&p->list[i].table);
	}
	if (p->n > 0)
		close(p->epoll_fd);
	free(p->list);
}

const struct probe probe_exec = {
	.name = "exec",
	.source = "command",
	.event_type = SERIES_PREFIX "exec",
	.state_bytes = sizeof(struct exec_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
