/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "narrows/err.h"
#include "narrows/splitmix.h"

bool
bytes_parse(const char *text, uint64_t *out)
{
	static const struct {
		const char *suffix;
		unsigned shift;
	} units[] = { { "", 0 }, { "B", 0 }, { "k", 10 }, { "KiB", 10 }, { "M", 20 }, { "MiB", 20 },
		{ "G", 30 }, { "GiB", 30 } };
	unsigned long long v;
	char *end;
	size_t i;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *text == '-')
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcasecmp(end, units[i].suffix) == 0 && v <= UINT64_MAX >> units[i].shift) {
			*out = (uint64_t)v << units[i].shift;
			return true;
		}
	return false;
}

/* "X" or "X,Y" behind a word. */
static int
numbers_parse(const char *text, uint64_t *x, uint64_t *y, bool *both)
{
	const char *comma = strchr(text, ',');
	char first[32];

	*both = comma != NULL;
	if (comma == NULL)
		return bytes_parse(text, x) ? NW_OK : NW_EINVAL;
	if ((size_t)(comma - text) >= sizeof(first))
		return NW_EINVAL;
	memcpy(first, text, (size_t)(comma - text));
	first[comma - text] = '\0';
	return bytes_parse(first, x) && bytes_parse(comma + 1, y) ? NW_OK : NW_EINVAL;
}

int
layout_parse(const char *word, struct layout *out)
{
	struct layout l = { LAYOUT_OFF0, 0, 0 };
	bool both = false;
	int rc = NW_OK;

	if (strcmp(word, "off0") == 0) {
		l.kind = LAYOUT_OFF0;
	} else if (strcmp(word, "seq") == 0) {
		l.kind = LAYOUT_SEQ;
	} else if (strcmp(word, "rnd") == 0) {
		l.kind = LAYOUT_RND;
	} else if (strncmp(word, "stride", 6) == 0) {
		rc = numbers_parse(word + 6, &l.hole_bytes, &l.near_bytes, &both);
		l.kind = both ? LAYOUT_STRIDE_NEAR : LAYOUT_STRIDE;
	} else if (strncmp(word, "rnd", 3) == 0) {
		rc = numbers_parse(word + 3, &l.near_bytes, &l.hole_bytes, &both);
		l.kind = LAYOUT_NEAR;
	} else if (strncmp(word, "reverse", 7) == 0) {
		rc = numbers_parse(word + 7, &l.hole_bytes, &l.near_bytes, &both);
		l.kind = LAYOUT_REVERSE;
	} else {
		return NW_EINVAL;
	}
	if (rc < 0 || (both && l.kind != LAYOUT_STRIDE_NEAR))
		return NW_EINVAL;
	*out = l;
	return NW_OK;
}

void
layout_numbers(const struct layout *l, char *to, size_t cap)
{
	uint64_t first = l->kind == LAYOUT_NEAR ? l->near_bytes : l->hole_bytes;
	uint64_t second = l->kind == LAYOUT_STRIDE_NEAR ? l->near_bytes : 0;

	snprintf(to, cap, "%d-%" PRIu64 "-%" PRIu64, (int)l->kind, first, second);
}

/* xoroshiro128+ (Blackman and Vigna, 2018). */
static uint64_t
random_word(struct layout_walk *w)
{
	uint64_t a = w->rng[0], b = w->rng[1], sum = a + b;

	b ^= a;
	w->rng[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
	w->rng[1] = b << 37 | b >> 27;
	return sum;
}

/* A number below n, each as likely (Lemire, 2019). */
static uint64_t
random_below(struct layout_walk *w, uint64_t n)
{
	unsigned __int128 m;
	uint64_t least;

	if (n < 2)
		return 0;
	m = (unsigned __int128)random_word(w) * n;
	for (least = -n % n; (uint64_t)m < least;)
		m = (unsigned __int128)random_word(w) * n;
	return (uint64_t)(m >> 64);
}

void
layout_walk_init(struct layout_walk *w, const struct layout *l, uint64_t space_bytes,
    uint64_t access_bytes, uint64_t align_bytes, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->layout = *l;
	w->space_bytes = space_bytes;
	w->access_bytes = access_bytes;
	w->align_bytes = align_bytes > 0 ? align_bytes : 1;
	w->rng[0] = nw_splitmix(&seed);
	w->rng[1] = nw_splitmix(&seed);
}

/* The number of positions: multiples of the alignment at which a whole access lies within the
 * space. */
static uint64_t
positions(const struct layout_walk *w)
{
	return (w->space_bytes - w->access_bytes) / w->align_bytes + 1;
}

/* A position at most near_bytes to either side of `from`, within the space. */
static uint64_t
near_position(struct layout_walk *w, uint64_t from, uint64_t near_bytes)
{
	uint64_t last = w->space_bytes - w->access_bytes;
	uint64_t low = from > near_bytes ? from - near_bytes : 0;
	uint64_t high = near_bytes > last - from ? last : from + near_bytes;
	uint64_t at = low + random_below(w, high - low + 1);

	return at / w->align_bytes * w->align_bytes;
}

/* The position behind the last one, with a hole; from the beginning again where none fits. */
static uint64_t
forward_position(const struct layout_walk *w, uint64_t hole_bytes)
{
	uint64_t last = w->space_bytes - w->access_bytes, step = w->access_bytes + hole_bytes;
	uint64_t at;

	if (!w->begun || step > last - w->at)
		return 0;
	at = w->at + step;
	return at / w->align_bytes * w->align_bytes;
}

static uint64_t
backward_position(const struct layout_walk *w)
{
	uint64_t last = (w->space_bytes - w->access_bytes) / w->align_bytes * w->align_bytes;
	uint64_t step = w->access_bytes + w->layout.hole_bytes;

	if (!w->begun || step > w->at)
		return last;
	return (w->at - step) / w->align_bytes * w->align_bytes;
}

uint64_t
layout_walk_next(struct layout_walk *w)
{
	switch (w->layout.kind) {
	case LAYOUT_OFF0: w->at = 0; break;
	case LAYOUT_SEQ: w->at = forward_position(w, 0); break;
	case LAYOUT_RND: w->at = random_below(w, positions(w)) * w->align_bytes; break;
	case LAYOUT_STRIDE: w->at = forward_position(w, w->layout.hole_bytes); break;
	case LAYOUT_NEAR: w->at = near_position(w, w->at, w->layout.near_bytes); break;
	case LAYOUT_REVERSE: w->at = backward_position(w); break;
	case LAYOUT_STRIDE_NEAR:
		w->at = near_position(
		    w, forward_position(w, w->layout.hole_bytes), w->layout.near_bytes);
		break;
	}
	w->begun = true;
	return w->at;
}
