/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/document.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "narrows/array.h"

enum {
	LEVEL = 9,
	LIST_MIN = 16, /* shorter lists stay text */
	CHUNKS_MAX = 64,
	MARK = 1, /* no byte of a JSON text */
	CHUNK_FIRST = 32,
	STYLE_WHOLE = 64, /* numbers without point; below: so many digits, with a point */
	STYLE_DIGITS_MAX = 17,
	NUMBER_BYTES = 32
};

struct buffer {
	char *bytes;
	size_t len, cap;
};

/* The lists of a length: columns of a chunk. */
struct list_group {
	size_t n_rows, n_columns;
	double *values; /* [n_columns][n_rows] */
	size_t cap;
	size_t next_column; /* while unpacking */
	struct chunk_rows rows;
};

struct document_codec {
	struct chunk_codec *codec;
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack[DOCUMENT_VERSIONS];
	struct buffer plain, text, numbers;
	bool brief; /* lists are unpacked empty */
	struct chunk_buf chunk;
	struct list_group group[CHUNKS_MAX];
	size_t n_groups;
	struct list_group list; /* the list in hand: a single column */
	int64_t *times;
	const double **columns;
	size_t cap_times, cap_columns;
};

static bool
unpack_prepare(struct document_codec *d)
{
	const struct document_dictionary *from;
	int i;

	for (i = 0; i < DOCUMENT_VERSIONS; i++) {
		from = &document_dictionaries[i];
		if ((d->unpack[i] = ZSTD_createDCtx()) == NULL ||
		    ZSTD_isError(ZSTD_DCtx_loadDictionary(d->unpack[i], from->bytes, from->len)))
			return false;
	}
	return true;
}

/* Documents are packed by the newest dictionary; frames end in a checksum. */
static bool
pack_prepare(struct document_codec *d)
{
	const struct document_dictionary *by = &document_dictionaries[DOCUMENT_VERSIONS - 1];

	return (d->pack = ZSTD_createCCtx()) != NULL &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(d->pack, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(d->pack, ZSTD_c_checksumFlag, 1)) &&
	    !ZSTD_isError(ZSTD_CCtx_loadDictionary(d->pack, by->bytes, by->len));
}

struct document_codec *
document_codec_new(void)
{
	struct document_codec *d = calloc(1, sizeof(*d));

	if (d != NULL && (d->codec = chunk_codec_new()) != NULL && pack_prepare(d) &&
	    unpack_prepare(d))
		return d;
	document_codec_free(d);
	return NULL;
}

void
document_codec_free(struct document_codec *d)
{
	size_t i;

	if (d == NULL)
		return;
	for (i = 0; i < CHUNKS_MAX; i++) {
		free(d->group[i].values);
		chunk_rows_clear(&d->group[i].rows);
	}
	free(d->list.values);
	free(d->plain.bytes);
	free(d->text.bytes);
	free(d->numbers.bytes);
	free(d->times);
	free(d->columns);
	chunk_buf_clear(&d->chunk);
	chunk_codec_free(d->codec);
	ZSTD_freeCCtx(d->pack);
	for (i = 0; i < DOCUMENT_VERSIONS; i++)
		ZSTD_freeDCtx(d->unpack[i]);
	free(d);
}

static int
buffer_room(struct buffer *b, size_t more)
{
	if (more > 2 * (size_t)DOCUMENT_MAX_BYTES || b->len + more > 2 * (size_t)DOCUMENT_MAX_BYTES)
		return NW_ETOOBIG;
	return array_room(&b->bytes, &b->cap, b->len + more, 1) ? NW_OK : NW_ENOMEM;
}

static int
buffer_add(struct buffer *b, const void *bytes, size_t len)
{
	int rc = buffer_room(b, len);

	if (rc == NW_OK && len > 0) {
		memcpy(b->bytes + b->len, bytes, len);
		b->len += len;
	}
	return rc;
}

/* --- numbers as text --- */

/* Prints a whole number, which %.0f and %.*g of at least `digits` print alike. Returns false, and
 * prints nothing, of other numbers: printf() takes ten times as long. */
static bool
whole_print(char out[NUMBER_BYTES], double v, int digits, size_t *n)
{
	static const double limits[] = { 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15 };
	char reversed[NUMBER_BYTES];
	uint64_t rest;
	size_t k = 0;

	if (digits < 1 || !(fabs(v) < limits[(digits < 15 ? digits : 15) - 1]) || v != rint(v) ||
	    (v == 0 && signbit(v)))
		return false;
	rest = (uint64_t)fabs(v);
	do
		reversed[k++] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	*n = 0;
	if (v < 0)
		out[(*n)++] = '-';
	while (k > 0)
		out[(*n)++] = reversed[--k];
	out[*n] = '\0';
	return true;
}

/* A number as JSON writers print it: the digits of %.*g, a point, and an exponent without plus sign
 * and leading zeros. Returns the length. */
static size_t
number_print(char out[NUMBER_BYTES], double v, int style)
{
	char *e, *from;
	size_t n;

	if (isnan(v))
		return (size_t)snprintf(out, NUMBER_BYTES, "null");
	if (whole_print(out, v, style == STYLE_WHOLE ? 15 : style, &n)) {
		if (style != STYLE_WHOLE) {
			memcpy(out + n, ".0", 3);
			n += 2;
		}
		return n;
	}
	if (style == STYLE_WHOLE)
		return fabs(v) < 0x1p53 ? (size_t)snprintf(out, NUMBER_BYTES, "%.0f", v) : 0;
	n = (size_t)snprintf(out, NUMBER_BYTES, "%.*g", style, v);
	if ((e = strchr(out, 'e')) == NULL) {
		if (strchr(out, '.') == NULL)
			n += (size_t)snprintf(out + n, NUMBER_BYTES - n, ".0");
		return n;
	}
	from = e + 1 + (e[1] == '+' || e[1] == '-');
	e += 1 + (e[1] == '-');
	while (*from == '0')
		from++;
	memmove(e, from, strlen(from) + 1);
	return strlen(out);
}

/* Does the text begin with exactly the numbers in the style? */
static bool
style_fits(const char *text, const struct list_group *list, int style)
{
	char number[NUMBER_BYTES];
	size_t i, n;

	for (i = 0; i < list->n_rows; i++) {
		n = number_print(number, list->values[i], style);
		if (n == 0 || memcmp(text, number, n) != 0 || (text[n] != ',' && text[n] != ']'))
			return false;
		text += n + 1;
	}
	return true;
}

/* The style in which the list was printed; 0: the list has to stay text. */
static int
style_find(const char *text, const struct list_group *list)
{
	static const unsigned char styles[] = { 12, STYLE_WHOLE, 17, 15, 16, 6, 9 };
	size_t i;

	for (i = 0; i < sizeof(styles); i++)
		if (style_fits(text, list, styles[i]))
			return styles[i];
	return 0;
}

static int
values_room(struct list_group *g, size_t n)
{
	if (n > DOCUMENT_MAX_BYTES / sizeof(double))
		return NW_ETOOBIG;
	return array_room(&g->values, &g->cap, n, sizeof(*g->values)) ? NW_OK : NW_ENOMEM;
}

/* Reads a list of numbers behind '[' into d->list. *end points to ']'; NULL: no list of numbers. */
static int
list_read(struct document_codec *d, const char *p, const char **end)
{
	struct list_group *l = &d->list;
	char *after;
	int rc;

	*end = NULL;
	for (l->n_rows = 0;; p = after + 1) {
		if ((rc = values_room(l, l->n_rows + 1)) != NW_OK)
			return rc;
		if (strncmp(p, "null", 4) == 0) {
			l->values[l->n_rows++] = NAN;
			after = (char *)(uintptr_t)(p + 4);
		} else if (*p == '-' || (*p >= '0' && *p <= '9')) {
			l->values[l->n_rows++] = strtod(p, &after);
		} else {
			return NW_OK;
		}
		if (*after == ']')
			break;
		if (*after != ',')
			return NW_OK;
	}
	*end = after;
	return NW_OK;
}

/* --- packing --- */

/* The group for the length of the list in hand, a new group if necessary. NULL: too many groups. */
static struct list_group *
group_for(struct document_codec *d)
{
	size_t i;

	for (i = 0; i < d->n_groups; i++)
		if (d->group[i].n_rows == d->list.n_rows &&
		    d->group[i].n_columns < CHUNK_COLUMNS_MAX)
			return &d->group[i];
	if (d->n_groups == CHUNKS_MAX || d->list.n_rows > CHUNK_ROWS_MAX)
		return NULL;
	d->group[d->n_groups].n_rows = d->list.n_rows;
	d->group[d->n_groups].n_columns = 0;
	return &d->group[d->n_groups++];
}

/* Puts the list behind p, which points to '[', into a group, and a mark into the text. *next stays
 * NULL if the list stays text. */
static int
list_pack(struct document_codec *d, const char *p, const char **next)
{
	struct list_group *g;
	const char *end;
	char mark[5];
	int rc, style;

	*next = NULL;
	if ((rc = list_read(d, p + 1, &end)) != NW_OK || end == NULL || d->list.n_rows < LIST_MIN ||
	    (style = style_find(p + 1, &d->list)) == 0 || (g = group_for(d)) == NULL)
		return rc;
	if ((rc = values_room(g, (g->n_columns + 1) * g->n_rows)) != NW_OK)
		return rc;
	memcpy(
	    g->values + g->n_columns * g->n_rows, d->list.values, g->n_rows * sizeof(*g->values));
	g->n_columns++;
	mark[0] = '[';
	mark[1] = MARK;
	mark[2] = (char)(CHUNK_FIRST + (g - d->group));
	mark[3] = (char)style;
	mark[4] = ']';
	if ((rc = buffer_add(&d->plain, mark, sizeof(mark))) == NW_OK)
		*next = end + 1;
	return rc;
}

/* Copies the document to d->plain, with marks in the place of long lists. A NUL ends json. */
static int
lists_pack(struct document_codec *d, const char *json)
{
	const char *p, *from = json, *next;
	bool quoted = false;
	int rc = NW_OK;

	d->plain.len = d->n_groups = 0;
	for (p = json; rc == NW_OK && *p != '\0'; p++) {
		if (*p == MARK)
			return NW_EINVAL;
		if (quoted && *p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		if (quoted || *p != '[')
			continue;
		if ((rc = buffer_add(&d->plain, from, (size_t)(p - from))) != NW_OK)
			return rc;
		from = p;
		if ((rc = list_pack(d, p, &next)) == NW_OK && next != NULL) {
			from = next;
			p = next - 1;
		}
	}
	return rc == NW_OK ? buffer_add(&d->plain, from, (size_t)(p - from)) : rc;
}

static int
columns_room(struct document_codec *d, size_t n_rows, size_t n_columns)
{
	void *grown;

	if (n_rows > d->cap_times) {
		if ((grown = realloc(d->times, n_rows * sizeof(*d->times))) == NULL)
			return NW_ENOMEM;
		d->times = grown;
		for (; d->cap_times < n_rows; d->cap_times++)
			d->times[d->cap_times] = (int64_t)d->cap_times;
	}
	if (n_columns > d->cap_columns) {
		if ((grown = realloc(d->columns, n_columns * sizeof(*d->columns))) == NULL)
			return NW_ENOMEM;
		d->columns = grown;
		d->cap_columns = n_columns;
	}
	return NW_OK;
}

static int
group_pack(struct document_codec *d, const struct list_group *g)
{
	struct chunk_columns c = { .n_rows = (uint32_t)g->n_rows,
		.n_columns = (uint32_t)g->n_columns };
	uint8_t len[4];
	size_t i;
	int rc;

	if ((rc = columns_room(d, g->n_rows, g->n_columns)) != NW_OK)
		return rc;
	for (i = 0; i < g->n_columns; i++)
		d->columns[i] = g->values + i * g->n_rows;
	c.t_wall_ns = d->times;
	c.value = d->columns;
	if ((rc = chunk_encode(d->codec, &c, CHUNK_COMPACT, &d->chunk)) != NW_OK)
		return rc;
	for (i = 0; i < 4; i++)
		len[i] = (uint8_t)(d->chunk.len >> 8 * i);
	if ((rc = buffer_add(&d->numbers, len, 4)) == NW_OK)
		rc = buffer_add(&d->numbers, d->chunk.bytes, d->chunk.len);
	return rc;
}

static int
text_pack(struct document_codec *d)
{
	static const char version = DOCUMENT_VERSIONS;
	size_t n;
	int rc;

	d->text.len = 0;
	if ((rc = buffer_add(&d->text, &version, 1)) != NW_OK ||
	    (rc = buffer_room(&d->text, ZSTD_compressBound(d->plain.len))) != NW_OK)
		return rc;
	n = ZSTD_compress2(
	    d->pack, d->text.bytes + 1, d->text.cap - 1, d->plain.bytes, d->plain.len);
	if (ZSTD_isError(n))
		return NW_ENOMEM;
	d->text.len = 1 + n;
	return NW_OK;
}

int
document_pack(struct document_codec *d, const char *json, size_t len, struct document_parts *out)
{
	size_t i;
	int rc;

	if (len > DOCUMENT_MAX_BYTES)
		return NW_ETOOBIG;
	if (strlen(json) != len)
		return NW_EINVAL;
	d->numbers.len = 0;
	if ((rc = lists_pack(d, json)) != NW_OK)
		return rc;
	for (i = 0; rc == NW_OK && i < d->n_groups; i++)
		rc = group_pack(d, &d->group[i]);
	if (rc == NW_OK)
		rc = text_pack(d);
	*out = (struct document_parts){ (const uint8_t *)d->text.bytes,
		(const uint8_t *)d->numbers.bytes, d->text.len, d->numbers.len };
	return rc;
}

/* --- unpacking --- */

static int
groups_unpack(struct document_codec *d, const uint8_t *p, size_t len)
{
	struct list_group *g;
	size_t n;
	int rc;

	for (d->n_groups = 0; len > 0; p += n, len -= n) {
		if (len < 4 || d->n_groups == CHUNKS_MAX)
			return NW_ECORRUPT;
		n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
		p += 4;
		len -= 4;
		if (n > len)
			return NW_ECORRUPT;
		g = &d->group[d->n_groups++];
		if ((rc = chunk_decode(d->codec, p, n, NULL, &g->rows)) != NW_OK)
			return rc == NW_ENOTFOUND || rc == NW_ETOOBIG ? NW_ECORRUPT : rc;
		g->next_column = 0;
	}
	return NW_OK;
}

static int
text_unpack(struct document_codec *d, const uint8_t *p, size_t len)
{
	unsigned long long size;
	size_t n;
	int rc;

	if (len < 1 || p[0] == 0)
		return NW_ECORRUPT;
	if (p[0] > DOCUMENT_VERSIONS)
		return NW_EVERSION;
	size = ZSTD_getFrameContentSize(p + 1, len - 1);
	if (size > DOCUMENT_MAX_BYTES) /* and the codes of errors */
		return NW_ECORRUPT;
	d->plain.len = 0;
	if ((rc = buffer_room(&d->plain, (size_t)size + 1)) != NW_OK)
		return rc;
	n = ZSTD_decompressDCtx(d->unpack[p[0] - 1], d->plain.bytes, (size_t)size, p + 1, len - 1);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? NW_ENOMEM
									    : NW_ECORRUPT;
	d->plain.len = n;
	return NW_OK;
}

/* Prints the list that a mark stands for; nothing where the numbers are gone. */
static int
list_unpack(struct document_codec *d, const uint8_t mark[2])
{
	size_t which = (size_t)mark[0] - CHUNK_FIRST, i, n;
	struct list_group *g = &d->group[which];
	char number[NUMBER_BYTES];
	int rc = NW_OK;

	if (d->n_groups == 0)
		return NW_OK;
	if (mark[0] < CHUNK_FIRST || which >= d->n_groups ||
	    g->next_column >= g->rows.is.n_columns || mark[1] == 0 ||
	    (mark[1] > STYLE_DIGITS_MAX && mark[1] != STYLE_WHOLE))
		return NW_ECORRUPT;
	for (i = 0; rc == NW_OK && !d->brief && i < g->rows.is.n_rows; i++) {
		n = number_print(number, g->rows.is.value[g->next_column][i], mark[1]);
		if (i > 0)
			rc = buffer_add(&d->text, ",", 1);
		if (rc == NW_OK)
			rc = buffer_add(&d->text, number, n);
	}
	g->next_column++;
	return rc;
}

static int
lists_unpack(struct document_codec *d)
{
	const char *p = d->plain.bytes, *end = p + d->plain.len, *mark;
	int rc = NW_OK;

	d->text.len = 0;
	while (rc == NW_OK && (mark = memchr(p, MARK, (size_t)(end - p))) != NULL) {
		if (end - mark < 3)
			return NW_ECORRUPT;
		if ((rc = buffer_add(&d->text, p, (size_t)(mark - p))) == NW_OK)
			rc = list_unpack(d, (const uint8_t *)mark + 1);
		p = mark + 3;
	}
	if (rc == NW_OK && (rc = buffer_add(&d->text, p, (size_t)(end - p))) == NW_OK)
		rc = buffer_add(&d->text, "", 1);
	return rc == NW_ETOOBIG ? NW_ECORRUPT : rc;
}

int
document_unpack(
    struct document_codec *d, const struct document_parts *in, const char **json, size_t *len)
{
	int rc;

	*json = NULL;
	*len = 0;
	if ((rc = groups_unpack(d, in->numbers, in->numbers_len)) != NW_OK ||
	    (rc = text_unpack(d, in->text, in->text_len)) != NW_OK ||
	    (rc = lists_unpack(d)) != NW_OK)
		return rc;
	*json = d->text.bytes;
	*len = d->text.len - 1;
	return NW_OK;
}

int
document_unpack_brief(
    struct document_codec *d, const struct document_parts *in, const char **json, size_t *len)
{
	int rc;

	d->brief = true;
	rc = document_unpack(d, in, json, len);
	d->brief = false;
	return rc;
}
