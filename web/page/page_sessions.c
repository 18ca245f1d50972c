/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of sessions, newest first; on a fresh install, how to get a first session. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/stage_words.h"

struct listing {
	struct html *h;
	const struct session_filter *f;
	struct html idle; /* items of the fold that is open; .out NULL: none */
	size_t n_own;     /* sessions other than self-tests */
	size_t n, n_idle; /* n_idle: sessions of that fold */
	char day[16];     /* of the row before */
};

/* --- rows --- */

static bool
has_verdict(const struct nw_result_rec *res)
{
	return res->stage != NULL ||
	    (res->confidence != NULL && strcmp(res->confidence, "none") != 0);
}

static void
write_verdict(struct html *h, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	if (s->closed_wall_ns == 0 && res != NULL)
		html_raw(h, "<span class=\"tag\">running</span> so far ");
	if (res != NULL && has_verdict(res)) {
		html_raw(h, "<b class=\"stage\">");
		html_text(h, result_limit_words(res->stage, res->confidence, res->sentence));
		html_raw(h, "</b>");
		if (res->confidence != NULL) {
			html_raw(h, " <span class=\"soft\">");
			html_text(h, res->confidence);
			html_raw(h, "</span>");
		}
	} else if (res != NULL)
		html_raw(h, "<span class=\"soft\">cannot tell</span>");
	if (s->closed_wall_ns == 0 && res == NULL)
		html_raw(h, "<span class=\"tag\">running</span>");
	else if (res == NULL)
		html_raw(h, "<span class=\"soft\">not analysed yet</span>");
}

/* A number, or a dash for an unknown number. */
static void
write_figure(struct html *h, double v, struct fmt text)
{
	if (isfinite(v))
		html_text(h, text.s);
	else
		html_raw(h, "<span class=\"soft\" aria-label=\"unknown\">\xe2\x80\x93</span>");
}

/* A row that names the day, before the first session of a day. */
static void
write_day(struct listing *list, int64_t t_wall_ns)
{
	char day[sizeof(list->day)];

	snprintf(day, sizeof(day), "%.10s", page_local(t_wall_ns).s);
	if (strcmp(day, list->day) == 0)
		return;
	strcpy(list->day, day);
	html_raw(list->h,
	    "<tr role=\"row\" class=\"day\"><th role=\"rowheader\" scope=\"rowgroup\" "
	    "colspan=\"7\">");
	html_text(list->h, day);
	html_raw(list->h, "</th></tr>");
}

static void
write_link(struct html *h, int64_t id, int64_t t_wall_ns)
{
	html_raw(h, "<a href=\"/session/");
	html_int(h, id);
	html_raw(h, "\">");
	page_clock(h, t_wall_ns);
	html_raw(h, "</a>");
}

/* The task under the program, unless the task was made up. */
static void
write_program(struct html *h, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	const char *program = res != NULL && res->program != NULL ? res->program : s->program;

	page_name(h, program != NULL ? program : "unknown");
	if (result_task_has_name(s->task_id)) {
		html_raw(h, "<span class=\"soft under\">");
		page_name(h, s->task_id);
		html_raw(h, "</span>");
	}
	if (res != NULL && res->label != NULL) {
		html_raw(h, "<span class=\"soft under\">label ");
		page_name(h, res->label);
		html_raw(h, "</span>");
	}
	if (s->announced)
		html_raw(h, " <span class=\"tag\">announced</span>");
	if (res != NULL && res->imported)
		html_raw(h, " <span class=\"tag\">imported</span>");
	if (res != NULL && res->exit_status > 0) {
		html_raw(h, " <span class=\"tag\">failed: ");
		html_int(h, (int64_t)fmin(res->exit_status, 1e6));
		html_raw(h, "</span>");
	}
}

/* "2.1x slower" than the median, from a tenth on: whether chance allows as much, the session's page
 * tells. */
static void
write_against(struct html *h, const struct nw_result_rec *res)
{
	double usual = res != NULL ? res->usual : NAN;

	if (!(usual >= SESSION_SLOWER) && !(usual <= 1 / SESSION_SLOWER))
		return;
	html_raw(h, "<span class=\"soft under\">");
	html_text(h, fmt_ratio(usual >= 1 ? usual : 1 / usual).s);
	if (usual >= 1)
		html_raw(h, "\xc3\x97 slower than the median</span>");
	else
		html_raw(h, "\xc3\x97 faster than the median</span>");
}

/* The fold is written when its number of sessions is known. */
static void
idle_end(struct listing *list)
{
	struct html *h = list->h;

	if (list->n_idle == 0)
		return;
	html_raw(h,
	    "<tr role=\"row\" class=\"idle\"><td role=\"cell\" "
	    "colspan=\"7\"><details><summary>");
	html_int(h, (int64_t)list->n_idle);
	if (list->n_idle == 1)
		html_raw(h, " session moved nothing");
	else
		html_raw(h, " sessions moved nothing");
	html_raw(h, "</summary><ul>");
	h->failed |= list->idle.failed || evbuffer_add_buffer(h->out, list->idle.out) != 0;
	html_raw(h, "</ul></details></td></tr>");
	list->n_idle = 0;
}

/* Sessions that moved nothing stand in a fold of their own, one line each. */
static void
write_idle(struct listing *list, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct html *h = &list->idle;

	list->n_idle++;
	html_raw(h, "<li>");
	write_link(h, s->id, session_start_wall_ns(s, res));
	html_raw(h, " ");
	write_program(h, s, res);
	html_raw(h, "</li>");
}

/* A box of the form around the list, which compares sessions. */
static void
write_choice(struct html *h, int64_t id)
{
	html_raw(h, "<input type=\"checkbox\" name=\"ids\" value=\"");
	html_int(h, id);
	html_raw(h, "\" aria-label=\"compare session ");
	html_int(h, id);
	html_raw(h, "\"> ");
}

static void
write_row(struct html *h, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	double bytes = res != NULL ? res->bytes : NAN, rate = res != NULL ? res->bytes_per_s : NAN;
	double duration = res != NULL ? (double)res->duration_ns / 1e9 : NAN;

	html_raw(h, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"when\">");
	write_choice(h, s->id);
	write_link(h, s->id, session_start_wall_ns(s, res));
	html_raw(h, " <span class=\"soft\">");
	html_int(h, s->id);
	html_raw(h, "</span></th><td role=\"cell\" class=\"num\">");
	write_figure(h, duration, fmt_duration(duration));
	html_raw(h, "</td><td role=\"cell\" class=\"route\">");
	page_route(h, res != NULL ? res->route : NULL);
	html_raw(h, "</td><td role=\"cell\" class=\"program\">");
	write_program(h, s, res);
	html_raw(h, "</td><td role=\"cell\" class=\"num\">");
	write_figure(h, bytes, fmt_bytes(bytes));
	html_raw(h, "</td><td role=\"cell\" class=\"num\">");
	write_figure(h, rate, fmt_bytes_per_s(rate));
	write_against(h, res);
	html_raw(h, "</td><td role=\"cell\" class=\"said\">");
	write_verdict(h, s, res);
	html_raw(h, "</td></tr>");
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct listing *list = arg;
	bool idle = session_is_idle(s, res);
	char day[sizeof(list->day)];

	list->n++;
	list->n_own +=
	    res == NULL || res->label == NULL || strcmp(res->label, RESULT_SELFTEST_LABEL) != 0;
	snprintf(day, sizeof(day), "%.10s", page_local(session_start_wall_ns(s, res)).s);
	if (!idle || strcmp(day, list->day) != 0)
		idle_end(list);
	write_day(list, session_start_wall_ns(s, res));
	if (idle)
		write_idle(list, s, res);
	else
		write_row(list->h, s, res);
	return list->h->failed ? NW_ENOMEM : 0;
}

/* --- a fresh install --- */

/* The first of several addresses; an address that stands for all of this machine's says nothing to
 * a reader. */
static void
write_address(struct html *h, const char *addresses)
{
	size_t len = strcspn(addresses, " ");
	const char *slash = memrchr(addresses, '/', len);
	char text[64];

	if (strncmp(addresses, "0.0.0.0/", 8) == 0 || strncmp(addresses, "::/", 3) == 0) {
		html_raw(h, "<var>this-box</var>");
		snprintf(text, sizeof(text), "%.*s", (int)(addresses + len - slash), slash);
	} else
		snprintf(text, sizeof(text), "%.*s", (int)len, addresses);
	html_text(h, text);
}

static bool
is_loopback(const char *addresses)
{
	return strncmp(addresses, "127.", 4) == 0 || strncmp(addresses, "::1/", 4) == 0;
}

static void
write_lines(struct html *h, const char *scheme, const char *addresses)
{
	html_raw(h, "<pre tabindex=\"0\">export NARROWS_BOX=");
	html_text(h, scheme);
	write_address(h, addresses);
	html_raw(h,
	    " NARROWS_TASK=first\n"
	    "blipp &amp;                     <i># CPU, memory, disk and network of this host</i>\n"
	    "nwrun rsync -a <var>from</var> <var>to</var>      <i># or any other "
	    "program</i></pre>");
}

/* Where the box listens decides what a host has to do. */
static void
write_first_lines(struct html *h, const struct nw_health *health)
{
	if (health->listen_xsp[0] != '\0') {
		html_raw(h, "<p>Measure the first transfer in three lines, ");
		html_text(h,
		    is_loopback(health->listen_xsp)
			? "on this machine (its plain port takes no other host):"
			: "on the hosts of the transfer:");
		html_raw(h, "</p>");
		write_lines(h, "", health->listen_xsp);
	}
	if (health->listen_xsp_tls[0] != '\0') {
		html_raw(h,
		    "<p>Hosts of the network use TLS and need a certificate once: <code>narrows "
		    "enroll "
		    "--token <var>host</var></code> on the box prints the command for the host. "
		    "Then:</p>");
		write_lines(h, "tls://", health->listen_xsp_tls);
	} else if (is_loopback(health->listen_xsp))
		html_raw(h,
		    "<p>Hosts of the network need the directives <code>listen-xsp-tls</code> and "
		    "<code>tls-dir</code> in narrowsd.conf.</p>");
}

static void
write_empty(struct html *h, const struct nw_health *health)
{
	html_raw(
	    h, "<section class=\"empty\"><p class=\"sentence\">Nothing has been measured yet.</p>");
	if (health != NULL)
		write_first_lines(h, health);
	html_raw(h,
	    "<p>The list here shows the session while it runs; the verdict follows its end. "
	    "<code>narrows "
	    "selftest</code> on this box measures a transfer within the machine, to look "
	    "at.</p></section>");
}

/* Below the self-test of a fresh install: how to measure the first program. */
static void
write_next(struct html *h, const struct nw_health *health)
{
	html_raw(h,
	    "<section class=\"empty\"><h2>Measure your own program</h2><p>All sessions above are "
	    "self-tests of this machine.</p>");
	write_first_lines(h, health);
	html_raw(h, "</section>");
}

/* --- the filter --- */

static const struct {
	enum session_sort sort;
	const char *words;
} sorts[] = {
	{ SORT_NEWEST, "newest first" },
	{ SORT_SLOWEST, "lowest rate first" },
	{ SORT_FASTEST, "highest rate first" },
	{ SORT_LONGEST, "longest first" },
	{ SORT_LARGEST, "most bytes first" },
};

static void
write_input(struct html *h, const char *title, const char *name, const char *value)
{
	html_raw(h, "<label>");
	html_text(h, title);
	html_raw(h, " <input maxlength=\"95\"");
	html_attr(h, "name", name);
	html_attr(h, "value", value);
	html_raw(h, "></label> ");
}

/* The rarer filters, open if any is set. */
static void
write_more_filters(struct html *h, const struct session_filter *f)
{
	static const struct {
		const char *state, *words;
	} states[] = { { "", "any" }, { "open", "still open" }, { "failed", "program failed" },
		{ "slower", "slower than the median" } };
	bool open = f->program[0] != '\0' || f->label[0] != '\0' || f->host[0] != '\0' ||
	    f->state[0] != '\0' || f->since_wall_ns != 0 || f->until_wall_ns != 0 ||
	    f->rate_min > 0 || f->rate_max > 0;
	size_t i;

	if (open)
		html_raw(h, "<details class=\"more\" open>");
	else
		html_raw(h, "<details class=\"more\">");
	html_raw(h, "<summary>More filters</summary>");
	write_input(h, "Host", "host", f->host);
	write_input(h, "Program", "program", f->program);
	write_input(h, "Label", "label", f->label);
	write_input(h, "From (2026-11-20, or 7d ago)", "from",
	    f->since_wall_ns > 0 ? fmt_iso(f->since_wall_ns, 0).s : "");
	write_input(h, "To", "to", f->until_wall_ns > 0 ? fmt_iso(f->until_wall_ns, 0).s : "");
	write_input(
	    h, "Rate at least (10MB)", "rate_min", f->rate_min > 0 ? fmt_exact(f->rate_min).s : "");
	write_input(h, "Rate at most", "rate_max", f->rate_max > 0 ? fmt_exact(f->rate_max).s : "");
	html_raw(h, "<label>State <select name=\"state\">");
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		html_raw(h, "<option");
		html_attr(h, "value", states[i].state);
		if (strcmp(states[i].state, f->state) == 0)
			html_raw(h, " selected");
		html_raw(h, ">");
		html_text(h, states[i].words);
		html_raw(h, "</option>");
	}
	html_raw(h, "</select></label>");
	if (f->route[0] != '\0') {
		html_raw(h, "<input type=\"hidden\" name=\"route\"");
		html_attr(h, "value", f->route);
		html_raw(h, ">");
	}
	html_raw(h, "</details>");
}

static void
write_filter(struct html *h, const struct session_filter *f)
{
	const char *stage;
	size_t i;

	html_raw(h,
	    "<form class=\"filter\" id=\"filter\" action=\"/\" role=\"search\"><label>Task, route, "
	    "program or "
	    "verdict <input type=\"search\" name=\"search\" maxlength=\"95\"");
	html_attr(h, "value", f->text);
	html_raw(h,
	    "></label> <label>Limited by <select name=\"stage\"><option value=\"\">anything"
	    "</option>");
	for (i = 0; i < NW_STAGE_COUNT; i++) {
		stage = nw_stage_kind_name((enum nw_stage_kind)i);
		html_raw(h, "<option");
		html_attr(h, "value", stage);
		if (strcmp(stage, f->stage) == 0)
			html_raw(h, " selected");
		html_raw(h, ">");
		html_text(h, nw_stage_kind_words((enum nw_stage_kind)i));
		html_raw(h, "</option>");
	}
	html_raw(h, "<option value=\"none\"");
	if (strcmp(f->stage, "none") == 0)
		html_raw(h, " selected");
	html_raw(
	    h, ">no single stage</option></select></label> <label>Order <select name=\"sort\">");
	for (i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		html_raw(h, "<option");
		html_attr(h, "value", i == 0 ? "" : session_sort_name(sorts[i].sort));
		if (sorts[i].sort == f->sort)
			html_raw(h, " selected");
		html_raw(h, ">");
		html_text(h, sorts[i].words);
		html_raw(h, "</option>");
	}
	html_raw(h, "</select></label>");
	write_more_filters(h, f);
	html_raw(h, " <button>Show</button></form>");
}

static void
add_param(struct evbuffer *b, const char *name, const char *value)
{
	char *encoded = *value != '\0' ? evhttp_uriencode(value, -1, 1) : NULL;

	if (encoded != NULL)
		evbuffer_add_printf(b, "&%s=%s", name, encoded);
	free(encoded);
}

static void
add_filter(struct evbuffer *b, const struct session_filter *f)
{
	if (f->text[0] == '\0' && f->sort != SORT_NEWEST)
		evbuffer_add_printf(b, "&search=");
	add_param(b, "search", f->text);
	add_param(b, "stage", f->stage);
	add_param(b, "program", f->program);
	add_param(b, "label", f->label);
	add_param(b, "host", f->host);
	add_param(b, "route", f->route);
	add_param(b, "state", f->state);
	if (f->since_wall_ns > 0)
		add_param(b, "from", fmt_iso_ns(f->since_wall_ns).s);
	if (f->until_wall_ns > 0)
		add_param(b, "to", fmt_iso_ns(f->until_wall_ns).s);
	if (f->rate_min > 0)
		add_param(b, "rate_min", fmt_exact(f->rate_min).s);
	if (f->rate_max > 0)
		add_param(b, "rate_max", fmt_exact(f->rate_max).s);
	if (f->sort != SORT_NEWEST)
		add_param(b, "sort", session_sort_name(f->sort));
	if (f->limit > 0)
		add_param(b, "limit", fmt_int(f->limit).s);
}

/* The address of a page of the list with this filter. */
static void
write_page_link(struct html *h, const struct session_filter *f, int64_t before, bool json)
{
	struct evbuffer *b = evbuffer_new();
	char *text, *query;

	if (b == NULL) {
		h->failed = true;
		return;
	}
	evbuffer_add_printf(b, "/%s", json ? "sessions.json" : "");
	add_filter(b, f);
	if (before > 0)
		evbuffer_add_printf(b, "&before=%s", fmt_int(before).s);
	evbuffer_add(b, "", 1);
	if ((text = (char *)evbuffer_pullup(b, -1)) != NULL) {
		if ((query = strchr(text, '&')) != NULL)
			*query = '?';
		html_attr(h, "href", text);
	}
	evbuffer_free(b);
}

static void
write_more(struct html *h, const struct session_filter *f, int64_t next)
{
	html_raw(h, "<nav class=\"pages\" aria-label=\"More sessions\">");
	if (f->before != 0) {
		html_raw(h, "<a");
		write_page_link(h, f, 0, false);
		if (f->sort == SORT_NEWEST)
			html_raw(h, ">Newest</a>");
		else
			html_raw(h, ">First</a>");
	}
	if (next > 0) {
		html_raw(h, "<a rel=\"next\"");
		write_page_link(h, f, next, false);
		if (f->sort == SORT_NEWEST)
			html_raw(h, ">Older</a>");
		else
			html_raw(h, ">Next</a>");
	}
	html_raw(h, "<a");
	write_page_link(h, f, 0, true);
	html_raw(h, ">JSON</a></nav>");
}

/* --- the page --- */

/* The usual views of readers, the slower sessions in front. */
static void
write_views(struct html *h, const struct session_filter *f)
{
	static const struct {
		const char *state, *href, *words;
	} views[] = {
		{ NULL, "/incidents?state=open", "Slower now" },
		{ "", "/", "All" },
		{ "slower", "/?state=slower", "Slower than the median" },
		{ "failed", "/?state=failed", "Failed" },
		{ "open", "/?state=open", "Running" },
	};
	size_t i;

	html_raw(h, "<nav class=\"links views\" aria-label=\"Views\">");
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		html_raw(h, "<a");
		html_attr(h, "href", views[i].href);
		if (views[i].state != NULL && strcmp(views[i].state, f->state) == 0)
			html_raw(h, " aria-current=\"page\"");
		html_raw(h, ">");
		html_text(h, views[i].words);
		html_raw(h, "</a>");
	}
	html_raw(h, "<a class=\"to-filter\" href=\"#filter\">Filter</a></nav>");
}

static void
write_head(struct html *h)
{
	html_raw(h,
	    "<form class=\"chosen-ones\" action=\"/compare\"><table class=\"sessions\" "
	    "role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">"
	    "<th role=\"columnheader\" scope=\"col\">When</th><th role=\"columnheader\" "
	    "scope=\"col\" "
	    "class=\"num\">Duration</th><th role=\"columnheader\" scope=\"col\">Route</th>"
	    "<th role=\"columnheader\" scope=\"col\">Program</th><th role=\"columnheader\" "
	    "scope=\"col\" class=\"num\">Bytes</th><th role=\"columnheader\" scope=\"col\" "
	    "class=\"num\">Mean rate</th><th role=\"columnheader\" scope=\"col\">Limited "
	    "by</th></tr>"
	    "</thead><tbody role=\"rowgroup\">");
}

static void
write_none(struct html *h, const struct session_filter *f)
{
	if (f->before != 0 && f->sort == SORT_NEWEST)
		html_raw(h, "<p>No older sessions.</p>");
	else if (f->before != 0)
		html_raw(h, "<p>No further sessions.</p>");
	else
		html_raw(h, "<p>No such session.</p>");
}

static void
write_count(struct html *h, size_t n)
{
	html_raw(h, "<p class=\"note\">");
	html_text(h, fmt_count(n).s);
	if (n == 1)
		html_raw(h, " session passes the filter.</p>");
	else
		html_raw(h, " sessions pass the filter.</p>");
}

int
page_sessions(struct html *h, struct store_reader *r, struct session_index *x,
    const struct session_filter *f, const struct nw_health *health,
    const struct expected_list *expected)
{
	struct listing list = { .h = h, .f = f };
	struct session_listed listed;
	int64_t last;
	int rc;

	page_begin(h, &(struct page_frame){ .title = "Sessions", .tab = PAGE_SESSIONS });
	html_raw(h, "<h1 class=\"page\">Sessions</h1>");
	rc = store_session_last(r, &last);
	if (rc == NW_ENOTFOUND) {
		write_empty(h, health);
		page_end(h);
		return NW_OK;
	}
	if (rc < 0)
		return rc;
	if (expected != NULL && f->before == 0)
		expected_missing(h, expected, nw_wall_ns());
	if (f->before == 0 && (rc = incidents_slower_now(h, r)) < 0)
		return rc;
	write_views(h, f);
	html_raw(h, "<div class=\"list\">");
	write_filter(h, f);
	write_head(h);
	if ((list.idle.out = evbuffer_new()) == NULL)
		return NW_ENOMEM;
	rc = session_list(x, r, f, on_session, &list, &listed);
	idle_end(&list);
	evbuffer_free(list.idle.out);
	if (rc < 0)
		return rc;
	html_raw(h, "</tbody></table>");
	if (list.n > 1)
		html_raw(h, "<p><button>Compare the chosen sessions</button></p>");
	html_raw(h, "</form>");
	if (list.n > 0 && list.n_own == 0 && listed.next == 0 && health != NULL)
		write_next(h, health);
	if (list.n == 0)
		write_none(h, f);
	else if (listed.n_all > 0)
		write_count(h, listed.n_all);
	write_more(h, f, listed.next);
	html_raw(h, "</div>");
	page_end(h);
	return NW_OK;
}
