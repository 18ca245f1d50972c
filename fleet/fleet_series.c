/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "fleet/fleet.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/xmalloc.h"
#include "store/codec/chunk.h"

enum { DIGITS_MAX = 64 << 20 };

struct telling {
	struct chunk_codec *codec;
	struct chunk_rows rows;
	fleet_value_fn *fn;
	void *arg;
	uint64_t n; /* rows of the answer, the names too */
};

/* Columns of FLEET_SERIES. */
enum { SERIES_HOST = 2, SERIES_EVENT_TYPE, SERIES_SUBJECT, SERIES_FIELDS, SERIES_DATA, SERIES };

static int
values_tell(struct telling *t, const char *const *texts, const json_t *fields)
{
	const struct chunk_columns *c = &t->rows.is;
	struct fleet_value v = { .host = texts[SERIES_HOST],
		.event_type = texts[SERIES_EVENT_TYPE],
		.subject = texts[SERIES_SUBJECT] };
	uint32_t row, column;
	int rc = NW_OK;

	for (row = 0; row < c->n_rows; row++)
		for (column = 0; rc == NW_OK && column < c->n_columns; column++) {
			v.t_wall_ns = c->t_wall_ns[row];
			v.field = json_string_value(json_array_get(fields, column));
			v.value = c->value[column][row];
			if (v.field != NULL)
				rc = t->fn(t->arg, &v);
		}
	return rc;
}

/* The chunk is another site's bytes. */
static int
on_chunk(void *arg, size_t n, const char *const *texts)
{
	struct telling *t = arg;
	json_t *fields;
	uint8_t *bytes;
	size_t len;
	int rc = NW_EPROTO;

	if (n != SERIES)
		return NW_EPROTO;
	if (t->n++ == 0 || texts[SERIES_DATA] == NULL || texts[SERIES_FIELDS] == NULL)
		return NW_OK;
	if ((len = strlen(texts[SERIES_DATA])) > DIGITS_MAX)
		return NW_ETOOBIG;
	bytes = xmalloc(len / 2 + 1);
	fields = json_loads(texts[SERIES_FIELDS], 0, NULL);
	if (len % 2 == 0 && nw_hex_take(texts[SERIES_DATA], bytes, len / 2))
		rc = chunk_decode(t->codec, bytes, len / 2, NULL, &t->rows);
	if (rc == NW_OK)
		rc = values_tell(t, texts, fields);
	json_decref(fields);
	free(bytes);
	return rc;
}

int
fleet_series(const struct fleet *f, const char *site, int64_t session, fleet_value_fn *fn,
    void *arg, char why[FLEET_WHY_BYTES])
{
	static const char place[] = "{session}";
	const struct fleet_engine *engine;
	struct telling t = { .codec = chunk_codec_new(), .fn = fn, .arg = arg };
	const char *sql, *at;
	char *text;
	void *e;
	int rc;

	engine = fleet_engine_of(f, &e);
	sql = engine->report(FLEET_SERIES);
	at = strstr(sql, place);
	text = xasprintf("%.*s%" PRId64 "%s", (int)(at - sql), sql, session, at + strlen(place));
	rc = t.codec != NULL ? engine->ask(e, text, site, on_chunk, &t, why) : NW_ENOMEM;
	if (rc < 0 && why[0] == '\0')
		snprintf(why, FLEET_WHY_BYTES, "a chunk cannot be read: %s", nw_strerror(rc));
	if (rc == NW_OK && t.n < 2)
		rc = NW_ENOTFOUND;
	chunk_rows_clear(&t.rows);
	chunk_codec_free(t.codec);
	free(text);
	return rc;
}
