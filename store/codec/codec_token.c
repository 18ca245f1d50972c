/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n numbers, n known to the reader:
 *
 *   varint  length
 *   bytes   n tokens of a byte each, in `length` bytes: a zstd frame without its magic number, or
 *           as of codec_adaptive.h
 *   bits    below each token, packed without gaps (codec_bits.h)
 *
 * A number below 16 is its own token. A larger number has a token for its length in bits and for
 * the bit after the leading bit:
 *
 *   token 16 + 2 * (length - 5) + next bit, with length - 2 bits below the token
 *
 * The bits below are noise, on which zstd would only lose time.
 */
#include "store/codec/codec_token.h"

#include <math.h>
#include <stdlib.h>
#include <zstd.h>

#include "store/codec/codec_adaptive.h"
#include "store/codec/codec_bits.h"

enum {
	TOKEN_LITERALS = 16,
	N_TOKENS = TOKEN_LITERALS + 2 * 60,
	ZSTD_MAGIC_BYTES = 4,
	MOST_LANES = 16,
	BITS_SHORT = 57, /* bits of an eight-byte load from any bit */
	/* bytes of zstd's own tables, and about as many per token in use */
	FRAME_BITS = 8 * 8,
	FEW_BITS = 8 * 3,
	TABLE_BITS = 4
};

static const uint8_t zstd_magic[ZSTD_MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

static inline unsigned
token_of(uint64_t v)
{
	unsigned length = bits_width(v | TOKEN_LITERALS);
	unsigned token = TOKEN_LITERALS + 2 * (length - 5) + (unsigned)(v >> (length - 2) & 1);

	return v < TOKEN_LITERALS ? (unsigned)v : token;
}

static unsigned
token_bits(unsigned token)
{
	return token < TOKEN_LITERALS ? 0 : 3 + (token - TOKEN_LITERALS) / 2;
}

static uint64_t
token_least(unsigned token)
{
	return token < TOKEN_LITERALS ? token : (UINT64_C(2) | (token & 1)) << token_bits(token);
}

static void
fill_tables(struct token_coder *coder)
{
	unsigned token, n;

	for (n = 1; n < TOKEN_LOGS; n++)
		coder->times_log[n] = (float)n * log2f((float)n);
	for (token = 0; token < N_TOKENS; token++) {
		coder->n_below[token] = (uint8_t)token_bits(token);
		coder->means[token].least = token_least(token);
		coder->means[token].below = (UINT64_C(1) << token_bits(token)) - 1;
	}
}

/* Room for the tokens of n numbers, by either way. */
static size_t
frame_bound(uint32_t n)
{
	size_t few = adaptive_bound(n < TOKEN_FEW ? n : TOKEN_FEW, N_TOKENS),
	       bytes = ZSTD_compressBound(n) + ZSTD_MAGIC_BYTES;

	return few > bytes ? few : bytes;
}

int
token_reserve(struct token_coder *coder, uint32_t n)
{
	if (n <= coder->cap)
		return NW_OK;
	token_clear(coder);
	coder->token = malloc(n);
	coder->frame = malloc(frame_bound(n));
	if (coder->token == NULL || coder->frame == NULL) {
		token_clear(coder);
		return NW_ENOMEM;
	}
	fill_tables(coder);
	coder->cap = n;
	return NW_OK;
}

void
token_clear(struct token_coder *coder)
{
	ZSTD_freeCCtx(coder->compressor);
	ZSTD_freeDCtx(coder->decompressor);
	free(coder->token);
	free(coder->frame);
	memset(coder, 0, sizeof(*coder));
}

/* Tokens of noise have few symbols, and their short matches are chance: without them, zstd's
 * Huffman codes do better and the fastest level is as good as any. The length is known, and need
 * not be in the frame. */
void *
token_compressor(struct token_coder *coder)
{
	if (coder->compressor == NULL && (coder->compressor = ZSTD_createCCtx()) != NULL) {
		ZSTD_CCtx_setParameter(coder->compressor, ZSTD_c_compressionLevel, 1);
		ZSTD_CCtx_setParameter(coder->compressor, ZSTD_c_minMatch, 7);
		ZSTD_CCtx_setParameter(coder->compressor, ZSTD_c_contentSizeFlag, 0);
	}
	return coder->compressor;
}

void *
token_decompressor(struct token_coder *coder)
{
	if (coder->decompressor == NULL)
		coder->decompressor = ZSTD_createDCtx();
	return coder->decompressor;
}

static inline float
times_log(const struct token_coder *coder, uint32_t n)
{
	return n < TOKEN_LOGS ? coder->times_log[n] : (float)n * log2f((float)n);
}

/* Shannon's bound for the tokens, plus the bits below the tokens. */
uint64_t
token_cost(const struct token_coder *coder, const uint64_t *v, uint32_t n, uint32_t n_all)
{
	uint32_t even[N_TOKENS] = { 0 }, odd[N_TOKENS] = { 0 }, count, used = 0, i;
	uint64_t n_below = 0;
	float bits = times_log(coder, n);

	/* Two tables, because an increment waits for the previous increment of the same counter. */
	for (i = 0; i + 1 < n; i += 2) {
		even[token_of(v[i])]++;
		odd[token_of(v[i + 1])]++;
	}
	if (i < n)
		even[token_of(v[i])]++;
	for (i = 0; i < N_TOKENS; i++) {
		if ((count = even[i] + odd[i]) == 0)
			continue;
		used++;
		n_below += (uint64_t)count * coder->n_below[i];
		bits -= times_log(coder, count);
	}
	return (n_below + (bits > 0 ? (uint64_t)bits : 0)) * n_all / n + used * TABLE_BITS +
	    (n_all <= TOKEN_FEW ? FEW_BITS : FRAME_BITS);
}

size_t
token_bound(uint32_t n)
{
	return VARINT_MAX_BYTES + frame_bound(n) + (size_t)n * 8 + BITS_SLACK_BYTES;
}

/* Compresses the tokens; *bytes is on loan. */
static int
tokens_pack(struct token_coder *coder, uint32_t n, const uint8_t **bytes, size_t *len)
{
	ZSTD_CCtx *cctx;

	*bytes = coder->frame;
	if (n <= TOKEN_FEW) {
		*len = adaptive_write(coder->token, n, coder->frame);
		return NW_OK;
	}
	if ((cctx = token_compressor(coder)) == NULL)
		return NW_ENOMEM;
	*len = ZSTD_compress2(cctx, coder->frame, ZSTD_compressBound(n), coder->token, n);
	if (ZSTD_isError(*len) || *len < ZSTD_MAGIC_BYTES)
		return NW_ENOMEM; /* the room is enough: nothing else is left */
	*len -= ZSTD_MAGIC_BYTES;
	*bytes += ZSTD_MAGIC_BYTES;
	return NW_OK;
}

int
token_write(struct token_coder *coder, const uint64_t *v, uint32_t n, struct chunk_buf *out)
{
	struct bit_writer below;
	const uint8_t *bytes;
	uint32_t i;
	uint8_t token;
	size_t len;
	int rc;

	for (i = 0; i < n; i++)
		coder->token[i] = (uint8_t)token_of(v[i]);
	if ((rc = tokens_pack(coder, n, &bytes, &len)) != NW_OK)
		return rc;
	write_varint(out, len);
	write_bytes(out, bytes, len);
	below = (struct bit_writer){ out->bytes + out->len, 0, 0 };
	for (i = 0; i < n; i++) {
		token = coder->token[i];
		bits_put(&below, v[i] - coder->means[token].least, coder->n_below[token]);
	}
	out->len = (size_t)(bits_flush(&below) - out->bytes);
	return NW_OK;
}

static int
unpack_frame(struct token_coder *coder, struct byte_reader *in, uint32_t n, bool few)
{
	uint64_t len = read_varint(in);
	const uint8_t *frame;
	ZSTD_DCtx *dctx;

	if ((!few && len > ZSTD_compressBound(n)) || (frame = read_bytes(in, len)) == NULL)
		return NW_ECORRUPT;
	if (few)
		return adaptive_read(frame, len, N_TOKENS, coder->token, n);
	if ((dctx = token_decompressor(coder)) == NULL)
		return NW_ENOMEM;
	memcpy(coder->frame, zstd_magic, ZSTD_MAGIC_BYTES);
	memcpy(coder->frame + ZSTD_MAGIC_BYTES, frame, len);
	if (ZSTD_decompressDCtx(dctx, coder->token, n, coder->frame, len + ZSTD_MAGIC_BYTES) != n)
		return NW_ECORRUPT;
	return NW_OK;
}

/* Inlined with a constant number of rows, this loop becomes vector code. */
static inline void
most_rows(const uint8_t *token, uint8_t most[MOST_LANES])
{
	uint32_t k;

	for (k = 0; k < MOST_LANES; k++)
		most[k] = token[k] > most[k] ? token[k] : most[k];
}

static uint8_t
most_of(const uint8_t *token, uint32_t n)
{
	uint8_t most[MOST_LANES] = { 0 };
	uint32_t i, k;

	for (i = 0; i + MOST_LANES <= n; i += MOST_LANES)
		most_rows(token + i, most);
	for (; i < n; i++)
		most[0] = token[i] > most[0] ? token[i] : most[0];
	for (k = 1; k < MOST_LANES; k++)
		most[0] = most[k] > most[0] ? most[k] : most[0];
	return most[0];
}

/* Where the bits below the tokens lie while the numbers are put together. */
struct below_reader {
	const uint8_t *bytes;
	size_t pos; /* next bit to read */
	size_t end; /* bit where loads of eight bytes begin to pass the readable bytes */
};

/*
 * Puts numbers i.. below n together while their bits begin before below->end, and returns the index
 * of the first number left over. 16 bytes behind below->end are readable. Most tokens have few bits
 * below, in a single load.
 */
static inline uint32_t
join_some(const struct token_coder *coder, uint32_t i, uint32_t n, struct below_reader *below,
    bool few, uint64_t *v)
{
	const struct token_meaning *means;
	const uint8_t *bytes = below->bytes;
	size_t at = below->pos, end = below->end;
	uint8_t token;

	for (; i < n && at < end; i++) {
		token = coder->token[i];
		means = &coder->means[token];
		v[i] = means->least +
		    (few ? load_le64(bytes + at / 8) >> (at % 8) & means->below
			 : bits_get(bytes, at, coder->n_below[token]));
		at += coder->n_below[token];
	}
	below->pos = at;
	return i;
}

/*
 * Tokens and the bits below, with an end somewhere in `in`. Bits near the end of `in` cannot be
 * loaded eight bytes at a time; the loop takes the last bits from a copy with zeros behind its end.
 */
static int
join_tokens(
    const struct token_coder *coder, uint32_t n, bool few, struct byte_reader *in, uint64_t *v)
{
	uint8_t tail[4 * BITS_SLACK_BYTES] = { 0 };
	size_t left = reader_left(in),
	       safe = left > BITS_SLACK_BYTES ? (left - BITS_SLACK_BYTES) * 8 : 0, from;
	struct below_reader below = { in->at, 0, safe };
	uint32_t i;

	i = few ? join_some(coder, 0, n, &below, true, v)
		: join_some(coder, 0, n, &below, false, v);
	from = below.pos / 8;
	if (i < n && from <= left) {
		memcpy(tail, in->at + from, left - from);
		below = (struct below_reader){ tail, below.pos % 8, (left - from) * 8 + 1 };
		i = join_some(coder, i, n, &below, false, v);
		below.pos += from * 8;
	}
	return i < n || read_bytes(in, (below.pos + 7) / 8) == NULL ? NW_ECORRUPT : NW_OK;
}

int
token_read(struct token_coder *coder, struct byte_reader *in, uint64_t *v, uint32_t n, bool few)
{
	uint32_t i;
	uint8_t most;
	int rc = unpack_frame(coder, in, n, few);

	if (rc != NW_OK)
		return rc;
	if ((most = most_of(coder->token, n)) >= N_TOKENS)
		return NW_ECORRUPT;
	if (most >= TOKEN_LITERALS)
		return join_tokens(coder, n, token_bits(most) <= BITS_SHORT, in, v);
	for (i = 0; i < n; i++)
		v[i] = coder->token[i];
	return NW_OK;
}
