/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files for `narrows stat`, decompressed by name. A file that unpacks beyond the limit is
 * refused before the memory is taken. See stat.h. */
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/stat/stat.h"

#define READ_BYTES      65536
#define LZMA_MEMORY_MAX (256u << 20)

int
stat_fail(struct stat_error *err, int code, const char *fmt, ...)
{
	va_list ap;
	char *p;

	if (err->text[0] != '\0')
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* a file's bytes must not reach the terminal as commands */
	for (p = err->text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return code;
}

struct buffer {
	char *bytes;
	size_t n, room;
};

/* Makes room for `n` more and the closing NUL. */
static int
buffer_reserve(struct buffer *b, size_t n)
{
	size_t room = b->room;
	char *grown;

	if (n > STAT_FILE_BYTES_MAX - b->n)
		return NW_ETOOBIG;
	while (room < b->n + n + 1)
		room = room == 0 ? READ_BYTES : 2 * room;
	if (room == b->room)
		return NW_OK;
	if ((grown = realloc(b->bytes, room)) == NULL)
		return NW_ENOMEM;
	b->bytes = grown;
	b->room = room;
	return NW_OK;
}

/*
 * One way to unpack. step() takes bytes from `in`, appends to `out` and sets *done at the end of
 * the stream. NW_EAGAIN asks for more input. A second stream after the first (concatenated files)
 * starts anew.
 */
struct unpacker {
	int (*open)(void **state);
	int (*step)(void *state, const char *in, size_t n_in, size_t *taken, struct buffer *out,
	    bool *done);
	void (*close)(void *state);
};

static int
gzip_open(void **state)
{
	z_stream *z = calloc(1, sizeof(*z));

	if (z == NULL || inflateInit2(z, 15 + 16) != Z_OK) { /* 16: the gzip wrapper */
		free(z);
		return NW_ENOMEM;
	}
	*state = z;
	return NW_OK;
}

static int
gzip_step(void *state, const char *in, size_t n_in, size_t *taken, struct buffer *out, bool *done)
{
	z_stream *z = state;
	int rc;

	z->next_in = (Bytef *)(uintptr_t)in;
	z->avail_in = (uInt)n_in;
	z->next_out = (Bytef *)out->bytes + out->n;
	z->avail_out = READ_BYTES;
	rc = inflate(z, Z_NO_FLUSH);
	*taken = n_in - z->avail_in;
	out->n += READ_BYTES - z->avail_out;
	if (rc == Z_STREAM_END) {
		*done = true;
		return inflateReset(z) == Z_OK ? NW_OK : NW_ECORRUPT;
	}
	return rc == Z_OK || rc == Z_BUF_ERROR ? NW_OK
	    : rc == Z_MEM_ERROR                ? NW_ENOMEM
					       : NW_ECORRUPT;
}

static void
gzip_close(void *state)
{
	inflateEnd(state);
	free(state);
}

static int
xz_open(void **state)
{
	static const lzma_stream fresh = LZMA_STREAM_INIT;
	lzma_stream *s = malloc(sizeof(*s));

	if (s == NULL)
		return NW_ENOMEM;
	*s = fresh;
	if (lzma_stream_decoder(s, LZMA_MEMORY_MAX, 0) != LZMA_OK) {
		free(s);
		return NW_ENOMEM;
	}
	*state = s;
	return NW_OK;
}

static int
xz_step(void *state, const char *in, size_t n_in, size_t *taken, struct buffer *out, bool *done)
{
	lzma_stream *s = state;
	lzma_ret rc;

	s->next_in = (const uint8_t *)in;
	s->avail_in = n_in;
	s->next_out = (uint8_t *)out->bytes + out->n;
	s->avail_out = READ_BYTES;
	rc = lzma_code(s, LZMA_RUN);
	*taken = n_in - s->avail_in;
	out->n += READ_BYTES - s->avail_out;
	if (rc == LZMA_STREAM_END) {
		*done = true;
		rc = lzma_stream_decoder(s, LZMA_MEMORY_MAX, 0);
	}
	return rc == LZMA_OK || rc == LZMA_BUF_ERROR            ? NW_OK
	    : rc == LZMA_MEM_ERROR || rc == LZMA_MEMLIMIT_ERROR ? NW_ENOMEM
								: NW_ECORRUPT;
}

static void
xz_close(void *state)
{
	lzma_end(state);
	free(state);
}

static int
zstd_open(void **state)
{
	return (*state = ZSTD_createDStream()) == NULL ? NW_ENOMEM : NW_OK;
}

static int
zstd_step(void *state, const char *in, size_t n_in, size_t *taken, struct buffer *out, bool *done)
{
	ZSTD_inBuffer from = { in, n_in, 0 };
	ZSTD_outBuffer to = { out->bytes + out->n, READ_BYTES, 0 };
	size_t left = ZSTD_decompressStream(state, &to, &from);

	if (ZSTD_isError(left))
		return NW_ECORRUPT;
	*taken = from.pos;
	out->n += to.pos;
	*done = left == 0;
	return NW_OK;
}

static void
zstd_close(void *state)
{
	ZSTD_freeDStream(state);
}

static const struct {
	const char *suffix;
	struct unpacker unpacker;
} unpackers[] = { { ".gz", { gzip_open, gzip_step, gzip_close } },
	{ ".xz", { xz_open, xz_step, xz_close } },
	{ ".zst", { zstd_open, zstd_step, zstd_close } } };

static const struct unpacker *
unpacker_for(const char *path)
{
	size_t i, n = strlen(path), k;

	for (i = 0; i < sizeof(unpackers) / sizeof(unpackers[0]); i++) {
		k = strlen(unpackers[i].suffix);
		if (n > k && strcmp(path + n - k, unpackers[i].suffix) == 0)
			return &unpackers[i].unpacker;
	}
	return NULL;
}

static int
unpack(const struct unpacker *u, const struct buffer *in, struct buffer *out)
{
	size_t at = 0, taken, before;
	void *state;
	bool done = false;
	int rc;

	if ((rc = u->open(&state)) != NW_OK)
		return rc;
	for (;;) {
		size_t n = in->n - at < READ_BYTES ? in->n - at : READ_BYTES;

		if (done && n == 0)
			break;
		before = out->n;
		done = false;
		taken = 0;
		if ((rc = buffer_reserve(out, READ_BYTES)) != NW_OK)
			break;
		if ((rc = u->step(state, in->bytes + at, n, &taken, out, &done)) != NW_OK)
			break;
		at += taken;
		if (taken == 0 && out->n == before && !done) { /* wants more than there is */
			rc = NW_ECORRUPT;
			break;
		}
	}
	u->close(state);
	return rc;
}

/* Reads the next bytes of the descriptor; *n is 0 at the end. */
static int
read_some(int fd, char *bytes, size_t *n)
{
	ssize_t got;

	while ((got = read(fd, bytes, READ_BYTES)) < 0 && errno == EINTR)
		;
	*n = got > 0 ? (size_t)got : 0;
	return got < 0 ? NW_EIO : NW_OK;
}

static int
write_all(FILE *to, const char *bytes, size_t n)
{
	return n == 0 || fwrite(bytes, 1, n, to) == n ? NW_OK : NW_EIO;
}

/* Unpacks, or copies where u is NULL. */
static int
copy(const struct unpacker *u, void *state, int fd, FILE *to)
{
	struct buffer out = { 0 };
	size_t n = 0, at = 0, taken;
	char in[READ_BYTES];
	bool done = u == NULL, at_end = false;
	int rc;

	for (;;) {
		if (at == n && !at_end) {
			if ((rc = read_some(fd, in, &n)) != NW_OK)
				break;
			at = 0;
			at_end = n == 0;
		}
		if (at_end && done)
			break;
		taken = n - at;
		out.n = 0;
		if (u == NULL) {
			rc = write_all(to, in, n);
		} else if ((rc = buffer_reserve(&out, READ_BYTES)) == NW_OK) {
			done = false;
			taken = 0;
			rc = u->step(state, in + at, n - at, &taken, &out, &done);
			if (rc == NW_OK && taken == 0 && out.n == 0 && !done)
				rc = NW_ECORRUPT; /* wants more than there is */
			if (rc == NW_OK)
				rc = write_all(to, out.bytes, out.n);
		}
		if (rc != NW_OK)
			break;
		at += taken;
	}
	free(out.bytes);
	return rc;
}

int
stat_file_copy(const char *path, FILE *to, struct stat_error *err)
{
	const struct unpacker *u = unpacker_for(path);
	bool from_stdin = strcmp(path, "-") == 0;
	const char *name = from_stdin ? "stdin" : path;
	int rc = NW_OK, fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	void *state = NULL;

	if (fd < 0)
		return stat_fail(err, NW_EIO, "%s: %s", path, strerror(errno));
	if (u == NULL || (rc = u->open(&state)) == NW_OK)
		rc = copy(u, state, fd, to);
	if (rc == NW_OK && fflush(to) != 0)
		rc = NW_EIO;
	if (rc != NW_OK)
		stat_fail(
		    err, rc, "%s: %s", name, rc == NW_EIO ? strerror(errno) : nw_strerror(rc));
	if (u != NULL && state != NULL)
		u->close(state);
	if (!from_stdin)
		close(fd);
	return rc;
}

static int
read_all(int fd, struct buffer *b)
{
	ssize_t n;
	int rc;

	do {
		if ((rc = buffer_reserve(b, READ_BYTES)) != NW_OK)
			return rc;
		while ((n = read(fd, b->bytes + b->n, READ_BYTES)) < 0 && errno == EINTR)
			;
		if (n < 0)
			return NW_EIO;
		b->n += (size_t)n;
	} while (n > 0);
	return NW_OK;
}

int
stat_file_read(const char *path, char **bytes, size_t *n_bytes, struct stat_error *err)
{
	const struct unpacker *u = unpacker_for(path);
	struct buffer raw = { 0 }, plain = { 0 };
	bool from_stdin = strcmp(path, "-") == 0;
	const char *name = from_stdin ? "stdin" : path;
	int rc, fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return stat_fail(err, NW_EIO, "%s: %s", path, strerror(errno));
	rc = read_all(fd, &raw);
	if (rc == NW_EIO)
		stat_fail(err, rc, "%s: %s", name, strerror(errno));
	if (!from_stdin)
		close(fd);
	if (rc == NW_OK && u != NULL) {
		rc = unpack(u, &raw, &plain);
		free(raw.bytes);
		raw = plain;
	}
	if (rc != NW_OK) {
		free(raw.bytes);
		return stat_fail(err, rc, "%s: %s", name, nw_strerror(rc));
	}
	raw.bytes[raw.n] = '\0';
	*bytes = raw.bytes;
	*n_bytes = raw.n;
	return NW_OK;
}
