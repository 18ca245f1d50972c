/* SPDX-License-Identifier: BSD-3-Clause */
/* Which session has the evidence of a recorded change, and which changes are no evidence. */
#include "analyze/verdict/usual/suspicion.h"

#include "narrows/cause.h"
#include "tests/filled.h"

enum { SESSIONS = 20, FROM = 1, TO = 2, OTHER = 3 };
#define HOUR_NS (INT64_C(3600) * 1000000000)
static const int64_t T0 = INT64_C(1700000000) * 1000000000;

static const char RMEM[] = "sysctl.net.ipv4.tcp_rmem", LARGE[] = "4096 131072 33554432",
		  SMALL[] = "4096 4096 65536";

/* A session an hour, each of 100 s. */
static const struct {
	int64_t host, at_s; /* after the first session's begin */
	const char *name, *value;
} lines[] = {
	{ FROM, -7200, RMEM, LARGE },
	{ FROM, 5 * 3600 - 60, RMEM, SMALL },     /* before session 5 */
	{ FROM, 9 * 3600 + 50, RMEM, LARGE },     /* to faster, while session 9 runs */
	{ FROM, 12 * 3600 + 500, RMEM, SMALL },   /* once more, before session 13 */
	{ TO, 3 * 3600, "net.e0.qdisc", "tbf" },  /* a first report */
	{ TO, -7200, "sysctl.fs.nr_open", "10" }, /* without any effect */
	{ TO, 7 * 3600 - 60, "sysctl.fs.nr_open", "11" },
	{ TO, -7200, "mount./data.options", "rw" },
	{ TO, 15 * 3600 - 60, "mount./data.options", "rw,sync" },
	{ TO, 20 * 3600, "mount./data.options", "rw,dirsync" }, /* after all sessions */
	{ OTHER, -7200, "cgroup.cpu.max", "max 100000" },       /* a host of other routes */
	{ OTHER, 16 * 3600 - 60, "cgroup.cpu.max", "1000 100000" },
	/* a new kernel with its boot, a link's speed and a program are settings, too */
	{ FROM, -7200, "kernel.release", "6.1.0-17" },
	{ FROM, -7200, "kernel.boot_id", "a1" },
	{ FROM, 17 * 3600 - 60, "kernel.release", "6.1.0-18" },
	{ FROM, 17 * 3600 - 60, "kernel.boot_id", "b2" },
	{ FROM, -7200, "net.e0.speed_mbit_s", "10000" },
	{ FROM, 18 * 3600 - 60, "net.e0.speed_mbit_s", "1000" },
	{ FROM, -7200, "program.rsync.build", "0a1b" },
	{ FROM, 19 * 3600 - 60, "program.rsync.build", "2c3d" },
	{ OTHER, -5 * 86400, "mount./data.options", "rw" }, /* two moves without effect there */
	{ OTHER, -4 * 86400, "mount./data.options", "rw,sync" },
	{ OTHER, -3 * 86400, "mount./data.options", "rw" },
	/* of the day before the change on TO, and of the same day: no third */
	{ OTHER, -6 * 3600, "mount./data.options", "ro" },
	{ OTHER, 14 * 3600, "mount./data.options", "rw,sync" },
};

static void
store_fill(struct store *st)
{
	static const char *const hosts[] = { "a", "b", "c" };
	struct nw_batch *b = nw_batch_new();
	size_t i;

	for (i = 0; i < 3; i++)
		CHECK_INT(nw_batch_host(
			      b, &(struct nw_host_rec){ .id = (int64_t)i + 1, .name = hosts[i] }),
		    NW_OK);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK_INT(nw_batch_setting(b,
			      &(struct nw_setting_rec){ .host_id = lines[i].host,
				  .t_wall_ns = T0 + lines[i].at_s * 1000000000,
				  .name = lines[i].name,
				  .value = lines[i].value }),
		    NW_OK);
	filled_commit(st, b);
}

static void
sessions_make(struct past_session *s)
{
	size_t i;

	for (i = 0; i < SESSIONS; i++)
		s[i] = (struct past_session){ .id = (int64_t)i + 1,
			.start_wall_ns = T0 + (int64_t)i * HOUR_NS,
			.bytes_per_s = 1e8,
			.bytes = 1e10 };
}

static void
route_check(struct store_reader *r, const char *route, const double *wanted)
{
	struct past_session s[SESSIONS];
	size_t i;

	sessions_make(s);
	CHECK_INT(suspicion_fill(r, route, s, SESSIONS), NW_OK);
	for (i = 0; i < SESSIONS; i++)
		CHECK_NEAR(s[i].suspicion, wanted != NULL ? wanted[i] : 0, 1e-9, 1e-9);
}

int
main(void)
{
	const double first = nw_change_chance(RMEM, LARGE, SMALL, 0),
		     back = nw_change_chance(RMEM, SMALL, LARGE, 1),
		     again = nw_change_chance(RMEM, LARGE, SMALL, 2),
		     mount = nw_change_chance("mount./data.options", "rw", "rw,sync", 2);
	const double kernel = nw_change_chance("kernel.release", "6.1.0-17", "6.1.0-18", 0) +
	    nw_change_chance("kernel.boot_id", "a1", "b2", 0),
		     speed = nw_change_chance("net.e0.speed_mbit_s", "10000", "1000", 0),
		     program = nw_change_chance("program.rsync.build", "0a1b", "2c3d", 0);
	const double to = first + back + again, both = to + mount;
	const double wanted[SESSIONS] = { [5] = nw_change_log_odds(first, 0),
		[9] = nw_change_log_odds(back, first),
		[13] = nw_change_log_odds(again, first + back),
		[15] = nw_change_log_odds(mount, to),
		[17] = nw_change_log_odds(kernel, both),
		[18] = nw_change_log_odds(speed, both + kernel),
		[19] = nw_change_log_odds(program, both + kernel + speed) };
	struct store *st = filled_open(NULL);
	struct store_reader *r;
	char why[STORE_WHY_BYTES];

	CHECK(first > 0.3 && first < 1 && again < first && mount > 0.2);
	CHECK(wanted[9] < 0.5 * wanted[5] && wanted[5] > 2);
	CHECK_NEAR(nw_change_log_odds(0, 0), 0, 0, 1e-12);
	CHECK(nw_change_log_odds(0.4, 1) < nw_change_log_odds(0.4, 0) - 0.5);
	CHECK(mount < nw_change_chance("mount./data.options", "rw", "rw,sync", 0));
	store_fill(st);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	route_check(r, "a -> b", wanted);
	route_check(r, "a -> unknown",
	    (double[SESSIONS]){ [5] = wanted[5],
		[9] = wanted[9],
		[13] = wanted[13],
		[17] = nw_change_log_odds(kernel, to),
		[18] = nw_change_log_odds(speed, to + kernel),
		[19] = nw_change_log_odds(program, to + kernel + speed) });
	route_check(r, "a (local)", NULL);
	route_check(r, NULL, NULL);
	CHECK_INT(suspicion_fill(r, "a -> b", NULL, 0), NW_OK);
	store_reader_end(r);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_suspicion");
}
