/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/blipp_conf.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/boxconf.h"
#include "host/lib/conn.h"
#include "narrows/err.h"

enum { BLIPP_HOST_BYTES = 256 };

#define X(name) " " #name
static const char default_probes[] = BLIPP_DEFAULT_LIST(X);
static const char why_no_probe[] = "write some of:" BLIPP_PROBE_LIST(X);
#undef X

#define X(name) &probe_##name,
const struct probe *const blipp_probes[BLIPP_PROBES] = { BLIPP_PROBE_LIST(X) };
#undef X

static int
chronyd_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct conn_addr a;
	struct in_addr address;

	(void)row;
	if (conn_addr_parse(value, &a) == NW_OK && !a.tls &&
	    inet_pton(AF_INET, a.host, &address) == 1)
		return conf_text_set(field, value, why);
	*why = "not an address of IPv4: write 127.0.0.1/323";
	return NW_EINVAL;
}

static int
command_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct exec_command parsed;

	(void)row;
	if (exec_parse(value, &parsed, why) < 0)
		return NW_EINVAL;
	return conf_line_add(field, value, why);
}

static int
peer_directive_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	char host[PEER_HOST_BYTES];
	uint16_t port;

	(void)row;
	if (peer_parse(value, host, &port))
		return conf_line_add(field, value, why);
	*why = "not an address in numbers: write 192.0.2.1/22";
	return NW_EINVAL;
}

static int
address_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	char host[PEER_HOST_BYTES];
	uint16_t port;

	(void)row;
	if (peer_parse(value, host, &port))
		return conf_text_set(field, value, why);
	*why = "not an address in numbers: write 0.0.0.0/5010";
	return NW_EINVAL;
}

static int
directory_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	if (value[0] == '/')
		return conf_text_set(field, value, why);
	*why = "not an absolute path";
	return NW_EINVAL;
}

static int
host_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	if (strlen(value) < BLIPP_HOST_BYTES && strpbrk(value, " \t") == NULL)
		return conf_text_set(field, value, why);
	*why = "not a name without blanks";
	return NW_EINVAL;
}

static int
probes_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct scan list = scan_text(value, strlen(value)), word;
	bool wanted[BLIPP_PROBES] = { false };
	size_t i;

	(void)row;
	while (scan_word(&list, &word)) {
		for (i = 0; i < BLIPP_PROBES && !scan_is(word, blipp_probes[i]->name); i++)
			continue;
		if (i == BLIPP_PROBES) {
			*why = why_no_probe;
			return NW_EINVAL;
		}
		wanted[i] = true;
	}
	memcpy(field, wanted, sizeof(wanted));
	return NW_OK;
}

static int
group_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	if (strlen(value) < SERIES_DEVICE_BYTES && strstr(value, "..") == NULL)
		return conf_line_add(field, value, why);
	*why = "a path below /sys/fs/cgroup of at most 63 bytes: write system.slice/sshd.service";
	return NW_EINVAL;
}

static int
percent_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	char *end;
	double percent = strtod(value, &end);

	(void)row;
	if (end != value && (*end == '\0' || strcmp(end, "%") == 0 || strcmp(end, " %") == 0) &&
	    percent >= 0 && percent <= 10000) {
		*(double *)field = percent;
		return NW_OK;
	}
	*why = "percent of a core, from 0 (any) to 10000";
	return NW_EINVAL;
}

static const struct conf_type group = { group_parse, CONF_LINES };
static const struct conf_type address = { address_parse, true };
static const struct conf_type peer = { peer_directive_parse, CONF_LINES };
static const struct conf_type command = { command_parse, CONF_LINES };
static const struct conf_type chronyd = { chronyd_parse, true };
static const struct conf_type directory = { directory_parse, true };
static const struct conf_type host = { host_parse, true };
static const struct conf_type percent = { percent_parse, false };
static const struct conf_type probes = { probes_parse, false };

#define AT(field) offsetof(struct blipp_conf, field)
static const struct conf_row rows[] = {
	{ "box", &conf_box, AT(box), NULL, NULL, NULL },
	{ "listen", &conf_text, AT(listen), NULL, NULL, NULL },
	{ "tls-dir", &directory, AT(tls_dir), NULL, NULL, NULL },
	{ "chronyd", &chronyd, AT(chronyd), NULL, NULL, NULL },
	{ "host", &host, AT(host), NULL, NULL, NULL },
	{ "interval", &conf_duration, AT(interval_ns), "1 s", "10 ms", "60 m" },
	{ "report-period", &conf_duration, AT(report_ns), "0 s", NULL, "60 m" },
	{ "devices", &conf_text, AT(include), NULL, NULL, NULL },
	{ "exclude-devices", &conf_text, AT(exclude), NULL, NULL, NULL },
	{ "log-to", &conf_text, AT(log_to), NULL, NULL, NULL },
	{ "log-interval", &conf_duration, AT(log_interval_ns), "100 ms", "10 ms", "60 s" },
	{ "budget", &percent, AT(budget_percent), "5", NULL, NULL },
	{ "configuration", &conf_bool, AT(configuration), "yes", NULL, NULL },
	{ "all-tcp-fields", &conf_bool, AT(all_tcp_fields), "no", NULL, NULL },
	{ "diet", &conf_bool, AT(diet), "yes", NULL, NULL },
	{ "queue-size", &conf_size, AT(queue_bytes), "8 MiB", "64 KiB", "1024 MiB" },
	{ "spool-dir", &directory, AT(spool_dir), NULL, NULL, NULL },
	{ "spool-max-size", &conf_size, AT(spool_bytes), "256 MiB", "1 MiB", "931 GiB" },
	{ "spool-max-age", &conf_duration, AT(spool_age_ns), "7 d", "1 m", "366 d" },
	{ "cgroup", &group, AT(groups), NULL, NULL, NULL },
	{ "programs", &conf_text, AT(programs), NULL, NULL, NULL },
	{ "peer", &peer, AT(peers), NULL, NULL, NULL },
	{ "bandwidth", &peer, AT(bandwidth.peers), NULL, NULL, NULL },
	{ "bandwidth-listen", &address, AT(bandwidth.listen), NULL, NULL, NULL },
	{ "bandwidth-size", &conf_size, AT(bandwidth.bytes), "16 MiB", "64 KiB", "1024 MiB" },
	{ "bandwidth-time", &conf_duration, AT(bandwidth.time_ns), "1 s", "10 ms", "10 s" },
	{ "bandwidth-every", &conf_duration, AT(bandwidth.every_ns), "10 m", "10 s", "1 d" },
	{ "scratch", &directory, AT(scratch.directory), NULL, NULL, NULL },
	{ "scratch-size", &conf_size, AT(scratch.bytes), "64 MiB", "1 MiB", "1024 MiB" },
	{ "scratch-time", &conf_duration, AT(scratch.time_ns), "2 s", "100 ms", "10 s" },
	{ "scratch-every", &conf_duration, AT(scratch.every_ns), "10 m", "10 s", "1 d" },
	{ "probe", &command, AT(commands), NULL, NULL, NULL },
	{ "probes", &probes, AT(probes), default_probes, NULL, NULL },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct blipp_conf), false };

void
blipp_conf_init(struct blipp_conf *c)
{
	char why[CONF_WHY_BYTES];

	if (conftable_init(&table, c, why) < 0)
		abort(); /* the table contradicts itself */
}

void
blipp_conf_clear(struct blipp_conf *c)
{
	conftable_clear(&table, c);
}

int
blipp_conf_set(struct blipp_conf *c, const char *name, const char *value, char why[CONF_WHY_BYTES])
{
	return conftable_set(&table, c, name, value, why);
}

int
blipp_conf_read(struct blipp_conf *c, const char *path, char why[CONF_WHY_BYTES])
{
	return conftable_read(&table, c, path, NULL, why);
}

int
blipp_conf_override(struct blipp_conf *c, const char *assignment, char why[CONF_WHY_BYTES])
{
	return conftable_override(&table, c, assignment, NULL, why);
}
