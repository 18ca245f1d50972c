/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sensors of the hosts: what blipp saw of the ways to other hosts while the session ran and
 * for a quarter of an hour behind it, because a bandwidth probe waits for the end of a transfer.
 * The store has them, not the result document: they come when the analysis is over.
 */
#include "web/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

#define BEHIND_NS INT64_C(900000000000)
#define LOOK_NS   INT64_C(3600000000000)

enum { ROWS_MAX = 40 };

/* Fields of all sensors, as columns of one table. */
enum column { CONNECT, RTT, MTU, HOPS, REACHABLE, RATE, BEST, BYTES, WRITE, READ, COLUMNS };
static const char *const names[COLUMNS] = { "connect_ms", "rtt_ms", "path_mtu", "hops", "reachable",
	"bytes_per_s", "best_bytes_per_s", "bytes", "write_bytes_per_s", "read_bytes_per_s" };

struct sensors {
	struct html *h;
	struct store_reader *r;
	const char *host;
	const struct nw_layout_rec *layout;
	int64_t from_wall_ns, to_wall_ns;
	/* time of the latest row of the metadata between from_wall_ns and to_wall_ns */
	int64_t t_wall_ns;
	double v[COLUMNS];
	size_t n;
};

static int
on_rows(void *arg, const struct store_block *b)
{
	struct sensors *s = arg;
	size_t last = b->n_rows - 1, i;
	uint32_t k;

	if (b->n_rows == 0 || b->t_wall_ns[last] < s->t_wall_ns)
		return 0;
	s->t_wall_ns = b->t_wall_ns[last];
	for (i = 0; i < COLUMNS; i++) {
		s->v[i] = NAN;
		for (k = 0; k < b->n_fields && k < s->layout->n_fields; k++)
			if (strcmp(s->layout->fields[k], names[i]) == 0)
				s->v[i] = b->columns[k][last];
	}
	return 0;
}

/* Reads back from the end, an hour first and then twice as much each time, until the latest row is
 * found: the rows before are not decoded. */
static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct sensors *s = arg;
	int64_t from = s->to_wall_ns, look_ns = LOOK_NS, to;
	int rc = NW_OK;

	s->layout = l;
	while (rc == NW_OK && from > s->from_wall_ns && s->t_wall_ns < from) {
		to = from;
		from = to - s->from_wall_ns > look_ns ? to - look_ns : s->from_wall_ns;
		rc = store_rows(s->r, l->id, from, to, on_rows, s);
		if (look_ns < s->to_wall_ns / 2)
			look_ns *= 2;
	}
	return rc;
}

enum {
	AT_HOST,
	AT_PEER,
	AT_TIME,
	AT_CONNECT,
	AT_RTT,
	AT_MTU,
	AT_HOPS,
	AT_RATE,
	AT_BEST,
	AT_WRITE,
	AT_READ
};

static const struct table_column columns[] = {
	[AT_HOST] = { .title = "Host" },
	[AT_PEER] = { .title = "Towards, or directory" },
	[AT_TIME] = { .title = "At" },
	[AT_CONNECT] = { .title = "Connected in" },
	[AT_RTT] = { .title = "Round trip" },
	[AT_MTU] = { .title = "MTU" },
	[AT_HOPS] = { .title = "Hops" },
	[AT_RATE] = { .title = "Bandwidth" },
	[AT_BEST] = { .title = "Best tenth of a second" },
	[AT_WRITE] = { .title = "Written" },
	[AT_READ] = { .title = "Read back" },
};

static void
write_head(struct html *h)
{
	html_raw(h,
	    "<section id=\"sensors\"><h2>Sensors of the hosts</h2><p class=\"note\">The "
	    "latest measurement of each sensor during the session or in the quarter of an hour "
	    "after the session. Bandwidth and scratch directories are probed only after "
	    "transfers.</p>");
	table_open(h, columns, sizeof(columns) / sizeof(columns[0]));
}

static void
cell(struct html *h, int column, double v, struct fmt text)
{
	table_cell_open(h, &columns[column]);
	table_value(h, v, text);
	table_cell_close(h);
}

static void
write_row(struct sensors *s, const char *peer)
{
	struct html *h = s->h;
	const double *v = s->v;

	if (s->n++ == 0)
		write_head(h);
	html_raw(h, "<tr role=\"row\">");
	table_cell_open(h, &columns[AT_HOST]);
	page_host_link(h, s->host);
	table_cell_close(h);
	table_cell_open(h, &columns[AT_PEER]);
	page_name(h, peer);
	if (v[REACHABLE] == 0)
		html_raw(h, " <b>not reachable</b>");
	table_cell_close(h);
	table_cell_open(h, &columns[AT_TIME]);
	page_time(h, s->t_wall_ns);
	table_cell_close(h);
	cell(h, AT_CONNECT, v[CONNECT], fmt_si(v[CONNECT] / 1e3, "s"));
	cell(h, AT_RTT, v[RTT], fmt_si(v[RTT] / 1e3, "s"));
	cell(h, AT_MTU, v[MTU], fmt_ratio(v[MTU]));
	cell(h, AT_HOPS, v[HOPS], fmt_ratio(v[HOPS]));
	cell(h, AT_RATE, v[RATE], fmt_bytes_per_s(v[RATE]));
	cell(h, AT_BEST, v[BEST], fmt_bytes_per_s(v[BEST]));
	cell(h, AT_WRITE, v[WRITE], fmt_bytes_per_s(v[WRITE]));
	cell(h, AT_READ, v[READ], fmt_bytes_per_s(v[READ]));
	html_raw(h, "</tr>");
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	json_t *subject = m->subject_json != NULL ? json_loads(m->subject_json, 0, NULL) : NULL;
	const char *peer = json_string_value(json_object_get(subject, "peer"));
	const char *directory = json_string_value(json_object_get(subject, "directory"));
	struct sensors *s = arg;
	int rc = NW_OK;

	s->t_wall_ns = 0;
	if (peer != NULL || directory != NULL)
		rc = store_layouts(s->r, m->id, on_layout, s);
	if (rc == NW_OK && s->t_wall_ns != 0)
		write_row(s, peer != NULL ? peer : directory);
	json_decref(subject);
	return rc < 0 ? rc : s->h->failed ? NW_ENOMEM : s->n >= ROWS_MAX;
}

int
session_sensors(struct html *h, struct store_reader *r, const json_t *doc)
{
	static const char *const events[] = { NW_TYPE_PEER, NW_TYPE_BANDWIDTH, NW_TYPE_SCRATCH };
	const json_t *session = result_get(doc, KEY_result_session), *host;
	int64_t end = result_ns(session, KEY_session_end_ns);
	struct sensors s = {
		.h = h, .r = r, .from_wall_ns = result_ns(session, KEY_session_start_ns)
	};
	size_t i, k;
	int rc = NW_OK;

	if (s.from_wall_ns <= 0 || end < s.from_wall_ns || end > INT64_MAX - BEHIND_NS)
		return NW_OK;
	s.to_wall_ns = end + BEHIND_NS;
	json_array_foreach(result_list(session, KEY_session_hosts), i, host)
	{
		double id = result_number(host, KEY_session_host_id);

		s.host = result_text(host, KEY_session_host_name);
		for (k = 0; k < sizeof(events) / sizeof(events[0]) && rc == NW_OK && id >= 1; k++)
			rc = store_metas(r, 0, (int64_t)id, events[k], on_meta, &s);
	}
	if (s.n > 0) {
		table_close(h);
		html_raw(h, "</section>");
	}
	return rc < 0 ? rc : NW_OK;
}
