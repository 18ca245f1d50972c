/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of NFS, as Linux 6.1 writes them. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"

static const char client[] = "net 0 0 0 0\n"
			     "rpc 5000 17 5000\n"
			     "proc3 22 1 100 2 3 30 0 400 500 4 5 0 0 0 0 0 0 0 0 7 8 9 60\n"
			     "proc4 69 1 1000 2000 90 4 0 0 0 4 1 2 3 4 5 6 7 8 25 125 9 0\n";
static const char server[] =
    "rc 11 22 33\nfh 0 0 0 0 0\nio 1048576 2097152\n"
    "th 8 0 0.000 0.000\nra 32 0 0\nnet 700 1 699 4\nrpc 650 3 1 2 0\n"
    "proc3 22 0 1 0 0 2 0 3 4 0 0 0 0 0 0 0 0 0 0 0 0 0 5\nproc4 2 1 600\n"
    "proc4ops 76 0 0 0 20 6 7 0 0 0 30 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100 0 0 0 0 0 0 0 0 0 0 0 0 "
    "200 0\n";
static const char mounts[] = "device proc mounted on /proc with fstype proc\n"
			     "device filer:/data mounted on /data with fstype nfs4 statvers=1.1\n"
			     "\topts:\trw,vers=4.2\n"
			     "\tage:\t100\n"
			     "\tevents:\t1 2 3\n"
			     "\tbytes:\t10 20 30 40 1048576 2097152 50 60\n"
			     "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
			     "\tper-op statistics\n"
			     "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
			     "\t        READ: 100 103 0 20000 1000000 7 80 90 0\n"
			     "\t       WRITE: 200 200 0 900000 30000 1 2 3 0\n"
			     "device /dev/sda1 mounted on / with fstype ext4\n"
			     "device filer:/old mounted on /old with fstype nfs statvers=1.1\n"
			     "\tbytes:\t0 0 0 0 5 6 0 0\n";

static void
test_client(void)
{
	double v[NFS_CLIENT_FIELDS];

	CHECK(nfs_client_parse(scan_text(client, sizeof(client) - 1), v));
	CHECK(v[0] == 5000 && v[1] == 17);
	CHECK(v[2] == 1400 && v[3] == 2500 && v[4] == 150); /* of both versions */
	CHECK(v[5] == 225 && v[6] == 55);
	CHECK(!nfs_client_parse(scan_text("", 0), v));
	/* an older kernel counts fewer operations */
	CHECK(nfs_client_parse(scan_text("rpc 1 0 1\nproc3 3 1 7 2 99 99 99 99 99\n", 40), v));
	CHECK(v[5] == 7 && v[2] == 0 && v[6] == 0);
}

static void
test_server(void)
{
	static const double want[NFS_SERVER_FIELDS] = { 650, 3, 103, 204, 12, 31, 22, 1048576,
		2097152, 700, 1, 699, 4, 11, 55, 8 };
	double v[NFS_SERVER_FIELDS];
	int i;

	CHECK(nfs_server_parse(scan_text(server, sizeof(server) - 1), v));
	for (i = 0; i < NFS_SERVER_FIELDS; i++)
		CHECK_NEAR(v[i], want[i], 0, 0);
}

static void
test_mounts(void)
{
	static const double want[NFS_MOUNT_FIELDS] = { 1048576, 2097152, 100, 3, 7, 80, 90, 200, 0,
		1, 2, 3 };
	struct scan text = scan_text(mounts, sizeof(mounts) - 1), name;
	double v[NFS_MOUNT_FIELDS];
	int i;

	CHECK(nfs_mount_next(&text, &name, v) && scan_is(name, "/data"));
	for (i = 0; i < NFS_MOUNT_FIELDS; i++)
		CHECK_NEAR(v[i], want[i], 0, 0);
	CHECK(nfs_mount_next(&text, &name, v) && scan_is(name, "/old"));
	CHECK(v[0] == 5 && v[1] == 6 && v[2] == 0);
	CHECK(!nfs_mount_next(&text, &name, v));
}

int
main(void)
{
	test_client();
	test_server();
	test_mounts();
	return check_done("probe_nfs");
}
