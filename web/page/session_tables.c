/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a session: hosts and clocks, data quality, files, connections. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/tcpname.h"
#include "web/answer/clock_words.h"
#include "web/page/html_table.h"

enum { ROWS_MAX = TABLE_ROWS_MAX };

/* --- clocks --- */

static void
write_clock(struct html *h, const json_t *clock)
{
	struct clock_words w = clock_words(clock);

	html_text(h, w.bound);
	if (w.offset[0] != '\0') {
		html_raw(h, " <span class=\"soft\">");
		html_text(h, w.offset);
		html_raw(h, "</span>");
	}
}

double
session_clock_bound(const json_t *doc)
{
	const json_t *list = result_list(result_get(doc, KEY_result_session), KEY_session_hosts);
	double sum = 0;
	size_t i;

	for (i = 0; i < json_array_size(list) && i < ROWS_MAX; i++) {
		const json_t *clock = result_get(json_array_get(list, i), KEY_session_host_clock);

		sum += result_bool(clock, KEY_clock_known) == 1
		    ? fmax(result_number(clock, KEY_clock_bound_s),
			  result_number(clock, KEY_clock_bound_highest_s))
		    : NAN;
	}
	return sum;
}

void
session_hosts(struct html *h, const json_t *doc)
{
	const json_t *list = result_list(result_get(doc, KEY_result_session), KEY_session_hosts);
	double sum = session_clock_bound(doc);
	size_t i, n = json_array_size(list);

	if (n == 0) {
		html_raw(h, "<p>No host is known.</p>");
		return;
	}
	html_raw(h, "<ul class=\"plain\">");
	for (i = 0; i < n && i < ROWS_MAX; i++) {
		const json_t *host = json_array_get(list, i),
			     *clock = result_get(host, KEY_session_host_clock);

		html_raw(h, "<li><b>");
		page_host_link(h, result_text(host, KEY_session_host_name));
		html_raw(h, "</b>");
		if (result_text(host, KEY_session_host_role) != NULL) {
			html_raw(h, ", ");
			html_text(h, result_text(host, KEY_session_host_role));
		}
		html_raw(h, ": ");
		write_clock(h, clock);
		html_raw(h, "</li>");
	}
	html_raw(h, "</ul>");
	if (n > 1 && isfinite(sum)) {
		html_raw(h, "<p class=\"note\">Events on different hosts with a distance below ");
		html_text(h, fmt_duration(sum).s);
		html_raw(h, " have no known order.</p>");
	} else if (n > 1)
		html_raw(h,
		    "<p class=\"note\">The order of events on different hosts is not certain. The "
		    "verdict does not depend on the order: rates are measured on each host by its "
		    "own clock.</p>");
}

/* --- data quality --- */

static void
item_number(struct html *h, const char *name, const json_t *object, enum result_key key)
{
	double v = result_number(object, key);

	page_item(h, name, isfinite(v) && fabs(v) < 9e15 ? fmt_int(llround(v)).s : "not reported");
}

void
session_quality(struct html *h, const json_t *doc)
{
	const json_t *q = result_get(doc, KEY_result_quality),
		     *notes = result_list(q, KEY_quality_notes);
	double expected = result_number(q, KEY_quality_intervals_expected),
	       got = result_number(q, KEY_quality_intervals_got);
	double seen = result_number(q, KEY_quality_bytes_seen_share);
	char text[160];
	size_t i;

	if (q == NULL) {
		html_raw(h, "<p>Nothing is known about it.</p>");
		return;
	}
	html_raw(h, "<dl class=\"items\">");
	if (isfinite(expected) && isfinite(got) && expected > 0 && got >= 0 && fabs(got) < 9e15 &&
	    expected < 9e15)
		snprintf(text, sizeof(text), "%lld of %lld (%s)", llround(got), llround(expected),
		    fmt_share(got / expected).s);
	else
		snprintf(text, sizeof(text), "not reported");
	page_item(h, "Intervals received", text);
	if (isfinite(result_number(q, KEY_quality_documents)))
		item_number(h, "Documents received", q, KEY_quality_documents);
	item_number(h, "Documents rejected by the box", q, KEY_quality_documents_rejected);
	item_number(h, "Documents the hosts could not keep", q, KEY_quality_documents_dropped);
	page_item(
	    h, "Bytes of the transfer seen", isfinite(seen) ? fmt_share(seen).s : "not reported");
	html_raw(h, "</dl>");
	if (json_array_size(notes) > 0) {
		html_raw(h, "<ul>");
		for (i = 0; i < json_array_size(notes) && i < ROWS_MAX; i++) {
			html_raw(h, "<li>");
			html_text(h, json_string_value(json_array_get(notes, i)));
			html_raw(h, "</li>");
		}
		html_raw(h, "</ul>");
	}
}

/* --- tables --- */

TABLE_TEXT(column_host, KEY_file_host)
TABLE_TEXT(column_path, KEY_file_path)
TABLE_NUMBER(column_size, KEY_file_size_bytes, fmt_bytes)
TABLE_NUMBER(column_read, KEY_file_read_bytes, fmt_bytes)
TABLE_NUMBER(column_written, KEY_file_write_bytes, fmt_bytes)
TABLE_NUMBER(column_out, KEY_connection_bytes_out, fmt_bytes)
TABLE_NUMBER(column_in, KEY_connection_bytes_in, fmt_bytes)
TABLE_NUMBER(column_rtt, KEY_connection_rtt_s, fmt_duration)
TABLE_NUMBER(column_rtt_min, KEY_connection_rtt_min_s, fmt_duration)
TABLE_NUMBER(column_retrans, KEY_connection_retrans, fmt_ratio)
TABLE_NUMBER(column_cwnd, KEY_connection_cwnd_bytes, fmt_bytes)
TABLE_NUMBER(column_busy, KEY_connection_busy_s, fmt_duration)
TABLE_NUMBER(column_rwnd, KEY_connection_rwnd_limited_s, fmt_duration)
TABLE_NUMBER(column_sndbuf, KEY_connection_sndbuf_limited_s, fmt_duration)

static void
write_end(struct html *h, const json_t *row, enum result_key address, enum result_key port)
{
	const char *text = result_text(row, address);
	double number = result_number(row, port);

	table_text(h, text);
	if (text != NULL && number >= 0 && number <= 65535) {
		html_raw(h, "<span class=\"soft\"> port ");
		html_int(h, (int64_t)number);
		html_raw(h, "</span>");
	}
}

static void
column_connection(struct html *h, const json_t *row)
{
	write_end(h, row, KEY_connection_src, KEY_connection_sport);
	html_raw(h, " \xe2\x86\x92 ");
	write_end(h, row, KEY_connection_dst, KEY_connection_dport);
	if (result_text(row, KEY_connection_host) != NULL) {
		html_raw(h, "<span class=\"soft under\">seen by ");
		page_name(h, result_text(row, KEY_connection_host));
		html_raw(h, "</span>");
	}
}

void
session_files(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "File", column_path, false },
		{ "On", column_host, false },
		{ "Size", column_size, true },
		{ "Read", column_read, true },
		{ "Written", column_written, true },
	};
	const json_t *list = result_list(result_get(doc, KEY_result_session), KEY_session_files);

	if (json_array_size(list) == 0)
		html_raw(h, "<p>No file was seen.</p>");
	else
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
}

/* The names that RFC 4898 has for the columns. */
static void
rfc4898_note(struct html *h)
{
	static const struct {
		const char *column, *field;
	} named[] = {
		{ "Sent", "bytes_out" },
		{ "Received", "bytes_in" },
		{ "Round trip", "rtt_s" },
		{ "Shortest", "rtt_min_s" },
		{ "Sent again", "retrans" },
		{ "Congestion window", "cwnd_bytes" },
		{ "Held by receiver", "rwnd_limited_s" },
		{ "Held by send buffer", "sndbuf_limited_s" },
	};
	size_t i;

	html_raw(h, "<p class=\"note\">Names in RFC 4898: ");
	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		html_text(h, i > 0 ? ", " : "");
		html_text(h, named[i].column);
		html_text(h, " ");
		html_text(h, nw_tcp_rfc4898(named[i].field));
	}
	html_raw(h, ".</p>");
}

void
session_connections(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Connection", column_connection, false },
		{ "Sent", column_out, true },
		{ "Received", column_in, true },
		{ "Round trip", column_rtt, true },
		{ "Shortest", column_rtt_min, true },
		{ "Sent again", column_retrans, true },
		{ "Congestion window", column_cwnd, true },
		{ "Busy sending", column_busy, true },
		{ "Held by receiver", column_rwnd, true },
		{ "Held by send buffer", column_sndbuf, true },
	};
	const json_t *list =
	    result_list(result_get(doc, KEY_result_session), KEY_session_connections);

	if (json_array_size(list) == 0)
		html_raw(h, "<p>No connection was seen.</p>");
	else {
		table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
		rfc4898_note(h);
	}
}

/* --- who sent what --- */

TABLE_NUMBER(column_documents, KEY_sender_documents, fmt_ratio)
TABLE_NUMBER(column_sent, KEY_sender_bytes, fmt_bytes)

static void
column_sender(struct html *h, const json_t *row)
{
	const char *owner = result_text(row, KEY_sender_owner);

	table_text(h, owner != NULL ? owner : "a file that was imported");
}

static void
column_addresses(struct html *h, const json_t *row)
{
	const json_t *list = result_list(row, KEY_sender_addresses);
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (i > 0)
			html_raw(h, ", ");
		html_text(h, json_string_value(json_array_get(list, i)));
	}
}

static void
column_used(struct html *h, const json_t *row)
{
	const char *why = result_text(row, KEY_sender_why);

	html_text(h, why == NULL ? "used" : "set aside: ");
	if (why != NULL)
		html_text(h, why);
}

void
session_senders(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Sender", column_sender, false },
		{ "Speaks from", column_addresses, false },
		{ "Documents", column_documents, true },
		{ "Bytes", column_sent, true },
		{ "The verdict", column_used, false },
	};
	const json_t *all = result_get(doc, KEY_result_with_all);

	table_write(
	    h, result_list(doc, KEY_result_senders), columns, sizeof(columns) / sizeof(columns[0]));
	if (result_text(all, KEY_with_all_sentence) == NULL)
		return;
	html_raw(h, "<p>With the data of all senders the verdict would be: ");
	html_text(h, result_text(all, KEY_with_all_sentence));
	html_raw(h, "</p>");
}
