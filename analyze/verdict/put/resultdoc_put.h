/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of result documents. Functions that return a json_t return a new reference; the put
 * functions take the reference of their value. */
#ifndef RESULTDOC_PUT_H
#define RESULTDOC_PUT_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/result.h"

/* A number, or null for a value that is not finite. */
json_t *resultdoc_real(double v);
/* The same with few digits, for a point that is only drawn. */
json_t *resultdoc_drawn(double v, int digits);
/* A text, or null for NULL. A text that is not UTF-8 is written byte by byte. */
json_t *resultdoc_text(const char *s);
/* Nanoseconds as text: they do not fit a JavaScript number. */
json_t *resultdoc_ns(int64_t ns);

void put_real(json_t *object, enum result_key key, double v);
void put_text(json_t *object, enum result_key key, const char *text);
void put_ns(json_t *object, enum result_key key, int64_t ns);
void put_count(json_t *object, enum result_key key, uint64_t n);

#endif
