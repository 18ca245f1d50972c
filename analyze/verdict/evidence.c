/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/evidence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analyze/verdict/hosttime.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/hist.h"

static const double NS = 1e-9;
#define EXCHANGE_LEAD_NS INT64_C(600000000000)

/* the latter: not told either, see ends_separate() */
enum { PID_NOT_TOLD = -1, PID_RECEIVER = -2 };

enum kind {
	KIND_OTHER,
	KIND_CALIPER,
	KIND_PROCESS,
	KIND_FILE,
	KIND_CONNECTION,
	KIND_CPU,
	KIND_DISK,
	KIND_CLOCK,
	KIND_EXCHANGE
};

/* One metadata that says something here, copied: the reader's text does not outlive its
 * callback. */
struct source {
	enum kind kind;
	int64_t meta_id;
	size_t host, process, item; /* item: file or connection */
	enum nw_op op;
	double dt_s;
	/* of a caliper: its metadata names what it is about, and item is it */
	bool has_connection, has_file;
	uint64_t reports;     /* numbered so far */
	int64_t last_wall_ns; /* of the row before, for senders that do not tell their window */
};

struct loader {
	struct store_reader *reader;
	struct evidence *e;
	struct source *sources;
	size_t n_sources;
	/* pass one */
	/* seconds covered, by log2 of the window in 1/8 octaves around 1 s */
	double step_votes[64];
	double step_rows[64]; /* how many rows that were: their mean is the step */
	int64_t begin_wall_ns, end_wall_ns;
	/* the rows in hand */
	struct source *source;
	bool filling;        /* pass two */
	bool have_processes; /* which report every interval, busy or not */
};

/* Columns of a layout that matter, -1 where a layout has none. */
struct columns {
	int sum_v, mean_v, mean_r, sd_r, count, dur_inst, window, busy, busy_max, wait, threads;
	int cpu_user, cpu_sys, cpu_wait, combined_bytes, report, seen_read, seen_written, rchar,
	    wchar;
	int pipe_read_bytes, pipe_write_bytes, pipe_read_s, pipe_write_s;
	int read_bytes, write_bytes, bytes_in, bytes_out;
	int rtt_s, rtt_min_s, retrans, cwnd_bytes, busy_s, rwnd_limited_s, sndbuf_limited_s;
	int idle, iowait, disk_busy, offset_s, bound_s, kernel_synced;
};

static const struct {
	const char *name;
	size_t at;
} column_names[] = {
#define COLUMN(c)                               \
	{                                       \
#c, offsetof(struct columns, c) \
	}
	COLUMN(sum_v),
	COLUMN(mean_v),
	COLUMN(mean_r),
	COLUMN(sd_r),
	COLUMN(count),
	COLUMN(dur_inst),
	COLUMN(window),
	COLUMN(busy),
	COLUMN(busy_max),
	COLUMN(wait),
	COLUMN(threads),
	COLUMN(cpu_user),
	COLUMN(cpu_sys),
	COLUMN(cpu_wait),
	COLUMN(combined_bytes),
	COLUMN(report),
	COLUMN(seen_read),
	COLUMN(seen_written),
	COLUMN(rchar),
	COLUMN(wchar),
	COLUMN(pipe_read_bytes),
	COLUMN(pipe_write_bytes),
	COLUMN(pipe_read_s),
	COLUMN(pipe_write_s),
	COLUMN(read_bytes),
	COLUMN(write_bytes),
	COLUMN(bytes_in),
	COLUMN(bytes_out),
	COLUMN(rtt_s),
	COLUMN(rtt_min_s),
	COLUMN(retrans),
	COLUMN(cwnd_bytes),
	COLUMN(busy_s),
	COLUMN(rwnd_limited_s),
	COLUMN(sndbuf_limited_s),
	COLUMN(idle),
	COLUMN(iowait),
	COLUMN(disk_busy),
	COLUMN(offset_s),
	COLUMN(bound_s),
	COLUMN(kernel_synced),
};

static void
columns_find(struct columns *c, const struct nw_layout_rec *l)
{
	size_t i, k;

	for (k = 0; k < sizeof(column_names) / sizeof(column_names[0]); k++) {
		int *out = (int *)(void *)((char *)c + column_names[k].at);

		*out = -1;
		for (i = 0; i < l->n_fields; i++)
			if (strcmp(l->fields[i], column_names[k].name) == 0)
				*out = (int)i;
	}
}

static double
cell(const struct store_block *b, int column, size_t row)
{
	return column >= 0 ? b->columns[column][row] : NAN;
}

/* A sum must not die of one missing value. */
static double
known(double v)
{
	return isfinite(v) ? v : 0;
}

/* --- hosts, processes, items --- */

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	struct evidence_host *h = arg;

	h->name = xstrdup(rec->name);
	return 1;
}

static size_t
host_index(struct loader *l, int64_t host_id)
{
	struct evidence *e = l->e;
	struct evidence_host *h;
	size_t i;

	for (i = 0; i < e->n_hosts; i++)
		if (e->hosts[i].id == host_id)
			return i;
	e->hosts = xreallocarray(e->hosts, e->n_hosts + 1, sizeof(*e->hosts));
	h = &e->hosts[e->n_hosts];
	memset(h, 0, sizeof(*h));
	h->id = host_id;
	h->clock_offset_s = h->clock_bound_s = h->exchange_offset_s = h->exchange_bound_s = NAN;
	return e->n_hosts++;
}

static void
hosts_name(struct loader *l)
{
	struct evidence_host *h;
	size_t i;

	for (i = 0; i < l->e->n_hosts; i++) {
		h = &l->e->hosts[i];
		(void)store_host_get(l->reader, h->id, on_host, h);
		if (h->name == NULL)
			h->name = xasprintf("host %" PRId64, h->id);
	}
}

static size_t
process_index(struct evidence *e, size_t host, int64_t pid, const char *program)
{
	struct evidence_process *f;
	size_t i;

	for (i = 0; i < e->n_processes; i++)
		if (e->processes[i].host == host && e->processes[i].pid == pid)
			break;
	if (i == e->n_processes) {
		e->processes =
		    xreallocarray(e->processes, e->n_processes + 1, sizeof(*e->processes));
		f = &e->processes[e->n_processes++];
		memset(f, 0, sizeof(*f));
		f->host = host;
		f->pid = pid;
		f->parent_pid = PID_NOT_TOLD;
		f->cpu_s = f->cpu_wait_s = f->combined_bytes = NAN;
	}
	/* What a process became by exec is what it is: before, it was a shell, or a wrapper. */
	if (program != NULL || e->processes[i].program == NULL) {
		free(e->processes[i].program);
		e->processes[i].program = xstrdup(program);
	}
	return i;
}

static const char *
json_text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static int64_t
json_number(const json_t *o, const char *key, int64_t def)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_integer(v))
		return json_integer_value(v);
	if (json_is_real(v) && fabs(json_real_value(v)) < 9e18)
		return (int64_t)json_real_value(v);
	if (json_is_string(v))
		return strtoll(json_string_value(v), NULL, 10);
	return def;
}

static const char *
json_either(const json_t *o, const char *a, const char *b, const char *c)
{
	const char *s = json_text(o, a);

	if (s == NULL)
		s = json_text(o, b);
	return s != NULL ? s : json_text(o, c);
}

static size_t
file_add(struct evidence *e, size_t host, const json_t *subject)
{
	struct evidence_file *f;
	const char *path = json_text(subject, "resource");

	e->files = xreallocarray(e->files, e->n_files + 1, sizeof(*e->files));
	f = &e->files[e->n_files];
	memset(f, 0, sizeof(*f));
	f->host = host;
	f->path = xstrdup(path != NULL ? path : "?");
	f->size_bytes = json_number(subject, "size", -1);
	return e->n_files++;
}

static size_t
connection_add(struct evidence *e, size_t host, const json_t *subject)
{
	const char *src = json_either(subject, "src", "LocalAddress", "source");
	const char *dst = json_either(subject, "dst", "RemAddress", "destination");
	struct evidence_connection *c;

	e->connections =
	    xreallocarray(e->connections, e->n_connections + 1, sizeof(*e->connections));
	c = &e->connections[e->n_connections];
	memset(c, 0, sizeof(*c));
	c->host = host;
	c->src = xstrdup(src != NULL ? src : "?");
	c->dst = xstrdup(dst != NULL ? dst : "?");
	c->sport = (unsigned)json_number(subject, "sport", 0) & 0xffff;
	c->dport = (unsigned)json_number(subject, "dport", 0) & 0xffff;
	c->rtt_s = c->rtt_min_s = c->retrans = c->cwnd_bytes = c->busy_s = c->rwnd_limited_s =
	    c->sndbuf_limited_s = NAN;
	return e->n_connections++;
}

bool
evidence_caliper_op(const char *event_type, const json_t *subject, enum nw_op *op)
{
	const char *type = json_text(subject, "type");
	bool reads = strstr(event_type, "read") != NULL,
	     writes = strstr(event_type, "write") != NULL, disk;

	if (reads == writes)
		return false;
	if (type != NULL)
		disk = strcmp(type, "disk") == 0;
	else if (json_object_get(subject, "resource") != NULL)
		disk = true;
	else
		disk = false;
	*op = disk ? (reads ? NW_OP_DISK_READ : NW_OP_DISK_WRITE)
		   : (reads ? NW_OP_NET_READ : NW_OP_NET_WRITE);
	return true;
}

static bool
prefixed(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool
op_is_network(enum nw_op op)
{
	return op == NW_OP_NET_READ || op == NW_OP_NET_WRITE;
}

static void
caliper_item(struct loader *l, struct source *s, const json_t *subject)
{
	s->has_connection = op_is_network(s->op) && json_object_get(subject, "dst") != NULL;
	s->has_file = !op_is_network(s->op) && json_object_get(subject, "resource") != NULL;
	if (s->has_connection)
		s->item = connection_add(l->e, s->host, subject);
	else if (s->has_file)
		s->item = file_add(l->e, s->host, subject);
}

/* A session's own metadata. */
static int
on_session_meta(void *arg, const struct nw_meta_rec *m)
{
	struct loader *l = arg;
	struct source s = { .kind = KIND_OTHER, .meta_id = m->id };
	json_t *subject = json_loads(m->subject_json, 0, NULL),
	       *params = json_loads(m->params_json, 0, NULL);
	json_t *dt = json_object_get(params, "collectionInterval");

	s.host = host_index(l, m->host_id);
	s.dt_s = json_is_number(dt) ? json_number_value(dt) : NAN;
	if (prefixed(m->event_type, "nl:tools:calipers:summary:") ||
	    prefixed(m->event_type, "nl.")) {
		if (evidence_caliper_op(m->event_type, subject, &s.op))
			s.kind = KIND_CALIPER;
		/* Original senders have no document for connections and files: theirs are told by
		 * the caliper. */
		if (s.kind == KIND_CALIPER && json_object_get(subject, "pid") == NULL)
			caliper_item(l, &s, subject);
	} else if (prefixed(m->event_type, "nw:process")) {
		s.kind = KIND_PROCESS;
		l->have_processes = true;
	} else if (prefixed(m->event_type, "nw:file")) {
		s.kind = KIND_FILE;
		s.item = file_add(l->e, s.host, subject);
	} else if (prefixed(m->event_type, "nw:connection")) {
		s.kind = KIND_CONNECTION;
		s.item = connection_add(l->e, s.host, subject);
	}
	if (s.kind == KIND_CALIPER || s.kind == KIND_PROCESS)
		s.process = process_index(l->e, s.host, json_number(subject, "pid", PID_NOT_TOLD),
		    json_text(subject, "program"));
	if (s.kind == KIND_PROCESS)
		l->e->processes[s.process].parent_pid = json_number(subject, "ppid", PID_NOT_TOLD);
	if (s.kind != KIND_OTHER) {
		l->sources = xreallocarray(l->sources, l->n_sources + 1, sizeof(*l->sources));
		l->sources[l->n_sources++] = s;
	}
	json_decref(subject);
	json_decref(params);
	return 0;
}

/* The same connection, told from its other end on the same host. */
static bool
has_other_end_here(const struct evidence *e, const struct evidence_connection *c)
{
	const struct evidence_connection *o;
	size_t i;

	for (i = 0; i < e->n_connections; i++) {
		o = &e->connections[i];
		if (o->host == c->host && o->sport == c->dport && o->dport == c->sport &&
		    o->sport != 0 && o->sport != o->dport && strcmp(o->src, c->dst) == 0 &&
		    strcmp(o->dst, c->src) == 0)
			return true;
	}
	return false;
}

/*
 * Original senders do not name their process. Where both ends of a connection are on one host,
 * there are two at least: who receives and writes to disk is made a process of its own. (A
 * third-party transfer between two servers of one host.)
 */
static void
ends_separate(struct loader *l)
{
	struct evidence *e = l->e;
	struct source *s, *t;
	size_t i, k;

	for (i = 0; i < l->n_sources; i++) {
		s = &l->sources[i];
		if (!s->has_connection || !has_other_end_here(e, &e->connections[s->item]))
			continue;
		for (k = 0; k < l->n_sources; k++) {
			t = &l->sources[k];
			if (t->kind == KIND_CALIPER && t->host == s->host &&
			    e->processes[t->process].pid == PID_NOT_TOLD &&
			    (t->op == NW_OP_NET_READ || t->op == NW_OP_DISK_WRITE))
				t->process = process_index(
				    e, t->host, PID_RECEIVER, e->processes[t->process].program);
		}
	}
}

struct host_metas {
	struct loader *l;
	size_t host;
};

/* What a host says of itself, in the time of the session. */
static int
on_host_meta(void *arg, const struct nw_meta_rec *m)
{
	struct host_metas *hm = arg;
	struct loader *l = hm->l;
	struct source s = { .kind = KIND_OTHER, .meta_id = m->id, .host = hm->host };

	if (prefixed(m->event_type, "ps:tools:blipp:linux:cpu:utilization"))
		s.kind = KIND_CPU;
	else if (prefixed(m->event_type, "ps:tools:blipp:linux:disk:"))
		s.kind = KIND_DISK;
	else if (prefixed(m->event_type, "ps:tools:blipp:linux:clock"))
		s.kind = KIND_CLOCK;
	else if (strcmp(m->event_type, "nw:clock") == 0)
		s.kind = KIND_EXCHANGE;
	if (s.kind != KIND_OTHER) {
		l->sources = xreallocarray(l->sources, l->n_sources + 1, sizeof(*l->sources));
		l->sources[l->n_sources++] = s;
	}
	return 0;
}

/* --- rows --- */

struct span {
	double window_s;
	int64_t begin_wall_ns, end_wall_ns;
};

static struct span
row_span(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct span s = { .window_s = cell(b, c->window, i), .end_wall_ns = b->t_wall_ns[i] };

	if (!(s.window_s > 0) && l->source->last_wall_ns != 0 &&
	    l->source->last_wall_ns < s.end_wall_ns)
		s.window_s = (double)(s.end_wall_ns - l->source->last_wall_ns) * NS;
	/* A silent sender's gap is not a window: its reporting interval is, or the bucket that its
	 * rows became. */
	if (b->bucket_ns > 0 && !(s.window_s > 0))
		s.window_s = (double)(s.end_wall_ns % b->bucket_ns) * NS;
	else if (b->bucket_ns == 0 && isfinite(l->source->dt_s) && l->source->dt_s > 0 &&
	    c->window < 0 && (!(s.window_s > 0) || s.window_s > 2 * l->source->dt_s))
		s.window_s = l->source->dt_s;
	if (!(s.window_s > 1e-6) || s.window_s > 1e6)
		s.window_s = 1;
	s.begin_wall_ns = s.end_wall_ns - llround(s.window_s / NS);
	return s;
}

/* Pass one: how long, and in which steps. */
static void
span_vote(struct loader *l, const struct span *s)
{
	int slot = (int)lround(8 * log2(s->window_s)) + 32;

	slot = slot < 0 ? 0 : slot > 63 ? 63 : slot;
	l->step_votes[slot] += s->window_s;
	l->step_rows[slot]++;
	if (l->begin_wall_ns == 0 || s->begin_wall_ns < l->begin_wall_ns)
		l->begin_wall_ns = s->begin_wall_ns;
	if (s->end_wall_ns > l->end_wall_ns)
		l->end_wall_ns = s->end_wall_ns;
}

static double *
grid_array(const struct evidence *e, double **a, double fill)
{
	size_t i;

	if (*a == NULL) {
		*a = xcalloc(e->n_windows, sizeof(**a));
		for (i = 0; i < e->n_windows; i++)
			(*a)[i] = fill;
	}
	return *a;
}

/* Spreads an amount evenly over the windows its row covers. */
static void
grid_spread(const struct evidence *e, double *a, const struct span *s, double amount)
{
	double step = (double)e->step_ns, from, to, lo, hi, length;
	size_t i, last;

	if (a == NULL || !(amount > 0))
		return;
	from = (double)(s->begin_wall_ns - e->t0_wall_ns);
	to = (double)(s->end_wall_ns - e->t0_wall_ns);
	length = to - from;
	if (to <= 0 || from >= step * (double)e->n_windows || length <= 0)
		return;
	i = from > 0 ? (size_t)(from / step) : 0;
	last = (size_t)(to / step);
	for (; i <= last && i < e->n_windows; i++) {
		lo = fmax(from, (double)i * step);
		hi = fmin(to, (double)(i + 1) * step);
		if (hi > lo)
			a[i] += amount * (hi - lo) / length;
	}
}

/* Reports that came, and those whose time lies between two that came. */
static void
intervals_count(struct loader *l, const struct span *s)
{
	double gap_s = (double)(s->begin_wall_ns - l->source->last_wall_ns) * NS;

	l->e->intervals_got++;
	l->e->intervals_expected++;
	if (l->source->last_wall_ns != 0 && gap_s > s->window_s / 2)
		l->e->intervals_expected += (uint64_t)lround(fmin(gap_s / s->window_s, 1e6));
}

/* A sender that numbers its reports tells how many there should be; idle intervals have none. */
static void
reports_count(struct loader *l, double number)
{
	uint64_t upto = number >= 0 && number < 1e12 ? (uint64_t)number + 1 : 0;

	l->e->intervals_got++;
	if (upto > l->source->reports) {
		l->e->intervals_expected += upto - l->source->reports;
		l->source->reports = upto;
	}
}

static int
size_class_of(double bytes)
{
	int e;

	if (!(bytes >= 1) || bytes > 1e18)
		return -1;
	(void)frexp(bytes, &e);
	return (e - 1) / 2;
}

static struct evidence_durations *
durations_of(struct evidence *e, size_t host, enum nw_op op, int size_class)
{
	struct evidence_durations *d;
	size_t i;

	for (i = 0; i < e->n_durations; i++) {
		d = &e->durations[i];
		if (d->host == host && d->op == op && d->size_class == size_class)
			return d;
	}
	if (e->n_durations == EVIDENCE_LIST_MAX)
		return NULL;
	e->durations = xreallocarray(e->durations, e->n_durations + 1, sizeof(*e->durations));
	d = &e->durations[e->n_durations++];
	*d = (struct evidence_durations){ .host = host,
		.op = op,
		.size_class = size_class,
		.counts = xcalloc(NW_HIST_BUCKETS, sizeof(*d->counts)) };
	return d;
}

/* A report's histogram goes where its mean operation belongs. */
static void
durations_add(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	double size = cell(b, c->mean_v, i);
	struct evidence_durations *d;

	if (b->hist == NULL || b->hist[i] == NULL || b->hist_len[i] == 0)
		return;
	if (!isfinite(size))
		size = cell(b, c->sum_v, i) / cell(b, c->count, i);
	d = durations_of(l->e, l->source->host, l->source->op, size_class_of(size));
	/* The box takes no histogram that does not decode, so this is a damaged store. */
	if (d == NULL || nw_hist_decode_add(b->hist[i], b->hist_len[i], d->counts) < 0)
		l->e->durations_rejected++;
}

static void
process_covers(struct evidence_process *f, const struct span *s)
{
	if (f->first_wall_ns == 0 || s->begin_wall_ns < f->first_wall_ns)
		f->first_wall_ns = s->begin_wall_ns;
	if (s->end_wall_ns > f->last_wall_ns)
		f->last_wall_ns = s->end_wall_ns;
}

static void
caliper_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct span s = row_span(l, c, b, i);
	struct evidence *e = l->e;
	struct evidence_process *f = &e->processes[l->source->process];
	enum nw_op op = l->source->op;
	double bytes = known(cell(b, c->sum_v, i)), ops = known(cell(b, c->count, i)), busy,
	       threads;

	if (!l->filling) {
		span_vote(l, &s);
		return;
	}
	if (!l->have_processes)
		intervals_count(l, &s);
	process_covers(f, &s);
	busy = cell(b, c->busy_max, i);
	if (!isfinite(busy))
		busy = cell(b, c->busy, i);
	if (!isfinite(busy))
		busy = cell(b, c->dur_inst, i);
	grid_spread(e, grid_array(e, &f->bytes[op], 0), &s, bytes);
	grid_spread(e, grid_array(e, &f->busy_s[op], 0), &s, known(busy));
	grid_spread(e, grid_array(e, &f->wait_s[op], 0), &s, known(cell(b, c->wait, i)));
	grid_spread(e, grid_array(e, &f->ops[op], 0), &s, ops);
	grid_spread(
	    e, grid_array(e, &f->rate_sum[op], 0), &s, known(cell(b, c->mean_r, i)) * 1e9 * ops);
	grid_spread(
	    e, grid_array(e, &f->rate_sd_sum[op], 0), &s, known(cell(b, c->sd_r, i)) * 1e9 * ops);
	durations_add(l, c, b, i);
	if (l->source->has_connection)
		*(op == NW_OP_NET_READ ? &e->connections[l->source->item].bytes_in
				       : &e->connections[l->source->item].bytes_out) += bytes;
	if (l->source->has_file)
		*(op == NW_OP_DISK_READ ? &e->files[l->source->item].read_bytes
					: &e->files[l->source->item].write_bytes) += bytes;
	threads = cell(b, c->threads, i);
	if (threads > f->threads && threads < 1e6)
		f->threads = (unsigned)threads;
	if (bytes > 0) {
		if (e->first_wall_ns == 0 || s.begin_wall_ns < e->first_wall_ns)
			e->first_wall_ns = s.begin_wall_ns;
		if (s.end_wall_ns > e->last_wall_ns)
			e->last_wall_ns = s.end_wall_ns;
	}
}

static void
process_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct evidence_process *f = &l->e->processes[l->source->process];
	struct span s = row_span(l, c, b, i);
	double user = cell(b, c->cpu_user, i), sys = cell(b, c->cpu_sys, i),
	       wait = cell(b, c->cpu_wait, i);

	process_covers(f, &s);
	if (isfinite(user) || isfinite(sys)) {
		f->cpu_s = known(f->cpu_s) + known(user) + known(sys);
		grid_spread(l->e, grid_array(l->e, &f->cpu, 0), &s, known(user) + known(sys));
	}
	if (isfinite(wait))
		f->cpu_wait_s = known(f->cpu_wait_s) + wait;
	/* left out when it is 0 */
	f->combined_bytes = known(f->combined_bytes) + known(cell(b, c->combined_bytes, i));
	if (c->pipe_read_bytes >= 0) {
		grid_spread(l->e, grid_array(l->e, &f->pipe_bytes[0], 0), &s,
		    known(cell(b, c->pipe_read_bytes, i)));
		grid_spread(l->e, grid_array(l->e, &f->pipe_bytes[1], 0), &s,
		    known(cell(b, c->pipe_write_bytes, i)));
		grid_spread(l->e, grid_array(l->e, &f->pipe_s[0], 0), &s,
		    known(cell(b, c->pipe_read_s, i)));
		grid_spread(l->e, grid_array(l->e, &f->pipe_s[1], 0), &s,
		    known(cell(b, c->pipe_write_s, i)));
	}
	if (c->report >= 0)
		reports_count(l, cell(b, c->report, i));
	else
		intervals_count(l, &s);
	f->storage_read_bytes += known(cell(b, c->read_bytes, i));
	f->seen_bytes += known(cell(b, c->seen_read, i)) + known(cell(b, c->seen_written, i));
	f->kernel_bytes += known(cell(b, c->rchar, i)) + known(cell(b, c->wchar, i));
}

static void
file_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct evidence_file *f = &l->e->files[l->source->item];

	f->read_bytes += known(cell(b, c->read_bytes, i));
	f->write_bytes += known(cell(b, c->write_bytes, i));
}

static void
last_known(double *out, double v)
{
	if (isfinite(v))
		*out = v;
}

static void
connection_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct evidence_connection *k = &l->e->connections[l->source->item];

	k->bytes_in += known(cell(b, c->bytes_in, i));
	k->bytes_out += known(cell(b, c->bytes_out, i));
	last_known(&k->rtt_s, cell(b, c->rtt_s, i));
	last_known(&k->rtt_min_s, cell(b, c->rtt_min_s, i));
	last_known(&k->retrans, cell(b, c->retrans, i));
	last_known(&k->cwnd_bytes, cell(b, c->cwnd_bytes, i));
	last_known(&k->busy_s, cell(b, c->busy_s, i));
	last_known(&k->rwnd_limited_s, cell(b, c->rwnd_limited_s, i));
	last_known(&k->sndbuf_limited_s, cell(b, c->sndbuf_limited_s, i));
}

/* A gauge holds for the interval before it. */
static void
grid_gauge(
    const struct evidence *e, double *a, int64_t begin_wall_ns, int64_t end_wall_ns, double v)
{
	int64_t i, first, last;

	if (!isfinite(v) || end_wall_ns <= e->t0_wall_ns)
		return;
	first = begin_wall_ns > e->t0_wall_ns ? (begin_wall_ns - e->t0_wall_ns) / e->step_ns : 0;
	last = (end_wall_ns - 1 - e->t0_wall_ns) / e->step_ns;
	for (i = first; i <= last && i < (int64_t)e->n_windows; i++)
		a[i] = v;
}

/* How far back a host's row reaches: to the row before, or a second. */
static int64_t
row_begin(const struct loader *l, int64_t t_wall_ns)
{
	int64_t last = l->source->last_wall_ns;

	return last != 0 && t_wall_ns - last < (int64_t)120e9 ? last : t_wall_ns - (int64_t)1e9;
}

static void
cpu_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct evidence_host *h = &l->e->hosts[l->source->host];
	double idle = cell(b, c->idle, i), iowait = cell(b, c->iowait, i);
	int64_t t = b->t_wall_ns[i], begin = row_begin(l, t);

	grid_gauge(l->e, grid_array(l->e, &h->cpu_busy, NAN), begin, t, 1 - idle - known(iowait));
	grid_gauge(l->e, grid_array(l->e, &h->cpu_iowait, NAN), begin, t, iowait);
}

static void
clock_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct evidence_host *h = &l->e->hosts[l->source->host];
	double offset = cell(b, c->offset_s, i), bound = cell(b, c->bound_s, i),
	       synced = cell(b, c->kernel_synced, i);

	last_known(&h->clock_offset_s, offset);
	last_known(&h->clock_bound_s, bound);
	if (isfinite(h->clock_bound_s))
		h->clock_known = true;
	if (isfinite(synced)) {
		h->clock_sync_told = true;
		h->clock_synchronised = synced > 0;
	}
}

/* What an exchange says is bounded by the time it took: the shortest knows best. */
static void
exchange_row(struct loader *l, const struct columns *c, const struct store_block *b, size_t i)
{
	struct evidence_host *h = &l->e->hosts[l->source->host];
	double offset = cell(b, c->offset_s, i), bound = cell(b, c->bound_s, i);

	if (isfinite(offset) && bound >= 0 && !(h->exchange_bound_s <= bound)) {
		h->exchange_offset_s = offset;
		h->exchange_bound_s = bound;
	}
}

/* Where no chrony speaks, the box's own measurement does. */
static void
clocks_settle(struct evidence *e)
{
	struct evidence_host *h;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		h = &e->hosts[i];
		if (h->clock_known || !isfinite(h->exchange_bound_s))
			continue;
		h->clock_known = true;
		h->clock_offset_s = h->exchange_offset_s;
		h->clock_bound_s = fabs(h->exchange_offset_s) + h->exchange_bound_s;
		if (!h->clock_sync_told)
			h->clock_synchronised = true; /* at any rate its error is known */
	}
}

/* Raw counters: read and written bytes, and milliseconds of activity. Defined in blipp(8). */
struct disk_state {
	bool have;
	int64_t t;
	double bytes, io_ms;
};

struct row_reader {
	struct loader *l;
	struct columns c;
	struct disk_state disk;
	int disk_io, disk_read, disk_written;
};

static void
disk_row(struct row_reader *rr, const struct store_block *b, size_t i)
{
	struct evidence *e = rr->l->e;
	struct evidence_host *h = &e->hosts[rr->l->source->host];
	struct disk_state now = { .have = true, .t = b->t_wall_ns[i] };
	double dt, busy, *busiest;
	struct span s;
	size_t k;

	now.bytes = known(cell(b, rr->disk_read, i)) + known(cell(b, rr->disk_written, i));
	now.io_ms = known(cell(b, rr->disk_io, i));
	dt = (double)(now.t - rr->disk.t) * NS;
	/* Less than before: the machine started anew. */
	if (rr->disk.have && dt > 0 && now.bytes >= rr->disk.bytes && now.io_ms >= rr->disk.io_ms) {
		s.begin_wall_ns = rr->disk.t;
		s.end_wall_ns = now.t;
		busy = (now.io_ms - rr->disk.io_ms) / 1000 / dt;
		busiest = grid_array(e, &h->disk_busy, NAN);
		for (k = 0; k < e->n_windows; k++) {
			int64_t at = e->t0_wall_ns + (int64_t)k * e->step_ns;

			if (at + e->step_ns > s.begin_wall_ns && at < s.end_wall_ns &&
			    !(busiest[k] >= busy))
				busiest[k] = busy > 1 ? 1 : busy;
		}
		if (now.bytes > rr->disk.bytes)
			grid_spread(e, grid_array(e, &h->disk_bytes_per_s, 0), &s,
			    (now.bytes - rr->disk.bytes) / ((double)e->step_ns * NS));
	}
	rr->disk = now;
}

static int
on_block(void *arg, const struct store_block *b)
{
	struct row_reader *rr = arg;
	struct loader *l = rr->l;
	size_t i;

	for (i = 0; i < b->n_rows; i++) {
		switch (l->source->kind) {
		case KIND_CALIPER: caliper_row(l, &rr->c, b, i); break;
		case KIND_PROCESS: process_row(l, &rr->c, b, i); break;
		case KIND_FILE: file_row(l, &rr->c, b, i); break;
		case KIND_CONNECTION: connection_row(l, &rr->c, b, i); break;
		case KIND_CPU: cpu_row(l, &rr->c, b, i); break;
		case KIND_DISK: disk_row(rr, b, i); break;
		case KIND_CLOCK: clock_row(l, &rr->c, b, i); break;
		case KIND_EXCHANGE: exchange_row(l, &rr->c, b, i); break;
		case KIND_OTHER: break;
		}
		l->source->last_wall_ns = b->t_wall_ns[i];
	}
	if (l->filling) {
		l->e->rows += b->n_rows;
		l->e->samples += b->n_rows * b->n_fields;
	}
	return 0;
}

struct layout_copy {
	int64_t id;
	struct columns c;
	int disk_io, disk_read, disk_written;
};
struct layout_list {
	struct layout_copy *l;
	size_t n;
};

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct layout_list *list = arg;
	struct layout_copy *c;
	size_t i;

	list->l = xreallocarray(list->l, list->n + 1, sizeof(*list->l));
	c = &list->l[list->n++];
	c->id = rec->id;
	columns_find(&c->c, rec);
	c->disk_io = c->disk_read = c->disk_written = -1;
	for (i = 0; i < rec->n_fields; i++) {
		if (strcmp(rec->fields[i], "io_ms") == 0)
			c->disk_io = (int)i;
		else if (strcmp(rec->fields[i], "read_bytes") == 0)
			c->disk_read = (int)i;
		else if (strcmp(rec->fields[i], "written_bytes") == 0)
			c->disk_written = (int)i;
	}
	return 0;
}

static int
source_read(struct loader *l, struct source *s, int64_t t0, int64_t t1)
{
	/* an exchange is noted at the time of the box that made it */
	int64_t ahead_ns = s->kind == KIND_EXCHANGE ? 0 : l->e->hosts[s->host].ahead_ns;
	struct layout_list list = { 0 };
	struct row_reader rr = { .l = l };
	size_t i;
	int rc;

	rc = store_layouts(l->reader, s->meta_id, on_layout, &list);
	l->source = s;
	s->last_wall_ns = 0;
	for (i = 0; i < list.n && rc == NW_OK; i++) {
		rr.c = list.l[i].c;
		rr.disk_io = list.l[i].disk_io;
		rr.disk_read = list.l[i].disk_read;
		rr.disk_written = list.l[i].disk_written;
		rc = hosttime_rows(
		    l->reader, list.l[i].id, NULL, 0, t0, t1, ahead_ns, on_block, &rr);
	}
	free(list.l);
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

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	struct evidence *e = arg;

	e->documents += x->docs;
	e->documents_rejected += x->rejected;
	e->documents_dropped += x->dropped;
	return 0;
}

/* The interval that covered most of the time, but no finer than the longest session allows. */
static void
grid_choose(struct loader *l)
{
	struct evidence *e = l->e;
	int64_t length = l->end_wall_ns - l->begin_wall_ns;
	double step_s;
	int slot, best = 0;

	if (length <= 0)
		return;
	for (slot = 1; slot < 64; slot++)
		if (l->step_votes[slot] > l->step_votes[best])
			best = slot;
	step_s = l->step_votes[best] / l->step_rows[best];
	if (step_s > 0.01)
		step_s = round(step_s * 1000) / 1000;
	e->step_ns = llround(step_s / NS);
	e->n_windows = (size_t)((length + e->step_ns - 1) / e->step_ns);
	if (e->n_windows > EVIDENCE_WINDOWS_MAX) {
		e->step_ns = length / EVIDENCE_WINDOWS_MAX + 1;
		e->n_windows = (size_t)((length + e->step_ns - 1) / e->step_ns);
	}
	e->t0_wall_ns = l->begin_wall_ns;
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
	while (e->n_connections > EVIDENCE_LIST_MAX) {
		free(e->connections[--e->n_connections].src);
		free(e->connections[e->n_connections].dst);
	}
}

/* How far each host's clock was ahead while the session ran, for all that comes after. One host is
 * its own clock. */
static int
clocks_load(struct loader *l)
{
	struct evidence *e = l->e;
	/* A session opens by the box's clock and ends by its hosts'. */
	int64_t t0 = e->opened_wall_ns, t1 = e->open ? INT64_MAX / 2 : e->closed_wall_ns;
	size_t i, k, n = l->n_sources;
	int rc = NW_OK;

	for (i = 0; i < e->n_hosts && rc == NW_OK; i++) {
		struct host_metas hm = { .l = l, .host = i };

		if ((rc = store_metas(
			 l->reader, 0, e->hosts[i].id, "nw:clock", on_host_meta, &hm)) < 0)
			break;
		for (k = n; k < l->n_sources && rc == NW_OK; k++)
			rc = source_read(l, &l->sources[k], (t0 < t1 ? t0 : t1) - EXCHANGE_LEAD_NS,
			    (t0 < t1 ? t1 : t0) + EXCHANGE_LEAD_NS);
		l->n_sources = n;
		if (e->n_hosts > 1)
			e->hosts[i].ahead_ns = hosttime_ahead_ns(
			    e->hosts[i].exchange_offset_s, e->hosts[i].exchange_bound_s);
	}
	return rc;
}

static int
session_read(struct loader *l)
{
	struct evidence *e = l->e;
	size_t i, n_hosts, n_own;
	int rc;

	if ((rc = store_session_get(l->reader, e->session_id, on_session, e)) < 0 ||
	    (rc = store_xsp_of_session(l->reader, e->session_id, on_xsp, e)) < 0 ||
	    (rc = store_metas(l->reader, e->session_id, 0, "", on_session_meta, l)) < 0)
		return rc;
	hosts_name(l);
	if ((rc = clocks_load(l)) < 0)
		return rc;
	ends_separate(l);
	for (i = 0; i < l->n_sources && rc == NW_OK; i++)
		if (l->sources[i].kind == KIND_CALIPER)
			rc = source_read(l, &l->sources[i], INT64_MIN, INT64_MAX);
	grid_choose(l);
	n_own = l->n_sources;
	n_hosts = e->n_hosts;
	for (i = 0; i < n_hosts && rc == NW_OK; i++) {
		struct host_metas hm = { .l = l, .host = i };

		rc = store_metas(
		    l->reader, 0, e->hosts[i].id, "ps:tools:blipp:linux:", on_host_meta, &hm);
	}
	if (rc < 0 || e->n_windows == 0)
		return rc;
	l->filling = true;
	for (i = 0; i < l->n_sources && rc == NW_OK; i++)
		rc = i < n_own ? source_read(l, &l->sources[i], INT64_MIN, INT64_MAX)
			       : source_read(l, &l->sources[i], l->begin_wall_ns - (int64_t)20e9,
				     l->end_wall_ns + (int64_t)20e9);
	clocks_settle(e);
	lists_cut(e);
	return rc;
}

int
evidence_load(struct store_reader *r, int64_t session_id, struct evidence *out)
{
	struct loader l = { .reader = r, .e = out };
	int rc;

	memset(out, 0, sizeof(*out));
	out->session_id = session_id;
	rc = session_read(&l);
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

void
evidence_clear(struct evidence *e)
{
	size_t i;
	int op;

	for (i = 0; i < e->n_hosts; i++) {
		free(e->hosts[i].name);
		free(e->hosts[i].cpu_busy);
		free(e->hosts[i].cpu_iowait);
		free(e->hosts[i].disk_busy);
		free(e->hosts[i].disk_bytes_per_s);
	}
	for (i = 0; i < e->n_processes; i++) {
		free(e->processes[i].program);
		free(e->processes[i].cpu);
		for (op = 0; op < 2; op++) {
			free(e->processes[i].pipe_bytes[op]);
			free(e->processes[i].pipe_s[op]);
		}
		for (op = 0; op < NW_OP_COUNT; op++) {
			free(e->processes[i].bytes[op]);
			free(e->processes[i].busy_s[op]);
			free(e->processes[i].wait_s[op]);
			free(e->processes[i].rate_sum[op]);
			free(e->processes[i].rate_sd_sum[op]);
			free(e->processes[i].ops[op]);
		}
	}
	for (i = 0; i < e->n_durations; i++)
		free(e->durations[i].counts);
	for (i = 0; i < e->n_files; i++)
		free(e->files[i].path);
	for (i = 0; i < e->n_connections; i++) {
		free(e->connections[i].src);
		free(e->connections[i].dst);
	}
	free(e->hosts);
	free(e->processes);
	free(e->files);
	free(e->connections);
	free(e->durations);
	free(e->task_id);
	free(e->program);
	memset(e, 0, sizeof(*e));
}
