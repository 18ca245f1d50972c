/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers and times as text: exact forms for machines, short ones for people. No locale, no
 * allocation.
 *
 * Results come back by value: `html_text(h, fmt_bytes(n).s)`. An unknown number (NaN) is "unknown"
 * to people and an empty text to machines. Between a number and its unit stands a no-break space.
 * Prefixes are decimal.
 */
#ifndef NARROWS_FORMAT_H
#define NARROWS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct fmt {
	char s[64];
};

/* --- for machines --- */
struct fmt fmt_exact(double v); /* shortest text from which strtod() reads v; "Inf", "-Inf" */
/* The same into a buffer of the caller's; returns the text's length, without the NUL. */
#define FMT_EXACT_ROOM 32
size_t fmt_exact_put(char out[static FMT_EXACT_ROOM], double v);
struct fmt fmt_int(int64_t v);
struct fmt fmt_iso_ns(int64_t t_wall_ns); /* 2026-11-20T08:12:11.250000000Z */
/* The same with n_digits, 0 to 9, of the second's fraction; digits beyond are cut. */
struct fmt fmt_iso(int64_t t_wall_ns, int n_digits);
/* Reads such a time of 1970 or later, with up to 9 digits of a fraction. 0: the text has another
 * form. */
int64_t fmt_parse_iso(const char *text);

/* --- for people --- */
struct fmt fmt_count(uint64_t v);              /* 1,234,567 */
struct fmt fmt_time(int64_t t_wall_ns);        /* 2026-11-20 08:12:11 UTC; 0: "unknown" */
struct fmt fmt_si(double v, const char *unit); /* three digits: 41.3 MB/s */
struct fmt fmt_bytes(double bytes);
struct fmt fmt_bytes_per_s(double bytes_per_s);
struct fmt fmt_bits_per_s(double bytes_per_s); /* takes bytes, shows bits: 330 Mbit/s */
struct fmt fmt_duration(double s);    /* 400 µs, 6.50 s, 17 min 29 s, 2 h 5 min, 3 d 4 h */
struct fmt fmt_share(double share);   /* 0.94: 94 % */
struct fmt fmt_percent(double share); /* three digits of a small share: 0.00123: 0.123 % */
struct fmt fmt_ratio(double v);       /* three digits, no prefix: 14.2 */
struct fmt fmt_p(double p);           /* 0.013, < 0.001 */

/* The same text with ordinary spaces, for documents and terminals. */
struct fmt fmt_plain(struct fmt f);

/* The power of ten (a multiple of three) that fmt_si() would use for v, and its prefix: an axis
 * shares both. */
int fmt_si_exponent(double v);
const char *fmt_si_prefix(int exponent);

#endif
