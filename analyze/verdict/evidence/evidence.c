/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "analyze/verdict/evidence/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "analyze/verdict/evidence/evidence_in.h"
#include "analyze/verdict/evidence/hostaddresses.h"
#include "analyze/verdict/evidence/hosttime.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"

/* Rows of a host up to 20 s before and after a session reach into the session. */
static const int64_t HOST_LEAD_NS = 20000000000;

/* --- the rows of a source --- */

typedef void row_fn(struct loader *l, const struct row *r);

/* The rows tell of the use of a disk or a link alone. */
static void
nothing_row(struct loader *l, const struct row *r)
{
	(void)l;
	(void)r;
}

static row_fn *const row_fns[] = { [SOURCE_CALIPER] = caliper_row,
	[SOURCE_PROCESS] = process_row,
	[SOURCE_FILE] = file_row,
	[SOURCE_CONNECTION] = connection_row,
	[SOURCE_TCP] = tcp_row,
	[SOURCE_KERNEL] = kernel_row,
	[SOURCE_CPU] = cpu_row,
	[SOURCE_DISK] = disk_row,
	[SOURCE_MEMORY] = memory_row,
	[SOURCE_LINK] = nothing_row,
	[SOURCE_USE] = nothing_row,
	[SOURCE_CLOCK] = clock_row,
	[SOURCE_EXCHANGE] = exchange_row,
	[SOURCE_BOXES] = boxes_row,
	[SOURCE_REPLAY] = replay_row,
	[SOURCE_PIPE] = pipe_row,
	[SOURCE_STEPS] = steps_row };

struct layout_copy {
	int64_t id;
	struct columns c;
};

struct layout_list {
	struct layout_copy *layout;
	size_t n;
};

struct block_reader {
	struct loader *l;
	const struct columns *c;
};

static int
on_block(void *arg, const struct store_block *b)
{
	struct block_reader *br = arg;
	struct loader *l = br->l;
	struct row r = { .c = br->c, .b = b };

	for (r.i = 0; r.i < b->n_rows; r.i++) {
		row_fns[l->source->kind](l, &r);
		if (l->filling && l->source->use_kind != SOURCE_OTHER)
			use_row(l, &r);
		l->source->last_wall_ns = b->t_wall_ns[r.i];
	}
	if (l->filling) {
		l->e->rows += b->n_rows;
		l->e->samples += b->n_rows * b->n_fields;
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct layout_list *list = arg;

	list->layout = xreallocarray(list->layout, list->n + 1, sizeof(*list->layout));
	list->layout[list->n].id = rec->id;
	columns_find(&list->layout[list->n++].c, rec);
	return 0;
}

int
source_read(struct loader *l, struct source *s, int64_t t0, int64_t t1)
{
	int64_t ahead_ns = clocks_ahead_ns(l, s);
	struct layout_list list = { 0 };
	size_t i;
	int rc;

	rc = store_layouts(l->reader, s->meta_id, on_layout, &list);
	l->source = s;
	s->last_wall_ns = 0;
	s->disk_bytes = s->disk_io_ms = s->use_in = s->use_out = NAN;
	for (i = 0; i < list.n && rc == NW_OK; i++) {
		struct block_reader br = { .l = l, .c = &list.layout[i].c };

		rc = hosttime_rows(
		    l->reader, list.layout[i].id, NULL, 0, t0, t1, ahead_ns, on_block, &br);
	}
	free(list.layout);
	return rc;
}

/* --- the whole --- */

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct evidence *e = arg;

	(void)res;
	e->session_id = s->id;
	e->task_id = xstrdup(s->task_id);
	e->program = xstrdup(s->program);
	e->open = s->closed_wall_ns == 0;
	e->opened_wall_ns = s->opened_wall_ns;
	e->closed_wall_ns = s->closed_wall_ns;
	return 1;
}

/* A provider with a last connection ended by the box's end. */
struct cut_off {
	char *provider;
	UT_hash_handle hh;
};

struct senders {
	struct evidence *e;
	struct cut_off *cut_off; /* hash by provider */
};

static void
cut_off_remove(struct senders *s, struct cut_off *c)
{
	HASH_DEL(s->cut_off, c);
	free(c->provider);
	free(c);
}

/* A provider cut off is missed until its next connection. The box cannot know a next connection
 * of an original sender. */
static void
cut_off_note(struct senders *s, const struct nw_xsp_rec *x)
{
	bool ended = x->end_reason != NULL && strcmp(x->end_reason, STORE_BOX_ENDED) == 0;
	struct cut_off *c = NULL;

	if (x->provider == NULL) {
		s->e->senders_cut_off += ended;
		return;
	}
	HASH_FIND_STR(s->cut_off, x->provider, c);
	if (!ended && c != NULL)
		cut_off_remove(s, c);
	if (!ended || c != NULL)
		return;
	c = xcalloc(1, sizeof(*c));
	c->provider = xstrdup(x->provider);
	HASH_ADD_KEYPTR(hh, s->cut_off, c->provider, strlen(c->provider), c);
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	struct senders *s = arg;

	if (!owners_use(&s->e->owners, x->id))
		return 0;
	s->e->documents += x->docs;
	s->e->documents_rejected += x->rejected;
	s->e->documents_dropped += x->dropped;
	cut_off_note(s, x);
	return 0;
}

static int
senders_load(struct loader *l)
{
	struct senders s = { .e = l->e };
	struct cut_off *c, *tmp;
	int rc = store_xsp_of_session(l->reader, l->e->session_id, on_xsp, &s);

	l->e->senders_cut_off += HASH_COUNT(s.cut_off);
	HASH_ITER (hh, s.cut_off, c, tmp)
		cut_off_remove(&s, c);
	return rc;
}

static void
host_clear(struct evidence_host *h)
{
	free(h->name);
	free(h->cpu_busy);
	free(h->cpu_iowait);
	free(h->disk_busy);
	free(h->writeback_bytes);
	free(h->disk_bytes_per_s);
}

static void
process_clear(struct evidence_process *p)
{
	int op;

	free(p->program);
	free(p->unseen_by);
	free(p->cpu);
	free(p->starved);
	free(p->blocked);
	free(p->first_s);
	free(p->paused);
	free(p->stored);
	for (op = 0; op < 2; op++) {
		free(p->pipe_bytes[op]);
		free(p->pipe_s[op]);
		free(p->server[op].program);
		free(p->server[op].socket);
	}
	for (op = 0; op < NW_OP_COUNT; op++) {
		free(p->bytes[op]);
		free(p->busy_s[op]);
		free(p->wait_s[op]);
		free(p->rate_sum[op]);
		free(p->rate_sd_sum[op]);
		free(p->ops[op]);
	}
}

static int
file_order(const void *a, const void *b)
{
	const struct evidence_file *x = a, *y = b;
	double p = x->read_bytes + x->write_bytes, q = y->read_bytes + y->write_bytes;

	return p < q ? 1 : p > q ? -1 : strcmp(x->path, y->path);
}

static int
connection_order(const void *a, const void *b)
{
	const struct evidence_connection *x = a, *y = b;
	double p = x->bytes_in + x->bytes_out, q = y->bytes_in + y->bytes_out;

	return p < q ? 1 : p > q ? -1 : 0;
}

static void
lists_cut(struct evidence *e)
{
	if (e->n_files > 0)
		qsort(e->files, e->n_files, sizeof(*e->files), file_order);
	if (e->n_connections > 0)
		qsort(e->connections, e->n_connections, sizeof(*e->connections), connection_order);
	while (e->n_files > EVIDENCE_LIST_MAX)
		free(e->files[--e->n_files].path);
	while (e->n_connections > EVIDENCE_LIST_MAX)
		connection_clear(&e->connections[--e->n_connections]);
}

/* The exit status of programs without moved bytes. */
static int
exits_read(struct loader *l, size_t n_sources)
{
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < n_sources && rc == NW_OK; i++)
		if (l->sources[i].kind == SOURCE_PROCESS)
			rc = source_read(l, &l->sources[i], INT64_MIN, INT64_MAX);
	return rc;
}

/* Names the measured hosts at the other ends of connections. */
static int
far_hosts_find(struct loader *l)
{
	struct evidence *e = l->e;
	struct host_addresses known = { 0 };
	struct evidence_connection *c;
	int rc = e->n_connections > 0 ? host_addresses_load(l->reader, &known) : NW_OK;

	for (c = e->connections; c < e->connections + e->n_connections && rc == NW_OK; c++)
		c->far_host = xstrdup(host_addresses_find(&known, c->dst));
	host_addresses_clear(&known);
	return rc;
}

/* Whether a source tells of work without calls on files and connections. */
static bool
is_callless(const struct loader *l, const struct source *s)
{
	return s->kind == SOURCE_STEPS ||
	    (s->kind == SOURCE_PROCESS && process_maps(&l->e->processes[s->process]));
}

/* Reads where mapped files are read. Without any call in the session, reports of work without calls
 * choose the grid. */
static int
callless_read(struct loader *l)
{
	const bool alone = l->begin_wall_ns == 0;
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < l->n_sources && rc == NW_OK; i++) {
		if (!is_callless(l, &l->sources[i]) ||
		    (!alone && l->sources[i].kind == SOURCE_STEPS))
			continue;
		l->alone = alone;
		l->mapping = true;
		rc = source_read(l, &l->sources[i], INT64_MIN, INT64_MAX);
	}
	l->alone = l->mapping = false;
	return rc;
}

static int
session_read(struct loader *l)
{
	struct evidence *e = l->e;
	size_t i, n_hosts, n_own;
	int rc;

	if ((rc = store_session_get(l->reader, e->session_id, on_session, e)) < 0 ||
	    (rc = owners_load(l->reader, e->session_id, e->task_id, &e->owners)) < 0)
		return rc;
	if (l->from == EVIDENCE_OF_ALL)
		owners_use_all(&e->owners);
	if ((rc = senders_load(l)) < 0 ||
	    (rc = store_metas(l->reader, e->session_id, 0, "", on_session_meta, l)) < 0 ||
	    (rc = announced_read(l)) < 0)
		return rc;
	n_hosts = e->n_hosts;
	if ((rc = mounts_serve(l)) < 0)
		return rc;
	for (i = n_hosts; i < e->n_hosts; i++)
		e->hosts[i].only_serves = true;
	hosts_name(l);
	if ((rc = clocks_load(l)) < 0)
		return rc;
	ends_separate(l);
	for (i = 0; i < l->n_sources && rc == NW_OK; i++)
		if (l->sources[i].kind == SOURCE_CALIPER || l->sources[i].kind == SOURCE_PIPE ||
		    l->sources[i].kind == SOURCE_STEPS)
			rc = source_read(l, &l->sources[i], INT64_MIN, INT64_MAX);
	if (rc == NW_OK)
		rc = callless_read(l);
	grid_choose(l);
	n_own = l->n_sources;
	n_hosts = e->n_hosts;
	for (i = 0; i < n_hosts && rc == NW_OK; i++) {
		struct host_metas hm = { .l = l, .host = i };

		rc = store_metas(l->reader, 0, e->hosts[i].id, NW_TYPE_BLIPP, on_host_meta, &hm);
		if (rc == NW_OK)
			rc = store_metas(l->reader, 0, e->hosts[i].id, NW_TYPE_KERNEL ":block",
			    on_host_meta, &hm);
	}
	if (rc == NW_OK && e->n_windows > 0)
		rc = other_sessions_load(l);
	if (rc == NW_OK && e->n_windows == 0)
		rc = exits_read(l, n_own);
	if (rc < 0 || e->n_windows == 0)
		return rc;
	l->filling = true;
	for (i = 0; i < l->n_sources && rc == NW_OK; i++)
		rc = i < n_own ? source_read(l, &l->sources[i], INT64_MIN, INT64_MAX)
			       : source_read(l, &l->sources[i], l->begin_wall_ns - HOST_LEAD_NS,
				     l->end_wall_ns + HOST_LEAD_NS);
	clocks_settle(e);
	connections_join(e);
	lists_cut(e);
	return rc == NW_OK ? far_hosts_find(l) : rc;
}

int
evidence_load(
    struct store_reader *r, int64_t session_id, enum evidence_from from, struct evidence *out)
{
	struct loader l = { .reader = r, .e = out, .from = from };
	int rc;

	memset(out, 0, sizeof(*out));
	out->exit_status = out->boxes_bound_s = NAN;
	out->session_id = session_id;
	rc = session_read(&l);
	exit_settle(&l);
	uses_name(&l);
	clocks_clear(&l);
	free(l.sources);
	if (rc < 0)
		evidence_clear(out);
	return rc;
}

void
evidence_extent(const struct evidence *e, const struct nw_path *p, int64_t *first_wall_ns,
    int64_t *last_wall_ns)
{
	int64_t first = e->t0_wall_ns + (int64_t)p->first * e->step_ns,
		last = e->t0_wall_ns + (int64_t)p->end * e->step_ns;

	*first_wall_ns = e->first_wall_ns;
	*last_wall_ns = e->last_wall_ns;
	if (p->first >= p->end)
		return;
	if (first > *first_wall_ns)
		*first_wall_ns = first;
	if (last < *last_wall_ns)
		*last_wall_ns = last;
}

/* The kernel's counts of a process itself. A parent's counts include children after the parent's
 * wait, not before. */
static double
kernel_own_bytes(const struct evidence *e, const struct evidence_process *parent)
{
	const struct evidence_process *f;
	double children = 0;

	for (f = e->processes; f < e->processes + e->n_processes; f++)
		if (f != parent && f->host == parent->host && f->parent_pid >= 0 &&
		    f->parent_pid == parent->pid)
			children += f->kernel_bytes;
	return fmax(
	    parent->kernel_bytes - children, fmin(parent->kernel_bytes, parent->seen_bytes));
}

bool
evidence_reads_cached(const struct evidence *e, const struct evidence_process *p)
{
	static const double device_share_max = 0.02;
	double read = 0;
	size_t i;

	for (i = 0; p->bytes[NW_OP_DISK_READ] != NULL && i < e->n_windows; i++)
		read += p->bytes[NW_OP_DISK_READ][i];
	return p->kernel_bytes > 0 && read > 0 && p->storage_read_bytes < device_share_max * read;
}

void
evidence_seen(const struct evidence *e, double *seen, double *kernel)
{
	size_t i;

	*seen = *kernel = 0;
	for (i = 0; i < e->n_processes; i++) {
		const struct evidence_process *p = &e->processes[i];
		double own = isnan(p->unseen_bytes) ? kernel_own_bytes(e, p)
						    : p->seen_bytes + fmax(p->unseen_bytes, 0);

		*seen += p->kernel_bytes > 0 ? p->seen_bytes : 0;
		*kernel += p->kernel_bytes > 0 ? own : 0;
	}
}

void
evidence_clear(struct evidence *e)
{
	size_t i;

	for (i = 0; i < e->n_hosts; i++)
		host_clear(&e->hosts[i]);
	for (i = 0; i < e->n_processes; i++)
		process_clear(&e->processes[i]);
	for (i = 0; i < e->n_durations; i++)
		free(e->durations[i].counts);
	for (i = 0; i < e->n_files; i++)
		free(e->files[i].path);
	for (i = 0; i < e->n_mounts; i++)
		mount_clear(&e->mounts[i]);
	for (i = 0; i < e->n_connections; i++)
		connection_clear(&e->connections[i]);
	free(e->hosts);
	free(e->processes);
	free(e->files);
	free(e->mounts);
	free(e->connections);
	free(e->durations);
	free(e->replays);
	announced_clear(e);
	kernels_clear(e);
	uses_clear(e);
	pipes_clear(e);
	shared_clear(e);
	steps_clear(e);
	evidence_switches_clear(e);
	evidence_tests_clear(e);
	evidence_paths_clear(e);
	owners_clear(&e->owners);
	free(e->task_id);
	free(e->program);
	free(e->label);
	memset(e, 0, sizeof(*e));
}
