/* SPDX-License-Identifier: BSD-3-Clause */
/* An import without a box: straight into the store, from the documents for a box and through the
 * box's decoder. A batch is one transaction. Every batch stores the provider's sequence number,
 * so an interrupted import continues at its place, and a repeated import changes nothing. */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/import/import.h"
#include "narrows/progress.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/store.h"

enum { BATCH_BYTES = 16 << 20 };
#define IMPORT_OWNER "import" /* of providers that no box has heard */

struct direct {
	struct import *im;
	struct store *st;
	struct store_reader *reader;
	struct store_ids next;
	struct nw_doc_decoder *decoder;
	struct nw_batch *batch;
	int64_t host_id, session_id, xsp_id;
	struct nw_session_rec session;
	char provider[64];
	uint64_t known, seq;
	bool skip;  /* the document in hand is in the store already */
	int failed; /* of any batch */
	unsigned pending;
	struct catalog catalog; /* series of the host whose documents are in hand */
	double *row;
	size_t row_cap;
};

static int
direct_fail(struct direct *d, int rc, const char *why)
{
	return stat_fail(
	    d->im->err, rc, "%s: store: %s", d->im->name, why != NULL ? why : nw_strerror(rc));
}

/* --- batches --- */

static struct nw_batch *
batch(struct direct *d)
{
	if (d->batch == NULL && (d->batch = nw_batch_new()) == NULL)
		abort();
	return d->batch;
}

static void
on_done(void *arg, int rc)
{
	struct direct *d = arg;

	d->pending--;
	if (rc < 0)
		d->failed = rc;
}

static int
batch_submit(struct direct *d, bool all)
{
	int rc = NW_OK;

	if (d->batch != NULL && (all || nw_batch_bytes(d->batch) >= BATCH_BYTES)) {
		if (nw_batch_provider(d->batch, IMPORT_OWNER, d->provider, d->seq) < 0)
			return direct_fail(d, NW_ENOMEM, NULL);
		nw_batch_on_done(d->batch, on_done, d);
		d->pending++;
		while ((rc = store_submit(d->st, d->batch)) == NW_EFULL)
			if ((rc = store_sync(d->st)) < 0)
				break;
		if (rc < 0) {
			d->pending--;
			return direct_fail(d, rc, NULL);
		}
		d->batch = NULL;
	}
	if (all && (rc = store_sync(d->st)) < 0)
		return direct_fail(d, rc, NULL);
	store_run_completions(d->st);
	return d->failed < 0 ? direct_fail(d, d->failed, NULL) : NW_OK;
}

/* --- documents --- */

static int
on_meta(void *arg, const struct nw_meta *m)
{
	struct direct *d = arg;
	bool is_new;
	struct series *s;
	int rc = catalog_add(&d->catalog, m, &s, &is_new);
	struct nw_meta_rec rec = { .session_id = d->session_id,
		.host_id = d->host_id,
		.xsp_id = d->xsp_id,
		.mid = m->id,
		.pid = m->pid,
		.event_type = m->event_type,
		.subject_json = m->subject_json,
		.params_json = m->params_json,
		.first_wall_ns = nw_wall_ns(),
		.raw = m->raw,
		.raw_len = m->raw_len };

	if (rc < 0)
		return rc;
	if (!is_new)
		return NW_OK;
	if (s->inherited_json != NULL)
		rec.subject_json = s->inherited_json;
	rec.id = s->meta_id = d->next.meta++;
	return nw_batch_meta(batch(d), &rec);
}

/* Gives the series a layout with its old fields and the new ones of data; older rows keep the old
 * layout. */
static int
layout_renew(struct direct *d, struct series *s, const struct nw_data *data)
{
	struct layout *l = &s->layout;
	struct nw_layout_rec rec;
	int rc;

	if ((rc = layout_extend(&d->catalog, s, data)) < 0)
		return rc;
	l->id = d->next.layout++;
	rec = (struct nw_layout_rec){ .id = l->id,
		.meta_id = s->meta_id,
		.n_fields = l->n_fields,
		.fields = (const char *const *)l->fields };
	return nw_batch_layout(batch(d), &rec);
}

/* Row in the layout's order. */
static const double *
row_place(struct direct *d, const struct layout *l, const struct nw_data *data, size_t row,
    const uint32_t *where)
{
	size_t i;

	if (l->n_fields > d->row_cap)
		d->row = xreallocarray(d->row, d->row_cap = 2 * l->n_fields, sizeof(*d->row));
	for (i = 0; i < l->n_fields; i++)
		d->row[i] = NAN;
	for (i = 0; i < data->n_fields; i++)
		d->row[where[i]] = data->values[row * data->n_fields + i];
	return d->row;
}

static int
on_data(void *arg, const struct nw_data *data)
{
	struct direct *d = arg;
	struct series *s = catalog_series_of(&d->catalog, data);
	uint32_t where[CATALOG_FIELDS_MAX];
	int64_t t_wall_ns;
	size_t row;
	int rc = NW_OK;

	if (s == NULL)
		return NW_ENOTFOUND;
	if (data->n_fields > CATALOG_FIELDS_MAX)
		return NW_ETOOBIG;
	if (!layout_map(&s->layout, data, where)) {
		if ((rc = layout_renew(d, s, data)) < 0)
			return rc;
		layout_map(&s->layout, data, where);
	}
	for (row = 0; row < data->n_rows && rc == NW_OK; row++) {
		t_wall_ns = series_row_time(s, data, row, nw_wall_ns());
		rc = nw_batch_rows(batch(d), s->layout.id, s->layout.n_fields, 1, &t_wall_ns,
		    row_place(d, &s->layout, data, row, where), row == 0 ? data->hist : NULL,
		    row == 0 ? data->hist_len : 0);
	}
	return rc;
}

/* The events of a block made by import_events.c. */
static int
events_take(struct direct *d, const uint8_t *block, size_t len, const char **why)
{
	struct nw_event_block *b = nw_event_block_new();
	struct nw_event e;
	size_t i;
	int rc = b == NULL ? NW_ENOMEM : nw_event_block_read(b, block, len, why);

	for (i = 0; rc == NW_OK && i < nw_event_block_count(b); i++) {
		nw_event_block_get(b, i, &e);
		rc = nw_batch_event(batch(d), d->session_id, d->host_id, &e);
	}
	nw_event_block_free(b);
	return rc;
}

static int
doc_take(struct direct *d, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct nw_doc_sink sink = { .arg = d, .on_meta = on_meta, .on_data = on_data };
	const char *why = NULL;
	int rc = opt == NW_OPT_OPS ? events_take(d, doc + 1, len - 1, &why)
				   : nw_doc_decode(d->decoder, opt, doc, len, &sink, &why);

	return rc < 0 ? direct_fail(d, rc, why) : NW_OK;
}

static int
metas_take(struct direct *d, size_t host)
{
	struct import_series *s, *tmp;
	int rc;

	HASH_ITER (hh, d->im->series, s, tmp) {
		if (s->host != host)
			continue;
		import_meta(d->im, s);
		if ((rc = doc_take(d, NW_OPT_META, d->im->doc.data, d->im->doc.len)) < 0)
			return rc;
	}
	return NW_OK;
}

static int
docs_take(struct direct *d, size_t host, struct progress *p)
{
	struct spooled head;
	uint8_t *doc = NULL;
	int rc = NW_OK;

	rewind(d->im->spool);
	while (rc == NW_OK && fread(&head, sizeof(head), 1, d->im->spool) == 1) {
		doc = xreallocarray(doc, head.len, 1);
		if (fread(doc, 1, head.len, d->im->spool) != head.len)
			rc = stat_fail(d->im->err, NW_EIO, "temporary file: cut short");
		if (rc < 0 || head.host != host ||
		    ((head.opt == NW_OPT_DATA || head.opt == NW_OPT_OPS) && ++d->seq <= d->known))
			continue;
		progress_add(p, sizeof(head) + head.len);
		if ((rc = doc_take(d, (uint16_t)head.opt, doc, head.len)) == NW_OK)
			rc = batch_submit(d, false);
	}
	free(doc);
	return rc;
}

/* --- hosts, sessions and providers in the store --- */

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct nw_host_rec *want = arg;

	if (strcmp(h->name, want->name) == 0) {
		want->id = h->id;
		want->first_seen_wall_ns = h->first_seen_wall_ns;
	}
	return want->id != 0;
}

static int
on_provider(void *arg, const char *owner, const char *provider, uint64_t stored_seq)
{
	struct direct *d = arg;

	(void)owner; /* a box may have taken the same import from a user */
	if (strcmp(provider, d->provider) == 0 && stored_seq > d->known)
		d->known = stored_seq;
	return 0;
}

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct direct *d = arg;

	(void)res;
	if (s->task_id == NULL || strcmp(s->task_id, d->im->session) != 0)
		return 0;
	d->session_id = s->id;
	d->session.opened_wall_ns = s->opened_wall_ns;
	d->session.last_data_wall_ns = s->last_data_wall_ns;
	return 1;
}

/* Stores the session. Its duration is the span of its measurements. A verdict so far stays with its
 * run, and the box judges anew when it starts. */
static int
session_put(struct direct *d)
{
	struct nw_session_rec *s = &d->session;
	int rc;

	if (d->im->session == NULL)
		return NW_OK;
	if (d->session_id == 0)
		d->session_id = d->next.session++;
	s->id = d->session_id;
	s->task_id = d->im->session;
	s->program = "narrows import";
	if (s->opened_wall_ns == 0 || d->im->t_min_wall_ns < s->opened_wall_ns)
		s->opened_wall_ns = d->im->t_min_wall_ns;
	if (d->im->t_max_wall_ns > s->last_data_wall_ns)
		s->last_data_wall_ns = d->im->t_max_wall_ns;
	s->closed_wall_ns = s->last_data_wall_ns;
	if ((rc = nw_batch_keep_result(batch(d), s->id, nw_wall_ns(),
		 "narrows import added to the session after its end")) < 0 ||
	    (rc = nw_batch_drop_result(batch(d), s->id)) < 0)
		return rc;
	return nw_batch_session(batch(d), s);
}

static int
xsp_put(struct direct *d, uint64_t n_docs)
{
	uint8_t id[NW_SESS_ID_BYTES];
	char hex[2 * NW_SESS_ID_BYTES + 1];
	struct nw_xsp_rec rec = { .host_id = d->host_id,
		.session_id = d->session_id,
		.sess_id_hex = hex,
		.peer = "local",
		.software = "narrows import",
		.provider = d->provider,
		.opened_wall_ns = nw_wall_ns(),
		.closed_wall_ns = nw_wall_ns(),
		.docs = n_docs,
		.end_reason = "imported" };
	size_t i;

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return NW_EIO;
	for (i = 0; i < sizeof(id); i++)
		snprintf(hex + 2 * i, 3, "%02X", id[i]);
	rec.id = d->xsp_id = d->next.xsp++;
	return nw_batch_xsp(batch(d), &rec);
}

static int
host_put(struct direct *d, const char *name)
{
	struct nw_host_rec rec = { .name = name };
	int rc;

	if ((rc = store_hosts(d->reader, on_host, &rec)) < 0)
		return rc;
	if (rec.id == 0)
		rec.id = d->next.host++;
	if (rec.first_seen_wall_ns == 0)
		rec.first_seen_wall_ns = nw_wall_ns();
	rec.last_seen_wall_ns = nw_wall_ns();
	d->host_id = rec.id;
	return nw_batch_host(batch(d), &rec);
}

static int
host_to_store(struct direct *d, size_t host, struct progress *p, struct import_done *done)
{
	uint64_t n = d->im->hosts[host].n_docs;
	int rc;

	d->seq = d->known = 0;
	catalog_clear(&d->catalog);
	catalog_init(&d->catalog, IMPORT_FIELDS_MAX, NULL);
	import_provider(d->im, host, d->provider);
	if ((rc = store_providers(d->reader, on_provider, d)) < 0)
		return direct_fail(d, rc, NULL);
	done->n_docs += n;
	done->n_known += d->known < n ? d->known : n;
	if (d->known >= n && n > 0)
		return NW_OK;
	if ((rc = host_put(d, d->im->hosts[host].name)) < 0 || (rc = session_put(d)) < 0 ||
	    (rc = xsp_put(d, n)) < 0)
		return direct_fail(d, rc, NULL);
	if ((rc = metas_take(d, host)) < 0 || (rc = docs_take(d, host, p)) < 0)
		return rc;
	if (d->session_id != 0 && nw_batch_seal(batch(d), d->session_id) < 0)
		return direct_fail(d, NW_ENOMEM, NULL);
	return batch_submit(d, true);
}

int
import_to_store(struct import *im, const char *path, struct progress *p, struct import_done *done)
{
	struct direct d = { .im = im };
	char why[STORE_WHY_BYTES] = "";
	size_t host;
	int rc;

	*done = (struct import_done){ 0 };
	if ((rc = store_open(path, &store_opts_default, &d.st, why)) < 0)
		return stat_fail(im->err, rc, "%s: %s", path, why);
	store_next_ids(d.st, &d.next);
	if ((d.decoder = nw_doc_decoder_new(NULL)) == NULL)
		rc = direct_fail(&d, NW_ENOMEM, NULL);
	else if ((rc = store_reader_open(path, &d.reader, why)) < 0)
		direct_fail(&d, rc, why);
	else if (im->session != NULL &&
	    (rc = store_sessions(d.reader, 0, SIZE_MAX >> 1, on_session, &d)) < 0)
		direct_fail(&d, rc, NULL);
	for (host = 0; host < im->n_hosts && rc == NW_OK; host++)
		rc = host_to_store(&d, host, p, done);
	nw_batch_free(d.batch);
	catalog_clear(&d.catalog);
	free(d.row);
	nw_doc_decoder_free(d.decoder);
	store_reader_close(d.reader);
	store_close(d.st);
	return rc;
}
