/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the box for its operator: problems first, then counters. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "web/answer/collectors.h"
#include "web/answer/health.h"
#include "web/query/counter.h"

static void
write_verdict(struct html *h, const struct nw_health *health)
{
	if (health->ok)
		html_raw(h,
		    "<section class=\"verdict well\"><p class=\"kicker\">Health</p>"
		    "<h1 class=\"sentence\">The box is well.</h1></section>");
	else {
		html_raw(h,
		    "<section class=\"verdict\"><p class=\"kicker\">Health: there is a problem</p>"
		    "<h1 class=\"sentence\">");
		html_text(h,
		    health->problem[0] != '\0'
			? health->problem
			: "The box is not well and reports no reason: read its log.");
		html_raw(h, "</h1></section>");
	}
}

static void
item_count(struct html *h, const char *name, uint64_t v)
{
	page_item(h, name, fmt_count(v).s);
}

/* Counters; any but 0 stands out. */
static void
item_fault(struct html *h, const char *name, uint64_t v)
{
	html_raw(h, "<div");
	if (v > 0)
		html_raw(h, " class=\"fault\"");
	html_raw(h, "><dt>");
	html_text(h, name);
	html_raw(h, "</dt><dd>");
	html_text(h, fmt_count(v).s);
	if (v > 0)
		html_raw(h, " <span aria-hidden=\"true\">!</span>");
	html_raw(h, "</dd></div>");
}

static void
write_store(struct html *h, const struct nw_health *health)
{
	const struct store_stats *s = &health->store;

	html_raw(h, "<section><h2>Store</h2><dl class=\"items\">");
	page_item(h, "Trouble", s->trouble[0] != '\0' ? s->trouble : "none");
	page_item(h, "Last commit",
	    s->last_commit_wall_ns != 0 ? page_local(s->last_commit_wall_ns).s : "none yet");
	page_item(h, "It took",
	    s->last_commit_wall_ns != 0 ? fmt_duration((double)s->last_commit_took_ns / 1e9).s
					: "\xe2\x80\x93");
	item_count(h, "Commits", s->commits);
	item_count(h, "Samples stored", s->samples);
	page_item(h, "File", fmt_bytes((double)s->file_bytes).s);
	page_item(h, "It may have",
	    s->max_bytes > 0 ? fmt_bytes((double)s->max_bytes).s : "what there is");
	page_item(h, "It is full in",
	    isnan(s->days_left)    ? "not known"
		: s->days_left > 0 ? fmt_duration(s->days_left * 86400).s
				   : "full: the oldest data are deleted");
	page_item(h, "Rows in it", fmt_bytes((double)s->tier_bytes[STORE_ROWS]).s);
	page_item(h, "Roll-ups in it",
	    fmt_bytes((double)(s->tier_bytes[STORE_10S] + s->tier_bytes[STORE_1MIN] +
			  s->tier_bytes[STORE_1H]))
		.s);
	item_count(h, "Rows rolled up", s->rolled_rows[STORE_ROWS]);
	item_count(h, "Buckets deleted for their age", s->expired_rows[STORE_1H]);
	item_count(h, "Old sessions forgotten", s->forgotten_sessions);
	item_count(h, "Rows too late for roll-ups", s->late_rows);
	page_item(h, "Free on its disk",
	    health->disk_free_bytes >= 0 ? fmt_bytes((double)health->disk_free_bytes).s
					 : "unknown");
	item_count(h, "Batches waiting", s->queued_batches);
	page_item(h, "Bytes waiting", fmt_bytes((double)s->queued_bytes).s);
	item_fault(h, "Batches that failed", s->failed_batches);
	item_fault(h, "Chunks that were unreadable", s->lost_chunks);
	html_raw(h, "</dl></section>");
}

static void
write_counters(struct html *h, const struct nw_health *health, enum nw_counter_section section)
{
	const struct counter_row *row;
	uint64_t v;

	for (row = counter_rows; row < counter_rows + counter_rows_count; row++) {
		if (row->section != section)
			continue;
		v = counter_value(row, &health->counts);
		if (counter_unit(row)[0] != '\0')
			page_item(h, row->words, fmt_bytes((double)v).s);
		else if (row->kind == NW_COUNTER_FAULT)
			item_fault(h, row->words, v);
		else
			item_count(h, row->words, v);
	}
}

static void
write_ingest(struct html *h, const struct nw_health *health)
{
	html_raw(h, "<section><h2>Measurements</h2><dl class=\"items\">");
	write_counters(h, health, NW_COUNTER_INGEST);
	html_raw(h, "</dl></section>");
}

static void
write_analysis(struct html *h, const struct nw_health *health)
{
	html_raw(h, "<section><h2>Analysis</h2><dl class=\"items\">");
	write_counters(h, health, NW_COUNTER_ANALYSIS);
	page_item(h, "Last run",
	    health->last_analysis_wall_ns != 0 ? page_local(health->last_analysis_wall_ns).s
					       : "none yet");
	page_item(h, "It took",
	    health->last_analysis_wall_ns != 0
		? fmt_duration((double)health->last_analysis_took_ns / 1e9).s
		: "\xe2\x80\x93");
	html_raw(h, "</dl></section>");
}

static void
write_report(struct html *h, const struct nw_health *health)
{
	html_raw(h, "<section><h2>These pages</h2><dl class=\"items\">");
	write_counters(h, health, NW_COUNTER_REPORT);
	html_raw(h, "</dl></section>");
}

static void
write_box(struct html *h, const struct nw_health *health)
{
	html_raw(h, "<section><h2>Box</h2><dl class=\"items\">");
	page_item(h, "Version", health->version);
	page_item(h, "Running since", page_local(health->started_wall_ns).s);
	page_item(h, "Now", page_local(health->now_wall_ns).s);
	page_item(h, "Takes measurements at", health->listen_xsp);
	if (health->listen_xsp_tls[0] != '\0')
		page_item(h, "Takes them encrypted at", health->listen_xsp_tls);
	page_item(h, "Shows them at", health->listen_http);
	if (health->listen_https[0] != '\0')
		page_item(h, "Shows them encrypted at", health->listen_https);
	if (!health->clock_known)
		page_item(h, "Clock", "not known: no time service answers");
	else {
		page_item(
		    h, "Clock", health->clock_synchronised ? "synchronised" : "not synchronised");
		page_item(h, "Clock offset", fmt_duration(health->clock_offset_s).s);
		page_item(h, "Clock is right within", fmt_duration(health->clock_bound_s).s);
	}
	html_raw(h, "</dl></section>");
}

/* --- collectors --- */

struct reporters {
	struct html *rows;
	struct store_reader *r;
	int64_t started_wall_ns, now_wall_ns;
	size_t n, n_silent, n_awaited;
};

static int
on_reporter_host(void *arg, const struct nw_host_rec *host)
{
	page_host_link(arg, host->name);
	return 0;
}

static int
on_reporter(void *arg, const struct collector *c)
{
	struct reporters *p = arg;
	enum collector_state state =
	    collector_state(c->t_wall_ns, p->started_wall_ns, p->now_wall_ns);

	p->n += state != COLLECTOR_GONE;
	p->n_awaited += state == COLLECTOR_AWAITED;
	if (state != COLLECTOR_SILENT)
		return 0;
	p->n_silent++;
	html_raw(p->rows, "<li><b>");
	page_name(p->rows, c->name);
	html_raw(p->rows, "</b> of ");
	(void)store_host_get(p->r, c->host_id, on_reporter_host, p->rows);
	html_raw(p->rows, " is silent since ");
	page_time(p->rows, c->t_wall_ns);
	html_raw(p->rows, ".</li>");
	return p->rows->failed ? NW_ENOMEM : 0;
}

static void
write_reporter_counts(struct html *h, const struct reporters *p)
{
	if (p->n == 0)
		html_raw(h, "No collector of a host has reported within a month.");
	else if (p->n_silent + p->n_awaited == 0) {
		html_raw(h, "Every collector that reported within a month reports now: ");
		html_int(h, (int64_t)p->n);
		html_raw(h, ".");
	} else {
		html_text(h, fmt_count(p->n - p->n_silent - p->n_awaited).s);
		html_raw(h, " of ");
		html_text(h, fmt_count(p->n).s);
		html_raw(h, " collectors report now.");
	}
	if (p->n_awaited > 0)
		html_raw(h, " The box has just started, and waits for the rest.");
}

/* Counts the collectors that should report, and names the silent collectors. If the store cannot be
 * read, the page shows its other parts. */
static void
write_reporters(
    struct html *h, struct store_reader *r, int64_t started_wall_ns, int64_t now_wall_ns)
{
	struct reporters p = {
		.rows = h, .r = r, .started_wall_ns = started_wall_ns, .now_wall_ns = now_wall_ns
	};
	int rc;

	html_raw(h, "<section id=\"reporters\"><h2>Collectors</h2><ul class=\"reasons\">");
	rc = collectors_each(r, 0, on_reporter, &p);
	html_raw(h, "</ul><p>");
	if (rc < 0)
		html_raw(h, "The store cannot be read: read the reason in the box's log.");
	else
		write_reporter_counts(h, &p);
	html_raw(h,
	    "</p><p class=\"note\">A collector (blipp, magnet) is silent after five minutes "
	    "without a report. <a href=\"/hosts\">All hosts</a></p></section>");
}

static void
write_backup(struct html *h, const struct nw_health *health)
{
	html_raw(h, "<section><h2>Backup</h2><dl class=\"items\">");
	if (health->backup_wall_ns == 0)
		page_item(h, "Last backup", "none is known (narrows backup)");
	else {
		page_item(h, "Last backup", page_local(health->backup_wall_ns).s);
		page_item(h, "Its age",
		    fmt_duration((double)(health->now_wall_ns - health->backup_wall_ns) / 1e9).s);
		page_item(h, "Its size", fmt_bytes((double)health->backup_bytes).s);
		page_item(h, "File", health->backup_path);
	}
	html_raw(h, "</dl></section>");
}

static const char *
days_left(const struct store_stats *s, struct fmt *out)
{
	if (isnan(s->days_left))
		return "not known yet";
	*out = fmt_duration(s->days_left * 86400);
	return s->days_left > 0 ? out->s : "now: the oldest data go";
}

static void
item_then(struct html *h, const char *name, int64_t t_wall_ns, struct fmt detail)
{
	char text[160];

	snprintf(text, sizeof(text), "%s (%s)", page_local(t_wall_ns).s, detail.s);
	page_item(h, name, t_wall_ns != 0 ? text : "none yet");
}

/* The parts of the box, one line each, and what an operator asks first. */
static void
write_parts(struct html *h, const struct nw_health *health)
{
	struct health_part list[HEALTH_PARTS];
	char queue[160];
	struct fmt left;
	size_t i;

	health_parts(health, list);
	html_raw(h, "<section><h2>At a glance</h2><dl class=\"items\">");
	for (i = 0; i < HEALTH_PARTS; i++)
		page_item(h, list[i].name, list[i].why[0] == '\0' ? "ok" : list[i].why);
	snprintf(queue, sizeof(queue), "%s batches, %s sessions",
	    fmt_count(health->store.queued_batches).s, fmt_count(health->counts.analysis_queued).s);
	page_item(h, "Waiting", queue);
	page_item(h, "The store is full in", days_left(&health->store, &left));
	item_then(h, "Last analysis (took)", health->last_analysis_wall_ns,
	    fmt_duration((double)health->last_analysis_took_ns / 1e9));
	item_then(h, "Last backup (size)", health->backup_wall_ns,
	    fmt_bytes((double)health->backup_bytes));
	html_raw(h, "</dl></section>");
}

static void
write_columns(struct html *h, const struct nw_health *health)
{
	html_raw(h, "<div class=\"columns\">");
	write_ingest(h, health);
	write_store(h, health);
	write_analysis(h, health);
	write_backup(h, health);
	write_report(h, health);
	write_box(h, health);
	html_raw(h,
	    "</div><p class=\"note\">The same as JSON: <a "
	    "href=\"/healthz\">/healthz</a></p>");
}

void
page_health(struct html *h, struct store_reader *r, const struct nw_health *health,
    const struct expected_list *expected, void (*more)(struct html *h, void *arg), void *arg)
{
	int64_t now_wall_ns = nw_wall_ns();

	page_begin(h, &(struct page_frame){ .title = "Health", .tab = PAGE_HEALTH });
	if (health == NULL)
		html_raw(h,
		    "<section class=\"verdict none\"><h1 class=\"sentence\">This server shows a "
		    "store without its box."
		    "</h1><p>Start narrowsd for the health of a box.</p></section>");
	else {
		write_verdict(h, health);
		write_parts(h, health);
	}
	write_reporters(h, r, health != NULL ? health->started_wall_ns : 0, now_wall_ns);
	if (expected != NULL)
		expected_table(h, expected, now_wall_ns);
	if (more != NULL)
		more(h, arg);
	if (health != NULL)
		write_columns(h, health);
	page_end(h);
}
