/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to the report beyond loopback: people with passwords, and programs with tokens. All
 * stand in one file of the state directory, a line each:
 *
 *	user NAME ROLE 0 ARGON2
 *	token NAME ROLE UNTIL SHA256
 *
 * UNTIL is in seconds since 1970, 0 for ever. A password is kept as Argon2id makes it (RFC 9106,
 * 19 MiB, two passes), so that guessing costs memory; a token has 256 random bits, and a plain hash
 * will do. Any thread may call; callers that write are kept apart by a lock on the directory.
 */
#ifndef NARROWS_ACCOUNT_H
#define NARROWS_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/conftable.h"

/* What a role may do, each all of the roles before: send traces (take-traces); read /metrics,
 * /healthz and /readyz; read everything else; change what pages let people change; see the
 * accounts. */
enum account_role {
	ACCOUNT_NOBODY,
	ACCOUNT_TRACES,
	ACCOUNT_METRICS,
	ACCOUNT_VIEWER,
	ACCOUNT_OPERATOR,
	ACCOUNT_ADMIN
};

enum {
	ACCOUNT_NAME_BYTES = 64,
	ACCOUNT_SECRET_BYTES = 160,
	ACCOUNT_TOKEN_BYTES = 69, /* "nwt_", 64 digits and a NUL */
	ACCOUNT_PASSWORD_MIN = 10,
	ACCOUNT_PASSWORD_BYTES = 256,
	ACCOUNTS_MAX = 1000
};

struct account {
	bool is_token;
	char name[ACCOUNT_NAME_BYTES];
	enum account_role role;
	int64_t until_wall_s; /* 0: for ever */
	char secret[ACCOUNT_SECRET_BYTES];
};

struct accounts {
	size_t n;
	struct account list[ACCOUNTS_MAX];
};

/* "viewer"; NULL for ACCOUNT_NOBODY. */
static inline const char *
account_role_name(enum account_role role)
{
	static const char *const names[] = { NULL, "traces", "metrics", "viewer", "operator",
		"admin" };

	return names[role];
}
/* ACCOUNT_NOBODY: no role has this name. */
enum account_role account_role_parse(const char *name);
/* Letters, digits, '.', '_', '-' and '@'; at most 63. */
bool account_name_ok(const char *name);

/* Reads the accounts of a state directory; a missing file has none. NW_EIO; NW_EPROTO: a line makes
 * no sense. free() the result. */
int accounts_read(const char *state_dir, struct accounts **out, char why[CONF_WHY_BYTES]);
/* The user with this name and password, or NULL. Takes about 30 ms of a processor, whether the name
 * is known or not. */
const struct account *
accounts_login(const struct accounts *a, const char *name, const char *password);
/* The token of this text, or NULL: unknown or expired. */
const struct account *
accounts_token(const struct accounts *a, const char *text, int64_t now_wall_s);
const struct account *accounts_find(const struct accounts *a, bool is_token, const char *name);

/* Adds a user, or gives a known one another password and role. NW_EINVAL: name or password. */
int account_user_put(const char *state_dir, const char *name, enum account_role role,
    const char *password, char why[CONF_WHY_BYTES]);
/* Makes a token. NW_EINVAL; NW_ECONFLICT: the name is taken. */
int account_token_make(const char *state_dir, const char *name, enum account_role role,
    int64_t until_wall_s, char out[ACCOUNT_TOKEN_BYTES], char why[CONF_WHY_BYTES]);
/* NW_ENOTFOUND. */
int
account_remove(const char *state_dir, bool is_token, const char *name, char why[CONF_WHY_BYTES]);
/* A password of 24 letters and digits, about 120 bits. NW_EIO: the system has no random bits. */
int account_password_make(char out[ACCOUNT_PASSWORD_BYTES]);

#endif
