/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A spool directory holds
 *
 *	lock          locked by the process that has the directory
 *	state         one line: "narrows-spool 1 UUID LIFE LOST": the provider, the number of its
 *	              starts here, and how many documents were dropped without a box being told
 *	given         numbers of documents that are in no file yet (spool_given.h)
 *	NUMBER.seg    documents from NUMBER on (16 hexadecimal digits), without a gap; the last
 *	              file grows
 *
 * and each .seg records, little endian:
 *
 *	4 bytes   length of the payload
 *	4 bytes   CRC-32 of all later bytes of the record
 *	8 bytes   number; 0: metadata
 *	8 bytes   time of queueing, nanoseconds since 1970
 *	2 bytes   option; 2 bytes 0
 *	payload   the document; of metadata: id NUL event type NUL document
 *
 * Every file starts with all metadata there is, and later metadata come before their documents: a
 * file can be deleted, or read, without any other. A file ends where a record does not check. A
 * file is deleted when all its documents are stored, which in good times is before anything is
 * written.
 */
#include "host/lib/spool_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/lib/meta_table.h"
#include "host/lib/spool_given.h"
#include "narrows/clock.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum {
	RECORD_HEADER_BYTES = 28,
	READ_BYTES = 64 << 10,
	PAYLOAD_MAX_BYTES = 4 << 20,
	/* a file is about this part of the size limit: the loss of a file is as large */
	SEGMENTS_OF_LIMIT = 16
};

struct segment {
	TAILQ_ENTRY(segment) link;
	uint64_t first, last; /* numbers */
	uint64_t bytes;
	int64_t newest_wall_ns;
	bool tells_loss; /* has one record of lost documents, and no document */
};

struct spool_file {
	struct spool_given *given; /* NULL: nothing is noted */
	int dir_fd, lock_fd;
	char *dir;
	bool temporary;
	char uuid[UUID_BYTES];
	struct meta_table *metas;
	TAILQ_HEAD(segment_list, segment) segments; /* oldest first */
	uint64_t bytes, bytes_max;
	uint64_t life, lost;
	int write_fd;           /* of the last segment; -1: the next document starts a segment */
	uint64_t metas_written; /* serial number, in the table, of the last metadata written */
	/* reading */
	const struct segment *reading; /* NULL: read_fd is -1 */
	int read_fd;
	uint64_t read_at; /* offset in the file of the byte behind the buffer */
	uint8_t *buf;
	size_t buf_at, buf_len, buf_cap;
	uint64_t read_seq;         /* documents below are behind us */
	struct spool_view current; /* handed out last, still in the buffer; seq 0: none */
};

struct record {
	uint64_t seq;
	int64_t t_wall_ns;
	uint16_t opt;
	const uint8_t *payload;
	size_t len;
};

/* --- bytes --- */

static void
put_le(uint8_t *p, uint64_t v, int n)
{
	for (; n-- > 0; v >>= 8)
		*p++ = (uint8_t)v;
}

static uint64_t
get_le(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

uint32_t
spool_file_crc(const uint8_t *p, size_t len, uint32_t crc)
{
	static const uint32_t of_nibble[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8,
		0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };

	for (crc = ~crc; len-- > 0; p++) {
		crc = of_nibble[(crc ^ *p) & 15] ^ crc >> 4;
		crc = of_nibble[(crc ^ *p >> 4) & 15] ^ crc >> 4;
	}
	return ~crc;
}

/* --- names and state --- */

#define STATE_FORMAT "narrows-spool 1 %s %" PRIu64 " %" PRIu64
enum { NAME_BYTES = 32, STATE_BYTES = 160, LIFE_SHIFT = 40, LIVES_MAX = 1 << 22 };

static void
segment_name(char out[NAME_BYTES], uint64_t first)
{
	snprintf(out, NAME_BYTES, "%016" PRIx64 ".seg", first);
}

/* A new file takes the place of the old file whole. Only a new life must outlast a power cut. */
static int
state_write(struct spool_file *f, bool durable)
{
	char line[STATE_BYTES];
	int len = snprintf(line, sizeof(line), STATE_FORMAT "\n", f->uuid, f->life, f->lost);
	int fd = openat(f->dir_fd, "state.new", O_WRONLY | O_CREAT | O_TRUNC | SPOOL_OPEN, 0600);
	bool ok =
	    fd >= 0 && write(fd, line, (size_t)len) == len && (!durable || fdatasync(fd) == 0);

	if (fd >= 0 && close(fd) != 0)
		ok = false;
	if (!ok || renameat(f->dir_fd, "state.new", f->dir_fd, "state") != 0 ||
	    (durable && fsync(f->dir_fd) != 0))
		return NW_EIO;
	return NW_OK;
}

static int
state_read(struct spool_file *f)
{
	char line[STATE_BYTES];
	int fd = openat(f->dir_fd, "state", O_RDONLY | SPOOL_OPEN), end = 0;
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT ? NW_OK : NW_EIO; /* a new directory */
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len < 0)
		return NW_EIO;
	line[len] = '\0';
	if (sscanf(line, "narrows-spool 1 %36[0-9a-f-] %" SCNu64 " %" SCNu64 "\n%n", f->uuid,
		&f->life, &f->lost, &end) != 3 ||
	    end != len || strlen(f->uuid) != UUID_BYTES - 1 || f->life >= LIVES_MAX)
		return NW_ECORRUPT;
	return NW_OK;
}

void
spool_file_note_task(struct spool_file *f, const char *task_id)
{
	if (f->given != NULL && task_id != NULL && strlen(task_id) < SPOOL_TASK_BYTES)
		strcpy(f->given->task_id, task_id);
}

void
spool_file_note_given(struct spool_file *f, uint64_t first, uint64_t next)
{
	if (f->given == NULL)
		return;
	f->given->first = first;
	f->given->next = next;
}

void
spool_file_note_lost(struct spool_file *f, uint64_t lost)
{
	if (lost == f->lost)
		return;
	f->lost = lost;
	/* a count, not data: a count that cannot be written is forgotten */
	(void)state_write(f, false);
}

/* --- reading --- */

static void
read_stop(struct spool_file *f)
{
	if (f->read_fd >= 0)
		close(f->read_fd);
	f->read_fd = -1;
	f->reading = NULL;
	f->buf_at = f->buf_len = 0;
	f->current.seq = 0;
}

static int
read_start(struct spool_file *f, const struct segment *s)
{
	char name[NAME_BYTES];

	read_stop(f);
	segment_name(name, s->first);
	if ((f->read_fd = openat(f->dir_fd, name, O_RDONLY | SPOOL_OPEN)) < 0)
		return NW_EIO;
	f->reading = s;
	f->read_at = 0;
	f->read_seq = s->first;
	return NW_OK;
}

/* n bytes in the buffer. NW_ENOTFOUND: the file ends before. */
static int
read_need(struct spool_file *f, size_t n)
{
	uint8_t *buf;
	ssize_t got;

	if (f->buf_len - f->buf_at >= n)
		return NW_OK;
	memmove(f->buf, f->buf + f->buf_at, f->buf_len - f->buf_at);
	f->buf_len -= f->buf_at;
	f->buf_at = 0;
	if (n > f->buf_cap) {
		if ((buf = realloc(f->buf, n)) == NULL)
			return NW_ENOMEM;
		f->buf = buf;
		f->buf_cap = n;
	}
	while (f->buf_len < n) {
		got = pread(
		    f->read_fd, f->buf + f->buf_len, f->buf_cap - f->buf_len, (off_t)f->read_at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return NW_EIO;
		if (got == 0)
			return NW_ENOTFOUND;
		f->buf_len += (size_t)got;
		f->read_at += (uint64_t)got;
	}
	return NW_OK;
}

/* Reads the next record. NW_ENOTFOUND: no whole record follows. NW_ECORRUPT: the bytes are no
 * record. */
static int
read_record(struct spool_file *f, struct record *r)
{
	const uint8_t *p;
	size_t len;
	int rc;

	if ((rc = read_need(f, RECORD_HEADER_BYTES)) < 0)
		return rc;
	len = get_le(f->buf + f->buf_at, 4);
	if (len == 0 || len > PAYLOAD_MAX_BYTES)
		return NW_ECORRUPT;
	if ((rc = read_need(f, RECORD_HEADER_BYTES + len)) < 0)
		return rc;
	p = f->buf + f->buf_at;
	if (get_le(p + 4, 4) != spool_file_crc(p + 8, RECORD_HEADER_BYTES - 8 + len, 0))
		return NW_ECORRUPT;
	*r = (struct record){ .seq = get_le(p + 8, 8),
		.t_wall_ns = (int64_t)get_le(p + 16, 8),
		.opt = (uint16_t)get_le(p + 24, 2),
		.payload = p + RECORD_HEADER_BYTES,
		.len = len };
	f->buf_at += RECORD_HEADER_BYTES + len;
	return NW_OK;
}

/* The segment with the lowest number from seq on. */
static const struct segment *
segment_from(const struct spool_file *f, uint64_t seq)
{
	const struct segment *s;

	TAILQ_FOREACH(s, &f->segments, link)
	if (s->last >= seq)
		break;
	return s;
}

int
spool_file_get(struct spool_file *f, uint64_t seq, struct spool_view *out)
{
	const struct segment *s;
	struct record r;
	int rc;

	if (seq != 0 && f->current.seq == seq) {
		*out = f->current;
		return NW_OK;
	}
	for (; (s = segment_from(f, seq)) != NULL; seq = s->last + 1) {
		rc = s == f->reading && f->read_seq <= seq ? NW_OK : read_start(f, s);
		while (rc == NW_OK && (rc = read_record(f, &r)) == NW_OK) {
			if (r.seq == 0)
				continue;
			f->read_seq = r.seq + 1;
			if (r.seq < seq)
				continue;
			f->current = (struct spool_view){
				.seq = r.seq, .opt = r.opt, .bytes = r.payload, .len = r.len
			};
			*out = f->current;
			return NW_OK;
		}
		read_stop(f); /* damaged since the write: the rest of the segment is lost */
	}
	return NW_ENOTFOUND;
}

uint64_t
spool_file_count(const struct spool_file *f, uint64_t from, uint64_t to)
{
	const struct segment *s;
	uint64_t n = 0, lo, hi;

	TAILQ_FOREACH(s, &f->segments, link)
	{
		if (s->tells_loss)
			continue;
		lo = s->first > from ? s->first : from;
		hi = s->last < to ? s->last : to;
		n += lo <= hi ? hi - lo + 1 : 0;
	}
	return n;
}

uint64_t
spool_file_first_seq(const struct spool_file *f)
{
	return TAILQ_EMPTY(&f->segments) ? 0 : TAILQ_FIRST(&f->segments)->first;
}

uint64_t
spool_file_bytes(const struct spool_file *f)
{
	return f->bytes;
}

/* --- writing --- */

static void
write_stop(struct spool_file *f)
{
	if (f->write_fd >= 0)
		close(f->write_fd);
	f->write_fd = -1;
}

static void
segment_drop(struct spool_file *f, struct segment *s)
{
	char name[NAME_BYTES];

	if (f->reading == s)
		read_stop(f);
	if (TAILQ_NEXT(s, link) == NULL)
		write_stop(f);
	segment_name(name, s->first);
	unlinkat(f->dir_fd, name, 0);
	TAILQ_REMOVE(&f->segments, s, link);
	f->bytes -= s->bytes;
	free(s);
}

static struct segment *
segment_add(struct spool_file *f, uint64_t first)
{
	struct segment *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->first = first;
	s->last = first - 1;
	TAILQ_INSERT_TAIL(&f->segments, s, link);
	return s;
}

/* Writes one record of up to three pieces, whole or not at all. */
static int
record_write(
    struct spool_file *f, struct segment *s, const struct record *r, struct iovec *pieces, int n)
{
	uint8_t head[RECORD_HEADER_BYTES] = { 0 };
	struct iovec v[4] = { { head, sizeof(head) } };
	size_t len = sizeof(head);
	uint32_t crc;
	int i;

	put_le(head, r->len, 4);
	put_le(head + 8, r->seq, 8);
	put_le(head + 16, (uint64_t)r->t_wall_ns, 8);
	put_le(head + 24, r->opt, 2);
	crc = spool_file_crc(head + 8, sizeof(head) - 8, 0);
	for (i = 0; i < n; i++) {
		crc = spool_file_crc(pieces[i].iov_base, pieces[i].iov_len, crc);
		len += pieces[i].iov_len;
		v[i + 1] = pieces[i];
	}
	put_le(head + 4, crc, 4);
	if (writev(f->write_fd, v, n + 1) != (ssize_t)len) {
		if (ftruncate(f->write_fd, (off_t)s->bytes) != 0)
			/* the reader will stop here; later records go to a new file */
			write_stop(f);
		return NW_EIO;
	}
	s->bytes += len;
	f->bytes += len;
	return NW_OK;
}

/* Writes the metadata that the file does not have yet. */
static int
metas_write(struct spool_file *f, struct segment *s)
{
	struct meta_entry *m;
	struct record r = { .opt = NW_OPT_META };
	int rc = NW_OK;

	if (f->metas_written == f->metas->serial)
		return NW_OK;
	TAILQ_FOREACH(m, &f->metas->entries, link)
	{
		struct iovec v[3] = { { m->id, strlen(m->id) + 1 },
			{ m->event_type, strlen(m->event_type) + 1 }, { m->bytes, m->len } };

		if (m->serial <= f->metas_written)
			continue;
		r.len = v[0].iov_len + v[1].iov_len + v[2].iov_len;
		if ((rc = record_write(f, s, &r, v, 3)) < 0)
			return rc;
	}
	f->metas_written = f->metas->serial;
	return rc;
}

/* The segment for document seq. NULL: the disk or memory are short. */
static struct segment *
segment_for(struct spool_file *f, uint64_t seq)
{
	struct segment *s = TAILQ_LAST(&f->segments, segment_list);
	char name[NAME_BYTES];

	if (f->write_fd >= 0 && s->last + 1 == seq && s->bytes < f->bytes_max / SEGMENTS_OF_LIMIT)
		return s;
	write_stop(f);
	segment_name(name, seq);
	f->write_fd =
	    openat(f->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | SPOOL_OPEN, 0600);
	if (f->write_fd < 0)
		return NULL;
	f->metas_written = 0;
	if ((s = segment_add(f, seq)) == NULL) {
		write_stop(f);
		unlinkat(f->dir_fd, name, 0);
	}
	return s;
}

int
spool_file_put(struct spool_file *f, uint64_t seq, uint16_t opt, int64_t t_wall_ns,
    const uint8_t *bytes, size_t len)
{
	const struct record r = { .seq = seq, .t_wall_ns = t_wall_ns, .opt = opt, .len = len };
	struct segment *s = segment_for(f, seq);
	struct iovec v = { (void *)(uintptr_t)bytes, len };
	int rc;

	if (s == NULL)
		return NW_EIO;
	if ((rc = metas_write(f, s)) == NW_OK && (rc = record_write(f, s, &r, &v, 1)) == NW_OK) {
		s->last = seq;
		if (t_wall_ns > s->newest_wall_ns)
			s->newest_wall_ns = t_wall_ns;
	} else if (s->last < s->first) {
		segment_drop(f, s); /* a segment without documents */
	}
	return rc;
}

/* --- limits --- */

void
spool_file_release(struct spool_file *f, uint64_t seq)
{
	struct segment *s;

	while ((s = TAILQ_FIRST(&f->segments)) != NULL && s->last <= seq)
		segment_drop(f, s);
}

uint64_t
spool_file_overdue(const struct spool_file *f, int64_t t_wall_ns)
{
	const struct segment *s = TAILQ_FIRST(&f->segments);

	return s != NULL && (f->bytes > f->bytes_max || s->newest_wall_ns < t_wall_ns) ? s->last
										       : 0;
}

/* --- open and close --- */

static int
meta_recover(struct spool_file *f, const struct record *r)
{
	const char *id = (const char *)r->payload, *end = id + r->len, *type, *doc;
	const char *nul = memchr(id, 0, r->len);

	if (nul == NULL || nul == id || (type = nul + 1) == end ||
	    (nul = memchr(type, 0, (size_t)(end - type))) == NULL)
		return NW_ECORRUPT;
	doc = nul + 1;
	return meta_table_put(f->metas, id, type, (const uint8_t *)doc, (size_t)(end - doc));
}

/* Reads everything in a file that checks. A file without documents is removed. */
static int
segment_recover(struct spool_file *f, uint64_t first)
{
	struct segment *s = segment_add(f, first);
	struct record r;
	uint64_t good = 0;
	int rc;

	if (s == NULL)
		return NW_ENOMEM;
	if ((rc = read_start(f, s)) < 0)
		return rc;
	while ((rc = read_record(f, &r)) == NW_OK) {
		if (r.seq == 0) {
			if ((rc = meta_recover(f, &r)) != NW_OK && rc != NW_EFULL)
				break;
		} else if (r.seq != s->last + 1) {
			rc = NW_ECORRUPT;
			break;
		} else {
			s->last = r.seq;
			s->tells_loss = r.opt == NW_OPT_LOST;
			if (r.t_wall_ns > s->newest_wall_ns)
				s->newest_wall_ns = r.t_wall_ns;
		}
		good = f->read_at - (f->buf_len - f->buf_at);
	}
	read_stop(f);
	s->bytes = good;
	f->bytes += good;
	if (s->last < s->first)
		segment_drop(f, s);
	return rc == NW_ENOTFOUND || rc == NW_ECORRUPT ? NW_OK : rc;
}

static int
is_segment(const struct dirent *e)
{
	return strlen(e->d_name) == 20 && strspn(e->d_name, "0123456789abcdef") == 16 &&
	    strcmp(e->d_name + 16, ".seg") == 0;
}

static int
segments_recover(struct spool_file *f)
{
	struct dirent **list = NULL;
	const struct segment *last;
	uint64_t first;
	int n = scandirat(f->dir_fd, ".", &list, is_segment, alphasort), i,
	    rc = n < 0 ? NW_EIO : NW_OK;

	for (i = 0; i < n; i++) {
		first = strtoull(list[i]->d_name, NULL, 16);
		last = TAILQ_LAST(&f->segments, segment_list);
		/* numbers rise from file to file: nothing of ours says otherwise */
		if (rc == NW_OK && first > (last != NULL ? last->last : 0))
			rc = segment_recover(f, first);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* Puts the numbers that the killed life gave, and that no file has, behind its documents: a file of
 * their own. */
static void
losses_tell(struct spool_file *f)
{
	const struct segment *last = TAILQ_LAST(&f->segments, segment_list);
	struct spool_given *g = f->given = spool_given_open(f->dir_fd);
	struct nw_kv kv[] = { { .key = "first", .type = NW_KV_INT },
		{ .key = "task_id", .type = NW_KV_TEXT } };
	struct nw_doc_buf doc = { 0 };
	uint64_t seq;

	if (g == NULL)
		return;
	seq = g->next - 1;
	if (last != NULL && g->first <= last->last)
		g->first = last->last + 1;
	if (g->first < g->next && g->next <= f->life << LIFE_SHIFT) {
		kv[0].v.i = (int64_t)g->first;
		kv[1].v.text = g->task_id[0] != '\0' ? g->task_id : NULL;
		if (nw_kv_encode(&doc, kv, 2) < 0 ||
		    spool_file_put(f, seq, NW_OPT_LOST, nw_wall_ns(), doc.data, doc.len) < 0)
			goto out; /* the next life tries again */
		TAILQ_LAST(&f->segments, segment_list)->tells_loss = true;
		write_stop(f);
	}
	g->first = g->next = 0;
	g->task_id[0] = '\0';
out:
	nw_doc_buf_clear(&doc);
}

static int
directory_take(struct spool_file *f, const char *dir)
{
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return NW_EIO;
	if ((f->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
	    (f->lock_fd = openat(f->dir_fd, "lock", O_RDWR | O_CREAT | SPOOL_OPEN, 0600)) < 0)
		return NW_EIO;
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? NW_ECONFLICT : NW_EIO;
	return NW_OK;
}

void
spool_file_close(struct spool_file *f)
{
	struct segment *s;

	if (f == NULL)
		return;
	read_stop(f);
	write_stop(f);
	spool_given_close(f->given);
	if (f->temporary && TAILQ_EMPTY(&f->segments) && f->lost == 0) {
		unlinkat(f->dir_fd, "state", 0);
		unlinkat(f->dir_fd, "given", 0);
		unlinkat(f->dir_fd, "lock", 0);
		rmdir(f->dir);
	}
	while ((s = TAILQ_FIRST(&f->segments)) != NULL) {
		TAILQ_REMOVE(&f->segments, s, link);
		free(s);
	}
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	free(f->dir);
	free(f->buf);
	free(f);
}

int
spool_file_open(const char *dir, const char *new_uuid, uint64_t bytes_max, struct meta_table *metas,
    struct spool_file **out, struct spool_past *past)
{
	struct spool_file *f = calloc(1, sizeof(*f));
	int rc = NW_OK;

	if (f == NULL)
		return NW_ENOMEM;
	TAILQ_INIT(&f->segments);
	f->dir_fd = f->lock_fd = f->read_fd = f->write_fd = -1;
	f->bytes_max = bytes_max;
	f->metas = metas;
	f->buf_cap = READ_BYTES;
	snprintf(f->uuid, sizeof(f->uuid), "%s", new_uuid);
	if ((f->buf = malloc(f->buf_cap)) == NULL || (f->dir = strdup(dir)) == NULL)
		rc = NW_ENOMEM;
	else if ((rc = directory_take(f, dir)) == NW_OK && (rc = state_read(f)) == NW_OK) {
		f->life++;
		if ((rc = state_write(f, true)) == NW_OK && (rc = segments_recover(f)) == NW_OK)
			losses_tell(f);
	}
	if (rc < 0) {
		spool_file_close(f);
		return rc;
	}
	memcpy(past->uuid, f->uuid, sizeof(past->uuid));
	past->first_seq = (f->life << LIFE_SHIFT) + 1;
	past->lost = f->lost;
	*out = f;
	return NW_OK;
}

void
spool_file_set_temporary(struct spool_file *f)
{
	f->temporary = true;
}
