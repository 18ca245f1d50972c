/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows announced by their own programs (narrows/announce.h): hearsay, beside all evidence. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

struct announced_rows {
	struct evidence_announced *a;
	struct columns c;
};

static char *
text_of(const json_t *subject, const char *key)
{
	return xstrdup(json_string_value(json_object_get(subject, key)));
}

int
announced_add(struct loader *l, const struct nw_meta_rec *m)
{
	struct evidence *e = l->e;
	struct evidence_announced *a;
	json_t *subject;
	int i;

	if (e->n_announced == EVIDENCE_ANNOUNCED_MAX) {
		e->announced_more = true;
		return 0;
	}
	subject = json_loads(m->subject_json, 0, NULL);
	e->announced = xreallocarray(e->announced, e->n_announced + 1, sizeof(*e->announced));
	a = &e->announced[e->n_announced++];
	memset(a, 0, sizeof(*a));
	a->meta_id = m->id;
	a->by = text_of(subject, "announced_by");
	a->source = text_of(subject, "source");
	a->src = text_of(subject, "src");
	a->dst = text_of(subject, "dst");
	a->program = text_of(subject, "program");
	a->label = text_of(subject, "label");
	a->user = text_of(subject, "user");
	a->file = text_of(subject, "file");
	a->sport = (unsigned)json_integer_value(json_object_get(subject, "sport")) & 0xffff;
	a->dport = (unsigned)json_integer_value(json_object_get(subject, "dport")) & 0xffff;
	for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
		a->value[i] = NAN;
	json_decref(subject);
	return 0;
}

/* Every row has the numbers since the flow's start: the last known ones stay. */
static int
on_rows(void *arg, const struct store_block *b)
{
	struct announced_rows *r = arg;
	struct evidence_announced *a = r->a;
	struct row row = { .c = &r->c, .b = b };
	int64_t begin;

	for (row.i = 0; row.i < b->n_rows; row.i++) {
#define X(name) last_known(&a->value[NW_ANNOUNCED_##name], row_cell(&row, r->c.name));
		NW_ANNOUNCED_FIELDS(X)
#undef X
		a->last_wall_ns = b->t_wall_ns[row.i];
		begin =
		    a->last_wall_ns - (int64_t)(1e9 * known_or_0(a->value[NW_ANNOUNCED_elapsed_s]));
		if (a->first_wall_ns == 0 || begin < a->first_wall_ns)
			a->first_wall_ns = begin;
	}
	return 0;
}

struct layout_rows {
	struct store_reader *reader;
	struct evidence_announced *a;
};

static int
on_announced_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct layout_rows *of = arg;
	struct announced_rows r = { .a = of->a };

	columns_find(&r.c, rec);
	return store_rows(of->reader, rec->id, INT64_MIN, INT64_MAX, on_rows, &r);
}

int
announced_read(struct loader *l)
{
	struct layout_rows of = { .reader = l->reader };
	int rc = NW_OK;
	size_t i;

	for (i = 0; i < l->e->n_announced && rc == NW_OK; i++) {
		of.a = &l->e->announced[i];
		rc = store_layouts(l->reader, of.a->meta_id, on_announced_layout, &of);
	}
	/* of a session without a measured program, experiment and activity are the only name */
	if (l->e->n_processes == 0 && l->e->n_announced > 0 && l->e->label == NULL)
		l->e->label = xstrdup(l->e->announced[0].label);
	return rc;
}

void
announced_clear(struct evidence *e)
{
	struct evidence_announced *a;

	for (a = e->announced; a < e->announced + e->n_announced; a++) {
		free(a->by);
		free(a->source);
		free(a->src);
		free(a->dst);
		free(a->program);
		free(a->label);
		free(a->user);
		free(a->file);
	}
	free(e->announced);
}
