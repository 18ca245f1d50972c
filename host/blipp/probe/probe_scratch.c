/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file system of a transfer alone: after a session for which a rule of the box has started this
 * probe, bytes are written into the administrator's scratch directory and read back (scratch.h).
 * Without the directive `scratch` nothing is ever written, whatever the box orders. The directive's
 * bounds hold for all orders together: one measurement in `scratch-every`.
 *
 * A measurement disturbs, so none begins while an order lasts (the session is open), while this
 * host follows connections for the box, or moves data. A transfer that begins ends the measurement.
 * A child process measures, since nothing in blipp may wait for a disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/blipp/probe/probe.h"
#include "host/blipp/probe/quiet.h"
#include "host/blipp/probe/scratch.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define PATIENCE_NS INT64_C(5000000000) /* beyond the time of a measurement */
#define AGAIN_NS    INT64_C(2000000000) /* after a measurement that yielded */
#define WANTED_NS   INT64_C(900000000000)

enum field { WRITE_RATE, READ_RATE, WRITTEN, READ, DURATION_S, POSTPONED };
static const struct series_field fields[] = {
	{ "write_bytes_per_s", "By/s", false },
	{ "read_bytes_per_s", "By/s", false },
	{ "written_bytes", "By", false },
	{ "read_bytes", "By", false },
	{ "duration_s", "s", false },
	{ "postponed", "{event}", true },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct series_kind kind = { NW_TYPE_SCRATCH, "directory", fields, N_FIELDS };

struct scratch_probe {
	int epoll_fd; /* 0: not open yet */
	struct quiet quiet;
	pid_t pid; /* of the measurement on its way; 0: none */
	int fd;    /* of its pipe */
	char text[96];
	size_t len;
	int64_t begun_mono_ns, wanted_mono_ns, next_mono_ns; /* wanted until; not before */
	uint64_t postponed;
	struct series series;
};

/* The child ends with its parent, and by itself if the disk hangs for long. */
static void
child_run(const struct scratch_conf *of, int out_fd, pid_t parent)
{
	struct scratch_result m;
	char text[96];
	int len;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || nice(10) < 0 ||
	    scratch_measure(of->directory, of->bytes, of->time_ns, &m) != NW_OK)
		_exit(1);
	len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRId64 " %" PRIu64 " %" PRId64 "\n",
	    m.written_bytes, m.write_ns, m.read_bytes, m.read_ns);
	_exit(write(out_fd, text, (size_t)len) == len ? 0 : 1);
}

static int
measurement_begin(struct scratch_probe *p, const struct scratch_conf *of, int64_t now_mono_ns)
{
	struct epoll_event event = { .events = EPOLLIN };
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return NW_EIO;
	p->pid = fork();
	if (p->pid == 0)
		child_run(of, fds[1], parent);
	close(fds[1]);
	p->fd = fds[0];
	p->len = 0;
	p->begun_mono_ns = now_mono_ns;
	if (p->pid < 0 || epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fds[0], &event) < 0) {
		close(fds[0]);
		p->pid = p->pid < 0 ? 0 : p->pid;
		return NW_EIO;
	}
	return NW_OK;
}

static void
measurement_end(struct scratch_probe *p)
{
	if (p->pid <= 0)
		return;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->fd);
	p->pid = 0;
}

static double
rate_of(uint64_t bytes, int64_t ns)
{
	return bytes > 0 && ns > 0 ? (double)bytes / ((double)ns / 1e9) : NAN;
}

/* "67108864 130271244 67108864 88410210" */
static void
result_take(struct scratch_probe *p, struct report *r)
{
	struct scratch_result m;
	double all[N_FIELDS];

	p->text[p->len] = '\0';
	if (sscanf(p->text, "%" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNd64, &m.written_bytes,
		&m.write_ns, &m.read_bytes, &m.read_ns) != 4)
		return;
	all[WRITE_RATE] = rate_of(m.written_bytes, m.write_ns);
	all[READ_RATE] = rate_of(m.read_bytes, m.read_ns);
	all[WRITTEN] = (double)m.written_bytes;
	all[READ] = (double)m.read_bytes;
	all[DURATION_S] = (double)(m.write_ns + m.read_ns) / 1e9;
	all[POSTPONED] = (double)p->postponed;
	snprintf(p->series.device, sizeof(p->series.device), "%s", r->scratch->directory);
	(void)series_send(&p->series, &kind, r, all);
}

static void
ready(void *state, struct report *r)
{
	struct scratch_probe *p = state;
	ssize_t got = read(p->fd, p->text + p->len, sizeof(p->text) - 1 - p->len);

	if (p->pid == 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (got > 0) {
		p->len += (size_t)got;
		if (p->len < sizeof(p->text) - 1)
			return;
	}
	measurement_end(p);
	result_take(p, r);
}

/* Ends a measurement beside a transfer, or of a disk that does not answer. */
static void
measurement_look(struct scratch_probe *p, const struct report *r, int64_t now_mono_ns)
{
	if (p->pid == 0 ||
	    (!r->transfers && now_mono_ns - p->begun_mono_ns < r->scratch->time_ns + PATIENCE_NS))
		return;
	if (r->transfers) {
		p->postponed++;
		p->wanted_mono_ns = now_mono_ns + WANTED_NS;
		p->next_mono_ns = now_mono_ns + AGAIN_NS;
	}
	measurement_end(p);
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct scratch_probe *p = state;
	int rc;

	if (r->scratch == NULL || r->scratch->directory == NULL)
		return NW_OK;
	if (p->epoll_fd == 0 && (p->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) {
		p->epoll_fd = 0;
		return NW_EIO;
	}
	measurement_look(p, r, now_mono_ns);
	if ((rc = quiet_look(&p->quiet, buf, now_mono_ns)) < 0)
		return rc;
	if (r->scratch_ordered)
		p->wanted_mono_ns = now_mono_ns + WANTED_NS;
	if (p->pid != 0 || now_mono_ns >= p->wanted_mono_ns || now_mono_ns < p->next_mono_ns ||
	    r->scratch_ordered)
		return NW_OK;
	if (r->transfers || !quiet_is(&p->quiet)) {
		p->postponed += p->quiet.known;
		return NW_OK;
	}
	p->wanted_mono_ns = 0;
	p->next_mono_ns = now_mono_ns + r->scratch->every_ns;
	return measurement_begin(p, r->scratch, now_mono_ns);
}

static int
fd(const void *state)
{
	const struct scratch_probe *p = state;

	return p->epoll_fd > 0 ? p->epoll_fd : -1;
}

static void
clear(void *state)
{
	struct scratch_probe *p = state;

	measurement_end(p);
	procfs_close(&p->quiet.file);
	if (p->epoll_fd > 0)
		close(p->epoll_fd);
}

const struct probe probe_scratch = {
	.name = "scratch",
	.source = "pwrite(2), pread(2)",
	.event_type = NW_TYPE_SCRATCH,
	.kinds = { &kind },
	.state_bytes = sizeof(struct scratch_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
