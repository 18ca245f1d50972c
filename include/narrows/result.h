/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readers of result documents, which name keys by the enumerators of narrows/result_keys.h. A value
 * that is absent, null or of another type than the reader's has no value. Returned pointers are on
 * loan from the document.
 */
#ifndef NARROWS_RESULT_H
#define NARROWS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/result_keys.h"

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
/* n numbers from an array, NaN for each element that is not a number. */
void result_numbers(const json_t *list, double *out, size_t n);

/* Whether a task (or NULL) has a name that tells people something. */
bool result_task_has_name(const char *task);
/* Task of a session object whose name tells people something, else NULL: made-up tasks are a UUID
 * or begin with "xsp:". */
const char *result_task(const json_t *session);

/* JSON schema of result documents and of the list of sessions. A new reference, or NULL: no memory.
 * Objects may have keys that the schema does not name. */
json_t *result_schema(void);

#endif
