/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/tcpname.h"

#include <stddef.h>
#include <string.h>

/* Fields of the second part have units of their own (seconds, bytes); the first part has RFC
 * 4898's. */
static const struct nw_tcp_name names[] = {
	{ "SegsOut", "SegsOut", "segs_out" },
	{ "SegsIn", "SegsIn", "segs_in" },
	{ "DataSegsOut", "DataSegsOut", "data_segs_out" },
	{ "DataSegsIn", "DataSegsIn", "data_segs_in" },
	{ "HCDataOctetsOut", "HCDataOctetsOut", "bytes_sent" },
	{ "SegsRetrans", "SegsRetrans", "total_retrans" },
	{ "OctetsRetrans", "OctetsRetrans", "bytes_retrans" },
	{ "CurMSS", "CurMSS", "snd_mss" },
	{ "SmoothedRTT", "SmoothedRTT", "rtt" },
	{ "MinRTT", "MinRTT", "min_rtt" },
	{ "CurRTO", "CurRTO", "rto" },
	{ "RcvRTT", "RcvRTT", "rcv_rtt" },
	{ "CurCwnd", "CurCwnd", "snd_cwnd x snd_mss" },
	{ "CurSsthresh", "CurSsthresh", "snd_ssthresh x snd_mss" },
	{ "CurTimeoutCount", "CurTimeoutCount", "retransmits" },
	{ "CurRwinSent", "CurRwinSent", "rcv_wnd" },
	{ "CurRwinRcvd", "CurRwinRcvd", "snd_wnd" },
	{ "DSACKDups", "DSACKDups", "dsack_dups" },
	{ "CurAppWQueue", "CurAppWQueue", "notsent_bytes" },
	{ "HCThruOctetsAcked", "HCThruOctetsAcked", "bytes_acked" },
	{ "HCThruOctetsReceived", "HCThruOctetsReceived", "bytes_received" },
	{ "SndWindScale", "WinScaleRcvd", "snd_wscale" },
	{ "RcvWindScale", "WinScaleSent", "rcv_wscale" },
	{ "MSSSent", "MSSSent", "advmss" },
	{ "MSSRcvd", "MSSRcvd", "rcv_mss" },
	{ "PipeSize", "PipeSize", "(unacked - sacked - lost + retrans) x snd_mss" },
	{ "IpTosOut", "IpTosOut", "INET_DIAG_TOS" },
	{ "CurAppRQueue", "CurAppRQueue", "idiag_rqueue" },
	{ "CurRetxQueue", "CurRetxQueue", "idiag_wqueue - notsent_bytes" },
	{ "linux_rttvar", "RTTVar", "rttvar" },
	{ "linux_reordering", "RetranThresh", "reordering" },
	{ "linux_rcv_ooopack", "DupAcksOut", "rcv_ooopack" },
	{ "linux_rwnd_limited", "SndLimTimeRwin", "rwnd_limited" },
	{ "linux_sndbuf_limited", "SndLimTimeSnd", "sndbuf_limited" },
	{ "linux_ca_state", "InRecovery", "ca_state" },
	{ "linux_total_rto_recoveries", "Timeouts", "total_rto_recoveries" },
	{ "linux_delivered_ce", "ECNsignals", "delivered_ce" },
	{ "linux_state", "State", "state" },

	{ "bytes_out", "HCThruOctetsAcked", "bytes_acked" },
	{ "bytes_in", "HCThruOctetsReceived", "bytes_received" },
	{ "rtt_s", "SmoothedRTT", "rtt" },
	{ "rtt_min_s", "MinRTT", "min_rtt" },
	{ "cwnd_bytes", "CurCwnd", "snd_cwnd x snd_mss" },
	{ "retrans", "SegsRetrans", "total_retrans" },
	{ "rwnd_limited_s", "SndLimTimeRwin", "rwnd_limited" },
	{ "sndbuf_limited_s", "SndLimTimeSnd", "sndbuf_limited" },
	{ "snd_mss", "CurMSS", "snd_mss" },
	{ "snd_wnd", "CurRwinRcvd", "snd_wnd" },
	{ "notsent_bytes", "CurAppWQueue", "notsent_bytes" },
};

const struct nw_tcp_name *
nw_tcp_name(const char *field)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].field, field) == 0)
			return &names[i];
	return NULL;
}

const char *
nw_tcp_rfc4898(const char *field)
{
	const struct nw_tcp_name *n = nw_tcp_name(field);

	return n != NULL ? n->rfc4898 : "";
}
