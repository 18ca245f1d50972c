/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report: pages, plots, CSV and JSON over HTTP, from the store and from stored result
 * documents. The report runs in a thread with its own event base and read connections, and never
 * calls the daemon.
 */
#ifndef NARROWS_WEB_H
#define NARROWS_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/account.h"
#include "narrows/counters.h"
#include "narrows/store.h"

/*
 * The state of the box, copied at a single moment. /healthz and the health page render exactly this
 * struct.
 */
struct nw_health {
	bool ok; /* false: `problem` names the first problem */
	char problem[STORE_WHY_BYTES];
	char version[32];
	int64_t started_wall_ns, now_wall_ns;
	struct store_stats store;
	struct nw_counts counts;
	int64_t last_analysis_wall_ns, last_analysis_took_ns;
	/* how long the analysis in hand takes so far, 0 for none; of which session (0: a route) */
	int64_t analysis_busy_ns, analysis_busy_session_id;
	bool clock_known, clock_synchronised;
	/* how long ago the clock was last seen to be synchronised, or the box began; 0 while it is,
	 * and where no time service ever answered */
	int64_t clock_lost_ns;
	double clock_offset_s, clock_bound_s;
	int64_t disk_free_bytes;
	uint64_t incidents_open; /* of all routes */
	/* newest copy of the store by narrows backup; the time is 0 without a copy */
	int64_t backup_wall_ns, backup_bytes;
	char backup_path[256];
	/* "": not there */
	char speaks_for[4096]; /* lines of narrows/speakers.h; the last may be cut */
	char listen_xsp[64], listen_xsp_tls[64], listen_http[64], listen_https[64];
};

struct bufferevent;
struct event_base;

/* Which ports want a login: the words of the directive, in their order in daemon/conf.c. */
enum web_wants { WEB_BEYOND_LOOPBACK, WEB_ALWAYS, WEB_NEVER };

/* The accounts with access. The web thread calls. */
struct web_access {
	enum web_wants wants;
	/* The role of a user by password; slow on purpose. *stamp is that of the password. */
	enum account_role (*login)(
	    void *arg, const char *peer, const char *user, const char *password, uint64_t *stamp);
	/* The role of a token, and its name. */
	enum account_role (*token)(
	    void *arg, const char *peer, const char *text, char name[ACCOUNT_NAME_BYTES]);
	/* The present role of a user after login; ACCOUNT_NOBODY, if the stamp is that of
	 * another password or of an account that was removed since. */
	enum account_role (*role)(void *arg, const char *user, uint64_t stamp);
	/* A change, for the audit log; user: "" without logins. */
	void (*changed)(void *arg, const char *peer, const char *user, const char *event);
	/* A user has logged out. */
	void (*end)(void *arg, const char *peer, const char *user);
	/* Calls fn for each account, without its secret. */
	int (*list)(void *arg, void (*fn)(void *fn_arg, const struct account *a), void *fn_arg);
	void *arg;
};

struct web_opts {
	const char *listen; /* "127.0.0.1/8080"; port 0: any */
	/* address of HTTPS, or NULL */
	const char *listen_https;
	/*
	 * Maker of connections on the HTTPS port. Freeing the result closes everything below; NULL:
	 * refused.
	 */
	struct bufferevent *(*wrap)(struct event_base *base, void *arg);
	void *wrap_arg;
	/*
	 * Enrolment over HTTPS: a host asks for its certificate, or with body NULL for port and
	 * clock. Returns the HTTP status and the text of the answer. NULL: no enrolment.
	 */
	int (*enroll)(void *arg, const char *peer, const char *body, char *out, size_t cap);
	void *enroll_arg;
	/* A document of traces from another program (narrows/rucio.h). Returns the HTTP status and
	 * the text of the answer. NULL: the box takes none. */
	int (*traces)(void *arg, const char *peer, const char *body, char *out, size_t cap);
	void *traces_arg;
	const struct web_access *access; /* NULL: every reader may read everything */
	/* further names of the box, separated by blanks; "any": all; NULL: none */
	const char *names;
	/* of each port; 0, as in the next two: the usual */
	uint32_t connections_max, connections_per_address_max;
	int64_t request_max_ns, answer_max_ns;
	/* values that a query may read and compute; 0: no limit */
	double query_cost_max;
	const char *store_path;
	const char *expect; /* lines of the directive `expect`, or NULL */
	/* hosts of active tests that are taken, by blanks; "any": all; NULL: no test is taken */
	const char *active_tests;
	void (*health)(void *arg, struct nw_health *out); /* called from the web thread */
	void *health_arg;
};

/*
 * The meaning of a collector's silence. Silence counts from the collector's last report or the
 * start of the box, whichever is later.
 */
enum collector_state {
	COLLECTOR_SPEAKS,
	COLLECTOR_AWAITED, /* silent, but the box has not run for long enough to say so */
	COLLECTOR_SILENT,
	COLLECTOR_GONE /* silent for a month: of the past */
};
enum collector_state
collector_state(int64_t last_wall_ns, int64_t started_wall_ns, int64_t now_wall_ns);

struct web;
int web_start(const struct web_opts *opts, struct web **out, char why[STORE_WHY_BYTES]);
/* Answers begun requests, then joins the thread. NULL is fine. */
void web_stop(struct web *w);
const char *web_address(const struct web *w); /* "127.0.0.1/8080" as bound; lives as long as w */
const char *web_address_https(const struct web *w); /* "" without */

/*
 * The answers that need no box, without HTTP: those of the addresses that web/resources.def calls
 * local. *status is the status that HTTP would have (200, 400, 404). Body as export_session().
 */
int web_answer(struct store_reader *r, const char *path,
    int (*write)(void *arg, const char *text, size_t len), void *arg, int *status);

/*
 * The report of a session as one HTML file without requests, from its result document. Free the
 * result with free(). NULL: the text is no JSON object, or no memory.
 */
char *web_report_file(const char *document_json);

/* A table for a page: n_rows rows of n_columns texts, the names of the columns first; NULL: no
 * value. `words` stand above rows, `empty` instead of them. */
struct web_table {
	const char *title, *words, *empty;
	size_t n_columns, n_rows;
	const char *const *cells;
	const char *const *links; /* an address for each row, or NULL; NULL: none at all */
	size_t more;              /* rows left out by the caller */
};
/* The same for tables; NULL: no memory. */
char *web_tables_file(const char *title, const struct web_table *tables, size_t n);

#endif
