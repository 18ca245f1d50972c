/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data and store files of NM-WG (narrows/nmwg.h): one series per metadata, one row per time.
 *
 * The event type of a series is a type outside of NM-WG's namespaces, else NM-WG's. The end points
 * and the interface of a subject are the series' subject. A datum's numbers are the fields; its
 * other texts (the address of a hop) and the buckets of a histogram make series of their own, whose
 * subject has the text. A metadata without subject or event type takes those of the metadata named
 * by its metadataIdRef. Data of an interval stand at its end, with the interval's length as
 * interval_s.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/err.h"
#include "narrows/nmwg.h"
#include "narrows/xmalloc.h"

static const char achievable[] = NMWG_SPACE "characteristics/bandwidth/achievable/2.0";

/* Units of fields whose datums name none; the first match wins. */
static const struct {
	const char *type, *field, *unit; /* type: a part of the event type */
} units[] = {
	{ "/tools/iperf", "throughput", "bit/s" },
	{ "/tools/iperf", "jitter", "ms" },
	{ "/tools/bwctl", "throughput", "bit/s" },
	{ "/tools/bwctl", "jitter", "ms" },
	{ "/bandwidth/achievable", "throughput", "bit/s" },
	{ "/bandwidth/achievable", "jitter", "ms" },
	{ "/delay/summary", "min_delay", "s" },
	{ "/delay/summary", "med_delay", "s" },
	{ "/delay/summary", "max_delay", "s" },
	{ "/delay/summary", "maxError", "s" },
	{ "/tools/owamp", "min_delay", "s" },
	{ "/tools/owamp", "med_delay", "s" },
	{ "/tools/owamp", "max_delay", "s" },
	{ "/tools/owamp", "maxError", "s" },
	{ "/tools/ping/", "value", "ms" },
	{ "/tools/pinger", "minRtt", "ms" },
	{ "/tools/pinger", "maxRtt", "ms" },
	{ "/tools/pinger", "meanRtt", "ms" },
	{ "/tools/pinger", "medianRtt", "ms" },
	{ "/tools/pinger", "lossPercent", "%" },
	{ "/tools/traceroute", "value", "ms" },
};

struct reading {
	struct import *im;
	bool own; /* whether Narrows wrote the file, whose parameters have all units */
};

/* --- metadata --- */

/* Names of topology as the box's subjects have them. */
static const char *
subject_name(const char *name)
{
	return strcmp(name, "ifName") == 0   ? "interface"
	    : strcmp(name, "hostName") == 0  ? "hostname"
	    : strcmp(name, "ifAddress") == 0 ? "address"
					     : name;
}

static int
pair_set(struct import *im, const char *at, struct import_series *s, const struct nmwg_pair *p)
{
	json_t *object = p->of_subject ? s->subject : s->params, *v;
	json_error_t e;

	if (!p->is_json)
		return import_set(im, at, object,
		    slice_of(p->of_subject ? subject_name(p->name) : p->name), slice_of(p->value));
	if ((v = json_loads(p->value, JSON_DECODE_ANY, &e)) == NULL)
		return import_fail(im, at, "the parameter %s is no JSON: %s", p->name, e.text);
	return json_object_set_new(object, p->name, v) == 0
	    ? NW_OK
	    : import_fail(im, at, "the name of a parameter is not UTF-8");
}

/* Own files have each key of a subject as a parameter; topology beside is for other readers. */
static int
pairs_set(struct import *im, const char *at, struct import_series *s, const struct nmwg_meta *m)
{
	const struct nmwg_pair *p;
	int rc = NW_OK;

	for (p = m->pairs; p < m->pairs + m->n_pairs && rc == NW_OK; p++)
		if (!m->own || !p->is_topology)
			rc = pair_set(im, at, s, p);
	return rc;
}

static const char *
host_of(const struct nmwg_meta *m)
{
	size_t i;

	if (m->host != NULL)
		return m->host;
	for (i = 0; i < m->n_pairs; i++)
		if (m->pairs[i].of_subject && strcmp(m->pairs[i].name, "hostName") == 0)
			return m->pairs[i].value;
	return "";
}

/* Three spellings of a type are in use. */
static const char *
type_of(const struct nmwg_meta *m, const struct import_series *above)
{
	const char *type = m->event_type;

	if (type == NULL)
		return above != NULL ? above->event_type : "";
	return strstr(type, "/bandwidth/ach") != NULL ? achievable : type;
}

static int
on_meta(void *arg, size_t offset, const struct nmwg_meta *m)
{
	struct reading *r = arg;
	struct import *im = r->im;
	const char *at = im->bytes + offset;
	struct import_series *s, *above = NULL;
	struct slice key = slice_of(m->id != NULL ? m->id : "");
	int rc;

	r->own = r->own || m->own;
	if (key.len == 0 || key.len > IMPORT_TEXT_MAX_BYTES)
		return import_fail(im, at, "a metadata without an id");
	if (import_series_find(im, key.s, key.len) != NULL)
		return import_fail(im, at, "the metadata %s is described twice", m->id);
	if (m->ref != NULL)
		above = import_series_find(im, m->ref, strlen(m->ref));
	if ((s = import_series_add(
		 im, at, key, slice_of(host_of(m)), slice_of(type_of(m, above)))) == NULL)
		return NW_EPROTO;
	import_series_name(im, s, m->own ? m->own_id : m->id, key);
	if (m->own_pid != NULL || (!m->own && m->ref != NULL))
		s->pid = xstrdup(m->own_pid != NULL ? m->own_pid : m->ref);
	if ((rc = pairs_set(im, at, s, m)) == NW_OK && above != NULL && !m->own &&
	    json_object_size(s->subject) == 0)
		json_object_update(s->subject, above->subject);
	return rc;
}

/* --- data --- */

/* Returns true if the text is the beginning of a series of its own. */
static bool
is_apart(const struct nmwg_pair *p)
{
	double v;

	return strstr(p->name, "_bucket:") != NULL ||
	    (p->value[0] != '\0' && !import_number(slice_of(p->value), &v));
}

/* The series of a datum: that of its metadata, or of the metadata and a text. */
static struct import_series *
series_apart(struct import *im, const char *at, struct import_series *base, const char *text)
{
	char *key = xasprintf("%s\n%s", base->key, text), *id = xasprintf("%s:%s", base->mid, text);
	struct import_series *s = import_series_find(im, key, strlen(key));

	if (s == NULL &&
	    (s = import_series_add(im, at, slice_of(key), slice_of(im->hosts[base->host].name),
		 slice_of(base->event_type))) != NULL) {
		import_series_name(im, s, id, slice_of(key));
		s->pid = xstrdup(base->mid);
		json_object_update(s->subject, base->subject);
		json_object_update(s->params, base->params);
	}
	free(id);
	free(key);
	return s;
}

static struct import_series *
series_of(struct import *im, const char *at, struct import_series *base, const struct nmwg_datum *d)
{
	char *text = NULL, *longer;
	struct import_series *s = base;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < d->n_pairs; i++)
		if (is_apart(&d->pairs[i]) && strstr(d->pairs[i].name, "_bucket:") == NULL &&
		    strcmp(d->pairs[i].name, "h_dur") != 0) {
			longer = xasprintf("%s%s%s=%s", text != NULL ? text : "",
			    text != NULL ? ";" : "", d->pairs[i].name, d->pairs[i].value);
			free(text);
			text = longer;
		}
	if (text != NULL)
		s = series_apart(im, at, base, text);
	for (i = 0; s != NULL && s != base && i < d->n_pairs && rc == NW_OK; i++)
		if (is_apart(&d->pairs[i]) && strstr(d->pairs[i].name, "_bucket:") == NULL)
			rc = import_set(im, at, s->subject, slice_of(d->pairs[i].name),
			    slice_of(d->pairs[i].value));
	free(text);
	return rc == NW_OK ? s : NULL;
}

static void
unit_set(struct import_series *s, const char *field, const char *unit)
{
	size_t i;

	for (i = 0; unit == NULL && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(field, units[i].field) == 0 &&
		    strstr(s->event_type, units[i].type) != NULL)
			unit = units[i].unit;
	if (unit != NULL)
		import_set_unit(s, slice_of(field), strcmp(unit, "Bps") == 0 ? "By/s" : unit);
}

static int
bucket_take(struct import *im, const char *at, struct import_series *base, int64_t t,
    const struct nmwg_pair *p)
{
	const char *colon = strchr(p->name, ':');
	struct import_series *s = series_apart(im, at, base, p->name);
	double v;
	int rc;

	if (s == NULL)
		return NW_EPROTO;
	if (!import_number(slice_of(p->value), &v))
		return import_fail(im, at, "the count of a bucket is not a number");
	if ((rc = import_set(im, at, s->subject,
		 (struct slice){ p->name, (size_t)(colon - p->name) }, slice_of(colon + 1))) < 0)
		return rc;
	return import_value(im, s, at, t, slice_of("count"), v);
}

static int
pair_take(struct reading *r, const char *at, struct import_series *base, struct import_series *s,
    int64_t t, const struct nmwg_datum *d, const struct nmwg_pair *p)
{
	struct import *im = r->im;
	double v;

	if (strcmp(p->name, "h_dur") == 0)
		return import_hist_hex(im, s, at, t, p->value);
	if (strstr(p->name, "_bucket:") != NULL)
		return bucket_take(im, at, base, t, p);
	if (!import_number(slice_of(p->value), &v))
		return NW_OK; /* part of the subject */
	if (!r->own)
		unit_set(s, p->name, strcmp(p->name, "value") == 0 ? d->unit : NULL);
	return import_value(im, s, at, t, slice_of(p->name), v);
}

static bool
time_of(const char *text, int64_t *t)
{
	long long words;

	if (text == NULL)
		return false;
	if (import_time(slice_of(text), t))
		return true;
	if (!nmwg_time_words(text, &words))
		return false;
	*t = words;
	return true;
}

static int
on_datum(void *arg, size_t offset, const struct nmwg_datum *d)
{
	struct reading *r = arg;
	struct import *im = r->im;
	const char *at = im->bytes + offset;
	struct import_series *base, *s;
	int64_t t, from;
	size_t i;
	int rc = NW_OK;

	base = d->ref != NULL ? import_series_find(im, d->ref, strlen(d->ref)) : NULL;
	if (base == NULL)
		return import_fail(im, at, "data of a metadata that does not stand before");
	if (!time_of(d->time, &t))
		return import_fail(im, at,
		    "a datum's time is neither seconds since 1970 nor a "
		    "date of UTC");
	if ((s = series_of(im, at, base, d)) == NULL)
		return NW_EPROTO;
	for (i = 0; i < d->n_pairs && rc == NW_OK; i++)
		rc = pair_take(r, at, base, s, t, d, &d->pairs[i]);
	if (rc == NW_OK && d->from != NULL && time_of(d->from, &from) && from < t) {
		import_set_unit(s, slice_of("interval_s"), "s");
		rc = import_value(im, s, at, t, slice_of("interval_s"), (double)(t - from) / 1e9);
	}
	return rc;
}

int
import_nmwg(struct import *im)
{
	struct reading r = { .im = im };
	struct nmwg_sink sink = { .arg = &r, .on_meta = on_meta, .on_datum = on_datum };
	const char *why;
	size_t at;
	int rc = nmwg_read(im->bytes, (size_t)(im->end - im->bytes), &sink, &at, &why);

	return why != NULL ? import_fail(im, im->bytes + at, "%s", why) : rc;
}

bool
import_is_nmwg(const struct import *im)
{
	return nmwg_is(im->bytes, (size_t)(im->end - im->bytes));
}
