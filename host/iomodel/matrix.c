/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/matrix.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/iomodel/durations.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

const uint64_t matrix_sizes[] = { 1, 4, 16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
	131072, 262144, 524288, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20 };
static const char *const layouts[] = { "off0", "seq", "rnd", "rnd8388608", "stride8388608,8388608",
	"reverse0" };
/* Layouts in memory; the first goes with all layouts of the file. */
static const char *const memories[] = { "off0", "rnd", "seq", "reverse0" };
static const enum cell_state states[] = { STATE_DISCARD, STATE_CACHED, STATE_UNCACHED };
enum {
	N_SIZES = sizeof(matrix_sizes) / sizeof(matrix_sizes[0]),
	N_LAYOUTS = sizeof(layouts) / sizeof(layouts[0]),
	N_MEMORIES = sizeof(memories) / sizeof(memories[0]),
	N_STATES = sizeof(states) / sizeof(states[0]),
	FOLDER_BYTES = 480,
	QUICK_OPS = 1000
};
const size_t matrix_n_sizes = N_SIZES;
static const double quick_seconds = 1, cell_seconds = 30;

enum { MEMORY_OFF0, MEMORY_RND, MEMORY_SEQ, MEMORY_REVERSE };

struct cell_at {
	size_t size, layout, memory, state;
	unsigned repeat;
	bool write;
};

/* Which of the combinations make sense: nothing is anywhere in /dev/null, and a write is never
 * uncached. */
static bool
cell_is_wanted(const struct cell_at *p, bool quick)
{
	bool discard = states[p->state] == STATE_DISCARD,
	     uncached = states[p->state] == STATE_UNCACHED;

	if ((discard && p->layout != 0) || (uncached && p->write))
		return false;
	if (p->memory == MEMORY_RND && (p->layout != 0 || uncached))
		return false;
	if (p->memory == MEMORY_SEQ && (quick || discard))
		return false;
	if (p->memory == MEMORY_REVERSE && (quick || !discard))
		return false;
	return !quick || p->layout == 0 || p->layout == 1 || p->layout == 2;
}

static bool
cell_next(struct cell_at *p, unsigned repeats)
{
	if (++p->size < N_SIZES)
		return true;
	p->size = 0;
	if (++p->layout < N_LAYOUTS)
		return true;
	p->layout = 0;
	if (++p->memory < N_MEMORIES)
		return true;
	p->memory = 0;
	if ((p->write = !p->write))
		return true;
	if (++p->state < N_STATES)
		return true;
	p->state = 0;
	return ++p->repeat < repeats;
}

static void
cell_of(const struct cell *like, const struct matrix_opts *o, const struct cell_at *p,
    struct cell *out, char folder[FOLDER_BYTES])
{
	snprintf(folder, FOLDER_BYTES, "%s/%s-%s-%s%s%s-%" PRIu64 "-%u", like->folder,
	    state_name(states[p->state]), p->write ? "write" : "read",
	    p->memory == 0 ? "" : memories[p->memory], p->memory == 0 ? "" : "+",
	    layouts[p->layout], matrix_sizes[p->size], p->repeat + 1);
	*out = *like;
	out->folder = folder;
	out->write = p->write;
	out->state = states[p->state];
	out->access_bytes = matrix_sizes[p->size];
	(void)layout_parse(layouts[p->layout], &out->file_layout);
	if (p->memory != 0)
		(void)layout_parse(memories[p->memory], &out->memory_layout);
	out->seed = like->seed + p->repeat;
	if (o->quick && out->n_ops > QUICK_OPS)
		out->n_ops = QUICK_OPS;
	if (out->seconds <= 0)
		out->seconds = o->quick ? quick_seconds : cell_seconds;
}

static size_t
cells_count(const struct matrix_opts *o)
{
	struct cell_at p = { 0 };
	size_t n = 0;

	do
		n += cell_is_wanted(&p, o->quick);
	while (cell_next(&p, o->repeats));
	return n;
}

int
matrix_run(const struct cell *like, const struct matrix_opts *o)
{
	size_t n = cells_count(o), i = 0, ran = 0;
	struct cell_at p = { 0 };
	char folder[FOLDER_BYTES], why[CELL_WHY_BYTES];
	int64_t begin = nw_mono_ns();
	struct cell_result r;
	struct cell c;

	if (mkdir(like->folder, 0755) != 0 && errno != EEXIST) {
		fprintf(stderr, "iomodel: %s: %s\n", like->folder, strerror(errno));
		return 1;
	}
	do {
		if (!cell_is_wanted(&p, o->quick))
			continue;
		i++;
		cell_of(like, o, &p, &c, folder);
		if (cell_is_done(&c))
			continue;
		if (cell_run(&c, &r, why) < 0) {
			fprintf(stderr, "iomodel: %s: %s\n", folder, why);
			return 1;
		}
		ran++;
		fprintf(stderr, "iomodel: %zu of %zu cells, %.0f s, %s: %.4g MB/s\n", i, n,
		    (double)(nw_mono_ns() - begin) / 1e9, strrchr(folder, '/') + 1,
		    (double)r.bytes / r.moving_s / 1e6);
	} while (cell_next(&p, o->repeats));
	fprintf(stderr, "iomodel: %zu cells ran, %zu were done before\n", ran, n - ran);
	return 0;
}

/* --- the table --- */

struct row {
	char state[16], direction[8], layout[64];
	uint64_t size;
	double mb_per_s;
	unsigned n;
};

static bool
name_split(const char *name, struct row *r)
{
	unsigned repeat;

	memset(r, 0, sizeof(*r));
	return sscanf(name, "%15[a-z]-%7[a-z]-%63[a-z0-9,+]-%" SCNu64 "-%u", r->state, r->direction,
		   r->layout, &r->size, &repeat) == 5;
}

/* Throughput as the paper counts it: size over the mean duration, in 10^6 bytes a second. */
static double
throughput_read(const char *folder, const char *name, uint64_t size)
{
	struct durations *d = xcalloc(1, sizeof(*d));
	char path[2 * FOLDER_BYTES];
	double mb_per_s = NAN;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (durations_add(d, path, KEEP_ALL) == NW_OK && d->n > 0 && d->sum_s > 0)
		mb_per_s = (double)size / (d->sum_s / (double)d->n) / 1e6;
	free(d);
	return mb_per_s;
}

static int
row_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = strcmp(x->state, y->state);

	if (c == 0)
		c = strcmp(x->direction, y->direction);
	if (c == 0)
		c = strcmp(x->layout, y->layout);
	return c != 0 ? c : (x->size > y->size) - (x->size < y->size);
}

/* Adds a repeat of a cell to its row. */
static bool
row_add(struct row **rows, size_t *n, const struct row *r)
{
	struct row *more;
	size_t i;

	for (i = 0; i < *n; i++)
		if (row_order(&(*rows)[i], r) == 0) {
			(*rows)[i].mb_per_s += r->mb_per_s;
			(*rows)[i].n++;
			return true;
		}
	if ((more = realloc(*rows, (*n + 1) * sizeof(**rows))) == NULL)
		return false;
	*rows = more;
	more[*n] = *r;
	more[(*n)++].n = 1;
	return true;
}

static void
rows_print(const struct row *rows, size_t n, bool csv)
{
	const struct row *before = NULL;
	size_t i;

	if (csv)
		puts("state,direction,layout,size,mb_per_s,repeats");
	for (i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		if (csv) {
			printf("%s,%s,\"%s\",%" PRIu64 ",%.6g,%u\n", r->state, r->direction,
			    r->layout, r->size, r->mb_per_s / r->n, r->n);
			continue;
		}
		if (before == NULL || strcmp(before->state, r->state) != 0 ||
		    strcmp(before->direction, r->direction) != 0 ||
		    strcmp(before->layout, r->layout) != 0)
			printf("%s %s %s\n%12s %12s %8s\n", r->state, r->direction, r->layout,
			    "bytes", "MB/s", "repeats");
		printf("%12" PRIu64 " %12.4g %8u\n", r->size, r->mb_per_s / r->n, r->n);
		before = r;
	}
}

int
matrix_table(const char *folder, bool csv)
{
	DIR *d = opendir(folder);
	struct row *rows = NULL, r;
	struct dirent *e;
	size_t n = 0;

	if (d == NULL) {
		fprintf(stderr, "iomodel: %s: %s\n", folder, strerror(errno));
		return 1;
	}
	while ((e = readdir(d)) != NULL) {
		if (!name_split(e->d_name, &r))
			continue;
		r.mb_per_s = throughput_read(folder, e->d_name, r.size);
		if (!isnan(r.mb_per_s) && !row_add(&rows, &n, &r))
			break;
	}
	closedir(d);
	qsort(rows, n, sizeof(*rows), row_order);
	rows_print(rows, n, csv);
	free(rows);
	return 0;
}
