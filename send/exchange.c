/* SPDX-License-Identifier: BSD-3-Clause */
#include "send/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "send/sendtext.h"

enum { PART_BYTES = 1 << 16 };

int
exchange_keep(void *text, const char *data, size_t len)
{
	struct exchange_text *t = text;

	if (t->len_max > 0 && t->len + len > t->len_max)
		return NW_ETOOBIG;
	if (!array_room(&t->text, &t->cap, t->len + len + 1, 1))
		return NW_ENOMEM;
	memcpy(t->text + t->len, data, len);
	t->text[t->len += len] = '\0';
	return NW_OK;
}

/* An exchange under way. */
struct talk {
	pid_t pid;
	int in, out, err; /* of narrows-send: question, answer, reason; -1: closed */
	const char *head, *body;
	size_t head_len, body_len, sent;
	char line[16]; /* the answer's first line, as far as read */
	size_t line_len;
	bool headed; /* the line is read */
	exchange_fn *fn;
	void *arg;
	int *status, rc;
	char *why;
	size_t why_len;
};

/* --- the process --- */

static void
send_exec(const int fds[3])
{
	static const char *const places[] = { "narrows-send", "../lib/narrows/narrows-send" };
	char self[PATH_MAX], path[PATH_MAX + 40];
	sigset_t none;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;
	char *slash;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	self[n > 0 ? n : 0] = '\0';
	if ((slash = strrchr(self, '/')) != NULL)
		slash[1] = '\0';
	for (i = 0; i < 3; i++)
		if (dup2(fds[i], (int)i) < 0)
			_exit(-NW_EIO);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", self, places[i]);
		execl(path, "narrows-send", (char *)NULL);
	}
	dprintf(2, "narrows-send is not beside %snarrows", self);
	_exit(-NW_EIO);
}

static bool
talk_open(struct talk *t)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	const pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 &&
	    pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 && (t->pid = fork()) == 0) {
		/* no exchange outlives the caller */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(-NW_EIO);
		send_exec((const int[3]){ in[1], out[1], err[1] });
	}
	close(in[1]);
	close(out[1]);
	close(err[1]);
	t->in = in[0];
	t->out = out[0];
	t->err = err[0];
	return t->pid > 0;
}

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- question, answer, reason --- */

static void
question_more(struct talk *t)
{
	bool in_head = t->sent < t->head_len;
	const char *at = in_head ? t->head + t->sent : t->body + (t->sent - t->head_len);
	size_t left = in_head ? t->head_len - t->sent : t->head_len + t->body_len - t->sent;
	ssize_t n = left > 0 ? send(t->in, at, left, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n > 0)
		t->sent += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || t->sent == t->head_len + t->body_len)
		shut(&t->in);
}

static void
answer_take(struct talk *t, const char *data, size_t n)
{
	while (!t->headed && n > 0 && t->rc == NW_OK) {
		if (*data == '\n') {
			t->headed = true;
			*t->status = atoi(t->line);
		} else if (t->line_len + 1 < sizeof(t->line))
			t->line[t->line_len++] = *data;
		else
			t->rc = NW_EPROTO;
		data++;
		n--;
	}
	if (n > 0 && t->rc == NW_OK && t->fn != NULL)
		t->rc = t->fn(t->arg, data, n);
}

static void
answer_more(struct talk *t)
{
	char part[PART_BYTES];
	ssize_t n = read(t->out, part, sizeof(part));

	if (n > 0)
		answer_take(t, part, (size_t)n);
	else if (n == 0 || errno != EINTR)
		shut(&t->out);
}

static void
reason_more(struct talk *t)
{
	char part[EXCHANGE_WHY_BYTES];
	ssize_t n = read(t->err, part, sizeof(part)), i;

	if (n <= 0 && errno != EINTR)
		shut(&t->err);
	for (i = 0; i < n && t->why_len + 1 < EXCHANGE_WHY_BYTES; i++)
		t->why[t->why_len++] = (unsigned char)part[i] < 0x20 ? ' ' : part[i];
	t->why[t->why_len] = '\0';
}

static void
talk_run(struct talk *t)
{
	struct pollfd fds[3];

	while ((t->out >= 0 || t->err >= 0) && t->rc == NW_OK) {
		fds[0] = (struct pollfd){ .fd = t->in, .events = POLLOUT };
		fds[1] = (struct pollfd){ .fd = t->out, .events = POLLIN };
		fds[2] = (struct pollfd){ .fd = t->err, .events = POLLIN };
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			t->rc = NW_EIO;
		if (fds[0].revents != 0)
			question_more(t);
		if (fds[1].revents != 0)
			answer_more(t);
		if (fds[2].revents != 0)
			reason_more(t);
	}
}

/* Waits for the end of narrows-send. */
static int
talk_close(struct talk *t)
{
	int status = -1;

	shut(&t->in);
	shut(&t->out);
	shut(&t->err);
	if (t->rc < 0)
		kill(t->pid, SIGKILL);
	while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (t->rc < 0)
		return t->rc;
	if (!WIFEXITED(status))
		return NW_EIO;
	return WEXITSTATUS(status) == 0 && !t->headed ? NW_EIO : -WEXITSTATUS(status);
}

int
exchange(
    const struct exchange *x, exchange_fn *fn, void *arg, int *status, char why[EXCHANGE_WHY_BYTES])
{
	struct talk t = { .fn = fn, .arg = arg, .status = status, .why = why };
	char *head = NULL;
	int rc;

	*status = 0;
	why[0] = '\0';
	if (x->body_len > EXCHANGE_BODY_MAX_BYTES)
		rc = NW_ETOOBIG;
	else
		rc = sendtext_write(x, &head, &t.head_len);
	if (rc == NW_OK) {
		t.head = head;
		t.body = x->body;
		t.body_len = x->body != NULL ? x->body_len : 0;
		if (!talk_open(&t))
			rc = NW_EIO;
		else {
			talk_run(&t);
			rc = talk_close(&t);
		}
	}
	if (head != NULL)
		explicit_bzero(head, t.head_len);
	free(head);
	if (rc < 0 && why[0] == '\0')
		snprintf(why, EXCHANGE_WHY_BYTES, "%s", nw_strerror(rc));
	return rc;
}

/* --- secrets --- */

int
exchange_secret(
    const char *path, char out[EXCHANGE_SECRET_BYTES], int *others, char why[EXCHANGE_WHY_BYTES])
{
	FILE *f = fopen(path, "re");
	bool got = f != NULL && fgets(out, EXCHANGE_SECRET_BYTES, f) != NULL;
	struct stat st = { 0 };
	int rc = NW_OK;

	if (!got) {
		snprintf(why, EXCHANGE_WHY_BYTES, "%.200s: %s", path,
		    f == NULL ? strerror(errno) : "empty");
		rc = NW_EIO;
	} else if (fstat(fileno(f), &st) != 0 || (others == NULL && (st.st_mode & 077) != 0)) {
		snprintf(why, EXCHANGE_WHY_BYTES,
		    "%.200s: other users may read this secret: chmod 600", path);
		explicit_bzero(out, EXCHANGE_SECRET_BYTES);
		rc = NW_EINVAL;
	} else {
		out[strcspn(out, "\r\n")] = '\0';
		if (others != NULL)
			*others = (st.st_mode & 077) != 0;
	}
	if (f != NULL)
		fclose(f);
	return rc;
}
