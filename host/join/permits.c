/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/join/permits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/capability.h"
#include "host/lib/net_addr.h"
#include "host/lib/tcpinfo.h"
#include "host/nwrun/beside.h"
#include "host/outside/trace.h"
#include "narrows/err.h"

#define SAY(to, ...) snprintf((to), PERMIT_TEXT_BYTES, __VA_ARGS__)

static bool
file_line(const char *path, char line[PERMIT_TEXT_BYTES])
{
	FILE *f = fopen(path, "re");
	bool good = f != NULL && fgets(line, PERMIT_TEXT_BYTES, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

static bool
may_programs(char text[], char remedy[])
{
	static const char *const places[] = { "nwrun.so", "../lib/narrows/nwrun.so",
		"../lib/nwrun.so", NULL };
	char path[PATH_MAX];

	SAY(text, "programs that nwrun starts");
	if (beside_find(path, places, F_OK, " :"))
		return true;
	SAY(text, "nwrun starts programs unmeasured: nwrun.so is missing");
	SAY(remedy, "apt install --reinstall narrows-host");
	return false;
}

/* The command for the right that is missing: of a user, of root in a container, or of a kernel. */
static void
kernel_remedy(char remedy[], const char *command)
{
	if (geteuid() != 0)
		SAY(remedy, "sudo %s", command);
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		SAY(remedy, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, and mount /sys");
	else
		SAY(remedy,
		    "start the container with --cap-add BPF --cap-add PERFMON, or measure "
		    "from the machine outside");
}

static bool
may_running(char text[], char remedy[])
{
	char why[TRACE_WHY_BYTES] = "";
	struct trace *t;
	bool good = false;

	if (trace_open(&t, why) == NW_OK) {
		good = trace_begin(t, why) == NW_OK;
		trace_close(t);
	}
	SAY(text, "running, static, set-user-ID and Go programs (nwrun -p, nwflow)%s%.160s",
	    good ? "" : ": ", good ? "" : why);
	if (!good)
		kernel_remedy(remedy, "nwrun -p PID");
	return good;
}

static bool
may_kernel(char text[], char remedy[])
{
	static const int needed[] = { CAPABILITY_BPF, CAPABILITY_PERFMON, CAPABILITY_NET_ADMIN };
	const char *missing = capability_missing(needed, 3);
	bool btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;

	SAY(text, "waits in the layers of the kernel (magnet)%s%s",
	    missing != NULL ? ": this process lacks " : "", missing != NULL ? missing : "");
	if (missing == NULL && btf)
		return true;
	if (missing == NULL)
		SAY(text,
		    "waits in the layers of the kernel (magnet): the kernel does not describe "
		    "its types (BTF)");
	kernel_remedy(remedy, "systemctl enable --now magnet");
	return false;
}

/* Asks the kernel for a connection of this process with itself. */
static bool
may_connections(char text[], char remedy[])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
			   far;
	socklen_t len = sizeof(at), far_len = sizeof(far);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), diag = tcpinfo_open();
	uint8_t info[TCPINFO_BYTES];
	struct net_addr local, peer;
	bool good = false;

	if (listener >= 0 && fd >= 0 && bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
	    connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    getsockname(fd, (struct sockaddr *)&far, &far_len) == 0) {
		net_addr_set(&local, AF_INET, &far.sin_addr, ntohs(far.sin_port));
		net_addr_set(&peer, AF_INET, &at.sin_addr, ntohs(at.sin_port));
		good = tcpinfo_ask(diag, &local, &peer, info) > 0;
	}
	close(listener);
	close(fd);
	close(diag);
	SAY(text, "TCP connections (round trips, losses, windows)%s",
	    good ? "" : ": the kernel does not answer (netlink)");
	SAY(remedy, "modprobe tcp_diag");
	return good;
}

static bool
may_cgroups(char text[], char remedy[])
{
	char names[PERMIT_TEXT_BYTES];

	if (file_line("/sys/fs/cgroup/cgroup.controllers", names)) {
		SAY(text, "control groups (version 2: %.200s)", names);
		return true;
	}
	if (access("/sys/fs/cgroup/cpuacct", R_OK) == 0 ||
	    access("/sys/fs/cgroup/cpu", R_OK) == 0) {
		SAY(text, "control groups (version 1)");
		return true;
	}
	SAY(text, "control groups: none are mounted");
	SAY(remedy, "mount -t cgroup2 none /sys/fs/cgroup");
	return false;
}

static bool
may_pressure(char text[], char remedy[])
{
	char line[PERMIT_TEXT_BYTES];
	bool good = file_line("/proc/pressure/cpu", line);

	SAY(text, "waits for processors, memory and disks (pressure)%s%s", good ? "" : ": ",
	    good ? "" : strerror(errno));
	SAY(remedy, "boot the kernel with psi=1");
	return good;
}

static bool
may_others(char text[], char remedy[])
{
	char target[64];
	bool good = readlink("/proc/1/exe", target, sizeof(target)) >= 0;

	SAY(text, "files and programs of other users' processes%s", good ? "" : " (ptrace)");
	if (!good)
		SAY(remedy, "%s",
		    geteuid() != 0 ? "run as root"
				   : "start the container with --cap-add SYS_PTRACE");
	return good;
}

static bool
may_disks(char text[], char remedy[])
{
	char line[PERMIT_TEXT_BYTES];
	bool good = file_line("/proc/diskstats", line);

	SAY(text, "disks%s", good ? "" : ": /proc/diskstats is empty or missing");
	SAY(remedy, "mount -t proc proc /proc");
	return good;
}

const struct permit permits[] = {
	{ "programs", may_programs },
	{ "running", may_running },
	{ "kernel", may_kernel },
	{ "tcp", may_connections },
	{ "cgroups", may_cgroups },
	{ "pressure", may_pressure },
	{ "disks", may_disks },
	{ "others", may_others },
};
const int n_permits = sizeof(permits) / sizeof(permits[0]);
