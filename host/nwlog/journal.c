/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwlog/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "host/lib/uuid.h"
#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/ownfile.h"

enum { REWRITE_MARKS = 1024, LINE_BYTES = 160 };

static int
line_of(const struct mark *m, char out[LINE_BYTES])
{
	return snprintf(out, LINE_BYTES, "%" PRIu64 " %ju %ju %jd %zu %016" PRIx64 "\n", m->seq,
	    (uintmax_t)m->place.device, (uintmax_t)m->place.inode, (intmax_t)m->place.offset,
	    m->place.head_len, m->place.head_hash);
}

static bool
mark_parse(const char *line, struct mark *m)
{
	uintmax_t device, inode;
	intmax_t offset;
	int end = 0;

	if (sscanf(line, "%" SCNu64 " %ju %ju %jd %zu %" SCNx64 "%n", &m->seq, &device, &inode,
		&offset, &m->place.head_len, &m->place.head_hash, &end) != 6 ||
	    line[end] != '\n' || offset < 0 || m->place.head_len > PLACE_HEAD_BYTES)
		return false;
	m->place.device = (dev_t)device;
	m->place.inode = (ino_t)inode;
	m->place.offset = (off_t)offset;
	return true;
}

static int
marks_push(struct journal *j, const struct mark *m)
{
	if (!array_room(&j->marks, &j->cap, j->n + 1, sizeof(*j->marks)))
		return NW_ENOMEM;
	j->marks[j->n++] = *m;
	return NW_OK;
}

/* Reads what a file has. A last line that was cut off by a power cut counts for nothing. */
static int
journal_read(struct journal *j, FILE *f)
{
	char line[LINE_BYTES];
	struct mark m;
	int rc = NW_OK;

	if (fgets(line, sizeof(line), f) == NULL)
		return NW_ENOTFOUND;
	if (strlen(line) != JOURNAL_ID_BYTES || line[JOURNAL_ID_BYTES - 1] != '\n')
		return NW_ECORRUPT;
	memcpy(j->id, line, JOURNAL_ID_BYTES - 1);
	j->id[JOURNAL_ID_BYTES - 1] = '\0';
	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL) {
		if (strchr(line, '\n') == NULL)
			break;
		if (!mark_parse(line, &m))
			return NW_ECORRUPT;
		j->n_written++;
		rc = j->n == 0 || m.seq > j->marks[j->n - 1].seq ? marks_push(j, &m) : NW_ECORRUPT;
	}
	return rc;
}

static int
all_write(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len > 0; text += n, len -= (size_t)n)
		if ((n = write(fd, text, len)) < 0)
			return NW_EIO;
	return NW_OK;
}

/* Writes the file anew, and takes the place of the old one. */
static int
journal_rewrite(struct journal *j)
{
	char line[LINE_BYTES], *tmp = NULL;
	int fd = -1, rc = NW_OK;
	size_t i;

	if (asprintf(&tmp, "%s.new", j->path) < 0)
		return NW_ENOMEM;
	if ((fd = ownfile_make(tmp, 0600)) < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = NW_EIO;
	if (rc == NW_OK && (rc = all_write(fd, j->id, strlen(j->id))) == NW_OK)
		rc = all_write(fd, "\n", 1);
	for (i = 0; rc == NW_OK && i < j->n; i++)
		rc = all_write(fd, line, (size_t)line_of(&j->marks[i], line));
	if (rc == NW_OK && (fdatasync(fd) != 0 || rename(tmp, j->path) != 0))
		rc = NW_EIO;
	free(tmp);
	if (rc != NW_OK) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (j->fd >= 0)
		close(j->fd);
	j->fd = fd;
	j->n_written = j->n;
	return NW_OK;
}

/* Reads the journal of the path. NW_ENOTFOUND: there is none. */
static int
journal_take(struct journal *j, const char *path)
{
	int copy, rc;
	FILE *f;

	if ((j->fd = ownfile_open(path, O_RDWR)) < 0)
		return errno == ENOENT ? NW_ENOTFOUND : NW_EIO;
	if (flock(j->fd, LOCK_EX | LOCK_NB) != 0)
		return NW_ECONFLICT;
	if ((copy = dup(j->fd)) < 0 || (f = fdopen(copy, "r")) == NULL)
		return NW_EIO;
	rc = journal_read(j, f);
	fclose(f);
	return rc;
}

int
journal_open(struct journal *j, const char *path, const char *old)
{
	bool moved = false;
	int rc;

	*j = (struct journal){ .fd = -1 };
	if ((j->path = strdup(path)) == NULL)
		return NW_ENOMEM;
	rc = journal_take(j, path);
	if (rc == NW_ENOTFOUND && j->fd < 0 && old != NULL) {
		rc = journal_take(j, old);
		moved = rc == NW_OK;
		if (rc == NW_EIO && (errno == EPERM || errno == ELOOP)) {
			log_warnx("nwlog.journal path=%s why=\"another user may have written it: "
				  "nwlog begins a new one\"",
			    old);
			rc = NW_ENOTFOUND;
		}
	}
	if (rc == NW_ENOTFOUND && (rc = uuid_make(j->id)) < 0)
		return rc;
	if (rc == NW_OK && (rc = journal_rewrite(j)) == NW_OK && moved)
		(void)unlink(old);
	return rc;
}

void
journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	free(j->marks);
	free(j->path);
	*j = (struct journal){ .fd = -1 };
}

int
journal_add(struct journal *j, const struct mark *m)
{
	char line[LINE_BYTES];
	int rc;

	if ((rc = all_write(j->fd, line, (size_t)line_of(m, line))) != NW_OK)
		return rc;
	if (fdatasync(j->fd) != 0)
		return NW_EIO;
	j->n_written++;
	return marks_push(j, m);
}

const struct mark *
journal_find(const struct journal *j, uint64_t seq)
{
	size_t i = j->n;

	while (i > 0 && j->marks[i - 1].seq > seq)
		i--;
	return i > 0 ? &j->marks[i - 1] : NULL;
}

int
journal_cut(struct journal *j, uint64_t seq)
{
	size_t n = j->n;

	while (j->n > 0 && j->marks[j->n - 1].seq > seq)
		j->n--;
	return n == j->n ? NW_OK : journal_rewrite(j);
}

void
journal_trim(struct journal *j, uint64_t seq)
{
	const struct mark *m = journal_find(j, seq);
	size_t n = m == NULL ? 0 : (size_t)(m - j->marks);

	if (n > 0) {
		memmove(j->marks, j->marks + n, (j->n - n) * sizeof(*j->marks));
		j->n -= n;
	}
	if (j->n_written > j->n + REWRITE_MARKS)
		(void)journal_rewrite(j); /* the old file is as good, and only longer */
}
