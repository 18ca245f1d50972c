/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/fit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "host/lib/procread.h"
#include "host/nwrun/collect/proc_facts.h"
#include "host/nwrun/preload/image.h"
#include "narrows/clock.h"

enum { ANSWER_BYTES = 65536, STATUS_BYTES = 4096 };
#define ANSWER_NS INT64_C(5000000000) /* a loader's patience with a slow disk */

int
fit_fork(void)
{
	int pid = (int)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);

	/* QEMU's emulation of a program makes no child that ends without a signal. */
	return pid < 0 && errno == EINVAL ? (int)fork() : pid;
}

static int
wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static void __attribute__((format(printf, 3, 4)))
unproven(struct fit *out, bool may_name, const char *format, ...)
{
	va_list ap;

	out->is_proven = false;
	out->may_name = may_name;
	va_start(ap, format);
	vsnprintf(out->words, sizeof(out->words), format, ap);
	va_end(ap);
}

/* --- the loader --- */

/* The same file as nwrun's own loader, which has loaded a program of this installation. */
static bool
is_own_loader(const char *loader)
{
	struct image own;
	struct stat a, b;

	image_look("/proc/self/exe", &own);
	return own.loader[0] != '\0' && stat(own.loader, &a) == 0 && stat(loader, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* glibc's loader has this text, others do not: another loader would run the program. */
static bool
is_glibc(const char *loader)
{
	static const char text[] = "GLIBC_PRIVATE";
	int fd = open(loader, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;
	void *at;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0 &&
	    (at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED) {
		found = memmem(at, (size_t)st.st_size, text, sizeof(text) - 1) != NULL;
		munmap(at, (size_t)st.st_size);
	}
	close(fd);
	return found;
}

static void
list_libraries(const char *loader, const char *file, const char *so, int to)
{
	static char list[] = "LD_TRACE_LOADED_OBJECTS=1", warn[] = "LD_WARN=yes",
		    now[] = "LD_BIND_NOW=yes";
	const char *const argv[] = { loader, file, NULL };
	char preload[PATH_MAX + 16];
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char *environment[] = { list, warn, now, preload, NULL, NULL };

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", so);
	if (libraries != NULL && asprintf(&environment[4], "LD_LIBRARY_PATH=%s", libraries) < 0)
		_exit(126);
	if (dup2(to, 1) < 0 || dup2(to, 2) < 0)
		_exit(126);
	execve(loader, (char **)argv, environment);
	_exit(126);
}

/* Reads the words of the loader. Returns false if the loader has not ended after ANSWER_NS. */
static bool
answer_read(int fd, char text[ANSWER_BYTES])
{
	int64_t end_mono_ns = nw_mono_ns() + ANSWER_NS, left_ns = 1;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	while (len < ANSWER_BYTES - 1 && (left_ns = end_mono_ns - nw_mono_ns()) > 0) {
		if (poll(&p, 1, (int)(left_ns / 1000000) + 1) <= 0)
			continue;
		if ((n = read(fd, text + len, ANSWER_BYTES - 1 - len)) <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return left_ns > 0;
}

/* The loader complains of nwrun.so by its path, and ends in good order where all was found. */
static bool
loader_agrees(const char *loader, const char *file, const char *so)
{
	static char text[ANSWER_BYTES];
	static const char *const complaints[] = { "cannot be preloaded", "not found (required by ",
		"undefined symbol" };
	bool listed = false;
	char *line, *rest;
	int fds[2], status;
	pid_t pid;
	size_t i;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	if ((pid = fit_fork()) == 0)
		list_libraries(loader, file, so, fds[1]);
	close(fds[1]);
	if (!answer_read(fds[0], text) && pid > 0)
		kill(pid, SIGKILL);
	close(fds[0]);
	status = pid > 0 ? wait_for(pid) : -1;
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		if (strstr(line, so) == NULL)
			continue;
		for (i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++)
			if (strstr(line, complaints[i]) != NULL)
				return false;
		listed = true;
	}
	return listed && status == 0;
}

/* --- what is around the program --- */

/* nwrun.so's own calls, on nothing. */
static void
calls_try(void)
{
	struct rlimit lim;
	struct rusage ru;
	char text[8];

	(void)syscall(SYS_statx, AT_FDCWD, "", 0, 0, NULL);
	(void)syscall(SYS_readlinkat, AT_FDCWD, "", text, 0);
	(void)syscall(SYS_faccessat, AT_FDCWD, "", F_OK);
	(void)syscall(SYS_pread64, -1, text, 0, 0);
	(void)syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &lim);
	(void)syscall(SYS_getrusage, RUSAGE_SELF, &ru);
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, NULL);
	(void)syscall(SYS_getsid, 0);
	(void)syscall(SYS_getppid);
	(void)syscall(SYS_gettid);
	(void)syscall(SYS_getcwd, text, 0);
	(void)syscall(SYS_madvise, NULL, 0, 0);
	(void)syscall(SYS_munmap, NULL, 0);
	(void)syscall(SYS_fstatfs, -1, NULL);
	(void)syscall(SYS_getsockopt, -1, 0, 0, NULL, NULL);
	(void)syscall(SYS_getsockname, -1, NULL, NULL);
	(void)syscall(SYS_getpeername, -1, NULL, NULL);
}

/* The program inherits nwrun's filter of system calls: a child tries what nwrun.so would call. */
static bool
filter_allows(void)
{
	static const char key[] = "\nSeccomp:\t";
	char text[STATUS_BYTES], *at;
	int status;
	pid_t pid;

	if (procread_path("/proc/self/status", text, sizeof(text)) == 0 ||
	    (at = strstr(text, key)) == NULL || at[sizeof(key) - 1] == '0')
		return true;
	if ((pid = fit_fork()) == 0) {
		calls_try();
		_exit(0);
	}
	status = pid > 0 ? wait_for(pid) : -1;
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The loader ignores LD_PRELOAD. */
static bool
has_capabilities(const char *file)
{
	return getuid() != 0 && getxattr(file, "security.capability", NULL, 0) > 0;
}

/* --- the answer --- */

static void
loader_look(const struct image *image, const char *so, struct fit *out)
{
	if (image->loader[0] == '\0' || is_own_loader(image->loader))
		return;
	out->blind = PROC_NOT_LOADED;
	if (access(image->loader, R_OK) != 0 || !is_glibc(image->loader))
		unproven(out, false, "loaded by %s", image->loader);
	else if (!loader_agrees(image->loader, image->file, so))
		unproven(out, false, "loaded by %s, which refuses nwrun.so", image->loader);
	else
		out->blind = 0;
}

static void
image_judge(const struct image *image, const char *so, struct fit *out)
{
	out->blind = PROC_NOT_LOADED;
	switch (image->kind) {
	case IMAGE_OTHER_WORDS:
		unproven(out, false, "made for another machine or word size");
		return;
	case IMAGE_OTHER_LOADER: unproven(out, false, "loaded by %s", image->loader); return;
	case IMAGE_HIDDEN: unproven(out, false, "not readable"); return;
	case IMAGE_SANITIZED:
		if (image_refuses(image->kind, getenv("ASAN_OPTIONS"))) {
			unproven(out, false, "built with a sanitizer");
			return;
		}
		break;
	case IMAGE_STATIC:
		out->blind = PROC_STATIC;
		unproven(out, true, "statically linked");
		return;
	case IMAGE_LOADS: break;
	}
	out->blind = 0;
	loader_look(image, so, out);
	if (out->is_proven && image->is_go)
		unproven(out, true, "built by Go, whose calls pass nwrun.so by");
}

void
fit_look_file(const char *path, const char *so, struct fit *out)
{
	struct image image;

	*out = (struct fit){ .is_proven = true, .may_name = true };
	image_look(path, &image);
	if ((proc_blind_of_file(image.file) & PROC_SETUID) != 0 || has_capabilities(image.file)) {
		out->blind = PROC_SETUID;
		unproven(out, true, "set-user-ID");
		return;
	}
	image_judge(&image, so, out);
}

void
fit_look(const char *path, const char *so, struct fit *out)
{
	fit_look_file(path, so, out);
	if (out->is_proven && !filter_allows()) {
		out->blind = PROC_SEALED;
		unproven(out, false, "under a filter that kills at calls of nwrun.so");
	}
}
