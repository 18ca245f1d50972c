/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections count as seen by kernels of hosts. Announcements of programs do not count, nor
 * documents of partners. Texts of peers stand in no statement, except addresses in the form of
 * ends_read().
 */
#include "cli/partner/partner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/export.h"
#include "narrows/sql.h"
#include "narrows/xmalloc.h"

enum { RUNS_AT_ONCE = 200 };
static const int64_t NEAR_NS = INT64_C(60) * 1000000000, CLOCK_LEAD_NS = INT64_C(600) * 1000000000;

static const char kernel_types[] = "'" NW_TYPE_CONNECTION "', '" NW_TYPE_TCP "'";

struct ends {
	struct partner_end *list;
	size_t n;
};

static int
on_end(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct ends *e = arg;
	size_t one;
	json_t *list;

	(void)n, (void)names;
	if (cells == NULL || e->n == PARTNER_ENDS_MAX || cells[0].type != CELL_TEXT ||
	    cells[2].type != CELL_TEXT)
		return 0;
	list = json_pack("[[s, I, s, I]]", cells[0].bytes, (json_int_t)cells[1].i, cells[2].bytes,
	    (json_int_t)cells[3].i);
	if (ends_read(list, &e->list[e->n], &one) == NW_OK &&
	    !end_in(e->list, e->n, &e->list[e->n]))
		e->n++;
	json_decref(list);
	return 0;
}

int
find_ends(const char *store_path, int64_t session, struct partner_end *ends, size_t *n,
    char why[PARTNER_WHY_BYTES])
{
	struct ends e = { .list = ends };
	char *text = xasprintf("SELECT DISTINCT json_extract(m.subject, '$.src'), "
			       "json_extract(m.subject, '$.sport'), "
			       "json_extract(m.subject, '$.dst'), "
			       "json_extract(m.subject, '$.dport') FROM metadata m JOIN host h ON "
			       "h.id = m.host_id WHERE m.session_id = %" PRId64
			       " AND m.event_type IN (%s) AND instr(h.name, '@') = 0",
	    session, kernel_types);
	int rc = store_sql_ask(store_path, text, on_end, &e, why);

	free(text);
	*n = e.n;
	return rc;
}

static int
on_found(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct found *f = arg;

	(void)n, (void)names;
	if (cells == NULL || f->state != FIND_UNKNOWN)
		return 0;
	f->session = cells[0].i;
	f->from_wall_ns = cells[1].i;
	f->to_wall_ns = cells[2].i;
	f->state = cells[3].i != 0 ? FIND_DONE : FIND_RUNNING;
	return 0;
}

int
find_session(const char *store_path, const struct partner_end *ends, size_t n, int64_t from,
    int64_t to, struct found *out, char why[PARTNER_WHY_BYTES])
{
	char *text = NULL;
	size_t len, i;
	FILE *f = open_memstream(&text, &len);
	int rc;

	*out = (struct found){ .state = FIND_UNKNOWN };
	if (f == NULL)
		return NW_ENOMEM;
	fprintf(f,
	    "SELECT s.id, min(s.opened_ns, coalesce(r.start_ns, s.opened_ns)), "
	    "coalesce(s.closed_ns, s.last_data_ns, s.opened_ns), s.closed_ns IS NOT NULL AND "
	    "r.session_id IS NOT NULL FROM session s LEFT JOIN result r ON r.session_id = s.id "
	    "JOIN metadata m ON m.session_id = s.id JOIN host h ON h.id = m.host_id WHERE "
	    "s.opened_ns <= %" PRId64 " AND coalesce(s.closed_ns, %" PRId64 ") >= %" PRId64
	    " AND m.event_type IN (%s) AND instr(h.name, '@') = 0 AND (0",
	    to + NEAR_NS, INT64_MAX, from - NEAR_NS, kernel_types);
	for (i = 0; i < n; i++)
		fprintf(f,
		    " OR (json_extract(m.subject, '$.src') IN ('%s', '::ffff:%s') AND "
		    "json_extract(m.subject, '$.dst') IN ('%s', '::ffff:%s') AND "
		    "json_extract(m.subject, '$.sport') = %u AND "
		    "json_extract(m.subject, '$.dport') = %u)",
		    ends[i].src, ends[i].src, ends[i].dst, ends[i].dst, ends[i].sport,
		    ends[i].dport);
	fputs(") ORDER BY s.id DESC LIMIT 1", f);
	rc = fclose(f) == 0 ? store_sql_ask(store_path, text, on_found, out, why) : NW_ENOMEM;
	free(text);
	return rc;
}

struct judged {
	find_fn *fn;
	void *arg;
};

static int
on_judged(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct judged *j = arg;

	(void)n, (void)names;
	if (cells != NULL)
		j->fn(j->arg, cells[0].i,
		    &(struct found){ FIND_DONE, cells[1].i, cells[2].i, cells[3].i });
	return 0;
}

int
find_judged(
    const char *store_path, int64_t after_run, find_fn *fn, void *arg, char why[PARTNER_WHY_BYTES])
{
	struct judged j = { fn, arg };
	char *text = xasprintf("SELECT r.run_id, s.id, min(s.opened_ns, coalesce(r.start_ns, "
			       "s.opened_ns)), s.closed_ns FROM result r JOIN session s ON s.id = "
			       "r.session_id WHERE r.run_id > %" PRId64
			       " AND s.closed_ns IS NOT NULL ORDER BY r.run_id LIMIT %d",
	    after_run, RUNS_AT_ONCE);
	int rc = store_sql_ask(store_path, text, on_judged, &j, why);

	free(text);
	return rc;
}

/* --- documents --- */

struct sink {
	FILE *f;
	size_t n;
};

static int
on_piece(void *arg, const char *text, size_t len)
{
	struct sink *s = arg;

	if (len > PARTNER_WINDOWS_BYTES - s->n)
		return NW_ETOOBIG;
	s->n += len;
	return fwrite(text, 1, len, s->f) == len ? 0 : NW_ENOMEM;
}

char *
find_documents(
    const char *store_path, const struct found *f, size_t *len, char why[PARTNER_WHY_BYTES])
{
	char reason[STORE_WHY_BYTES] = "", *all = NULL, *own = NULL;
	struct store_reader *r = NULL;
	struct export_opts opts;
	const char *fault = NULL;
	struct sink s = { 0 };
	size_t all_len;
	int rc = export_opts_parse(&opts, ".bson", NULL, &fault);

	opts.clock_lead_ns = CLOCK_LEAD_NS;
	if ((s.f = open_memstream(&all, &all_len)) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK && (rc = store_reader_open(store_path, &r, reason)) == NW_OK)
		rc = export_session(r, f->session, &opts, on_piece, &s);
	store_reader_close(r);
	if (s.f != NULL && fclose(s.f) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		own = clean_own(all, all_len, len);
	free(all);
	if (own == NULL)
		snprintf(why, PARTNER_WHY_BYTES, "session %" PRId64 ": %.200s", f->session,
		    reason[0] != '\0' ? reason
			: rc < 0      ? nw_strerror(rc)
				      : "no documents");
	return own;
}
