/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a sender between runs: a JSON object in a file. Single-threaded. */
#ifndef SEND_MEMORY_H
#define SEND_MEMORY_H

#include <jansson.h>

enum { MEMORY_WHY_BYTES = 512 };

/* An empty object where there is no file. NULL with why: the file is not such a memory. */
json_t *memory_read(const char *path, char why[MEMORY_WHY_BYTES]);
/* Writes the whole file to the disk, or leaves what was there. NW_EIO with why. */
int memory_write(const char *path, const json_t *memory, char why[MEMORY_WHY_BYTES]);
/* The list of a name in a memory, made if missing. On loan. */
json_t *memory_list(json_t *memory, const char *name);

#endif
