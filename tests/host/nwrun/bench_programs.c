/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nwrun adds to whole programs, in processor time, as pairs in turns: 300 short processes, tar
 * and rsync of 3,000 small files in memory, dd from /dev/zero to /dev/null. The program's own time
 * and that of its children count; the collector's, which runs beside, is printed by itself.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 15, FILES = 3000, FOLDERS = 30, PATH_BYTES = 64 };

static const struct {
	const char *name, *needs, *command[4];
} programs[] = {
	{ "300 short processes", "/bin/true",
	    { "sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; exit 0" } },
	{ "tar, 3,000 files", "/bin/tar", { "sh", "-c", "exec tar cf all.tar from" } },
	{ "rsync, 3,000 files", "/usr/bin/rsync",
	    { "sh", "-c", "rm -rf to; exec rsync -a from/ to/" } },
	{ "dd, 4 kB", "/bin/dd",
	    { "sh", "-c", "exec dd if=/dev/zero of=/dev/null bs=4k count=400000 2>/dev/null" } },
};

static char nwrun[PATH_MAX], folder[] = "/dev/shm/bench_programs.XXXXXX";

static double
seconds(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	    (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e-6;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *x)
{
	qsort(x, ROUNDS, sizeof(*x), compare);
	return x[ROUNDS / 2];
}

static bool
make_files(void)
{
	char path[PATH_BYTES], block[8192] = { 1 };
	int i, fd;

	if (mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("from", 0700) != 0)
		return false;
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "from/%d", i % FOLDERS);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "from/%d/%d", i % FOLDERS, i);
		if ((fd = open(path, O_WRONLY | O_CREAT, 0600)) < 0 ||
		    write(fd, block, 100 + (size_t)i * 7 % 7000) < 0)
			return false;
		close(fd);
	}
	return true;
}

/* Processor seconds of a run. */
static double
run(const char *const command[4], bool measured)
{
	const char *argv[] = { nwrun, "-q", command[0], command[1], command[2], NULL };
	const char *const *from = measured ? argv : argv + 2;
	struct rusage u;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(from[0], (char *const *)from);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &u) != pid || status != 0) {
		fprintf(stderr, "%s: status %d\n", command[2], status);
		exit(1);
	}
	return seconds(&u);
}

/* Processor seconds of the collectors, which become this process's children. */
static double
collectors_end(void)
{
	struct rusage u;
	double sum = 0;

	while (wait4(-1, NULL, 0, &u) > 0)
		sum += seconds(&u);
	return sum;
}

static void
measure(size_t which)
{
	double own[2][ROUNDS], bare, with;
	int round, k, measured;

	for (round = 0; round < ROUNDS; round++)
		for (k = 0; k < 2; k++) {
			measured = k ^ (round & 1);
			own[measured][round] = run(programs[which].command, measured != 0);
		}
	bare = median(own[0]);
	with = median(own[1]);
	printf("%-20s %8.1f %8.1f %7.1f %% %10.1f\n", programs[which].name, bare * 1e3, with * 1e3,
	    100 * (with / bare - 1), collectors_end() / ROUNDS * 1e3);
	fflush(stdout);
}

int
main(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	if (n <= 0 || !make_files())
		return 1;
	self[n] = '\0';
	snprintf(nwrun, sizeof(nwrun), "%.*s/../../../bin/nwrun", (int)(strrchr(self, '/') - self),
	    self);
	setenv("NARROWS_BOX", "127.0.0.1/1", 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	printf("%-20s %8s %8s %9s %10s\n", "processor ms", "bare", "nwrun", "added", "collector");
	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (access(programs[i].needs, X_OK) == 0)
			measure(i);
	return chdir("/") != 0 || execlp("rm", "rm", "-rf", folder, NULL);
}
