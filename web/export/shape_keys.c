/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two tables that the authors' analysis scripts read:
 *
 *	key,timestamp,value
 *	key,type,subject,param,timestamp,value
 *
 * key is the metadata's id as sent, with ":field" for a field of several (a scalar's field is
 * "value"), and "@series_id" before ":field" if two series of the export were sent with one id.
 * type, subject and param belong to the chain from the outermost parent to the series, joined by
 * '/', subjects and parameters as k=v;k=v. The timestamp is seconds with nine digits, exact as
 * text.
 *
 * All descriptions of the session are held, sorted by id, to find parents and repeated ids.
 */
#include <math.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/array.h"
#include "narrows/csv.h"
#include "web/query/flat.h"
#include "narrows/format.h"
#include "web/export/shape.h"

enum { PARENTS_MAX = 32 };

struct relative {
	int64_t id, host_id;
	char *mid, *pid, *type, *subject, *params; /* the last two as k=v;k=v */
};

struct family {
	struct relative *all;
	size_t n, cap;
};

/* --- the family --- */

static int
by_mid(const void *a, const void *b)
{
	const struct relative *x = a, *y = b;
	int by = strcmp(x->mid, y->mid);

	return by != 0 ? by : (x->id > y->id) - (x->id < y->id);
}

static void
family_free(void *state)
{
	struct family *fam = state;
	size_t i;

	for (i = 0; i < fam->n; i++) {
		free(fam->all[i].mid);
		free(fam->all[i].pid);
		free(fam->all[i].type);
		free(fam->all[i].subject);
		free(fam->all[i].params);
	}
	free(fam->all);
	free(fam);
}

static int
family_add(struct family *fam, const struct walk_meta *m)
{
	struct relative *r;

	if (!array_room(&fam->all, &fam->cap, fam->n + 1, sizeof(*fam->all)))
		return NW_ENOMEM;
	r = &fam->all[fam->n++];
	*r = (struct relative){ .id = m->id,
		.host_id = m->host_id,
		.mid = strdup(m->mid),
		.pid = strdup(m->pid),
		.type = strdup(m->event_type),
		.subject = flat_text(m->subject_json),
		.params = flat_text(m->params_json) };
	return r->mid != NULL && r->pid != NULL && r->type != NULL && r->subject != NULL &&
		r->params != NULL
	    ? NW_OK
	    : NW_ENOMEM;
}

static int
family_new(struct export *x)
{
	const struct walk_meta *m;
	struct walk *w = NULL;
	struct family *fam = calloc(1, sizeof(*fam));
	int rc;

	if ((x->state = fam) == NULL)
		return NW_ENOMEM;
	if ((rc = walk_new(x->reader, x->session_id, "", &w)) < 0)
		return rc;
	while ((rc = walk_next(w, &m)) == NW_OK && m != NULL)
		if ((rc = family_add(fam, m)) < 0)
			break;
	if (fam->n > 0)
		qsort(fam->all, fam->n, sizeof(*fam->all), by_mid);
	walk_free(w);
	return rc;
}

/* Index of the first metadata with a mid, or the index for its insertion. */
static size_t
family_find(const struct family *fam, const char *mid)
{
	size_t low = 0, high = fam->n, mid_at;

	while (low < high) {
		mid_at = low + (high - low) / 2;
		if (strcmp(fam->all[mid_at].mid, mid) < 0)
			low = mid_at + 1;
		else
			high = mid_at;
	}
	return low;
}

static bool
is_named(const struct family *fam, size_t i, const char *mid)
{
	return i < fam->n && strcmp(fam->all[i].mid, mid) == 0;
}

/*
 * Ids belong to a host; of several metadata with one id, the parent is the newest before the child.
 */
static const struct relative *
parent_of(const struct family *fam, const struct relative *r)
{
	const struct relative *found = NULL;
	size_t i;

	if (r->pid[0] == '\0')
		return NULL;
	for (i = family_find(fam, r->pid); is_named(fam, i, r->pid); i++)
		if (fam->all[i].host_id == r->host_id && fam->all[i].id != r->id &&
		    (found == NULL || fam->all[i].id < r->id))
			found = &fam->all[i];
	return found;
}

/* Writes the chain from the series to its outermost parent. Returns the chain's length. */
static size_t
chain_of(
    const struct family *fam, const struct walk_meta *m, const struct relative *chain[PARENTS_MAX])
{
	const struct relative *r = NULL;
	size_t i, n;

	for (i = family_find(fam, m->mid); r == NULL && is_named(fam, i, m->mid); i++)
		if (fam->all[i].id == m->id)
			r = &fam->all[i];
	for (n = 0; r != NULL && n < PARENTS_MAX; r = parent_of(fam, r))
		chain[n++] = r;
	return n;
}

/* --- cells --- */

static bool
is_scalar(const char *field)
{
	return strcmp(field, "value") == 0;
}

static void
put_cell(const struct export *x, FILE *f, char *text, unsigned how)
{
	csv_cell(f, text != NULL ? text : "", shape_cell_how(x) | how);
	putc(',', f);
	free(text);
}

static char *
key_text(const struct family *fam, const struct walk_meta *m, const char *field)
{
	size_t first = family_find(fam, m->mid);
	char at[24] = "", *text;

	if (is_named(fam, first + 1, m->mid))
		snprintf(at, sizeof(at), "@%" PRId64, m->id);
	return asprintf(&text, "%s%s%s%s", m->mid, at, is_scalar(field) ? "" : ":",
		   is_scalar(field) ? "" : field) < 0
	    ? NULL
	    : text;
}

enum part { TYPE, SUBJECT, PARAMS };

static char *
chain_text(const struct relative *const *chain, size_t n, enum part part, const char *field)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	while (n-- > 0)
		fprintf(f, "%s%s",
		    part == TYPE          ? chain[n]->type
			: part == SUBJECT ? chain[n]->subject
					  : chain[n]->params,
		    n > 0 ? "/" : "");
	if (part == TYPE && !is_scalar(field))
		fprintf(f, ":%s", field);
	if (fclose(f) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static int
prefix(struct export *x, FILE *f, const struct walk_meta *m)
{
	(void)x, (void)f, (void)m;
	return NW_OK;
}

static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	put_cell(x, f, key_text(x->state, m, field), 0);
}

static void
label_long(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	const struct relative *chain[PARENTS_MAX];
	size_t n = chain_of(x->state, m, chain);

	label(x, f, m, field);
	put_cell(x, f, chain_text(chain, n, TYPE, field), 0);
	put_cell(x, f, chain_text(chain, n, SUBJECT, field), CSV_QUOTED);
	put_cell(x, f, chain_text(chain, n, PARAMS, field), CSV_QUOTED);
}

static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	uint64_t ns = r->t_wall_ns < 0 ? -(uint64_t)r->t_wall_ns : (uint64_t)r->t_wall_ns;
	char tail[2 * sizeof(struct fmt)];
	size_t k;
	int rc;

	for (k = 0; k < r->n_fields; k++) {
		if (isnan(r->values[k]))
			continue;
		snprintf(tail, sizeof(tail), "%s%" PRIu64 ".%09" PRIu64 ",%s",
		    r->t_wall_ns < 0 ? "-" : "", ns / 1000000000, ns % 1000000000,
		    fmt_exact(r->values[k]).s);
		if ((rc = textout_puts(&x->out, before)) < 0 ||
		    (rc = textout_puts(&x->out, r->labels[k])) < 0 ||
		    (rc = textout_puts(&x->out, tail)) < 0 || (rc = shape_end_line(x)) < 0)
			return rc;
	}
	return NW_OK;
}

const struct shape shape_keys = {
	.name = "keys",
	.ending = ".csv",
	.content_type = "text/csv; charset=utf-8; header=present",
	.header = "key,timestamp,value",
	.prefix = prefix,
	.label = label,
	.row = row,
	.state_new = family_new,
	.state_free = family_free,
};

const struct shape shape_keys_long = {
	.name = "keys-long",
	.ending = ".csv",
	.content_type = "text/csv; charset=utf-8; header=present",
	.header = "key,type,subject,param,timestamp,value",
	.prefix = prefix,
	.label = label_long,
	.row = row,
	.state_new = family_new,
	.state_free = family_free,
};
