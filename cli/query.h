/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of the report's addresses. */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

/* Appends "name=value", escaped, to a query on the heap; *query NULL: the first one. */
void query_add(char **query, const char *name, const char *value);

#endif
