/* SPDX-License-Identifier: BSD-3-Clause */
/* The five answers of a session, in ten lines. */
#ifndef SHOW_ANSWERS_H
#define SHOW_ANSWERS_H

#include <stdbool.h>

#include <jansson.h>

/* Prints headline, cause and remedy, then a line for each question; `markdown` for a ticket. */
void show_answers(const json_t *doc, bool markdown);

#endif
