/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of the narrows command: a state directory, or a running box over HTTP. Both answer
 * the same paths with the same documents, so commands do not tell them apart. Every function
 * prints its errors to stderr; "said" below means so. */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"

struct source;

/* url NULL: the directory. Nothing is opened before the first question. */
struct source *source_open(const char *state_dir, const char *url);
/* Sets the CA file for https urls. */
void source_trust(struct source *s, const char *ca_path);
void source_close(struct source *s);

/* query: "&NAME=VALUE..." of further parameters, encoded, or "". Newest first, below before_id
 * (0: the newest): {"sessions": [...], "next_before": n}. NULL, said on stderr. */
json_t *source_sessions(struct source *s, int64_t before_id, const char *query);
/* Routes in short: {"routes": [...]}. NULL, said on stderr. */
json_t *source_routes(struct source *s);
/* Incidents of routes, newest begin first: {"incidents": [...]}. query as of source_sessions().
 * NULL, said on stderr. */
json_t *source_incidents(struct source *s, const char *query);
/* The history of a route; program may be "". NULL, said on stderr. */
json_t *source_route(struct source *s, const char *route, const char *program);
/* Sessions side by side: {"rows": [...]}. NULL, said on stderr. */
json_t *source_compare(struct source *s, const char *query);
/* Collectors of hosts: {"collectors": [...]}. NULL, said on stderr. */
json_t *source_collectors(struct source *s);
/* Diets of hosts: {"diets": [...]}. NULL, said on stderr. */
json_t *source_diets(struct source *s);
/* The address of the box's report, "http://host:port"; NULL where no box runs. free() it. */
char *source_address(const struct source *s);
/* Whether the source is a box over HTTP. */
bool source_is_remote(const struct source *s);
/* Sessions that come regularly, of a box that runs: {"expected": [...]}. NULL, said on stderr. */
json_t *source_expected(struct source *s);
/* Metrics worth keeping: {"lists": [...]}. NULL, said on stderr. */
json_t *source_keep(struct source *s);
/* The result document, byte for byte as stored; NULL (said). free() the text. */
char *source_result(struct source *s, int64_t id);
/* The notes of a session: {"notes": [...]}. NULL, said on stderr. */
json_t *source_notes(struct source *s, int64_t id);
/* Streams an export of the report: ".csv", ".ndjson", ".lp" ".bson" or ".log" with a query.
 * NW_EINVAL (said) for a wrong query. */
int source_export(struct source *s, int64_t id, const char *ending, const char *query,
    int (*write)(void *arg, const char *text, size_t len), void *arg);
/* A value of the run file, where a box writes "pid", "xsp" and "http"; NULL without such a line.
 * free() the value. */
char *source_run_value(const char *state_dir, const char *name);
/* The addresses at which the box of a state directory takes XSP, separated by blanks and commas,
 * with a newline at the end; NULL for a url, and where no box has run. free() the text. */
char *source_ports(struct source *s);
/* Whether the process of the run file lives: a killed box leaves its run file behind. */
bool source_box_runs(const char *state_dir);
/* Whether a box may still add sessions; true for every url. */
bool source_is_live(struct source *s);
/* The health document of the running box, with any HTTP status; NULL (said) when no box runs.
 * free() the text. */
char *source_health(struct source *s, int *status);

#endif
