/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's knowledge of a TCP connection of this network name space: one NETLINK_SOCK_DIAG
 * question by addresses and ports, which needs no privilege. The answer's struct tcp_info grows
 * with the kernel: fields are read by their offset, as far as the answer reaches.
 */
#ifndef HOST_TCPINFO_H
#define HOST_TCPINFO_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/lib/net_addr.h"

enum { TCPINFO_BYTES = 512 }; /* more than any kernel has */

int tcpinfo_open(void); /* a descriptor, or -1 */
/* The length of the answer; 0: no such connection here, or no descriptor. */
size_t tcpinfo_ask(
    int fd, const struct net_addr *local, const struct net_addr *peer, uint8_t info[TCPINFO_BYTES]);

/* What the kernel says beyond struct tcp_info, as far as it does: numbers are NaN else. */
enum { TCP_SKMEM_NUMBERS = 9 };
struct tcpinfo_more {
	char congestion[16];             /* algorithm; empty: not told */
	double skmem[TCP_SKMEM_NUMBERS]; /* in the order of SK_MEMINFO_*: bytes, the last drops */
	double receive_queue_bytes, send_queue_bytes;
	double tos; /* type of service, or traffic class, of packets sent */
	double bbr_bytes_per_s, bbr_min_rtt_us, bbr_pacing_gain, bbr_cwnd_gain;
};
/* The same, with more. */
size_t tcpinfo_ask_more(int fd, const struct net_addr *local, const struct net_addr *peer,
    uint8_t info[TCPINFO_BYTES], struct tcpinfo_more *more);

/* The cookie of the connection's socket here, which the question makes where there was none; 0: no
 * such connection here, or no descriptor. */
uint64_t tcpinfo_cookie(int fd, const struct net_addr *local, const struct net_addr *peer);

/* Offsets of the fields, in any kernel that has them: the layout only ever got longer. */
enum tcpinfo_at {
	TCP_STATE = 0,
	TCP_CA_STATE = 1,
	TCP_RETRANSMITS = 2,
	TCP_BACKOFF = 4,
	TCP_OPTIONS = 5,
	TCP_WSCALES = 6,
	TCP_APP_LIMITED = 7,
	TCP_RTO_US = 8,
	TCP_SND_MSS = 16,
	TCP_RCV_MSS = 20,
	TCP_UNACKED = 24,
	TCP_SACKED = 28,
	TCP_LOST = 32,
	TCP_RETRANS_OUT = 36,
	TCP_PMTU = 60,
	TCP_RCV_SSTHRESH = 64,
	TCP_RTT_US = 68,
	TCP_RTTVAR_US = 72,
	TCP_SND_SSTHRESH = 76,
	TCP_SND_CWND = 80,
	TCP_ADVMSS = 84,
	TCP_REORDERING = 88,
	TCP_RCV_RTT_US = 92,
	TCP_RCV_SPACE = 96,
	TCP_TOTAL_RETRANS = 100,
	TCP_PACING_RATE = 104,
	TCP_MAX_PACING_RATE = 112,
	TCP_BYTES_ACKED = 120,
	TCP_BYTES_RECEIVED = 128,
	TCP_SEGS_OUT = 136,
	TCP_SEGS_IN = 140,
	TCP_NOTSENT_BYTES = 144,
	TCP_MIN_RTT_US = 148,
	TCP_DATA_SEGS_IN = 152,
	TCP_DATA_SEGS_OUT = 156,
	TCP_DELIVERY_RATE = 160,
	TCP_BUSY_US = 168,
	TCP_RWND_LIMITED_US = 176,
	TCP_SNDBUF_LIMITED_US = 184,
	TCP_DELIVERED = 192,
	TCP_DELIVERED_CE = 196,
	TCP_BYTES_SENT = 200,
	TCP_BYTES_RETRANS = 208,
	TCP_DSACK_DUPS = 216,
	TCP_REORD_SEEN = 220,
	TCP_RCV_OOOPACK = 224,
	TCP_SND_WND = 228,
	TCP_RCV_WND = 232,
	TCP_REHASH = 236,
	TCP_TOTAL_RTO = 240,
	TCP_TOTAL_RTO_RECOVERIES = 242,
	TCP_TOTAL_RTO_TIME = 244,
	TCP_RECEIVED_CE = 248
};

/* NaN: the answer ends before. */
static inline double
tcpinfo_u32(const uint8_t *info, size_t len, size_t at, double unit)
{
	uint32_t v;

	if (len < at + sizeof(v))
		return NAN;
	memcpy(&v, info + at, sizeof(v));
	return (double)v * unit;
}

static inline double
tcpinfo_u64(const uint8_t *info, size_t len, size_t at, double unit)
{
	uint64_t v;

	if (len < at + sizeof(v))
		return NAN;
	memcpy(&v, info + at, sizeof(v));
	return (double)v * unit;
}

#endif
