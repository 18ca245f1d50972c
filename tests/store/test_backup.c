/* SPDX-License-Identifier: BSD-3-Clause */
/* A backup under load is one moment of the store; restore puts it back, or leaves everything as it
 * was. */
#include "narrows/maintenance.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/faults.h"

static char dir[] = "/dev/shm/nw-backup-XXXXXX";
static char path[64], copy[64], kept[STORE_WHY_BYTES], why[STORE_WHY_BYTES];

static struct store *
open_store(void)
{
	struct store *st = NULL;

	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	if (st == NULL) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return st;
}

static void
put_rows(struct nw_batch *b, int64_t first, int64_t n)
{
	int64_t i;

	for (i = first; i < first + n; i++)
		CHECK_INT(
		    nw_batch_rows(b, 1, 2, 1, &i, (double[]){ (double)i, 0.5 }, NULL, 0), NW_OK);
}

static void
make(int64_t n_rows)
{
	struct nw_batch *b = nw_batch_new();
	struct store *st = open_store();

	CHECK_INT(nw_batch_session(b, &(struct nw_session_rec){ .id = 1 }), NW_OK);
	CHECK_INT(nw_batch_meta(b, &(struct nw_meta_rec){ .id = 1, .session_id = 1 }), NW_OK);
	CHECK_INT(nw_batch_layout(
		      b, &(struct nw_layout_rec){ 1, 1, 2, (const char *const[]){ "a", "b" } }),
	    NW_OK);
	put_rows(b, 1, n_rows);
	CHECK_INT(store_submit(st, b), NW_OK);
	store_close(st);
}

struct seen {
	int64_t n, last;
};

static int
on_block(void *arg, const struct store_block *k)
{
	struct seen *s = arg;
	size_t i;

	for (i = 0; i < k->n_rows; i++) {
		CHECK_INT(k->t_wall_ns[i], s->last + 1);
		s->last = k->t_wall_ns[i];
		s->n++;
	}
	return 0;
}

/* How many rows a file has, which must be the first ones. -1: it is none of ours. */
static int64_t
rows_of(const char *file)
{
	struct seen s = { 0, 0 };
	struct store_reader *r;

	if (store_reader_open(file, &r, why) != NW_OK)
		return -1;
	CHECK_INT(store_rows(r, 1, INT64_MIN, INT64_MAX, on_block, &s), NW_OK);
	store_reader_close(r);
	return s.n;
}

/* --- under load --- */

static atomic_bool stop;
static atomic_int_least64_t acked;

static void
on_done(void *arg, int rc)
{
	CHECK_INT(rc, NW_OK);
	atomic_fetch_add(&acked, *(int64_t *)arg);
}

static void *
load(void *arg)
{
	struct store *st = arg;
	static int64_t n = 50;
	int64_t at = 20001;
	struct nw_batch *b;

	while (!atomic_load(&stop)) {
		b = nw_batch_new();
		put_rows(b, at, n);
		nw_batch_on_done(b, on_done, &n);
		if (store_submit(st, b) != NW_OK) {
			nw_batch_free(b);
			continue;
		}
		at += n;
		usleep(500);
		store_run_completions(st);
	}
	return NULL;
}

/* Takes its time over the first steps, so that commits come in between. */
static int
slowly(void *arg, const char *doing, uint64_t done, uint64_t total)
{
	int *n = arg;

	CHECK(done <= total);
	if (strcmp(doing, "copying") == 0 && (*n)++ < 5)
		usleep(50000);
	return 0;
}

static void
test_load(void)
{
	const struct store_opts opts = { .queue_max_bytes = 1 << 20,
		.commit_interval_ns = 1000000 };
	int steps = 0;
	struct store_watch watch = { .progress = slowly, .arg = &steps };
	int64_t n, before, after;
	struct store *st;
	pthread_t thread;

	make(20000);
	CHECK_INT(store_open(path, &opts, &st, why), NW_OK);
	CHECK_INT(pthread_create(&thread, NULL, load, st), 0);
	while (atomic_load(&acked) < 1000)
		usleep(1000);
	before = atomic_load(&acked);
	CHECK_INT(store_backup(path, copy, false, &watch, why), NW_OK);
	after = atomic_load(&acked);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	store_close(st);
	CHECK(steps > 0);
	CHECK(after > before);
	n = rows_of(copy);
	CHECK(n >= 20000 + before);
	CHECK(n < rows_of(path));
}

/* --- what it refuses --- */

static bool
is_there(const char *file)
{
	return access(file, F_OK) == 0;
}

static int
never(void *arg, const char *doing, uint64_t done, uint64_t total)
{
	(void)doing, (void)done, (void)total;
	return ++*(int *)arg > 1;
}

static void
test_backup_refusals(void)
{
	char other[80], part[80], command[400];
	struct stat sb;
	int n = 0;

	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(part, sizeof(part), "%s.part", copy);
	CHECK_INT(chmod(path, 0600), 0);
	CHECK_INT(store_backup(path, copy, false, NULL, why), NW_ECONFLICT);
	CHECK_STR(why, "there is such a file");
	/* of backups that were interrupted, and of whatever was there before: SQLite would take
	 * them for parts of this one */
	snprintf(command, sizeof(command),
	    "for e in -wal -journal; do for f in %s %s; do echo stale >$f$e; done; done", copy,
	    part);
	CHECK_INT(system(command), 0);
	CHECK_INT(store_backup(path, copy, true, NULL, why), NW_OK);
	snprintf(command, sizeof(command), "ls %s | grep -q -e copy- -e part", dir);
	CHECK(system(command) != 0);
	CHECK_INT(stat(copy, &sb), 0);
	CHECK_INT(sb.st_mode & 0777, 0600);
	CHECK_INT(store_backup(path, path, true, NULL, why), NW_ECONFLICT);
	CHECK_STR(why, "this is the store itself");
	CHECK_INT(store_backup(path, "/nowhere/at/all", false, NULL, why), NW_EIO);
	CHECK_INT(store_backup(other, copy, true, NULL, why), NW_ENOTFOUND);
	CHECK_INT(store_backup(path, other, false,
		      &(struct store_watch){ .progress = never, .arg = &n }, why),
	    NW_ECLOSED);
	CHECK_STR(why, "interrupted");
	CHECK(!is_there(other));
	CHECK(!is_there(part));
}

static void
flip(const char *file, const char *sql)
{
	sqlite3 *db;

	CHECK_INT(sqlite3_open(file, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	CHECK(sqlite3_total_changes(db) > 0);
	sqlite3_close(db);
}

static void
test_restore(void)
{
	char bad[80];
	struct store *st;
	int64_t n = rows_of(copy), was = rows_of(path);

	snprintf(bad, sizeof(bad), "%s/bad", dir);
	CHECK(n > 0 && was > 0);
	CHECK_INT(store_backup(copy, bad, false, NULL, why), NW_OK); /* a copy of a copy */
	flip(bad,
	    "UPDATE chunk SET data = CAST(substr(data, 1, length(data) - 1) AS BLOB) WHERE id = 1");
	CHECK_INT(store_restore(copy, path, false, NULL, kept, why), NW_ECONFLICT);
	CHECK_STR(why, "there is a store");
	CHECK_STR(kept, "");
	CHECK_INT(store_restore(bad, path, true, NULL, kept, why), NW_ECORRUPT);
	CHECK_STR(why, "it is damaged: 2 faults");
	CHECK_INT(rows_of(path), was);
	st = open_store();
	CHECK_INT(store_restore(copy, path, true, NULL, kept, why), NW_ECONFLICT);
	CHECK_STR(why, "in use by another process");
	store_close(st);
	CHECK_INT(rows_of(path), was);
	CHECK_INT(store_restore(copy, path, true, NULL, kept, why), NW_OK);
	CHECK_INT(rows_of(path), n);
	CHECK_INT(rows_of(kept), was);
	st = open_store();
	store_close(st);
	unlink(kept);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(store_restore(copy, path, false, NULL, kept, why), NW_OK);
	CHECK_STR(kept, "");
	CHECK_INT(rows_of(path), n);
	unlink(bad);
}

/* The store of before was killed: the rows of the WAL are kept. */
static void
test_restore_wal(void)
{
	char command[400];
	int64_t n = rows_of(copy), was = rows_of(path);
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	struct store_reader *r;

	/* keeps the last checkpoint from ending the WAL */
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	st = open_store();
	put_rows(b, was + 1, 100);
	CHECK_INT(store_submit(st, b), NW_OK);
	CHECK_INT(store_sync(st), NW_OK);
	snprintf(command, sizeof(command),
	    "mkdir %s/crashed && cp %s %s-wal %s/crashed && cp %s-wal %s/stale", dir, path, path,
	    dir, path, dir);
	CHECK_INT(system(command), 0);
	store_reader_close(r);
	store_close(st);
	snprintf(command, sizeof(command), "%s/crashed/narrows.db", dir);
	CHECK_INT(store_restore(copy, command, true, NULL, kept, why), NW_OK);
	CHECK_INT(rows_of(command), n);
	CHECK_INT(rows_of(kept), was + 100);
	/* and one whose file is gone does no harm to the next */
	CHECK_INT(unlink(command), 0);
	snprintf(command, sizeof(command), "cp %s/stale %s/crashed/narrows.db-wal", dir, dir);
	CHECK_INT(system(command), 0);
	snprintf(command, sizeof(command), "%s/crashed/narrows.db", dir);
	CHECK_INT(store_restore(copy, command, false, NULL, kept, why), NW_OK);
	CHECK_STR(kept, "");
	CHECK_INT(rows_of(command), n);
	snprintf(command, sizeof(command),
	    "test ! -e %s/crashed/narrows.db-wal || ! test -s %s/crashed/narrows.db-wal", dir, dir);
	CHECK_INT(system(command), 0);
}

/* --- the Nth allocation, write, sync, rename or link fails --- */

static struct {
	long at, seen;
	bool for_ever;
} name_fault;

static bool
name_fails(void)
{
	if (!fails(&name_fault.seen, name_fault.at, name_fault.for_ever))
		return false;
	errno = EIO;
	return true;
}

#pragma GCC visibility push(default)
int
fsync(int fd)
{
	return name_fails() ? -1 : (int)syscall(SYS_fsync, fd);
}

int
rename(const char *from, const char *to)
{
	return name_fails() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
renameat2(int dir1, const char *from, int dir2, const char *to, unsigned flags)
{
	return name_fails() ? -1 : (int)syscall(SYS_renameat2, dir1, from, dir2, to, flags);
}

int
link(const char *from, const char *to)
{
	return name_fails() ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
#pragma GCC visibility pop

/* The files of the working directory, without those that SQLite makes for readers. */
static void
start_over(const char *old, const char *new, int64_t n_old, int64_t n_new)
{
	char command[400];

	snprintf(
	    command, sizeof(command), "rm -f %s* %s/target* && cp %s %s", path, dir, old, path);
	CHECK_INT(system(command), 0);
	CHECK_INT(rows_of(path), n_old);
	CHECK_INT(rows_of(new), n_new);
}

/* Whatever fails: there is the old file or the new one, whole, and nothing half made beside it. */
static void
test_faults(const char *what, long *at, long *seen, bool *for_ever, bool ever, long stride)
{
	char old[80], new[80], target[80], part[96], command[400];
	int64_t n_old, n_new, n;
	long i, n_failed = 0;
	int rc, backup, restore;

	snprintf(old, sizeof(old), "%s/old", dir);
	snprintf(new, sizeof(new), "%s/copy", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	snprintf(part, sizeof(part), "%s.part", path);
	snprintf(command, sizeof(command), "rm -f %s*", path);
	CHECK_INT(system(command), 0);
	make(1500);
	unlink(old);
	CHECK_INT(store_backup(path, old, true, NULL, why), NW_OK);
	n_old = rows_of(old);
	n_new = rows_of(new);
	CHECK(n_old != n_new);
	*for_ever = ever;
	for (i = 1; i < 100000; i += stride) {
		start_over(old, new, n_old, n_new);
		*seen = 0;
		*at = i;
		backup = store_backup(path, target, false, NULL, why);
		*at = 0;
		CHECK(backup == NW_OK ? rows_of(target) == n_old
				      : !is_there(target) || rows_of(target) == n_old);
		CHECK(rows_of(path) == n_old);
		rc = *seen < i;
		*seen = 0;
		*at = i;
		restore = store_restore(new, path, true, NULL, kept, why);
		*at = 0;
		n = rows_of(path);
		CHECK(restore == NW_OK ? n == n_new : n == n_old || n == n_new);
		CHECK(kept[0] == '\0' || !is_there(kept) || rows_of(kept) == n_old);
		CHECK(!is_there(part));
		n_failed += backup != NW_OK || restore != NW_OK;
		if (rc && *seen < i)
			break; /* everything has failed once */
	}
	CHECK(i < 100000 && n_failed > 2);
	printf("%s%s: %ld operations, %ld failures seen\n", what, ever ? " for ever" : "", i,
	    n_failed);
	*for_ever = false;
}

int
main(void)
{
	char command[80];

	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	snprintf(copy, sizeof(copy), "%s/copy", dir);
	test_load();
	test_backup_refusals();
	test_restore();
	test_restore_wal();
	CHECK_INT(unlink(copy), 0);
	snprintf(command, sizeof(command), "rm -f %s*", path);
	CHECK_INT(system(command), 0);
	make(100);
	CHECK_INT(store_backup(path, copy, false, NULL, why), NW_OK);
	shim_register();
	test_faults(
	    "sync or name", &name_fault.at, &name_fault.seen, &name_fault.for_ever, false, 1);
	test_faults(
	    "sync or name", &name_fault.at, &name_fault.seen, &name_fault.for_ever, true, 1);
	test_faults("write", &io_fault.at, &io_fault.seen, &io_fault.for_ever, false, 5);
	test_faults("write", &io_fault.at, &io_fault.seen, &io_fault.for_ever, true, 11);
	if (OWN_MALLOC) {
		test_faults("allocation", &alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever,
		    false, check_repeats(101, 401));
		test_faults("allocation", &alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever,
		    true, check_repeats(211, 601));
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("backup");
}
