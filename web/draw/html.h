/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only place that writes HTML. Markup is string constants (html_raw takes nothing else);
 * everything else is text or an attribute value and is escaped here. So no name can become markup.
 *
 * Bytes that are not UTF-8 become U+FFFD, control characters their visible pictures, and marks that
 * reorder text (names that read backwards) U+FFFD.
 */
#ifndef NARROWS_WEB_HTML_H
#define NARROWS_WEB_HTML_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct evbuffer;

struct html {
	struct evbuffer *out;
	bool alone;          /* the page is a file that asks for nothing */
	bool csv_inside;     /* links to the CSV of figures hold the numbers themselves */
	bool foreign;        /* another box made the page: no links to hosts and routes */
	bool failed;         /* out of memory: the page is not complete */
	double from_s, to_s; /* chosen stretch of the time axis; to_s 0 for none */
	int64_t session_id;  /* of a page that links the CSV of its figures; 0 for no links */
	const char *host;    /* encoded name, of the page of a host that links the CSV; or NULL */
	/* of another page that links the CSV of its figures: the path before the figure's id, and
	 * the query, encoded; NULL */
	const char *figures, *figures_query;
	/* a page that is written for the numbers of one figure alone: the figure's id, and where
	 * its CSV goes; NULL */
	const char *figure;
	FILE *figure_csv;
	/* a page that is written for the list of its figures alone, an array of
	 * objects `figure`; or NULL */
	struct json_t *figure_list;
	bool may_change;    /* the reader may write notes */
	bool with_accounts; /* readers log in */
	/* becomes true when nobody waits for the page any more; NULL: never */
	const atomic_bool *stop;
	bool figure_found;
};

#define html_raw(h, literal) html_constant((h), "" literal, sizeof(literal) - 1)
void html_constant(struct html *h, const char *text, size_t len); /* through html_raw() only */

void html_text(struct html *h, const char *text); /* NULL: nothing */
/* ` name="value"`, with the leading blank; NULL: nothing. */
#define html_attr(h, name, value) \
	html_attribute((h), " " name "=\"", sizeof(" " name "=\"") - 1, (value))
void html_attribute(struct html *h, const char *open, size_t open_len, const char *value);

/* JSON within a script element of data: no byte of it can end the element. */
void html_json(struct html *h, const char *json);
/* Bytes within the address of a "data:" link: all but plain characters as %XX. */
void html_data(struct html *h, const char *bytes, size_t len);
void html_int(struct html *h, int64_t v);
/* A coordinate: at most two decimals. Not finite: 0. */
void html_coord(struct html *h, double v);

#endif
