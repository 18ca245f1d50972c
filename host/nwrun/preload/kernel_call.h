/* SPDX-License-Identifier: BSD-3-Clause */
/* A system call without libc. */
#ifndef HOST_KERNEL_CALL_H
#define HOST_KERNEL_CALL_H

#include <errno.h>

/* -errno on failure */
#if defined(__x86_64__)
static inline long
kernel_call(long number, long a, long b, long c, long d, long e, long f)
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
static inline long
kernel_call(long number, long a, long b, long c, long d, long e, long f)
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

static inline long
kernel_result(long rc)
{
	if (__builtin_expect(rc >= 0, 1))
		return rc;
	errno = (int)-rc;
	return -1;
}

#endif
