/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What leaves a site. With hashed names a row leaves by a list of what may leave, not of what may
 * not: numbers, times, words of closed vocabularies below known keys, and hashes of hosts. Any
 * other text of a document stays, as do sentence and label, because sentences name hosts, users and
 * files in ways that no list foresees.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <mbedtls/md.h>

#include "fleet/fleet.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/result_keys.h"
#include "narrows/xmalloc.h"
#include "send/exchange.h"

enum { HASH_BYTES = 10, KEY_MIN_CHARS = 16, WORD_MAX_CHARS = 32 };
static const char ARROW[] = " -> ", LOCAL[] = " (local)";

struct veil {
	const struct fleet_conf *conf;
	char *hosts;   /* as of veil_open() */
	json_t *known; /* object: keys of documents; true where a word of a vocabulary is below */
	char key[EXCHANGE_SECRET_BYTES];
};

static json_t *
keys_known(void)
{
	static const enum result_key words[] = { KEY_verdict_stage, KEY_verdict_confidence,
		KEY_incident_kind, KEY_incident_state };
	json_t *known = json_object();
	size_t i;

	for (i = 0; i < RESULT_KEYS; i++)
		json_object_set_new(known, result_key_name((enum result_key)i), json_false());
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		json_object_set_new(known, result_key_name(words[i]), json_true());
	return known;
}

/* Takes hosts as one text with NULs. */
static char *
hosts_dup(const char *hosts)
{
	const char *end = hosts;
	char *copy;

	while (*end != '\0')
		end += strlen(end) + 1;
	copy = xmalloc((size_t)(end - hosts) + 1);
	return memcpy(copy, hosts, (size_t)(end - hosts) + 1);
}

int
veil_open(
    const struct fleet_conf *c, const char *hosts, struct veil **out, char why[FLEET_WHY_BYTES])
{
	struct veil *v;
	char reason[EXCHANGE_WHY_BYTES];
	int rc = NW_OK;

	*out = NULL;
	v = xcalloc(1, sizeof(*v));
	v->conf = c;
	v->hosts = hosts_dup(hosts);
	v->known = keys_known();
	if (c->names == FLEET_HASHED) {
		rc = exchange_secret(c->key_file, v->key, NULL, reason);
		if (rc == NW_OK && strlen(v->key) < KEY_MIN_CHARS) {
			snprintf(reason, sizeof(reason), "%.200s: a key has %d characters at least",
			    c->key_file, KEY_MIN_CHARS);
			rc = NW_EINVAL;
		}
	}
	if (rc == NW_OK)
		*out = v;
	else {
		snprintf(why, FLEET_WHY_BYTES, "%s", reason);
		veil_close(v);
	}
	return rc;
}

void
veil_close(struct veil *v)
{
	if (v == NULL)
		return;
	explicit_bzero(v->key, sizeof(v->key));
	json_decref(v->known);
	free(v->hosts);
	free(v);
}

/* --- names --- */

/* "h-" and digits: HMAC-SHA256 of "host:NAME", in lower case as names of hosts are equal. */
static char *
host_hash(const struct veil *v, const char *name, size_t len)
{
	char *text = xasprintf("host:%.*s", (int)len, name), hex[2 * HASH_BYTES + 1], *p;
	uint8_t mac[32] = { 0 };

	for (p = text; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	if (mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
		(const unsigned char *)v->key, strlen(v->key), (const unsigned char *)text,
		strlen(text), mac) != 0)
		abort(); /* a known digest and buffers of ours */
	nw_hex_put(hex, mac, HASH_BYTES);
	free(text);
	return xasprintf("h-%s", hex);
}

/* Hashes each host of a route: "A -> B", "A (local)". */
static char *
route_hash(const struct veil *v, const char *route)
{
	char *out = xstrdup(""), *hash, *longer;
	const char *end;
	bool is_local;
	size_t len;

	for (;;) {
		end = strstr(route, ARROW);
		len = end != NULL ? (size_t)(end - route) : strlen(route);
		is_local = len > strlen(LOCAL) &&
		    strncmp(route + len - strlen(LOCAL), LOCAL, strlen(LOCAL)) == 0;
		hash = host_hash(v, route, is_local ? len - strlen(LOCAL) : len);
		longer = xasprintf(
		    "%s%s%s%s", out, out[0] != '\0' ? ARROW : "", hash, is_local ? LOCAL : "");
		free(hash);
		free(out);
		out = longer;
		if (end == NULL)
			return out;
		route = end + strlen(ARROW);
	}
}

static bool
names_host(const struct veil *v, const char *text)
{
	const char *host;

	for (host = v->hosts; *host != '\0'; host += strlen(host) + 1)
		if (strcasestr(text, host) != NULL)
			return true;
	return false;
}

static bool
is_host(const struct veil *v, const char *text)
{
	const char *host;

	for (host = v->hosts; *host != '\0'; host += strlen(host) + 1)
		if (strcasecmp(text, host) == 0)
			return true;
	return false;
}

/* --- documents --- */

static bool
is_of(const char *text, const char *characters, size_t max)
{
	size_t n = strspn(text, characters);

	return n > 0 && n <= max && text[n] == '\0';
}

/* What leaves in place of a text: a new reference, or NULL. */
static json_t *
text_veil(const struct veil *v, const char *text, bool is_word)
{
	char *hash;
	json_t *o;

	if (is_of(text, "0123456789", 20))
		return json_string(text); /* a time */
	if (is_word && is_of(text, "abcdefghijklmnopqrstuvwxyz. ", WORD_MAX_CHARS) &&
	    !names_host(v, text))
		return json_string(text);
	if (!is_host(v, text))
		return NULL;
	hash = host_hash(v, text, strlen(text));
	o = json_string(hash);
	free(hash);
	return o;
}

static json_t *
value_veil(const struct veil *v, const json_t *value, bool is_word)
{
	json_t *out, *kept;
	const char *key;
	json_t *at;
	size_t i;

	if (json_is_string(value))
		return text_veil(v, json_string_value(value), is_word);
	if (json_is_array(value)) {
		out = json_array();
		json_array_foreach((json_t *)(uintptr_t)value, i, at)
		{
			kept = value_veil(v, at, false);
			json_array_append_new(out, kept != NULL ? kept : json_null());
		}
		return out;
	}
	if (!json_is_object(value))
		return json_incref((json_t *)(uintptr_t)value);
	out = json_object();
	json_object_foreach((json_t *)(uintptr_t)value, key, at)
	{
		json_t *known = json_object_get(v->known, key);

		if (known != NULL && (kept = value_veil(v, at, json_is_true(known))) != NULL)
			json_object_set_new(out, key, kept);
	}
	return out;
}

/* The document for the fleet; NULL: nothing leaves. free() the text. */
static char *
document_veil(const struct veil *v, const char *text)
{
	json_t *doc = json_loads(text, 0, NULL), *kept = NULL;
	char *out = NULL;

	if (doc != NULL && (kept = value_veil(v, doc, false)) != NULL)
		out = json_dumps(kept, JSON_COMPACT);
	json_decref(kept);
	json_decref(doc);
	return out;
}

/* --- rows --- */

static void
row_hash(const struct veil *v, struct fleet_row *r)
{
	static const enum fleet_column words[] = { FLEET_program, FLEET_stage, FLEET_confidence,
		FLEET_software, FLEET_outcome };
	struct fleet_cell *c = r->cell;
	char *text;
	size_t i;

	if (c[FLEET_route].known) {
		text = route_hash(v, c[FLEET_route].text);
		fleet_text_set(r, FLEET_route, text);
		free(text);
	}
	if (c[FLEET_document].known) {
		text = document_veil(v, c[FLEET_document].text);
		fleet_text_set(r, FLEET_document, text);
		free(text);
	}
	fleet_text_set(r, FLEET_label, NULL);
	fleet_text_set(r, FLEET_sentence, NULL);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (c[words[i]].known && names_host(v, c[words[i]].text))
			fleet_text_set(r, words[i], NULL);
}

/* Takes a key out of a document, wherever the key stands. */
static void
key_drop(json_t *value, const char *name)
{
	const char *key;
	json_t *at;
	size_t i;

	json_object_del(value, name);
	json_array_foreach(value, i, at) key_drop(at, name);
	json_object_foreach(value, key, at) key_drop(at, name);
}

/* A column that stays takes the same key of the document with it. */
static void
column_drop(struct fleet_row *r, size_t column)
{
	struct fleet_cell *c = &r->cell[FLEET_document];
	json_t *doc;
	char *text;

	fleet_text_set(r, (enum fleet_column)column, NULL);
	if (!c->known || (doc = json_loads(c->text, 0, NULL)) == NULL)
		return;
	key_drop(doc, fleet_tables[FLEET_SESSIONS].column[column].name);
	text = json_dumps(doc, JSON_COMPACT);
	fleet_text_set(r, FLEET_document, text);
	free(text);
	json_decref(doc);
}

bool
veil_row(struct veil *v, struct fleet_row *r)
{
	size_t i;

	if (!fleet_conf_route(v->conf, r->cell[FLEET_route].text))
		return false;
	for (i = FLEET_start_ns + 1; i < FLEET_COLUMNS; i++)
		if (fleet_conf_drops(v->conf, (enum fleet_column)i))
			column_drop(r, i);
	if (v->conf->names == FLEET_HASHED)
		row_hash(v, r);
	return true;
}

/* Without a column of sessions the numbers counted from the column stay, too. */
bool
veil_level(struct veil *v, struct fleet_row *r)
{
	static const struct {
		enum fleet_column of;
		enum level_column level;
	} counted[] = { { FLEET_bytes, LEVEL_bytes }, { FLEET_bytes_per_s, LEVEL_p10 },
		{ FLEET_bytes_per_s, LEVEL_p50 }, { FLEET_bytes_per_s, LEVEL_p90 },
		{ FLEET_bytes_per_s, LEVEL_usual }, { FLEET_usual, LEVEL_usual } };
	char *hash;
	size_t i;

	/* the key has both names */
	if (!fleet_conf_route(v->conf, r->cell[LEVEL_route].text) ||
	    fleet_conf_drops(v->conf, FLEET_route) || fleet_conf_drops(v->conf, FLEET_program))
		return false;
	for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (fleet_conf_drops(v->conf, counted[i].of))
			r->cell[counted[i].level] = (struct fleet_cell){ .known = false };
	if (v->conf->names != FLEET_HASHED)
		return true;
	if (names_host(v, r->cell[LEVEL_program].text))
		return false;
	hash = route_hash(v, r->cell[LEVEL_route].text);
	fleet_text_set(r, LEVEL_route, hash);
	free(hash);
	return true;
}
