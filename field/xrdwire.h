/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of XRootD's monitoring, in network order (XrdXrootdMonData.hh of XRootD 5 has the
 * structs). Everything read is on loan from the datagram. */
#ifndef XRDWIRE_H
#define XRDWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/announce.h"

/* Codes of datagrams. */
enum xrd_code {
	XRD_SERVER = '=',
	XRD_PATH = 'd',
	XRD_USER = 'u',
	XRD_FLOW = 'U', /* experiment and activity of a login */
	XRD_FILES = 'f'
};

/* A datagram of eight bytes of header and a body. */
struct xrd_datagram {
	uint8_t code, seq;
	const uint8_t *body;
	size_t len;
};

/* NW_EPROTO with static *why for a datagram shorter than its header says. */
int xrd_datagram_read(const uint8_t *bytes, size_t len, struct xrd_datagram *out, const char **why);

/* "prot/user.pid:sid@host", a login as map packets name it. */
struct xrd_client {
	char host[NW_ANNOUNCE_ADDRESS_BYTES], user[NW_ANNOUNCE_NAME_BYTES];
	uint32_t pid; /* 0: not a number */
	bool is_http;
};

/* Copies a host as logins and URLs name it: "[::ffff:192.0.2.1]", "[::192.0.2.1]" and
 * "[2001:db8::1]" become the address, a name stays. */
void xrd_host_copy(char out[NW_ANNOUNCE_ADDRESS_BYTES], const char *text, size_t len);

struct xrd_map {
	uint32_t id;
	struct xrd_client client;
	uint64_t sid; /* the server's number */
	const char *rest;
	size_t rest_len; /* behind the line of the login: a path, or words "&key=value" */
};

/* NW_EPROTO with static *why. */
int xrd_map_read(const struct xrd_datagram *d, struct xrd_map *out, const char **why);
/* Copies the value of a key, as text for persons. Returns false, and an empty text, without it. */
bool xrd_map_word(const struct xrd_map *m, const char *key, char *out, size_t size);
/* A number from 0 to max; -1 for any other value. */
int64_t xrd_map_number(const struct xrd_map *m, const char *key, int64_t max);

enum xrd_type { XRD_CLOSE, XRD_OPEN, XRD_TIME, XRD_TRANSFER, XRD_GONE };

/* A record of the f-stream. */
struct xrd_record {
	unsigned type; /* enum xrd_type, or a newer type */
	uint32_t id;   /* of a file; of XRD_GONE, a login */
	/* of XRD_TIME */
	int64_t begin_s, end_s;
	uint64_t sid;
	/* of XRD_OPEN */
	double size_bytes;
	bool writes;
	uint32_t login;
	const char *path; /* NULL: not said */
	size_t path_len;
	/* of XRD_TRANSFER and XRD_CLOSE: bytes since the open, operations or NaN */
	double read_bytes, vector_bytes, written_bytes, reads, vector_reads, writes_done;
};

/* Takes the record at *p. NW_EPROTO with static *why for a record that leaves the datagram or is
 * shorter than its type. */
int
xrd_record_take(const uint8_t **p, const uint8_t *end, struct xrd_record *out, const char **why);

/* A line of JSON of a g-stream: its header, or a third-party copy. */
struct xrd_json {
	char code; /* of a header: '=' or 'g'; else NUL */
	int64_t seq, sid;
	char kind; /* of a header: the stream, 'P' for third-party copies; else NUL */
	int64_t begin_wall_ns, end_wall_ns, status, size_bytes;
	char from[NW_ANNOUNCE_FILE_BYTES], to[NW_ANNOUNCE_FILE_BYTES];
	char user[NW_ANNOUNCE_NAME_BYTES];
	uint32_t pid; /* of the client */
	char version[NW_ANNOUNCE_NAME_BYTES];
	bool is_copy, is_push;
	const char *why;
};

/* NW_EPROTO or NW_ETOOBIG with static *why. */
int xrd_json_read(const char *line, size_t len, struct xrd_json *out, const char **why);

#endif
