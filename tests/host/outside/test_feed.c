/* SPDX-License-Identifier: BSD-3-Clause */
/* A process whose end no record tells is ended by the second look, and no other is. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/outside/feed.h"
#include "tests/check.h"

static pid_t
sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void
kill_now(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT) == 0); /* a zombie from here on */
}

/* sendfile(2) from a disk into a socket: 3 ms asleep for the device, 7 ms else. Between files the
 * time stays in both places. */
static void
test_split(struct feed *f, struct region *r, pid_t pid)
{
	const uint64_t begin_mono_ns = (uint64_t)r->base_mono_ns + 1000000;
	struct outside_move m = { .op = { .head = { .kind = OUTSIDE_MOVE,
					      .bytes = sizeof(m),
					      .tgid = (uint32_t)pid,
					      .tid = (uint32_t)pid,
					      .fd = 5,
					      .begin_mono_ns = begin_mono_ns,
					      .end_mono_ns = begin_mono_ns + 10000000 },
				      .bytes = 1000,
				      .offset = -1,
				      .fd2 = 6,
				      .file = { .ino = 11, .dev = 1, .stage = NWSHM_DISK_READ } },
		.to = { .ino = 12, .dev = 1, .stage = NWSHM_NET_READ },
		.stored_ns = 3000000 };
	struct nwshm *shm = region_map(r);
	const struct nwshm_thread *t = &shm->thread[0];

	feed_record(f, &m, sizeof(m));
	feed_settle(f);
	CHECK_INT(atomic_load(&shm->thread_tid[0]), pid);
	CHECK_INT(atomic_load(&t->busy_ns[NWSHM_DISK_READ]), 3000000);
	CHECK_INT(atomic_load(&t->busy_ns[NWSHM_NET_WRITE]), 7000000);
	CHECK_INT(atomic_load(&t->combined_bytes), 0);
	CHECK_INT(atomic_load(&t->lane[NWSHM_DISK_READ].bytes), 1000);
	CHECK_INT(atomic_load(&t->lane[NWSHM_NET_WRITE].bytes), 1000);

	m.stored_ns = 99000000; /* longer than the call: bounded */
	feed_record(f, &m, sizeof(m));
	feed_settle(f);
	CHECK_INT(atomic_load(&t->busy_ns[NWSHM_DISK_READ]), 13000000);
	CHECK_INT(atomic_load(&t->busy_ns[NWSHM_NET_WRITE]), 7000000);

	m.to.stage = NWSHM_DISK_READ;
	m.op.fd2 = 7;
	feed_record(f, &m, sizeof(m));
	feed_settle(f);
	CHECK_INT(atomic_load(&t->busy_ns[NWSHM_DISK_READ]), 23000000);
	CHECK_INT(atomic_load(&t->busy_ns[NWSHM_DISK_WRITE]), 10000000);
	region_unmap(r, shm);
}

int
main(void)
{
	pid_t first = sleeper(), second = sleeper();
	struct region r;
	struct feed *f;

	CHECK(first > 0 && second > 0);
	CHECK(region_new(&r) == NULL && (f = feed_new(&r)) != NULL);
	if (check_failed)
		return check_done("feed");
	CHECK(feed_attach(f, (uint32_t)first) && feed_attach(f, (uint32_t)second));
	CHECK_INT(feed_count(f), 2);
	test_split(f, &r, first);
	feed_gone_check(f, (uint32_t)first);
	feed_gone_check(f, (uint32_t)first);
	CHECK_INT(feed_count(f), 2);

	/* the record of the end may be on its way at the first look */
	kill_now(first);
	feed_gone_check(f, (uint32_t)first);
	CHECK_INT(feed_count(f), 2);
	feed_gone_check(f, (uint32_t)first);
	CHECK_INT(feed_count(f), 1);
	CHECK(waitpid(first, NULL, 0) == first);
	feed_gone_check(f, (uint32_t)first); /* of nobody: nothing */
	CHECK_INT(feed_count(f), 1);

	/* a process that is not even a zombie any more */
	kill_now(second);
	CHECK(waitpid(second, NULL, 0) == second);
	feed_gone_check(f, (uint32_t)second);
	feed_gone_check(f, (uint32_t)second);
	CHECK_INT(feed_count(f), 0);
	CHECK(!feed_attach(f, (uint32_t)second));
	feed_free(f);
	region_free(&r);
	return check_done("feed");
}
