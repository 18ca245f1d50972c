/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/io_counters.h"

#include <glob.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/condwait.h"

static void
counter_add(
    struct counters_taken *c, const char *prefix, const char *name, size_t len, uint64_t value)
{
	if (c->n == COUNTERS_MAX)
		return;
	snprintf(c->of[c->n].name, COUNTER_NAME_BYTES, "%s%.*s", prefix, (int)len, name);
	c->of[c->n++].value = value;
}

/* Lines "name value" or "name: value unit". */
static void
file_take(struct counters_taken *c, const char *path, const char *prefix)
{
	FILE *f = fopen(path, "re");
	char line[256], *end;
	uint64_t v;
	size_t len;

	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		len = strcspn(line, ": \t");
		if (len == 0 || line[len] == '\0')
			continue;
		v = strtoull(line + len + strspn(line + len, ": \t"), &end, 10);
		counter_add(c, prefix, line, len, v);
	}
	fclose(f);
}

/* Operations of an NFS mount: lines "READ: ops transmissions timeouts bytes_sent bytes_received
 * ...". */
static void
nfs_take(struct counters_taken *c)
{
	FILE *f = fopen("/proc/self/mountstats", "re");
	char line[512], name[24];
	unsigned long long ops, sent, received;
	bool nfs = false;

	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "device ", 7) == 0)
			nfs = strstr(line, " fstype nfs") != NULL;
		if (nfs &&
		    sscanf(line, " %22[A-Z]: %llu %*u %*u %llu %llu", name, &ops, &sent,
			&received) == 4) {
			counter_add(c, "nfs_ops_", name, strlen(name), ops);
			counter_add(c, "nfs_received_", name, strlen(name), received);
		}
	}
	fclose(f);
}

/* A Lustre client's: lines "read_bytes 12 samples [bytes] 4096 1048576 7340032". */
static void
lustre_take(struct counters_taken *c)
{
	unsigned long long n, sum;
	char line[256], name[40];
	glob_t found;
	size_t i;
	FILE *f;

	if (glob("/proc/fs/lustre/llite/*/stats", 0, NULL, &found) != 0)
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		if ((f = fopen(found.gl_pathv[i], "re")) == NULL)
			continue;
		while (fgets(line, sizeof(line), f) != NULL) {
			sum = 0;
			if (sscanf(line, "%39s %llu samples [%*[^]]] %*u %*u %llu", name, &n,
				&sum) < 2)
				continue;
			counter_add(c, "lustre_calls_", name, strlen(name), n);
			counter_add(c, "lustre_sum_", name, strlen(name), sum);
		}
		fclose(f);
	}
	globfree(&found);
}

void
counters_take(struct counters_taken *c)
{
	c->n = 0;
	file_take(c, "/proc/self/io", "self_");
	file_take(c, "/proc/vmstat", "vmstat_");
	file_take(c, "/proc/meminfo", "meminfo_");
	nfs_take(c);
	lustre_take(c);
}

int
counters_write(
    const char *path, const struct counters_taken *before, const struct counters_taken *after)
{
	FILE *f = fopen(path, "we");
	uint64_t b, a;
	size_t i;

	if (f == NULL)
		return -1;
	fputs("name,before,after,difference\n", f);
	for (i = 0; i < before->n && i < after->n; i++) {
		b = before->of[i].value;
		a = after->of[i].value;
		if (strcmp(before->of[i].name, after->of[i].name) == 0 &&
		    (a != b || strncmp(before->of[i].name, "self_", 5) == 0))
			fprintf(f, "%s,%" PRIu64 ",%" PRIu64 ",%" PRId64 "\n", before->of[i].name,
			    b, a, (int64_t)(a - b));
	}
	return fclose(f);
}

/* --- samples --- */

enum { SAMPLE_NS = 100000000, DEVICE_COLUMNS = 11 };

struct sampler {
	FILE *file;
	char device_path[96];
	int64_t t0_mono_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
};

static const char *const io_names[] = { "rchar", "wchar", "syscr", "syscw", "read_bytes",
	"write_bytes", "cancelled_write_bytes" };
static const char *const memory_names[] = { "Buffers", "Cached", "Dirty", "Writeback" };
static const char *const device_names[] = { "read I/Os", "read merges", "read sectors",
	"read ticks", "write I/Os", "write merges", "write sectors", "write ticks", "in_flight",
	"io_ticks", "time_in_queue" };

static void
head_write(struct sampler *s)
{
	size_t i;

	fputs("start_time", s->file);
	for (i = 0; i < sizeof(io_names) / sizeof(io_names[0]); i++)
		fprintf(s->file, ",self_%s:", io_names[i]);
	for (i = 0; i < sizeof(memory_names) / sizeof(memory_names[0]); i++)
		fprintf(s->file, ",meminfo_%s:", memory_names[i]);
	for (i = 0; s->device_path[0] != '\0' && i < DEVICE_COLUMNS; i++)
		fprintf(s->file, ",blockdev_%s", device_names[i]);
	fputc('\n', s->file);
}

static uint64_t
value_of(const struct counters_taken *c, const char *prefix, const char *name)
{
	char full[COUNTER_NAME_BYTES];
	size_t i;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	for (i = 0; i < c->n; i++)
		if (strcmp(c->of[i].name, full) == 0)
			return c->of[i].value;
	return 0;
}

static void
device_write(struct sampler *s)
{
	unsigned long long v[DEVICE_COLUMNS] = { 0 };
	FILE *f = s->device_path[0] != '\0' ? fopen(s->device_path, "re") : NULL;
	size_t i;

	if (s->device_path[0] == '\0')
		return;
	for (i = 0; f != NULL && i < DEVICE_COLUMNS; i++)
		if (fscanf(f, "%llu", &v[i]) != 1)
			break;
	if (f != NULL)
		fclose(f);
	for (i = 0; i < DEVICE_COLUMNS; i++)
		fprintf(s->file, ",%llu", v[i]);
}

static void
sample_write(struct sampler *s)
{
	static struct counters_taken c; /* a single sampler at a time writes samples */
	size_t i;

	c.n = 0;
	file_take(&c, "/proc/self/io", "self_");
	file_take(&c, "/proc/meminfo", "meminfo_");
	fprintf(s->file, "%.9f", (double)(nw_mono_ns() - s->t0_mono_ns) / 1e9);
	for (i = 0; i < sizeof(io_names) / sizeof(io_names[0]); i++)
		fprintf(s->file, ",%" PRIu64, value_of(&c, "self_", io_names[i]));
	for (i = 0; i < sizeof(memory_names) / sizeof(memory_names[0]); i++)
		fprintf(s->file, ",%" PRIu64, value_of(&c, "meminfo_", memory_names[i]));
	device_write(s);
	fputc('\n', s->file);
}

static void *
sampler_main(void *arg)
{
	struct sampler *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		sample_write(s);
		if (!s->stop)
			(void)nw_cond_wait_until(&s->wake, &s->lock, nw_mono_ns() + SAMPLE_NS);
	}
	sample_write(s);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct sampler *
sampler_start(const char *path, const char *device, int64_t t0_mono_ns)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->t0_mono_ns = t0_mono_ns;
	if (device != NULL)
		snprintf(
		    s->device_path, sizeof(s->device_path), "/sys/class/block/%.60s/stat", device);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	if ((s->file = fopen(path, "we")) == NULL) {
		free(s);
		return NULL;
	}
	head_write(s);
	if (pthread_create(&s->thread, NULL, sampler_main, s) != 0) {
		fclose(s->file);
		free(s);
		return NULL;
	}
	return s;
}

void
sampler_stop(struct sampler *s)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	fclose(s->file);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
