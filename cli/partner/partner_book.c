/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Below the directory of the configuration:
 *
 *	self.key, self.crt   of this box, ten years; the key makes the signatures of windows, too
 *	book.json            partners, and invitations by the hashes of their secrets
 *	lock                 held while the book changes
 */
#include "cli/partner/partner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/address.h"
#include "narrows/ca.h"
#include "narrows/cert.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/xmalloc.h"
#include "send/memory.h"

enum { INVITES_MAX = 100, FILE_MAX_BYTES = 16 << 10, YEARS_S = 315360000 };
static const int64_t INVITE_S = 3600;
static const char key_name[] = "self.key", cert_name[] = "self.crt";

static int64_t
now_s(void)
{
	return nw_wall_ns() / 1000000000;
}

/* --- this box --- */

static int
self_make(const struct partner_conf *c, char why[PARTNER_WHY_BYTES])
{
	const struct nw_cert_opts opts = { .use = NW_CERT_BOTH,
		.name = c->site,
		.from_wall_s = now_s() - 3600,
		.to_wall_s = now_s() + YEARS_S };
	char reason[CONF_WHY_BYTES] = "no certificate can be made";
	struct nw_cert cert;
	int rc = nw_cert_make(&opts, NULL, &cert);

	/* a half-made pair has no key, and is made anew */
	if (rc == NW_OK)
		rc = ca_file_write(c->dir, cert_name, cert.cert_pem, 0644, reason);
	if (rc == NW_OK)
		rc = ca_file_write(c->dir, key_name, cert.key_pem, 0600, reason);
	nw_cert_clear(&cert);
	if (rc < 0)
		snprintf(why, PARTNER_WHY_BYTES, "%.300s: %.200s", c->dir, reason);
	return rc;
}

/* Returns a lock, or -1 with why. */
static int
book_lock(const struct partner_conf *c, char why[PARTNER_WHY_BYTES])
{
	char *path = xasprintf("%s/lock", c->dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) != 0) {
		snprintf(why, PARTNER_WHY_BYTES, "%.300s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	free(path);
	return fd;
}

int
partner_self(const struct partner_conf *c, char why[PARTNER_WHY_BYTES])
{
	char *key = xasprintf("%s/%s", c->dir, key_name);
	int rc = NW_OK, lock;

	if (mkdir(c->dir, 0700) != 0 && errno != EEXIST) {
		snprintf(why, PARTNER_WHY_BYTES, "%.300s: %s", c->dir, strerror(errno));
		rc = NW_EIO;
	} else if ((lock = book_lock(c, why)) < 0)
		rc = NW_EIO;
	else {
		if (access(key, F_OK) != 0)
			rc = self_make(c, why);
		close(lock);
	}
	free(key);
	return rc;
}

char *
partner_file(const struct partner_conf *c, const char *name, char why[PARTNER_WHY_BYTES])
{
	char *path = xasprintf("%s/%s", c->dir, name), *text = xcalloc(1, FILE_MAX_BYTES + 1);
	FILE *f = fopen(path, "re");

	if (f == NULL || fread(text, 1, FILE_MAX_BYTES, f) == 0) {
		snprintf(why, PARTNER_WHY_BYTES, "%.300s: %s", path,
		    f == NULL ? strerror(errno) : "is empty");
		free(text);
		text = NULL;
	}
	if (f != NULL)
		fclose(f);
	free(path);
	return text;
}

/* --- the book --- */

struct change {
	const char *site, *cert_pem, *address, *networks, *hash;
};

static json_t *
book_read(const struct partner_conf *c, char why[PARTNER_WHY_BYTES])
{
	char *path = xasprintf("%s/book.json", c->dir);
	json_t *book = memory_read(path, why);

	free(path);
	return book;
}

/* Removes the entries of a list whose text `key` is the value; returns their number. */
static size_t
entries_drop(json_t *list, const char *key, const char *value)
{
	const char *text;
	size_t i, n = 0;

	for (i = json_array_size(list); i-- > 0;) {
		text = json_string_value(json_object_get(json_array_get(list, i), key));
		if (text != NULL && strcmp(text, value) == 0) {
			json_array_remove(list, i);
			n++;
		}
	}
	return n;
}

/* Changes the book under its lock, by work, unless work fails. */
static int
book_change(const struct partner_conf *c,
    int (*work)(json_t *book, const struct change *ch, char why[PARTNER_WHY_BYTES]),
    const struct change *ch, char why[PARTNER_WHY_BYTES])
{
	char *path = xasprintf("%s/book.json", c->dir);
	json_t *book = NULL;
	int lock = book_lock(c, why), rc = NW_EIO;

	if (lock >= 0 && (book = book_read(c, why)) != NULL && (rc = work(book, ch, why)) == NW_OK)
		rc = memory_write(path, book, why);
	json_decref(book);
	if (lock >= 0)
		close(lock);
	free(path);
	return rc;
}

static int
keep_work(json_t *book, const struct change *ch, char why[PARTNER_WHY_BYTES])
{
	json_t *list = memory_list(book, "partners");

	(void)why;
	entries_drop(list, "site", ch->site);
	entries_drop(list, "cert", ch->cert_pem);
	json_array_append_new(list,
	    json_pack("{s:s, s:s, s:s, s:s}", "site", ch->site, "cert", ch->cert_pem, "address",
		ch->address, "networks", ch->networks));
	return NW_OK;
}

static int
remove_work(json_t *book, const struct change *ch, char why[PARTNER_WHY_BYTES])
{
	size_t n = entries_drop(memory_list(book, "partners"), "site", ch->site) +
	    entries_drop(memory_list(book, "invites"), "site", ch->site);

	if (n == 0)
		snprintf(why, PARTNER_WHY_BYTES, "%.64s: no partner, and not invited", ch->site);
	return n > 0 ? NW_OK : NW_ENOTFOUND;
}

static int
invite_work(json_t *book, const struct change *ch, char why[PARTNER_WHY_BYTES])
{
	json_t *list = memory_list(book, "invites"), *invite;
	size_t i;

	(void)why;
	entries_drop(list, "site", ch->site);
	for (i = json_array_size(list); i-- > 0;) {
		invite = json_array_get(list, i);
		if (json_integer_value(json_object_get(invite, "until_s")) < now_s() ||
		    i >= INVITES_MAX)
			json_array_remove(list, i);
	}
	json_array_append_new(list,
	    json_pack("{s:s, s:s, s:s, s:I}", "site", ch->site, "hash", ch->hash, "networks",
		ch->networks, "until_s", (json_int_t)(now_s() + INVITE_S)));
	return NW_OK;
}

/* The invitation goes with its first use. */
static int
redeem_work(json_t *book, const struct change *ch, char why[PARTNER_WHY_BYTES])
{
	json_t *list = memory_list(book, "invites"), *invite;
	const char *hash, *site, *networks;
	struct change keep = *ch;
	size_t i;

	json_array_foreach(list, i, invite)
	{
		hash = json_string_value(json_object_get(invite, "hash"));
		site = json_string_value(json_object_get(invite, "site"));
		networks = json_string_value(json_object_get(invite, "networks"));
		if (hash == NULL || site == NULL || networks == NULL ||
		    strcmp(hash, ch->hash) != 0 || strcmp(site, ch->site) != 0 ||
		    json_integer_value(json_object_get(invite, "until_s")) < now_s())
			continue;
		keep.networks = networks;
		keep_work(book, &keep, why);
		json_array_remove(list, i);
		return NW_OK;
	}
	snprintf(
	    why, PARTNER_WHY_BYTES, "the token is unknown, used, an hour old, or for another site");
	return NW_ECONFLICT;
}

static void
secret_hash(const char *secret, char out[2 * NW_TLS_PIN_BYTES + 1])
{
	uint8_t hash[NW_TLS_PIN_BYTES];

	nw_tls_sha256(secret, strlen(secret), hash);
	nw_hex_put(out, hash, sizeof(hash));
}

/* What is kept of a partner must be readable later. */
static int
change_check(const struct change *ch, char why[PARTNER_WHY_BYTES])
{
	char host[ADDRESS_HOST_BYTES];
	uint8_t pin[NW_TLS_PIN_BYTES];
	struct nw_networks networks;
	const char *fault = NULL;
	uint16_t port;

	if (!partner_is_site(ch->site))
		fault = "not the name of a site";
	else if (ch->networks != NULL && nw_networks_parse(ch->networks, &networks, &fault) == 0)
		fault = networks.n > 0 ? NULL : "no network";
	if (fault == NULL && ch->cert_pem != NULL && nw_cert_pin(ch->cert_pem, pin) < 0)
		fault = "not a certificate";
	if (fault == NULL && ch->address != NULL && address_parse(ch->address, host, &port) < 0)
		fault = "not an address: write host/port";
	if (fault != NULL)
		snprintf(why, PARTNER_WHY_BYTES, "%.64s: %s", ch->site, fault);
	return fault == NULL ? NW_OK : NW_EINVAL;
}

int
partner_keep(const struct partner_conf *c, const char *site, const char *cert_pem,
    const char *address, const char *networks, char why[PARTNER_WHY_BYTES])
{
	const struct change ch = { site, cert_pem, address, networks, NULL };
	int rc = change_check(&ch, why);

	return rc < 0 ? rc : book_change(c, keep_work, &ch, why);
}

int
partner_redeem(const struct partner_conf *c, const char *secret, const char *site,
    const char *cert_pem, const char *address, char why[PARTNER_WHY_BYTES])
{
	char hash[2 * NW_TLS_PIN_BYTES + 1];
	const struct change ch = { site, cert_pem, address, NULL, hash };
	int rc = change_check(&ch, why);

	secret_hash(secret, hash);
	return rc < 0 ? rc : book_change(c, redeem_work, &ch, why);
}

int
partner_remove(const struct partner_conf *c, const char *site, char why[PARTNER_WHY_BYTES])
{
	return book_change(c, remove_work, &(struct change){ .site = site }, why);
}

int
partner_invite(const struct partner_conf *c, const char *site, const char *networks,
    char token[TOKEN_TEXT_BYTES], char why[PARTNER_WHY_BYTES])
{
	uint8_t pin[NW_TLS_PIN_BYTES], secret[TOKEN_SECRET_CHARS / 2];
	char hash[2 * NW_TLS_PIN_BYTES + 1], *own;
	const struct change ch = { site, NULL, NULL, networks, hash };
	int rc = change_check(&ch, why);

	if (rc == NW_OK)
		rc = partner_self(c, why);
	if (rc < 0 || (own = partner_file(c, cert_name, why)) == NULL)
		return rc < 0 ? rc : NW_EIO;
	rc = nw_cert_pin(own, pin);
	free(own);
	if (rc < 0 || nw_tls_random(NULL, secret, sizeof(secret)) != 0) {
		snprintf(why, PARTNER_WHY_BYTES, "no token can be made");
		return NW_EIO;
	}
	nw_hex_put(token, pin, sizeof(pin));
	token[2 * NW_TLS_PIN_BYTES] = '.';
	nw_hex_put(token + 2 * NW_TLS_PIN_BYTES + 1, secret, sizeof(secret));
	secret_hash(token + 2 * NW_TLS_PIN_BYTES + 1, hash);
	return book_change(c, invite_work, &ch, why);
}

/* --- partners as a list --- */

static bool
partner_take(const json_t *o, struct partner *p)
{
	const char *site, *cert, *address, *networks, *why;

	if (json_unpack((json_t *)o, "{s:s, s:s, s:s, s:s}", "site", &site, "cert", &cert,
		"address", &address, "networks", &networks) != 0 ||
	    nw_cert_pin(cert, p->pin) < 0 || nw_networks_parse(networks, &p->networks, &why) < 0)
		return false;
	p->site = xstrdup(site);
	p->cert_pem = xstrdup(cert);
	p->address = xstrdup(address);
	p->networks_text = xstrdup(networks);
	return true;
}

int
partners_read(const struct partner_conf *c, struct partners *out, char why[PARTNER_WHY_BYTES])
{
	json_t *book = book_read(c, why), *list = json_object_get(book, "partners"), *o;
	size_t i;

	*out = (struct partners){ .list = xcalloc(json_array_size(list) + 1, sizeof(*out->list)) };
	json_array_foreach(list, i, o) out->n += partner_take(o, &out->list[out->n]);
	json_decref(book);
	return book != NULL ? NW_OK : NW_EIO;
}

void
partners_clear(struct partners *p)
{
	while (p->n > 0) {
		p->n--;
		free(p->list[p->n].site);
		free(p->list[p->n].cert_pem);
		free(p->list[p->n].address);
		free(p->list[p->n].networks_text);
	}
	free(p->list);
	p->list = NULL;
}
