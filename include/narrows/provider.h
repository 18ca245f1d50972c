/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider sends measurements to a box: metadata once, data documents in order, kept until the
 * box says stored.
 *
 * One thread owns a provider. Nothing here blocks except nw_provider_run() and nw_provider_close(),
 * for the time they are given. When the box is away, documents wait in a bounded queue; when the
 * queue is full the oldest are dropped, counted, and the box is told their number. With a spool
 * directory the queue goes on there: documents are written when they have waited for 2 s, when
 * memory is half full, and at the end; a provider started again with the same directory has the
 * same id and sends them first, however its predecessor died. A provider reconnects by itself with
 * growing pauses, and never prints, exits or raises SIGPIPE.
 *
 * On the wire: an ordinary XSP session (AUTH ANON, open), then HELLO; every box that does not
 * answer HELLO is taken for an original daemon and gets the documents without acknowledgement. Data
 * documents (0x21) are numbered from first_seq of the HELLO on; the box answers HELLO with the
 * highest number it has stored, and STORED as it commits. HELLO may come again on the same
 * connection and starts the count anew: after documents were dropped, or to leave out some that the
 * box turned out to have. Numbers never go back for a new document.
 */
#ifndef NARROWS_PROVIDER_H
#define NARROWS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/doc.h"
#include "narrows/event.h"
#include "narrows/public.h"

struct nw_provider;

struct nw_provider_opts {
	/* "host/port", "host:port", "tls://host/port"; NULL: NARROWS_BOX, else box of host.conf,
	 * else 127.0.0.1/5006 */
	const char *box;
	const char *software;       /* "blipp", "nwrun", ... */
	const char *host;           /* NULL: NARROWS_HOST, host.conf, the host name */
	const char *task_id;        /* id that joins sessions; NULL for the host's own series */
	const char *program;        /* program that is measured; NULL: nothing in particular */
	uint32_t queue_max_bytes;   /* 0: 4 MiB */
	int64_t connect_timeout_ns; /* 0: 5 s */
	/* directory of the spool; NULL means a directory below NARROWS_SPOOL (if set), named
	 * after software and task */
	const char *spool_dir;
	uint64_t spool_max_bytes; /* 0: 256 MiB */
	/* Id of a provider that knows by itself what it has sent, and has no spool: at most 36
	 * characters; see nw_provider_renumber(). NULL: a new id, or the spool's */
	const char *id;
	int64_t spool_max_age_ns; /* of a document, when there is a spool; 0: any */
	/* For tls://, what `narrows enroll` made: a directory with HOST.key, HOST.crt and ca.crt,
	 * or single files. NULL: NARROWS_TLS, NARROWS_TLS_CA, NARROWS_TLS_CERT, NARROWS_TLS_KEY,
	 * else tls-dir of host.conf, else /etc/narrows/tls. Read at every connection. */
	const char *tls_dir, *tls_ca, *tls_cert, *tls_key;
	/* Orders of the box (order.h, narrows-xsp(7)). Left out: none are taken. */
	const char *can; /* orders that are taken, as words: "start stop rate status" */
	/* addresses of this host, as words, by which the box recognises connections of the host */
	const char *addresses;
	/* from within run() and close() */
	void (*on_order)(void *arg, uint16_t opt, const uint8_t *doc, size_t len);
	void *on_order_arg;
};

struct nw_provider_stats {
	uint64_t docs_queued, docs_sent, docs_stored, docs_dropped;
	uint64_t connects, connect_failures;
	uint64_t queue_bytes; /* in memory */
	uint64_t spool_bytes; /* in the directory; documents may be in both */
	bool spooled;         /* there is a directory */
	bool connected;       /* session open, ready to send */
	bool acknowledged;    /* the box answers HELLO: docs_stored means something */
	/* highest number that the box has acknowledged for this provider, of any life */
	uint64_t box_stored_seq;
};

/*
 * NW_ENOMEM, NW_EINVAL (an address that does not parse; no address, and a faulty host.conf); of
 * spool_dir: NW_ECONFLICT (another process has the directory), NW_EIO, NW_ECORRUPT. Connects later,
 * from nw_provider_run().
 */
NW_PUBLIC int nw_provider_new(const struct nw_provider_opts *opts, struct nw_provider **out);
/* Waits at most `wait_ns` for what is queued to be stored (sent, for original boxes), closes,
 * frees. NULL is fine. NW_OK: everything arrived; NW_EAGAIN: something did not. */
NW_PUBLIC int nw_provider_close(struct nw_provider *p, int64_t wait_ns);

/*
 * Sends documents that dead providers have left below NARROWS_SPOOL, as long as the box takes them,
 * each for at most wait_ns. opts: as for the own provider, which is closed by now; task and
 * directory come from the spool.
 */
NW_PUBLIC void nw_provider_adopt(const struct nw_provider_opts *opts, int64_t wait_ns);

/* Metadata is copied and sent again after every reconnect. Call once per id and event type. */
NW_PUBLIC int
nw_provider_meta(struct nw_provider *p, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params);
/* Stops repeating the metadata on reconnects; call when its series has ended. */
NW_PUBLIC void nw_provider_meta_end(struct nw_provider *p, const char *id);
/* Queues one data document. NW_ETOOBIG: larger than the queue. */
NW_PUBLIC int nw_provider_data(struct nw_provider *p, const char *mid, int64_t t_wall_ns,
    const char *const *fields, const double *values, size_t n_fields, const uint8_t *hist,
    size_t hist_len);

/*
 * Queues n_rows rows of one series, row by row in `values`: packed into columns if the box can
 * unpack them, else as lists. Each resulting document has one number and counts once in the
 * statistics.
 */
NW_PUBLIC int nw_provider_rows(struct nw_provider *p, const char *mid, const char *const *fields,
    size_t n_fields, size_t n_rows, const int64_t *t_wall_ns, const double *values);

/*
 * Queues the events as one document, which the box counts with the provider's task, or with the
 * host. A box that does not know events gets none, and docs_dropped counts the document. The caller
 * clears the events. NW_EINVAL: there are none.
 */
NW_PUBLIC int nw_provider_events(struct nw_provider *p, struct nw_events *events);

/*
 * The next document gets this number. For a provider with an id of its own: what it sends again
 * after a restart gets the numbers of before, and the box drops what it has. NW_EINVAL: documents
 * wait, or there is a spool.
 */
NW_PUBLIC int nw_provider_renumber(struct nw_provider *p, uint64_t next_seq);

/*
 * Asks the box to have this host's blipp sample the series of this event type ("ps:...") so often,
 * and begin those that are off, for `for_ns` (10 minutes at most): a program that knows that an
 * interesting stretch begins. NW_EAGAIN: no box has answered yet; NW_EINVAL.
 */
NW_PUBLIC int
nw_provider_ask(struct nw_provider *p, const char *event_type, int64_t interval_ns, int64_t for_ns);
/* Sends a message about the provider (STATUS, VERDICT) to a box that has answered HELLO. The
 * answers to VERDICT come to on_order. NW_EAGAIN: there is no such box; the message is not kept.
 * NW_EINVAL: the box tells no verdicts. */
NW_PUBLIC int nw_provider_tell(struct nw_provider *p, uint16_t opt, const uint8_t *doc, size_t len);
/*
 * Documents wait for the next report until `hold` is taken back, or the queue is half full. Rows of
 * a series that are queued meanwhile become one document, as with nw_provider_rows().
 */
NW_PUBLIC void nw_provider_hold(struct nw_provider *p, bool hold);

/* Works on the connection for up to `wait_ns` (0: does not wait). Returns early only on error
 * NW_E*. */
NW_PUBLIC int nw_provider_run(struct nw_provider *p, int64_t wait_ns);
/* For callers with a loop of their own: the socket (-1: none) and the poll(2) events wanted; then
 * run(p, 0). */
NW_PUBLIC int nw_provider_fd(const struct nw_provider *p, short *events);
NW_PUBLIC void nw_provider_get_stats(const struct nw_provider *p, struct nw_provider_stats *out);
/* Why there is no connection, or why the last connection ended. Printable; good until the next
 * call on p. */
NW_PUBLIC const char *nw_provider_why(const struct nw_provider *p);
/* Why the box stores nothing now ("disk full", ...), in the words of the box; empty while the
 * box stores. Printable; good until the next call. */
NW_PUBLIC const char *nw_provider_trouble(const struct nw_provider *p);

#endif
