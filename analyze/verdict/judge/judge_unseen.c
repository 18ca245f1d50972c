/* SPDX-License-Identifier: BSD-3-Clause */
/* Words for bytes past the measured calls: the way, the number by the kernel's count, and the
 * means to measure them. */
#include "analyze/verdict/judge/judge_in.h"

#include <math.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/xmalloc.h"

#define OUTSIDE "Measure its calls from outside: nwrun -p PID, as root."
#define DISKS                                                                            \
	"No call shows such bytes, not even from outside: read the host's disks in the " \
	"series of blipp."

/* By unseen_by of nwrun(1). */
static const struct {
	const char *by, *manner, *advice;
} ways[] = {
	{ "memory-map", "through memory maps", DISKS },
	{ "io_uring", "by io_uring", DISKS },
	{ "aio", "by asynchronous operations", DISKS },
	{ "uncounted-calls", "by calls that the kernel does not count", DISKS },
	{ "static", "by a program without shared libraries", OUTSIDE },
	{ "set-user-id", "with another user's rights",
	    "Start nwrun as the program's user, or measure from outside: nwrun -p "
	    "PID, as root." },
	{ "not-loaded", "without nwrun.so, which its environment did not name", OUTSIDE },
	{ "sealed", "behind a seccomp filter", OUTSIDE },
	{ "children", "in programs that it started", OUTSIDE },
	{ "direct-calls", "by system calls past the C library", OUTSIDE },
};

static double
unseen_of(const struct evidence_process *p)
{
	double device = p->storage_read_bytes + p->storage_written_bytes;
	double calls = isfinite(p->unseen_bytes) ? fmax(p->unseen_bytes, 0) : 0;

	return p->unseen_by != NULL ? fmax(device, calls) : calls;
}

const struct evidence_process *
evidence_most_unseen(const struct evidence *e, double *bytes)
{
	const struct evidence_process *p, *most = NULL;

	*bytes = 0;
	for (p = e->processes; p < e->processes + e->n_processes; p++)
		if (unseen_of(p) > *bytes || (most == NULL && p->unseen_by != NULL)) {
			most = p;
			*bytes = unseen_of(p);
		}
	return most != NULL && (most->unseen_by != NULL || *bytes >= UNSEEN_WORTH) ? most : NULL;
}

char *
unseen_text(const struct evidence *e, const char **advice)
{
	double bytes;
	const struct evidence_process *p = evidence_most_unseen(e, &bytes);
	const char *manner = "past the measured calls";
	size_t i;

	if (p == NULL)
		return NULL;
	*advice = OUTSIDE;
	for (i = 0; p->unseen_by != NULL && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(p->unseen_by, ways[i].by) == 0) {
			manner = ways[i].manner;
			*advice = ways[i].advice;
		}
	return xasprintf("%s on %s moved bytes %s: the kernel counted %s.",
	    p->program != NULL ? p->program : "A program", e->hosts[p->host].name, manner,
	    bytes > 0 ? fmt_plain(fmt_bytes(bytes)).s : "none of them");
}

double
evidence_local_bytes(const struct evidence *e)
{
	double in = 0, out = 0;
	size_t i;

	for (i = 0; i < e->n_processes; i++) {
		in += e->processes[i].local_bytes[0];
		out += e->processes[i].local_bytes[1];
	}
	return fmax(in, out);
}
