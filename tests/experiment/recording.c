/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recording of a busy machine. dtn.nwp.zst unpacks to "NWPERF1\n", the number of groups
 * (uint32) and 0; each group is uint32 rows, uint32 columns, int64 times, and columns of doubles,
 * all little endian. series.csv has a line for each column: series,group,column,group_name,name,
 * unit,kind,constant.
 */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "tests/experiment/experiment.h"

enum { CHUNKS = 6, ROWS_MIN = 60, SERIES_MAX = 4096, FILE_MAX = 1 << 29 };
static const char magic[8] = "NWPERF1\n";

struct series {
	char group[48], name[64];
	bool is_counter;
};

/* A cursor over bytes; ok turns false at the end. */
struct cursor {
	const unsigned char *at;
	size_t left;
	bool ok;
};

static const unsigned char *
take(struct cursor *c, size_t n)
{
	const unsigned char *at = c->at;

	if (!c->ok || n > c->left) {
		c->ok = false;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return at;
}

static uint32_t
take_u32(struct cursor *c)
{
	const unsigned char *p = take(c, 4);
	uint32_t v = 0;

	if (p != NULL)
		memcpy(&v, p, sizeof(v));
	return v;
}

/* --- files --- */
static unsigned char *
file_read(const char *dir, const char *name, size_t *len)
{
	unsigned char *bytes = NULL;
	char path[512];
	long size = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if ((f = fopen(path, "rb")) == NULL) {
		perror(path);
		return NULL;
	}
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && size < FILE_MAX &&
	    fseek(f, 0, SEEK_SET) == 0)
		bytes = calloc((size_t)size + 1, 1);
	*len = size >= 0 ? (size_t)size : 0;
	if (bytes != NULL && fread(bytes, 1, *len, f) != *len) {
		free(bytes);
		bytes = NULL;
	}
	fclose(f);
	return bytes;
}

static unsigned char *
recording_unpack(const char *dir, size_t *len)
{
	size_t packed_len;
	unsigned char *packed = file_read(dir, "dtn.nwp.zst", &packed_len), *out = NULL;
	unsigned long long size = packed != NULL ? ZSTD_getFrameContentSize(packed, packed_len) : 0;
	ZSTD_DCtx *z = ZSTD_createDCtx();

	if (packed == NULL || z == NULL)
		goto out;
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size > FILE_MAX)
		size = FILE_MAX;
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, 27);
	if ((out = malloc(size)) != NULL)
		*len = ZSTD_decompressDCtx(z, out, size, packed, packed_len);
	if (out != NULL && ZSTD_isError(*len)) {
		fprintf(stderr, "dtn.nwp.zst: %s\n", ZSTD_getErrorName(*len));
		free(out);
		out = NULL;
	}
out:
	ZSTD_freeDCtx(z);
	free(packed);
	return out;
}

/* Returns the number of series. */
static size_t
series_read(const char *dir, struct series *s)
{
	size_t len, n = 0;
	char *text = (char *)file_read(dir, "series.csv", &len), *line, *rest = text;
	char kind[16];

	while (text != NULL && n < SERIES_MAX && (line = strsep(&rest, "\n")) != NULL) {
		if (sscanf(line, "%*u,%*u,%*u,%47[^,],%63[^,],%*[^,],%15[^,]", s[n].group,
			s[n].name, kind) != 3)
			continue;
		s[n++].is_counter = strcmp(kind, "counter") == 0;
	}
	free(text);
	return n;
}

/* --- the table --- */
struct group {
	size_t n_rows, n_columns;
	const unsigned char *time, *values; /* not aligned */
};

static double
value_of(const struct group *g, size_t column, size_t row)
{
	double v;

	memcpy(&v, g->values + 8 * (column * g->n_rows + row), sizeof(v));
	return v;
}

static int64_t
time_of(const struct group *g, size_t row)
{
	int64_t t;

	memcpy(&t, g->time + 8 * row, sizeof(t));
	return t;
}

static bool
take_group(struct cursor *c, struct group *g)
{
	g->n_rows = take_u32(c);
	g->n_columns = take_u32(c);
	g->time = take(c, 8 * g->n_rows);
	g->values = take(c, 8 * g->n_rows * g->n_columns);
	return c->ok;
}

static size_t
row_at(int64_t t, int64_t first_ns)
{
	return t >= first_ns ? (size_t)((t - first_ns) / 1000000000) : SIZE_MAX;
}

/* Puts a column on the grid of seconds: the last value of each second, or of the seconds before;
 * counters as differences. */
static void
column_fill(struct trial_data *d, size_t j, const struct group *g, size_t column, bool is_counter,
    int64_t first_ns)
{
	double *x = data_column(d, j), before;

	for (size_t i = 0; i < d->n_rows; i++)
		x[i] = NAN;
	for (size_t i = 0; i < g->n_rows; i++)
		if (row_at(time_of(g, i), first_ns) < d->n_rows)
			x[row_at(time_of(g, i), first_ns)] = value_of(g, column, i);
	for (size_t i = 1; i < d->n_rows; i++)
		if (isnan(x[i]))
			x[i] = x[i - 1];
	if (isnan(x[0]))
		x[0] = value_of(g, column, 0);
	before = x[0];
	for (size_t i = 0; is_counter && i < d->n_rows; i++) {
		double now = x[i];

		x[i] = now - before;
		before = now;
	}
}

/* Adds what a flow received in each second. */
static void
response_add(struct trial_data *d, const struct group *g, int64_t first_ns)
{
	double *y = data_column(d, d->n_columns);

	for (size_t i = 0; i < g->n_rows; i++)
		if (row_at(time_of(g, i), first_ns) < d->n_rows)
			y[row_at(time_of(g, i), first_ns)] += value_of(g, 0, i);
}

static bool
is_usual(const char *name)
{
	static const char *const usual[] = { "cpu.user", "cpu.system", "cpu.idle", "cpu.iowait",
		"load1", "MemFree", "pgpgin", "pgpgout", "vda.sectors_read", "vda.sectors_written",
		"lo.rx_bytes", "eth0.rx_bytes" };

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (strcmp(name, usual[i]) == 0)
			return true;
	return false;
}

static bool
is_host(const struct series *s)
{
	return strncmp(s->group, "host.", 5) == 0;
}

static bool
table_fill(struct cursor *c, const struct series *s, size_t n_series, struct trial_data *out)
{
	uint32_t n_groups = take_u32(c);
	size_t at = 0, n_host = 0, j = 0;
	int64_t first_ns = 0;

	(void)take_u32(c);
	for (size_t i = 0; i < n_series; i++)
		n_host += is_host(&s[i]);
	for (uint32_t k = 0; k < n_groups; k++) {
		struct group g;

		if (!take_group(c, &g) || g.n_rows < (k == 0 ? ROWS_MIN : 1) ||
		    at + g.n_columns > n_series)
			return false;
		if (k == 0) {
			first_ns = time_of(&g, 0);
			*out = data_new("the recording of a busy machine", n_host,
			    g.n_rows / CHUNKS * CHUNKS, CHUNKS);
		}
		for (size_t m = 0; m < g.n_columns && is_host(&s[at]); m++, j++) {
			column_fill(out, j, &g, m, s[at + m].is_counter, first_ns);
			out->is_main[j] = is_usual(s[at + m].name);
		}
		if (strstr(s[at].group, ".net_read") != NULL)
			response_add(out, &g, first_ns);
		at += g.n_columns;
	}
	return j == n_host;
}

bool
data_recording(const char *dir, struct trial_data *out)
{
	struct series *s = calloc(SERIES_MAX, sizeof(*s));
	size_t len = 0, n_series = s != NULL ? series_read(dir, s) : 0;
	unsigned char *bytes = n_series > 0 ? recording_unpack(dir, &len) : NULL;
	struct cursor c = { bytes, len, bytes != NULL };
	const unsigned char *head = take(&c, sizeof(magic));
	bool good;

	memset(out, 0, sizeof(*out));
	good = head != NULL && memcmp(head, magic, sizeof(magic)) == 0 &&
	    table_fill(&c, s, n_series, out);
	if (!good) {
		fprintf(stderr, "%s: no recording\n", dir);
		data_clear(out);
	} else {
		free(out->is_driver);
		out->is_driver = NULL;
	}
	free(bytes);
	free(s);
	return good;
}
