/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/io_baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/iomodel/baseline_in.h"
#include "host/iomodel/matrix.h"
#include "narrows/err.h"

#define R    false
#define W    true
#define NEAR "rnd8388608"
const struct condition baseline_conditions[] = {
	{ "page cache", "pagecache", R, STATE_CACHED, false, false, "off0", "off0",
	    KEEP_IN_MEMORY },
	{ "page cache", "pagecache", R, STATE_CACHED, false, false, "rnd", "rnd", KEEP_IN_MEMORY },
	{ "sequential device", "sequential", R, STATE_UNCACHED, false, false, "seq", "off0",
	    KEEP_NOT_IN_MEMORY },
	{ "device cache", "devicecache", R, STATE_UNCACHED, true, false, "off0", "off0", KEEP_ALL },
	{ "short seek", "shortseek", R, STATE_UNCACHED, true, false, NEAR, "off0", KEEP_ALL },
	{ "long seek", "longseek", R, STATE_UNCACHED, true, false, "rnd", "off0", KEEP_ALL },
	{ "page cache", "pagecache", W, STATE_CACHED, false, false, "rnd", "rnd", KEEP_ALL },
	{ "device", "device", W, STATE_AS_IS, true, false, "seq", "off0", KEEP_ALL },
	{ "random device", "randomdevice", W, STATE_AS_IS, true, false, "rnd", "off0", KEEP_ALL },
	{ "synced", "synced", W, STATE_AS_IS, false, true, "seq", "off0", KEEP_ALL },
};
const size_t baseline_n_conditions = sizeof(baseline_conditions) / sizeof(baseline_conditions[0]);

enum { DIRECT_BYTES = 4096, OPS = 2000, QUICK_OPS = 300 };
static const double cell_seconds = 2, quick_seconds = 0.25;

bool
baseline_name_is_valid(const char *text)
{
	const char *is = strchr(text, '=');
	size_t i, n = is != NULL ? (size_t)(is - text) : 0;

	for (i = 0; n > 0 && i < baseline_n_conditions; i++)
		if (strlen(baseline_conditions[i].class) == n &&
		    strncmp(baseline_conditions[i].class, text, n) == 0)
			return is[1] != '\0';
	return false;
}

bool
baseline_cell(const struct cell *like, const struct baseline_opts *o, const struct condition *k,
    uint64_t size, struct cell *out, char folder[BASELINE_FOLDER_BYTES])
{
	if (size > like->file_bytes || size > like->memory_bytes ||
	    (k->direct && size % DIRECT_BYTES != 0))
		return false;
	snprintf(folder, BASELINE_FOLDER_BYTES, "%s/%s-%s-%s-%" PRIu64 "-1", like->folder,
	    k->folder, k->write ? "write" : "read", k->file_layout, size);
	*out = *like;
	out->folder = folder;
	out->access_bytes = size;
	out->write = k->write;
	out->state = k->state;
	out->direct = k->direct;
	out->sync_each = k->sync_each;
	out->call = CALL_PREAD;
	out->threads = 1;
	(void)layout_parse(k->file_layout, &out->file_layout);
	(void)layout_parse(k->memory_layout, &out->memory_layout);
	out->n_ops = o->quick ? QUICK_OPS : OPS;
	if (out->seconds <= 0)
		out->seconds = o->quick ? quick_seconds : cell_seconds;
	return true;
}

/* Runs a cell unless it is done. A file system without O_DIRECT has no such cells. */
static int
cell_try(const struct cell *c, size_t i, size_t n)
{
	char why[CELL_WHY_BYTES];
	struct cell_result r;
	int rc;

	if (cell_is_done(c))
		return NW_OK;
	if ((rc = cell_run(c, &r, why)) < 0) {
		fprintf(stderr, "iomodel: %s: %s\n", strrchr(c->folder, '/') + 1, why);
		return c->direct ? NW_OK : rc;
	}
	fprintf(stderr, "iomodel: %zu of %zu, %s: %.4g us\n", i, n, strrchr(c->folder, '/') + 1,
	    r.moving_s / (double)r.n_ops * 1e6);
	return NW_OK;
}

int
baseline_run(const struct cell *like, const struct baseline_opts *o)
{
	char folder[BASELINE_FOLDER_BYTES];
	struct cell c;
	size_t k, s, n = baseline_n_conditions * matrix_n_sizes, i = 0;

	if (mkdir(like->folder, 0755) != 0 && errno != EEXIST) {
		fprintf(stderr, "iomodel: %s: %s\n", like->folder, strerror(errno));
		return 1;
	}
	for (k = 0; k < baseline_n_conditions; k++)
		for (s = 0; s < matrix_n_sizes; s++) {
			i++;
			if (baseline_cell(
				like, o, &baseline_conditions[k], matrix_sizes[s], &c, folder) &&
			    cell_try(&c, i, n) < 0)
				return 1;
		}
	return o->box != NULL && strcmp(o->box, "-") == 0 ? 0 : baseline_send(like, o);
}
