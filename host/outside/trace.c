/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host/lib/capability.h"
#include "host/lib/pidspace.h"
#include "host/nwrun/preload/stages.h"
#include "host/outside/outside_object.h"
#include "narrows/err.h"

/* The number of the first name space of users: that of the whole system. */
#define USER_NS_FIRST 0xEFFFFFFDu

#define LEVEL_PROGRAM "outside_level"

enum { LINKS_MAX = 16, PATH_BYTES = 320, LINE_BYTES = 256, FDS_MAX = 65536 };

struct trace {
	struct bpf_object *object;
	struct bpf_link *links[LINKS_MAX];
	size_t n_links;
	bool has_uring;
	struct ring_buffer *ring;
	int procs_fd, threads_fd, groups_fd, words_fd, sets_fd, pairs_fd;
	trace_record_fn *fn;
	void *arg;
};

static int
print_nothing(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level;
	(void)format;
	(void)ap;
	return 0;
}

/* --- the programs --- */

static bool
is_uring(const char *name)
{
	return strcmp(name, "outside_submit") == 0 || strcmp(name, "outside_complete") == 0;
}

static struct bpf_object *
object_open(void)
{
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "outside");

	return bpf_object__open_mem(outside_object, outside_object_bytes, &opts);
}

static bool
is_level(const struct bpf_program *p)
{
	return strcmp(bpf_program__name(p), LEVEL_PROGRAM) == 0;
}

/* In a container the programs count processes as the container does. */
static int
own_set(struct bpf_object *object)
{
	struct bpf_map *m = bpf_object__find_map_by_name(object, ".rodata.own");
	struct outside_own own;
	struct pidspace space;
	int rc = pidspace_find(&space, object_open, LEVEL_PROGRAM);

	own = (struct outside_own){ space.level, space.ns };
	if (rc == 0)
		rc = m == NULL ? -ENOENT : bpf_map__set_initial_value(m, &own, sizeof(own));
	return rc;
}

static int
object_load(struct trace *t, bool with_uring)
{
	struct bpf_program *p;
	int rc;

	if ((t->object = object_open()) == NULL)
		return -errno;
	bpf_object__for_each_program(p, t->object)
	{
		if (is_uring(bpf_program__name(p)))
			bpf_program__set_autoload(p, with_uring);
		if (is_level(p))
			bpf_program__set_autoload(p, false);
	}
	if ((rc = own_set(t->object)) == 0 && (rc = bpf_object__load(t->object)) == 0)
		return 0;
	bpf_object__close(t->object);
	t->object = NULL;
	return rc;
}

static int
map_fd(const struct trace *t, const char *name)
{
	return bpf_object__find_map_fd_by_name(t->object, name);
}

static int
on_record(void *arg, void *record, size_t bytes)
{
	struct trace *t = arg;

	t->fn(t->arg, record, bytes);
	return 0;
}

static int
programs_attach(struct trace *t)
{
	struct bpf_program *p;
	struct bpf_link *link;

	bpf_object__for_each_program(p, t->object)
	{
		if (!bpf_program__autoload(p))
			continue;
		if ((link = bpf_program__attach(p)) == NULL)
			return -errno;
		t->links[t->n_links++] = link;
	}
	return 0;
}

static int
trace_load(struct trace *t)
{
	int rc;

	t->has_uring = true;
	if ((rc = object_load(t, true)) != 0) {
		t->has_uring = false;
		rc = object_load(t, false);
	}
	if (rc != 0)
		return rc;
	t->procs_fd = map_fd(t, "procs");
	t->threads_fd = map_fd(t, "threads");
	t->groups_fd = map_fd(t, "groups");
	t->words_fd = map_fd(t, "words");
	t->sets_fd = map_fd(t, "sets");
	t->pairs_fd = map_fd(t, "pairs");
	if ((t->ring = ring_buffer__new(map_fd(t, "records"), on_record, t, NULL)) == NULL)
		return -errno;
	return 0;
}

/* The rights of a container's own root do not reach into the kernel. */
static bool
is_own_user_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino != USER_NS_FIRST;
}

static int
refused(int rc, char why[TRACE_WHY_BYTES])
{
	static const int needed[] = { CAPABILITY_BPF, CAPABILITY_PERFMON };
	const char *missing = capability_missing(needed, 2);

	if (is_own_user_space())
		snprintf(why, TRACE_WHY_BYTES,
		    "only root of the host may watch system calls in this container (a user name "
		    "space): run nwflow -p or nwflow -g on the host");
	else
		snprintf(why, TRACE_WHY_BYTES, "the kernel refuses to watch system calls: %s%s",
		    missing != NULL ? missing : strerror(-rc),
		    missing != NULL ? " is missing" : "");
	return NW_EUNSUPPORTED;
}

int
trace_open(struct trace **out, char why[TRACE_WHY_BYTES])
{
	struct trace *t = calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (t == NULL)
		return NW_ENOMEM;
	libbpf_set_print(print_nothing);
	if ((rc = trace_load(t)) != 0) {
		trace_close(t);
		return refused(rc, why);
	}
	*out = t;
	return NW_OK;
}

int
trace_begin(struct trace *t, char why[TRACE_WHY_BYTES])
{
	int rc = programs_attach(t);

	return rc == 0 ? NW_OK : refused(rc, why);
}

void
trace_stop(struct trace *t)
{
	while (t->n_links > 0)
		bpf_link__destroy(t->links[--t->n_links]);
}

void
trace_close(struct trace *t)
{
	if (t == NULL)
		return;
	trace_stop(t);
	ring_buffer__free(t->ring);
	bpf_object__close(t->object);
	free(t);
}

bool
trace_has_uring(const struct trace *t)
{
	return t->has_uring;
}

/* --- descriptors made before the trace began --- */

/* The target of a descriptor, by the text of the link: "socket:[1]", "pipe:[1]", another. */
static bool
fd_link(uint32_t pid, int fd, char text[LINE_BYTES])
{
	char path[PATH_BYTES];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	n = readlink(path, text, LINE_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void
word_add(struct trace *t, uint32_t pid, int epfd, int fd, unsigned events, uint64_t data)
{
	struct outside_word word = { .tgid = pid, .epfd = epfd, .data = data };
	struct outside_set set = { .tgid = pid, .epfd = epfd };
	struct outside_hope hope = { 0 };
	const unsigned both = EPOLLIN | EPOLLOUT | EPOLLET;
	struct outside_told told = { .fd = fd };
	bool out = (events & (EPOLLOUT | EPOLLET)) == EPOLLOUT;
	char text[LINE_BYTES];
	uint8_t wait;

	if (!fd_link(pid, fd, text))
		return;
	if (strncmp(text, "socket:", 7) == 0)
		wait = out ? NWSHM_WAIT_WRITE : NWSHM_WAIT_READ;
	else if (strncmp(text, "pipe:", 5) == 0)
		wait = out ? NWSHM_WAIT_PIPE_WRITE : NWSHM_WAIT_PIPE_READ;
	else
		return;
	told.wait = wait;
	told.both = wait <= NWSHM_WAIT_WRITE && (events & both) == both;
	(void)bpf_map_update_elem(t->words_fd, &word, &told, BPF_ANY);
	(void)bpf_map_lookup_elem(t->sets_fd, &set, &hope);
	if (hope.hope == 0 || wait <= NWSHM_WAIT_WRITE)
		hope.hope = (uint8_t)(wait + 1);
	if (wait <= NWSHM_WAIT_WRITE && (events & EPOLLET) != 0)
		hope.edge = 1;
	(void)bpf_map_update_elem(t->sets_fd, &set, &hope, BPF_ANY);
}

static void
epoll_learn(struct trace *t, uint32_t pid, int epfd)
{
	char path[PATH_BYTES], line[LINE_BYTES];
	unsigned long long data;
	unsigned events;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", pid, epfd);
	if ((f = fopen(path, "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "tfd: %d events: %x data: %llx", &fd, &events, &data) == 3)
			word_add(t, pid, epfd, fd, events, data);
	fclose(f);
}

/* A pipe with both ends in the process is taken for the process's own: threads wake each other
 * so. */
static void
pipe_learn(struct trace *t, uint32_t pid, const char *text, unsigned long long *last)
{
	struct outside_pair pair = { .tgid = pid };
	uint32_t made = 0;
	unsigned long long ino;

	if (sscanf(text, "pipe:[%llu]", &ino) != 1)
		return;
	if (ino == *last) {
		pair.ino = ino;
		(void)bpf_map_update_elem(t->pairs_fd, &pair, &made, BPF_ANY);
	}
	*last = ino;
}

static void
descriptors_learn(struct trace *t, uint32_t pid)
{
	char path[PATH_BYTES], text[LINE_BYTES];
	unsigned long long last = 0;
	struct dirent *e;
	DIR *d;
	int fd, n = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	if ((d = opendir(path)) == NULL)
		return;
	while ((e = readdir(d)) != NULL && n++ < FDS_MAX) {
		if (e->d_name[0] == '.' || !fd_link(pid, fd = atoi(e->d_name), text))
			continue;
		if (strcmp(text, "anon_inode:[eventpoll]") == 0)
			epoll_learn(t, pid, fd);
		pipe_learn(t, pid, text, &last);
	}
	closedir(d);
}

/* --- processes to watch --- */

int
trace_add(struct trace *t, uint32_t pid)
{
	struct outside_proc fresh = { 0 };

	if (bpf_map_update_elem(t->procs_fd, &pid, &fresh, BPF_NOEXIST) != 0)
		return errno == EEXIST ? NW_OK : NW_EFULL;
	descriptors_learn(t, pid);
	return NW_OK;
}

void
trace_remove(struct trace *t, uint32_t pid)
{
	(void)bpf_map_delete_elem(t->procs_fd, &pid);
}

int
trace_add_group(struct trace *t, uint64_t group)
{
	uint32_t one = 1;

	return bpf_map_update_elem(t->groups_fd, &group, &one, BPF_ANY) == 0 ? NW_OK : NW_EFULL;
}

/* --- reading --- */

void
trace_read(struct trace *t, int timeout_ms, trace_record_fn *fn, void *arg)
{
	t->fn = fn;
	t->arg = arg;
	if (ring_buffer__poll(t->ring, timeout_ms) <= 0)
		(void)ring_buffer__consume(t->ring);
}

void
trace_threads(struct trace *t, trace_thread_fn *fn, void *arg)
{
	struct outside_thread now;
	uint32_t tid, next, n = 0;
	bool first = true;

	while (n++ < OUTSIDE_THREADS &&
	    bpf_map_get_next_key(t->threads_fd, first ? NULL : &tid, &next) == 0) {
		first = false;
		tid = next;
		if (bpf_map_lookup_elem(t->threads_fd, &tid, &now) == 0)
			fn(arg, tid, &now);
	}
}

void
trace_lost(const struct trace *t, uint32_t pid, uint64_t *ops, uint64_t *bytes)
{
	struct outside_proc p = { 0 };

	(void)bpf_map_lookup_elem(t->procs_fd, &pid, &p);
	*ops = p.lost_ops;
	*bytes = p.lost_bytes;
}
