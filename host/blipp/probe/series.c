/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/blipp/probe/series_diet.h"
#include "narrows/err.h"

static const char *
kind_name(bool counter)
{
	return counter ? "counter" : "gauge";
}

size_t
series_describe(const struct series_kind *k, double interval_s, struct series_params *p)
{
	size_t i, n = 0, n_keys = 0;
	struct nw_kv *kv = p->kv;

	kv[n++] = (struct nw_kv){ "collectionInterval", NW_KV_REAL, { .d = interval_s } };
	kv[n++] = (struct nw_kv){ "unit", NW_KV_TEXT, { .text = k->fields[0].unit } };
	kv[n++] = (struct nw_kv){ "kind", NW_KV_TEXT, { .text = kind_name(k->fields[0].counter) } };
	for (i = 1; i < k->n_fields; i++) {
		const struct series_field *f = &k->fields[i];

		if (strcmp(f->unit, k->fields[0].unit) != 0) {
			snprintf(p->keys[n_keys], SERIES_KEY_BYTES, "unit_%s", f->name);
			kv[n++] =
			    (struct nw_kv){ p->keys[n_keys++], NW_KV_TEXT, { .text = f->unit } };
		}
		if (f->counter != k->fields[0].counter) {
			snprintf(p->keys[n_keys], SERIES_KEY_BYTES, "kind_%s", f->name);
			kv[n++] = (struct nw_kv){ p->keys[n_keys++], NW_KV_TEXT,
				{ .text = kind_name(f->counter) } };
		}
	}
	return n;
}

static int
announce(struct series *s, const struct series_kind *k, struct report *r)
{
	char event_type[SERIES_EVENT_BYTES];
	struct series_params params;
	struct nw_kv subject[3] = {
		{ "hostname", NW_KV_TEXT, { .text = r->host } },
		{ "type", NW_KV_TEXT, { .text = "host" } },
		{ k->device_key, NW_KV_TEXT, { .text = s->device } },
	};
	size_t n_params, type_len = strlen(k->event_type);
	int rc;

	snprintf(event_type, sizeof(event_type), "%s%s", k->event_type,
	    k->event_type[type_len - 1] == ':' ? s->device : "");
	snprintf(s->id, sizeof(s->id), "%s/%s%s%s", r->host, k->event_type + strlen(SERIES_PREFIX),
	    k->device_key != NULL && k->event_type[type_len - 1] != ':' ? "/" : "", s->device);
	n_params = series_describe(k, r->interval_s, &params);
	rc = nw_provider_meta(r->provider, s->id, NULL, event_type, subject,
	    k->device_key != NULL ? 3 : 2, params.kv, n_params);
	s->announced = rc == NW_OK;
	return rc;
}

int
series_send(
    struct series *s, const struct series_kind *kind, struct report *r, const double *values)
{
	const char *names[SERIES_FIELDS_MAX];
	size_t i;
	int rc;

	if (r->out != NULL)
		return r->out(r, s, kind, values);
	if (!s->announced && (rc = announce(s, kind, r)) < 0)
		return rc;
	if (r->diet != NULL && diet_holds(r->diet, s, kind, r->t_wall_ns))
		return NW_OK;
	for (i = 0; i < kind->n_fields; i++)
		names[i] = kind->fields[i].name;
	r->values += kind->n_fields;
	return nw_provider_data(
	    r->provider, s->id, r->t_wall_ns, names, values, kind->n_fields, NULL, 0);
}

int
series_send_rows(struct series *s, const struct series_kind *kind, struct report *r, size_t n,
    const int64_t *t_wall_ns, const double *values)
{
	const char *names[SERIES_FIELDS_MAX];
	size_t i;
	int rc;

	if (!s->announced && (rc = announce(s, kind, r)) < 0)
		return rc;
	for (i = 0; i < kind->n_fields; i++)
		names[i] = kind->fields[i].name;
	r->values += n * kind->n_fields;
	return nw_provider_rows(r->provider, s->id, names, kind->n_fields, n, t_wall_ns, values);
}

void
series_end(struct series *s, struct report *r)
{
	if (s->announced)
		nw_provider_meta_end(r->provider, s->id);
	s->announced = false;
}

struct series *
series_set_get(struct series_set *set, const char *device, size_t len)
{
	struct series *s, *list;
	size_t i, cap;

	if (len >= SERIES_DEVICE_BYTES)
		return NULL;
	/* devices are listed in the same order every time: look where the last search ended */
	for (i = 0; i < set->n; i++) {
		s = &set->list[(set->next + i) % set->n];
		if (strlen(s->device) == len && memcmp(s->device, device, len) == 0) {
			set->next = (size_t)(s - set->list) + 1;
			s->seen = true;
			return s;
		}
	}
	if (set->n == set->cap) {
		cap = set->cap > 0 ? 2 * set->cap : 8;
		if ((list = reallocarray(set->list, cap, sizeof(*list))) == NULL)
			return NULL;
		set->list = list;
		set->cap = cap;
	}
	s = &set->list[set->n++];
	memset(s, 0, sizeof(*s));
	memcpy(s->device, device, len);
	s->seen = true;
	return s;
}

void
series_set_sweep(struct series_set *set, struct report *r)
{
	size_t i, kept = 0;

	for (i = 0; i < set->n; i++) {
		struct series *s = &set->list[i];

		if (!s->seen) {
			series_end(s, r);
			continue;
		}
		s->seen = false;
		if (kept != i)
			set->list[kept] = *s;
		kept++;
	}
	set->n = kept;
	set->next = 0;
}

void
series_set_clear(struct series_set *set)
{
	free(set->list);
	memset(set, 0, sizeof(*set));
}
