/* SPDX-License-Identifier: BSD-3-Clause */
/* Two to six sessions side by side: their rates over each other, and a table of what differs; or a
 * form to choose the sessions. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/draw/plot.h"
#include "web/page/html_table.h"

enum { POINTS_MAX = 400, OFFERED = 20, COLUMNS_MAX = COMPARE_MAX + 1 };

static const char *const way_words[COMPARE_WAYS] = { "from the start", "by share of the bytes",
	"by the clock" };

/* --- the plot --- */

struct drawn {
	double x[POINTS_MAX], y[COMPARE_MAX][POINTS_MAX];
	struct plot_line lines[COMPARE_MAX];
};

static void
plot_fill(struct drawn *d, struct plot *p, const json_t *doc)
{
	const json_t *o, *positions = result_list(doc, KEY_compare_positions);
	size_t i;

	p->n = json_array_size(positions);
	if (p->n > POINTS_MAX)
		p->n = POINTS_MAX;
	result_numbers(positions, d->x, p->n);
	p->lines = d->lines;
	json_array_foreach(result_list(doc, KEY_compare_rates), i, o)
	{
		if (i == COMPARE_MAX)
			break;
		snprintf(d->lines[i].name, sizeof(d->lines[i].name), "session %s",
		    fmt_int((int64_t)result_number(o, KEY_compare_rate_session)).s);
		result_numbers(result_list(o, KEY_compare_rate_bytes_per_s), d->y[i], p->n);
		d->lines[i].y = d->y[i];
		d->lines[i].style = (unsigned)i;
		p->n_lines++;
	}
}

static void
write_plot(struct html *h, const json_t *doc, enum compare_by by)
{
	struct drawn *d = calloc(1, sizeof(*d));
	struct plot p = { .id = "p-compare",
		.title = "Rate of the operation with the most bytes",
		.unit = PLOT_BYTES_PER_S };

	if (d == NULL) {
		h->failed = true;
		return;
	}
	plot_fill(d, &p, doc);
	if (by == COMPARE_BYTES) {
		p.x = d->x;
		p.across = PLOT_VALUE;
		p.across_words = "Per cent of the bytes";
	} else
		p.step_s = result_number(doc, KEY_compare_step);
	if (p.n_lines > 0) {
		plot_write_markers(h);
		plot_write(h, &p);
	} else
		html_raw(h, "<p>None of the sessions has rates over time.</p>");
	free(d);
}

/* --- the table --- */

static void
write_value(struct html *h, const char *text, bool differs, bool is_time)
{
	if (text == NULL) {
		html_raw(h, "<span class=\"soft\" aria-label=\"unknown\">\xe2\x80\x93</span>");
		return;
	}
	if (differs)
		html_raw(h, "<b>");
	if (is_time)
		page_stamp(h, text);
	else
		page_name(h, text);
	if (differs)
		html_raw(h, "</b>");
}

static void
write_row(struct html *h, const json_t *row, const struct table_column *columns)
{
	const bool differs = result_bool(row, KEY_compare_row_differs) == 1;
	const char *name = result_text(row, KEY_compare_row_name),
		   *host = result_text(row, KEY_compare_row_host);
	const json_t *v;
	size_t i;

	html_raw(h, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">");
	page_name(h, name);
	if (host != NULL) {
		html_raw(h, " <span class=\"soft under\">on ");
		page_name(h, host);
		html_raw(h, "</span>");
	}
	if (differs)
		html_raw(h, " <span class=\"soft under\">differs</span>");
	html_raw(h, "</th>");
	json_array_foreach(result_list(row, KEY_compare_row_values), i, v)
	{
		if (i == COMPARE_MAX)
			break;
		table_cell_open(h, &columns[i + 1]);
		write_value(
		    h, json_string_value(v), differs, name != NULL && strcmp(name, "Start") == 0);
		table_cell_close(h);
	}
	html_raw(h, "</tr>");
}

static size_t
group_count(const json_t *doc, const char *group)
{
	const json_t *row;
	size_t i, n = 0;

	json_array_foreach(result_list(doc, KEY_compare_rows), i, row)
	{
		const char *is = result_text(row, KEY_compare_row_group);

		n += is != NULL && strcmp(is, group) == 0;
	}
	return n;
}

static void
write_group(struct html *h, const json_t *doc, const char *group, const char *title)
{
	struct table_column columns[COLUMNS_MAX] = { { title, NULL, false } };
	char names[COMPARE_MAX][80];
	const json_t *row, *v;
	size_t i, n = 1;

	if (group_count(doc, group) == 0)
		return;
	json_array_foreach(result_list(doc, KEY_compare_sessions), i, v)
	{
		if (i == COMPARE_MAX)
			break;
		snprintf(
		    names[i], sizeof(names[i]), "session %s", fmt_int(json_integer_value(v)).s);
		columns[n++] = (struct table_column){ names[i], NULL, false };
	}
	html_raw(h, "<div class=\"beside\">");
	table_open(h, columns, n);
	json_array_foreach(result_list(doc, KEY_compare_rows), i, row)
	{
		const char *is = result_text(row, KEY_compare_row_group);

		if (is != NULL && strcmp(is, group) == 0)
			write_row(h, row, columns);
	}
	table_close(h);
	html_raw(h, "</div>");
}

static void
write_settings(struct html *h, const json_t *doc)
{
	const double equal = result_number(doc, KEY_compare_settings_equal);

	html_raw(h, "<section id=\"settings\"><h2>Settings that differ</h2>");
	write_group(h, doc, "setting", "Setting at the begin");
	if (group_count(doc, "setting") == 0 && !(equal > 0))
		html_raw(h,
		    "<p>No host of the sessions has reported settings: start <code>blipp</code> on "
		    "the hosts.</p>");
	else if (group_count(doc, "setting") == 0) {
		html_raw(h, "<p>All ");
		html_text(h, fmt_count((uint64_t)equal).s);
		html_raw(h, " settings are the same.</p>");
	} else {
		html_raw(h, "<p class=\"note\">");
		html_text(h, fmt_count((uint64_t)equal).s);
		html_raw(h, " settings do not differ.</p>");
	}
	html_raw(h, "</section>");
}

/* --- the page --- */

static void
write_query(struct html *h, const char *path, const json_t *doc, enum compare_by by)
{
	char href[240];
	const json_t *v;
	size_t i, len = (size_t)snprintf(href, sizeof(href), "%s?ids=", path);

	json_array_foreach(result_list(doc, KEY_compare_sessions), i, v) len +=
	    (size_t)snprintf(href + len, sizeof(href) - len, "%s%s", i > 0 ? "," : "",
		fmt_int(json_integer_value(v)).s);
	snprintf(href + len, sizeof(href) - len, "&by=%s", compare_names[by]);
	html_attr(h, "href", href);
}

static void
write_ways(struct html *h, const json_t *doc, enum compare_by by)
{
	const json_t *v;
	size_t i;

	html_raw(h, "<nav class=\"links\" aria-label=\"Alignment\">");
	for (i = 0; i < COMPARE_WAYS; i++) {
		html_raw(h, "<a");
		write_query(h, "/compare", doc, (enum compare_by)i);
		if (i == by)
			html_raw(h, " aria-current=\"page\"");
		html_raw(h, ">");
		html_text(h, way_words[i]);
		html_raw(h, "</a> ");
	}
	json_array_foreach(result_list(doc, KEY_compare_sessions), i, v)
	{
		html_raw(h, "<a href=\"/session/");
		html_int(h, json_integer_value(v));
		html_raw(h, "\">session ");
		html_int(h, json_integer_value(v));
		html_raw(h, "</a> ");
	}
	html_raw(h, "<a");
	write_query(h, "/compare.csv", doc, by);
	html_raw(h, ">CSV</a> <a");
	write_query(h, "/api/v1/compare", doc, by);
	html_raw(h, ">JSON</a></nav>");
}

static void
write_compared(struct html *h, const json_t *doc, const struct compare_query *q)
{
	char title[160];
	size_t i, len = 0;

	for (i = 0; i < q->n; i++)
		len += (size_t)snprintf(title + len, sizeof(title) - len, "%s %s",
		    i == 0              ? "Compared: sessions"
			: i + 1 == q->n ? " and"
					: ",",
		    fmt_int(q->id[i]).s);
	page_begin(h, &(struct page_frame){ .title = title, .tab = PAGE_SESSIONS });
	h->csv_inside = true;
	html_raw(h, "<h1 class=\"page\">Sessions compared</h1>");
	write_ways(h, doc, q->by);
	html_raw(h, "<section><h2>What differs</h2>");
	write_group(h, doc, "session", "Session");
	html_raw(h, "</section>");
	write_settings(h, doc);
	html_raw(h, "<section><h2>Rates</h2>");
	write_plot(h, doc, q->by);
	html_raw(h, "</section>");
	html_raw(h, "<section id=\"metrics\"><h2>Metrics</h2>");
	write_group(h, doc, "metric", "Mean over the session");
	if (group_count(doc, "metric") == 0)
		html_raw(h, "<p>Nothing was measured beside the bytes.</p>");
	html_raw(h, "</section>");
	page_end(h);
}

/* --- the form --- */

struct offer {
	struct html *h;
	const struct compare_query *q;
	bool typed;  /* the field has the sessions asked for, so the list has them unchosen */
	bool chosen; /* the list is at the chosen ones */
};

static bool
is_chosen(const struct offer *o, int64_t id)
{
	size_t i;

	for (i = 0; i < o->q->n && !o->typed; i++)
		if (o->q->id[i] == id)
			return true;
	return false;
}

static int
on_offered(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct offer *o = arg;
	struct html *h = o->h;

	if (is_chosen(o, s->id) != o->chosen)
		return 0;
	html_raw(h, "<li><label><input type=\"checkbox\" name=\"ids\"");
	html_attr(h, "value", fmt_int(s->id).s);
	if (o->chosen)
		html_raw(h, " checked");
	html_raw(h, "> ");
	html_int(h, s->id);
	html_raw(h, ": ");
	page_time(h, session_start_wall_ns(s, res));
	html_raw(h, ", ");
	page_route(h, res != NULL ? res->route : NULL);
	html_raw(h, " ");
	page_name(h, res != NULL && res->program != NULL ? res->program : s->program);
	if (res != NULL && res->bytes_per_s > 0) {
		html_raw(h, ", ");
		html_text(h, fmt_bytes_per_s(res->bytes_per_s).s);
	}
	if (res != NULL) {
		html_raw(h, ", ");
		html_text(h, result_limit_words(res->stage, res->confidence, res->sentence));
	}
	html_raw(h, "</label></li>");
	return 0;
}

/* Sessions of the route of the first one chosen, else the newest ones. */
static int
on_first(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct session_filter *f = arg;

	(void)s;
	if (res != NULL && res->route != NULL && strlen(res->route) < sizeof(f->route))
		strcpy(f->route, res->route);
	return 1;
}

static int
write_offers(struct html *h, struct store_reader *r, struct session_index *x,
    const struct compare_query *q, bool typed)
{
	struct session_filter f = { .limit = OFFERED };
	struct offer offer = { h, q, typed, true };
	struct session_listed listed;
	int rc = q->n > 0 ? store_session_get(r, q->id[0], on_first, &f) : NW_OK;
	size_t i;

	if (rc < 0 && rc != NW_ENOTFOUND)
		return rc;
	html_raw(h, "<fieldset><legend>");
	if (f.route[0] != '\0') {
		html_raw(h, "Newest sessions of ");
		page_route(h, f.route);
	} else
		html_raw(h, "Newest sessions");
	html_raw(h, "</legend><ul class=\"choose\">");
	for (i = 0, rc = NW_OK; i < q->n && !typed && rc == NW_OK; i++)
		rc = store_sessions(r, q->id[i] + 1, 1, on_offered, &offer);
	offer.chosen = false;
	if (rc == NW_OK)
		rc = session_list(x, r, &f, on_offered, &offer, &listed);
	html_raw(h, "</ul></fieldset>");
	return rc;
}

/* What was typed stays in the field if something is wrong with it. */
static void
write_form(struct html *h, const struct compare_query *q, bool typed)
{
	size_t i;

	html_raw(h,
	    "<form class=\"filter\" action=\"/compare\"><label>Numbers of sessions, with commas "
	    "<input name=\"ids\" maxlength=\"150\"");
	html_attr(h, "value", typed ? q->text : "");
	html_raw(h, "></label> <label>lined up <select name=\"by\">");
	for (i = 0; i < COMPARE_WAYS; i++) {
		html_raw(h, "<option");
		html_attr(h, "value", compare_names[i]);
		if (i == q->by)
			html_raw(h, " selected");
		html_raw(h, ">");
		html_text(h, way_words[i]);
		html_raw(h, "</option>");
	}
	html_raw(h, "</select></label> <button>Compare</button>");
}

static int
write_choose(struct html *h, struct store_reader *r, struct session_index *x,
    const struct compare_query *q, int64_t missing)
{
	const bool typed = q->why != NULL || missing != 0;
	int rc;

	page_begin(h, &(struct page_frame){ .title = "Compare sessions", .tab = PAGE_SESSIONS });
	html_raw(h, "<h1 class=\"page\">Compare sessions</h1>");
	if (typed) {
		html_raw(h, "<p class=\"running\" role=\"alert\">");
		if (q->why != NULL)
			html_text(h, q->why);
		else {
			html_raw(h, "There is no session ");
			html_int(h, missing);
			html_raw(h, ".");
		}
		html_raw(h, "</p>");
	} else if (q->n == 1)
		html_raw(h, "<p>Choose one to five others.</p>");
	else
		html_raw(h, "<p>Choose two to six.</p>");
	write_form(h, q, typed);
	rc = write_offers(h, r, x, q, typed);
	html_raw(h, "</form>");
	page_end(h);
	return rc;
}

int
page_compare(
    struct html *h, struct store_reader *r, struct session_index *x, const char *query, int *status)
{
	struct compare_query q;
	int64_t missing = 0;
	json_t *doc = NULL;
	int rc = NW_OK;

	*status = 200;
	if (compare_parse(&q, query))
		rc = compare_document(r, &q, &doc, &missing);
	if (rc < 0 && rc != NW_ENOTFOUND)
		return rc;
	if (doc != NULL)
		write_compared(h, doc, &q);
	else {
		*status = q.why != NULL ? 400 : rc == NW_ENOTFOUND ? 404 : 200;
		rc = write_choose(h, r, x, &q, rc == NW_ENOTFOUND ? missing : 0);
	}
	json_decref(doc);
	return rc < 0 && rc != NW_ENOTFOUND ? rc : NW_OK;
}
