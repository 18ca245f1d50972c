/* SPDX-License-Identifier: BSD-3-Clause */
/* Metadata of a session and of its hosts become sources: each row belongs to a process, file,
 * connection or host. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

/* Senders without a named process; ends_separate() tells two such processes apart. */
enum { PID_NOT_TOLD = -1, PID_RECEIVER = -2 };

/* --- hosts --- */

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	struct evidence_host *h = arg;

	h->name = xstrdup(rec->name);
	return 1;
}

size_t
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
	h->bound_lowest_s = h->bound_highest_s = NAN;
	return e->n_hosts++;
}

void
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

/* --- processes, files, connections --- */

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
		f->cpu_s = f->cpu_wait_s = f->combined_bytes = f->unseen_bytes = NAN;
	}
	/* A process has the name of its last exec: the names before are of a shell or a wrapper. */
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

static void
server_describe(struct evidence_server *s, const json_t *subject, const char *program,
    const char *socket, const char *pid)
{
	free(s->program);
	free(s->socket);
	s->program = xstrdup(json_text(subject, program));
	s->socket = xstrdup(json_text(subject, socket));
	s->pid = json_number(subject, pid, PID_NOT_TOLD);
}

static void
process_describe(struct evidence_process *p, const json_t *subject)
{
	const char *by = json_text(subject, "unseen_by");

	server_describe(&p->server[0], subject, "server_read", "socket_read", "server_read_pid");
	server_describe(&p->server[1], subject, "server_write", "socket_write", "server_write_pid");
	p->parent_pid = json_number(subject, "ppid", PID_NOT_TOLD);
	p->bytes_before = fmax(0, (double)json_number(subject, "bytes_before", 0));
	if (by == NULL)
		return;
	free(p->unseen_by);
	p->unseen_by = xstrdup(by);
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
	f->mount = mount_add(e, host, subject);
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
	c->pid = json_number(subject, "pid", PID_NOT_TOLD);
	c->src = xstrdup(src != NULL ? src : "?");
	c->dst = xstrdup(dst != NULL ? dst : "?");
	c->sport = (unsigned)json_number(subject, "sport", 0) & 0xffff;
	c->dport = (unsigned)json_number(subject, "dport", 0) & 0xffff;
	c->rtt_s = c->rtt_min_s = c->retrans = c->cwnd_bytes = c->busy_s = c->rwnd_limited_s =
	    c->sndbuf_limited_s = c->snd_wnd_bytes = c->snd_mss_bytes = NAN;
	return e->n_connections++;
}

/* A replay becomes a source of its own, if this version knows the way of the replay. */
static void
source_replay(struct loader *l, struct source *s, const json_t *subject)
{
	struct evidence *e = l->e;
	const char *word = json_text(subject, "way");
	enum nw_replay_way way = word != NULL ? nw_replay_parse(word) : NW_REPLAY_NONE;

	if (way == NW_REPLAY_NONE || e->n_replays == EVIDENCE_LIST_MAX)
		return;
	s->kind = SOURCE_REPLAY;
	s->item = e->n_replays;
	e->replays = xreallocarray(e->replays, e->n_replays + 1, sizeof(*e->replays));
	e->replays[e->n_replays++] = (struct evidence_replay){
		.host = s->host, .way = way, .bytes = NAN, .calls_s = NAN, .took_s = NAN
	};
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

/* --- metadata --- */

enum { LABEL_BYTES = 96 };

void
source_add(struct loader *l, const struct source *s)
{
	if (s->kind == SOURCE_OTHER)
		return;
	l->sources = xreallocarray(l->sources, l->n_sources + 1, sizeof(*l->sources));
	l->sources[l->n_sources++] = *s;
}

/* The reporting interval, by the keys of generations 3 and 1; NaN if unknown. */
static double
interval_of(const json_t *params)
{
	static const char *const keys[] = { "collectionInterval", "dt", "dt_s" };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_is_number(json_object_get(params, keys[i])))
			return json_number_value(json_object_get(params, keys[i]));
	return NAN;
}

/* The user's name for the session, cut to what lists can search for. NULL: none. */
static char *
label_of(const json_t *subject)
{
	const char *label = json_text(subject, "label");

	return label != NULL && strlen(label) < LABEL_BYTES ? xstrdup(label) : NULL;
}

int
on_session_meta(void *loader, const struct nw_meta_rec *m)
{
	struct loader *l = loader;
	struct source s = { .kind = SOURCE_OTHER, .meta_id = m->id, .xsp_id = m->xsp_id };
	json_t *subject, *params;

	if (strcmp(m->event_type, NW_TYPE_ANNOUNCED) == 0)
		return announced_add(l, m);
	if (!owners_use(&l->e->owners, m->xsp_id))
		return 0;
	subject = json_loads(m->subject_json, 0, NULL);
	params = json_loads(m->params_json, 0, NULL);
	s.host = host_index(l, m->host_id);
	s.dt_s = interval_of(params);
	if (nw_type_begins(m->event_type, NW_TYPE_SUMMARY) ||
	    nw_type_begins(m->event_type, NW_TYPE_CALIPER_OLD)) {
		if (evidence_caliper_op(m->event_type, subject, &s.op))
			s.kind = SOURCE_CALIPER;
		/* Original senders name connections and files in caliper metadata alone. */
		if (s.kind == SOURCE_CALIPER && json_object_get(subject, "pid") == NULL)
			caliper_item(l, &s, subject);
	} else if (nw_type_begins(m->event_type, NW_TYPE_PROCESS)) {
		s.kind = SOURCE_PROCESS;
		l->have_processes = true;
	} else if (nw_type_begins(m->event_type, NW_TYPE_FILE)) {
		s.kind = SOURCE_FILE;
		s.item = file_add(l->e, s.host, subject);
	} else if (nw_type_begins(m->event_type, NW_TYPE_CONNECTION)) {
		s.kind = SOURCE_CONNECTION;
		s.item = connection_add(l->e, s.host, subject);
	} else if (strcmp(m->event_type, NW_TYPE_TCP) == 0) {
		s.kind = SOURCE_TCP;
		s.item = connection_add(l->e, s.host, subject);
		l->e->connections[s.item].watched = true;
		s.item = connection_watched(l->e, s.item);
	} else if (strcmp(m->event_type, NW_TYPE_REPLAY) == 0)
		source_replay(l, &s, subject);
	if (s.kind == SOURCE_OTHER && json_string_value(json_object_get(subject, "src")) != NULL)
		source_kernel(l, &s, m->event_type, subject);
	if (strcmp(m->event_type, NW_TYPE_PIPE) == 0)
		s.kind = SOURCE_PIPE;
	if (strcmp(m->event_type, NW_TYPE_STEPS) == 0)
		s.kind = SOURCE_STEPS;
	if (s.kind == SOURCE_CALIPER || s.kind == SOURCE_PROCESS || s.kind == SOURCE_PIPE ||
	    s.kind == SOURCE_STEPS ||
	    (s.kind == SOURCE_FILE && json_object_get(subject, "pid") != NULL))
		s.process = process_index(l->e, s.host, json_number(subject, "pid", PID_NOT_TOLD),
		    json_text(subject, "program"));
	if (s.kind == SOURCE_PIPE)
		pipe_source(l, &s, subject);
	if (s.kind == SOURCE_FILE)
		shared_source(l, &s, m->mid, subject);
	if (s.kind == SOURCE_STEPS)
		steps_source(l, &s, subject);
	source_use(l->e, &s, m->event_type, l->e->session_id, subject);
	if (s.kind == SOURCE_PROCESS && l->e->label == NULL)
		l->e->label = label_of(subject);
	if (s.kind == SOURCE_PROCESS)
		process_describe(&l->e->processes[s.process], subject);
	source_add(l, &s);
	json_decref(subject);
	json_decref(params);
	return 0;
}

/* Metadata of a host alone, outside sessions. */
int
on_host_meta(void *host_metas, const struct nw_meta_rec *m)
{
	struct host_metas *hm = host_metas;
	struct loader *l = hm->l;
	struct source s = {
		.kind = SOURCE_OTHER, .meta_id = m->id, .xsp_id = m->xsp_id, .host = hm->host
	};
	json_t *subject;

	if (nw_type_begins(m->event_type, NW_TYPE_CPU))
		s.kind = SOURCE_CPU;
	else if (nw_type_begins(m->event_type, NW_TYPE_DISK))
		s.kind = SOURCE_DISK;
	else if (nw_type_begins(m->event_type, NW_TYPE_MEMORY))
		s.kind = SOURCE_MEMORY;
	else if (strcmp(m->event_type, NW_TYPE_NETWORK) == 0 ||
	    strcmp(m->event_type, NW_TYPE_QDISC) == 0)
		s.kind = SOURCE_LINK;
	else if (nw_type_begins(m->event_type, NW_TYPE_CLOCK))
		s.kind = SOURCE_CLOCK;
	else if (strcmp(m->event_type, NW_TYPE_EXCHANGE) == 0)
		s.kind = SOURCE_EXCHANGE;
	else if (strcmp(m->event_type, NW_TYPE_BOXES) == 0)
		s.kind = SOURCE_BOXES;
	else
		source_kernel(l, &s, m->event_type, NULL);
	if (s.kind == SOURCE_DISK || s.kind == SOURCE_LINK) {
		subject = json_loads(m->subject_json, 0, NULL);
		source_total(l->e, &s, subject);
		json_decref(subject);
	}
	if (s.kind == SOURCE_EXCHANGE) {
		subject = json_loads(m->subject_json, 0, NULL);
		s.of_sender = json_object_get(subject, NW_CLOCK_OF_SENDER) != NULL;
		s.last_wall_ns = m->first_wall_ns;
		json_decref(subject);
	}
	source_add(l, &s);
	return 0;
}

/* Whether the same host also reported the other end of a connection. */
static bool
has_other_end_here(const struct evidence *e, const struct evidence_connection *c)
{
	const struct evidence_connection *o;
	size_t i;

	for (i = 0; i < e->n_connections; i++) {
		o = &e->connections[i];
		if (!o->watched && o->host == c->host && o->sport == c->dport &&
		    o->dport == c->sport && o->sport != 0 && o->sport != o->dport &&
		    strcmp(o->src, c->dst) == 0 && strcmp(o->dst, c->src) == 0)
			return true;
	}
	return false;
}

/*
 * Original senders do not name their process. Where both ends of a connection are on one host there
 * are at least two processes (a third-party transfer between two servers of that host): receiving
 * and writing to disk then become the work of a process of their own.
 */
void
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
			if (t->kind == SOURCE_CALIPER && t->host == s->host &&
			    e->processes[t->process].pid == PID_NOT_TOLD &&
			    (t->op == NW_OP_NET_READ || t->op == NW_OP_DISK_WRITE))
				t->process = process_index(
				    e, t->host, PID_RECEIVER, e->processes[t->process].program);
		}
	}
}
