/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame around all pages, pieces that several pages use, and the pages themselves. */
#ifndef NARROWS_WEB_PAGE_H
#define NARROWS_WEB_PAGE_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/format.h"
#include "narrows/store.h"
#include "narrows/web.h"
#include "web/answer/compare.h"
#include "web/draw/html.h"
#include "web/query/param.h"
#include "web/answer/session_list.h"

enum page_tab { PAGE_NONE, PAGE_SESSIONS, PAGE_ROUTES, PAGE_HOSTS, PAGE_KEEP, PAGE_HEALTH };

struct page_frame {
	const char *title;
	enum page_tab tab;
	unsigned refresh_s; /* 0: the page does not change by itself */
	bool alone;         /* a file that asks for nothing: style inside, no links */
};
void page_begin(struct html *h, const struct page_frame *f);
void page_end(struct html *h);

/*
 * A name as text. A long name loses its middle and is whole in the title. Writes nothing for NULL.
 */
void page_name(struct html *h, const char *name);
/* "a -> b" with a real arrow. */
void page_route(struct html *h, const char *route);
/* 41.3 MB/s (330 Mbit/s) */
void page_rate(struct html *h, double bytes_per_s);
/* A time in the box's zone: 2026-11-20 09:12:11 CET. */
struct fmt page_local(int64_t t_wall_ns);
/* The time of day alone, with the whole time for machines. */
void page_clock(struct html *h, int64_t t_wall_ns);
/* A time for people, and in UTC for machines. 0: "unknown". */
void page_time(struct html *h, int64_t t_wall_ns);
/* A time that comes as ISO 8601 text in UTC; other text is shown unchanged. */
void page_stamp(struct html *h, const char *iso);
/* The first text, or the second instead of NULL. */
const char *page_either(const char *a, const char *b);
/* One row of a list of names and values; the value is text. */
void page_item(struct html *h, const char *name, const char *value);

/*
 * --- the pages. Each function writes a whole page; after a return of NW_E* the output must be
 * dropped. ---
 */

/* The numbers of the figure with this id as CSV, of the sections that `write` writes; free() the
 * text. NW_ENOTFOUND: the sections have no such figure. */
int page_figure(const char *figure, int (*write)(struct html *h, void *arg), void *arg, char **text,
    size_t *len);

struct expected_list;
/* health: NULL if the box reports none; expected: NULL if not examined */
int page_sessions(struct html *h, struct store_reader *r, struct session_index *x,
    const struct session_filter *f, const struct nw_health *health,
    const struct expected_list *expected);
/* Regular sessions with their state, as a table; missing sessions as sentences. */
void expected_table(struct html *h, const struct expected_list *l, int64_t now_wall_ns);
void expected_missing(struct html *h, const struct expected_list *l, int64_t now_wall_ns);
/* A session as a file of its own, from its result document. NW_EINVAL: no JSON object. */
int page_session_file(struct html *h, const char *json);
/* What the query of a session's page asks for. */
struct session_query {
	bool all;            /* with every fold open */
	double from_s, to_s; /* a stretch of the time axis; to_s 0 for none */
};
extern const struct param part_params[];
/* NULL and unknown fields change nothing. Returns false if the ends are no stretch of time. */
bool session_query_parse(struct session_query *q, const char *query);
int page_session(struct html *h, struct store_reader *r, int64_t id, const struct session_query *q);
/* The figures of that page, a document of result_keys.def; a new reference. NW_ENOTFOUND */
int page_session_figures(struct store_reader *r, int64_t id, json_t **out);
/* The numbers of the figure with this id as CSV; free() the text. NW_ENOTFOUND: no such session, or
 * no such figure on its page. */
int page_session_figure(struct store_reader *r, int64_t id, const struct session_query *q,
    const char *figure, char **text, size_t *len);
/* All routes; the history of one. NW_ENOTFOUND: no such route. */
int page_routes(struct html *h, struct store_reader *r);
int
page_route_history(struct html *h, struct store_reader *r, const char *route, const char *program);
/* The numbers of a figure of that page. */
int page_route_figure(struct store_reader *r, const char *route, const char *program,
    const char *figure, char **text, size_t *len);
/* The attribute href: path with the route and program as its query. */
void page_route_href(struct html *h, const char *path, const char *route, const char *program);
/* Incidents of routes; the incident with a first session. NW_ENOTFOUND */
struct incidents_query;
int page_incidents(struct html *h, struct store_reader *r, const struct incidents_query *q);
int page_incident(struct html *h, struct store_reader *r, int64_t session_id);
/* The open incidents as a part of another page; nothing without any. */
int incidents_slower_now(struct html *h, struct store_reader *r);
/* Sessions side by side, or a form to choose them; *status is the HTTP status of the page. */
int page_compare(struct html *h, struct store_reader *r, struct session_index *x, const char *query,
    int *status);
/* A host by its name: clock, settings and their history, sessions. NW_ENOTFOUND */
struct hosts_now;
struct hosts_query;
int
page_host(struct html *h, struct store_reader *r, const struct hosts_now *now, const char *name);
/* All hosts, those with a silent collector first. */
int page_hosts(struct html *h, struct store_reader *r, const struct hosts_now *now,
    const struct hosts_query *q);
/* The numbers of a figure of that page, as of a session's. */
int page_host_figure(
    struct store_reader *r, const char *name, const char *figure, char **text, size_t *len);
/* Sections of the page of a host, of its document; of the clock, of the document's records. */
void host_clock(struct html *h, const json_t *clocks);
void host_metrics(struct html *h, const json_t *doc);
void host_collectors(struct html *h, const json_t *doc);
void host_diets(struct html *h, const json_t *doc);
void host_usual(struct html *h, const json_t *doc);
/* The name, with a link to its page unless the page stands alone. */
void page_host_link(struct html *h, const char *name);
int page_keep(struct html *h, struct store_reader *r);
/* health: NULL if the box does not tell. `more` writes sections before the counters, or is NULL */
void page_health(struct html *h, struct store_reader *r, const struct nw_health *health,
    const struct expected_list *expected, void (*more)(struct html *h, void *arg), void *arg);
/* The form for a login that leads to `next`. tried: 0, 401 or 429, the status of the attempt
 * before; user: the name of the user after login, or NULL. */
void page_login(struct html *h, const char *next, int tried, unsigned wait_s, const char *user);
void page_access(struct html *h, const struct web_access *access, const char *user);
void page_error(struct html *h, int code, const char *reason, const char *advice);

/* Contents of the sections of a session's page: `doc` is the result document, parts may be
 * missing. */
void session_answers(struct html *h, const json_t *doc, const json_t *incident);
/* The session's incident as the box knows the incident by now, or NULL; a new reference. */
json_t *session_incident(struct store_reader *r, const json_t *doc);
void session_witnesses(struct html *h, const json_t *doc);
/* The pipe that the data ran through; nothing without stages. */
void session_pipe(struct html *h, const json_t *doc);
void session_stages(struct html *h, const json_t *doc);
/* Differences, of a session's or a route's object `changed`. */
void session_differences(struct html *h, const json_t *changed);
/* Cards with advice: for a session; for a route, with the outcomes of earlier advice. */
void session_advice(struct html *h, const json_t *doc);
void route_advice(struct html *h, const json_t *list);
/* Active tests of a route's path against its sessions, from the route's document; nothing without
 * tests. */
int route_tests_write(struct html *h, struct store_reader *r, const json_t *doc, const char *route,
    const char *program);
void session_changed(struct html *h, const json_t *doc);
void session_changes(struct html *h, const json_t *doc);
void session_plots(struct html *h, const json_t *doc);
void session_tcp(struct html *h, const json_t *doc);
void session_ops(struct html *h, const json_t *doc);
void session_classes(struct html *h, const json_t *doc);
void session_kernel(struct html *h, const json_t *doc);
void session_chain(struct html *h, const json_t *doc);
void session_steps(struct html *h, const json_t *doc);
void session_iotime(struct html *h, const json_t *doc);
/* The notes of a session, with a form for readers with the right to write. */
int session_notes(struct html *h, struct store_reader *r, int64_t session_id);
/* Contributions of other sites' boxes to the session, or the lack of an answer. */
int session_partners(struct html *h, struct store_reader *r, int64_t session_id);
/* People's answers about the session's verdict, and the form for operators. */
int session_feedback(struct html *h, struct store_reader *r, int64_t session_id);
/* What sensors of the session's hosts saw of ways to other hosts, from the store. */
int session_sensors(struct html *h, struct store_reader *r, const json_t *doc);
void session_reduction(struct html *h, const json_t *doc);
void session_hosts(struct html *h, const json_t *doc);
/* How far apart events of different hosts must be to have an order, in seconds; NaN if unknown. */
double session_clock_bound(const json_t *doc);
void session_quality(struct html *h, const json_t *doc);
/* Writes the table of the session's senders: the data of each, and whether the verdict uses the
 * data. */
void session_senders(struct html *h, const json_t *doc);
void session_files(struct html *h, const json_t *doc);
void session_connections(struct html *h, const json_t *doc);

#endif
