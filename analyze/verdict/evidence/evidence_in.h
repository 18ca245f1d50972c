/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading evidence, inside the room: metadata become sources (evidence_sources.c), the rows of a
 * source become amounts on the grid (evidence_rows.c for the session's own documents,
 * evidence_hosts.c for the documents of hosts, evidence_kernel.c for those of kernels), and
 * evidence.c leads through all of it.
 */
#ifndef EVIDENCE_IN_H
#define EVIDENCE_IN_H

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/clockspan.h"
#include "narrows/field.h"

enum source_kind {
	SOURCE_OTHER,
	SOURCE_CALIPER,
	SOURCE_PROCESS,
	SOURCE_FILE,
	SOURCE_CONNECTION,
	SOURCE_TCP,
	SOURCE_KERNEL,
	SOURCE_CPU,
	SOURCE_DISK,
	SOURCE_MEMORY,
	SOURCE_LINK,
	SOURCE_USE, /* of another session */
	SOURCE_CLOCK,
	SOURCE_EXCHANGE,
	SOURCE_BOXES,
	SOURCE_REPLAY,
	SOURCE_PIPE,
	SOURCE_STEPS
};

/* A metadata of use here, copied because the reader's text ends with the callback. */
struct source {
	enum source_kind kind;
	int64_t meta_id, xsp_id;
	bool of_sender; /* of SOURCE_EXCHANGE: the clock of a sender with a clock of its own */
	size_t host, process;
	/* file, connection, replay, pipe or steps: of a document, or named by a caliper's own
	 * metadata */
	size_t item;
	size_t shared;                 /* of a file: index into shared, or EVIDENCE_SHARED_MAX */
	bool has_connection, has_file; /* whether a caliper's metadata names such an item */
	enum nw_op op;
	enum evidence_wait wait; /* of SOURCE_KERNEL */
	double dt_s;
	uint64_t reports;     /* highest report number so far, plus 1 */
	int64_t last_wall_ns; /* time of the row before; 0 before the first row */
	/* what the rows say of a disk or a link: SOURCE_PROCESS, _CONNECTION, _FILE, _DISK, _LINK,
	 * or SOURCE_OTHER for nothing */
	enum source_kind use_kind;
	size_t use;             /* index into uses, or of files into use_files */
	size_t use_program;     /* of another session: index into programs */
	double use_in, use_out; /* raw counters at last_wall_ns; NaN before the first row */
	/* raw counters of a disk at last_wall_ns; NaN before the first row */
	double disk_bytes, disk_io_ms;
};

enum { STEP_SLOTS = 64 }; /* eighths of an octave around 1 s */

/* A program of another session, and its bytes of a use. */
struct use_program {
	size_t use;
	char *name;
	double bytes;
};

/* A sender with another clock than the clock of the host. */
struct apart {
	size_t host;
	char *provider;
	int64_t ahead_ns;
};

struct loader {
	struct store_reader *reader;
	struct evidence *e;
	enum evidence_from from;
	struct source *sources;
	size_t n_sources;
	struct use_program *programs;
	size_t n_programs;
	/* pass one: the lengths of windows vote for the step, weighted by time */
	double step_votes_s[STEP_SLOTS], step_rows[STEP_SLOTS];
	int64_t begin_wall_ns, end_wall_ns;
	int64_t pipes_begin_wall_ns, pipes_end_wall_ns; /* of rows of pipes, steps, maps; 0 */
	bool have_processes;   /* whether a sender reports every interval, busy or not */
	bool filling;          /* whether pass two runs */
	bool mapping, alone;   /* whether rows of work without calls are in hand, and may vote */
	struct source *source; /* whose rows are in hand */
	struct nw_clock_rows exchanges; /* of the clock in hand */
	struct apart *apart;
	size_t n_apart;
	double stopped_status; /* of a program that SIGINT or SIGTERM ended; 0 */
	int64_t stopped_wall_ns, ended_well_wall_ns; /* latest such ends, and first good end; 0 */
};

/* Positions of columns in a layout; -1 for a column missing there. */
struct columns {
#define COLUMN(field) int field;
	NW_FIELDS_READ(COLUMN)
#undef COLUMN
};

/* A row of a block of the store. */
struct row {
	const struct columns *c;
	const struct store_block *b;
	size_t i;
};

/* The time covered by a row. */
struct span {
	double window_s;
	int64_t begin_wall_ns, end_wall_ns;
};

/* evidence_columns.c */
void columns_find(struct columns *c, const struct nw_layout_rec *l);
/* The value of a column; NaN where the layout lacks it. */
double row_cell(const struct row *r, int column);
/* 0 for a value without finite number: a missing value must not end a sum. */
double known_or_0(double v);
/* Sets *out unless v is NaN. */
void last_known(double *out, double v);

/* evidence_grid.c */
void span_vote(struct loader *l, const struct span *s);
void grid_choose(struct loader *l);
/* An array of the grid; the first call makes and fills the array. */
double *grid_array(const struct evidence *e, double **a, double fill);
/* Spreads an amount evenly over the windows of the span. */
void grid_spread(const struct evidence *e, double *a, const struct span *s, double amount);
/* Sets the windows touched by the span. */
void grid_gauge(const struct evidence *e, double *a, const struct span *s, double v);
/* Sets the windows touched by the span where they are NaN or lower than v. */
void grid_raise(const struct evidence *e, double *a, const struct span *s, double v);

/* evidence_uses.c */
void uses_clear(struct evidence *e);
/* Sets the use told by a metadata of a session. */
void source_use(struct evidence *e, struct source *s, const char *event_type, int64_t session_id,
    const json_t *subject);
/* Sets the total told by a metadata of a disk or a link. */
void source_total(struct evidence *e, struct source *s, const json_t *subject);
/* Adds the sources of the other sessions that ran at the time on the same hosts. */
int other_sessions_load(struct loader *l);
void use_row(struct loader *l, const struct row *r);
/* Names the uses of other sessions by the programs with most bytes, and frees the programs. */
void uses_name(struct loader *l);

/* evidence.c: reads the rows of a source, from t0 to t1 of the box's clock */
int source_read(struct loader *l, struct source *s, int64_t t0, int64_t t1);

/* evidence_sources.c */
void source_add(struct loader *l, const struct source *s);
/* evidence_sources.c: callbacks of store_metas() */
int on_session_meta(void *loader, const struct nw_meta_rec *m);
struct host_metas {
	struct loader *l;
	size_t host;
};
int on_host_meta(void *host_metas, const struct nw_meta_rec *m);
void hosts_name(struct loader *l);
size_t host_index(struct loader *l, int64_t host_id);
void ends_separate(struct loader *l);

/* evidence_rows.c */
struct span row_span(struct loader *l, const struct row *r);
void caliper_row(struct loader *l, const struct row *r);
void process_row(struct loader *l, const struct row *r);
/* Whether a process moved bytes through maps of files. */
bool process_maps(const struct evidence_process *p);
/* The status of a session with stopped programs, after all rows. */
void exit_settle(struct loader *l);
void file_row(struct loader *l, const struct row *r);
/* Spreads a wait, reported at the end, over the time before. */
void wait_spread(const struct evidence *e, double **a, const struct span *s, double wait_s);
void extent_widen(int64_t *first_wall_ns, int64_t *last_wall_ns, const struct span *s);
void replay_row(struct loader *l, const struct row *r);

/* evidence_steps.c */
void steps_source(struct loader *l, struct source *s, const json_t *subject);
void steps_row(struct loader *l, const struct row *r);
void steps_clear(struct evidence *e);

/* evidence_pipes.c */
/* Adds the end of a pipe by the metadata of the end. */
void pipe_source(struct loader *l, struct source *s, const json_t *subject);
void pipe_row(struct loader *l, const struct row *r);
void pipes_clear(struct evidence *e);

/* evidence_shared.c */
/* Adds a process's use of a file by the file's metadata, whose id in documents is mid. */
void shared_source(struct loader *l, struct source *s, const char *mid, const json_t *subject);
void shared_row(struct loader *l, const struct row *r, double read, double written);
void shared_clear(struct evidence *e);

/* evidence_connections.c */
/* A row of nw:connection, from the program's own nwrun. */
void connection_row(struct loader *l, const struct row *r);
/* A row of ps:host:tcp, from blipp on the host. */
void tcp_row(struct loader *l, const struct row *r);
/* The entry of a connection watched by blipp. If an entry exists, `added`, the newest, goes. */
size_t connection_watched(struct evidence *e, size_t added);
void connection_clear(struct evidence_connection *c);
/* Joins blipp's view of a connection to the program's view of the connection. */
void connections_join(struct evidence *e);

/* evidence_clocks.c */
/* Finds how far each clock was ahead of the box's while the session ran. */
int clocks_load(struct loader *l);
/* The lead of the clock behind the times of a source. */
int64_t clocks_ahead_ns(struct loader *l, const struct source *s);
void clocks_clear(struct loader *l);

/* evidence_kernel.c */
/* Makes s the source of a kernel's waiting time if the event type is one; a subject without
 * addresses means the whole host. */
void
source_kernel(struct loader *l, struct source *s, const char *event_type, const json_t *subject);
void kernel_row(struct loader *l, const struct row *r);
void kernels_clear(struct evidence *e);

/* evidence_mounts.c */
/* The mount of a file's metadata, new or known; the number of mounts if there are too many. */
size_t mount_add(struct evidence *e, size_t host, const json_t *subject);
void mount_clear(struct evidence_mount *m);
/* Finds the measured hosts behind mounts, and makes them hosts of the session. */
int mounts_serve(struct loader *l);

/* evidence_announced.c */
/* Adds an announced flow by its metadata. Returns 0. */
int announced_add(struct loader *l, const struct nw_meta_rec *m);
int announced_read(struct loader *l);
void announced_clear(struct evidence *e);

/* evidence_tests.c */
void evidence_tests_clear(struct evidence *e);
/* evidence_switches.c */
void evidence_switches_clear(struct evidence *e);

/* evidence_paths.c */
void evidence_paths_clear(struct evidence *e);

/* evidence_hosts.c */
void cpu_row(struct loader *l, const struct row *r);
void disk_row(struct loader *l, const struct row *r);
void memory_row(struct loader *l, const struct row *r);
void clock_row(struct loader *l, const struct row *r);
void boxes_row(struct loader *l, const struct row *r);
void exchange_row(struct loader *l, const struct row *r);
void clocks_settle(struct evidence *e);

#endif
