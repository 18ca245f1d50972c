/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recorded stream: the header and the points' names, then records (narrows/magnet.h has the
 * bytes). The reader takes streams of hosts of either byte order's own kind only: a stream of the
 * other order is refused.
 */
#ifndef MAGNET_STREAM_H
#define MAGNET_STREAM_H

#include <stdio.h>

#include "host/magnet/magnet_kernel.h"
#include "narrows/magnet.h"

/* Writes the header; of each point that is on, the name and the candidate in use. */
int stream_begin(FILE *f, struct kernel *k);
/* Writes a record of point 0 with the counts of each point that is on: the losses so far. */
int stream_counts(FILE *f, struct kernel *k);

struct stream_reader {
	FILE *file;
	struct magnet_stream header;
	struct magnet_point_name names[MAGNET_POINTS_MAX]; /* by id */
	struct magnet_record *record;                      /* the last record read */
	size_t record_cap;
};

/* NW_EPROTO: no stream, or another byte order; NW_ECORRUPT: the stream ends within a record. */
int stream_open(struct stream_reader *s, FILE *f, const char **why);
/* 1 with s->record set, 0 at the end, or an error as above. */
int stream_next(struct stream_reader *s, const char **why);
void stream_close(struct stream_reader *s);

/* The counts of a record of point 0, one per point; returns their number. */
struct counts_of {
	uint32_t point, zero;
	struct magnet_counts counts;
};
size_t stream_counts_of(const struct magnet_record *r, const struct counts_of **out);

#endif
