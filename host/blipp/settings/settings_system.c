/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel, the distribution, processors, memory, and the limits of blipp's control group, which
 * in a container are those of the container. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host/blipp/settings/settings_list.h"
#include "host/lib/procread.h"

enum { PATH_BYTES = 512, FILE_BYTES = 4096 };

/* Words of the kernel's command line that change how fast a machine is; the rest may be private. */
static void
put_command_line(struct settings *s)
{
	static const char *const wanted[] = { "mitigations", "isolcpus", "nohz_full", "rcu_nocbs",
		"iommu", "intel_iommu", "amd_iommu", "transparent_hugepage", "hugepages",
		"hugepagesz", "default_hugepagesz", "numa_balancing", "processor.max_cstate",
		"intel_idle.max_cstate", "intel_pstate", "amd_pstate", "idle", "preempt",
		"threadirqs", "nosmt", "maxcpus", "mem", "tsc", "clocksource" };
	char text[FILE_BYTES], *word, *rest = text;
	size_t i, len;

	if (!settings_read("/proc/cmdline", text, sizeof(text)))
		return;
	while ((word = strsep(&rest, " ")) != NULL) {
		len = strcspn(word, "=");
		for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (strlen(wanted[i]) == len && memcmp(wanted[i], word, len) == 0)
				settings_put(s, "kernel", "cmdline", wanted[i],
				    word[len] == '=' ? word + len + 1 : "yes");
	}
}

static void
put_kernel(struct settings *s)
{
	char text[SETTING_VALUE_BYTES];
	struct utsname u;

	if (uname(&u) == 0) {
		settings_put(s, "kernel", NULL, "release", u.release);
		settings_put(s, "kernel", NULL, "version", u.version);
		settings_put(s, "kernel", NULL, "machine", u.machine);
	}
	settings_put_file(s, "kernel", NULL, "boot_id", "/proc/sys/kernel/random/boot_id");
	put_command_line(s);
	if (procread_key("/etc/os-release", "PRETTY_NAME", text, sizeof(text)))
		settings_put(s, "os", NULL, "name", text);
}

/* The minute of the boot: the seconds move when the clock is corrected. */
static void
put_boot_time(struct settings *s)
{
	FILE *f = fopen("/proc/stat", "re");
	char *line = NULL;
	time_t boot_s = 0;
	size_t cap = 0;
	char text[32];
	struct tm tm;

	while (f != NULL && getline(&line, &cap, f) > 0)
		if (strncmp(line, "btime ", 6) == 0)
			boot_s = (time_t)atoll(line + 6);
	free(line);
	if (f != NULL)
		fclose(f);
	if (boot_s != 0 && gmtime_r(&boot_s, &tm) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%MZ", &tm) > 0)
		settings_put(s, "kernel", NULL, "boot_time", text);
}

static void
put_processors(struct settings *s)
{
	char text[SETTING_VALUE_BYTES];
	glob_t nodes;

	settings_put_number(s, "cpu", NULL, "count", sysconf(_SC_NPROCESSORS_ONLN));
	if (procread_key("/proc/cpuinfo", "model name", text, sizeof(text)))
		settings_put(s, "cpu", NULL, "model", text);
	if (procread_key("/proc/cpuinfo", "microcode", text, sizeof(text)))
		settings_put(s, "cpu", NULL, "microcode", text);
	settings_put_file(
	    s, "cpu", NULL, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	settings_put_file(s, "cpu", NULL, "smt", "/sys/devices/system/cpu/smt/control");
	settings_put_file(s, "cpu", NULL, "online", "/sys/devices/system/cpu/online");
	settings_put_file(s, "cpu", NULL, "clocksource",
	    "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (glob("/sys/devices/system/node/node[0-9]*", 0, NULL, &nodes) == 0) {
		settings_put_number(s, "cpu", NULL, "numa_nodes", (long long)nodes.gl_pathc);
		globfree(&nodes);
	}
}

static void
put_memory(struct settings *s)
{
	char text[SETTING_VALUE_BYTES];

	if (procread_key("/proc/meminfo", "MemTotal", text, sizeof(text)))
		settings_put(s, "memory", NULL, "total", text);
	if (procread_key("/proc/meminfo", "SwapTotal", text, sizeof(text)))
		settings_put(s, "memory", NULL, "swap", text);
	settings_put_file(s, "memory", NULL, "thp", "/sys/kernel/mm/transparent_hugepage/enabled");
}

/* The files of a control group that exist, as seen from blipp. */
static void
put_group(struct settings *s, const char *controller, const char *path)
{
	static const struct {
		const char *controller, *file;
	} files[] = { { "", "cpu.max" }, { "", "cpu.weight" }, { "", "cpuset.cpus.effective" },
		{ "", "memory.max" }, { "", "memory.high" }, { "", "memory.swap.max" },
		{ "", "io.max" }, { "", "pids.max" }, { "cpu", "cpu.cfs_quota_us" },
		{ "cpu", "cpu.cfs_period_us" }, { "cpu", "cpu.shares" },
		{ "cpuset", "cpuset.cpus" }, { "memory", "memory.limit_in_bytes" },
		{ "memory", "memory.soft_limit_in_bytes" },
		{ "blkio", "blkio.throttle.read_bps_device" },
		{ "blkio", "blkio.throttle.write_bps_device" }, { "pids", "pids.max" } };
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char file[PATH_BYTES];
	size_t i, r;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (r = 0; r < 2 && strcmp(files[i].controller, controller) == 0; r++) {
			snprintf(file, sizeof(file), "%s%s%s%.300s/%s", roots[r],
			    controller[0] != '\0' ? "/" : "", controller, path, files[i].file);
			settings_put_file(s, "cgroup", NULL, files[i].file, file);
		}
}

/* /proc/self/cgroup has "number:controllers:path"; version 2 names no controllers. */
static void
put_groups(struct settings *s)
{
	char text[FILE_BYTES], *line, *rest = text, *controllers, *controller;

	if (!settings_read("/proc/self/cgroup", text, sizeof(text)))
		return;
	while ((line = strsep(&rest, "\n")) != NULL) {
		strsep(&line, ":");
		if (line == NULL || (controllers = strsep(&line, ":")) == NULL || line == NULL)
			continue;
		if (controllers[0] == '\0') {
			settings_put(s, "cgroup", NULL, "path", line);
			put_group(s, "", line);
		}
		while ((controller = strsep(&controllers, ",")) != NULL)
			if (controller[0] != '\0')
				put_group(s, controller, line);
	}
}

void
settings_of_system(struct settings *s)
{
	put_kernel(s);
	put_boot_time(s);
	put_processors(s);
	put_memory(s);
	put_groups(s);
}
