/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who waits for whom: from the waits of processes at their channels (pipes, local sockets,
 * connections) to a graph, and the node of the graph that holds the bytes longest.
 *
 *   node   one process, or several that do the same work (workers)
 *   edge   "waiter waited for holder" at the channels between two nodes, in one direction; or the
 *          waiter was ready to run, and waited for a processor, which no node holds
 *
 * A reader waits for the writers of its channel, and a writer for the readers. The held share of a
 * node is the part of the chain's time with the node at work and in no wait for another node:
 * computing, disks, pauses, waits for peers without measurement. With known processor time, time
 * without any explanation is held as far as other nodes waited for the node meanwhile: threads may
 * wait for other threads, or for a process out of sight. A process waits while its first thread
 * waits. Without such an account, a wait beside a thread of the same process that computes, or
 * wants a processor, is no wait of the process. Behind the slowest node readers wait, and before
 * that node writers wait: so the node with the largest held share limits.
 * Over a network both ends may wait at once; the smaller of the two shares is the network's own.
 *
 * A process counts from the first to the last use of its channels, without channels that hardly
 * matter. A wait may be told in the window of its end alone: the part without room in that window
 * belongs to the windows before, or behind. A wait at a semaphore of equal processes alone is a
 * wait for their turn, and counts as a wait for another node by the part of their time that was
 * such a wait.
 */
#ifndef NARROWS_CHAIN_H
#define NARROWS_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Uses of the time in which a node held the bytes. */
enum nw_chain_use {
	NW_CHAIN_CPU,     /* on a processor */
	NW_CHAIN_READ,    /* in calls that read files */
	NW_CHAIN_WRITE,   /* in calls that write files */
	NW_CHAIN_BLOCKED, /* blocked by storage outside these calls */
	NW_CHAIN_FAR,     /* waiting for a peer that is no node */
	NW_CHAIN_STEP,    /* in steps that the program marked, and in no use above */
	NW_CHAIN_PAUSED,  /* pauses that the program's own time ended */
	NW_CHAIN_STARVED, /* ready to run without a processor */
	NW_CHAIN_INSIDE,  /* of no known use, while other nodes waited for the node; no input */
	NW_CHAIN_USES
};

/* Objects of waits: name, word, words between "waited" and the holder, and words of a table. */
#define NW_CHAIN_WANTS(X)                                                   \
	X(DATA, "data", "for data from", "data")                            \
	X(ROOM, "room", "for room before", "room")                          \
	X(POST, "post", "for a post from", "a post of a semaphore")         \
	X(SIGNAL, "signal", "for a signal from", "a signal of a condition") \
	X(TURN, "turn", "for a lock held by", "a turn at a lock")           \
	X(END, "end", "for the end of", "the end of a child")               \
	X(PROCESSOR, "processor", "for a processor", "a processor")
enum nw_chain_want {
#define NW_CHAIN_NAME(name, word, joint, words) NW_CHAIN_WANT_##name,
	NW_CHAIN_WANTS(NW_CHAIN_NAME)
#undef NW_CHAIN_NAME
	    NW_CHAIN_WANTS_N
};

/*
 * Places of waits: name, word, object of a reader's wait, whether bytes pass there, and whether a
 * sender names such channels by the word. A pipe may be a local socket; a file is read by a process
 * while another process writes. At a semaphore reading is waiting for a post, and writing is
 * posting, and so with the signals of a condition; at a lock of files, and at a mutex in shared
 * memory, reading is waiting for a turn, and writing is the taking. A parent reads, and the
 * children write. A run queue is no channel: it has a waiter alone.
 */
#define NW_CHAIN_KINDS(X)                              \
	X(PIPE, "pipe", DATA, true, false)             \
	X(NETWORK, "network", DATA, true, false)       \
	X(FILE, "file", DATA, true, false)             \
	X(SEMAPHORE, "semaphore", POST, false, true)   \
	X(CONDITION, "condition", SIGNAL, false, true) \
	X(MUTEX, "mutex", TURN, false, true)           \
	X(LOCK, "lock", TURN, false, true)             \
	X(CHILD, "child", END, false, false)           \
	X(QUEUE, "run queue", PROCESSOR, false, false)
enum nw_chain_by {
#define NW_CHAIN_NAME(name, word, what, carries, named) NW_CHAIN_##name,
	NW_CHAIN_KINDS(NW_CHAIN_NAME)
#undef NW_CHAIN_NAME
	    NW_CHAIN_KINDS_N
};
extern const struct nw_chain_kind {
	const char *word;
	enum nw_chain_want what;
	bool carries, named;
} nw_chain_kinds[NW_CHAIN_KINDS_N];

/* Users of the processors that a node waited for: name, word, and words behind "a processor". */
#define NW_CHAIN_USERS(X)                                                             \
	X(OTHERS, "other programs", ", while other programs used the processors")     \
	X(OWN, "own programs", ", while programs of the session used the processors") \
	X(QUOTA, "quota", ", as its quota was used up")
enum nw_chain_user {
#define NW_CHAIN_NAME(name, word, tail) NW_CHAIN_USER_##name,
	NW_CHAIN_USERS(NW_CHAIN_NAME)
#undef NW_CHAIN_NAME
	    NW_CHAIN_USERS_N /* not known */
};

/* The words of an object of waits, or of a user of processors: the document's word, the words of a
 * sentence, and those of a table. */
struct nw_chain_words {
	const char *word, *joint, *words;
};
extern const struct nw_chain_words nw_chain_wants[NW_CHAIN_WANTS_N],
    nw_chain_users[NW_CHAIN_USERS_N];
/* The row with a word of a document, valid for ever; NULL without such a row, or for NULL. */
const struct nw_chain_words *nw_chain_want_of(const char *word);
const struct nw_chain_words *nw_chain_user_of(const char *word);

/* Arrays have n_windows entries, in seconds; NULL: no such time. */
struct nw_chain_process {
	size_t group; /* processes of equal numbers form a node */
	const double *use_s[NW_CHAIN_USES];
	bool cpu_known;
	/* waits of the process's first thread, where these are the process's; NULL: not known */
	const double *first_s;
};

/* A process's end of a channel. Index 0 is reading, 1 writing. */
struct nw_chain_end {
	size_t process, channel;
	enum nw_chain_by by;
	double bytes[2];
	const double *wait_s[2];
	double begin_s, end_s; /* of its use, since the first window's begin */
};

struct nw_chain_node {
	size_t group, n_processes;
	double at_work_s;      /* sum of its processes */
	double begin_s, end_s; /* of its channels' use, since the first window's begin */
	double held_share;     /* of the time of the whole chain */
	double waited_share, use_share[NW_CHAIN_USES]; /* of at_work_s */
};

struct nw_chain_edge {
	size_t waiter, holder; /* nodes; the holder of a run queue is n_nodes */
	bool writes;           /* the waiter writes, and waits for room */
	enum nw_chain_by by;
	double share;     /* of the waiter's time at work */
	double bytes;     /* through the channels, in this direction of data */
	double *wait_s;   /* n_windows, sum of the waiter's processes */
	double own_share; /* of a network: both ends waited, so the network held the bytes */
};

struct nw_chain {
	struct nw_chain_node *node;
	size_t n_nodes;
	struct nw_chain_edge *edge; /* run queues are last */
	size_t n_edges;
	/* The slowest: a node, or a network edge where limit_is_edge. Known only where it lies
	 * clearly before all others, in the means and in most windows. */
	bool known, limit_is_edge;
	size_t limit;
	double second_share; /* the largest held share of the others */
	size_t longest,
	    second; /* nodes: the largest held share, and the next; n_nodes without one */
};

/* NW_OK or NW_ENOMEM; nw_chain_clear() after both. Without an edge between two nodes: no nodes.
 * O(ends^2 + ends x nodes x windows). */
int nw_chain_build(const struct nw_chain_process *p, size_t n, const struct nw_chain_end *ends,
    size_t n_ends, size_t n_windows, double window_s, struct nw_chain *out);
void nw_chain_clear(struct nw_chain *c);

#endif
