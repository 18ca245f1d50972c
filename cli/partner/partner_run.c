/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of partners: a listener with a process for each question, and a process for the
 * questions of this box. A slow partner delays no other partner. */
#include "cli/partner/partner.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/tcplisten.h"
#include "narrows/xmalloc.h"

/* Questions of this minute by the first byte of pins, in memory shared by all processes. */
enum { STRANGERS = 256 }; /* the place of all others */
struct rates {
	atomic_uint_least64_t minute;
	atomic_uint_least64_t n[STRANGERS + 1];
	uint64_t max;
};
static struct rates *rates;

static bool
rate_allow(const uint8_t *pin)
{
	const uint64_t minute = (uint64_t)(nw_mono_ns() / (INT64_C(60) * 1000000000));
	size_t i;

	if (atomic_exchange(&rates->minute, minute) != minute)
		for (i = 0; i <= STRANGERS; i++)
			atomic_store(&rates->n[i], 0);
	return atomic_fetch_add(&rates->n[pin != NULL ? pin[0] : STRANGERS], 1) < rates->max;
}

/* Signals reach this process while it waits, and at no other time. */
static sigset_t waiting_mask;

static pid_t
child_begin(int listening)
{
	pid_t pid = tcplisten_child(listening);

	if (pid < 0)
		log_warn("partner.fork");
	if (pid == 0)
		sigprocmask(SIG_SETMASK, &waiting_mask, NULL);
	return pid;
}

static void
on_child(int sig)
{
	(void)sig; /* the end of a child ends a wait */
}

static void
signals_hold(void)
{
	struct sigaction child = { .sa_handler = on_child };
	sigset_t held;

	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(&held);
	sigaddset(&held, SIGCHLD);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigprocmask(SIG_BLOCK, &held, &waiting_mask);
}

/* Waits for a question, the end of a child, a signal to stop, or the time until_mono_ns. Returns
 * true for a question. */
static bool
question_wait(struct pollfd *p, int64_t until_mono_ns)
{
	const int64_t left_ns = until_mono_ns - nw_mono_ns();
	const struct timespec left = { left_ns / 1000000000, left_ns % 1000000000 };

	return left_ns > 0 && ppoll(p, 1, &left, &waiting_mask) > 0;
}

static void
question_take(int listening, const struct partner_env *env, size_t *children)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	if (fd < 0)
		return;
	if ((pid = child_begin(listening)) == 0) {
		partner_answer(env, fd, rate_allow);
		_exit(0);
	}
	if (pid > 0)
		++*children;
	close(fd);
}

static pid_t
look_begin(int listening, const struct partner_env *env)
{
	char why[PARTNER_WHY_BYTES] = "";
	pid_t pid = child_begin(listening);

	if (pid == 0) {
		if (partner_look(env, why) < 0)
			log_warnx("partner.look why=\"%s\"", why);
		_exit(0);
	}
	return pid;
}

int
partner_run(
    const struct partner_env *env, void (*ready)(const char *address), char why[PARTNER_WHY_BYTES])
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int64_t next_mono_ns = 0, until_mono_ns;
	size_t children = 0;
	pid_t looker = 0, gone;
	char name[TCPLISTEN_NAME_BYTES];
	const char *fault;
	int rc = partner_self(env->conf, why);

	if (rc < 0)
		return rc;
	if ((rc = tcplisten_open(env->conf->listen, &p.fd, name, &fault)) < 0) {
		snprintf(why, PARTNER_WHY_BYTES, "listen %.200s: %s", env->conf->listen, fault);
		return rc;
	}
	rates =
	    mmap(NULL, sizeof(*rates), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rates == MAP_FAILED)
		fatal("mmap");
	rates->max = env->conf->rate;
	signals_hold();
	ready(name);
	while (!*env->stop) {
		while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
			if (gone == looker)
				looker = 0;
			else
				children--;
		if (looker <= 0 && nw_mono_ns() >= next_mono_ns) {
			looker = look_begin(p.fd, env);
			next_mono_ns = nw_mono_ns() + env->conf->interval_ns;
		}
		/* a look that is under way ends the wait by its own end */
		until_mono_ns = looker > 0 ? INT64_MAX : next_mono_ns;
		p.events = children < PARTNER_AT_ONCE_MAX ? POLLIN : 0;
		if (question_wait(&p, until_mono_ns))
			question_take(p.fd, env, &children);
	}
	sigprocmask(SIG_SETMASK, &waiting_mask, NULL);
	close(p.fd);
	if (looker > 0)
		kill(looker, SIGTERM);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	munmap(rates, sizeof(*rates));
	return NW_OK;
}
