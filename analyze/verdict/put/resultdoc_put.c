/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the result document, and keys. */
#include "analyze/verdict/put/resultdoc_put.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Undefined is null, never NaN. */
json_t *
resultdoc_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* The multiple of a power of ten with `digits` digits that is nearest to v > 0, as text would
 * give the number: powers and multiple are exact, so the last step rounds once. Returns 0 where
 * the rounding of the first step may decide. */
static double
rounded(double v, int digits)
{
	static const double ten[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	static const double near = 1e-6; /* far above the error of a step, for 9 digits */
	int power = digits - 1 - (int)floor(log10(v));
	double many, half;

	if (digits < 1 || digits > 9 || abs(power) > 22)
		return 0;
	many = power >= 0 ? v * ten[power] : v / ten[-power];
	half = many - floor(many) - 0.5;
	if (fabs(half) < near || many < ten[digits - 1] || many >= ten[digits])
		return 0;
	many = floor(many) + (half > 0 ? 1 : 0);
	return power >= 0 ? many / ten[power] : many * ten[-power];
}

json_t *
resultdoc_drawn(double v, int digits)
{
	char text[32];
	double r;

	if (!isfinite(v))
		return json_null();
	if (v == 0)
		return json_real(v);
	if ((r = rounded(fabs(v), digits)) > 0)
		return json_real(copysign(r, v));
	snprintf(text, sizeof(text), "%.*g", digits, v);
	return json_real(strtod(text, NULL));
}

json_t *
resultdoc_text(const char *s)
{
	json_t *v = s != NULL ? json_string(s) : json_null();

	/* A name that is no UTF-8 is shown byte by byte rather than not at all. */
	if (v == NULL) {
		size_t n = 0, cap = strlen(s) * 4 + 1;
		char *t = malloc(cap);

		if (t == NULL)
			return NULL;
		for (t[0] = '\0'; *s != '\0'; s++)
			n += (size_t)snprintf(t + n, cap - n,
			    (unsigned char)*s < 0x80 ? "%c" : "\\x%02x", (unsigned char)*s);
		v = json_string(t);
		free(t);
	}
	return v != NULL ? v : json_null();
}

/* Nanoseconds do not fit a JavaScript number. */
json_t *
resultdoc_ns(int64_t ns)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%" PRId64, ns);
	return json_string(buf);
}

void
put_real(json_t *object, enum result_key key, double v)
{
	result_set(object, key, resultdoc_real(v));
}

void
put_text(json_t *object, enum result_key key, const char *text)
{
	result_set(object, key, resultdoc_text(text));
}

void
put_ns(json_t *object, enum result_key key, int64_t ns)
{
	result_set(object, key, resultdoc_ns(ns));
}

void
put_count(json_t *object, enum result_key key, uint64_t n)
{
	result_set(object, key, json_integer((json_int_t)n));
}
