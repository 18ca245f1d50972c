/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads lines, words and numbers from text without a final NUL. Inline: blipp spends most of its
 * time here. */
#ifndef HOST_SCAN_H
#define HOST_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *at, *end;
};

static inline struct scan
scan_text(const char *text, size_t len)
{
	return (struct scan){ text, text + len };
}

/* Takes the next line without its newline. */
static inline bool
scan_line(struct scan *s, struct scan *line)
{
	const char *nl;

	if (s->at == s->end)
		return false;
	nl = memchr(s->at, '\n', (size_t)(s->end - s->at));
	line->at = s->at;
	line->end = nl != NULL ? nl : s->end;
	s->at = nl != NULL ? nl + 1 : s->end;
	return true;
}

static inline void
scan_blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
}

/* Takes the text up to the next blank. */
static inline bool
scan_word(struct scan *s, struct scan *word)
{
	scan_blanks(s);
	word->at = s->at;
	while (s->at < s->end && *s->at != ' ' && *s->at != '\t')
		s->at++;
	word->end = s->at;
	return word->at < word->end;
}

/* Takes the text up to the next `mark` and skips the mark; without a mark takes the rest. */
static inline bool
scan_until(struct scan *s, char mark, struct scan *part)
{
	if (s->at == s->end)
		return false;
	part->at = s->at;
	while (s->at < s->end && *s->at != mark)
		s->at++;
	part->end = s->at;
	if (s->at < s->end)
		s->at++;
	return true;
}

static inline bool
scan_is(struct scan word, const char *text)
{
	size_t len = (size_t)(word.end - word.at);

	return strlen(text) == len && memcmp(word.at, text, len) == 0;
}

/* Reads a whole number; a sign makes the number 0 (the counters of /proc have none, "-1" stands
 * for "no limit"). */
static inline bool
scan_u64(struct scan *s, uint64_t *out)
{
	uint64_t n = 0;
	bool negative;
	const char *start;

	scan_blanks(s);
	negative = s->at < s->end && *s->at == '-';
	s->at += negative;
	for (start = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		n = n * 10 + (uint64_t)(*s->at - '0');
	*out = negative ? 0 : n;
	return s->at > start;
}

/* Reads a whole number with its sign. */
static inline bool
scan_signed(struct scan *s, double *out)
{
	uint64_t n;
	bool negative;

	scan_blanks(s);
	negative = s->at < s->end && *s->at == '-';
	s->at += negative;
	if (!scan_u64(s, &n))
		return false;
	*out = negative ? -(double)n : (double)n;
	return true;
}

/* Fills n numbers; missing numbers are 0. Returns how many there were. */
static inline size_t
scan_numbers(struct scan *s, uint64_t *out, size_t n)
{
	size_t i, got = 0;

	for (i = 0; i < n; i++) {
		if (got == i && scan_u64(s, &out[i]))
			got++;
		else
			out[i] = 0;
	}
	return got;
}

#endif
