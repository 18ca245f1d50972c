/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and times: exact ones read back, short ones read well. */
#include "narrows/format.h"

#include <stdlib.h>
#include <time.h>

#include "narrows/splitmix.h"
#include "tests/check.h"

#define NBSP "\xc2\xa0"

static uint64_t rng;

static uint64_t
rnd(void)
{
	return nw_splitmix(&rng);
}

static void
test_exact(void)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 1, "1" },
		{ -17, "-17" },
		{ 0.1, "0.1" },
		{ 0.3, "0.3" },
		{ 1e15, "1e+15" },
		{ 999999999999999, "999999999999999" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 1e100, "1e+100" },
		{ 5e-324, "5e-324" },
		{ 2.2250738585072014e-308, "2.2250738585072014e-308" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 9007199254740993.0, "9007199254740992" },
		{ INFINITY, "Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "" },
		{ 0.1 + 0.2, "0.30000000000000004" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(fmt_exact(cases[i].v).s, cases[i].text);
	CHECK_STR(fmt_int(INT64_MIN).s, "-9223372036854775808");
	CHECK_STR(fmt_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	CHECK_STR(fmt_count(0).s, "0");
	CHECK_STR(fmt_count(999).s, "999");
	CHECK_STR(fmt_count(1000).s, "1,000");
	CHECK_STR(fmt_count(123456).s, "123,456");
}

/* Every bit pattern reads back, and no shorter text would. */
static void
test_exact_random(void)
{
	int i, bad = 0, longer = 0;

	for (i = 0; i < 200000; i++) {
		uint64_t bits = rnd();
		double v, back;
		char shorter[64];
		int digits;
		struct fmt text;

		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		text = fmt_exact(v);
		back = strtod(text.s, NULL);
		bad += memcmp(&back, &v, sizeof(v)) != 0;
		if (i % 16 == 0 && strchr(text.s, 'e') != NULL) {
			for (digits = 0, back = 0; text.s[digits] != 'e'; digits++)
				;
			digits -= (v < 0) + (strchr(text.s, '.') != NULL);
			if (digits > 1) {
				snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, v);
				longer += strtod(shorter, NULL) == v;
			}
		}
	}
	CHECK_INT(bad, 0);
	CHECK_INT(longer, 0);
}

/* Numbers of 1 to 17 digits around the limits of the plain form, in the form of printf. */
static void
test_exact_usual(void)
{
	char text[64], want[64];
	int i, n, bad = 0;
	double v;

	for (i = 0; i < 40000; i++) {
		n = 1 + i % 17;
		snprintf(text, sizeof(text), "%s%.*se%d", i % 2 == 0 ? "" : "-", n,
		    fmt_int((int64_t)(rnd() >> 4) + INT64_C(100000000000000000)).s,
		    (int)(rnd() % 26) - n - 5);
		v = strtod(text, NULL);
		for (n = 15; n < 17; n++) {
			snprintf(want, sizeof(want), "%.*g", n, v);
			if (strtod(want, NULL) == v)
				break;
		}
		snprintf(want, sizeof(want), "%.*g", n, v);
		bad += strcmp(fmt_exact(v).s, want) != 0;
		if (strcmp(fmt_exact(v).s, want) != 0 && bad < 5)
			CHECK_STR(fmt_exact(v).s, want);
	}
	CHECK_INT(bad, 0);
}

static void
test_time(void)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000000000Z" },
		{ 1795162331250000000, "2026-11-20T08:12:11.250000000Z" },
		{ 1777888805118305000, "2026-05-04T10:00:05.118305000Z" },
		{ 951827696123456789, "2000-02-29T12:34:56.123456789Z" },
		{ -1, "1969-12-31T23:59:59.999999999Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145224192Z" },
	};
	static const char *const wrong[] = { "", "now", "2026-11-20", "2026-11-20 08:12:11Z",
		"2026-13-20T08:12:11Z", "2026-11-20T25:12:11Z", "2026-11-20T08:12:11",
		"2026-11-20T08:12:11.1234567890Z", "2026-11-20T08:12:11+02:00",
		"12026-11-20T08:12:11Z", "2026-11-20T 8:12:11Z", "2026-11-20T08:12:11Zx" };
	size_t i;
	int k, bad = 0;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(fmt_iso_ns(cases[i].ns).s, cases[i].text);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_INT(fmt_parse_iso(wrong[i]), 0);
	CHECK(fmt_parse_iso("2026-11-20T08:12:19.100Z") == 1795162339100000000);
	CHECK(fmt_parse_iso("2026-11-20T08:12:19Z") == 1795162339000000000);
	CHECK_STR(fmt_time(1795162331250000000).s, "2026-11-20" NBSP "08:12:11" NBSP "UTC");
	CHECK_STR(fmt_time(0).s, "unknown");
	/* against the C library, and back */
	for (k = 0; k < 20000; k++) {
		int64_t ns = (int64_t)(rnd() >> 1);
		time_t s = ns / 1000000000;
		struct tm tm;
		char text[64], whole[96];

		gmtime_r(&s, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(whole, sizeof(whole), "%s.%09dZ", text, (int)(ns % 1000000000));
		bad += strcmp(fmt_iso_ns(ns).s, whole) != 0 ||
		    (tm.tm_year < 361 && fmt_parse_iso(whole) != ns);
	}
	CHECK_INT(bad, 0);
}

static const struct {
	double v;
	const char *bytes;
} amounts[] = {
	{ 0, "0" NBSP "B" },
	{ 1, "1" NBSP "B" },
	{ 999, "999" NBSP "B" },
	{ 1000, "1" NBSP "kB" },
	{ 1234, "1.23" NBSP "kB" },
	{ 999499, "999" NBSP "kB" },
	{ 999700, "1.00" NBSP "MB" },
	{ 268435456, "268" NBSP "MB" },
	{ 1.84e12, "1.84" NBSP "TB" },
	{ 0.25, "0.25" NBSP "B" },
	{ -1500, "-1.50" NBSP "kB" },
	{ 2e24, "2.00e+06" NBSP "EB" },
	{ NAN, "unknown" },
	{ INFINITY, "unknown" },
};

static const struct {
	double s;
	const char *text;
} durations[] = {
	{ 0, "0" NBSP "s" },
	{ 4e-4, "400" NBSP "\xc2\xb5s" },
	{ 1e-5, "10" NBSP "\xc2\xb5s" },
	{ 1.5e-9, "1.50" NBSP "ns" },
	{ 0.021, "21" NBSP "ms" },
	{ 0.5, "500" NBSP "ms" },
	{ 6.5, "6.50" NBSP "s" },
	{ 59.94, "59.9" NBSP "s" },
	{ 59.97, "1" NBSP "min" NBSP "0" NBSP "s" },
	{ 1049, "17" NBSP "min" NBSP "29" NBSP "s" },
	{ 7500, "2" NBSP "h" NBSP "5" NBSP "min" },
	{ 273600, "3" NBSP "d" NBSP "4" NBSP "h" },
	{ -0.002, "-2" NBSP "ms" },
	{ -90, "-90" NBSP "s" },
	{ NAN, "unknown" },
	{ 1e300, "unknown" },
};

static const struct {
	double v;
	const char *share, *p;
} shares[] = {
	{ 0, "0" NBSP "%", "<" NBSP "0.001" },
	{ 0.004, "0.4" NBSP "%", "0.0040" },
	{ 0.94, "94" NBSP "%", "0.94" },
	{ 0.998, "99.8" NBSP "%", "1.00" },
	{ 1, "100" NBSP "%", "1.00" },
	{ 0.02, "2.0" NBSP "%", "0.020" },
	{ NAN, "unknown", "unknown" },
};

static void
test_people(void)
{
	size_t i;

	for (i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		CHECK_STR(fmt_bytes(amounts[i].v).s, amounts[i].bytes);
	for (i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		CHECK_STR(fmt_duration(durations[i].s).s, durations[i].text);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		CHECK_STR(fmt_share(shares[i].v).s, shares[i].share);
		CHECK_STR(fmt_p(shares[i].v).s, shares[i].p);
	}
	CHECK_STR(fmt_bytes_per_s(41297762.5).s, "41.3" NBSP "MB/s");
	CHECK_STR(fmt_bits_per_s(41297762.5).s, "330" NBSP "Mbit/s");
	CHECK_STR(fmt_bits_per_s(0.05).s, "0.40" NBSP "bit/s");
	CHECK_STR(fmt_ratio(14.2).s, "14.2");
	CHECK_STR(fmt_plain(fmt_percent(0.00123)).s, "0.123 %");
	CHECK_STR(fmt_plain(fmt_percent(1.5)).s, "150 %");
	CHECK_STR(fmt_percent(NAN).s, "unknown");
	CHECK_STR(fmt_ratio(1.04).s, "1.04");
	CHECK_STR(fmt_ratio(12345).s, "12345");
	CHECK_STR(fmt_ratio(1234567).s, "1.23e+06");
	CHECK_INT(fmt_si_exponent(0.0004), -6);
	CHECK_INT(fmt_si_exponent(999.7), 3);
	CHECK_INT(fmt_si_exponent(-1e9), 9);
	CHECK_STR(fmt_si_prefix(-6), "\xc2\xb5");
}

int
main(int argc, char **argv)
{
	rng = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	fprintf(stderr, "seed %#llx\n", (unsigned long long)rng);
	test_exact();
	test_exact_random();
	test_exact_usual();
	test_time();
	test_people();
	return check_done("test_fmt");
}
