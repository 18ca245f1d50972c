/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes per sample and samples per second of the chunk codec, beside memcpy in the same run. usage:
 * bench_chunk [RECORDING [rows per chunk]] or BENCH_RECORDING=file A recording is "NWPERF1\n", u32
 * groups, u32 0, then per group u32 rows, u32 columns, i64 times[rows] and f64 column[rows] for
 * each column; little endian, plain or one zstd frame. Without one, caliper summaries and host
 * counters of the same shape are generated. Every chunk is decoded and compared with what went
 * in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zstd.h>

#include "store/codec/chunk.h"
#include "store/codec/codec_bytes.h"

struct group {
	uint32_t n_rows, n_columns;
	int64_t *t;
	double **column;
};

struct tally {
	double samples, bytes, encode_s, decode_s;
};

static double
now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static _Noreturn void
die(const char *what)
{
	fprintf(stderr, "bench_chunk: %s\n", what);
	exit(1);
}

static void *
need(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);

	if (p == NULL)
		die("out of memory");
	return p;
}

static void
group_init(struct group *g, uint32_t n_rows, uint32_t n_columns)
{
	uint32_t c;

	g->n_rows = n_rows;
	g->n_columns = n_columns;
	g->t = need(n_rows * sizeof(*g->t));
	g->column = need(n_columns * sizeof(*g->column));
	for (c = 0; c < n_columns; c++)
		g->column[c] = need(n_rows * sizeof(double));
}

/* --- the recording --- */

static uint8_t *
read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0)
		die("cannot open the recording");
	rewind(f);
	bytes = need((size_t)size);
	if ((*len = fread(bytes, 1, (size_t)size, f)) != (size_t)size)
		die("cannot read the recording");
	fclose(f);
	return bytes;
}

static uint8_t *
unpack(uint8_t *packed, size_t *len)
{
	ZSTD_DCtx *dctx = ZSTD_createDCtx();
	ZSTD_inBuffer in = { packed, *len, 0 };
	ZSTD_outBuffer out = { need((size_t)1 << 26), (size_t)1 << 26, 0 };
	size_t rc;

	ZSTD_DCtx_setParameter(dctx, ZSTD_d_windowLogMax, 27);
	while ((rc = ZSTD_decompressStream(dctx, &out, &in)) != 0) {
		if (ZSTD_isError(rc) || (in.pos == in.size && out.pos < out.size))
			die("the recording does not unpack");
		if (out.pos == out.size) {
			out.size *= 2;
			if ((out.dst = realloc(out.dst, out.size)) == NULL)
				die("out of memory");
		}
	}
	ZSTD_freeDCtx(dctx);
	free(packed);
	*len = out.pos;
	return out.dst;
}

static struct group *
load_recording(const char *path, uint32_t *n_groups)
{
	struct byte_reader in;
	struct group *groups;
	const uint8_t *p;
	uint8_t *bytes;
	uint32_t i, c, rows, columns;
	size_t len;

	bytes = read_file(path, &len);
	if (len > 4 && load_le32(bytes) == 0xfd2fb528)
		bytes = unpack(bytes, &len);
	in = (struct byte_reader){ bytes, bytes + len, false };
	if ((p = read_bytes(&in, 16)) == NULL || memcmp(p, "NWPERF1\n", 8) != 0)
		die("not a recording");
	*n_groups = load_le32(p + 8);
	groups = need(*n_groups * sizeof(*groups));
	for (i = 0; i < *n_groups; i++) {
		if ((p = read_bytes(&in, 8)) == NULL)
			die("the recording is cut short");
		rows = load_le32(p);
		columns = load_le32(p + 4);
		group_init(&groups[i], rows, columns);
		if ((p = read_bytes(&in, (size_t)rows * 8 * ((size_t)columns + 1))) == NULL)
			die("the recording is cut short");
		memcpy(groups[i].t, p, (size_t)rows * 8);
		for (c = 0; c < columns; c++)
			memcpy(
			    groups[i].column[c], p + (size_t)rows * 8 * (c + 1), (size_t)rows * 8);
	}
	free(bytes);
	return groups;
}

/* --- something like it --- */

static uint64_t seed = 1;

static double
uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) * 0x1p-53;
}

static double
lognormal(double median, double sigma)
{
	return median *
	    exp(sigma * sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform()));
}

struct moments {
	double n, sum, least, most, mean, m2;
};

static void
moments_add(struct moments *m, double v)
{
	double d = v - m->mean;

	m->least = m->n == 0 || v < m->least ? v : m->least;
	m->most = m->n == 0 || v > m->most ? v : m->most;
	m->n++;
	m->sum += v;
	m->mean += d / m->n;
	m->m2 += d * (v - m->mean);
}

static double
moments_sd(const struct moments *m)
{
	return m->n > 1 ? sqrt(m->m2 / (m->n - 1)) : 0;
}

/* A second of operations on a flow, as a caliper reports: 16 fields. */
static void
generate_interval(double *field, double block_bytes, double ops, double op_ns, double gap_ns)
{
	struct moments bytes = { 0 }, rate = { 0 }, gap = { 0 };
	double busy_s = 0, took_ns, n = floor(1 + ops * (0.8 + 0.4 * uniform()));
	int i;

	for (i = 0; i < n; i++) {
		took_ns = floor(lognormal(op_ns, 0.3));
		moments_add(&bytes, block_bytes);
		moments_add(&rate, block_bytes / (took_ns * 1e-9));
		moments_add(&gap, floor(lognormal(gap_ns, 0.1)) * 1e-9);
		busy_s += took_ns * 1e-9;
	}
	memcpy(field,
	    (double[16]){ bytes.sum, bytes.least, bytes.most, bytes.sum / bytes.n,
		moments_sd(&bytes), rate.least, rate.most, rate.mean, moments_sd(&rate), gap.sum,
		gap.least, gap.most, gap.sum / gap.n, moments_sd(&gap), n, busy_s },
	    16 * sizeof(*field));
}

static void
generate_flow(struct group *g, uint32_t n_rows, int64_t t)
{
	double field[16], block = 0, ops = 0, op_ns = 0;
	uint32_t row, c;

	group_init(g, n_rows, 16);
	for (row = 0; row < n_rows; row++) {
		if (row % 60 == 0) {
			block = 4096 * (double)(1 << (int)(7 * uniform()));
			ops = 4.5e6 * (0.05 + uniform()) / block;
			op_ns = 1000 + block / 4;
		}
		generate_interval(field, block, ops, op_ns, 1e9 / ops);
		for (c = 0; c < 16; c++)
			g->column[c][row] = field[c];
		g->t[row] = t + (int64_t)row * 1000000000 + (int64_t)lognormal(20000, 1);
	}
}

/* Six in ten never move, the others are counters with bursts. */
static void
generate_host(struct group *g, uint32_t n_rows, uint32_t n_columns, int64_t t)
{
	uint32_t row, c;
	double at, speed;

	group_init(g, n_rows, n_columns);
	for (row = 0; row < n_rows; row++)
		g->t[row] = t + (int64_t)row * 1000000000 + (int64_t)lognormal(60000, 1);
	for (c = 0; c < n_columns; c++) {
		at = floor(1e6 * uniform());
		speed = uniform() < 0.6 ? 0 : pow(10, 4 * uniform() - 1);
		for (row = 0; row < n_rows; row++) {
			at += speed > 0 ? floor(lognormal(speed, 1)) : 0;
			g->column[c][row] = at;
		}
	}
}

static struct group *
generate(uint32_t *n_groups)
{
	struct group *groups = need(40 * sizeof(*groups));
	uint32_t i;

	for (i = 0; i < 32; i++)
		generate_flow(&groups[i], 1500, INT64_C(1700000000000000000) + i * 1234567);
	for (; i < 40; i++)
		generate_host(&groups[i], 1600, 60, INT64_C(1700000000000000000) + i * 7654321);
	*n_groups = 40;
	return groups;
}

/* --- measuring --- */

static bool
same(const struct chunk_columns *a, const struct chunk_columns *b)
{
	uint32_t c;

	if (a->n_rows != b->n_rows || a->n_columns != b->n_columns ||
	    memcmp(a->t_wall_ns, b->t_wall_ns, a->n_rows * sizeof(*a->t_wall_ns)) != 0)
		return false;
	for (c = 0; c < a->n_columns; c++)
		if (memcmp(a->value[c], b->value[c], a->n_rows * sizeof(double)) != 0)
			return false;
	return true;
}

static void
bench_rows(struct chunk_codec *codec, const struct chunk_columns *in, enum chunk_effort effort,
    struct chunk_buf *buf, struct chunk_rows *rows, struct tally *tally)
{
	double t0 = now_s(), t1, t2;

	if (chunk_encode(codec, in, effort, buf) != NW_OK)
		die("cannot encode");
	t1 = now_s();
	if (chunk_decode(codec, buf->bytes, buf->len, NULL, rows) != NW_OK)
		die("cannot decode");
	t2 = now_s();
	if (!same(in, &rows->is))
		die("decoding gives something else");
	tally->samples += (double)in->n_rows * in->n_columns;
	tally->bytes += (double)buf->len;
	tally->encode_s += t1 - t0;
	tally->decode_s += t2 - t1;
}

/* Hot, then compact, as the store does it; with a kind, what compacting a chunk has found helps
 * with the next. */
static void
bench_group(struct chunk_codec *codec, const struct group *g, uint64_t kind, uint32_t chunk_rows,
    struct chunk_buf *buf, struct chunk_rows *rows, struct tally tally[2])
{
	const double **value = need(g->n_columns * sizeof(*value));
	struct chunk_columns in = { .value = value, .n_columns = g->n_columns, .kind = kind };
	uint32_t row, c;

	for (row = 0; row < g->n_rows; row += chunk_rows) {
		in.n_rows = g->n_rows - row < chunk_rows ? g->n_rows - row : chunk_rows;
		in.t_wall_ns = g->t + row;
		for (c = 0; c < g->n_columns; c++)
			value[c] = g->column[c] + row;
		bench_rows(codec, &in, CHUNK_HOT, buf, rows, &tally[CHUNK_HOT]);
		bench_rows(codec, &in, CHUNK_COMPACT, buf, rows, &tally[CHUNK_COMPACT]);
	}
	free(value);
}

static double
memcpy_seconds(const struct group *groups, uint32_t n_groups)
{
	static double to[65536];
	double t0 = now_s();
	uint32_t i, c;

	for (i = 0; i < n_groups; i++) {
		for (c = 0; c < groups[i].n_columns; c++) {
			memcpy(to, groups[i].column[c],
			    (groups[i].n_rows < 65536 ? groups[i].n_rows : 65536) * sizeof(double));
			__asm__ volatile("" : : "r"(to) : "memory");
		}
	}
	return now_s() - t0;
}

static void
bench_round(const struct group *groups, uint32_t n_groups, uint32_t chunk_rows, bool known)
{
	static const char *const name[] = { "hot", "compact" };
	struct chunk_codec *codec = chunk_codec_new();
	struct tally tally[2];
	struct chunk_rows rows = { 0 };
	struct chunk_buf buf = { 0 };
	double copy_s;
	uint32_t i;

	if (codec == NULL)
		die("out of memory");
	memset(tally, 0, sizeof(tally));
	for (i = 0; i < n_groups; i++)
		bench_group(codec, &groups[i], known ? i + 1 : 0, chunk_rows, &buf, &rows, tally);
	copy_s = memcpy_seconds(groups, n_groups);
	for (i = 0; i < 2; i++)
		printf("%-8s%-7s %.3f bytes/sample  encode %5.1f M samples/s (%.1f of memcpy's "
		       "time)  decode %5.1f (%.1f)\n",
		    name[i], known ? "known" : "new", tally[i].bytes / tally[i].samples,
		    tally[i].samples / tally[i].encode_s * 1e-6, tally[i].encode_s / copy_s,
		    tally[i].samples / tally[i].decode_s * 1e-6, tally[i].decode_s / copy_s);
	chunk_rows_clear(&rows);
	chunk_buf_clear(&buf);
	chunk_codec_free(codec);
}

int
main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : getenv("BENCH_RECORDING");
	uint32_t chunk_rows = argc > 2 ? (uint32_t)atoi(argv[2]) : 1024, n_groups, i, c;
	struct group *groups;

	if (chunk_rows == 0 || chunk_rows > CHUNK_ROWS_MAX)
		die("bad arguments");
	groups = path != NULL ? load_recording(path, &n_groups) : generate(&n_groups);
	printf("%s, chunks of %u rows; \"known\" is with what earlier chunks of the group have "
	       "taught\n",
	    path != NULL ? path : "generated data", chunk_rows);
	for (i = 0; i < 6; i++)
		bench_round(groups, n_groups, chunk_rows, i >= 3);
	for (i = 0; i < n_groups; i++) {
		for (c = 0; c < groups[i].n_columns; c++)
			free(groups[i].column[c]);
		free(groups[i].column);
		free(groups[i].t);
	}
	free(groups);
	return 0;
}
