/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An XSP session: from the open message to the end of the connection. xsess.c knows the sender;
 * ingest.c turns documents into rows of the current batch. The connection is a struct of calls, so
 * a test needs no socket.
 */
#ifndef XSESS_H
#define XSESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/hostclock.h"

struct box;
struct control_peer;
struct host;
struct origin;
struct session;

/* The connection of a session; text is on loan for the session's life. */
struct xsess_wire {
	const char *name, *address; /* "address/port", "address" */
	const char *certified_name; /* name in the peer's certificate, NULL for a peer in clear */
	const char *certified_addresses; /* that the certificate lists, by blanks; NULL: none */
	const char *owner;               /* owner of the peer's provider ids (narrows/store.h) */
	void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len);
	/* ends the connection; the session lives until its owner calls xsess_close() */
	void (*fail)(void *arg, int code, const char *why);
	void *arg;
};

/* State of ingest.c: the present document, and numbers from document to document. */
struct ingest {
	double *scatter; /* rows in the layout's order */
	size_t scatter_cap;
	int64_t now_wall_ns; /* time of arrival */
	uint16_t opt;
	const uint8_t *doc; /* the whole document, NULL for a held document */
	size_t doc_len;
	const char *only_mid; /* id to take from a held document, or NULL for every id */
	uint64_t next_seq;    /* number of the next data document, after HELLO */
	uint64_t lost;        /* documents before next_seq lost by the provider, from HELLO */
};

/* Fields belong to xsess.c and ingest.c. */
struct xsess {
	struct box *box;
	struct xsess_wire wire;
	int64_t id;
	char sess_id_hex[33];
	char *software, *task_id; /* said in HELLO, or NULL */
	struct host *host;
	struct origin *origin;
	struct session *session;      /* attached session, the first that was fed, or NULL */
	struct control_peer *control; /* NULL for a peer without orders */
	struct hostclock_sender clock;
	bool hello;      /* the peer said HELLO */
	bool for_host;   /* the peer speaks for a host, not for a task */
	bool certified;  /* host is the name in the certificate */
	bool of_partner; /* windows of another site's box (partners.h) */
	int64_t opened_wall_ns, closed_wall_ns;
	unsigned asks; /* of a program, for more of its host */
	uint64_t docs, samples, rejected, bytes;
	uint64_t dropped; /* documents lost by the provider */
	const char *end_reason;
	bool changed;              /* in the box's list of changed XSP sessions */
	struct xsess *prev, *next; /* neighbours in that list */
	bool left;  /* the provider adds nothing more: the session is not held open */
	bool asked; /* in the box's list of providers that wait for a verdict */
	struct xsess *asked_prev, *asked_next; /* neighbours in that list */
	struct ingest in;
};

struct xsess *xsess_open(struct box *box, const struct xsess_wire *wire, const uint8_t sess_id[16]);
/* Frees x (NULL is fine); reason goes to the store and is static text. */
void xsess_close(struct xsess *x, const char *reason);

/* Takes one application block. NW_OK, or a negative code with static *why: the caller ends the
 * connection. */
int xsess_block(struct xsess *x, uint16_t opt, const uint8_t *data, size_t len, const char **why);

/* Memory that the session holds for the sender. */
size_t xsess_bytes(const struct xsess *x);
/* Tells a provider that said HELLO the store's error (box->store_error), or the error's end. */
void xsess_tell_store_error(struct xsess *x);

/* For ingest.c: the sender, as sessions know it; on loan for the session's life. */
struct session_guest xsess_guest(const struct xsess *x);
/* For ingest.c: attaches x to the first session fed by x, until that session ends. */
void xsess_bind(struct xsess *x, struct session *s);
/* For asked.c: x keeps its session open no longer. */
void xsess_leave(struct xsess *x);
/* For ingest.c: writes the row of x to the store. */
void xsess_write(struct xsess *x);
/* For ingest.c: the counts of x have changed, and go with the batch that has the documents. */
void xsess_change(struct xsess *x);
/* Writes the rows of all changed XSP sessions to the current batch. */
void xsess_write_changed(struct box *box);

#endif
