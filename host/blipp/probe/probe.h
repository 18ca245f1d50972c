/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes: each reads one file of /proc (or asks chronyd) and sends the numbers. Their parsers take
 * text and length, know no files, and are tested with text. Structs are in the machine's units;
 * blipp(8) tells the units sent.
 */
#ifndef HOST_PROBE_H
#define HOST_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/procfs.h"
#include "host/blipp/probe/series.h"
#include "host/blipp/probe/table.h"

enum { PROBE_KINDS_MAX = 3 };

struct probe {
	const char *name;       /* name in the configuration */
	const char *source;     /* where the numbers come from */
	const char *event_type; /* beginning of the event types of the probe's series */
	/* series whose fields do not come from a file's own names; NULL: no more */
	const struct series_kind *kinds[PROBE_KINDS_MAX];
	bool with_transfers; /* samples for connections that the box follows, too */
	size_t state_bytes;  /* size of the probe's own memory, zero to start */
	/* Samples once. NW_EIO: the system does not offer the file. After other errors the next
	 * time may succeed. */
	int (*sample)(void *state, struct report *r, struct procfs_buf *buf);
	void (*clear)(void *state);
	int (*fd)(const void *state); /* to be polled for input; -1: none. NULL: never */
	void (*ready)(void *state, struct report *r);
};

/* Every probe, as X(name), in the order in which blipp samples: those of the default
 * configuration, then those that run on request. A new probe is a file probe_NAME.c that defines
 * probe_NAME, and a name in one of these lists. */
/* clang-format off */
#define BLIPP_DEFAULT_LIST(X) \
	X(cpu) X(load) X(memory) X(vmstat) X(pressure) X(disk) X(net) X(snmp) X(netstat) \
	X(snmp6) X(sockets) X(softnet) X(qdisc) X(link) X(filesystem) X(nfs) X(kernel) X(clock) \
	X(exec) X(peer) X(bandwidth) X(scratch) X(replay) X(cgroup) X(process)
#define BLIPP_REQUEST_LIST(X) X(percpu) X(interrupts)
#define BLIPP_PROBE_LIST(X) BLIPP_DEFAULT_LIST(X) BLIPP_REQUEST_LIST(X)
/* clang-format on */

#define X(name) PROBE_##name,
enum { BLIPP_PROBE_LIST(X) BLIPP_PROBES };
#undef X
#define X(name) extern const struct probe probe_##name;
BLIPP_PROBE_LIST(X)
#undef X

/* --- /proc/stat, in clock ticks --- */
enum cpu_field {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_HWIRQ,
	CPU_SWIRQ,
	CPU_STEAL,
	CPU_GUEST,
	CPU_GUEST_NICE,
	CPU_FIELDS
};
enum { CPU_MAX = 4096 };
struct cpu_times {
	uint64_t ticks[CPU_FIELDS];
};
struct cpu_core {
	uint64_t busy, all;
};
struct cpu_stat {
	struct cpu_times times;
	uint64_t context_switches, interrupts, forks, running, blocked;
	struct cpu_core *cores; /* by number; the caller frees */
	size_t n_cores, cap_cores;
};
int cpu_parse(struct scan text, struct cpu_stat *out); /* NW_EPROTO, NW_ENOMEM */
/* Shares of the time between two readings, with sum 1. Returns false if no tick has passed. */
bool
cpu_shares(const struct cpu_times *before, const struct cpu_times *now, double shares[CPU_FIELDS]);
/* The share of a processor that a process gets that runs now, and that one more process would get:
 * processors are divided evenly, and what was idle is there (NaN: not known). */
double cpu_share_running(const struct cpu_stat *now);
double cpu_share_new(const struct cpu_stat *now, double idle);
/* NaN: not a single tick */
double cpu_busiest(const struct cpu_stat *before, const struct cpu_stat *now);

/* --- /proc/meminfo, in KiB; /proc/vmstat --- */
int memory_parse(struct scan text, struct table *t); /* NW_EPROTO, NW_ENOMEM */
int vmstat_parse(struct scan text, struct table *t);

/* --- /proc/pressure/{cpu,io,memory}: microseconds in which some or all tasks waited --- */
int pressure_parse(struct scan text, double *some_us, double *full_us);

/* --- /proc/diskstats --- */
enum disk_field {
	DISK_READS,
	DISK_READS_MERGED,
	DISK_SECTORS_READ,
	DISK_READ_MS,
	DISK_WRITES,
	DISK_WRITES_MERGED,
	DISK_SECTORS_WRITTEN,
	DISK_WRITE_MS,
	DISK_INFLIGHT,
	DISK_IO_MS,
	DISK_WEIGHTED_MS,
	DISK_DISCARDS,
	DISK_DISCARDS_MERGED,
	DISK_SECTORS_DISCARDED,
	DISK_DISCARD_MS,
	DISK_FLUSHES,
	DISK_FLUSH_MS,
	DISK_FIELDS
};
struct disk_line {
	uint64_t major, minor;
	struct scan device;
	uint64_t v[DISK_FIELDS];
};
bool disk_next(struct scan *text, struct disk_line *out); /* skips lines of unknown form */
/* Whether /proc/partitions has the device, which then has a size. */
bool partition_is_listed(struct scan text, const char *device);

/* --- /proc/net/dev --- */
enum net_field {
	NET_BYTES_IN,
	NET_PACKETS_IN,
	NET_ERRORS_IN,
	NET_DROPS_IN,
	NET_FIFO_IN,
	NET_FRAME_IN,
	NET_COMPRESSED_IN,
	NET_MULTICAST_IN,
	NET_BYTES_OUT,
	NET_PACKETS_OUT,
	NET_ERRORS_OUT,
	NET_DROPS_OUT,
	NET_FIFO_OUT,
	NET_COLLISIONS,
	NET_CARRIER,
	NET_COMPRESSED_OUT,
	NET_FIELDS
};
struct net_line {
	struct scan interface;
	uint64_t v[NET_FIELDS];
};
bool net_next(struct scan *text, struct net_line *out);

/* --- /proc/net/snmp and netstat: pairs of lines, names then numbers, both beginning with the
 * protocol --- */
struct pairs_protocol {
	const char *protocol;
	struct table_style style;
};
/* tables: one per protocol. NW_EPROTO: none of the protocols is there, or the lines do not
 * match. */
int pairs_parse(
    struct scan text, const struct pairs_protocol *protocols, size_t n, struct table *tables);

/* --- sockets, softnet, file systems, interrupts --- */
void sockets_parse(struct scan text, struct table *t);
void snmp6_parse(struct scan text, struct table *t);
enum { SOFTNET_FIELDS = 6 };
int softnet_parse(struct scan text, double values[SOFTNET_FIELDS]); /* NW_EPROTO */
struct mount_line {
	struct scan source;
	char mountpoint[SERIES_DEVICE_BYTES];
};
/* The next mount of a local device. */
bool mount_next(struct scan *text, struct mount_line *out);
bool interrupt_next(struct scan *text, struct scan *name, double *count);

/* --- /proc/net/rpc/nfs, nfsd and /proc/self/mountstats --- */
enum { NFS_CLIENT_FIELDS = 7, NFS_SERVER_FIELDS = 16, NFS_MOUNT_FIELDS = 12 };
/* Return false for another text. */
bool nfs_client_parse(struct scan text, double values[NFS_CLIENT_FIELDS]);
bool nfs_server_parse(struct scan text, double values[NFS_SERVER_FIELDS]);
/* The next mount by NFS. */
bool nfs_mount_next(struct scan *text, struct scan *mountpoint, double values[NFS_MOUNT_FIELDS]);

/* --- /proc/loadavg --- */
struct load_info {
	double averages[3];
	uint64_t runnable, tasks;
};
int load_parse(struct scan text, struct load_info *out);

/* --- commands of the administrator --- */
enum {
	EXEC_NAME_BYTES = 48,
	EXEC_USER_BYTES = 33,
	EXEC_COMMAND_BYTES = 900,
	EXEC_OUTPUT_BYTES = 16384
};
struct exec_command {
	char name[EXEC_NAME_BYTES];
	char user[EXEC_USER_BYTES]; /* empty: blipp's own */
	char command[EXEC_COMMAND_BYTES];
	int64_t interval_ns, timeout_ns;
};
/* "NAME [every TIME] [within TIME] [as USER] exec COMMAND", up to the end of the line. NW_EINVAL
 * with static *why. */
int exec_parse(const char *text, struct exec_command *out, const char **why);
/* The next key with a number in the output of a command. */
bool exec_next(struct scan *text, struct scan *key, double *value);

/* --- peers: "192.0.2.1/22", numbers only --- */
bool peer_parse(const char *text, char host[PEER_HOST_BYTES], uint16_t *port);
/* The next good line; *text moves behind the line. */
bool peer_line_next(const char **text, char host[PEER_HOST_BYTES], uint16_t *port);
struct sockaddr_storage;
/* Length of the address; 0: the host is not in numbers. */
unsigned peer_address(const char *host, uint16_t port, struct sockaddr_storage *out);

/* --- replays --- */
struct nw_order;
/* Whether the probe of this state will not repeat what the box orders: the configuration does not
 * allow the replay, the replay failed, or the turn does not come within seconds. False of other
 * orders. */
bool
replay_declines(void *state, const struct report *r, const struct nw_order *o, int64_t now_mono_ns);

/* --- control groups and processes --- */
/* The sum of the numbers behind a key, or the number of a file without keys (NULL). NaN: none. */
double cgroup_number(const char *text, const char *key);
/* /proc/PID/stat: seconds of user and system time, resident bytes, threads. */
bool process_parse(const char *stat, char comm[16], uint64_t *started, double values[4]);

/* --- chronyd, by its protocol --- */
enum { CLOCK_REQUEST_BYTES = 128 };
#define CLOCK_CHRONYD "127.0.0.1/323"
struct clock_tracking {
	double offset_s; /* chronyd's estimate of this clock minus true time */
	double frequency_ppm, skew_ppm, root_delay_s, root_dispersion_s;
	unsigned stratum, leap; /* leap: 0 normal, 1 insert, 2 delete, 3 not synchronised */
	bool local_reference;   /* chronyd serves the clock uncorrected */
};
void clock_request(uint8_t out[CLOCK_REQUEST_BYTES], uint32_t sequence);
/* The answer to the question of this number. NW_EPROTO */
int clock_parse(const uint8_t *answer, size_t len, uint32_t sequence, struct clock_tracking *out);
/* largest possible error of the clock; NaN: unknown */
double clock_bound_s(const struct clock_tracking *t);

#endif
