/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a box: each fault is named within a minute, and an idle box has none. */
#include "web/answer/health.h"

#include "tests/check.h"

#define S INT64_C(1000000000)

static const struct nw_health well = {
	.ok = true,
	.started_wall_ns = 1000 * S,
	.now_wall_ns = 100000 * S,
	.disk_free_bytes = INT64_C(1) << 40,
	.clock_known = true,
	.clock_synchronised = true,
};

/* Which part is not well, and whether the box is ready; NULL: every part is well. */
static void
judge(struct nw_health h, const char *part, bool ready, const char *why)
{
	struct health_part list[HEALTH_PARTS];
	size_t i;

	health_parts(&h, list);
	for (i = 0; i < HEALTH_PARTS; i++) {
		CHECK_INT(list[i].ok, part == NULL || strcmp(part, list[i].name) != 0);
		if (!list[i].ok)
			CHECK_STR(list[i].why, why);
	}
	CHECK_INT(health_is_ready(&h), ready);
	health_judge(&h);
	CHECK_INT(h.ok, part == NULL);
	CHECK(part == NULL || strncmp(h.problem, part, strlen(part)) == 0);
}

static void
test_idle(void)
{
	struct nw_health h = well;

	judge(h, NULL, true, NULL);
	/* the last commit and the last analysis are a day old, and work has just begun */
	h.store.queued_batches = 3;
	h.store.stalled_ns = S / 10;
	h.counts.analysis_queued = 1;
	h.analysis_busy_ns = S;
	judge(h, NULL, true, NULL);
	/* a box that never had a time service, or whose service has just begun (anew) */
	h.clock_known = h.clock_synchronised = false;
	judge(h, NULL, true, NULL);
	h.clock_lost_ns = 20 * S;
	judge(h, NULL, true, NULL);
}

static void
test_faults(void)
{
	struct nw_health h = well;

	h.store.queued_batches = 12;
	h.store.stalled_ns = 50 * S;
	judge(h, "queue", false, "12 batches wait, and none was stored for 50\xc2\xa0s");
	h = well;
	snprintf(h.store.trouble, sizeof(h.store.trouble), "disk full");
	judge(h, "store", false, "disk full");
	h = well;
	h.disk_free_bytes = 1000000;
	judge(h, "disk", true, "1\xc2\xa0MB are free");
	h = well;
	h.analysis_busy_ns = 50 * S;
	h.analysis_busy_session_id = 7;
	h.counts.analysis_queued = 2;
	judge(h, "analysis", true,
	    "session 7 is being analysed for 50\xc2\xa0s; sessions that wait: 2");
	h = well;
	h.clock_synchronised = false;
	h.clock_lost_ns = 50 * S;
	judge(h, "clock", true, "the clock is not synchronised, for 50\xc2\xa0s");
	h.clock_known = false;
	judge(h, "clock", true, "the time service does not answer any more, for 50\xc2\xa0s");
}

int
main(void)
{
	test_idle();
	test_faults();
	return check_done("health");
}
