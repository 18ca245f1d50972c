/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered streams. glibc's stdio reads and writes inside libc, where no wrapper of read(2) sees
 * the calls. The bytes that crossed the buffer follow from its content before and after a call, and
 * from the bytes the call gave or took:
 *
 *	flushed = pending before + accepted - pending after
 *	filled = consumed + available after - available before
 *
 * A call that finds room, or enough to read, in the buffer crosses nothing: such a call costs two
 * loads and no clock. Not seen: wide characters, the scanf family, and bytes read in vain when a
 * stream is moved beyond the end of its file. Threads that use one stream at once are counted
 * roughly.
 */
#define __NO_INLINE__ 1 /* the headers' own inline getc_unlocked and friends would be in the way */
#include "host/nwrun/preload/preload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	/* reading bytes that ungetc pushed back; the real buffer is in _IO_save_* */
	STREAM_IN_BACKUP = 0x100,
	STREAM_PUTTING = 0x800 /* the buffer belongs to writing */
};

/* Names behind macros, inline functions and _FORTIFY_SOURCE. */
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
ssize_t __getdelim(char **restrict, size_t *restrict, int, FILE *restrict);
int __uflow(FILE *);
int __overflow(FILE *, int);
int __printf_chk(int, const char *, ...);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __dprintf_chk(int, int, const char *, ...);
int __vdprintf_chk(int, int, const char *, va_list);

/* --- the content of a buffer --- */

static inline size_t
pending(const FILE *f)
{
	return f->_IO_write_ptr > f->_IO_write_base ? (size_t)(f->_IO_write_ptr - f->_IO_write_base)
						    : 0;
}

static inline size_t
available(const FILE *f)
{
	size_t n = (size_t)(f->_IO_read_end - f->_IO_read_ptr);

	return (f->_flags & STREAM_IN_BACKUP) == 0
	    ? n
	    : n + (size_t)(f->_IO_save_end - f->_IO_save_base);
}

static inline bool
room_for(const FILE *f, size_t n)
{
	return f->_IO_write_ptr < f->_IO_write_end &&
	    n <= (size_t)(f->_IO_write_end - f->_IO_write_ptr);
}

static inline bool
has(const FILE *f, size_t n)
{
	return f->_IO_read_ptr < f->_IO_read_end &&
	    n <= (size_t)(f->_IO_read_end - f->_IO_read_ptr);
}

/* A whole line, or as much as fits the caller's buffer. */
static inline bool
has_line(const FILE *f, int end, size_t max)
{
	size_t n = (size_t)(f->_IO_read_end - f->_IO_read_ptr);

	return n > 0 && (n >= max || memchr(f->_IO_read_ptr, end, n) != NULL);
}

/* --- a call --- */

struct crossing {
	bool measured;
	enum nwshm_dir dir;
	int fd;
	size_t pending, available;
	struct op op;
};

static void
crossing_begin(struct crossing *x, const FILE *f, enum nwshm_dir dir)
{
	x->measured = f->_fileno >= 0;
	if (!x->measured)
		return;
	x->dir = dir;
	x->fd = f->_fileno;
	x->pending = pending(f);
	x->available = available(f);
	op_begin(&x->op, x->fd, dir);
}

/* The call's time goes to its own direction; the other direction crosses only where reading and
 * writing change places. */
static void
crossing_count(struct crossing *x, int64_t flushed, int64_t filled)
{
	int64_t mine = x->dir == NWSHM_WRITE ? flushed : filled,
		other = x->dir == NWSHM_WRITE ? filled : flushed;

	if (mine > 0)
		op_end(&x->op, (ssize_t)mine);
	else
		op_cancel(&x->op);
	if (other > 0)
		op_untimed(x->fd, x->dir ^ 1, (uint64_t)other);
}

static void
crossing_end(struct crossing *x, const FILE *f, size_t accepted, size_t consumed)
{
	if (x->measured)
		crossing_count(x, (int64_t)(x->pending + accepted) - (int64_t)pending(f),
		    (int64_t)(consumed + available(f)) - (int64_t)x->available);
}

/* Calls that only flush. */
static void
crossing_begin_flush(struct crossing *x, const FILE *f)
{
	x->measured = false;
	if (pending(f) > 0)
		crossing_begin(x, f, NWSHM_WRITE);
}

static void
crossing_end_flush(struct crossing *x, size_t left)
{
	if (x->measured)
		crossing_count(x, (int64_t)x->pending - (int64_t)left, 0);
}

#define CROSS(type, name, f, dir, easy, accepted, consumed, params, args) \
	EXPORT type name params                                           \
	{                                                                 \
		struct crossing x;                                        \
		type rc;                                                  \
                                                                          \
		if (easy)                                                 \
			return REAL(name) args;                           \
		crossing_begin(&x, f, dir);                               \
		rc = REAL(name) args;                                     \
		crossing_end(&x, f, accepted, consumed);                  \
		return rc;                                                \
	}
#define PUT(type, name, f, n, accepted, params, args) \
	CROSS(type, name, f, NWSHM_WRITE, room_for(f, n), accepted, 0, params, args)
#define GET(type, name, f, easy, consumed, params, args) \
	CROSS(type, name, f, NWSHM_READ, easy, 0, consumed, params, args)

/* --- blocks --- */

/*
 * Asked for as single bytes, the answer tells the bytes moved, the part of an item at the end of
 * the file included; glibc makes no difference between n items of one size and their bytes.
 */
#define BLOCKS(name, f, dir, easy, accepted, consumed, params, args, args_in_bytes)          \
	EXPORT size_t name params                                                            \
	{                                                                                    \
		struct crossing x;                                                           \
		size_t bytes, done;                                                          \
                                                                                             \
		if (__builtin_mul_overflow(size, n, &bytes) || bytes == 0 || easy(f, bytes)) \
			return REAL(name) args;                                              \
		crossing_begin(&x, f, dir);                                                  \
		done = REAL(name) args_in_bytes;                                             \
		crossing_end(&x, f, accepted, consumed);                                     \
		return done == bytes ? n : done / size;                                      \
	}
#define READ_BLOCKS(name, params, args, args_in_bytes) \
	BLOCKS(name, f, NWSHM_READ, has, 0, done, params, args, args_in_bytes)
#define WRITE_BLOCKS(name, params, args, args_in_bytes) \
	BLOCKS(name, f, NWSHM_WRITE, room_for, done, 0, params, args, args_in_bytes)

READ_BLOCKS(fread, (void *restrict p, size_t size, size_t n, FILE *restrict f), (p, size, n, f),
    (p, 1, bytes, f))
READ_BLOCKS(fread_unlocked, (void *restrict p, size_t size, size_t n, FILE *restrict f),
    (p, size, n, f), (p, 1, bytes, f))
READ_BLOCKS(__fread_chk, (void *p, size_t room, size_t size, size_t n, FILE *f),
    (p, room, size, n, f), (p, room, 1, bytes, f))
READ_BLOCKS(__fread_unlocked_chk, (void *p, size_t room, size_t size, size_t n, FILE *f),
    (p, room, size, n, f), (p, room, 1, bytes, f))
WRITE_BLOCKS(fwrite, (const void *restrict p, size_t size, size_t n, FILE *restrict f),
    (p, size, n, f), (p, 1, bytes, f))
WRITE_BLOCKS(fwrite_unlocked, (const void *restrict p, size_t size, size_t n, FILE *restrict f),
    (p, size, n, f), (p, 1, bytes, f))

/* --- characters and lines in --- */

#define GETC(name, f, params, args) GET(int, name, f, has(f, 1), rc != EOF, params, args)
GETC(fgetc, f, (FILE * f), (f))
GETC(getc, f, (FILE * f), (f))
GETC(fgetc_unlocked, f, (FILE * f), (f))
GETC(getc_unlocked, f, (FILE * f), (f))
GETC(__uflow, f, (FILE * f), (f))
GETC(getchar, stdin, (void), ())
GETC(getchar_unlocked, stdin, (void), ())

#define LINE_MAX_BYTES (n > 0 ? (size_t)n - 1 : 0)
#define GETS(name, params, args)                                                             \
	GET(char *, name, f, has_line(f, '\n', LINE_MAX_BYTES), rc != NULL ? strlen(rc) : 0, \
	    params, args)
GETS(fgets, (char *restrict buf, int n, FILE *restrict f), (buf, n, f))
GETS(fgets_unlocked, (char *restrict buf, int n, FILE *restrict f), (buf, n, f))
GETS(__fgets_chk, (char *buf, size_t room, int n, FILE *f), (buf, room, n, f))
GETS(__fgets_unlocked_chk, (char *buf, size_t room, int n, FILE *f), (buf, room, n, f))

#define GETLINE(name, end, params, args) \
	GET(ssize_t, name, f, has_line(f, end, SIZE_MAX), rc > 0 ? (size_t)rc : 0, params, args)
GETLINE(
    getline, '\n', (char **restrict line, size_t *restrict cap, FILE *restrict f), (line, cap, f))
GETLINE(getdelim, end, (char **restrict line, size_t *restrict cap, int end, FILE *restrict f),
    (line, cap, end, f))
GETLINE(__getdelim, end, (char **restrict line, size_t *restrict cap, int end, FILE *restrict f),
    (line, cap, end, f))

/* --- characters and lines out --- */

#define PUTC(name, f, params, args) PUT(int, name, f, 1, rc != EOF, params, args)
PUTC(fputc, f, (int ch, FILE *f), (ch, f))
PUTC(putc, f, (int ch, FILE *f), (ch, f))
PUTC(fputc_unlocked, f, (int ch, FILE *f), (ch, f))
PUTC(putc_unlocked, f, (int ch, FILE *f), (ch, f))
PUTC(putchar, stdout, (int ch), (ch))
PUTC(putchar_unlocked, stdout, (int ch), (ch))
CROSS(
    int, __overflow, f, NWSHM_WRITE, false, rc != EOF && ch != EOF, 0, (FILE * f, int ch), (f, ch))

PUT(int, fputs, f, strlen(s), rc != EOF ? strlen(s) : 0, (const char *restrict s, FILE *restrict f),
    (s, f))
PUT(int, fputs_unlocked, f, strlen(s), rc != EOF ? strlen(s) : 0,
    (const char *restrict s, FILE *restrict f), (s, f))
PUT(int, puts, stdout, strlen(s) + 1, rc != EOF ? strlen(s) + 1 : 0, (const char *s), (s))

#define VPRINT(name, f, params, args) \
	CROSS(int, name, f, NWSHM_WRITE, false, rc > 0 ? (size_t)rc : 0, 0, params, args)
VPRINT(vfprintf, f, (FILE *restrict f, const char *restrict format, va_list ap), (f, format, ap))
VPRINT(vprintf, stdout, (const char *restrict format, va_list ap), (format, ap))
VPRINT(
    __vfprintf_chk, f, (FILE * f, int flag, const char *format, va_list ap), (f, flag, format, ap))
VPRINT(__vprintf_chk, stdout, (int flag, const char *format, va_list ap), (flag, format, ap))

/* Through the wrappers above. */
#define PRINT(name, params, call)     \
	EXPORT int name params        \
	{                             \
		va_list ap;           \
		int rc;               \
                                      \
		va_start(ap, format); \
		rc = call;            \
		va_end(ap);           \
		return rc;            \
	}
PRINT(fprintf, (FILE *restrict f, const char *restrict format, ...), vfprintf(f, format, ap))
PRINT(printf, (const char *restrict format, ...), vprintf(format, ap))
PRINT(__fprintf_chk, (FILE * f, int flag, const char *format, ...),
    __vfprintf_chk(f, flag, format, ap))
PRINT(__printf_chk, (int flag, const char *format, ...), __vprintf_chk(flag, format, ap))

#define VDPRINT(name, params, args)             \
	EXPORT int name params                  \
	{                                       \
		struct op op;                   \
		int rc;                         \
                                                \
		op_begin(&op, fd, NWSHM_WRITE); \
		rc = REAL(name) args;           \
		op_end(&op, rc);                \
		return rc;                      \
	}
VDPRINT(vdprintf, (int fd, const char *restrict format, va_list ap), (fd, format, ap))
VDPRINT(__vdprintf_chk, (int fd, int flag, const char *format, va_list ap), (fd, flag, format, ap))
PRINT(dprintf, (int fd, const char *restrict format, ...), vdprintf(fd, format, ap))
PRINT(__dprintf_chk, (int fd, int flag, const char *format, ...),
    __vdprintf_chk(fd, flag, format, ap))

/* --- moving about: pending bytes are written; a new place in the file may be read at once --- */

/*
 * glibc moves within its buffer when possible, which leaves a part to read. Else, and always after
 * writing, glibc fills the buffer anew around the new place; at the end of the file with nothing
 * left to read.
 */
struct place {
	const char *read_end; /* NULL: nothing has been read */
	off64_t offset;
};

static struct place
place_of(const FILE *f)
{
	const char *end = (f->_flags & STREAM_IN_BACKUP) != 0 ? f->_IO_save_end : f->_IO_read_end;

	return (struct place){ (f->_flags & STREAM_PUTTING) != 0 ? NULL : end, f->_offset };
}

static void
seek_end(struct crossing *x, const FILE *f, struct place was, bool moved)
{
	bool filled = moved &&
	    (f->_offset != was.offset || f->_IO_read_end != was.read_end ||
		f->_IO_read_ptr == f->_IO_read_end);

	if (x->measured)
		crossing_count(x, (int64_t)x->pending - (int64_t)pending(f),
		    filled ? f->_IO_read_end - f->_IO_read_base : 0);
}

#define SEEK(name, params, args)                    \
	EXPORT int name params                      \
	{                                           \
		struct place was = place_of(f);     \
		struct crossing x;                  \
		int rc;                             \
                                                    \
		crossing_begin(&x, f, NWSHM_WRITE); \
		rc = REAL(name) args;               \
		seek_end(&x, f, was, rc == 0);      \
		return rc;                          \
	}
SEEK(fseek, (FILE * f, long at, int whence), (f, at, whence))
SEEK(fseeko, (FILE * f, off_t at, int whence), (f, at, whence))
SEEK(fseeko64, (FILE * f, off64_t at, int whence), (f, at, whence))
SEEK(fsetpos, (FILE * f, const fpos_t *at), (f, at))
SEEK(fsetpos64, (FILE * f, const fpos64_t *at), (f, at))

EXPORT void
rewind(FILE *f)
{
	struct place was = place_of(f);
	struct crossing x;

	crossing_begin(&x, f, NWSHM_WRITE);
	REAL(rewind)(f);
	seek_end(&x, f, was, true);
}

/* --- open streams: for the pending bytes when all are flushed at once --- */

static _Atomic uint32_t streams_used;

static FILE *
stream_opened(FILE *f)
{
	FILE *none;
	uint32_t i;

	if (f == NULL || region == NULL || !tables_make())
		return f;
	fd_forget(f->_fileno);
	for (i = 0; i < STREAMS_MAX; i++) {
		none = NULL;
		if (atomic_load_explicit(&tables->streams[i], memory_order_relaxed) != NULL ||
		    !atomic_compare_exchange_strong(&tables->streams[i], &none, f))
			continue;
		nwshm_used(&streams_used, i);
		break;
	}
	return f;
}

static void
stream_closing(FILE *f)
{
	uint32_t used = atomic_load_explicit(&streams_used, memory_order_relaxed), i;
	FILE *it;

	for (i = 0; i < used; i++) {
		it = f;
		if (atomic_compare_exchange_strong(&tables->streams[i], &it, NULL))
			return;
	}
}

#define FOPEN(name, params, args)                      \
	EXPORT FILE *name params                       \
	{                                              \
		return stream_opened(REAL(name) args); \
	}
FOPEN(fopen, (const char *restrict path, const char *restrict mode), (path, mode))
FOPEN(fopen64, (const char *restrict path, const char *restrict mode), (path, mode))
FOPEN(tmpfile, (void), ())
FOPEN(tmpfile64, (void), ())

/* The descriptor stays the same. */
EXPORT FILE *
fdopen(int fd, const char *mode)
{
	return stream_opened(REAL(fdopen)(fd, mode));
}

/* After the call the stream is gone, or another stream. */
#define CLOSES(type, name, params, args, opened) \
	EXPORT type name params                  \
	{                                        \
		int fd = f->_fileno;             \
		struct crossing x;               \
		type rc;                         \
                                                 \
		stream_closing(f);               \
		crossing_begin_flush(&x, f);     \
		fd_name(fd, x.measured);         \
		rc = REAL(name) args;            \
		crossing_end_flush(&x, 0);       \
		fd_forget(fd);                   \
		opened;                          \
		return rc;                       \
	}
CLOSES(int, fclose, (FILE * f), (f), )
CLOSES(int, pclose, (FILE * f), (f), )
CLOSES(FILE *, freopen, (const char *restrict path, const char *restrict mode, FILE *restrict f),
    (path, mode, f), stream_opened(rc))
CLOSES(FILE *, freopen64, (const char *restrict path, const char *restrict mode, FILE *restrict f),
    (path, mode, f), stream_opened(rc))

/* --- flushing --- */

/* stdin is not written to; stdout and stderr are there without having been opened. */
#define EACH_STREAM(f, i, used)                                                         \
	for (i = 0, used = atomic_load(&streams_used) + 2; i < used; i++)               \
		if ((f = i == 0      ? stdout                                           \
			    : i == 1 ? stderr                                           \
				     : atomic_load(&tables->streams[i - 2])) != NULL && \
		    f->_fileno >= 0)

static int
flush_all(int (*flush)(FILE *))
{
	size_t before[STREAMS_MAX + 2] = { 0 };
	uint32_t i, used;
	FILE *f;
	int rc;

	EACH_STREAM(f, i, used)
	before[i] = pending(f);
	rc = flush(NULL);
	EACH_STREAM(f, i, used)
	if (before[i] > pending(f))
		op_untimed(f->_fileno, NWSHM_WRITE, before[i] - pending(f));
	return rc;
}

#define FLUSH(name)                                   \
	EXPORT int name(FILE *f)                      \
	{                                             \
		struct crossing x;                    \
		int rc;                               \
                                                      \
		if (f == NULL)                        \
			return flush_all(REAL(name)); \
		crossing_begin_flush(&x, f);          \
		rc = REAL(name)(f);                   \
		crossing_end_flush(&x, pending(f));   \
		return rc;                            \
	}
FLUSH(fflush)
FLUSH(fflush_unlocked)

/* libc will flush these streams after us, out of sight. To flush them here
 * could change the output's order. */
uint64_t
stdio_count_pending(void)
{
	uint64_t bytes = 0;
	uint32_t i, used;
	FILE *f;

	if (region == NULL)
		return 0;
	EACH_STREAM(f, i, used)
	{
		op_untimed(f->_fileno, NWSHM_WRITE, pending(f));
		bytes += pending(f);
	}
	return bytes;
}
