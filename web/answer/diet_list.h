/* SPDX-License-Identifier: BSD-3-Clause */
/* Diets of hosts as documents: proposals, diets in force, and savings. */
#ifndef NARROWS_WEB_DIETS_H
#define NARROWS_WEB_DIETS_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"

/* host_id 0: of all hosts. What diets have saved is counted in the last day at most. A new
 * reference. */
int diets_list(struct store_reader *r, int64_t host_id, int64_t now_wall_ns, json_t **out);
int diets_document(struct store_reader *r, int64_t now_wall_ns, json_t **out);

#endif
