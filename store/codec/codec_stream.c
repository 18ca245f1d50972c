/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of n 64-bit integers. n is known from elsewhere; a run of none is no bytes.
 *
 *   u8      mode (bits 0-1), folded (bit 2), unit follows (bit 3), all others 0
 *   signed  base
 *   varint  unit, if it follows; else 1
 *   mode 0  nothing: all are equal to the base
 *   mode 1  u8 width per block of 32, then the blocks (codec_bits.h)
 *   mode 2  tokens through zstd (codec_token.c)
 *   mode 3  tokens without zstd
 *
 * of v in x = base + unit * v; v counts 0, -1, 1, -2 ... when folded. */
#include "store/codec/codec_stream.h"

#include <stdlib.h>

#include "store/codec/codec_bits.h"
#include "store/codec/codec_unit.h"

enum {
	MODE_EQUAL,
	MODE_PACKED,
	MODE_TOKENS,
	MODE_FEW_TOKENS,
	MODE_MASK = 3,
	FLAG_FOLDED = 4,
	FLAG_UNIT = 8,
	MIDDLE_SAMPLES = 15,
	BLOCKS_HOT = 5,
	BLOCKS_COMPACT = 8,
	SAMPLE_ROWS_MAX = BLOCKS_COMPACT * BITS_BLOCK,
	HEAD_BITS = 8 * 6 /* mode, base and a unit, typically */
};

/* The way to write a run, and its cost. */
struct stream_fit {
	uint64_t cost_bits;
	uint64_t unit; /* common divisor of the differences; 0: all are `base` */
	int64_t base;  /* the least value, or a middle value */
	bool folded;   /* values lie on both sides of the base */
};

int
stream_reserve(struct stream_coder *coder, uint32_t n)
{
	int rc;

	if (n <= coder->cap)
		return NW_OK;
	stream_clear(coder);
	if ((rc = token_reserve(&coder->tokens, n)) != NW_OK)
		return rc;
	coder->plain = malloc(n * sizeof(*coder->plain));
	coder->width = malloc(n / BITS_BLOCK + 1);
	if (coder->plain == NULL || coder->width == NULL) {
		stream_clear(coder);
		return NW_ENOMEM;
	}
	coder->cap = n;
	return NW_OK;
}

void
stream_clear(struct stream_coder *coder)
{
	token_clear(&coder->tokens);
	free(coder->plain);
	free(coder->width);
	memset(coder, 0, sizeof(*coder));
}

/* --- choosing --- */

static int64_t
least_of(const int64_t *x, uint32_t n)
{
	int64_t least = x[0];
	uint32_t i;

	for (i = 1; i < n; i++)
		least = x[i] < least ? x[i] : least;
	return least;
}

/* The median of a few numbers: outliers on one side must not draw the base away from the bulk. */
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

/* Inlined with a constant number of rows, this loop becomes vector code. */
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
	uint32_t i;

	if (fit->unit == 1) {
		for (i = 0; i + BITS_BLOCK <= n; i += BITS_BLOCK)
			make_plain_rows(x + i, BITS_BLOCK, fit->base, fit->folded, plain + i);
		make_plain_rows(x + i, n - i, fit->base, fit->folded, plain + i);
		return;
	}
	unit_divide(fit->unit, fit->base, x, n, plain);
	for (i = 0; fit->folded && i < n; i++)
		plain[i] = fold_sign((int64_t)plain[i]);
}

static uint64_t
plain_cost_bits(struct stream_coder *coder, uint32_t n, uint32_t n_all)
{
	if (coder->effort == CHUNK_HOT)
		return blocks_measure(coder->plain, n, coder->width) * n_all / n +
		    n_all / BITS_BLOCK * 8;
	return token_cost(&coder->tokens, coder->plain, n, n_all);
}

/* A few blocks from all over, in place of all. */
static uint32_t
take_sample(const int64_t *x, uint32_t n, uint32_t n_blocks, int64_t *some)
{
	uint32_t i;

	for (i = 0; i < n_blocks; i++)
		memcpy(some + i * BITS_BLOCK, x + (uint64_t)i * (n - BITS_BLOCK) / (n_blocks - 1),
		    BITS_BLOCK * sizeof(*some));
	return n_blocks * BITS_BLOCK;
}

/* The better base of the least number and a middle number, for n of n_all numbers. */
static struct stream_fit
choose_fit(struct stream_coder *coder, const int64_t *x, uint32_t n, uint32_t n_all)
{
	struct stream_fit low = { .cost_bits = HEAD_BITS }, mid;

	low.base = x[0];
	low.unit = unit_find(x, n);
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
	uint32_t n_blocks = coder->effort == CHUNK_HOT ? BLOCKS_HOT : BLOCKS_COMPACT;
	int64_t some[SAMPLE_ROWS_MAX];

	if (n <= 2 * n_blocks * BITS_BLOCK)
		return choose_fit(coder, x, n, n);
	return choose_fit(coder, some, take_sample(x, n, n_blocks, some), n);
}

uint64_t
stream_cost(struct stream_coder *coder, const int64_t *x, uint32_t n)
{
	return n > 0 ? sample_fit(coder, x, n).cost_bits : HEAD_BITS;
}

/* --- writing --- */

/* Into reserved room, with widths as measured. */
static void
write_packed(struct stream_coder *coder, uint32_t n, struct chunk_buf *out)
{
	write_bytes(out, coder->width, (n + BITS_BLOCK - 1) / BITS_BLOCK);
	out->len = (size_t)(blocks_pack(coder->plain, n, coder->width, out->bytes + out->len) -
	    out->bytes);
}

/* Pure noise offers zstd no patterns: tokens only make noise longer. */
static int
write_shorter(struct stream_coder *coder, uint32_t n, uint64_t packed_bits, uint8_t *head,
    struct chunk_buf *out)
{
	size_t begin = out->len, packed_bytes = packed_bits / 8 + n / BITS_BLOCK + 1;
	int rc = token_write(&coder->tokens, coder->plain, n, out);

	if (rc == NW_OK && out->len - begin > packed_bytes) {
		*head = (*head & ~MODE_MASK) | MODE_PACKED;
		out->len = begin;
		write_packed(coder, n, out);
	}
	return rc;
}

/* Subtracts base and unit from the numbers and measures the result. A sample may show the better
 * base, but an outlier outside the sample can make the least number a bad base: the width of all
 * other numbers tells. */
static struct stream_fit
final_fit(struct stream_coder *coder, const int64_t *x, uint32_t n, uint64_t *packed_bits)
{
	struct stream_fit fit;

	fit = sample_fit(coder, x, n);
	/* numbers outside a constant sample may lie on either side */
	fit.folded |= fit.unit == 0;
	fit.unit = unit_find(x, n);
	if (!fit.folded)
		fit.base = least_of(x, n);
	if (fit.unit == 0)
		return fit;
	make_plain(x, n, &fit, coder->plain);
	*packed_bits = blocks_measure(coder->plain, n, coder->width);
	if (!fit.folded && *packed_bits > fit.cost_bits + fit.cost_bits / 4) {
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
	rc = buf_reserve(out, 1 + 2 * VARINT_MAX_BYTES + n / BITS_BLOCK + 1 + token_bound(n));
	if (rc != NW_OK)
		return rc;
	fit = final_fit(coder, x, n, &packed_bits);
	head = out->bytes + out->len;
	write_u8(out,
	    (fit.unit == 0                       ? MODE_EQUAL
		    : coder->effort == CHUNK_HOT ? MODE_PACKED
		    : n <= TOKEN_FEW             ? MODE_FEW_TOKENS
						 : MODE_TOKENS) |
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

/* Inlined with a constant number of rows, this loop becomes vector code. */
static inline void
make_value_rows(
    const uint64_t *restrict plain, uint32_t n, int64_t base, bool folded, int64_t *restrict x)
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
	default:
		rc = in->bad ? NW_ECORRUPT
			     : token_read(&coder->tokens, in, coder->plain, n,
				   (head & MODE_MASK) == MODE_FEW_TOKENS);
	}
	if (rc == NW_OK && in->bad)
		rc = NW_ECORRUPT;
	if (rc == NW_OK)
		make_values(coder->plain, n, &fit, x);
	return rc;
}
