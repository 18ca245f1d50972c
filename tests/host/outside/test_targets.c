/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of a control group and of the groups below, without the caller's own. */
#include "host/outside/targets.h"

#include <sys/stat.h>

#include "tests/check.h"

static char dir[] = "/tmp/nw-targets-XXXXXX", below[64];
static uint32_t seen[8];
static size_t n_seen;

static void
on_target(void *arg, uint32_t pid)
{
	(void)arg;
	if (n_seen < 8)
		seen[n_seen++] = pid;
}

static bool
was_seen(uint32_t pid)
{
	size_t i, n = 0;

	for (i = 0; i < n_seen; i++)
		n += seen[i] == pid;
	return n == 1;
}

static void
procs_write(const char *at, const char *text)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", at);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static void
test_group(void)
{
	char text[64];

	CHECK_INT(targets_group_id(dir), 0); /* a directory without processes is no group */
	snprintf(text, sizeof(text), "1\n%d\n0\n", (int)getpid());
	procs_write(dir, text);
	procs_write(below, "2147483646\n");
	CHECK(targets_group_id(dir) != 0);
	targets_group(dir, on_target, NULL);
	CHECK_INT(n_seen, 2);
	CHECK(was_seen(1) && was_seen(2147483646));
}

static void
test_units(void)
{
	char path[PATH_MAX];

	CHECK(!targets_unit("../../tmp", path));
	CHECK(!targets_unit("a/b.service", path));
	CHECK(!targets_unit("no-such-unit-of-narrows", path));
	CHECK(strstr(path, "/system.slice/no-such-unit-of-narrows.service") != NULL);
	CHECK(!targets_unit("no-such-unit-of-narrows.scope", path));
	CHECK(strstr(path, "/no-such-unit-of-narrows.scope") != NULL &&
	    strstr(path, ".service") == NULL);
}

static void
test_processes(void)
{
	uint32_t own = (uint32_t)getpid(), parent = (uint32_t)getppid();
	char name[64], arguments[256];

	CHECK(targets_is_below(own, own) && targets_is_below(own, parent));
	CHECK(!targets_is_below(parent, own) && !targets_is_below(0, 0));
	CHECK(!targets_is_measured(own));
	CHECK(targets_describe(own, name, sizeof(name), arguments, sizeof(arguments)));
	CHECK_STR(name, "test_targets");
	CHECK(strstr(arguments, "test_targets --one two words") != NULL);
	CHECK(!targets_describe(2147483646, name, sizeof(name), arguments, sizeof(arguments)));
}

int
main(int argc, char **argv)
{
	char command[96];

	if (argc == 1) {
		execl("/proc/self/exe", argv[0], "--one", "two words", NULL);
		return 1;
	}
	CHECK(mkdtemp(dir) != NULL);
	snprintf(below, sizeof(below), "%s/below", dir);
	CHECK_INT(mkdir(below, 0700), 0);
	test_group();
	test_units();
	test_processes();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("test_targets");
}
