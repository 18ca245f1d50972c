/* SPDX-License-Identifier: BSD-3-Clause */
/* Time as a rival of the metrics, for the kinds that select metrics. */
#include <math.h>
#include <stdlib.h>

#include "cli/stat/stat_linear.h"

static const double DAY_ROWS_MAX = 1e9;

int
metrics_less_time(struct metrics *m, const struct stat_args *a, struct stat_error *err)
{
	struct nw_table t = { m->x, m->p, m->y, m->n };
	double day_rows = NAN, *day = NULL;
	int rc = stat_arg_number(a, "day", 1, DAY_ROWS_MAX, &day_rows, err);

	if (rc != NW_OK || !stat_arg_sound(a) || stat_arg_given(a, "no-time"))
		return rc;
	if (isfinite(day_rows)) {
		if ((day = calloc(m->n + 1, sizeof(*day))) == NULL)
			return stat_fail(err, NW_ENOMEM, "out of memory");
		for (size_t i = 0; i < m->n; i++)
			day[i] = fmod((double)i / day_rows, 1);
	}
	rc = stat_library(nw_time_rival(&t, day, &m->time), err);
	free(day);
	if (rc != NW_OK)
		return rc;
	m->less_time = true;
	for (size_t j = 0; j < m->p; j++)
		m->x[j] = m->time.rest.x[j];
	m->y = m->time.rest.y;
	return NW_OK;
}

static json_t *
parts_json(unsigned parts)
{
	json_t *a = json_array();
	int bad = 0;

	if ((parts & NW_TIME_TREND) != 0)
		bad |= json_array_append_new(a, json_string("trend"));
	if ((parts & NW_TIME_HOUR) != 0)
		bad |= json_array_append_new(a, json_string("hour"));
	if ((parts & NW_TIME_START) != 0)
		bad |= json_array_append_new(a, json_string("start"));
	return stat_whole(a, bad);
}

int
put_time(json_t *doc, const struct metrics *m)
{
	const struct nw_time_rival *t = &m->time;
	json_t *o, *starts, *taken;
	int bad = 0;

	if (!m->less_time)
		return 0;
	o = json_object();
	starts = json_array();
	taken = json_array();
	for (size_t i = 0; i < t->n_moments; i++)
		bad |= json_array_append_new(starts, json_integer((json_int_t)t->moment[i]));
	for (size_t j = 0; t->taken != NULL && j < m->p; j++)
		if (t->taken[j] > 0)
			bad |= json_array_append_new(taken, json_string(m->name[j]));
	bad |= json_object_set_new(o, "parts", parts_json(t->parts));
	bad |= json_object_set_new(o, "starts", starts);
	bad |= json_object_set_new(o, "r2", stat_json(t->parts != 0 ? t->r2 : 0));
	bad |= json_object_set_new(o, "common_cause", taken);
	return bad | json_object_set_new(doc, "time", o);
}
