/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   u8      the middle token
 *   bytes   a number between 0 and 1, which a binary arithmetic decoder takes apart; zero bytes at
 *           the end are left out
 *
 * A token is a list of answers: is it the middle token, is it above, is it farther away than 1, 2,
 * ... Each question has a probability of its own, and the first question depends on where the token
 * before was. A probability begins at one half and moves to the frequency of its answers, as by
 * Krichevsky and Trofimov, with a memory of MEMORY answers. The coder carries like LZMA's.
 */
#include "store/codec/codec_adaptive.h"

enum {
	PROBABILITY_BITS = 15,
	PROBABILITY_ONE = 1 << PROBABILITY_BITS,
	PROBABILITY_LEAST = 48,
	MEMORY = 90,
	STEPS_MAX = 12, /* distances with a question of their own */
	TOP_BITS = 24,
	NUMBER_BYTES = 4
};

struct question {
	uint16_t no; /* probability of the answer no */
	uint16_t n;  /* answers so far, at most MEMORY */
};

struct model {
	struct question middle[3], above, farther[2][STEPS_MAX];
	unsigned before; /* 0: the token before was the middle token, 1: below, 2: above */
	uint16_t weight[MEMORY + 1]; /* of the next answer */
};

struct encoder {
	uint64_t low;
	uint32_t range;
	uint8_t held;  /* byte open to a carry */
	size_t n_held; /* the byte above, and bytes of 255 behind the byte */
	uint8_t *at;
};

struct decoder {
	uint32_t range, code;
	const uint8_t *at, *end;
};

static void
model_init(struct model *m)
{
	const struct question fresh = { PROBABILITY_ONE / 2, 0 };
	unsigned i;

	m->before = 0;
	m->above = m->middle[0] = m->middle[1] = m->middle[2] = fresh;
	for (i = 0; i < STEPS_MAX; i++)
		m->farther[0][i] = m->farther[1][i] = fresh;
	for (i = 0; i <= MEMORY; i++)
		m->weight[i] = (uint16_t)(65536 * 2 / (2 * i + 3));
}

static inline void
question_learn(const struct model *m, struct question *q, bool yes)
{
	uint32_t weight = m->weight[q->n];

	if (yes)
		q->no -= (uint16_t)(q->no * weight >> 16);
	else
		q->no += (uint16_t)((PROBABILITY_ONE - q->no) * weight >> 16);
	if (q->no < PROBABILITY_LEAST)
		q->no = PROBABILITY_LEAST;
	if (q->no > PROBABILITY_ONE - PROBABILITY_LEAST)
		q->no = PROBABILITY_ONE - PROBABILITY_LEAST;
	q->n += q->n < MEMORY;
}

/* --- writing --- */

/* Puts out the byte on top, as soon as no carry can reach that byte any more. */
static void
encoder_shift(struct encoder *e)
{
	uint8_t carry = (uint8_t)(e->low >> 32), byte = e->held;

	if ((uint32_t)e->low < UINT32_C(0xff000000) || carry != 0) {
		for (; e->n_held > 0; e->n_held--) {
			*e->at++ = (uint8_t)(byte + carry);
			byte = 0xff;
		}
		e->held = (uint8_t)(e->low >> TOP_BITS);
	}
	e->n_held++;
	e->low = (e->low & 0xffffff) << 8;
}

static inline void
encode(struct encoder *e, struct model *m, struct question *q, bool yes)
{
	uint32_t bound = (e->range >> PROBABILITY_BITS) * q->no;

	if (yes) {
		e->low += bound;
		e->range -= bound;
	} else {
		e->range = bound;
	}
	while (e->range < UINT32_C(1) << TOP_BITS) {
		e->range <<= 8;
		encoder_shift(e);
	}
	question_learn(m, q, yes);
}

/* Ends with the number in reach with most zeros at its end. */
static void
encoder_end(struct encoder *e)
{
	uint64_t last = e->low + e->range - 1, mask;
	unsigned bits;
	int i;

	for (bits = 32; bits > 0; bits--) {
		mask = (UINT64_C(1) << bits) - 1;
		if (((e->low + mask) & ~mask) <= last) {
			e->low = (e->low + mask) & ~mask;
			break;
		}
	}
	for (i = 0; i <= NUMBER_BYTES; i++)
		encoder_shift(e);
}

static void
token_encode(struct encoder *e, struct model *m, unsigned middle, unsigned token)
{
	bool above = token > middle;
	unsigned far = above ? token - middle : middle - token, i;

	encode(e, m, &m->middle[m->before], far > 0);
	m->before = far == 0 ? 0 : 1 + above;
	if (far == 0)
		return;
	if (middle > 0)
		encode(e, m, &m->above, above);
	for (i = 1; i <= far; i++)
		encode(e, m, &m->farther[above][i < STEPS_MAX ? i : STEPS_MAX - 1], i < far);
}

static uint8_t
middle_of(const uint8_t *token, uint32_t n)
{
	uint32_t count[UINT8_MAX + 1] = { 0 }, i, sum;
	unsigned t = 0;

	for (i = 0; i < n; i++)
		count[token[i]]++;
	for (sum = count[0]; sum <= n / 2 && t < UINT8_MAX; sum += count[++t])
		;
	return (uint8_t)t;
}

size_t
adaptive_bound(uint32_t n, unsigned n_tokens)
{
	/* No answer takes more than ten bits. */
	return 16 + (size_t)n * (n_tokens + 2) * 10 / 8;
}

size_t
adaptive_write(const uint8_t *token, uint32_t n, uint8_t *out)
{
	struct encoder e = { .range = UINT32_MAX, .n_held = 1, .at = out };
	uint8_t middle = middle_of(token, n);
	struct model m;
	uint32_t i;

	model_init(&m);
	for (i = 0; i < n; i++)
		token_encode(&e, &m, middle, token[i]);
	encoder_end(&e);
	while (e.at > out + 1 && e.at[-1] == 0)
		e.at--;
	out[0] = middle; /* in the place of the coder's first byte, which is always 0 */
	return (size_t)(e.at - out);
}

/* --- reading --- */

static inline uint8_t
decoder_next(struct decoder *d)
{
	return d->at < d->end ? *d->at++ : 0;
}

static inline bool
decode(struct decoder *d, struct model *m, struct question *q)
{
	uint32_t bound = (d->range >> PROBABILITY_BITS) * q->no;
	bool yes = d->code >= bound;

	if (yes) {
		d->code -= bound;
		d->range -= bound;
	} else {
		d->range = bound;
	}
	while (d->range < UINT32_C(1) << TOP_BITS) {
		d->range <<= 8;
		d->code = d->code << 8 | decoder_next(d);
	}
	question_learn(m, q, yes);
	return yes;
}

/* Below n_tokens, or n_tokens for bytes of no encoder. */
static unsigned
token_decode(struct decoder *d, struct model *m, unsigned middle, unsigned n_tokens)
{
	bool above = true;
	unsigned far = 1, most;

	if (!decode(d, m, &m->middle[m->before])) {
		m->before = 0;
		return middle;
	}
	if (middle > 0)
		above = decode(d, m, &m->above);
	m->before = 1 + above;
	most = above ? n_tokens - 1 - middle : middle;
	while (
	    far <= most && decode(d, m, &m->farther[above][far < STEPS_MAX ? far : STEPS_MAX - 1]))
		far++;
	return far > most ? n_tokens : above ? middle + far : middle - far;
}

int
adaptive_read(const uint8_t *bytes, size_t len, unsigned n_tokens, uint8_t *token, uint32_t n)
{
	struct decoder d = { .range = UINT32_MAX, .at = bytes + 1, .end = bytes + len };
	struct model m;
	unsigned t;
	uint32_t i;

	if (len < 1 || bytes[0] >= n_tokens)
		return NW_ECORRUPT;
	model_init(&m);
	for (i = 0; i < NUMBER_BYTES; i++)
		d.code = d.code << 8 | decoder_next(&d);
	for (i = 0; i < n; i++) {
		if ((t = token_decode(&d, &m, bytes[0], n_tokens)) == n_tokens)
			return NW_ECORRUPT;
		token[i] = (uint8_t)t;
	}
	return d.at == d.end ? NW_OK : NW_ECORRUPT;
}
