/* SPDX-License-Identifier: BSD-3-Clause */
#include "field/xrdwire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field/fieldtext.h"
#include "field/jsonscan.h"
#include "narrows/err.h"

enum { HEADER_BYTES = 8, ID_BYTES = 4, RECORD_BYTES = 8, WORD_BYTES = 24, TIME_BYTES = 40 };
/* Sizes of whole records, and where their parts begin. */
enum { TIME_SIZE = 24, OPEN_SIZE = 16, MOVED_SIZE = 32, OPS_AT = 32, OPS_SIZE = 80, PATH_AT = 20 };
enum { FLAG_SID = 1, FLAG_PATH = 1, FLAG_WRITES = 2, FLAG_OPS = 2 };

static uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static uint64_t
be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

/* A count of bytes; NaN for a negative number, which no count is. */
static double
count64(const uint8_t *p)
{
	int64_t n = (int64_t)be64(p);

	return n >= 0 ? (double)n : NAN;
}

static double
count32(const uint8_t *p)
{
	int32_t n = (int32_t)be32(p);

	return n >= 0 ? (double)n : NAN;
}

int
xrd_datagram_read(const uint8_t *bytes, size_t len, struct xrd_datagram *out, const char **why)
{
	size_t whole = len >= HEADER_BYTES ? be16(bytes + 2) : 0;

	*why = "a datagram of XRootD is shorter than it says";
	if (whole < HEADER_BYTES || whole > len)
		return NW_EPROTO;
	*out =
	    (struct xrd_datagram){ bytes[0], bytes[1], bytes + HEADER_BYTES, whole - HEADER_BYTES };
	return NW_OK;
}

/* --- maps --- */

/* The last c of a text; NULL without one. */
static const char *
last_of(const char *text, size_t len, char c)
{
	return len > 0 ? memrchr(text, c, len) : NULL;
}

void
xrd_host_copy(char out[NW_ANNOUNCE_ADDRESS_BYTES], const char *text, size_t len)
{
	char plain[NW_ANNOUNCE_ADDRESS_BYTES];

	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	fieldtext_copy(plain, sizeof(plain), text, len);
	if (strncmp(plain, "::", 2) == 0 && strchr(plain, '.') != NULL &&
	    fieldtext_address(plain + 2, out))
		return;
	if (!fieldtext_address(plain, out))
		memcpy(out, plain, sizeof(plain));
}

/* Reads the line of a login. Returns false for another form. */
static bool
client_read(const char *line, size_t len, struct xrd_client *c, uint64_t *sid)
{
	const char *host = last_of(line, len, '@'), *colon, *dot, *user;
	const char *p;

	if (host == NULL || (colon = last_of(line, (size_t)(host - line), ':')) == NULL ||
	    (dot = last_of(line, (size_t)(colon - line), '.')) == NULL ||
	    (user = memchr(line, '/', (size_t)(dot - line))) == NULL || host == colon + 1)
		return false;
	for (*sid = 0, p = colon + 1; p < host; p++) {
		if (*p < '0' || *p > '9' || *sid > UINT64_MAX / 10 - 1)
			return false;
		*sid = 10 * *sid + (uint64_t)(*p - '0');
	}
	c->pid = (uint32_t)strtoul(dot + 1, NULL, 10); /* a colon follows */
	c->is_http = user - line >= 4 && memcmp(line, "http", 4) == 0;
	fieldtext_copy(c->user, sizeof(c->user), user + 1, (size_t)(dot - user - 1));
	xrd_host_copy(c->host, host + 1, (size_t)(line + len - host - 1));
	return c->host[0] != '\0';
}

int
xrd_map_read(const struct xrd_datagram *d, struct xrd_map *out, const char **why)
{
	const char *text = (const char *)d->body + ID_BYTES, *end;
	size_t len;

	*why = "a map packet of XRootD names no login";
	if (d->len <= ID_BYTES)
		return NW_EPROTO;
	out->id = be32(d->body);
	len = strnlen(text, d->len - ID_BYTES);
	end = memchr(text, '\n', len);
	out->rest = end != NULL ? end + 1 : text + len;
	out->rest_len = (size_t)(text + len - out->rest);
	if (!client_read(text, end != NULL ? (size_t)(end - text) : len, &out->client, &out->sid))
		return NW_EPROTO;
	return NW_OK;
}

bool
xrd_map_word(const struct xrd_map *m, const char *key, char *out, size_t size)
{
	const char *p = m->rest, *end = p + m->rest_len, *next;
	size_t n = strlen(key);

	out[0] = '\0';
	for (; p < end; p = next) {
		if (*p == '&')
			p++;
		next = memchr(p, '&', (size_t)(end - p));
		if (next == NULL)
			next = end;
		if ((size_t)(next - p) > n && memcmp(p, key, n) == 0 && p[n] == '=') {
			fieldtext_copy(out, size, p + n + 1, (size_t)(next - p) - n - 1);
			return out[0] != '\0';
		}
	}
	return false;
}

int64_t
xrd_map_number(const struct xrd_map *m, const char *key, int64_t max)
{
	char word[WORD_BYTES], *end;
	long long n;

	if (!xrd_map_word(m, key, word, sizeof(word)) || word[0] < '0' || word[0] > '9')
		return -1;
	n = strtoll(word, &end, 10);
	return *end == '\0' && n <= max ? n : -1;
}

/* --- the f-stream --- */

static void
open_read(const uint8_t *p, size_t size, unsigned flags, struct xrd_record *out)
{
	out->size_bytes = count64(p + RECORD_BYTES);
	out->writes = flags & FLAG_WRITES;
	if (!(flags & FLAG_PATH) || size <= PATH_AT)
		return;
	out->login = be32(p + OPEN_SIZE);
	out->path = (const char *)p + PATH_AT;
	out->path_len = strnlen(out->path, size - PATH_AT);
}

static void
moved_read(const uint8_t *p, size_t size, unsigned flags, struct xrd_record *out)
{
	out->read_bytes = count64(p + 8);
	out->vector_bytes = count64(p + 16);
	out->written_bytes = count64(p + 24);
	if (out->type != XRD_CLOSE || !(flags & FLAG_OPS) || size < OPS_SIZE)
		return;
	out->reads = count32(p + OPS_AT);
	out->vector_reads = count32(p + OPS_AT + 4);
	out->writes_done = count32(p + OPS_AT + 8);
}

int
xrd_record_take(const uint8_t **at, const uint8_t *end, struct xrd_record *out, const char **why)
{
	static const size_t least[] = { [XRD_CLOSE] = MOVED_SIZE,
		[XRD_OPEN] = OPEN_SIZE,
		[XRD_TIME] = TIME_SIZE,
		[XRD_TRANSFER] = MOVED_SIZE,
		[XRD_GONE] = RECORD_BYTES };
	const uint8_t *p = *at;
	size_t left = (size_t)(end - p), size = left >= RECORD_BYTES ? be16(p + 2) : 0;
	unsigned flags;

	*why = "a record of XRootD's f-stream has a wrong size";
	if (size < RECORD_BYTES || size > left ||
	    (p[0] < sizeof(least) / sizeof(least[0]) && size < least[p[0]]))
		return NW_EPROTO;
	*out = (struct xrd_record){ .type = p[0],
		.id = be32(p + 4),
		.read_bytes = NAN,
		.vector_bytes = NAN,
		.written_bytes = NAN,
		.reads = NAN,
		.vector_reads = NAN,
		.writes_done = NAN,
		.size_bytes = NAN };
	flags = p[1];
	*at = p + size;
	if (out->type == XRD_OPEN)
		open_read(p, size, flags, out);
	else if (out->type == XRD_CLOSE || out->type == XRD_TRANSFER)
		moved_read(p, size, flags, out);
	else if (out->type == XRD_TIME) {
		out->begin_s = be32(p + 8);
		out->end_s = be32(p + 12);
		out->sid = flags & FLAG_SID ? be64(p + 16) & UINT64_C(0xffffffffffff) : 0;
	}
	return NW_OK;
}

/* --- g-streams --- */

/*
 * "2026-11-23T01:18:56.984Z". XRootD prints microseconds without the zeros in front: ".984Z" is 984
 * microseconds (XrdXrootdTpcMon.cc of 5.5 to 5.7).
 */
static bool
copy_time_read(const char *text, int64_t *t_wall_ns)
{
	char whole[TIME_BYTES], *dot, *end;
	long us;

	if (strlen(text) >= sizeof(whole))
		return false;
	strcpy(whole, text);
	if ((dot = strchr(whole, '.')) == NULL || dot[1] < '0' || dot[1] > '9')
		return false;
	us = strtol(dot + 1, &end, 10);
	if (strcmp(end, "Z") != 0 || us > 999999)
		return false;
	strcpy(dot, "Z");
	if (!fieldtext_time(whole, t_wall_ns))
		return false;
	*t_wall_ns += us * 1000;
	return true;
}

/* "user.pid:fd@host". */
static void
client_name(struct xrd_json *j, const char *text)
{
	size_t n = strcspn(text, ".@");

	fieldtext_copy(j->user, sizeof(j->user), text, n);
	j->pid = text[n] == '.' ? (uint32_t)strtoul(text + n + 1, NULL, 10) : 0;
}

static int
on_value(void *arg, const char *path, const struct jsonscan_value *v)
{
	struct xrd_json *j = arg;
	const char *text = v->kind == JSONSCAN_TEXT ? v->text : "";
	bool ok = true;

	if (strcmp(path, "code") == 0)
		j->code = text[0];
	else if (strcmp(path, "pseq") == 0)
		j->seq = v->whole;
	else if (strcmp(path, "sid") == 0)
		j->sid = v->whole;
	else if (strcmp(path, "gs.type") == 0)
		j->kind = text[0];
	else if (strcmp(path, "src.ver") == 0)
		fieldtext_copy(j->version, sizeof(j->version), text, strlen(text));
	else if (strcmp(path, "TPC") == 0)
		j->is_copy = true;
	else if (strcmp(path, "Client") == 0)
		client_name(j, text);
	else if (strcmp(path, "Xeq.Beg") == 0)
		ok = copy_time_read(text, &j->begin_wall_ns);
	else if (strcmp(path, "Xeq.End") == 0)
		ok = copy_time_read(text, &j->end_wall_ns);
	else if (strcmp(path, "Xeq.RC") == 0)
		j->status = v->whole;
	else if (strcmp(path, "Xeq.Type") == 0)
		j->is_push = strcmp(text, "push") == 0;
	else if (strcmp(path, "Src") == 0)
		fieldtext_copy(j->from, sizeof(j->from), text, strlen(text));
	else if (strcmp(path, "Dst") == 0)
		fieldtext_copy(j->to, sizeof(j->to), text, strlen(text));
	else if (strcmp(path, "Size") == 0)
		j->size_bytes = v->whole;
	if (!ok)
		j->why = "a third-party copy has a wrong time";
	return ok ? NW_OK : NW_EPROTO;
}

int
xrd_json_read(const char *line, size_t len, struct xrd_json *out, const char **why)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->seq = out->sid = out->size_bytes = -1;
	rc = jsonscan(line, len, on_value, out, why);
	if (out->why != NULL)
		*why = out->why;
	return rc;
}
