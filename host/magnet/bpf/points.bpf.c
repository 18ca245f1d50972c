/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The programs in the kernel. Each point of the registry (points.c) has one program per way to
 * attach it; all of them end in event(), which decides in this order, cheapest first: is the point
 * on, the processor, the process, the identity, the sample; then the event goes into the
 * statistics, or as a record into the ring of all events and into the ring of its view.
 *
 * No program reads kernel memory by address, so the programs load under every lockdown mode: fields
 * are reached through typed pointers, a packet's headers by bpf_rdonly_cast(). Kernels before 6.2
 * lack the latter (READ in event.h).
 */
#include "event.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { STARTS_MAX = 16384 };

struct start {
	uint64_t t_mono_ns, id, mark;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STARTS_MAX);
	__type(
	    key, struct start_key {
		    uint64_t object;
		    uint64_t wait;
	    });
	__type(value, struct start);
} starts SEC(".maps");

/* The network interrupt that a processor works on: when its softirq was raised, and of which raise
 * the packets in hand are. 0: none. */
struct interrupt {
	uint64_t raised_mono_ns, worked_mono_ns;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct interrupt);
} interrupts SEC(".maps");

/* The followed socket that a thread used last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IDS_MAX);
	__type(key, uint32_t);
	__type(value, uint64_t);
} users SEC(".maps");

struct id_set flows SEC(".maps"); /* sockets whose waiting times are followed */

/* The ends of the datagram that a thread sent last, by a socket without a peer: the point at the
 * end of the call no longer has the packet. */
struct ends {
	uint64_t socket; /* its place in memory */
	uint8_t form;
	uint16_t sport, dport;
	uint8_t source_ip[16], dest_ip[16];
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IDS_MAX);
	__type(key, uint32_t);
	__type(value, struct ends);
} sent SEC(".maps");

/* Whether a socket of IPv6 talks IPv4 with its peer: then its packets have addresses of IPv4. */
static __always_inline bool
sock_is_mapped(struct sock *sk)
{
	const uint32_t *ip = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32;

	return ip[0] == 0 && ip[1] == 0 && ip[2] == bpf_htonl(0xffff);
}

/* sk: of IPv4 or IPv6. */
static __always_inline void
sock_take(struct event *e, struct sock *sk)
{
	uint16_t family = sk->__sk_common.skc_family;

	e->sport = sk->__sk_common.skc_num;
	e->dport = bpf_ntohs(sk->__sk_common.skc_dport);
	e->protocol = sk->sk_protocol;
	if (family == AF_INET6 && !sock_is_mapped(sk)) {
		e->form = MAGNET_FLOW6;
		__builtin_memcpy(e->source_ip, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8, 16);
		__builtin_memcpy(e->dest_ip, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8, 16);
	} else {
		uint32_t source = sk->__sk_common.skc_rcv_saddr, dest = sk->__sk_common.skc_daddr;

		e->form = MAGNET_FLOW4;
		__builtin_memcpy(e->source_ip, &source, 4);
		__builtin_memcpy(e->dest_ip, &dest, 4);
	}
	if (control.by_netns | control.views_by_netns)
		e->netns = sk->__sk_common.skc_net.net->net_cookie;
	if (sk->sk_cgrp_data.cgroup != 0)
		e->cgroup = sk->sk_cgrp_data.cgroup->kn->id;
}

static __always_inline bool
sock_is_ip(struct sock *sk)
{
	return sk->__sk_common.skc_family == AF_INET || sk->__sk_common.skc_family == AF_INET6;
}

/* The bytes of an event of a socket: written now (WRITING, before the call that writes; WRITTEN,
 * behind it), read by the program, or waiting for the program. */
enum bytes_of { NO_BYTES, WRITING, WRITTEN, READ_NOW, WAITING };

/* The helper that makes a typed TCP socket has no form for all programs, so the fields are read at
 * the address of the socket. */
static __always_inline void
bytes_take(struct event *e, struct sock *sk, enum bytes_of of, int32_t n)
{
	uint32_t next, read;

	if (of == NO_BYTES || n < 0 || sk->sk_protocol != IPPROTO_TCP)
		return;
	e->bytes.has_origin = 1;
	if (of == WRITING || of == WRITTEN) {
		next = READ(struct tcp_sock, sk, write_seq);
		e->bytes.first = of == WRITING ? next : next - n;
		e->bytes.behind = e->bytes.first + n;
		e->bytes.origin = READ(struct tcp_sock, sk, snd_una) -
		    (uint32_t)READ(struct tcp_sock, sk, bytes_acked);
		return;
	}
	e->inward = 1;
	next = READ(struct tcp_sock, sk, rcv_nxt);
	read = READ(struct tcp_sock, sk, copied_seq);
	e->bytes.first = of == READ_NOW ? read - n : read;
	e->bytes.behind = of == READ_NOW ? read : next;
	e->bytes.origin = next - (uint32_t)READ(struct tcp_sock, sk, bytes_received);
}

/* An event of a socket: its cookie is the abstract id. */
static __always_inline int
sock_bytes_event(uint32_t point, struct sock *sk, int32_t value, enum bytes_of of)
{
	struct event e = { .value = value };

	if (sk == 0 || !sock_is_ip(sk))
		return 0;
	e.id = bpf_get_socket_cookie(sk);
	sock_take(&e, sk);
	bytes_take(&e, sk, of, value);
	return event(point, &e);
}

static __always_inline int
sock_event(uint32_t point, struct sock *sk, int32_t value)
{
	return sock_bytes_event(point, sk, value, NO_BYTES);
}

/* The bytes of a TCP segment, by the length of its IP packet. */
static __always_inline void
segment_take(struct event *e, unsigned char *tcp, uint32_t len)
{
	uint32_t header = (READ(struct icmphdr, tcp + 12, type) >> 4) * 4;

	e->bytes.first = e->bytes.behind = bpf_ntohl(READ(struct tcphdr, tcp, seq));
	if (len > header)
		e->bytes.behind += len - header;
}

/* Bytes behind the IP header. A field of 16 bits cannot tell a length above 64 KiB, and is 0
 * then. */
static __always_inline uint32_t
behind_ip(const struct sk_buff *skb, const unsigned char *ip, uint32_t header, uint32_t told)
{
	if (told == 0)
		told = skb->len - (uint32_t)(ip - skb->data);
	return told > header ? told - header : 0;
}

/* Addresses and ports out of the packet itself: below the IP layer a packet's socket may be the
 * sender's. */
static __always_inline bool
packet_ends(struct event *e, struct sk_buff *skb)
{
	unsigned char *ip = skb->head + skb->network_header;
	unsigned char *next = skb->head + skb->transport_header;
	uint32_t len = 0;

	if (skb->protocol == bpf_htons(0x0800)) {
		uint32_t source = READ(struct iphdr, ip, saddr),
			 dest = READ(struct iphdr, ip, daddr);

		e->form = MAGNET_FLOW4;
		e->protocol = READ(struct iphdr, ip, protocol);
		__builtin_memcpy(e->source_ip, &source, 4);
		__builtin_memcpy(e->dest_ip, &dest, 4);
		if (skb->transport_header == 0xffff || next <= ip)
			next = ip + 20;
		e->ip_id = bpf_ntohs(READ(struct iphdr, ip, id));
		len = behind_ip(skb, ip, next - ip, bpf_ntohs(READ(struct iphdr, ip, tot_len)));
	} else if (skb->protocol == bpf_htons(0x86dd)) {
		struct in6_addr source = READ(struct ipv6hdr, ip, saddr),
				dest = READ(struct ipv6hdr, ip, daddr);

		e->form = MAGNET_FLOW6;
		e->protocol = READ(struct ipv6hdr, ip, nexthdr);
		__builtin_memcpy(e->source_ip, &source, 16);
		__builtin_memcpy(e->dest_ip, &dest, 16);
		if (skb->transport_header == 0xffff || next <= ip)
			next = ip + 40;
		len = bpf_ntohs(READ(struct ipv6hdr, ip, payload_len));
		len = behind_ip(skb, ip, next - ip, len > 0 ? len + 40 : 0);
	} else {
		return 0;
	}
	if (e->protocol == IPPROTO_TCP || e->protocol == IPPROTO_UDP) {
		e->sport = bpf_ntohs(READ(struct tcphdr, next, source));
		e->dport = bpf_ntohs(READ(struct tcphdr, next, dest));
	}
	if (e->protocol == IPPROTO_TCP)
		segment_take(e, next, len);
	return 1;
}

static __always_inline bool
packet_take(struct event *e, struct sk_buff *skb)
{
	if (!packet_ends(e, skb))
		return 0;
	if ((control.by_netns | control.views_by_netns) && skb->dev != 0)
		e->netns = skb->dev->nd_net.net->net_cookie;
	if (control.views_by_device && skb->dev != 0)
		e->device = skb->dev->ifindex;
	return 1;
}

/* The socket of a packet on its way out. The IP layer sends before the packet has a device, so the
 * network namespace is the socket's, too. */
static __always_inline void
sender_take(struct event *e, struct sock *sk)
{
	e->id = sk->__sk_common.skc_cookie.counter;
	if (e->netns == 0 && (control.by_netns | control.views_by_netns))
		e->netns = sk->__sk_common.skc_net.net->net_cookie;
	if (sk->sk_cgrp_data.cgroup != 0)
		e->cgroup = sk->sk_cgrp_data.cgroup->kn->id;
}

/*
 * An event of a packet on its way out: the socket is the sender's, and its cookie the abstract id.
 * The helper that makes a cookie refuses the socket of a packet, so the cookie is read: it is 0
 * until a point of the socket layer, or any program, has asked for the socket's cookie.
 */
static __always_inline int
packet_out(uint32_t point, struct sk_buff *skb, int32_t value)
{
	struct event e = { .value = value };
	struct sock *sk = skb->sk;

	if (!packet_take(&e, skb))
		return 0;
	if (sk != 0 && sock_is_ip(sk))
		sender_take(&e, sk);
	return event(point, &e);
}

/* An event of a packet on its way in: no socket is known yet, so there is no abstract id. */
static __always_inline int
packet_in(uint32_t point, struct sk_buff *skb)
{
	struct event e = { .value = skb->len };

	return packet_take(&e, skb) ? event(point, &e) : 0;
}

/* --- sockets without a peer, whose datagrams alone have addresses --- */

static __always_inline bool
has_no_peer(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_UDP && sk->__sk_common.skc_dport == 0 && sock_is_ip(sk);
}

static __always_inline bool
ends_find(struct ends *d, struct sk_buff *skb)
{
	struct event e = {};

	if (!packet_ends(&e, skb))
		return 0;
	d->form = e.form;
	d->sport = e.sport;
	d->dport = e.dport;
	__builtin_memcpy(d->source_ip, e.source_ip, 16);
	__builtin_memcpy(d->dest_ip, e.dest_ip, 16);
	return 1;
}

/* An event at the end of a call that sends. */
static __always_inline int
sent_event(uint32_t point, struct sock *sk, int32_t value)
{
	struct event e = { .value = value };
	struct ends *d;
	uint32_t tid;

	if (sk == 0 || !has_no_peer(sk))
		return sock_bytes_event(point, sk, value, WRITTEN);
	e.id = bpf_get_socket_cookie(sk);
	sock_take(&e, sk);
	tid = (uint32_t)bpf_get_current_pid_tgid();
	d = value >= 0 ? bpf_map_lookup_elem(&sent, &tid) : 0;
	if (d != 0 && d->socket == (uint64_t)sk) {
		e.form = d->form;
		e.sport = d->sport;
		e.dport = d->dport;
		__builtin_memcpy(e.source_ip, d->source_ip, 16);
		__builtin_memcpy(e.dest_ip, d->dest_ip, 16);
	}
	return event(point, &e);
}

/* An event of a socket that has just got a datagram: the last of its queue, unless a reader has
 * emptied the queue meanwhile. The socket's own end is the source, as in its other events. */
static __always_inline int
ready_event(uint32_t point, struct sock *sk)
{
	struct event e = { .value = 0 };
	struct ends d = {};

	if (sk == 0 || !has_no_peer(sk))
		return sock_bytes_event(point, sk, 0, WAITING);
	e.id = bpf_get_socket_cookie(sk);
	sock_take(&e, sk);
	if (sk->sk_receive_queue.qlen != 0 && ends_find(&d, sk->sk_receive_queue.prev) &&
	    d.dport == e.sport) {
		e.form = d.form;
		e.dport = d.sport;
		__builtin_memcpy(e.source_ip, d.dest_ip, 16);
		__builtin_memcpy(e.dest_ip, d.source_ip, 16);
	}
	return event(point, &e);
}

static __always_inline int
task_event(uint32_t point, struct task_struct *task, uint32_t other, int32_t value)
{
	struct event e = { .form = MAGNET_TASK, .value = value };

	e.id = e.task.tid = tid_of(task);
	e.task.pid = tgid_of(task);
	e.task.priority = task->prio;
	e.task.other = other;
	e.cgroup = e.task.cgroup = task->cgroups->dfl_cgrp->kn->id;
	return event(point, &e);
}

static __always_inline int
request_event(uint32_t point, struct request *rq, int32_t value)
{
	struct event e = { .form = MAGNET_BLOCK, .value = value };

	e.id = (uint64_t)rq;
	e.block.sector = rq->__sector;
	e.block.bytes = rq->__data_len;
	e.block.flags = rq->cmd_flags;
	if (rq->q != 0 && rq->q->disk != 0)
		e.block.device = (uint32_t)rq->q->disk->major << 20 | rq->q->disk->first_minor;
	return event(point, &e);
}

static __always_inline int
memory_event(uint32_t point, uint64_t address, uint64_t error, uint64_t size)
{
	struct event e = { .form = MAGNET_MEMORY, .value = size > 0x7fffffff ? 0x7fffffff : size };

	e.id = (uint32_t)current_numbers();
	e.memory.address = address;
	e.memory.error = error;
	e.memory.size = size;
	return event(point, &e);
}

/* --- waiting times between layers --- */

/* A slot of time is 4 jiffies: a wait is measured whole if it begins in a slot that is sampled. */
static __always_inline bool
slot_is_sampled(void)
{
	return control.wait_slots <= 1 ||
	    ((bpf_jiffies64() >> 2) & (uint64_t)(control.wait_slots - 1)) == 0;
}

static __always_inline void
wait_begin(uint32_t wait, uint64_t object, uint64_t id, uint64_t mark, bool keep_first)
{
	struct start_key key = { .object = object, .wait = wait };
	struct start s = { .t_mono_ns = bpf_ktime_get_ns(), .id = id, .mark = mark };

	bpf_map_update_elem(&starts, &key, &s, keep_first ? BPF_NOEXIST : BPF_ANY);
}

static __always_inline struct start *
wait_find(uint32_t wait, uint64_t object)
{
	struct start_key key = { .object = object, .wait = wait };

	return bpf_map_lookup_elem(&starts, &key);
}

/* Adds a wait to the statistics of its identity and of the host, as the owner wants them. */
static __noinline int
wait_add(uint32_t wait, uint64_t id, uint64_t ns)
{
	if (control.latency & MAGNET_WAITS_HOST)
		stat_add(wait, 0, ns);
	if (control.latency & MAGNET_WAITS_ALL ||
	    (control.latency & MAGNET_WAITS_FLOWS && set_has(&flows, id)))
		stat_add(wait, id, ns);
	return 0;
}

static __always_inline void
wait_end(uint32_t wait, uint64_t object)
{
	struct start_key key = { .object = object, .wait = wait };
	struct start *s = bpf_map_lookup_elem(&starts, &key);

	if (s == 0)
		return;
	wait_add(wait, s->id, bpf_ktime_get_ns() - s->t_mono_ns);
	bpf_map_delete_elem(&starts, &key);
}

static __always_inline bool
id_is_wanted(uint64_t id)
{
	if (control.latency & MAGNET_WAITS_HOST)
		return 1;
	if (control.latency & MAGNET_WAITS_ALL)
		return !control.by_id || set_has(&ids, id);
	return set_has(&flows, id);
}

/* Whether waiting times of a socket are kept; makes the socket's cookie. */
static __always_inline bool
wait_wanted(struct sock *sk, uint64_t *id)
{
	if (!control.latency || !sock_is_ip(sk))
		return 0;
	*id = bpf_get_socket_cookie(sk);
	return id_is_wanted(*id);
}

/* The same of a packet's socket, whose cookie can only be read. */
static __always_inline bool
wait_wanted_of(struct sk_buff *skb, uint64_t *id)
{
	struct sock *sk = skb->sk;

	if (!control.latency || sk == 0 || !sock_is_ip(sk))
		return 0;
	*id = sk->__sk_common.skc_cookie.counter;
	return *id != 0 && id_is_wanted(*id);
}

/* --- points --- */

/* A program at a tracepoint, by its typed arguments. */
#define TRACEPOINT(name, point, ...) SEC("?tp_btf/" #name) int BPF_PROG(point##_tp, __VA_ARGS__)
/* A program at the entry of a kernel's function, by its typed arguments. */
#define FUNCTION(name, point, ...) SEC("?fentry/" #name) int BPF_PROG(point##_fn, __VA_ARGS__)
/* Two programs at the entry of a kernel's function that cannot follow pointers, one by way of the
 * function tracer: id is the pointer. */
#define PROBE(name, point, event, ...)          \
	SEC("?kprobe/" #name)                   \
	int BPF_KPROBE(point##_kp, __VA_ARGS__) \
	{                                       \
		return event;                   \
	}                                       \
	SEC("?kprobe.multi/" #name)             \
	int BPF_KPROBE(point##_km, __VA_ARGS__) \
	{                                       \
		return event;                   \
	}

static __always_inline int
plain_event(uint32_t point, uint64_t id, int32_t value)
{
	struct event e = { .form = MAGNET_PLAIN, .id = id, .value = value };

	return event(point, &e);
}

TRACEPOINT(sock_send_length, socket_tx, struct sock *sk, int ret)
{
	return OFF(POINT_SOCKET_TX) ? 0 : sent_event(POINT_SOCKET_TX, sk, ret);
}
/* Attached beside socket.tx, for sockets without a peer. */
TRACEPOINT(net_dev_queue, datagram_sent, struct sk_buff *skb)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct sock *sk = skb->sk;
	struct ends d = { .socket = (uint64_t)sk };

	if (!OFF(POINT_SOCKET_TX) && sk != 0 && has_no_peer(sk) && ends_find(&d, skb))
		bpf_map_update_elem(&sent, &tid, &d, BPF_ANY);
	return 0;
}
FUNCTION(inet_sendmsg, socket_tx, struct socket *sock, struct msghdr *msg, unsigned long size)
{
	return OFF(POINT_SOCKET_TX) ? 0
				    : sock_bytes_event(POINT_SOCKET_TX, sock->sk, size, WRITING);
}
PROBE(inet_sendmsg, socket_tx,
    (OFF(POINT_SOCKET_TX) ? 0 : plain_event(POINT_SOCKET_TX, (uint64_t)sock, size)), void *sock,
    void *msg, unsigned long size)

TRACEPOINT(sock_recv_length, socket_rx, struct sock *sk, int ret)
{
	return OFF(POINT_SOCKET_RX) ? 0 : sock_bytes_event(POINT_SOCKET_RX, sk, ret, READ_NOW);
}
FUNCTION(inet_recvmsg, socket_rx, struct socket *sock, struct msghdr *msg, unsigned long size)
{
	return OFF(POINT_SOCKET_RX) ? 0 : sock_event(POINT_SOCKET_RX, sock->sk, size);
}
PROBE(inet_recvmsg, socket_rx,
    (OFF(POINT_SOCKET_RX) ? 0 : plain_event(POINT_SOCKET_RX, (uint64_t)sock, size)), void *sock,
    void *msg, unsigned long size)

FUNCTION(udp_sendmsg, udp_tx, struct sock *sk, struct msghdr *msg, unsigned long size)
{
	return OFF(POINT_UDP_TX) ? 0 : sock_event(POINT_UDP_TX, sk, size);
}
PROBE(udp_sendmsg, udp_tx, (OFF(POINT_UDP_TX) ? 0 : plain_event(POINT_UDP_TX, (uint64_t)sk, size)),
    void *sk, void *msg, unsigned long size)

TRACEPOINT(tcp_sendmsg_locked, tcp_tx, struct sock *sk, struct msghdr *msg, struct sk_buff *skb,
    int size_goal)
{
	return OFF(POINT_TCP_TX) ? 0 : sock_event(POINT_TCP_TX, sk, size_goal);
}
FUNCTION(tcp_sendmsg, tcp_tx, struct sock *sk, struct msghdr *msg, unsigned long size)
{
	return OFF(POINT_TCP_TX) ? 0 : sock_event(POINT_TCP_TX, sk, size);
}
PROBE(tcp_sendmsg, tcp_tx, (OFF(POINT_TCP_TX) ? 0 : plain_event(POINT_TCP_TX, (uint64_t)sk, size)),
    void *sk, void *msg, unsigned long size)

TRACEPOINT(tcp_retransmit_skb, tcp_retransmit, struct sock *sk, struct sk_buff *skb)
{
	return OFF(POINT_TCP_RETRANSMIT) ? 0 : sock_event(POINT_TCP_RETRANSMIT, sk, skb->len);
}

TRACEPOINT(sk_data_ready, transport_rx, struct sock *sk)
{
	return OFF(POINT_TRANSPORT_RX) ? 0 : ready_event(POINT_TRANSPORT_RX, sk);
}
FUNCTION(sock_def_readable, transport_rx, struct sock *sk)
{
	return OFF(POINT_TRANSPORT_RX) ? 0 : ready_event(POINT_TRANSPORT_RX, sk);
}
PROBE(sock_def_readable, transport_rx,
    (OFF(POINT_TRANSPORT_RX) ? 0 : plain_event(POINT_TRANSPORT_RX, (uint64_t)sk, 0)), void *sk)

/* Hooks of netfilter stand where the IP layer hands packets on; they must let every packet pass. */
static __always_inline void
hook_event(uint32_t point, const struct bpf_nf_ctx *ctx, bool out)
{
	struct sk_buff *skb = ctx->skb;
	struct event e = { .value = skb->len };
	struct sock *sk = out ? skb->sk : 0;

	if (!packet_take(&e, skb))
		return;
	/* a packet on its way out has no device yet */
	if (control.by_netns | control.views_by_netns)
		e.netns = ctx->state->net->net_cookie;
	if (sk != 0 && sock_is_ip(sk))
		sender_take(&e, sk);
	event(point, &e);
}

SEC("?netfilter")
int
ip_tx_nf(struct bpf_nf_ctx *ctx)
{
	if (!OFF(POINT_IP_TX))
		hook_event(POINT_IP_TX, ctx, 1);
	return NF_ACCEPT;
}
SEC("?netfilter")
int
ip_rx_nf(struct bpf_nf_ctx *ctx)
{
	if (!OFF(POINT_IP_RX))
		hook_event(POINT_IP_RX, ctx, 0);
	return NF_ACCEPT;
}
FUNCTION(__ip_local_out, ip_tx, struct net *net, struct sock *sk, struct sk_buff *skb)
{
	return OFF(POINT_IP_TX) ? 0 : sock_event(POINT_IP_TX, sk, skb->len);
}
FUNCTION(ip_rcv, ip_rx, struct sk_buff *skb)
{
	return OFF(POINT_IP_RX) ? 0 : packet_in(POINT_IP_RX, skb);
}
PROBE(__ip_local_out, ip_tx, (OFF(POINT_IP_TX) ? 0 : plain_event(POINT_IP_TX, (uint64_t)sk, 0)),
    void *net, void *sk, void *skb)
PROBE(ip_rcv, ip_rx, (OFF(POINT_IP_RX) ? 0 : plain_event(POINT_IP_RX, 0, 0)), void *skb)

/* The position behind the packet's last byte; headers of the device and options of TCP count as
 * bytes. */
static __always_inline uint32_t
packet_end(struct sk_buff *skb)
{
	unsigned char *transport = skb->head + skb->transport_header;

	return bpf_ntohl(READ(struct tcphdr, transport, seq)) + skb->len -
	    (uint32_t)(skb->transport_header - skb->network_header) - 20;
}

/* Whether the byte at the mark is in the packet, or before it. */
static __always_inline bool
mark_is_reached(const struct start *s, uint32_t position)
{
	return (int32_t)(position - (uint32_t)s->mark) >= 0;
}

/* Takes the sender's waiting time from its write to the device's queue, one byte position at a
 * time. A program that fills its buffer writes in bursts, whose first byte waits least: such waits
 * are up to a fifth below the mean. */
static __always_inline void
send_buffer_end(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct start *s;
	uint64_t id;

	if (wait_wanted_of(skb, &id) && sk->sk_protocol == IPPROTO_TCP &&
	    (s = wait_find(WAIT_SEND_BUFFER, id)) != 0 && mark_is_reached(s, packet_end(skb)))
		wait_end(WAIT_SEND_BUFFER, id);
}

/* A packet in the queueing discipline: of TCP its socket and last byte, because the discipline may
 * divide a packet, whose last piece alone keeps the socket. */
static __always_inline uint64_t
queued(struct sk_buff *skb, struct sock *sk, uint64_t id)
{
	return sk->sk_protocol == IPPROTO_TCP ? id << 32 | packet_end(skb) : (uint64_t)skb;
}

static __always_inline void
qdisc_begin(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	uint64_t id;

	if (sk != 0 && wait_wanted_of(skb, &id) && slot_is_sampled())
		wait_begin(WAIT_QDISC, queued(skb, sk, id), id, 0, 0);
}

static __always_inline void
qdisc_end(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	uint64_t id;

	if (sk != 0 && wait_wanted_of(skb, &id))
		wait_end(WAIT_QDISC, queued(skb, sk, id));
}

TRACEPOINT(net_dev_queue, access_tx, struct sk_buff *skb)
{
	if (!OFF(POINT_ACCESS_TX))
		packet_out(POINT_ACCESS_TX, skb, skb->len);
	return 0;
}
FUNCTION(__dev_queue_xmit, access_tx, struct sk_buff *skb)
{
	if (!OFF(POINT_ACCESS_TX))
		packet_out(POINT_ACCESS_TX, skb, skb->len);
	return 0;
}
PROBE(__dev_queue_xmit, access_tx, (OFF(POINT_ACCESS_TX) ? 0 : plain_event(POINT_ACCESS_TX, 0, 0)),
    void *skb)
TRACEPOINT(netif_receive_skb, access_rx, struct sk_buff *skb)
{
	return OFF(POINT_ACCESS_RX) ? 0 : packet_in(POINT_ACCESS_RX, skb);
}
TRACEPOINT(net_dev_start_xmit, driver_tx, struct sk_buff *skb)
{
	return OFF(POINT_DRIVER_TX) ? 0 : packet_out(POINT_DRIVER_TX, skb, skb->len);
}
TRACEPOINT(napi_poll, driver_poll, struct napi_struct *napi, int work, int budget)
{
	return OFF(POINT_DRIVER_POLL) ? 0 : plain_event(POINT_DRIVER_POLL, (uint64_t)napi, work);
}
TRACEPOINT(kfree_skb, packet_drop, struct sk_buff *skb, void *location, int reason)
{
	return OFF(POINT_PACKET_DROP) ? 0 : packet_out(POINT_PACKET_DROP, skb, reason);
}
TRACEPOINT(
    qdisc_enqueue, qdisc_enqueue, struct Qdisc *q, struct netdev_queue *txq, struct sk_buff *skb)
{
	return OFF(POINT_QDISC_ENQUEUE) ? 0 : packet_out(POINT_QDISC_ENQUEUE, skb, skb->len);
}
TRACEPOINT(qdisc_dequeue, qdisc_dequeue, struct Qdisc *q, struct netdev_queue *txq, int packets,
    struct sk_buff *skb)
{
	return OFF(POINT_QDISC_DEQUEUE) || skb == 0
	    ? 0
	    : packet_out(POINT_QDISC_DEQUEUE, skb, skb->len);
}

TRACEPOINT(
    sched_switch, sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return OFF(POINT_SCHED_SWITCH)
	    ? 0
	    : task_event(POINT_SCHED_SWITCH, next, tid_of(prev), preempt);
}
TRACEPOINT(sched_wakeup, sched_wakeup, struct task_struct *p)
{
	return OFF(POINT_SCHED_WAKEUP) ? 0 : task_event(POINT_SCHED_WAKEUP, p, 0, 0);
}
TRACEPOINT(sched_migrate_task, sched_migrate, struct task_struct *p, int cpu)
{
	return OFF(POINT_SCHED_MIGRATE) ? 0 : task_event(POINT_SCHED_MIGRATE, p, cpu, 0);
}
TRACEPOINT(sched_process_fork, sched_fork, struct task_struct *parent, struct task_struct *child)
{
	return OFF(POINT_SCHED_FORK) ? 0 : task_event(POINT_SCHED_FORK, child, tgid_of(parent), 0);
}
TRACEPOINT(sched_process_exec, sched_exec, struct task_struct *p, int old_pid)
{
	/* the kernel passes its own number only, which another level has only of the same thread */
	if (pid_level != 0)
		old_pid = old_pid == p->pid ? (int)tid_of(p) : 0;
	return OFF(POINT_SCHED_EXEC) ? 0 : task_event(POINT_SCHED_EXEC, p, old_pid, 0);
}
TRACEPOINT(sched_process_exit, sched_exit, struct task_struct *p)
{
	return OFF(POINT_SCHED_EXIT) ? 0 : task_event(POINT_SCHED_EXIT, p, 0, 0);
}

TRACEPOINT(block_rq_insert, block_insert, struct request *rq)
{
	return OFF(POINT_BLOCK_INSERT) ? 0 : request_event(POINT_BLOCK_INSERT, rq, rq->__data_len);
}
TRACEPOINT(block_rq_issue, block_issue, struct request *rq)
{
	return OFF(POINT_BLOCK_ISSUE) ? 0 : request_event(POINT_BLOCK_ISSUE, rq, rq->__data_len);
}
TRACEPOINT(block_rq_complete, block_complete, struct request *rq, int error, unsigned int bytes)
{
	return OFF(POINT_BLOCK_COMPLETE) ? 0 : request_event(POINT_BLOCK_COMPLETE, rq, bytes);
}

TRACEPOINT(mm_page_alloc, page_alloc, struct page *page, unsigned int order)
{
	return OFF(POINT_PAGE_ALLOC)
	    ? 0
	    : memory_event(POINT_PAGE_ALLOC, (uint64_t)page, 0, 4096ULL << (order & 31));
}
TRACEPOINT(mm_page_free, page_free, struct page *page, unsigned int order)
{
	return OFF(POINT_PAGE_FREE)
	    ? 0
	    : memory_event(POINT_PAGE_FREE, (uint64_t)page, 0, 4096ULL << (order & 31));
}
TRACEPOINT(page_fault_user, fault_user, unsigned long address, void *regs, unsigned long error)
{
	return OFF(POINT_FAULT_USER) ? 0 : memory_event(POINT_FAULT_USER, address, error, 0);
}
TRACEPOINT(page_fault_kernel, fault_kernel, unsigned long address, void *regs, unsigned long error)
{
	return OFF(POINT_FAULT_KERNEL) ? 0 : memory_event(POINT_FAULT_KERNEL, address, error, 0);
}

/* A thread of the guest's process enters the guest, so the thread's control group is the
 * guest's. */
static __always_inline int
guest_event(uint32_t point, uint64_t vcpu)
{
	struct event e = { .form = MAGNET_PLAIN, .id = vcpu };

	e.cgroup = bpf_get_current_cgroup_id();
	return event(point, &e);
}
TRACEPOINT(kvm_entry, kvm_entry, void *vcpu)
{
	return OFF(POINT_KVM_ENTRY) ? 0 : guest_event(POINT_KVM_ENTRY, (uint64_t)vcpu);
}
TRACEPOINT(kvm_exit, kvm_exit, void *vcpu)
{
	return OFF(POINT_KVM_EXIT) ? 0 : guest_event(POINT_KVM_EXIT, (uint64_t)vcpu);
}

/* Classic tracepoints, by their own record: without addresses. */
#define CLASSIC(name, place, event)                                    \
	SEC("?tracepoint/" #place)                                     \
	int name##_ct(struct trace_event_raw_net_dev_template *t)      \
	{                                                              \
		return OFF(event) ? 0 : plain_event(event, 0, t->len); \
	}
CLASSIC(access_tx, net / net_dev_queue, POINT_ACCESS_TX)
CLASSIC(access_rx, net / netif_receive_skb, POINT_ACCESS_RX)

/* An event of a user's program: the owner runs this program with the event as its context. */
struct user_event {
	uint64_t id;
	uint32_t point;
	int32_t value;
};

/* Never attached: the owner of the maps runs the program once and learns its own level. */
SEC("?raw_tp/sys_enter")
int
magnet_level(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return (int)t->thread_pid->level;
}

SEC("?syscall")
int
user_event(struct user_event *u)
{
	if (u->point < MAGNET_USER_POINTS_FIRST || u->point >= MAGNET_POINTS_MAX || OFF(u->point))
		return 0;
	return plain_event(u->point, u->id, u->value);
}

/* Events in a row, as fast as the kernel makes them: what a ring can take is measured with them. */
static long
burst_one(uint32_t i, struct user_event *u)
{
	uint32_t point = u->point & (MAGNET_POINTS_MAX - 1);

	if (!OFF(point))
		plain_event(point, i, u->value);
	return 0;
}

SEC("?syscall")
int
burst(struct user_event *u)
{
	struct user_event copy = { .point = u->point, .value = u->value };

	if (copy.point < MAGNET_USER_POINTS_FIRST || copy.point >= MAGNET_POINTS_MAX)
		return 0;
	bpf_loop((uint32_t)u->id, burst_one, &copy, 0);
	return 0;
}

/* --- programs that take waiting times; attached only on request --- */

/* Notes the calling thread as a user of the socket: its waits for a processor are the flow's. */
static __always_inline void
user_note(uint64_t id)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	uint64_t *before;

	if (!(control.latency & MAGNET_WAITS_FLOWS))
		return;
	before = bpf_map_lookup_elem(&users, &tid);
	if (before == 0 || *before != id)
		bpf_map_update_elem(&users, &tid, &id, BPF_ANY);
}

static __always_inline int
write_begins(struct sock *sk)
{
	uint64_t id;

	if (!wait_wanted(sk, &id))
		return 0;
	user_note(id);
	if (slot_is_sampled())
		wait_begin(WAIT_SEND_BUFFER, id, id, READ(struct tcp_sock, sk, write_seq) + 1, 1);
	return 0;
}
SEC("?tp_btf/tcp_sendmsg_locked")
int
BPF_PROG(wait_write, struct sock *sk)
{
	return write_begins(sk);
}
SEC("?fentry/tcp_sendmsg")
int
BPF_PROG(wait_write_fn, struct sock *sk)
{
	return write_begins(sk);
}
SEC("?tp_btf/net_dev_queue")
int
BPF_PROG(wait_queue, struct sk_buff *skb)
{
	send_buffer_end(skb);
	return 0;
}
SEC("?tp_btf/qdisc_enqueue")
int
BPF_PROG(wait_enqueue, struct Qdisc *q, struct netdev_queue *txq, struct sk_buff *skb)
{
	qdisc_begin(skb);
	return 0;
}
SEC("?tp_btf/qdisc_dequeue")
int
BPF_PROG(wait_dequeue, struct Qdisc *q, struct netdev_queue *txq, int packets, struct sk_buff *skb)
{
	if (control.latency && skb != 0)
		qdisc_end(skb);
	return 0;
}
SEC("?tp_btf/net_dev_start_xmit")
int
BPF_PROG(wait_start, struct sk_buff *skb)
{
	uint64_t id;

	if (!wait_wanted_of(skb, &id))
		return 0;
	qdisc_end(skb); /* of a packet that was taken out in a row of many */
	if (slot_is_sampled())
		wait_begin(WAIT_DRIVER, (uint64_t)skb, id, 0, 0);
	return 0;
}
/* A real device frees the packet after sending; a device inside the kernel hands the packet on. */
SEC("?tp_btf/consume_skb")
int
BPF_PROG(wait_consume, struct sk_buff *skb)
{
	if (control.latency)
		wait_end(WAIT_DRIVER, (uint64_t)skb);
	return 0;
}
SEC("?tp_btf/netif_receive_skb")
int
BPF_PROG(wait_peer, struct sk_buff *skb)
{
	if (control.latency)
		wait_end(WAIT_DRIVER, (uint64_t)skb);
	return 0;
}

enum { SOFTIRQ_NET_RX = 3 };

SEC("?tp_btf/softirq_raise")
int
BPF_PROG(wait_raise, unsigned int vector)
{
	uint32_t zero = 0;
	struct interrupt *i;

	if (vector != SOFTIRQ_NET_RX || !control.latency || !slot_is_sampled() ||
	    (i = bpf_map_lookup_elem(&interrupts, &zero)) == 0)
		return 0;
	if (i->raised_mono_ns == 0)
		i->raised_mono_ns = bpf_ktime_get_ns();
	return 0;
}
SEC("?tp_btf/softirq_entry")
int
BPF_PROG(wait_entry, unsigned int vector)
{
	uint32_t zero = 0;
	struct interrupt *i;

	if (vector != SOFTIRQ_NET_RX || (i = bpf_map_lookup_elem(&interrupts, &zero)) == 0)
		return 0;
	i->worked_mono_ns = i->raised_mono_ns;
	i->raised_mono_ns = 0;
	return 0;
}
SEC("?tp_btf/softirq_exit")
int
BPF_PROG(wait_exit, unsigned int vector)
{
	uint32_t zero = 0;
	struct interrupt *i;

	if (vector == SOFTIRQ_NET_RX && (i = bpf_map_lookup_elem(&interrupts, &zero)) != 0)
		i->worked_mono_ns = 0;
	return 0;
}

/* The position behind the last byte that has arrived; 0 without TCP. */
static __always_inline uint32_t
received(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP ? READ(struct tcp_sock, sk, rcv_nxt) : 0;
}

/* Whether a read reached the byte that had arrived last when the wait began. */
static __always_inline bool
is_read(struct sock *sk, const struct start *s)
{
	return sk->sk_protocol != IPPROTO_TCP ||
	    mark_is_reached(s, READ(struct tcp_sock, sk, copied_seq));
}

static __always_inline int
socket_ready(struct sock *sk)
{
	uint32_t zero = 0;
	struct interrupt *i;
	uint64_t id;

	if (!wait_wanted(sk, &id))
		return 0;
	i = bpf_map_lookup_elem(&interrupts, &zero);
	if (i != 0 && i->worked_mono_ns != 0)
		wait_add(WAIT_RECEIVE, id, bpf_ktime_get_ns() - i->worked_mono_ns);
	if (slot_is_sampled())
		wait_begin(WAIT_READ, id, id, received(sk), 1);
	return 0;
}
SEC("?tp_btf/sk_data_ready")
int
BPF_PROG(wait_ready, struct sock *sk)
{
	return socket_ready(sk);
}
SEC("?fentry/sock_def_readable")
int
BPF_PROG(wait_ready_fn, struct sock *sk)
{
	return socket_ready(sk);
}

/* Whether a TCP socket has bytes that the program has not read. */
static __always_inline bool
has_unread(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP &&
	    READ(struct tcp_sock, sk, rcv_nxt) != READ(struct tcp_sock, sk, copied_seq);
}

/* What the read of the marked byte leaves is watched anew: the waits of a socket add up to the time
 * in which bytes lay there. */
static __always_inline int
read_ends(struct sock *sk, int ret)
{
	struct start *s;
	uint64_t id;

	if (ret <= 0 || !wait_wanted(sk, &id))
		return 0;
	user_note(id);
	s = wait_find(WAIT_READ, id);
	if (s != 0 && !is_read(sk, s))
		return 0;
	wait_end(WAIT_READ, id);
	if (has_unread(sk) && slot_is_sampled())
		wait_begin(WAIT_READ, id, id, received(sk), 0);
	return 0;
}
SEC("?tp_btf/sock_recv_length")
int
BPF_PROG(wait_read, struct sock *sk, int ret)
{
	return read_ends(sk, ret);
}
SEC("?fexit/inet_recvmsg")
int
BPF_PROG(
    wait_read_fn, struct socket *sock, struct msghdr *msg, unsigned long size, int flags, int ret)
{
	return read_ends(sock->sk, ret);
}

/* Begins a task's wait for a processor, on behalf of its process, or of the flow that it uses. */
static __always_inline void
run_queue_begin(struct task_struct *p)
{
	uint32_t tid = p->pid, tgid = tgid_of(p);
	uint64_t *flow = 0;

	if (control.latency & MAGNET_WAITS_FLOWS)
		flow = bpf_map_lookup_elem(&users, &tid);
	if (flow != 0 && slot_is_sampled())
		wait_begin(WAIT_RUN_QUEUE, tid, *flow, 0, 0);
	else if (control.latency & (MAGNET_WAITS_ALL | MAGNET_WAITS_HOST) &&
	    (!control.by_pid || set_has(&pids, tgid)) && slot_is_sampled())
		wait_begin(WAIT_RUN_QUEUE, tid, tgid, 0, 0);
}
/* Whether a task that leaves the processor could go on: it was preempted, in the kernel or on its
 * way back to the program. Its state was RUNNING then, which is 0. */
static __always_inline bool
is_ready(struct task_struct *p)
{
	if (bpf_core_field_exists(p->__state))
		return p->__state == 0;
	return ((struct task_struct___before_5_14 *)p)->state == 0;
}
SEC("?tp_btf/sched_wakeup")
int
BPF_PROG(wait_wakeup, struct task_struct *p)
{
	if (control.latency)
		run_queue_begin(p);
	return 0;
}
SEC("?tp_btf/sched_switch")
int
BPF_PROG(wait_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!control.latency)
		return 0;
	if (prev->pid != 0 && (preempt || is_ready(prev)))
		run_queue_begin(prev);
	if (next->pid != 0)
		wait_end(WAIT_RUN_QUEUE, (uint32_t)next->pid);
	return 0;
}
SEC("?tp_btf/block_rq_issue")
int
BPF_PROG(wait_issue, struct request *rq)
{
	uint64_t device = 0;

	if (!control.latency || !slot_is_sampled())
		return 0;
	if (rq->q != 0 && rq->q->disk != 0)
		device = (uint64_t)rq->q->disk->major << 20 | rq->q->disk->first_minor;
	wait_begin(WAIT_BLOCK, (uint64_t)rq, device, 0, 0);
	return 0;
}
SEC("?tp_btf/block_rq_complete")
int
BPF_PROG(wait_complete, struct request *rq)
{
	struct start_key key = { .object = (uint64_t)rq, .wait = WAIT_BLOCK };
	struct start *s;

	if (!control.latency || (s = bpf_map_lookup_elem(&starts, &key)) == 0)
		return 0;
	stat_add(WAIT_BLOCK, s->id, bpf_ktime_get_ns() - s->t_mono_ns);
	bpf_map_delete_elem(&starts, &key);
	return 0;
}
