/* SPDX-License-Identifier: BSD-3-Clause */
#include "send/sendtext.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static bool
is_line(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static bool
put(FILE *f, const char *name, const char *value)
{
	return value == NULL || (is_line(value) && fprintf(f, "%s %s\n", name, value) > 0);
}

int
sendtext_write(const struct exchange *x, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);
	bool good = f != NULL;
	size_t i;

	if (f == NULL)
		return NW_ENOMEM;
	good = put(f, "url", x->url) && put(f, "ca-file", x->ca_file) && put(f, "sign", x->sign) &&
	    put(f, "cert-file", x->cert_file) && put(f, "key-file", x->key_file) &&
	    put(f, "method", x->method) && put(f, "proxy", x->proxy) && put(f, "user", x->user) &&
	    put(f, "password", x->password);
	for (i = 0; good && i < EXCHANGE_LINES_MAX && x->lines[i] != NULL; i++)
		good = put(f, "line", x->lines[i]);
	fprintf(f, "timeout-ns %" PRId64 "\n", x->timeout_ns);
	if (x->body != NULL)
		fprintf(f, "body-bytes %zu\n", x->body_len);
	fputc('\n', f);
	if (fclose(f) == 0 && good)
		return NW_OK;
	free(*text);
	*text = NULL;
	return good ? NW_ENOMEM : NW_EINVAL;
}

static bool
number_read(const char *text, int64_t max, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *out >= 0 && *out <= max;
}

/* Takes a line; *body_bytes becomes the length of the body. */
static bool
take(struct exchange *x, size_t *n_lines, int64_t *body_bytes, char *line)
{
	char *value = strchr(line, ' ');
	struct {
		const char *name, **at;
	} const texts[] = { { "url", &x->url }, { "ca-file", &x->ca_file }, { "proxy", &x->proxy },
		{ "sign", &x->sign }, { "cert-file", &x->cert_file }, { "key-file", &x->key_file },
		{ "method", &x->method }, { "user", &x->user }, { "password", &x->password } };
	size_t i;

	if (value == NULL)
		return false;
	*value++ = '\0';
	if (!is_line(value))
		return false;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(line, texts[i].name) == 0) {
			*texts[i].at = value;
			return true;
		}
	if (strcmp(line, "line") == 0 && *n_lines < EXCHANGE_LINES_MAX) {
		x->lines[(*n_lines)++] = value;
		return true;
	}
	if (strcmp(line, "timeout-ns") == 0)
		return number_read(value, INT64_MAX, &x->timeout_ns);
	return strcmp(line, "body-bytes") == 0 &&
	    number_read(value, EXCHANGE_BODY_MAX_BYTES, body_bytes);
}

int
sendtext_read(char *bytes, size_t len, struct exchange *x)
{
	char *line = bytes, *end;
	int64_t body_bytes = -1;
	size_t n_lines = 0;

	memset(x, 0, sizeof(*x));
	while ((end = memchr(line, '\n', len - (size_t)(line - bytes))) != NULL && end != line) {
		*end = '\0';
		if (!take(x, &n_lines, &body_bytes, line))
			return NW_EPROTO;
		line = end + 1;
	}
	if (end == NULL || x->url == NULL)
		return NW_EPROTO;
	x->body_len = len - (size_t)(end + 1 - bytes);
	if (body_bytes >= 0)
		x->body = end + 1;
	return x->body_len == (body_bytes >= 0 ? (size_t)body_bytes : 0) ? NW_OK : NW_EPROTO;
}
