/* SPDX-License-Identifier: BSD-3-Clause */
/* Series, rows and metadata of an import: the findings of parsers become documents in the spool. */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "cli/import/import.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/frame.h"
#include "narrows/hex.h"
#include "narrows/hist.h"

enum { RELEASE_BYTES = 8 << 20 };

/* --- series --- */

struct import_series *
import_series_find(struct import *im, const char *key, size_t len)
{
	struct import_series *s;

	HASH_FIND(hh, im->series, key, len, s);
	return s;
}

static bool
is_sender(const struct import_host *h, const char *sender)
{
	return h->sender == NULL || sender == NULL ? h->sender == sender
						   : strcmp(h->sender, sender) == 0;
}

size_t
import_host_index(struct import *im, const char *name, const char *sender)
{
	size_t i;

	for (i = im->n_hosts; i-- > 0;) /* mostly the newest */
		if (strcmp(im->hosts[i].name, name) == 0 && is_sender(&im->hosts[i], sender))
			return i;
	im->hosts = xreallocarray(im->hosts, im->n_hosts + 1, sizeof(*im->hosts));
	im->hosts[im->n_hosts] =
	    (struct import_host){ .name = xstrdup(name), .sender = xstrdup(sender) };
	catalog_init(&im->hosts[im->n_hosts].catalog, IMPORT_FIELDS_MAX, NULL);
	return im->n_hosts++;
}

struct import_series *
import_series_add(
    struct import *im, const char *at, struct slice key, struct slice host, struct slice event_type)
{
	struct import_series *s;
	char *event, *name;

	if ((event = import_text_take(
		 im, at, event_type, "the event type", IMPORT_TEXT_MAX_BYTES)) == NULL)
		return NULL;
	if ((name = import_text_take(
		 im, at, host.len > 0 ? host : slice_of(im->host), "the host", 255)) == NULL) {
		free(event);
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->host = import_host_index(im, name, NULL);
	free(name);
	s->event_type = event;
	s->at = at;
	s->mid = xasprintf("%u", HASH_COUNT(im->series) + 1);
	s->subject = json_object();
	s->params = json_object();
	s->key = xmalloc(key.len + 1);
	memcpy(s->key, key.s, key.len);
	s->key[key.len] = '\0';
	HASH_ADD_KEYPTR(hh, im->series, s->key, key.len, s);
	return s;
}

void
import_series_name(struct import *im, struct import_series *s, const char *id, struct slice key)
{
	struct import_series *other, *tmp;
	bool taken = false;

	HASH_ITER (hh, im->series, other, tmp)
		taken =
		    taken || (other != s && other->host == s->host && strcmp(other->mid, id) == 0);
	free(s->mid);
	s->mid = taken ? xasprintf("%s@%.*s", id, (int)key.len, key.s) : xstrdup(id);
}

void
import_series_free(struct import_series *s)
{
	size_t i;

	for (i = 0; i < s->n_fields; i++)
		free(s->fields[i].name);
	free(s->fields);
	free(s->hist);
	free(s->key);
	free(s->mid);
	free(s->pid);
	free(s->event_type);
	json_decref(s->subject);
	json_decref(s->params);
	free(s);
}

static struct import_field *
field_add(struct import *im, struct import_series *s, const char *at, struct slice name)
{
	static const char *const reserved[] = { "ts", "ts_ns", "_sample", "h_dur" };
	struct import_host *h = &im->hosts[s->host];
	char *text = import_text_take(im, at, name, "the field's name", 255);
	size_t i;

	if (text == NULL)
		return NULL;
	for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(text, reserved[i]) == 0) {
			import_fail(im, at, "a field cannot be named %s", text);
			free(text);
			return NULL;
		}
	if (++h->n_fields > IMPORT_FIELDS_MAX) {
		import_fail(im, at, "more than %d series of one host in one import: split the file",
		    IMPORT_FIELDS_MAX);
		free(text);
		return NULL;
	}
	s->fields = xreallocarray(s->fields, s->n_fields + 1, sizeof(*s->fields));
	s->fields[s->n_fields] = (struct import_field){ .name = text };
	return &s->fields[s->n_fields++];
}

static struct import_field *
field_get(struct import *im, struct import_series *s, const char *at, struct slice name)
{
	size_t tries, i = s->n_set < s->n_fields ? s->n_set : 0; /* mostly in the same order */

	for (tries = 0; tries < s->n_fields; tries++, i = i + 1 < s->n_fields ? i + 1 : 0)
		if (slice_is(name, s->fields[i].name))
			return &s->fields[i];
	return field_add(im, s, at, name);
}

/* --- rows --- */

/* FNV-1a, twice, with different beginnings: to know the same import again. */
static void
hash_add(struct import *im, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t i;

	im->hash[0] = fnv_bytes(im->hash[0], p, len);
	for (i = len; i > 0; i--)
		im->hash[1] = fnv_byte(im->hash[1], p[i - 1]);
}

int
import_spool(struct import *im, size_t host, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct spooled head = { .host = (uint32_t)host, .opt = opt, .len = (uint32_t)len };

	hash_add(im, doc, len);
	if (fwrite(&head, sizeof(head), 1, im->spool) != 1 || fwrite(doc, 1, len, im->spool) != len)
		return stat_fail(im->err, NW_EIO, "temporary file: %s", strerror(errno));
	im->hosts[host].n_docs += opt == NW_OPT_DATA || opt == NW_OPT_OPS;
	return NW_OK;
}

/* Gives pages of a mapped file back that lie behind the parser. A later look back reads such pages
 * from the file again. */
static void
pages_release(struct import *im, const char *at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from, to;

	if (im->released == NULL || at - im->released < RELEASE_BYTES)
		return;
	from = ((uintptr_t)im->released + page - 1) / page * page;
	to = (uintptr_t)at / page * page;
	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
	im->released = at;
}

int
import_row_flush(struct import *im, struct import_series *s, const char *at)
{
	const char *names[IMPORT_ROW_FIELDS_MAX];
	double values[IMPORT_ROW_FIELDS_MAX];
	size_t i, n = 0;
	bool new_field = false;

	if (s->n_set == 0)
		return NW_OK;
	if (s->n_set > IMPORT_ROW_FIELDS_MAX)
		return import_fail(
		    im, at, "more than %d fields at one time", IMPORT_ROW_FIELDS_MAX);
	for (i = 0; i < s->n_fields; i++)
		if (s->fields[i].set) {
			names[n] = s->fields[i].name;
			values[n++] = s->fields[i].value;
			s->fields[i].set = false;
			new_field = new_field || i >= s->n_sent;
		}
	if (new_field && ++s->n_layouts > IMPORT_LAYOUTS_MAX)
		return import_fail(im, at, "the fields of this series change too often");
	if (new_field)
		s->n_sent = s->n_fields;
	s->n_set = 0;
	if (nw_data_encode(&im->doc, s->mid, s->t_wall_ns, names, values, n, s->hist, s->hist_len) <
	    0)
		return import_fail(im, at, "this row cannot be encoded");
	s->hist_len = 0;
	im->n_values += n;
	pages_release(im, at);
	if (s->t_wall_ns < im->t_min_wall_ns)
		im->t_min_wall_ns = s->t_wall_ns;
	if (s->t_wall_ns > im->t_max_wall_ns)
		im->t_max_wall_ns = s->t_wall_ns;
	return import_spool(im, s->host, NW_OPT_DATA, im->doc.data, im->doc.len);
}

/* Whether a box takes the value for "no value", from any sender: not a number, infinite, or a
 * caliper's deviation (sd_v, sd_r, ...) below 0, which means undefined. */
static bool
is_no_value(struct slice field, double value)
{
	return !(fabs(value) < DBL_MAX) ||
	    (value < 0 && (slice_starts(field, "sd_") || slice_starts(field, "sd.")) &&
		field.len == 4 && strchr("vrgd", field.s[3]) != NULL);
}

int
import_value(struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns,
    struct slice field, double value)
{
	struct import_field *f;
	int rc;

	if (is_no_value(field, value)) {
		im->n_left_out++;
		return NW_OK;
	}
	if (s->n_set > 0 && t_wall_ns != s->t_wall_ns && (rc = import_row_flush(im, s, at)) < 0)
		return rc;
	if ((f = field_get(im, s, at, field)) == NULL)
		return NW_EPROTO;
	if (f->set && (rc = import_row_flush(im, s, at)) < 0)
		return rc;
	s->t_wall_ns = t_wall_ns;
	f->set = true;
	f->value = value;
	s->n_set++;
	return NW_OK;
}

int
import_hist(struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns,
    const uint8_t *hist, size_t len)
{
	uint64_t counts[NW_HIST_BUCKETS] = { 0 };

	if (len > NW_HIST_ENCODED_MAX_BYTES || nw_hist_decode_add(hist, len, counts) < 0)
		return import_fail(im, at, "not a histogram");
	if (s->n_set == 0 || s->t_wall_ns != t_wall_ns)
		return NW_OK;
	s->hist = xreallocarray(s->hist, len, 1);
	memcpy(s->hist, hist, s->hist_len = len);
	return NW_OK;
}

int
import_hist_hex(
    struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns, const char *hex)
{
	uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	size_t len = hex != NULL ? strlen(hex) / 2 : 0;

	if (hex == NULL || len == 0 || len > sizeof(hist) || hex[2 * len] != '\0' ||
	    !nw_hex_take(hex, hist, len))
		return import_fail(im, at, "h_dur is not a histogram in hex");
	return import_hist(im, s, at, t_wall_ns, hist, len);
}

/* --- metadata --- */

static size_t
kvs_of(json_t *object, struct nw_kv *kv, char **texts)
{
	const char *key;
	json_t *v;
	size_t n = 0;

	json_object_foreach(object, key, v)
	{
		kv[n] = (struct nw_kv){ .key = key };
		texts[n] = NULL;
		if (json_is_integer(v)) {
			kv[n].type = NW_KV_INT;
			kv[n].v.i = json_integer_value(v);
		} else if (json_is_real(v)) {
			kv[n].type = NW_KV_REAL;
			kv[n].v.d = json_real_value(v);
		} else if (json_is_boolean(v)) {
			kv[n].type = NW_KV_BOOL;
			kv[n].v.i = json_is_true(v);
		} else {
			kv[n].type = NW_KV_TEXT;
			if (!json_is_string(v))
				texts[n] = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
			kv[n].v.text = json_is_string(v) ? json_string_value(v) : texts[n];
		}
		n++;
	}
	return n;
}

void
import_meta(struct import *im, const struct import_series *s)
{
	size_t n_s = json_object_size(s->subject), n_p = json_object_size(s->params), i;
	struct nw_kv *kv = xcalloc(n_s + n_p + 1, sizeof(*kv));
	char **texts = xcalloc(n_s + n_p + 1, sizeof(*texts));

	kvs_of(s->subject, kv, texts);
	kvs_of(s->params, kv + n_s, texts + n_s);
	if (nw_meta_encode(&im->doc, s->mid, s->pid, s->event_type, kv, n_s, kv + n_s, n_p) < 0)
		abort(); /* import_text_take() refuses text without an encoding */
	for (i = 0; i < n_s + n_p; i++)
		free(texts[i]);
	free(texts);
	free(kv);
}

int
import_meta_check(struct import *im, const struct import_series *s)
{
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	struct nw_doc_sink none = { 0 };
	const char *why = NULL;
	int rc;

	import_meta(im, s);
	rc = d != NULL ? nw_doc_decode(d, NW_OPT_META, im->doc.data, im->doc.len, &none, &why)
		       : NW_ENOMEM;
	nw_doc_decoder_free(d);
	hash_add(im, im->doc.data, im->doc.len);
	if (rc == NW_OK)
		return NW_OK;
	return import_fail(
	    im, s->at, "the description of this series: %s", why != NULL ? why : nw_strerror(rc));
}

void
import_set_unit(struct import_series *s, struct slice field, const char *unit)
{
	char *name = xasprintf("unit_%.*s", (int)field.len, field.s);

	if (*unit != '\0' && json_object_get(s->params, name) == NULL)
		json_object_set_new(s->params, name, json_string(unit));
	free(name);
}

void
import_provider(const struct import *im, size_t host, char out[64])
{
	uint64_t h = FNV_BEGIN;
	const struct import_host *of = &im->hosts[host];
	const char *texts[] = { im->session != NULL ? im->session : "", "/", of->name,
		of->sender != NULL ? "/" : "", of->sender != NULL ? of->sender : "" };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		h = fnv_text(h, texts[i]);
	snprintf(out, 64, "import-%016" PRIx64 "%016" PRIx64 "%08x", im->hash[0], im->hash[1],
	    (unsigned)(h ^ h >> 32));
}
