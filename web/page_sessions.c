/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of sessions, newest first; on a fresh install, how to get a first session. */
#include "web/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "web/api.h"
#include "narrows/format.h"
#include "narrows/result.h"

struct listing {
	struct html *h;
	size_t n;
	int64_t last_id;
};

static void
write_verdict(struct html *h, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	if (res != NULL && res->stage != NULL) {
		html_raw(h, "<b class=\"stage\">");
		html_text(h, result_stage_words(res->stage));
		html_raw(h, "</b>");
	} else if (res != NULL)
		html_raw(h, "<span class=\"soft\">cannot tell</span>");
	if (s->closed_wall_ns == 0)
		html_raw(h, " <span class=\"tag\">running</span>");
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

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct listing *list = arg;
	struct html *h = list->h;
	const char *program = res != NULL && res->program != NULL ? res->program : s->program;
	double bytes = res != NULL ? res->bytes : NAN, rate = res != NULL ? res->bytes_per_s : NAN;

	list->n++;
	list->last_id = s->id;
	html_raw(h,
	    "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"when\"><a "
	    "href=\"/session/");
	html_int(h, s->id);
	html_raw(h, "\">");
	page_time(
	    h, res != NULL && res->start_wall_ns != 0 ? res->start_wall_ns : s->opened_wall_ns);
	html_raw(h, "</a></th><td role=\"cell\" class=\"route\">");
	page_route(h, res != NULL ? res->route : NULL);
	html_raw(h, "</td><td role=\"cell\" class=\"program\">");
	page_name(h, program != NULL ? program : "unknown");
	html_raw(h, "</td><td role=\"cell\" class=\"num\">");
	write_figure(h, bytes, fmt_bytes(bytes));
	html_raw(h, "</td><td role=\"cell\" class=\"num\">");
	write_figure(h, rate, fmt_bytes_per_s(rate));
	html_raw(h, "</td><td role=\"cell\" class=\"said\">");
	write_verdict(h, s, res);
	html_raw(h, "</td></tr>");
	return h->failed ? NW_ENOMEM : 0;
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
			: "on the hosts that take part in it:");
		html_raw(h, "</p>");
		write_lines(h, "", health->listen_xsp);
	}
	if (health->listen_xsp_tls[0] != '\0') {
		html_raw(h,
		    "<p>Hosts of the network use TLS and need a certificate once: <code>narrows "
		    "enroll "
		    "--token <var>host</var></code> on the box says what to type there. Then:</p>");
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
	    "<p>The session is listed here while it runs, and judged when it ends.</p></section>");
}

int
page_sessions(
    struct html *h, struct store_reader *r, int64_t before_id, const struct nw_health *health)
{
	struct listing list = { .h = h };
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
	html_raw(h,
	    "<table class=\"sessions\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">"
	    "<th role=\"columnheader\" scope=\"col\">When</th><th role=\"columnheader\" "
	    "scope=\"col\">Route</th>"
	    "<th role=\"columnheader\" scope=\"col\">Program</th><th role=\"columnheader\" "
	    "scope=\"col\" class=\"num\">Bytes</th>"
	    "<th role=\"columnheader\" scope=\"col\" class=\"num\">Mean rate</th>"
	    "<th role=\"columnheader\" scope=\"col\">Limited by</th></tr></thead><tbody "
	    "role=\"rowgroup\">");
	if ((rc = store_sessions(r, before_id, PAGE_OF_SESSIONS, on_session, &list)) < 0)
		return rc;
	html_raw(h, "</tbody></table>");
	if (list.n == 0)
		html_raw(h, "<p>No older sessions.</p>");
	html_raw(h, "<nav class=\"pages\" aria-label=\"More sessions\">");
	if (before_id != 0)
		html_raw(h, "<a href=\"/\">Newest</a>");
	if (list.n == PAGE_OF_SESSIONS && list.last_id > 1) {
		html_raw(h, "<a rel=\"next\" href=\"/?before=");
		html_int(h, list.last_id);
		html_raw(h, "\">Older</a>");
	}
	html_raw(h, "<a href=\"/sessions.json\">JSON</a></nav>");
	page_end(h);
	return NW_OK;
}
