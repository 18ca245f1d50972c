/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file system of a transfer alone: after a session for which a rule of the box has started this
 * probe, bytes are written into the administrator's scratch directory and read back (scratch.h).
 * Without the directive `scratch` nothing is ever written, whatever the box orders. The directive's
 * bounds hold for all orders together: one measurement in `scratch-every`.
 *
 * A measurement disturbs, so none begins while an order lasts (the session is open), while this
 * host follows connections for the box, or moves data. A transfer that begins ends the measurement.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "host/blipp/probe/aside.h"
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
	struct aside aside;
	struct quiet quiet;
	int64_t wanted_mono_ns, next_mono_ns; /* wanted until; not before */
	uint64_t postponed;
	struct series series;
};

static bool
measure(const void *arg, char text[ASIDE_TEXT_BYTES])
{
	const struct scratch_conf *of = arg;
	struct scratch_result m;

	if (scratch_measure(of->directory, of->bytes, of->time_ns, &m) != NW_OK)
		return false;
	return snprintf(text, ASIDE_TEXT_BYTES, "%" PRIu64 " %" PRId64 " %" PRIu64 " %" PRId64 "\n",
		   m.written_bytes, m.write_ns, m.read_bytes, m.read_ns) < ASIDE_TEXT_BYTES;
}

static double
rate_of(uint64_t bytes, int64_t ns)
{
	return bytes > 0 && ns > 0 ? (double)bytes / ((double)ns / 1e9) : NAN;
}

/* "67108864 130271244 67108864 88410210" */
static void
ready(void *state, struct report *r)
{
	struct scratch_probe *p = state;
	struct scratch_result m;
	double all[N_FIELDS];

	if (!aside_read(&p->aside) ||
	    sscanf(p->aside.text, "%" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNd64, &m.written_bytes,
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

/* Ends a measurement beside a transfer, or of a disk that does not answer. */
static void
measurement_look(struct scratch_probe *p, const struct report *r, int64_t now_mono_ns)
{
	if (p->aside.pid == 0 ||
	    (!r->transfers &&
		now_mono_ns - p->aside.begun_mono_ns < r->scratch->time_ns + PATIENCE_NS))
		return;
	if (r->transfers) {
		p->postponed++;
		p->wanted_mono_ns = now_mono_ns + WANTED_NS;
		p->next_mono_ns = now_mono_ns + AGAIN_NS;
	}
	aside_end(&p->aside);
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct scratch_probe *p = state;
	int rc;

	if (r->scratch == NULL || r->scratch->directory == NULL)
		return NW_OK;
	if ((rc = aside_open(&p->aside)) < 0)
		return rc;
	measurement_look(p, r, now_mono_ns);
	if ((rc = quiet_look(&p->quiet, buf, now_mono_ns)) < 0)
		return rc;
	if (r->scratch_ordered)
		p->wanted_mono_ns = now_mono_ns + WANTED_NS;
	if (p->aside.pid != 0 || now_mono_ns >= p->wanted_mono_ns ||
	    now_mono_ns < p->next_mono_ns || r->scratch_ordered)
		return NW_OK;
	if (r->transfers || !quiet_is(&p->quiet)) {
		p->postponed += p->quiet.known;
		return NW_OK;
	}
	p->wanted_mono_ns = 0;
	p->next_mono_ns = now_mono_ns + r->scratch->every_ns;
	return aside_begin(&p->aside, measure, r->scratch, now_mono_ns);
}

static int
fd(const void *state)
{
	const struct scratch_probe *p = state;

	return aside_fd(&p->aside);
}

static void
clear(void *state)
{
	struct scratch_probe *p = state;

	aside_clear(&p->aside);
	procfs_close(&p->quiet.file);
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
