/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collector's files share among themselves. */
#ifndef HOST_COLLECT_IN_H
#define HOST_COLLECT_IN_H

#include <stdlib.h>

#include "host/lib/uuid.h"
#include "host/nwrun/collect.h"

/* What has been taken from a thread's slot so far. */
struct lane_seen {
	uint64_t busy_ns; /* finished and begun, as far as reported */
	uint32_t *hist;   /* counts at the last look; NULL: all zero */
	uint64_t ops;
	uint32_t pending_epoch; /* of a bank that was being written when we came; 0: none */
};

struct thread_seen {
	uint64_t wait_ns[NWSHM_WAITS];
	uint64_t other_bytes[2], pipe_bytes[2], combined_bytes, combined_ns;
	uint64_t pipe_ns[2]; /* inside calls, finished and begun, as far as reported */
	uint64_t waiting;    /* the unfinished wait that was reported in part */
	uint64_t waiting_ns; /* how much of it */
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
/* ns: in calls and waiting for them, of the thread that moved most this way */
struct pipe_use {
	uint64_t bytes, ns;
};

struct usage { /* cumulative */
	double user_s, sys_s;
	double wait_s; /* main thread: could run, but for a processor */
	struct procfile_io io;
	bool io_known, wait_known;
};

/* What identifies a stage or an object to a person: the file, or the connection. */
struct label {
	bool known;
	enum nwshm_object_kind kind;
	char path[NWSHM_PATH_BYTES];
	int64_t size_bytes;
	struct nwshm_addr local, peer;
};

/* A process slot as the collector knows it. */
struct watch {
	bool used, said;
	bool foreign; /* of another pid name space: whether it lives cannot be told */
	enum { WATCH_NOTHING, WATCH_DUE, WATCH_GONE } todo;
	uint32_t epoch; /* of the interval that has just been ended */
	uint64_t start_ticks;
	uint32_t images_said; /* which image's name was said */
	char id[UUID_BYTES];
	int64_t window_begin_mono_ns;
	uint64_t seen_bytes[2]; /* of this interval, by direction, whatever the stage */
	uint64_t other_bytes[2], combined_bytes, combined_ns; /* the same */
	struct pipe_use pipe[2];                              /* by direction: of this interval */
	struct pipe_use pipe_total[2];
	uint64_t other_total[2];
	uint64_t rss_bytes;
	uint64_t reports; /* rows said of this process: the reader counts what did not arrive */
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
	bool used, said, ended; /* ended: was so at the last look, nobody adds to it any more */
	bool relabelled;        /* since it was said */
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
 * Adds up what all threads of process `index` did in `stage` in the interval that `epoch` closed.
 * With `final` nobody writes any more, so half-written banks are taken as they are.
 */
void window_collect(struct collect *c, unsigned index, unsigned stage, uint32_t epoch, bool final,
    int64_t now_mono_ns, struct stage_window *out);
/* False while a bank of the interval before is still being written: then do not end another one. */
bool window_is_ready(const struct collect *c, unsigned index);
/*
 * Time waited by all threads of the process, by enum nwshm_wait, and into its watch what pipes did,
 * and the bytes of no stage, since the last call.
 */
void window_collect_rest(
    struct collect *c, unsigned index, int64_t now_mono_ns, uint64_t wait_ns[NWSHM_WAITS]);
/* Forgets and gives back the slots of a process that is gone. */
void window_free_threads(struct collect *c, unsigned index);
void window_clear(struct collect *c);

/* --- collect_object.c --- */

enum { COLLECT_OBJECTS_SAID = 256, COLLECT_SMALL_SAID = 32, COLLECT_OBJECT_SMALL_BYTES = 1 << 20 };

/* Reports what the objects of a process did; with `gone`, for the last time. */
void object_collect(struct collect *c, unsigned index, bool gone, int64_t now_wall_ns);
/* Frees those without a descriptor; reports the nameless ones. */
void object_sweep(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns, bool final);

/* --- collect_say.c --- */

void say_stage(
    struct collect *c, unsigned index, unsigned stage, struct stage_window *w, int64_t now_wall_ns);
void say_process(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns);
/* The last words: names that changed, the report's lines, the end of all series. */
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
	double snd_mss, notsent_bytes; /* NaN: this kernel does not say */
};
int tcp_open(void); /* a descriptor, or -1 */
/* From the kernel's struct tcp_info, as long as it is. */
void tcp_parse(const uint8_t *info, size_t len, struct tcp_sample *out);
/* False: no such connection in this network name space. */
bool tcp_ask(
    int fd, const struct nwshm_addr *local, const struct nwshm_addr *peer, struct tcp_sample *out);

#endif
