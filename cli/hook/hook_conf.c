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
	{ "events", &conf_text, AT(events),
	    "verdict slower incident health session collector clock", NULL, NULL },
	{ "routes", &conf_text, AT(routes), "any", NULL, NULL },
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

static int
hook_read(const char *dir, const char *file, struct hook *h, char why[CONF_WHY_BYTES])
{
	size_t len = strlen(file) - 5;
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
	    strncmp(h->url, "http://", 7) != 0 && strncmp(h->url, "https://", 8) != 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: url: write https://host/path", path);
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

/* Whether the first word of `event`, up to its dot, stands in the list. */
static bool
has_word(const char *list, const char *event)
{
	size_t len = strcspn(event, "."), n;

	for (; *list != '\0'; list += n, list += strspn(list, " \t")) {
		n = strcspn(list, " \t");
		if (n == len && strncmp(list, event, len) == 0)
			return true;
	}
	return false;
}

bool
hook_wants(const struct hook *h, const char *event, const char *route)
{
	return strcmp(event, "test") == 0 ||
	    (has_word(h->events, event) &&
		(route == NULL || strcmp(h->routes, "any") == 0 || strcmp(h->routes, route) == 0));
}
