/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of a running box, in one list: the struct in which the box counts, /healthz, the
 * health page and /metrics are made from this list. To add a counter, add a line here and count.
 *
 * X(name, section, kind, words)
 *	section	INGEST, ANALYSIS or REPORT: the part of the health page
 *	kind	GAUGE: a present number; COUNT: a sum since the start;
 *		FAULT: a sum that stays 0 in good times
 *	words	label on the health page, help text in /metrics
 */
#ifndef NARROWS_COUNTERS_H
#define NARROWS_COUNTERS_H

#include <stdint.h>

#define NW_COUNTERS(X)                                                                 \
	X(connections, INGEST, GAUGE, "Connections now")                               \
	X(connections_total, INGEST, COUNT, "Connections in all")                      \
	X(xsp_sessions_open, INGEST, GAUGE, "XSP sessions now")                        \
	X(sessions_open, INGEST, GAUGE, "Sessions running")                            \
	X(sessions_total, INGEST, COUNT, "Sessions in all")                            \
	X(frames, INGEST, COUNT, "Frames")                                             \
	X(documents, INGEST, COUNT, "Documents")                                       \
	X(samples, INGEST, COUNT, "Samples")                                           \
	X(events, INGEST, COUNT, "Events")                                             \
	X(announcements, INGEST, COUNT, "Announcements")                               \
	X(announcements_stale, INGEST, COUNT, "Announcements repeated or out of time") \
	X(announcements_foreign, INGEST, FAULT, "Announcements of other networks")     \
	X(announcements_malformed, INGEST, FAULT, "Announcements rejected")            \
	X(announcements_lost, INGEST, FAULT, "Announcements lost or late")             \
	X(announcements_over_limit, INGEST, FAULT, "Announcements over a limit")       \
	X(unknown_options, INGEST, COUNT, "Unknown options")                           \
	X(duplicates, INGEST, COUNT, "Repeated documents")                             \
	X(held_documents, INGEST, COUNT, "Documents that waited for metadata")         \
	X(settings, INGEST, COUNT, "Settings of hosts")                                \
	X(refused_settings, INGEST, FAULT, "Settings refused")                         \
	X(slowed_providers, INGEST, GAUGE, "Providers that slow down")                 \
	X(paused_reads, INGEST, COUNT, "Reading paused")                               \
	X(timeouts, INGEST, COUNT, "Timeouts")                                         \
	X(connections_refused, INGEST, FAULT, "Connections refused")                   \
	X(connections_evicted, INGEST, FAULT, "Connections closed for room")           \
	X(memory_used_bytes, INGEST, GAUGE, "Memory for senders")                      \
	X(data_without_metadata, INGEST, FAULT, "Data without metadata")               \
	X(rejected_frames, INGEST, FAULT, "Frames rejected")                           \
	X(rejected_documents, INGEST, FAULT, "Documents rejected")                     \
	X(bad_lines, INGEST, FAULT, "Lines that are no event")                         \
	X(events_for_others, INGEST, COUNT, "Events with another's name")              \
	X(rejected_control, INGEST, FAULT, "Control messages rejected")                \
	X(dropped_documents, INGEST, FAULT, "Documents dropped by providers")          \
	X(rejected_auth, INGEST, FAULT, "Logins rejected")                             \
	X(rejected_tls, INGEST, FAULT, "TLS connections rejected")                     \
	X(rejected_tokens, INGEST, FAULT, "Enrolments rejected")                       \
	X(partner_joins, INGEST, COUNT, "Sessions with windows of partners")           \
	X(partner_refusals, INGEST, FAULT, "Questions of partners refused")            \
	X(failed_commits, INGEST, FAULT, "Batches that the store refused")             \
	X(log_lines_lost, INGEST, FAULT, "Lines that syslog did not take")             \
	X(analysis_queued, ANALYSIS, GAUGE, "Waiting")                                 \
	X(analysis_runs, ANALYSIS, COUNT, "Runs")                                      \
	X(analysis_failures, ANALYSIS, FAULT, "Runs that failed")                      \
	X(http_connections, REPORT, GAUGE, "Connections now")                          \
	X(http_requests, REPORT, COUNT, "Requests")                                    \
	X(http_timeouts, REPORT, COUNT, "Timeouts")                                    \
	X(http_refused, REPORT, FAULT, "Connections refused")                          \
	X(http_malformed, REPORT, FAULT, "Requests that are not HTTP")                 \
	X(http_misdirected, REPORT, FAULT, "Requests for another name")

/* A copy of every counter at one moment. */
struct nw_counts {
#define X(name, section, kind, words) uint64_t name;
	NW_COUNTERS(X)
#undef X
};

enum nw_counter_section { NW_COUNTER_INGEST, NW_COUNTER_ANALYSIS, NW_COUNTER_REPORT };
enum nw_counter_kind { NW_COUNTER_GAUGE, NW_COUNTER_COUNT, NW_COUNTER_FAULT };

#endif
