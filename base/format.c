/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/calendar.h"
#include "narrows/shortest.h"

#define NBSP     "\xc2\xa0"
#define NS_PER_S INT64_C(1000000000)

static const struct fmt unknown = { "unknown" };

/* Below this magnitude an integer has no exponent. */
#define PLAIN_INT_LIMIT 1e15
/* A number with up to so many digits before its point has no exponent, even if zeros fill them. */
#define PLAIN_DIGITS 15
#define PLAIN_ZEROS  4 /* likewise between the point and the first digit, one less */

static size_t
put_exponent(char *out, int exponent)
{
	char digits[SHORTEST_INT_ROOM];
	size_t n = shortest_put_int(digits, (uint64_t)abs(exponent)), len = 0;

	out[len++] = 'e';
	out[len++] = exponent < 0 ? '-' : '+';
	if (n < 2)
		out[len++] = '0';
	memcpy(out + len, digits, n);
	return len + n;
}

/* digits: of one number, with room for eight more, which are copied along. */
enum { DIGITS_ROOM = SHORTEST_INT_ROOM + 8, DIGITS_MAX = 17 };

/* The digits behind the point, at most 16: copies of a fixed length are fast. */
static void
put_fraction(char *out, const char *digits, size_t n)
{
	if (n > 8)
		memcpy(out, digits, 16);
	else
		memcpy(out, digits, 8);
}

/* The form of printf's %g: n digits, the first of which stands at 10^first. */
static size_t
put_decimal(char *out, const char *digits, int n, int first)
{
	size_t len = 0;

	if (first < -PLAIN_ZEROS || first >= (n > PLAIN_DIGITS ? n : PLAIN_DIGITS)) {
		out[len++] = digits[0];
		if (n > 1)
			out[len++] = '.';
		memcpy(out + len, digits + 1, (size_t)n - 1);
		return len + (size_t)n - 1 + put_exponent(out + len + n - 1, first);
	}
	if (first < 0) {
		memcpy(out, "0.000", 5);
		len = (size_t)(1 - first);
		memcpy(out + len, digits, DIGITS_MAX);
		return len + (size_t)n;
	}
	/* n > first: integers that end in zeros are put elsewhere */
	memcpy(out, digits, DIGITS_MAX);
	if (n == first + 1)
		return (size_t)n;
	out[first + 1] = '.';
	put_fraction(out + first + 2, digits + first + 1, (size_t)(n - first - 1));
	return (size_t)n + 1;
}

static size_t
put_finite(char *out, double v)
{
	struct shortest s;
	char digits[DIGITS_ROOM];
	size_t n, sign = signbit(v) != 0;

	out[0] = '-';
	if (fabs(v) < PLAIN_INT_LIMIT && v == (double)(int64_t)v)
		return sign + shortest_put_int(out + sign, (uint64_t)fabs(v));
	s = shortest_of(v);
	n = shortest_put_int(digits, s.digits);
	return sign + put_decimal(out + sign, digits, (int)n, (int)n - 1 + s.exponent);
}

size_t
fmt_exact_put(char out[static FMT_EXACT_ROOM], double v)
{
	size_t n;

	if (isnan(v))
		n = 0;
	else if (isinf(v))
		n = (size_t)(stpcpy(out, v > 0 ? "Inf" : "-Inf") - out);
	else
		n = put_finite(out, v);
	out[n] = '\0';
	return n;
}

struct fmt
fmt_exact(double v)
{
	struct fmt out;

	fmt_exact_put(out.s, v);
	return out;
}

struct fmt
fmt_int(int64_t v)
{
	struct fmt out;
	size_t sign = v < 0, n;

	out.s[0] = '-';
	n = shortest_put_int(out.s + sign, v < 0 ? -(uint64_t)v : (uint64_t)v);
	out.s[sign + n] = '\0';
	return out;
}

struct fmt
fmt_count(uint64_t v)
{
	char digits[SHORTEST_INT_ROOM];
	size_t n = shortest_put_int(digits, v), i, at = 0;
	struct fmt out;

	for (i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out.s[at++] = ',';
		out.s[at++] = digits[i];
	}
	out.s[at] = '\0';
	return out;
}

/* --- time --- */

struct fmt
fmt_iso(int64_t t_wall_ns, int n_digits)
{
	struct calendar c = calendar_of_ns(t_wall_ns);
	struct fmt out;
	int n;

	n = snprintf(out.s, sizeof(out.s), "%04d-%02d-%02dT%02d:%02d:%02d.%09" PRId64, c.year,
	    c.month, c.day, c.hour, c.minute, c.second, c.ns);
	strcpy(out.s + n - (n_digits > 0 ? 9 - n_digits : 10), "Z");
	return out;
}

struct fmt
fmt_iso_ns(int64_t t_wall_ns)
{
	return fmt_iso(t_wall_ns, 9);
}

int64_t
fmt_parse_iso(const char *text)
{
	struct calendar c;
	int64_t unit = NS_PER_S, t_wall_ns;
	int used = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &c.year, &c.month, &c.day, &c.hour, &c.minute,
		&c.second, &used) != 6 ||
	    used != 19 || strspn(text, "0123456789-:T") < 19 || c.year < 1970)
		return 0;
	c.ns = 0;
	text += used;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && unit > 1; text++)
			c.ns += (*text - '0') * (unit /= 10);
	return strcmp(text, "Z") == 0 && calendar_ns(&c, &t_wall_ns) ? t_wall_ns : 0;
}

struct fmt
fmt_time(int64_t t_wall_ns)
{
	struct calendar c = calendar_of_ns(t_wall_ns);
	struct fmt out;

	if (t_wall_ns == 0)
		return unknown;
	snprintf(out.s, sizeof(out.s), "%04d-%02d-%02d" NBSP "%02d:%02d:%02d" NBSP "UTC", c.year,
	    c.month, c.day, c.hour, c.minute, c.second);
	return out;
}

struct fmt
fmt_duration(double s)
{
	struct fmt out;
	int64_t n;

	if (isnan(s) || fabs(s) > 1e15)
		return unknown;
	if (fabs(s) < 59.95)
		return fmt_si(s, "s");
	n = llround(s);
	if (n < 0)
		snprintf(out.s, sizeof(out.s), "%" PRId64 NBSP "s", n);
	else if (n < 3600)
		snprintf(out.s, sizeof(out.s), "%" PRId64 NBSP "min" NBSP "%" PRId64 NBSP "s",
		    n / 60, n % 60);
	else if (n < 86400)
		snprintf(out.s, sizeof(out.s), "%" PRId64 NBSP "h" NBSP "%" PRId64 NBSP "min",
		    n / 3600, n / 60 % 60);
	else
		snprintf(out.s, sizeof(out.s), "%" PRId64 NBSP "d" NBSP "%" PRId64 NBSP "h",
		    n / 86400, n / 3600 % 24);
	return out;
}

/* --- numbers for people --- */

static const struct {
	int exponent;
	const char *prefix;
} prefixes[] = {
	{ -9, "n" },
	{ -6, "\xc2\xb5" },
	{ -3, "m" },
	{ 0, "" },
	{ 3, "k" },
	{ 6, "M" },
	{ 9, "G" },
	{ 12, "T" },
	{ 15, "P" },
	{ 18, "E" },
};
enum { N_PREFIXES = sizeof(prefixes) / sizeof(prefixes[0]) };

/* Rounds to three digits first: 999.7 k is 1.00 M. */
int
fmt_si_exponent(double v)
{
	char text[32];
	int e;

	if (v == 0 || !isfinite(v))
		return 0;
	snprintf(text, sizeof(text), "%.2e", v);
	e = atoi(strchr(text, 'e') + 1);
	e = e >= 0 ? e / 3 * 3 : -((2 - e) / 3 * 3);
	if (e < prefixes[0].exponent)
		return prefixes[0].exponent;
	return e > prefixes[N_PREFIXES - 1].exponent ? prefixes[N_PREFIXES - 1].exponent : e;
}

const char *
fmt_si_prefix(int exponent)
{
	size_t i;

	for (i = 0; i < N_PREFIXES; i++)
		if (prefixes[i].exponent == exponent)
			return prefixes[i].prefix;
	return "";
}

/* Three digits without exponent as long as that is readable. */
static void
put_three_digits(char *out, size_t size, double v)
{
	double a = fabs(v);

	if (v == rint(v) && a < 1000)
		snprintf(out, size, "%.0f", v);
	else if (a >= 1e6 || a < 1e-4)
		snprintf(out, size, "%.2e", v);
	else
		snprintf(out, size, "%.*f",
		    a >= 99.95        ? 0
			: a >= 9.995  ? 1
			: a >= 0.9995 ? 2
				      : 3,
		    v);
}

struct fmt
fmt_si(double v, const char *unit)
{
	static const double thousands[] = { 1, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18 };
	struct fmt out;
	char digits[40];
	int e;

	if (!isfinite(v))
		return unknown;
	e = fmt_si_exponent(v);
	/* division by an exact power of ten: 0.001 s is 1 ms, not 1.00 */
	v = e < 0 ? v * thousands[-e / 3] : v / thousands[e / 3];
	put_three_digits(digits, sizeof(digits), v);
	snprintf(out.s, sizeof(out.s), "%s" NBSP "%s%s", digits, fmt_si_prefix(e), unit);
	return out;
}

/* Bytes and bits have no thousandths. */
static struct fmt
data_amount(double v, const char *unit)
{
	struct fmt out;

	if (!isfinite(v) || fabs(v) >= 1 || v == 0)
		return fmt_si(v, unit);
	snprintf(out.s, sizeof(out.s), "%.2f" NBSP "%s", v, unit);
	return out;
}

struct fmt
fmt_bytes(double bytes)
{
	return data_amount(bytes, "B");
}

struct fmt
fmt_bytes_per_s(double bytes_per_s)
{
	return data_amount(bytes_per_s, "B/s");
}

struct fmt
fmt_bits_per_s(double bytes_per_s)
{
	return data_amount(bytes_per_s * 8, "bit/s");
}

struct fmt
fmt_share(double share)
{
	struct fmt out;
	double percent = share * 100;

	if (!isfinite(share))
		return unknown;
	/* 99.8 % of the data is not all of it, 0.4 % busy is not idle */
	snprintf(out.s, sizeof(out.s), "%.*f" NBSP "%%",
	    (percent > 0 && percent < 9.95) || (percent > 99 && percent < 100) ? 1 : 0, percent);
	return out;
}

struct fmt
fmt_ratio(double v)
{
	struct fmt out;

	if (!isfinite(v))
		return unknown;
	put_three_digits(out.s, sizeof(out.s), v);
	return out;
}

struct fmt
fmt_percent(double share)
{
	struct fmt out = fmt_ratio(100 * share);

	if (isfinite(share))
		strcat(out.s, NBSP "%");
	return out;
}

struct fmt
fmt_p(double p)
{
	struct fmt out;

	if (!isfinite(p))
		return unknown;
	if (p < 0.001)
		return (struct fmt){ "<" NBSP "0.001" };
	snprintf(out.s, sizeof(out.s), "%.*f", p < 0.01 ? 4 : p < 0.1 ? 3 : 2, p);
	return out;
}

struct fmt
fmt_plain(struct fmt f)
{
	char *at;

	while ((at = strstr(f.s, NBSP)) != NULL) {
		*at = ' ';
		memmove(at + 1, at + sizeof(NBSP) - 1, strlen(at + sizeof(NBSP) - 1) + 1);
	}
	return f;
}
