/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of whole transfers: lines of logs by nwlog, messages of FTS by nwfts. */
#include "narrows/announce.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/fieldtext.h"
#include "narrows/event.h"
#include "narrows/fnv.h"

#define LOG_LEAST_S 1.0
#define MOST_S      1e8 /* three years */

static const struct nw_attr *
attr_of(const struct nw_event *e, const char *key)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return &e->attrs[i];
	return NULL;
}

static double
number_of_text(const char *text)
{
	char *end;
	const double v = strtod(text, &end);

	return end != text && *end == '\0' ? v : NAN;
}

/* A number of at least 0, as a number or as text of a log; NaN for anything else. */
static double
number_of(const struct nw_event *e, const char *key)
{
	const struct nw_attr *a = attr_of(e, key);
	const double v = a == NULL    ? NAN
	    : a->type == NW_ATTR_INT  ? (double)a->v.i
	    : a->type == NW_ATTR_REAL ? a->v.d
	    : a->type == NW_ATTR_TEXT ? number_of_text(a->v.text)
				      : NAN;

	return isfinite(v) && v >= 0 ? v : NAN;
}

static const char *
text_of(const struct nw_event *e, const char *key)
{
	const struct nw_attr *a = attr_of(e, key);

	return a != NULL && a->type == NW_ATTR_TEXT ? a->v.text : "";
}

static uint16_t
port_of(const struct nw_event *e, const char *key)
{
	const double v = number_of(e, key);

	return v >= 1 && v <= UINT16_MAX ? (uint16_t)v : 0;
}

static void
end_copy(char out[NW_ANNOUNCE_ADDRESS_BYTES], const char *text)
{
	if (!fieldtext_address(text, out))
		fieldtext_copy(out, NW_ANNOUNCE_ADDRESS_BYTES, text, strlen(text));
}

/* FTS: bytes go from src to dst; experiment and activity are a number of scitags.org. */
static void
fts_read(const struct nw_event *e, struct nw_announcement *a)
{
	const double tag = number_of(e, "scitag");

	a->form = NW_ANNOUNCE_FTS;
	end_copy(a->src, text_of(e, "src"));
	end_copy(a->dst, text_of(e, "dst"));
	a->value[NW_ANNOUNCED_bytes_out] = number_of(e, "bytes");
	a->value[NW_ANNOUNCED_queue_s] = number_of(e, "queue_s");
	a->value[NW_ANNOUNCED_prepare_s] = number_of(e, "prepare_s");
	a->value[NW_ANNOUNCED_source_check_s] = number_of(e, "source_check_s");
	a->value[NW_ANNOUNCED_target_check_s] = number_of(e, "target_check_s");
	if (tag >= 0 && tag <= UINT16_MAX) {
		a->experiment = (int64_t)tag >> 6;
		a->activity = (int64_t)tag & 63;
	}
	(void)snprintf(a->group, sizeof(a->group), "fts/%.90s", text_of(e, "transfer_id"));
}

/* A log is a server's: src is the server, dst the client. */
static void
log_read(const struct nw_event *e, const char *host, struct nw_announcement *a)
{
	const char *server = text_of(e, "server"), *direction = text_of(e, "direction");
	const double bytes = number_of(e, "bytes");

	a->form = NW_ANNOUNCE_LOG;
	end_copy(a->src, server[0] != '\0' ? server : e->host != NULL ? e->host : host);
	end_copy(a->dst, text_of(e, "client"));
	a->sport = port_of(e, "port");
	a->dport = port_of(e, "client_port");
	a->value[NW_ANNOUNCED_bytes_out] = number_of(e, "bytes_out");
	a->value[NW_ANNOUNCED_bytes_in] = number_of(e, "bytes_in");
	if (isfinite(bytes)) /* "i" is an upload in the logs of FTP servers */
		a->value[strcmp(direction, "i") == 0 ? NW_ANNOUNCED_bytes_in
						     : NW_ANNOUNCED_bytes_out] = bytes;
	if (a->sport == 0 || a->dport == 0)
		(void)snprintf(a->group, sizeof(a->group), "log/%.60s/%" PRId64 "/%016" PRIx64,
		    host, e->t_wall_ns, fnv_text(fnv_text(FNV_BEGIN, a->dst), text_of(e, "file")));
}

bool
nw_transfer_event_read(const struct nw_event *e, const char *host, struct nw_announcement *out)
{
	const double s = number_of(e, "seconds");
	const bool is_fts = strcmp(e->name, "transfer.fts") == 0;

	nw_announcement_init(out);
	if (strncmp(e->name, "transfer.", 9) != 0 || !(s <= MOST_S) || e->t_wall_ns <= 0)
		return false;
	if (is_fts)
		fts_read(e, out);
	else
		log_read(e, host, out);
	out->state = NW_ANNOUNCE_END;
	out->t_wall_ns = e->t_wall_ns;
	out->start_wall_ns = e->t_wall_ns - (int64_t)(s * 1e9);
	out->value[NW_ANNOUNCED_elapsed_s] = s;
	out->value[NW_ANNOUNCED_over] = 1;
	fieldtext_copy(
	    out->file, sizeof(out->file), text_of(e, "file"), strlen(text_of(e, "file")));
	fieldtext_copy(
	    out->user, sizeof(out->user), text_of(e, "user"), strlen(text_of(e, "user")));
	if (e->program != NULL)
		fieldtext_copy(
		    out->application, sizeof(out->application), e->program, strlen(e->program));
	return out->start_wall_ns > 0 && out->src[0] != '\0' && out->dst[0] != '\0' &&
	    (is_fts ||
		(s >= LOG_LEAST_S &&
		    fmax(out->value[NW_ANNOUNCED_bytes_out], out->value[NW_ANNOUNCED_bytes_in]) >
			0));
}
