/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole chunks: every shape comes back bit by bit, in full and in part; every damage is an error;
 * every allocation may fail. Usage: test_chunk [-s SEED] */
#include <errno.h>

#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/chunk.h"
#include "store/codec/codec_hash.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC 0
#endif
#endif
#if !defined(OWN_MALLOC) && defined(__GLIBC__)
#define OWN_MALLOC 1
#endif

enum { COLUMNS_MAX = 64, ROWS_MAX = 65536 };

static size_t largest_malloc;

#if OWN_MALLOC
/* The C library's own, counted: the n-th from now on fails. Sanitizers bring theirs, and go
 * without. */
static long mallocs_left = -1;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
__attribute__((visibility("default"))) void *malloc(size_t n);
__attribute__((visibility("default"))) void *calloc(size_t n, size_t size);
__attribute__((visibility("default"))) void *realloc(void *p, size_t n);

static bool
malloc_fails(size_t n)
{
	largest_malloc = n > largest_malloc ? n : largest_malloc;
	if (mallocs_left < 0 || mallocs_left-- > 0)
		return false;
	mallocs_left = 0;
	errno = ENOMEM;
	return true;
}

void *
malloc(size_t n)
{
	return malloc_fails(n) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return malloc_fails(n * size) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return malloc_fails(n) ? NULL : __libc_realloc(p, n);
}
#endif

static struct chunk_codec *codec;
static struct chunk_buf buf;
static struct chunk_rows rows;

/* --- chunks to try --- */

static int64_t t[ROWS_MAX];
static double *columns[COLUMNS_MAX];
static uint32_t ends[ROWS_MAX];
static uint8_t attached[1 << 20];

static struct chunk_columns
make_columns(uint32_t n_rows, uint32_t n_columns, bool attachments)
{
	struct chunk_columns in = { .n_rows = n_rows, .n_columns = n_columns, .t_wall_ns = t };
	uint32_t i, end = 0;

	for (i = 0; i < n_rows; i++) {
		t[i] = INT64_C(1700000000000000000) + i * INT64_C(1000000000) +
		    (int64_t)random_below(100000);
		end += (uint32_t)random_below(3) * 7;
		ends[i] = end < sizeof(attached) ? end : (uint32_t)sizeof(attached);
	}
	for (i = 0; i < n_columns; i++)
		random_column((unsigned)random_below(N_KINDS), n_rows, columns[i]);
	in.value = (const double *const *)columns;
	if (attachments) {
		in.attachment_end = ends;
		in.attachment = attached;
	}
	return in;
}

static bool
same_columns(const struct chunk_columns *a, const struct chunk_columns *b)
{
	uint32_t c;

	if (a->n_rows != b->n_rows || a->n_columns != b->n_columns ||
	    (a->attachment_end != NULL) != (b->attachment_end != NULL))
		return false;
	if (a->n_rows > 0 && memcmp(a->t_wall_ns, b->t_wall_ns, a->n_rows * sizeof(*t)) != 0)
		return false;
	for (c = 0; c < a->n_columns; c++)
		if (!same_bits(a->value[c], b->value[c], a->n_rows))
			return false;
	if (a->attachment_end == NULL || a->n_rows == 0)
		return true;
	return memcmp(a->attachment_end, b->attachment_end, a->n_rows * sizeof(*ends)) == 0 &&
	    memcmp(a->attachment, b->attachment, a->attachment_end[a->n_rows - 1]) == 0;
}

static void
check_round_trip(const struct chunk_columns *in, enum chunk_effort effort)
{
	struct chunk_head head;
	uint8_t *exact;
	uint32_t i;

	CHECK_INT(chunk_encode(codec, in, effort, &buf), NW_OK);
	exact = malloc(buf.len); /* so that a sanitizer sees a byte beyond the end */
	memcpy(exact, buf.bytes, buf.len);
	CHECK_INT(chunk_read_head(exact, buf.len, &head), NW_OK);
	CHECK(
	    head.n_rows == in->n_rows && head.n_columns == in->n_columns && head.effort == effort);
	CHECK(head.has_attachments == (in->attachment_end != NULL));
	for (i = 0; i < in->n_rows; i++)
		if (in->t_wall_ns[i] < head.t_min_wall_ns || in->t_wall_ns[i] > head.t_max_wall_ns)
			break;
	CHECK(i == in->n_rows);
	CHECK_INT(chunk_decode(codec, exact, buf.len, NULL, &rows), NW_OK);
	CHECK(same_columns(in, &rows.is));
	free(exact);
}

static void
test_shapes(void)
{
	static const uint32_t row_counts[] = { 0, 1, 2, 7, 31, 32, 33, 1000, 1024 };
	struct chunk_columns in;
	uint32_t n_columns;
	size_t i;

	for (i = 0; i < sizeof(row_counts) / sizeof(row_counts[0]); i++) {
		for (n_columns = 0; n_columns <= COLUMNS_MAX;
		     n_columns += n_columns < 6 || n_columns >= 62 ? 1 : 8) {
			in = make_columns(row_counts[i], n_columns, n_columns % 2);
			check_round_trip(&in, CHUNK_HOT);
			check_round_trip(&in, CHUNK_COMPACT);
		}
	}
	in = make_columns(65535, 3, true);
	check_round_trip(&in, CHUNK_HOT);
	check_round_trip(&in, CHUNK_COMPACT);
	in = make_columns(ROWS_MAX, 14, false);
	check_round_trip(&in, CHUNK_HOT);
	check_round_trip(&in, CHUNK_COMPACT);
}

/* Bits at random, all of them: nothing to be found, nothing to be lost. */
static void
test_random_bits(void)
{
	struct chunk_columns in = make_columns(500, 8, true);
	uint32_t c, i;
	int round;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 500; i++)
			t[i] = (int64_t)random_bits();
		for (c = 0; c < 8; c++)
			random_column(c % 2 ? 1 : 2, 500, columns[c]);
		for (i = 0; i < sizeof(attached); i++)
			attached[i] = (uint8_t)(random_bits() >> 20);
		check_round_trip(&in, CHUNK_HOT);
		check_round_trip(&in, CHUNK_COMPACT);
	}
}

static void
test_same_bytes(void)
{
	struct chunk_columns in = make_columns(300, 10, true);
	struct chunk_codec *other = chunk_codec_new();
	struct chunk_buf again = { 0 };

	CHECK_INT(chunk_encode(codec, &in, CHUNK_COMPACT, &buf), NW_OK);
	CHECK_INT(chunk_encode(other, &in, CHUNK_COMPACT, &again), NW_OK);
	CHECK(buf.len == again.len && memcmp(buf.bytes, again.bytes, buf.len) == 0);
	chunk_buf_clear(&again);
	chunk_codec_free(other);
}

/* What one chunk has taught must not harm the next, which may be of any other nature. */
static void
test_kinds(void)
{
	struct chunk_columns in;
	uint64_t kind;
	uint32_t c, i;
	int round;

	for (round = 0; round < 60; round++) {
		kind = 1 + (uint64_t)round % 5;
		in = make_columns(300 - (uint32_t)round % 50 * 6, 4 + (uint32_t)kind / 2, false);
		in.kind = kind;
		in.family = (uint64_t)round % 4 / 2;
		for (c = 1; c < 3 && round % 7 < 5; c++) /* mostly: 2 = 1 / 0 */
			for (i = 0; i < in.n_rows; i++)
				columns[c][i] = c == 1 ? (double)(1 + random_below(1000))
						       : columns[0][i] / columns[1][i];
		check_round_trip(&in, round % 2 ? CHUNK_HOT : CHUNK_COMPACT);
		check_round_trip(&in, CHUNK_COMPACT);
		check_round_trip(&in, CHUNK_HOT);
	}
}

/* Three columns; the last follows from the first two. */
static struct chunk_columns
make_related(uint64_t kind, uint64_t family)
{
	struct chunk_columns in = make_columns(1000, 3, false);
	uint32_t i;

	for (i = 0; i < in.n_rows; i++) {
		columns[0][i] = (double)random_below(1000000000) * 1e-9;
		columns[1][i] = (double)(1 + random_below(1000));
		columns[2][i] = columns[0][i] / columns[1][i];
	}
	in.kind = kind;
	in.family = family;
	return in;
}

static size_t
encoded_len(const struct chunk_columns *in, enum chunk_effort effort)
{
	check_round_trip(in, effort);
	return buf.len;
}

/* And it must help: the second chunk is encoded across columns without a search, hot as well. */
static void
test_learning(void)
{
	struct chunk_columns in = make_related(4711, 0);
	size_t hot_before = encoded_len(&in, CHUNK_HOT);

	check_round_trip(&in, CHUNK_COMPACT);
	CHECK(encoded_len(&in, CHUNK_HOT) + 5 * in.n_rows < hot_before);
}

/* It helps others of the family too, except one that is not like it: that one is looked at by
 * itself, and learned. */
static void
test_family(void)
{
	struct chunk_columns in = make_related(5000, 77);
	size_t hot_before = encoded_len(&in, CHUNK_HOT), by_itself;
	double *swapped;
	int i;

	check_round_trip(&in, CHUNK_COMPACT);
	in = make_related(5001, 77);
	CHECK(encoded_len(&in, CHUNK_HOT) + 5 * in.n_rows < hot_before);
	for (i = 0; i < 2; i++) {
		in = make_related(0, 0); /* the first column follows from the others */
		swapped = columns[0];
		columns[0] = columns[2];
		columns[2] = swapped;
		in.kind = 5002;
		by_itself = encoded_len(&in, CHUNK_COMPACT);
		in.kind = 5003;
		in.family = 77;
		CHECK(encoded_len(&in, CHUNK_COMPACT) <= by_itself + by_itself / 50);
	}
}

/* --- parts --- */

static void
test_want(void)
{
	static const uint32_t some[] = { 11, 3, 3 }, none[] = { 12 };
	struct chunk_columns in = make_columns(1000, 12, true);
	struct chunk_want want = { .columns = some, .n_columns = 3 };
	uint32_t c;

	/* a column that needs columns: 11 = 5 / 4 */
	for (c = 0; c < 1000; c++) {
		columns[4][c] = (double)(1 + random_below(100));
		columns[5][c] = (double)random_below(1000000) * 1e-9;
		columns[11][c] = columns[5][c] / columns[4][c];
	}
	CHECK_INT(chunk_encode(codec, &in, CHUNK_COMPACT, &buf), NW_OK);
	CHECK_INT(chunk_decode(codec, buf.bytes, buf.len, &want, &rows), NW_OK);
	CHECK(
	    rows.is.t_wall_ns == NULL && rows.is.attachment_end == NULL && rows.is.n_rows == 1000);
	for (c = 0; c < 12; c++)
		CHECK((rows.is.value[c] != NULL) == (c == 3 || c == 11));
	CHECK(same_bits(rows.is.value[3], columns[3], 1000));
	CHECK(same_bits(rows.is.value[11], columns[11], 1000));

	want = (struct chunk_want){ .times = true, .attachments = true, .columns = some };
	CHECK_INT(chunk_decode(codec, buf.bytes, buf.len, &want, &rows), NW_OK);
	CHECK(memcmp(rows.is.t_wall_ns, t, 1000 * sizeof(*t)) == 0 && rows.is.value[3] == NULL);
	CHECK(memcmp(rows.is.attachment_end, ends, 1000 * sizeof(*ends)) == 0);

	want = (struct chunk_want){ .columns = none, .n_columns = 1 };
	CHECK_INT(chunk_decode(codec, buf.bytes, buf.len, &want, &rows), NW_ENOTFOUND);
	CHECK_INT(rows.is.n_rows, 0);
}

/* --- limits --- */

static void
test_limits(void)
{
	static const double *many[CHUNK_COLUMNS_MAX + 1];
	static const uint32_t falling[] = { 3, 2 };
	struct chunk_columns in = make_columns(ROWS_MAX, 2, false);
	uint32_t c;

	for (c = 0; c <= CHUNK_COLUMNS_MAX; c++)
		many[c] = columns[c % 2];
	in.value = many;
	in.n_rows = CHUNK_ROWS_MAX + 1;
	CHECK_INT(chunk_encode(codec, &in, CHUNK_HOT, &buf), NW_ETOOBIG);
	in.n_rows = 1;
	in.n_columns = CHUNK_COLUMNS_MAX + 1;
	CHECK_INT(chunk_encode(codec, &in, CHUNK_HOT, &buf), NW_ETOOBIG);
	in.n_columns = CHUNK_COLUMNS_MAX;
	check_round_trip(&in, CHUNK_COMPACT);
	in.n_rows = ROWS_MAX;
	in.n_columns = 128; /* and the times: over the limit of decoded bytes */
	CHECK_INT(chunk_encode(codec, &in, CHUNK_HOT, &buf), NW_ETOOBIG);
	in.n_rows = 2;
	in.n_columns = 1;
	in.attachment_end = falling;
	in.attachment = attached;
	CHECK_INT(chunk_encode(codec, &in, CHUNK_HOT, &buf), NW_EINVAL);
}

/* Heads that promise more than they may: refused before anything is allocated. */
static const struct {
	const char *bytes;
	size_t len;
	int want;
} heads[] = {
	{ "NWC\x01\x00\x00\x00____", 11, NW_OK }, /* no rows, no columns */
	{ "NWC\x02\x00\x00\x00____", 11, NW_EVERSION },
	{ "NWC\x00\x00\x00\x00____", 11, NW_ECORRUPT },
	{ "NWX\x01\x00\x00\x00____", 11, NW_ECORRUPT },
	{ "NWC\x01\x04\x00\x00____", 11, NW_ECORRUPT },                        /* unknown flag */
	{ "NWC\x01\x00\x81\x80\x04\x00____", 13, NW_ETOOBIG },                 /* 65537 rows */
	{ "NWC\x01\x00\x01\x81\xa0\x01____", 13, NW_ETOOBIG },                 /* 20481 columns */
	{ "NWC\x01\x00\x80\x80\x04\x80\x20\x00\x00____", 16, NW_ETOOBIG },     /* 2 GB */
	{ "NWC\x01\x02\x01\x01\x00\x00\x80\x80\x80\x40____", 17, NW_ETOOBIG }, /* of attachments */
	/* times wrap */
	{ "NWC\x01\x00\x01\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01____", 22, NW_ECORRUPT },
	{ "NWC\x01\x00", 5, NW_ECORRUPT },
	{ "", 0, NW_ECORRUPT },
};

static void
test_heads(void)
{
	struct chunk_head head;
	size_t i;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		CHECK_INT(chunk_read_head((const uint8_t *)heads[i].bytes, heads[i].len, &head),
		    heads[i].want);
		largest_malloc = 0;
		CHECK(chunk_decode(codec, (const uint8_t *)heads[i].bytes, heads[i].len, NULL,
			  &rows) != NW_OK);
		CHECK(largest_malloc == 0);
	}
}

/* --- damage --- */

static void
seal(uint8_t *bytes, size_t len)
{
	uint64_t sum = hash_bytes(bytes, len - 4);
	int i;

	for (i = 0; i < 4; i++)
		bytes[len - 4 + i] = (uint8_t)(sum >> (8 * i));
}

/* Any one bit, any cut: told from the checksum. */
static void
test_rot(void)
{
	struct chunk_columns in = make_columns(40, 5, true);
	size_t i;
	int effort;

	for (effort = CHUNK_HOT; effort <= CHUNK_COMPACT; effort++) {
		CHECK_INT(chunk_encode(codec, &in, (enum chunk_effort)effort, &buf), NW_OK);
		for (i = 0; i < buf.len * 8; i++) {
			buf.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
			CHECK(chunk_decode(codec, buf.bytes, buf.len, NULL, &rows) < 0 &&
			    rows.is.n_rows == 0);
			buf.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		}
		for (i = 0; i < buf.len; i++)
			CHECK(chunk_decode(codec, buf.bytes, i, NULL, &rows) < 0);
		CHECK_INT(chunk_decode(codec, buf.bytes, buf.len, NULL, &rows), NW_OK);
	}
}

/* The same with a checksum that fits: it may decode to something else, but nothing may break, and
 * nothing may grow. */
static void
test_malice(void)
{
	struct chunk_columns in;
	uint8_t *bytes;
	size_t len, cut, k;
	int round, rc;

	for (round = 0; round < 4000; round++) {
		if (round % 40 == 0) {
			in = make_columns(1 + (uint32_t)random_below(200),
			    (uint32_t)random_below(12), round % 80 == 0);
			CHECK_INT(
			    chunk_encode(codec, &in, (enum chunk_effort)(round / 40 % 2), &buf),
			    NW_OK);
		}
		cut = round % 5 == 0 ? random_below(buf.len - 4) : 0;
		len = buf.len - cut;
		bytes = malloc(len);
		memcpy(bytes, buf.bytes, len);
		for (k = 0; k < 1 + (unsigned)round % 4; k++)
			bytes[4 + random_below(round % 3 == 0 && len > 64 ? 60 : len - 4)] =
			    (uint8_t)random_bits();
		seal(bytes, len);
		largest_malloc = 0;
		rc = chunk_decode(codec, bytes, len, NULL, &rows);
		CHECK(rc == NW_OK || rc == NW_ECORRUPT || rc == NW_ETOOBIG);
		CHECK(largest_malloc <=
		    CHUNK_DECODED_MAX_BYTES + CHUNK_COLUMNS_MAX * sizeof(double *) + 1);
		free(bytes);
	}
}

/* Columns that follow from one another in a circle, by hand. */
static void
test_circle(void)
{
	static const uint8_t circle[] = "NWC\x01\x01\x01\x02\x00\x00"
					"\x02\x05\x05"
					"\x00\x00"
					"\x81\x00\x01\x00\x00"
					"\x81\x00\x00\x00\x00"
					"____";
	uint8_t bytes[sizeof(circle) - 1];

	memcpy(bytes, circle, sizeof(bytes));
	seal(bytes, sizeof(bytes));
	CHECK_INT(chunk_decode(codec, bytes, sizeof(bytes), NULL, &rows), NW_ECORRUPT);
	/* the second one as a constant, and the circle is a line */
	memcpy(bytes + 19, "\x81\x00\x00\x00\x00", 5);
	bytes[11] = 2;
	memmove(bytes + 19, "\x00\x00____", 6);
	seal(bytes, sizeof(bytes) - 3);
	CHECK_INT(chunk_decode(codec, bytes, sizeof(bytes) - 3, NULL, &rows), NW_OK);
	CHECK(rows.is.n_columns == 2 && rows.is.value[0][0] == 0 && rows.is.value[1][0] == 0);
}

/* --- chunks of earlier days --- */

/* Written once, kept for ever: what they decode to must not change with compilers, options or
 * versions. A byte of the fuzzer's stands in front. */
static const struct {
	const char *name;
	uint64_t hash;
} kept[] = {
	{ "kinds-hot", UINT64_C(0x10c7368b1cc37936) },
	{ "kinds-compact", UINT64_C(0x6f1ca8bc3da6d8b9) },
	{ "related-hot", UINT64_C(0x10b82d9b995f050f) },
	{ "related-compact", UINT64_C(0x1aa6a239b3023797) },
	{ "attached-hot", UINT64_C(0x6ed52e5909b88df6) },
	{ "attached-compact", UINT64_C(0x2a6dfad440cc2572) },
};

static uint64_t
hash_rows(const struct chunk_columns *is)
{
	uint64_t h = hash_bytes((const uint8_t *)is->t_wall_ns, is->n_rows * sizeof(int64_t));
	uint32_t c;

	for (c = 0; c < is->n_columns; c++)
		h = h * 31 + hash_bytes((const uint8_t *)is->value[c], is->n_rows * sizeof(double));
	if (is->attachment_end != NULL) {
		h = h * 31 +
		    hash_bytes((const uint8_t *)is->attachment_end, is->n_rows * sizeof(uint32_t));
		h = h * 31 + hash_bytes(is->attachment, is->attachment_end[is->n_rows - 1]);
	}
	return h;
}

static void
test_kept(void)
{
	static uint8_t bytes[4096];
	char path[128];
	size_t i, len;
	uint64_t hash;
	FILE *f;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		snprintf(path, sizeof(path), "tests/corpus/chunk/%s", kept[i].name);
		f = fopen(path, "rb");
		CHECK(f != NULL);
		if (f == NULL)
			continue;
		len = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
		CHECK_INT(chunk_decode(codec, bytes + 1, len - 1, NULL, &rows), NW_OK);
		hash = hash_rows(&rows.is);
		if (hash != kept[i].hash)
			fprintf(stderr, "%s: %#llx\n", kept[i].name, (unsigned long long)hash);
		CHECK(hash == kept[i].hash);
	}
}

/* --- memory --- */

#if OWN_MALLOC
static void
test_no_memory(void)
{
	struct chunk_columns in = make_columns(600, 6, true);
	struct chunk_codec *fresh;
	struct chunk_rows back = { 0 };
	struct chunk_buf out = { 0 };
	int rc = NW_ENOMEM, effort;
	long n;

	memset(attached, 'x', sizeof(attached));
	for (effort = CHUNK_HOT; effort <= CHUNK_COMPACT; effort++) {
		for (n = 0; n < 200; n++) {
			mallocs_left = n;
			if ((fresh = chunk_codec_new()) != NULL)
				rc = chunk_encode(fresh, &in, (enum chunk_effort)effort, &out);
			if (rc == NW_OK)
				rc = chunk_decode(fresh, out.bytes, out.len, NULL, &back);
			mallocs_left = -1;
			if (rc == NW_OK)
				break;
			CHECK_INT(rc, NW_ENOMEM);
			/* whatever has failed, the next call starts clean */
			if (fresh != NULL) {
				CHECK_INT(chunk_encode(fresh, &in, (enum chunk_effort)effort, &out),
				    NW_OK);
				CHECK_INT(
				    chunk_decode(fresh, out.bytes, out.len, NULL, &back), NW_OK);
				CHECK(same_columns(&in, &back.is));
			}
			chunk_codec_free(fresh);
			chunk_rows_clear(&back);
			chunk_buf_clear(&out);
		}
		CHECK(n > 10 && rc == NW_OK && same_columns(&in, &back.is));
		chunk_codec_free(fresh);
		chunk_rows_clear(&back);
		chunk_buf_clear(&out);
		rc = NW_ENOMEM;
	}
}
#endif

int
main(int argc, char **argv)
{
	int c;

	random_start(argc, argv);
	for (c = 0; c < COLUMNS_MAX; c++)
		columns[c] = malloc(ROWS_MAX * sizeof(double));
	codec = chunk_codec_new();
	test_shapes();
	test_random_bits();
	test_same_bytes();
	test_kinds();
	test_learning();
	test_family();
	test_want();
	test_limits();
	test_heads();
	test_rot();
	test_malice();
	test_circle();
	test_kept();
#if OWN_MALLOC
	test_no_memory();
#endif
	chunk_codec_free(codec);
	chunk_buf_clear(&buf);
	chunk_rows_clear(&rows);
	for (c = 0; c < COLUMNS_MAX; c++)
		free(columns[c]);
	return check_done("chunk");
}
