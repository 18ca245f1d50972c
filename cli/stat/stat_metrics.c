/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stat/stat_metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
metrics_init(
    struct metrics *m, struct stat_table *table, const char *response, struct stat_error *err)
{
	long y = -1;

	memset(m, 0, sizeof(*m));
	m->table = table;
	m->n = table->n_rows;
	m->response = response;
	m->x = calloc(table->n_cols + 1, sizeof(*m->x));
	m->name = calloc(table->n_cols + 1, sizeof(*m->name));
	if (m->x == NULL || m->name == NULL)
		return stat_fail(err, NW_ENOMEM, "out of memory");
	if (response != NULL) {
		if ((m->y = stat_table_numbers(table, response, err)) == NULL)
			return NW_EINVAL;
		y = stat_table_find(table, response);
	}
	for (size_t j = 0; j < table->n_cols; j++) {
		if ((long)j == y)
			continue;
		if ((m->x[m->p] = stat_table_numbers_at(table, j, err)) == NULL)
			return NW_EINVAL;
		m->name[m->p++] = table->cols[j].name;
	}
	return NW_OK;
}

int
metrics_choose(struct metrics *m, const char *const *names, size_t n, struct stat_error *err)
{
	const double **x = calloc(n + 1, sizeof(*x));
	const char **name = calloc(n + 1, sizeof(*name));
	int rc = x != NULL && name != NULL ? NW_OK : stat_fail(err, NW_ENOMEM, "out of memory");

	for (size_t i = 0; rc == NW_OK && i < n; i++) {
		size_t j = metrics_find(m, names[i]);

		if (j == SIZE_MAX) {
			rc = stat_fail(
			    err, NW_EINVAL, "%s: no predictor \"%s\"", m->table->file, names[i]);
			break;
		}
		x[i] = m->x[j];
		name[i] = m->name[j];
	}
	if (rc != NW_OK) {
		free((void *)x);
		free((void *)name);
		return rc;
	}
	free((void *)m->x);
	free((void *)m->name);
	m->x = x;
	m->name = name;
	m->p = n;
	return NW_OK;
}

void
metrics_clear(struct metrics *m)
{
	nw_time_rival_clear(&m->time);
	stat_table_free(m->table);
	free((void *)m->x);
	free((void *)m->name);
	memset(m, 0, sizeof(*m));
}

size_t
metrics_find(const struct metrics *m, const char *name)
{
	for (size_t j = 0; j < m->p; j++)
		if (strcmp(m->name[j], name) == 0)
			return j;
	return SIZE_MAX;
}

/* --- where the metrics come from --- */
int
metrics_of_args(const struct stat_args *a, struct metrics *m, struct stat_error *err)
{
	struct stat_table *table;
	const char *const *files, *response = stat_arg(a, "response");
	int rc;

	memset(m, 0, sizeof(*m));
	if (response == NULL)
		return stat_fail(err, NW_EINVAL, "--response COLUMN is needed");
	if (stat_arg_files(a, &files) != 1)
		return stat_fail(err, NW_EINVAL, "one FILE is wanted");
	if ((rc = stat_table_read(files[0], &table, err)) != NW_OK)
		return rc;
	return metrics_init(m, table, response, err);
}

int
metrics_of_case(const struct stat_case *c, struct metrics *m, struct stat_error *err)
{
	struct stat_table *table;
	const char *response = stat_case_text(c, "response", NULL);
	int rc;

	memset(m, 0, sizeof(*m));
	if ((rc = stat_case_table(c, NULL, &table, err)) != NW_OK)
		return rc;
	if (response == NULL && table->n_cols > 0)
		response = stat_table_find(table, "response") >= 0 ? "response"
		    : stat_table_find(table, "y") >= 0             ? "y"
								   : table->cols[0].name;
	return metrics_init(m, table, response, err);
}

int
metrics_complete(const struct metrics *m, double max_missing, bool near_zero_filter,
    struct nw_prepared *prep, struct stat_error *err)
{
	struct nw_prepare_options opts = { max_missing, NW_MISSING_LISTWISE, near_zero_filter };

	return stat_library(nw_prepare(m->x, m->p, m->y, m->n, &opts, false, prep), err);
}

/* --- lists given as text --- */
char **
stat_list(const char *text, size_t *n)
{
	size_t length = strlen(text), fields = 1, i;
	char **list, *copy, *field, *end;

	for (i = 0; i < length; i++)
		fields += text[i] == ',';
	if ((list = calloc(1, (fields + 1) * sizeof(*list) + length + 1)) == NULL)
		return NULL;
	copy = memcpy((char *)(list + fields + 1), text, length + 1);
	*n = 0;
	while ((field = strsep(&copy, ",")) != NULL) {
		while (isspace((unsigned char)*field))
			field++;
		for (end = field + strlen(field); end > field && isspace((unsigned char)end[-1]);
		     end--)
			;
		*end = '\0';
		if (*field != '\0')
			list[(*n)++] = field;
	}
	return list;
}

/* After before, from, .. come from + step .. to; new numbers join the list rounded to 12 digits, so
 * that 0.15 is 0.15. */
static int
append_steps(double *out, size_t *n, size_t room, double from, double step, double to)
{
	char buf[40];

	if (!(step > 0) || !((to - from) / step < (double)room))
		return NW_EINVAL;
	for (size_t i = 1; from + (double)i * step <= to + step * 1e-6; i++) {
		if (*n >= room)
			return NW_EINVAL;
		out[(*n)++] =
		    strtod(stat_number_name(from + (double)i * step, buf, sizeof(buf)), NULL);
	}
	return NW_OK;
}

int
stat_numbers(const char *text, double **out, size_t *n)
{
	enum { ROOM = 10000 };
	double *v = calloc(ROOM, sizeof(*v)), number;
	const char *s = text;
	char *end;
	int rc = v != NULL ? NW_OK : NW_ENOMEM;
	bool steps = false;

	*n = 0;
	while (rc == NW_OK && *s != '\0') {
		number = strtod(s, &end);
		if (end > s && end[-1] == '.' && *end == '.')
			end--; /* "1..3": the first point is not the 1's */
		if (end == s || !isfinite(number) || *n == ROOM) {
			rc = NW_EINVAL;
			break;
		}
		if (!steps)
			v[(*n)++] = number;
		else if (*n < 2)
			rc = NW_EINVAL;
		else
			rc = append_steps(v, n, ROOM, v[*n - 1], v[*n - 1] - v[*n - 2], number);
		for (s = end; *s == ',' || isspace((unsigned char)*s); s++)
			;
		if ((steps = strncmp(s, "..", 2) == 0))
			s += 2;
	}
	if (rc == NW_OK && (*n == 0 || steps))
		rc = NW_EINVAL;
	if (rc == NW_OK)
		*out = v;
	else
		free(v);
	return rc;
}

const char *
stat_number_name(double v, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%.12g", v);
	return buf;
}

/* --- JSON --- */
json_t *
stat_whole(json_t *o, int bad)
{
	if (bad == 0)
		return o;
	json_decref(o);
	return NULL;
}

int
stat_finish(json_t *doc, int rc, json_t **out, struct stat_error *err)
{
	if (doc != NULL && rc == 0) {
		*out = doc;
		return NW_OK;
	}
	json_decref(doc);
	return stat_fail(err, NW_ENOMEM, "out of memory, or a name that is not UTF-8");
}

int
stat_library(int rc, struct stat_error *err)
{
	return rc == NW_OK ? NW_OK : stat_fail(err, rc, "%s", nw_strerror(rc));
}

/* Appends, or gives the whole array up; NULL stays NULL. */
static json_t *
append(json_t *array, json_t *value)
{
	if (array != NULL && json_array_append_new(array, value) == 0)
		return array;
	json_decref(array);
	return NULL;
}

json_t *
metrics_names(const struct metrics *m, const size_t *index, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; a != NULL && i < n; i++)
		a = append(a, json_string(m->name[index[i]]));
	return a;
}

json_t *
metrics_of_class(
    const struct metrics *m, const struct nw_prepared *prep, enum nw_metric_class class)
{
	json_t *a = json_array();

	for (size_t j = 0; a != NULL && j < prep->n_metrics; j++)
		if (prep->class[j] == class)
			a = append(a, json_string(m->name[j]));
	return a;
}

json_t *
metrics_clusters(const struct metrics *m, const struct nw_clusters *cl, const size_t *used)
{
	json_t *all = json_array();

	for (size_t k = 0; all != NULL && k < cl->n_clusters; k++)
		all = append(all, json_array());
	for (size_t i = 0; all != NULL && i < cl->n_metrics; i++)
		if (json_array_append_new(
			json_array_get(all, cl->label[i]), json_string(m->name[used[i]])) != 0) {
			json_decref(all);
			all = NULL;
		}
	return all;
}

json_t *
metrics_representatives(const struct metrics *m, const struct nw_clusters *cl, const size_t *used)
{
	json_t *a = json_array();

	for (size_t k = 0; a != NULL && k < cl->n_clusters; k++)
		a = append(a, json_string(m->name[used[cl->rep[k]]]));
	return a;
}

json_t *
term_name(const struct metrics *m, const struct nw_term *t, const size_t *metric)
{
	const char *name = m->name[metric != NULL ? metric[t->column] : t->column];

	return json_sprintf(t->squared ? "%s^2" : "%s", name);
}

json_t *
term_names(const struct metrics *m, const struct nw_elimination *e, const size_t *metric,
    const size_t *index, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; a != NULL && i < n; i++)
		a = append(a, term_name(m, &e->terms[index[i]], metric));
	return a;
}

json_t *
term_names_of_state(const struct metrics *m, const struct nw_elimination *e, const size_t *metric,
    enum nw_term_state state)
{
	json_t *a = json_array();

	for (size_t j = 0; a != NULL && j < e->n_terms; j++)
		if (e->state[j] == state)
			a = append(a, term_name(m, &e->terms[j], metric));
	return a;
}

json_t *
kept_metrics(const struct metrics *m, const struct nw_elimination *e, const size_t *metric)
{
	json_t *a = json_array();

	for (size_t j = 0; a != NULL && j < e->n_metrics; j++)
		if (e->metric_kept[j])
			a = append(a, json_string(m->name[metric != NULL ? metric[j] : j]));
	return a;
}

json_t *
kept_values(const struct metrics *m, const struct nw_elimination *e, const size_t *metric, bool f)
{
	json_t *o = json_object();
	int rc = o != NULL ? 0 : -1;

	if (!f)
		rc |= json_object_set_new(o, "(Intercept)", stat_json(e->lm.intercept.value));
	for (size_t i = 0; rc == 0 && i < e->n_kept; i++) {
		json_t *name = term_name(m, &e->kept_terms[i], metric);
		const struct nw_coefficient *c = &e->lm.coef[i];

		rc |= name != NULL ? json_object_set_new(
					 o, json_string_value(name), stat_json(f ? c->f : c->value))
				   : -1;
		json_decref(name);
	}
	return stat_whole(o, rc);
}
