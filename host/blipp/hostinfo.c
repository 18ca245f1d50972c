/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/hostinfo.h"

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

void
hostinfo_write(FILE *to)
{
	uname_write(to);
	os_write(to);
	limits_write(to);
}
