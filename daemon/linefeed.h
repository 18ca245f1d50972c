/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events as lines of text on a connection: each line as narrows/event_line.h reads it, ended by a
 * newline, or behind its length in bytes as RFC 6587 counts octets ("57 <34>1 ..."). A line that is
 * no event is counted, quoted in the log by rate, and left out. Nothing is answered: a sender that
 * must know what is stored uses XSP, as nwlog does.
 *
 * The events belong to their sender's host; an event whose task_id names a session that the sender
 * may join, to that session.
 */
#ifndef LINEFEED_H
#define LINEFEED_H

#include <stddef.h>
#include <stdint.h>

struct box;
struct linefeed;

struct linefeed_sender {
	const char *name, *address; /* "address/port", "address" */
	const char *host;           /* name in the certificate, or the address */
	const char *owner;
	const char *certified; /* addresses that the certificate lists, by blanks; NULL: none */
};

/* The texts of the sender must live as long. NULL: no memory */
struct linefeed *linefeed_new(struct box *box, const struct linefeed_sender *sender);
void linefeed_free(struct linefeed *f);
/* Takes whole lines off the front. Returns the bytes taken: the rest is the beginning of a line. */
size_t linefeed_take(struct linefeed *f, const uint8_t *bytes, size_t len);
/* The connection ended: takes a last line without end. */
void linefeed_end(struct linefeed *f, const uint8_t *bytes, size_t len);

#endif
