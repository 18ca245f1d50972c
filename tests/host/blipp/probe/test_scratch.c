/* SPDX-License-Identifier: BSD-3-Clause */
/* The file system of a scratch directory is measured within bounds, and nothing stays. */
#include "host/blipp/probe/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "tests/check.h"

enum { SIZE = 8 << 20 };

static char dir[] = "/tmp/test_scratch.XXXXXX";

static size_t
names_count(void)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

static void
test_bounds(void)
{
	struct scratch_result m;
	int64_t begin_ns;
	size_t names = names_count();

	CHECK_INT(scratch_measure(dir, SIZE, INT64_C(10000000000), &m), NW_OK);
	CHECK_INT(m.written_bytes, SIZE);
	CHECK(m.write_ns > 0);
	CHECK(m.read_bytes == 0 || (m.read_bytes == SIZE && m.read_ns > 0));
	CHECK_INT(names_count(), names);
	/* without time only the block on its way is written */
	CHECK_INT(scratch_measure(dir, SIZE, 2, &m), NW_OK);
	CHECK(m.written_bytes <= SCRATCH_BLOCK_BYTES);
	/* half of a block is no block */
	CHECK_INT(scratch_measure(dir, SCRATCH_BLOCK_BYTES / 2, INT64_C(1000000000), &m), NW_OK);
	CHECK_INT(m.written_bytes, 0);
	/* more than there is room for */
	begin_ns = nw_mono_ns();
	CHECK_INT(scratch_measure(dir, UINT64_MAX / 4, INT64_C(10000000000), &m), NW_EFULL);
	CHECK_INT(m.written_bytes, 0);
	CHECK(nw_mono_ns() - begin_ns < INT64_C(5000000000));
}

/* Pages of a file system in memory say nothing of a device. */
static void
test_memory(void)
{
	struct scratch_result m;
	int rc = scratch_measure("/dev/shm", SIZE, INT64_C(4000000000), &m);

	CHECK(rc == NW_EIO || rc == NW_EFULL || m.read_bytes == 0);
}

static void
test_no_directory(void)
{
	struct scratch_result m;
	char file[64];

	CHECK_INT(scratch_measure("/nowhere/at/all", SIZE, 1000000000, &m), NW_EIO);
	/* an existing file is no directory, and stays as it is */
	snprintf(file, sizeof(file), "%s/file", dir);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	CHECK_INT(scratch_measure(file, SIZE, 1000000000, &m), NW_EIO);
	CHECK(access(file, F_OK) == 0);
	unlink(file);
}

/* A killed measurement leaves nothing. */
static void
test_killed(void)
{
	const struct timespec pause = { 0, 20000000 };
	struct scratch_result m;
	size_t names = names_count();
	pid_t child = fork();

	if (child == 0)
		_exit(scratch_measure(dir, UINT64_C(64) * SIZE, INT64_C(60000000000), &m) != NW_OK);
	nanosleep(&pause, NULL);
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	CHECK_INT(names_count(), names);
}

int
main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	test_bounds();
	test_memory();
	test_killed();
	test_no_directory();
	rmdir(dir);
	return check_done("test_scratch");
}
