/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that writes anything into the memory it shares with the collector, or takes the memory
 * away: the collector reports all the same and leaves nothing behind; the program's end is its own.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nwrun/preload/nwshm.h"
#include "tests/check.h"

enum { ROUNDS = 8, STATUS = 12 };

/* --- the program --- */

/* Past nwrun.so, which the damage may have reached. */
static void
leave(void)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(STATUS) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_exit_group;
	register long x0 __asm__("x0") = STATUS;

	__asm__ volatile("svc 0" : : "r"(x8), "r"(x0) : "memory");
#endif
	__builtin_unreachable();
}

/* The map of the region in this process. */
static uint8_t *
find_region(char path[PATH_MAX])
{
	unsigned long from, to;
	char line[PATH_MAX + 128];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx rw-s %*s %*s %*s %s", &from, &to, path) == 3 &&
		    strstr(path, "/nwrun.") != NULL)
			return (uint8_t *)from;
	return NULL;
}

static void
wait_ns(int64_t ns)
{
	int64_t end_mono_ns = nw_mono_ns() + ns;

	while (nw_mono_ns() < end_mono_ns)
		continue;
}

/* Chance in single words of the tables, or everywhere; the last round cuts the file. */
static int
wreck(unsigned round)
{
	char path[PATH_MAX], buf[64];
	uint8_t *at = find_region(path);
	size_t i, words = sizeof(struct nwshm) / 4, n = round % 2 == 0 ? 2000 : words;
	int fd = open("/etc/passwd", O_RDONLY), k, where;
	uint32_t value;

	if (at == NULL || fd < 0 || read(fd, buf, sizeof(buf)) <= 0)
		return 1;
	wait_ns(150 * 1000000);
	srandom(round + 1);
	if (round == ROUNDS - 1 && truncate(path, 4096) != 0)
		return 2;
	for (k = 0; k < 3 && round != ROUNDS - 1; k++) {
		for (i = 0; i < n; i++) {
			where = (int)((size_t)random() % words);
			value = round % 4 < 2 ? (uint32_t)random() << 1 : (uint32_t)random() % 600;
			memcpy(at + 4 * (size_t)where, &value, 4);
		}
		wait_ns(120 * 1000000);
	}
	leave();
	return 3;
}

/* --- the audience --- */

static unsigned
count_regions(void)
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		n += strncmp(e->d_name, "nwrun.", 6) == 0;
	if (d != NULL)
		closedir(d);
	return n;
}

static bool
wait_for_report(char *text, size_t cap)
{
	size_t n = 0;
	FILE *f;
	int i;

	for (i = 0; i < 600 * check_patience(); i++) {
		if ((f = fopen("report", "r")) != NULL) {
			n = fread(text, 1, cap - 1, f);
			fclose(f);
			text[n] = '\0';
			return true;
		}
		usleep(50000);
	}
	return false;
}

static void
perform(const char *self, const char *nwrun, unsigned round)
{
	char number[16], report[65536];
	int status;
	pid_t pid;

	snprintf(number, sizeof(number), "%u", round);
	unlink("report");
	if ((pid = fork()) == 0) {
		execl(nwrun, nwrun, "-q", self, "wreck", number, NULL);
		_exit(96);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), STATUS);
	CHECK(wait_for_report(report, sizeof(report)));
	CHECK(strstr(report, "run docs_queued=") != NULL);
	if (round == ROUNDS - 1)
		CHECK(strstr(report, " damaged=1") != NULL);
}

int
main(int argc, char *argv[])
{
	char self[PATH_MAX], nwrun[PATH_MAX + 32], dir[] = "/tmp/test_wreck.XXXXXX", command[64];
	unsigned round, before = count_regions();
	ssize_t n;

	if (argc == 3 && strcmp(argv[1], "wreck") == 0)
		return wreck((unsigned)atoi(argv[2]));
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0 || mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 1;
	self[n] = '\0';
	snprintf(nwrun, sizeof(nwrun), "%.*s/../../../bin/nwrun", (int)(strrchr(self, '/') - self),
	    self);
	setenv("NWRUN_REPORT", "report", 1);
	setenv("NARROWS_BOX", "127.0.0.1/1", 1);
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
	for (round = 0; round < ROUNDS; round++)
		perform(self, nwrun, round);
	for (round = 0; round < 100u * (unsigned)check_patience() && count_regions() > before;
	     round++)
		usleep(50000);
	CHECK(count_regions() <= before);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (chdir("/") != 0 || system(command) != 0)
		return 1;
	return check_done("wreck");
}
