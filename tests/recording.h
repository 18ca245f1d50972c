/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings for benchmarks: a .nwp file, possibly .zst: "NWPERF1\n", uint32 groups, uint32 0, and
 * per group uint32 rows, uint32 columns, int64 t_wall_ns[rows], double column[columns][rows],
 * little endian. A made-up set takes the place of a recording.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "narrows/err.h"
#include "narrows/store.h"

enum { GROUPS_MAX = 4096 };
#define SECOND INT64_C(1000000000)

struct group {
	uint32_t n_rows, n_columns;
	const int64_t *t;
	const double *value;
};
static struct group groups[GROUPS_MAX];
static uint32_t n_groups;

static inline _Noreturn void
die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static inline void
need(int rc, const char *what)
{
	if (rc != NW_OK) {
		fprintf(stderr, "bench: %s: %s\n", what, nw_strerror(rc));
		exit(1);
	}
}

static inline uint8_t *
file_read(const char *name, size_t *len)
{
	FILE *f = fopen(name, "rb");
	struct stat sb;
	uint8_t *p;

	if (f == NULL || fstat(fileno(f), &sb) == -1)
		die(strerror(errno));
	*len = (size_t)sb.st_size;
	if ((p = malloc(*len + 1)) == NULL || fread(p, 1, *len, f) != *len)
		die("cannot read the recording");
	fclose(f);
	return p;
}

static inline uint8_t *
unpack(uint8_t *packed, size_t *len)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, *len);
	ZSTD_DCtx *d = ZSTD_createDCtx();
	uint8_t *p;

	if (size > (1ull << 36) || d == NULL || (p = malloc(size)) == NULL)
		die("the recording does not say its size");
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, 31);
	*len = ZSTD_decompressDCtx(d, p, size, packed, *len);
	if (ZSTD_isError(*len))
		die(ZSTD_getErrorName(*len));
	ZSTD_freeDCtx(d);
	free(packed);
	return p;
}

static inline void
recording_load(const char *name)
{
	size_t len, at = 16, bytes;
	uint8_t *p = file_read(name, &len);
	uint32_t g, head[2];

	if (len > 4 && memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0)
		p = unpack(p, &len);
	if (len < 16 || memcmp(p, "NWPERF1\n", 8) != 0)
		die("not a recording");
	memcpy(&n_groups, p + 8, 4);
	for (g = 0; g < n_groups && g < GROUPS_MAX; g++) {
		if (len - at < 8)
			die("the recording is cut short");
		memcpy(head, p + at, 8);
		bytes = 8 * (size_t)head[0] * (1 + (size_t)head[1]);
		if (len - at - 8 < bytes)
			die("the recording is cut short");
		groups[g] = (struct group){ head[0], head[1], (const void *)(p + at + 8),
			(const double *)(const void *)(p + at + 8 + 8 * (size_t)head[0]) };
		at += 8 + bytes;
	}
}

static inline double
recording_noise(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (double)(*s >> 11) / (double)(1ull << 53);
}

/* Moved bytes, counters, constants and noisy durations at 1 Hz with jitter: the shape of real data,
 * not its difficulty. */
static inline void
recording_invent(void)
{
	const uint32_t n_rows = 1600, n_columns = 16;
	uint64_t seed = 88172645463325252u;
	uint32_t g, c, r;

	n_groups = 48;
	for (g = 0; g < n_groups; g++) {
		int64_t *t = malloc(n_rows * sizeof(*t));
		double *v = malloc((size_t)n_rows * n_columns * sizeof(*v)),
		       counter = 1e6 * recording_noise(&seed);

		for (r = 0; r < n_rows; r++)
			t[r] = 1700000000 * SECOND + r * SECOND +
			    (int64_t)(recording_noise(&seed) * 2e6) + g * 1000;
		for (c = 0; c < n_columns; c++)
			for (r = 0; r < n_rows; r++)
				v[(size_t)c * n_rows + r] = c == 0
				    ? 65536. * (1 + (int)(16 * recording_noise(&seed))) /* moved */
				    : c < 5 ? (double)(c * 4096)
				    : c < 10
				    ? (counter += (double)(int)(recording_noise(&seed) * 300))
				    : recording_noise(&seed) * 1e-3;
		groups[g] = (struct group){ n_rows, n_columns, t, v };
	}
}

/* Host, session, metadata and layouts of all groups, numbered from 1. */
static inline void
recording_describe(struct nw_batch *b, const char *subject_json)
{
	static char name[GROUPS_MAX][16];
	const char *fields[GROUPS_MAX];
	uint32_t g, c;

	for (c = 0; c < GROUPS_MAX; c++) {
		snprintf(name[c], sizeof(name[c]), "field_%u", c);
		fields[c] = name[c];
	}
	need(nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "bench" }), "host");
	need(nw_batch_session(b, &(struct nw_session_rec){ .id = 1, .opened_wall_ns = 1 }),
	    "session");
	for (g = 0; g < n_groups; g++) {
		need(nw_batch_meta(b,
			 &(struct nw_meta_rec){ .id = g + 1,
			     .session_id = 1,
			     .host_id = 1,
			     .mid = "m",
			     .event_type = "bench",
			     .subject_json = subject_json,
			     .params_json = "{}" }),
		    "metadata");
		need(nw_batch_layout(
			 b, &(struct nw_layout_rec){ g + 1, g + 1, groups[g].n_columns, fields }),
		    "layout");
	}
}

/* The recording of that name, or of the environment's BENCH_RECORDING, or a made-up one. */
static inline void
recording_open(const char *name_or_null)
{
	const char *name = name_or_null != NULL ? name_or_null : getenv("BENCH_RECORDING");

	if (name != NULL && *name != '\0')
		recording_load(name);
	else
		recording_invent();
}

#endif
