/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading result documents: every field may be absent, null or of another type than expected, and
 * then has no value. What is returned is on loan from the document.
 */
#ifndef NARROWS_RESULT_H
#define NARROWS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

const json_t *result_get(const json_t *object, const char *key); /* NULL for absent and null */
const char *result_text(const json_t *object, const char *key);  /* NULL: none */
double result_number(const json_t *object, const char *key);     /* NaN: none */
/* digits as text, or an integer; 0: none */
int64_t result_ns(const json_t *object, const char *key);
int result_bool(const json_t *object, const char *key);           /* 1, 0, or -1: none */
const json_t *result_list(const json_t *object, const char *key); /* an array, or NULL */
/* n numbers from an array, NaN where it has none. */
void result_numbers(const json_t *list, double *out, size_t n);

/* The task of a "session", if somebody gave it that name: a made-up one (a UUID, "xsp:..") tells
 * people nothing. NULL: none. */
const char *result_task(const json_t *session);

/* "disk write" for "disk.write"; a key nobody knows is its own name. NULL stays NULL. */
const char *result_stage_words(const char *stage);

#endif
