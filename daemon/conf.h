/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: one line a directive, "name value", '#' begins a comment. One table in conf.c
 * describes every directive; narrowsd.conf(5) says the same in words.
 */
#ifndef CONF_H
#define CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/gate/hearsay.h"
#include "narrows/conftable.h"
#include "narrows/store.h"
#include "narrows/web.h"

enum { CONF_LISTENERS_MAX = 16, STORE_MAX_BYTES_MIN = 16 << 20 };

/* The words of a directive, in their order in the table of conf.c, as in the next enum. */
enum durability { DURABILITY_FULL, DURABILITY_NORMAL };

/* The sessions with connections followed inside the kernels. */
enum escalate_kernel {
	ESCALATE_KERNEL_NO,
	ESCALATE_KERNEL_UNDECIDED, /* open sessions without a verdict */
	ESCALATE_KERNEL_ALWAYS
};
struct conf {
	char *state_dir;
	char *user;                              /* account, or "auto": identity.h */
	char *listen_xsp;                        /* "address/port", several separated by blanks */
	char *listen_xsp_tls;                    /* the same, or "none" */
	char *listen_events, *listen_events_tls; /* of lines */
	char *listen_announcements, *announce_from, *announce_names;
	enum announce_hide announce_hide;
	bool take_traces;
	char *listen_http;
	char *listen_https; /* "address/port" or "none" */
	char *tls_dir;      /* below the state directory unless absolute: siteconf_tls_dir() */
	char *tls_names;
	char *http_names; /* separated by blanks, or "none" */
	uint64_t http_max_connections;
	uint64_t http_query_cost;
	uint64_t http_max_connections_per_address;
	int64_t http_request_timeout_ns;
	int64_t http_answer_timeout_ns;
	bool plain_xsp_beyond_loopback;
	enum web_wants login;

	uint64_t max_connections;
	uint64_t max_connections_per_address;
	uint64_t max_handshakes; /* connections without an open session */
	uint64_t max_memory_bytes;
	uint64_t max_blocks;
	uint64_t max_block_bytes;
	uint64_t max_message_bytes;
	uint64_t max_queue_bytes;
	uint64_t max_series_per_session;
	int64_t handshake_timeout_ns;
	int64_t idle_timeout_ns;

	int64_t flush_interval_ns;
	int64_t commit_interval_ns;
	enum durability durability;
	int64_t keep_ns[STORE_TIERS]; /* 0: for ever */
	int64_t keep_events_ns;       /* 0: for ever */
	int64_t keep_sessions_ns;     /* 0: for ever */
	uint64_t max_store_bytes;     /* 0 means nine tenths of the free space */

	int64_t session_linger_ns;
	int64_t analysis_interval_ns;
	double alpha;
	double margin;
	uint64_t segment_min_windows;
	double density_bandwidth; /* multiple of the rule-of-thumb bandwidth */
	double density_peak_min;
	double density_cutoff;
	int64_t reduction_window_ns;
	uint64_t reduction_min_rows;
	/* response of the reduction: "rate", "operation-time", or "EVENT_TYPE FIELD" */
	char *reduction_response;
	int64_t reduction_every_ns;   /* between reductions over days; 0: there are none */
	int64_t reduction_history_ns; /* sessions in a reduction over days */
	bool reduction_faithful;
	int64_t diet_after_ns;    /* time without use before series are proposed; 0: never */
	int64_t diet_interval_ns; /* of series on a diet */
	char *diet_accept;        /* hosts with proposals accepted at once, any or none */

	bool escalate; /* a transfer's hosts sample faster during the transfer */
	int64_t escalate_interval_ns;
	int64_t escalate_fastest_ns; /* least interval after halvings for an uneasy session */
	int64_t escalate_report_ns;
	int64_t escalate_keep_ns; /* samples kept by hosts of a steady session; 0: none */
	char *active_tests;       /* hosts of active tests that are taken, or "none", "any" */
	char *expect;             /* lines of the directive `expect`; NULL: none */
	char *rules;              /* lines of the directive `rule`; NULL: none */
	char *speaks_for;         /* lines of the directive `speaks-for`; NULL: none */
	bool escalate_tcp;
	enum escalate_kernel escalate_kernel;
	bool escalate_replay; /* hosts with a scratch directory repeat stages after a session */
	int64_t escalate_lease_ns; /* of every order, by hand too */

	char *path; /* path of the file, and the line of each directive in the file */
	unsigned line[CONF_ROWS_MAX];
};

/* Defaults. */
void conf_init(struct conf *c);
void conf_clear(struct conf *c);
/* Reads a file over c. After NW_EINVAL or NW_EIO, why has "file:line: fault" and c is unchanged. */
int conf_read(struct conf *c, const char *path, char why[CONF_WHY_BYTES]);
/* Sets a "name=value" of the command line. */
int conf_override(struct conf *c, const char *assignment, char why[CONF_WHY_BYTES]);
/* Checks directives against each other and looks up the hosts of the listeners. why has "file:line:
 * " if the directive stands in a file. */
int conf_check(const struct conf *c, char why[CONF_WHY_BYTES]);

bool conf_is_none(const char *value);
/* Whether some port of the report wants a login. */
bool conf_wants_login(const struct conf *c);
/* Whether a listener has a port that only a privileged process may take. */
bool conf_has_low_port(const struct conf *c);
/* Whether listen-events is as without a file: another program may have the port. */
bool conf_lines_unasked(const struct conf *c);

#endif
