/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/net/snmp and /proc/net/netstat: all counters of IP, ICMP, TCP and UDP. Counters with a
 * long-standing name keep that name, the others have the kernel's: TCPFastRetrans, TCPTimeouts,
 * RcvPruned and the like tell why a path is slow.
 */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"

static const struct table_alias ip_aliases[] = {
	{ "InReceives", "packets_in", "{packet}", false },
	{ "OutRequests", "packets_out", "{packet}", false },
	{ "Forwarding", NULL, NULL, true },
	{ "DefaultTTL", NULL, NULL, true },
	{ NULL, NULL, NULL, false },
};
static const struct table_alias tcp_aliases[] = {
	{ "InSegs", "segments_in", "{segment}", false },
	{ "OutSegs", "segments_out", "{segment}", false },
	{ "RetransSegs", "retrans", "{segment}", false },
	{ "CurrEstab", "established", "{connection}", true },
	{ "RtoAlgorithm", NULL, NULL, true },
	{ "RtoMin", NULL, "ms", true },
	{ "RtoMax", NULL, "ms", true },
	{ "MaxConn", NULL, NULL, true },
	{ NULL, NULL, NULL, false },
};
static const struct table_alias udp_aliases[] = {
	{ "InDatagrams", "datagrams_in", "{datagram}", false },
	{ "OutDatagrams", "datagrams_out", "{datagram}", false },
	{ NULL, NULL, NULL, false },
};
static const struct table_alias ip_extended_aliases[] = {
	{ "InOctets", NULL, "By", false },
	{ "OutOctets", NULL, "By", false },
	{ "InMcastOctets", NULL, "By", false },
	{ "OutMcastOctets", NULL, "By", false },
	{ "InBcastOctets", NULL, "By", false },
	{ "OutBcastOctets", NULL, "By", false },
	{ NULL, NULL, NULL, false },
};

static const struct pairs_protocol snmp_protocols[] = {
	{ "Ip:", { SERIES_PREFIX "network:ip:utilization", "1", true, ip_aliases, NULL } },
	{ "Icmp:", { SERIES_PREFIX "network:icmp:utilization", "1", true, NULL, NULL } },
	{ "Tcp:", { SERIES_PREFIX "network:tcp:utilization", "1", true, tcp_aliases, NULL } },
	{ "Udp:", { SERIES_PREFIX "network:udp:utilization", "1", true, udp_aliases, NULL } },
};
static const struct pairs_protocol netstat_protocols[] = {
	{ "TcpExt:", { SERIES_PREFIX "network:tcp:extended", "1", true, NULL, NULL } },
	{ "IpExt:", { SERIES_PREFIX "network:ip:extended", "1", true, ip_extended_aliases, NULL } },
};
enum {
	N_SNMP = sizeof(snmp_protocols) / sizeof(snmp_protocols[0]),
	N_NETSTAT = sizeof(netstat_protocols) / sizeof(netstat_protocols[0])
};

struct snmp_probe {
	struct procfs_file file;
	struct table tables[N_SNMP];
};
struct netstat_probe {
	struct procfs_file file;
	struct table tables[N_NETSTAT];
};

int
pairs_parse(
    struct scan text, const struct pairs_protocol *protocols, size_t n, struct table *tables)
{
	struct scan names, numbers, protocol, again, name;
	size_t i, found = 0;
	double value;
	int rc;

	for (i = 0; i < n; i++)
		if ((rc = table_begin(&tables[i], &protocols[i].style)) < 0)
			return rc;
	while (scan_line(&text, &names) && scan_line(&text, &numbers)) {
		if (!scan_word(&names, &protocol) || !scan_word(&numbers, &again))
			return NW_EPROTO;
		for (i = 0; i < n && !scan_is(protocol, protocols[i].protocol); i++)
			continue;
		if (i == n)
			continue;
		if (!scan_is(again, protocols[i].protocol))
			return NW_EPROTO;
		/* Tcp's MaxConn is -1 where there is no limit */
		while (scan_word(&names, &name) && scan_signed(&numbers, &value))
			table_put(&tables[i], name, value, NULL);
		found++;
	}
	return found > 0 ? NW_OK : NW_EPROTO;
}

static int
sample_pairs(struct procfs_file *f, const char *path, const struct pairs_protocol *protocols,
    size_t n, struct table *tables, struct report *r, struct procfs_buf *buf)
{
	struct scan text;
	size_t i;
	int rc;

	if ((rc = procfs_read(f, path, buf, &text)) < 0 ||
	    (rc = pairs_parse(text, protocols, n, tables)) < 0)
		return rc;
	for (i = 0; i < n && rc == NW_OK; i++)
		rc = table_send(&tables[i], r);
	return rc;
}

static int
sample_snmp(void *state, struct report *r, struct procfs_buf *buf)
{
	struct snmp_probe *p = state;

	return sample_pairs(&p->file, "/proc/net/snmp", snmp_protocols, N_SNMP, p->tables, r, buf);
}

static int
sample_netstat(void *state, struct report *r, struct procfs_buf *buf)
{
	struct netstat_probe *p = state;

	return sample_pairs(
	    &p->file, "/proc/net/netstat", netstat_protocols, N_NETSTAT, p->tables, r, buf);
}

static void
clear_snmp(void *state)
{
	struct snmp_probe *p = state;
	size_t i;

	procfs_close(&p->file);
	for (i = 0; i < N_SNMP; i++)
		table_clear(&p->tables[i]);
}

static void
clear_netstat(void *state)
{
	struct netstat_probe *p = state;
	size_t i;

	procfs_close(&p->file);
	for (i = 0; i < N_NETSTAT; i++)
		table_clear(&p->tables[i]);
}

const struct probe probe_snmp = {
	.name = "snmp",
	.source = "/proc/net/snmp",
	.event_type = SERIES_PREFIX "network:",
	.state_bytes = sizeof(struct snmp_probe),
	.sample = sample_snmp,
	.clear = clear_snmp,
};
const struct probe probe_netstat = {
	.name = "netstat",
	.source = "/proc/net/netstat",
	.event_type = SERIES_PREFIX "network:",
	.state_bytes = sizeof(struct netstat_probe),
	.sample = sample_netstat,
	.clear = clear_netstat,
};
