/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/textout.h"

#include <string.h>

#include "narrows/err.h"

/* Fibonacci hashing: the product's upper bits depend on all bits of the number. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
enum { HASH_SHIFT = 64 - 8 };
_Static_assert(TEXTOUT_NUMBERS == 1 << (64 - HASH_SHIFT), "a hash is a place");

void
textout_begin(struct textout *o, stream_write_fn *write, void *arg)
{
	o->write = write;
	o->write_arg = arg;
	o->n_bytes = 0;
}

int
textout_flush(struct textout *o)
{
	size_t len = o->len;

	o->len = 0;
	return len > 0 ? o->write(o->write_arg, o->text, len) : NW_OK;
}

int
textout_put(struct textout *o, const char *text, size_t len)
{
	int rc;

	if (len == 0)
		return NW_OK; /* the text may be NULL */
	o->n_bytes += len;
	if (len > sizeof(o->text) - o->len) {
		if ((rc = textout_flush(o)) != NW_OK)
			return rc;
		if (len > sizeof(o->text))
			return o->write(o->write_arg, text, len);
	}
	memcpy(o->text + o->len, text, len);
	o->len += len;
	return NW_OK;
}

int
textout_puts(struct textout *o, const char *text)
{
	return textout_put(o, text, strlen(text));
}

/* Finds the number among those written lately, or makes its text in the place of another. */
static const struct textout_number *
number_text(struct textout *o, double v)
{
	struct textout_number *number;
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	number = &o->number[(bits * HASH_FACTOR) >> HASH_SHIFT];
	if (number->bits != bits || number->len == 0) {
		number->bits = bits;
		number->len = fmt_exact_put(number->text, v);
	}
	return number;
}

int
textout_exact(struct textout *o, double v)
{
	const struct textout_number *number = number_text(o, v);
	int rc;

	if (sizeof(number->text) > sizeof(o->text) - o->len && (rc = textout_flush(o)) != NW_OK)
		return rc;
	memcpy(o->text + o->len, number->text, sizeof(number->text)); /* a fixed length is fast */
	o->len += number->len;
	o->n_bytes += number->len;
	return NW_OK;
}

int
textout_int(struct textout *o, int64_t v)
{
	struct fmt text = fmt_int(v);

	return textout_puts(o, text.s);
}
