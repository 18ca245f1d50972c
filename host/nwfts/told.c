/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "host/nwfts/told.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <mbedtls/md.h>
#include <uthash.h>

#include "host/lib/uuid.h"
#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/ownfile.h"

enum { REWRITE_LINES = 4 * TOLD_MAX, LINE_BYTES = 128, KEY_BYTES = 32 };

/* A message or a file: uthash keeps the order of arrival. */
struct item {
	uint64_t hash; /* hash key */
	uint64_t seq;  /* of a message */
	int64_t submit_wall_ns;
	double staging_s;
	UT_hash_handle hh;
};

struct told {
	char *path, id[TOLD_ID_BYTES];
	uint8_t key[KEY_BYTES];
	bool has_key;
	int fd;
	struct item *messages, *files;
	int64_t heard_wall_ns;
	char *unwritten; /* lines that are not on the disk */
	size_t len, cap, n_lines;
};

/* --- in memory --- */

static void
items_clear(struct item **all)
{
	struct item *i, *next;

	HASH_ITER (hh, *all, i, next) {
		HASH_DEL(*all, i);
		free(i);
	}
}

/* The item of the hash, new at the end of the order. */
static struct item *
item_renew(struct item **all, uint64_t hash)
{
	struct item *i;

	HASH_FIND(hh, *all, &hash, sizeof(hash), i);
	if (i != NULL) {
		HASH_DEL(*all, i);
	} else if (HASH_COUNT(*all) == TOLD_MAX) {
		i = *all;
		HASH_DEL(*all, i);
	} else {
		i = xcalloc(1, sizeof(*i));
	}
	i->hash = hash;
	HASH_ADD(hh, *all, hash, sizeof(i->hash), i);
	return i;
}

static void
message_put(struct told *t, uint64_t hash, uint64_t seq)
{
	item_renew(&t->messages, hash)->seq = seq;
}

static void
file_put(struct told *t, uint64_t hash, int64_t submit_wall_ns, double staging_s)
{
	struct item *i = item_renew(&t->files, hash);

	i->submit_wall_ns = submit_wall_ns;
	i->staging_s = staging_s;
}

/* --- on disk --- */

static void
line_put(struct told *t, const char *line)
{
	const size_t n = strlen(line);

	if (t->len + n + 1 > t->cap) {
		t->cap = 2 * (t->len + n + 1);
		t->unwritten = xreallocarray(t->unwritten, t->cap, 1);
	}
	memcpy(t->unwritten + t->len, line, n + 1);
	t->len += n;
	t->n_lines++;
}

static void
message_line(struct told *t, uint64_t hash, uint64_t seq)
{
	char line[LINE_BYTES];

	(void)snprintf(line, sizeof(line), "message %016" PRIx64 " %" PRIu64 "\n", hash, seq);
	line_put(t, line);
}

static void
file_line(struct told *t, uint64_t hash, int64_t submit_wall_ns, double staging_s)
{
	char line[LINE_BYTES];

	(void)snprintf(line, sizeof(line), "submitted %016" PRIx64 " %" PRId64 " %.3f\n", hash,
	    submit_wall_ns, isfinite(staging_s) ? staging_s : -1);
	line_put(t, line);
}

static bool
line_take(struct told *t, const char *line)
{
	uint64_t hash, seq;
	int64_t ns;
	double s;

	if (sscanf(line, "message %" SCNx64 " %" SCNu64, &hash, &seq) == 2)
		message_put(t, hash, seq);
	else if (sscanf(line, "submitted %" SCNx64 " %" SCNd64 " %lf", &hash, &ns, &s) == 3)
		file_put(t, hash, ns, s >= 0 ? s : NAN);
	else if (sscanf(line, "heard %" SCNd64, &ns) == 1)
		t->heard_wall_ns = ns;
	else if (strncmp(line, "key ", 4) == 0)
		return t->has_key = nw_hex_take(line + 4, t->key, KEY_BYTES);
	else
		return sscanf(line, "id %36s", t->id) == 1;
	return true;
}

/* A last line without an end was cut off by a power cut, and counts for nothing. */
static int
file_read(struct told *t)
{
	char line[LINE_BYTES];
	int copy = dup(t->fd), rc = NW_OK;
	FILE *f = copy >= 0 ? fdopen(copy, "r") : NULL;

	if (f == NULL)
		return NW_EIO;
	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL) {
		if (strchr(line, '\n') == NULL)
			break;
		t->n_lines++;
		if (!line_take(t, line))
			rc = NW_ECORRUPT;
	}
	fclose(f);
	return rc == NW_OK && t->id[0] == '\0' ? NW_ECORRUPT : rc;
}

static int
bytes_write(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	for (; len > 0; bytes += n, len -= (size_t)n)
		if ((n = write(fd, bytes, len)) < 0)
			return NW_EIO;
	return fdatasync(fd) == 0 ? NW_OK : NW_EIO;
}

/* Writes the file anew, and takes the place of the old one. */
static int
file_rewrite(struct told *t)
{
	char *tmp = xasprintf("%s.new", t->path), line[LINE_BYTES];
	int fd = ownfile_make(tmp, 0600), rc = NW_EIO;
	struct item *i;

	t->len = t->n_lines = 0;
	(void)snprintf(
	    line, sizeof(line), "id %s\nheard %" PRId64 "\nkey ", t->id, t->heard_wall_ns);
	line_put(t, line);
	nw_hex_put(line, t->key, KEY_BYTES);
	strcpy(line + 2 * KEY_BYTES, "\n");
	line_put(t, line);
	for (i = t->messages; i != NULL; i = i->hh.next)
		message_line(t, i->hash, i->seq);
	for (i = t->files; i != NULL; i = i->hh.next)
		file_line(t, i->hash, i->submit_wall_ns, i->staging_s);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    bytes_write(fd, t->unwritten, t->len) == NW_OK && rename(tmp, t->path) == 0)
		rc = NW_OK;
	free(tmp);
	if (rc < 0) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (t->fd >= 0)
		close(t->fd);
	t->fd = fd;
	t->len = 0;
	return NW_OK;
}

/* --- life --- */

/* A new key: hashes by another key mean nothing. */
static int
key_make(struct told *t)
{
	items_clear(&t->messages);
	items_clear(&t->files);
	return getrandom(t->key, KEY_BYTES, 0) == KEY_BYTES ? NW_OK : NW_EIO;
}

int
told_open(const char *path, struct told **out)
{
	struct told *t = xcalloc(1, sizeof(*t));
	int rc = NW_OK;

	t->path = xstrdup(path);
	if ((t->fd = ownfile_open(path, O_RDWR | O_APPEND)) < 0)
		rc = errno == ENOENT ? uuid_make(t->id) : NW_EIO;
	else if (flock(t->fd, LOCK_EX | LOCK_NB) != 0)
		rc = NW_ECONFLICT;
	else
		rc = file_read(t);
	if (rc == NW_OK && !t->has_key)
		rc = key_make(t);
	if (rc == NW_OK)
		rc = file_rewrite(t);
	if (rc == NW_OK)
		*out = t;
	else
		told_close(t);
	return rc;
}

void
told_close(struct told *t)
{
	if (t == NULL)
		return;
	items_clear(&t->messages);
	items_clear(&t->files);
	if (t->fd >= 0)
		close(t->fd);
	free(t->unwritten);
	free(t->path);
	free(t);
}

const char *
told_id(const struct told *t)
{
	return t->id;
}

uint64_t
told_hash(const struct told *t, const void *bytes, size_t len)
{
	uint8_t mac[32];
	uint64_t h;

	if (mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), t->key, KEY_BYTES, bytes,
		len, mac) != 0)
		abort(); /* the library lacks SHA-256 */
	memcpy(&h, mac, sizeof(h));
	return h;
}

int64_t
told_heard_wall_ns(const struct told *t)
{
	return t->heard_wall_ns;
}

int
told_cut(struct told *t, uint64_t stored)
{
	struct item *i, *next;
	bool any = false;

	HASH_ITER (hh, t->messages, i, next) {
		if (i->seq <= stored)
			continue;
		HASH_DEL(t->messages, i);
		free(i);
		any = true;
	}
	return any ? file_rewrite(t) : NW_OK;
}

uint64_t
told_last(const struct told *t)
{
	const struct item *i;
	uint64_t last = 0;

	for (i = t->messages; i != NULL; i = i->hh.next)
		last = i->seq > last ? i->seq : last;
	return last;
}

uint64_t
told_find(const struct told *t, uint64_t message)
{
	struct item *i;

	HASH_FIND(hh, t->messages, &message, sizeof(message), i);
	return i != NULL ? i->seq : 0;
}

void
told_message(struct told *t, uint64_t message, uint64_t seq)
{
	message_put(t, message, seq);
	message_line(t, message, seq);
}

void
told_submitted(struct told *t, uint64_t file, int64_t submit_wall_ns, double staging_s)
{
	file_put(t, file, submit_wall_ns, staging_s);
	file_line(t, file, submit_wall_ns, staging_s);
}

bool
told_submission(const struct told *t, uint64_t file, int64_t *submit_wall_ns, double *staging_s)
{
	struct item *i;

	HASH_FIND(hh, t->files, &file, sizeof(file), i);
	if (i == NULL)
		return false;
	*submit_wall_ns = i->submit_wall_ns;
	*staging_s = i->staging_s;
	return true;
}

int
told_write(struct told *t, int64_t heard_wall_ns)
{
	char line[LINE_BYTES];
	int rc;

	t->heard_wall_ns = heard_wall_ns;
	(void)snprintf(line, sizeof(line), "heard %" PRId64 "\n", heard_wall_ns);
	line_put(t, line);
	if ((rc = bytes_write(t->fd, t->unwritten, t->len)) < 0)
		return rc;
	t->len = 0;
	return t->n_lines > REWRITE_LINES ? file_rewrite(t) : NW_OK;
}
