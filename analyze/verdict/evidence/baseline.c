/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/evidence/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/density.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/hist.h"
#include "narrows/xmalloc.h"

static const char cached_class[] = "page cache";
static const double NS = 1e-9;

static const struct nw_io_options limit_options = { 4096, 1.1, true };

/* The measurement of a class, direction and size. */
struct point {
	int64_t meta_id, first_wall_ns;
	bool write;
	char *id, *mount, *filesystem, *device, *class, *name, *named_by;
	double size_bytes;
	struct nw_io_point durations; /* n is 0 without operations */
};

struct points {
	struct point *list;
	size_t n;
};

/* --- metadata --- */

static char *
text_dup(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return xstrdup(text != NULL ? text : "");
}

static int
on_baseline_meta(void *points, const struct nw_meta_rec *m)
{
	struct points *p = points;
	json_t *subject = json_loads(m->subject_json, 0, NULL),
	       *params = json_loads(m->params_json, 0, NULL);
	const json_t *size = json_object_get(params, "size");

	if (json_is_number(size)) {
		p->list = xreallocarray(p->list, p->n + 1, sizeof(*p->list));
		p->list[p->n++] = (struct point){ .meta_id = m->id,
			.first_wall_ns = m->first_wall_ns,
			.write = strstr(m->event_type, ":write") != NULL,
			.id = text_dup(params, "baseline"),
			.mount = text_dup(subject, "resource"),
			.filesystem = text_dup(subject, "filesystem"),
			.device = text_dup(subject, "device"),
			.class = text_dup(params, "class"),
			.name = text_dup(params, "name"),
			.named_by = text_dup(params, "namedBy"),
			.size_bytes = json_number_value(size) };
	}
	json_decref(subject);
	json_decref(params);
	return 0;
}

static void
points_clear(struct points *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->list[i].id);
		free(p->list[i].mount);
		free(p->list[i].filesystem);
		free(p->list[i].device);
		free(p->list[i].class);
		free(p->list[i].name);
		free(p->list[i].named_by);
	}
	free(p->list);
}

/* Whether a later baseline of the same mount exists; metadata come in the order of arrival. */
static bool
is_replaced(const struct points *p, const struct point *point)
{
	const struct point *last = NULL, *other;

	for (other = p->list; other < p->list + p->n; other++)
		if (strcmp(other->mount, point->mount) == 0)
			last = other;
	return last != NULL && strcmp(last->id, point->id) != 0;
}

/* --- durations of a point --- */

static int
on_durations(void *counts, const struct store_block *b)
{
	size_t i;

	for (i = 0; b->hist != NULL && i < b->n_rows; i++)
		if (b->hist[i] != NULL)
			(void)nw_hist_decode_add(b->hist[i], b->hist_len[i], counts);
	return 0;
}

struct layouts {
	int64_t id[8];
	size_t n;
};

static int
on_baseline_layout(void *layouts, const struct nw_layout_rec *rec)
{
	struct layouts *l = layouts;

	if (l->n < sizeof(l->id) / sizeof(l->id[0]))
		l->id[l->n++] = rec->id;
	return 0;
}

static void
point_measure(
    struct point *p, const uint64_t counts[NW_HIST_BUCKETS], struct nw_density_bucket *buckets)
{
	size_t n = 0, i;

	for (i = 0; i < NW_HIST_BUCKETS; i++)
		if (counts[i] > 0) {
			nw_hist_bounds((uint32_t)i, &buckets[n].low, &buckets[n].high);
			buckets[n++].count = (double)counts[i];
		}
	if (n > 0)
		nw_io_point_of_buckets(p->size_bytes, buckets, n, NS, &p->durations);
}

static int
point_read(struct store_reader *r, struct point *p, struct nw_density_bucket *buckets)
{
	uint64_t *counts = xcalloc(NW_HIST_BUCKETS, sizeof(*counts));
	struct layouts l = { .n = 0 };
	size_t i;
	int rc = store_layouts(r, p->meta_id, on_baseline_layout, &l);

	for (i = 0; i < l.n && rc == NW_OK; i++)
		rc = store_rows(r, l.id[i], INT64_MIN, INT64_MAX, on_durations, counts);
	if (rc == NW_OK)
		point_measure(p, counts, buckets);
	free(counts);
	return rc;
}

/* --- models --- */

static struct baseline *
baseline_get(struct baselines *out, const struct point *p)
{
	struct baseline *b;
	size_t i;

	for (i = 0; i < out->n; i++)
		if (strcmp(out->list[i].mount, p->mount) == 0)
			return &out->list[i];
	out->list = xreallocarray(out->list, out->n + 1, sizeof(*out->list));
	b = &out->list[out->n++];
	*b = (struct baseline){ .mount = xstrdup(p->mount),
		.filesystem = xstrdup(p->filesystem),
		.device = xstrdup(p->device),
		.measured_wall_ns = p->first_wall_ns };
	return b;
}

static bool
is_of_class(const struct point *p, const struct baseline *b, const struct baseline_class *k)
{
	return p->write == k->write && p->durations.n > 0 && strcmp(p->class, k->class) == 0 &&
	    strcmp(p->mount, b->mount) == 0;
}

static int
class_fit(struct baseline_class *k)
{
	struct nw_io_limit *limits = xcalloc(k->n_sizes + 1, sizeof(*limits));
	size_t i;
	int rc;

	for (i = 0; i < k->n_sizes; i++)
		limits[i] = (struct nw_io_limit){ k->points[i].size_bytes,
			nw_io_point_limit(&k->points[i]) };
	nw_io_curve_clear(&k->durations);
	if ((rc = nw_io_curve_make(k->points, k->n_sizes, &k->durations)) == NW_OK)
		rc = nw_io_fit(limits, k->n_sizes, &limit_options, &k->limit);
	free(limits);
	return rc;
}

static int
class_measure(const struct points *p, size_t n, const struct baseline *b, struct baseline_class *k)
{
	size_t i;

	k->points = xcalloc(n + 1, sizeof(*k->points));
	for (i = 0; i < n; i++)
		if (is_of_class(&p->list[i], b, k))
			k->points[k->n_sizes++] = p->list[i].durations;
	return class_fit(k);
}

/* --- ways to a device that cannot be told apart --- */

static const struct {
	bool write;
	const char *class;
} device_classes[] = { { false, "device cache" }, { false, "short seek" }, { false, "long seek" },
	{ true, "device" }, { true, "random device" } };

const char baseline_device[] = "device";

static bool
is_way_to_device(const struct baseline_class *k)
{
	size_t i;

	for (i = 0; i < sizeof(device_classes) / sizeof(device_classes[0]); i++)
		if (device_classes[i].write == k->write &&
		    strcmp(device_classes[i].class, k->class) == 0)
			return true;
	return !k->write && strcmp(k->class, baseline_device) == 0;
}

static void
class_clear(struct baseline_class *k)
{
	free(k->class);
	free(k->name);
	free(k->points);
	nw_io_curve_clear(&k->durations);
}

/* Mixes the points of a class into another, and names the sum; an administrator's name stays. */
static int
class_take(struct baseline_class *to, struct baseline_class *from)
{
	size_t i, j;

	for (i = 0; i < from->n_sizes; i++) {
		for (j = 0; j < to->n_sizes; j++)
			if (to->points[j].size_bytes == from->points[i].size_bytes)
				break;
		if (j < to->n_sizes) {
			nw_io_point_mix(&to->points[j], &from->points[i], &to->points[j]);
			continue;
		}
		to->points = xreallocarray(to->points, to->n_sizes + 1, sizeof(*to->points));
		to->points[to->n_sizes++] = from->points[i];
	}
	free(to->class);
	to->class = xstrdup(baseline_device);
	if (!to->by_administrator) {
		free(to->name);
		to->name = xstrdup(from->by_administrator ? from->name : baseline_device);
		to->by_administrator = from->by_administrator;
	}
	class_clear(from);
	return class_fit(to);
}

/* Whether two classes lead to the device, and fewer than four fifths of their operations would
 * find the right one of the two. */
static bool
is_same_way(const struct baseline_class *a, const struct baseline_class *b)
{
	static const double APART_MIN = 0.8;

	return a->write == b->write && is_way_to_device(a) && is_way_to_device(b) &&
	    nw_io_curves_apart(&a->durations, &b->durations) < APART_MIN;
}

static int
classes_merge(struct baseline *b)
{
	size_t i, j;
	int rc;

	for (i = 0; i < b->n; i++)
		for (j = i + 1; j < b->n; j++) {
			if (!is_same_way(&b->classes[i], &b->classes[j]))
				continue;
			rc = class_take(&b->classes[i], &b->classes[j]);
			memmove(&b->classes[j], &b->classes[j + 1],
			    (b->n - j - 1) * sizeof(*b->classes));
			b->n--;
			if (rc != NW_OK)
				return rc;
			i = 0; /* the sum may resemble a class that its parts did not */
			j = 0;
		}
	return NW_OK;
}

static void
class_add(struct baseline *b, const struct point *p)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if (b->classes[i].write == p->write && strcmp(b->classes[i].class, p->class) == 0)
			return;
	b->classes = xreallocarray(b->classes, b->n + 1, sizeof(*b->classes));
	b->classes[b->n++] = (struct baseline_class){ .class = xstrdup(p->class),
		.name = xstrdup(p->name),
		.by_administrator = strcmp(p->named_by, "administrator") == 0,
		.write = p->write,
		.cached = strcmp(p->class, cached_class) == 0 };
}

/* Leaves out points of replaced baselines. */
static size_t
points_keep_newest(struct points *p)
{
	size_t i, n = 0;
	bool *replaced = xcalloc(p->n + 1, sizeof(*replaced));
	struct point spare;

	for (i = 0; i < p->n; i++)
		replaced[i] = is_replaced(p, &p->list[i]);
	for (i = 0; i < p->n; i++)
		if (!replaced[i]) {
			spare = p->list[n];
			p->list[n++] = p->list[i];
			p->list[i] = spare;
		}
	free(replaced);
	return n;
}

int
baselines_load(struct store_reader *r, int64_t host_id, struct baselines *out)
{
	struct nw_density_bucket *buckets;
	struct points p = { 0 };
	size_t i, k, n;
	int rc;

	*out = (struct baselines){ 0 };
	if ((rc = store_metas(r, 0, host_id, NW_TYPE_BASELINE, on_baseline_meta, &p)) < 0 ||
	    p.n == 0)
		goto out;
	n = points_keep_newest(&p);
	buckets = xcalloc(NW_HIST_BUCKETS, sizeof(*buckets));
	for (i = 0; i < n && rc == NW_OK; i++) {
		rc = point_read(r, &p.list[i], buckets);
		class_add(baseline_get(out, &p.list[i]), &p.list[i]);
	}
	free(buckets);
	for (i = 0; i < out->n && rc == NW_OK; i++) {
		for (k = 0; k < out->list[i].n && rc == NW_OK; k++)
			rc = class_measure(&p, n, &out->list[i], &out->list[i].classes[k]);
		if (rc == NW_OK)
			rc = classes_merge(&out->list[i]);
	}
out:
	points_clear(&p);
	if (rc < 0)
		baselines_clear(out);
	return rc;
}

void
baselines_clear(struct baselines *b)
{
	size_t i, k;

	for (i = 0; i < b->n; i++) {
		for (k = 0; k < b->list[i].n; k++)
			class_clear(&b->list[i].classes[k]);
		free(b->list[i].classes);
		free(b->list[i].mount);
		free(b->list[i].filesystem);
		free(b->list[i].device);
	}
	free(b->list);
	*b = (struct baselines){ 0 };
}

/* --- use --- */

static bool
is_below(const char *path, const char *mount)
{
	size_t n = strlen(mount);

	return strcmp(mount, "/") == 0 ||
	    (n > 0 && strncmp(path, mount, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

const struct baseline *
baselines_find(const struct baselines *b, const char *path)
{
	const struct baseline *found = NULL;
	size_t i;

	for (i = 0; i < b->n && path[0] == '/'; i++)
		if (is_below(path, b->list[i].mount) &&
		    (found == NULL || strlen(b->list[i].mount) > strlen(found->mount)))
			found = &b->list[i];
	return found;
}

bool
baseline_class_is_usable(const struct baseline_class *k)
{
	return k->durations.status == NW_STATUS_OK;
}

/* Whether an operation is faster than half of the fastest hundredth of every class, none of which
 * is of the page cache: what else it was is not known. */
static bool
is_faster_than_all(const struct baseline *b, bool write, double size_bytes, double duration_s)
{
	const struct baseline_class *k;
	struct nw_io_point p;
	double least_s = INFINITY;
	size_t i;

	for (i = 0; i < b->n; i++) {
		k = &b->classes[i];
		if (k->write != write || !baseline_class_is_usable(k) ||
		    !nw_io_curve_at(&k->durations, size_bytes, &p))
			continue;
		if (k->cached)
			return false;
		least_s = fmin(least_s, exp(p.ln_s[0]));
	}
	return duration_s < least_s / 2 && isfinite(least_s);
}

size_t
baseline_classify(const struct baseline *b, bool write, double size_bytes, double duration_s,
    bool *near, size_t *n_near)
{
	const struct nw_io_curve **curves = xcalloc(b->n + 1, sizeof(*curves));
	size_t i, found;

	for (i = 0; i < b->n; i++)
		if (b->classes[i].write == write)
			curves[i] = &b->classes[i].durations;
	found = nw_io_curves_name(curves, b->n, size_bytes, duration_s, near, n_near);
	free(curves);
	if (!is_faster_than_all(b, write, size_bytes, duration_s))
		return found;
	memset(near, 0, b->n * sizeof(*near));
	*n_near = 0;
	return b->n + 1;
}

double
baseline_cached_s(const struct baseline *b, bool write, double size_bytes)
{
	struct nw_io_point p;
	size_t i;

	for (i = 0; i < b->n; i++)
		if (b->classes[i].write == write && b->classes[i].cached &&
		    baseline_class_is_usable(&b->classes[i]) &&
		    nw_io_curve_at(&b->classes[i].durations, size_bytes, &p))
			return p.mean_s;
	return NAN;
}
