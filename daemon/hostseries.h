/* SPDX-License-Identifier: BSD-3-Clause */
/* Series of a host that the box itself makes: a metadata and a layout each, once per life of the
 * box. */
#ifndef HOSTSERIES_H
#define HOSTSERIES_H

#include <stdint.h>

struct box;
struct host;

struct hostseries_words {
	const char *event_type;
	const char *key, *name; /* member of the subject beside the host; key NULL: none */
	struct json_t *more; /* further members, on loan; then name is a name of the series alone */
	const char *params_json;
	const char *const *fields;
	uint32_t n_fields;
};

/* Returns the layout for hostseries_put(). xsp_id: the XSP session that gave the first row. */
int64_t hostseries_new(struct box *box, const struct host *h, const struct hostseries_words *w,
    int64_t xsp_id, int64_t now_wall_ns);
void hostseries_put(struct box *box, int64_t layout_id, const double *values, uint32_t n_fields,
    int64_t now_wall_ns);

#endif
