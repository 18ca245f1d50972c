/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the narrows command reads from: a state directory, or a running box over HTTP. Both answer
 * the same paths with the same documents, so that the commands need not know which it is.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"

struct source;

/* url NULL: the directory. Nothing is opened before the first question. */
struct source *source_open(const char *state_dir, const char *url);
/* Who must have signed the certificate of an https url: a file of certificates. */
void source_trust(struct source *s, const char *ca_path);
void source_close(struct source *s);

/* A session by what the user typed: a number, or "last". NW_EINVAL (said on stderr), NW_ENOTFOUND
 * (said). */
int source_session_id(struct source *s, const char *text, int64_t *id);
/* Newest first, below before_id (0: the newest): {"sessions": [...], "next_before": n}. NULL, said
 * on stderr. */
json_t *source_sessions(struct source *s, int64_t before_id);
/* The stored document, as stored. free() it. NULL, said on stderr. */
char *source_result(struct source *s, int64_t id);
/* Streams an export of the report, ".csv", ".ndjson" or ".lp" with that query. NW_EINVAL (said):
 * the query is wrong. */
int source_export(struct source *s, int64_t id, const char *ending, const char *query,
    int (*write)(void *arg, const char *text, size_t len), void *arg);
/* A line of the run file, in which a box says where it can be reached: "pid", "xsp", "http". free()
 * it; NULL: none. */
char *source_run_value(const char *state_dir, const char *name);
/* What the running box says of itself, whatever its HTTP status; NULL, said on stderr, when none
 * runs. */
char *source_health(struct source *s, int *status);

#endif
