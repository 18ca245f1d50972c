/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of nwfts: what a file keeps over the end of the program, a cut, a wrong line, another
 * program, and the bounds. */
#include "host/nwfts/told.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static char path[] = "/tmp/test_told.XXXXXX";

static struct told *
opened(void)
{
	struct told *t = NULL;

	CHECK_INT(told_open(path, &t), NW_OK);
	if (t == NULL)
		exit(check_done("told"));
	return t;
}

static void
text_append(const char *text)
{
	FILE *f = fopen(path, "a");

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
test_kept(void)
{
	struct told *t = opened();
	char id[TOLD_ID_BYTES];
	int64_t submit;
	double staging;
	uint64_t hash = told_hash(t, "CO {}", 5);
	struct stat st;

	CHECK(stat(path, &st) == 0 && (st.st_mode & 077) == 0); /* the key is secret */
	strcpy(id, told_id(t));
	CHECK_INT(strlen(id), TOLD_ID_BYTES - 1);
	CHECK_INT(told_heard_wall_ns(t), 0);
	told_message(t, hash, 7);
	told_message(t, hash + 1, 9);
	told_submitted(t, 5, 1234, 2.5);
	told_submitted(t, 6, 1235, NAN);
	CHECK_INT(told_write(t, 99), NW_OK);
	told_message(t, hash + 2, 10); /* never written: no document was sent */
	told_close(t);

	t = opened();
	CHECK_STR(told_id(t), id);
	CHECK_INT(told_heard_wall_ns(t), 99);
	CHECK(told_hash(t, "CO {}", 5) == hash);
	CHECK_INT(told_find(t, hash), 7);
	CHECK_INT(told_find(t, hash + 1), 9);
	CHECK_INT(told_find(t, hash + 2), 0);
	CHECK_INT(told_last(t), 9);
	CHECK(told_submission(t, 5, &submit, &staging) && submit == 1234 && staging == 2.5);
	CHECK(told_submission(t, 6, &submit, &staging) && submit == 1235 && isnan(staging));
	CHECK(!told_submission(t, 7, &submit, &staging));
	/* the box has document 8 and not 9, whose number comes again */
	CHECK_INT(told_cut(t, 8), NW_OK);
	CHECK_INT(told_find(t, hash + 1), 0);
	told_close(t);
	t = opened();
	CHECK_INT(told_find(t, hash), 7);
	CHECK_INT(told_find(t, hash + 1), 0);
	told_close(t);
}

/* A power cut may leave a part of the last line. */
static void
test_damage(void)
{
	struct told *t = opened();

	told_message(t, 1, 1);
	CHECK_INT(told_write(t, 5), NW_OK);
	told_close(t);
	text_append("message 00000000000000ab 4");
	t = opened();
	CHECK_INT(told_find(t, 1), 1);
	CHECK_INT(told_find(t, 0xab), 0);
	told_close(t);
	text_append("massage 00000000000000ab 4\n");
	t = NULL;
	CHECK_INT(told_open(path, &t), NW_ECORRUPT);
	CHECK(t == NULL);
	unlink(path);
	text_append("message 00000000000000ab 4\n"); /* without an id */
	chmod(path, 0600);
	CHECK_INT(told_open(path, &t), NW_ECORRUPT);
	unlink(path);
}

/* Hashes of a state without key are of no use, its id is. */
static void
test_keyless(void)
{
	struct told *t;

	text_append("id 01234567-89ab-cdef-0123-456789abcdef\nmessage 00000000000000ab 4\n");
	chmod(path, 0600);
	t = opened();
	CHECK_STR(told_id(t), "01234567-89ab-cdef-0123-456789abcdef");
	CHECK_INT(told_find(t, 0xab), 0);
	told_close(t);
	unlink(path);
}

/* Two states hash the same message differently: a pair that looks alike cannot be made ahead. */
static void
test_key(void)
{
	struct told *t = opened();
	uint64_t first = told_hash(t, "message", 7);

	CHECK(told_hash(t, "messagf", 7) != first);
	told_close(t);
	unlink(path);
	t = opened();
	CHECK(told_hash(t, "message", 7) != first);
	told_close(t);
}

/* The newest messages are remembered; the file is written anew and stays bounded. */
static void
test_bounds(void)
{
	struct told *t = opened();
	struct stat st;
	uint64_t i;
	int round;

	for (round = 0; round < 6; round++) {
		for (i = 1; i <= TOLD_MAX; i++)
			told_message(t, i + (uint64_t)round * TOLD_MAX, i);
		CHECK_INT(told_write(t, round), NW_OK);
	}
	CHECK_INT(told_find(t, 5 * TOLD_MAX), 0);
	CHECK_INT(told_find(t, 5 * TOLD_MAX + 1), 1);
	told_message(t, 5 * TOLD_MAX + 1, 1); /* heard again: it is the newest now */
	told_message(t, 1, 3);
	CHECK_INT(told_find(t, 5 * TOLD_MAX + 1), 1);
	CHECK_INT(told_find(t, 5 * TOLD_MAX + 2), 0);
	CHECK(stat(path, &st) == 0 && st.st_size < 5 * TOLD_MAX * 40);
	told_close(t);
}

/* Another nwfts may not use the file, also behind its writing anew. */
static void
test_lock(void)
{
	struct told *t = opened(), *other = NULL;
	int status = 0;
	pid_t child;

	if ((child = fork()) == 0)
		_exit(told_open(path, &other) == NW_ECONFLICT ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	told_message(t, 1, 1);
	CHECK_INT(told_cut(t, 0), NW_OK); /* writes the file anew */
	if ((child = fork()) == 0)
		_exit(told_open(path, &other) == NW_ECONFLICT ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	told_close(t);
}

int
main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	unlink(path);
	test_kept();
	test_damage();
	test_keyless();
	test_key();
	test_bounds();
	test_lock();
	unlink(path);
	return check_done("told");
}
