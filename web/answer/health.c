/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/health.h"

#include <stdio.h>

#include "narrows/format.h"

#define SECOND_NS INT64_C(1000000000)
/* A part that makes no progress for so long has failed: each is told within a minute. The clock is
 * looked at every 16 s, and a time service may start anew. */
#define COMMIT_LATE_NS   (30 * SECOND_NS)
#define ANALYSIS_LATE_NS (45 * SECOND_NS)
#define CLOCK_LATE_NS    (40 * SECOND_NS)
enum { DISK_MIN_BYTES = 64 << 20 };

static struct fmt
span(int64_t ns)
{
	return fmt_duration((double)ns / 1e9);
}

static void
store_judge(const struct nw_health *h, struct health_part *p)
{
	p->ok = h->store.trouble[0] == '\0';
	if (!p->ok)
		snprintf(p->why, sizeof(p->why), "%s", h->store.trouble);
}

static void
queue_judge(const struct nw_health *h, struct health_part *p)
{
	p->ok = h->store.stalled_ns <= COMMIT_LATE_NS;
	if (!p->ok)
		snprintf(p->why, sizeof(p->why), "%s batches wait, and none was stored for %s",
		    fmt_count(h->store.queued_batches).s, span(h->store.stalled_ns).s);
}

static void
disk_judge(const struct nw_health *h, struct health_part *p)
{
	p->ok = h->disk_free_bytes < 0 || h->disk_free_bytes >= DISK_MIN_BYTES;
	if (!p->ok)
		snprintf(
		    p->why, sizeof(p->why), "%s are free", fmt_bytes((double)h->disk_free_bytes).s);
}

static void
analysis_judge(const struct nw_health *h, struct health_part *p)
{
	char what[80] = "a route";

	p->ok = h->analysis_busy_ns <= ANALYSIS_LATE_NS;
	if (p->ok)
		return;
	if (h->analysis_busy_session_id != 0)
		snprintf(what, sizeof(what), "session %s", fmt_int(h->analysis_busy_session_id).s);
	snprintf(p->why, sizeof(p->why), "%s is being analysed for %s; sessions that wait: %s",
	    what, span(h->analysis_busy_ns).s, fmt_count(h->counts.analysis_queued).s);
}

static void
clock_judge(const struct nw_health *h, struct health_part *p)
{
	p->ok = h->clock_lost_ns <= CLOCK_LATE_NS;
	if (!p->ok)
		snprintf(p->why, sizeof(p->why), "%s, for %s",
		    h->clock_known ? "the clock is not synchronised"
				   : "the time service does not answer any more",
		    span(h->clock_lost_ns).s);
	else if (!h->clock_known)
		snprintf(p->why, sizeof(p->why), "not known: no time service answers");
}

void
health_parts(const struct nw_health *h, struct health_part out[HEALTH_PARTS])
{
	static const struct {
		enum result_key key;
		bool is_needed;
		void (*judge)(const struct nw_health *h, struct health_part *p);
	} parts[HEALTH_PARTS] = {
		{ KEY_health_parts_store, true, store_judge },
		{ KEY_health_parts_queue, true, queue_judge },
		{ KEY_health_parts_disk, false, disk_judge },
		{ KEY_health_parts_analysis, false, analysis_judge },
		{ KEY_health_parts_clock, false, clock_judge },
	};
	size_t i;

	for (i = 0; i < HEALTH_PARTS; i++) {
		out[i] = (struct health_part){ parts[i].key, result_key_name(parts[i].key), true,
			parts[i].is_needed, "" };
		parts[i].judge(h, &out[i]);
	}
}

bool
health_is_ready(const struct nw_health *h)
{
	struct health_part list[HEALTH_PARTS];
	size_t i;

	health_parts(h, list);
	for (i = 0; i < HEALTH_PARTS; i++)
		if (!list[i].ok && list[i].is_needed)
			return false;
	return true;
}

void
health_judge(struct nw_health *h)
{
	struct health_part list[HEALTH_PARTS];
	size_t i;

	health_parts(h, list);
	for (i = 0; i < HEALTH_PARTS && h->ok; i++) {
		h->ok = list[i].ok;
		if (!h->ok)
			snprintf(h->problem, sizeof(h->problem), "%s: %.200s", list[i].name,
			    list[i].why);
	}
}
