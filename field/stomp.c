/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/stomp.h"

#include <string.h>

#include "narrows/err.h"

/* Length of the line at p, without its end; *whole is the length with the end, 0 without an end. */
static size_t
line_of(const char *p, size_t len, size_t *whole)
{
	const char *end = memchr(p, '\n', len);
	size_t n = end != NULL ? (size_t)(end - p) : len;

	*whole = end != NULL ? n + 1 : 0;
	return n > 0 && end != NULL && p[n - 1] == '\r' ? n - 1 : n;
}

/* The length of command and headers with the empty line behind them; 0: not whole. */
static size_t
head_len(const char *p, size_t len, struct nw_stomp_frame *f, unsigned *n_headers)
{
	size_t at = 0, n, whole;

	for (*n_headers = 0; at < len; at += whole) {
		n = line_of(p + at, len - at, &whole);
		if (whole == 0)
			return 0;
		if (at == 0) {
			f->command = p;
			f->command_len = n;
			f->headers = p + whole;
		} else if (n == 0) {
			f->headers_len = (size_t)(p + at - f->headers);
			return at + whole;
		} else {
			(*n_headers)++;
		}
	}
	return 0;
}

/* The body's length if a header says it: -1 without the header, -2 for a wrong value. */
static long
content_length(const struct nw_stomp_frame *f)
{
	char text[NW_STOMP_VALUE_BYTES];
	const char *p = text;
	long n = 0;

	if (!nw_stomp_header(f, "content-length", text))
		return -1;
	if (*p == '\0')
		return -2;
	for (; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -2;
		n = 10 * n + (*p - '0');
		if (n > NW_STOMP_BODY_MAX_BYTES)
			return NW_STOMP_BODY_MAX_BYTES + 1L;
	}
	return n;
}

static int
too_big(const char **why)
{
	*why = "a frame of STOMP is longer than a message of transfers may be";
	return NW_ETOOBIG;
}

/* The body behind a whole head. */
static int
body_cut(const char *body, size_t len, struct nw_stomp_frame *f, size_t *took, const char **why)
{
	const long said = content_length(f);
	const char *end;

	if (said == -2) {
		*why = "a frame of STOMP has a wrong content-length";
		return NW_EPROTO;
	}
	if (said > NW_STOMP_BODY_MAX_BYTES)
		return too_big(why);
	f->body = body;
	if (said >= 0) {
		if (len <= (size_t)said)
			return NW_EAGAIN;
		*why = "a frame of STOMP does not end behind its content-length";
		end = body + said;
		if (*end != '\0')
			return NW_EPROTO;
	} else {
		end = memchr(body, '\0',
		    len < NW_STOMP_BODY_MAX_BYTES + 1 ? len : NW_STOMP_BODY_MAX_BYTES + 1);
		if (end == NULL)
			return len > NW_STOMP_BODY_MAX_BYTES ? too_big(why) : NW_EAGAIN;
	}
	f->body_len = (size_t)(end - body);
	*took += f->body_len + 1;
	return NW_OK;
}

int
nw_stomp_cut(
    const uint8_t *bytes, size_t len, struct nw_stomp_frame *out, size_t *took, const char **why)
{
	const char *p = (const char *)bytes;
	size_t skip = 0, head;
	unsigned n_headers;
	int rc;

	memset(out, 0, sizeof(*out));
	while (skip < len && (p[skip] == '\n' || p[skip] == '\r'))
		skip++;
	*took = skip;
	head = head_len(p + skip, len - skip, out, &n_headers);
	if (head > NW_STOMP_HEAD_MAX_BYTES || n_headers > NW_STOMP_HEADERS_MAX ||
	    (head == 0 && len - skip > NW_STOMP_HEAD_MAX_BYTES))
		return too_big(why);
	if (head == 0)
		return NW_EAGAIN;
	if (memchr(p + skip, '\0', head) != NULL) {
		*why = "a frame of STOMP ends within its headers";
		return NW_EPROTO;
	}
	*took = skip + head;
	if ((rc = body_cut(p + skip + head, len - skip - head, out, took, why)) == NW_EAGAIN)
		*took = skip;
	return rc;
}

bool
nw_stomp_is(const struct nw_stomp_frame *f, const char *command)
{
	return strlen(command) == f->command_len &&
	    memcmp(f->command, command, f->command_len) == 0;
}

/* The character of the escape "backslash c"; NUL: no escape. */
static char
unescape(char c)
{
	switch (c) {
	case 'n': return '\n';
	case 'r': return '\r';
	case 'c': return ':';
	case '\\': return '\\';
	default: return '\0';
	}
}

static bool
value_copy(const char *p, size_t len, char out[NW_STOMP_VALUE_BYTES])
{
	size_t n = 0, i;

	for (i = 0; i < len; i++) {
		if (n + 1 >= NW_STOMP_VALUE_BYTES)
			return false;
		out[n] = p[i];
		if (p[i] == '\\' && (i + 1 == len || (out[n] = unescape(p[++i])) == '\0'))
			return false;
		n++;
	}
	out[n] = '\0';
	return true;
}

bool
nw_stomp_header(const struct nw_stomp_frame *f, const char *name, char out[NW_STOMP_VALUE_BYTES])
{
	const size_t name_len = strlen(name);
	size_t at, n, whole;

	for (at = 0; at < f->headers_len; at += whole) {
		n = line_of(f->headers + at, f->headers_len - at, &whole);
		if (whole == 0)
			break;
		if (n > name_len && f->headers[at + name_len] == ':' &&
		    memcmp(f->headers + at, name, name_len) == 0)
			return value_copy(f->headers + at + name_len + 1, n - name_len - 1, out);
	}
	return false;
}

/* --- out --- */

struct writing {
	char *out;
	size_t len, cap;
};

static void
byte_put(struct writing *w, char c)
{
	if (w->len < w->cap)
		w->out[w->len] = c;
	w->len++;
}

/* Puts a text, with or without escapes. */
static void
text_put(struct writing *w, const char *text, bool escapes)
{
	static const char from[] = "\n\r:\\", to[] = "nrc\\";
	const char *at;

	for (; *text != '\0'; text++) {
		at = escapes ? strchr(from, *text) : NULL;
		if (at != NULL)
			byte_put(w, '\\');
		byte_put(w, at != NULL ? to[at - from] : *text);
	}
}

long
nw_stomp_write(const char *command, const char *const *pairs, char *out, size_t cap)
{
	const bool escapes = strcmp(command, "CONNECT") != 0;
	struct writing w = { out, 0, cap };

	text_put(&w, command, false);
	byte_put(&w, '\n');
	for (; pairs[0] != NULL; pairs += 2) {
		if (!escapes && strpbrk(pairs[1], "\r\n") != NULL)
			return NW_EINVAL;
		text_put(&w, pairs[0], escapes);
		byte_put(&w, ':');
		text_put(&w, pairs[1], escapes);
		byte_put(&w, '\n');
	}
	byte_put(&w, '\n');
	byte_put(&w, '\0');
	return w.len <= cap ? (long)w.len : NW_ETOOBIG;
}
