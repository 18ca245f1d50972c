/* SPDX-License-Identifier: BSD-3-Clause */
#include "field/jsonscan.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/utf8.h"

enum { NUMBER_BYTES = 40 };

struct scan {
	const char *at, *end;
	jsonscan_fn *fn;
	void *arg;
	const char **why;
	char path[JSONSCAN_PATH_BYTES];
	char text[JSONSCAN_TEXT_BYTES];
	unsigned depth;
};

static int
bad(struct scan *s, const char *why)
{
	*s->why = why;
	return NW_EPROTO;
}

static void
blanks_skip(struct scan *s)
{
	while (
	    s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

/* The next character that is no blank; NUL at the end. */
static char
next(struct scan *s)
{
	blanks_skip(s);
	return s->at < s->end ? *s->at : '\0';
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Four digits at the present place; -1 for anything else. */
static int
unicode_take(struct scan *s)
{
	int code = 0, i;

	if (s->end - s->at < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		if (hex_digit(s->at[i]) < 0)
			return -1;
		code = 16 * code + hex_digit(s->at[i]);
	}
	s->at += 4;
	return code;
}

/* Writes a code of the basic plane as UTF-8; halves of pairs and NUL become a question mark. */
static size_t
unicode_put(int code, char *out)
{
	if (code == 0 || (code >= 0xd800 && code <= 0xdfff))
		code = '?';
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | code >> 12);
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

/* Takes the escape behind a backslash. Returns the bytes written, 0 for no escape. */
static size_t
escape_take(struct scan *s, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known;
	int code;

	if (s->at == s->end)
		return 0;
	if (*s->at == 'u') {
		s->at++;
		code = unicode_take(s);
		return code < 0 ? 0 : unicode_put(code, out);
	}
	known = *s->at != '\0' ? strchr(from, *s->at) : NULL;
	if (known == NULL)
		return 0;
	s->at++;
	out[0] = to[known - from];
	return 1;
}

/* Takes a text behind its first quotation mark into out, which ends with NUL. */
static int
text_take(struct scan *s, char *out, size_t size)
{
	size_t n = 0, took;

	while (s->at < s->end && *s->at != '"') {
		if (n + 4 > size) {
			*s->why = "a text is too long";
			return NW_ETOOBIG;
		}
		if (*s->at == '\\') {
			s->at++;
			took = escape_take(s, out + n);
		} else {
			took = (unsigned char)*s->at < ' '
			    ? 0
			    : utf8_length(s->at, (size_t)(s->end - s->at));
			if (n + took + 1 > size)
				took = 0;
			memcpy(out + n, s->at, took);
			s->at += took;
		}
		if (took == 0)
			return bad(s, "a text is not JSON");
		n += took;
	}
	if (s->at == s->end)
		return bad(s, "a text does not end");
	s->at++;
	out[n] = '\0';
	return NW_OK;
}

static int
number_take(struct scan *s)
{
	struct jsonscan_value v = { .kind = JSONSCAN_NUMBER, .whole = INT64_MIN };
	char digits[NUMBER_BYTES], *rest;
	size_t n = 0;
	bool fraction = false;

	while (s->at < s->end && n + 1 < sizeof(digits) && *s->at != '\0' &&
	    strchr("+-.0123456789eE", *s->at) != NULL) {
		fraction |= *s->at == '.' || *s->at == 'e' || *s->at == 'E';
		digits[n++] = *s->at++;
	}
	digits[n] = '\0';
	v.number = strtod(digits, &rest);
	if (n == 0 || *rest != '\0' || (digits[0] != '-' && (digits[0] < '0' || digits[0] > '9')))
		return bad(s, "a number is not JSON");
	if (!fraction && v.number > -9.2e18 && v.number < 9.2e18)
		v.whole = strtoll(digits, NULL, 10);
	return s->fn(s->arg, s->path, &v);
}

static int
word_take(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };
	struct jsonscan_value v = { .kind = JSONSCAN_WORD, .whole = INT64_MIN };
	size_t i, len;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		len = strlen(words[i]);
		if ((size_t)(s->end - s->at) < len || memcmp(s->at, words[i], len) != 0)
			continue;
		s->at += len;
		v.text = words[i];
		return s->fn(s->arg, s->path, &v);
	}
	return bad(s, "a value is not JSON");
}

static int value_take(struct scan *s);

/* Takes a key and its value. */
static int
member_take(struct scan *s)
{
	size_t before = strlen(s->path), at = before > 0 ? before + 1 : 0;
	int rc;

	if (next(s) != '"')
		return bad(s, "an object has no key");
	s->at++;
	if (at + 8 > sizeof(s->path)) {
		*s->why = "a path is too long";
		return NW_ETOOBIG;
	}
	if (before > 0)
		s->path[before] = '.';
	s->path[at] = '\0';
	if ((rc = text_take(s, s->path + at, sizeof(s->path) - at)) < 0)
		return rc;
	if (next(s) != ':')
		return bad(s, "a key has no value");
	s->at++;
	rc = value_take(s);
	s->path[before] = '\0';
	return rc;
}

/* Takes the members or elements behind the bracket, up to the bracket that closes the list. */
static int
list_take(struct scan *s, char close)
{
	int rc;

	if (++s->depth > JSONSCAN_DEPTH_MAX) {
		*s->why = "a document is too deep";
		return NW_ETOOBIG;
	}
	s->at++;
	if (next(s) != close) {
		for (;;) {
			rc = close == '}' ? member_take(s) : value_take(s);
			if (rc < 0)
				return rc;
			if (next(s) != ',')
				break;
			s->at++;
		}
		if (next(s) != close)
			return bad(s, "a list does not end");
	}
	s->at++;
	s->depth--;
	return NW_OK;
}

static int
value_take(struct scan *s)
{
	struct jsonscan_value v = { .kind = JSONSCAN_TEXT, .whole = INT64_MIN };
	int rc;

	switch (next(s)) {
	case '{': return list_take(s, '}');
	case '[': return list_take(s, ']');
	case '"':
		s->at++;
		if ((rc = text_take(s, s->text, sizeof(s->text))) < 0)
			return rc;
		v.text = s->text;
		return s->fn(s->arg, s->path, &v);
	case 't':
	case 'f':
	case 'n': return word_take(s);
	default: return number_take(s);
	}
}

int
jsonscan(const char *bytes, size_t len, jsonscan_fn *fn, void *arg, const char **why)
{
	struct scan s = { .at = bytes, .end = bytes + len, .fn = fn, .arg = arg, .why = why };
	int rc;

	*why = NULL;
	if (next(&s) != '{')
		return bad(&s, "the document is no object");
	if ((rc = value_take(&s)) < 0)
		return rc;
	while (s.at < s.end && (next(&s) == '\0' && s.at < s.end))
		s.at++;
	return s.at == s.end ? NW_OK : bad(&s, "bytes follow the document");
}
