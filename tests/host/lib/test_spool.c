/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Providers whose queue goes on in a directory, and rows that leave packed, against a box that is
 * away: for an hour (of a clock that the test turns), while the provider dies, and for longer than
 * there is room.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/fakebox.h"
#include "host/lib/meta_table.h"
#include "host/lib/spool.h"
#include "narrows/clock.h"
#include "narrows/provider.h"

#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)

/* --- the clock of this program runs as fast as the test likes --- */

static int64_t clock_ahead_ns;

#pragma GCC visibility push(default)
int clock_gettime(clockid_t id, struct timespec *ts);

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);
	int64_t ns = ts->tv_nsec + clock_ahead_ns % SECOND;

	ts->tv_sec += clock_ahead_ns / SECOND + ns / SECOND;
	ts->tv_nsec = ns % SECOND;
	return rc;
}
#pragma GCC visibility pop

/* --- what tests share --- */

static char dir[64];

static void
directory_make(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test_spool.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
}

static void
directory_remove(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	CHECK_INT(system(command), 0);
}

static struct nw_provider *
provider_start(
    const char *box, uint32_t queue_max_bytes, uint64_t spool_max_bytes, int64_t max_age_ns)
{
	const struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "host" } } };
	const struct nw_provider_opts opts = { .box = box,
		.software = "test",
		.host = "dtn1",
		.queue_max_bytes = queue_max_bytes,
		.spool_dir = dir,
		.spool_max_bytes = spool_max_bytes,
		.spool_max_age_ns = max_age_ns };
	struct nw_provider *p = NULL;

	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	CHECK_INT(nw_provider_meta(p, "m1", NULL, "test:event", subject, 1, NULL, 0), NW_OK);
	return p;
}

static double next_value;

static void
add_docs(struct nw_provider *p, unsigned n)
{
	static const char *const fields[] = { "v" };

	while (n-- > 0) {
		next_value++;
		CHECK_INT(nw_provider_data(p, "m1", nw_wall_ns(), fields, &next_value, 1, NULL, 0),
		    NW_OK);
	}
}

static struct nw_provider_stats
stats_of(const struct nw_provider *p)
{
	struct nw_provider_stats s;

	nw_provider_get_stats(p, &s);
	return s;
}

#define DRIVE(p, b, ms, done)                                             \
	do {                                                              \
		int64_t end_ = nw_mono_ns() + (ms)*MS * check_patience(); \
		while (!(done) && nw_mono_ns() < end_) {                  \
			CHECK_INT(nw_provider_run(p, MS), NW_OK);         \
			fakebox_step(b);                                  \
		}                                                         \
		CHECK(done);                                              \
	} while (0)

/* What arrived are the values first, first + 1, ..., last. */
static void
check_arrived(const struct fakebox *b, double first, double last)
{
	size_t i, wrong = 0;

	CHECK_INT(b->n_arrived, (size_t)(last - first) + 1);
	for (i = 0; i < b->n_arrived; i++)
		wrong += b->arrived[i] != first + (double)i;
	CHECK_INT(wrong, 0);
}

/* --- tests --- */

/* An hour of one document a second, 64 KiB of memory, nobody there; then the box is back. */
static void
test_hour(void)
{
	struct nw_provider_stats s;
	struct nw_provider *p;
	struct fakebox b;
	char address[32];
	int i;

	directory_make();
	next_value = 0;
	fakebox_start(&b);
	b.commit_each = true;
	snprintf(address, sizeof(address), "%s", b.addr);
	close(b.listen_fd);
	p = provider_start(address, 64 << 10, 0, 0);
	for (i = 0; i < 3600; i++) {
		add_docs(p, 1);
		CHECK_INT(nw_provider_run(p, 0), NW_OK);
		clock_ahead_ns += SECOND;
	}
	s = stats_of(p);
	CHECK_INT(s.docs_queued, 3600);
	CHECK_INT(s.docs_dropped, 0);
	CHECK(s.queue_bytes <= 64 << 10 && s.spool_bytes > 3600 * 60);
	CHECK(s.connect_failures > 100 && s.connect_failures < 300); /* about every 30 s */
	b.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	{
		struct sockaddr_in sin = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
			.sin_port = htons(b.port) };
		int one = 1;

		setsockopt(b.listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		CHECK_INT(bind(b.listen_fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
		CHECK_INT(listen(b.listen_fd, 8), 0);
	}
	clock_ahead_ns += 40 * SECOND;
	DRIVE(p, &b, 5000, stats_of(p).docs_stored == 3600);
	check_arrived(&b, 1, 3600);
	CHECK_INT(b.lost, 0);
	CHECK_INT(stats_of(p).spool_bytes, 0);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
	directory_remove();
}

/* A provider that ends without having been heard leaves everything to the next one, under one
 * id. */
static void
test_close(void)
{
	struct nw_provider *p;
	struct fakebox b;
	char id[64];

	directory_make();
	next_value = 0;
	fakebox_start(&b);
	p = provider_start(b.addr, 0, 0, 0);
	add_docs(p, 30);
	DRIVE(p, &b, 2000, b.n_arrived == 30);
	fakebox_commit(&b, b.received - 20);
	DRIVE(p, &b, 2000, stats_of(p).docs_stored == 10);
	b.stored = b.received - 15; /* five more, which nobody heard */
	snprintf(id, sizeof(id), "%s", b.provider);
	fakebox_hang_up(&b);
	add_docs(p, 30);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);

	p = provider_start(b.addr, 0, 0, 0);
	CHECK_INT(stats_of(p).docs_queued, 50);
	add_docs(p, 40);
	b.commit_each = true;
	DRIVE(p, &b, 3000, b.n_arrived == 100 && stats_of(p).docs_stored == 90);
	check_arrived(&b, 1, 100);
	CHECK_STR(b.provider, id);
	CHECK_INT(b.orphans, 0);
	CHECK_INT(b.lost, 0);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
	directory_remove();
}

/* kill -9, twice, with numbers in use that the directory knows nothing of. */
static void
test_killed(void)
{
	struct nw_provider *p;
	struct fakebox b;
	size_t each, i, wrong = 0;
	pid_t pid;
	int life, status;

	directory_make();
	fakebox_start(&b);
	b.commit_each = true;
	for (life = 0; life < 2; life++) {
		next_value = life * 1000;
		if ((pid = fork()) == 0) {
			close(b.listen_fd);
			p = provider_start("127.0.0.1/1", 64 << 10, 0, 0);
			add_docs(p, 900);
			clock_ahead_ns += 3 * SECOND;
			nw_provider_run(p, 0); /* it is all in the directory by now */
			add_docs(p, 7);        /* of these the last is not */
			raise(SIGKILL);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	}
	next_value = 2000;
	p = provider_start(b.addr, 64 << 10, 0, 0);
	each = (size_t)stats_of(p).docs_queued / 2;
	CHECK(each >= 900 && each < 907);
	add_docs(p, 10);
	DRIVE(p, &b, 3000, b.n_arrived == 2 * each + 10);
	for (i = 0; i < each; i++)
		wrong += b.arrived[i] != (double)i + 1 || b.arrived[each + i] != (double)i + 1001;
	CHECK_INT(wrong, 0);
	CHECK(b.arrived[2 * each] == 2001 && b.arrived[2 * each + 9] == 2010);
	CHECK_INT(b.orphans, 0);
	CHECK_INT(b.lost, 0);
	DRIVE(p, &b, 2000, stats_of(p).docs_stored == 2 * each + 10);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
	directory_remove();
}

/* The provider and the box are killed within two seconds: nothing is in a file, and the box forgets
 * what it had not stored. The next life tells which numbers were given, once. */
static void
test_killed_both(void)
{
	struct nw_provider_opts here = {
		.software = "test", .host = "dtn1", .task_id = "both", .spool_dir = dir
	};
	struct nw_provider *p = NULL;
	struct fakebox b;
	int64_t end;
	pid_t pid;

	directory_make();
	next_value = 0;
	fakebox_start(&b);
	here.box = b.addr;
	if ((pid = fork()) == 0) {
		close(b.listen_fd);
		if (nw_provider_new(&here, &p) < 0)
			_exit(1);
		nw_provider_meta(p, "m1", NULL, "test:event", NULL, 0, NULL, 0);
		add_docs(p, 50);
		for (;;)
			nw_provider_run(p, 10 * MS);
	}
	for (end = nw_mono_ns() + 20 * SECOND * check_patience();
	     b.n_arrived < 50 && nw_mono_ns() < end;)
		fakebox_step(&b);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(b.n_arrived, 50);
	fakebox_hang_up(&b);
	b.received = b.stored = (UINT64_C(1) << 40) + 20;
	b.losses = b.commit_each = true;

	CHECK_INT(nw_provider_new(&here, &p), NW_OK);
	CHECK_INT(stats_of(p).docs_queued, 0);
	nw_provider_meta(p, "m1", NULL, "test:event", NULL, 0, NULL, 0);
	add_docs(p, 5);
	DRIVE(p, &b, 5000, stats_of(p).docs_stored == 5);
	CHECK_INT(b.n_arrived, 55);
	CHECK_INT(b.died, 30);
	CHECK_INT(b.lost, 0);
	CHECK_STR(b.died_task_id, "both");
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	CHECK_INT(nw_provider_new(&here, &p), NW_OK);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	CHECK_INT(b.died, 30);
	fakebox_stop(&b);
	directory_remove();
}

/* More than there is room for: the oldest go, and the box is told how many, also by the next
 * life. */
static void
test_limits(void)
{
	struct nw_provider_stats s;
	struct nw_provider *p;
	struct fakebox b;
	uint64_t dropped;

	directory_make();
	next_value = 0;
	fakebox_start(&b);
	b.commit_each = true;
	p = provider_start("127.0.0.1/1", 64 << 10, 128 << 10, 0);
	add_docs(p, 3000);
	dropped = stats_of(p).docs_dropped;
	CHECK(dropped > 1000 && dropped < 2500);
	CHECK(stats_of(p).spool_bytes <= 150 << 10);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
	p = provider_start(b.addr, 64 << 10, 128 << 10, 0);
	s = stats_of(p);
	DRIVE(p, &b, 3000, s.docs_queued > 0 && b.n_arrived == s.docs_queued);
	CHECK_INT(b.n_arrived + b.lost, 3000);
	CHECK(b.arrived[b.n_arrived - 1] == 3000);
	check_arrived(&b, 3000 - (double)b.n_arrived + 1, 3000);
	add_docs(p, 5);
	DRIVE(p, &b, 1000, b.arrived[b.n_arrived - 1] == 3005);
	fakebox_hang_up(&b); /* it knows: the same loss is not told again */
	DRIVE(p, &b, 3000, stats_of(p).connected);
	CHECK_INT(b.lost, 0);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
	directory_remove();
}

static void
test_age(void)
{
	struct nw_provider *p;
	struct fakebox b;

	directory_make();
	next_value = 0;
	fakebox_start(&b);
	b.commit_each = true;
	p = provider_start("127.0.0.1/1", 64 << 10, 1 << 20, 60 * SECOND);
	add_docs(p, 100);
	clock_ahead_ns += 5 * SECOND;
	CHECK_INT(nw_provider_run(p, 0), NW_OK);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
	clock_ahead_ns += 57 * SECOND; /* another file: what is in the first is too old now */
	p = provider_start(b.addr, 64 << 10, 1 << 20, 60 * SECOND);
	add_docs(p, 10);
	DRIVE(p, &b, 2000, b.n_arrived == 10);
	check_arrived(&b, 101, 110);
	CHECK_INT(b.lost, 100);
	CHECK_INT(stats_of(p).docs_dropped, 100);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
	fakebox_stop(&b);
	directory_remove();
}

/* A directory that somebody has, or that cannot be: said at once. One below NARROWS_SPOOL is found
 * or done without. */
static void
test_places(void)
{
	struct nw_provider_opts opts = {
		.box = "127.0.0.1/1", .software = "nw/run", .task_id = "../x y", .spool_dir = dir
	};
	struct nw_provider *p = NULL, *q = NULL;
	char path[128];

	directory_make();
	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	CHECK_INT(nw_provider_new(&opts, &q), NW_ECONFLICT);
	nw_provider_close(p, 0);
	opts.spool_dir = "/proc/none/such";
	CHECK_INT(nw_provider_new(&opts, &q), NW_EIO);
	opts.spool_dir = NULL;
	setenv("NARROWS_SPOOL", dir, 1);
	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	CHECK_INT(nw_provider_new(&opts, &q), NW_OK);
	CHECK(stats_of(p).spooled && stats_of(q).spooled);
	snprintf(path, sizeof(path), "%s/nw_run-___x_y", dir);
	CHECK_INT(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/nw_run-___x_y.2", dir);
	CHECK_INT(access(path, F_OK), 0);
	nw_provider_close(p, 0);
	nw_provider_close(q, 0);
	setenv("NARROWS_SPOOL", "/proc/none", 1);
	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	CHECK(!stats_of(p).spooled);
	nw_provider_close(p, 0);
	unsetenv("NARROWS_SPOOL");
	directory_remove();
}

/* The disk is full, which is to say gone: memory goes on alone, and counts. */
static void
test_no_disk(void)
{
	struct nw_provider *p;
	char path[128];

	directory_make();
	next_value = 0;
	p = provider_start("127.0.0.1/1", 64 << 10, 0, 0);
	snprintf(path, sizeof(path), "%s.gone", dir);
	CHECK_INT(rename(dir, path), 0);
	snprintf(path, sizeof(path), "rm -rf '%s.gone'", dir);
	CHECK_INT(system(path), 0);
	add_docs(p, 3000);
	CHECK(stats_of(p).docs_dropped > 1000 && stats_of(p).queue_bytes <= 64 << 10);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
}

/* Rows leave packed to a box that can, as lists to one that cannot, and to an original without
 * numbers. */
static void
test_rows(void)
{
	static const char *const fields[] = { "v", "w" };
	static double values[2 * 1000];
	static int64_t times[1000];
	struct nw_provider *p;
	struct fakebox b;
	int kind, i;

	for (i = 0; i < 1000; i++) {
		times[i] = 1700000000 * SECOND + i * 10 * MS;
		values[2 * i] = i + 1;
		values[2 * i + 1] = 0.5;
	}
	for (kind = 0; kind < 3; kind++) {
		directory_make();
		fakebox_start(&b);
		b.commit_each = true;
		b.batches = kind == 0;
		b.original = kind == 2;
		p = provider_start(b.addr, 0, 0, 0);
		CHECK_INT(nw_provider_rows(p, "m1", fields, 2, 1000, times, values), NW_OK);
		DRIVE(p, &b, 4000, b.n_arrived == 1000);
		check_arrived(&b, 1, 1000);
		CHECK(b.docs >= 2 && b.docs < 10);
		CHECK_INT(b.packed, kind == 0 ? b.docs : 0);
		CHECK_INT(nw_provider_rows(p, "m1", fields, 2, 1, times, values), NW_OK);
		CHECK_INT(nw_provider_rows(p, "", fields, 2, 1, times, values), NW_EINVAL);
		DRIVE(p, &b, 1000, b.n_arrived == 1001);
		DRIVE(p, &b, 1000, stats_of(p).queue_bytes == 0);
		CHECK_INT(nw_provider_close(p, 0), NW_OK);
		fakebox_stop(&b);
		directory_remove();
	}
}

/* What is held for a report is gathered by series; nothing is lost at a change of fields, of
 * metadata, at the end. */
static void
test_row_buffer(void)
{
	static const char *const one[] = { "v" }, *const two[] = { "v", "w" };
	static const double values[2] = { 7, 8 };
	const struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "host" } } };
	struct nw_provider *p;
	struct fakebox b;
	int i;

	directory_make();
	next_value = 0;
	fakebox_start(&b);
	b.commit_each = b.batches = true;
	p = provider_start(b.addr, 0, 0, 0);
	nw_provider_hold(p, true);
	add_docs(p, 200); /* three full ones, and eight rows */
	for (i = 0; i < 3; i++)
		CHECK_INT(nw_provider_data(p, "m2", i, one, values, 1, NULL, 0), NW_OK);
	CHECK_INT(nw_provider_data(p, "m2", i, two, values, 2, NULL, 0), NW_OK);
	CHECK_INT(stats_of(p).docs_queued, 3 + 1);
	nw_provider_hold(p, false);
	CHECK_INT(stats_of(p).docs_queued, 3 + 1 + 2);
	DRIVE(p, &b, 2000, b.n_arrived == 204);
	CHECK_INT(b.packed, 5);
	nw_provider_hold(p, true);
	add_docs(p, 2);
	nw_provider_meta_end(p, "m1");
	CHECK_INT(stats_of(p).docs_queued, 7);
	CHECK_INT(nw_provider_meta(p, "m1", NULL, "test:event", subject, 1, NULL, 0), NW_OK);
	add_docs(p, 2);
	CHECK_INT(stats_of(p).docs_queued, 7);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
	p = provider_start(b.addr, 0, 0, 0);
	DRIVE(p, &b, 2000, b.n_arrived == 208);
	CHECK(b.arrived[207] == 204);
	DRIVE(p, &b, 1000, stats_of(p).queue_bytes == 0 && stats_of(p).spool_bytes == 0);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
	directory_remove();
}

int
main(void)
{
	test_hour();
	test_close();
	test_killed();
	test_killed_both();
	test_limits();
	test_age();
	test_places();
	test_no_disk();
	test_rows();
	test_row_buffer();
	return check_done("spool");
}
