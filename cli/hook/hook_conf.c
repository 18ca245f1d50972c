/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/hook/hook.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

#define AT(field) offsetof(struct hook, field)
static const struct conf_row rows[] = {
	{ "url", &conf_text, AT(url), "none", NULL, NULL },
	{ "secret-file", &conf_text, AT(secret_file), "none", NULL, NULL },
	{ "ca-file", &conf_text, AT(ca_file), "/etc/ssl/certs/ca-certificates.crt", NULL, NULL },
	{ "proxy", &conf_text, AT(proxy), "none", NULL, NULL },
	{ "format", &conf_text, AT(format), "event", NULL, NULL },
	{ "method", &conf_text, AT(method), "POST", NULL, NULL },
	{ "events", &conf_text, AT(events),
	    "verdict slower incident health session collector clock", NULL, NULL },
	{ "routes", &conf_text, AT(routes), "any", NULL, NULL },
	{ "hosts", &conf_text, AT(hosts), "any", NULL, NULL },
	{ "observer", &conf_text, AT(observer), "none", NULL, NULL },
	{ "authorization-file", &conf_text, AT(authorization_file), "none", NULL, NULL },
	{ "test-duration", &conf_duration, AT(test_ns), "10s", "1s", "60s" },
	{ "test-rate", &conf_count, AT(rate_bits_per_s), "1000000000", "1000000", "400000000000" },
	{ "budget", &conf_duration, AT(budget_ns), "0s", "0s", "1h" },
	{ "box", &conf_text, AT(box), "none", NULL, NULL },
	{ "box-authorization-file", &conf_text, AT(box_authorization_file), "none", NULL, NULL },
	{ "report", &conf_text, AT(report), "none", NULL, NULL },
	{ "timeout", &conf_duration, AT(timeout_ns), "30s", "1s", "10min" },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]), sizeof(struct hook),
	false };

static int
is_conf(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 5 && strcmp(e->d_name + len - 5, ".conf") == 0;
}

static const char *
wrong_value(const struct hook *h)
{
	if (strncmp(h->url, "http://", 7) != 0 && strncmp(h->url, "https://", 8) != 0)
		return "url: write https://host/path";
	if (strcmp(h->format, "event") != 0 && strcmp(h->format, "pscheduler") != 0 &&
	    !hook_asks(h))
		return "format: event, pscheduler or pscheduler-test";
	if (hook_asks(h) && strcmp(h->hosts, "any") == 0)
		return "hosts: list the hosts that may be tested";
	if (hook_asks(h) && strncmp(h->box, "http://", 7) != 0 &&
	    strncmp(h->box, "https://", 8) != 0)
		return "box: write https://host/pscheduler";
	if (strcmp(h->method, "POST") != 0 && strcmp(h->method, "PUT") != 0)
		return "method: POST or PUT";
	return NULL;
}

static int
hook_read(const char *dir, const char *file, struct hook *h, char why[CONF_WHY_BYTES])
{
	size_t len = strlen(file) - 5;
	const char *wrong;
	char *path;
	int rc;

	if (len >= sizeof(h->name)) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: the name is too long", file);
		return NW_EINVAL;
	}
	if ((rc = conftable_init(&table, h, why)) < 0)
		return rc;
	memcpy(h->name, file, len);
	h->name[len] = '\0';
	path = xasprintf("%s/%s", dir, file);
	if ((rc = conftable_read(&table, h, path, NULL, why)) == NW_OK &&
	    (wrong = wrong_value(h)) != NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s", path, wrong);
		rc = NW_EINVAL;
	}
	free(path);
	if (rc < 0)
		conftable_clear(&table, h);
	return rc;
}

int
hooks_read(const char *dir, struct hook hooks[HOOKS_MAX], char why[CONF_WHY_BYTES])
{
	struct dirent **list;
	int n = scandir(dir, &list, is_conf, alphasort), got = 0, i, rc = NW_OK;

	if (n < 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s", dir, strerror(errno));
		return NW_EIO;
	}
	for (i = 0; i < n; i++) {
		if (rc == NW_OK && got == HOOKS_MAX) {
			snprintf(why, CONF_WHY_BYTES, "%.200s: more than %d hooks", dir, HOOKS_MAX);
			rc = NW_EFULL;
		}
		if (rc == NW_OK)
			rc = hook_read(dir, list[i]->d_name, &hooks[got], why);
		got += rc == NW_OK;
		free(list[i]);
	}
	free(list);
	if (rc == NW_OK)
		return got;
	hooks_clear(hooks, got);
	return rc;
}

void
hooks_clear(struct hook *hooks, int n)
{
	while (n > 0)
		conftable_clear(&table, &hooks[--n]);
}

/* Whether the first len bytes of the name are a word of the list. */
static bool
has_word(const char *list, const char *name, size_t len)
{
	size_t n;

	for (; *list != '\0'; list += n, list += strspn(list, " \t")) {
		n = strcspn(list, " \t");
		if (n == len && strncmp(list, name, len) == 0)
			return true;
	}
	return false;
}

/* Whether both ends of the route are among the hosts. */
static bool
has_ends(const char *hosts, const char *route)
{
	static const char arrow[] = " -> ";
	const char *to = route != NULL ? strstr(route, arrow) : NULL;

	return strcmp(hosts, "any") == 0 ||
	    (to != NULL && has_word(hosts, route, (size_t)(to - route)) &&
		has_word(hosts, to + strlen(arrow), strlen(to + strlen(arrow))));
}

bool
hook_archives(const struct hook *h)
{
	return strcmp(h->format, "pscheduler") == 0;
}

bool
hook_wants(const struct hook *h, const char *event, const char *route)
{
	const bool is_session = strcmp(event, HOOK_ARCHIVE) == 0;

	if (strcmp(event, "test") == 0)
		return true;
	if (is_session != hook_archives(h) ||
	    (hook_asks(h) && strcmp(event, "slower.begins") != 0) ||
	    (!is_session && !has_word(h->events, event, strcspn(event, "."))))
		return false;
	return route == NULL ||
	    ((strcmp(h->routes, "any") == 0 || strcmp(h->routes, route) == 0) &&
		has_ends(h->hosts, route));
}
