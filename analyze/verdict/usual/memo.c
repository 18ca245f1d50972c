/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "analyze/verdict/usual/memo.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "analyze/verdict/usual/changed_told.h"
#include "narrows/err.h"
#include "narrows/result.h"

/* Documents kept: some 20 kB each. Stories kept: some 2 MB each. */
enum { DOCS_MAX = 600, STORIES_MAX = 6 };

struct memo_doc {
	int64_t session_id; /* hash key */
	uint64_t stamp;     /* of the document in the store */
	json_t *parts;
	UT_hash_handle hh;
};

struct memo_story {
	char *route, *program; /* program NULL: none */
	struct nw_story_memo *read;
};

struct analysis_memo {
	struct memo_doc *docs; /* hash by session; its first entry is the oldest */
	struct memo_story story[STORIES_MAX];
	size_t n_stories; /* the latest first */
};

struct analysis_memo *
memo_new(void)
{
	return xcalloc(1, sizeof(struct analysis_memo));
}

static void
doc_drop(struct analysis_memo *m, struct memo_doc *d)
{
	HASH_DEL(m->docs, d);
	json_decref(d->parts);
	free(d);
}

static void
story_drop(struct memo_story *s)
{
	free(s->route);
	free(s->program);
	nw_story_memo_free(s->read);
}

void
memo_free(struct analysis_memo *m)
{
	struct memo_doc *d, *tmp;

	if (m == NULL)
		return;
	HASH_ITER (hh, m->docs, d, tmp)
		doc_drop(m, d);
	while (m->n_stories > 0)
		story_drop(&m->story[--m->n_stories]);
	free(m);
}

/* --- parts --- */

double
memo_mean(const json_t *list)
{
	const json_t *v;
	double sum = 0;
	size_t i, n = 0;

	json_array_foreach(list, i, v) if (json_is_number(v))
	{
		sum += json_number_value(v);
		n++;
	}
	return n > 0 ? sum / (double)n : NAN;
}

/* Shares the value of a key. */
static void
share(json_t *to, const json_t *from, enum result_key key)
{
	json_t *v = (json_t *)(uintptr_t)result_get(from, key);

	if (v != NULL)
		result_set(to, key, json_incref(v));
}

static json_t *
of_keys(const json_t *from, const enum result_key *keys, size_t n)
{
	json_t *to = json_object();
	size_t i;

	for (i = 0; i < n; i++)
		share(to, from, keys[i]);
	return to;
}

static json_t *
densities(const json_t *list)
{
	static const enum result_key keys[] = { KEY_density_op, KEY_density_host,
		KEY_density_counts };
	json_t *to = json_array(), *o;
	size_t i;

	json_array_foreach(list, i, o)
	    json_array_append_new(to, of_keys(o, keys, sizeof(keys) / sizeof(keys[0])));
	return to;
}

static json_t *
hosts(const json_t *list)
{
	static const enum result_key keys[] = { KEY_timeline_host_cpu_busy,
		KEY_timeline_host_cpu_iowait, KEY_timeline_host_disk_busy },
				     name = KEY_timeline_host_host;
	json_t *to = json_array(), *o, *host, *mean;
	size_t i, k;

	json_array_foreach(list, i, o)
	{
		host = of_keys(o, &name, 1);
		for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			double v = memo_mean(result_list(o, keys[k]));

			mean = json_array();
			if (isfinite(v))
				json_array_append_new(mean, json_real(v));
			result_set(host, keys[k], mean);
		}
		json_array_append_new(to, host);
	}
	return to;
}

static json_t *
session(const json_t *from)
{
	static const enum result_key keys[] = { KEY_session_bytes, KEY_session_connections,
		KEY_session_ways, KEY_session_ports };
	static const enum result_key of_file[] = { KEY_file_host, KEY_file_path,
		KEY_file_read_bytes, KEY_file_write_bytes };
	const json_t *all = result_list(from, KEY_session_files), *file;
	json_t *to = of_keys(from, keys, sizeof(keys) / sizeof(keys[0])), *files = json_array();
	size_t i;

	json_array_foreach(all, i, file) json_array_append_new(files,
	    changed_told_is_most(all, file)
		? of_keys(file, of_file, sizeof(of_file) / sizeof(of_file[0]))
		: json_null());
	result_set(to, KEY_session_files, files);
	return to;
}

static json_t *
parts_of(const json_t *doc)
{
	static const enum result_key stages = KEY_bottleneck_stages, others = KEY_verdict_others;
	json_t *to = json_object(), *timeline = json_object();

	result_set(timeline, KEY_timeline_hosts,
	    hosts(result_list(result_get(doc, KEY_result_timeline), KEY_timeline_hosts)));
	result_set(to, KEY_result_timeline, timeline);
	result_set(
	    to, KEY_result_bottleneck, of_keys(result_get(doc, KEY_result_bottleneck), &stages, 1));
	result_set(
	    to, KEY_result_verdict, of_keys(result_get(doc, KEY_result_verdict), &others, 1));
	result_set(to, KEY_result_session, session(result_get(doc, KEY_result_session)));
	result_set(to, KEY_result_density, densities(result_list(doc, KEY_result_density)));
	return to;
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	json_t *doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;

	(void)s;
	if (doc != NULL)
		*(json_t **)arg = parts_of(doc);
	json_decref(doc);
	return 1;
}

/* --- the memo --- */

static void
doc_keep(struct analysis_memo *m, int64_t session_id, uint64_t stamp, json_t *parts)
{
	struct memo_doc *d;

	HASH_FIND(hh, m->docs, &session_id, sizeof(session_id), d);
	if (d == NULL && HASH_COUNT(m->docs) == DOCS_MAX)
		d = m->docs;
	if (d != NULL)
		doc_drop(m, d);
	d = xcalloc(1, sizeof(*d));
	d->session_id = session_id;
	d->stamp = stamp;
	d->parts = json_incref(parts);
	HASH_ADD(hh, m->docs, session_id, sizeof(d->session_id), d);
}

int
memo_document(struct store_reader *r, struct analysis_memo *m, int64_t session_id, json_t **doc)
{
	bool has_stamp;
	uint64_t stamp;
	struct memo_doc *d = NULL;
	int rc;

	*doc = NULL;
	has_stamp = m != NULL && store_result_stamp(r, session_id, &stamp) == NW_OK;
	if (has_stamp)
		HASH_FIND(hh, m->docs, &session_id, sizeof(session_id), d);
	if (d != NULL && d->stamp == stamp) {
		*doc = json_incref(d->parts);
		return NW_OK;
	}
	rc = store_session_get(r, session_id, on_session, doc);
	if (rc == NW_OK && *doc != NULL && has_stamp)
		doc_keep(m, session_id, stamp, *doc);
	return rc;
}

/* --- stories --- */

static bool
is_story_of(const struct memo_story *s, const char *route, const char *program)
{
	return strcmp(s->route, route) == 0 && (s->program == NULL) == (program == NULL) &&
	    (program == NULL || strcmp(s->program, program) == 0);
}

struct nw_story_memo *
memo_story(struct analysis_memo *m, const char *route, const char *program)
{
	struct memo_story found;
	size_t i;

	if (m == NULL)
		return NULL;
	for (i = 0; i < m->n_stories && !is_story_of(&m->story[i], route, program); i++)
		;
	if (i < m->n_stories) {
		found = m->story[i];
	} else {
		found = (struct memo_story){ .route = xstrdup(route),
			.program = program != NULL ? xstrdup(program) : NULL,
			.read = nw_story_memo_new() };
		if (m->n_stories == STORIES_MAX)
			story_drop(&m->story[--m->n_stories]);
		i = m->n_stories++;
	}
	memmove(&m->story[1], &m->story[0], i * sizeof(m->story[0]));
	m->story[0] = found;
	return found.read;
}
