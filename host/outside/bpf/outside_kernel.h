/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The few fields of the kernel that the programs read; the loader relocates them by name to where
 * the running kernel has them.
 */
#ifndef OUTSIDE_KERNEL_H
#define OUTSIDE_KERNEL_H

#define __bpf__ 1
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

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
#include <stdbool.h>

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, TCP_LISTEN = 10 };

#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
struct pt_regs___kernel {
	unsigned long di, si, dx, r10, r8, orig_ax;
};
#else
struct pt_regs___kernel {
	uint64_t regs[31];
	uint64_t orig_x0;
	int32_t syscallno;
};
#endif

struct in6_addr {
	union {
		uint8_t u6_addr8[16];
		uint32_t u6_addr32[4];
	} in6_u;
};
struct sock_common {
	uint32_t skc_daddr, skc_rcv_saddr;
	uint16_t skc_dport, skc_num, skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct sock {
	struct sock_common __sk_common;
};
struct socket {
	struct sock *sk;
};
struct super_block {
	uint32_t s_dev;
	unsigned long s_magic;
};
struct inode {
	uint16_t i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
	int64_t i_size;
};
struct file {
	struct inode *f_inode;
	void *private_data;
	int64_t f_pos;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct kernfs_node {
	uint64_t id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct task_io_accounting {
	uint64_t rchar, wchar, read_bytes, write_bytes;
};
typedef struct {
	int counter;
} atomic_t;
struct signal_struct {
	atomic_t live;
	uint64_t utime, stime;
	unsigned long cmaxrss;
	struct task_io_accounting ioac;
};
struct thread_info {
	uint32_t status;
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
	struct thread_info thread_info;
	int pid, tgid;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	int exit_code;
	unsigned in_iowait : 1;
	uint64_t utime, stime;
	struct task_io_accounting ioac;
	struct signal_struct *signal;
	struct files_struct *files;
};
struct kiocb {
	int64_t ki_pos;
};
struct io_rw {
	struct kiocb kiocb;
};
struct io_kiocb {
	struct file *file;
	uint8_t opcode;
};
struct io_uring_cqe {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

#pragma clang attribute pop

struct io_ring_ctx;
struct linux_binprm;

#endif
