/* SPDX-License-Identifier: BSD-3-Clause */
/* The baseline's plan: names for classes, the cell of each condition and size, a run that leaves
 * every cell done, and a second run that repeats none. */
#include "host/iomodel/io_baseline.h"

#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>

#include "host/iomodel/baseline_in.h"
#include "host/iomodel/matrix.h"
#include "tests/check.h"

enum { SPACE_BYTES = 4096 };

static char dir[] = "/tmp/test_baseline.XXXXXX";

static void
test_names(void)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = { { "page cache=memory", true }, { "synced=x", true },
		{ "random device=a=b", true }, { "page cache=", false }, { "page cache", false },
		{ "page=x", false }, { "page cache x=y", false }, { "=x", false }, { "", false } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(baseline_name_is_valid(cases[i].text), cases[i].valid);
}

static const struct condition *
condition_find(const char *folder, const char *file_layout)
{
	size_t i;

	for (i = 0; i < baseline_n_conditions; i++)
		if (strcmp(baseline_conditions[i].folder, folder) == 0 &&
		    strcmp(baseline_conditions[i].file_layout, file_layout) == 0)
			return &baseline_conditions[i];
	fprintf(stderr, "no condition %s of %s\n", folder, file_layout);
	exit(1);
}

static void
test_cell(void)
{
	struct baseline_opts full = { .quick = false }, quick = { .quick = true };
	struct cell like = cell_default, c;
	char folder[BASELINE_FOLDER_BYTES];

	like.folder = "/base";
	like.threads = 7;
	like.call = CALL_MMAP;
	like.memory_bytes = 1 << 20;
	CHECK(baseline_cell(
	    &like, &full, condition_find("shortseek", "rnd8388608"), 8192, &c, folder));
	CHECK_STR(folder, "/base/shortseek-read-rnd8388608-8192-1");
	CHECK(c.folder == folder && c.direct && !c.write && !c.sync_each);
	CHECK(c.state == STATE_UNCACHED && c.access_bytes == 8192);
	CHECK(c.threads == 1 && c.call == CALL_PREAD);
	CHECK(c.file_layout.kind == LAYOUT_NEAR && c.file_layout.near_bytes == 8388608);
	CHECK(c.memory_layout.kind == LAYOUT_OFF0 && c.n_ops == 2000 && c.seconds == 2);

	CHECK(baseline_cell(&like, &quick, condition_find("synced", "seq"), 1, &c, folder));
	CHECK_STR(folder, "/base/synced-write-seq-1-1");
	CHECK(c.write && c.sync_each && !c.direct && c.n_ops == 300 && c.seconds == 0.25);
	like.seconds = 9;
	CHECK(
	    baseline_cell(&like, &quick, condition_find("pagecache", "rnd"), 1 << 20, &c, folder));
	CHECK(c.seconds == 9 && c.state == STATE_CACHED && c.memory_layout.kind == LAYOUT_RND);
}

/* Sizes that a condition has no cell of. */
static void
test_no_cell(void)
{
	struct baseline_opts o = { .quick = true };
	struct cell like = cell_default, c;
	char folder[BASELINE_FOLDER_BYTES];

	like.folder = "/base";
	like.file_bytes = 1 << 20;
	like.memory_bytes = 1 << 16;
	CHECK(!baseline_cell(&like, &o, condition_find("longseek", "rnd"), 2048, &c, folder));
	CHECK(!baseline_cell(&like, &o, condition_find("longseek", "rnd"), 4097, &c, folder));
	CHECK(baseline_cell(&like, &o, condition_find("longseek", "rnd"), 4096, &c, folder));
	CHECK(baseline_cell(&like, &o, condition_find("sequential", "seq"), 1 << 16, &c, folder));
	CHECK(!baseline_cell(&like, &o, condition_find("sequential", "seq"), 1 << 17, &c, folder));
	like.memory_bytes = 1 << 24;
	CHECK(!baseline_cell(&like, &o, condition_find("sequential", "seq"), 1 << 21, &c, folder));
}

/* Makes the folder of a cell, with the mark of a cell that is done or without the mark. */
static void
folder_make(const char *folder, bool done)
{
	char path[BASELINE_FOLDER_BYTES + 16];
	FILE *f;

	CHECK(mkdir(folder, 0755) == 0);
	snprintf(path, sizeof(path), "%s/done", folder);
	if (done) {
		f = fopen(path, "w");
		CHECK(f != NULL && fclose(f) == 0);
	}
}

static bool
has_run(const char *folder)
{
	char path[BASELINE_FOLDER_BYTES + 16];

	snprintf(path, sizeof(path), "%s/out-0.csv", folder);
	return access(path, F_OK) == 0;
}

/* The cells that are left to run: a cached read, a write, and a cell with O_DIRECT, which some file
 * systems do not have. */
static bool
is_left(const struct condition *k, uint64_t size)
{
	return size == SPACE_BYTES &&
	    (strcmp(k->folder, "synced") == 0 || strcmp(k->folder, "longseek") == 0 ||
		(strcmp(k->folder, "pagecache") == 0 && !k->write &&
		    strcmp(k->file_layout, "rnd") == 0));
}

static unsigned
folders_visit(const struct cell *like, const struct baseline_opts *o, bool make)
{
	char folder[BASELINE_FOLDER_BYTES];
	const struct condition *k;
	struct cell c;
	unsigned n = 0;
	size_t s;

	for (k = baseline_conditions; k < baseline_conditions + baseline_n_conditions; k++)
		for (s = 0; s < matrix_n_sizes; s++) {
			if (!baseline_cell(like, o, k, matrix_sizes[s], &c, folder))
				continue;
			n++;
			if (make)
				folder_make(folder, !is_left(k, matrix_sizes[s]));
			else if (!k->direct)
				CHECK_INT(has_run(folder), is_left(k, matrix_sizes[s]));
		}
	return n;
}

/* A baseline that was interrupted goes on with what is left, and sends nothing to the box "-". */
static void
test_run(void)
{
	struct baseline_opts o = { .quick = true, .box = "-" };
	struct cell like = cell_default;
	char folder[64], file[64], command[64];

	snprintf(folder, sizeof(folder), "%s/base", dir);
	snprintf(file, sizeof(file), "%s/none/file", dir);
	like.folder = folder;
	like.file = file;
	like.file_bytes = like.memory_bytes = SPACE_BYTES;
	like.seconds = 0.01;
	CHECK(mkdir(folder, 0755) == 0);
	/* all sizes up to 4 KiB; of conditions with O_DIRECT that size alone */
	CHECK_INT(folders_visit(&like, &o, true), 5 * 8 + 5);
	CHECK_INT(baseline_run(&like, &o), 1);
	snprintf(file, sizeof(file), "%s/file", dir);
	CHECK_INT(baseline_run(&like, &o), 0);
	CHECK_INT(folders_visit(&like, &o, false), 5 * 8 + 5);
	snprintf(folder, sizeof(folder), "%s/none/base", dir);
	CHECK_INT(baseline_run(&like, &o), 1);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		abort();
	test_names();
	test_cell();
	test_no_cell();
	test_run();
	return check_done("test_baseline");
}
