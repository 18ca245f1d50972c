/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpss/server/slot.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/tls.h"

enum { PATH_BYTES = 1024, PAGE_SHIFT = 12, RUN_PAGES = 16 };
static const char file_name[] = "grants";

static bool
is_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < 128 && name[0] != '.' &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
	    len;
}

static int
slots_open(const char *disk, const char *name, int flags, int *fd, char *why)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s.blocks", disk, name);
	if ((*fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600)) >= 0)
		return NW_OK;
	snprintf(why, GRANT_WHY_BYTES, "%.200s: %s", path, strerror(errno));
	return NW_EIO;
}

static int
reserve(const char *disk, const char *name, uint64_t bytes, char *why)
{
	int fd, rc = slots_open(disk, name, O_RDWR | O_CREAT | O_EXCL, &fd, why);

	if (rc != NW_OK)
		return rc;
	if ((errno = posix_fallocate(fd, 0, (off_t)bytes)) != 0 || fsync(fd) < 0) {
		snprintf(why, GRANT_WHY_BYTES, "%.200s: %" PRIu64 " bytes: %s", disk, bytes,
		    strerror(errno));
		rc = NW_EIO;
	}
	close(fd);
	return rc;
}

static int
line_append(
    const char *state_dir, const char *name, uint64_t slots, uint32_t block_bytes, char *why)
{
	uint8_t secret[TICKET_SECRET_BYTES];
	char text[TICKET_SECRET_CHARS + 1], path[PATH_BYTES];
	int fd, rc = NW_EIO;

	if (nw_tls_random(NULL, secret, sizeof(secret)) != 0)
		return NW_EIO;
	ticket_secret_print(secret, text);
	snprintf(path, sizeof(path), "%s/%s", state_dir, file_name);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 &&
	    dprintf(fd, "%s %s %" PRIu32 " %" PRIu64 "\n", name, text, block_bytes, slots) > 0 &&
	    fsync(fd) == 0)
		rc = NW_OK;
	else
		snprintf(why, GRANT_WHY_BYTES, "%.200s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* --- the file --- */

static int
line_parse(const char *line, struct grant *g)
{
	char secret[TICKET_SECRET_CHARS + 1];
	int end = 0;

	if (sscanf(line, "%255s %64s %" SCNu32 " %" SCNu64 " %n", g->name, secret, &g->block_bytes,
		&g->slots, &end) != 4 ||
	    line[end] != '\0' || !is_name(g->name) || g->block_bytes == 0 ||
	    g->block_bytes > DPSS_BLOCK_MAX || g->slots > UINT64_MAX / DPSS_BLOCK_MAX / 2)
		return NW_EINVAL;
	return ticket_secret_parse(secret, g->secret);
}

static struct grant *
grant_known(const struct grants *g, const char *name)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (strcmp(g->all[i]->name, name) == 0)
			return g->all[i];
	return NULL;
}

static int
disk_open(struct grant *g, const char *disk, char *why)
{
	size_t k = g->n_open;
	void *map;
	int rc = slots_open(disk, g->name, O_RDWR, &g->fd[k], why);

	if (rc != NW_OK)
		return rc;
	map = mmap(NULL, g->slots * slot_bytes(g->block_bytes), PROT_READ, MAP_SHARED, g->fd[k], 0);
	g->map[k] = map != MAP_FAILED ? map : NULL;
	g->n_open++;
	return NW_OK;
}

static void
grant_free(struct grant *g)
{
	size_t k;

	for (k = 0; k < g->n_open; k++) {
		if (g->map[k] != NULL)
			munmap(g->map[k], g->slots * slot_bytes(g->block_bytes));
		close(g->fd[k]);
	}
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static int
grant_read(const char *line, struct grants *all, char *why)
{
	struct grant *g;
	size_t k;
	int rc;

	if (all->n == GRANTS_MAX) {
		snprintf(why, GRANT_WHY_BYTES, "%s: more than %d lines", file_name, GRANTS_MAX);
		return NW_EFULL;
	}
	if ((g = calloc(1, sizeof(*g))) == NULL)
		return NW_ENOMEM;
	pthread_mutex_init(&g->lock, NULL);
	g->index = (uint32_t)all->n;
	if ((rc = line_parse(line, g)) != NW_OK || grant_known(all, g->name) != NULL) {
		snprintf(why, GRANT_WHY_BYTES, "%s: line %zu is not NAME SECRET BLOCK_BYTES SLOTS",
		    file_name, all->n + 1);
		rc = NW_EINVAL;
	}
	for (k = 0; k < all->n_disks && rc == NW_OK; k++)
		rc = disk_open(g, all->disks[k], why);
	if (rc == NW_OK)
		all->all[all->n++] = g;
	else
		grant_free(g);
	return rc;
}

/* Locked. Reads the lines that were not read yet; a line counts with its end. */
static int
file_read(struct grants *all, char *why)
{
	char path[PATH_BYTES], *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int rc = NW_OK;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", all->state_dir, file_name);
	if ((f = fopen(path, "re")) == NULL) {
		snprintf(why, GRANT_WHY_BYTES, "%.200s: %s", path, strerror(errno));
		return errno == ENOENT ? NW_ENOTFOUND : NW_EIO;
	}
	if (fseeko(f, all->read_bytes, SEEK_SET) < 0)
		rc = NW_EIO;
	while (rc == NW_OK && (len = getline(&line, &cap, f)) > 0 && line[len - 1] == '\n')
		if ((rc = grant_read(line, all, why)) == NW_OK)
			all->read_bytes += len;
	free(line);
	fclose(f);
	return rc;
}

struct grant *
grants_find(struct grants *g, const char *name)
{
	char path[PATH_BYTES], why[GRANT_WHY_BYTES] = "";
	struct grant *found;
	struct stat st;

	pthread_mutex_lock(&g->lock);
	snprintf(path, sizeof(path), "%s/%s", g->state_dir, file_name);
	if ((found = grant_known(g, name)) == NULL && stat(path, &st) == 0 &&
	    st.st_size != g->read_bytes) {
		if (file_read(g, why) != NW_OK)
			log_warnx("grant.unread why=\"%s\"", why);
		found = grant_known(g, name);
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

void
grants_clear(struct grants *g)
{
	while (g->n > 0)
		grant_free(g->all[--g->n]);
	pthread_mutex_destroy(&g->lock);
}

int
grant_make(const char *state_dir, char *const *disks, size_t n_disks, const char *name,
    uint64_t slots, uint32_t block_bytes, char why[GRANT_WHY_BYTES])
{
	struct grants all;
	size_t i;
	int rc = grants_load(state_dir, NULL, 0, &all, why);
	bool old = grants_find(&all, name) != NULL;

	grants_clear(&all);
	if (rc != NW_OK && rc != NW_ENOTFOUND)
		return rc;
	if (old || !is_name(name)) {
		snprintf(why, GRANT_WHY_BYTES, "%.100s: %s", name,
		    old ? "has a grant" : "a name has letters, digits, '.', '_' and '-'");
		return old ? NW_ECONFLICT : NW_EINVAL;
	}
	for (i = 0, rc = NW_OK; i < n_disks && rc == NW_OK; i++)
		rc = reserve(disks[i], name, slots * slot_bytes(block_bytes), why);
	return rc == NW_OK ? line_append(state_dir, name, slots, block_bytes, why) : rc;
}

/* The kernel takes pages back in long runs: a few pages of a slot speak for the pages between. If a
 * page between is missing after all, its read makes the sending thread wait for the disk. */
bool
grant_is_resident(const struct grant *g, uint32_t disk, uint64_t slot)
{
	uint64_t bytes = slot_bytes(g->block_bytes), at = slot * bytes >> PAGE_SHIFT,
		 last = (slot * bytes + bytes - 1) >> PAGE_SHIFT;
	const char *map = g->map[disk];
	unsigned char page = 0;

	/* behind the file, the memory of others may follow */
	if (slot >= g->slots)
		return false;
	for (; map != NULL; at = at + RUN_PAGES < last ? at + RUN_PAGES : last) {
		if (mincore((char *)(uintptr_t)map + (at << PAGE_SHIFT), 1, &page) < 0 ||
		    (page & 1) == 0)
			return false;
		if (at == last)
			return true;
	}
	return false;
}

int
grants_load(const char *state_dir, char *const *disks, size_t n_disks, struct grants *out,
    char why[GRANT_WHY_BYTES])
{
	*out = (struct grants){ .state_dir = state_dir, .disks = disks, .n_disks = n_disks };
	pthread_mutex_init(&out->lock, NULL);
	return file_read(out, why);
}

void
grant_tell(struct grant *g, uint16_t type, struct packer *p)
{
	pthread_mutex_lock(&g->lock);
	if (g->master != NULL)
		outbox_put_packed(g->master, type, p);
	pthread_mutex_unlock(&g->lock);
	pack_free(p);
}
