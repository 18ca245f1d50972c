/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "web/resource.h"

/* Decimal digits 1 .. INT64_MAX. Returns the end, or NULL. */
static const char *
take_number(const char *text, struct route *r)
{
	char *end;
	long long v;

	if (*text < '1' || *text > '9')
		return NULL;
	errno = 0;
	v = strtoll(text, &end, 10);
	r->id = v;
	return errno == 0 ? end : NULL;
}

static const char *
take_id(const char *text, struct route *r)
{
	if (strncmp(text, "last", 4) != 0)
		return take_number(text, r);
	r->id = ROUTE_LAST;
	return text + 4;
}

static const char *
take_figure(const char *text, struct route *r)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len == 0 || len >= sizeof(r->figure))
		return NULL;
	memcpy(r->figure, text, len);
	r->figure[len] = '\0';
	return text + len;
}

/* The name is encoded, a blank of it, too. */
static const char *
take_host(const char *text, struct route *r)
{
	size_t raw_len = strcspn(text, "/"), len = 0;
	char *raw = strndup(text, raw_len), *name;
	bool ok;

	name = raw != NULL ? evhttp_uridecode(raw, 0, &len) : NULL;
	ok = name != NULL && len > 0 && len < sizeof(r->host) && strlen(name) == len;
	if (ok)
		memcpy(r->host, name, len + 1);
	free(name);
	free(raw);
	return ok ? text + raw_len : NULL;
}

static const char *
take_rest(const char *text, struct route *r)
{
	r->rest = text;
	return text + strlen(text);
}

static const struct {
	const char *name; /* with its braces */
	const char *(*take)(const char *text, struct route *r);
} names[] = {
	{ "{id}", take_id },
	{ "{number}", take_number },
	{ "{figure}", take_figure },
	{ "{host}", take_host },
	{ "{path}", take_rest },
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* Takes what stands for a name of the pattern. Returns the end of it, or NULL. */
static const char *
take_name(const char **pattern, const char *path, struct route *r)
{
	size_t i, len = strcspn(*pattern, "}") + 1;

	for (i = 0; i < NAMES; i++)
		if (strncmp(*pattern, names[i].name, len) == 0) {
			*pattern += len;
			return names[i].take(path, r);
		}
	return NULL;
}

/* Returns how many bytes are the same in pattern and path, or -1: the path does not fit. */
static int
match(const char *pattern, const char *path, struct route *r)
{
	int n = 0;

	while (path != NULL && *pattern != '\0')
		if (*pattern == '{')
			path = take_name(&pattern, path, r);
		else if (*pattern++ == *path++)
			n++;
		else
			return -1;
	return path != NULL && *path == '\0' ? n : -1;
}

struct route
route_parse(const char *path)
{
	struct route best = { .resource = route_nothing() };
	int n, most = -1;
	size_t i;

	if (*path == '\0')
		path = "/";
	for (i = 0; i < resources_count; i++) {
		struct route r = { .resource = &resources[i] };

		if ((n = match(resources[i].path, path, &r)) > most) {
			best = r;
			most = n;
		}
	}
	return best;
}

const struct resource *
route_nothing(void)
{
	size_t i = 0;

	while (strcmp(resources[i].path, "/{path}") != 0)
		i++;
	return &resources[i];
}
