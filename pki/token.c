/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/token.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/hex.h"

enum {
	SECRET_BYTES = TOKEN_SECRET_CHARS / 2,
	HASH_CHARS = 2 * NW_TLS_PIN_BYTES,
	REMEMBER_S = 30 * 86400,
	LINE_BYTES = 1024
};
static const char file_name[] = "tokens";

static void
secret_hash(const char *secret, char out[HASH_CHARS + 1])
{
	uint8_t hash[NW_TLS_PIN_BYTES];

	nw_tls_sha256(secret, strlen(secret), hash);
	nw_hex_put(out, hash, sizeof(hash));
}

/* --- the file --- */

struct line {
	char state[8], hash[HASH_CHARS + 1];
	int64_t until_wall_s, for_s;
	char host[NW_TLS_NAME_BYTES];
	char addresses[CA_ADDRESSES_BYTES];
};

/* Writes the file anew: without tokens that ended long ago, with the line `add`, and with the token
 * of `use` marked as used. */
struct rewrite {
	const struct line *add;
	const char *use; /* a hash */
	int64_t now_wall_s;
};

static bool
line_parse(const char *text, struct line *l)
{
	int end = 0;

	if (sscanf(text, "%7s %64s %" SCNd64 " %" SCNd64 " %255s%n", l->state, l->hash,
		&l->until_wall_s, &l->for_s, l->host, &end) != 5)
		return false;
	text += end + strspn(text + end, " ");
	snprintf(l->addresses, sizeof(l->addresses), "%.*s", (int)strcspn(text, "\n"), text);
	return true;
}

static void
line_write(FILE *out, const struct line *l)
{
	fprintf(out, "%s %s %" PRId64 " %" PRId64 " %s%s%s\n", l->state, l->hash, l->until_wall_s,
	    l->for_s, l->host, l->addresses[0] != '\0' ? " " : "", l->addresses);
}

static void
lines_copy(struct rewrite *r, FILE *in, FILE *out)
{
	char text[LINE_BYTES];
	struct line l;

	while (in != NULL && fgets(text, sizeof(text), in) != NULL) {
		if (!line_parse(text, &l) || l.until_wall_s + REMEMBER_S < r->now_wall_s)
			continue;
		if (r->use != NULL && strcmp(l.hash, r->use) == 0)
			strcpy(l.state, "used");
		line_write(out, &l);
	}
	if (r->add != NULL)
		line_write(out, r->add);
}

static int
file_rewrite(const char *dir, struct rewrite *r, char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/%s", dir, file_name), *text = NULL;
	FILE *in = fopen(path, "re"), *out = NULL;
	size_t len = 0;
	int rc = NW_EIO;

	if ((in == NULL && errno != ENOENT) || (out = open_memstream(&text, &len)) == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s", path, strerror(errno));
		goto done;
	}
	lines_copy(r, in, out);
	if ((in != NULL && ferror(in)) || fclose(out) != 0)
		snprintf(why, CONF_WHY_BYTES, "%.200s: cannot be read", path);
	else
		rc = ca_file_write(dir, file_name, text, 0600, why);
done:
	if (in != NULL)
		fclose(in);
	free(text);
	free(path);
	return rc;
}

/* --- making a token --- */

struct making {
	struct line line;
	struct rewrite rewrite;
	char *out;
};

static int
make_work(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES])
{
	struct making *m = arg;
	uint8_t pin[NW_TLS_PIN_BYTES], secret[SECRET_BYTES];

	if (nw_cert_pin(ca->cert_pem, pin) < 0 ||
	    nw_tls_random(NULL, secret, sizeof(secret)) != 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: no token can be made", dir);
		return NW_EIO;
	}
	nw_hex_put(m->out, pin, sizeof(pin));
	m->out[2 * sizeof(pin)] = '.';
	nw_hex_put(m->out + 2 * sizeof(pin) + 1, secret, sizeof(secret));
	secret_hash(m->out + 2 * sizeof(pin) + 1, m->line.hash);
	return file_rewrite(dir, &m->rewrite, why);
}

int
token_make(const char *tls_dir, const struct ca_enrolment *e, int64_t until_wall_s,
    char out[TOKEN_TEXT_BYTES], char why[CONF_WHY_BYTES])
{
	struct making m = {
		.line = { .state = "open", .until_wall_s = until_wall_s, .for_s = e->for_s },
		.rewrite = { .now_wall_s = e->now_wall_s },
		.out = out
	};

	if (!nw_cert_name_ok(e->host)) {
		snprintf(why, CONF_WHY_BYTES, "%.100s: not a host name", e->host);
		return NW_EINVAL;
	}
	snprintf(m.line.host, sizeof(m.line.host), "%s", e->host);
	if (e->addresses != NULL)
		snprintf(m.line.addresses, sizeof(m.line.addresses), "%s", e->addresses);
	m.rewrite.add = &m.line;
	return ca_use(tls_dir, make_work, &m, why);
}

/* --- using a token --- */

struct redeeming {
	const char *request_pem;
	struct rewrite rewrite;
	struct token_grant *out;
};

static int
refuse(char why[CONF_WHY_BYTES], const char *text)
{
	snprintf(why, CONF_WHY_BYTES, "%s", text);
	return NW_ECONFLICT;
}

/* A token that is not good writes nothing: else every wrong guess would write. */
static int
line_find(const char *dir, const char *hash, struct line *found)
{
	char *path = xasprintf("%s/%s", dir, file_name), text[LINE_BYTES];
	FILE *in = fopen(path, "re");
	struct line l;

	found->state[0] = '\0';
	while (in != NULL && fgets(text, sizeof(text), in) != NULL)
		if (line_parse(text, &l) && strcmp(l.hash, hash) == 0)
			*found = l;
	if (in != NULL)
		fclose(in);
	free(path);
	return found->state[0] != '\0' ? NW_OK : NW_ENOTFOUND;
}

static int
redeem_work(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES])
{
	struct redeeming *r = arg;
	struct ca_enrolment e = { .request_pem = r->request_pem,
		.now_wall_s = r->rewrite.now_wall_s };
	struct line l;
	int rc;

	if (line_find(dir, r->rewrite.use, &l) < 0)
		return refuse(why, "there is no such token");
	if (strcmp(l.state, "open") != 0)
		return refuse(why, "this token was used already");
	if (l.until_wall_s < r->rewrite.now_wall_s)
		return refuse(why, "this token has expired");
	if (!nw_cert_is_request(r->request_pem)) {
		snprintf(why, CONF_WHY_BYTES, "this is no request for a certificate");
		return NW_EINVAL;
	}
	if ((rc = file_rewrite(dir, &r->rewrite, why)) < 0)
		return rc;
	e.host = l.host;
	e.for_s = l.for_s;
	e.addresses = l.addresses;
	if ((rc = ca_enroll_within(dir, ca, &e, &r->out->cert, why)) < 0)
		return rc;
	snprintf(r->out->host, sizeof(r->out->host), "%s", l.host);
	memcpy(r->out->ca_pem, ca->cert_pem, sizeof(r->out->ca_pem));
	return NW_OK;
}

int
token_redeem(const char *tls_dir, const char *secret, const char *request_pem, int64_t now_wall_s,
    struct token_grant *out, char why[CONF_WHY_BYTES])
{
	char hash[HASH_CHARS + 1];
	struct redeeming r = { .request_pem = request_pem,
		.rewrite = { .use = hash, .now_wall_s = now_wall_s },
		.out = out };

	secret_hash(secret, hash);
	return ca_use(tls_dir, redeem_work, &r, why);
}

int
token_parse(const char *text, uint8_t pin[NW_TLS_PIN_BYTES], char secret[TOKEN_SECRET_CHARS + 1])
{
	uint8_t unused[SECRET_BYTES];

	if (strlen(text) != TOKEN_TEXT_BYTES - 1 || !nw_hex_take(text, pin, NW_TLS_PIN_BYTES) ||
	    text[HASH_CHARS] != '.' || !nw_hex_take(text + HASH_CHARS + 1, unused, SECRET_BYTES))
		return NW_EINVAL;
	memcpy(secret, text + HASH_CHARS + 1, TOKEN_SECRET_CHARS + 1);
	return NW_OK;
}
