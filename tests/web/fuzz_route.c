/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever stands in the path: the route has a row, and what the row names is there, within its
 * bounds. */
#include "web/resource.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static bool
names(const struct resource *row, const char *name)
{
	return strstr(row->path, name) != NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *path = malloc(len + 1); /* of its size, so that a sanitizer sees where it ends */
	struct route r;

	if (path == NULL)
		return 0;
	memcpy(path, data, len);
	path[len] = '\0';
	r = route_parse(path);
	MUST(r.resource >= resources && r.resource < resources + resources_count);
	MUST(names(r.resource, "{id}") ? r.id >= 0 : names(r.resource, "{number}") == (r.id > 0));
	MUST(names(r.resource, "{figure}") == (r.figure[0] != '\0'));
	MUST(strnlen(r.figure, sizeof(r.figure)) < sizeof(r.figure));
	MUST(names(r.resource, "{host}") == (r.host[0] != '\0'));
	MUST(strnlen(r.host, sizeof(r.host)) < sizeof(r.host));
	MUST(names(r.resource, "{path}") || r.rest == NULL);
	/* a path without names is the row's, byte for byte; an empty path is the first page */
	if (strchr(r.resource->path, '{') == NULL)
		MUST(strcmp(r.resource->path, *path != '\0' ? path : "/") == 0);
	free(path);
	return 0;
}
