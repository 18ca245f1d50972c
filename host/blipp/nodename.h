/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of metrics as node_exporter has them, for fields of blipp with the same meaning. */
#ifndef HOST_NODENAME_H
#define HOST_NODENAME_H

#include <stdbool.h>
#include <stddef.h>

enum { NODENAME_BYTES = 256 };

struct nodename {
	char name[NODENAME_BYTES]; /* without _total */
	double factor;             /* from blipp's unit to the metric's */
	const char *label;         /* label of the device; NULL: the series' own key */
	size_t label_skips; /* bytes at the begin of the device that the label does without */
	const char *mode;   /* value of the label `mode`; NULL: there is no such label */
	bool untyped;       /* node_exporter gives the metric no type */
};

/* type: the event type below blipp's prefix, without a final colon. Returns false if
 * node_exporter has no such metric. */
bool nodename_find(const char *type, const char *field, const char *unit, struct nodename *out);

#endif
