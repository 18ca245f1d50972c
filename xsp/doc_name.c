/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "xsp/decoder.h"

int
names_init(struct names *t, uint32_t fields_max)
{
	uint32_t slots = 64;

	/* Half of `max` must hold one item: fields_max names, each in two spellings. */
	t->max = 4 * fields_max;
	t->text_cap = t->max * (NAME_MAX_BYTES + 1);
	while (slots < 2 * t->max)
		slots *= 2;
	t->mask = slots - 1;
	t->all = calloc(t->max, sizeof(*t->all));
	t->slots = calloc(slots, sizeof(*t->slots));
	t->text = malloc(t->text_cap);
	return t->all == NULL || t->slots == NULL || t->text == NULL ? NW_ENOMEM : NW_OK;
}

void
names_clear(struct names *t)
{
	free(t->text);
	free(t->slots);
	free(t->all);
}

void
names_make_room(struct names *t)
{
	if (t->n <= t->max / 2)
		return;
	memset(t->slots, 0, (t->mask + 1) * sizeof(*t->slots));
	t->n = 0;
	t->text_len = 0;
}

/* Eight bytes of a name; with the length, all of a name of at most eight bytes. */
static inline uint64_t
name_head(const char *s, uint32_t len)
{
	uint64_t head;
	uint32_t x, y;

	if (len >= 8) {
		memcpy(&head, s, 8);
		return head;
	}
	if (len >= 4) {
		memcpy(&x, s, 4);
		memcpy(&y, s + len - 4, 4);
		return (uint64_t)x << 32 | y;
	}
	return (uint64_t)(uint8_t)s[0] << 16 | (uint64_t)(uint8_t)s[len / 2] << 8 |
	    (uint8_t)s[len - 1];
}

/* The ends of a name tell names apart well enough; a bad case costs at most `max` comparisons of
 * heads. */
static inline uint32_t
name_hash(const char *s, uint32_t len, uint64_t head)
{
	uint64_t tail = 0, h;

	if (len > 8)
		memcpy(&tail, s + len - 8, 8);
	h = (head ^ len) * 0x9e3779b97f4a7c15u ^ tail * 0xc2b2ae3d27d4eb4fu;
	return (uint32_t)(h >> 32 ^ h >> 13);
}

/* Is s the name of a caliper's statistic: sum_v, sd_r, ...? */
static bool
is_caliper_statistic(const char *s)
{
	static const char *const statistics[] = { "sum_", "min_", "max_", "mean_", "sd_" };
	size_t i, n;

	for (i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++) {
		n = strlen(statistics[i]);
		if (strncmp(s, statistics[i], n) == 0 && s[n] != '\0' &&
		    strchr("vrgd", s[n]) != NULL && s[n + 1] == '\0')
			return true;
	}
	return false;
}

bool
name_is_deviation(const char *s)
{
	return strncmp(s, "sd_", 3) == 0 && is_caliper_statistic(s);
}

static void
name_classify(struct name *n)
{
	static const struct {
		const char *text;
		enum name_kind kind;
		bool is_caliper;
	} known[] = {
		{ "ts", NAME_TS, false },
		{ "ts_ns", NAME_TS_NS, false },
		{ "_sample", NAME_SAMPLE, true },
		{ "h_dur", NAME_HIST, true },
		{ "count", NAME_FIELD, true },
		{ "dur", NAME_FIELD, true },
		{ "dur_inst", NAME_FIELD, true },
	};
	size_t i;

	n->kind = NAME_FIELD;
	n->is_caliper = is_caliper_statistic(n->spelling);
	n->is_deviation = name_is_deviation(n->spelling);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(n->spelling, known[i].text) == 0) {
			n->kind = (uint8_t)known[i].kind;
			n->is_caliper = known[i].is_caliper;
		}
	}
}

/* Dots become underscores; two words have a synonym. Returns the length in out. */
static uint32_t
name_canonical(char out[NAME_MAX_BYTES + 1], const char *spelling, uint32_t len)
{
	uint32_t i;

	for (i = 0; i <= len; i++)
		out[i] = spelling[i] == '.' ? '_' : spelling[i];
	if (strcmp(out, "dur_i") == 0)
		strcpy(out, "dur_inst");
	else if (strcmp(out, "v") == 0)
		strcpy(out, "value");
	return (uint32_t)strlen(out);
}

static int
name_add(struct names *t, uint32_t *slot, const char *spelling, uint32_t len, struct name **out)
{
	char canonical[NAME_MAX_BYTES + 1];
	uint32_t canonical_len;
	struct name *n;

	if (len > NAME_MAX_BYTES)
		return NW_ETOOBIG;
	if (!text_is_valid(spelling, len))
		return NW_EPROTO;
	if (t->max - t->n < 2) /* room for the canonical name, too */
		return NW_ETOOBIG;
	n = &t->all[t->n++];
	*slot = t->n;
	*n = (struct name){ .spelling = t->text + t->text_len,
		.spelling_len = len,
		.head = name_head(spelling, len),
		.canon = n };
	memcpy(t->text + t->text_len, spelling, len + 1);
	t->text_len += len + 1;
	name_classify(n);
	canonical_len = name_canonical(canonical, spelling, len);
	if (canonical_len != len || memcmp(canonical, spelling, len) != 0)
		/* cannot fail: the name is valid, and there is room */
		(void)names_get(t, canonical, canonical_len, &n->canon);
	*out = n->canon;
	return NW_OK;
}

int
names_get(struct names *t, const char *spelling, uint32_t len, struct name **out)
{
	uint64_t head;
	uint32_t at, i;

	if (len == 0)
		return NW_EPROTO;
	head = name_head(spelling, len);
	for (at = name_hash(spelling, len, head) & t->mask; (i = t->slots[at]) != 0;
	     at = (at + 1) & t->mask) {
		struct name *n = &t->all[i - 1];

		if (n->head == head && n->spelling_len == len &&
		    (len <= 8 || memcmp(n->spelling, spelling, len) == 0)) {
			*out = n->canon;
			return NW_OK;
		}
	}
	return name_add(t, &t->slots[at], spelling, len, out);
}
