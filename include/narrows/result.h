/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readers and a writer of result documents, which name keys by the enumerators of
 * narrows/result_keys.h. A value that is absent, null or of another type than the reader's has no
 * value. Returned pointers are on loan from the document.
 */
#ifndef NARROWS_RESULT_H
#define NARROWS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/result_keys.h"

/* Takes the reference to value. */
void result_set(json_t *object, enum result_key key, json_t *value);
/* Values that a document may lack become null: NULL and text that is not UTF-8, numbers that are
 * not finite, the time 0. Times are ISO 8601 to the nanosecond, or to the millisecond; nanoseconds
 * are text of digits. */
void result_put_text(json_t *object, enum result_key key, const char *text);
void result_put_real(json_t *object, enum result_key key, double v);
void result_put_int(json_t *object, enum result_key key, int64_t v);
void result_put_flag(json_t *object, enum result_key key, bool v);
void result_put_ns(json_t *object, enum result_key key, int64_t t_wall_ns);
void result_put_iso(json_t *object, enum result_key key, int64_t t_wall_ns);
void result_put_iso_ms(json_t *object, enum result_key key, int64_t t_wall_ns);
/* NULL for an absent or null value. */
const json_t *result_get(const json_t *object, enum result_key key);
/* NULL for a value that is not a text. */
const char *result_text(const json_t *object, enum result_key key);
/* NaN for a value that is not a number. */
double result_number(const json_t *object, enum result_key key);
/* Nanoseconds, written as text of digits or as an integer; 0 for any other value. */
int64_t result_ns(const json_t *object, enum result_key key);
/* 1 for true, 0 for false, -1 for any other value. */
int result_bool(const json_t *object, enum result_key key);
/* An array, or NULL for any other value. */
const json_t *result_list(const json_t *object, enum result_key key);
/* The element of an array by an index that a document tells; NULL for any other number. */
const json_t *result_at(const json_t *list, double index);
/* n numbers from an array, NaN for each element that is not a number. */
void result_numbers(const json_t *list, double *out, size_t n);

/* Label of sessions that narrows selftest makes. */
#define RESULT_SELFTEST_LABEL "self-test"

/* Whether a task (or NULL) has a name that tells people something. */
bool result_task_has_name(const char *task);
/* Task of a session object whose name tells people something, else NULL: made-up tasks are a UUID
 * or its label, or begin with "xsp:". */
const char *result_task(const json_t *session);

/*
 * A report of another box comes as the events of a session of its own: the document's text in parts
 * (attributes part, parts and text). The session's task is TASK_REPORT (narrows/task.h) and 32
 * digits of the text's SHA-256, so no other file gets the same session.
 */
#define RESULT_REPORT_EVENT "narrows.report"
enum { RESULT_REPORT_PART_BYTES = 40000, RESULT_REPORT_PARTS_MAX = 50 };
/* Whether a task (or NULL) has the form of such a session's. */
bool result_task_is_report(const char *task);

/* Checks that a peer's document is a result document with a verdict: every key of result_keys.def
 * holds its kind of value, and no list is longer than RESULT_LIST_MAX. NW_EPROTO comes with a
 * static reason in *why. */
enum { RESULT_LIST_MAX = 100000 };
int result_check(const json_t *doc, const char **why);

/* JSON schema of result documents and of the list of sessions. A new reference, or NULL: no memory.
 * Objects may have keys that the schema does not name. */
json_t *result_schema(void);
/* An active test, a new document; NULL: no memory. */
struct nw_active_test;
json_t *result_active_test(const struct nw_active_test *t);
/* Sentences for people where a result document has no incident, no search for changes, and no
 * advice. `in_incident`: later sessions showed an incident that the session belongs to. Static. */
const char *result_no_incident(const json_t *doc, bool in_incident);
const char *result_no_change(const json_t *doc, bool in_incident);
const char *result_no_advice(const json_t *doc, bool in_incident);

#endif
