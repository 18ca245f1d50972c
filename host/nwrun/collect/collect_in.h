/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and calls that the collector's files share. */
#ifndef HOST_COLLECT_IN_H
#define HOST_COLLECT_IN_H

#include <stdlib.h>

#include "host/lib/uuid.h"
#include "host/nwrun/collect/collect.h"
#include "host/nwrun/collect/mounts.h"
#include "host/nwrun/collect/said.h"

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
	uint64_t other_bytes[2], pipe_bytes[2], apart_bytes[2], combined_bytes, combined_ns;
	uint64_t pipe_ns[2]; /* inside calls, finished and begun, as far as reported */
	uint64_t peer_ns, inner_ns, steps, step_ns[2], turns, turn_ns[2];
	uint64_t waiting;    /* unfinished wait, reported in part */
	uint64_t waiting_ns; /* the reported part of the wait */
	/* at the last look that asked: bytes moved, the thread, and its time without a processor */
	uint64_t asked_bytes, starved_ns;
	uint32_t asked_tid; /* 0: no look has asked */
	struct lane_seen lane[NWSHM_LANES];
};

/* One interval of a process in a stage. The histogram is lent to the window. */
struct stage_window {
	struct nw_caliper_window w;
	uint64_t hist[NW_HIST_BUCKETS];
};

struct stage_total {
	uint64_t ops, bytes, busy_ns, wait_ns;
};
/* ns: time in calls and waiting for them, of the thread with the most bytes in the direction */
struct pipe_use {
	uint64_t bytes, ns;
};

struct usage { /* cumulative */
	double user_s, sys_s;
	double wait_s;      /* ready to run without a processor; of the thread with most of it */
	double blocked_s;   /* some thread blocked by storage, as the looks found it */
	double throttled_s; /* quota of processor time used up; of the last look that asked */
	struct procfile_io io;
	uint64_t mapped_bytes; /* read by maps, and not in io (collect_map.c) */
	bool io_known, wait_known;
};

/* Identity of a stage or an object for a person: the file, or the connection. */
struct label {
	bool known;
	enum nwshm_object_kind kind;
	char path[NWSHM_PATH_BYTES];
	const struct mount *mount; /* NULL: the file lies on a block device */
	uint64_t dev;              /* of a file, as in nwshm.h */
	int64_t size_bytes;
	struct net_addr local, peer;
};

/* The far ends of a process's local sockets with one name, or of one socket without a name. */
struct server {
	bool used;
	int pid; /* 0: not known */
	uint64_t ino;
	uint64_t bytes[2]; /* of the process, by direction */
	char program[NWSHM_NAME_BYTES], path[NWSHM_SOCKET_BYTES];
};
enum { WATCH_SERVERS = 4 };

struct object_delta {
	uint64_t bytes[2], ns[2];
};

/* A process's use of the small files that one process wrote, see collect_handed.c. */
struct handed {
	bool used, reads, matched; /* of a writer: whether another process has read one */
	uint32_t owner;
	int writer_pid;
	struct object_delta due; /* not said yet */
	int64_t said_mono_ns;
	char id[UUID_BYTES];
};
/* A small file, written lately. */
struct written {
	uint64_t dev, ino;
	int pid; /* 0: none */
};
enum { COLLECT_HANDED = 64, COLLECT_WRITTEN = 1024 };

/* A process slot as the collector knows it. */
struct watch {
	bool used, said;
	bool foreign; /* of another pid name space: unknown whether the process lives */
	bool is_gone; /* as the question at the begin of this look found */
	enum { WATCH_NOTHING, WATCH_DUE, WATCH_GONE } todo;
	uint32_t epoch; /* epoch of the interval that has just ended */
	int pid, ppid;
	uint64_t start_ticks;
	int64_t attach_mono_ns;
	char name[NWSHM_NAME_BYTES], argv[NWSHM_ARGV_BYTES];
	uint32_t images_said; /* image whose name was sent */
	char id[UUID_BYTES];
	int64_t window_begin_mono_ns;
	uint64_t seen_bytes[2]; /* bytes of this interval, by direction, in any stage */
	uint64_t other_bytes[2], combined_bytes, combined_ns; /* the same */
	/* own pauses of the thread with the most bytes: since the last document, and ever */
	uint64_t pause_ns, pause_total_ns;
	/* use of pipes by direction, in the interval */
	struct pipe_use pipe[2];
	struct pipe_use pipe_total[2];
	uint64_t steps, step_ns[2]; /* of the interval: between steps [0], inside [1] */
	bool marks;                 /* the program has marked a step */
	bool steps_are_turns;       /* whether the series steps_id has turns */
	bool has_worker;            /* a child with the same program was seen */
	/* waits of the first thread in the interval, at semaphores of the process alone so far, and
	 * whether the first thread's waits are those of the process */
	uint64_t first_ns, inner_total;
	bool first_waits;
	char steps_id[UUID_BYTES]; /* of their series; empty: the process has taken no step */
	uint64_t other_total[2];
	uint64_t apart_bytes[2];    /* bytes of the interval */
	uint64_t counted_total[2];  /* seen bytes that the kernel counts, too */
	uint64_t apart_total;       /* seen bytes, of both directions, that the kernel does not */
	uint64_t children_total[2]; /* kernel's count of children that the process has waited for */
	uint64_t unseen_total[2];   /* as reported */
	uint64_t children_device_bytes;
	unsigned ways;         /* enum nwshm_way */
	uint64_t mapped_bytes; /* of files */
	struct {
		const struct mount *mount; /* NULL: no such map is known */
		char path[NWSHM_PATH_BYTES], id[UUID_BYTES];
		uint64_t resident_bytes;
		unsigned asks;
	} map;
	bool added;     /* the parent's children_total has the process's counts */
	unsigned blind; /* enum proc_blind */
	bool blind_wanted, blind_known;
	bool has_children; /* the kernel's count includes children that used a processor */
	const char *unseen_by, *unseen_by_said; /* word for the reason; NULL: none */
	uint64_t rss_bytes;
	int64_t objects_wall_ns; /* when its objects were reported last; 0 before the first time */
	int64_t look_mono_ns;    /* time of the last look; 0 before the first */
	int64_t
	    blocked_mono_ns; /* time of the last look that found it blocked by storage; 0: none */
	bool quota_wanted;   /* the next look asks for the quota of processor time */
	bool has_threads;    /* more than one at the last look */
	uint64_t wait_ns;    /* of the facts, at the last look */
	uint64_t reports;    /* rows sent about the process: the reader counts missing rows */
	struct usage first, last, now; /* at start, at the last interval's end, latest */
	struct server server[WATCH_SERVERS];
	uint32_t servers; /* count of changes */
	/* as sent: the change, and by direction the server */
	uint32_t servers_said;
	const struct server *server_said[2];
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
	uint32_t owner;         /* checked copy */
	bool used, said, ended; /* ended: was so at the last look, no thread adds any more */
	bool relabelled;        /* label changed since the metadata went out */
	char id[UUID_BYTES];
	uint64_t bytes[2], ns[2]; /* reported */
	/* of a pipe or local socket: reported by itself, and the socket at the other end; 0: not
	 * known */
	uint64_t pipe_bytes[2], pipe_ns[2];
	uint64_t ahead_ns[2]; /* of waits under way, at the look */
	uint32_t far_ino;
	int64_t pipe_from_wall_ns; /* begin of unreported use; 0: there is none */
	uint64_t tcp_busy_us;
	int64_t tcp_rest_mono_ns; /* the kernel is not asked before; 0: at any time */
	uint32_t renames;
	struct label label;
	struct nwshm_cells *cells;    /* as sent; NULL before the first time */
	char cells_id[2][UUID_BYTES]; /* by direction; empty before the metadata */
	uint64_t cells_bytes[2];      /* bytes of the cells that were sent */
	int64_t cells_wall_ns;        /* when cells were sent last */
};

/* The first program, while the region shows nothing of it. */
struct root {
	bool shown;       /* a slot had its pid */
	bool known, said; /* known: `first` and `now` are set */
	int64_t said_mono_ns;
	struct proc_facts first, last, now; /* at begin, as said, latest */
	unsigned blind;
	char id[UUID_BYTES];
};

struct collect {
	struct nwshm *shm;
	uint32_t threads_max; /* slots of the region's file */
	int64_t base_mono_ns;
	struct nw_cycles cycles; /* the original of the clock in the region */
	struct root root;
	struct collect_unseen unseen; /* totals of processes that are gone */
	struct collect_opts opts;
	const struct collect_sink *sink;
	int tcp_fd; /* also asks about local sockets */
	double tick_s;
	uint64_t pid_ns;
	uint64_t page_bytes;
	uint32_t objects_said, servers_asked, pipes_said, pipes_asked;
	int64_t wall_ahead_ns;  /* lead of the wall clock over the monotonic clock */
	int64_t others_mono_ns; /* when the nameless objects were last reported */
	struct mounts mounts;
	struct watch watch[NWSHM_PROCS];
	struct thread_seen thread[NWSHM_THREADS];
	struct object_seen object[NWSHM_OBJECTS];
	struct handed handed[COLLECT_HANDED];
	struct written written[COLLECT_WRITTEN]; /* direct mapped */
	bool handed_is_found, handed_is_over;    /* a file was handed on; none ever is */
	unsigned handed_misses, handed_unread;
	struct stage_window window;      /* scratch */
	uint64_t cells[NW_HIST_BUCKETS]; /* scratch */
};

/* --- collect_id.c --- */

/* A kernel without random bytes ends the collector; the program never notices. */
void id_make(char out[UUID_BYTES]);

static inline uint32_t
procs_used(const struct collect *c)
{
	return nwshm_used_get(&c->shm->procs_used, NWSHM_PROCS);
}

/* --- collect_watch.c --- */

/* Begins to watch the process of a slot. */
void watch_start(struct collect *c, unsigned index, int64_t now_mono_ns);
/* Copies name and arguments of the slot. */
void watch_describe(struct collect *c, unsigned index);
/* Asks the system. Returns false if no process of ours has the pid any more. A process closed to
 * the collector counts as alive. */
bool watch_look(struct collect *c, struct watch *w);
/* The best account of a dead process: its own last word, or the start of the next image. */
void watch_end_usage(struct collect *c, unsigned index);
int64_t collect_interval_ns(const struct collect *c, unsigned index, int64_t now_mono_ns);

/* --- collect_window.c --- */

/*
 * Threads of the process that have moved bytes since the last call, or are in a call: their slots,
 * at most `max`; returns the number.
 */
uint32_t window_active_threads(struct collect *c, unsigned index, uint32_t *slot, uint32_t max);

/*
 * Adds up the work of all threads of process `index` in `stage` in the interval of `epoch`. With
 * `final` no thread writes any more, so half-written banks count as they are.
 */
void window_collect(struct collect *c, unsigned index, unsigned stage, uint32_t epoch, bool final,
    int64_t now_mono_ns, struct stage_window *out);
/*
 * Fetches the banks that were half written at the end of the last interval. The epoch after the
 * next writes over them, so an interval may end only after this call. False while a bank is still
 * being written; with `final` a half-written bank counts as it is.
 */
bool window_take_late(struct collect *c, unsigned index, bool final);
/*
 * Sums waiting times of all threads of the process, by enum nwshm_wait, and adds to its watch the
 * use of pipes and the bytes of no stage, since the last call.
 */
void window_collect_rest(
    struct collect *c, unsigned index, int64_t now_mono_ns, uint64_t wait_ns[NWSHM_WAITS]);
/* Notes, of each pipe and semaphore of the process, how long waits there are under way. */
void window_collect_ahead(struct collect *c, unsigned index, int64_t now_mono_ns);
/* Forgets and gives back the slots of a dead process. */
void window_free_threads(struct collect *c, unsigned index);
void window_clear(struct collect *c);

/* --- collect_object.c --- */

enum { COLLECT_SERVERS_ASKED = 64 };
enum { COLLECT_OBJECTS_SAID = 256, COLLECT_SMALL_SAID = 32, COLLECT_OBJECT_SMALL_BYTES = 1 << 20 };

/* A kernel's answer on a connection that took longer than ANSWER_SLOW_NS costs a rest of
 * ANSWER_RESTS times as long. Shorter delays are those of a collector without a processor. */
enum { COLLECT_ANSWER_SLOW_NS = 50000000, COLLECT_ANSWER_RESTS = 10 };
/* For so long behind a look that found a program blocked by storage, no question is asked about the
 * connections of a program with maps. */
enum { COLLECT_ANSWER_BLOCKED_NS = 1000000000 };

/* Reports the work on the objects of a process; with `gone`, for the last time. */
void object_collect(struct collect *c, unsigned index, bool gone, int64_t now_wall_ns);
/* Frees objects without a descriptor; reports the nameless objects. */
void object_sweep(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns, bool final);

/* --- collect_handed.c --- */

/* Adds a closed small file to the sum that it belongs to; false: to none. */
bool handed_take(
    struct collect *c, uint32_t owner, const struct nwshm_object *o, const struct object_delta *d);
/* Reports the sums of all processes, each as often as its process. */
void handed_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns);
/* Reports the sums of a process for the last time. */
void handed_end(struct collect *c, uint32_t owner, int64_t now_wall_ns);

/* --- collect_cells.c --- */

/* Sends the cells of a reported file: now and then, and always with `last`. */
void cells_report(struct collect *c, unsigned object, bool last, int64_t now_wall_ns);
/* Adds to the files, or connections, without a name. */
void add_to_nameless(struct collect *c, enum nwshm_object_kind kind, const struct object_delta *d);
/* Adds the cells of a file that is not reported by itself to the nameless files. */
void cells_to_nameless(struct collect *c, unsigned object);
/* Forgets the cells of an object that is over. */
void cells_clear(struct collect *c, unsigned object);

/* --- collect_say.c --- */

/* By enum nwshm_step: fields of cells, and keys of the text report. */
extern const char *const collect_step_names[NWSHM_STEPS];
void say_cells_meta(struct collect *c, unsigned object, enum nwshm_dir dir);

void say_stage(
    struct collect *c, unsigned index, unsigned stage, struct stage_window *w, int64_t now_wall_ns);
/* Reports the steps of the interval. */
void say_steps(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns);
void say_process(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns);
/* Sends the last words: changed names, the report's lines, the end of all series. */
void say_process_end(struct collect *c, unsigned index, int64_t end_mono_ns);
/* Reports the work of the first program since the last call, by the kernel's count alone. */
void say_root(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns);
void say_root_end(struct collect *c);
void say_pipe(struct collect *c, unsigned object, const struct object_delta *d,
    int64_t from_wall_ns, int64_t now_wall_ns);
void say_object(struct collect *c, unsigned object, const struct object_delta *d,
    const struct tcp_sample *tcp, int64_t now_wall_ns);
void say_object_end(struct collect *c, unsigned object);
/* Reports what is due of a sum of small files. */
void say_handed(struct collect *c, struct handed *h, int64_t now_wall_ns);
/* Text of a slot, cut and ended. */
static inline void
copy_text(char *out, const char *text, size_t cap)
{
	size_t i;

	for (i = 0; i + 1 < cap && text[i] != '\0'; i++)
		out[i] = text[i];
	out[i] = '\0';
}

/* --- collect_unseen.c --- */

/* Looks at the first program while it does not show. Returns whether the program is alive. */
bool unseen_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns, bool final);

/* --- collect_map.c --- */

/* Adds what a look at the process must tell; then takes the answer, before look_take(). */
void map_ask(const struct collect *c, const struct watch *w, struct proc_question *q);
void map_take(
    struct collect *c, struct watch *w, const struct proc_question *q, const struct proc_facts *f);

/* --- collect_local.c --- */

struct local_peer {
	uint32_t ino;                  /* of the socket at the other end; 0: not known */
	char name[NWSHM_SOCKET_BYTES]; /* of the socket asked about; empty: none */
};
/* Asks about a local socket, by a descriptor of tcp_open(). False: the kernel does not tell. */
bool local_peer_ask(int fd, uint64_t ino, struct local_peer *out);
/* Adds bytes through a local socket to its server, which is looked for at the `first` bytes. */
void local_report(struct collect *c, uint32_t owner, const struct nwshm_object *o,
    const struct object_delta *d, bool first);
/* The server of most bytes through pipes and local sockets in a direction; NULL: there is none. */
const struct server *local_server_of(const struct watch *w, enum nwshm_dir dir);

/* --- collect_pipe.c --- */

enum { COLLECT_PIPES_SAID = 128 };

/*
 * Reports the use of a pipe or local socket since the last report, waits under way included, if
 * worth a series. An end of little use is worth one where the other end is, whichever was told
 * first.
 */
void pipe_report(struct collect *c, unsigned object, int64_t now_wall_ns);

/* --- collect_tcp.c --- */

int tcp_open(void); /* a descriptor, or -1 */
/* Returns false without such a connection in this network name space. */
bool
tcp_ask(int fd, const struct net_addr *local, const struct net_addr *peer, struct tcp_sample *out);

#endif
