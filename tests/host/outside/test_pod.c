/* SPDX-License-Identifier: BSD-3-Clause */
/* Pods by the texts of /proc/PID/cgroup of Kubernetes' two drivers, in both versions of control
 * groups, and a process in a group of such a name where this machine allows a group. */
#include "host/outside/pod.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

#define UID      "0ab1c2d3-1111-2222-3333-0123456789ab"
#define UID_LINE "0ab1c2d3_1111_2222_3333_0123456789ab"

static void
test_uid(void)
{
	static const struct {
		const char *text, *uid; /* NULL: outside of pods */
	} cases[] = {
		{ "0::/kubepods/burstable/pod" UID "/3f4e\n", UID },
		{ "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_LINE
		  ".slice/cri-containerd-3f.scope\n",
		    UID },
		{ "0::/../../pod" UID "/3f\n", UID },
		{ "9:name=systemd:/\n8:memory:/kubepods/pod" UID "/3f\n", UID },
		{ "0::/kubepods/pod0123456789abcdef0123456789abcdef/3f\n",
		    "0123456789abcdef0123456789abcdef" },
		{ "0::/user.slice/tripod" UID "\n", NULL },
		{ "0::/kubepods/podnone/3f\n", NULL },
		{ "0::/kubepods/pod0ab1c2d3-1111\n", NULL },
		{ "0::/\n", NULL },
		{ "pod", NULL },
		{ "", NULL },
	};
	char uid[POD_UID_BYTES];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(pod_uid(cases[i].text, uid), cases[i].uid != NULL);
		if (cases[i].uid != NULL)
			CHECK_STR(uid, cases[i].uid);
	}
}

/* Enters a control group of the pod, in the first hierarchy that allows one. */
static bool
group_enter(char dir[256])
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids",
		"/sys/fs/cgroup" };
	char path[300];
	bool in = false;
	size_t i;
	FILE *f;

	for (i = 0; !in && i < sizeof(roots) / sizeof(roots[0]); i++) {
		(void)snprintf(dir, 256, "%s/pod" UID, roots[i]);
		if (mkdir(dir, 0755) != 0 && errno != EEXIST)
			continue;
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
		if ((f = fopen(path, "w")) != NULL) {
			in = fprintf(f, "%d\n", (int)getpid()) > 0;
			in = fclose(f) == 0 && in;
		}
		if (!in)
			rmdir(dir);
	}
	return in;
}

static void
group_leave(char dir[256])
{
	char path[300];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%.200s/../cgroup.procs", dir);
	if ((f = fopen(path, "w")) != NULL) {
		fprintf(f, "%d\n", (int)getpid());
		fclose(f);
	}
	rmdir(dir);
}

static void
test_label(void)
{
	char logs[] = "/tmp/test_pod.XXXXXX", entry[128], dir[256], label[POD_LABEL_BYTES];

	if (!group_enter(dir)) {
		puts("untested: this machine allows no control group");
		CHECK(!pod_label((uint32_t)getpid(), "/nowhere", label));
		return;
	}
	CHECK(pod_label((uint32_t)getpid(), "/nowhere", label));
	CHECK_STR(label, "pod " UID);
	CHECK(mkdtemp(logs) != NULL);
	(void)snprintf(entry, sizeof(entry), "%s/shop_cart-7f9c.x_" UID, logs);
	CHECK_INT(mkdir(entry, 0755), 0);
	CHECK(pod_label((uint32_t)getpid(), logs, label));
	CHECK_STR(label, "pod shop/cart-7f9c.x");
	rmdir(entry);
	rmdir(logs);
	group_leave(dir);
	CHECK(!pod_label((uint32_t)getpid(), logs, label));
}

int
main(void)
{
	test_uid();
	test_label();
	return check_done("pod");
}
