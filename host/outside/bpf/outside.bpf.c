/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The programs in the kernel that watch the system calls of chosen processes. Each call that moves
 * bytes, waits, or changes the meaning of a descriptor becomes a record when the call ends.
 * No program reads the bytes that a call moves. From the program's memory come only lists of
 * descriptors and of events (poll, select, epoll), lengths of messages, and names of files.
 *
 * Kernel memory is reached through typed pointers and bpf_rdonly_cast(), never by address, so the
 * programs load under every lockdown mode.
 */
#include "outside_kernel.h"

#include "host/nwrun/preload/stages.h"
#include "host/outside/record.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	RING_BYTES = 1 << 24,
	WAKE_BYTES = 1 << 22, /* a sleeping reader is woken from this amount on */
	NUMBERS = 512,
	WORDS_MAX = 65536,
	SETS_MAX = 8192,
	PAIRS_MAX = 8192,
	FULL_MAX = 8192,
	REQUESTS_MAX = 65536,
	MESSAGES_MAX = 64,
	EVENTS_MAX = 64,
	WAY_BACK_NS = 20000 /* longest way from a call's end to the program */
};
enum {
	MSG_PEEK = 2,
	MSG_ERRQUEUE = 0x2000,
	POLLIN = 1,
	POLLPRI = 2,
	POLLOUT = 4,
	POLLRDHUP = 0x2000
};
enum { EPOLLIN = 1, EPOLLOUT = 4, EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL = 2, EAGAIN = 11 };
#define EPOLLET   (1u << 31)
#define EPOLLONE  (1u << 30)
#define AT_CWD    (-100)
#define TS_COMPAT 2
#define CQE_MORE  2

/* What a call is. */
enum class {
	CLASS_NONE,
	CLASS_READ,
	CLASS_WRITE,
	CLASS_PREAD,
	CLASS_PWRITE,
	CLASS_RECVFROM,
	CLASS_RECVMSG,
	CLASS_RECVMMSG,
	CLASS_SEND,
	CLASS_SENDMMSG,
	CLASS_SYNC,
	CLASS_SENDFILE,
	CLASS_SPLICE,
	CLASS_COPY,
	CLASS_POLL,
	CLASS_PPOLL,
	CLASS_SELECT,
	CLASS_PSELECT,
	CLASS_EPOLL_WAIT,
	CLASS_EPOLL_PWAIT2,
	CLASS_SLEEP,
	CLASS_EPOLL_CTL,
	CLASS_OPEN,
	CLASS_OPENAT,
	CLASS_CLOSE,
	CLASS_PIPE,
	CLASS_SOCKETPAIR,
	CLASS_RENAME,
	CLASS_RENAMEAT
};
static const volatile uint8_t classes[NUMBERS] = {
	[__NR_read] = CLASS_READ,
	[__NR_readv] = CLASS_READ,
	[__NR_write] = CLASS_WRITE,
	[__NR_writev] = CLASS_WRITE,
	[__NR_pread64] = CLASS_PREAD,
	[__NR_preadv] = CLASS_PREAD,
	[__NR_preadv2] = CLASS_PREAD,
	[__NR_pwrite64] = CLASS_PWRITE,
	[__NR_pwritev] = CLASS_PWRITE,
	[__NR_pwritev2] = CLASS_PWRITE,
	[__NR_recvfrom] = CLASS_RECVFROM,
	[__NR_recvmsg] = CLASS_RECVMSG,
	[__NR_recvmmsg] = CLASS_RECVMMSG,
	[__NR_sendto] = CLASS_SEND,
	[__NR_sendmsg] = CLASS_SEND,
	[__NR_sendmmsg] = CLASS_SENDMMSG,
	[__NR_fsync] = CLASS_SYNC,
	[__NR_fdatasync] = CLASS_SYNC,
	[__NR_sendfile] = CLASS_SENDFILE,
	[__NR_splice] = CLASS_SPLICE,
	[__NR_copy_file_range] = CLASS_COPY,
	[__NR_ppoll] = CLASS_PPOLL,
	[__NR_pselect6] = CLASS_PSELECT,
	[__NR_epoll_pwait] = CLASS_EPOLL_WAIT,
	[441] = CLASS_EPOLL_PWAIT2,
	[__NR_nanosleep] = CLASS_SLEEP,
	[__NR_clock_nanosleep] = CLASS_SLEEP,
	[__NR_epoll_ctl] = CLASS_EPOLL_CTL,
	[__NR_openat] = CLASS_OPENAT,
	[__NR_openat2] = CLASS_OPENAT,
	[__NR_close] = CLASS_CLOSE,
	[__NR_pipe2] = CLASS_PIPE,
	[__NR_socketpair] = CLASS_SOCKETPAIR,
	[__NR_renameat2] = CLASS_RENAMEAT,
#ifdef __NR_poll
	[__NR_poll] = CLASS_POLL,
	[__NR_select] = CLASS_SELECT,
	[__NR_epoll_wait] = CLASS_EPOLL_WAIT,
	[__NR_open] = CLASS_OPEN,
	[__NR_creat] = CLASS_OPEN,
	[__NR_pipe] = CLASS_PIPE,
	[__NR_rename] = CLASS_RENAME,
#endif
#ifdef __NR_renameat
	[__NR_renameat] = CLASS_RENAMEAT,
#endif
};

/* --- tables --- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} records SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OUTSIDE_PROCS);
	__type(key, uint32_t);
	__type(value, struct outside_proc);
} procs SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OUTSIDE_THREADS);
	__uint(map_flags, 1); /* no memory before use */
	__type(key, uint32_t);
	__type(value, struct outside_thread);
} threads SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* control groups of recorded processes */
	__uint(max_entries, 64);
	__type(key, uint64_t);
	__type(value, uint32_t);
} groups SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WORDS_MAX);
	__type(key, struct outside_word);
	__type(value, struct outside_told);
} words SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FULL_MAX);
	__type(key, struct outside_full);
	__type(value, uint8_t);
} full SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SETS_MAX);
	__type(key, struct outside_set);
	__type(value, struct outside_hope);
} sets SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PAIRS_MAX);
	__type(key, struct outside_pair);
	__type(value, uint32_t);
} pairs SEC(".maps");
struct request {
	uint64_t begin_mono_ns;
	int64_t offset;
	uint32_t tgid, tid;
	uint8_t opcode;
	uint8_t spare[7];
	struct outside_file file;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REQUESTS_MAX);
	__type(key, uint64_t);
	__type(value, struct request);
} requests SEC(".maps");

extern void *bpf_rdonly_cast(const void *object, uint32_t btf_id) __ksym __weak;

/* --- arguments --- */

#if defined(__TARGET_ARCH_x86)
#define ARG0(r)   ((r)->di)
#define ARG1(r)   ((r)->si)
#define ARG2(r)   ((r)->dx)
#define ARG3(r)   ((r)->r10)
#define ARG4(r)   ((r)->r8)
#define NUMBER(r) ((long)(r)->orig_ax)
#else
#define ARG0(r)   ((r)->orig_x0)
#define ARG1(r)   ((r)->regs[1])
#define ARG2(r)   ((r)->regs[2])
#define ARG3(r)   ((r)->regs[3])
#define ARG4(r)   ((r)->regs[4])
#define NUMBER(r) ((long)(r)->syscallno)
#endif

static __always_inline enum class class_of(long number) {
	return (unsigned long)number < NUMBERS ? classes[number] : CLASS_NONE;
}

/* A program of 32 bits has other numbers. */
static __always_inline bool
is_compat(void)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *t = bpf_get_current_task_btf();

	return (t->thread_info.status & TS_COMPAT) != 0;
#else
	return false;
#endif
}

/* --- numbers of processes and threads --- */

const volatile struct outside_own own SEC(".rodata.own");

/* The number in the reader's name space; 0: not there. A process has a number at each level, so
 * processes in name spaces below the reader's have one. */
static __always_inline uint32_t
number_of(struct pid *p)
{
	struct upid *id;

	if (p == 0 || p->level < own.level)
		return 0;
	id = bpf_rdonly_cast((const char *)p + bpf_core_field_offset(struct pid, numbers) +
		own.level * sizeof(struct upid),
	    bpf_core_type_id_kernel(struct upid));
	return id->ns->ns.inum == own.ns ? (uint32_t)id->nr : 0;
}

static __always_inline uint32_t
tid_of(struct task_struct *t)
{
	return own.level == 0 ? (uint32_t)t->pid : number_of(t->thread_pid);
}

static __always_inline uint32_t
tgid_of(struct task_struct *t)
{
	return own.level == 0 ? (uint32_t)t->tgid : number_of(t->group_leader->thread_pid);
}

/* Never attached: the reader runs the program once and learns its own level. */
SEC("raw_tp/sys_enter")
int
outside_level(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return (int)t->thread_pid->level;
}

/* --- records --- */

static __always_inline void *
record_new(uint32_t bytes, enum outside_kind kind, uint32_t tgid, uint32_t tid)
{
	struct outside_head *h;
	struct outside_proc *p;

	if ((h = bpf_ringbuf_reserve(&records, bytes, 0)) == 0) {
		if ((p = bpf_map_lookup_elem(&procs, &tgid)) != 0)
			__sync_fetch_and_add(&p->lost_ops, 1);
		return 0;
	}
	h->kind = kind;
	h->bytes = (uint16_t)bytes;
	h->tgid = tgid;
	h->tid = tid;
	h->fd = -1;
	h->begin_mono_ns = h->end_mono_ns = 0;
	return h;
}

static __always_inline void
lost_add(uint32_t tgid, int64_t bytes)
{
	struct outside_proc *p = bpf_map_lookup_elem(&procs, &tgid);

	if (p != 0 && bytes > 0)
		__sync_fetch_and_add(&p->lost_bytes, bytes);
}

static __always_inline void
record_submit(void *r)
{
	bpf_ringbuf_submit(r,
	    bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > WAKE_BYTES ? BPF_RB_FORCE_WAKEUP
									: BPF_RB_NO_WAKEUP);
}

/* --- descriptors --- */

/* The array of open files is reached as the member of a table that would begin before the
 * entry. */
static __always_inline struct file *
file_of(int fd)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct fdtable *table = t->files->fdt;
	const char *at;

	if ((uint32_t)fd >= table->max_fds)
		return 0;
	at = (const char *)table->fd + (uint64_t)(uint32_t)fd * sizeof(void *) -
	    bpf_core_field_offset(struct fdtable, fd);
	table = bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct fdtable));
	return table->fd == 0 ? 0
			      : bpf_rdonly_cast(table->fd, bpf_core_type_id_kernel(struct file));
}

static __always_inline bool
is_private(uint64_t ino, uint32_t tgid)
{
	struct outside_pair key = { .ino = ino, .tgid = tgid };
	uint32_t *pair = bpf_map_lookup_elem(&pairs, &key);
	struct outside_proc *p;

	return pair != 0 && (p = bpf_map_lookup_elem(&procs, &tgid)) != 0 && p->pairs == *pair;
}

/* Kernel memory behind file calls is no disk. */
static __always_inline bool
is_pseudo(struct super_block *sb)
{
	switch (sb->s_magic) {
	case 0x9fa0:     /* proc */
	case 0x62656572: /* sysfs */
	case 0x27e0eb:   /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x64626720: /* debugfs */
	case 0x74726163: /* tracefs */
	case 0x73636673: /* securityfs */
	case 0xcafe4a11: /* bpf */
	case 0x09041934: /* anonymous inodes */ return true;
	}
	return false;
}

static __always_inline struct sock_common *
sock_of(struct file *f)
{
	struct socket *s = bpf_rdonly_cast(f->private_data, bpf_core_type_id_kernel(struct socket));

	return &s->sk->__sk_common;
}

/* enum nwshm_stage for reading. */
static __always_inline uint8_t
stage_of(struct file *f, uint32_t tgid)
{
	struct inode *i;
	struct sock_common *s;

	if (f == 0)
		return NWSHM_OTHER_READ;
	i = f->f_inode;
	switch (i->i_mode & 0170000) {
	case 0100000: return is_pseudo(i->i_sb) ? NWSHM_OTHER_READ : NWSHM_DISK_READ;
	case 0060000: return NWSHM_DISK_READ;
	case 0010000: return is_private(i->i_ino, tgid) ? NWSHM_OTHER_READ : NWSHM_PIPE_READ;
	case 0140000: break;
	default: return NWSHM_OTHER_READ;
	}
	s = sock_of(f);
	if (s->skc_family == AF_UNIX)
		return is_private(i->i_ino, tgid) ? NWSHM_OTHER_READ : NWSHM_PIPE_READ;
	if ((s->skc_family != AF_INET && s->skc_family != AF_INET6) || s->skc_state == TCP_LISTEN)
		return NWSHM_OTHER_READ;
	return NWSHM_NET_READ;
}

/* A function of its own for the kernel's verifier, which else would look at every use. */
__attribute__((noinline)) int
outside_stage(int fd, uint32_t tgid)
{
	return stage_of(file_of(fd), tgid);
}

static __always_inline void
addresses_fill(struct outside_file *out, struct sock_common *s)
{
	uint32_t a;

	if (s->skc_dport == 0)
		return;
	out->local_port = s->skc_num;
	out->peer_port = bpf_ntohs(s->skc_dport);
	out->family = (uint8_t)s->skc_family;
	if (s->skc_family == AF_INET) {
		a = s->skc_rcv_saddr;
		__builtin_memcpy(out->local_ip, &a, 4);
		a = s->skc_daddr;
		__builtin_memcpy(out->peer_ip, &a, 4);
		return;
	}
	__builtin_memcpy(out->local_ip, s->skc_v6_rcv_saddr.in6_u.u6_addr8, 16);
	__builtin_memcpy(out->peer_ip, s->skc_v6_daddr.in6_u.u6_addr8, 16);
}

static __always_inline void
file_fill(struct outside_file *out, struct file *f, uint8_t stage)
{
	struct inode *i;

	__builtin_memset(out, 0, sizeof(*out));
	out->stage = stage;
	if (f == 0)
		return;
	i = f->f_inode;
	out->ino = i->i_ino;
	out->dev = i->i_sb->s_dev;
	out->size_bytes = (uint64_t)i->i_size;
	if (out->stage == NWSHM_NET_READ)
		addresses_fill(out, sock_of(f));
}

/* --- calls that move bytes --- */

static __always_inline uint8_t dir_of(enum class c)
{
	return c == CLASS_WRITE || c == CLASS_PWRITE || c == CLASS_SEND || c == CLASS_SENDMMSG ||
		c == CLASS_SYNC
	    ? NWSHM_WRITE
	    : NWSHM_READ;
}

static __always_inline bool is_message(enum class c)
{
	return c >= CLASS_RECVFROM && c <= CLASS_SENDMMSG;
}

struct messages {
	uint64_t at;
	int64_t bytes;
	uint32_t n;
};

/* struct mmsghdr: a header of 56 bytes, then the length. */
static long
message_add(uint32_t i, struct messages *m)
{
	uint32_t len = 0;

	if (i >= m->n || bpf_probe_read_user(&len, sizeof(len), (void *)(m->at + i * 64 + 56)) != 0)
		return 1;
	m->bytes += len;
	return 0;
}

static __always_inline int64_t
messages_bytes(uint64_t at, long n)
{
	struct messages m = { .at = at, .n = (uint32_t)n };

	if (n < 0)
		return -1;
	bpf_loop(MESSAGES_MAX, message_add, &m, 0);
	return m.bytes;
}

/* Bytes moved on by the call: a look at waiting bytes moves none. */
static __always_inline int64_t
bytes_of(enum class c, struct pt_regs___kernel *r, long ret)
{
	uint64_t flags = c == CLASS_RECVMSG              ? ARG2(r)
	    : c == CLASS_RECVFROM || c == CLASS_RECVMMSG ? ARG3(r)
							 : 0;

	if (c == CLASS_SYNC || (flags & (MSG_PEEK | MSG_ERRQUEUE)) != 0)
		return -1;
	if (c == CLASS_SENDMMSG || c == CLASS_RECVMMSG)
		return messages_bytes(ARG1(r), ret);
	return ret;
}

static __always_inline void
op_record(enum class c, struct pt_regs___kernel *r, long ret, const struct outside_thread *t,
    uint32_t tid, uint64_t *left_mono_ns)
{
	int fd = (int)ARG0(r);
	struct file *f = file_of(fd);
	int64_t bytes = bytes_of(c, r, ret);
	struct outside_op *op = record_new(sizeof(*op), OUTSIDE_OP, t->tgid, tid);

	if (op == 0) {
		lost_add(t->tgid, bytes);
		return;
	}
	op->head.fd = fd;
	op->head.begin_mono_ns = t->begin_mono_ns;
	op->bytes = bytes;
	op->fd2 = -1;
	op->dir = dir_of(c);
	op->flags = is_message(c) ? OUTSIDE_APART : 0;
	op->spare = 0;
	op->offset = -1;
	file_fill(&op->file, f, (uint8_t)outside_stage(fd, t->tgid));
	if (c == CLASS_PREAD || c == CLASS_PWRITE)
		op->offset = (int64_t)ARG3(r);
	if (f != 0 && op->file.stage == NWSHM_DISK_READ && op->offset < 0 && ret > 0 &&
	    f->f_pos >= ret)
		op->offset = f->f_pos - ret;
	*left_mono_ns = op->head.end_mono_ns = bpf_ktime_get_ns();
	record_submit(op);
}

static __always_inline void
move_record(enum class c, struct pt_regs___kernel *r, long ret, const struct outside_thread *t,
    uint32_t tid, uint64_t *left_mono_ns)
{
	int from = (int)(c == CLASS_SENDFILE ? ARG1(r) : ARG0(r));
	int to = (int)(c == CLASS_SENDFILE ? ARG0(r) : ARG2(r));
	struct outside_move *m = record_new(sizeof(*m), OUTSIDE_MOVE, t->tgid, tid);

	if (m == 0) {
		lost_add(t->tgid, ret);
		return;
	}
	m->op.head.fd = from;
	m->op.head.begin_mono_ns = t->begin_mono_ns;
	m->op.bytes = ret;
	m->op.offset = -1;
	m->op.fd2 = to;
	m->op.dir = NWSHM_READ;
	m->op.flags = c == CLASS_SPLICE ? OUTSIDE_APART : 0;
	m->op.spare = 0;
	m->stored_ns = t->stored_ns;
	file_fill(&m->op.file, file_of(from), (uint8_t)outside_stage(from, t->tgid));
	file_fill(&m->to, file_of(to), (uint8_t)outside_stage(to, t->tgid));
	*left_mono_ns = m->op.head.end_mono_ns = bpf_ktime_get_ns();
	record_submit(m);
}

/* --- waits: the same rules as in preload_wait.c --- */

static __always_inline uint8_t
wait_of(int fd, bool out, uint32_t tgid)
{
	uint8_t stage = fd >= 0 ? (uint8_t)outside_stage(fd, tgid) : NWSHM_OTHER_READ;

	if (stage == NWSHM_NET_READ)
		return out ? NWSHM_WAIT_WRITE : NWSHM_WAIT_READ;
	if (stage == NWSHM_PIPE_READ)
		return out ? NWSHM_WAIT_PIPE_WRITE : NWSHM_WAIT_PIPE_READ;
	return NWSHM_WAIT_OTHER;
}

static __always_inline uint8_t
stronger(uint8_t a, uint8_t b)
{
	return (a ^ 1) < (b ^ 1) ? a : b;
}

struct polled {
	uint64_t at;
	uint32_t n, tgid;
	uint32_t wait;
	bool found; /* look at the events found, not at those asked for */
};
struct pollfd {
	int fd;
	short events, revents;
};

static long
poll_step(uint32_t i, struct polled *p)
{
	struct pollfd e = { .fd = -1 };
	uint8_t now;

	if (i >= p->n || bpf_probe_read_user(&e, sizeof(e), (void *)(p->at + i * sizeof(e))) != 0)
		return 1;
	if (!p->found) {
		if ((e.events & (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)) != 0)
			p->wait = stronger(
			    (uint8_t)p->wait, wait_of(e.fd, (e.events & POLLOUT) != 0, p->tgid));
		return p->wait == NWSHM_WAIT_WRITE;
	}
	if (e.revents != 0) {
		now = wait_of(e.fd, (e.revents & POLLOUT) != 0, p->tgid);
		if (p->wait == NWSHM_WAIT_OTHER || now <= NWSHM_WAIT_WRITE)
			p->wait = now;
	}
	return p->wait <= NWSHM_WAIT_WRITE;
}

static __always_inline uint8_t
poll_wait(uint64_t at, uint64_t n, uint32_t tgid, bool found)
{
	struct polled p = {
		.at = at, .n = (uint32_t)n, .tgid = tgid, .wait = NWSHM_WAIT_OTHER, .found = found
	};

	bpf_loop(OUTSIDE_WATCHED, poll_step, &p, 0);
	return (uint8_t)p.wait;
}

struct selected {
	uint64_t in[OUTSIDE_SET_WORDS], out[OUTSIDE_SET_WORDS];
	uint32_t n, tgid, wait;
};

static long
select_step(uint32_t i, struct selected *s)
{
	uint64_t in, out;

	if (i >= s->n || i >= OUTSIDE_SET_WORDS * 64)
		return 1;
	in = i < 64 ? s->in[0] : s->in[1];
	out = i < 64 ? s->out[0] : s->out[1];
	if ((out >> (i & 63) & 1) != 0)
		s->wait = stronger((uint8_t)s->wait, wait_of((int)i, true, s->tgid));
	if ((in >> (i & 63) & 1) != 0)
		s->wait = stronger((uint8_t)s->wait, wait_of((int)i, false, s->tgid));
	return s->wait == NWSHM_WAIT_WRITE;
}

/* A program's set may end at any word. */
static __always_inline void
set_read(uint64_t set[OUTSIDE_SET_WORDS], uint64_t at, uint64_t n)
{
	set[0] = set[1] = 0;
	if (at == 0)
		return;
	(void)bpf_probe_read_user(&set[0], 8, (void *)at);
	if (n > 64)
		(void)bpf_probe_read_user(&set[1], 8, (void *)(at + 8));
}

static __always_inline uint8_t
select_wait(uint64_t n, uint64_t in, uint64_t out, uint32_t tgid)
{
	struct selected s = { .n = (uint32_t)n, .tgid = tgid, .wait = NWSHM_WAIT_OTHER };

	set_read(s.in, in, n);
	set_read(s.out, out, n);
	bpf_loop(OUTSIDE_SET_WORDS * 64, select_step, &s, 0);
	return (uint8_t)s.wait;
}

static __always_inline struct outside_hope *
hope_of(uint32_t tgid, int epfd)
{
	struct outside_set key = { tgid, epfd };

	return bpf_map_lookup_elem(&sets, &key);
}

/* Where the hope is a socket, a pipe does not take its place. */
static __always_inline void
hope_set(uint32_t tgid, int epfd, uint8_t hope, bool edge, uint64_t once_mono_ns)
{
	struct outside_set key = { tgid, epfd };
	struct outside_hope *old = bpf_map_lookup_elem(&sets, &key), first = {};

	if (hope == NWSHM_WAIT_OTHER)
		return;
	if (old == 0) {
		first.hope = hope + 1;
		first.edge = edge;
		first.once = once_mono_ns != 0;
		first.armed_mono_ns = once_mono_ns;
		bpf_map_update_elem(&sets, &key, &first, BPF_ANY);
		return;
	}
	if (hope <= NWSHM_WAIT_WRITE || old->hope == 0 || old->hope - 1 > NWSHM_WAIT_WRITE)
		old->hope = hope + 1;
	if (edge)
		old->edge = 1;
	if (once_mono_ns != 0) {
		old->once = 1;
		old->armed_mono_ns = once_mono_ns;
	}
}

struct epoll_event {
	uint32_t events;
	uint64_t data;
}
#if defined(__TARGET_ARCH_x86)
__attribute__((packed))
#endif
;

static __always_inline void
epoll_told(struct pt_regs___kernel *r, long ret, const struct outside_thread *t)
{
	uint32_t tgid = t->tgid;
	struct outside_word key = { .tgid = tgid, .epfd = (int)ARG0(r) };
	struct outside_full socket = { .tgid = tgid, .fd = (int)ARG2(r) };
	const uint32_t both = EPOLLIN | EPOLLOUT | EPOLLET;
	struct outside_told told = { .fd = socket.fd };
	struct epoll_event e = {};
	uint8_t hope;

	if (ret != 0 || ARG1(r) == EPOLL_CTL_DEL || ARG3(r) == 0 ||
	    bpf_probe_read_user(&e, sizeof(e), (void *)ARG3(r)) != 0)
		return;
	hope = wait_of(socket.fd, (e.events & (EPOLLOUT | EPOLLET)) == EPOLLOUT, tgid);
	if (hope == NWSHM_WAIT_OTHER)
		return;
	if (ARG1(r) == EPOLL_CTL_ADD) /* the number may have been another socket's */
		bpf_map_delete_elem(&full, &socket);
	key.data = e.data;
	told.wait = hope;
	told.both = hope <= NWSHM_WAIT_WRITE && (e.events & both) == both;
	told.once = hope <= NWSHM_WAIT_WRITE && (e.events & EPOLLONE) != 0;
	told.since_mono_ns = t->begin_mono_ns;
	bpf_map_update_elem(&words, &key, &told, BPF_ANY);
	hope_set(tgid, key.epfd, hope, hope <= NWSHM_WAIT_WRITE && (e.events & EPOLLET) != 0,
	    told.once ? told.since_mono_ns : 0);
}

static __always_inline uint8_t
epoll_hope(uint32_t tgid, int epfd)
{
	struct outside_hope *h = hope_of(tgid, epfd);

	if (h == 0 || h->hope == 0)
		return NWSHM_WAITS;
	if (h->hope == NWSHM_WAIT_WRITE + 1 && h->edge)
		return NWSHM_WAIT_OTHER;
	return h->hope - 1;
}

struct ready {
	uint64_t at, since_mono_ns;
	uint32_t n, tgid, wait;
	int epfd;
	bool once;
};

static __always_inline bool
is_for_room(const struct outside_told *told, uint32_t events, uint32_t tgid)
{
	struct outside_full socket = { .tgid = tgid, .fd = told->fd };

	if (!told->both || (events & EPOLLIN) == 0)
		return (events & EPOLLOUT) != 0;
	return (events & EPOLLOUT) != 0 && bpf_map_lookup_elem(&full, &socket) != 0;
}

static long
epoll_step(uint32_t i, struct ready *e)
{
	struct outside_word key = { .tgid = e->tgid, .epfd = e->epfd };
	struct epoll_event event = {};
	struct outside_told *told;

	if (i >= e->n ||
	    bpf_probe_read_user(&event, sizeof(event), (void *)(e->at + i * sizeof(event))) != 0)
		return 1;
	key.data = event.data;
	if ((told = bpf_map_lookup_elem(&words, &key)) == 0)
		return 0;
	if (told->wait <= NWSHM_WAIT_WRITE) {
		e->wait =
		    is_for_room(told, event.events, e->tgid) ? NWSHM_WAIT_WRITE : NWSHM_WAIT_READ;
		e->since_mono_ns = told->since_mono_ns;
		e->once = told->once;
		return 1;
	}
	if (e->wait == NWSHM_WAIT_OTHER)
		e->wait =
		    (event.events & EPOLLOUT) != 0 ? NWSHM_WAIT_PIPE_WRITE : NWSHM_WAIT_PIPE_READ;
	return 0;
}

static __always_inline uint8_t
epoll_wait_got(struct pt_regs___kernel *r, long ret, uint32_t tgid, uint64_t *since_mono_ns)
{
	struct ready e = { .at = ARG1(r),
		.n = (uint32_t)ret,
		.tgid = tgid,
		.wait = NWSHM_WAIT_OTHER,
		.epfd = (int)ARG0(r) };
	struct outside_hope *h;

	bpf_loop(EVENTS_MAX, epoll_step, &e, 0);
	hope_set(tgid, e.epfd, (uint8_t)e.wait, false, 0);
	*since_mono_ns = e.since_mono_ns;
	if (e.once && (h = hope_of(tgid, e.epfd)) != 0 && h->armed_mono_ns == e.since_mono_ns)
		h->armed_mono_ns = 0;
	return (uint8_t)e.wait;
}

/*
 * Whether the set watches sockets for one event each: after the work on a socket the working thread
 * arms the watch again, and the wait for the socket begins with the arming.
 */
static __always_inline bool
is_late(enum class c, struct pt_regs___kernel *r, uint32_t tgid)
{
	struct outside_hope *h =
	    c == CLASS_EPOLL_WAIT || c == CLASS_EPOLL_PWAIT2 ? hope_of(tgid, (int)ARG0(r)) : 0;

	return h != 0 && h->once;
}

/* Begin of a wait that time ended; 0: the set watched no socket. */
static __always_inline uint64_t
late_since(struct pt_regs___kernel *r, const struct outside_thread *t)
{
	struct outside_hope *h = hope_of(t->tgid, (int)ARG0(r));

	return h != 0 ? h->armed_mono_ns : 0;
}

/* Whether the call returns at once whatever happens. */
static __always_inline bool
is_at_once(enum class c, struct pt_regs___kernel *r)
{
	uint64_t at = c == CLASS_PPOLL ? ARG2(r) : c == CLASS_EPOLL_PWAIT2 ? ARG3(r) : ARG4(r);
	uint64_t time[2] = { 1, 1 };

	if (c == CLASS_SLEEP)
		return false;
	if (c == CLASS_POLL)
		return (int)ARG2(r) == 0;
	if (c == CLASS_EPOLL_WAIT)
		return (int)ARG3(r) == 0;
	if (at == 0 || bpf_probe_read_user(time, sizeof(time), (void *)at) != 0)
		return false;
	return time[0] == 0 && time[1] == 0;
}

static __always_inline bool is_wait(enum class c)
{
	return c >= CLASS_POLL && c <= CLASS_SLEEP;
}

static __always_inline uint8_t
wait_hope(enum class c, struct pt_regs___kernel *r, uint32_t tgid)
{
	if (c == CLASS_SLEEP)
		return NWSHM_WAIT_PAUSE;
	if (c == CLASS_POLL || c == CLASS_PPOLL)
		return poll_wait(ARG0(r), ARG1(r), tgid, false);
	if (c == CLASS_SELECT || c == CLASS_PSELECT)
		return select_wait(ARG0(r), ARG1(r), ARG2(r), tgid);
	return epoll_hope(tgid, (int)ARG0(r));
}

static __always_inline uint8_t
wait_got(enum class c, struct pt_regs___kernel *r, long ret, const struct outside_thread *t,
    uint64_t *since_mono_ns)
{
	if (ret == 0 && t->hope == NWSHM_WAIT_OTHER) /* time ended a wait for nothing */
		return NWSHM_WAIT_PAUSE;
	if (ret <= 0 && t->is_late && (*since_mono_ns = late_since(r, t)) == 0)
		return NWSHM_WAIT_OTHER;
	if (ret <= 0)
		return t->hope;
	if (c == CLASS_POLL || c == CLASS_PPOLL)
		return poll_wait(ARG0(r), ARG1(r), t->tgid, true);
	if (c == CLASS_SELECT || c == CLASS_PSELECT)
		return select_wait(ARG0(r), ARG1(r), ARG2(r), t->tgid);
	return epoll_wait_got(r, ret, t->tgid, since_mono_ns);
}

/* A pause is no longer than the program asked for: the rest is a wait for a processor. */
static __always_inline void
pause_cut(enum class c, struct pt_regs___kernel *r, struct outside_wait *w, uint64_t *left_mono_ns)
{
	bool clock = NUMBER(r) == __NR_clock_nanosleep;
	uint64_t time[2] = { 0, 0 }, limit_ns = 0;

	*left_mono_ns = 0;
	if (c == CLASS_POLL)
		limit_ns = (uint64_t)(uint32_t)ARG2(r) * 1000000;
	else if (c == CLASS_EPOLL_WAIT)
		limit_ns = (uint64_t)(uint32_t)ARG3(r) * 1000000;
	else if (c == CLASS_SLEEP && (!clock || (ARG1(r) & 1) == 0) &&
	    bpf_probe_read_user(time, sizeof(time), (void *)(clock ? ARG2(r) : ARG0(r))) == 0)
		limit_ns = time[0] * 1000000000 + time[1];
	if (limit_ns > 0 && w->head.end_mono_ns - w->head.begin_mono_ns > limit_ns)
		w->head.end_mono_ns = w->head.begin_mono_ns + limit_ns;
}

/* Returns true if a pause is that of a reader which asks its empty socket from time to time. */
static __always_inline bool
is_patrol(const struct outside_thread *t, const struct outside_wait *w)
{
	return t->drained && w->head.end_mono_ns - w->head.begin_mono_ns <= NWSHM_PATROL_NS;
}

static __always_inline void
wait_record(enum class c, struct pt_regs___kernel *r, long ret, const struct outside_thread *t,
    uint32_t tid, uint64_t *left_mono_ns)
{
	uint64_t since_mono_ns = 0;
	uint8_t got = wait_got(c, r, ret, t, &since_mono_ns);
	struct outside_wait *w;

	if (got == NWSHM_WAIT_OTHER && c < CLASS_EPOLL_WAIT)
		return;
	if ((w = record_new(sizeof(*w), OUTSIDE_WAIT, t->tgid, tid)) == 0)
		return;
	w->head.begin_mono_ns = since_mono_ns > t->begin_mono_ns ? since_mono_ns : t->begin_mono_ns;
	w->wait = got;
	w->spare = 0;
	*left_mono_ns = w->head.end_mono_ns = bpf_ktime_get_ns();
	if (got == NWSHM_WAIT_PAUSE) {
		pause_cut(c, r, w, left_mono_ns);
		if (is_patrol(t, w))
			w->wait = NWSHM_WAIT_READ;
	}
	record_submit(w);
}

/* A write has found room, or none. */
static __always_inline void
room_note(enum class c, struct pt_regs___kernel *r, long ret, uint32_t tgid)
{
	struct outside_full key = { .tgid = tgid,
		.fd = (int)(c == CLASS_SPLICE ? ARG2(r) : ARG0(r)) };
	uint8_t none = 1;

	if (ret == -EAGAIN)
		bpf_map_update_elem(&full, &key, &none, BPF_ANY);
	else if (bpf_map_lookup_elem(&full, &key) != 0)
		bpf_map_delete_elem(&full, &key);
}

/* --- descriptors come and go --- */

static __always_inline void
name_record(enum outside_kind kind, int fd, int dir_fd, uint64_t path,
    const struct outside_thread *t, uint32_t tid)
{
	struct file *f = kind == OUTSIDE_OPEN ? file_of(fd) : 0;
	struct outside_name *n;

	if (f != 0 && outside_stage(fd, t->tgid) != NWSHM_DISK_READ)
		return;
	if ((n = record_new(sizeof(*n), kind, t->tgid, tid)) == 0)
		return;
	n->head.fd = fd;
	n->head.begin_mono_ns = t->begin_mono_ns;
	n->dir_fd = dir_fd;
	n->spare = 0;
	file_fill(&n->file, f, NWSHM_DISK_READ);
	n->path[0] = '\0';
	(void)bpf_probe_read_user_str(n->path, sizeof(n->path), (void *)path);
	record_submit(n);
}

static __always_inline void
close_record(int fd, const struct outside_thread *t, uint32_t tid)
{
	struct outside_life *h = record_new(sizeof(*h), OUTSIDE_CLOSE, t->tgid, tid);

	if (h == 0)
		return;
	h->head.fd = fd;
	h->head.end_mono_ns = bpf_ktime_get_ns();
	record_submit(h);
}

/* A private pair is private until one end is closed or a child may have it. */
static __always_inline void
pairs_share(uint32_t tgid)
{
	struct outside_proc *p = bpf_map_lookup_elem(&procs, &tgid);

	if (p != 0)
		__sync_fetch_and_add(&p->pairs, 1);
}

static __always_inline void
pair_made(uint64_t at, uint32_t tgid)
{
	struct outside_proc *p = bpf_map_lookup_elem(&procs, &tgid);
	struct outside_pair key = { .tgid = tgid };
	int fds[2] = { -1, -1 }, i;
	uint32_t made;
	struct file *f;

	if (p == 0 || bpf_probe_read_user(fds, sizeof(fds), (void *)at) != 0)
		return;
	made = p->pairs;
	for (i = 0; i < 2; i++) {
		if ((f = file_of(fds[i])) == 0)
			continue;
		key.ino = f->f_inode->i_ino;
		bpf_map_update_elem(&pairs, &key, &made, BPF_ANY);
	}
}

static __always_inline void
change_record(enum class c, struct pt_regs___kernel *r, long ret, const struct outside_thread *t,
    uint32_t tid)
{
	switch (c) {
	case CLASS_EPOLL_CTL: epoll_told(r, ret, t); break;
	case CLASS_OPEN:
		if (ret >= 0)
			name_record(OUTSIDE_OPEN, (int)ret, AT_CWD, ARG0(r), t, tid);
		break;
	case CLASS_OPENAT:
		if (ret >= 0)
			name_record(OUTSIDE_OPEN, (int)ret, (int)ARG0(r), ARG1(r), t, tid);
		break;
	case CLASS_RENAME:
		if (ret == 0)
			name_record(OUTSIDE_RENAME, -1, AT_CWD, ARG1(r), t, tid);
		break;
	case CLASS_RENAMEAT:
		if (ret == 0)
			name_record(OUTSIDE_RENAME, -1, (int)ARG2(r), ARG3(r), t, tid);
		break;
	case CLASS_CLOSE: close_record((int)ARG0(r), t, tid); break;
	case CLASS_PIPE:
		if (ret == 0)
			pair_made(ARG0(r), t->tgid);
		break;
	case CLASS_SOCKETPAIR:
		if (ret == 0)
			pair_made(ARG3(r), t->tgid);
		break;
	default: break;
	}
}

/*
 * --- the programs ---
 *
 * A call's time includes these programs, first and last line: the program that makes the call finds
 * their time in the call, too.
 */

/* The call's stages, for a report while the call is under way. */
static __always_inline void
stages_fill(enum class c, struct pt_regs___kernel *r, struct outside_thread *t)
{
	t->stage2 = NWSHM_NO_STAGE;
	t->stage = NWSHM_NO_STAGE;
	if (c <= CLASS_SYNC) {
		t->stage = (uint8_t)outside_stage((int)ARG0(r), t->tgid) + dir_of(c);
	} else if (c <= CLASS_COPY) {
		t->stage =
		    (uint8_t)outside_stage((int)(c == CLASS_SENDFILE ? ARG1(r) : ARG0(r)), t->tgid);
		t->stage2 = (uint8_t)outside_stage(
				(int)(c == CLASS_SENDFILE ? ARG0(r) : ARG2(r)), t->tgid) +
		    NWSHM_WRITE;
	}
}

static __always_inline struct outside_thread *
thread_of(uint32_t tid)
{
	static const struct outside_thread none;
	struct outside_thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (t != 0)
		return t;
	bpf_map_update_elem(&threads, &tid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline bool
closes_private(enum class c, struct pt_regs___kernel *r, uint32_t tgid)
{
	struct file *f = c == CLASS_CLOSE ? file_of((int)ARG0(r)) : 0;

	return f != 0 && is_private(f->f_inode->i_ino, tgid);
}

SEC("tp_btf/sys_enter")
int
outside_enter(uint64_t *ctx)
{
	struct pt_regs___kernel *r = (void *)ctx[0];
	enum class c = class_of((long)ctx[1]);
	struct task_struct *task = bpf_get_current_task_btf();
	struct outside_thread *t;
	uint64_t begin_mono_ns;
	uint32_t tgid;

	if (c == CLASS_NONE)
		return 0;
	tgid = tgid_of(task);
	if (bpf_map_lookup_elem(&procs, &tgid) == 0)
		return 0;
	begin_mono_ns = bpf_ktime_get_ns();
	if (is_compat() || (t = thread_of(tid_of(task))) == 0)
		return 0;
	t->begin_mono_ns = t->left_mono_ns = t->out_mono_ns = t->stored_ns = t->stored_mono_ns = 0;
	t->tgid = tgid;
	t->number = (uint16_t)ctx[1];
	t->measured = 1;
	t->is_wait = is_wait(c);
	if (t->is_wait) {
		t->hope = wait_hope(c, r, tgid);
		t->measured = t->hope < NWSHM_WAITS && !is_at_once(c, r);
		t->is_late = is_late(c, r, tgid);
	} else {
		stages_fill(c, r, t);
	}
	if (closes_private(c, r, tgid))
		pairs_share(tgid);
	t->begin_mono_ns = begin_mono_ns;
	return 0;
}

SEC("tp_btf/sys_exit")
int
outside_exit(uint64_t *ctx)
{
	struct pt_regs___kernel *r = (void *)ctx[0];
	long ret = (long)ctx[1], number = NUMBER(r);
	enum class c = class_of(number);
	struct outside_thread *t, now;
	uint32_t tid;

	if (c == CLASS_NONE)
		return 0;
	tid = tid_of(bpf_get_current_task_btf());
	if ((t = bpf_map_lookup_elem(&threads, &tid)) == 0 || t->begin_mono_ns == 0 ||
	    t->number != number)
		return 0;
	now = *t;
	t->begin_mono_ns = t->left_mono_ns = 0;
	if (!now.measured)
		return 0;
	if (now.stage == NWSHM_NET_WRITE || now.stage2 == NWSHM_NET_WRITE)
		room_note(c, r, ret, now.tgid);
	if (now.stage == NWSHM_NET_READ && ret == -EAGAIN)
		t->drained = 1;
	else if (is_wait(c) && now.hope >= NWSHM_WAIT_OTHER)
		t->drained = 0;
	if (c <= CLASS_SYNC)
		op_record(c, r, ret, &now, tid, &t->left_mono_ns);
	else if (c <= CLASS_COPY)
		move_record(c, r, ret, &now, tid, &t->left_mono_ns);
	else if (is_wait(c))
		wait_record(c, r, ret, &now, tid, &t->left_mono_ns);
	else
		change_record(c, r, ret, &now, tid);
	return 0;
}

/* --- the processor --- */

/* In a call from a file to a socket, the kernel marks the waits for the device, and no wait for the
 * network. */
static __always_inline void
fell_asleep(struct task_struct *task, uint32_t tid)
{
	struct outside_thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (t != 0 && t->begin_mono_ns != 0 && t->stage2 != NWSHM_NO_STAGE && !t->is_wait &&
	    BPF_CORE_READ_BITFIELD(task, in_iowait) != 0)
		t->stored_mono_ns = bpf_ktime_get_ns();
}

static __always_inline void
switched_out(uint32_t tid)
{
	struct outside_thread *t = bpf_map_lookup_elem(&threads, &tid);
	uint64_t now_mono_ns;

	if (t == 0 || t->left_mono_ns == 0)
		return;
	now_mono_ns = bpf_ktime_get_ns();
	t->out_mono_ns = now_mono_ns - t->left_mono_ns < WAY_BACK_NS ? now_mono_ns : 0;
	if (t->out_mono_ns == 0)
		t->left_mono_ns = 0;
}

static __always_inline void
switched_in(uint32_t tid)
{
	struct outside_thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct outside_resumed *r;

	if (t == 0)
		return;
	if (t->stored_mono_ns != 0) {
		t->stored_ns += bpf_ktime_get_ns() - t->stored_mono_ns;
		t->stored_mono_ns = 0;
	}
	if (t->out_mono_ns == 0)
		return;
	t->out_mono_ns = 0;
	if ((r = record_new(sizeof(*r), OUTSIDE_RESUMED, t->tgid, tid)) != 0) {
		r->head.begin_mono_ns = t->left_mono_ns;
		r->head.end_mono_ns = bpf_ktime_get_ns();
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	t->left_mono_ns = 0;
}

/* A wakeup from here would need the lock of the run queue: records wait for the next look. */
SEC("tp_btf/sched_switch")
int
outside_switch(uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if (ctx[3] == 0)
		switched_out(tid_of(prev));
	else
		fell_asleep(prev, tid_of(prev));
	switched_in(tid_of(next));
	return 0;
}

/* --- processes --- */

/* A count of the task's process: the kernel's sum, the task's own part, and, at the end of a
 * thread, the place in the record of the process. */
static __always_inline uint64_t
count_sum(struct outside_proc *p, bool is_first, int i, uint64_t sum, uint64_t own)
{
	uint64_t ended;

	if (p == 0)
		return sum + own;
	if (is_first)
		p->before[i] = sum;
	__sync_fetch_and_add(&p->ended[i], own);
	ended = p->before[i] + p->ended[i];
	return ended > sum + own ? ended : sum + own;
}

/* `p` is NULL unless the task ends. */
static __always_inline void
life_submit(struct outside_life *l, struct task_struct *task, struct outside_proc *p)
{
	struct signal_struct *s = task->signal;
	struct task_io_accounting *sum = &s->ioac, *own_io = &task->ioac;
	bool is_first = p != 0 && __sync_val_compare_and_swap(&p->has_ended, 0, 1) == 0;

	l->head.end_mono_ns = bpf_ktime_get_ns();
	l->has_children = s->cmaxrss > 0;
	l->user_ns = count_sum(p, is_first, 0, s->utime, task->utime);
	l->sys_ns = count_sum(p, is_first, 1, s->stime, task->stime);
	l->rchar = count_sum(p, is_first, 2, sum->rchar, own_io->rchar);
	l->wchar = count_sum(p, is_first, 3, sum->wchar, own_io->wchar);
	l->read_bytes = count_sum(p, is_first, 4, sum->read_bytes, own_io->read_bytes);
	l->write_bytes = count_sum(p, is_first, 5, sum->write_bytes, own_io->write_bytes);
	record_submit(l);
}

SEC("tp_btf/sched_process_fork")
int
outside_fork(uint64_t *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	uint32_t tgid = tgid_of(parent), child_tgid = tgid_of(child);
	struct outside_proc fresh = {};
	struct outside_life *l;

	if (tgid == child_tgid || bpf_map_lookup_elem(&procs, &tgid) == 0)
		return 0;
	pairs_share(tgid);
	bpf_map_update_elem(&procs, &child_tgid, &fresh, BPF_ANY);
	if ((l = record_new(sizeof(*l), OUTSIDE_FORK, tgid, tid_of(parent))) == 0)
		return 0;
	l->child = child_tgid;
	l->is_last = 0;
	l->exit_code = 0;
	life_submit(l, parent, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int
outside_exec(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	uint32_t tgid = tgid_of(task);
	struct outside_life *l;

	if (bpf_map_lookup_elem(&procs, &tgid) == 0 ||
	    (l = record_new(sizeof(*l), OUTSIDE_EXEC, tgid, tid_of(task))) == 0)
		return 0;
	l->child = 0;
	l->is_last = 0;
	l->exit_code = 0;
	life_submit(l, task, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int
outside_end(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	uint32_t tgid = tgid_of(task), tid = tid_of(task);
	struct outside_proc *p = bpf_map_lookup_elem(&procs, &tgid);
	struct outside_life *l;
	bool last;

	if (p == 0)
		return 0;
	bpf_map_delete_elem(&threads, &tid);
	last = task->signal->live.counter == 0;
	if ((l = record_new(sizeof(*l), OUTSIDE_EXIT, tgid, tid)) != 0) {
		l->child = 0;
		l->is_last = last;
		l->exit_code = (uint32_t)task->exit_code;
		life_submit(l, task, p);
	}
	if (last)
		bpf_map_delete_elem(&procs, &tgid);
	return 0;
}

/* A process that enters a chosen control group is recorded from then on. */
SEC("tp_btf/cgroup_attach_task")
int
outside_enter_group(uint64_t *ctx)
{
	struct cgroup *group = (void *)ctx[0];
	struct task_struct *task = (void *)ctx[2];
	uint64_t id = group->kn->id;
	uint32_t tgid = tgid_of(task);
	struct outside_proc fresh = {};
	struct outside_life *l;

	if (tgid == 0 || bpf_map_lookup_elem(&groups, &id) == 0 ||
	    bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST) != 0 ||
	    (l = record_new(sizeof(*l), OUTSIDE_FORK, 0, 0)) == 0)
		return 0;
	l->child = tgid;
	l->is_last = 0;
	l->exit_code = 0;
	life_submit(l, task, 0);
	return 0;
}

/* --- io_uring: a request is an operation from its submission to its completion --- */

enum {
	URING_READV = 1,
	URING_WRITEV,
	URING_FSYNC,
	URING_READ_FIXED,
	URING_WRITE_FIXED,
	URING_SENDMSG = 9,
	URING_RECVMSG,
	URING_READ = 22,
	URING_WRITE,
	URING_SEND = 26,
	URING_RECV,
	URING_SEND_ZC = 47,
	URING_SENDMSG_ZC
};

static __always_inline int
uring_dir(uint8_t opcode)
{
	switch (opcode) {
	case URING_READV:
	case URING_READ_FIXED:
	case URING_READ:
	case URING_RECVMSG:
	case URING_RECV: return NWSHM_READ;
	case URING_WRITEV:
	case URING_WRITE_FIXED:
	case URING_WRITE:
	case URING_SENDMSG:
	case URING_SEND:
	case URING_SEND_ZC:
	case URING_SENDMSG_ZC:
	case URING_FSYNC: return NWSHM_WRITE;
	}
	return -1;
}

static __always_inline bool
uring_is_message(uint8_t opcode)
{
	return opcode == URING_SENDMSG || opcode == URING_RECVMSG || opcode == URING_SEND ||
	    opcode == URING_RECV || opcode == URING_SEND_ZC || opcode == URING_SENDMSG_ZC;
}

SEC("tp_btf/io_uring_submit_req")
int
outside_submit(uint64_t *ctx)
{
	struct io_kiocb *req = (void *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t key = (uint64_t)req;
	uint32_t tgid = tgid_of(task);
	struct request q = {};
	struct io_rw *rw;

	if (uring_dir(req->opcode) < 0 || bpf_map_lookup_elem(&procs, &tgid) == 0)
		return 0;
	q.tgid = tgid;
	q.tid = tid_of(task);
	q.opcode = req->opcode;
	q.offset = -1;
	if (!uring_is_message(q.opcode) && q.opcode != URING_FSYNC) {
		rw = bpf_rdonly_cast(req, bpf_core_type_id_kernel(struct io_rw));
		q.offset = rw->kiocb.ki_pos;
	}
	q.begin_mono_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&requests, &key, &q, BPF_ANY);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int
outside_complete(uint64_t *ctx)
{
	uint64_t key = ctx[1], end_mono_ns;
	struct request *q = bpf_map_lookup_elem(&requests, &key);
	struct io_uring_cqe *cqe = (void *)ctx[2];
	struct io_kiocb *req;
	struct outside_op *op;
	struct file *file;

	if (q == 0)
		return 0;
	end_mono_ns = bpf_ktime_get_ns();
	if ((op = record_new(sizeof(*op), OUTSIDE_OP, q->tgid, q->tid)) == 0) {
		lost_add(q->tgid, cqe->res);
	} else {
		req = bpf_rdonly_cast((void *)key, bpf_core_type_id_kernel(struct io_kiocb));
		op->head.begin_mono_ns = q->begin_mono_ns;
		op->head.end_mono_ns = end_mono_ns;
		op->bytes = q->opcode == URING_FSYNC ? -1 : cqe->res;
		op->offset = q->offset;
		op->fd2 = -1;
		op->dir = uring_dir(q->opcode) == NWSHM_WRITE;
		/* the kernel's count of characters leaves requests out */
		op->flags = OUTSIDE_RING | OUTSIDE_APART;
		op->spare = 0;
		file = bpf_rdonly_cast(req->file, bpf_core_type_id_kernel(struct file));
		file_fill(&op->file, file, stage_of(file, q->tgid));
		record_submit(op);
	}
	if ((cqe->flags & CQE_MORE) != 0)
		q->begin_mono_ns = end_mono_ns;
	else
		bpf_map_delete_elem(&requests, &key);
	return 0;
}
