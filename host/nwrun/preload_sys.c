/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions behind the replaced functions, and system calls that leave errno alone. */
#include "host/nwrun/preload.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

void *real_table[REAL_COUNT];
bool sealed, direct;

static const char *const real_names[REAL_COUNT] = {
#define X(name) #name,
#include "host/nwrun/preload_names.h"
#undef X
};

long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	return kernel_call(number, a, b, c, d, e, f);
}

/* Before dlsym has been asked, or while dlsym runs and an allocator does I/O: the kernel
 * directly. */
static ssize_t
early_read(int fd, void *buf, size_t n)
{
	return kernel_result(sys(SYS_read, fd, buf, n));
}

static ssize_t
early_write(int fd, const void *buf, size_t n)
{
	return kernel_result(sys(SYS_write, fd, buf, n));
}

static off_t
early_lseek(int fd, off_t offset, int from)
{
	return kernel_result(sys(SYS_lseek, fd, offset, from));
}

static int
early_openat(int dir, const char *path, int flags, unsigned mode)
{
	return (int)kernel_result(sys(SYS_openat, dir, path, flags, mode));
}

static int
early_open(const char *path, int flags, unsigned mode)
{
	return early_openat(AT_FDCWD, path, flags, mode);
}

static int
early_close(int fd)
{
	return (int)kernel_result(sys(SYS_close, fd));
}

static void *
early_mmap(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
	return (void *)kernel_result(sys(SYS_mmap, at, bytes, access, flags, fd, offset));
}

static long
early_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return kernel_result(sys_call(number, a, b, c, d, e, f));
}

static long
missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *
real_fallback(enum real_name name)
{
	static __thread bool asking __attribute__((tls_model("initial-exec")));

	if (!asking) {
		asking = true;
		if (name < REAL_LAZY)
			real_resolve(REAL_LAZY);
		else
			real_table[name] = dlsym(RTLD_NEXT, real_names[name]);
		asking = false;
	}
	if (real_table[name] != NULL)
		return real_table[name];
	switch (name) {
	case REAL_read: return (void *)early_read;
	case REAL_write: return (void *)early_write;
	case REAL_lseek:
	case REAL_lseek64: return (void *)early_lseek;
	case REAL_open:
	case REAL_open64: return (void *)early_open;
	case REAL_openat:
	case REAL_openat64: return (void *)early_openat;
	case REAL_close: return (void *)early_close;
	case REAL_mmap:
	case REAL_mmap64: return (void *)early_mmap;
	case REAL_syscall: return (void *)early_syscall;
	default: return (void *)missing;
	}
}

/* --- whether a system call may stand for libc's function --- */

static const enum real_name direct_names[] = { REAL_read, REAL_pread, REAL_pread64, REAL_readv,
	REAL_write, REAL_pwrite, REAL_pwrite64, REAL_writev, REAL_send, REAL_sendto, REAL_sendmsg,
	REAL_recv, REAL_recvfrom, REAL_recvmsg, REAL_close };

static bool
segment_has(const struct dl_phdr_info *object, const ElfW(Phdr) * segment, const void *at)
{
	uintptr_t from = object->dlpi_addr + segment->p_vaddr;

	return segment->p_type == PT_LOAD && (uintptr_t)at >= from &&
	    (uintptr_t)at < from + segment->p_memsz;
}

/* Looks at libc's segments, then stops the walk. */
static int
on_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	size_t i, k, inside = 0, n = sizeof(direct_names) / sizeof(direct_names[0]);
	bool is_libc = false;

	(void)size;
	for (k = 0; k < object->dlpi_phnum; k++) {
		is_libc |=
		    segment_has(object, &object->dlpi_phdr[k], (const void *)gnu_get_libc_version);
		for (i = 0; i < n; i++)
			inside +=
			    segment_has(object, &object->dlpi_phdr[k], real_table[direct_names[i]]);
	}
	*(bool *)arg = is_libc && inside == n;
	return is_libc;
}

/*
 * Early: dlsym in a signal handler or after a fork could wait for the loader's lock. Functions of
 * streams are found when a program with one thread first calls them, or before there are more
 * threads: most programs use few of them.
 */
void
real_resolve(enum real_name end)
{
	int i;

	for (i = 0; i < (int)end; i++)
		if (real_table[i] == NULL)
			real_table[i] = dlsym(RTLD_NEXT, real_names[i]);
	/* an old libc lacks some: the program must not find our question's answer */
	(void)dlerror();
	if (!direct)
		dl_iterate_phdr(on_object, &direct);
}

bool
sys_read_file(const char *path, char *text, size_t cap, size_t *len)
{
	size_t n = 0;
	long fd, rc = 0;

	*len = 0;
	text[0] = '\0';
	if (sealed || (fd = sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	/* of files in /proc, a short read is the last */
	if ((rc = sys(SYS_read, fd, text, cap - 1)) > 0)
		n = (size_t)rc;
	sys(SYS_close, fd);
	text[n] = '\0';
	*len = n;
	return rc >= 0 && n > 0;
}
