/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversation of a host with its box, before and after the host has a certificate. */
#ifndef HOST_JOIN_BOXTALK_H
#define HOST_JOIN_BOXTALK_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/address.h"
#include "narrows/cert.h"

enum { BOXTALK_WHY_BYTES = 800, BOXTALK_URL_BYTES = 300 };

/* A box as the administrator wrote it, and what the box says of itself. */
struct boxtalk {
	char url[BOXTALK_URL_BYTES]; /* https://host:port */
	char host[ADDRESS_HOST_BYTES];
	uint16_t https_port;
	const uint8_t *pin;  /* of the site's CA, or NULL with ca_path; on loan */
	const char *ca_path; /* on loan */
	uint16_t port;       /* for hosts; 0 before boxtalk_facts() */
	/* offset of this host's clock from the box's, and the largest error of the offset */
	double ahead_s, error_s;
};

/* Parses "https://host:port", "host:port" or "host"; the port is 8443 unless given. NW_EINVAL. */
int boxtalk_parse(struct boxtalk *b, const char *text);
/* Fills port and clock. NW_EIO: why is a sentence about the box. */
int boxtalk_facts(struct boxtalk *b, char why[BOXTALK_WHY_BYTES]);
/* Returns true if a TCP connection to the port opens within ten seconds. */
bool boxtalk_reaches(const struct boxtalk *b, uint16_t port, const char **why);

struct boxtalk_grant {
	char reply[10240];
	const char *host, *ca_pem; /* in the reply */
	char cert_pem[4096];
};
/* Spends the token. NW_EINVAL, NW_EIO, NW_ECONFLICT: why is a sentence. */
int boxtalk_enroll(struct boxtalk *b, const char *secret, const char *request_pem,
    struct boxtalk_grant *out, char why[BOXTALK_WHY_BYTES]);

/* Files of a host's identity; NULL: from where every program takes them. */
struct boxtalk_files {
	const char *ca, *cert, *key;
};
/* Opens a session for measurements and closes it. box, host: NULL as for every program.
 * NW_EIO: why has the reason. */
int boxtalk_session(
    const char *box, const char *host, const struct boxtalk_files *f, char why[BOXTALK_WHY_BYTES]);
/* The address of the box for measurements: tls://host/port. */
void boxtalk_address(const struct boxtalk *b, char out[BOXTALK_URL_BYTES]);

#endif
