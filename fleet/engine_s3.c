/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fleet in a bucket: the files of a fleet in a directory (fleet/engine_file.c) as objects
 * SITE/DAY.parquet and SITE/manifest.json below the URL's prefix, by signed requests. The site's
 * own directory stays here, with sent.json, what the bucket has: a push puts the files that are new
 * since. A question fetches the files that the manifests of the configured sites name.
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <mbedtls/md.h>

#include "fleet/fleet.h"
#include "fleet/parquet_sql.h"
#include "narrows/address.h"
#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/ownfile.h"
#include "narrows/xmalloc.h"
#include "send/exchange.h"
#include "send/memory.h"

enum { OBJECT_MAX_BYTES = EXCHANGE_BODY_MAX_BYTES };

struct bucket {
	const struct fleet_conf *conf;
	struct fleet_conf local; /* conf with the directory as its fleet */
	char *base, *sign;       /* http://host/bucket/prefix, without a slash at its end */
	char secret[EXCHANGE_SECRET_BYTES];
	void *files; /* of engine_file; NULL: for questions alone */
};

/* --- requests --- */

/* The signature covers the body by a hash. */
static void
hash_line(const char *body, size_t len, char line[96])
{
	unsigned char hash[32] = { 0 };
	int n = snprintf(line, 96, "x-amz-content-sha256: ");

	(void)mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
	    (const unsigned char *)(body != NULL ? body : ""), len, hash);
	nw_hex_put(line + n, hash, sizeof(hash));
}

/* method NULL: GET. *status is the server's; codes are of the exchange alone. */
static int
request(const struct bucket *b, const char *method, const char *site, const char *name,
    const struct exchange_text *body, struct exchange_text *answer, int *status,
    char why[FLEET_WHY_BYTES])
{
	char *url = xasprintf("%s/%s/%s", b->base, site, name), hash[96],
	     reason[EXCHANGE_WHY_BYTES] = "";
	const struct exchange x = { .url = url,
		.ca_file = b->conf->ca_file,
		.proxy = conf_or_null(b->conf->proxy),
		.method = method,
		.body = method == NULL                   ? NULL
		    : body != NULL && body->text != NULL ? body->text
							 : "",
		.body_len = body != NULL ? body->len : 0,
		.user = b->conf->user,
		.password = b->secret,
		.sign = b->sign,
		.lines = { hash },
		.timeout_ns = b->conf->timeout_ns };
	int rc;

	hash_line(x.body, x.body_len, hash);
	if ((rc = exchange(&x, exchange_keep, answer, status, reason)) < 0)
		(void)fleet_failed(url, reason, why);
	free(url);
	return rc;
}

static int
object_change(const struct bucket *b, const char *method, const char *name,
    const struct exchange_text *body, char why[FLEET_WHY_BYTES])
{
	struct exchange_text answer = { .len_max = OBJECT_MAX_BYTES };
	int status = 0;
	int rc = request(b, method, b->conf->site, name, body, &answer, &status, why);

	if (rc == NW_OK && status / 100 != 2 && (strcmp(method, "DELETE") != 0 || status != 404)) {
		snprintf(why, FLEET_WHY_BYTES, "%.100s: %d: %.250s", name, status,
		    answer.text != NULL ? answer.text : "");
		rc = NW_EPROTO;
	}
	free(answer.text);
	return rc;
}

/* --- the bucket follows the directory --- */

static int
file_put(const struct bucket *b, const char *path, const char *name, char why[FLEET_WHY_BYTES])
{
	struct exchange_text body = { .len_max = OBJECT_MAX_BYTES };
	char part[1 << 14];
	FILE *f = fopen(path, "re");
	size_t n;
	int rc = NW_OK;

	if (f == NULL)
		return fleet_failed(path, strerror(errno), why);
	while (rc == NW_OK && (n = fread(part, 1, sizeof(part), f)) > 0)
		rc = exchange_keep(&body, part, n);
	if (ferror(f) || rc < 0)
		rc = fleet_failed(path, rc < 0 ? nw_strerror(rc) : strerror(errno), why);
	fclose(f);
	if (rc == NW_OK)
		rc = object_change(b, "PUT", name, &body, why);
	free(body.text);
	return rc;
}

/* Puts a file unless the bucket has it: `sent` has its time of change. */
static int
file_follow(const struct bucket *b, const char *path, json_t *sent, char why[FLEET_WHY_BYTES])
{
	const char *name = strrchr(path, '/') + 1;
	struct stat st;
	json_int_t changed_ns;
	int rc = NW_OK;

	if (stat(path, &st) != 0)
		return fleet_failed(path, strerror(errno), why);
	changed_ns = (json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (json_integer_value(json_object_get(sent, name)) == changed_ns)
		return NW_OK;
	if ((rc = file_put(b, path, name, why)) == NW_OK)
		json_object_set_new(sent, name, json_integer(changed_ns));
	return rc;
}

/* Days without sessions have no file any more. */
static int
files_forget(const struct bucket *b, const char *directory, json_t *sent, char *why)
{
	const char *name;
	json_t *value;
	void *next;
	int rc = NW_OK;

	json_object_foreach_safe(sent, next, name, value)
	{
		char *path = xasprintf("%s/%s", directory, name);

		if (rc == NW_OK && access(path, F_OK) != 0 && errno == ENOENT &&
		    (rc = object_change(b, "DELETE", name, NULL, why)) == NW_OK)
			json_object_del(sent, name);
		free(path);
	}
	return rc;
}

/* The manifest last: the named objects are there. */
static int
follow(const struct bucket *b, char why[FLEET_WHY_BYTES])
{
	char *directory = xasprintf("%s/%s", b->conf->days, b->conf->site),
	     *days = xasprintf("%s/*.parquet", directory),
	     *manifest = xasprintf("%s/manifest.json", directory),
	     *memory = xasprintf("%s/sent.json", directory);
	json_t *sent = memory_read(memory, why);
	glob_t g = { 0 };
	size_t i;
	char unsaid[MEMORY_WHY_BYTES];
	int rc = sent != NULL ? NW_OK : NW_EINVAL;

	if (rc == NW_OK && glob(days, 0, NULL, &g) == 0)
		for (i = 0; rc == NW_OK && i < g.gl_pathc; i++)
			rc = file_follow(b, g.gl_pathv[i], sent, why);
	globfree(&g);
	if (rc == NW_OK && access(manifest, F_OK) == 0)
		rc = file_follow(b, manifest, sent, why);
	if (rc == NW_OK)
		rc = files_forget(b, directory, sent, why);
	/* files of before a failure need not be put again */
	if (rc < 0 && sent != NULL)
		(void)memory_write(memory, sent, unsaid);
	else if (rc == NW_OK)
		rc = memory_write(memory, sent, why);
	json_decref(sent);
	free(directory);
	free(days);
	free(manifest);
	free(memory);
	return rc;
}

/* --- the engine --- */

static void
engine_close(void *e)
{
	struct bucket *b = e;

	if (b == NULL)
		return;
	engine_file.close(b->files);
	explicit_bzero(b->secret, sizeof(b->secret));
	free(b->local.fleet);
	free(b->base);
	free(b->sign);
	free(b);
}

/* s3://HOST[:PORT]/BUCKET[/PREFIX]; by HTTPS unless the address is loopback. */
static int
engine_open(const struct fleet_conf *c, bool writes, void **out, char why[FLEET_WHY_BYTES])
{
	const char *host = c->fleet + strlen("s3:");
	struct bucket *b = xcalloc(1, sizeof(*b));
	char bare[ADDRESS_HOST_BYTES];
	size_t host_len, len;
	int rc = NW_OK;

	host += strncmp(host, "//", 2) == 0 ? 2 : 0;
	host_len = strcspn(host, "/");
	for (len = strlen(host); len > 0 && host[len - 1] == '/'; len--)
		continue;
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, ":/"), host);
	b->conf = c;
	b->local = *c;
	b->local.fleet = xasprintf("file://%s", c->days);
	b->base = xasprintf("http%s://%.*s", address_is_loopback(bare) ? "" : "s", (int)len, host);
	b->sign = xasprintf("aws:amz:%s:s3", c->region);
	if (host_len == 0 || len <= host_len + 1) {
		(void)fleet_failed(c->fleet, "write s3://host/bucket", why);
		rc = NW_EINVAL;
	} else if (strcmp(c->user, "none") == 0 || strcmp(c->password_file, "none") == 0) {
		(void)fleet_failed(
		    c->fleet, "needs user, the key, and password-file, its secret", why);
		rc = NW_EINVAL;
	} else
		rc = exchange_secret(c->password_file, b->secret, NULL, why);
	if (rc == NW_OK && writes && mkdir(c->days, 0755) != 0 && errno != EEXIST)
		rc = fleet_failed(c->days, strerror(errno), why);
	if (rc == NW_OK && writes)
		rc = engine_file.open(&b->local, writes, &b->files, why);
	*out = rc == NW_OK ? b : NULL;
	if (rc < 0)
		engine_close(b);
	return rc;
}

static int
engine_put(void *e, const struct fleet_rows *rows, char why[FLEET_WHY_BYTES])
{
	const struct bucket *b = e;

	return engine_file.put(b->files, rows, why);
}

static int
engine_put_site(void *e, const struct fleet_site *s, char why[FLEET_WHY_BYTES])
{
	const struct bucket *b = e;
	int rc = engine_file.put_site(b->files, s, why);

	return rc == NW_OK ? follow(b, why) : rc;
}

static int
engine_remove(
    void *e, const char *site, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	const struct bucket *b = e;
	int rc = engine_file.remove(b->files, site, sessions, n, why);

	return rc == NW_OK ? follow(b, why) : rc;
}

static int
engine_gone(void *e, const char *site, int64_t **sessions, size_t *n, char why[FLEET_WHY_BYTES])
{
	const struct bucket *b = e;

	return engine_file.gone(b->files, site, sessions, n, why);
}

/* --- questions --- */

static int
file_fetch(const struct bucket *b, const char *directory, const char *site, const char *name,
    struct exchange_text *o, int *status, char why[FLEET_WHY_BYTES])
{
	char *path = xasprintf("%s/%s/%s", directory, site, name);
	int rc = request(b, NULL, site, name, NULL, o, status, why);
	FILE *f = NULL;

	if (rc == NW_OK && *status != 200 && *status != 404) {
		snprintf(why, FLEET_WHY_BYTES, "%.100s/%.100s: %d: %.200s", site, name, *status,
		    o->text != NULL ? o->text : "");
		rc = NW_EPROTO;
	}
	if (rc == NW_OK && *status == 200 &&
	    ((f = ownfile_stream(path, 0600)) == NULL || fwrite(o->text, 1, o->len, f) != o->len))
		rc = fleet_failed(path, strerror(errno), why);
	if (f != NULL && fclose(f) != 0 && rc == NW_OK)
		rc = fleet_failed(path, strerror(errno), why);
	free(path);
	return rc;
}

/* A manifest is another site's text: only names of days are taken. */
static bool
is_day(const char *name)
{
	static const char form[] = "0000-00-00";
	size_t i, t;

	for (i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
			return false;
	for (t = 0; t < FLEET_TABLES; t++)
		if (strcmp(name + i, parquet_ending((enum fleet_table_id)t)) == 0)
			return true;
	return false;
}

static int
site_fetch(const struct bucket *b, const char *directory, const char *site, char *why)
{
	char *path = xasprintf("%s/%s", directory, site);
	struct exchange_text o = { .len_max = OBJECT_MAX_BYTES }, day;
	int status, rc = NW_OK;
	const char *name;
	json_t *manifest, *value;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		rc = fleet_failed(path, strerror(errno), why);
	free(path);
	if (rc == NW_OK)
		rc = file_fetch(b, directory, site, "manifest.json", &o, &status, why);
	manifest = rc == NW_OK && status == 200 ? json_loadb(o.text, o.len, 0, NULL) : NULL;
	json_object_foreach(json_object_get(manifest, "files"), name, value)
	{
		day = (struct exchange_text){ .len_max = OBJECT_MAX_BYTES };
		if (rc == NW_OK && is_day(name))
			rc = file_fetch(b, directory, site, name, &day, &status, why);
		free(day.text);
	}
	json_decref(manifest);
	free(o.text);
	return rc;
}

static void
directory_remove(const char *directory)
{
	char *pattern;
	glob_t g;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		g = (glob_t){ 0 };
		pattern = xasprintf("%s/*%s", directory, k == 0 ? "/*" : "");
		if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0)
			for (i = 0; i < g.gl_pathc; i++)
				(void)remove(g.gl_pathv[i]);
		globfree(&g);
		free(pattern);
	}
	(void)rmdir(directory);
}

static int
engine_ask(void *e, const char *sql, const char *parameter, fleet_table_fn *fn, void *arg,
    char why[FLEET_WHY_BYTES])
{
	char directory[] = "/tmp/narrows-fleet-XXXXXX", *sites, *site, *rest;
	const struct bucket *b = e;
	int rc = NW_OK;

	if (mkdtemp(directory) == NULL)
		return fleet_failed(directory, strerror(errno), why);
	sites = xasprintf("%s\n%s", b->conf->site, b->conf->takes != NULL ? b->conf->takes : "");
	for (site = strtok_r(sites, "\n", &rest); rc == NW_OK && site != NULL;
	     site = strtok_r(NULL, "\n", &rest))
		rc = site_fetch(b, directory, site, why);
	if (rc == NW_OK)
		rc = parquet_ask(b->conf->duckdb_library, directory, sql, parameter, fn, arg, why);
	directory_remove(directory);
	free(sites);
	return rc;
}

static int
engine_schema(void *e, bool apply, FILE *f, char why[FLEET_WHY_BYTES])
{
	return engine_file.schema(e, apply, f, why);
}

const struct fleet_engine engine_s3 = {
	.scheme = "s3",
	.open = engine_open,
	.close = engine_close,
	.put = engine_put,
	.put_site = engine_put_site,
	.remove = engine_remove,
	.gone = engine_gone,
	.ask = engine_ask,
	.report = parquet_report,
	.schema = engine_schema,
};
