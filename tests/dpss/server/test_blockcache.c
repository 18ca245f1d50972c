/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache stays within its bytes, gives up the block that was used longest ago, and a block in a
 * reader's hand stays whole. usage: test_blockcache [-s SEED] */
#include "dpss/server/blockcache.h"

#include <stdbool.h>

#include "tests/check.h"

enum { BLOCKS = 12, MAX_BYTES = 400, STEPS = 20000 };

static struct blockcache_key
key_of(unsigned i)
{
	return (struct blockcache_key){
		.grant = i % 2, .disk = i % 3, .set = 7, .slot = i, .logical = 1000 + i
	};
}

static bool
has(struct blockcache *c, const struct blockcache_key *key, uint32_t sum)
{
	struct buffer *b = blockcache_get(c, key);
	bool is = b != NULL && b->sum == sum;

	buffer_drop(b);
	return is;
}

static void
put(struct blockcache *c, const struct blockcache_key *key, uint32_t len, uint32_t sum)
{
	struct buffer *b = buffer_new(len);

	b->len = len;
	b->sum = sum;
	memset(b->data, (int)(sum & 0xff), len);
	blockcache_put(c, key, b);
	buffer_drop(b);
}

/* Every part of the key tells blocks apart. */
static void
test_keys(void)
{
	static const struct blockcache_key keys[] = {
		{ .grant = 1, .disk = 2, .set = 3, .slot = 4, .logical = 5 },
		{ .grant = 2, .disk = 2, .set = 3, .slot = 4, .logical = 5 },
		{ .grant = 1, .disk = 3, .set = 3, .slot = 4, .logical = 5 },
		{ .grant = 1, .disk = 2, .set = 4, .slot = 4, .logical = 5 },
		{ .grant = 1, .disk = 2, .set = 3, .slot = 5, .logical = 5 },
		{ .grant = 1, .disk = 2, .set = 3, .slot = 4, .logical = 6 },
	};
	enum { N = sizeof(keys) / sizeof(keys[0]) };
	struct blockcache *c = blockcache_new(N * 10);
	uint32_t i;

	for (i = 0; i < N; i++)
		put(c, &keys[i], 10, i);
	for (i = 0; i < N; i++)
		CHECK(has(c, &keys[i], i));
	blockcache_forget(c, &keys[2]);
	blockcache_forget(c, &keys[2]); /* a block that is not there */
	for (i = 0; i < N; i++)
		CHECK_INT(has(c, &keys[i], i), i != 2);
	blockcache_free(c);
}

static void
test_new_data(void)
{
	struct blockcache *c = blockcache_new(MAX_BYTES);
	struct blockcache_key key = key_of(0), other = key_of(1);
	struct buffer *held;
	uint32_t i;

	put(c, &key, 300, 1);
	held = blockcache_get(c, &key);
	CHECK(held != NULL && atomic_load(&held->holders) == 2);
	for (i = 2; i < 6; i++)
		put(c, &key, 300, i);
	CHECK(has(c, &key, 5));
	CHECK(held->sum == 1 && held->data[0] == 1 && held->data[299] == 1);
	CHECK_INT(atomic_load(&held->holders), 1);
	put(c, &other, MAX_BYTES + 1,
	    9); /* larger than the whole cache: nothing has to go for it */
	CHECK(!has(c, &other, 9) && has(c, &key, 5));
	put(c, &other, MAX_BYTES, 9);
	CHECK(has(c, &other, 9) && !has(c, &key, 5));
	buffer_drop(held);
	blockcache_free(c);
}

/* A list of the same blocks, the latest use first, beside the cache. */
struct model {
	unsigned id[BLOCKS];
	uint32_t len[BLOCKS], sum[BLOCKS];
	size_t n;
};

static void
model_remove(struct model *m, size_t at)
{
	m->n--;
	memmove(m->id + at, m->id + at + 1, (m->n - at) * sizeof(*m->id));
	memmove(m->len + at, m->len + at + 1, (m->n - at) * sizeof(*m->len));
	memmove(m->sum + at, m->sum + at + 1, (m->n - at) * sizeof(*m->sum));
}

static size_t
model_find(const struct model *m, unsigned id)
{
	size_t i;

	for (i = 0; i < m->n && m->id[i] != id; i++)
		;
	return i;
}

static void
model_put(struct model *m, unsigned id, uint32_t len, uint32_t sum)
{
	size_t i = model_find(m, id), bytes = len;

	if (i < m->n)
		model_remove(m, i);
	for (i = 0; i < m->n && bytes + m->len[i] <= MAX_BYTES; i++)
		bytes += m->len[i];
	m->n = i;
	memmove(m->id + 1, m->id, m->n * sizeof(*m->id));
	memmove(m->len + 1, m->len, m->n * sizeof(*m->len));
	memmove(m->sum + 1, m->sum, m->n * sizeof(*m->sum));
	m->id[0] = id;
	m->len[0] = len;
	m->sum[0] = sum;
	m->n++;
}

static void
model_get(struct model *m, struct blockcache *c, unsigned id)
{
	struct blockcache_key key = key_of(id);
	struct buffer *b = blockcache_get(c, &key);
	size_t i = model_find(m, id);

	CHECK_INT(b != NULL, i < m->n);
	if (b != NULL && i < m->n) {
		CHECK_INT(b->sum, m->sum[i]);
		model_put(m, id, m->len[i], m->sum[i]);
	}
	buffer_drop(b);
}

static void
test_random(unsigned seed)
{
	struct blockcache *c = blockcache_new(MAX_BYTES);
	struct model m = { .n = 0 };
	struct blockcache_key key;
	unsigned id, step;
	uint32_t len;

	srandom(seed);
	for (step = 0; step < STEPS; step++) {
		id = (unsigned)random() % BLOCKS;
		key = key_of(id);
		switch (random() % 8) {
		case 0:
			blockcache_forget(c, &key);
			if (model_find(&m, id) < m.n)
				model_remove(&m, model_find(&m, id));
			break;
		case 1:
		case 2:
		case 3:
			len = 1 + (uint32_t)random() % 200;
			put(c, &key, len, step);
			model_put(&m, id, len, step);
			break;
		default: model_get(&m, c, id);
		}
	}
	for (id = 0; id < BLOCKS; id++)
		model_get(&m, c, id);
	blockcache_free(c);
}

int
main(int argc, char **argv)
{
	unsigned seed = argc == 3 && strcmp(argv[1], "-s") == 0 ? (unsigned)atoi(argv[2]) : 1;

	printf("seed %u\n", seed);
	test_keys();
	test_new_data();
	test_random(seed);
	return check_done("test_blockcache");
}
