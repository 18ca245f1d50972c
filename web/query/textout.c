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

int
textout_room(struct textout *o, char **at)
{
	int rc = TEXTOUT_ROOM > sizeof(o->text) - o->len ? textout_flush(o) : NW_OK;

	*at = o->text + o->len;
	return rc;
}

void
textout_took(struct textout *o, const char *end)
{
	size_t len = (size_t)(end - o->text);

	o->n_bytes += len - o->len;
	o->len = len;
}

/* Finds the number among those written lately, or makes its text in the place of another. */
char *
textout_number(struct textout *o, char *at, double v)
{
	struct textout_number *number;
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	number = &o->number[(bits * HASH_FACTOR) >> HASH_SHIFT];
	if (number->bits != bits || number->len == 0) {
		number->bits = bits;
		number->len = fmt_exact_put(number->text, v);
	}
	memcpy(at, number->text, sizeof(number->text)); /* a fixed length is fast */
	return at + number->len;
}

int
textout_exact(struct textout *o, double v)
{
	char *at;
	int rc = textout_room(o, &at);

	if (rc == NW_OK)
		textout_took(o, textout_number(o, at, v));
	return rc;
}

int
textout_int(struct textout *o, int64_t v)
{
	struct fmt text = fmt_int(v);

	return textout_puts(o, text.s);
}
