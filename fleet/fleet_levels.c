/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Roll-ups of routes: a row for each route, program and hour, and for each day, with sessions. The
 * box's store is counted anew for the days with sessions of a push, so a repeated push changes
 * nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "fleet/fleet_outbox.h"
#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum { HOURS = 24 };
static const int64_t HOUR_NS = INT64_C(3600) * 1000000000, DAY_NS = INT64_C(86400) * 1000000000;

static int
touch_compare(const void *a, const void *b)
{
	const struct level_day *x = a, *y = b;
	int c = strcmp(x->route, y->route);

	c = c != 0 ? c : strcmp(x->program, y->program);
	return c != 0 ? c : (x->day > y->day) - (x->day < y->day);
}

void
level_days_add(struct level_days *d, const char *route, const char *program, int64_t start_ns)
{
	const struct level_day *last = d->n > 0 ? &d->day[d->n - 1] : NULL;
	struct level_day new = { (char *)(uintptr_t)route,
		(char *)(uintptr_t)(program != NULL ? program : ""),
		start_ns / DAY_NS - (start_ns % DAY_NS < 0) };

	if (route == NULL || (last != NULL && touch_compare(last, &new) == 0))
		return;
	if (!array_room(&d->day, &d->cap, d->n + 1, sizeof(*d->day)))
		abort();
	new.route = xstrdup(new.route);
	new.program = xstrdup(new.program);
	d->day[d->n++] = new;
}

void
level_days_clear(struct level_days *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		free(d->day[i].route);
		free(d->day[i].program);
	}
	free(d->day);
	*d = (struct level_days){ 0 };
}

/* --- counting --- */

struct rates {
	double *v;
	size_t n, cap;
	double bytes;
	int64_t sessions;
};

struct counting {
	const struct level_day *day;
	bool (*is_gone)(const void *arg, int64_t session);
	const void *arg;
	struct rates of[HOURS + 1]; /* the last of the day */
	double usual;               /* NAN: none */
};

static void
rate_add(struct rates *r, const struct store_cell *bytes, const struct store_cell *rate)
{
	r->sessions++;
	r->bytes += bytes->type == CELL_REAL ? bytes->d : 0;
	if (rate->type != CELL_REAL)
		return;
	if (!array_room(&r->v, &r->cap, r->n + 1, sizeof(*r->v)))
		abort();
	r->v[r->n++] = rate->d;
}

/* Columns: start_ns, session, bytes, bytes_per_s; of a second statement: the usual rate. */
static int
on_session(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct counting *c = arg;
	int64_t hour;

	(void)names;
	if (cells == NULL)
		return 0;
	if (n == 1) {
		c->usual = cells[0].type == CELL_REAL ? cells[0].d : NAN;
		return 0;
	}
	hour = (cells[0].i - c->day->day * DAY_NS) / HOUR_NS;
	if (hour < 0 || hour >= HOURS || c->is_gone(c->arg, cells[1].i))
		return 0;
	rate_add(&c->of[hour], &cells[2], &cells[3]);
	rate_add(&c->of[HOURS], &cells[2], &cells[3]);
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* As percentile() of the engines. */
static double
percentile(const struct rates *r, double p)
{
	size_t i = (size_t)(p * (double)r->n);

	return r->n == 0 ? NAN : r->v[i < r->n ? i : r->n - 1];
}

static void
row_put(struct fleet_rows *rows, const struct fleet_conf *conf, const struct counting *c, int hour,
    int64_t now_wall_ns)
{
	const struct rates *r = &c->of[hour];
	struct fleet_row *row = fleet_rows_add(rows);

	fleet_text_set(row, LEVEL_site, conf->site);
	fleet_text_set(row, LEVEL_route, c->day->route);
	fleet_text_set(row, LEVEL_program, c->day->program);
	fleet_int_set(row, LEVEL_span_ns, hour < HOURS ? HOUR_NS : DAY_NS);
	fleet_int_set(
	    row, LEVEL_start_ns, c->day->day * DAY_NS + (hour < HOURS ? hour * HOUR_NS : 0));
	fleet_int_set(row, LEVEL_judged_ns, now_wall_ns);
	fleet_int_set(row, LEVEL_sessions, r->sessions);
	fleet_real_set(row, LEVEL_bytes, r->bytes);
	fleet_real_set(row, LEVEL_p10, percentile(r, 0.1));
	fleet_real_set(row, LEVEL_p50, percentile(r, 0.5));
	fleet_real_set(row, LEVEL_p90, percentile(r, 0.9));
	fleet_real_set(row, LEVEL_usual, c->usual);
}

/* A text as a literal of SQL; free() it. */
static char *
quoted(const char *text)
{
	char *out = xmalloc(2 * strlen(text) + 3), *p = out;

	for (*p++ = '\''; *text != '\0'; *p++ = *text++)
		if (*text == '\'')
			*p++ = '\'';
	*p++ = '\'';
	*p = '\0';
	return out;
}

static int
day_count(struct store_sql *s, const struct fleet_conf *conf, struct counting *c,
    struct fleet_rows *rows, int64_t now_wall_ns, char why[FLEET_WHY_BYTES])
{
	char *route = quoted(c->day->route), *program = quoted(c->day->program),
	     *text = xasprintf("SELECT r.start_ns, r.session_id, r.bytes, r.bytes_per_s FROM "
			       "result r JOIN session s ON s.id = r.session_id WHERE r.route = %s "
			       "AND coalesce(r.program, '') = %s AND r.start_ns >= %" PRId64
			       " AND r.start_ns < %" PRId64
			       " AND s.closed_ns IS NOT NULL; SELECT bytes_per_s FROM route WHERE "
			       "route = %s AND program = %s",
		 route, program, c->day->day * DAY_NS, (c->day->day + 1) * DAY_NS, route, program);
	char reason[STORE_WHY_BYTES] = "";
	int hour, rc = store_sql_run(s, text, on_session, c, reason);

	if (rc < 0)
		snprintf(why, FLEET_WHY_BYTES, "%s", reason);
	for (hour = 0; hour <= HOURS; hour++) {
		qsort(c->of[hour].v, c->of[hour].n, sizeof(*c->of[hour].v), compare);
		if (rc == NW_OK && c->of[hour].sessions > 0)
			row_put(rows, conf, c, hour, now_wall_ns);
		free(c->of[hour].v);
	}
	free(route);
	free(program);
	free(text);
	return rc;
}

int
levels_read(const char *store_path, const struct fleet_conf *conf, struct veil *v,
    struct level_days *days, bool (*is_gone)(const void *arg, int64_t session), const void *arg,
    int64_t now_wall_ns, struct fleet_rows *rows, char why[FLEET_WHY_BYTES])
{
	struct store_sql *s = NULL;
	char reason[STORE_WHY_BYTES] = "";
	size_t i, before;
	int rc = NW_OK;

	rows->table = FLEET_LEVELS;
	if (!conf->levels || days->n == 0)
		return NW_OK;
	if ((rc = store_sql_open(store_path, &s, reason)) < 0)
		return fleet_failed(store_path, reason, why);
	qsort(days->day, days->n, sizeof(*days->day), touch_compare);
	for (i = 0; rc == NW_OK && i < days->n; i++) {
		struct counting c = {
			.day = &days->day[i], .is_gone = is_gone, .arg = arg, .usual = NAN
		};

		if (i > 0 && touch_compare(&days->day[i - 1], &days->day[i]) == 0)
			continue;
		before = rows->n;
		rc = day_count(s, conf, &c, rows, now_wall_ns, why);
		for (; rc == NW_OK && before < rows->n; before++)
			if (!veil_level(v, &rows->row[before])) {
				while (rows->n > before) /* the route does not leave */
					fleet_rows_drop(rows);
				break;
			}
	}
	store_sql_close(s);
	return rc;
}
