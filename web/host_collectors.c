/* SPDX-License-Identifier: BSD-3-Clause */
/* The latest connections of a host's collectors, with losses. */
#include "web/page.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/table.h"

enum { SHOWN_MAX = 20, LOOKED_AT = 500 };

struct collectors {
	struct html *rows;
	size_t n, n_open, n_host;
	uint64_t samples, dropped, rejected;
};

static void
cell_count(struct html *h, const char *title, uint64_t v)
{
	html_raw(h, "<td role=\"cell\" class=\"num\"");
	html_attr(h, "data-label", title);
	html_raw(h, "><span>");
	html_text(h, fmt_count(v).s);
	html_raw(h, "</span></td>");
}

static void
write_end(struct html *h, const struct nw_xsp_rec *x)
{
	html_raw(h, "<td role=\"cell\" data-label=\"Ended\"><span>");
	if (x->closed_wall_ns == 0)
		html_raw(h, "<b>open</b>");
	else {
		page_time(h, x->closed_wall_ns);
		if (x->end_reason != NULL) {
			html_raw(h, "<span class=\"under\">");
			page_name(h, x->end_reason);
			html_raw(h, "</span>");
		}
	}
	html_raw(h, "</span></td>");
}

static void
write_row(struct html *h, const struct nw_xsp_rec *x)
{
	html_raw(h, "<tr role=\"row\"><td role=\"cell\" data-label=\"Since\"><span>");
	page_time(h, x->opened_wall_ns);
	html_raw(h, "</span></td>");
	write_end(h, x);
	html_raw(h, "<td role=\"cell\" data-label=\"Collector\"><span>");
	table_text(h, x->software);
	if (x->session_id != 0) {
		html_raw(h, "<span class=\"under\"><a href=\"/session/");
		html_int(h, x->session_id);
		html_raw(h, "\">session ");
		html_int(h, x->session_id);
		html_raw(h, "</a></span>");
	}
	html_raw(h, "</span></td>");
	cell_count(h, "Samples", x->samples);
	cell_count(h, "Lost before sending", x->dropped);
	cell_count(h, "Rejected", x->rejected);
	html_raw(h, "</tr>");
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	struct collectors *c = arg;

	c->n_open += x->closed_wall_ns == 0;
	c->n_host += x->session_id == 0;
	c->samples += x->samples;
	c->dropped += x->dropped;
	c->rejected += x->rejected;
	if (c->rows != NULL && c->n < SHOWN_MAX)
		write_row(c->rows, x);
	c->n++;
	return c->rows != NULL && c->n == SHOWN_MAX;
}

static void
write_sentence(struct html *h, const struct collectors *c)
{
	html_raw(h, "<p>");
	html_text(h, c->n == LOOKED_AT ? "Latest connections" : "Connections");
	html_raw(h, " of its collectors: ");
	html_int(h, (int64_t)c->n);
	html_raw(h, ", of these ");
	html_int(h, (int64_t)c->n_open);
	html_raw(h, " open now and ");
	html_int(h, (int64_t)c->n_host);
	html_raw(h, " for the host alone. Samples: ");
	html_text(h, fmt_count(c->samples).s);
	html_raw(h, ". Documents lost before sending: ");
	html_text(h, fmt_count(c->dropped).s);
	html_raw(h, "; rejected by the box: ");
	html_text(h, fmt_count(c->rejected).s);
	html_raw(h, ".</p>");
}

int
host_collectors(struct html *h, struct store_reader *r, const struct nw_host_rec *host)
{
	struct collectors all = { .rows = NULL }, shown = { .rows = h };
	int rc = store_xsp_of_host(r, host->id, LOOKED_AT, on_xsp, &all);

	html_raw(h, "<section><h2>Collectors</h2>");
	if (all.n == 0) {
		html_raw(h, "<p>No connection is known.</p></section>");
		return rc;
	}
	write_sentence(h, &all);
	html_raw(h,
	    "<table class=\"rows\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th "
	    "role=\"columnheader\" scope=\"col\">Since</th><th role=\"columnheader\" "
	    "scope=\"col\">Ended</th><th role=\"columnheader\" scope=\"col\">Collector</th><th "
	    "role=\"columnheader\" scope=\"col\" class=\"num\">Samples</th><th "
	    "role=\"columnheader\" scope=\"col\" class=\"num\">Lost before sending</th><th "
	    "role=\"columnheader\" scope=\"col\" class=\"num\">Rejected</th></tr></thead><tbody "
	    "role=\"rowgroup\">");
	if (rc == NW_OK)
		rc = store_xsp_of_host(r, host->id, SHOWN_MAX, on_xsp, &shown);
	html_raw(h, "</tbody></table></section>");
	return rc;
}
