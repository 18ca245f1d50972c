/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict of a transfer again, out of the windows of both sites: the windows become a store
 * with one session, as the box of this site has the session, and the analysis of the box runs on
 * that store.
 */
#include "cli/partner/partner.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/import/import.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/progress.h"
#include "narrows/resultdoc.h"
#include "narrows/store.h"
#include "narrows/xmalloc.h"

static const char task[] = "windows";
/* The defaults of narrowsd.conf(5). */
static const struct analysis_params params = {
	.judge = { .alpha = 0.05, .margin = 0.1 },
	.segments = { .alpha = 0.05, .margin = 0.1, .windows_min = 5 },
	.classes = { .adjust = 2, .peak_min = 0.01, .cutoff = 0.05 },
	.reduction = { .window_ns = INT64_C(1000000000), .rows_min = 30 },
};

struct side {
	char *bytes;
	struct windows w;
	struct partner_end ends[PARTNER_ENDS_MAX];
	size_t n;
	struct clean clean;
};

static int64_t
head_ns(const struct side *s, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(s->w.head, key));
}

static bool
are_of_one_transfer(const struct side side[2])
{
	const char *a = json_string_value(json_object_get(side[0].w.head, "site")),
		   *b = json_string_value(json_object_get(side[1].w.head, "site"));
	struct partner_end turned;
	size_t i;

	if (a == NULL || b == NULL || strcmp(a, b) == 0)
		return false;
	for (i = 0; i < side[0].n; i++) {
		turned = end_turned(&side[0].ends[i]);
		if (end_in(side[1].ends, side[1].n, &turned))
			return true;
	}
	return false;
}

static int
sides_open(const struct partner_conf *c, const char *const path[2], struct side side[2],
    char why[PARTNER_WHY_BYTES])
{
	int i, rc = NW_OK;

	for (i = 0; i < 2 && rc == NW_OK; i++) {
		rc = windows_file(c, path[i], &side[i].bytes, &side[i].w, why);
		if (rc == NW_OK &&
		    (rc = ends_read(
			 json_object_get(side[i].w.head, "ends"), side[i].ends, &side[i].n)) < 0)
			snprintf(why, PARTNER_WHY_BYTES, "%.200s: no connections", path[i]);
	}
	if (rc == NW_OK && !are_of_one_transfer(side)) {
		snprintf(why, PARTNER_WHY_BYTES,
		    "the files are not the windows of both sites of one transfer");
		rc = NW_EPROTO;
	}
	return rc;
}

/* Hosts of this site keep their names, as on the page of this site. */
static int
sides_clean(const struct partner_conf *c, struct side side[2], char why[PARTNER_WHY_BYTES])
{
	const int64_t from[2] = { head_ns(&side[0], "from_ns"), head_ns(&side[1], "from_ns") },
		      to[2] = { head_ns(&side[0], "to_ns"), head_ns(&side[1], "to_ns") };
	const double bound =
	    partner_larger_bound(partner_bound(json_object_get(side[0].w.head, "clock")),
		partner_bound(json_object_get(side[1].w.head, "clock")));
	const char *site, *fault = NULL;
	int i, rc = NW_OK;

	for (i = 0; i < 2 && rc == NW_OK; i++) {
		site = json_string_value(json_object_get(side[i].w.head, "site"));
		side[i].clean = (struct clean){ .site = strcmp(site, c->site) == 0 ? NULL : site,
			.task = task,
			.ends = side[i].ends,
			.n_ends = side[i].n,
			.from_wall_ns = from[0] < from[1] ? from[0] : from[1],
			.to_wall_ns = to[0] > to[1] ? to[0] : to[1],
			.boxes_bound_s = bound,
			.apart = true };
		rc = clean_take(&side[i].clean, side[i].w.docs, side[i].w.docs_len, &fault);
	}
	if (rc < 0)
		snprintf(why, PARTNER_WHY_BYTES, "%.300s", fault != NULL ? fault : "malformed");
	return rc;
}

/* --- the store --- */

int
documents_put(
    const struct documents *d, documents_to_fn *to, const char *where, char why[PARTNER_WHY_BYTES])
{
	struct stat_error err = { "" };
	struct import_done done;
	struct progress p;
	struct import im;
	int rc;

	import_init(&im, d->name, d->bytes, d->len, NULL, "windows", &err);
	if ((rc = import_parse(&im, "bson")) == NW_OK) {
		if (!d->of_session) {
			free(im.session);
			im.session = NULL;
		}
		progress_begin(&p, "narrows partner", (uint64_t)ftello(im.spool), false);
		rc = to(&im, where, &p, &done);
		progress_end(&p);
	}
	if (rc < 0)
		snprintf(why, PARTNER_WHY_BYTES, "%.400s",
		    err.text[0] != '\0' ? err.text : nw_strerror(rc));
	import_clear(&im);
	return rc;
}

static int
store_put(const char *store_path, const char *docs, size_t len, bool of_session,
    char why[PARTNER_WHY_BYTES])
{
	const struct documents d = { of_session ? "session" : "hosts", docs, len, of_session };

	return len > 0 ? documents_put(&d, import_to_store, store_path, why) : NW_OK;
}

static int
store_fill(const char *store_path, const struct side side[2], char why[PARTNER_WHY_BYTES])
{
	const struct clean *a = &side[0].clean, *b = &side[1].clean;
	char *docs = xmalloc(a->out_len + b->out_len + 1);
	int i, rc;

	if (a->out_len > 0)
		memcpy(docs, a->out, a->out_len);
	if (b->out_len > 0)
		memcpy(docs + a->out_len, b->out, b->out_len);
	rc = store_put(store_path, docs, a->out_len + b->out_len, true, why);
	free(docs);
	for (i = 0; i < 2 && rc == NW_OK; i++)
		rc = store_put(
		    store_path, side[i].clean.host_out, side[i].clean.host_out_len, false, why);
	return rc;
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	(void)res;
	*(int64_t *)arg = s->id;
	return 1;
}

static int
store_judge(const char *store_path, char **document, char why[PARTNER_WHY_BYTES])
{
	const struct result_run run = {
		.id = 1, .started_wall_ns = nw_wall_ns(), .params = params
	};
	char reason[STORE_WHY_BYTES] = "";
	struct store_reader *r = NULL;
	struct analysis *a = NULL;
	int64_t session = 0;
	int rc;

	if ((rc = store_reader_open(store_path, &r, reason)) == NW_OK &&
	    (rc = store_sessions(r, 0, 1, on_session, &session)) == NW_OK &&
	    (rc = analysis_new(r, session, &params, &a)) == NW_OK &&
	    (*document = resultdoc_build(a, &run)) == NULL)
		rc = NW_ENOMEM;
	if (rc < 0)
		snprintf(why, PARTNER_WHY_BYTES, "the windows cannot be judged: %.200s",
		    reason[0] != '\0' ? reason : nw_strerror(rc));
	analysis_free(a);
	store_reader_close(r);
	return rc;
}

static void
directory_remove(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL)
		closedir(d);
	(void)rmdir(dir);
}

int
partner_judge(const struct partner_conf *c, const char *const path[2], char **document,
    char why[PARTNER_WHY_BYTES])
{
	const char *below = getenv("TMPDIR");
	char *dir = xasprintf("%s/narrows-judge.XXXXXX", below != NULL ? below : "/tmp"),
	     *store_path = NULL;
	struct side side[2] = { 0 };
	int i, rc = sides_open(c, path, side, why);

	*document = NULL;
	if (rc == NW_OK)
		rc = sides_clean(c, side, why);
	if (rc == NW_OK && mkdtemp(dir) == NULL) {
		snprintf(why, PARTNER_WHY_BYTES, "%.200s: cannot be made", dir);
		rc = NW_EIO;
	}
	if (rc == NW_OK) {
		store_path = xasprintf("%s/narrows.db", dir);
		if ((rc = store_fill(store_path, side, why)) == NW_OK)
			rc = store_judge(store_path, document, why);
		directory_remove(dir);
	}
	for (i = 0; i < 2; i++) {
		clean_clear(&side[i].clean);
		windows_close(&side[i].w);
		free(side[i].bytes);
	}
	free(store_path);
	free(dir);
	return rc;
}

/* --- clocks --- */

double
partner_bound(const json_t *clock)
{
	const json_t *bound = json_object_get(clock, "bound_s");

	return json_is_true(json_object_get(clock, "synchronised")) && json_is_number(bound)
	    ? json_number_value(bound)
	    : NAN;
}

double
partner_larger_bound(double a, double b)
{
	return isfinite(a) && isfinite(b) ? fmax(a, b) : 0;
}
