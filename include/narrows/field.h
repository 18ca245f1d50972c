/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fields of measurements: their units, and how values of a short time become the value of a
 * longer time. One table (store/ground/field.c) holds all event types; the SQL table field, the
 * unit columns of SQL and of CSV and the roll-ups come from the table. The sender's parameters
 * (unit, unit_FIELD) go before the table's unit, and kind or kind_FIELD "counter" makes a counter
 * of a field without an aggregation in the table.
 */
#ifndef NARROWS_FIELD_H
#define NARROWS_FIELD_H

#include <stddef.h>

enum nw_aggregation {
	NW_AGG_UNSAID, /* the rule says nothing; without any rule the mean */
	NW_AGG_MEAN,
	NW_AGG_SUM,
	NW_AGG_MIN,
	NW_AGG_MAX,
	NW_AGG_LAST,   /* of a counter: the largest value, because a counter only rises */
	NW_AGG_RATIO,  /* of mean_x: sum_x by the count of operations */
	NW_AGG_SPREAD, /* of sd_x: the spread within rows and between their means */
	NW_AGGREGATIONS
};

/* A rule of the table. Patterns are those of SQL's GLOB. The first match with a unit gives the
 * unit; the first match with an aggregation gives the aggregation. */
struct nw_field_rule {
	const char *event_glob, *field_glob;
	const char *unit; /* UCUM; NULL where the rule says nothing about units */
	enum nw_aggregation aggregation;
};

const struct nw_field_rule *nw_field_rules(size_t *n);

/* The rules with a unit for one event type, to be found once for many fields. */
enum { NW_FIELD_RULES_MAX = 256 };
struct nw_field_units {
	const struct nw_field_rule *rule[NW_FIELD_RULES_MAX];
	size_t n;
};
/* event_type NULL: no rules. */
void nw_field_units(struct nw_field_units *u, const char *event_type);
/* The table's unit of a field, a constant; NULL: not known. */
const char *nw_field_unit(const struct nw_field_units *u, const char *field);

enum nw_aggregation nw_field_aggregation(const char *event_type, const char *field);
/* The word for an aggregation in the SQL table; NULL of NW_AGG_UNSAID. */
const char *nw_aggregation_name(enum nw_aggregation a);

/* clang-format off */
/* The fields known by name above the store: X(name) of each, by kind of document (calipers,
 * processes, files and connections as nwrun and as blipp tell of them, hosts and clocks). */
#define NW_FIELDS_READ(X) \
	X(sum_v) X(mean_v) X(mean_r) X(sd_r) X(count) X(dur_inst) X(window) X(busy) X(busy_max) \
	X(wait) X(threads) \
	X(cpu_user) X(cpu_sys) X(cpu_wait) X(blocked) X(throttled) X(exit_status) \
	X(combined_bytes) X(report) \
	X(seen_read) X(seen_written) X(unseen_read) X(unseen_written) X(rchar) X(wchar) \
	X(pipe_read_bytes) X(pipe_write_bytes) X(pipe_read_s) X(pipe_write_s) X(paused_s) \
	X(read_bytes) X(write_bytes) X(bytes_in) X(bytes_out) X(rtt_s) X(rtt_min_s) X(retrans) \
	X(cwnd_bytes) X(busy_s) X(rwnd_limited_s) X(sndbuf_limited_s) X(delivery_rate) X(snd_wnd) \
	X(snd_mss) X(unread_share) \
	X(HCThruOctetsAcked) X(HCThruOctetsReceived) X(SegsRetrans) X(SmoothedRTT) X(MinRTT) \
	X(CurCwnd) X(CurRwinRcvd) X(CurMSS) X(linux_busy_time) X(linux_rwnd_limited) \
	X(linux_sndbuf_limited) X(linux_delivery_rate) \
	X(idle) X(iowait) X(disk_busy) X(offset_s) X(bound_s) X(kernel_synced) X(io_ms) \
	X(written_bytes) X(sum_d) X(max_d) X(one_in) X(queued_read_bytes) X(queued_written_bytes) \
	X(read_limit) X(written_limit) X(sent_limit) X(writeback) \
	X(bytes) X(calls_s) X(took_s) X(cost_bytes) X(cost_s) \
	X(storage_bytes) X(connection_s) X(read_wait_s) X(read_net_s) X(write_wait_s) \
	X(write_net_s) X(elapsed_s) X(over) X(reads) X(vector_reads) X(writes) X(size_bytes) \
	X(lost) X(slack_s) X(read_s) X(write_s) X(steps) X(inside_s) X(between_s) \
	X(first_s) X(queue_s) X(prepare_s) X(source_check_s) X(target_check_s)
/* clang-format on */

#endif
