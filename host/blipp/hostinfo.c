/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/hostinfo.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/blipp/series_show.h"
#include "host/lib/procread.h"

static const char os_release[] = "/etc/os-release";

static void
label(FILE *to, const char **before, const char *name, const char *value)
{
	fprintf(to, "%s%s=\"", *before, name);
	show_put_label(to, value);
	putc('"', to);
	*before = ",";
}

static void
uname_write(FILE *to)
{
	const char *before = "{";
	struct utsname u;

	if (uname(&u) != 0)
		return;
	fputs("# TYPE node_uname_info gauge\nnode_uname_info", to);
	label(to, &before, "domainname", u.domainname);
	label(to, &before, "machine", u.machine);
	label(to, &before, "nodename", u.nodename);
	label(to, &before, "release", u.release);
	label(to, &before, "sysname", u.sysname);
	label(to, &before, "version", u.version);
	fputs("} 1\n", to);
}

static void
os_write(FILE *to)
{
	static const struct {
		const char *key, *name;
	} facts[] = { { "ID", "id" }, { "ID_LIKE", "id_like" }, { "NAME", "name" },
		{ "PRETTY_NAME", "pretty_name" }, { "VERSION", "version" },
		{ "VERSION_CODENAME", "version_codename" }, { "VERSION_ID", "version_id" } };
	const char *before = "{";
	char value[256];
	size_t i;

	if (access(os_release, R_OK) != 0)
		return;
	fputs("# TYPE node_os_info gauge\nnode_os_info", to);
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (procread_key(os_release, facts[i].key, value, sizeof(value)))
			label(to, &before, facts[i].name, value);
	fputs(*before == ',' ? "} 1\n" : " 1\n", to);
}

/* Files below /proc/sys of one number, or of three: least, default and most. */
static void
limits_write(FILE *to)
{
	static const char *const files[] = { "net/core/netdev_max_backlog", "net/core/rmem_default",
		"net/core/rmem_max", "net/core/wmem_default", "net/core/wmem_max",
		"net/ipv4/tcp_mtu_probing", "net/ipv4/tcp_no_metrics_save", "net/ipv4/tcp_rmem",
		"net/ipv4/tcp_wmem" };
	static const char *const parts[] = { "_min", "_default", "_max" };
	char path[64], name[64], text[128], *p;
	long long n[3];
	size_t i;
	int k, found;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/proc/sys/%s", files[i]);
		if (procread_path(path, text, sizeof(text)) == 0)
			continue;
		found = sscanf(text, "%lld %lld %lld", &n[0], &n[1], &n[2]);
		snprintf(name, sizeof(name), "%s", files[i]);
		for (p = name; *p != '\0'; p++)
			*p = *p == '/' ? '_' : *p;
		for (k = 0; k < found; k++) {
			const char *part = found == 3 ? parts[k] : "";

			fprintf(to, "# TYPE node_sysctl_%s%s gauge\nnode_sysctl_%s%s %lld\n", name,
			    part, name, part, n[k]);
		}
	}
}

/* Settings with words as values, in a single metric. */
static void
words_write(FILE *to)
{
	static const struct {
		const char *path, *name;
	} files[] = { { "/proc/sys/net/core/default_qdisc", "net.core.default_qdisc" },
		{ "/proc/sys/net/ipv4/tcp_congestion_control",
		    "net.ipv4.tcp_congestion_control" } };
	const char *before;
	char text[64];
	size_t i;

	fputs("# TYPE node_sysctl_info gauge\n", to);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (procread_path(files[i].path, text, sizeof(text)) == 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		before = "{";
		fputs("node_sysctl_info", to);
		label(to, &before, "index", "0");
		label(to, &before, "name", files[i].name);
		label(to, &before, "value", text);
		fputs("} 1\n", to);
	}
}

/* The hardware type of each interface, as the kernel numbers types (1: Ethernet). */
static void
types_write(FILE *to)
{
	DIR *dir = opendir("/sys/class/net");
	const struct dirent *e;
	const char *before;
	char path[300], text[16];

	fputs("# TYPE node_network_protocol_type gauge\n", to);
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/type", e->d_name);
		if (e->d_name[0] == '.' || procread_path(path, text, sizeof(text)) == 0)
			continue;
		before = "{";
		fputs("node_network_protocol_type", to);
		label(to, &before, "device", e->d_name);
		fprintf(to, "} %ld\n", strtol(text, NULL, 10));
	}
	if (dir != NULL)
		closedir(dir);
}

/* Columns of /proc/net/softnet_stat, a line for each processor; a newer kernel numbers the
 * processors in the 13th column, for processors that are off have no line. */
static void
softnet_write(FILE *to, bool classic)
{
	static const struct {
		const char *name;
		int column;
	} counts[] = { { "processed", 0 }, { "dropped", 1 }, { "times_squeezed", 2 } };
	unsigned n[13], cpu;
	char *line = NULL;
	size_t cap = 0, i;
	FILE *f = fopen("/proc/net/softnet_stat", "re");
	int found;

	for (i = 0; f != NULL && i < sizeof(counts) / sizeof(counts[0]); i++) {
		fprintf(to, "# TYPE node_softnet_%s%s counter\n", counts[i].name,
		    classic ? "_total" : "");
		rewind(f);
		for (cpu = 0; getline(&line, &cap, f) > 0; cpu++) {
			found = sscanf(line, "%x %x %x %x %x %x %x %x %x %x %x %x %x", &n[0], &n[1],
			    &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9], &n[10], &n[11],
			    &n[12]);
			if (found > counts[i].column)
				fprintf(to, "node_softnet_%s_total{cpu=\"%u\"} %u\n",
				    counts[i].name, found == 13 ? n[12] : cpu, n[counts[i].column]);
		}
	}
	free(line);
	if (f != NULL)
		fclose(f);
}

void
hostinfo_write(bool classic, FILE *to)
{
	uname_write(to);
	os_write(to);
	limits_write(to);
	words_write(to);
	types_write(to);
	softnet_write(to, classic);
}
