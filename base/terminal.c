/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "narrows/utf8.h"

enum {
	SHOWN_BYTES = 1024,
	ESCAPE_BYTES = sizeof("\\u202e") - 1,
	CHAR_BYTES = 4, /* of the longest character of UTF-8 */
	PIECE_BYTES = 512
};

/* Writes the character of len bytes at s as \uXXXX; len is 2 or 3. */
static void
escape_put(char *out, const char *s, size_t len)
{
	unsigned c = len == 2 ? ((unsigned)s[0] & 0x1f) << 6 | ((unsigned)s[1] & 0x3f)
			      : ((unsigned)s[0] & 0x0f) << 12 | ((unsigned)s[1] & 0x3f) << 6 |
		((unsigned)s[2] & 0x3f);

	snprintf(out, ESCAPE_BYTES + 1, "\\u%04x", c);
}

static bool
is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Writes the character of len bytes at s (0: the byte is no character) into out, which has
 * ESCAPE_BYTES + 1 bytes. Control bytes that `passed` names stay. Returns the written bytes. */
static size_t
char_put(char *out, const char *s, size_t len, const char *passed)
{
	if (len == 0 || (len == 1 && is_control(*s) && (*s == '\0' || !strchr(passed, *s)))) {
		*out = '?';
		return 1;
	}
	if (utf8_steers(s, len)) {
		escape_put(out, s, len);
		return ESCAPE_BYTES;
	}
	memcpy(out, s, len);
	return len;
}

const char *
terminal_text(const char *s)
{
	static _Thread_local char buf[8][SHOWN_BYTES];
	static _Thread_local unsigned turn;
	char *out = buf[turn++ % 8];
	size_t n = 0, len;

	for (; *s != '\0' && n + ESCAPE_BYTES + 1 <= SHOWN_BYTES; s += len > 0 ? len : 1) {
		len = utf8_length(s, strnlen(s, CHAR_BYTES));
		n += char_put(out + n, s, len, "");
	}
	out[n] = '\0';
	return out;
}

/* --- the guard --- */

struct guard {
	FILE *stream, *raw; /* NULL without a guard */
	int fd;
	char left[CHAR_BYTES]; /* begin of a character whose end has not come */
	size_t n_left;
};

static struct guard guards[2];

static bool
all_write(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len > 0; text += n, len -= (size_t)n)
		if ((n = write(fd, text, len)) < 0) {
			if (errno != EINTR)
				return false;
			n = 0;
		}
	return true;
}

/* Length of the unfinished character at the end of a text, 0 if the text ends with a whole one. */
static size_t
tail_length(const char *text, size_t len)
{
	size_t n;

	for (n = 1; n < CHAR_BYTES && n <= len; n++) {
		unsigned char c = (unsigned char)text[len - n];

		if (c >= 0xc0)
			return (size_t)(c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) > n ? n : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

static bool
piece_write(struct guard *g, const char *text, size_t len)
{
	char in[CHAR_BYTES + PIECE_BYTES], out[sizeof(in) * ESCAPE_BYTES + 1];
	size_t n, at, got = 0, step;

	memcpy(in, g->left, g->n_left);
	memcpy(in + g->n_left, text, len);
	n = g->n_left + len;
	g->n_left = tail_length(in, n);
	n -= g->n_left;
	memcpy(g->left, in + n, g->n_left);
	for (at = 0; at<n; at += step> 0 ? step : 1) {
		step = utf8_length(in + at, n - at);
		got += char_put(out + got, in + at, step, "\t\n");
	}
	return all_write(g->fd, out, got);
}

static ssize_t
on_write(void *cookie, const char *text, size_t len)
{
	size_t done, n;

	for (done = 0; done < len; done += n) {
		n = len - done < PIECE_BYTES ? len - done : PIECE_BYTES;
		if (!piece_write(cookie, text + done, n))
			return 0; /* an error of the stream */
	}
	return (ssize_t)len;
}

/* Returns the stream that takes the place of f. */
static FILE *
stream_guard(struct guard *g, FILE *f, int fd, int buffering)
{
	if (g->stream != NULL || !isatty(fd))
		return f;
	g->fd = fd;
	g->raw = f;
	if ((g->stream = fopencookie(g, "w", (cookie_io_functions_t){ .write = on_write })) == NULL)
		return f;
	fflush(f);
	setvbuf(g->stream, NULL, buffering, 0);
	return g->stream;
}

void
terminal_guard(void)
{
	stdout = stream_guard(&guards[0], stdout, STDOUT_FILENO, _IOLBF);
	stderr = stream_guard(&guards[1], stderr, STDERR_FILENO, _IONBF);
}

static const struct guard *
guard_of(const FILE *f)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (guards[i].stream != NULL && guards[i].stream == f)
			return &guards[i];
	return NULL;
}

bool
terminal_shows(const FILE *f)
{
	return guard_of(f) != NULL;
}

void
terminal_steer(FILE *f, const char *sequence)
{
	const struct guard *g = guard_of(f);

	if (g == NULL) {
		fputs(sequence, f);
		return;
	}
	fflush(f);
	(void)all_write(g->fd, sequence, strlen(sequence));
}

void
terminal_put(FILE *f, const char *text)
{
	if (!terminal_shows(f)) {
		fputs(text, f);
		return;
	}
	for (; *text != '\0'; text++)
		putc(is_control(*text) ? '?' : *text, f);
}
