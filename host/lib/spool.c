/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/spool.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

#define SECOND_NS     INT64_C(1000000000)
#define FILE_AFTER_NS (2 * SECOND_NS) /* longer than a healthy box takes to say stored */
#define RETRY_NS      SECOND_NS

static uint64_t
cost_bytes(size_t len)
{
	return sizeof(struct spool_doc) + len;
}

void
spool_init(struct spool *s, uint64_t bytes_max)
{
	memset(s, 0, sizeof(*s));
	STAILQ_INIT(&s->docs);
	s->cursor = s->next_seq = 1;
	s->bytes_max = bytes_max;
}

void
spool_attach(
    struct spool *s, struct spool_file *file, const struct spool_past *past, int64_t age_max_ns)
{
	s->file = file;
	s->age_max_ns = age_max_ns;
	s->next_seq = past->first_seq;
	s->stored_seq = 0;
	s->lost = past->lost;
	s->cursor = spool_first_seq(s);
}

static void
remove_oldest(struct spool *s)
{
	struct spool_doc *d = STAILQ_FIRST(&s->docs);

	if (s->unsent == d)
		s->unsent = STAILQ_NEXT(d, link);
	if (s->unfiled == d)
		s->unfiled = STAILQ_NEXT(d, link);
	STAILQ_REMOVE_HEAD(&s->docs, link);
	s->bytes -= cost_bytes(d->len);
	free(d);
}

void
spool_clear(struct spool *s)
{
	while (!STAILQ_EMPTY(&s->docs))
		remove_oldest(s);
	spool_file_close(s->file);
	s->file = NULL;
}

static uint64_t
memory_first_seq(const struct spool *s)
{
	return STAILQ_EMPTY(&s->docs) ? s->next_seq : STAILQ_FIRST(&s->docs)->seq;
}

uint64_t
spool_first_seq(const struct spool *s)
{
	uint64_t in_file = s->file != NULL ? spool_file_first_seq(s->file) : 0;

	return in_file != 0 && in_file < memory_first_seq(s) ? in_file : memory_first_seq(s);
}

/* Documents in memory that are in no file would die with the process, without a word. */
static void
note_given(const struct spool *s)
{
	if (s->file != NULL)
		spool_file_note_given(
		    s->file, s->unfiled != NULL ? s->unfiled->seq : s->next_seq, s->next_seq);
}

/* --- too much --- */

static void
count_lost(struct spool *s, uint64_t n)
{
	s->lost += n;
	s->dropped += n;
	if (s->cursor < spool_first_seq(s))
		s->cursor = spool_first_seq(s);
}

/* Writes the documents that are in memory only. NW_EIO: some are not written. */
static int
file_all(struct spool *s)
{
	const struct spool_doc *d;
	int rc = NW_OK;

	if (s->file == NULL)
		return NW_EIO;
	while (rc == NW_OK && (d = s->unfiled) != NULL)
		if ((rc = spool_file_put(
			 s->file, d->seq, d->opt, d->t_wall_ns, d->bytes, d->len)) == NW_OK)
			s->unfiled = STAILQ_NEXT(d, link);
	return rc;
}

/* Drops the files over the limits, oldest first; documents that are in memory as well are not
 * lost. */
static void
trim_file(struct spool *s, int64_t oldest_wall_ns)
{
	uint64_t last, lost;

	while (s->file != NULL && (last = spool_file_overdue(s->file, oldest_wall_ns)) != 0) {
		lost = last < memory_first_seq(s) ? last : memory_first_seq(s) - 1;
		lost = spool_file_count(s->file, s->stored_seq + 1, lost);
		spool_file_release(s->file, last);
		if (lost > 0) {
			count_lost(s, lost);
			spool_file_note_lost(s->file, s->lost);
		}
	}
}

static void
file_waiting(struct spool *s, int64_t now_mono_ns)
{
	if (s->file == NULL || s->unfiled == NULL || now_mono_ns < s->retry_mono_ns)
		return;
	if (file_all(s) < 0)
		s->retry_mono_ns = now_mono_ns + RETRY_NS;
	trim_file(s, INT64_MIN);
}

static void
make_room(struct spool *s, uint64_t bytes, int64_t now_mono_ns)
{
	const struct spool_doc *d;

	if (s->bytes + bytes > s->bytes_max / 2)
		file_waiting(s, now_mono_ns);
	while (s->bytes + bytes > s->bytes_max) {
		d = STAILQ_FIRST(&s->docs);
		if (s->file == NULL || d == s->unfiled) {
			remove_oldest(s);
			count_lost(s, 1);
		} else {
			remove_oldest(s);
		}
	}
}

static void
drop_old(struct spool *s, int64_t oldest_wall_ns)
{
	const struct spool_doc *d;

	trim_file(s, oldest_wall_ns);
	while ((d = STAILQ_FIRST(&s->docs)) != NULL && d->t_wall_ns < oldest_wall_ns) {
		bool filed = s->file != NULL && spool_file_count(s->file, d->seq, d->seq) > 0;

		remove_oldest(s);
		if (!filed)
			count_lost(s, 1);
	}
}

void
spool_tick(struct spool *s, int64_t now_wall_ns, int64_t now_mono_ns)
{
	if (s->unfiled != NULL && now_mono_ns - s->unfiled->t_mono_ns >= FILE_AFTER_NS)
		file_waiting(s, now_mono_ns);
	if (s->age_max_ns > 0)
		drop_old(s, now_wall_ns - s->age_max_ns);
	note_given(s);
}

void
spool_save(struct spool *s)
{
	(void)file_all(s);
	trim_file(s, INT64_MIN);
	if (s->file != NULL)
		spool_file_note_lost(s->file, s->lost);
	note_given(s);
}

/* --- in and out --- */

int
spool_put(struct spool *s, uint16_t opt, const uint8_t *bytes, size_t len, int64_t now_wall_ns,
    int64_t now_mono_ns)
{
	struct spool_doc *d;

	if (len > UINT32_MAX || cost_bytes(len) > s->bytes_max)
		return NW_ETOOBIG;
	if ((d = malloc(sizeof(*d) + len)) == NULL)
		return NW_ENOMEM;
	make_room(s, cost_bytes(len), now_mono_ns);
	d->seq = s->next_seq++;
	d->t_wall_ns = now_wall_ns;
	d->t_mono_ns = now_mono_ns;
	d->opt = opt;
	d->len = (uint32_t)len;
	memcpy(d->bytes, bytes, len);
	STAILQ_INSERT_TAIL(&s->docs, d, link);
	s->bytes += cost_bytes(len);
	if (s->unsent == NULL)
		s->unsent = d;
	if (s->unfiled == NULL && s->file != NULL)
		s->unfiled = d;
	note_given(s);
	return NW_OK;
}

int
spool_peek(struct spool *s, struct spool_view *out)
{
	const struct spool_doc *d = s->unsent;
	uint64_t memory_seq = d != NULL ? d->seq : s->next_seq;

	if (s->cursor < memory_seq && s->file != NULL &&
	    spool_file_get(s->file, s->cursor, out) == NW_OK && out->seq < memory_seq) {
		s->cursor = out->seq;
		return NW_OK;
	}
	s->cursor = memory_seq;
	if (d == NULL)
		return NW_ENOTFOUND;
	*out =
	    (struct spool_view){ .seq = d->seq, .opt = d->opt, .bytes = d->bytes, .len = d->len };
	return NW_OK;
}

void
spool_advance(struct spool *s)
{
	if (s->unsent != NULL && s->unsent->seq == s->cursor)
		s->unsent = STAILQ_NEXT(s->unsent, link);
	s->cursor++;
}

void
spool_rewind(struct spool *s)
{
	s->unsent = STAILQ_FIRST(&s->docs);
	s->cursor = spool_first_seq(s);
}

void
spool_skip_all(struct spool *s)
{
	s->unsent = NULL;
	s->cursor = s->next_seq;
}

uint64_t
spool_release(struct spool *s, uint64_t seq)
{
	uint64_t n = 0, first = memory_first_seq(s);

	if (seq <= s->stored_seq)
		return 0;
	if (s->file != NULL) {
		n = spool_file_count(s->file, s->stored_seq + 1, seq < first ? seq : first - 1);
		spool_file_release(s->file, seq);
	}
	for (; !STAILQ_EMPTY(&s->docs) && STAILQ_FIRST(&s->docs)->seq <= seq; n++)
		remove_oldest(s);
	s->stored_seq = seq;
	if (s->cursor <= seq)
		s->cursor = seq + 1 < s->next_seq ? seq + 1 : s->next_seq;
	if (n > 0 && s->lost > 0) { /* the box has a document from behind the gap: it knows */
		s->lost = 0;
		if (s->file != NULL)
			spool_file_note_lost(s->file, 0);
	}
	note_given(s);
	return n;
}
