/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * magnet serve: owns programs, maps and views, takes lines of clients on a unix socket (owner.h),
 * and hands out views. Nothing is measured until a client asks: `magnet on`, `magnet view`; or,
 * with a box, until the box orders (deliver.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"
#include "host/magnet/deliver.h"
#include "host/magnet/netns.h"
#include "host/magnet/owner.h"
#include "host/magnet/selection.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/fairq.h"

#define DEFAULT_FILE "/etc/narrows/magnet.conf"

/* Places of connections: those of users who may only open views are shared by user, and those who
 * may control have their own. */
enum {
	USERS_CLIENTS_MAX = 48,
	USER_CLIENTS_MAX = 16,
	CONTROL_CLIENTS_MAX = 16,
	CLIENTS_MAX = USERS_CLIENTS_MAX + CONTROL_CLIENTS_MAX,
	USERS_MAX = 64
};
enum { RING_BYTES_MIN = 4096, RING_BYTES_MAX = 1 << 30 };

struct named_view {
	char name[OWNER_NAME_BYTES];
	bool used;
	uint32_t view;
	uid_t uid; /* user with a right to open the view, besides the owner's */
	uint64_t ring_bytes;
};

struct owner {
	struct serve_conf conf;
	struct kernel *kernel;
	struct deliver *deliver; /* NULL without a box */
	int listener;
	struct pollfd fds[1 + CLIENTS_MAX + 1]; /* the listener, clients, room for the box */
	uid_t uids[1 + CLIENTS_MAX];
	struct fairq_item *places[1 + CLIENTS_MAX];
	struct fairq *users, *control; /* the places of clients, by user */
	size_t n_fds;
	struct named_view views[MAGNET_VIEWS_MAX];
	char answer[OWNER_LINE_BYTES];
	int send_fds[OWNER_FDS]; /* descriptors for the answer; -1: none */
};

static bool
may_control(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static int
answer_set(struct owner *o, bool ok, const char *text)
{
	snprintf(o->answer, sizeof(o->answer), "%s %s", ok ? "ok" : "error", text);
	return ok ? 0 : -1;
}

static struct named_view *
view_find(struct owner *o, const char *name)
{
	size_t i;

	for (i = 0; i < MAGNET_VIEWS_MAX; i++)
		if (o->views[i].used && strcmp(o->views[i].name, name) == 0)
			return &o->views[i];
	return NULL;
}

/* Takes a word of a view: "cgroup=PATH", "vm=PID", "netns=PATH" or "device=NAME"; NULL, or what is
 * wrong. */
static const char *
view_of_take(const char *word, struct view_of *of)
{
	if (strncmp(word, "cgroup=", 7) == 0 && (of->cgroup_id = cgroup_id(word + 7)) == 0)
		return "no control group of that path";
	if (strncmp(word, "vm=", 3) == 0 && (of->cgroup_id = cgroup_of_process(word + 3)) == 0)
		return "no process of that number in a control group of version 2";
	if (strncmp(word, "netns=", 6) == 0 && (of->netns_cookie = netns_cookie(word + 6)) == 0)
		return "no network namespace of that path";
	if (strncmp(word, "device=", 7) == 0 && (of->device = if_nametoindex(word + 7)) == 0)
		return "no interface of that name";
	return NULL;
}

/* "view NAME [cgroup=PATH] [vm=PID] [netns=PATH] [device=NAME] [uid=N] [bytes=N]" */
static int
view_make(struct owner *o, char *args)
{
	struct named_view *v = NULL;
	struct view_of of = { 0 };
	uint64_t bytes = 8 << 20;
	const char *wrong, *netns = NULL;
	uid_t uid = geteuid();
	char *word, *save = NULL, *name = strtok_r(args, " ", &save);
	size_t i;

	if (name == NULL || strlen(name) >= OWNER_NAME_BYTES || view_find(o, name) != NULL)
		return answer_set(o, false, "a view needs a name of its own, of at most 31 bytes");
	while ((word = strtok_r(NULL, " ", &save)) != NULL) {
		if ((wrong = view_of_take(word, &of)) != NULL)
			return answer_set(o, false, wrong);
		if (strncmp(word, "netns=", 6) == 0)
			netns = word + 6;
		if (strncmp(word, "uid=", 4) == 0)
			uid = (uid_t)strtoul(word + 4, NULL, 10);
		if (strncmp(word, "bytes=", 6) == 0)
			bytes = strtoull(word + 6, NULL, 10);
	}
	if (bytes < RING_BYTES_MIN || bytes > RING_BYTES_MAX || (bytes & (bytes - 1)) != 0)
		return answer_set(o, false, "a ring's size is a power of two from 4096 on");
	for (i = 0; i < MAGNET_VIEWS_MAX && v == NULL; i++)
		if (!o->views[i].used)
			v = &o->views[i];
	if (kernel_netns_watch(o->kernel, netns, false) < 0)
		return answer_set(o, false, kernel_why(o->kernel));
	if (v == NULL || kernel_view_add(o->kernel, bytes, &of, &v->view) < 0) {
		kernel_netns_unwatch(o->kernel, of.netns_cookie);
		return answer_set(o, false, "no room for another such view");
	}
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->uid = uid;
	v->ring_bytes = bytes;
	v->used = true;
	return answer_set(o, true, "");
}

static int
view_open(struct owner *o, const char *name, uid_t uid)
{
	struct named_view *v = view_find(o, name);
	char text[64];

	if (v == NULL || (!may_control(uid) && uid != v->uid))
		return answer_set(o, false, "no such view for this user");
	if (kernel_view_fds(o->kernel, v->view, &o->send_fds[0], &o->send_fds[1]) < 0)
		return answer_set(o, false, strerror(errno));
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, v->ring_bytes,
	    kernel_control(o->kernel)->watermark_bytes);
	return answer_set(o, true, text);
}

static int
view_drop(struct owner *o, const char *name)
{
	struct named_view *v = view_find(o, name);

	if (v == NULL)
		return answer_set(o, false, "no such view");
	kernel_view_remove(o->kernel, v->view);
	v->used = false;
	return answer_set(o, true, "");
}

static int
status_tell(struct owner *o)
{
	struct magnet_counts c;
	const char *name, *where;
	const struct point *p;
	uint32_t id;
	size_t n;

	n = (size_t)snprintf(o->answer, sizeof(o->answer), "ok ");
	for (id = 1; id < MAGNET_POINTS_MAX && n < sizeof(o->answer) - 160; id++) {
		p = point_of(id);
		name = p == NULL ? kernel_user_name(o->kernel, id, &where) : p->name;
		if (name == NULL || (p != NULL && kernel_point_candidate(o->kernel, p) == NULL))
			continue;
		kernel_counts(o->kernel, id, &c);
		n += (size_t)snprintf(o->answer + n, sizeof(o->answer) - n,
		    "%s %s hits=%" PRIu64 " filtered=%" PRIu64 " sampled=%" PRIu64 " kept=%" PRIu64
		    " lost=%" PRIu64 "\n",
		    name, kernel_control(o->kernel)->on[id] ? "on" : "off", c.hits, c.filtered,
		    c.sampled, c.kept, c.lost);
	}
	return 0;
}

/* "event NAME ID VALUE" */
static int
event_take(struct owner *o, const char *args)
{
	char name[MAGNET_NAME_BYTES];
	unsigned long long id;
	uint32_t point;
	int value;

	if (sscanf(args, "%39s %llu %d", name, &id, &value) != 3)
		return answer_set(o, false, "event NAME ID VALUE");
	if ((point = kernel_user_find(o->kernel, name)) == 0)
		return answer_set(o, false, "no point of a user has that name");
	return kernel_user_event(o->kernel, point, id, value) < 0
	    ? answer_set(o, false, kernel_why(o->kernel))
	    : answer_set(o, true, "");
}

static void
line_obey(struct owner *o, char *line, uid_t uid)
{
	char why[KERNEL_WHY_BYTES];

	o->send_fds[0] = o->send_fds[1] = -1;
	if (strncmp(line, "open ", 5) == 0)
		view_open(o, line + 5, uid);
	else if (!may_control(uid))
		answer_set(o, false, "this user may only open views");
	else if (strncmp(line, "view ", 5) == 0)
		view_make(o, line + 5);
	else if (strncmp(line, "drop ", 5) == 0)
		view_drop(o, line + 5);
	else if (strncmp(line, "event ", 6) == 0)
		event_take(o, line + 6);
	else if (strcmp(line, "status") == 0)
		status_tell(o);
	else if (selection_line(o->kernel, line, why) < 0)
		answer_set(o, false, why[0] != '\0' ? why : "refused");
	else
		answer_set(o, true, "");
}

static void
answer_send(struct owner *o, int s)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(OWNER_FDS * sizeof(int))];
	} control;
	struct iovec iov = { o->answer, strlen(o->answer) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (o->send_fds[0] >= 0) {
		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(o->send_fds));
		memcpy(CMSG_DATA(c), o->send_fds, sizeof(o->send_fds));
	}
	(void)sendmsg(s, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (o->send_fds[0] >= 0) {
		close(o->send_fds[0]);
		close(o->send_fds[1]);
	}
}

static void
client_forget(struct owner *o, size_t i)
{
	struct fairq_item *place = o->places[i];

	fairq_remove(may_control(o->uids[i]) ? o->control : o->users, place);
	free(place);
	close(o->fds[i].fd);
	o->n_fds--;
	o->fds[i] = o->fds[o->n_fds];
	o->uids[i] = o->uids[o->n_fds];
	o->places[i] = o->places[o->n_fds];
}

/* Returns the user's new place, NULL if the user has all of its places. A user with few places
 * takes one from the user with the most. */
static struct fairq_item *
place_take(struct owner *o, uid_t uid)
{
	struct fairq_item *place = calloc(1, sizeof(*place)), *displaced = NULL;
	char name[24];
	size_t i;

	snprintf(name, sizeof(name), "%lu", (unsigned long)uid);
	if (place == NULL ||
	    fairq_put(may_control(uid) ? o->control : o->users, name, place, &displaced) < 0) {
		free(place);
		return NULL;
	}
	for (i = 1; displaced != NULL && i < o->n_fds; i++)
		if (o->places[i] == displaced) {
			client_forget(o, i);
			break;
		}
	return place;
}

static void
client_accept(struct owner *o)
{
	static const char full[] = "error this user has too many connections to magnet serve";
	struct ucred who = { .uid = (uid_t)-1 };
	struct fairq_item *place;
	socklen_t len = sizeof(who);
	int s = accept4(o->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (s < 0)
		return;
	if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0) {
		close(s);
		return;
	}
	if ((place = place_take(o, who.uid)) == NULL) {
		(void)send(s, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(s);
		return;
	}
	o->places[o->n_fds] = place;
	o->fds[o->n_fds] = (struct pollfd){ .fd = s, .events = POLLIN };
	o->uids[o->n_fds++] = who.uid;
}

/* Serves one packet of a client; false once the client has gone. */
static bool
client_serve(struct owner *o, size_t i)
{
	char line[OWNER_LINE_BYTES];
	ssize_t n = recv(o->fds[i].fd, line, sizeof(line) - 1, MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || (size_t)n >= sizeof(line))
		return false;
	line[n] = '\0';
	line_obey(o, line, o->uids[i]);
	answer_send(o, o->fds[i].fd);
	return true;
}

static int
listener_open(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s;

	if (strlen(path) >= sizeof(a.sun_path))
		return errno = ENAMETOOLONG, -1;
	strcpy(a.sun_path, path);
	if ((s = owner_dial(path)) >= 0) {
		close(s);
		return errno = EADDRINUSE, -1;
	}
	unlink(path);
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0 || bind(s, (const struct sockaddr *)&a, sizeof(a)) != 0 ||
	    chmod(path, 0666) != 0 || listen(s, 16) != 0)
		return -1;
	return s;
}

/* Waits for clients, and for what the delivery waits for. */
static int
serve_wait(struct owner *o)
{
	struct pollfd *box = &o->fds[o->n_fds];
	int64_t left_ns;
	struct timespec ts;

	if (o->deliver == NULL)
		return poll(o->fds, o->n_fds, -1);
	left_ns = deliver_due_mono_ns(o->deliver) - nw_mono_ns();
	if (left_ns < 0)
		left_ns = 0;
	ts.tv_sec = left_ns / 1000000000;
	ts.tv_nsec = left_ns % 1000000000;
	box->revents = 0;
	box->fd = deliver_fd(o->deliver, &box->events);
	return ppoll(o->fds, o->n_fds + 1, &ts, NULL);
}

static void
serve(struct owner *o)
{
	size_t i;
	int n;

	while (!stop_wanted) {
		if (o->deliver != NULL)
			deliver_step(o->deliver);
		if ((n = serve_wait(o)) <= 0)
			continue;
		for (i = o->n_fds; i-- > 1;)
			if (o->fds[i].revents != 0 && !client_serve(o, i))
				client_forget(o, i);
		if (o->fds[0].revents != 0)
			client_accept(o);
	}
	while (o->n_fds > 1)
		client_forget(o, o->n_fds - 1);
	close(o->fds[0].fd);
}

/* The file first, whatever the order on the command line: the command line wins. */
static int
options_read(struct owner *o, int argc, char **argv, const char **path)
{
	static const char shorts[] = "S:f:b:H:o:";
	const char *file = access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE : NULL;
	char why[CONF_WHY_BYTES] = "";
	int c, rc = NW_OK;

	while ((c = getopt(argc, argv, shorts)) != -1)
		if (c == 'f')
			file = optarg;
	if (file != NULL)
		rc = serve_conf_read(&o->conf, file, why);
	optind = 1;
	while (rc == NW_OK && (c = getopt(argc, argv, shorts)) != -1)
		switch (c) {
		case 'S': *path = optarg; break;
		case 'f': break;
		case 'b': rc = serve_conf_set(&o->conf, "box", optarg, why); break;
		case 'H': rc = serve_conf_set(&o->conf, "host", optarg, why); break;
		case 'o': rc = serve_conf_override(&o->conf, optarg, why); break;
		default: rc = NW_EINVAL; break;
		}
	if (why[0] != '\0')
		fail("%s", why);
	return rc == NW_OK && optind < argc ? NW_EINVAL : rc;
}

static int
owner_open(struct owner *o, const char *path)
{
	const char *why;

	o->users =
	    fairq_new(&(struct fairq_limits){ USERS_CLIENTS_MAX, USER_CLIENTS_MAX, USERS_MAX });
	o->control =
	    fairq_new(&(struct fairq_limits){ CONTROL_CLIENTS_MAX, CONTROL_CLIENTS_MAX, 2 });
	if (o->users == NULL || o->control == NULL)
		return fail("out of memory");
	if ((o->kernel = kernel_or_fail()) == NULL)
		return 1;
	if ((o->listener = listener_open(path)) < 0)
		return fail("%s: %s", path, strerror(errno));
	o->fds[o->n_fds++] = (struct pollfd){ .fd = o->listener, .events = POLLIN };
	if (o->conf.box != NULL && (o->deliver = deliver_open(&o->conf, o->kernel, &why)) == NULL) {
		unlink(path);
		return fail("%s", why);
	}
	return 0;
}

static int
serve_run(int argc, char **argv)
{
	const char *path = OWNER_SOCKET;
	struct owner *o = calloc(1, sizeof(*o));
	int status;

	if (o == NULL)
		return fail("out of memory");
	serve_conf_init(&o->conf);
	if (options_read(o, argc, argv, &path) < 0) {
		status = usage(&magnet_cmd_serve);
	} else if ((status = owner_open(o, path)) == 0) {
		serve(o);
		unlink(path);
	}
	deliver_close(o->deliver);
	if (o->kernel != NULL)
		kernel_close(o->kernel);
	serve_conf_clear(&o->conf);
	fairq_free(o->users);
	fairq_free(o->control);
	free(o);
	return status;
}

const struct command magnet_cmd_serve = { "serve",
	"serve [-S SOCKET] [-b BOX] [-f FILE] [-H HOST] [-o name=value]",
	"owns the events, hands out views, and delivers waiting times to a box", serve_run };
