/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of nwrun-collect.so that the C library here has in a newer version than hosts with an
 * older C library have. The definitions are hidden: all files of nwrun-collect.so call them, and
 * no other object finds them. No version above GLIBC_2.28 remains (tests/sys_loads.sh). Only
 * nwrun-collect.so links this file, never an archive.
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/nwrun/preload/old_version.h"

/* --- calls of the kernel, whose struct stat is the C library's on 64 bit machines --- */

int
stat(const char *restrict path, struct stat *restrict st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

int
lstat(const char *restrict path, struct stat *restrict st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int
fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int
close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(436, first, last, flags);
}

/* --- the same functions of the first version --- */

double old_pow(double x, double y);
int old_once(pthread_once_t *once, void (*run)(void));
OLD_VERSION(old_pow, pow);
OLD_VERSION(old_once, pthread_once);

double
pow(double x, double y)
{
	return old_pow(x, y);
}

int
pthread_once(pthread_once_t *once, void (*run)(void))
{
	return old_once(once, run);
}

/* --- functions that glibc 2.38 headers give other names --- */

#define NUMBER(type, name)                                                      \
	type old_##name(const char *text, char **end, int base) __asm__(#name); \
	type __isoc23_##name(const char *text, char **end, int base);           \
	type __isoc23_##name(const char *text, char **end, int base)            \
	{                                                                       \
		return old_##name(text, end, base);                             \
	}
NUMBER(long, strtol)
NUMBER(unsigned long, strtoul)
NUMBER(long long, strtoll)
NUMBER(unsigned long long, strtoull)

#define SCAN(name, from_type)                                                    \
	int old_v##name(from_type from, const char *format, va_list ap) __asm__( \
	    "__isoc99_v" #name);                                                 \
	int __isoc23_##name(from_type from, const char *format, ...);            \
	int __isoc23_##name(from_type from, const char *format, ...)             \
	{                                                                        \
		va_list ap;                                                      \
		int n;                                                           \
                                                                                 \
		va_start(ap, format);                                            \
		n = old_v##name(from, format, ap);                               \
		va_end(ap);                                                      \
		return n;                                                        \
	}
SCAN(sscanf, const char *)
SCAN(fscanf, FILE *)
