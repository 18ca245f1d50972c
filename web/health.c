/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/health.h"

#include <stdio.h>

#include "narrows/format.h"

#define MINUTE_NS INT64_C(60000000000)
/* A part failed if the box made no progress for so long. */
#define COMMIT_LATE_NS   (MINUTE_NS / 2)
#define ANALYSIS_LATE_NS (10 * MINUTE_NS)
enum { DISK_MIN_BYTES = 64 << 20 };

/* Nanoseconds since the last success, or since the start of the box without a success. */
static int64_t
since(const struct nw_health *h, int64_t last_wall_ns)
{
	return h->now_wall_ns - (last_wall_ns != 0 ? last_wall_ns : h->started_wall_ns);
}

void
health_parts(const struct nw_health *h, struct health_part out[HEALTH_PARTS])
{
	struct health_part *store = &out[0], *queue = &out[1], *disk = &out[2], *analysis = &out[3];

	*store = (struct health_part){ "store", h->store.trouble[0] == '\0', true, "" };
	if (!store->ok)
		snprintf(store->why, sizeof(store->why), "%s", h->store.trouble);
	*queue = (struct health_part){ "queue", true, true, "" };
	if (h->store.queued_batches > 0 &&
	    since(h, h->store.last_commit_wall_ns) > COMMIT_LATE_NS) {
		queue->ok = false;
		snprintf(queue->why, sizeof(queue->why),
		    "%s batches wait, the last commit was %s ago",
		    fmt_count(h->store.queued_batches).s,
		    fmt_duration((double)since(h, h->store.last_commit_wall_ns) / 1e9).s);
	}
	*disk = (struct health_part){ "disk", true, false, "" };
	if (h->disk_free_bytes >= 0 && h->disk_free_bytes < DISK_MIN_BYTES) {
		disk->ok = false;
		snprintf(disk->why, sizeof(disk->why), "%s are free",
		    fmt_bytes((double)h->disk_free_bytes).s);
	}
	*analysis = (struct health_part){ "analysis", true, false, "" };
	if (h->counts.analysis_queued > 0 &&
	    since(h, h->last_analysis_wall_ns) > ANALYSIS_LATE_NS) {
		analysis->ok = false;
		snprintf(analysis->why, sizeof(analysis->why),
		    "%s sessions wait, the last analysis was %s ago",
		    fmt_count(h->counts.analysis_queued).s,
		    fmt_duration((double)since(h, h->last_analysis_wall_ns) / 1e9).s);
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
