/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions behind the replaced functions, and system calls that leave errno alone. */
#include "host/nwrun/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

void *real_table[REAL_COUNT];
bool sealed;

static const char *const real_names[REAL_COUNT] = {
#define X(name) #name,
#include "host/nwrun/preload_names.h"
#undef X
};

#if defined(__x86_64__)
long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return rc;
}
#elif defined(__aarch64__)
long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error \
    "nwrun.so needs the system call instruction of this machine here, and vfork in preload_life.c"
#endif

/* Before dlsym has been asked, or while dlsym runs and an allocator does I/O: the kernel
 * directly. */
static long
set_errno(long rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

static ssize_t
early_read(int fd, void *buf, size_t n)
{
	return set_errno(sys(SYS_read, fd, buf, n));
}

static ssize_t
early_write(int fd, const void *buf, size_t n)
{
	return set_errno(sys(SYS_write, fd, buf, n));
}

static off_t
early_lseek(int fd, off_t offset, int from)
{
	return set_errno(sys(SYS_lseek, fd, offset, from));
}

static int
early_openat(int dir, const char *path, int flags, unsigned mode)
{
	return (int)set_errno(sys(SYS_openat, dir, path, flags, mode));
}

static int
early_open(const char *path, int flags, unsigned mode)
{
	return early_openat(AT_FDCWD, path, flags, mode);
}

static int
early_close(int fd)
{
	return (int)set_errno(sys(SYS_close, fd));
}

static long
early_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return set_errno(sys_call(number, a, b, c, d, e, f));
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
		real_resolve();
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
	case REAL_syscall: return (void *)early_syscall;
	default: return (void *)missing;
	}
}

/* All at once, and early: dlsym in a signal handler or after a fork could wait for the loader's
 * lock. */
void
real_resolve(void)
{
	int i;

	for (i = 0; i < REAL_COUNT; i++)
		real_table[i] = dlsym(RTLD_NEXT, real_names[i]);
	/* an old libc lacks some: the program must not find our question's answer */
	(void)dlerror();
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
	while (n < cap - 1 && (rc = sys(SYS_read, fd, text + n, cap - 1 - n)) > 0)
		n += (size_t)rc;
	sys(SYS_close, fd);
	text[n] = '\0';
	*len = n;
	return rc >= 0 && n > 0;
}
