/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/lastrun.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static char dir[] = "/tmp/test_lastrun.XXXXXX";

static void
test_round_trip(void)
{
	struct lastrun r = { .start_wall_ns = INT64_C(1795162331250000000), .pid = 4711 }, got;

	lastrun_text(r.task, "a task");
	lastrun_text(r.box, "tls://box.example.net");
	CHECK_INT(lastrun_read(&got), NW_ENOTFOUND);
	CHECK_INT(lastrun_write(&r), NW_OK);
	CHECK_INT(lastrun_read(&got), NW_OK);
	CHECK_INT(got.start_wall_ns, r.start_wall_ns);
	CHECK_INT(got.pid, 4711);
	CHECK_STR(got.task, "a task");
	CHECK_STR(got.box, "tls://box.example.net");
	CHECK_STR(got.why, "");
}

/* Only the run of the record fails; text of others adds no line. */
static void
test_fail(void)
{
	struct lastrun got;

	CHECK_INT(lastrun_fail("another task", "too late"), NW_OK);
	CHECK(lastrun_read(&got) == NW_OK && got.why[0] == '\0');
	CHECK_INT(lastrun_fail("a task", "nobody listens\ntask other"), NW_OK);
	CHECK_INT(lastrun_read(&got), NW_OK);
	CHECK_STR(got.task, "a task");
	CHECK_STR(got.why, "nobody listens?task other");
}

static void
test_long(void)
{
	char longest[1000];
	struct lastrun r = { .start_wall_ns = 1 }, got;

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	lastrun_text(r.task, longest);
	lastrun_text(r.box, longest);
	lastrun_text(r.why, longest);
	CHECK_INT(strlen(r.task), LASTRUN_TEXT_BYTES - 1);
	CHECK_INT(lastrun_write(&r), NW_OK);
	CHECK_INT(lastrun_read(&got), NW_OK);
	CHECK_STR(got.why, r.why);
}

/* A run to another box leaves the record of a run to this box as it is. */
static void
test_boxes(void)
{
	struct lastrun r = { .start_wall_ns = 5, .task = "mine", .box = "127.0.0.1/5006" },
		       all[LASTRUN_BOXES];
	int i;

	CHECK_INT(lastrun_write(&r), NW_OK);
	for (i = 0; i < 3; i++) {
		r.start_wall_ns = 10 + i;
		snprintf(r.task, sizeof(r.task), "theirs %d", i);
		snprintf(r.box, sizeof(r.box), "192.0.2.%d", 1 + i / 2);
		CHECK_INT(lastrun_write(&r), NW_OK);
	}
	CHECK(lastrun_read_all(all) >= 3);
	CHECK_STR(all[0].task, "theirs 2");
	CHECK_STR(all[1].task, "theirs 1");
	CHECK_STR(all[2].task, "mine");
	CHECK_INT(all[2].start_wall_ns, 5);
	CHECK_INT(lastrun_fail("mine", "too late"), NW_OK);
	CHECK_INT(lastrun_read_all(all) >= 3, 1);
	CHECK_STR(all[2].why, "too late");
	CHECK_STR(all[0].why, "");
	for (i = 0; i < 2 * LASTRUN_BOXES; i++) {
		snprintf(r.box, sizeof(r.box), "198.51.100.%d", i);
		CHECK_INT(lastrun_write(&r), NW_OK);
	}
	CHECK_INT(lastrun_read_all(all), LASTRUN_BOXES);
	CHECK_STR(all[LASTRUN_BOXES - 1].box, "198.51.100.8");
}

static void
test_no_place(void)
{
	struct lastrun r = { .start_wall_ns = 1, .task = "t" };

	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	CHECK_INT(lastrun_write(&r), NW_ENOTFOUND);
	CHECK_INT(lastrun_read(&r), NW_ENOTFOUND);
}

int
main(void)
{
	char command[100];

	if (mkdtemp(dir) == NULL)
		return 1;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	test_round_trip();
	test_fail();
	test_long();
	test_boxes();
	test_no_place();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("lastrun");
}
