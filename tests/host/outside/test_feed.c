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
