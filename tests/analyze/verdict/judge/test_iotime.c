/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of file operations went, through a real store: by the models of a baseline, by the
 * kernel's count, by a file's own durations; the seconds lost; the order and the sentence. */
#include "analyze/verdict/judge/iotime.h"

#include <inttypes.h>

#include "narrows/cells.h"
#include "tests/filled.h"

#define T0 1700000000000000000

enum { WITH_BASELINE = 1, WITHOUT = 2, FAST_NS = 1000, DEVICE_NS = 100000, STUCK_NS = 50000000 };

static int64_t next_id;

static int64_t
meta_write(struct nw_batch *b, int64_t session, int64_t host, const char *event,
    const char *subject, const char *params, const char *const *fields, size_t n)
{
	int64_t id = ++next_id;
	char mid[32];
	struct nw_meta_rec m = { .id = id,
		.session_id = session,
		.host_id = host,
		.xsp_id = host,
		.mid = mid,
		.event_type = event,
		.subject_json = subject,
		.params_json = params };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = n, .fields = fields };

	snprintf(mid, sizeof(mid), "m%" PRId64, id);
	CHECK_INT(nw_batch_meta(b, &m), NW_OK);
	CHECK_INT(nw_batch_layout(b, &l), NW_OK);
	return id;
}

/* --- baseline --- */

/* 100 durations about the middle, as one class of a baseline at one size. */
static void
point_write(struct nw_batch *b, int64_t host, const char *class, const char *named_by,
    unsigned size, uint64_t middle_ns)
{
	static const char *const fields[] = { "ops", "s" };
	static uint64_t counts[NW_HIST_BUCKETS];
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	double row[2] = { 100, 1 };
	int64_t id, at = T0;
	char params[256], subject[128];
	int i;

	memset(counts, 0, sizeof(counts));
	for (i = -5; i < 5; i++)
		counts[nw_hist_index(middle_ns + (uint64_t)((int64_t)middle_ns * i / 100))] += 10;
	snprintf(params, sizeof(params),
	    "{\"baseline\":\"b1\",\"class\":\"%s\",\"name\":\"%s\",\"namedBy\":\"%s\",\"size\":%u}",
	    class, strcmp(named_by, "administrator") == 0 ? "the array" : class, named_by, size);
	snprintf(subject, sizeof(subject),
	    "{\"type\":\"disk\",\"resource\":\"%s\",\"filesystem\":\"ext4\",\"device\":\"sda\"}",
	    host == WITH_BASELINE ? "/mnt" : "/bare");
	id = meta_write(b, 0, host, "ps:tools:iomodel:baseline:read", subject, params, fields, 2);
	CHECK_INT(
	    nw_batch_rows(b, id, 2, 1, &at, row, packed, nw_hist_encode(packed, counts)), NW_OK);
}

static void
baseline_write(struct nw_batch *b)
{
	static const unsigned sizes[] = { 1024, 2048, 4096, 16384, 65536 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		point_write(b, WITH_BASELINE, "page cache", "baseline", sizes[i], FAST_NS);
		point_write(b, WITH_BASELINE, "long seek", "administrator", sizes[i], DEVICE_NS);
		point_write(b, WITHOUT, "long seek", "baseline", sizes[i], DEVICE_NS);
	}
}

/* --- cells of a file --- */

struct story {
	int64_t host;
	int pid;
	const char *path, *direction;
	unsigned fast, device, stuck; /* operations of 16 KiB by duration */
	double random;                /* steps, beside 11 forward */
};

static const struct story stories[] = {
	{ WITH_BASELINE, 7, "/mnt/a", "read", 60, 40, 2, 1 },
	{ WITH_BASELINE, 7, "/mnt/a", "write", 3, 0, 0, NAN },
	{ WITH_BASELINE, 7, "/mntother/a", "read", 4, 0, 0, NAN },
	{ WITH_BASELINE, 7, "other files", "read", 5, 0, 0, NAN },
	{ WITH_BASELINE, 7, "/mnt/forward", "read", 0, 9, 0, 0 },
	{ WITHOUT, 8, "/srv/b", "read", 500, 7, 0, NAN },
	{ WITHOUT, 9, "/srv/c", "read", 2000, 1000, 0, NAN },
	{ WITHOUT, 10, "/bare/a", "read", 6, 10, 0, 1 },
};
enum { STORIES = sizeof(stories) / sizeof(stories[0]) };

static double
cell_s(uint64_t ns)
{
	double low, high;

	nw_cell_duration_bounds(nw_cell_duration(ns), &low, &high);
	return (low + high) / 2 * 1e-9;
}

/* Two rows with the same fields: all operations are counted twice. */
static void
story_write(struct nw_batch *b, const struct story *s)
{
	static const char *const fields[] = { "ops", "bytes", "s", "forward", "random",
		"random_pause_s" };
	static uint64_t counts[NW_HIST_BUCKETS];
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	double ops = s->fast + s->device + s->stuck,
	       row[6] = { ops, ops * 16384, s->fast * 1e-6 + s->device * 1e-4 + s->stuck * 0.05, 11,
		       s->random, -1 };
	uint64_t *octave = counts + nw_cell_octave(16384) * NW_HIST_SUB;
	char subject[128], event[32];
	int64_t id, at;

	memset(counts, 0, sizeof(counts));
	octave[nw_cell_duration(FAST_NS)] = s->fast;
	octave[nw_cell_duration(DEVICE_NS)] = s->device;
	octave[nw_cell_duration(STUCK_NS)] = s->stuck;
	snprintf(event, sizeof(event), "nw:cells:%s", s->direction);
	snprintf(subject, sizeof(subject), "{\"resource\":\"%s\",\"pid\":%d}", s->path, s->pid);
	id = meta_write(b, 1, s->host, event, subject, "{}", fields, 6);
	for (at = T0; at < T0 + 2; at++)
		CHECK_INT(
		    nw_batch_rows(b, id, 6, 1, &at, row, packed, nw_hist_encode(packed, counts)),
		    NW_OK);
}

static void
all_write(struct nw_batch *b)
{
	struct nw_session_rec s = { .id = 1,
		.task_id = "t",
		.program = "p",
		.opened_wall_ns = T0,
		.closed_wall_ns = T0 + 10,
		.last_data_wall_ns = T0 };
	int64_t i;

	CHECK_INT(nw_batch_session(b, &s), NW_OK);
	for (i = 1; i <= 2; i++) {
		struct nw_host_rec h = { .id = i, .name = i == 1 ? "dtn-a" : "dtn-b" };
		struct nw_xsp_rec x = {
			.id = i, .host_id = i, .session_id = 1, .sess_id_hex = "00", .peer = "p"
		};

		CHECK(nw_batch_host(b, &h) == NW_OK && nw_batch_xsp(b, &x) == NW_OK);
	}
	baseline_write(b);
	for (i = 0; i < STORIES; i++)
		story_write(b, &stories[i]);
}

/* --- what comes out --- */

static const struct io_file *
file_of(const struct iotime *t, size_t story)
{
	size_t i;

	for (i = 0; i < t->n_files; i++)
		if (strcmp(t->files[i].path, stories[story].path) == 0 &&
		    t->files[i].write == (strcmp(stories[story].direction, "write") == 0))
			return &t->files[i];
	fprintf(stderr, "%s is missing\n", stories[story].path);
	exit(1);
}

static double
ops_of(const struct io_file *f, const char *class)
{
	size_t i;

	for (i = 0; i < f->n_classes; i++)
		if (strcmp(f->classes[i].name, class) == 0)
			return f->classes[i].ops;
	return 0;
}

static void
baseline_check(const struct iotime *t)
{
	const struct io_file *f = file_of(t, 0);
	double cached_s = baseline_cached_s(f->baseline, false, 16384);
	size_t i;

	CHECK_INT(f->by, IO_BY_BASELINE);
	CHECK(f->host == 0 && f->pid == 7);
	CHECK_NEAR(cached_s, 1e-6, 0.05, 0);
	CHECK_NEAR(f->ops, 204, 0, 0);
	CHECK_NEAR(f->bytes, 204 * 16384, 0, 0);
	CHECK_NEAR(f->time_s, 2 * (60e-6 + 4e-3 + 0.1), 1e-9, 0);
	CHECK_NEAR(f->steps[0], 22, 0, 0);
	CHECK(f->steps[4] == 2 && f->pause_s[4] == 0); /* negative values count as 0 */
	CHECK(file_of(t, 3)->steps[4] == 0);           /* NaN, too */
	CHECK_INT(f->n_classes, 3);
	CHECK_NEAR(ops_of(f, "page cache"), 120, 0, 0);
	CHECK_NEAR(ops_of(f, "the array"), 80, 0, 0);
	CHECK_NEAR(ops_of(f, "slower than all classes"), 4, 0, 0);
	CHECK_NEAR(f->lost_s,
	    80 * (cell_s(DEVICE_NS) - cached_s) + 4 * (cell_s(STUCK_NS) - cached_s), 1e-9, 0);
	for (i = 0; i < f->n_classes; i++)
		CHECK_INT(
		    f->classes[i].by_administrator, strcmp(f->classes[i].name, "the array") == 0);
}

/* The models hold for their direction and mount, and for files without a name. */
static void
reach_check(const struct iotime *t)
{
	CHECK_INT(file_of(t, 1)->by, IO_BY_OWN);
	CHECK(file_of(t, 1)->baseline == NULL);
	CHECK_INT(file_of(t, 2)->by, IO_BY_OWN);
	CHECK_INT(file_of(t, 3)->by, IO_BY_BASELINE);
	CHECK_NEAR(ops_of(file_of(t, 3), "page cache"), 10, 0, 0);
	/* a file read forward alone has no seeks: the class stays without a name of its own */
	CHECK_NEAR(ops_of(file_of(t, 4), "device"), 18, 0, 0);
	CHECK_INT(file_of(t, 4)->n_classes, 1);
	/* where the page cache has no class, what is far faster than a seek is no seek */
	CHECK_NEAR(ops_of(file_of(t, 7), "faster than all classes"), 12, 0, 0);
	CHECK_INT(file_of(t, 7)->n_classes, 2);
}

static void
without_check(const struct iotime *t)
{
	const struct io_file *f = file_of(t, 5);

	CHECK_INT(f->by, IO_BY_EVIDENCE);
	CHECK_NEAR(ops_of(f, "page cache"), 1014, 0, 0);
	CHECK(f->lost_s == 0 && f->n_classes == 1);
	/* the kernel fetched this file from a device: the fastest class stands for the cache */
	f = file_of(t, 6);
	CHECK_INT(f->by, IO_BY_OWN);
	CHECK_INT(f->n_classes, 2);
	CHECK_NEAR(ops_of(f, "A"), 4000, 0, 0);
	CHECK_NEAR(ops_of(f, "B"), 2000, 0, 0);
	CHECK_NEAR(f->lost_s, 2000 * (cell_s(DEVICE_NS) - cell_s(FAST_NS)), 1e-3, 0);
}

static void
whole_check(const struct iotime *t)
{
	char *sentence = iotime_sentence(t);
	size_t i;

	CHECK_INT(t->n_files, STORIES);
	for (i = 1; i < t->n_files; i++)
		CHECK(t->files[i - 1].time_s >= t->files[i].time_s);
	CHECK(sentence != NULL &&
	    strstr(sentence, "the host's baseline where it has one, else") != NULL);
	free(sentence);
}

static void
test_load(struct store_reader *r)
{
	double read[2] = { 4e6, 4e6 };
	struct evidence_host hosts[] = { { .id = WITH_BASELINE }, { .id = WITHOUT } };
	struct evidence_process processes[] = { { .host = 1, .pid = 9 }, { .host = 1, .pid = 8 } };
	struct evidence e = { .session_id = 1,
		.n_windows = 2,
		.hosts = hosts,
		.n_hosts = 2,
		.processes = processes,
		.n_processes = 2 };
	struct iotime t;
	size_t i;

	for (i = 0; i < 2; i++) {
		processes[i].bytes[NW_OP_DISK_READ] = read;
		processes[i].kernel_bytes = 8e6;
		processes[i].storage_read_bytes = i == 0 ? 8e6 : 0.019 * 8e6;
	}
	CHECK_INT(iotime_load(r, &e, &t), NW_OK);
	baseline_check(&t);
	reach_check(&t);
	without_check(&t);
	whole_check(&t);
	iotime_clear(&t);
	/* two parts in a hundred from devices are no longer next to nothing */
	processes[1].storage_read_bytes = 0.021 * 8e6;
	CHECK_INT(iotime_load(r, &e, &t), NW_OK);
	CHECK_INT(file_of(&t, 5)->by, IO_BY_OWN);
	iotime_clear(&t);
	e.n_hosts = 1;
	CHECK_INT(iotime_load(r, &e, &t), NW_OK);
	CHECK_INT(t.n_files, 5);
	iotime_clear(&t);
}

static void
test_empty(struct store_reader *r)
{
	struct evidence e = { .session_id = 99 };
	struct iotime t;

	CHECK_INT(iotime_load(r, &e, &t), NW_OK);
	CHECK_INT(t.n_files, 0);
	CHECK(iotime_sentence(&t) == NULL);
	iotime_clear(&t);
	CHECK_STR(io_named_by_word(IO_BY_BASELINE), "baseline");
	CHECK_STR(io_named_by_word(IO_BY_EVIDENCE), "evidence");
	CHECK_STR(io_named_by_word(IO_BY_OWN), "own durations");
}

int
main(void)
{
	struct store *st = filled_open(NULL);
	struct nw_batch *b = nw_batch_new();
	struct store_reader *r = NULL;
	char why[STORE_WHY_BYTES];

	all_write(b);
	filled_commit(st, b);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	test_load(r);
	test_empty(r);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_iotime");
}
