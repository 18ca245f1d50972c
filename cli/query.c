/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/query.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/xmalloc.h"

void
query_add(char **query, const char *name, const char *value)
{
	char *escaped = xmalloc(3 * strlen(value) + 1), *at = escaped, *longer;

	for (; *value != '\0'; value++)
		at += sprintf(at,
		    isalnum((unsigned char)*value) || strchr("-._:", *value) != NULL ? "%c"
										     : "%%%02X",
		    (unsigned char)*value);
	*at = '\0';
	longer = xasprintf(
	    "%s%s%s=%s", *query != NULL ? *query : "", *query != NULL ? "&" : "", name, escaped);
	free(*query);
	free(escaped);
	*query = longer;
}
