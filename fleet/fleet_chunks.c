/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows measured for a session, as chunks of the store's form: rows of chunks and rows of the
 * store's tail. A chunk's number counts the chunks of its layout from 0, so a repeated copy
 * replaces the earlier copy.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "fleet/fleet_outbox.h"
#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"
#include "store/codec/chunk.h"

enum { ROWS_AT_ONCE = 200, BYTES_AT_ONCE = 4 << 20 };

struct layout {
	int64_t id;
	char *host, *event_type, *subject, *fields;
};

struct copying {
	const struct fleet_conf *conf;
	struct layout *layout;
	size_t n_layouts, cap;
	const struct layout *at;
	int64_t session, number, now_wall_ns;
	struct chunk_codec *codec;
	struct chunk_buf chunk;
	uint8_t *attachment; /* of the block in hand */
	uint32_t *attachment_end;
	size_t cap_attachment, cap_end;
	struct fleet_rows rows;
	size_t bytes;
	int (*fn)(void *arg, const struct fleet_rows *rows);
	void *arg;
};

static char *
text_of(const struct store_cell *c)
{
	return c->type == CELL_TEXT ? xstrdup(c->bytes) : NULL;
}

static int
on_layout(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct copying *c = arg;

	(void)n, (void)names;
	if (cells == NULL)
		return 0;
	if (!array_room(&c->layout, &c->cap, c->n_layouts + 1, sizeof(*c->layout)))
		abort();
	c->layout[c->n_layouts++] = (struct layout){ cells[0].i, text_of(&cells[1]),
		text_of(&cells[2]), text_of(&cells[3]), text_of(&cells[4]) };
	return 0;
}

static int
rows_give(struct copying *c)
{
	int rc = c->rows.n > 0 ? c->fn(c->arg, &c->rows) : NW_OK;

	fleet_rows_clear(&c->rows);
	c->bytes = 0;
	return rc;
}

/* Histograms, one behind the other. */
static int
attachments_join(struct copying *c, const struct store_block *b, struct chunk_columns *in)
{
	size_t len = 0, r;

	if (b->hist == NULL)
		return NW_OK;
	for (r = 0; r < b->n_rows; r++)
		len += b->hist_len[r];
	if (len > UINT32_MAX || !array_room(&c->attachment, &c->cap_attachment, len + 1, 1) ||
	    !array_room(&c->attachment_end, &c->cap_end, b->n_rows, sizeof(*c->attachment_end)))
		return NW_ENOMEM;
	for (r = 0, len = 0; r < b->n_rows; r++) {
		if (b->hist_len[r] > 0)
			memcpy(c->attachment + len, b->hist[r], b->hist_len[r]);
		len += b->hist_len[r];
		c->attachment_end[r] = (uint32_t)len;
	}
	in->attachment = c->attachment;
	in->attachment_end = c->attachment_end;
	return NW_OK;
}

static int
on_block(void *arg, const struct store_block *b)
{
	struct copying *c = arg;
	struct chunk_columns in = { .n_rows = (uint32_t)b->n_rows,
		.n_columns = (uint32_t)b->n_fields,
		.t_wall_ns = b->t_wall_ns,
		.value = b->columns };
	struct fleet_row *row;
	int rc = attachments_join(c, b, &in);

	if (rc < 0 || (rc = chunk_encode(c->codec, &in, CHUNK_COMPACT, &c->chunk)) < 0)
		return rc;
	row = fleet_rows_add(&c->rows);
	fleet_text_set(row, CHUNK_site, c->conf->site);
	fleet_int_set(row, CHUNK_session, c->session);
	fleet_int_set(row, CHUNK_layout, c->at->id);
	fleet_int_set(row, CHUNK_number, c->number++);
	fleet_int_set(row, CHUNK_judged_ns, c->now_wall_ns);
	fleet_int_set(row, CHUNK_start_ns, b->n_rows > 0 ? b->t_wall_ns[0] : 0);
	fleet_int_set(row, CHUNK_n_rows, (int64_t)b->n_rows);
	fleet_int_set(row, CHUNK_bucket_ns, b->bucket_ns);
	fleet_text_set(row, CHUNK_host, c->at->host);
	fleet_text_set(row, CHUNK_event_type, c->at->event_type);
	fleet_text_set(row, CHUNK_subject, c->at->subject);
	fleet_text_set(row, CHUNK_fields, c->at->fields);
	fleet_bytes_set(row, CHUNK_data, c->chunk.bytes, c->chunk.len);
	c->bytes += c->chunk.len;
	return c->rows.n == ROWS_AT_ONCE || c->bytes > BYTES_AT_ONCE ? rows_give(c) : NW_OK;
}

static void
copying_clear(struct copying *c)
{
	size_t i;

	for (i = 0; i < c->n_layouts; i++) {
		free(c->layout[i].host);
		free(c->layout[i].event_type);
		free(c->layout[i].subject);
		free(c->layout[i].fields);
	}
	free(c->layout);
	chunk_codec_free(c->codec);
	chunk_buf_clear(&c->chunk);
	free(c->attachment);
	free(c->attachment_end);
	fleet_rows_clear(&c->rows);
}

int
chunks_read(const char *store_path, const struct fleet_conf *conf, int64_t session,
    int64_t now_wall_ns, int (*fn)(void *arg, const struct fleet_rows *rows), void *arg,
    char why[FLEET_WHY_BYTES])
{
	struct copying c = { .conf = conf,
		.session = session,
		.now_wall_ns = now_wall_ns,
		.codec = chunk_codec_new(),
		.rows.table = FLEET_CHUNKS,
		.fn = fn,
		.arg = arg };
	char *text = xasprintf("SELECT l.id, h.name, m.event_type, m.subject, f.fields FROM "
			       "metadata m JOIN layout l ON l.meta_id = m.id JOIN fieldset f ON "
			       "f.id = l.fieldset_id LEFT JOIN host h ON h.id = m.host_id WHERE "
			       "m.session_id = %" PRId64 " ORDER BY l.id",
	    session);
	char reason[STORE_WHY_BYTES] = "";
	struct store_reader *r = NULL;
	size_t i;
	int rc = c.codec != NULL ? store_sql_ask(store_path, text, on_layout, &c, why) : NW_ENOMEM;

	if (rc == NW_OK && (rc = store_reader_open(store_path, &r, reason)) < 0)
		(void)fleet_failed(store_path, reason, why);
	for (i = 0; rc == NW_OK && i < c.n_layouts; i++) {
		c.at = &c.layout[i];
		c.number = 0;
		rc = store_rows(r, c.at->id, INT64_MIN, INT64_MAX, on_block, &c);
		if (rc < 0 && why[0] == '\0')
			(void)fleet_failed(store_path, nw_strerror(rc), why);
	}
	if (rc == NW_OK)
		rc = rows_give(&c);
	store_reader_close(r);
	copying_clear(&c);
	free(text);
	return rc;
}

/* --- the sessions --- */

struct finding {
	const struct fleet_conf *conf;
	struct outbox_given *given;
	size_t n, cap;
};

static int
on_given(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct finding *f = arg;

	(void)n, (void)names;
	if (cells == NULL)
		return 0;
	if (!array_room(&f->given, &f->cap, f->n + 1, sizeof(*f->given)))
		abort();
	f->given[f->n++] = (struct outbox_given){ cells[0].i, cells[1].i,
		fleet_conf_route(f->conf, cells[2].type == CELL_TEXT ? cells[2].bytes : NULL) };
	return 0;
}

int
outbox_given(const char *store_path, const struct fleet_conf *conf, const int64_t *sessions,
    size_t n_sessions, struct outbox_given **out, size_t *n, char why[FLEET_WHY_BYTES])
{
	static const char head[] =
	    "SELECT s.id, coalesce(r.run_id, 0), r.route FROM session s JOIN "
	    "result r ON r.session_id = s.id WHERE s.closed_ns IS NOT NULL "
	    "AND ";
	struct finding f = { .conf = conf };
	char *text;
	size_t len, i;
	FILE *stream = open_memstream(&text, &len);
	int rc;

	if (stream == NULL)
		return NW_ENOMEM;
	fprintf(stream, "%ss.id IN (NULL", head);
	for (i = 0; i < n_sessions; i++)
		fprintf(stream, ", %" PRId64, sessions[i]);
	fputc(')', stream);
	if (conf->chunks == FLEET_CHUNKS_PINNED)
		fprintf(stream, " UNION %ss.pinned", head);
	if (fclose(stream) != 0)
		abort();
	rc = store_sql_ask(store_path, text, on_given, &f, why);
	free(text);
	*out = f.given;
	*n = f.n;
	return rc;
}
