/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that come again, in any order and across writes, are the text of fmt_exact() each
 * time. */
#include "web/query/textout.h"

#include <inttypes.h>
#include <stdio.h>

#include "narrows/err.h"
#include "narrows/splitmix.h"
#include "tests/check.h"

enum { NUMBERS = 100000, DIFFERENT = 1500, OUT_BYTES = NUMBERS * FMT_EXACT_ROOM };

static struct written {
	size_t len, n_writes;
	char text[OUT_BYTES];
} is, want;
static uint64_t rng = 1;

static int
on_write(void *arg, const char *text, size_t len)
{
	struct written *w = arg;

	memcpy(w->text + w->len, text, len);
	w->len += len;
	w->n_writes++;
	return NW_OK;
}

/* Few numbers, many of which fall on the place of another. */
static double
drawn(void)
{
	static const double odd[] = { 0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.1,
		-1.7976931348623157e308, 2.2250738585072014e-308 };
	uint64_t bits, which = nw_splitmix(&rng) % DIFFERENT;
	double v;

	if (which < sizeof(odd) / sizeof(odd[0]))
		return odd[which];
	bits = nw_splitmix(&which);
	memcpy(&v, &bits, sizeof(v));
	return which % 3 == 0 ? (double)(int64_t)(bits >> 40) : v;
}

static void
test_numbers(void)
{
	static struct textout o;
	struct fmt text;
	size_t i;
	double v;
	char *at;

	textout_begin(&o, on_write, &is);
	for (i = 0; i < NUMBERS; i++) {
		v = drawn();
		text = fmt_exact(v);
		on_write(&want, text.s, strlen(text.s));
		on_write(&want, ",", 1);
		if (i % 3 == 0) {
			CHECK_INT(textout_exact(&o, v), NW_OK);
			CHECK_INT(textout_put(&o, ",", 1), NW_OK);
			continue;
		}
		CHECK_INT(textout_room(&o, &at), NW_OK);
		CHECK(at + TEXTOUT_ROOM <= o.text + sizeof(o.text));
		at = textout_number(&o, at, v);
		*at++ = ',';
		textout_took(&o, at);
	}
	CHECK_INT(o.n_bytes, want.len);
	CHECK_INT(textout_flush(&o), NW_OK);
	CHECK(is.len == want.len && memcmp(is.text, want.text, want.len) == 0);
	CHECK(is.n_writes > 10 && is.n_writes < want.len / TEXTOUT_BYTES * 2);
}

/* The bits of zero are those of an unused place. */
static void
test_zero(void)
{
	static struct textout o;

	is.len = 0;
	textout_begin(&o, on_write, &is);
	CHECK_INT(textout_exact(&o, 0), NW_OK);
	CHECK_INT(textout_flush(&o), NW_OK);
	CHECK(is.len == 1 && is.text[0] == '0');
}

static void
test_ints(void)
{
	static const int64_t cases[] = { 0, -1, INT64_MIN, INT64_MAX, 1795162331250000000 };
	static struct textout o;
	char text[32];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is.len = 0;
		textout_begin(&o, on_write, &is);
		CHECK_INT(textout_int(&o, cases[i]), NW_OK);
		CHECK_INT(textout_flush(&o), NW_OK);
		is.text[is.len] = '\0';
		snprintf(text, sizeof(text), "%" PRId64, cases[i]);
		CHECK_STR(is.text, text);
	}
}

int
main(void)
{
	test_numbers();
	test_zero();
	test_ints();
	return check_done("test_textout");
}
