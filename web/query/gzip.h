/* SPDX-License-Identifier: BSD-3-Clause */
/* gzip of answers, whole or in pieces. A compressor takes some 270 KB of memory. */
#ifndef NARROWS_WEB_GZIP_H
#define NARROWS_WEB_GZIP_H

#include <stdbool.h>

struct evbuffer;
struct gzip;

struct gzip *gzip_new(void); /* NULL: no memory */
void gzip_free(struct gzip *z);
/*
 * Compresses `in`, which becomes empty, to the end of `out`. All input so far can be decompressed
 * from the output, so that a reader gets each slice at once. `last` ends the stream. NW_ENOMEM.
 */
int gzip_add(struct gzip *z, struct evbuffer *in, struct evbuffer *out, bool last);

/* Whether a header Accept-Encoding (NULL: no header) takes gzip. */
bool gzip_accepted(const char *header);

#endif
