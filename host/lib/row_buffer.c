/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/row_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"

static void
series_free(struct row_series *s)
{
	if (s == NULL)
		return;
	free(s->mid);
	free(s->fields);
	free(s->values);
	free(s);
}

void
row_buffer_clear(struct row_buffer *g)
{
	while (g->n > 0)
		series_free(g->list[--g->n]);
	free(g->list);
	memset(g, 0, sizeof(*g));
}

struct row_series *
row_buffer_find(struct row_buffer *g, const char *mid)
{
	struct row_series *s;
	size_t i;

	for (i = 0; i < g->n; i++) {
		s = g->list[(g->next + i) % g->n];
		if (strcmp(s->mid, mid) == 0) {
			g->next = (g->next + i) % g->n + 1;
			return s;
		}
	}
	return NULL;
}

static struct row_series *
series_new(const char *mid, const char *const *fields, size_t n_fields)
{
	struct row_series *s = calloc(1, sizeof(*s));
	size_t bytes = strlen(mid) + 1, len, i;
	char *p;

	if (s == NULL)
		return NULL;
	for (i = 0; i < n_fields; i++)
		bytes += strlen(fields[i]) + 1;
	s->n_fields = n_fields;
	s->mid = p = malloc(bytes);
	s->fields = reallocarray(NULL, n_fields + 1, sizeof(*s->fields));
	s->values = reallocarray(NULL, (n_fields + 1) * ROW_SERIES_MAX, sizeof(*s->values));
	if (s->mid == NULL || s->fields == NULL || s->values == NULL) {
		series_free(s);
		return NULL;
	}
	p = stpcpy(p, mid) + 1;
	for (i = 0; i < n_fields; i++, p += len) {
		len = strlen(fields[i]) + 1;
		s->fields[i] = memcpy(p, fields[i], len);
	}
	return s;
}

struct row_series *
row_buffer_add(struct row_buffer *g, const char *mid, const char *const *fields, size_t n_fields)
{
	struct row_series *s;

	if (!array_room(&g->list, &g->cap, g->n + 1, sizeof(*g->list)))
		return NULL;
	if ((s = series_new(mid, fields, n_fields)) != NULL)
		g->list[g->n++] = s;
	return s;
}

void
row_buffer_forget(struct row_buffer *g, struct row_series *s)
{
	size_t i;

	for (i = 0; i < g->n && g->list[i] != s; i++)
		continue;
	if (i == g->n)
		return;
	memmove(g->list + i, g->list + i + 1, (--g->n - i) * sizeof(*g->list));
	series_free(s);
}

bool
row_series_takes(const struct row_series *s, const char *const *fields, size_t n_fields)
{
	size_t i;

	if (s->n_rows == ROW_SERIES_MAX || s->n_fields != n_fields)
		return false;
	for (i = 0; i < n_fields; i++)
		if (strcmp(s->fields[i], fields[i]) != 0)
			return false;
	return true;
}

void
row_series_add(struct row_series *s, int64_t t_wall_ns, const double *values)
{
	s->t_wall_ns[s->n_rows] = t_wall_ns;
	memcpy(s->values + s->n_rows++ * s->n_fields, values, s->n_fields * sizeof(*values));
}
