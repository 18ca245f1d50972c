/* SPDX-License-Identifier: BSD-3-Clause */
/* Series of a host by their names in lists of metrics, and the use of the series. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/eventtype.h"
#include "narrows/store.h"

char *
store_series_name(const struct nw_meta_rec *rec)
{
	const char *what = rec->event_type + strlen(NW_TYPE_BLIPP), *part = NULL;
	json_t *subject;
	char *name;

	if (!nw_type_begins(rec->event_type, NW_TYPE_BLIPP))
		return NULL;
	subject = json_loads(rec->subject_json != NULL ? rec->subject_json : "{}", 0, NULL);
	part = json_string_value(json_object_get(subject, "device"));
	if (part == NULL)
		part = json_string_value(json_object_get(subject, "interface"));
	if (part != NULL && strstr(what, part) != NULL)
		part = NULL;
	if ((name = malloc(strlen(what) + (part != NULL ? strlen(part) : 0) + 2)) != NULL) {
		strcpy(name, what);
		if (part != NULL)
			strcat(strcat(name, " "), part);
	}
	json_decref(subject);
	return name;
}

struct count {
	struct store_reader *r;
	int64_t host_id;
	const char *const *names;
	size_t n_names;
	int64_t t0_wall_ns, t1_wall_ns;
	int64_t chunk_samples, chunk_bytes;
	struct store_named_cost *out;
};

static int
on_block(void *arg, const struct store_block *b)
{
	struct count *c = arg;

	if (b->n_rows > 0 &&
	    (c->out->first_wall_ns == 0 || b->t_wall_ns[0] < c->out->first_wall_ns))
		c->out->first_wall_ns = b->t_wall_ns[0];
	c->out->rows += (double)b->n_rows;
	c->out->samples += (double)b->n_rows * b->n_fields;
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	static const uint32_t first = 0;
	struct count *c = arg;
	int64_t n_rows, n_bytes;
	int rc = store_chunk_size(c->r, l->id, c->t0_wall_ns, &n_rows, &n_bytes);

	c->chunk_samples += n_rows * (int64_t)l->n_fields;
	c->chunk_bytes += n_bytes;
	if (rc < 0)
		return rc;
	return store_rows_of(c->r, l->id, &first, 1, c->t0_wall_ns, c->t1_wall_ns, on_block, c);
}

static bool
is_named(const struct count *c, const char *name)
{
	size_t i;

	if (c->names == NULL)
		return true;
	for (i = 0; i < c->n_names && strcmp(c->names[i], name) != 0; i++)
		continue;
	return i < c->n_names;
}

static int
on_meta(void *arg, const struct nw_meta_rec *rec)
{
	struct count *c = arg;
	char *name = rec->host_id == c->host_id ? store_series_name(rec) : NULL;
	const double before = c->out->rows;
	int rc = name != NULL && is_named(c, name) ? store_layouts(c->r, rec->id, on_layout, c) : 0;

	c->out->n_series += c->out->rows > before;
	free(name);
	return rc;
}

int
store_named_cost(struct store_reader *r, int64_t host_id, const char *const *names, size_t n_names,
    int64_t t0_wall_ns, int64_t t1_wall_ns, struct store_named_cost *out)
{
	struct count c = { r, host_id, names, n_names, t0_wall_ns, t1_wall_ns, 0, 0, out };
	int rc;

	*out = (struct store_named_cost){ .bytes_per_sample = NAN };
	rc = store_metas(r, 0, host_id, NW_TYPE_BLIPP, on_meta, &c);
	if (c.chunk_samples > 0)
		out->bytes_per_sample = (double)c.chunk_bytes / (double)c.chunk_samples;
	return rc;
}
