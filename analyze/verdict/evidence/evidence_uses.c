/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Users of the disks and links of a session's hosts during the session: the totals of devices
 * and interfaces by the hosts' own counts, the session, and the other sessions of the box.
 */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

/* Sessions are looked through in the order of their ids, which is the order of their opening. */
enum { SESSIONS_LATER = 500, SESSIONS_SEEN = 1500, SESSIONS_MAX = 64, METAS_MAX = 256 };
/* Time between the box's word of a session's begin and the begin of its measurements. */
static const int64_t OPENING_NS = 10000000000;
/* A count over a longer time than these says nothing of a session's part. */
static const double STEPS_MAX = 2.5, SESSION_SHARE_MAX = 0.34;
/* A look at a queue says nothing of a longer time before. */
static const double LOOK_MAX_S = 2;

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static size_t
use_index(struct evidence *e, const struct evidence_use *key)
{
	struct evidence_use *u;
	size_t i;

	for (i = 0; i < e->n_uses; i++) {
		u = &e->uses[i];
		if (u->session_id == key->session_id && u->host == key->host &&
		    u->link == key->link && same_text(u->place, key->place))
			return i;
	}
	e->uses = xreallocarray(e->uses, e->n_uses + 1, sizeof(*e->uses));
	e->uses[e->n_uses] = (struct evidence_use){ .session_id = key->session_id,
		.host = key->host,
		.link = key->link,
		.place = xstrdup(key->place) };
	return e->n_uses++;
}

static size_t
use_file_add(struct evidence *e, int64_t session_id, size_t host, const char *device)
{
	e->use_files = xreallocarray(e->use_files, e->n_use_files + 1, sizeof(*e->use_files));
	e->use_files[e->n_use_files] = (struct evidence_use_file){
		.session_id = session_id, .host = host, .device = xstrdup(device)
	};
	return e->n_use_files++;
}

void
uses_clear(struct evidence *e)
{
	size_t i, way;

	for (i = 0; i < e->n_uses; i++) {
		free(e->uses[i].place);
		free(e->uses[i].program);
		free(e->uses[i].in);
		free(e->uses[i].out);
		for (way = 0; way < 2; way++) {
			free(e->uses[i].queued_s[way]);
			free(e->uses[i].looked_s[way]);
			free(e->uses[i].limit[way]);
		}
	}
	for (i = 0; i < e->n_use_files; i++)
		free(e->use_files[i].device);
	free(e->uses);
	free(e->use_files);
}

/* --- sources --- */

void
source_use(struct evidence *e, struct source *s, const char *event_type, int64_t session_id,
    const json_t *subject)
{
	struct evidence_use key = { .session_id = session_id, .host = s->host };
	const char *device = json_string_value(json_object_get(subject, "device"));

	if (nw_type_begins(event_type, NW_TYPE_PROCESS)) {
		s->use_kind = SOURCE_PROCESS;
	} else if (nw_type_begins(event_type, NW_TYPE_CONNECTION)) {
		s->use_kind = SOURCE_CONNECTION;
		key.link = true;
		key.place = (char *)json_string_value(json_object_get(subject, "interface"));
	} else if (nw_type_begins(event_type, NW_TYPE_FILE) && device != NULL) {
		s->use_kind = SOURCE_FILE;
		s->use = use_file_add(e, session_id, s->host, device);
		return;
	} else
		return;
	s->use = use_index(e, &key);
}

void
source_total(struct evidence *e, struct source *s, const json_t *subject)
{
	const char *key = s->kind == SOURCE_LINK ? "interface" : "device";
	struct evidence_use total = { .host = s->host,
		.link = s->kind == SOURCE_LINK,
		.place = (char *)json_string_value(json_object_get(subject, key)) };

	s->use_kind = SOURCE_OTHER;
	if (total.place == NULL)
		return;
	s->use_kind = s->kind;
	s->use = use_index(e, &total);
}

/* --- other sessions --- */

struct other_sessions {
	struct loader *l;
	int64_t id[SESSIONS_MAX + 1]; /* and this one */
	size_t n;
	size_t now, n_metas; /* the session in hand, and its metadata so far */
};

static size_t
host_known(const struct evidence *e, int64_t host_id)
{
	size_t i;

	for (i = 0; i < e->n_hosts && e->hosts[i].id != host_id; i++)
		;
	return i;
}

static size_t
program_index(struct loader *l, size_t use, const char *name)
{
	size_t i;

	for (i = 0; i < l->n_programs; i++)
		if (l->programs[i].use == use && strcmp(l->programs[i].name, name) == 0)
			return i;
	l->programs = xreallocarray(l->programs, l->n_programs + 1, sizeof(*l->programs));
	l->programs[l->n_programs] = (struct use_program){ .use = use, .name = xstrdup(name) };
	return l->n_programs++;
}

void
uses_name(struct loader *l)
{
	struct evidence *e = l->e;
	size_t i, k;

	for (k = 0; k < e->n_uses; k++) {
		const struct use_program *p, *most = NULL;

		for (p = l->programs; p < l->programs + l->n_programs; p++)
			if (p->use == k && (most == NULL || p->bytes > most->bytes))
				most = p;
		if (most != NULL)
			e->uses[k].program = xstrdup(most->name);
	}
	for (i = 0; i < l->n_programs; i++)
		free(l->programs[i].name);
	free(l->programs);
}

static int
on_other_meta(void *arg, const struct nw_meta_rec *m)
{
	struct other_sessions *o = arg;
	struct loader *l = o->l;
	struct source s = {
		.kind = SOURCE_USE, .use_kind = SOURCE_OTHER, .meta_id = m->id, .xsp_id = m->xsp_id
	};
	const char *program;
	json_t *subject;

	s.host = host_known(l->e, m->host_id);
	s.dt_s = NAN;
	if (s.host == l->e->n_hosts)
		return 0;
	subject = json_loads(m->subject_json, 0, NULL);
	program = json_string_value(json_object_get(subject, "program"));
	source_use(l->e, &s, m->event_type, o->id[o->now], subject);
	if (s.use_kind == SOURCE_PROCESS || s.use_kind == SOURCE_CONNECTION)
		s.use_program = program_index(l, s.use, program != NULL ? program : "a program");
	if (s.use_kind != SOURCE_OTHER)
		source_add(l, &s);
	json_decref(subject);
	return ++o->n_metas == METAS_MAX;
}

int
other_sessions_load(struct loader *l)
{
	struct other_sessions o = { .l = l };
	size_t n_others = 0;
	int rc;

	rc = store_sessions_during(l->reader, l->e->session_id + SESSIONS_LATER, SESSIONS_SEEN,
	    l->begin_wall_ns - OPENING_NS, l->end_wall_ns + OPENING_NS, o.id, SESSIONS_MAX + 1,
	    &o.n);
	for (o.now = 0; o.now < o.n && rc == NW_OK; o.now++) {
		if (o.id[o.now] == l->e->session_id || n_others++ == SESSIONS_MAX)
			continue;
		o.n_metas = 0;
		rc = store_metas(l->reader, o.id[o.now], 0, NW_TYPE_RUN, on_other_meta, &o);
	}
	return rc;
}

/* --- rows --- */

/* Raw counters of a device or an interface. A falling counter means a restarted machine. */
static void
total_row(struct loader *l, double in, double out, const struct span *s)
{
	struct source *from = l->source;
	const struct evidence *e = l->e;
	struct evidence_use *u = &l->e->uses[from->use];
	double length_s = (double)(s->end_wall_ns - s->begin_wall_ns) * 1e-9;
	double step_s = (double)e->step_ns * 1e-9;

	if (length_s > 0 && in >= from->use_in && out >= from->use_out &&
	    length_s <=
		fmax(STEPS_MAX * step_s, SESSION_SHARE_MAX * step_s * (double)e->n_windows)) {
		grid_spread(e, grid_array(e, &u->in, 0), s, in - from->use_in);
		grid_spread(e, grid_array(e, &u->out, 0), s, out - from->use_out);
	}
	from->use_in = in;
	from->use_out = out;
}

/* What a look found waiting in front of a disk, and the throttle; a look stands for the time since
 * the look before. */
static void
queue_row(struct loader *l, const struct row *r, const struct span *s)
{
	const struct columns *c = r->c;
	struct evidence_use *u = &l->e->uses[l->source->use];
	const int queued[] = { c->queued_read_bytes, c->queued_written_bytes },
		  limit[] = { c->read_limit, c->written_limit };
	double length_s = (double)(s->end_wall_ns - s->begin_wall_ns) * 1e-9, v;
	int way;

	for (way = 0; way < 2 && length_s > 0 && length_s <= LOOK_MAX_S; way++) {
		v = row_cell(r, queued[way]);
		if (v >= 0)
			grid_spread(l->e, grid_array(l->e, &u->looked_s[way], 0), s, length_s);
		if (v > 0)
			grid_spread(l->e, grid_array(l->e, &u->queued_s[way], 0), s, length_s);
		v = row_cell(r, limit[way]);
		if (v > 0)
			grid_gauge(l->e, grid_array(l->e, &u->limit[way], NAN), s, v);
	}
}

/* The rate of a shaper behind an interface. */
static void
shaper_row(struct loader *l, const struct row *r, const struct span *s)
{
	const double v = row_cell(r, r->c->sent_limit);

	if (v > 0 && s->begin_wall_ns != 0)
		grid_gauge(l->e, grid_array(l->e, &l->e->uses[l->source->use].limit[1], NAN), s, v);
}

/* Bytes of a session: its own processes and connections need no name here. */
static void
bytes_add(struct loader *l, const struct span *s, double in, double out)
{
	const struct evidence *e = l->e;
	struct evidence_use *u = &l->e->uses[l->source->use];

	grid_spread(e, grid_array(e, &u->in, 0), s, in);
	grid_spread(e, grid_array(e, &u->out, 0), s, out);
	if (l->source->kind == SOURCE_USE)
		l->programs[l->source->use_program].bytes += known_or_0(in) + known_or_0(out);
}

void
use_row(struct loader *l, const struct row *r)
{
	struct evidence *e = l->e;
	const struct source *from = l->source;
	const struct columns *c = r->c;
	struct span s = { .begin_wall_ns = from->last_wall_ns,
		.end_wall_ns = r->b->t_wall_ns[r->i] };

	switch (from->use_kind) {
	case SOURCE_DISK:
		queue_row(l, r, &s);
		total_row(l, row_cell(r, c->read_bytes), row_cell(r, c->written_bytes), &s);
		break;
	case SOURCE_LINK:
		shaper_row(l, r, &s);
		total_row(l, row_cell(r, c->bytes_in), row_cell(r, c->bytes_out), &s);
		break;
	case SOURCE_PROCESS:
		s = row_span(l, r);
		bytes_add(l, &s, row_cell(r, c->read_bytes), row_cell(r, c->write_bytes));
		break;
	case SOURCE_CONNECTION:
		if (s.begin_wall_ns == 0)
			s.begin_wall_ns = s.end_wall_ns - e->step_ns;
		bytes_add(l, &s, row_cell(r, c->bytes_in), row_cell(r, c->bytes_out));
		break;
	case SOURCE_FILE:
		e->use_files[from->use].read += known_or_0(row_cell(r, c->read_bytes));
		e->use_files[from->use].written += known_or_0(row_cell(r, c->write_bytes));
		break;
	default: break;
	}
}
