/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunk, little endian (integers as in codec_bytes.h):
 *
 *   "NWC"     then u8 version, 1
 *   u8        compact (bit 0), attachments (bit 1), all other bits 0
 *   varint    rows, varint columns
 *   signed    least time, varint distance of the greatest time    in a chunk with rows
 *   varint    bytes of all attachments                            in a chunk with attachments
 *   varint    length of each piece: times, attachments (if any), columns
 *   pieces    codec_time.c; below; codec_column.c
 *   u32       low half of XXH64 of all bytes before
 *
 * Attachments: a stream (codec_stream.c) of their lengths, u8 method, and all their bytes plain (0)
 * or as one zstd frame (1).
 *
 * A column may refer to other columns, in a chain of at most DEPTH_MAX: so the decoder of a single
 * column decodes few others. The head bounds the memory of decoding before any is allocated.
 */
#include "store/codec/chunk.h"

#include <stdlib.h>
#include <zstd.h>

#include "store/codec/codec_bytes.h"
#include "store/codec/codec_column.h"
#include "store/codec/codec_hash.h"
#include "store/codec/codec_plans.h"
#include "store/codec/codec_search.h"
#include "store/codec/codec_time.h"

enum {
	VERSION = 1,
	FLAG_COMPACT = 1,
	FLAG_ATTACHMENTS = 2,
	MAGIC_BYTES = 4,
	CHECKSUM_BYTES = 4,
	HEAD_BYTES_MAX = MAGIC_BYTES + 1 + 5 * VARINT_MAX_BYTES,
	ATTACHED_RAW = 0,
	ATTACHED_ZSTD = 1,
	ATTACHED_LEVEL_HOT = 1,
	ATTACHED_LEVEL_COMPACT = 9,
	DEPTH_MAX = 16,
	CAP_ROWS_MIN = 1024,
	LEARN_ROWS_MIN = 256, /* rows below which a relation may be chance */
	/* a column in so many, unlike its family, makes the chunk unlike the family */
	STRANGE_SHARE = 3
};

static const uint8_t magic[MAGIC_BYTES] = { 'N', 'W', 'C', VERSION };

enum column_state { COLUMN_CODED, COLUMN_OPEN, COLUMN_DECODED };

struct chunk_codec {
	struct column_work work;
	struct chunk_buf pieces; /* of the chunk being encoded */
	uint8_t *state;          /* [cap_columns] enum column_state */
	const double **value;    /* [cap_columns] decoded columns */
	const uint8_t **piece;   /* [cap_columns] where each begins */
	uint32_t *piece_len;
	struct column_plan *plan;     /* [cap_columns] of the chunk being encoded */
	struct column_search *search; /* for cap_columns */
	struct plan_memory *plans;    /* made when first needed; may stay NULL */
	uint32_t cap_columns;
};

/* A head, and places of the pieces for the decoder. */
struct layout {
	struct chunk_head head;
	const uint8_t *directory, *end; /* bytes below the checksum */
	size_t attachment_bytes;
	struct byte_reader times, attachments;
};

struct chunk_codec *
chunk_codec_new(void)
{
	return calloc(1, sizeof(struct chunk_codec));
}

static void
free_columns(struct chunk_codec *codec)
{
	free(codec->state);
	free(codec->value);
	free(codec->piece);
	free(codec->piece_len);
	free(codec->plan);
	column_search_free(codec->search);
	codec->search = NULL;
	codec->state = NULL;
	codec->value = NULL;
	codec->piece = NULL;
	codec->piece_len = NULL;
	codec->plan = NULL;
	codec->cap_columns = 0;
}

void
chunk_codec_free(struct chunk_codec *codec)
{
	if (codec == NULL)
		return;
	column_work_clear(&codec->work);
	chunk_buf_clear(&codec->pieces);
	free_columns(codec);
	plans_free(codec->plans);
	free(codec);
}

void
chunk_buf_clear(struct chunk_buf *buf)
{
	free(buf->bytes);
	memset(buf, 0, sizeof(*buf));
}

void
chunk_rows_clear(struct chunk_rows *rows)
{
	free(rows->mem);
	memset(rows, 0, sizeof(*rows));
}

/* Takes working memory for a chunk of a shape. */
static int
codec_reserve(struct chunk_codec *codec, uint32_t n_rows, uint32_t n_columns)
{
	uint32_t cap_rows = CAP_ROWS_MIN;

	if (codec->cap_columns == 0 || n_columns > codec->cap_columns) {
		n_columns = n_columns > 0 ? n_columns : 1;
		free_columns(codec);
		codec->state = malloc(n_columns);
		codec->value = malloc(n_columns * sizeof(*codec->value));
		codec->piece = malloc(n_columns * sizeof(*codec->piece));
		codec->piece_len = malloc(n_columns * sizeof(*codec->piece_len));
		codec->plan = malloc(n_columns * sizeof(*codec->plan));
		codec->search = column_search_new(n_columns);
		if (codec->state == NULL || codec->value == NULL || codec->piece == NULL ||
		    codec->piece_len == NULL || codec->plan == NULL || codec->search == NULL) {
			free_columns(codec);
			return NW_ENOMEM;
		}
		codec->cap_columns = n_columns;
	}
	while (cap_rows < n_rows)
		cap_rows *= 2;
	return column_work_reserve(&codec->work, cap_rows);
}

static size_t
decoded_bytes(uint32_t n_rows, uint32_t n_columns, bool has_attachments, size_t attachment_bytes)
{
	size_t bytes = (size_t)n_rows * 8 * ((size_t)n_columns + 1);

	return has_attachments ? bytes + (size_t)n_rows * 4 + attachment_bytes : bytes;
}

/* --- encoding --- */

static int
check_input(const struct chunk_columns *in)
{
	size_t attachment_bytes =
	    in->attachment_end != NULL && in->n_rows > 0 ? in->attachment_end[in->n_rows - 1] : 0;
	uint32_t i;

	if (in->n_rows > CHUNK_ROWS_MAX || in->n_columns > CHUNK_COLUMNS_MAX ||
	    decoded_bytes(in->n_rows, in->n_columns, in->attachment_end != NULL, attachment_bytes) >
		CHUNK_DECODED_MAX_BYTES)
		return NW_ETOOBIG;
	for (i = 1; in->attachment_end != NULL && i < in->n_rows; i++)
		if (in->attachment_end[i] < in->attachment_end[i - 1])
			return NW_EINVAL;
	return NW_OK;
}

static int
encode_attachments(struct column_work *work, const struct chunk_columns *in,
    enum chunk_effort effort, struct chunk_buf *out)
{
	size_t total = in->n_rows > 0 ? in->attachment_end[in->n_rows - 1] : 0, len;
	ZSTD_CCtx *cctx = token_compressor(&work->coder.tokens);
	uint32_t i;
	int rc;

	if (cctx == NULL)
		return NW_ENOMEM;
	for (i = 0; i < in->n_rows; i++)
		work->main[i] = in->attachment_end[i] - (i > 0 ? in->attachment_end[i - 1] : 0);
	if ((rc = stream_write(&work->coder, work->main, in->n_rows, out)) != NW_OK ||
	    (rc = buf_reserve(out, 1 + ZSTD_compressBound(total))) != NW_OK)
		return rc;
	len = ZSTD_compressCCtx(cctx, out->bytes + out->len + 1, ZSTD_compressBound(total),
	    in->attachment, total,
	    effort == CHUNK_HOT ? ATTACHED_LEVEL_HOT : ATTACHED_LEVEL_COMPACT);
	if (ZSTD_isError(len))
		return NW_ENOMEM;
	if (len < total) {
		write_u8(out, ATTACHED_ZSTD);
		out->len += len;
	} else {
		write_u8(out, ATTACHED_RAW);
		write_bytes(out, in->attachment, total);
	}
	return NW_OK;
}

static int
encode_column(struct chunk_codec *codec, const struct chunk_columns *in, uint32_t c)
{
	size_t begin = codec->pieces.len;
	int rc =
	    column_write(&codec->work, in->value, in->n_rows, c, &codec->plan[c], &codec->pieces);

	codec->piece_len[c] = (uint32_t)(codec->pieces.len - begin);
	return rc;
}

/* Looks afresh at every column, and at relations between columns if these are worth the time. */
static int
encode_unknown(struct chunk_codec *codec, const struct chunk_columns *in, enum chunk_effort effort)
{
	struct column_work *work = &codec->work;
	struct column_plan *plan = codec->plan;
	uint32_t c;
	int rc;

	for (c = 0; c < in->n_columns; c++) {
		column_choose(work, in->value, in->n_rows, c, &plan[c]);
		if (effort == CHUNK_HOT && (rc = encode_column(codec, in, c)) != NW_OK)
			return rc;
	}
	if (effort == CHUNK_HOT)
		return NW_OK;
	column_search_run(codec->search, work, in->value, in->n_rows, in->n_columns, plan);
	for (c = 0; c < in->n_columns; c++)
		if ((rc = encode_column(codec, in, c)) != NW_OK)
			return rc;
	if (codec->plans != NULL && in->n_rows >= LEARN_ROWS_MIN) {
		plans_learn(
		    codec->plans, in->kind, plan, codec->piece_len, in->n_columns, in->n_rows);
		plans_learn(
		    codec->plans, in->family, plan, codec->piece_len, in->n_columns, in->n_rows);
	}
	return NW_OK;
}

/* As the last time; where that does not do well any more, as the column looks by itself. Counts
 * such columns. */
static int
encode_known(struct chunk_codec *codec, const struct chunk_columns *in, enum chunk_effort effort,
    struct known_column *known, uint32_t *n_strange)
{
	size_t begin, len;
	uint32_t c;
	int rc;

	*n_strange = 0;

	for (c = 0; c < in->n_columns; c++) {
		begin = codec->pieces.len;
		codec->plan[c] = known[c].plan;
		if (known[c].plan.form == FORM_EQUAL || column_is_equal(in->value[c], in->n_rows))
			column_choose(&codec->work, in->value, in->n_rows, c, &codec->plan[c]);
		if ((rc = encode_column(codec, in, c)) != NW_OK)
			return rc;
		len = codec->piece_len[c];
		if (!plan_is_stale(&known[c], len, in->n_rows, effort))
			continue;
		++*n_strange;
		column_choose(&codec->work, in->value, in->n_rows, c, &codec->plan[c]);
		if ((rc = encode_column(codec, in, c)) != NW_OK)
			return rc;
		if (codec->piece_len[c] < len)
			memmove(codec->pieces.bytes + begin, codec->pieces.bytes + begin + len,
			    codec->piece_len[c]);
		else
			codec->piece_len[c] = (uint32_t)len;
		codec->pieces.len = begin + codec->piece_len[c];
	}
	return NW_OK;
}

static int
encode_columns(struct chunk_codec *codec, const struct chunk_columns *in, enum chunk_effort effort)
{
	struct known_column *known;
	size_t begin = codec->pieces.len;
	uint32_t n_strange;
	int rc;

	column_work_forget(&codec->work);
	if (in->kind != 0 && codec->plans == NULL)
		codec->plans = plans_new();
	if (codec->plans == NULL)
		return encode_unknown(codec, in, effort);
	if ((known = plans_recall(codec->plans, in->kind, in->n_columns, effort)) != NULL)
		return encode_known(codec, in, effort, known, &n_strange);
	if ((known = plans_recall(codec->plans, in->family, in->n_columns, effort)) == NULL)
		return encode_unknown(codec, in, effort);
	if ((rc = encode_known(codec, in, effort, known, &n_strange)) != NW_OK)
		return rc;
	if (n_strange > in->n_columns / STRANGE_SHARE) {
		codec->pieces.len = begin;
		return encode_unknown(codec, in, effort);
	}
	if (effort == CHUNK_COMPACT && in->n_rows >= LEARN_ROWS_MIN)
		plans_learn(codec->plans, in->kind, codec->plan, codec->piece_len, in->n_columns,
		    in->n_rows);
	return NW_OK;
}

static void
write_head(const struct chunk_columns *in, enum chunk_effort effort, struct chunk_buf *out)
{
	bool has_attachments = in->attachment_end != NULL;
	int64_t least, most;
	uint32_t i;

	write_bytes(out, magic, MAGIC_BYTES);
	write_u8(out,
	    (effort == CHUNK_COMPACT ? FLAG_COMPACT : 0) |
		(has_attachments ? FLAG_ATTACHMENTS : 0));
	write_varint(out, in->n_rows);
	write_varint(out, in->n_columns);
	if (in->n_rows > 0) {
		least = most = in->t_wall_ns[0];
		for (i = 1; i < in->n_rows; i++) {
			least = in->t_wall_ns[i] < least ? in->t_wall_ns[i] : least;
			most = in->t_wall_ns[i] > most ? in->t_wall_ns[i] : most;
		}
		write_signed(out, least);
		write_varint(out, (uint64_t)wrap_sub(most, least));
	}
	if (has_attachments)
		write_varint(out, in->n_rows > 0 ? in->attachment_end[in->n_rows - 1] : 0);
}

int
chunk_encode(struct chunk_codec *codec, const struct chunk_columns *in, enum chunk_effort effort,
    struct chunk_buf *out)
{
	size_t times_len, attachments_len = 0;
	uint64_t sum;
	uint32_t c;
	int rc, i;

	out->len = 0;
	codec->pieces.len = 0;
	if ((rc = check_input(in)) != NW_OK ||
	    (rc = codec_reserve(codec, in->n_rows, in->n_columns)) != NW_OK)
		return rc;
	codec->work.coder.effort = effort;
	if ((rc = time_write(&codec->work, in->t_wall_ns, in->n_rows, &codec->pieces)) != NW_OK)
		return rc;
	times_len = codec->pieces.len;
	if (in->attachment_end != NULL) {
		if ((rc = encode_attachments(&codec->work, in, effort, &codec->pieces)) != NW_OK)
			return rc;
		attachments_len = codec->pieces.len - times_len;
	}
	if ((rc = encode_columns(codec, in, effort)) != NW_OK ||
	    (rc = buf_reserve(out,
		 HEAD_BYTES_MAX + ((size_t)in->n_columns + 2) * VARINT_MAX_BYTES +
		     codec->pieces.len + CHECKSUM_BYTES)) != NW_OK)
		return rc;
	write_head(in, effort, out);
	write_varint(out, times_len);
	if (in->attachment_end != NULL)
		write_varint(out, attachments_len);
	for (c = 0; c < in->n_columns; c++)
		write_varint(out, codec->piece_len[c]);
	write_bytes(out, codec->pieces.bytes, codec->pieces.len);
	sum = hash_bytes(out->bytes, out->len);
	for (i = 0; i < CHECKSUM_BYTES; i++)
		write_u8(out, (uint8_t)(sum >> (8 * i)));
	return NW_OK;
}

/* --- decoding --- */

static int
read_layout(const uint8_t *bytes, size_t len, struct layout *layout)
{
	struct byte_reader in = { bytes, bytes + len, false };
	struct chunk_head *head = &layout->head;
	uint64_t n_rows, n_columns, span = 0, attachment_bytes = 0;
	uint8_t flags;

	memset(layout, 0, sizeof(*layout));
	if (len < MAGIC_BYTES + 1 + CHECKSUM_BYTES || memcmp(bytes, magic, MAGIC_BYTES - 1) != 0)
		return NW_ECORRUPT;
	if (bytes[MAGIC_BYTES - 1] != VERSION)
		return bytes[MAGIC_BYTES - 1] > VERSION ? NW_EVERSION : NW_ECORRUPT;
	in.at += MAGIC_BYTES;
	in.end -= CHECKSUM_BYTES;
	flags = read_u8(&in);
	n_rows = read_varint(&in);
	n_columns = read_varint(&in);
	if (in.bad || (flags & ~(FLAG_COMPACT | FLAG_ATTACHMENTS)) != 0)
		return NW_ECORRUPT;
	if (n_rows > CHUNK_ROWS_MAX || n_columns > CHUNK_COLUMNS_MAX)
		return NW_ETOOBIG;
	if (n_rows > 0) {
		head->t_min_wall_ns = read_signed(&in);
		span = read_varint(&in);
	}
	if (flags & FLAG_ATTACHMENTS)
		attachment_bytes = read_varint(&in);
	if (attachment_bytes > CHUNK_DECODED_MAX_BYTES)
		return NW_ETOOBIG;
	head->n_rows = (uint32_t)n_rows;
	head->n_columns = (uint32_t)n_columns;
	head->t_max_wall_ns = (int64_t)((uint64_t)head->t_min_wall_ns + span);
	head->effort = flags & FLAG_COMPACT ? CHUNK_COMPACT : CHUNK_HOT;
	head->has_attachments = flags & FLAG_ATTACHMENTS;
	head->decoded_bytes =
	    decoded_bytes(head->n_rows, head->n_columns, head->has_attachments, attachment_bytes);
	layout->attachment_bytes = attachment_bytes;
	layout->directory = in.at;
	layout->end = in.end;
	if (in.bad || head->t_max_wall_ns < head->t_min_wall_ns)
		return NW_ECORRUPT;
	return head->decoded_bytes > CHUNK_DECODED_MAX_BYTES ? NW_ETOOBIG : NW_OK;
}

int
chunk_read_head(const uint8_t *bytes, size_t len, struct chunk_head *head)
{
	struct layout layout;
	int rc = read_layout(bytes, len, &layout);

	*head = layout.head;
	return rc;
}

/* Finds the pieces; together the pieces fill the chunk. */
static int
read_directory(struct chunk_codec *codec, struct layout *layout)
{
	struct byte_reader in = { layout->directory, layout->end, false };
	uint64_t times_len, attachments_len = 0, len;
	uint32_t c;

	times_len = read_varint(&in);
	if (layout->head.has_attachments)
		attachments_len = read_varint(&in);
	for (c = 0; c < layout->head.n_columns; c++) {
		len = read_varint(&in);
		if (len > reader_left(&in))
			return NW_ECORRUPT;
		codec->piece_len[c] = (uint32_t)len;
	}
	layout->times.at = read_bytes(&in, times_len);
	layout->times.end = in.at;
	layout->attachments.at = read_bytes(&in, attachments_len);
	layout->attachments.end = in.at;
	for (c = 0; c < layout->head.n_columns; c++)
		codec->piece[c] = read_bytes(&in, codec->piece_len[c]);
	return in.bad || reader_left(&in) != 0 ? NW_ECORRUPT : NW_OK;
}

static int
decode_times(struct column_work *work, const struct layout *layout, int64_t *t)
{
	struct byte_reader in = layout->times;
	uint32_t n = layout->head.n_rows, i;
	int64_t least = layout->head.t_max_wall_ns, most = layout->head.t_min_wall_ns;
	int rc = time_read(work, &in, t, n);

	if (rc != NW_OK)
		return rc;
	for (i = 0; i < n; i++) {
		least = t[i] < least ? t[i] : least;
		most = t[i] > most ? t[i] : most;
	}
	/* Searches for a time read heads only, so a head must agree with its times. */
	if (reader_left(&in) != 0 || least != layout->head.t_min_wall_ns ||
	    most != layout->head.t_max_wall_ns)
		return NW_ECORRUPT;
	return NW_OK;
}

static int
decode_attachments(
    struct column_work *work, const struct layout *layout, uint32_t *ends, uint8_t *bytes)
{
	struct byte_reader in = layout->attachments;
	uint32_t n = layout->head.n_rows, i;
	size_t total = layout->attachment_bytes;
	uint64_t end = 0;
	ZSTD_DCtx *dctx;
	uint8_t method;
	int rc;

	if ((rc = stream_read(&work->coder, &in, work->main, n)) != NW_OK)
		return rc;
	for (i = 0; i < n; i++) {
		if ((uint64_t)work->main[i] > total - end)
			return NW_ECORRUPT;
		end += (uint64_t)work->main[i];
		ends[i] = (uint32_t)end;
	}
	method = read_u8(&in);
	if (in.bad || end != total || method > ATTACHED_ZSTD)
		return NW_ECORRUPT;
	if (method == ATTACHED_ZSTD) {
		if ((dctx = token_decompressor(&work->coder.tokens)) == NULL)
			return NW_ENOMEM;
		return ZSTD_decompressDCtx(dctx, bytes, total, in.at, reader_left(&in)) == total
		    ? NW_OK
		    : NW_ECORRUPT;
	}
	if (reader_left(&in) != total)
		return NW_ECORRUPT;
	if (total > 0)
		memcpy(bytes, in.at, total);
	return NW_OK;
}

/* Decodes column c after the columns that c refers to, each column once. A circle of references
 * meets a column still open. */
static int
decode_column(struct chunk_codec *codec, const struct layout *layout, uint32_t c, unsigned depth)
{
	struct byte_reader in = { codec->piece[c], codec->piece[c] + codec->piece_len[c], false };
	uint32_t need[1 + RELATION_ARGS_MAX];
	struct column_plan plan;
	unsigned n_needs, i;
	int rc;

	if (codec->state[c] == COLUMN_DECODED)
		return NW_OK;
	if (codec->state[c] == COLUMN_OPEN || depth > DEPTH_MAX)
		return NW_ECORRUPT;
	codec->state[c] = COLUMN_OPEN;
	column_read_plan(&in, layout->head.n_columns, &plan);
	if (in.bad)
		return NW_ECORRUPT;
	n_needs = column_needs(&plan, need);
	for (i = 0; i < n_needs; i++)
		if ((rc = decode_column(codec, layout, need[i], depth + 1)) != NW_OK)
			return rc;
	rc = column_read(
	    &codec->work, &in, &plan, codec->value, layout->head.n_rows, (double *)codec->value[c]);
	if (rc != NW_OK)
		return rc;
	codec->state[c] = COLUMN_DECODED;
	return reader_left(&in) == 0 ? NW_OK : NW_ECORRUPT;
}

/* Takes a single block for the chunk's pointers, times, columns, ends and attachments. */
static int
rows_reserve(struct chunk_rows *out, const struct chunk_head *head)
{
	size_t need = head->n_columns * sizeof(double *) + head->decoded_bytes + 1;
	void *mem;

	if (need <= out->cap)
		return NW_OK;
	if ((mem = malloc(need)) == NULL)
		return NW_ENOMEM;
	free(out->mem);
	out->mem = mem;
	out->cap = need;
	return NW_OK;
}

static int
decode_wanted_columns(struct chunk_codec *codec, const struct layout *layout,
    const struct chunk_want *want, const double **shown)
{
	bool all = want == NULL || want->columns == NULL;
	uint32_t n = all ? layout->head.n_columns : want->n_columns, i, c;
	int rc;

	memset(codec->state, COLUMN_CODED, layout->head.n_columns);
	for (i = 0; i < layout->head.n_columns; i++)
		shown[i] = NULL;
	for (i = 0; i < n; i++) {
		c = all ? i : want->columns[i];
		if (c >= layout->head.n_columns)
			return NW_ENOTFOUND;
		if ((rc = decode_column(codec, layout, c, 0)) != NW_OK)
			return rc;
		shown[c] = codec->value[c];
	}
	return NW_OK;
}

static int
decode_pieces(struct chunk_codec *codec, const struct layout *layout, const struct chunk_want *want,
    struct chunk_rows *out)
{
	const struct chunk_head *head = &layout->head;
	size_t n = head->n_rows;
	const double **shown = out->mem;
	int64_t *t = (int64_t *)(shown + head->n_columns);
	double *columns = (double *)(t + n);
	uint32_t *ends = (uint32_t *)(columns + n * head->n_columns), c;
	uint8_t *attached = (uint8_t *)(ends + n);
	int rc = NW_OK;

	for (c = 0; c < head->n_columns; c++)
		codec->value[c] = columns + c * n;
	if (want == NULL || want->times)
		rc = decode_times(&codec->work, layout, t);
	if (rc == NW_OK && head->has_attachments && (want == NULL || want->attachments))
		rc = decode_attachments(&codec->work, layout, ends, attached);
	if (rc == NW_OK)
		rc = decode_wanted_columns(codec, layout, want, shown);
	if (rc != NW_OK)
		return rc;
	out->is.n_rows = head->n_rows;
	out->is.n_columns = head->n_columns;
	out->is.value = shown;
	if (want == NULL || want->times)
		out->is.t_wall_ns = t;
	if (head->has_attachments && (want == NULL || want->attachments)) {
		out->is.attachment_end = ends;
		out->is.attachment = attached;
	}
	return NW_OK;
}

int
chunk_decode(struct chunk_codec *codec, const uint8_t *bytes, size_t len,
    const struct chunk_want *want, struct chunk_rows *out)
{
	struct layout layout;
	int rc;

	memset(&out->is, 0, sizeof(out->is));
	if ((rc = read_layout(bytes, len, &layout)) != NW_OK)
		return rc;
	if ((uint32_t)hash_bytes(bytes, len - CHECKSUM_BYTES) != load_le32(layout.end))
		return NW_ECORRUPT;
	if ((rc = codec_reserve(codec, layout.head.n_rows, layout.head.n_columns)) != NW_OK ||
	    (rc = read_directory(codec, &layout)) != NW_OK ||
	    (rc = rows_reserve(out, &layout.head)) != NW_OK)
		return rc;
	return decode_pieces(codec, &layout, want, out);
}
