/* SPDX-License-Identifier: BSD-3-Clause */
/* Changed settings of the hosts of a route. */
#include "analyze/verdict/usual/changed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/differ.h"
#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum { LINES_MAX = 20000 };

/* A line of the history of a setting. */
struct line {
	char *name, *value, *before; /* value and before may be NULL */
	int64_t t_wall_ns;
	bool first;
};

struct lines {
	struct line *line;
	size_t n;
};

static int
on_line(void *arg, const struct nw_setting_rec *s)
{
	struct lines *l = arg;

	if (l->n == LINES_MAX)
		return 1;
	l->line = xreallocarray(l->line, l->n + 1, sizeof(*l->line));
	l->line[l->n++] = (struct line){ xstrdup(s->name), xstrdup(s->value), xstrdup(s->before),
		s->t_wall_ns, s->first };
	return 0;
}

static void
lines_clear(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		free(l->line[i].name);
		free(l->line[i].value);
		free(l->line[i].before);
	}
	free(l->line);
}

static int
line_compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : x->t_wall_ns < y->t_wall_ns ? -1 : x->t_wall_ns > y->t_wall_ns;
}

/* Groups of settings by their first word, and the stages they affect. A missing group affects
 * none. */
static bool
is_about(const char *name, const char *stage)
{
	static const char disk[] = " disk mount sysctl.vm kernel cgroup ",
			  storage[] = " mount net sysctl.net sysctl.vm kernel cgroup ",
			  net[] = " net sysctl.net kernel cgroup ",
			  host[] = " cpu memory kernel cgroup program sysctl.vm sysctl.kernel ";
	static const char *const groups[NW_STAGE_COUNT] = { [NW_STAGE_DISK_READ] = disk,
		[NW_STAGE_STORAGE_READ] = storage,
		[NW_STAGE_SENDER_HOST] = host,
		[NW_STAGE_NET_WRITE] = net,
		[NW_STAGE_NETWORK] = net,
		[NW_STAGE_NET_READ] = net,
		[NW_STAGE_RECEIVER_HOST] = host,
		[NW_STAGE_HOST] = host,
		[NW_STAGE_DISK_WRITE] = disk,
		[NW_STAGE_STORAGE_WRITE] = storage };
	enum nw_stage_kind kind;
	size_t len = strcspn(name, ".");
	char group[64];

	if (strncmp(name, "sysctl.", 7) == 0)
		len = 7 + strcspn(name + 7, ".");
	snprintf(group, sizeof(group), " %.*s ", (int)(len < 60 ? len : 60), name);
	return !nw_stage_kind_find(stage, &kind) || strstr(groups[kind], group) != NULL;
}

/* Of settings that changed together, settings known to matter to transfers come first. */
static bool
is_known(const char *name)
{
	static const char *const parts[] = { "tcp_rmem", "tcp_wmem", "rmem_max", "wmem_max",
		"congestion", "qdisc", ".mtu", ".speed", ".duplex", ".offload.", "_ring",
		"scheduler", "read_ahead", "mount.", ".dirty_", "_max", "governor", "nr_requests",
		"driver", "firmware", "kernel.release", "tcp_window_scaling", "tcp_sack",
		"tcp_timestamps", "tcp_mtu_probing", "tcp_slow_start_after_idle", "write_cache",
		"swappiness", "netdev_", "microcode" };
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]) != NULL)
			return true;
	return false;
}

/* Settings with changes of their own, or with another setting in their place. */
static bool
is_noise(const char *name)
{
	return strcmp(name, "kernel.boot_time") == 0;
}

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Settings of passing things (mounts, interfaces, disks) begin with the thing. All other
 * settings existed before their first report. */
static bool
is_of_a_thing(const char *name)
{
	static const char *const groups[] = { "mount.", "net.", "disk." };
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strncmp(name, groups[i], strlen(groups[i])) == 0)
			return true;
	return false;
}

/* The value at a time: the last line up to the time, or the value before the first line. Before
 * the host's first report of a setting, the value counts as the first reported value: a newer
 * blipp reports more, and a program reports its build at its first run. */
static const char *
value_at(const struct line *line, size_t n, int64_t t_wall_ns)
{
	const bool told_first =
	    line[0].first || (line[0].before == NULL && !is_of_a_thing(line[0].name));

	size_t i;

	for (i = 0; i < n && line[i].t_wall_ns <= t_wall_ns; i++)
		;
	return i > 0 ? line[i - 1].value : told_first ? line[0].value : line[0].before;
}

struct setting_test {
	const struct changed_ask *ask;
	struct changed *out;
	const char *host, *stage; /* stage limiting our session; NULL: cannot tell */
	bool *trait;
	bool *seen; /* traits tested before, in a row */
	size_t n_seen;
};

/* The number of the trait's course: settings with a common change share the number. */
static size_t
course_of(struct setting_test *t)
{
	const size_t n = t->ask->n;
	size_t i;

	for (i = 0; i < t->n_seen; i++)
		if (memcmp(t->seen + i * n, t->trait, n * sizeof(*t->trait)) == 0)
			return i;
	t->seen = xreallocarray(t->seen, (t->n_seen + 1) * n, sizeof(*t->seen));
	memcpy(t->seen + t->n_seen * n, t->trait, n * sizeof(*t->trait));
	return t->n_seen++;
}

/* The end of a session, when its settings are known: blipp reports a change seconds after the
 * session's start. */
static int64_t
settled(const struct changed_ask *ask, size_t i)
{
	const struct past_session *p = &ask->session[i];
	double took_s = p->bytes_per_s > 0 ? p->bytes / p->bytes_per_s : 0;

	return p->start_wall_ns + (isfinite(took_s) && took_s < 1e6 ? (int64_t)(took_s * 1e9) : 0);
}

static const char *
value_before(const struct setting_test *t, const struct line *line, size_t n, const char *now)
{
	const char *value = value_at(line, n, 0);
	size_t i;

	for (i = t->ask->split; i-- > 0;) {
		value = value_at(line, n, settled(t->ask, i));
		if (!is_same(value, now))
			break;
	}
	return value;
}

/* A setting with lines in time order. */
static void
setting_test(struct setting_test *t, const struct line *line, size_t n)
{
	const struct changed_ask *ask = t->ask;
	const char *now = value_at(line, n, settled(ask, ask->n - 1));
	struct difference *d;
	size_t i, same = 0, last = 0;

	for (i = 0; i < ask->n; i++) {
		t->trait[i] = is_same(value_at(line, n, settled(ask, i)), now);
		same += t->trait[i];
	}
	/* a setting that differs only from sessions since the change was the same before */
	if (same == ask->n || is_same(value_before(t, line, n, now), now))
		return;
	d = changed_add(t->out, DIFFERENCE_SETTING);
	d->name = xstrdup(line[0].name);
	d->host = xstrdup(t->host);
	d->before_text = xstrdup(value_before(t, line, n, now));
	d->after_text = xstrdup(now);
	for (i = 0; i < n; i++)
		if (line[i].t_wall_ns <= settled(ask, ask->n - 1))
			last = i;
	d->at_wall_ns = line[last].t_wall_ns;
	d->p = nw_trait_chance(t->trait, ask->n, ask->split, ask->low, ask->high);
	d->limits = t->stage == NULL || is_about(line[0].name, t->stage);
	d->known = is_known(line[0].name);
	d->course = course_of(t);
	t->out->n_settings = t->n_seen;
}

static void
host_test(struct setting_test *t, struct lines *l)
{
	size_t i, end;

	qsort(l->line, l->n, sizeof(*l->line), line_compare);
	for (i = 0; i < l->n; i = end) {
		for (end = i; end < l->n && strcmp(l->line[end].name, l->line[i].name) == 0; end++)
			;
		if (!is_noise(l->line[i].name))
			setting_test(t, &l->line[i], end - i);
	}
}

int
changed_settings(struct store_reader *r, const struct changed_ask *ask, struct changed *out)
{
	struct setting_test t = { .ask = ask, .out = out };
	size_t i;
	int rc = NW_OK;

	t.stage = result_text(result_get(ask->own, KEY_result_verdict), KEY_verdict_stage);
	t.trait = xcalloc(ask->n, sizeof(*t.trait));
	for (i = 0; i < ask->evidence->n_hosts && rc == NW_OK; i++) {
		struct lines l = { 0 };

		t.host = ask->evidence->hosts[i].name;
		rc = store_config_changes(r, ask->evidence->hosts[i].id,
		    ask->session[0].start_wall_ns, settled(ask, ask->n - 1), on_line, &l);
		if (rc == NW_OK && l.n > 0)
			host_test(&t, &l);
		lines_clear(&l);
	}
	free(t.trait);
	free(t.seen);
	return rc;
}
