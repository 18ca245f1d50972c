/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The few fields of the kernel that the programs read. Each structure names only those; the loader
 * relocates them by name to where the running kernel has them, so no other header of the kernel is
 * needed to compile.
 */
#ifndef MAGNET_KERNEL_H
#define MAGNET_KERNEL_H

#define __bpf__ 1
#include "narrows/magnet.h"

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef int64_t __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u32 __wsum;
typedef _Bool bool;

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };
enum { NF_ACCEPT = 1 };
enum { AF_INET = 2, AF_INET6 = 10, IPPROTO_TCP = 6, IPPROTO_UDP = 17 };

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	uint64_t net_cookie;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct in6_addr {
	union {
		uint8_t u6_addr8[16];
		uint32_t u6_addr32[4];
	} in6_u;
};
struct kernfs_node {
	uint64_t id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct sock_cgroup_data {
	struct cgroup *cgroup;
};
typedef struct {
	int64_t counter;
} atomic64_t;
struct sock_common {
	atomic64_t skc_cookie;
	uint32_t skc_daddr, skc_rcv_saddr;
	uint16_t skc_dport, skc_num, skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct sk_buff_head {
	struct sk_buff *prev;
	uint32_t qlen;
};
struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	uint16_t sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
};
struct tcp_sock {
	uint32_t write_seq, snd_una, rcv_nxt, copied_seq;
	uint64_t bytes_acked, bytes_received;
};
struct socket {
	struct sock *sk;
};
struct net_device {
	possible_net_t nd_net;
	int ifindex;
};
struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	unsigned char *head, *data;
	uint32_t len;
	uint16_t network_header, transport_header, protocol;
};
struct nf_hook_state {
	struct net *net;
};
struct bpf_nf_ctx {
	const struct nf_hook_state *state;
	struct sk_buff *skb;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct task_struct {
	int pid, tgid, prio;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	unsigned int __state; /* since Linux 5.14 */
	struct css_set *cgroups;
};
struct task_struct___before_5_14 {
	long state;
};
struct gendisk {
	int major, first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	uint32_t __data_len, cmd_flags;
	uint64_t __sector;
};
struct trace_event_raw_net_dev_template {
	unsigned int len;
};
struct napi_struct {
	struct net_device *dev;
};
struct iphdr {
	uint16_t tot_len, id;
	uint8_t protocol;
	uint32_t saddr, daddr;
};
struct ipv6hdr {
	uint16_t payload_len;
	uint8_t nexthdr;
	struct in6_addr saddr, daddr;
};
struct tcphdr {
	uint16_t source, dest;
	uint32_t seq;
};
struct icmphdr { /* for its first byte: a byte at any address */
	uint8_t type;
};

#pragma clang attribute pop

struct Qdisc;
struct netdev_queue;
struct msghdr;
struct page;
struct pt_regs_kernel;

#endif
