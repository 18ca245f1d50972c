/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and calls that the collector's files share. */
#ifndef HOST_COLLECT_IN_H
#define HOST_COLLECT_IN_H

#include <stdlib.h>

#include "host/lib/uuid.h"
#include "host/nwrun/collect.h"

/* Amounts taken from a thread's slot so far. */
struct lane_seen {
	uint64_t busy_ns; /* finished and begun, as far as reported */
	uint32_t *hist;   /* counts at the last look; NULL: all zero */
	uint64_t ops;
	uint32_t pending_epoch; /* epoch of a bank found half written; 0 when no bank is owed */
	bool has_late;          /* `late` is an owed bank, for the next window */
	struct nwshm_bank late;
};

struct thread_seen {
	uint64_t wait_ns[NWSHM_WAITS];
	uint64_t other_bytes[2], pipe_bytes[2], combined_bytes, combined_ns;
	uint64_t pipe_ns[2]; /* inside calls, finished and begun, as far as reported */
	uint64_t waiting;    /* unfinished wait that was reported in part */
	uint64_t waiting_ns; /* part of the wait that was reported */
	struct lane_seen lane[NWSHM_LANES];
};

/* One interval of one process in one stage. The histogram is lent to the window. */
struct stage_window {
	struct nw_caliper_window w;
	uint64_t hist[NW_HIST_BUCKETS];
};

struct stage_total {
	uint64_t ops, bytes, busy_ns, wait_ns;
};
/* ns: time in calls and waiting for them, of the thread that moved most bytes in this direction */
struct pipe_use {
	uint64_t bytes, ns;
};

struct usage { /* cumulative */
	double user_s, sys_s;
	double wait_s; /* main thread: could run, but for a processor */
	struct procfile_io io;
	bool io_known, wait_known;
};

/* Identity of a stage or an object for a person: the file, or the connection. */
struct label {
	bool known;
	enum nwshm_object_kind kind;
	char path[NWSHM_PATH_BYTES];
	int64_t size_bytes;
	struct net_addr local, peer;
};

/* A process slot as the collector knows it. */
struct watch {
	bool used, said;
	bool foreign; /* of another pid name space: nobody can tell whether the process lives */
	enum { WATCH_NOTHING, WATCH_DUE, WATCH_GONE } todo;
	uint32_t epoch; /* epoch of the interval that has just been ended */
	uint64_t start_ticks;
	uint32_t images_said; /* image whose name was sent */
	char id[UUID_BYTES];
	int64_t window_begin_mono_ns;
	uint64_t seen_bytes[2]; /* bytes of this interval, by direction, in any stage */
	uint64_t other_bytes[2], combined_bytes, combined_ns; /* the same */
	/* use of pipes by direction, in this interval */
	struct pipe_use pipe[2];
	struct pipe_use pipe_total[2];
	uint64_t other_total[2];
	uint64_t rss_bytes;
	uint64_t reports; /* rows sent about this process: the reader counts missing rows */
	struct usage first, last, now; /* at start, at the last interval's end, latest */
	struct {
		char id[UUID_BYTES];
		bool said;
		uint64_t label_bytes; /* moved by the object of the label */
		struct label label, label_said;
		struct stage_total total;
		uint32_t threads_max;
	} stage[NWSHM_LANES];
};

struct object_seen {
	bool used, said, ended; /* ended: was so at the last look, nobody adds any more */
	bool relabelled;        /* label changed since the metadata went out */
	char id[UUID_BYTES];
	uint64_t bytes[2], ns[2]; /* reported */
	uint64_t tcp_busy_us;
	uint32_t renames;
	struct label label;
};

struct collect {
	struct nwshm *shm;
	struct collect_opts opts;
	const struct collect_sink *sink;
	int tcp_fd;
	double tick_s;
	uint64_t pid_ns;
	uint64_t page_bytes;
	uint32_t objects_said;
	int64_t others_mono_ns; /* when the nameless objects were last reported */
	struct watch watch[NWSHM_PROCS];
	struct thread_seen thread[NWSHM_THREADS];
	struct object_seen object[NWSHM_OBJECTS];
	struct stage_window window; /* scratch */
};

/* A kernel without random bytes ends the collector; the program never notices. */
static inline void
id_make(char out[UUID_BYTES])
{
	if (uuid_make(out) < 0)
		abort();
}

/* --- collect_window.c --- */

/*
 * Adds up the work of all threads of process `index` in `stage` in the interval that `epoch`
 * closed. With `final` nobody writes any more, so half-written banks count as they are.
 */
void window_collect(struct collect *c, unsigned index, unsigned stage, uint32_t epoch, bool final,
    int64_t now_mono_ns, struct stage_window *out);
/*
 * Fetches the banks that were half written when the last interval ended. The epoch after the next
 * one writes over them, so an interval may end only after this call. False while a bank is still
 * being written; with `final` a half-written bank counts as it is.
 */
bool window_take_late(struct collect *c, unsigned index, bool final);
/*
 * Sums waiting times of all threads of the process, by enum nwshm_wait, and adds to its watch the
 * use of pipes and the bytes of no stage, since the last call.
 */
void window_collect_rest(
    struct collect *c, unsigned index, int64_t now_mono_ns, uint64_t wait_ns[NWSHM_WAITS]);
/* Forgets and gives back the slots of a process that is gone. */
void window_free_threads(struct collect *c, unsigned index);
void window_clear(struct collect *c);

/* --- collect_object.c --- */

enum { COLLECT_OBJECTS_SAID = 256, COLLECT_SMALL_SAID = 32, COLLECT_OBJECT_SMALL_BYTES = 1 << 20 };

/* Reports the work on the objects of a process; with `gone`, for the last time. */
void object_collect(struct collect *c, unsigned index, bool gone, int64_t now_wall_ns);
/* Frees objects without a descriptor; reports the nameless objects. */
void object_sweep(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns, bool final);

/* --- collect_say.c --- */

void say_stage(
    struct collect *c, unsigned index, unsigned stage, struct stage_window *w, int64_t now_wall_ns);
void say_process(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns);
/* Sends the last words: changed names, the report's lines, the end of all series. */
void say_process_end(struct collect *c, unsigned index, int64_t end_mono_ns);
struct object_delta {
	uint64_t bytes[2], ns[2];
};
struct tcp_sample;
void say_object(struct collect *c, unsigned object, const struct object_delta *d,
    const struct tcp_sample *tcp, int64_t now_wall_ns);
void say_object_end(struct collect *c, unsigned object);
int64_t collect_interval_ns(const struct collect *c, unsigned index, int64_t now_mono_ns);

/* --- collect_tcp.c --- */

struct tcp_sample {
	double rtt_s, rtt_min_s, cwnd_bytes, retrans, delivery_rate, busy_s, rwnd_limited_s,
	    sndbuf_limited_s;
	double snd_mss, notsent_bytes; /* NaN: this kernel does not tell */
};
int tcp_open(void); /* a descriptor, or -1 */
/* Reads the kernel's struct tcp_info, as far as it reaches. */
void tcp_parse(const uint8_t *info, size_t len, struct tcp_sample *out);
/* False: no such connection in this network name space. */
bool
tcp_ask(int fd, const struct net_addr *local, const struct net_addr *peer, struct tcp_sample *out);

#endif
