/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/proc_facts.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/procread.h"

enum { PATH_BYTES = 64, HEAD_BYTES = 4096, FDS_MAX = 4096, THREADS_MAX = 16 };

/* --- why a process may be unseen --- */

static bool
has_interpreter(const uint8_t *head, size_t len)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	size_t i;

	memcpy(&eh, head, sizeof(eh));
	for (i = 0; i < eh.e_phnum && eh.e_phoff < len && eh.e_phoff + (i + 1) * sizeof(ph) <= len;
	     i++) {
		memcpy(&ph, head + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_INTERP)
			return true;
	}
	return false;
}

unsigned
proc_blind_of_file(const char *path)
{
	uint8_t head[HEAD_BYTES];
	unsigned blind = 0;
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return stat(path, &st) == 0 && (st.st_mode & S_ISUID) != 0 ? PROC_SETUID : 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid()) ||
		((st.st_mode & S_ISGID) != 0 && st.st_gid != getgid())))
		blind |= PROC_SETUID;
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	if (n >= (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0 &&
	    head[EI_CLASS] == ELFCLASS64 && !has_interpreter(head, (size_t)n))
		blind |= PROC_STATIC;
	return blind;
}

static bool
is_sealed(int pid)
{
	static const char key[] = "\nSeccomp:\t";
	char text[4096], *at;

	return procread(pid, "status", text, sizeof(text)) > 0 &&
	    (at = strstr(text, key)) != NULL && at[sizeof(key) - 1] != '0';
}

static bool
has_ring(int pid)
{
	char path[PATH_BYTES], target[PATH_BYTES];
	struct dirent *e;
	bool found = false;
	int looked = 0;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	if ((d = opendir(path)) == NULL)
		return false;
	while (!found && looked++ < FDS_MAX && (e = readdir(d)) != NULL) {
		if ((n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1)) <= 0)
			continue;
		target[n] = '\0';
		found = strcmp(target, "anon_inode:[io_uring]") == 0;
	}
	closedir(d);
	return found;
}

/* Reasons by what the process has mapped; none if unknown. */
static unsigned
maps_read(int pid)
{
	unsigned blind = PROC_NOT_LOADED;
	char path[PATH_BYTES], *line = NULL;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if ((f = fopen(path, "re")) == NULL)
		return 0;
	while (getline(&line, &cap, f) > 0) {
		if (strstr(line, "/nwrun.so") != NULL)
			blind &= ~(unsigned)PROC_NOT_LOADED;
		if (strstr(line, " /[aio]") != NULL)
			blind |= PROC_AIO;
	}
	free(line);
	fclose(f);
	return blind;
}

static unsigned
blind_read(int pid)
{
	char exe[PATH_BYTES];
	unsigned blind;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	blind = proc_blind_of_file(exe);
	if (blind == 0)
		blind = maps_read(pid);
	if (is_sealed(pid))
		blind |= PROC_SEALED;
	if (has_ring(pid))
		blind |= PROC_IO_URING;
	return blind;
}

const char *
proc_blind_word(unsigned blind)
{
	static const char *const words[] = { "static", "set-user-id", "sealed", "io_uring", "aio",
		"not-loaded" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((blind & 1u << i) != 0)
			return words[i];
	return NULL;
}

/* --- counts --- */

/* False if the thread is gone, or the kernel does not count. */
static bool
thread_wait_read(int pid, const char *tid, uint64_t *wait_ns)
{
	char name[PATH_BYTES], text[1024];

	snprintf(name, sizeof(name), "task/%.16s/schedstat", tid);
	return procread(pid, name, text, sizeof(text)) > 0 &&
	    procfile_parse_schedstat(text, wait_ns);
}

static void
thread_read(int pid, const char *tid, struct proc_facts *out)
{
	char name[PATH_BYTES], text[1024];
	struct procfile_stat stat;
	uint64_t wait_ns;

	if (thread_wait_read(pid, tid, &wait_ns)) {
		out->wait_known = true;
		out->wait_ns = wait_ns > out->wait_ns ? wait_ns : out->wait_ns;
	}
	snprintf(name, sizeof(name), "task/%.16s/stat", tid);
	if (procread(pid, name, text, sizeof(text)) > 0 && procfile_parse_stat(text, &stat))
		out->blocked |= stat.state == 'D';
}

/* The first threads of a process: in a program with very many, all are alike. */
static void
threads_read(int pid, struct proc_facts *out)
{
	char path[PATH_BYTES];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if ((d = opendir(path)) == NULL)
		return;
	while ((e = readdir(d)) != NULL && n < THREADS_MAX)
		if (e->d_name[0] != '.') {
			thread_read(pid, e->d_name, out);
			n++;
		}
	closedir(d);
}

/* A server's thread at work may be behind the first threads. */
static void
tids_read(const struct proc_question *q, struct proc_facts *out)
{
	char tid[16];
	uint32_t i;

	for (i = 0; i < q->n_tids && i < PROC_TIDS; i++) {
		snprintf(tid, sizeof(tid), "%u", q->tid[i]);
		if (!thread_wait_read(q->pid, tid, &out->tid_wait_ns[i]))
			out->tid_wait_ns[i] = 0;
	}
}

/* 0 without a line "RssFile:  123 kB". */
static uint64_t
resident_read(int pid)
{
	char path[PATH_BYTES], text[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return procread_key(path, "RssFile", text, sizeof(text)) ? procfile_number(text) << 10 : 0;
}

void
proc_gone_find(struct proc_gone *g)
{
	uint32_t i;

	for (i = 0; i < g->n && i < PROC_GONE_MAX; i++)
		g->is_gone[i] = g->pid[i] > 0 && kill(g->pid[i], 0) != 0 && errno == ESRCH;
}

void
proc_facts_read(const struct proc_question *q, struct proc_facts *out)
{
	const int pid = q->pid;
	char text[1024];

	memset(out, 0, sizeof(*out));
	if (pid <= 0)
		return;
	out->found =
	    procread(pid, "stat", text, sizeof(text)) > 0 && procfile_parse_stat(text, &out->stat);
	out->alive =
	    out->found ? !procfile_is_over(&out->stat) : kill(pid, 0) == 0 || errno == EPERM;
	if (!out->found)
		return;
	out->io_known =
	    procread(pid, "io", text, sizeof(text)) > 0 && procfile_parse_io(text, &out->io);
	out->wait_known = procread(pid, "schedstat", text, sizeof(text)) > 0 &&
	    procfile_parse_schedstat(text, &out->wait_ns);
	out->blocked = out->stat.state == 'D';
	if (out->stat.threads > 1)
		threads_read(pid, out);
	tids_read(q, out);
	if ((q->wanted & PROC_WANT_QUOTA) != 0)
		proc_quota_read(pid, &out->quota);
	if ((q->wanted & PROC_WANT_RESIDENT) != 0)
		out->resident_bytes = resident_read(pid);
	if ((q->wanted & PROC_WANT_MAP) != 0)
		proc_map_read(pid, &out->map);
	if ((q->wanted & PROC_WANT_BLIND) != 0 && out->alive)
		out->blind = blind_read(pid);
}
