/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory behind a queue: what was written is read by the next life, damage and limits cost
 * only what they must. */
#include "host/lib/spool_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "host/lib/meta_table.h"
#include "narrows/err.h"
#include "narrows/frame.h"

static char dir[64];
static const char uuid[] = "00000000-0000-4000-8000-000000000001";

struct life {
	struct spool_file *file;
	struct meta_table metas;
	struct spool_past past;
};

static int
life_begin(struct life *l, uint64_t bytes_max)
{
	memset(l, 0, sizeof(*l));
	meta_table_init(&l->metas, 1 << 20);
	return spool_file_open(dir, uuid, bytes_max, &l->metas, &l->file, &l->past);
}

/* As kill -9 would: nothing is said on the way out. */
static void
life_end(struct life *l)
{
	spool_file_close(l->file);
	meta_table_clear(&l->metas);
}

static void
directory_make(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test_spool.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
}

static void
directory_remove(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	CHECK_INT(system(command), 0);
}

static void
put(struct life *l, uint64_t seq, size_t len)
{
	uint8_t *doc = malloc(len);

	memset(doc, (int)(seq & 0xff), len);
	CHECK_INT(spool_file_put(l->file, seq, seq % 2 ? NW_OPT_DATA : NW_OPT_BATCH,
		      (int64_t)seq * 1000, doc, len),
	    NW_OK);
	free(doc);
}

static void
check_doc(struct life *l, uint64_t seq, size_t len)
{
	struct spool_view v = { 0 };
	size_t i, wrong = 0;

	CHECK_INT(spool_file_get(l->file, seq, &v), NW_OK);
	CHECK_INT(v.seq, seq);
	CHECK_INT(v.len, len);
	CHECK_INT(v.opt, seq % 2 ? NW_OPT_DATA : NW_OPT_BATCH);
	for (i = 0; i < v.len; i++)
		wrong += v.bytes[i] != (seq & 0xff);
	CHECK_INT(wrong, 0);
}

static void
test_crc(void)
{
	CHECK_INT(spool_file_crc((const uint8_t *)"123456789", 9, 0), 0xcbf43926);
}

/* Numbers of a life start anew, ids stay, documents and their metadata come back. */
static void
test_lives(void)
{
	struct spool_view v;
	struct life a, b;
	uint64_t first, i;

	directory_make();
	CHECK_INT(life_begin(&a, 1 << 20), NW_OK);
	first = a.past.first_seq;
	CHECK_STR(a.past.uuid, uuid);
	CHECK_INT(spool_file_first_seq(a.file), 0);
	CHECK_INT(life_begin(&b, 1 << 20), NW_ECONFLICT);
	CHECK_INT(meta_table_put(&a.metas, "m1", "event", (const uint8_t *)"doc-1", 5), NW_OK);
	for (i = 0; i < 50; i++)
		put(&a, first + i, 100 + i);
	CHECK_INT(meta_table_put(&a.metas, "m2", "event", (const uint8_t *)"doc-2", 5), NW_OK);
	for (; i < 100; i++)
		put(&a, first + i, 100 + i);
	for (i = 0; i < 100; i++) /* in order, out of order, twice */
		check_doc(&a, first + i, 100 + i);
	check_doc(&a, first + 7, 107);
	check_doc(&a, first + 7, 107);
	spool_file_note_lost(a.file, 12);
	life_end(&a);

	CHECK_INT(life_begin(&b, 1 << 20), NW_OK);
	CHECK_STR(b.past.uuid, uuid);
	CHECK(b.past.first_seq > first + 100);
	CHECK_INT(b.past.lost, 12);
	CHECK_INT(spool_file_first_seq(b.file), first);
	CHECK_INT(spool_file_count(b.file, 1, UINT64_MAX), 100);
	CHECK_INT(spool_file_count(b.file, first + 90, UINT64_MAX), 10);
	CHECK(!TAILQ_EMPTY(&b.metas.entries));
	CHECK_STR(TAILQ_FIRST(&b.metas.entries)->id, "m1");
	CHECK_STR(TAILQ_LAST(&b.metas.entries, meta_list)->id, "m2");
	CHECK(memcmp(TAILQ_LAST(&b.metas.entries, meta_list)->bytes, "doc-2", 5) == 0);
	put(&b, b.past.first_seq, 10);
	check_doc(&b, first + 99, 199);
	CHECK_INT(spool_file_get(b.file, first + 100, &v), NW_OK);
	CHECK_INT(v.seq, b.past.first_seq);
	CHECK_INT(spool_file_get(b.file, v.seq + 1, &v), NW_ENOTFOUND);
	spool_file_release(b.file, first + 98);
	CHECK_INT(spool_file_first_seq(b.file), first); /* a file goes when all of it is stored */
	spool_file_release(b.file, first + 99);
	CHECK_INT(spool_file_first_seq(b.file), b.past.first_seq);
	spool_file_release(b.file, UINT64_MAX);
	CHECK_INT(spool_file_bytes(b.file), 0);
	put(&b, b.past.first_seq + 1, 10); /* into a new one */
	check_doc(&b, b.past.first_seq + 1, 10);
	life_end(&b);
	directory_remove();
}

/* Cut at every byte of its last records, and with every byte of them changed: what is before
 * stays. */
static void
test_damage(void)
{
	char path[128];
	struct life l;
	struct stat st;
	uint64_t first;
	uint8_t byte;
	int64_t at;
	int fd;

	directory_make();
	CHECK_INT(life_begin(&l, 1 << 20), NW_OK);
	first = l.past.first_seq;
	put(&l, first, 40);
	put(&l, first + 1, 40);
	life_end(&l);
	snprintf(path, sizeof(path), "%s/%016" PRIx64 ".seg", dir, first);
	CHECK_INT(stat(path, &st), 0);
	for (at = st.st_size - 1; at > st.st_size - 68; at--) {
		fd = open(path, O_RDWR);
		CHECK_INT(pread(fd, &byte, 1, at), 1);
		byte ^= 0x20;
		CHECK_INT(pwrite(fd, &byte, 1, at), 1);
		CHECK_INT(life_begin(&l, 1 << 20), NW_OK);
		CHECK_INT(spool_file_count(l.file, 1, UINT64_MAX), 1);
		check_doc(&l, first, 40);
		life_end(&l);
		CHECK_INT(ftruncate(fd, at), 0);
		close(fd);
		CHECK_INT(life_begin(&l, 1 << 20), NW_OK);
		CHECK_INT(spool_file_count(l.file, 1, UINT64_MAX), 1);
		life_end(&l);
	}
	CHECK_INT(truncate(path, 30), 0);
	CHECK_INT(life_begin(&l, 1 << 20), NW_OK);
	CHECK_INT(spool_file_first_seq(l.file), 0);
	CHECK(stat(path, &st) != 0); /* of no use */
	life_end(&l);
	snprintf(path, sizeof(path), "%s/state", dir);
	fd = open(path, O_WRONLY | O_TRUNC);
	CHECK_INT(write(fd, "something else\n", 15), 15);
	close(fd);
	CHECK_INT(life_begin(&l, 1 << 20), NW_ECORRUPT);
	meta_table_clear(&l.metas);
	directory_remove();
}

static void
test_limits(void)
{
	uint64_t first, last, i;
	struct life l;

	directory_make();
	CHECK_INT(life_begin(&l, 64 << 10), NW_OK);
	first = l.past.first_seq;
	CHECK_INT(spool_file_overdue(l.file, INT64_MAX), 0);
	for (i = 0; i < 2000; i++) {
		put(&l, first + i, 100);
		while ((last = spool_file_overdue(l.file, INT64_MIN)) != 0)
			spool_file_release(l.file, last);
		CHECK(spool_file_bytes(l.file) <= (64 << 10) + 4096 + 200);
	}
	CHECK(spool_file_count(l.file, 1, UINT64_MAX) > 400);
	check_doc(&l, first + 1999, 100);
	/* all are older than the one not yet there */
	last = spool_file_overdue(l.file, (int64_t)(first + 2000) * 1000);
	CHECK(last > first && last < first + 1999);
	CHECK_INT(spool_file_overdue(l.file, (int64_t)spool_file_first_seq(l.file) * 1000), 0);
	life_end(&l);
	directory_remove();
}

/* A link or a pipe of somebody else's in the directory is not followed and not waited for. */
static void
test_planted(void)
{
	static const char *const names[] = { "state", "state.new", "given", "lock",
		"0000010000000001.seg" };
	char victim[96], path[128];
	struct life l;
	struct stat st;
	size_t i;
	int fd;

	for (i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
		directory_make();
		snprintf(victim, sizeof(victim), "%s.victim", dir);
		CHECK((fd = open(victim, O_WRONLY | O_CREAT, 0600)) >= 0);
		CHECK_INT(write(fd, "precious", 8), 8);
		close(fd);
		snprintf(path, sizeof(path), "%s/%s", dir, names[i / 2]);
		CHECK_INT(i % 2 == 0 ? symlink(victim, path) : mkfifo(path, 0600), 0);
		if (life_begin(&l, 1 << 20) == NW_OK)
			put(&l, l.past.first_seq, 100);
		life_end(&l);
		CHECK_INT(stat(victim, &st), 0);
		CHECK_INT(st.st_size, 8);
		unlink(victim);
		directory_remove();
	}
}

int
main(void)
{
	test_crc();
	test_lives();
	test_damage();
	test_limits();
	test_planted();
	return check_done("spool_file");
}
