/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/account.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <argon2.h>

#include "narrows/ca.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/tls.h"
#include "narrows/xmalloc.h"

/* The second choice of OWASP's password storage cheat sheet for Argon2id; one lane, so that no
 * thread is started. */
enum { PASSES = 2, MEMORY_KIB = 19456, LANES = 1, SALT_BYTES = 16, HASH_BYTES = 32 };
enum { TOKEN_RANDOM_BYTES = 32, PASSWORD_CHARS = 24 };
static const char file_name[] = "accounts";
static const char token_begin[] = "nwt_";

enum account_role
account_role_parse(const char *name)
{
	enum account_role role;

	for (role = ACCOUNT_TRACES; role <= ACCOUNT_ADMIN; role++)
		if (strcmp(account_role_name(role), name) == 0)
			return role;
	return ACCOUNT_NOBODY;
}

bool
account_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < ACCOUNT_NAME_BYTES &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@") ==
	    len;
}

/* --- secrets --- */

static int
random_get(void *bytes, size_t n)
{
	return getrandom(bytes, n, 0) == (ssize_t)n ? NW_OK : NW_EIO;
}

static int
password_hash(const char *password, char out[ACCOUNT_SECRET_BYTES])
{
	uint8_t salt[SALT_BYTES];

	if (random_get(salt, sizeof(salt)) < 0)
		return NW_EIO;
	return argon2id_hash_encoded(PASSES, MEMORY_KIB, LANES, password, strlen(password), salt,
		   sizeof(salt), HASH_BYTES, out, ACCOUNT_SECRET_BYTES) == ARGON2_OK
	    ? NW_OK
	    : NW_ENOMEM;
}

static void
token_hash(const char *text, char out[2 * NW_TLS_PIN_BYTES + 1])
{
	uint8_t hash[NW_TLS_PIN_BYTES];

	nw_tls_sha256(text, strlen(text), hash);
	nw_hex_put(out, hash, sizeof(hash));
}

int
account_password_make(char out[ACCOUNT_PASSWORD_BYTES])
{
	/* 32 characters, none of which looks like another: a byte has each of them equally often */
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
	uint8_t bytes[PASSWORD_CHARS];
	size_t i;

	if (random_get(bytes, sizeof(bytes)) < 0)
		return NW_EIO;
	for (i = 0; i < PASSWORD_CHARS; i++)
		out[i] = letters[bytes[i] % 32];
	out[PASSWORD_CHARS] = '\0';
	return NW_OK;
}

/* --- the file --- */

static bool
line_parse(const char *text, struct account *a)
{
	char kind[8], role[16];

	memset(a, 0, sizeof(*a));
	if (sscanf(text, "%7s %63s %15s %" SCNd64 " %159s", kind, a->name, role, &a->until_wall_s,
		a->secret) != 5)
		return false;
	a->is_token = strcmp(kind, "token") == 0;
	a->role = account_role_parse(role);
	return (a->is_token || strcmp(kind, "user") == 0) && a->role != ACCOUNT_NOBODY;
}

static int
lines_read(FILE *f, const char *path, struct accounts *a, char why[CONF_WHY_BYTES])
{
	char text[512];
	int line = 0;

	while (fgets(text, sizeof(text), f) != NULL) {
		line++;
		if (a->n == ACCOUNTS_MAX || !line_parse(text, &a->list[a->n])) {
			snprintf(why, CONF_WHY_BYTES, "%.200s:%d: %s", path, line,
			    a->n == ACCOUNTS_MAX ? "too many accounts" : "no account");
			return NW_EPROTO;
		}
		a->n++;
	}
	return ferror(f) ? NW_EIO : NW_OK;
}

int
accounts_read(const char *state_dir, struct accounts **out, char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/%s", state_dir, file_name);
	struct accounts *a = xcalloc(1, sizeof(*a));
	FILE *f = fopen(path, "re");
	int rc = f == NULL && errno != ENOENT ? NW_EIO : NW_OK;

	why[0] = '\0';
	if (f != NULL) {
		rc = lines_read(f, path, a, why);
		fclose(f);
	}
	if (rc == NW_EIO)
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s", path, strerror(errno));
	free(path);
	if (rc < 0) {
		free(a);
		a = NULL;
	}
	*out = a;
	return rc;
}

static int
accounts_write(const char *state_dir, const struct accounts *a, char why[CONF_WHY_BYTES])
{
	char *text = NULL;
	size_t len = 0, i;
	FILE *f = open_memstream(&text, &len);
	int rc = NW_ENOMEM;

	for (i = 0; f != NULL && i < a->n; i++)
		fprintf(f, "%s %s %s %" PRId64 " %s\n", a->list[i].is_token ? "token" : "user",
		    a->list[i].name, account_role_name(a->list[i].role), a->list[i].until_wall_s,
		    a->list[i].secret);
	if (f != NULL && fclose(f) == 0)
		rc = ca_file_write(state_dir, file_name, text, 0600, why);
	else
		snprintf(why, CONF_WHY_BYTES, "%s", nw_strerror(rc));
	free(text);
	return rc;
}

/* --- the caller's account --- */

const struct account *
accounts_find(const struct accounts *a, bool is_token, const char *name)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->list[i].is_token == is_token && strcmp(a->list[i].name, name) == 0)
			return &a->list[i];
	return NULL;
}

const struct account *
accounts_login(const struct accounts *a, const char *name, const char *password)
{
	/* the same work for an unknown name, so that the time does not tell known names */
	static const char nobody[] = "$argon2id$v=19$m=19456,t=2,p=1$bmFycm93c25hcnJvd3M$"
				     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
	const struct account *user = accounts_find(a, false, name);
	bool good = strlen(password) < ACCOUNT_PASSWORD_BYTES &&
	    argon2id_verify(user != NULL ? user->secret : nobody, password, strlen(password)) ==
		ARGON2_OK;

	return good ? user : NULL;
}

const struct account *
accounts_token(const struct accounts *a, const char *text, int64_t now_wall_s)
{
	char hash[2 * NW_TLS_PIN_BYTES + 1];
	size_t i;

	if (strlen(text) != ACCOUNT_TOKEN_BYTES - 1)
		return NULL;
	token_hash(text, hash);
	/* a comparison of hashes tells nothing about the token by its time */
	for (i = 0; i < a->n; i++)
		if (a->list[i].is_token && strcmp(a->list[i].secret, hash) == 0)
			return a->list[i].until_wall_s == 0 || a->list[i].until_wall_s > now_wall_s
			    ? &a->list[i]
			    : NULL;
	return NULL;
}

/* --- changes --- */

/* Replaces, adds or (with `add` NULL) removes the account of a kind and name. */
static int
account_change(const char *state_dir, bool is_token, const char *name, const struct account *add,
    char why[CONF_WHY_BYTES])
{
	int fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	struct accounts *a = NULL;
	struct account *at;

	if (fd < 0 || flock(fd, LOCK_EX) != 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s", state_dir, strerror(errno));
		rc = NW_EIO;
		goto out;
	}
	if ((rc = accounts_read(state_dir, &a, why)) < 0)
		goto out;
	at = (struct account *)(uintptr_t)accounts_find(a, is_token, name);
	if (at == NULL && add == NULL) {
		snprintf(
		    why, CONF_WHY_BYTES, "there is no %s %.63s", is_token ? "token" : "user", name);
		rc = NW_ENOTFOUND;
	} else if (at != NULL && add != NULL && is_token) {
		snprintf(why, CONF_WHY_BYTES, "there is a token %.63s", name);
		rc = NW_ECONFLICT;
	} else if (at == NULL && a->n == ACCOUNTS_MAX) {
		snprintf(why, CONF_WHY_BYTES, "there are %d accounts", ACCOUNTS_MAX);
		rc = NW_EFULL;
	} else {
		if (add != NULL)
			*(at != NULL ? at : &a->list[a->n++]) = *add;
		else
			memmove(at, at + 1, (size_t)(&a->list[a->n--] - (at + 1)) * sizeof(*at));
		rc = accounts_write(state_dir, a, why);
	}
out:
	if (fd >= 0)
		close(fd);
	free(a);
	return rc;
}

static int
name_check(const char *name, char why[CONF_WHY_BYTES])
{
	if (account_name_ok(name))
		return NW_OK;
	snprintf(why, CONF_WHY_BYTES,
	    "%.63s: a name is of letters, digits, '.', '_', '-' and '@', at most %d", name,
	    ACCOUNT_NAME_BYTES - 1);
	return NW_EINVAL;
}

int
account_user_put(const char *state_dir, const char *name, enum account_role role,
    const char *password, char why[CONF_WHY_BYTES])
{
	struct account a = { .role = role };
	size_t len = strlen(password);
	int rc;

	if ((rc = name_check(name, why)) < 0)
		return rc;
	if (role == ACCOUNT_NOBODY || len < ACCOUNT_PASSWORD_MIN || len >= ACCOUNT_PASSWORD_BYTES) {
		snprintf(why, CONF_WHY_BYTES, "a password has %d to %d bytes", ACCOUNT_PASSWORD_MIN,
		    ACCOUNT_PASSWORD_BYTES - 1);
		return NW_EINVAL;
	}
	snprintf(a.name, sizeof(a.name), "%s", name);
	if ((rc = password_hash(password, a.secret)) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%s", nw_strerror(rc));
		return rc;
	}
	return account_change(state_dir, false, name, &a, why);
}

int
account_token_make(const char *state_dir, const char *name, enum account_role role,
    int64_t until_wall_s, char out[ACCOUNT_TOKEN_BYTES], char why[CONF_WHY_BYTES])
{
	struct account a = { .is_token = true, .role = role, .until_wall_s = until_wall_s };
	uint8_t bytes[TOKEN_RANDOM_BYTES];
	int rc;

	if ((rc = name_check(name, why)) < 0)
		return rc;
	if ((rc = random_get(bytes, sizeof(bytes))) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%s", nw_strerror(rc));
		return rc;
	}
	memcpy(out, token_begin, sizeof(token_begin) - 1);
	nw_hex_put(out + sizeof(token_begin) - 1, bytes, sizeof(bytes));
	snprintf(a.name, sizeof(a.name), "%s", name);
	token_hash(out, a.secret);
	return account_change(state_dir, true, name, &a, why);
}

int
account_remove(const char *state_dir, bool is_token, const char *name, char why[CONF_WHY_BYTES])
{
	return account_change(state_dir, is_token, name, NULL, why);
}
