/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of runs grow, and a session that is judged anew gets the number of its newest run. So
 * "runs after N" are all sessions that are new or judged anew since N, and N is all that a push has
 * to remember.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "fleet/fleet_outbox.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* Columns of the query behind its first, the run; -1 for the end. */
static const int order[] = { FLEET_session, FLEET_judged_ns, FLEET_start_ns, FLEET_duration_ns,
	FLEET_route, FLEET_program, FLEET_bytes, FLEET_bytes_per_s, FLEET_stage, FLEET_confidence,
	FLEET_effect, FLEET_usual, FLEET_exit_status, FLEET_took_ns, FLEET_software, FLEET_outcome,
	FLEET_label, FLEET_sentence, FLEET_document, -1 };
static const char query[] =
    "SELECT r.run_id, r.session_id, coalesce(n.started_ns, 0), coalesce(r.start_ns, s.opened_ns, "
    "0), coalesce(r.duration_ns, s.closed_ns - s.opened_ns), r.route, coalesce(r.program, "
    "s.program), r.bytes, r.bytes_per_s, r.stage, r.confidence, r.effect, r.usual, r.exit_status, "
    "n.took_ns, n.version, n.outcome, r.label, r.sentence, %s FROM result r JOIN session s ON s.id "
    "= r.session_id LEFT JOIN run n ON n.id = r.run_id WHERE r.run_id > %" PRId64
    " AND s.closed_ns IS NOT NULL ORDER BY r.run_id LIMIT %zu";

struct reading {
	const struct fleet_conf *conf;
	struct veil *veil;
	struct fleet_rows *rows;
	struct level_days *days;
	int64_t last_run;
	size_t looked;
};

static struct fleet_cell
cell_of(const struct store_cell *s, enum fleet_type type)
{
	struct fleet_cell c = { .known = s->type != CELL_NULL };
	double v = s->type == CELL_REAL ? s->d : (double)s->i;

	if (type == FLEET_TEXT) {
		c.known = s->type == CELL_TEXT;
		c.text = c.known ? xstrdup(s->bytes) : NULL;
	} else if (type == FLEET_REAL) {
		c.known = c.known && s->type != CELL_TEXT && isfinite(v);
		c.d = c.known ? v : 0;
	} else {
		c.known = s->type == CELL_INT || (s->type == CELL_REAL && fabs(v) < 9e18);
		c.i = s->type == CELL_INT ? s->i : c.known ? (int64_t)v : 0;
	}
	return c;
}

static int
on_row(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct reading *r = arg;
	struct fleet_row *row;
	size_t i;

	(void)names;
	if (cells == NULL)
		return 0;
	r->last_run = cells[0].i;
	r->looked++;
	row = fleet_rows_add(r->rows);
	fleet_text_set(row, FLEET_site, r->conf->site);
	for (i = 0; order[i] >= 0 && i + 1 < n; i++)
		row->cell[order[i]] =
		    cell_of(&cells[i + 1], fleet_tables[FLEET_SESSIONS].column[order[i]].type);
	if (r->days != NULL)
		level_days_add(r->days, row->cell[FLEET_route].text, row->cell[FLEET_program].text,
		    row->cell[FLEET_start_ns].i);
	if (!veil_row(r->veil, row))
		fleet_rows_drop(r->rows);
	return 0;
}

int
outbox_read(const char *store_path, const struct fleet_conf *c, struct veil *v, int64_t after_run,
    size_t max, struct fleet_rows *rows, struct level_days *days, int64_t *last_run, size_t *looked,
    char why[FLEET_WHY_BYTES])
{
	struct reading r = { c, v, rows, days, after_run, 0 };
	/* a document that stays is not even unpacked */
	const char *document = fleet_conf_drops(c, FLEET_document)
	    ? "NULL"
	    : "narrows_document(r.document, r.timeline)";
	char *text = xasprintf(query, document, after_run, max);
	int rc = store_sql_ask(store_path, text, on_row, &r, why);

	free(text);
	*last_run = r.last_run;
	*looked = r.looked;
	return rc;
}

static int
on_day(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	(void)n, (void)names;
	if (cells != NULL)
		level_days_add(arg, cells[0].bytes, cells[1].bytes, cells[2].i);
	return 0;
}

int
outbox_days(
    const char *store_path, int64_t after_run, struct level_days *days, char why[FLEET_WHY_BYTES])
{
	char *text = xasprintf("SELECT route, coalesce(program, '') AS p, start_ns FROM result "
			       "WHERE run_id > %" PRId64 " AND route IS NOT NULL AND start_ns IS "
			       "NOT NULL ORDER BY route, p, start_ns",
	    after_run);
	int rc = store_sql_ask(store_path, text, on_day, days, why);

	free(text);
	return rc;
}

/* --- hosts --- */

struct hosts {
	FILE *f;
	int64_t newest[2]; /* run, session */
	size_t n;
};

static int
on_host(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct hosts *h = arg;

	(void)n, (void)names;
	if (cells != NULL && cells[0].type == CELL_TEXT && cells[0].len > 0)
		fwrite(cells[0].bytes, 1, strlen(cells[0].bytes) + 1, h->f);
	else if (cells != NULL && cells[0].type == CELL_INT && h->n < 2)
		h->newest[h->n++] = cells[0].i;
	return 0;
}

int
outbox_hosts(
    const char *store_path, char **names, struct outbox_newest *newest, char why[FLEET_WHY_BYTES])
{
	size_t len;
	struct hosts h = { .f = open_memstream(names, &len) };
	int rc;

	if (h.f == NULL)
		return NW_ENOMEM;
	rc = store_sql_ask(store_path,
	    "SELECT name FROM host ORDER BY length(name) DESC; SELECT coalesce(max(run_id), 0) "
	    "FROM result; SELECT coalesce(max(id), 0) FROM session",
	    on_host, &h, why);
	fputc('\0', h.f);
	if (fclose(h.f) != 0)
		rc = NW_ENOMEM;
	*newest = (struct outbox_newest){ h.newest[0], h.newest[1] };
	if (rc < 0) {
		free(*names);
		*names = NULL;
	}
	return rc;
}
