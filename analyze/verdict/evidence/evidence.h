/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The evidence of one session: arrays on a common time grid, per process and operation, and
 * per host, from the store.
 *
 * The step of the grid is the reporting interval that covered most of the session, so no
 * report is cut finer than its own interval; the sums of a row are spread evenly over the time of
 * the row. A session longer than EVIDENCE_WINDOWS_MAX steps gets longer steps.
 *
 * Unmeasured shares and seconds are NaN, unmeasured arrays NULL.
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "analyze/verdict/evidence/owners.h"
#include "narrows/analysis.h"
#include "narrows/activetest.h"
#include "narrows/announce.h"
#include "narrows/filesystem.h"
#include "narrows/order.h"
#include "narrows/stage.h"
#include "narrows/store.h"

enum { EVIDENCE_WINDOWS_MAX = 3600, EVIDENCE_LIST_MAX = 50, EVIDENCE_ANNOUNCED_MAX = 4096 };
enum { EVIDENCE_PIPES_MAX = 512, EVIDENCE_SHARED_MAX = 512 };

struct evidence_host {
	int64_t id;
	char *name;
	bool clock_known, clock_synchronised;
	double clock_offset_s, clock_bound_s;
	double bound_lowest_s, bound_highest_s; /* of clock_bound_s during the session */
	bool clock_sync_told; /* whether the kernel said if the clock is synchronised */
	/* offset against the box's clock and its bound, by the best exchange of time stamps */
	double exchange_offset_s, exchange_bound_s;
	int64_t ahead_ns; /* lead over the box's clock, subtracted from all times of the host */
	int64_t apart_ns; /* the same of a sender with a clock of its own; 0: there is none */
	double *cpu_busy, *cpu_iowait; /* shares of each window */
	double processors;             /* their number by evidence_processors(), or 0 */
	double *disk_busy;             /* share of each window, of the busiest device */
	double *disk_bytes_per_s;      /* sum of all devices */
	bool only_serves;              /* in the session as the server of a mount alone */
	double *writeback_bytes;       /* written pages waiting for devices, in each window */
};

/* The program behind most of a process's pipe and local socket bytes in a direction. Without a
 * program or a socket the text is NULL; pid is negative if unknown. */
struct evidence_server {
	char *program, *socket;
	int64_t pid;
};

struct evidence_process {
	size_t host;             /* index into hosts */
	int64_t pid, parent_pid; /* negative if the sender did not name its process */
	char *program;
	unsigned threads; /* largest number of threads inside operations at once */
	int64_t first_wall_ns, last_wall_ns; /* extent of the reports; both 0 without a report */
	double *bytes[NW_OP_COUNT], *busy_s[NW_OP_COUNT], *wait_s[NW_OP_COUNT];
	/* sum of the throughput of single operations, and the number of operations */
	double *rate_sum[NW_OP_COUNT], *ops[NW_OP_COUNT];
	double *rate_sd_sum[NW_OP_COUNT]; /* spread within reports, times operations */
	/* bytes through pipes and local sockets, read [0] and written [1], and the time in
	 * calls and waits for them */
	double *pipe_bytes[2], *pipe_s[2];
	struct evidence_server server[2]; /* the same directions */
	/* seconds of each window, by the kernel: on a processor; ready to run without processor
	 * (longest of all threads); some thread blocked by storage */
	double *cpu, *starved, *blocked;
	/* seconds of each window in waits of the first thread, where these are the process's */
	double *first_s;
	double *paused; /* seconds of each window in pauses that the program's own time ended */
	double cpu_s, cpu_wait_s;     /* totals of cpu and starved */
	double throttled_s;           /* seconds with a quota of processor time used up */
	double *stored;               /* bytes fetched from devices by the kernel, in each window */
	double combined_bytes;        /* bytes of calls with reading and writing at once */
	double storage_read_bytes;    /* bytes the kernel fetched from devices for the process */
	double storage_written_bytes; /* bytes of pages made dirty by the process */
	double local_bytes[2];        /* sums of pipe_bytes */
	char *unseen_by;     /* way of bytes past the measured calls, in nwrun's word; or NULL */
	double seen_bytes;   /* bytes of measured calls; 0 if the sender did not count */
	double kernel_bytes; /* kernel's count of the same, plus children waited for; or 0 */
	double bytes_before; /* moved before the measurement began, by the kernel; 0: none */
	double unseen_bytes; /* sender's own account of bytes beyond calls and children; or NaN */
};

/* A mount with files of the session, or the block devices of a host together, whose texts are
 * empty. */
struct evidence_mount {
	size_t host;
	char *type, *point, *source;
	char *server, *address; /* the server by the source, and by the mount; "" if not told */
	enum nw_fs_place place;
	size_t serves;   /* the server as a measured host; SIZE_MAX: not measured */
	double bytes[2]; /* read, written */
};

struct evidence_file {
	size_t host;
	size_t mount; /* index into mounts, or their number */
	char *path;
	int64_t size_bytes; /* -1 if unknown */
	double read_bytes, write_bytes;
};

/* A process's end of a pipe or local socket; both ends have an equal name. Index 0 is reading,
 * 1 writing: bytes, and seconds of each window in calls and waits there, of all threads. */
struct evidence_pipe {
	size_t process;
	char *name;
	double bytes[2];
	double *wait_s[2];
	int64_t first_wall_ns, last_wall_ns;
};

/* A process's use of a file that another process of the host uses, too; of other files no bytes.
 * Index 0 is reading, 1 writing: bytes in each window, their sum, and the extent of the rows. */
struct evidence_shared {
	size_t process;
	char *mid, *path; /* of the metadata; the newest name */
	bool is_shared;
	double *bytes[2], sum[2];
	int64_t first_wall_ns[2], last_wall_ns[2];
};

/* Steps of a process's loops, as the program marks them: totals, and per window. */
struct evidence_steps {
	size_t process;
	bool by_calls; /* as the loop's calls at pipes tell; else as the program marks them */
	double n, inside_s, between_s;
	double *count, *inside, *between; /* the same in each window */
};

/* Counters of a connection at wall_ns, while rows are read. wall_ns is the begin of the first row
 * until the kernel is asked, and 0 before the first row. */
struct evidence_counters {
	double busy_s, rwnd_s, sndbuf_s, retrans, out_bytes;
	int64_t wall_ns;
};

/* A connection as seen from `host`. */
struct evidence_connection {
	size_t host;
	int64_t pid;  /* process at this end; negative if unknown */
	bool watched; /* whether blipp alone tells of the connection */
	size_t asked; /* how often the kernel told of the connection */
	char *src, *dst;
	char *far_host; /* measured host that certainly has dst (hostaddresses.h), or NULL */
	unsigned sport, dport;
	double bytes_out, bytes_in;
	/* the last word of the kernel of `host` */
	double rtt_s, rtt_min_s, retrans, cwnd_bytes, busy_s, rwnd_limited_s, sndbuf_limited_s;
	double snd_wnd_bytes, snd_mss_bytes;
	double snd_wnd_most_bytes; /* the largest receive window; 0 if unknown */
	/* per window: seconds with data in flight, and of these held by the receive window and by
	 * the send buffer; bytes sent; segments sent again */
	double *busy, *rwnd, *sndbuf, *sent, *resent;
	double *rtt, *cwnd, *delivery; /* gauges of each window; delivery in bytes/s */
	double *unread; /* received and not read, in parts of the largest receive window */
	struct evidence_counters at;
};

/* Waiting times inside a kernel, in the order of the bytes' way. The last two belong to threads
 * and to block devices. */
enum evidence_wait {
	EVIDENCE_SEND_BUFFER,
	EVIDENCE_QDISC,
	EVIDENCE_DRIVER,
	EVIDENCE_RECEIVE,
	EVIDENCE_READ,
	EVIDENCE_RUN_QUEUE,
	EVIDENCE_BLOCK,
	EVIDENCE_WAITS
};
extern const char *const evidence_wait_names[EVIDENCE_WAITS]; /* as in event types */

/* What the kernel of `host` said of a connection of the session from inside, or of the whole host.
 * Arrays have a value per window. */
struct evidence_kernel {
	size_t host;
	char *src, *dst; /* src is the host's end; NULL: the whole host */
	unsigned sport, dport;
	/* number and sum of waits, scaled up to all slots of time; seconds of rows */
	double *count[EVIDENCE_WAITS], *sum_s[EVIDENCE_WAITS], *covered_s[EVIDENCE_WAITS];
	double max_s[EVIDENCE_WAITS];
	double one_in;                       /* hardest sampling; 1: none */
	uint64_t *durations[EVIDENCE_WAITS]; /* NW_HIST_BUCKETS; NULL without histogram */
};

/* Durations of the operations of equal kind and about equal size on a host: the merged histograms
 * of all reports. */
struct evidence_durations {
	size_t host;
	enum nw_op op;
	int size_class;   /* k if a report's mean operation has 4^k to 4^(k+1) bytes; -1: unknown */
	uint64_t *counts; /* NW_HIST_BUCKETS */
};

/* The use of a disk or a link on a host. Bytes of a session come from its processes, and cover all
 * disks together, or from its connections. */
struct evidence_use {
	int64_t session_id; /* 0: of all users, by the host's own count */
	size_t host;
	bool link;
	char *place;      /* device or interface; NULL: of all disks, or of an unknown interface */
	char *program;    /* of another session; NULL if unknown */
	double *in, *out; /* bytes of each window: read and written, or received and sent */
	/* of a disk, read [0] and written [1]: seconds of each observed window with bytes
	 * waiting in front of the device; bytes/s allowed by a throttle, or NaN. Of an interface,
	 * bytes/s sent as a shaper allows [1] */
	double *queued_s[2], *looked_s[2], *limit[2];
};

/* The bytes of a session's file, and the device of the file. */
struct evidence_use_file {
	int64_t session_id;
	size_t host;
	char *device;
	double read, written;
};

/* A port of a switch; the administrator names the host whose traffic passes the port. */
struct evidence_switch {
	char *name, *port, *serves; /* serves: the host of this session, by name or address */
	size_t rows;                /* looks during the session */
	double dropped, errors;     /* packets, while the session worked */
	double used;                /* largest share of the speed between two looks; 0: unknown */
	double speed_bit_s;         /* the last one; NaN: unknown */
};

/* The way from a host to another end of the session, as the host's probe found it. */
struct evidence_path {
	size_t host;
	char *peer;             /* address or name of the other end */
	double hops, mtu_bytes; /* NaN: unknown */
};

/* An announced flow, with the figures of the announcing program. */
struct evidence_announced {
	int64_t meta_id;
	char *by;     /* form of the announcement (nw_announce_form_name()) */
	char *source; /* address of the announcer */
	char *src, *dst, *program;
	char *user, *file; /* NULL: not said */
	char *label;       /* experiment and activity; NULL: not said */
	unsigned sport, dport;
	double value[NW_ANNOUNCED_COUNT]; /* the last known */
	int64_t first_wall_ns, last_wall_ns;
};

/* A stage that a host repeated alone behind the session. */
struct evidence_replay {
	size_t host;
	enum nw_replay_way way;
	double bytes, calls_s, took_s; /* NaN: the replay gave no number */
	double cost_bytes, cost_s;
	int64_t t_wall_ns; /* of the report; 0: none has come */
};

/* An active test near the session. */
enum { EVIDENCE_TESTS_MAX = 2 };
struct evidence_test {
	struct nw_active_test test; /* without details */
	/* from the test's end to the session's begin, or from the session's end to the test's
	 * begin; 0 if they overlap */
	double apart_s;
	bool is_before;
};

struct evidence {
	int64_t session_id;
	char *task_id, *program;
	char *label;        /* user's name for the session; NULL: none */
	double exit_status; /* of the first failed program, else of any ended program; or NaN */
	bool open;
	int64_t opened_wall_ns, closed_wall_ns;

	int64_t t0_wall_ns, step_ns;
	size_t n_windows;
	int64_t first_wall_ns, last_wall_ns; /* of activity */

	struct evidence_host *hosts;
	size_t n_hosts;
	/* of hosts that report to boxes of two sites: the larger bound of the boxes' clocks; NaN */
	double boxes_bound_s;
	struct evidence_process *processes;
	size_t n_processes;
	struct evidence_pipe *pipes; /* at most EVIDENCE_PIPES_MAX */
	size_t n_pipes;
	struct evidence_shared *shared; /* at most EVIDENCE_SHARED_MAX */
	size_t n_shared;
	struct evidence_steps *steps; /* at most EVIDENCE_LIST_MAX */
	size_t n_steps;
	struct evidence_mount *mounts; /* at most EVIDENCE_LIST_MAX */
	size_t n_mounts;
	struct evidence_file *files; /* at most EVIDENCE_LIST_MAX, the largest first */
	size_t n_files;
	struct evidence_connection *connections; /* like files */
	size_t n_connections;
	struct evidence_kernel *kernels; /* at most EVIDENCE_LIST_MAX */
	size_t n_kernels;
	struct evidence_use *uses; /* by all, by the session, by other sessions of the time */
	size_t n_uses;
	struct evidence_use_file *use_files;
	size_t n_use_files;
	struct evidence_switch *switches; /* at most EVIDENCE_LIST_MAX */
	size_t n_switches;
	struct evidence_path *paths; /* at most EVIDENCE_LIST_MAX */
	size_t n_paths;
	struct evidence_durations *durations; /* at most EVIDENCE_LIST_MAX */
	size_t n_durations;
	struct evidence_replay *replays; /* at most EVIDENCE_LIST_MAX */
	size_t n_replays;
	struct evidence_test *tests; /* at most EVIDENCE_TESTS_MAX, nearest first */
	size_t n_tests;
	struct evidence_announced *announced; /* at most EVIDENCE_ANNOUNCED_MAX; no evidence */
	size_t n_announced;
	bool announced_more;         /* than the list has */
	struct owners owners;        /* senders, and whose data count */
	uint64_t durations_rejected; /* unreadable histograms, or without room */

	uint64_t rows, samples;
	uint64_t intervals_expected, intervals_got;
	uint64_t documents, documents_rejected, documents_dropped;
	uint64_t senders_cut_off; /* by the box's sudden end, and never heard again */
};

/* Senders whose data become evidence: the senders tied to the first sender (owners.h), or every
 * sender. */
enum evidence_from { EVIDENCE_OF_TIED, EVIDENCE_OF_ALL };

/* Reads a snapshot of the store, between store_reader_begin() and _end(). NW_ENOTFOUND,
 * NW_ENOMEM or what the store says. O(rows of the session). */
int evidence_load(
    struct store_reader *r, int64_t session_id, enum evidence_from from, struct evidence *out);
/* Adds what switches said of the session's hosts, by senders that may speak for the switch. */
int evidence_switches(
    struct store_reader *r, const struct analysis_speakers *speakers, struct evidence *e);
/* Adds the active tests of the path of a route ("a -> b") within an hour of the session: of
 * throughput and of lost packets the nearest with a result. A route without two ends has none. */
int evidence_tests(struct store_reader *r, const char *route, struct evidence *e);
/* Whether a process is the parent of another, as far as both are told. */
static inline bool
evidence_is_parent(const struct evidence_process *of, const struct evidence_process *p)
{
	return p->parent_pid >= 0 && of->host == p->host && of->pid == p->parent_pid;
}

/* Adds the number of processors of each host where a program waited for one, as far as the settings
 * at the session's end tell. NW_OK, or the store's error. */
int evidence_processors(struct store_reader *r, struct evidence *e);
/* Adds the ways to the other ends, as the session's hosts know them. */
int evidence_paths(struct store_reader *r, struct evidence *e);
void evidence_clear(struct evidence *e);
/* The time of the path's work: the windows of the path, no wider than the reports with bytes moved.
 * Both 0 if the path never worked. */
void evidence_extent(const struct evidence *e, const struct nw_path *p, int64_t *first_wall_ns,
    int64_t *last_wall_ns);
/* Whether the page cache served what a process read: the kernel counted next to nothing from
 * devices for the process. False where the kernel's count is unknown. */
bool evidence_reads_cached(const struct evidence *e, const struct evidence_process *p);
/* The mount of the files that the programs of a host read, or wrote, if most such bytes were those
 * of files on no device of the host; else NULL. Of several mounts, the mount with most bytes. */
const struct evidence_mount *evidence_mount_of(const struct evidence *e, size_t host, bool write);
/* Bytes of measured calls, and of the same processes by the kernel's count. */
void evidence_seen(const struct evidence *e, double *seen, double *kernel);
/* The name of a host, or `unknown` for a number that is no host's. On loan. */
static inline const char *
evidence_host_name(const struct evidence *e, size_t host, const char *unknown)
{
	return host < e->n_hosts ? e->hosts[host].name : unknown;
}
/* The host of a name, or the number of hosts: no host has the name. */
static inline size_t
evidence_host_find(const struct evidence *e, const char *name)
{
	size_t i = 0;

	while (i < e->n_hosts && strcmp(e->hosts[i].name, name) != 0)
		i++;
	return i;
}
/* The operation described by caliper metadata of any generation. False if the metadata describes
 * none of the four. */
bool evidence_caliper_op(const char *event_type, const json_t *subject, enum nw_op *op);

#endif
