/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blipp's documents: one metadata per event type and subject, one data document with all its fields
 * per sample. The id is made from host, event type and device, so that a restarted blipp goes on
 * with the same series.
 */
#ifndef HOST_SERIES_H
#define HOST_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/filter.h"
#include "narrows/eventtype.h"
#include "narrows/provider.h"

enum {
	SERIES_FIELDS_MAX = 250,
	SERIES_DEVICE_BYTES = 64,
	SERIES_ID_BYTES = 400,
	SERIES_EVENT_BYTES = 160,
	SERIES_KEY_BYTES = 64,
	PEER_HOST_BYTES = 46
};

#define SERIES_PREFIX NW_TYPE_BLIPP

struct series_field {
	const char *name, *unit;
	bool counter; /* else a gauge */
};

struct series_kind {
	const char *event_type; /* ending in ':': the device's name follows */
	const char *device_key; /* subject member that names the device; NULL: the host itself */
	const struct series_field *fields;
	size_t n_fields;
};

struct diet;
struct leases;
struct report;
struct series;
struct queues;
/* Takes a sample in place of the provider. */
typedef int series_out_fn(
    struct report *r, const struct series *s, const struct series_kind *kind, const double *values);

/* Of the probe `bandwidth`. */
struct bandwidth_conf {
	char *peers, *listen; /* lines of `bandwidth`; of `bandwidth-listen`; NULL: none */
	int64_t time_ns, every_ns;
	uint64_t bytes;
};

/* Of the probe `scratch`. */
struct scratch_conf {
	char *directory; /* NULL: nothing is written */
	int64_t time_ns, every_ns;
	uint64_t bytes;
};

/* One round of samples. */
struct report {
	struct nw_provider *provider;
	series_out_fn *out; /* NULL: the provider gets the samples */
	void *out_arg;
	struct diet *diet; /* series that are sent seldom; NULL: none */
	struct filter filter;
	const char *host;
	const char *chronyd; /* address; NULL: the usual one */
	/* lines of the directive `probe`; NULL: none */
	const char *commands;
	/* lines of the directive `peer`; NULL: none */
	const char *peers;
	const char *groups;   /* paths of control groups, a line each; NULL: none */
	const char *programs; /* names of programs, parted by blanks; NULL: none */
	/* addresses of the other ends of followed connections, while a rule wants looks at them;
	 * returns their number. NULL: no connections are followed */
	size_t (*ends)(void *arg, char out[][PEER_HOST_BYTES], size_t max);
	void *ends_arg;
	bool ends_for_peer, ends_for_bandwidth; /* which probes the rule wants */
	bool transfers;                         /* the box follows connections of this host */
	/* NULL: every processor and interrupt is looked at; else these, for they serve the
	 * connections that the box follows */
	const struct queues *only;
	const struct bandwidth_conf *bandwidth; /* NULL: nothing is sent */
	const struct scratch_conf *scratch;     /* NULL: nothing is written */
	bool scratch_ordered;                   /* an order of the box wants the probe, still */
	const struct leases *leases;            /* orders in force, for replays; NULL: none */
	bool orders_failed; /* a probe gave an order up since the reader cleared the mark */
	double interval_s;
	int64_t t_wall_ns;
	const char *why; /* a probe's reason beside the error of sample(); NULL: the error tells */
	uint64_t values; /* values sent so far, to compute the price of a value */
};

struct series {
	bool announced, seen;
	/* notes of the probe: it knows the device, or it does not want the device */
	bool known, ignored;
	bool lean;            /* the diet of this number (series_diet.h) names the series */
	uint32_t diet_number; /* 0: not looked up yet */
	int64_t lean_sent_ns; /* wall time of the newest sample sent under a diet */
	char device[SERIES_DEVICE_BYTES];
	char id[SERIES_ID_BYTES];
};

/* Sends a sample, and metadata before the first. values: one per field, NaN is left out. Errors
 * as nw_provider_data(). */
int series_send(
    struct series *s, const struct series_kind *kind, struct report *r, const double *values);
/* Sends rows of other times, row by row in values. */
int series_send_rows(struct series *s, const struct series_kind *kind, struct report *r, size_t n,
    const int64_t *t_wall_ns, const double *values);
void series_end(struct series *s, struct report *r);

/*
 * A metadata's parameters: collectionInterval in seconds; `unit` and `kind` of the first field,
 * which hold for all fields without a unit_<field> or kind_<field> of their own. Returns the number
 * of parameters in p->kv.
 */
struct series_params {
	struct nw_kv kv[4 + 2 * SERIES_FIELDS_MAX];
	char keys[2 * SERIES_FIELDS_MAX][SERIES_KEY_BYTES];
};
size_t series_describe(const struct series_kind *k, double interval_s, struct series_params *p);

/* The devices of one kind, in the order of their file. */
struct series_set {
	struct series *list;
	size_t n, cap, next;
}; /* zero to start */

/* The series of a device; NULL: out of memory, or the name is too long. */
struct series *series_set_get(struct series_set *set, const char *device, size_t len);
/* After a round: ends the series whose devices have gone. */
void series_set_sweep(struct series_set *set, struct report *r);
void series_set_clear(struct series_set *set);

#endif
