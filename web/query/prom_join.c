/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_join.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "web/query/prom_labels.h"

/* A row without a value at any step. */
static int
row_new(struct prom_join *j, struct prom_rows *rows, json_t *labels, const char *key)
{
	size_t bytes = j->n_steps * (sizeof(double) + 1) + strlen(key) * 4;
	struct prom_row *grown;

	if (bytes > *j->bytes_left)
		return NW_ETOOBIG;
	*j->bytes_left -= bytes;
	j->n_bytes += bytes;
	if ((grown = reallocarray(rows->list, rows->n + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	rows->list = grown;
	grown += rows->n++;
	*grown = (struct prom_row){ .labels = json_incref(labels),
		.v = calloc(j->n_steps, sizeof(double)),
		.has = calloc(j->n_steps, 1) };
	if (grown->v == NULL || grown->has == NULL)
		return NW_ENOMEM;
	return json_object_set_new(rows->index, key, json_integer((json_int_t)rows->n - 1)) == 0
	    ? NW_OK
	    : NW_ENOMEM;
}

/* The row with these labels; takes the reference of the labels. Without `make` a missing row is
 * NULL and NW_OK. */
static int
row_of(
    struct prom_join *j, struct prom_rows *rows, json_t *labels, bool make, struct prom_row **out)
{
	char *key = labels != NULL ? json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	const json_t *known = NULL;
	int rc = key != NULL ? NW_OK : NW_ENOMEM;

	*out = NULL;
	if (rc == NW_OK && rows->index == NULL && (rows->index = json_object()) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK && (known = json_object_get(rows->index, key)) == NULL && make)
		rc = row_new(j, rows, labels, key);
	if (rc == NW_OK && known != NULL)
		*out = &rows->list[json_integer_value(known)];
	else if (rc == NW_OK && make)
		*out = &rows->list[rows->n - 1];
	free(key);
	json_decref(labels);
	return rc;
}

/* Labels of the result for a series of the left vector. A new reference. */
static json_t *
labels_out(const struct prom_join *j, const json_t *left)
{
	json_t *labels =
	    j->how->without ? json_copy((json_t *)left) : prom_group_labels(j->how, left);
	size_t i;

	for (i = 0; j->how->without && i < j->how->n_labels; i++)
		json_object_del(labels, j->how->labels[i]);
	if (promql_drops_name(j->how))
		json_object_del(labels, "__name__");
	return labels;
}

static int
right_add(
    struct prom_join *j, struct prom_row *match, const double *v, const bool *has, const char **why)
{
	size_t k;

	for (k = 0; k < j->n_steps; k++) {
		if (!has[k])
			continue;
		if (match->has[k] & PROM_RIGHT) {
			*why = "two series of the right side have the same labels: name more of "
			       "them in on()";
			return NW_EINVAL;
		}
		match->has[k] |= PROM_RIGHT;
		match->v[k] = v[k];
	}
	return NW_OK;
}

static int
left_add(struct prom_join *j, struct prom_row *match, const json_t *labels, const double *v,
    const bool *has, const char **why)
{
	bool filters = !promql_drops_name(j->how);
	struct prom_row *out;
	double result;
	size_t k;
	int rc = row_of(j, &j->out, labels_out(j, labels), true, &out);

	for (k = 0; k < j->n_steps && rc == NW_OK; k++) {
		if (!has[k] || !(match->has[k] & PROM_RIGHT))
			continue;
		result = promql_calculate(j->how->op, v[k], match->v[k]);
		if (filters && result == 0)
			continue;
		if (match->has[k] & PROM_LEFT) {
			*why = "two series of the left side have the same labels: name more of "
			       "them in on()";
			return NW_EINVAL;
		}
		match->has[k] |= PROM_LEFT;
		out->has[k] = PROM_LEFT;
		out->v[k] = filters ? v[k] : result;
	}
	return rc;
}

int
prom_join_add(struct prom_join *j, enum prom_side side, const json_t *labels, const double *v,
    const bool *has, const char **why)
{
	struct prom_row *match;
	int rc =
	    row_of(j, &j->matches, prom_group_labels(j->how, labels), side == PROM_RIGHT, &match);

	if (rc < 0 || match == NULL)
		return rc;
	return side == PROM_RIGHT ? right_add(j, match, v, has, why)
				  : left_add(j, match, labels, v, has, why);
}

static void
rows_clear(struct prom_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->n; i++) {
		json_decref(rows->list[i].labels);
		free(rows->list[i].v);
		free(rows->list[i].has);
	}
	free(rows->list);
	json_decref(rows->index);
	*rows = (struct prom_rows){ .n = 0 };
}

void
prom_join_clear(struct prom_join *j)
{
	rows_clear(&j->matches);
	rows_clear(&j->out);
	if (j->bytes_left != NULL)
		*j->bytes_left += j->n_bytes;
	j->n_bytes = 0;
}
