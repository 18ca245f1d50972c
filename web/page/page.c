/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "web/draw/style.h"

enum { NAME_MAX_BYTES = 80 };

/* Only the style may act in a file opened from a disk. */
static void
write_own_style(struct html *h)
{
	html_raw(h,
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	    "'unsafe-inline'\"><style>");
	html_constant(h, style_css, strlen(style_css));
	html_raw(h,
	    "</style></head><body><header class=\"top\"><span class=\"brand\">Narrows</span>"
	    "</header><main id=\"main\">");
}

static void
write_links(struct html *h, const struct page_frame *f)
{
	enum page_tab tab = f->tab;

	html_raw(h,
	    "<link rel=\"stylesheet\" href=\"/style.css\">"
	    "<script src=\"/narrows.js\" defer></script>"
	    "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\"></head><body>"
	    "<a class=\"skip\" href=\"#main\">Skip to content</a>"
	    "<header class=\"top\"><a class=\"brand\" href=\"/\">Narrows</a><nav "
	    "aria-label=\"Pages\"><a href=\"/\"");
	if (tab == PAGE_SESSIONS)
		html_raw(h, " aria-current=\"page\"");
	html_raw(h, ">Sessions</a><a href=\"/routes\"");
	if (tab == PAGE_ROUTES)
		html_raw(h, " aria-current=\"page\"");
	html_raw(h, ">Routes</a><a href=\"/hosts\"");
	if (tab == PAGE_HOSTS)
		html_raw(h, " aria-current=\"page\"");
	html_raw(h, ">Hosts</a><a href=\"/keep\"");
	if (tab == PAGE_KEEP)
		html_raw(h, " aria-current=\"page\"");
	html_raw(h, ">Metrics</a><a href=\"/health\"");
	if (tab == PAGE_HEALTH)
		html_raw(h, " aria-current=\"page\"");
	html_raw(h, ">Health</a></nav></header><main id=\"main\"");
	if (f->refresh_s > 0)
		html_attr(h, "data-live", fmt_int(f->refresh_s).s);
	html_raw(h, ">");
}

void
page_begin(struct html *h, const struct page_frame *f)
{
	html_raw(h,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
	    "<meta name=\"color-scheme\" content=\"light dark\">");
	if (f->refresh_s > 0) { /* a script renews the page in place */
		html_raw(h, "<noscript><meta http-equiv=\"refresh\" content=\"");
		html_int(h, f->refresh_s);
		html_raw(h, "\"></noscript>");
	}
	html_raw(h, "<title>");
	html_text(h, f->title);
	html_raw(h, " \xe2\x80\x93 Narrows</title>");
	h->alone = f->alone;
	if (f->alone)
		write_own_style(h);
	else
		write_links(h, f);
}

void
page_end(struct html *h)
{
	html_raw(h, "</main><footer>Narrows " NW_VERSION);
	if (h->with_accounts && !h->alone)
		html_raw(h, " \xc2\xb7 <a href=\"/login\">Account</a>");
	html_raw(h, "</footer></body></html>\n");
}

/* The largest i <= at where a UTF-8 character begins. */
static size_t
character_start(const char *text, size_t at)
{
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

void
page_name(struct html *h, const char *name)
{
	size_t len = name != NULL ? strlen(name) : 0, head;
	char start[NAME_MAX_BYTES];

	if (len == 0)
		return;
	if (len <= NAME_MAX_BYTES) {
		html_raw(h, "<bdi>");
		html_text(h, name);
		html_raw(h, "</bdi>");
		return;
	}
	head = character_start(name, NAME_MAX_BYTES / 2);
	memcpy(start, name, head);
	start[head] = '\0';
	html_raw(h, "<bdi");
	html_attr(h, "title", name);
	html_raw(h, ">");
	html_text(h, start);
	html_raw(h, "\xe2\x80\xa6");
	html_text(h, name + character_start(name, len - NAME_MAX_BYTES / 2));
	html_raw(h, "</bdi>");
}

void
page_route(struct html *h, const char *route)
{
	static const char arrow[] = " -> ";
	const char *at = route != NULL ? strstr(route, arrow) : NULL;
	char *from;

	if (route == NULL || *route == '\0')
		html_raw(h, "unknown route");
	else if (at == NULL || (from = strndup(route, (size_t)(at - route))) == NULL)
		page_name(h, route);
	else {
		page_name(h, from);
		html_raw(h, " \xe2\x86\x92 ");
		page_name(h, at + sizeof(arrow) - 1);
		free(from);
	}
}

void
page_rate(struct html *h, double bytes_per_s)
{
	html_text(h, fmt_bytes_per_s(bytes_per_s).s);
	if (isfinite(bytes_per_s)) {
		html_raw(h, " <span class=\"soft\">(");
		html_text(h, fmt_bits_per_s(bytes_per_s).s);
		html_raw(h, ")</span>");
	}
}

struct fmt
page_local(int64_t t_wall_ns)
{
	time_t seconds = (time_t)(t_wall_ns / 1000000000);
	struct fmt out = { "unknown" };
	struct tm tm;

	if (t_wall_ns > 0 && localtime_r(&seconds, &tm) != NULL) {
		strftime(out.s, sizeof(out.s), "%Y-%m-%d\xc2\xa0%H:%M:%S\xc2\xa0%Z", &tm);
		if (strcmp(tm.tm_zone, "GMT") == 0)
			return fmt_time(t_wall_ns);
	}
	return out;
}

void
page_clock(struct html *h, int64_t t_wall_ns)
{
	char clock[16];

	snprintf(
	    clock, sizeof(clock), "%.8s", t_wall_ns > 0 ? page_local(t_wall_ns).s + 12 : "unknown");
	html_raw(h, "<time");
	html_attr(h, "datetime", fmt_iso_ns(t_wall_ns).s);
	html_attr(h, "title", page_local(t_wall_ns).s);
	html_raw(h, ">");
	html_text(h, clock);
	html_raw(h, "</time>");
}

void
page_time(struct html *h, int64_t t_wall_ns)
{
	if (t_wall_ns == 0) {
		html_raw(h, "unknown");
		return;
	}
	html_raw(h, "<time");
	html_attr(h, "datetime", fmt_iso_ns(t_wall_ns).s);
	html_raw(h, ">");
	html_text(h, page_local(t_wall_ns).s);
	html_raw(h, "</time>");
}

void
page_stamp(struct html *h, const char *iso)
{
	int64_t t_wall_ns = iso != NULL ? fmt_parse_iso(iso) : 0;

	if (t_wall_ns != 0 || iso == NULL)
		page_time(h, t_wall_ns);
	else
		html_text(h, iso);
}

const char *
page_either(const char *a, const char *b)
{
	return a != NULL ? a : b;
}

void
page_item(struct html *h, const char *name, const char *value)
{
	html_raw(h, "<div><dt>");
	html_text(h, name);
	html_raw(h, "</dt><dd>");
	html_text(h, value);
	html_raw(h, "</dd></div>");
}

void
page_error(struct html *h, int code, const char *reason, const char *advice)
{
	page_begin(h, &(struct page_frame){ .title = reason });
	html_raw(h, "<section class=\"verdict none\"><p class=\"kicker\">");
	html_int(h, code);
	html_raw(h, "</p><h1 class=\"sentence\">");
	html_text(h, reason);
	html_raw(h, "</h1><p>");
	html_text(h, advice);
	html_raw(h, "</p><p><a href=\"/\">All sessions</a></p></section>");
	page_end(h);
}

int
page_figure(const char *figure, int (*write)(struct html *h, void *arg), void *arg, char **text,
    size_t *len)
{
	struct html h = { .figure = figure };
	int rc = NW_ENOMEM;

	*text = NULL;
	h.out = evbuffer_new();
	h.figure_csv = open_memstream(text, len);
	if (h.out != NULL && h.figure_csv != NULL)
		rc = write(&h, arg);
	if (h.figure_csv != NULL && fclose(h.figure_csv) != 0 && rc == NW_OK)
		rc = NW_ENOMEM;
	if (h.out != NULL)
		evbuffer_free(h.out);
	return rc != NW_OK ? rc : h.failed ? NW_ENOMEM : h.figure_found ? NW_OK : NW_ENOTFOUND;
}
