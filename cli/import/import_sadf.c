/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `sadf -j`: recordings of sar. One series per group and thing: event type sar:GROUP
 * (sar:network:net-dev), the texts of an item (cpu, iface, disk-device, ...) its subject, its
 * numbers the fields, under sar's names.
 *
 * All are gauges, rates included: sar divides by the interval. A kB of sar is 1024 bytes, so units
 * are KiBy and KiBy/s; shares are in %, times of disks in ms. Numbers stay as printed.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

enum { DEPTH_MAX = 8 };

struct sadf {
	struct import *im;
	const char *at; /* the statistic in hand */
	struct slice host;
	int64_t t;
};

/* Units; the first match wins. group NULL matches any group; in a field "*..." is an end and
 * "...*" a beginning. */
static const struct {
	const char *group, *field, *unit;
} units[] = {
	{ NULL, "*percent", "%" },
	{ NULL, "%*", "%" },
	{ "cpu-load*", "*", "%" },
	{ "psi*", "*", "%" },
	{ NULL, "*kB", "KiBy/s" },
	{ "paging", "pgpg*", "KiBy/s" },
	{ "memory", "*", "KiBy" },
	{ "hugepages", "hug*", "KiBy" },
	{ "filesystems", "MB*", "MiBy" },
	{ "filesystems", "*", "1" },
	{ "disk", "await", "ms" },
	{ "disk", "*_sec", "{sector}/s" },
	{ "disk", "areq-sz", "KiBy" },
	{ "disk", "avgrq-sz", "{sector}" },
	{ "disk", "*qu-sz", "1" },
	{ "disk", "*", "1/s" },
	{ "kernel", "*", "1" },
	{ "queue", "*", "1" },
	{ "network:net-sock*", "*", "1" },
	{ "network:net*", "*", "1/s" },
	{ "network:softnet", "blg_len", "1" },
	{ "network:softnet", "*", "1/s" },
	{ "process-and-context-switch", "*", "1/s" },
	{ "interrupts", "*", "1/s" },
	{ "swap-pages", "*", "1/s" },
	{ "paging", "*", "1/s" },
	{ "io*", "b*", "{block}/s" },
	{ "io*", "*", "1/s" },
	{ "serial", "*", "1/s" },
};

static bool
fits(const char *pattern, const char *text)
{
	size_t n = strlen(pattern), len = strlen(text);

	if (pattern[0] == '*')
		return len >= n - 1 && strcmp(text + len - (n - 1), pattern + 1) == 0;
	return pattern[n - 1] == '*' ? strncmp(text, pattern, n - 1) == 0
				     : strcmp(text, pattern) == 0;
}

static const char *
unit_of(const char *group, const char *field)
{
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if ((units[i].group == NULL || fits(units[i].group, group)) &&
		    fits(units[i].field, field))
			return units[i].unit;
	return "";
}

/* Takes an item: sar writes numbers as numbers, and names of things as text. */
static int
item_take(struct sadf *x, const char *group, json_t *item)
{
	char *event = xasprintf("sar:%s", group), *key = NULL, *longer;
	struct import_series *s;
	const char *name;
	json_t *v;
	int rc = NW_OK;

	key = xasprintf("%.*s\n%s", (int)x->host.len, x->host.s, group);
	json_object_foreach(item, name, v) if (json_is_string(v))
	{
		longer = xasprintf("%s\n%s=%s", key, name, json_string_value(v));
		free(key);
		key = longer;
	}
	if ((s = import_series_find(x->im, key, strlen(key))) == NULL &&
	    (s = import_series_add(x->im, x->at, slice_of(key), x->host, slice_of(event))) !=
		NULL) {
		json_object_set_new(s->params, "kind", json_string("gauge"));
		json_object_foreach(item, name, v) if (rc == NW_OK && json_is_string(v)) rc =
		    import_set(
			x->im, x->at, s->subject, slice_of(name), slice_of(json_string_value(v)));
	}
	if (s == NULL)
		rc = NW_EPROTO;
	json_object_foreach(item, name, v) if (rc == NW_OK && json_is_number(v))
	{
		import_set_unit(s, slice_of(name), unit_of(group, name));
		rc = import_value(x->im, s, x->at, x->t, slice_of(name), json_number_value(v));
	}
	free(key);
	free(event);
	return rc;
}

static bool
has_numbers(json_t *object)
{
	const char *name;
	json_t *v;

	json_object_foreach(object, name, v) if (json_is_number(v)) return true;
	return false;
}

/* An object with numbers is an item; objects and lists within are groups of their own. */
static int
group_take(struct sadf *x, const char *group, json_t *v, int depth)
{
	const char *name;
	json_t *inner;
	char *path;
	size_t i;
	int rc = NW_OK;

	if (depth > DEPTH_MAX)
		return import_fail(x->im, x->at, "groups within groups");
	json_array_foreach(
	    v, i, inner) if ((rc = group_take(x, group, inner, depth + 1)) < 0) return rc;
	if (!json_is_object(v))
		return NW_OK;
	if (has_numbers(v) && (rc = item_take(x, group, v)) < 0)
		return rc;
	json_object_foreach(v, name, inner)
	{
		if (!json_is_object(inner) && !json_is_array(inner))
			continue;
		path = xasprintf("%s:%s", group, name);
		rc = group_take(x, path, inner, depth + 1);
		free(path);
		if (rc < 0)
			return rc;
	}
	return NW_OK;
}

static int
time_take(struct sadf *x, json_t *statistic)
{
	json_t *stamp = json_object_get(statistic, "timestamp");
	const char *date = json_string_value(json_object_get(stamp, "date"));
	const char *time = json_string_value(json_object_get(stamp, "time"));
	const char *tz = json_string_value(json_object_get(stamp, "tz"));
	json_t *utc = json_object_get(stamp, "utc");
	char *text;
	bool ok;

	if (date == NULL || time == NULL)
		return import_fail(x->im, x->at, "a statistic without timestamp");
	if ((tz != NULL && strcmp(tz, "UTC") != 0) ||
	    (json_is_integer(utc) && json_integer_value(utc) == 0))
		return import_fail(x->im, x->at, "local times: run sadf without -t and -T");
	text = xasprintf("%s %s", date, time);
	ok = import_time(slice_of(text), &x->t);
	free(text);
	return ok ? NW_OK : import_fail(x->im, x->at, "not a date and time");
}

/* jansson does not say where a value stood: statistics are counted by their "timestamp". */
static void
statistic_find(struct sadf *x)
{
	static const char name[] = "\"timestamp\"";
	const char *from = x->at == x->im->bytes ? x->at : x->at + 1;
	const char *p = memmem(from, (size_t)(x->im->end - from), name, sizeof(name) - 1);

	if (p != NULL)
		x->at = p;
}

static int
host_take(struct sadf *x, json_t *host)
{
	json_t *all = json_object_get(host, "statistics"), *statistic, *v;
	const char *name, *node = json_string_value(json_object_get(host, "nodename"));
	size_t i;
	int rc;

	x->host = slice_of(node != NULL ? node : "");
	json_array_foreach(all, i, statistic)
	{
		if (json_object_get(statistic, "timestamp") == NULL &&
		    json_object_size(statistic) == 0)
			continue;
		statistic_find(x);
		if ((rc = time_take(x, statistic)) < 0)
			return rc;
		json_object_foreach(statistic, name, v) if (strcmp(name, "timestamp") != 0 &&
		    (rc = group_take(x, name, v, 0)) < 0) return rc;
	}
	return NW_OK;
}

int
import_sadf(struct import *im)
{
	struct sadf x = { .im = im, .at = im->bytes };
	json_error_t e;
	struct slice all = { im->bytes, (size_t)(im->end - im->bytes) };
	json_t *doc = json_loadb(all.s, all.len, 0, &e), *hosts, *host;
	size_t i;
	int rc = NW_OK;

	if (doc == NULL)
		return import_fail_json(im, all, &e);
	hosts = json_object_get(json_object_get(doc, "sysstat"), "hosts");
	if (!json_is_array(hosts))
		rc = import_fail(im, im->bytes, "no sysstat.hosts: not the output of sadf -j");
	json_array_foreach(hosts, i, host) if (rc == NW_OK) rc = host_take(&x, host);
	json_decref(doc);
	return rc;
}
