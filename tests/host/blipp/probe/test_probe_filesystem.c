/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/self/mounts: local devices, escaped names, and what is left out; mounts that come, go and
 * move between two samples. */
#include "host/blipp/probe/probe.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "narrows/err.h"
#include "tests/check.h"

static const char mounts[] =
    "proc /proc proc rw 0 0\n"
    "/dev/vda1 / ext4 rw,relatime 0 0\n"
    "tmpfs /run tmpfs rw 0 0\n"
    "server:/export /mnt nfs rw 0 0\n"
    "/dev/sdb1 /data\\040of\\134us xfs rw 0 0\n"
    "/dev/fuse /home/u/x fuse.sshfs rw 0 0\n"
    "/dev/sdc "
    "/a-name-that-is-longer-than-any-device-may-be-called-in-a-series-of-blipp/and/more ext4 rw\n"
    "/dev/sdd\n";

static char dir[] = "/tmp/mounts-XXXXXX";
/* the samples of a round below the directory, such as "up/a 4096", a line each */
static char seen[512];

static int
see(struct report *r, const struct series *s, const struct series_kind *kind, const double *values)
{
	size_t len = strlen(seen);

	(void)r;
	CHECK(kind->n_fields == 5 && values[0] >= values[1]);
	if (strncmp(s->device, dir, strlen(dir)) == 0)
		snprintf(seen + len, sizeof(seen) - len, "%s %.0f\n", s->device + strlen(dir) + 1,
		    values[0]);
	return NW_OK;
}

static const char *
sampled(void *state)
{
	struct report r = { .out = see };
	struct procfs_buf buf = { 0 };

	seen[0] = '\0';
	CHECK_INT(probe_filesystem.sample(state, &r, &buf), NW_OK);
	procfs_buf_clear(&buf);
	return seen;
}

/* A file system of so many bytes, which calls itself a local device. */
static void
mounted(const char *device, const char *at, const char *size)
{
	CHECK(mkdir(at, 0700) == 0 && mount(device, at, "tmpfs", 0, size) == 0);
}

static void
test_changes(void)
{
	void *state = calloc(1, probe_filesystem.state_bytes);

	CHECK_STR(sampled(state), "");
	CHECK(mkdir("up", 0700) == 0);
	mounted("/dev/a", "up/a", "size=1048576");
	CHECK_STR(sampled(state), "up/a 1048576\n");
	CHECK_STR(sampled(state), "up/a 1048576\n");
	/* of two mounts of a device the first stands for both */
	mounted("/dev/b", "up/b", "size=2097152");
	mounted("/dev/a", "up/c", "size=4194304");
	CHECK_STR(sampled(state), "up/a 1048576\nup/b 2097152\n");
	CHECK(mount("/dev/b", "up/b", "tmpfs", MS_REMOUNT, "size=8388608") == 0);
	CHECK_STR(sampled(state), "up/a 1048576\nup/b 8388608\n");
	CHECK(umount("up/a") == 0 && umount("up/c") == 0);
	CHECK_STR(sampled(state), "up/b 8388608\n");
	/* the kernel does not tell of a directory above a mount that gets another name */
	CHECK(rename("up", "moved") == 0);
	CHECK_STR(sampled(state), "moved/b 8388608\n");
	CHECK(rename("moved", "again") == 0 && mkdir("moved", 0700) == 0);
	CHECK(mkdir("moved/b", 0700) == 0);
	CHECK_STR(sampled(state), "again/b 8388608\n");
	CHECK(umount("again/b") == 0);
	CHECK_STR(sampled(state), "");
	probe_filesystem.clear(state);
	free(state);
	CHECK(rmdir("again/a") == 0 && rmdir("again/b") == 0 && rmdir("again/c") == 0);
	CHECK(rmdir("again") == 0 && rmdir("moved/b") == 0 && rmdir("moved") == 0);
}

/* Mounts of this process alone. */
static bool
is_apart(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

int
main(void)
{
	struct scan s = scan_text(mounts, sizeof(mounts) - 1);
	struct mount_line m;

	CHECK(mount_next(&s, &m) && scan_is(m.source, "/dev/vda1"));
	CHECK_STR(m.mountpoint, "/");
	CHECK(mount_next(&s, &m) && scan_is(m.source, "/dev/sdb1"));
	CHECK_STR(m.mountpoint, "/data of\\us");
	CHECK(!mount_next(&s, &m));
	if (!is_apart()) {
		printf("untested: mounts that change: a process may have none of its own\n");
	} else if (mkdtemp(dir) != NULL && chdir(dir) == 0) {
		test_changes();
		CHECK(rmdir(dir) == 0);
	}
	return check_done("probe_filesystem");
}
