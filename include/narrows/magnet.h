/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Kernel events: the record of one event, the words that a reader shares with the programs in the
 * kernel, and the header of a recorded stream. The programs in the kernel and the programs that
 * read include this file, so it holds integers of exact width and nothing else.
 *
 * A record is a multiple of 8 bytes, in the byte order of the host that made it. Its fixed part is
 * 40 bytes; a payload follows whose form the event's point tells (magnet(1) lists the points).
 */
#ifndef NARROWS_MAGNET_H
#define NARROWS_MAGNET_H

#ifdef __bpf__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#else
#include <stdint.h>
#endif

enum {
	MAGNET_POINTS_MAX = 64,         /* points of the registry and of users */
	MAGNET_USER_POINTS_FIRST = 48,  /* ids from here on belong to users */
	MAGNET_CPUS_MAX = 1024,         /* processors that a mask can name */
	MAGNET_VIEWS_MAX = 64,          /* rings, the ring of all events included */
	MAGNET_VIEW_ALL = 0,            /* the ring of all events */
	MAGNET_PAYLOAD_MAX_BYTES = 4000 /* of one record, the fixed part not counted */
};

/* Whose waiting times between layers are kept; the bits add up. */
enum {
	MAGNET_WAITS_ALL = 1,   /* of every socket and process, each under an identity of its own */
	MAGNET_WAITS_FLOWS = 2, /* of each followed socket, under the socket's cookie */
	MAGNET_WAITS_HOST = 4   /* of all sockets and tasks together, under the identity 0 */
};

/* Waiting times between layers; the keys of their statistics go on behind those of points. */
enum magnet_wait {
	WAIT_SEND_BUFFER = MAGNET_POINTS_MAX, /* from the program's write to the device's queue */
	WAIT_QDISC,                           /* in the queueing discipline */
	WAIT_RECEIVE,                         /* from the device's interrupt to the socket */
	WAIT_READ,                            /* from the socket to the program's read */
	WAIT_RUN_QUEUE,                       /* from being runnable to running */
	WAIT_BLOCK,                           /* from issue to completion of a block request */
	WAIT_DRIVER,                          /* from the driver to the end of sending */
	MAGNET_WAITS_END
};

/* Points of the registry by id. Point 0 is the stream's own: its records tell of losses. */
enum magnet_point {
	POINT_STREAM = 0,
	POINT_SOCKET_TX = 1,
	POINT_SOCKET_RX = 2,
	POINT_UDP_TX = 3,
	POINT_TCP_TX = 4,
	POINT_TCP_RETRANSMIT = 5,
	POINT_TRANSPORT_RX = 6,
	POINT_IP_TX = 7,
	POINT_IP_RX = 8,
	POINT_ACCESS_TX = 9,
	POINT_ACCESS_RX = 10,
	POINT_DRIVER_TX = 11,
	POINT_DRIVER_POLL = 12,
	POINT_PACKET_DROP = 13,
	POINT_QDISC_ENQUEUE = 14,
	POINT_QDISC_DEQUEUE = 15,
	POINT_SCHED_SWITCH = 20,
	POINT_SCHED_WAKEUP = 21,
	POINT_SCHED_MIGRATE = 22,
	POINT_SCHED_FORK = 23,
	POINT_SCHED_EXEC = 24,
	POINT_SCHED_EXIT = 25,
	POINT_BLOCK_INSERT = 28,
	POINT_BLOCK_ISSUE = 29,
	POINT_BLOCK_COMPLETE = 30,
	POINT_PAGE_ALLOC = 34,
	POINT_PAGE_FREE = 35,
	POINT_FAULT_USER = 36,
	POINT_FAULT_KERNEL = 37,
	POINT_KVM_ENTRY = 40,
	POINT_KVM_EXIT = 41
};

/* The form of a record's payload. */
enum magnet_form {
	MAGNET_PLAIN = 0,  /* no payload */
	MAGNET_FLOW4 = 1,  /* struct magnet_flow4 */
	MAGNET_FLOW6 = 2,  /* struct magnet_flow6 */
	MAGNET_TASK = 3,   /* struct magnet_task */
	MAGNET_BLOCK = 4,  /* struct magnet_block */
	MAGNET_MEMORY = 5, /* struct magnet_memory */
	MAGNET_BYTES = 6,  /* bytes of the stream itself: counts */
	MAGNET_FIELDS = 7  /* struct magnet_fields */
};

struct magnet_record {
	uint16_t size_bytes; /* length of the record, fixed part included */
	uint16_t point;      /* id of the point */
	uint16_t cpu;
	uint8_t form; /* enum magnet_form */
	uint8_t zero;
	uint64_t t_mono_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t id;        /* abstract id: socket cookie, request, or thread */
	uint32_t pid, tid;  /* process and thread that were running; not always the owner of id */
	uint32_t seq;       /* number of the record on its processor and view: a gap is a loss */
	int32_t value;      /* bytes, or what the point says */
};

/*
 * Which bytes of a TCP stream an event is about, the same numbers on both hosts: sequence numbers
 * of the first byte, and of the byte behind the last. Both are equal where an event has no bytes,
 * as a bare acknowledgement has none. Recordings of older releases lack this.
 */
struct magnet_bytes {
	uint32_t first, behind;
	uint32_t origin;     /* sequence number of the stream's first byte, as the socket knows */
	uint32_t has_origin; /* 1: the socket of the event was at hand */
};

/* Addresses and ports of the socket's end and the other end; ports in host order. */
struct magnet_flow4 {
	uint16_t sport, dport;
	uint8_t protocol;
	uint8_t inward; /* the bytes go from dst to src: a socket's point of receiving */
	uint16_t ip_id; /* of an IPv4 packet; 0 where the kernel gives none */
	uint8_t src[4], dst[4];
	uint64_t cgroup; /* id of the socket's control group, 0 where the kernel does not tell */
	struct magnet_bytes bytes;
};

struct magnet_flow6 {
	uint16_t sport, dport;
	uint8_t protocol, inward;
	uint16_t ip_id; /* 0 */
	uint8_t src[16], dst[16];
	uint64_t cgroup;
	struct magnet_bytes bytes;
};
/* Bytes of a flow's payload without struct magnet_bytes. */
enum { MAGNET_FLOW4_LEAST = 24, MAGNET_FLOW6_LEAST = 48 };

struct magnet_task {
	uint32_t pid, tid; /* the task that the event is about */
	uint32_t other;    /* the task before, the parent, or the processor */
	int32_t priority;
	uint64_t cgroup;
};

struct magnet_block {
	uint64_t sector;
	uint32_t device; /* major << 20 | minor */
	uint32_t bytes;
	uint64_t flags;
};

struct magnet_memory {
	uint64_t address, error;
	uint64_t size;
};

/* Fields of a user's point, in the order in which the user named them; 0 beyond the last. */
enum { MAGNET_FIELDS_MAX = 3 };
struct magnet_fields {
	uint64_t v[MAGNET_FIELDS_MAX];
};

/* Switches that a reader's owner writes and the programs read at each event. */
struct magnet_control {
	uint8_t on[MAGNET_POINTS_MAX];
	uint32_t one_in; /* sampling: one event of one_in per point and processor; 0 or 1: all */
	uint32_t payload_bytes; /* length up to which payloads are padded, or 0 */
	uint64_t every_ns; /* sampling: at most one event per point, processor and time; 0: all */
	uint64_t watermark_bytes; /* a reader is woken when its ring holds as much */
	uint8_t all;              /* whether events go to the ring of all events */
	uint8_t statistics;       /* whether the programs keep statistics instead of records */
	uint8_t by_cpu, by_id, by_cgroup, by_netns, by_port, by_pid; /* filters in use */
	uint8_t views_by_netns, views_by_cgroup;                     /* views in use */
	uint8_t latency;         /* whose waiting times between layers are kept: MAGNET_WAITS_* */
	uint8_t generation;      /* which of the two tables of statistics is written */
	uint8_t by_flow;         /* a filter in use: flows by addresses and ports */
	uint8_t views_by_device; /* views in use */
	uint16_t wait_slots;     /* one slot in wait_slots, a power of two, has waits begin */
	uint64_t cpu_mask[MAGNET_CPUS_MAX / 64];
};

/* Counts of a point on a processor. */
struct magnet_counts {
	uint64_t hits;     /* the point fired while it was on */
	uint64_t filtered; /* a filter left the event out */
	uint64_t sampled;  /* sampling left the event out */
	uint64_t kept;     /* records written, or events in the statistics */
	uint64_t lost;     /* a ring had no room */
};

/* The key of one row of the statistics: a point, and an id if the statistics are kept by id. */
struct magnet_stat_key {
	uint64_t id;
	uint32_t point;
	uint32_t zero;
};

enum {
	MAGNET_STAT_SUB = 8,       /* buckets per octave */
	MAGNET_STAT_BUCKETS = 320, /* 40 octaves */
};

/* Statistics of one key on one processor; the bucket of v is magnet_bucket(v). */
struct magnet_stat {
	uint64_t n, sum, min, max;
	uint64_t squares_lo, squares_hi; /* sum of squares, 128 bits */
	uint32_t hist[MAGNET_STAT_BUCKETS];
};

/*
 * The key of a flow in the set of the filter, the same for both directions: it mixes the two ends,
 * each of an address (IPv4 in the first four bytes, zeros behind) and a port.
 */
static inline uint64_t
magnet_end_key(const uint8_t ip[16], uint16_t port)
{
	uint64_t key = 0xcbf29ce484222325ULL ^ port;
	int i;

	for (i = 0; i < 16; i++)
		key = (key ^ ip[i]) * 0x100000001b3ULL;
	return key * 0x9e3779b97f4a7c15ULL;
}

/*
 * The log-linear bucket of a value: values below 8 have one bucket each, then each octave has 8.
 * Everything from 2^41 on is in the last bucket.
 */
static inline uint32_t
magnet_bucket(uint64_t v)
{
	uint32_t octave = 0, step, bucket;
	uint64_t rest = v;

	if (v < MAGNET_STAT_SUB)
		return (uint32_t)v;
	for (step = 32; step > 0; step >>= 1)
		if (rest >> step) {
			rest >>= step;
			octave += step;
		}
	bucket = (octave - 3) * MAGNET_STAT_SUB + (uint32_t)(v >> (octave - 3));
	return bucket < MAGNET_STAT_BUCKETS ? bucket : MAGNET_STAT_BUCKETS - 1;
}

/*
 * A recorded stream: this header, then n_points of struct magnet_point_name, then records. A
 * record of point 0 with MAGNET_BYTES holds struct magnet_counts per point: the losses so far.
 */
#define MAGNET_MAGIC "MAGNET1\n"
enum { MAGNET_BYTE_ORDER = 0x01020304, MAGNET_NAME_BYTES = 40 };

struct magnet_stream {
	char magic[8];
	uint32_t byte_order; /* MAGNET_BYTE_ORDER as the writer stores it */
	uint32_t header_bytes;
	uint64_t t_mono_ns, t_wall_ns; /* the two clocks at one moment */
	uint64_t tsc_khz;              /* frequency of the cycle counter; 0: not known */
	uint32_t n_points, n_cpus;
};

struct magnet_point_name {
	uint32_t id;
	char layer[12], name[MAGNET_NAME_BYTES];
	char fidelity[16], backend[24];
};

#ifndef __bpf__
#if defined(__x86_64__) || defined(__aarch64__)
/*
 * An event of the program's own, in the stream of the kernel's: after `magnet add NAME
 * usdt:PROGRAM:narrows:event`. It costs nothing without a listener (an instruction without
 * effect), and no privilege ever.
 */
static inline void
nw_event(uint64_t id, int32_t value)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b\n"
			 ".8byte _.stapsdt.base\n"
			 ".8byte 0\n"
			 ".asciz \"narrows\"\n"
			 ".asciz \"event\"\n"
			 ".asciz \"8@%0 -4@%1\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection "
			 ".stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 ".endif\n"
			 :
			 : "r"(id), "r"(value));
}
#endif

/*
 * Views: what a program reads of the kernel's events. A view is a ring that the owner of the events
 * (magnet serve) hands out over a unix socket; its reader needs no privilege and sees no event of
 * another view. One view belongs to one thread. Errors are NW_E* of narrows/err.h.
 */
struct magnet_view;

/*
 * Opens the view NAME ("all", or one that `magnet view` made) at the owner's socket, NULL for the
 * usual one. *why names the cause of an error; the text is static.
 */
int magnet_view_open(
    const char *socket_path, const char *name, struct magnet_view **out, const char **why);
void magnet_view_close(struct magnet_view *v);

/*
 * Calls fn for each record that waits, in the ring's order; records are on loan during the call.
 * Waits until the ring holds the owner's watermark, or timeout_ms (-1: for ever). A return of fn
 * other than 0 stops after that record and is returned. Returns the number of records else, 0 after
 * the time-out without a record, or an error.
 */
typedef int magnet_record_fn(void *arg, const struct magnet_record *r);
int64_t magnet_view_read(struct magnet_view *v, int timeout_ms, magnet_record_fn *fn, void *arg);

/* How many records are missing so far, by the gaps between the numbers of each processor's
 * records. */
uint64_t magnet_view_lost(const struct magnet_view *v);
#endif

#endif
