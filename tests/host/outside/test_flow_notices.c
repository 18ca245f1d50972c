/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices of real connections, by a real socket: the process that holds a connection is heard,
 * other processes are not, and a flood is bounded. */
#include "host/outside/flow_notices.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/tcpinfo.h"
#include "host/outside/flow_look.h"
#include "tests/check.h"

static char path[64];
static const struct flows_limits limits = {
	.bytes = UINT64_MAX, .after_ns = INT64_MAX, .quiet_ns = INT64_MAX
};

static void
send_text(const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(to.sun_path, path);
	(void)!sendto(fd, text, strlen(text), MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
	close(fd);
}

/* As another process, which holds no socket of the test. */
static void
send_as_stranger(const char *text)
{
	pid_t pid = fork();

	if (pid == 0) {
		closefrom(3);
		send_text(text);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

struct pair {
	int listener, out, in;
	unsigned listens, port;
};

static void
pair_open(struct pair *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(p->listener, (struct sockaddr *)&at, len) == 0 && listen(p->listener, 1) == 0);
	getsockname(p->listener, (struct sockaddr *)&at, &len);
	p->listens = ntohs(at.sin_port);
	p->out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(p->out, (struct sockaddr *)&at, len) == 0);
	p->in = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	getsockname(p->out, (struct sockaddr *)&at, &len);
	p->port = ntohs(at.sin_port);
}

static void
pair_close(struct pair *p)
{
	close(p->listener);
	close(p->out);
	close(p->in);
}

static int n_due;
static char task[128];

static void
on_flow(void *arg, struct flow *flow)
{
	(void)arg;
	n_due += flow->state == FLOW_DUE && flow->claim != NULL;
	if (flow->claim != NULL)
		snprintf(task, sizeof(task), "%s", flow->claim->task);
}

/* What a look makes of the notices that have come. */
static struct flow_notices_stats
look(struct flow_notices *n)
{
	struct flow_notices_stats stats;
	struct flows *f = flows_new(&limits);
	int diag_fd = tcpinfo_open();

	n_due = 0;
	task[0] = '\0';
	(void)flow_notices_read(n);
	CHECK(flow_look(diag_fd, f, 1, true));
	flow_notices_match(n, f);
	flows_each(f, on_flow, NULL);
	flows_free(f);
	close(diag_fd);
	flow_notices_get_stats(n, &stats);
	return stats;
}

static void
test_owner(struct flow_notices *n)
{
	struct flow_notices_stats was, is;
	struct pair p;
	char text[256];

	pair_open(&p);
	was = look(n);
	/* accepted: the port alone is known of the own end */
	snprintf(text, sizeof(text), "narrows-flow 1 open tcp 5 localhost:%u 127.0.0.1:%u t-1",
	    p.listens, p.port);
	send_as_stranger(text);
	is = look(n);
	CHECK(n_due == 0 && is.foreign == was.foreign + 1 && is.taken == was.taken);
	send_text(text);
	is = look(n);
	CHECK(n_due == 1 && is.taken == was.taken + 1 && is.missed == was.missed + 10);
	CHECK_STR(task, "t-1");
	/* connected, without a task, and twice: a connection is one transfer */
	snprintf(text, sizeof(text), "narrows-flow 1 open tcp 0 127.0.0.1:%u 127.0.0.1:%u none",
	    p.port, p.listens);
	send_text(text);
	send_text(text);
	is = look(n);
	CHECK(n_due == 1 && is.taken == was.taken + 3);
	CHECK_STR(task, "");
	/* closed before a look: forgotten */
	send_text(text);
	snprintf(text, sizeof(text), "narrows-flow 1 close tcp 0 127.0.0.1:%u 127.0.0.1:%u none",
	    p.port, p.listens);
	send_text(text);
	is = look(n);
	CHECK(n_due == 0 && is.unfound == was.unfound + 1 && !flow_notices_wait(n));
	pair_close(&p);
}

static void
test_no_connection(struct flow_notices *n)
{
	struct flow_notices_stats was = look(n), is;
	int i;

	send_text("narrows-flow 1 open tcp 0 localhost:1 127.0.0.1:1 none");
	for (i = 0; i < 3; i++) {
		is = look(n);
		CHECK(n_due == 0 && flow_notices_wait(n) == (i < 2));
	}
	CHECK(is.unfound == was.unfound + 1);
	send_text("narrows-flow 1 open udt 0 localhost:1 127.0.0.1:1 none");
	send_text("hello");
	is = look(n);
	CHECK(is.unfound == was.unfound + 2 && is.malformed == was.malformed + 1);
	CHECK(!flow_notices_wait(n));
}

/* A look brings a bounded number of notices: the rest waits in the kernel. */
static void
test_flood(struct flow_notices *n)
{
	int i, enough = 0;

	for (i = 0; i < 80; i++) {
		send_text("narrows-flow 1 open tcp 0 localhost:1 127.0.0.1:1 none");
		enough += !flow_notices_read(n);
	}
	CHECK(enough > 0 && flow_notices_wait(n));
	for (i = 0; i < 10; i++)
		(void)look(n);
	CHECK(!flow_notices_wait(n) && flow_notices_read(n));
}

static void
test_path(void)
{
	struct flow_notices *other;
	struct stat st;
	FILE *f;

	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0666);
	CHECK((other = flow_notices_open(path)) == NULL); /* an agent listens there */
	CHECK(flow_notices_open("/nowhere/at/all") == NULL);
	CHECK((f = fopen("notices-file", "w")) != NULL);
	if (f != NULL)
		fclose(f);
	CHECK(flow_notices_open("notices-file") == NULL); /* a file stays what it is */
	CHECK(unlink("notices-file") == 0);
}

int
main(void)
{
	struct flow_notices *n;
	char dir[] = "/tmp/test_flow_notices.XXXXXX";
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int dead;

	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 1;
	snprintf(path, sizeof(path), "%s/flows", dir);
	/* a dead agent's socket is in the way */
	strcpy(at.sun_path, path);
	dead = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(bind(dead, (struct sockaddr *)&at, sizeof(at)) == 0);
	close(dead);
	CHECK((n = flow_notices_open(path)) != NULL);
	if (n != NULL) {
		test_path();
		test_owner(n);
		test_no_connection(n);
		test_flood(n);
		flow_notices_close(n);
	}
	CHECK(access(path, F_OK) != 0);
	CHECK(chdir("/") == 0 && rmdir(dir) == 0);
	return check_done("test_flow_notices");
}
