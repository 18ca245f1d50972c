/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/blipp_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/conn.h"
#include "narrows/err.h"

enum { LINE_BYTES = 1024 };

const struct probe *const blipp_probes[BLIPP_PROBES] = { &probe_cpu, &probe_load, &probe_memory,
	&probe_vmstat, &probe_pressure, &probe_disk, &probe_net, &probe_snmp, &probe_netstat,
	&probe_clock };

const char *const blipp_event_types[BLIPP_PROBES] = { SERIES_PREFIX "cpu:",
	SERIES_PREFIX "cpu:load", SERIES_PREFIX "memory:utilization", SERIES_PREFIX "memory:vmstat",
	SERIES_PREFIX "pressure", SERIES_PREFIX "disk:", SERIES_PREFIX "network:utilization",
	SERIES_PREFIX "network:", SERIES_PREFIX "network:", SERIES_PREFIX "clock" };

struct unit {
	const char *name;
	double factor;
};

static const struct unit time_units[] = { { "", 1e9 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 },
	{ "h", 3600e9 }, { "d", 86400e9 }, { NULL, 0 } };
static const struct unit size_units[] = { { "", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 },
	{ "GiB", 1 << 30 }, { NULL, 0 } };

static int
parse_number(const char *value, const struct unit *units, double min, double max, double *out)
{
	char *end;
	double v = strtod(value, &end);
	const struct unit *u;

	if (end == value)
		return NW_EINVAL;
	end += strspn(end, " \t");
	for (u = units; u->name != NULL && strcmp(u->name, end) != 0; u++)
		continue;
	v *= u->factor;
	if (u->name == NULL || !(v >= min && v <= max))
		return NW_EINVAL;
	*out = v;
	return NW_OK;
}

static int
set_box(struct blipp_conf *c, const char *value)
{
	struct conn_addr a;

	if (strlen(value) >= sizeof(c->box) || conn_addr_parse(value, &a) < 0)
		return NW_EINVAL;
	strcpy(c->box, value);
	return NW_OK;
}

static int
set_tls_dir(struct blipp_conf *c, const char *value)
{
	if (strlen(value) >= sizeof(c->tls_dir) || value[0] != '/')
		return NW_EINVAL;
	strcpy(c->tls_dir, value);
	return NW_OK;
}

static int
set_host(struct blipp_conf *c, const char *value)
{
	if (strlen(value) >= sizeof(c->host) || strpbrk(value, " \t") != NULL)
		return NW_EINVAL;
	strcpy(c->host, value);
	return NW_OK;
}

static int
set_interval(struct blipp_conf *c, const char *value)
{
	double v;

	if (parse_number(value, time_units, 10e6, 3600e9, &v) < 0)
		return NW_EINVAL;
	c->interval_ns = (int64_t)v;
	return NW_OK;
}

static int
set_report(struct blipp_conf *c, const char *value)
{
	double v;

	if (parse_number(value, time_units, 0, 3600e9, &v) < 0)
		return NW_EINVAL;
	c->report_ns = (int64_t)v;
	return NW_OK;
}

static int
set_queue(struct blipp_conf *c, const char *value)
{
	double v;

	if (parse_number(value, size_units, 64 << 10, 1 << 30, &v) < 0)
		return NW_EINVAL;
	c->queue_bytes = (uint64_t)v;
	return NW_OK;
}

static int
set_spool_dir(struct blipp_conf *c, const char *value)
{
	if (value[0] != '/' || strlen(value) >= sizeof(c->spool_dir))
		return NW_EINVAL;
	strcpy(c->spool_dir, value);
	return NW_OK;
}

static int
set_spool_size(struct blipp_conf *c, const char *value)
{
	double v;

	if (parse_number(value, size_units, 1 << 20, 1e12, &v) < 0)
		return NW_EINVAL;
	c->spool_bytes = (uint64_t)v;
	return NW_OK;
}

static int
set_spool_age(struct blipp_conf *c, const char *value)
{
	double v;

	if (parse_number(value, time_units, 60e9, 366 * 86400e9, &v) < 0)
		return NW_EINVAL;
	c->spool_age_ns = (int64_t)v;
	return NW_OK;
}

static int
set_probes(struct blipp_conf *c, const char *value)
{
	struct scan list = scan_text(value, strlen(value)), word;
	bool wanted[BLIPP_PROBES] = { false };
	size_t i;

	while (scan_word(&list, &word)) {
		for (i = 0; i < BLIPP_PROBES && !scan_is(word, blipp_probes[i]->name); i++)
			continue;
		if (i == BLIPP_PROBES)
			return NW_EINVAL;
		wanted[i] = true;
	}
	memcpy(c->probes, wanted, sizeof(wanted));
	return NW_OK;
}

static const struct {
	const char *name;
	int (*set)(struct blipp_conf *c, const char *value);
	const char *expects;
} directives[] = {
	{ "box", set_box, "an address such as 192.0.2.1/5006 or tls://box.example.net" },
	{ "tls-dir", set_tls_dir, "an absolute path" },
	{ "host", set_host, "a name without blanks" },
	{ "interval", set_interval, "a time from 10 ms to 60 m" },
	{ "report-period", set_report, "a time up to 60 m" },
	{ "queue-size", set_queue, "a size from 64 KiB to 1024 MiB" },
	{ "spool-dir", set_spool_dir, "an absolute path" },
	{ "spool-max-size", set_spool_size, "a size from 1 MiB to 931 GiB" },
	{ "spool-max-age", set_spool_age, "a time from 1 m to 366 d" },
	{ "probes", set_probes,
	    "some of: cpu load memory vmstat pressure disk net snmp netstat clock" },
};
enum { N_DIRECTIVES = sizeof(directives) / sizeof(directives[0]) };

void
blipp_conf_init(struct blipp_conf *c)
{
	size_t i;

	memset(c, 0, sizeof(*c));
	c->interval_ns = INT64_C(1000000000);
	c->queue_bytes = 64 << 20;
	c->spool_bytes = 256 << 20;
	c->spool_age_ns = INT64_C(7) * 86400 * 1000000000;
	for (i = 0; i < BLIPP_PROBES; i++)
		c->probes[i] = true;
}

int
blipp_conf_set(struct blipp_conf *c, const char *name, const char *value, char why[BLIPP_WHY_BYTES])
{
	size_t i;

	for (i = 0; i < N_DIRECTIVES; i++) {
		if (strcmp(directives[i].name, name) != 0)
			continue;
		if (value[0] != '\0' && directives[i].set(c, value) == NW_OK)
			return NW_OK;
		snprintf(why, BLIPP_WHY_BYTES, "%s: \"%.80s\" is not %s", name, value,
		    directives[i].expects);
		return NW_EINVAL;
	}
	snprintf(why, BLIPP_WHY_BYTES, "%.60s: unknown directive", name);
	return NW_EINVAL;
}

static char *
trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r\n");
	for (end = s + strlen(s); end > s && strchr(" \t\r\n", end[-1]) != NULL; end--)
		continue;
	*end = '\0';
	return s;
}

static int
apply_line(struct blipp_conf *c, char *line, char why[BLIPP_WHY_BYTES])
{
	char *name, *value;

	line[strcspn(line, "#")] = '\0';
	name = trim(line);
	if (name[0] == '\0')
		return NW_OK;
	value = name + strcspn(name, " \t");
	if (*value != '\0')
		*value++ = '\0';
	return blipp_conf_set(c, name, trim(value), why);
}

int
blipp_conf_read(struct blipp_conf *c, const char *path, char why[BLIPP_WHY_BYTES])
{
	char line[LINE_BYTES], reason[BLIPP_WHY_BYTES];
	struct blipp_conf fresh = *c;
	unsigned number = 0;
	int rc = NW_OK;
	FILE *f = fopen(path, "r");

	if (f == NULL) {
		snprintf(why, BLIPP_WHY_BYTES, "%.120s: %s", path, strerror(errno));
		return NW_EIO;
	}
	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL) {
		number++;
		if (strchr(line, '\n') == NULL && !feof(f)) {
			snprintf(reason, sizeof(reason), "line too long");
			rc = NW_EINVAL;
		} else {
			rc = apply_line(&fresh, line, reason);
		}
	}
	if (rc == NW_OK && ferror(f)) {
		snprintf(reason, sizeof(reason), "%s", strerror(errno));
		rc = NW_EIO;
	}
	fclose(f);
	if (rc == NW_OK)
		*c = fresh;
	else
		snprintf(why, BLIPP_WHY_BYTES, "%.80s:%u: %.150s", path, number, reason);
	return rc;
}

int
blipp_conf_override(struct blipp_conf *c, const char *assignment, char why[BLIPP_WHY_BYTES])
{
	const char *equals = strchr(assignment, '=');
	char name[64];

	if (equals == NULL || (size_t)(equals - assignment) >= sizeof(name)) {
		snprintf(why, BLIPP_WHY_BYTES, "%.80s: is not name=value", assignment);
		return NW_EINVAL;
	}
	memcpy(name, assignment, (size_t)(equals - assignment));
	name[equals - assignment] = '\0';
	return blipp_conf_set(c, name, equals + 1, why);
}
