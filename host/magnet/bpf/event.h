/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What every program in the kernel stands on: the maps, and event(), in which each program ends. A
 * program of a user's own includes this file, fills a struct event and calls magnet_user_event()
 * (magnet(1), magnet add).
 */
#ifndef MAGNET_EVENT_H
#define MAGNET_EVENT_H

#include "kernel.h"

struct magnet_control control;
uint32_t n_views; /* views in use, the ring of all events included */

enum { RING_BYTES = 1 << 23, IDS_MAX = 4096, STATS_MAX = 512 };

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAGNET_VIEWS_MAX);
	__type(key, uint32_t);
	__array(values, struct ring);
} rings SEC(".maps");

/* One word per view that its reader maps: 1 while the reader sleeps and wants to be woken. */
struct armed {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, uint64_t);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAGNET_VIEWS_MAX);
	__type(key, uint32_t);
	__array(values, struct armed);
} armeds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAGNET_POINTS_MAX);
	__type(key, uint32_t);
	__type(value, struct magnet_counts);
} counts SEC(".maps");

struct sampling {
	uint64_t next_mono_ns;
	uint32_t seen;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAGNET_POINTS_MAX);
	__type(key, uint32_t);
	__type(value, struct sampling);
} samplings SEC(".maps");

struct view_counts {
	uint64_t lost;
	uint32_t seq;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAGNET_VIEWS_MAX);
	__type(key, uint32_t);
	__type(value, struct view_counts);
} views SEC(".maps");

/* Sets of identities: what a filter lets through, and the view that an identity belongs to. */
struct id_set {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IDS_MAX);
	__type(key, uint64_t);
	__type(value, uint32_t);
};
struct id_set ids SEC(".maps");
struct id_set cgroups SEC(".maps");
struct id_set netnses SEC(".maps");
struct id_set ports SEC(".maps"); /* port, or source port << 16 | destination port */
struct id_set pids SEC(".maps");
struct id_set wanted_flows SEC(".maps"); /* sums of the keys of both ends */
/* Single ports of the pairs and of the flows that filters let through. */
struct id_set ports_of_pairs SEC(".maps");
struct id_set ports_of_flows SEC(".maps");
struct id_set views_of_netns SEC(".maps");
struct id_set views_of_cgroup SEC(".maps");
struct id_set views_of_device SEC(".maps"); /* by the index of the interface */

struct stats_table {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, STATS_MAX);
	__type(key, struct magnet_stat_key);
	__type(value, struct magnet_stat);
};
struct stats_table stats_0 SEC(".maps");
struct stats_table stats_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2); /* 0: an empty row, never written; 1: a record that is padded */
	__type(key, uint32_t);
	__type(
	    value, struct scratch { uint8_t bytes[4096]; });
} scratches SEC(".maps");

extern void *bpf_rdonly_cast(const void *object, uint32_t btf_id) __ksym __weak;

/* Whether the kernel (before 6.2) lacks bpf_rdonly_cast(): then, and only then, memory is read by
 * address, which lockdown=confidentiality forbids. A constant, so that the other way is no part of
 * the program. */
const volatile uint8_t reads_by_address = 0;

/* A field of a structure of the kernel at an address without type. */
#define READ(type, at, field)                                                                    \
	({                                                                                       \
		__typeof__(((type *)0)->field) read_value;                                       \
		if (reads_by_address)                                                            \
			bpf_core_read(&read_value, sizeof(read_value), &((type *)(at))->field);  \
		else                                                                             \
			read_value =                                                             \
			    ((type *)bpf_rdonly_cast(at, bpf_core_type_id_kernel(type)))->field; \
		read_value;                                                                      \
	})

/* The name space of processes of the maps' owner, whose numbers filters and records have. Level 0:
 * all processes, by the kernel's own numbers. A constant, as above. */
const volatile uint32_t pid_level = 0, pid_ns = 0;

/* The number in the owner's name space; 0: not there. A process has a number at each level, so
 * processes in name spaces below the owner's have one. */
static __always_inline uint32_t
number_of(struct pid *p)
{
	const char *id, *ns;

	if (p == 0 || p->level < pid_level)
		return 0;
	id = (const char *)p + bpf_core_field_offset(struct pid, numbers) +
	    pid_level * sizeof(struct upid);
	ns = (const char *)READ(struct upid, id, ns);
	return READ(struct pid_namespace, ns, ns.inum) == pid_ns
	    ? (uint32_t)READ(struct upid, id, nr)
	    : 0;
}

static __always_inline uint32_t
tid_of(struct task_struct *t)
{
	return pid_level == 0 ? (uint32_t)t->pid : number_of(t->thread_pid);
}

static __always_inline uint32_t
tgid_of(struct task_struct *t)
{
	return pid_level == 0 ? (uint32_t)t->tgid : number_of(t->group_leader->thread_pid);
}

/* The running process, times 2^32, and the thread. */
static __always_inline uint64_t
current_numbers(void)
{
	struct task_struct *t;

	if (pid_level == 0)
		return bpf_get_current_pid_tgid();
	t = bpf_get_current_task_btf();
	return (uint64_t)tgid_of(t) << 32 | tid_of(t);
}

/* An event on its way, on the program's stack. */
struct event {
	uint64_t id, cgroup, netns, device;
	int32_t value;
	uint16_t sport, dport;
	uint16_t ip_id;
	uint8_t form;
	uint8_t protocol;
	uint8_t inward;
	uint8_t source_ip[16], dest_ip[16];
	struct magnet_bytes bytes;
	union {
		struct magnet_task task;
		struct magnet_block block;
		struct magnet_memory memory;
		struct magnet_fields fields;
	};
};

static __always_inline bool
set_has(void *set, uint64_t key)
{
	return bpf_map_lookup_elem(set, &key) != 0;
}

/* Whether an event whose peer nobody knows, of a socket of UDP without one, may be of a flow: the
 * own port is one of the flow's. */
static __always_inline bool
half_admits(const struct event *e, void *own_ports)
{
	return e->dport == 0 && e->protocol == IPPROTO_UDP && set_has(own_ports, e->sport);
}

static __always_inline bool
filters_admit(const struct event *e)
{
	if (control.by_cpu) {
		uint32_t cpu = bpf_get_smp_processor_id();

		if (!(control.cpu_mask[(cpu >> 6) & (MAGNET_CPUS_MAX / 64 - 1)] >> (cpu & 63) & 1))
			return 0;
	}
	if (control.by_pid && !set_has(&pids, current_numbers() >> 32))
		return 0;
	if (control.by_id && !set_has(&ids, e->id))
		return 0;
	if (control.by_cgroup && !set_has(&cgroups, e->cgroup))
		return 0;
	if (control.by_netns && !set_has(&netnses, e->netns))
		return 0;
	if (control.by_port && !set_has(&ports, e->sport) && !set_has(&ports, e->dport) &&
	    !set_has(&ports, (uint64_t)e->sport << 16 | e->dport) &&
	    !set_has(&ports, (uint64_t)e->dport << 16 | e->sport) &&
	    !half_admits(e, &ports_of_pairs))
		return 0;
	if (control.by_flow && !half_admits(e, &ports_of_flows) &&
	    !set_has(&wanted_flows,
		magnet_end_key(e->source_ip, e->sport) + magnet_end_key(e->dest_ip, e->dport)))
		return 0;
	return 1;
}

static __always_inline bool
sample_admits(uint32_t point)
{
	struct sampling *s;
	uint64_t now;

	if (control.one_in <= 1 && control.every_ns == 0)
		return 1;
	if ((s = bpf_map_lookup_elem(&samplings, &point)) == 0)
		return 0;
	if (control.one_in > 1) {
		if (++s->seen < control.one_in)
			return 0;
		s->seen = 0;
	}
	if (control.every_ns != 0) {
		now = bpf_ktime_get_ns();
		if (now < s->next_mono_ns)
			return 0;
		s->next_mono_ns = now + control.every_ns;
	}
	return 1;
}

static __noinline int
stat_add(uint32_t point, uint64_t id, uint64_t v)
{
	struct magnet_stat_key key = { .id = id, .point = point };
	void *table = control.generation & 1 ? (void *)&stats_1 : (void *)&stats_0;
	struct magnet_counts *c;
	struct magnet_stat *s;
	uint64_t lo;
	uint32_t zero = 0, b;

	if ((s = bpf_map_lookup_elem(table, &key)) == 0) {
		void *blank = bpf_map_lookup_elem(&scratches, &zero);

		if (blank == 0)
			return 0;
		bpf_map_update_elem(table, &key, blank, BPF_NOEXIST);
		if ((s = bpf_map_lookup_elem(table, &key)) == 0) {
			if ((c = bpf_map_lookup_elem(&counts, &zero)) != 0)
				c->lost++; /* the stream's own count: the table is full */
			return 0;
		}
	}
	if (s->n == 0 || v < s->min)
		s->min = v;
	if (v > s->max)
		s->max = v;
	s->n++;
	s->sum += v;
	if (v > 0xffffffffULL)
		v = 0xffffffffULL; /* 4 s in ns: the square of more would need 128-bit arithmetic */
	lo = v * v;
	s->squares_lo += lo;
	if (s->squares_lo < lo)
		s->squares_hi++;
	b = magnet_bucket(v);
	if (b < MAGNET_STAT_BUCKETS)
		s->hist[b]++;
	return 0;
}

static __always_inline uint64_t
wakeup_flags(void *ring, uint32_t view)
{
	uint32_t zero = 0;
	uint64_t *word;
	void *inner;

	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < control.watermark_bytes)
		return BPF_RB_NO_WAKEUP;
	if ((inner = bpf_map_lookup_elem(&armeds, &view)) == 0 ||
	    (word = bpf_map_lookup_elem(inner, &zero)) == 0 || *word == 0)
		return BPF_RB_NO_WAKEUP;
	return __sync_val_compare_and_swap(word, 1, 0) == 1 ? BPF_RB_FORCE_WAKEUP
							    : BPF_RB_NO_WAKEUP;
}

static __always_inline void
record_fill(
    struct magnet_record *r, uint32_t point, uint32_t seq, const struct event *e, uint32_t size)
{
	uint64_t who = current_numbers();

	r->size_bytes = size;
	r->point = point;
	r->cpu = bpf_get_smp_processor_id();
	r->form = e->form;
	r->zero = 0;
	r->id = e->id;
	r->pid = who >> 32;
	r->tid = (uint32_t)who;
	r->seq = seq;
	r->value = e->value;
	r->t_mono_ns = bpf_ktime_get_ns(); /* after reserve: neighbours in the ring are in order */
}

static __always_inline void
flow4_fill(struct magnet_flow4 *f, const struct event *e)
{
	f->sport = e->sport;
	f->dport = e->dport;
	f->protocol = e->protocol;
	f->inward = e->inward;
	f->ip_id = e->ip_id;
	f->bytes = e->bytes;
	__builtin_memcpy(f->src, e->source_ip, 4);
	__builtin_memcpy(f->dst, e->dest_ip, 4);
	f->cgroup = e->cgroup;
}

static __always_inline void
flow6_fill(struct magnet_flow6 *f, const struct event *e)
{
	f->sport = e->sport;
	f->dport = e->dport;
	f->protocol = e->protocol;
	f->inward = e->inward;
	f->ip_id = e->ip_id;
	f->bytes = e->bytes;
	__builtin_memcpy(f->src, e->source_ip, 16);
	__builtin_memcpy(f->dst, e->dest_ip, 16);
	f->cgroup = e->cgroup;
}

struct record4 {
	struct magnet_record r;
	struct magnet_flow4 f;
};
struct record6 {
	struct magnet_record r;
	struct magnet_flow6 f;
};
struct record_other {
	struct magnet_record r;
	union {
		struct magnet_task task;
		struct magnet_block block;
		struct magnet_memory memory;
		struct magnet_fields fields;
	};
};
/* A record of a size that the reader chose, for measuring the ring itself. */
static __always_inline bool
padded_put(void *ring, uint32_t view, uint32_t point, uint32_t seq, const struct event *e)
{
	uint32_t one = 1, size = control.payload_bytes;
	struct record4 *r = bpf_map_lookup_elem(&scratches, &one);

	if (r == 0)
		return 0;
	if (size > MAGNET_PAYLOAD_MAX_BYTES)
		size = MAGNET_PAYLOAD_MAX_BYTES;
	size = (size + sizeof(struct magnet_record) + 7) & 0xff8;
	if (size < sizeof(*r))
		size = sizeof(*r);
	record_fill(&r->r, point, seq, e, size);
	if (e->form == MAGNET_FLOW4)
		flow4_fill(&r->f, e);
	return bpf_ringbuf_output(ring, r, size, wakeup_flags(ring, view)) == 0;
}

static __always_inline bool
record_put(void *ring, uint32_t view, uint32_t point, uint32_t seq, const struct event *e)
{
	if (e->form == MAGNET_FLOW4) {
		struct record4 *r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);

		if (r == 0)
			return 0;
		record_fill(&r->r, point, seq, e, sizeof(*r));
		flow4_fill(&r->f, e);
		bpf_ringbuf_submit(r, wakeup_flags(ring, view));
	} else if (e->form == MAGNET_FLOW6) {
		struct record6 *r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);

		if (r == 0)
			return 0;
		record_fill(&r->r, point, seq, e, sizeof(*r));
		flow6_fill(&r->f, e);
		bpf_ringbuf_submit(r, wakeup_flags(ring, view));
	} else {
		struct record_other *r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);

		if (r == 0)
			return 0;
		record_fill(&r->r, point, seq, e, sizeof(*r));
		r->task = e->task;
		bpf_ringbuf_submit(r, wakeup_flags(ring, view));
	}
	return 1;
}

static __noinline int
view_put(uint32_t view, uint32_t point, const struct event *e, struct magnet_counts *c)
{
	void *ring = bpf_map_lookup_elem(&rings, &view);
	struct view_counts *v = bpf_map_lookup_elem(&views, &view);
	uint32_t seq;
	bool put;

	if (ring == 0 || v == 0)
		return 0;
	seq = v->seq++;
	put = control.payload_bytes != 0 ? padded_put(ring, view, point, seq, e)
					 : record_put(ring, view, point, seq, e);
	if (put) {
		c->kept++;
	} else {
		c->lost++;
		v->lost++;
	}
	return 0;
}

static __noinline int
event(uint32_t point, const struct event *e)
{
	struct magnet_counts *c = bpf_map_lookup_elem(&counts, &point);
	uint32_t *view;

	if (c == 0)
		return 0;
	c->hits++;
	if (!filters_admit(e)) {
		c->filtered++;
		return 0;
	}
	if (!sample_admits(point)) {
		c->sampled++;
		return 0;
	}
	if (control.statistics) {
		stat_add(point, control.statistics > 1 ? e->id : 0, e->value < 0 ? 0 : e->value);
		c->kept++;
		return 0;
	}
	if (control.all)
		view_put(MAGNET_VIEW_ALL, point, e, c);
	if (control.views_by_netns && (view = bpf_map_lookup_elem(&views_of_netns, &e->netns)) != 0)
		view_put(*view, point, e, c);
	if (control.views_by_cgroup &&
	    (view = bpf_map_lookup_elem(&views_of_cgroup, &e->cgroup)) != 0)
		view_put(*view, point, e, c);
	if (control.views_by_device && e->device != 0 &&
	    (view = bpf_map_lookup_elem(&views_of_device, &e->device)) != 0)
		view_put(*view, point, e, c);
	return 0;
}

/* Whether the point is on: the first question of each program, so that one that is off costs
 * nothing else. */
#define OFF(point) (!control.on[point])

/* The point that a user's object was given. */
extern const volatile uint32_t magnet_point;

static __always_inline int
magnet_user_event(const struct event *e)
{
	uint32_t point = magnet_point & (MAGNET_POINTS_MAX - 1);

	return OFF(point) ? 0 : event(point, e);
}

#endif
