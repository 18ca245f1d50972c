/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/settings/configuration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/ticker.h"
#include "narrows/eventtype.h"
#include "narrows/fnv.h"

#define PERIOD_NS INT64_C(300000000000)
#define HASTE_NS  INT64_C(5000000000)

enum { MOUNTS_BYTES = 65536 };

/* Groups without any setting are told, too, if they were there before: their range is known. */
static const char *const groups[] = { "cgroup", "cpu", "disk", "kernel", "memory", "mount", "net",
	"os", "sysctl" };
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

void
configuration_collect(struct settings *s, const struct filter *filter)
{
	char *mounts = malloc(MOUNTS_BYTES);

	settings_of_system(s);
	settings_of_sysctl(s, "/proc/sys");
	settings_of_net(s, filter);
	settings_of_disks(s, filter);
	if (mounts != NULL && settings_read("/proc/self/mountinfo", mounts, MOUNTS_BYTES))
		settings_of_mounts(s, mounts, filter);
	free(mounts);
	settings_sort(s);
}

static uint64_t
part_hash(const struct settings *s, size_t first, size_t n)
{
	uint64_t h = FNV_BEGIN;
	size_t i;

	for (i = first; i < first + n; i++)
		h = fnv_byte(
		    fnv_text(fnv_byte(fnv_text(h, s->list[i].name), 0), s->list[i].value), 0);
	return h;
}

static const struct configuration_part *
part_of(const struct configuration_part *parts, size_t n, const char *from)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(parts[i].from, from) == 0)
			return &parts[i];
	return NULL;
}

static int
part_send(struct configuration_part *part, const struct settings *s, size_t first, size_t n,
    struct nw_provider *p, const char *host, int64_t t_wall_ns)
{
	struct nw_kv subject[] = { { "hostname", NW_KV_TEXT, { .text = host } },
		{ "type", NW_KV_TEXT, { .text = "host" } },
		{ "from", NW_KV_TEXT, { .text = part->from } },
		{ "until", NW_KV_TEXT, { .text = part->until } },
		{ "t_ns", NW_KV_INT, { .i = t_wall_ns } } };
	struct nw_kv kv[CONFIGURATION_PART];
	size_t i;

	for (i = 0; i < n; i++)
		kv[i] = (struct nw_kv){ s->list[first + i].name, NW_KV_TEXT,
			{ .text = s->list[first + i].value } };
	snprintf(
	    part->id, sizeof(part->id), "%.150s/config/%s/%" PRId64, host, part->from, t_wall_ns);
	return nw_provider_meta(p, part->id, NULL, NW_TYPE_CONFIG, subject,
	    sizeof(subject) / sizeof(subject[0]), kv, n);
}

/* One look: the old parts, and the new parts as they are made. */
struct look {
	struct configuration *c;
	const struct settings *s;
	struct nw_provider *provider;
	const char *host;
	int64_t t_wall_ns;
	struct configuration_part *parts;
	size_t n_parts, sent;
};

static void
look_part(struct look *l, const char *from, const char *until, size_t first, size_t n)
{
	struct configuration_part *part = &l->parts[l->n_parts];
	const struct configuration_part *old = part_of(l->c->parts, l->c->n_parts, from);

	if (l->n_parts == CONFIGURATION_PARTS_MAX)
		return;
	snprintf(part->from, sizeof(part->from), "%s", from);
	snprintf(part->until, sizeof(part->until), "%s", until);
	part->hash = part_hash(l->s, first, n);
	l->n_parts++;
	if (old != NULL && old->hash == part->hash && strcmp(old->until, until) == 0) {
		memcpy(part->id, old->id, sizeof(part->id));
		return;
	}
	if (part_send(part, l->s, first, n, l->provider, l->host, l->t_wall_ns) < 0) {
		l->n_parts--; /* the next look tries again */
		return;
	}
	if (old != NULL)
		nw_provider_meta_end(l->provider, old->id);
	l->sent++;
}

/* A group in parts: each begins with the name of its first setting, the first part with the
 * group. */
static void
look_group(struct look *l, const char *group, size_t *at)
{
	char from[SETTING_NAME_BYTES], until[SETTING_NAME_BYTES], prefix[SETTING_NAME_BYTES],
	    end[SETTING_NAME_BYTES];
	const struct setting *list = l->s->list;
	size_t first = *at, n, len;

	len = (size_t)snprintf(prefix, sizeof(prefix), "%s.", group);
	snprintf(end, sizeof(end), "%s/", group);
	snprintf(from, sizeof(from), "%s", prefix);
	while (*at < l->s->n && strncmp(list[*at].name, prefix, len) == 0)
		++*at;
	if (*at == first && part_of(l->c->parts, l->c->n_parts, prefix) == NULL)
		return;
	do {
		n = *at - first < CONFIGURATION_PART ? *at - first : CONFIGURATION_PART;
		snprintf(until, sizeof(until), "%s", first + n < *at ? list[first + n].name : end);
		look_part(l, from, until, first, n);
		snprintf(from, sizeof(from), "%s", until);
		first += n;
	} while (first < *at);
}

size_t
configuration_send(struct configuration *c, const struct settings *s, struct nw_provider *p,
    const char *host, int64_t t_wall_ns)
{
	struct look l = { .c = c,
		.s = s,
		.provider = p,
		.host = host,
		.t_wall_ns = t_wall_ns,
		.parts = calloc(CONFIGURATION_PARTS_MAX, sizeof(*l.parts)) };
	size_t at = 0, i;

	if (l.parts == NULL)
		return 0;
	for (i = 0; i < GROUPS; i++) {
		while (at < s->n && strncmp(s->list[at].name, groups[i], strlen(groups[i])) < 0)
			at++;
		look_group(&l, groups[i], &at);
	}
	/* old parts without successor: the part before tells their range now */
	for (i = 0; i < c->n_parts; i++)
		if (part_of(l.parts, l.n_parts, c->parts[i].from) == NULL)
			nw_provider_meta_end(p, c->parts[i].id);
	memcpy(c->parts, l.parts, sizeof(c->parts));
	c->n_parts = l.n_parts;
	c->left_out = s->left_out;
	free(l.parts);
	return l.sent;
}

void
configuration_hasten(struct configuration *c)
{
	int64_t soon = c->looked_mono_ns + HASTE_NS;

	if (soon < c->due_mono_ns)
		c->due_mono_ns = soon;
}

size_t
configuration_step(struct configuration *c, struct nw_provider *p, const char *host,
    const struct filter *filter, struct clock_pair now)
{
	struct settings s = { 0 };
	size_t n;

	if (now.mono_ns < c->due_mono_ns)
		return 0;
	c->looked_mono_ns = now.mono_ns;
	c->due_mono_ns = now.mono_ns + PERIOD_NS;
	configuration_collect(&s, filter);
	n = configuration_send(c, &s, p, host, now.wall_ns);
	settings_clear(&s);
	return n;
}
