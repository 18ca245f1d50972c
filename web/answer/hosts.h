/* SPDX-License-Identifier: BSD-3-Clause */
/* Measured hosts as documents: the list, one host, its settings. Pages and programs read the same
 * documents. Each function gives a new reference in *out. */
#ifndef NARROWS_WEB_HOSTS_H
#define NARROWS_WEB_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"
#include "web/answer/collectors.h"
#include "web/query/param.h"

enum { HOSTS_PAGE = 50, HOSTS_PAGE_MAX = 1000, HOST_CHANGES_PAGE = 200 };
/* Steps of a clock record at most, and latest connections that the document has. */
enum { HOST_CLOCK_STEPS = 240, HOST_LINKS_MAX = 500 };

/* Which part of the list: the parameters `offset` and `limit`, and of settings `before`. */
extern const struct param hosts_params[], settings_params[];
struct hosts_query {
	int64_t offset, limit;
	int64_t before_wall_ns;
	const struct param *bad; /* the parameter whose value is out of range, or NULL */
};
/* Other parameters are ignored: ask_run() refuses them. Returns false for a value out of range. */
bool hosts_query_parse(struct hosts_query *q, const char *query);

int hosts_document(
    struct store_reader *r, const struct hosts_now *now, const struct hosts_query *q, json_t **out);
/* NW_ENOTFOUND: no such host. */
int
host_document(struct store_reader *r, const struct hosts_now *now, const char *name, json_t **out);
int host_settings_document(
    struct store_reader *r, const char *name, int64_t before_wall_ns, json_t **out);

/* Lists of the host's document. */
int host_clock_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out);
int host_latest_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out);
int host_link_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out);
int host_kept_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out);
/* The newest offset of the host's clock from the box's clock, and its bound; NaN: not known. */
int host_clock_newest(
    struct store_reader *r, const struct nw_host_rec *host, double *offset_s, double *bound_s);

#endif
