/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's numbers of a connection, out of the kernel's (tcpinfo.h). */
#include "host/nwrun/collect/collect_in.h"

#include "host/lib/tcpinfo.h"

int
tcp_open(void)
{
	return tcpinfo_open();
}

void
tcp_parse(const uint8_t *info, size_t len, struct tcp_sample *out)
{
	out->snd_mss = tcpinfo_u32(info, len, TCP_SND_MSS, 1);
	out->snd_wnd = tcpinfo_u32(info, len, TCP_SND_WND, 1);
	out->rtt_s = tcpinfo_u32(info, len, TCP_RTT_US, 1e-6);
	out->rtt_min_s = tcpinfo_u32(info, len, TCP_MIN_RTT_US, 1e-6);
	out->cwnd_bytes = tcpinfo_u32(info, len, TCP_SND_CWND, out->snd_mss);
	out->retrans = tcpinfo_u32(info, len, TCP_TOTAL_RETRANS, 1);
	out->notsent_bytes = tcpinfo_u32(info, len, TCP_NOTSENT_BYTES, 1);
	out->delivery_rate = tcpinfo_u64(info, len, TCP_DELIVERY_RATE, 1);
	out->busy_s = tcpinfo_u64(info, len, TCP_BUSY_US, 1e-6);
	out->rwnd_limited_s = tcpinfo_u64(info, len, TCP_RWND_LIMITED_US, 1e-6);
	out->sndbuf_limited_s = tcpinfo_u64(info, len, TCP_SNDBUF_LIMITED_US, 1e-6);
	if (out->rtt_min_s >= 4294.967295) /* all bits set: no round trip measured yet */
		out->rtt_min_s = NAN;
	out->unread_share = NAN;
}

void
fields_tcp(struct field_list *f, const struct tcp_sample *tcp)
{
	field(f, "rtt_s", tcp->rtt_s);
	field(f, "rtt_min_s", tcp->rtt_min_s);
	field(f, "cwnd_bytes", tcp->cwnd_bytes);
	field(f, "retrans", tcp->retrans);
	field(f, "delivery_rate", tcp->delivery_rate);
	field(f, "busy_s", tcp->busy_s);
	field(f, "rwnd_limited_s", tcp->rwnd_limited_s);
	field(f, "sndbuf_limited_s", tcp->sndbuf_limited_s);
	field(f, "snd_mss", tcp->snd_mss);
	field(f, "snd_wnd", tcp->snd_wnd);
	field(f, "notsent_bytes", tcp->notsent_bytes);
	field(f, "unread_share", tcp->unread_share);
}

bool
tcp_ask(int fd, const struct net_addr *local, const struct net_addr *peer, struct tcp_sample *out)
{
	struct tcpinfo_more more = { .receive_queue_bytes = NAN };
	uint8_t info[TCPINFO_BYTES];
	size_t len = tcpinfo_ask_more(fd, local, peer, info, &more);
	double window;

	if (len == 0)
		return false;
	tcp_parse(info, len, out);
	window = tcpinfo_u32(info, len, TCP_RCV_SSTHRESH, 1);
	if (window > 0)
		out->unread_share = more.receive_queue_bytes / window;
	return true;
}
