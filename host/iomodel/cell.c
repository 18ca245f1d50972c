/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "host/iomodel/access.h"
#include "host/iomodel/io_counters.h"
#include "host/iomodel/pagecache.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { DIRECT_ALIGN = 4096, PATH_MAX_BYTES = 512, THREADS_MAX = 256, FILL_BYTES = 1 << 20 };

const struct cell cell_default = { .state = STATE_AS_IS,
	.call = CALL_PREAD,
	.access_bytes = 4096,
	.file_bytes = 256 << 20,
	.memory_bytes = 64 << 20,
	.seed = 3,
	.n_ops = 10000,
	.threads = 1,
	.file_layout = { LAYOUT_SEQ, 0, 0 },
	.memory_layout = { LAYOUT_OFF0, 0, 0 } };

static const char *const state_names[] = { "as-is", "cached", "uncached", "discard" };
static const char *const call_names[] = { "pread", "lseek", "mmap", "uring" };

/* An operation, kept until the end of the cell: nothing is formatted between two accesses. */
struct op {
	int64_t start_ns, duration_ns; /* start: since the cell's beginning */
	uint64_t offset;
	float cached; /* share of the pages in memory before; NaN: not known */
	int error;
};

struct worker {
	const struct cell *cell;
	unsigned rank;
	int fd;
	int64_t t0_mono_ns, until_mono_ns;
	struct op *ops;
	uint64_t n, errors;
	int64_t sync_ns;
	char *memory;
	struct pagecache *cache; /* NULL where nothing is looked up */
	int rc;
	pthread_t thread;
	pthread_barrier_t *begin;
};

const char *
state_name(enum cell_state s)
{
	return state_names[s];
}

const char *
call_name(enum cell_call c)
{
	return call_names[c];
}

static int
word_find(const char *word, const char *const *names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(names[i], word) == 0)
			return (int)i;
	return NW_EINVAL;
}

int
state_parse(const char *word, enum cell_state *out)
{
	int i = word_find(word, state_names, sizeof(state_names) / sizeof(state_names[0]));

	if (i < 0)
		return i;
	*out = (enum cell_state)i;
	return NW_OK;
}

int
call_parse(const char *word, enum cell_call *out)
{
	int i = word_find(word, call_names, sizeof(call_names) / sizeof(call_names[0]));

	if (i < 0)
		return i;
	*out = (enum cell_call)i;
	return NW_OK;
}

static void
path_in(const struct cell *c, const char *name, char to[PATH_MAX_BYTES])
{
	snprintf(to, PATH_MAX_BYTES, "%s/%s", c->folder, name);
}

bool
cell_is_done(const struct cell *c)
{
	char path[PATH_MAX_BYTES];

	path_in(c, "done", path);
	return access(path, F_OK) == 0;
}

static int
parameters_check(const struct cell *c, char why[CELL_WHY_BYTES])
{
	if (c->access_bytes == 0 || c->access_bytes > c->file_bytes ||
	    c->access_bytes > c->memory_bytes)
		snprintf(why, CELL_WHY_BYTES, "an access does not fit into the file or the memory");
	else if (c->threads == 0 || c->threads > THREADS_MAX)
		snprintf(why, CELL_WHY_BYTES, "from 1 to %d threads", THREADS_MAX);
	else if (c->direct && (c->access_bytes % DIRECT_ALIGN != 0 || c->call == CALL_MMAP))
		snprintf(why, CELL_WHY_BYTES, "O_DIRECT takes multiples of %d bytes, and no mmap",
		    DIRECT_ALIGN);
	else if (c->state == STATE_DISCARD && c->call == CALL_MMAP)
		snprintf(why, CELL_WHY_BYTES, "nothing can be mapped to be discarded");
	else if (c->call == CALL_URING && c->access_bytes > UINT32_MAX)
		snprintf(why, CELL_WHY_BYTES, "io_uring takes less than 4 GiB at a time");
	else
		return NW_OK;
	return NW_EINVAL;
}

/* --- the file before the first access --- */

/* Makes the file as long as it should be, with bytes on the device rather than a hole. */
static int
file_extend(int fd, uint64_t bytes, char why[CELL_WHY_BYTES])
{
	struct statvfs vfs;
	struct stat sb;
	char *buf;
	uint64_t at;
	ssize_t n = 0;

	if (fstat(fd, &sb) != 0 || fstatvfs(fd, &vfs) != 0)
		return NW_EIO;
	at = (uint64_t)sb.st_size;
	if (at >= bytes)
		return NW_OK;
	if ((uint64_t)vfs.f_bavail * vfs.f_frsize < bytes - at) {
		snprintf(why, CELL_WHY_BYTES,
		    "the file system has %.1f GB free, the file needs %.1f GB more",
		    (double)vfs.f_bavail * (double)vfs.f_frsize / 1e9, (double)(bytes - at) / 1e9);
		return NW_EFULL;
	}
	if ((buf = malloc(FILL_BYTES)) == NULL)
		return NW_ENOMEM;
	memset(buf, 0x5a, FILL_BYTES);
	for (; at < bytes && n >= 0; at += (uint64_t)n)
		n = pwrite(fd, buf, bytes - at < FILL_BYTES ? bytes - at : FILL_BYTES, (off_t)at);
	free(buf);
	return n >= 0 && fsync(fd) == 0 ? NW_OK : NW_EIO;
}

static int
state_bring_about(const struct cell *c, int fd, struct pagecache *p, char why[CELL_WHY_BYTES])
{
	int rc = NW_OK;

	if (c->state == STATE_CACHED)
		rc = pagecache_fill(p, fd);
	else if (c->state == STATE_UNCACHED)
		rc = pagecache_drop(p, fd);
	if (rc < 0)
		snprintf(why, CELL_WHY_BYTES,
		    "the file cannot be made %s: %.1f %% of its pages are in memory",
		    state_name(c->state), 100 * pagecache_share(p, 0, p->bytes));
	return rc;
}

static const char *
file_of(const struct cell *c)
{
	return c->state != STATE_DISCARD ? c->file : c->write ? "/dev/null" : "/dev/zero";
}

static int
file_open(const struct cell *c)
{
	int flags = c->write ? O_RDWR : O_RDONLY;

	return open(file_of(c), flags | O_CLOEXEC | (c->direct ? O_DIRECT : 0));
}

static int
file_prepare(const struct cell *c, struct pagecache *p, char why[CELL_WHY_BYTES])
{
	int fd, rc;

	if (c->state == STATE_DISCARD)
		return NW_OK;
	fd = open(c->file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0) {
		snprintf(why, CELL_WHY_BYTES, "%.150s: %s", c->file, strerror(errno));
		return NW_EIO;
	}
	rc = file_extend(fd, c->file_bytes, why);
	if (rc == NW_OK && (rc = pagecache_open(p, fd, c->file_bytes)) == NW_OK)
		rc = state_bring_about(c, fd, p, why);
	if (rc < 0 && why[0] == '\0')
		snprintf(why, CELL_WHY_BYTES, "%.150s: %s", c->file, strerror(errno));
	close(fd);
	return rc;
}

/* --- accesses --- */

static struct op
op_run(struct worker *w, struct access *a, struct layout_walk *file, struct layout_walk *memory)
{
	const struct cell *c = w->cell;
	struct op op = { .cached = NAN };
	int64_t begin = 0;
	char *buf;

	if (c->compat)
		begin = nw_mono_ns();
	op.offset = c->state == STATE_DISCARD ? 0 : layout_walk_next(file);
	buf = w->memory + layout_walk_next(memory);
	if (w->cache != NULL && !c->compat)
		op.cached = (float)pagecache_share(w->cache, op.offset, c->access_bytes);
	if (!c->compat)
		begin = nw_mono_ns();
	op.error = access_once(a, buf, c->access_bytes, op.offset);
	if (c->write && c->sync_each && op.error == 0 && fdatasync(w->fd) != 0)
		op.error = errno;
	op.duration_ns = nw_mono_ns() - begin;
	op.start_ns = begin - w->t0_mono_ns;
	return op;
}

static void
accesses_run(struct worker *w, struct access *a)
{
	const struct cell *c = w->cell;
	uint64_t align = c->direct ? DIRECT_ALIGN : 1;
	struct layout_walk file, memory;
	int64_t begin;

	layout_walk_init(
	    &file, &c->file_layout, c->file_bytes, c->access_bytes, align, c->seed + w->rank);
	layout_walk_init(&memory, &c->memory_layout, c->memory_bytes, c->access_bytes,
	    c->direct ? DIRECT_ALIGN : 1, ~c->seed + w->rank);
	pthread_barrier_wait(w->begin);
	for (w->n = 0; w->n < c->n_ops; w->n++) {
		w->ops[w->n] = op_run(w, a, &file, &memory);
		w->errors += w->ops[w->n].error != 0;
		if (w->until_mono_ns != 0 && nw_mono_ns() >= w->until_mono_ns) {
			w->n++;
			break;
		}
	}
	begin = nw_mono_ns();
	if (c->write && c->state != STATE_DISCARD && fsync(w->fd) != 0)
		w->errors++;
	w->sync_ns = nw_mono_ns() - begin;
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;
	struct access a;

	w->rc = access_open(&a, w->cell->call, w->fd, w->cell->write, w->cell->file_bytes);
	if (w->rc < 0) {
		pthread_barrier_wait(w->begin);
		return NULL;
	}
	accesses_run(w, &a);
	access_close(&a);
	return NULL;
}

/* Bytes at the begin of the memory that the accesses of a cell touch. */
static uint64_t
memory_touched(const struct cell *c)
{
	return c->memory_layout.kind == LAYOUT_OFF0 ? c->access_bytes : c->memory_bytes;
}

static int
worker_init(struct worker *w, const struct cell *c, unsigned rank, struct pagecache *cache)
{
	w->cell = c;
	w->rank = rank;
	w->cache = cache;
	w->fd = file_open(c);
	w->ops = malloc(c->n_ops * sizeof(*w->ops));
	if (w->fd < 0 || w->ops == NULL ||
	    posix_memalign((void **)&w->memory, DIRECT_ALIGN, c->memory_bytes) != 0)
		return NW_EIO;
	/* Pages of both arrays are there before the first access, or their faults would be
	 * measured. Those that no access touches cost more than a short cell. */
	memset(w->memory, 0x33, memory_touched(c));
	memset(w->ops, 0, c->n_ops * sizeof(*w->ops));
	return NW_OK;
}

static void
worker_clear(struct worker *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->ops);
	free(w->memory);
}

/* --- what stays --- */

static int
ops_write(const struct worker *w)
{
	char path[PATH_MAX_BYTES], name[32];
	uint64_t i;
	FILE *f;

	snprintf(name, sizeof(name), "out-%u.csv", w->rank);
	path_in(w->cell, name, path);
	if ((f = fopen(path, "we")) == NULL)
		return NW_EIO;
	fputs(w->cell->compat ? "start_time, duration, \n"
			      : "start_time,duration,size,offset,op,error,cached\n",
	    f);
	for (i = w->cell->compat ? 1 : 0; i < w->n; i++) {
		const struct op *op = &w->ops[i];

		fprintf(f, "%.9f,%.12f", (double)op->start_ns / 1e9, (double)op->duration_ns / 1e9);
		if (!w->cell->compat)
			fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%s,%d,", w->cell->access_bytes,
			    op->offset, w->cell->write ? "write" : "read", op->error);
		if (!w->cell->compat && !isnan(op->cached))
			fprintf(f, "%.4g", (double)op->cached);
		fputc('\n', f);
	}
	if (w->cell->compat && w->n > 0)
		fprintf(f, "%.9f,%.12f\n",
		    (double)(w->ops[w->n - 1].start_ns + w->ops[w->n - 1].duration_ns) / 1e9,
		    (double)w->sync_ns / 1e9);
	return fclose(f) == 0 ? NW_OK : NW_EIO;
}

static int
sync_write(const struct worker *w)
{
	char path[PATH_MAX_BYTES], name[32];
	FILE *f;

	if (w->cell->compat || !w->cell->write)
		return NW_OK;
	snprintf(name, sizeof(name), "sync-%u.csv", w->rank);
	path_in(w->cell, name, path);
	if ((f = fopen(path, "we")) == NULL)
		return NW_EIO;
	fprintf(f, "duration\n%.12f\n", (double)w->sync_ns / 1e9);
	return fclose(f) == 0 ? NW_OK : NW_EIO;
}

static int
params_write(const struct cell *c, const struct cell_result *r)
{
	char path[PATH_MAX_BYTES], memory[64], file[64];
	FILE *f;

	path_in(c, "params.txt", path);
	if ((f = fopen(path, "we")) == NULL)
		return NW_EIO;
	layout_numbers(&c->memory_layout, memory, sizeof(memory));
	layout_numbers(&c->file_layout, file, sizeof(file));
	fprintf(f,
	    "iomodel file:%s memBuffer:%" PRIu64 " fileSizeInMiB:%" PRIu64 " maxRepeats:%" PRIu64
	    " truncate:0 accessSize:%" PRIu64 " localityMem:%s localityFile:%s"
	    " preallocateMemoryInMiB:0 preWriteMem:1 preWriteFile:1 isRead:%d seed:%" PRIu64
	    " waitForProperSize:0 state:%s call:%s direct:%d threads:%u programversion:%s\n",
	    file_of(c), c->memory_bytes >> 20, c->file_bytes >> 20, c->n_ops, c->access_bytes,
	    memory, file, !c->write, c->seed, state_name(c->state), call_name(c->call), c->direct,
	    c->threads, NW_VERSION);
	fprintf(f,
	    "0: Runtime:%.12fs ops/s:%.2f  MiB/s:%.2f repeats:%" PRIu64
	    " syncTime:%.12fs errors:%" PRIu64 " cachedBefore:%.4f cachedOperations:%.4f\n",
	    r->runtime_s, (double)r->n_ops / r->runtime_s,
	    (double)r->bytes / r->runtime_s / (1 << 20), r->n_ops, r->sync_s, r->errors,
	    r->cached_before, r->cached_ops);
	return fclose(f) == 0 ? NW_OK : NW_EIO;
}

static void
result_sum(const struct cell *c, const struct worker *w, struct cell_result *out)
{
	double cached = 0;
	uint64_t known = 0, i;
	unsigned t;
	int64_t end = 0;

	for (t = 0; t < c->threads; t++) {
		out->n_ops += w[t].n;
		out->errors += w[t].errors;
		if ((double)w[t].sync_ns / 1e9 > out->sync_s)
			out->sync_s = (double)w[t].sync_ns / 1e9;
		for (i = 0; i < w[t].n; i++) {
			const struct op *op = &w[t].ops[i];

			if (op->start_ns + op->duration_ns > end)
				end = op->start_ns + op->duration_ns;
			out->moving_s += (double)op->duration_ns / 1e9;
			known += !isnan(op->cached);
			cached += op->cached >= 1;
		}
	}
	out->bytes = (out->n_ops - out->errors) * c->access_bytes;
	out->runtime_s = (double)end / 1e9;
	out->cached_ops = known > 0 ? cached / (double)known : NAN;
}

static int
result_write(const struct cell *c, const struct worker *w, const struct cell_result *r)
{
	char path[PATH_MAX_BYTES];
	int rc = NW_OK;
	unsigned t;
	FILE *f;

	for (t = 0; t < c->threads && rc == NW_OK; t++)
		if ((rc = ops_write(&w[t])) == NW_OK)
			rc = sync_write(&w[t]);
	if (rc == NW_OK)
		rc = params_write(c, r);
	if (rc < 0)
		return rc;
	path_in(c, "done", path);
	if ((f = fopen(path, "we")) == NULL)
		return NW_EIO;
	return fclose(f) == 0 ? NW_OK : NW_EIO;
}

/* All threads begin together, between two readings of the counters. */
static int
workers_run(const struct cell *c, struct worker *w, struct counters_taken counters[2])
{
	pthread_barrier_t begin;
	char path[PATH_MAX_BYTES];
	struct sampler *s;
	int64_t t0;
	unsigned t, started = 0;
	int rc = NW_OK;

	pthread_barrier_init(&begin, NULL, c->threads + 1);
	t0 = nw_mono_ns();
	path_in(c, "stats-0.csv", path);
	s = sampler_start(path, c->device, t0);
	counters_take(&counters[0]);
	for (t = 0; t < c->threads; t++) {
		w[t].begin = &begin;
		w[t].t0_mono_ns = nw_mono_ns();
		w[t].until_mono_ns =
		    c->seconds > 0 ? w[t].t0_mono_ns + (int64_t)(c->seconds * 1e9) : 0;
		if (pthread_create(&w[t].thread, NULL, worker_main, &w[t]) != 0)
			abort(); /* the barrier would never open */
		started++;
	}
	pthread_barrier_wait(&begin);
	for (t = 0; t < started; t++) {
		pthread_join(w[t].thread, NULL);
		if (w[t].rc < 0)
			rc = w[t].rc;
	}
	counters_take(&counters[1]);
	sampler_stop(s);
	pthread_barrier_destroy(&begin);
	return rc;
}

static int
cell_measure(const struct cell *c, struct pagecache *cache, struct cell_result *out,
    char why[CELL_WHY_BYTES])
{
	struct worker *w = calloc(c->threads, sizeof(*w));
	struct counters_taken *counters = calloc(2, sizeof(*counters));
	char path[PATH_MAX_BYTES];
	unsigned t, n = 0;
	int rc = w != NULL && counters != NULL ? NW_OK : NW_ENOMEM;

	/* A thread asks the page cache for itself: two would share the answer's memory. */
	for (t = 0; rc == NW_OK && t < c->threads; t++, n++)
		rc = worker_init(&w[t], c, t,
		    c->threads == 1 && c->state != STATE_DISCARD && c->call != CALL_MMAP ? cache
											 : NULL);
	if (rc == NW_OK)
		rc = workers_run(c, w, counters);
	if (rc < 0)
		snprintf(why, CELL_WHY_BYTES, "%.120s: %s (%s)", file_of(c), strerror(errno),
		    nw_strerror(rc));
	if (rc == NW_OK) {
		result_sum(c, w, out);
		path_in(c, "proc.csv", path);
		if (counters_write(path, &counters[0], &counters[1]) != 0 ||
		    (rc = result_write(c, w, out)) < 0) {
			snprintf(why, CELL_WHY_BYTES, "%.150s: %s", c->folder, strerror(errno));
			rc = NW_EIO;
		}
	}
	for (t = 0; t < n; t++)
		worker_clear(&w[t]);
	free(counters);
	free(w);
	return rc;
}

int
cell_run(const struct cell *c, struct cell_result *out, char why[CELL_WHY_BYTES])
{
	struct pagecache cache = { 0 };
	int rc;

	memset(out, 0, sizeof(*out));
	why[0] = '\0';
	out->cached_before = NAN;
	if ((rc = parameters_check(c, why)) < 0)
		return rc;
	if (mkdir(c->folder, 0755) != 0 && errno != EEXIST) {
		snprintf(why, CELL_WHY_BYTES, "%.150s: %s", c->folder, strerror(errno));
		return NW_EIO;
	}
	rc = file_prepare(c, &cache, why);
	if (rc == NW_OK && cache.map != NULL)
		out->cached_before = pagecache_share(&cache, 0, cache.bytes);
	if (rc == NW_OK)
		rc = cell_measure(c, &cache, out, why);
	pagecache_close(&cache);
	return rc;
}
