/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/net/snmp: pairs of lines, names then numbers, both beginning with the protocol. Names differ by kernel. */
#include "host/probe.h"

#include "narrows/err.h"

static const struct series_field ip_fields[] = {
	{ "packets_in", "{packet}", true }, { "packets_out", "{packet}", true },
	{ "errors", "{packet}", true }, { "drops", "{packet}", true },
};
static const struct series_kind ip_kind = { SERIES_PREFIX "network:ip:utilization", NULL, ip_fields,
	sizeof(ip_fields) / sizeof(ip_fields[0]) };

static const struct series_field tcp_fields[] = {
	{ "segments_in", "{segment}", true }, { "segments_out", "{segment}", true }, { "retrans", "{segment}", true },
	{ "errors", "{segment}", true }, { "resets_out", "{segment}", true },
	{ "active_opens", "{connection}", true }, { "passive_opens", "{connection}", true },
	{ "resets", "{connection}", true }, { "established", "{connection}", false },
};
static const struct series_kind tcp_kind = { SERIES_PREFIX "network:tcp:utilization", NULL, tcp_fields,
	sizeof(tcp_fields) / sizeof(tcp_fields[0]) };

static const struct series_field udp_fields[] = {
	{ "datagrams_in", "{datagram}", true }, { "datagrams_out", "{datagram}", true },
	{ "errors", "{datagram}", true }, { "no_ports", "{datagram}", true },
	{ "receive_drops", "{datagram}", true }, { "send_drops", "{datagram}", true },
};
static const struct series_kind udp_kind = { SERIES_PREFIX "network:udp:utilization", NULL, udp_fields,
	sizeof(udp_fields) / sizeof(udp_fields[0]) };

struct snmp_probe { struct procfs_file file; struct series ip, tcp, udp; };

static const struct { const char *protocol, *name; size_t offset; } wanted[] = {
	{ "Ip:", "InReceives", offsetof(struct snmp_info, ip_in) },
	{ "Ip:", "OutRequests", offsetof(struct snmp_info, ip_out) },
	{ "Ip:", "InHdrErrors", offsetof(struct snmp_info, ip_header_errors) },
	{ "Ip:", "InAddrErrors", offsetof(struct snmp_info, ip_address_errors) },
	{ "Ip:", "InDiscards", offsetof(struct snmp_info, ip_discards_in) },
	{ "Ip:", "OutDiscards", offsetof(struct snmp_info, ip_discards_out) },
	{ "Tcp:", "ActiveOpens", offsetof(struct snmp_info, tcp_active_opens) },
	{ "Tcp:", "PassiveOpens", offsetof(struct snmp_info, tcp_passive_opens) },
	{ "Tcp:", "EstabResets", offsetof(struct snmp_info, tcp_resets) },
	{ "Tcp:", "CurrEstab", offsetof(struct snmp_info, tcp_established) },
	{ "Tcp:", "InSegs", offsetof(struct snmp_info, tcp_in) },
	{ "Tcp:", "OutSegs", offsetof(struct snmp_info, tcp_out) },
	{ "Tcp:", "RetransSegs", offsetof(struct snmp_info, tcp_retrans) },
	{ "Tcp:", "InErrs", offsetof(struct snmp_info, tcp_errors) },
	{ "Tcp:", "OutRsts", offsetof(struct snmp_info, tcp_resets_out) },
	{ "Udp:", "InDatagrams", offsetof(struct snmp_info, udp_in) },
	{ "Udp:", "OutDatagrams", offsetof(struct snmp_info, udp_out) },
	{ "Udp:", "NoPorts", offsetof(struct snmp_info, udp_no_ports) },
	{ "Udp:", "InErrors", offsetof(struct snmp_info, udp_errors) },
	{ "Udp:", "RcvbufErrors", offsetof(struct snmp_info, udp_receive_drops) },
	{ "Udp:", "SndbufErrors", offsetof(struct snmp_info, udp_send_drops) },
};
enum { N_WANTED = sizeof(wanted) / sizeof(wanted[0]) };

/* Both lines behind their protocol. Returns how many of the wanted were there. */
static size_t
parse_pair(struct scan protocol, struct scan names, struct scan numbers, struct snmp_info *out)
{
	struct scan name;
	uint64_t n;
	size_t i, found = 0;

	while (scan_word(&names, &name) && scan_u64(&numbers, &n)) {
		for (i = 0; i < N_WANTED; i++) {
			if (scan_is(name, wanted[i].name) && scan_is(protocol, wanted[i].protocol)) {
				memcpy((char *)out + wanted[i].offset, &n, sizeof(n));
				found++;
				break;
			}
		}
	}
	return found;
}

static bool
is_wanted(struct scan protocol)
{
	return scan_is(protocol, "Ip:") || scan_is(protocol, "Tcp:") || scan_is(protocol, "Udp:");
}

int
snmp_parse(struct scan text, struct snmp_info *out)
{
	struct scan names, numbers, protocol, again;
	size_t found = 0;

	memset(out, 0, sizeof(*out));
	while (scan_line(&text, &names) && scan_line(&text, &numbers)) {
		if (!scan_word(&names, &protocol) || !scan_word(&numbers, &again) || !is_wanted(protocol))
			continue;
		if (again.end - again.at != protocol.end - protocol.at ||
		    memcmp(again.at, protocol.at, (size_t)(again.end - again.at)) != 0)
			return NW_EPROTO;
		found += parse_pair(protocol, names, numbers, out);
	}
	return found > 0 ? NW_OK : NW_EPROTO;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct snmp_probe *p = state;
	struct snmp_info i;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/net/snmp", buf, &text)) < 0 || (rc = snmp_parse(text, &i)) < 0 ||
	    (rc = series_send(&p->ip, &ip_kind, r, (const double[]){
		(double)i.ip_in, (double)i.ip_out, (double)(i.ip_header_errors + i.ip_address_errors),
		(double)(i.ip_discards_in + i.ip_discards_out) })) < 0 ||
	    (rc = series_send(&p->tcp, &tcp_kind, r, (const double[]){
		(double)i.tcp_in, (double)i.tcp_out, (double)i.tcp_retrans, (double)i.tcp_errors,
		(double)i.tcp_resets_out, (double)i.tcp_active_opens, (double)i.tcp_passive_opens,
		(double)i.tcp_resets, (double)i.tcp_established })) < 0)
		return rc;
	return series_send(&p->udp, &udp_kind, r, (const double[]){
		(double)i.udp_in, (double)i.udp_out, (double)i.udp_errors, (double)i.udp_no_ports,
		(double)i.udp_receive_drops, (double)i.udp_send_drops });
}

static void
clear(void *state)
{
	procfs_close(&((struct snmp_probe *)state)->file);
}

const struct probe probe_snmp = { "snmp", sizeof(struct snmp_probe), sample, clear, NULL, NULL };
