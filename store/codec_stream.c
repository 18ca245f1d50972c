/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of n 64-bit integers. n is known from elsewhere; a run of none is no bytes.
 *
 *   u8      mode (bits 0-1), folded (bit 2), unit follows (bit 3), all others 0
 *   signed  base
 *   varint  unit, if it follows; else 1
 *   mode 0  nothing: all are equal to the base
 *   mode 1  u8 width per block of 32, then the blocks (codec_bits.h)
 *   mode 2  varint length, one zstd frame of that length less its magic number: n tokens; then the bits below them
 *
 * x = base + unit * v, and v counts 0, -1, 1, -2 ... when folded. In mode 2 a v below 16 is its own token; a larger
 * one has a token for its length and the bit after the leading one, and its other bits follow uncompressed: they are
 * noise, and zstd would only lose time on them.
 *
 *   token 16 + 2 * (length - 5) + next bit, with length - 2 bits behind it
 */
#include "store/codec_stream.h"

#include <math.h>
#include <stdlib.h>
#include <zstd.h>

#include "store/codec_bits.h"

enum {
	MODE_EQUAL, MODE_PACKED, MODE_TOKENS, MODE_MASK = 3,
	FLAG_FOLDED = 4, FLAG_UNIT = 8,
	TOKEN_LITERALS = 16,
	N_TOKENS = TOKEN_LITERALS + 2 * 60,
	MIDDLE_SAMPLES = 15,
	ZSTD_LEVEL = 3, ZSTD_MAGIC_BYTES = 4,
	HEAD_BITS = 8 * 6             /* mode, base and a unit, typically */
};

/* How a run is written, and what that costs. */
struct stream_fit {
	uint64_t cost_bits;
	uint64_t unit;                /* common divisor of the differences; 0: all are `base` */
	int64_t base;                 /* the least value, or one in the middle */
	bool folded;                  /* values lie on both sides of the base */
};

static const uint8_t zstd_magic[ZSTD_MAGIC_BYTES] = { 0x28, 0xb5, 0x2f, 0xfd };

int
stream_reserve(struct stream_coder *coder, uint32_t n)
{
	if (n <= coder->cap)
		return NW_OK;
	stream_clear(coder);
	coder->plain = malloc(n * sizeof(*coder->plain));
	coder->token = malloc(n);
	coder->frame = malloc(ZSTD_compressBound(n) + ZSTD_MAGIC_BYTES);
	coder->width = malloc(n / BITS_BLOCK + 1);
	if (coder->plain == NULL || coder->token == NULL || coder->frame == NULL || coder->width == NULL) {
		stream_clear(coder);
		return NW_ENOMEM;
	}
	coder->cap = n;
	return NW_OK;
}

void
stream_clear(struct stream_coder *coder)
{
	ZSTD_freeCCtx(coder->zstd_in);
	ZSTD_freeDCtx(coder->zstd_out);
	free(coder->plain);
	free(coder->token);
	free(coder->frame);
	free(coder->width);
	memset(coder, 0, sizeof(*coder));
}

static inline unsigned
token_of(uint64_t v)
{
	unsigned length;

	if (v < TOKEN_LITERALS)
		return (unsigned)v;
	length = bits_width(v);
	return TOKEN_LITERALS + 2 * (length - 5) + (unsigned)(v >> (length - 2) & 1);
}

static inline unsigned
token_bits(unsigned token)
{
	return token < TOKEN_LITERALS ? 0 : 3 + (token - TOKEN_LITERALS) / 2;
}

static inline uint64_t
token_least(unsigned token)
{
	return token < TOKEN_LITERALS ? token : (UINT64_C(2) | (token & 1)) << token_bits(token);
}

/* --- choosing --- */

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	uint64_t rest;

	while (b != 0) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* x % d == 0 without dividing: multiplied by d's inverse modulo 2^64, the multiples of an odd d, and only they, fall
 * to the bottom (Granlund and Montgomery 1994, section 9). Quotients of exact divisions come the same way. */
struct divisor {
	uint64_t odd_inverse, quotient_max;
	unsigned twos;
};

static struct divisor
divisor_of(uint64_t d)
{
	struct divisor by = { 0, UINT64_MAX / d, (unsigned)__builtin_ctzll(d) };
	uint64_t odd = d >> by.twos;
	int i;

	by.odd_inverse = odd;                 /* right in 3 bits; each step doubles them */
	for (i = 0; i < 5; i++)
		by.odd_inverse *= 2 - odd * by.odd_inverse;
	return by;
}

static inline bool
divides(const struct divisor *by, uint64_t x)
{
	uint64_t q = x * by->odd_inverse;

	return (by->twos != 0 ? q >> by->twos | q << (64 - by->twos) : q) <= by->quotient_max;
}

/* The largest number all differences are multiples of. Numbers without one show it within a few steps. */
static uint64_t
common_unit(const int64_t *x, uint32_t n, int64_t least)
{
	struct divisor by = { 0 };
	uint64_t unit = 0, d;
	uint32_t i;

	for (i = 0; i < n && unit != 1; i++) {
		d = (uint64_t)wrap_sub(x[i], least);
		if (unit != 0 && divides(&by, d))
			continue;
		unit = common_divisor(d, unit);
		if (unit != 0)
			by = divisor_of(unit);
	}
	return unit;
}

/* The median of a few: outliers on one side must not draw the base away from where most numbers are. */
static int64_t
common_middle(const int64_t *x, uint32_t n)
{
	int64_t sorted[MIDDLE_SAMPLES], v;
	uint32_t count = n < MIDDLE_SAMPLES ? n : MIDDLE_SAMPLES, i, j;

	for (i = 0; i < count; i++) {
		v = x[(uint64_t)i * n / count];
		for (j = i; j > 0 && sorted[j - 1] > v; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = v;
	}
	return sorted[count / 2];
}

static void
make_plain(const int64_t *x, uint32_t n, const struct stream_fit *fit, uint64_t *plain)
{
	struct divisor by;
	uint32_t i;

	if (fit->unit != 1) {
		by = divisor_of(fit->unit);
		for (i = 0; i < n; i++)
			plain[i] = (uint64_t)(wrap_sub(x[i], fit->base) >> by.twos) * by.odd_inverse;
		for (i = 0; fit->folded && i < n; i++)
			plain[i] = fold_sign((int64_t)plain[i]);
	} else if (fit->folded) {
		for (i = 0; i < n; i++)
			plain[i] = fold_sign(wrap_sub(x[i], fit->base));
	} else {
		for (i = 0; i < n; i++)
			plain[i] = (uint64_t)wrap_sub(x[i], fit->base);
	}
}

/* Shannon's bound for the tokens, the bits below them, and about what zstd's tables take. */
static uint64_t
tokens_cost_bits(const uint64_t *plain, uint32_t n)
{
	uint32_t count[N_TOKENS] = { 0 }, i;
	uint64_t n_below = 0;
	float bits = 0, log_n = log2f((float)n);

	for (i = 0; i < n; i++)
		count[token_of(plain[i])]++;
	for (i = 0; i < N_TOKENS; i++) {
		if (count[i] == 0)
			continue;
		n_below += (uint64_t)count[i] * token_bits(i);
		bits += (float)count[i] * (log_n - log2f((float)count[i])) + 4;
	}
	return n_below + (uint64_t)bits + 8 * 8;
}

static uint64_t
plain_cost_bits(struct stream_coder *coder, uint32_t n)
{
	if (coder->effort == CHUNK_HOT)
		return blocks_measure(coder->plain, n, coder->width) + n / BITS_BLOCK * 8;
	return tokens_cost_bits(coder->plain, n);
}

static struct stream_fit
choose_fit(struct stream_coder *coder, const int64_t *x, uint32_t n)
{
	struct stream_fit low = { HEAD_BITS, 0, 0, false }, mid;
	int64_t least, most;
	uint32_t i;

	if (n == 0)
		return low;
	least = most = x[0];
	for (i = 1; i < n; i++) {
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
	}
	low.base = least;
	if (least == most)
		return low;
	low.unit = common_unit(x, n, least);
	mid = low;
	mid.base = common_middle(x, n);
	mid.folded = true;
	/* Exact division keeps its sign only where differences do not wrap. */
	if ((uint64_t)wrap_sub(most, least) > INT64_MAX)
		low.unit = mid.unit = 1;
	make_plain(x, n, &low, coder->plain);
	low.cost_bits += plain_cost_bits(coder, n);
	make_plain(x, n, &mid, coder->plain);
	mid.cost_bits += plain_cost_bits(coder, n);
	return mid.cost_bits < low.cost_bits ? mid : low;
}

uint64_t
stream_cost(struct stream_coder *coder, const int64_t *x, uint32_t n)
{
	return choose_fit(coder, x, n).cost_bits;
}

/* --- writing --- */

static void
write_packed(struct stream_coder *coder, uint32_t n, struct chunk_buf *out)
{
	blocks_measure(coder->plain, n, coder->width);
	write_bytes(out, coder->width, (n + BITS_BLOCK - 1) / BITS_BLOCK);
	out->len = (size_t)(blocks_pack(coder->plain, n, coder->width, out->bytes + out->len) - out->bytes);
}

static int
write_tokens(struct stream_coder *coder, uint32_t n, struct chunk_buf *out)
{
	struct bit_writer below;
	uint32_t i;
	size_t len;

	for (i = 0; i < n; i++)
		coder->token[i] = (uint8_t)token_of(coder->plain[i]);
	if (coder->zstd_in == NULL && (coder->zstd_in = ZSTD_createCCtx()) == NULL)
		return NW_ENOMEM;
	len = ZSTD_compressCCtx(coder->zstd_in, coder->frame, ZSTD_compressBound(n), coder->token, n, ZSTD_LEVEL);
	if (ZSTD_isError(len) || len < ZSTD_MAGIC_BYTES)
		return NW_ENOMEM;             /* the room is enough and the level is right: nothing else is left */
	len -= ZSTD_MAGIC_BYTES;
	write_varint(out, len);
	write_bytes(out, coder->frame + ZSTD_MAGIC_BYTES, len);
	below = (struct bit_writer){ out->bytes + out->len, 0, 0 };
	for (i = 0; i < n; i++)
		bits_put(&below, coder->plain[i] - token_least(coder->token[i]), token_bits(coder->token[i]));
	out->len = (size_t)(bits_flush(&below) - out->bytes);
	return NW_OK;
}

int
stream_write(struct stream_coder *coder, const int64_t *x, uint32_t n, struct chunk_buf *out)
{
	struct stream_fit fit = choose_fit(coder, x, n);
	int mode = fit.unit == 0 ? MODE_EQUAL : coder->effort == CHUNK_HOT ? MODE_PACKED : MODE_TOKENS, rc;

	if (n == 0)
		return NW_OK;
	rc = buf_reserve(out, 4 * VARINT_MAX_BYTES + ZSTD_compressBound(n) + n / BITS_BLOCK + (size_t)n * 8 +
	    BITS_SLACK_BYTES);
	if (rc != NW_OK)
		return rc;
	write_u8(out, (uint8_t)(mode | (fit.folded ? FLAG_FOLDED : 0) | (fit.unit > 1 ? FLAG_UNIT : 0)));
	write_signed(out, fit.base);
	if (fit.unit > 1)
		write_varint(out, fit.unit);
	if (mode == MODE_EQUAL)
		return NW_OK;
	make_plain(x, n, &fit, coder->plain);
	if (mode == MODE_TOKENS)
		return write_tokens(coder, n, out);
	write_packed(coder, n, out);
	return NW_OK;
}

/* --- reading --- */

static int
unpack_frame(struct stream_coder *coder, struct byte_reader *in, uint32_t n)
{
	uint64_t len = read_varint(in);
	const uint8_t *frame;

	if (len > ZSTD_compressBound(n) || (frame = read_bytes(in, len)) == NULL)
		return NW_ECORRUPT;
	if (coder->zstd_out == NULL && (coder->zstd_out = ZSTD_createDCtx()) == NULL)
		return NW_ENOMEM;
	memcpy(coder->frame, zstd_magic, ZSTD_MAGIC_BYTES);
	memcpy(coder->frame + ZSTD_MAGIC_BYTES, frame, len);
	if (ZSTD_decompressDCtx(coder->zstd_out, coder->token, n, coder->frame, len + ZSTD_MAGIC_BYTES) != n)
		return NW_ECORRUPT;
	return NW_OK;
}

/* The bits below the tokens; the last ones may lie too near the end to be fetched eight bytes at a time. */
static void
read_below(const uint8_t *token, uint32_t n, const uint8_t *below, size_t n_bytes, uint64_t *plain)
{
	uint8_t tail[2 * BITS_SLACK_BYTES + 8] = { 0 };
	size_t pos = 0, safe_bits = n_bytes > BITS_SLACK_BYTES ? (n_bytes - BITS_SLACK_BYTES) * 8 : 0, from;
	unsigned width;
	uint32_t i;

	for (i = 0; i < n && pos < safe_bits; i++) {
		width = token_bits(token[i]);
		plain[i] = token_least(token[i]) + bits_get(below, pos, width);
		pos += width;
	}
	from = pos / 8;
	if (n_bytes > from)
		memcpy(tail, below + from, n_bytes - from);
	pos -= from * 8;
	for (; i < n; i++) {
		width = token_bits(token[i]);
		plain[i] = token_least(token[i]) + bits_get(tail, pos, width);
		pos += width;
	}
}

static int
read_tokens(struct stream_coder *coder, struct byte_reader *in, uint32_t n)
{
	const uint8_t *below;
	uint64_t n_bits = 0;
	uint8_t most = 0;
	uint32_t i;
	int rc = unpack_frame(coder, in, n);

	if (rc != NW_OK)
		return rc;
	for (i = 0; i < n; i++) {
		most = coder->token[i] > most ? coder->token[i] : most;
		n_bits += token_bits(coder->token[i]);
	}
	if (most >= N_TOKENS || (below = read_bytes(in, (n_bits + 7) / 8)) == NULL)
		return NW_ECORRUPT;
	read_below(coder->token, n, below, (n_bits + 7) / 8, coder->plain);
	return NW_OK;
}

static void
make_values(const uint64_t *plain, uint32_t n, uint64_t unit, int64_t base, bool folded, int64_t *x)
{
	uint32_t i;

	if (folded)
		for (i = 0; i < n; i++)
			x[i] = (int64_t)((uint64_t)base + unit * (uint64_t)unfold_sign(plain[i]));
	else
		for (i = 0; i < n; i++)
			x[i] = (int64_t)((uint64_t)base + unit * plain[i]);
}

int
stream_read(struct stream_coder *coder, struct byte_reader *in, int64_t *x, uint32_t n)
{
	const uint8_t *width;
	uint64_t unit = 1;
	int64_t base;
	uint32_t i;
	uint8_t head;
	int rc = NW_OK;

	if (n == 0)
		return NW_OK;
	head = read_u8(in);
	base = read_signed(in);
	if (head & FLAG_UNIT)
		unit = read_varint(in);
	if (head & ~(MODE_MASK | FLAG_FOLDED | FLAG_UNIT))
		in->bad = true;
	switch (head & MODE_MASK) {
	case MODE_EQUAL:
		for (i = 0; i < n; i++)
			x[i] = base;
		break;
	case MODE_PACKED:
		if ((width = read_bytes(in, (n + BITS_BLOCK - 1) / BITS_BLOCK)) != NULL)
			blocks_unpack(in, width, n, coder->plain);
		break;
	case MODE_TOKENS:
		rc = in->bad ? NW_ECORRUPT : read_tokens(coder, in, n);
		break;
	default:
		in->bad = true;
	}
	if (rc == NW_OK && in->bad)
		rc = NW_ECORRUPT;
	if (rc == NW_OK && (head & MODE_MASK) != MODE_EQUAL)
		make_values(coder->plain, n, unit, base, head & FLAG_FOLDED, x);
	return rc;
}
