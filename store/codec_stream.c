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
	TOKEN_LITERALS = 16, N_TOKENS = TOKEN_LITERALS + 2 * 60,
	MIDDLE_SAMPLES = 15,
	ZSTD_MAGIC_BYTES = 4,
	SAMPLE_BLOCKS = 8, SAMPLE_ROWS = SAMPLE_BLOCKS * BITS_BLOCK,
	HEAD_BITS = 8 * 6,            /* mode, base and a unit, typically */
	TOKENS_BITS = 8 * 8, TOKEN_TABLE_BITS = 4    /* zstd's frame, and its table for each token that occurs */
};

/* How a run is written, and what that costs. */
struct stream_fit {
	uint64_t cost_bits;
	uint64_t unit;                /* common divisor of the differences; 0: all are `base` */
	int64_t base;                 /* the least value, or one in the middle */
	bool folded;                  /* values lie on both sides of the base */
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
fill_tables(struct stream_coder *coder)
{
	struct stream_token *means = coder->means;
	unsigned token, n;

	for (n = 1; n < STREAM_LOGS; n++)
		coder->times_log[n] = (float)n * log2f((float)n);
	for (token = 0; token <= UINT8_MAX; token++)
		means[token] = token < N_TOKENS ? (struct stream_token){ token_least(token), token_bits(token) } :
		    (struct stream_token){ 0, UINT32_MAX };
}

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
	fill_tables(coder);
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

/* Tokens of noise have few symbols, and their short matches are chance: without them, zstd's Huffman codes do better
 * and the fastest level is as good as any. The length is known, and need not be in the frame. */
void *
stream_compressor(struct stream_coder *coder)
{
	if (coder->zstd_in == NULL && (coder->zstd_in = ZSTD_createCCtx()) != NULL) {
		ZSTD_CCtx_setParameter(coder->zstd_in, ZSTD_c_compressionLevel, 1);
		ZSTD_CCtx_setParameter(coder->zstd_in, ZSTD_c_minMatch, 7);
		ZSTD_CCtx_setParameter(coder->zstd_in, ZSTD_c_contentSizeFlag, 0);
	}
	return coder->zstd_in;
}

void *
stream_decompressor(struct stream_coder *coder)
{
	if (coder->zstd_out == NULL)
		coder->zstd_out = ZSTD_createDCtx();
	return coder->zstd_out;
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

static inline uint64_t
magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Numbers without a common divisor show it within a few steps. */
uint64_t
stream_unit(const int64_t *x, uint32_t n)
{
	struct divisor by = { 0 };
	int64_t least = x[0], most = x[0];
	uint64_t unit = 0, d;
	uint32_t i;

	for (i = 1; i < n && unit != 1; i++) {
		d = magnitude(wrap_sub(x[i], x[0]));
		if (unit != 0 && divides(&by, d))
			continue;
		unit = common_divisor(d, unit);
		if (unit != 0)
			by = divisor_of(unit);
	}
	if (unit <= 1)
		return unit;
	/* Exact division keeps its sign only where differences do not wrap. */
	for (i = 1; i < n; i++) {
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
	}
	return (uint64_t)wrap_sub(most, least) <= INT64_MAX ? unit : 1;
}

static int64_t
least_of(const int64_t *x, uint32_t n)
{
	int64_t least = x[0];
	uint32_t i;

	for (i = 1; i < n; i++)
		least = x[i] < least ? x[i] : least;
	return least;
}

/* The median of a few: outliers on one side must not draw the base away from where most numbers are. */
static int64_t
middle_of(const int64_t *x, uint32_t n)
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

/* Inlined with a constant number of rows, this becomes vector code. */
static inline void
make_plain_rows(const int64_t *x, uint32_t n, int64_t base, bool folded, uint64_t *restrict plain)
{
	uint32_t i;

	if (folded)
		for (i = 0; i < n; i++)
			plain[i] = fold_sign(wrap_sub(x[i], base));
	else
		for (i = 0; i < n; i++)
			plain[i] = (uint64_t)wrap_sub(x[i], base);
}

static void
make_plain(const int64_t *x, uint32_t n, const struct stream_fit *fit, uint64_t *restrict plain)
{
	struct divisor by;
	uint32_t i;

	if (fit->unit == 1) {
		for (i = 0; i + BITS_BLOCK <= n; i += BITS_BLOCK)
			make_plain_rows(x + i, BITS_BLOCK, fit->base, fit->folded, plain + i);
		make_plain_rows(x + i, n - i, fit->base, fit->folded, plain + i);
		return;
	}
	by = divisor_of(fit->unit);
	for (i = 0; i < n; i++)
		plain[i] = (uint64_t)(wrap_sub(x[i], fit->base) >> by.twos) * by.odd_inverse;
	for (i = 0; fit->folded && i < n; i++)
		plain[i] = fold_sign((int64_t)plain[i]);
}

static inline float
times_log(const struct stream_coder *coder, uint32_t n)
{
	return n < STREAM_LOGS ? coder->times_log[n] : (float)n * log2f((float)n);
}

/* Shannon's bound for the tokens and the bits below them, for n_all numbers of which n are looked at; and about what
 * zstd's tables take. */
static uint64_t
tokens_cost_bits(const struct stream_coder *coder, uint32_t n, uint32_t n_all)
{
	const uint64_t *plain = coder->plain;
	uint32_t even[N_TOKENS] = { 0 }, odd[N_TOKENS] = { 0 }, count, used = 0, i;
	uint64_t n_below = 0;
	float bits = times_log(coder, n);

	/* Two tables, because an increment waits for the last one of the same counter. */
	for (i = 0; i + 1 < n; i += 2) {
		even[token_of(plain[i])]++;
		odd[token_of(plain[i + 1])]++;
	}
	if (i < n)
		even[token_of(plain[i])]++;
	for (i = 0; i < N_TOKENS; i++) {
		if ((count = even[i] + odd[i]) == 0)
			continue;
		used++;
		n_below += (uint64_t)count * coder->means[i].n_below;
		bits -= times_log(coder, count);
	}
	return (n_below + (bits > 0 ? (uint64_t)bits : 0)) * n_all / n + used * TOKEN_TABLE_BITS + TOKENS_BITS;
}

static uint64_t
plain_cost_bits(struct stream_coder *coder, uint32_t n, uint32_t n_all)
{
	if (coder->effort == CHUNK_HOT)
		return blocks_measure(coder->plain, n, coder->width) * n_all / n + n_all / BITS_BLOCK * 8;
	return tokens_cost_bits(coder, n, n_all);
}

/* A few blocks from all over, in place of all. */
static uint32_t
take_sample(const int64_t *x, uint32_t n, int64_t *some)
{
	uint32_t i;

	for (i = 0; i < SAMPLE_BLOCKS; i++)
		memcpy(some + i * BITS_BLOCK, x + (uint64_t)i * (n - BITS_BLOCK) / (SAMPLE_BLOCKS - 1),
		    BITS_BLOCK * sizeof(*some));
	return SAMPLE_ROWS;
}

/* The better of the least number and one in the middle as a base, for n of n_all numbers. */
static struct stream_fit
choose_fit(struct stream_coder *coder, const int64_t *x, uint32_t n, uint32_t n_all)
{
	struct stream_fit low = { .cost_bits = HEAD_BITS }, mid;

	low.base = x[0];
	low.unit = stream_unit(x, n);
	if (low.unit == 0)
		return low;
	mid = low;
	low.base = least_of(x, n);
	make_plain(x, n, &low, coder->plain);
	low.cost_bits += plain_cost_bits(coder, n, n_all);
	mid.base = middle_of(x, n);
	mid.folded = true;
	make_plain(x, n, &mid, coder->plain);
	mid.cost_bits += plain_cost_bits(coder, n, n_all);
	return mid.cost_bits < low.cost_bits ? mid : low;
}

static struct stream_fit
sample_fit(struct stream_coder *coder, const int64_t *x, uint32_t n)
{
	int64_t some[SAMPLE_ROWS];

	if (n <= 2 * SAMPLE_ROWS)
		return choose_fit(coder, x, n, n);
	return choose_fit(coder, some, take_sample(x, n, some), n);
}

uint64_t
stream_cost(struct stream_coder *coder, const int64_t *x, uint32_t n)
{
	return n > 0 ? sample_fit(coder, x, n).cost_bits : HEAD_BITS;
}

/* --- writing --- */

static int
write_tokens(struct stream_coder *coder, uint32_t n, struct chunk_buf *out)
{
	const struct stream_token *means;
	struct bit_writer below;
	ZSTD_CCtx *cctx;
	uint32_t i;
	size_t len;

	for (i = 0; i < n; i++)
		coder->token[i] = (uint8_t)token_of(coder->plain[i]);
	if ((cctx = stream_compressor(coder)) == NULL)
		return NW_ENOMEM;
	len = ZSTD_compress2(cctx, coder->frame, ZSTD_compressBound(n), coder->token, n);
	if (ZSTD_isError(len) || len < ZSTD_MAGIC_BYTES)
		return NW_ENOMEM;             /* the room is enough: nothing else is left */
	len -= ZSTD_MAGIC_BYTES;
	write_varint(out, len);
	write_bytes(out, coder->frame + ZSTD_MAGIC_BYTES, len);
	below = (struct bit_writer){ out->bytes + out->len, 0, 0 };
	for (i = 0; i < n; i++) {
		means = &coder->means[coder->token[i]];
		bits_put(&below, coder->plain[i] - means->least, means->n_below);
	}
	out->len = (size_t)(bits_flush(&below) - out->bytes);
	return NW_OK;
}

/* Into reserved room, with widths as measured. */
static void
write_packed(struct stream_coder *coder, uint32_t n, struct chunk_buf *out)
{
	write_bytes(out, coder->width, (n + BITS_BLOCK - 1) / BITS_BLOCK);
	out->len = (size_t)(blocks_pack(coder->plain, n, coder->width, out->bytes + out->len) - out->bytes);
}

/* Pure noise has nothing for zstd to find: tokens only make it longer. */
static int
write_shorter(struct stream_coder *coder, uint32_t n, uint64_t packed_bits, uint8_t *head, struct chunk_buf *out)
{
	size_t begin = out->len, packed_bytes = packed_bits / 8 + n / BITS_BLOCK + 1;
	int rc = write_tokens(coder, n, out);

	if (rc == NW_OK && out->len - begin > packed_bytes) {
		*head = (*head & ~MODE_MASK) | MODE_PACKED;
		out->len = begin;
		write_packed(coder, n, out);
	}
	return rc;
}

/* Makes the numbers plain and measures them. Which base is better may be seen from a sample, but an outlier that it
 * missed can make the least number a bad one: that shows in the width of all others. */
static struct stream_fit
final_fit(struct stream_coder *coder, const int64_t *x, uint32_t n, uint64_t *packed_bits)
{
	struct stream_fit fit;

	if (coder->effort == CHUNK_COMPACT)
		fit = choose_fit(coder, x, n, n);
	else {
		fit = sample_fit(coder, x, n);
		fit.folded |= fit.unit == 0;  /* what a sample of equals does not show may be on either side */
		fit.unit = stream_unit(x, n);
		if (!fit.folded)
			fit.base = least_of(x, n);
	}
	if (fit.unit == 0)
		return fit;
	make_plain(x, n, &fit, coder->plain);
	*packed_bits = blocks_measure(coder->plain, n, coder->width);
	if (coder->effort == CHUNK_HOT && !fit.folded && *packed_bits > fit.cost_bits + fit.cost_bits / 4) {
		fit = choose_fit(coder, x, n, n);
		make_plain(x, n, &fit, coder->plain);
		*packed_bits = blocks_measure(coder->plain, n, coder->width);
	}
	return fit;
}

int
stream_write(struct stream_coder *coder, const int64_t *x, uint32_t n, struct chunk_buf *out)
{
	struct stream_fit fit;
	uint64_t packed_bits = 0;
	uint8_t *head;
	int rc;

	if (n == 0)
		return NW_OK;
	rc = buf_reserve(out, 4 * VARINT_MAX_BYTES + ZSTD_compressBound(n) + n / BITS_BLOCK + (size_t)n * 8 +
	    BITS_SLACK_BYTES);
	if (rc != NW_OK)
		return rc;
	fit = final_fit(coder, x, n, &packed_bits);
	head = out->bytes + out->len;
	write_u8(out, (fit.unit == 0 ? MODE_EQUAL : coder->effort == CHUNK_HOT ? MODE_PACKED : MODE_TOKENS) |
	    (fit.folded ? FLAG_FOLDED : 0) | (fit.unit > 1 ? FLAG_UNIT : 0));
	write_signed(out, fit.base);
	if (fit.unit > 1)
		write_varint(out, fit.unit);
	if (fit.unit == 0)
		return NW_OK;
	if (coder->effort == CHUNK_COMPACT)
		return write_shorter(coder, n, packed_bits, head, out);
	write_packed(coder, n, out);
	return NW_OK;
}

/* --- reading --- */

static int
unpack_frame(struct stream_coder *coder, struct byte_reader *in, uint32_t n)
{
	uint64_t len = read_varint(in);
	const uint8_t *frame;
	ZSTD_DCtx *dctx;

	if (len > ZSTD_compressBound(n) || (frame = read_bytes(in, len)) == NULL)
		return NW_ECORRUPT;
	if ((dctx = stream_decompressor(coder)) == NULL)
		return NW_ENOMEM;
	memcpy(coder->frame, zstd_magic, ZSTD_MAGIC_BYTES);
	memcpy(coder->frame + ZSTD_MAGIC_BYTES, frame, len);
	if (ZSTD_decompressDCtx(dctx, coder->token, n, coder->frame, len + ZSTD_MAGIC_BYTES) != n)
		return NW_ECORRUPT;
	return NW_OK;
}

/* Tokens and the bits below them. The last of these may lie too near the end to be fetched eight bytes at a time, and
 * are fetched from a copy. */
static void
join_tokens(const struct stream_coder *coder, uint32_t n, const uint8_t *below, size_t n_bytes)
{
	const struct stream_token *means = coder->means;
	const uint8_t *token = coder->token;
	uint8_t tail[2 * BITS_SLACK_BYTES + 8] = { 0 };
	uint64_t *plain = coder->plain;
	size_t pos = 0, safe_bits = n_bytes > BITS_SLACK_BYTES ? (n_bytes - BITS_SLACK_BYTES) * 8 : 0, from;
	uint32_t i;

	for (i = 0; i < n && pos < safe_bits; i++) {
		plain[i] = means[token[i]].least + bits_get(below, pos, means[token[i]].n_below);
		pos += means[token[i]].n_below;
	}
	from = pos / 8;
	memcpy(tail, below + from, n_bytes - from);
	pos -= from * 8;
	for (; i < n; i++) {
		plain[i] = means[token[i]].least + bits_get(tail, pos, means[token[i]].n_below);
		pos += means[token[i]].n_below;
	}
}

static int
read_tokens(struct stream_coder *coder, struct byte_reader *in, uint32_t n)
{
	const uint8_t *below;
	size_t n_bits = 0;
	uint32_t i;
	int rc = unpack_frame(coder, in, n);

	if (rc != NW_OK)
		return rc;
	for (i = 0; i < n; i++)
		n_bits += coder->means[coder->token[i]].n_below;
	/* A byte that is no token counts for more bits than all that are could have. */
	if (n_bits > (size_t)n * 64 || (below = read_bytes(in, (n_bits + 7) / 8)) == NULL)
		return NW_ECORRUPT;
	join_tokens(coder, n, below, (n_bits + 7) / 8);
	return NW_OK;
}

/* Inlined with a constant number of rows, this becomes vector code. */
static inline void
make_value_rows(const uint64_t *restrict plain, uint32_t n, int64_t base, bool folded, int64_t *restrict x)
{
	uint32_t i;

	if (folded)
		for (i = 0; i < n; i++)
			x[i] = wrap_add(base, unfold_sign(plain[i]));
	else
		for (i = 0; i < n; i++)
			x[i] = wrap_add(base, (int64_t)plain[i]);
}

static void
make_values(uint64_t *restrict plain, uint32_t n, const struct stream_fit *fit, int64_t *restrict x)
{
	uint32_t i;

	if (fit->unit == 1) {
		for (i = 0; i + BITS_BLOCK <= n; i += BITS_BLOCK)
			make_value_rows(plain + i, BITS_BLOCK, fit->base, fit->folded, x + i);
		make_value_rows(plain + i, n - i, fit->base, fit->folded, x + i);
		return;
	}
	for (i = 0; fit->folded && i < n; i++)
		plain[i] = (uint64_t)unfold_sign(plain[i]);
	for (i = 0; i < n; i++)
		x[i] = (int64_t)((uint64_t)fit->base + fit->unit * plain[i]);
}

int
stream_read(struct stream_coder *coder, struct byte_reader *in, int64_t *x, uint32_t n)
{
	struct stream_fit fit = { .unit = 1 };
	const uint8_t *width;
	uint32_t i;
	uint8_t head;
	int rc = NW_OK;

	if (n == 0)
		return NW_OK;
	head = read_u8(in);
	fit.folded = head & FLAG_FOLDED;
	fit.base = read_signed(in);
	if (head & FLAG_UNIT)
		fit.unit = read_varint(in);
	if (head & ~(MODE_MASK | FLAG_FOLDED | FLAG_UNIT))
		in->bad = true;
	switch (head & MODE_MASK) {
	case MODE_EQUAL:
		for (i = 0; i < n; i++)
			x[i] = fit.base;
		return in->bad ? NW_ECORRUPT : NW_OK;
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
	if (rc == NW_OK)
		make_values(coder->plain, n, &fit, x);
	return rc;
}
