/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/selection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/netns.h"
#include "narrows/err.h"

enum { WORD_BYTES = 128, USER_LINE_BYTES = 1024, USER_WORDS_MAX = 10 };
enum { PORT_MAX = 65535, PID_MOST = 1 << 22 /* the kernel's own limit */ };

static const struct filter_name {
	const char *name;
	enum filter filter;
	uint64_t least, most; /* of a number */
} filter_names[] = {
	{ "cpu", FILTER_CPU, 0, MAGNET_CPUS_MAX - 1 },
	{ "id", FILTER_ID, 0, UINT64_MAX },
	{ "cgroup", FILTER_CGROUP, 1, UINT64_MAX },
	{ "netns", FILTER_NETNS, 1, UINT64_MAX },
	{ "port", FILTER_PORT, 1, PORT_MAX },
	{ "pid", FILTER_PID, 1, PID_MOST },
	{ "flow", FILTER_FLOW, 0, 0 },
};
enum { N_FILTERS = sizeof(filter_names) / sizeof(filter_names[0]) };

uint64_t
cgroup_id(const char *path)
{
	union {
		struct file_handle h;
		uint8_t bytes[sizeof(struct file_handle) + 8];
	} handle;
	uint64_t id;
	int mount_id;

	/* The file handle of a directory of cgroup v2 is the group's id. */
	handle.h.handle_bytes = sizeof(id);
	if (name_to_handle_at(AT_FDCWD, path, &handle.h, &mount_id, 0) != 0)
		return 0;
	memcpy(&id, handle.bytes + sizeof(struct file_handle), sizeof(id));
	return id;
}

uint64_t
cgroup_of_process(const char *pid)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char path[64], line[512], full[600];
	uint64_t id = 0;
	size_t i;
	FILE *f;

	if (strspn(pid, "0123456789") != strlen(pid) || strlen(pid) > 10 || pid[0] == '\0')
		return 0;
	snprintf(path, sizeof(path), "/proc/%s/cgroup", pid);
	if ((f = fopen(path, "re")) == NULL)
		return 0;
	while (id == 0 && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		for (i = 0; i < 2 && id == 0 && strncmp(line, "0::", 3) == 0; i++) {
			snprintf(full, sizeof(full), "%s/cgroup.controllers", mounts[i]);
			if (access(full, F_OK) != 0)
				continue; /* not of version 2 */
			snprintf(full, sizeof(full), "%s%s", mounts[i], line + 3);
			id = cgroup_id(full);
		}
	}
	fclose(f);
	return id;
}

static bool
name_matches(const struct point *p, const char *name)
{
	return strcmp(name, "all") == 0 || strcmp(p->layer, name) == 0 ||
	    strcmp(p->name, name) == 0;
}

static int
points_switch(struct kernel *k, const char *name, bool on, char why[KERNEL_WHY_BYTES])
{
	bool found = false;
	uint32_t user = kernel_user_find(k, name);
	const struct point *p;
	int refused = 0, taken = 0;

	if (user != 0) {
		kernel_control(k)->on[user] = on;
		return NW_OK;
	}

	for (p = points; p->layer != NULL; p++) {
		if (!name_matches(p, name))
			continue;
		found = true;
		if (on && kernel_point_attach(k, p) < 0) {
			snprintf(why, KERNEL_WHY_BYTES, "%s", kernel_why(k));
			refused++;
			continue;
		}
		kernel_control(k)->on[p->id] = on;
		taken++;
	}
	if (refused > 0 && taken == 0)
		return NW_EUNSUPPORTED;
	if (!found) {
		snprintf(why, KERNEL_WHY_BYTES, "no point or layer is called \"%.60s\"", name);
		return NW_EINVAL;
	}
	return NW_OK;
}

/* The next word of a list, which goes on behind it. NW_OK, or NW_EINVAL for one too long. */
static int
word_take(const char **list, char word[WORD_BYTES])
{
	size_t len = strcspn(*list, ",");

	if (len >= WORD_BYTES)
		return NW_EINVAL;
	memcpy(word, *list, len);
	word[len] = '\0';
	*list += len + ((*list)[len] == ',');
	return NW_OK;
}

static void
list_expect(struct kernel *k, const char *list)
{
	bool expected[MAGNET_POINTS_MAX] = { false };
	const struct point *p;
	char word[WORD_BYTES];

	while (*list != '\0' && word_take(&list, word) == NW_OK)
		for (p = points; p->layer != NULL; p++)
			expected[p->id] |= name_matches(p, word);
	kernel_points_expect(k, expected);
}

static int
list_switch(struct kernel *k, const char *list, bool on, char why[KERNEL_WHY_BYTES])
{
	char word[WORD_BYTES];
	int rc;

	if (on)
		list_expect(k, list);
	while (*list != '\0')
		if ((rc = word_take(&list, word)) < 0 || (rc = points_switch(k, word, on, why)) < 0)
			return rc;
	return NW_OK;
}

/* What a filter lets through. */
struct wanted {
	uint64_t value;
	uint16_t ports[2]; /* of a pair or a flow; 0: none */
};

/* "192.0.2.1/5001": a key of the end. */
static int
end_key(const char *text, uint64_t *key, uint16_t *number)
{
	uint8_t ip[16] = { 0 };
	char host[64];
	const char *slash = strrchr(text, '/');
	unsigned port;
	char more;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(host) ||
	    sscanf(slash + 1, "%u%c", &port, &more) != 1 || port > 65535)
		return NW_EINVAL;
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	if (inet_pton(AF_INET, host, ip) != 1 && inet_pton(AF_INET6, host, ip) != 1)
		return NW_EINVAL;
	*number = (uint16_t)port;
	*key = magnet_end_key(ip, *number);
	return NW_OK;
}

/* "192.0.2.1/5001-192.0.2.2/80", in either direction. */
static int
flow_key(const char *text, struct wanted *out)
{
	char first[WORD_BYTES];
	const char *dash = strchr(text, '-');
	uint64_t a, b;

	if (dash == NULL || (size_t)(dash - text) >= sizeof(first))
		return NW_EINVAL;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	if (end_key(first, &a, &out->ports[0]) < 0 || end_key(dash + 1, &b, &out->ports[1]) < 0)
		return NW_EINVAL;
	out->value = a + b;
	return NW_OK;
}

/* A whole number at the begin of a text; *end: behind the number. */
static bool
number_take(const char *text, char **end, const struct filter_name *f, uint64_t *out)
{
	errno = 0;
	*out = strtoull(text, end, 0);
	return errno == 0 && *end != text && text[0] >= '0' && text[0] <= '9' && *out >= f->least &&
	    *out <= f->most;
}

/* "5001:80", both ports of a flow. */
static int
ports_take(const struct filter_name *f, const char *text, struct wanted *out)
{
	uint64_t first, second;
	char *end;

	if (!number_take(text, &end, f, &first) || *end != ':' ||
	    !number_take(end + 1, &end, f, &second) || *end != '\0')
		return NW_EINVAL;
	out->value = first << 16 | second;
	out->ports[0] = (uint16_t)first;
	out->ports[1] = (uint16_t)second;
	return NW_OK;
}

/* A number, or a flow, two ports, or a path for cgroup and netns. */
static int
filter_value(const struct filter_name *f, const char *text, struct wanted *out)
{
	char *end;

	if (f->filter == FILTER_FLOW)
		return flow_key(text, out);
	if (number_take(text, &end, f, &out->value) && *end == '\0')
		return NW_OK;
	if (f->filter == FILTER_PORT)
		return ports_take(f, text, out);
	if (f->filter == FILTER_CGROUP)
		out->value = cgroup_id(text);
	else if (f->filter == FILTER_NETNS)
		out->value = netns_cookie(strcmp(text, "self") == 0 ? NULL : text);
	else
		return NW_EINVAL;
	return out->value != 0 ? NW_OK : NW_EINVAL;
}

static int
filter_add(struct kernel *k, enum filter f, const struct wanted *w)
{
	int i, rc = kernel_filter_add(k, f, w->value);

	for (i = 0; i < 2 && rc == NW_OK; i++)
		if (w->ports[i] != 0)
			rc = kernel_filter_half_add(k, f, w->ports[i]);
	return rc;
}

static int
filter_set(struct kernel *k, const char *kind, const char *text, char why[KERNEL_WHY_BYTES])
{
	struct wanted wanted = { 0 };
	size_t i;

	for (i = 0; i < N_FILTERS && strcmp(filter_names[i].name, kind) != 0; i++)
		;
	if (i == N_FILTERS) {
		snprintf(why, KERNEL_WHY_BYTES, "no filter is called \"%.60s\"", kind);
		return NW_EINVAL;
	}
	if (strcmp(text, "none") == 0) {
		kernel_filter_clear(k, filter_names[i].filter);
		return NW_OK;
	}
	if (filter_value(&filter_names[i], text, &wanted) < 0) {
		snprintf(why, KERNEL_WHY_BYTES, "\"%.60s\" is no %s", text, kind);
		return NW_EINVAL;
	}
	if (filter_names[i].filter == FILTER_NETNS && text[0] == '/' &&
	    kernel_netns_watch(k, text, true) < 0) {
		snprintf(why, KERNEL_WHY_BYTES, "%s", kernel_why(k));
		return NW_EUNSUPPORTED;
	}
	return filter_add(k, filter_names[i].filter, &wanted);
}

static int
number_set(struct kernel *k, const char *what, const char *text, char why[KERNEL_WHY_BYTES])
{
	volatile struct magnet_control *c = kernel_control(k);
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= 0 && v < 4e9)) {
		snprintf(
		    why, KERNEL_WHY_BYTES, "\"%.60s\" is not a number that %s takes", text, what);
		return NW_EINVAL;
	}
	if (strcmp(what, "sample") == 0)
		c->one_in = (uint32_t)v;
	else if (strcmp(what, "every") == 0)
		c->every_ns = (uint64_t)(v * 1e6);
	else if (strcmp(what, "watermark") == 0)
		c->watermark_bytes = (uint64_t)v;
	else
		c->payload_bytes = (uint32_t)v;
	return NW_OK;
}

/* "NAME PLACE [FIELD ...]" */
static int
user_add(struct kernel *k, const char *text, char why[KERNEL_WHY_BYTES])
{
	char copy[USER_LINE_BYTES], *words[USER_WORDS_MAX], *save = NULL;
	uint32_t point;
	size_t n = 0;
	int rc;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return NW_EINVAL;
	words[0] = strtok_r(copy, " ", &save);
	while (words[n] != NULL && ++n < USER_WORDS_MAX)
		words[n] = strtok_r(NULL, " ", &save);
	if (n < 2 || n == USER_WORDS_MAX) {
		snprintf(why, KERNEL_WHY_BYTES, "add NAME PLACE [FIELD ...]");
		return NW_EINVAL;
	}
	rc = kernel_user_add(k, words[0], words[1], words + 2, n - 2, &point);
	if (rc < 0)
		snprintf(why, KERNEL_WHY_BYTES, "%s", kernel_why(k));
	return rc;
}

int
selection_line(struct kernel *k, const char *line, char why[KERNEL_WHY_BYTES])
{
	char verb[WORD_BYTES] = "", a[WORD_BYTES] = "", b[WORD_BYTES] = "", more[2] = "";
	int n = sscanf(line, "%127s %127s %127s %1s", verb, a, b, more);

	why[0] = '\0';
	if (strcmp(verb, "add") == 0)
		return user_add(k, line + strlen("add"), why);
	if (n == 2 && strcmp(verb, "remove") == 0) {
		snprintf(why, KERNEL_WHY_BYTES, "no point of a user is called \"%.60s\"", a);
		return kernel_user_remove(k, a);
	}
	if (n == 2 && strcmp(verb, "on") == 0)
		return list_switch(k, a, true, why);
	if (n == 2 && strcmp(verb, "off") == 0)
		return list_switch(k, a, false, why);
	if (n == 3 && strcmp(verb, "filter") == 0)
		return filter_set(k, a, b, why);
	if (n == 2 &&
	    (strcmp(verb, "sample") == 0 || strcmp(verb, "every") == 0 ||
		strcmp(verb, "watermark") == 0 || strcmp(verb, "payload") == 0))
		return number_set(k, verb, a, why);
	snprintf(why, KERNEL_WHY_BYTES, "not understood: \"%.100s\"", line);
	return NW_EINVAL;
}

int
selection_option(struct kernel *k, int option, const char *value, char why[KERNEL_WHY_BYTES])
{
	char kind[WORD_BYTES];
	const char *equals;

	why[0] = '\0';
	if (option == 'p')
		return list_switch(k, value, true, why);
	if (option == 'a')
		return user_add(k, value, why);
	if (option == 's')
		return number_set(k, "sample", value, why);
	if (option == 'e')
		return number_set(k, "every", value, why);
	equals = strchr(value, '=');
	if (equals == NULL || (size_t)(equals - value) >= sizeof(kind)) {
		snprintf(why, KERNEL_WHY_BYTES, "a filter is KIND=VALUE, not \"%.60s\"", value);
		return NW_EINVAL;
	}
	memcpy(kind, value, (size_t)(equals - value));
	kind[equals - value] = '\0';
	return filter_set(k, kind, equals + 1, why);
}

int
selection_points_on(struct kernel *k)
{
	int i, n = 0;

	for (i = 0; i < MAGNET_POINTS_MAX; i++)
		n += kernel_control(k)->on[i] != 0;
	return n;
}
