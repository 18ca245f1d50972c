/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host's clock: the kernel's view (ntp_adjtime, a system call) and chronyd's view (`chronyc -c
 * -n tracking`, a child whose answer is read from a pipe on arrival; nothing here waits). When
 * chronyd does not answer, the probe asks less and less often.
 */
#include "host/blipp/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"

#define SECOND_NS         INT64_C(1000000000)
#define PERIOD_NS         (16 * SECOND_NS)
#define PERIOD_MAX_NS     (600 * SECOND_NS) /* pause before another question to an absent chronyd */
#define ANSWER_TIMEOUT_NS (3 * SECOND_NS)

extern char **environ;

enum { TEXT_BYTES = 1024, N_KERNEL = 4, TRACKING_FIELDS = 14 };

static const struct series_field fields[] = {
	{ "offset_s", "s", false },
	{ "bound_s", "s", false },
	{ "root_delay_s", "s", false },
	{ "root_dispersion_s", "s", false },
	{ "frequency_ppm", "ppm", false },
	{ "skew_ppm", "ppm", false },
	{ "stratum", "1", false },
	{ "leap", "1", false },
	{ "local_reference", "1", false },
	{ "kernel_offset_s", "s", false },
	{ "kernel_maxerror_s", "s", false },
	{ "kernel_esterror_s", "s", false },
	{ "kernel_synced", "1", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]), KERNEL_AT = N_FIELDS - N_KERNEL };
static const struct series_kind kind = { SERIES_PREFIX "clock", NULL, fields, N_FIELDS };

struct clock_probe {
	struct series series;
	pid_t pid; /* pid of chronyc until it is reaped, else 0 */
	bool reading;
	int pipe_fd;
	int64_t started_mono_ns, next_mono_ns, ask_mono_ns, ask_period_ns;
	char text[TEXT_BYTES];
	size_t len;
};

/* --- parsing --- */

static bool
parse_real(struct scan field, double *out)
{
	char text[32], *end;
	size_t len = (size_t)(field.end - field.at);

	if (len == 0 || len >= sizeof(text))
		return false;
	memcpy(text, field.at, len);
	text[len] = '\0';
	*out = strtod(text, &end);
	return *end == '\0' && isfinite(*out);
}

static unsigned
parse_leap(struct scan word)
{
	static const char *const words[] = { "Normal", "Insert second", "Delete second" };
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (scan_is(word, words[i]))
			return i;
	return 3;
}

/*
 * Fields of the line: reference id, its address, stratum, reference time, system time (positive:
 * this clock is slow), last offset, RMS offset, frequency (positive: fast), residual frequency,
 * skew, root delay, root dispersion, update interval, leap status.
 */
int
clock_parse(struct scan text, struct clock_tracking *out)
{
	const struct {
		size_t at;
		double *to;
	} wanted[] = {
		{ 4, &out->offset_s },
		{ 7, &out->frequency_ppm },
		{ 9, &out->skew_ppm },
		{ 10, &out->root_delay_s },
		{ 11, &out->root_dispersion_s },
	};
	struct scan line, f[TRACKING_FIELDS];
	uint64_t stratum;
	size_t i;

	if (!scan_line(&text, &line))
		return NW_EPROTO;
	for (i = 0; i < TRACKING_FIELDS; i++)
		if (!scan_until(&line, ',', &f[i]))
			return NW_EPROTO;
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!parse_real(f[wanted[i].at], wanted[i].to))
			return NW_EPROTO;
	if (!scan_u64(&f[2], &stratum) || stratum > 16)
		return NW_EPROTO;
	out->offset_s = 0 - out->offset_s;
	out->local_reference = f[0].end - f[0].at == 8 && memcmp(f[0].at, "7F7F01", 6) == 0;
	out->stratum = (unsigned)stratum;
	out->leap = parse_leap(f[13]);
	return NW_OK;
}

/*
 * chrony's own bound: the distance to the reference and all errors on the way there. A clock that
 * is its own reference (127.127.1.1) claims to be perfect: its error is unknown.
 */
double
clock_bound_s(const struct clock_tracking *t)
{
	return t->leap == 3 || t->local_reference
	    ? NAN
	    : fabs(t->offset_s) + t->root_dispersion_s + t->root_delay_s / 2;
}

/* --- sending --- */

static void
put_kernel(double *v)
{
	struct timex tx = { .modes = 0 };

	if (ntp_adjtime(&tx) < 0)
		return;
	v[0] = (double)tx.offset * (tx.status & STA_NANO ? 1e-9 : 1e-6);
	v[1] = (double)tx.maxerror * 1e-6;
	v[2] = (double)tx.esterror * 1e-6;
	v[3] = tx.status & STA_UNSYNC ? 0 : 1;
}

/* t: NULL when chronyd did not say. */
static int
send_clock(struct clock_probe *p, struct report *r, const struct clock_tracking *t)
{
	double v[N_FIELDS];
	size_t i;

	for (i = 0; i < N_FIELDS; i++)
		v[i] = NAN;
	if (t != NULL) {
		const double tracking[KERNEL_AT] = { t->offset_s, clock_bound_s(t), t->root_delay_s,
			t->root_dispersion_s, t->frequency_ppm, t->skew_ppm, t->stratum, t->leap,
			t->local_reference };

		memcpy(v, tracking, sizeof(tracking));
	}
	put_kernel(v + KERNEL_AT);
	return series_send(&p->series, &kind, r, v);
}

/* --- chronyc --- */

static int
spawn_chronyc(int out_fd, pid_t *pid)
{
	static char *const argv[] = { (char *)"chronyc", (char *)"-c", (char *)"-n",
		(char *)"tracking", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int error;

	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&files) != 0)
		return NW_ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return NW_ENOMEM;
	}
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return error == 0 ? NW_OK : NW_EIO;
}

static int
ask(struct clock_probe *p, int64_t now_mono_ns)
{
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return NW_EIO;
	fcntl(fds[1], F_SETFL, 0); /* default handling, which the child's own children expect */
	rc = spawn_chronyc(fds[1], &p->pid);
	close(fds[1]);
	if (rc < 0) {
		p->pid = 0;
		close(fds[0]);
		return rc;
	}
	p->reading = true;
	p->pipe_fd = fds[0];
	p->len = 0;
	p->started_mono_ns = now_mono_ns;
	return NW_OK;
}

static void
reap(struct clock_probe *p)
{
	if (p->pid != 0 && waitpid(p->pid, NULL, WNOHANG) != 0)
		p->pid = 0;
}

static void
ask_less(struct clock_probe *p, int64_t now_mono_ns)
{
	p->ask_period_ns =
	    p->ask_period_ns < PERIOD_MAX_NS / 2 ? 2 * p->ask_period_ns : PERIOD_MAX_NS;
	p->ask_mono_ns = now_mono_ns + p->ask_period_ns;
}

static void
take_answer(struct clock_probe *p, struct report *r)
{
	struct clock_tracking t;
	bool good = clock_parse(scan_text(p->text, p->len), &t) == NW_OK;

	close(p->pipe_fd);
	p->reading = false;
	reap(p);
	if (good)
		p->ask_period_ns = PERIOD_NS;
	else
		ask_less(p, nw_mono_ns());
	send_clock(p, r, good ? &t : NULL);
}

static int
fd(const void *state)
{
	const struct clock_probe *p = state;

	return p->reading ? p->pipe_fd : -1;
}

static void
ready(void *state, struct report *r)
{
	struct clock_probe *p = state;
	ssize_t n;

	while ((n = read(p->pipe_fd, p->text + p->len, sizeof(p->text) - p->len)) > 0)
		p->len += (size_t)n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	take_answer(p, r); /* the end, an error, or more than any answer has */
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct clock_probe *p = state;
	int64_t now = nw_mono_ns();

	(void)buf;
	reap(p);
	if (p->reading && now - p->started_mono_ns > ANSWER_TIMEOUT_NS) {
		kill(p->pid, SIGKILL);
		p->len = 0;
		take_answer(p, r);
	}
	if (now < p->next_mono_ns || p->reading)
		return NW_OK;
	if (p->ask_period_ns == 0)
		p->ask_period_ns = PERIOD_NS;
	p->next_mono_ns = now + PERIOD_NS - SECOND_NS / 2; /* ticks are not exact */
	if (now >= p->ask_mono_ns && p->pid == 0) {
		if (ask(p, now) == NW_OK)
			return NW_OK;
		ask_less(p, now);
	}
	return send_clock(p, r, NULL);
}

static void
clear(void *state)
{
	struct clock_probe *p = state;

	if (p->reading)
		close(p->pipe_fd);
	if (p->pid != 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
}

const struct probe probe_clock = {
	.name = "clock",
	.event_type = SERIES_PREFIX "clock",
	.state_bytes = sizeof(struct clock_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
