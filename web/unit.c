/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

struct named_unit {
	const char *name, *unit;
};

static const char *
find_unit(const struct named_unit *table, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].unit;
	return NULL;
}

#define FIND_UNIT(table, name) find_unit((table), sizeof(table) / sizeof((table)[0]), (name))

/* Of our own names only: others end names in _s for "per second". */
static const char *
unit_of_name(const char *field)
{
	/* sum_v, mean_r, ...: the letter says of what */
	static const struct named_unit letters[] = { { "v", "By" }, { "d", "s" }, { "r", "By/ns" },
		{ "g", "ns/By" } };
	static const struct named_unit stats[] = { { "sum", "" }, { "min", "" }, { "max", "" },
		{ "mean", "" }, { "sd", "" } };
	static const struct named_unit names[] = {
		{ "count", "1" },
		{ "count_r", "1" },
		{ "threads", "1" },
		{ "clamped", "1" },
		{ "missed_ops", "1" },
		{ "retrans", "1" },
		{ "dur", "s" },
		{ "dur_inst", "s" },
		{ "window", "s" },
		{ "busy", "s" },
		{ "busy_max", "s" },
		{ "wait", "s" },
		{ "cpu_user", "s" },
		{ "cpu_sys", "s" },
		{ "cpu_wait", "s" },
		{ "bytes_in", "By" },
		{ "bytes_out", "By" },
		{ "rchar", "By" },
		{ "wchar", "By" },
		{ "rss", "By" },
		{ "seen_read", "By" },
		{ "seen_written", "By" },
		{ "snd_mss", "By" },
		{ "delivery_rate", "By/s" },
	};
	static const struct named_unit ends[] = { { "bytes", "By" }, { "s", "s" }, { "ns", "ns" },
		{ "share", "1" } };
	const char *unit = FIND_UNIT(names, field), *end = strrchr(field, '_');
	char stat[8];

	if (unit != NULL || end == NULL)
		return unit;
	if ((unit = FIND_UNIT(letters, end + 1)) == NULL)
		return FIND_UNIT(ends, end + 1);
	snprintf(stat, sizeof(stat), "%.*s", (int)(end - field), field);
	return FIND_UNIT(stats, stat) != NULL ? unit : NULL;
}

static bool
is_ours(const char *event_type)
{
	return strncmp(event_type, "nw:", 3) == 0 || strstr(event_type, ":calipers:") != NULL;
}

const char *
unit_of_field(
    const char *event_type, const char *params_json, const char *field, char *buf, size_t size)
{
	json_t *params =
	    params_json != NULL ? json_loads(params_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *unit;

	snprintf(buf, size, "unit_%s", field);
	if ((unit = json_string_value(json_object_get(params, buf))) == NULL)
		unit = json_string_value(json_object_get(params, "unit"));
	if (unit == NULL && is_ours(event_type))
		unit = unit_of_name(field);
	snprintf(buf, size, "%s", unit != NULL ? unit : "");
	json_decref(params);
	return buf;
}
