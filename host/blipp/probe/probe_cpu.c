/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/stat. The kernel counts guest time in user time as well (and guest_nice in nice): the probe
 * takes the guest's part out, so the shares sum to 1 on hosts of virtual machines, too. iowait and
 * idle may step back a little: a step back counts as 0.
 */
#include "host/blipp/probe/probe.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/err.h"

static const struct series_field share_fields[] = {
	{ "user", "1", false },
	{ "system", "1", false },
	{ "nice", "1", false },
	{ "iowait", "1", false },
	{ "hwirq", "1", false },
	{ "swirq", "1", false },
	{ "steal", "1", false },
	{ "guest", "1", false },
	{ "idle", "1", false },
	{ "busiest", "1", false },
};
static const struct series_kind shares_kind = { NW_TYPE_CPU, NULL, share_fields,
	sizeof(share_fields) / sizeof(share_fields[0]) };

static const struct series_field activity_fields[] = {
	{ "context_switches", "{switch}", true },
	{ "interrupts", "{interrupt}", true },
	{ "forks", "{process}", true },
	{ "running", "{process}", false },
	{ "blocked", "{process}", false },
	{ "share_running", "1", false },
	{ "share_new", "1", false },
};
static const struct series_kind activity_kind = { SERIES_PREFIX "cpu:activity", NULL,
	activity_fields, sizeof(activity_fields) / sizeof(activity_fields[0]) };

struct cpu_probe {
	struct procfs_file file;
	struct cpu_stat stats[2];
	unsigned turn;
	bool have_before;
	struct series shares, activity;
};

/* --- parsing --- */

static uint64_t
sum_ticks(const struct cpu_times *t)
{
	uint64_t sum = 0;
	int i;

	for (i = CPU_USER; i <= CPU_STEAL; i++) /* guest time is in user and nice */
		sum += t->ticks[i];
	return sum;
}

static int
put_core(struct cpu_stat *s, uint64_t number, const struct cpu_times *t)
{
	struct cpu_core *cores;
	size_t cap;

	if (number >= CPU_MAX)
		return NW_OK;
	if (number >= s->cap_cores) {
		for (cap = 8; cap <= number; cap *= 2)
			continue;
		if ((cores = reallocarray(s->cores, cap, sizeof(*cores))) == NULL)
			return NW_ENOMEM;
		memset(cores + s->cap_cores, 0, (cap - s->cap_cores) * sizeof(*cores));
		s->cores = cores;
		s->cap_cores = cap;
	}
	s->cores[number].all = sum_ticks(t);
	s->cores[number].busy = s->cores[number].all - t->ticks[CPU_IDLE] - t->ticks[CPU_IOWAIT];
	if (number >= s->n_cores)
		s->n_cores = (size_t)number + 1;
	return NW_OK;
}

static int
parse_cpu_line(struct scan name, struct scan *line, struct cpu_stat *out, bool *have_all)
{
	struct cpu_times t;
	uint64_t number;

	if (scan_numbers(line, t.ticks, CPU_FIELDS) <= CPU_IDLE)
		return NW_EPROTO;
	name.at += 3;
	if (name.at == name.end) {
		out->times = t;
		*have_all = true;
		return NW_OK;
	}
	return scan_u64(&name, &number) ? put_core(out, number, &t) : NW_EPROTO;
}

int
cpu_parse(struct scan text, struct cpu_stat *out)
{
	const struct {
		const char *name;
		uint64_t *to;
	} wanted[] = {
		{ "ctxt", &out->context_switches },
		{ "intr", &out->interrupts },
		{ "processes", &out->forks },
		{ "procs_running", &out->running },
		{ "procs_blocked", &out->blocked },
	};
	struct scan line, word;
	bool have_all = false;
	size_t i;
	int rc;

	out->n_cores = 0;
	if (out->cores != NULL) /* a core that has gone off line must not look busy for ever */
		memset(out->cores, 0, out->cap_cores * sizeof(*out->cores));
	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &word))
			continue;
		if (word.end - word.at >= 3 && memcmp(word.at, "cpu", 3) == 0) {
			if ((rc = parse_cpu_line(word, &line, out, &have_all)) < 0)
				return rc;
			continue;
		}
		for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (scan_is(word, wanted[i].name))
				scan_u64(&line, wanted[i].to);
	}
	return have_all ? NW_OK : NW_EPROTO;
}

/* --- differences --- */

static double
grown(uint64_t before, uint64_t now)
{
	return now > before ? (double)(now - before) : 0;
}

bool
cpu_shares(const struct cpu_times *before, const struct cpu_times *now, double shares[CPU_FIELDS])
{
	double sum = 0;
	int i;

	for (i = 0; i < CPU_FIELDS; i++)
		shares[i] = grown(before->ticks[i], now->ticks[i]);
	shares[CPU_USER] = fmax(0, shares[CPU_USER] - shares[CPU_GUEST]);
	shares[CPU_NICE] = fmax(0, shares[CPU_NICE] - shares[CPU_GUEST_NICE]);
	for (i = 0; i < CPU_FIELDS; i++)
		sum += shares[i];
	if (!(sum > 0))
		return false;
	for (i = 0; i < CPU_FIELDS; i++)
		shares[i] /= sum;
	return true;
}

double
cpu_busiest(const struct cpu_stat *before, const struct cpu_stat *now)
{
	double busiest = NAN, all, share;
	size_t i;

	for (i = 0; i < before->n_cores && i < now->n_cores; i++) {
		all = grown(before->cores[i].all, now->cores[i].all);
		share = grown(before->cores[i].busy, now->cores[i].busy) / all;
		if (all > 0 && !(busiest >= share))
			busiest = fmin(share, 1);
	}
	return busiest;
}

/* The processes that run, without blipp. */
static double
others_running(const struct cpu_stat *now)
{
	return now->running > 1 ? (double)(now->running - 1) : 0;
}

double
cpu_share_running(const struct cpu_stat *now)
{
	return fmin(1, (double)now->n_cores / fmax(others_running(now), 1));
}

double
cpu_share_new(const struct cpu_stat *now, double idle)
{
	double cores = (double)now->n_cores, fair = cores / (others_running(now) + 1);

	return fmin(1, idle * cores > fair ? idle * cores : fair);
}

/* --- the probe --- */

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct cpu_probe *p = state;
	struct cpu_stat *now = &p->stats[p->turn], *before = &p->stats[!p->turn];
	double s[CPU_FIELDS], shares[10], activity[7];
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/stat", buf, &text)) < 0 ||
	    (rc = cpu_parse(text, now)) < 0)
		return rc;
	activity[0] = (double)now->context_switches;
	activity[1] = (double)now->interrupts;
	activity[2] = (double)now->forks;
	activity[3] = (double)now->running;
	activity[4] = (double)now->blocked;
	activity[5] = cpu_share_running(now);
	activity[6] = cpu_share_new(now,
	    p->have_before && cpu_shares(&before->times, &now->times, s)
		? s[CPU_IDLE] + s[CPU_IOWAIT]
		: NAN);
	rc = series_send(&p->activity, &activity_kind, r, activity);
	if (!p->have_before) { /* nothing to compare with: shares since boot are not reported */
		p->have_before = true;
		p->turn = !p->turn;
		return rc;
	}
	if (rc < 0 || !cpu_shares(&before->times, &now->times, s))
		return rc;
	shares[0] = s[CPU_USER];
	shares[1] = s[CPU_SYSTEM];
	shares[2] = s[CPU_NICE];
	shares[3] = s[CPU_IOWAIT];
	shares[4] = s[CPU_HWIRQ];
	shares[5] = s[CPU_SWIRQ];
	shares[6] = s[CPU_STEAL];
	shares[7] = s[CPU_GUEST] + s[CPU_GUEST_NICE];
	shares[8] = s[CPU_IDLE];
	shares[9] = cpu_busiest(before, now);
	p->turn = !p->turn;
	return series_send(&p->shares, &shares_kind, r, shares);
}

static void
clear(void *state)
{
	struct cpu_probe *p = state;

	procfs_close(&p->file);
	free(p->stats[0].cores);
	free(p->stats[1].cores);
}

const struct probe probe_cpu = {
	.name = "cpu",
	.source = "/proc/stat",
	.event_type = SERIES_PREFIX "cpu:",
	.kinds = { &shares_kind, &activity_kind },
	.state_bytes = sizeof(struct cpu_probe),
	.sample = sample,
	.clear = clear,
};
