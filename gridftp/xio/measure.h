/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's measurements in a process: flows (a file, or a stream), operations on flows, and the
 * sessions of flows. The driver's functions run on Globus' threads and only count
 * here; the sender (sender.h), a thread of its own, takes the counts and reports.
 *
 *	open ── flow_open ─────────> flow ── of ──> session, with four meters
 *	read ── op_begin ─> pass ─> op_returned
 *	                      └──> callback ─> op_done
 *	close ── flow_close: the sender reports the flow once more, and frees the flow
 *
 * Two times of an operation are possible. `exact`: the layer below works within the pass, so the
 * operation ends when the transport says so (finish.h), else when the pass returns, or at the
 * callback if another thread came first. Otherwise the operation ends at the callback; without
 * threads the time that the thread spent in exact calls of other flows meanwhile is taken off,
 * because the thread waited for a disk then.
 *
 * Mode E sends 17 bytes of header before each block. Header bytes are counted apart, and the time
 * of a header that was read belongs to the block behind, for which the stream waited.
 *
 * An operation is referenced by the submitter and by the callback; the later of both frees it: in
 * servers with threads the callback may come before the pass returns.
 *
 * One mutex guards everything. Each hold is short, but for the sender's, which takes the windows.
 */
#ifndef GRIDFTP_MEASURE_H
#define GRIDFTP_MEASURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gridftp/xio/meter.h"
#include "gridftp/xio/options.h"
#include "host/lib/net_addr.h"
#include "host/lib/tcpinfo.h"

enum flow_kind { FLOW_DISK, FLOW_NET };
enum flow_dir { FLOW_READ, FLOW_WRITE };
enum { STAGES = 4 }; /* 2 * enum flow_kind + enum flow_dir */

static inline bool
stage_is_disk(unsigned stage)
{
	return stage / 2 == FLOW_DISK;
}

enum { HEADER_BYTES = 17 }; /* of a block of mode E */

enum { TRANSPORT_BYTES = 16, FLOWS_MAX = 8192, SESSIONS_MAX = 64 };

struct session;

/* Of one direction, since the flow's begin. */
struct flow_sum {
	uint64_t bytes, ops, errors;
	int64_t ns;
	uint64_t header_bytes; /* of mode E */
	int64_t header_ns;     /* of headers without a block behind */
	uint64_t jumps;        /* operations on a file that did not begin where the last ended */
};

/* What a flow is of, as far as the driver knows at the open. */
struct flow_label {
	enum flow_kind kind;
	char transport[TRANSPORT_BYTES];
	const char *path;   /* of a file; copied */
	int64_t size_bytes; /* at the open; -1: not known, or a file to be written */
	dev_t dev;          /* of a file; 0: not known */
	int fd;             /* descriptor of the transport; -1: hidden */
	bool passive;       /* the far end connected */
	/* of a stream; family 0: not known. Texts where the transport tells a contact only */
	struct net_addr local, peer;
	char local_text[64], peer_text[64];
	uint16_t local_port, peer_port;
};

struct flow {
	struct flow *next;
	struct session *session;
	bool follows; /* the options have no id: the flow joins a session with an id */
	bool exact;   /* operations end within their pass */
	bool closed;
	struct flow_label label; /* path: own copy */
	unsigned number;         /* of the opens of the process, from 1 on */
	struct flow_sum sum[2];
	int64_t pending_ns;  /* of a header before the block's arrival */
	uint64_t block_left; /* bytes of a block whose header was read */
	size_t header_left;  /* bytes of a header that a short write left */
	int64_t at;          /* offset of the next operation on a file */
	int64_t last_end;    /* of the last; -1: there was none */
	/* the kernel's account when the stream was closed */
	uint8_t tcp_info[TCPINFO_BYTES];
	size_t tcp_info_len;
	/* the sender's */
	struct flow_sum said[2];
	unsigned said_in; /* number of the session whose metadata name the flow; 0: none */
	char id[40];
};

struct op {
	struct op *next; /* in the list of free ones */
	struct flow *flow;
	struct session *session; /* of the flow at the begin */
	enum flow_dir dir;
	bool exact, left; /* left: no longer under way in the meter */
	unsigned refs;
	const uint8_t *buf;  /* the caller's, until the callback ends */
	size_t header_bytes; /* at the begin of the bytes */
	bool header_read;    /* a read of one header */
	int64_t begin_mono_ns, end_mono_ns, apart_ns;
	_Atomic int64_t told_end_mono_ns; /* by the transport (finish.h); 0: not told */
};

struct session {
	struct session *next;
	unsigned number; /* in the process, from 1 on */
	char task_id[OPTIONS_ID_BYTES];
	bool chosen;            /* an option named the task; else the id is random */
	bool started;           /* the sender has told the box of the session */
	struct options options; /* of the first flow */
	struct meter meter[STAGES];
	unsigned flows, streams; /* open; streams so far */
	uint64_t missed_ops;     /* without memory */
	int64_t born_mono_ns, used_mono_ns;
	void *sent; /* the sender's */
};

struct measure {
	pthread_mutex_t lock;
	pid_t pid;
	bool threads;     /* Globus runs callbacks on several threads */
	bool ends_hidden; /* no transport tells ends, so exact times are upper bounds */
	bool no_sender;
	int64_t apart_ns, apart_since_mono_ns; /* in exact calls without threads; 0: not in one */
	struct flow *flows;
	struct session *sessions;
	struct op *free_ops;
	unsigned n_flows, n_sessions, opens, sessions_made;
	uint64_t missed_flows;
};

void measure_init(struct measure *m, bool threads);

/* The flow joins the session of options->task_id, else the session of the process, else a new
 * session. NULL: no memory, or too many flows; the handle goes unmeasured. */
struct flow *flow_open(struct measure *m, const struct flow_label *label,
    const struct options *options, bool exact, int64_t now_mono_ns);
/* Notes the kernel's account of a stream while the descriptor is still the flow's. */
void flow_closing(struct measure *m, struct flow *f);
/* No operation of the flow is under way, and none will come. */
void flow_close(struct measure *m, struct flow *f, int64_t now_mono_ns);
void flow_seek(struct measure *m, struct flow *f, int64_t offset);

/* NULL: no memory; the operation goes unmeasured. `buf` is the first of `n_bufs` buffers with
 * `bytes` in all, of which the first `first_bytes` lie at buf. */
struct op *op_begin(struct measure *m, struct flow *f, enum flow_dir dir, const uint8_t *buf,
    size_t first_bytes, int n_bufs, size_t bytes, int64_t now_mono_ns);
/* In place of a time: the clock is read with the lock, if the operation needs a time. */
#define OP_NOW INT64_MIN
/* The pass returned without an error. */
void op_returned(struct measure *m, struct op *o, int64_t now_mono_ns);
/* The pass failed, so there is no callback. */
void op_failed(struct measure *m, struct op *o, int64_t now_mono_ns);
enum op_outcome { OP_OK, OP_END_OF_FILE, OP_FAILED };
/* The callback. Where an exact operation on a file moves nothing without an error, the later ones
 * of the flow wait at the transport again. */
void op_done(
    struct measure *m, struct op *o, size_t bytes, enum op_outcome outcome, int64_t now_mono_ns);

/* The time in exact calls so far, the present one included. With the lock. */
int64_t measure_apart_ns(const struct measure *m, int64_t now_mono_ns);
/* The session of a task in this process; NULL: none. With the lock. */
struct session *session_find(struct measure *m, const char *task_id);
/* Takes a closed flow out of the list and frees the flow. With the lock. */
void flow_free(struct measure *m, struct flow *f);
/* Frees a session without flows and operations, else returns false. With the lock. */
bool session_free(struct measure *m, struct session *s);

/* Text about the session so far: "task=U disk.read=BYTES/SECONDS ..."; free() the text. NULL:
 * no such session, or no memory. */
char *measure_summary(struct measure *m, const char *task_id, int64_t now_mono_ns);

#endif
