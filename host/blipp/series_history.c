/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row in a stretch: uint16 series, uint16 number of values, int64 time, then for each value
 * uint16 field and double. A whole row has all fields; a row without change has none.
 */
#include "host/blipp/series_history.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

enum { HEAD_BYTES = 12, VALUE_BYTES = 10, ROWS_AT_ONCE = 64 };

/* --- keeping --- */

static void
stretch_drop(struct history *h)
{
	h->bytes -= h->stretches[0].cap;
	free(h->stretches[0].bytes);
	h->n_stretches--;
	memmove(&h->stretches[0], &h->stretches[1], h->n_stretches * sizeof(h->stretches[0]));
	memset(&h->stretches[h->n_stretches], 0, sizeof(h->stretches[0]));
}

/* The stretch of this time, with old stretches gone. */
static struct history_stretch *
stretch_now(struct history *h, int64_t t_wall_ns)
{
	struct history_stretch *s;
	size_t i;

	while (h->n_stretches > 1 && h->stretches[1].begun_wall_ns < t_wall_ns - h->keep_ns)
		stretch_drop(h);
	s = h->n_stretches > 0 ? &h->stretches[h->n_stretches - 1] : NULL;
	if (s != NULL && t_wall_ns >= s->begun_wall_ns &&
	    t_wall_ns - s->begun_wall_ns < h->keep_ns / 12)
		return s;
	if (h->n_stretches == HISTORY_STRETCHES)
		stretch_drop(h);
	s = &h->stretches[h->n_stretches++];
	s->begun_wall_ns = t_wall_ns;
	for (i = 0; i < h->n_series; i++)
		h->series[i].begun = false;
	return s;
}

static bool
stretch_room(struct history *h, struct history_stretch *s, size_t bytes)
{
	size_t cap = s->cap > 0 ? s->cap + s->cap / 2 + bytes : 4096 + bytes;
	uint8_t *grown;

	if (s->len + bytes <= s->cap)
		return true;
	if (h->bytes + cap - s->cap > HISTORY_BYTES_MAX || (grown = realloc(s->bytes, cap)) == NULL)
		return false;
	h->bytes += cap - s->cap;
	s->bytes = grown;
	s->cap = cap;
	return true;
}

static bool
is_same(const struct history_series *a, const struct series *s, const struct series_kind *kind)
{
	return a->kind == kind && a->n_fields == kind->n_fields &&
	    strcmp(a->series.device, s->device) == 0;
}

/* NULL: no room. */
static struct history_series *
series_of(struct history *h, const struct series *s, const struct series_kind *kind)
{
	struct history_series *list, *new;
	size_t i;

	for (i = 0; i < h->n_series; i++)
		if (is_same(&h->series[i], s, kind))
			return &h->series[i];
	if (h->n_series == HISTORY_SERIES_MAX ||
	    (list = reallocarray(h->series, h->n_series + 1, sizeof(*list))) == NULL)
		return NULL;
	h->series = list;
	new = &list[h->n_series];
	*new = (struct history_series){ .series = *s, .kind = kind, .n_fields = kind->n_fields };
	new->series.announced = false;
	if ((new->last = calloc(kind->n_fields + 1, sizeof(double))) == NULL)
		return NULL;
	h->n_series++;
	return new;
}

static void
put(uint8_t **at, const void *bytes, size_t len)
{
	memcpy(*at, bytes, len);
	*at += len;
}

void
history_put(struct history *h, const struct series *s, const struct series_kind *kind,
    int64_t t_wall_ns, const double *values)
{
	struct history_stretch *stretch = stretch_now(h, t_wall_ns);
	struct history_series *hs = series_of(h, s, kind);
	uint8_t *start, *at;
	uint16_t index, i, n = 0;

	while (hs != NULL && h->n_stretches > 1 &&
	    !stretch_room(h, stretch, HEAD_BYTES + VALUE_BYTES * kind->n_fields)) {
		stretch_drop(h);
		stretch = &h->stretches[h->n_stretches - 1];
	}
	if (hs == NULL || !stretch_room(h, stretch, HEAD_BYTES + VALUE_BYTES * kind->n_fields)) {
		h->lost_rows++;
		return;
	}
	start = stretch->bytes + stretch->len;
	at = start + HEAD_BYTES;
	for (i = 0; i < kind->n_fields; i++) {
		if (hs->begun && memcmp(&hs->last[i], &values[i], sizeof(double)) == 0)
			continue;
		put(&at, &i, sizeof(i));
		put(&at, &values[i], sizeof(double));
		n++;
	}
	memcpy(hs->last, values, kind->n_fields * sizeof(double));
	hs->begun = true;
	stretch->len = (size_t)(at - stretch->bytes);
	index = (uint16_t)(hs - h->series);
	at = start;
	put(&at, &index, sizeof(index));
	put(&at, &n, sizeof(n));
	put(&at, &t_wall_ns, sizeof(t_wall_ns));
}

/* --- sending --- */

/* Rows of one series on their way. */
struct sending {
	struct report *report;
	struct history_series *hs;
	size_t index;
	double *values; /* ROWS_AT_ONCE rows */
	int64_t t_wall_ns[ROWS_AT_ONCE];
	size_t n, all;
};

static void
rows_send(struct sending *s)
{
	if (s->n > 0 &&
	    series_send_rows(
		&s->hs->series, s->hs->kind, s->report, s->n, s->t_wall_ns, s->values) == NW_OK)
		s->all += s->n;
	s->n = 0;
}

/* Takes the row at p, if the row is of the series; returns the row's length. */
static size_t
row_take(struct sending *s, const uint8_t *p)
{
	double *row = s->values + s->n * s->hs->n_fields;
	uint16_t index, n, field, i;

	memcpy(&index, p, sizeof(index));
	memcpy(&n, p + 2, sizeof(n));
	if (index == s->index) {
		memcpy(&s->t_wall_ns[s->n], p + 4, sizeof(int64_t));
		for (i = 0; i < n; i++) {
			memcpy(&field, p + HEAD_BYTES + i * VALUE_BYTES, sizeof(field));
			memcpy(&s->hs->last[field], p + HEAD_BYTES + i * VALUE_BYTES + 2,
			    sizeof(double));
		}
		memcpy(row, s->hs->last, s->hs->n_fields * sizeof(double));
		if (++s->n == ROWS_AT_ONCE)
			rows_send(s);
	}
	return HEAD_BYTES + (size_t)n * VALUE_BYTES;
}

size_t
history_send(struct history *h, struct report *r)
{
	struct sending s = { .report = r };
	size_t at, k;

	for (s.index = 0; s.index < h->n_series; s.index++) {
		s.hs = &h->series[s.index];
		s.values = s.hs->n_fields == s.hs->kind->n_fields
		    ? calloc(ROWS_AT_ONCE * s.hs->n_fields + 1, sizeof(double))
		    : NULL; /* the kernel has other fields now */
		for (k = 0; s.values != NULL && k < h->n_stretches; k++)
			for (at = 0; at < h->stretches[k].len;)
				at += row_take(&s, h->stretches[k].bytes + at);
		rows_send(&s);
		free(s.values);
	}
	history_clear(h);
	return s.all;
}

void
history_clear(struct history *h)
{
	while (h->n_stretches > 0)
		stretch_drop(h);
	while (h->n_series > 0)
		free(h->series[--h->n_series].last);
	free(h->series);
	h->series = NULL;
}
