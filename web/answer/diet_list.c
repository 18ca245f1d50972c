/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/diet_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/order.h"
#include "narrows/result.h"

#define DAY_NS INT64_C(86400000000000)
/* A collector tells of itself so often. */
#define WORD_NS INT64_C(10000000000)

enum { SERIES_MAX = 4000 };

struct listing {
	struct store_reader *r;
	json_t *list;
	int64_t now_wall_ns;
	json_t *host; /* name of the host of the present diet */
};

/* --- words of the collector --- */

/* The words of a host's collectors in a stretch of time. */
struct words {
	struct store_reader *r;
	int64_t host_id, t0_wall_ns, t1_wall_ns;
	const struct nw_layout_rec *layout;
	int64_t slot; /* the newest stretch of WORD_NS with a word */
	size_t n_slots, n_shares;
	double shares; /* sum of cpu_share */
	double carried_out, refused;
};

static void
word_take(struct words *w, uint32_t field, double v)
{
	const char *name = w->layout->fields[field];

	if (!isfinite(v))
		return;
	if (strcmp(name, "cpu_share") == 0) {
		w->shares += v;
		w->n_shares++;
	} else if (strcmp(name, "diet_series") == 0)
		w->carried_out = v;
	else if (strcmp(name, "diet_unknown") == 0)
		w->refused = v;
}

static int
on_words(void *arg, const struct store_block *b)
{
	struct words *w = arg;
	uint32_t f;
	size_t i;

	for (i = 0; i < b->n_rows; i++) {
		w->n_slots += b->t_wall_ns[i] / WORD_NS > w->slot;
		if (b->t_wall_ns[i] / WORD_NS > w->slot)
			w->slot = b->t_wall_ns[i] / WORD_NS;
		for (f = 0; f < b->n_fields && f < w->layout->n_fields; f++)
			word_take(w, f, b->columns[f][i]);
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *l)
{
	struct words *w = arg;

	w->layout = l;
	return store_rows(w->r, l->id, w->t0_wall_ns, w->t1_wall_ns, on_words, w);
}

/* Diets are for blipp alone. */
static int
on_collector(void *arg, const struct nw_meta_rec *m)
{
	json_t *subject = m->subject_json != NULL ? json_loads(m->subject_json, 0, NULL) : NULL;
	const char *name = json_string_value(json_object_get(subject, "collector"));
	struct words *w = arg;
	int rc = 0;

	if (name != NULL && strcmp(name, "blipp") == 0 &&
	    strcmp(m->event_type, NW_TYPE_COLLECTOR) == 0)
		rc = store_layouts(w->r, m->id, on_layout, w);
	json_decref(subject);
	return rc;
}

static int
words_read(struct store_reader *r, int64_t host_id, int64_t t0_wall_ns, int64_t t1_wall_ns,
    struct words *w)
{
	*w = (struct words){ .r = r,
		.host_id = host_id,
		.t0_wall_ns = t0_wall_ns,
		.t1_wall_ns = t1_wall_ns,
		.carried_out = NAN,
		.refused = NAN };
	return store_metas(r, 0, host_id, NW_TYPE_COLLECTOR, on_collector, w);
}

/* --- what a diet has saved --- */

/* The names of a list; the caller frees the array alone. */
static const char **
names_of(const json_t *list, size_t *n)
{
	const char **names = calloc(SERIES_MAX, sizeof(*names)), *name;
	size_t i;

	*n = 0;
	for (i = 0; names != NULL && i < json_array_size(list) && *n < SERIES_MAX; i++)
		if ((name = json_string_value(json_array_get(list, i))) != NULL)
			names[(*n)++] = name;
	return names;
}

static void
measured_put(json_t *doc, const struct words *before, const struct words *since,
    const struct store_named_cost *c, double elapsed_s)
{
	json_t *o = json_object();
	const double expected = result_number(doc, KEY_diet_samples_per_day) * elapsed_s / 86400,
		     saved = fmax(0, expected - c->samples),
		     bytes = result_number(doc, KEY_diet_bytes_per_sample);

	result_put_real(o, KEY_diet_measured_elapsed_s, elapsed_s);
	result_put_real(o, KEY_diet_measured_samples, c->samples);
	result_put_real(o, KEY_diet_measured_samples_before, expected);
	result_put_real(o, KEY_diet_measured_saved, saved / expected);
	result_put_real(o, KEY_diet_measured_bytes_saved, saved * bytes);
	result_put_real(
	    o, KEY_diet_measured_cpu_share_before, before->shares / (double)before->n_shares);
	result_put_real(o, KEY_diet_measured_cpu_share, since->shares / (double)since->n_shares);
	result_put_real(o, KEY_diet_measured_carried_out, since->carried_out);
	result_put_real(o, KEY_diet_measured_refused, since->refused);
	result_set(doc, KEY_diet_measured, o);
}

static int
measure(struct listing *l, const struct nw_diet_rec *rec, json_t *doc)
{
	int64_t from = rec->accepted_wall_ns;
	struct store_named_cost c;
	struct words before, since;
	const char **names;
	double elapsed_s;
	size_t n;
	int rc;

	if (from < l->now_wall_ns - DAY_NS)
		from = l->now_wall_ns - DAY_NS;
	if ((names = names_of(result_list(doc, KEY_diet_series), &n)) == NULL)
		return NW_ENOMEM;
	rc = store_named_cost(l->r, rec->host_id, names, n, from, l->now_wall_ns, &c);
	free(names);
	if (rc == NW_OK)
		rc = words_read(l->r, rec->host_id, rec->accepted_wall_ns - DAY_NS,
		    rec->accepted_wall_ns, &before);
	if (rc == NW_OK)
		rc = words_read(l->r, rec->host_id, from, l->now_wall_ns, &since);
	if (rc < 0)
		return rc;
	elapsed_s = fmin((double)(since.n_slots * WORD_NS), (double)(l->now_wall_ns - from)) / 1e9;
	measured_put(doc, &before, &since, &c, elapsed_s);
	return NW_OK;
}

/* --- the list --- */

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct listing *l = arg;

	l->host = h->name != NULL ? json_string(h->name) : NULL;
	return 0;
}

static int
on_diet(void *arg, const struct nw_diet_rec *rec)
{
	struct listing *l = arg;
	json_t *o = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	const bool in_force = rec->accepted_wall_ns != 0 && rec->ended_wall_ns == 0;
	int rc = NW_OK;

	if (!json_is_object(o)) {
		json_decref(o);
		return 0;
	}
	l->host = NULL;
	(void)store_host_get(l->r, rec->host_id, on_host, l);
	result_put_int(o, KEY_diet_id, rec->id);
	result_set(o, KEY_diet_host, l->host != NULL ? l->host : json_null());
	result_put_text(o, KEY_diet_group, rec->group);
	result_put_text(o, KEY_diet_state,
	    rec->ended_wall_ns != 0 ? "ended"
		: in_force          ? "in force"
				    : "proposed");
	result_put_iso_ms(o, KEY_diet_accepted, rec->accepted_wall_ns);
	result_put_iso_ms(o, KEY_diet_ended, rec->ended_wall_ns);
	result_put_iso_ms(o, KEY_diet_carries_again, rec->carried_wall_ns);
	result_set(o, KEY_diet_measured, json_null());
	if (in_force)
		rc = measure(l, rec, o);
	if (json_array_append_new(l->list, o) != 0)
		rc = NW_ENOMEM;
	return rc;
}

int
diets_list(struct store_reader *r, int64_t host_id, int64_t now_wall_ns, json_t **out)
{
	struct listing l = { .r = r, .list = json_array(), .now_wall_ns = now_wall_ns };
	int rc = store_diets(r, host_id, on_diet, &l);

	*out = l.list;
	if (rc < 0) {
		json_decref(l.list);
		*out = NULL;
	}
	return rc;
}

int
diets_document(struct store_reader *r, int64_t now_wall_ns, json_t **out)
{
	json_t *list, *doc;
	int rc = diets_list(r, 0, now_wall_ns, &list);

	*out = NULL;
	if (rc < 0)
		return rc;
	doc = json_object();
	result_put_text(doc, KEY_diets_schema, "narrows-diets/1");
	result_set(doc, KEY_diets_diets, list);
	*out = doc;
	return NW_OK;
}
