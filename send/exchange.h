/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One HTTP exchange with a machine outside the site. The program narrows-send beside the caller
 * makes the exchange, with libcurl, which would triple the start of every command. An https server
 * proves itself by a CA file, always. A redirection is an answer like others: neither body nor
 * credentials follow a redirection. Secrets stand in files; command lines, logs and the texts of
 * these functions have none.
 */
#ifndef SEND_EXCHANGE_H
#define SEND_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

enum {
	EXCHANGE_WHY_BYTES = 320,
	EXCHANGE_LINES_MAX = 16,
	EXCHANGE_SECRET_BYTES = 1024,
	EXCHANGE_BODY_MAX_BYTES = 1 << 30
};

/* A part of the answer's body. A negative result ends the exchange. */
typedef int exchange_fn(void *arg, const char *data, size_t len);

struct exchange {
	const char *url;     /* http:// or https://; a user or a password in it is refused */
	const char *ca_file; /* of https */
	const char *cert_file, *key_file; /* PEM, of this side; NULL: the server asks for none */
	const char *proxy; /* address of a proxy; NULL: none, whatever the environment says */
	const char *body;  /* NULL: GET, else POST of body_len bytes, or what `method` says */
	size_t body_len;
	const char *method;                        /* "PUT"; NULL: as above */
	const char *lines[EXCHANGE_LINES_MAX + 1]; /* "Name: value" of the question, up to NULL */
	const char *user, *password;               /* of HTTP's basic login; NULL: none */
	/* "aws:amz:REGION:s3": user and password sign the question (SigV4) and do not travel;
	 * the first line is then the hash of the body */
	const char *sign;
	int64_t timeout_ns; /* of the whole exchange, names included; 0: none */
};

/* Bytes that grow: an answer, or the body of a question. */
struct exchange_text {
	char *text; /* with a NUL behind the bytes; NULL: none came. The caller frees the text */
	size_t len, cap;
	size_t len_max; /* 0: no bound */
};
/* An exchange_fn of a struct exchange_text: appends. NW_ETOOBIG, NW_ENOMEM. */
int exchange_keep(void *text, const char *data, size_t len);

/* Passes the body to fn (NULL: dropped) whatever the status. *status is set before fn is called.
 * Returns fn's negative result, or a code with why: NW_EINVAL for a bad url or CA file, for
 * control characters, and for a password in clear on a network; NW_EIO without a whole answer.
 * Blocks; narrows-send ends with this process. */
int exchange(const struct exchange *x, exchange_fn *fn, void *arg, int *status,
    char why[EXCHANGE_WHY_BYTES]);

/* The first line of a file with a secret. NW_EIO with why. *others tells whether other users may
 * read the file; others NULL: such a file is refused (NW_EINVAL). */
int exchange_secret(
    const char *path, char out[EXCHANGE_SECRET_BYTES], int *others, char why[EXCHANGE_WHY_BYTES]);

#endif
