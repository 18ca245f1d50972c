/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches and ports of nwswitch's configuration: its directives `switch` and `port`. */
#ifndef HOST_PORTS_H
#define HOST_PORTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SWITCHES_MAX = 64,
	PORTS_MAX = 512,
	SWITCH_NAME_BYTES = 64,
	SWITCH_SECRET_BYTES = 65,
	PORT_SERVES_BYTES = 256
};

enum switch_auth { AUTH_NONE, AUTH_MD5, AUTH_SHA, AUTH_SHA256, AUTH_SHA512 };
enum switch_privacy { PRIVACY_NONE, PRIVACY_DES, PRIVACY_AES };

struct switch_line {
	char name[SWITCH_NAME_BYTES], address[SWITCH_NAME_BYTES]; /* address: host or host:port */
	bool v3;
	char user[SWITCH_SECRET_BYTES]; /* of v3; the community of v2c */
	enum switch_auth auth;
	enum switch_privacy privacy;
	char auth_secret[SWITCH_SECRET_BYTES], privacy_secret[SWITCH_SECRET_BYTES];
};

struct port_line {
	char name[SWITCH_NAME_BYTES]; /* of the switch */
	uint32_t index;               /* ifIndex */
	/* names or addresses of hosts whose traffic passes the port, parted by blanks */
	char serves[PORT_SERVES_BYTES];
};

/* "NAME ADDRESS v2c COMMUNITY" or "NAME ADDRESS v3 USER [md5|sha|sha256|sha512 SECRET
 * [des|aes SECRET]]", up to the end of the line. NW_EINVAL with static *why. */
int switch_line_parse(const char *text, struct switch_line *out, const char **why);
/* "NAME IFINDEX HOST ..." */
int port_line_parse(const char *text, struct port_line *out, const char **why);

#endif
