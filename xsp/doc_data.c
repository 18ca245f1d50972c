/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data items to rows of doubles: the path every sample takes. Nothing here allocates once the rows
 * have grown to the largest item seen.
 *
 * A row is a document of named fields, or a pair [time, value]. Columns appear in the order of
 * first appearance; rows are stored one after the other, `stride` values apart, and made dense at
 * the end.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "narrows/hist.h"
#include "xsp/decoder.h"

/* The time of a row while its fields are being read. */
struct row {
	struct element ts; /* type 0 until the row has a time */
	int64_t ts_ns, sample_number;
	bool has_ts_ns, is_caliper;
	uint64_t n_set; /* values that are numbers */
};

struct rows *
rows_new(uint32_t fields_max)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->fields_max = fields_max;
	r->values_cap = fields_max;
	r->rows_cap = 64;
	r->fields = malloc(fields_max * sizeof(*r->fields));
	r->values = malloc(r->values_cap * sizeof(*r->values));
	r->t_wall_ns = malloc(r->rows_cap * sizeof(*r->t_wall_ns));
	r->sample_number = malloc(r->rows_cap * sizeof(*r->sample_number));
	if (r->fields == NULL || r->values == NULL || r->t_wall_ns == NULL ||
	    r->sample_number == NULL) {
		rows_free(r);
		return NULL;
	}
	return r;
}

void
rows_free(struct rows *r)
{
	if (r == NULL)
		return;
	free(r->sample_number);
	free(r->t_wall_ns);
	free(r->values);
	free(r->fields);
	free(r);
}

int
values_reserve(struct nw_doc_decoder *d, struct rows *r, size_t n)
{
	size_t cap = r->values_cap;
	double *p;

	if (n <= cap)
		return NW_OK;
	/* A value takes at least four bytes of a dense document; more rows times fields than that
	 * are empty air. */
	if (n > d->lim.doc_max_bytes / 2)
		return decode_fail(d, NW_ETOOBIG, "too many rows of too many fields");
	while (cap < n)
		cap *= 2;
	if ((p = realloc(r->values, cap * sizeof(*p))) == NULL)
		return decode_fail(d, NW_ENOMEM, "out of memory");
	r->values = p;
	r->values_cap = cap;
	return NW_OK;
}

int
rows_reserve(struct nw_doc_decoder *d, struct rows *r, size_t n)
{
	size_t cap = r->rows_cap;
	int64_t *p;

	if (n > d->lim.rows_max)
		return decode_fail(d, NW_ETOOBIG, "too many rows");
	if (n <= cap)
		return NW_OK;
	while (cap < n)
		cap *= 2;
	if ((p = realloc(r->t_wall_ns, cap * sizeof(*p))) == NULL)
		return decode_fail(d, NW_ENOMEM, "out of memory");
	r->t_wall_ns = p;
	if ((p = realloc(r->sample_number, cap * sizeof(*p))) == NULL)
		return decode_fail(d, NW_ENOMEM, "out of memory");
	r->sample_number = p;
	r->rows_cap = cap;
	return NW_OK;
}

/* Moves the rows apart. The stride doubles, so a document with a new field in each row does not
 * move all rows each time. */
static int
rows_widen(struct nw_doc_decoder *d, struct rows *r)
{
	size_t stride = 2 * r->stride < r->fields_max ? 2 * r->stride : r->fields_max, i, k;
	int rc;

	if ((rc = values_reserve(d, r, (r->n + 1) * stride)) < 0)
		return rc;
	for (i = r->n + 1; i-- > 0;) {
		memmove(r->values + i * stride, r->values + i * r->stride,
		    r->stride * sizeof(*r->values));
		for (k = r->stride; k < stride; k++)
			r->values[i * stride + k] = NAN;
	}
	r->stride = stride;
	return NW_OK;
}

/* The place of a field in the current row. The first row is alone and needs no stride yet. */
static inline int
row_place(struct nw_doc_decoder *d, struct rows *r, struct name *name, double **out)
{
	int rc;

	if (name->item != r->item) {
		if (r->n_fields == r->fields_max)
			return decode_fail(d, NW_ETOOBIG, "too many fields");
		name->item = r->item;
		name->column = (uint32_t)r->n_fields;
		r->fields[r->n_fields++] = name->spelling;
		if (r->n > 0 && r->n_fields > r->stride && (rc = rows_widen(d, r)) < 0)
			return rc;
	}
	*out = &r->values[r->n * r->stride + name->column];
	return NW_OK;
}

/* Puts the value of element e into the field's place of the row. */
static inline int
row_value(struct nw_doc_decoder *d, struct rows *r, struct row *row, struct name *name,
    const struct element *e)
{
	double v, *place = NULL;
	int rc;

	if (e->type == BSON_TYPE_DOUBLE) {
		v = get_le_double(e->value);
	} else {
		switch (element_number(e, &v)) {
		case NUMBER_OK:
		case NUMBER_NONE: break;
		case NUMBER_TEXT:
		case NUMBER_OTHER:
			/* Arrays are the originals' histograms h_gd and h_rd, which no
			 * code reads. */
			return NW_OK;
		}
	}
	if ((rc = row_place(d, r, name, &place)) < 0)
		return rc;
	/* DBL_MAX is a minimum of nothing, -1 a deviation of too few: markers, not numbers. NaN
	 * compares false. */
	if (fabs(v) < DBL_MAX && !(name->is_deviation && v < 0)) {
		*place = v;
		row->n_set++;
	} else {
		*place = NAN;
	}
	return NW_OK;
}

static bool
seconds_to_ns(double s, int64_t *out)
{
	double whole = floor(s);

	if (!(fabs(s) < 9.2e9))
		return false;
	/* Doubles near today are 238 ns apart: rounded to microseconds, the resolution of the
	 * senders' clocks. */
	*out = (int64_t)whole * 1000000000 + (int64_t)((s - whole) * 1e6 + 0.5) * 1000;
	return true;
}

/* The envelope decides the unit: seconds in generations 1 to 3, microseconds in 4. The exception is
 * a double below 1e11, as microseconds a time in January 1970: no generation 4 clock stands there,
 * so the sender wrote seconds. */
static bool
element_time(const struct element *e, bool unit_is_second, int64_t *out)
{
	int64_t i;
	double v;

	switch (e->type) {
	case BSON_TYPE_DOUBLE:
		v = get_le_double(e->value);
		if (unit_is_second || fabs(v) < 1e11)
			return seconds_to_ns(v, out);
		if (!(fabs(v) < 9.2e15))
			return false;
		*out = (int64_t)floor(v + 0.5) * 1000;
		return true;
	case BSON_TYPE_INT32:
	case BSON_TYPE_INT64:
		i = e->type == BSON_TYPE_INT32 ? (int32_t)get_le32(e->value)
					       : (int64_t)get_le64(e->value);
		return !__builtin_mul_overflow(i, unit_is_second ? 1000000000 : 1000, out);
	case BSON_TYPE_DATE_TIME:
		return !__builtin_mul_overflow((int64_t)get_le64(e->value), 1000000, out);
	}
	return false;
}

/* The checks of nw_hist_decode_add(), without an array of counts. */
static bool
hist_is_valid(const uint8_t *p, size_t len)
{
	uint64_t step, count, index = 0;
	size_t at, n;

	if (len < 4 || p[0] != 1 || p[1] != NW_HIST_BITS)
		return false;
	for (at = 2; at < len; at += n) {
		if ((n = nw_hist_get_varint(p + at, len - at, &step)) == 0)
			return false;
		if (step >= NW_HIST_BUCKETS || (at > 2 && step == 0))
			return false;
		index += step;
		at += n;
		if ((n = nw_hist_get_varint(p + at, len - at, &count)) == 0)
			return false;
		if (index >= NW_HIST_BUCKETS || count == 0)
			return false;
	}
	return true;
}

static void
row_hist(struct rows *r, const struct element *e)
{
	if (e->type == BSON_TYPE_BINARY && hist_is_valid(e->value + 5, e->value_len - 5)) {
		r->hist = e->value + 5;
		r->hist_len = e->value_len - 5;
	}
}

static void
row_time_part(struct row *row, const struct name *name, const struct element *e)
{
	double v;

	if (name->kind == NAME_TS) {
		row->ts = *e;
	} else if (name->kind == NAME_TS_NS && e->type == BSON_TYPE_INT64) {
		row->ts_ns = (int64_t)get_le64(e->value);
		row->has_ts_ns = true;
	} else if (name->kind == NAME_SAMPLE && element_number(e, &v) == NUMBER_OK && v >= 0 &&
	    v < 9e15) {
		row->sample_number = (int64_t)v;
	}
}

static int
row_begin(struct nw_doc_decoder *d, struct rows *r, struct row *row)
{
	size_t i;
	int rc;

	row->ts.type = 0;
	row->sample_number = -1;
	row->has_ts_ns = row->is_caliper = false;
	row->n_set = 0;
	r->row++;
	if (r->n > 0 &&
	    ((rc = rows_reserve(d, r, r->n + 1)) < 0 ||
		(rc = values_reserve(d, r, (r->n + 1) * r->stride)) < 0))
		return rc;
	for (i = 0; i < r->n_fields; i++)
		r->values[r->n * r->stride + i] = NAN;
	return NW_OK;
}

/* Keeps the row if the row has a time and a number. */
static void
row_end(struct rows *r, const struct row *row)
{
	int64_t t = NW_TIME_BY_SAMPLE;

	if (row->has_ts_ns)
		t = row->ts_ns;
	else if (row->ts.type == 0 ||
	    !element_time(&row->ts, r->unit_is_second || row->is_caliper, &t))
		t = NW_TIME_BY_SAMPLE;
	if (t == NW_TIME_BY_SAMPLE && row->sample_number < 0)
		return;
	if (row->n_set == 0)
		return;
	r->t_wall_ns[r->n] = t;
	r->sample_number[r->n] = row->sample_number;
	if (r->n++ == 0)
		r->stride = r->n_fields;
}

static int
row_of_fields(struct nw_doc_decoder *d, struct rows *r, const struct element *fields)
{
	struct element e;
	struct name *name;
	struct row row;
	struct walk w;
	int rc;

	if ((rc = row_begin(d, r, &row)) < 0)
		return rc;
	walk_enter(&w, fields, d->lim.text_max_bytes);
	while ((rc = walk_next(&w, &e)) > 0) {
		if (element_is_container(&e) &&
		    (rc = walk_check(e.value, e.value_len, &d->lim, r->depth + 1)) < 0)
			return decode_walk_fail(d, rc);
		if ((rc = names_get(&d->names, e.key, e.key_len, &name)) < 0)
			return decode_fail(d, rc,
			    rc == NW_EPROTO ? "bad field name"
					    : "field names too long or too many");
		if (name->row == r->row)
			continue;
		name->row = r->row;
		row.is_caliper |= name->is_caliper;
		if (name->kind == NAME_FIELD) {
			if ((rc = row_value(d, r, &row, name, &e)) < 0)
				return rc;
		} else if (name->kind == NAME_HIST) {
			row_hist(r, &e);
		} else {
			row_time_part(&row, name, &e);
		}
	}
	if (rc < 0)
		return decode_walk_fail(d, rc);
	row_end(r, &row);
	return NW_OK;
}

static int
row_of_pair(
    struct nw_doc_decoder *d, struct rows *r, const struct element *pair, struct name *value_name)
{
	struct element e[3];
	struct row row;
	struct walk w;
	size_t n = 0;
	int rc;

	if ((rc = walk_check(pair->value, pair->value_len, &d->lim, r->depth)) < 0)
		return decode_walk_fail(d, rc);
	walk_enter(&w, pair, d->lim.text_max_bytes);
	while (n < 3 && walk_next(&w, &e[n]) > 0)
		n++;
	if (n != 2)
		return NW_OK;
	if ((rc = row_begin(d, r, &row)) < 0)
		return rc;
	row.ts = e[0];
	if ((rc = row_value(d, r, &row, value_name, &e[1])) < 0)
		return rc;
	row_end(r, &row);
	return NW_OK;
}

static int
rows_of_list(struct nw_doc_decoder *d, struct rows *r, const struct element *list)
{
	struct name *value_name;
	struct element e;
	struct walk w;
	int rc;

	if ((rc = names_get(&d->names, "value", 5, &value_name)) < 0)
		return decode_fail(d, rc, "field names too long or too many");
	walk_enter(&w, list, d->lim.text_max_bytes);
	while ((rc = walk_next(&w, &e)) > 0) {
		if (!element_is_container(&e))
			continue;
		if (element_is_list(&e))
			rc = row_of_pair(d, r, &e, value_name);
		else
			rc = row_of_fields(d, r, &e);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? decode_walk_fail(d, rc) : NW_OK;
}

int
rows_deliver(struct nw_doc_decoder *d, struct rows *r, const char *mid, const char *event_type)
{
	struct nw_data out;
	size_t i;
	int rc;

	if (r->n == 0)
		return NW_OK;
	for (i = 1; i < r->n && r->stride > r->n_fields; i++)
		memmove(r->values + i * r->n_fields, r->values + i * r->stride,
		    r->n_fields * sizeof(*r->values));
	out.mid = mid;
	out.event_type = event_type;
	out.n_fields = r->n_fields;
	out.fields = r->fields;
	out.n_rows = r->n;
	out.t_wall_ns = r->t_wall_ns;
	out.values = r->values;
	out.sample_number = r->sample_number;
	out.hist = r->n == 1 ? r->hist : NULL;
	out.hist_len = out.hist != NULL ? r->hist_len : 0;
	rc = d->sink->on_data != NULL ? d->sink->on_data(d->sink->arg, &out) : NW_OK;
	return rc < 0 ? rc : NW_OK;
}

int
data_decode(struct nw_doc_decoder *d, const struct item *it)
{
	const struct element *mid_element =
	    &it->part[item_has(it, PART_MID) ? PART_MID : PART_MID_OLD];
	enum part p = item_has(it, PART_DATA) ? PART_DATA : PART_VALUES;
	const char *mid, *event_type = NULL;
	char mid_hex[25], type_hex[25];
	struct rows *r = d->rows;
	bool is_list;
	int rc;

	if ((rc = decode_id(d, mid_element, mid_hex, &mid)) < 0)
		return rc;
	if (item_has(it, PART_EVENT_TYPE) &&
	    (rc = decode_id(d, &it->part[PART_EVENT_TYPE], type_hex, &event_type)) < 0)
		return rc;
	if (!item_has(it, p) || !element_is_container(&it->part[p]))
		return decode_fail(d, NW_EPROTO, "data without values");
	if ((rc = item_check_rest(d, it, 1u << p)) < 0)
		return rc;
	names_make_room(&d->names);
	r->item++;
	r->n = r->n_fields = r->stride = 0;
	r->unit_is_second = it->in_envelope || p == PART_VALUES;
	r->hist = NULL;
	is_list = element_is_list(&it->part[p]);
	r->depth = it->depth + (is_list ? 2 : 1);
	if (r->depth > d->lim.depth_max)
		return decode_walk_fail(d, NW_ETOOBIG);
	rc = is_list ? rows_of_list(d, r, &it->part[p]) : row_of_fields(d, r, &it->part[p]);
	return rc < 0 ? rc : rows_deliver(d, r, mid, event_type);
}
