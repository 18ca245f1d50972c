/* SPDX-License-Identifier: BSD-3-Clause */
/* The behaviour of a session, analysis by analysis, and the lines of the directive `rule`. */
#include "daemon/analysis/behaviour.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/analysis/ruleline.h"
#include "narrows/err.h"
#include "tests/check.h"

#define SECOND_NS INT64_C(1000000000)

static void
test_session(void)
{
	static const struct {
		const char *stage;
		double rate, usual; /* since the analysis before; of the route */
		unsigned is, step;
	} looks[] = {
		{ "disk.read", 100, NAN, BEHAVIOUR_OPEN, 0 },
		{ "disk.read", 110, NAN, BEHAVIOUR_OPEN, 0 },
		{ "disk.read", 100, 90, BEHAVIOUR_OPEN | BEHAVIOUR_STEADY, 0 },
		{ "disk.read", 100, 100, BEHAVIOUR_OPEN | BEHAVIOUR_STEADY, 0 },
		{ "disk.read", 50, 100, BEHAVIOUR_OPEN | BEHAVIOUR_SLOW | BEHAVIOUR_CHANGED, 0 },
		{ "network", 100, 100, BEHAVIOUR_OPEN | BEHAVIOUR_CHANGED, 1 },
		{ "", 100, 100, BEHAVIOUR_OPEN | BEHAVIOUR_CHANGED | BEHAVIOUR_UNTOLD, 2 },
		{ "", 100, 100, BEHAVIOUR_OPEN | BEHAVIOUR_UNTOLD, 3 },
		{ "network", 95, 100, BEHAVIOUR_OPEN | BEHAVIOUR_CHANGED, 4 },
		{ "network", 95, 100, BEHAVIOUR_OPEN, 3 },
		{ "network", 95, 130, BEHAVIOUR_OPEN | BEHAVIOUR_SLOW, 3 },
		{ "network", 95, 100, BEHAVIOUR_OPEN, 2 },
	};
	struct session_outcome o = { .session_id = 1 };
	int64_t now_mono_ns = 0;
	struct behaviour b;
	size_t i;

	behaviour_begin(&b, 30 * SECOND_NS, now_mono_ns);
	CHECK_INT(b.is, BEHAVIOUR_OPEN | BEHAVIOUR_UNTOLD);
	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		now_mono_ns += 10 * SECOND_NS;
		o.duration_s += 10;
		o.bytes += 10 * looks[i].rate;
		o.usual_bytes_per_s = looks[i].usual;
		snprintf(o.stage, sizeof(o.stage), "%s", looks[i].stage);
		behaviour_take(&b, &o, now_mono_ns);
		CHECK_INT(b.is, looks[i].is);
		CHECK_INT(b.step, looks[i].step);
	}
}

/* A look too soon after another leaves a slow session slow: neither calm nor one more reason. */
static void
test_soon(void)
{
	struct session_outcome o = { .stage = "network", .usual_bytes_per_s = 100 };
	struct behaviour b;
	int i;

	behaviour_begin(&b, SECOND_NS, 0);
	for (i = 0; i < 6; i++) {
		o.bytes += 10;
		o.duration_s += 1;
		behaviour_take(&b, &o, i);
		CHECK_INT((b.is & BEHAVIOUR_SLOW) != 0, i >= 2);
	}
	CHECK_INT(b.step, 1);
}

/* Numbers that nobody should trust: none is a reason to look closer, and none ends the box. */
static void
test_odd(void)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -5, 1e308 };
	struct session_outcome o = { .stage = "network" };
	struct behaviour b;
	size_t i, k;

	behaviour_begin(&b, SECOND_NS, 0);
	for (i = 0; i < 6; i++)
		for (k = 0; k < 6; k++) {
			o.bytes = odd[i];
			o.duration_s = odd[k];
			o.usual_bytes_per_s = odd[i];
			behaviour_take(&b, &o, (int64_t)i);
			CHECK((b.is & BEHAVIOUR_OPEN) != 0);
		}
}

static void
test_lines(void)
{
	static const struct {
		const char *text;
		int rc;
		unsigned when;
		int64_t interval_ns;
	} lines[] = { { "slow ps:cpu 100ms", NW_OK, BEHAVIOUR_SLOW, SECOND_NS / 10 },
		{ "  untold   ps:  1s ", NW_OK, BEHAVIOUR_UNTOLD, SECOND_NS },
		{ "fast ps:cpu 1s", NW_EINVAL, 0, 0 }, { "slow cpu 1s", NW_EINVAL, 0, 0 },
		{ "slow ps:cpu", NW_EINVAL, 0, 0 }, { "slow ps:cpu 1s more", NW_EINVAL, 0, 0 },
		{ "slow ps:cpu 1ms", NW_EINVAL, 0, 0 }, { "slow ps:cpu 2h", NW_EINVAL, 0, 0 },
		{ "", NW_EINVAL, 0, 0 } };
	const char *next, *why;
	struct ruleline line;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		CHECK_INT(ruleline_parse(lines[i].text, &line, &next, &why), lines[i].rc);
		CHECK(*next == '\0');
		if (lines[i].rc != NW_OK)
			continue;
		CHECK_INT(line.when, lines[i].when);
		CHECK_INT(line.interval_ns, lines[i].interval_ns);
	}
	CHECK_INT(ruleline_parse("open ps:a 1s\nslow ps:b 2s", &line, &next, &why), NW_OK);
	CHECK_STR(line.event_type, "ps:a");
	CHECK_INT(ruleline_parse(next, &line, &next, &why), NW_OK);
	CHECK_STR(line.event_type, "ps:b");
}

int
main(void)
{
	test_session();
	test_soon();
	test_odd();
	test_lines();
	return check_done("test_behaviour");
}
