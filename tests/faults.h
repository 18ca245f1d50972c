/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations, writes, syncs and truncations that fail: the Nth, and all after it if for_ever. For
 * tests of the store. */
#ifndef FAULTS_H
#define FAULTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#define OWN_MALLOC (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define OWN_MALLOC 1
#endif

static struct {
	long at, seen;
	bool for_ever;
} alloc_fault, io_fault, read_fault;

static bool
fails(long *seen, long at, bool for_ever)
{
	if (at == 0)
		return false;
	++*seen;
	return *seen == at || (for_ever && *seen > at);
}

#if OWN_MALLOC
#pragma GCC visibility push(default) /* SQLite and zstd shall find these, too */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	return fails(&alloc_fault.seen, alloc_fault.at, alloc_fault.for_ever) ? NULL
									      : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return fails(&alloc_fault.seen, alloc_fault.at, alloc_fault.for_ever)
	    ? NULL
	    : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return fails(&alloc_fault.seen, alloc_fault.at, alloc_fault.for_ever)
	    ? NULL
	    : __libc_realloc(p, n);
}
#pragma GCC visibility pop
#endif

/* A VFS that is the default one, except that stores and WALs may fail to write, sync, truncate and
 * read. */
static sqlite3_vfs shim, *real_vfs;
/* of stores, of WALs */
static struct {
	const sqlite3_io_methods *real;
	sqlite3_io_methods faulty;
} methods[2];

static const sqlite3_io_methods *
real_of(const sqlite3_file *f)
{
	return methods[f->pMethods == &methods[1].faulty].real;
}

static bool
io_fails(void)
{
	return fails(&io_fault.seen, io_fault.at, io_fault.for_ever);
}

static int
shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	return io_fails() ? SQLITE_FULL : real_of(f)->xWrite(f, p, n, at);
}

static int
shim_sync(sqlite3_file *f, int flags)
{
	return io_fails() ? SQLITE_IOERR_FSYNC : real_of(f)->xSync(f, flags);
}

static int
shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return io_fails() ? SQLITE_IOERR_TRUNCATE : real_of(f)->xTruncate(f, size);
}

/* As SQLite's own VFS answers when the system says EIO. */
static int
shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return fails(&read_fault.seen, read_fault.at, read_fault.for_ever)
	    ? SQLITE_IOERR_CORRUPTFS
	    : real_of(f)->xRead(f, p, n, at);
}

static int
shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
	int rc = real_vfs->xOpen(real_vfs, name, f, flags, out), i = (flags & SQLITE_OPEN_WAL) != 0;

	(void)vfs;
	if (rc != SQLITE_OK || (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0)
		return rc;
	if (methods[i].real == NULL) {
		methods[i].real = f->pMethods;
		methods[i].faulty = *f->pMethods;
		methods[i].faulty.xWrite = shim_write;
		methods[i].faulty.xSync = shim_sync;
		methods[i].faulty.xTruncate = shim_truncate;
		methods[i].faulty.xRead = shim_read;
	}
	if (f->pMethods == methods[i].real)
		f->pMethods = &methods[i].faulty;
	return rc;
}

static void
shim_register(void)
{
	real_vfs = sqlite3_vfs_find(NULL);
	shim = *real_vfs;
	shim.zName = "shim";
	shim.xOpen = shim_open;
	sqlite3_vfs_register(&shim, 1);
}

#endif
