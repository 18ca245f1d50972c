/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded types and sources of mounts: their places, servers and numbers. */
#include "narrows/filesystem.h"

#include <string.h>

#include "tests/check.h"

#define N NW_FS_NETWORK
#define L NW_FS_LOCAL
#define U NW_FS_UNKNOWN

static const struct {
	const char *type, *source;
	enum nw_fs_place place;
	const char *server;
} cases[] = {
	{ "nfs", "nas1:/export/home", N, "nas1" },
	{ "nfs4", "nas1.site.example:/export", N, "nas1.site.example" },
	{ "nfs4", "[fe80::1%eth0]:/export", N, "fe80::1%eth0" },
	{ "cifs", "//filer/share", N, "filer" },
	{ "smb3", "//filer.site.example/share/deep", N, "filer.site.example" },
	{ "cifs", "//user@filer:445/share", N, "filer" },
	{ "lustre", "10.1.0.1@tcp:10.1.0.2@tcp:/scratch", N, "10.1.0.1" },
	{ "lustre", "mds1@o2ib,mds2@o2ib:/scratch", N, "mds1" },
	{ "ceph", "192.168.0.1:6789,192.168.0.2:6789:/", N, "192.168.0.1" },
	{ "ceph", "mon1,mon2:/volumes", N, "mon1" },
	{ "ceph", "user@b3acfc0d-575f-41d3-9c91-0e7ed3dbb3fa.cephfs=/", N, "" },
	{ "gpfs", "gpfs0", N, "" },
	{ "beegfs", "beegfs_nodev", N, "" },
	{ "9p", "hostshare", N, "" },
	{ "virtiofs", "tag", N, "" },
	{ "afs", "AFS", N, "" },
	{ "pvfs2", "tcp://orange1:3334/pvfs2-fs", N, "orange1" },
	{ "panfs", "panfs://realm/vol", N, "realm" },
	{ "fuse.sshfs", "me@dtn-b:/data", N, "dtn-b" },
	{ "fuse.sshfs", "dtn-b:", N, "dtn-b" },
	{ "fuse.sshfs", "[2001:db8::7]:/data", N, "2001:db8::7" },
	{ "fuse.s3fs", "s3fs", N, "" },
	{ "fuse.rclone", "remote:bucket/path", N, "" },
	{ "fuse.glusterfs", "gl1:/volume", N, "gl1" },
	{ "fuse.davfs", "https://dav.example:8443/files", N, "dav.example" },
	{ "fuse.mfs", "mfsmaster:9421", N, "mfsmaster" },
	{ "fuse.gcsfuse", "bucket", N, "" },
	{ "ext4", "/dev/vda1", L, "" },
	{ "xfs", "/dev/mapper/vg-data", L, "" },
	{ "btrfs", "/dev/sdb", L, "" },
	{ "zfs", "tank/data", L, "" },
	{ "tmpfs", "tmpfs", L, "" },
	{ "overlay", "overlay", L, "" },
	{ "fuseblk", "/dev/sdc1", L, "" },
	{ "fuse.gocryptfs", "/home/a/b:/c", L, "" },
	{ "newfs", "/dev/sdd", L, "" },       /* without a row, on a device of the host */
	{ "newfs", "srv:/export", N, "srv" }, /* only a server has such a source */
	{ "newfs", "//srv/share", N, "srv" },
	{ "newfs", "http://srv:80/x", N, "srv" },
	{ "newfs", "none", U, "" },
	{ "fuse.own", "own", U, "" },
	{ "fuse.own", "/dev/fuse", U, "" }, /* of all such mounts */
	{ "fuse", "x", U, "" },
	{ "unknown", "", U, "" },
	{ "", NULL, U, "" },
	{ NULL, NULL, U, "" },
};

static void
test_sources(void)
{
	char server[NW_FS_TEXT_BYTES];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(nw_fs_place(cases[i].type, cases[i].source), cases[i].place);
		nw_fs_server(cases[i].type, cases[i].source, server);
		CHECK_STR(server, cases[i].server);
	}
}

static void
test_numbers(void)
{
	static const struct {
		uint32_t magic;
		const char *type;
	} known[] = { { 0x6969, "nfs" }, { 0xff534d42, "cifs" }, { 0xfe534d42, "smb3" },
		{ 0x0bd00bd0, "lustre" }, { 0x00c36400, "ceph" }, { 0x47504653, "gpfs" },
		{ 0x19830326, "beegfs" }, { 0x01021997, "9p" }, { 0x65735546, "fuse" },
		{ 0xef53, "ext4" }, { 0x01021994, "tmpfs" } };
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_STR(nw_fs_type_of_magic(known[i].magic), known[i].type);
	CHECK(nw_fs_type_of_magic(0) == NULL);
	CHECK(nw_fs_type_of_magic(0x12345678) == NULL);
	CHECK_INT(nw_fs_place("fuse", NULL), U);
}

/* Sources that a hostile owner of a mount has written. */
static void
test_hostile(void)
{
	static char source[4000];
	static const char *const types[] = { "nfs4", "cifs", "lustre", "ceph", "pvfs2", "9p", "x" };
	static const char *const broken[] = { "", ":", "//", "[", "[:", "[]:/", "@:", "@", "://",
		"a://", "a://@", "a://[", "//[", "//@", "]:[/", "@tcp:/x", ",,:/" };
	char server[NW_FS_TEXT_BYTES];
	size_t i, k;

	memset(source, 'a', sizeof(source) - 3);
	memcpy(source + sizeof(source) - 3, ":/", 3);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		nw_fs_server(types[i], source, server);
		CHECK_STR(server, "");
		for (k = 0; k < sizeof(broken) / sizeof(broken[0]); k++) {
			nw_fs_server(types[i], broken[k], server);
			CHECK(strlen(server) <= strlen(broken[k]));
			(void)nw_fs_place(types[i], broken[k]);
		}
	}
}

int
main(void)
{
	test_sources();
	test_numbers();
	test_hostile();
	return check_done("filesystem");
}
