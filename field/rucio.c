/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/rucio.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "field/fieldtext.h"
#include "field/jsonscan.h"
#include "narrows/err.h"
#include "narrows/fnv.h"

/* Rucio's times are seconds since 1970, with a fraction. */
#define S_LAST 7258118400.0 /* 2200-01-01 */
#define MOST_S 1e8          /* of a transfer: three years */

/* The times of a trace, in the order of the work: the client's begin, that of this attempt, of the
 * bytes, of the checksum, and the ends of bytes and work. Clients send some of these alone. */
enum moment { BEGUN, ATTEMPTED, MOVING, CHECKING, MOVED, OVER, MOMENTS };

struct trace {
	char event[NW_ANNOUNCE_NAME_BYTES], state[NW_ANNOUNCE_NAME_BYTES];
	char id[NW_ANNOUNCE_NAME_BYTES], scope[NW_ANNOUNCE_NAME_BYTES];
	char file[NW_ANNOUNCE_FILE_BYTES], url[NW_ANNOUNCE_FILE_BYTES];
	char remote_site[NW_ANNOUNCE_NAME_BYTES], account[NW_ANNOUNCE_NAME_BYTES];
	char trace_ip[NW_ANNOUNCE_NAME_BYTES], ip[NW_ANNOUNCE_NAME_BYTES];
	double at_s[MOMENTS]; /* NaN: not said */
	double bytes;
};

/* --- keys --- */

static bool
text_read(struct trace *t, const char *path, const struct jsonscan_value *v)
{
	const struct fieldtext_place texts[] = { { "eventType", t->event, sizeof(t->event) },
		{ "clientState", t->state, sizeof(t->state) }, { "uuid", t->id, sizeof(t->id) },
		{ "scope", t->scope, sizeof(t->scope) }, { "filename", t->file, sizeof(t->file) },
		{ "url", t->url, sizeof(t->url) },
		{ "remoteSite", t->remote_site, sizeof(t->remote_site) },
		{ "account", t->account, sizeof(t->account) },
		{ "traceIp", t->trace_ip, sizeof(t->trace_ip) }, { "ip", t->ip, sizeof(t->ip) } };

	return fieldtext_take(texts, sizeof(texts) / sizeof(texts[0]), path, v);
}

static int
on_value(void *arg, const char *path, const struct jsonscan_value *v)
{
	static const char *const moments[MOMENTS] = { [BEGUN] = "timeStart",
		[ATTEMPTED] = "relativeStart",
		[MOVING] = "transferStart",
		[CHECKING] = "validateStart",
		[MOVED] = "transferEnd",
		[OVER] = "timeEnd" };
	struct trace *t = arg;
	size_t i;

	if (text_read(t, path, v) || v->kind != JSONSCAN_NUMBER)
		return NW_OK;
	if (strcmp(path, "filesize") == 0)
		t->bytes = v->number >= 0 ? v->number : NAN;
	for (i = 0; i < MOMENTS; i++)
		if (strcmp(path, moments[i]) == 0)
			t->at_s[i] = v->number > 0 && v->number < S_LAST ? v->number : NAN;
	return NW_OK;
}

/* --- a trace --- */

/* Seconds between two moments; NaN if a moment is not said. */
static double
span(double from_s, double to_s)
{
	return to_s >= from_s ? to_s - from_s : NAN;
}

static double
first_known(double a, double b)
{
	return isfinite(a) ? a : b;
}

/* The storage's end: the host of the URL, or Rucio's name of the storage element. */
static void
server_copy(const struct trace *t, char out[NW_ANNOUNCE_ADDRESS_BYTES])
{
	char host[NW_ANNOUNCE_ADDRESS_BYTES] = "";

	if (strstr(t->url, "://") != NULL)
		fieldtext_url_host(t->url, host, sizeof(host));
	if (host[0] == '\0')
		memcpy(host, t->remote_site, sizeof(host));
	if (!fieldtext_address(host, out))
		memcpy(out, host, sizeof(host));
}

/* The numeric address of the client: as the server of Rucio saw it, as the client says, or the
 * sender of the trace. */
static void
client_copy(const struct trace *t, const char *peer, char out[NW_ANNOUNCE_ADDRESS_BYTES])
{
	if (!fieldtext_address(t->trace_ip, out) && !fieldtext_address(t->ip, out) &&
	    !fieldtext_address(peer, out))
		out[0] = '\0';
}

/* Returns false for events without a transfer. */
static bool
direction_read(const char *event, bool *is_upload)
{
	static const char *const writes[] = { "upload", "put", "sm_put" },
				 *const reads[] = { "download", "get", "sm_get" };
	size_t i;

	for (i = 0; i < 3; i++) {
		*is_upload = strncmp(event, writes[i], strlen(writes[i])) == 0;
		if (*is_upload || strncmp(event, reads[i], strlen(reads[i])) == 0)
			return true;
	}
	return false;
}

/* The times of the transfer: its bytes, and the steps before and behind. Returns false without
 * begin or end. */
static bool
times_put(const struct trace *t, struct nw_announcement *a)
{
	const double *at = t->at_s;
	const double end = first_known(at[MOVED], at[OVER]);
	const bool checks = at[CHECKING] >= at[MOVING] && !(at[CHECKING] > end);
	const double moved = checks ? at[CHECKING] : end;
	const double s = span(at[MOVING], moved);

	if (!(s <= MOST_S))
		return false;
	a->start_wall_ns = (int64_t)(at[MOVING] * 1e9);
	a->t_wall_ns = a->start_wall_ns + (int64_t)(s * 1e9);
	a->value[NW_ANNOUNCED_elapsed_s] = s;
	a->value[NW_ANNOUNCED_over] = 1;
	a->value[NW_ANNOUNCED_prepare_s] = span(first_known(at[ATTEMPTED], at[BEGUN]), at[MOVING]);
	if (checks)
		a->value[NW_ANNOUNCED_target_check_s] = span(moved, fmax(end, at[OVER]));
	return true;
}

/* Returns false if the trace is of no transfer that was done. */
static bool
transfer_read(const struct trace *t, const char *peer, struct nw_announcement *a)
{
	char client[NW_ANNOUNCE_ADDRESS_BYTES], server[NW_ANNOUNCE_ADDRESS_BYTES];
	bool is_upload;

	nw_announcement_init(a);
	if (!direction_read(t->event, &is_upload) || strcmp(t->state, "DONE") != 0 ||
	    !times_put(t, a))
		return false;
	client_copy(t, peer, client);
	server_copy(t, server);
	memcpy(a->src, is_upload ? client : server, sizeof(a->src));
	memcpy(a->dst, is_upload ? server : client, sizeof(a->dst));
	a->form = NW_ANNOUNCE_RUCIO;
	a->state = NW_ANNOUNCE_END;
	a->value[NW_ANNOUNCED_bytes_out] = t->bytes;
	memcpy(a->file, t->file, sizeof(a->file));
	memcpy(a->user, t->account, sizeof(a->user));
	strcpy(a->application, "rucio");
	(void)snprintf(a->group, sizeof(a->group), "rucio/%.40s/%016" PRIx64 "/%" PRId64, t->id,
	    fnv_text(fnv_text(FNV_BEGIN, t->scope), t->file), a->start_wall_ns);
	return a->src[0] != '\0' && a->dst[0] != '\0' && a->file[0] != '\0';
}

static int
trace_take(const char *bytes, size_t len, const char *peer, struct nw_announcement *a, bool *is,
    const char **why)
{
	struct trace t = { .bytes = NAN };
	size_t i;
	int rc;

	for (i = 0; i < MOMENTS; i++)
		t.at_s[i] = NAN;
	if ((rc = jsonscan(bytes, len, on_value, &t, why)) < 0)
		return rc;
	*why = "a trace of Rucio without eventType";
	if (t.event[0] == '\0')
		return NW_EPROTO;
	*is = transfer_read(&t, peer, a);
	return NW_OK;
}

/* --- the document --- */

/* The length of the object at the begin of the text; 0 if the object does not end. */
static size_t
object_len(const char *p, size_t len)
{
	bool in_text = false;
	size_t depth = 0, i;

	for (i = 0; i < len; i++) {
		if (in_text) {
			if (p[i] == '\\')
				i++;
			else if (p[i] == '"')
				in_text = false;
		} else if (p[i] == '"') {
			in_text = true;
		} else if (p[i] == '{' || p[i] == '[') {
			depth++;
		} else if ((p[i] == '}' || p[i] == ']') && (depth == 0 || --depth == 0)) {
			return i + 1;
		}
	}
	return 0;
}

static size_t
blanks(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && memchr(" \t\r\n", p[n], 4) != NULL)
		n++;
	return n;
}

int
nw_rucio_read(const char *bytes, size_t len, const char *peer, nw_rucio_fn *fn, void *arg,
    struct nw_rucio_got *got, const char **why)
{
	struct nw_announcement a;
	size_t at = blanks(bytes, len), n;
	const bool is_list = at < len && bytes[at] == '[';
	bool is;
	int rc;

	memset(got, 0, sizeof(*got));
	if (is_list)
		at++;
	do {
		at += blanks(bytes + at, len - at);
		n = is_list ? object_len(bytes + at, len - at) : len - at;
		*why = "a list of traces does not end";
		if (n == 0)
			return NW_EPROTO;
		*why = "a list of more than 64 traces";
		if (got->traces == NW_RUCIO_TRACES_MAX)
			return NW_ETOOBIG;
		if ((rc = trace_take(bytes + at, n, peer, &a, &is, why)) < 0)
			return rc;
		got->traces++;
		if (is) {
			got->transfers++;
			fn(arg, &a);
		}
		at += n;
		at += blanks(bytes + at, len - at);
	} while (is_list && at < len && bytes[at] == ',' && ++at > 0);
	*why = "bytes behind a trace";
	if (is_list &&
	    (at >= len || bytes[at] != ']' || at + 1 + blanks(bytes + at + 1, len - at - 1) != len))
		return NW_EPROTO;
	return NW_OK;
}
