/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared file: its rights and its limits, and the leftovers of killed collectors. */
#include "host/nwrun/collect/region.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static bool
exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void
test_file(void)
{
	struct region r;
	struct stat st;
	struct nwshm *s;

	CHECK(region_new(&r) == NULL && stat(r.path, &st) == 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK(st.st_blocks * 512 < 2 << 20); /* the threads' part is not there yet */
	CHECK_INT(r.bytes, NWSHM_BYTES);
	CHECK((s = region_map(&r)) != NULL && s->magic == NWSHM_MAGIC &&
	    s->base_mono_ns == r.base_mono_ns);
	s->thread[NWSHM_THREADS - 1].inflight = 1; /* the last slot has a place */
	/* the slots that are called ready have memory, and few have where the system can make
	 * pages later */
	CHECK(s->procs_ready > 0 && s->threads_ready > 0 && s->objects_ready > NWSHM_OBJECTS_FIXED);
	CHECK(s->procs_ready == NWSHM_PROCS || st.st_blocks * 512 <= 16 * NWSHM_PAGE);
	CHECK(region_fill(&r) && stat(r.path, &st) == 0 &&
	    st.st_blocks * 512 >= (off_t)NWSHM_FIXED_BYTES);
	CHECK(s->procs_ready == NWSHM_PROCS && s->threads_ready == NWSHM_THREADS &&
	    s->objects_ready == NWSHM_OBJECTS);
	region_unmap(&r, s);
	region_free(&r);
	CHECK(!exists(r.path));
}

static void
test_limit(void)
{
	struct rlimit old, small;
	struct region r;

	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 4096, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small); /* would be SIGXFSZ, not an error */
	CHECK(region_new(&r) != NULL);
	small.rlim_cur = NWSHM_FIRST_BYTES;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK(region_new(&r) == NULL);
	CHECK_INT(r.bytes, NWSHM_FIRST_BYTES);
	setrlimit(RLIMIT_FSIZE, &old);
	region_free(&r);
}

/* A collector that is killed leaves its file to the next run; a living one keeps it. */
static void
test_leftovers(void)
{
	char path[2][REGION_PATH_BYTES];
	int fds[2], status, i;
	struct region r;
	pid_t pid[2];

	for (i = 0; i < 2; i++) {
		CHECK(pipe(fds) == 0);
		if ((pid[i] = fork()) == 0) {
			if (region_new(&r) != NULL ||
			    write(fds[1], r.path, sizeof(r.path)) != sizeof(r.path))
				_exit(1);
			pause();
		}
		CHECK(read(fds[0], path[i], sizeof(path[i])) == sizeof(path[i]));
		close(fds[0]);
		close(fds[1]);
	}
	CHECK(kill(pid[0], SIGKILL) == 0 && waitpid(pid[0], &status, 0) == pid[0]);
	CHECK(exists(path[0]) && exists(path[1]));
	CHECK(region_new(&r) == NULL);
	CHECK(!exists(path[0]) && exists(path[1]) && exists(r.path));
	region_free(&r);
	CHECK(kill(pid[1], SIGKILL) == 0 && waitpid(pid[1], &status, 0) == pid[1]);
	unlink(path[1]);
}

/* Somebody's own file with such a name is not a region. */
static void
test_other_files(void)
{
	static const char path[] = "/dev/shm/nwrun.mynote";
	static const char text[] = "not a region";
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct region r;

	CHECK(fd >= 0 && write(fd, text, sizeof(text)) == sizeof(text));
	close(fd);
	CHECK(region_new(&r) == NULL && exists(path));
	region_free(&r);
	unlink(path);
}

int
main(void)
{
	test_file();
	test_limit();
	test_leftovers();
	test_other_files();
	return check_done("region");
}
