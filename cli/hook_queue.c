/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue is an array of {"id", "event", "since", "due", "tries"}, oldest first. */
#include "cli/hook.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <mbedtls/md.h>

#include "cli/httpask.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum { AGAIN_MIN_S = 10, AGAIN_MAX_S = 3600, GIVE_UP_S = 3 * 86400, ID_BYTES = 16, MAC_BYTES = 32 };

void
hook_queue_put(json_t *queue, const json_t *event, int64_t now_wall_s)
{
	uint8_t bytes[ID_BYTES];
	char id[2 * ID_BYTES + 1] = "";

	if (getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes))
		nw_hex_put(id, bytes, sizeof(bytes));
	if (json_array_size(queue) >= HOOK_QUEUE_MAX) {
		fprintf(stderr, "narrows: hook: the queue is full: its oldest event is dropped\n");
		json_array_remove(queue, 0);
	}
	json_array_append_new(queue,
	    json_pack("{s:s, s:o, s:I, s:I, s:i}", "id", id, "event", json_deep_copy(event),
		"since", (json_int_t)now_wall_s, "due", (json_int_t)now_wall_s, "tries", 0));
}

/* --- one post --- */

/* The first line of the secret's file. */
static int
secret_read(const char *path, char out[256], char why[CONF_WHY_BYTES])
{
	FILE *f = fopen(path, "re");
	bool got = f != NULL && fgets(out, 256, f) != NULL;

	if (!got)
		snprintf(
		    why, CONF_WHY_BYTES, "%.200s: %s", path, f == NULL ? strerror(errno) : "empty");
	if (f != NULL)
		fclose(f);
	if (got)
		out[strcspn(out, "\r\n")] = '\0';
	return got ? NW_OK : NW_EIO;
}

/* "Narrows-Signature: t=TIME,v1=MAC": HMAC-SHA256 of "TIME.BODY". The time keeps an eavesdropper
 * from repeating an old post. */
static int
signature_make(const struct hook *h, const char *body, int64_t now_wall_s, char **line,
    char why[CONF_WHY_BYTES])
{
	char secret[256], hex[2 * MAC_BYTES + 1], *text;
	uint8_t mac[MAC_BYTES];
	int rc;

	if (strcmp(h->secret_file, "none") == 0) {
		*line = xstrdup("");
		return NW_OK;
	}
	if ((rc = secret_read(h->secret_file, secret, why)) < 0)
		return rc;
	text = xasprintf("%" PRId64 ".%s", now_wall_s, body);
	if (mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
		(const unsigned char *)secret, strlen(secret), (const unsigned char *)text,
		strlen(text), mac) != 0)
		rc = NW_ENOMEM;
	nw_hex_put(hex, mac, sizeof(mac));
	*line = xasprintf("Narrows-Signature: t=%" PRId64 ",v1=%s\r\n", now_wall_s, hex);
	explicit_bzero(secret, sizeof(secret));
	free(text);
	return rc;
}

static int
on_answer(void *arg, const char *data, size_t len)
{
	(void)arg, (void)data, (void)len;
	return NW_OK;
}

/* Cuts the address of the url off its path. */
static char *
base_of(const char *url, const char **path)
{
	const char *host = strstr(url, "://") + 3;

	*path = host + strcspn(host, "/?");
	return xasprintf("%.*s", (int)(*path - url), url);
}

static int
body_post(const struct hook *h, const char *body, const char *lines, char why[CONF_WHY_BYTES])
{
	char reason[HTTPASK_WHY_BYTES] = "", *base;
	const char *path;
	int status = 0, rc;

	base = base_of(h->url, &path);
	rc = httpask(&(struct httpask){ .base = base,
			 .ca_path = h->ca_file,
			 .path = *path == '/' ? path : "/",
			 .body = body,
			 .lines = lines },
	    on_answer, NULL, &status, reason);
	free(base);
	if (rc == NW_OK && (status < 200 || status > 299)) {
		snprintf(reason, sizeof(reason), "the answer is %d", status);
		rc = NW_EPROTO;
	}
	if (rc < 0)
		snprintf(why, CONF_WHY_BYTES, "%.200s", reason);
	return rc;
}

static int
delivery_post(const struct hook *h, const json_t *event, const char *id, int64_t now_wall_s,
    char why[CONF_WHY_BYTES])
{
	const char *name = result_text(event, KEY_hook_event_event);
	char *body = json_dumps(event, JSON_COMPACT | JSON_SORT_KEYS), *signature = NULL, *lines;
	int rc = body != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK && (rc = signature_make(h, body, now_wall_s, &signature, why)) == NW_OK) {
		lines = xasprintf("Narrows-Event: %s\r\nNarrows-Delivery: %s\r\n%s",
		    name != NULL ? name : "?", id, signature);
		rc = body_post(h, body, lines, why);
		free(lines);
	}
	free(signature);
	free(body);
	return rc;
}

int
hook_post(const struct hook *h, const json_t *event, int64_t now_wall_s, char why[CONF_WHY_BYTES])
{
	return delivery_post(h, event, "test", now_wall_s, why);
}

/* --- the queue --- */

static int64_t
integer_of(const json_t *o, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(o, key));
}

/* Notes a failure. Returns false if the event is given up. */
static bool
again_later(const struct hook *h, json_t *at, int64_t now_wall_s, const char *why)
{
	int64_t tries = integer_of(at, "tries"), wait = AGAIN_MIN_S;

	for (; tries > 0 && wait < AGAIN_MAX_S; tries--)
		wait *= 2;
	wait = wait < AGAIN_MAX_S ? wait : AGAIN_MAX_S;
	json_object_set_new(at, "tries", json_integer(integer_of(at, "tries") + 1));
	json_object_set_new(at, "due", json_integer((json_int_t)(now_wall_s + wait)));
	fprintf(stderr, "narrows: hook %s: %s: %s\n", h->name, h->url, why);
	return now_wall_s - integer_of(at, "since") < GIVE_UP_S;
}

int
hook_queue_post(const struct hook *h, json_t *queue, int64_t now_wall_s)
{
	char why[CONF_WHY_BYTES] = "";
	json_t *at;
	int n = 0;

	while ((at = json_array_get(queue, 0)) != NULL && integer_of(at, "due") <= now_wall_s) {
		n++;
		if (delivery_post(h, json_object_get(at, "event"),
			json_string_value(json_object_get(at, "id")), now_wall_s, why) < 0) {
			if (again_later(h, at, now_wall_s, why))
				break;
			fprintf(stderr, "narrows: hook %s: an event is given up\n", h->name);
		}
		json_array_remove(queue, 0);
	}
	return n;
}
