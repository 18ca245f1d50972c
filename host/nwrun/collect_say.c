/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents about processes, stages, files and connections; each metadata before its first data. */
#include "host/nwrun/collect_in.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>

static const char *const stage_names[NWSHM_LANES] = { "disk.read", "disk.write", "net.read",
	"net.write" };

/* --- lists of keys and values --- */

struct kv_list {
	struct nw_kv kv[20];
	size_t n;
	char text[2][INET6_ADDRSTRLEN];
};

static void
kv_text(struct kv_list *l, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		l->kv[l->n++] = (struct nw_kv){ .key = key, .type = NW_KV_TEXT, .v.text = text };
}

static void
kv_int(struct kv_list *l, const char *key, int64_t i)
{
	l->kv[l->n++] = (struct nw_kv){ .key = key, .type = NW_KV_INT, .v.i = i };
}

static const char *
addr_text(const struct net_addr *a, char out[INET6_ADDRSTRLEN])
{
	return inet_ntop(a->family, a->ip, out, INET6_ADDRSTRLEN);
}

static void
kv_label(struct kv_list *l, const struct label *label)
{
	if (!label->known)
		return;
	if (label->kind == NWSHM_FILE) {
		kv_text(l, "resource", label->path);
		kv_int(l, "size", label->size_bytes);
		return;
	}
	kv_text(l, "src", addr_text(&label->local, l->text[0]));
	kv_text(l, "dst", addr_text(&label->peer, l->text[1]));
	kv_int(l, "sport", label->local.port);
	kv_int(l, "dport", label->peer.port);
}

static const char *
program_name(const struct collect *c, const struct nwshm_proc *p)
{
	return c->opts.program != NULL && p->pid == c->shm->root_pid ? c->opts.program : p->name;
}

static void
kv_process(struct kv_list *l, const struct collect *c, const struct nwshm_proc *p)
{
	kv_text(l, "task_id", c->opts.task_id);
	kv_text(l, "hostname", c->opts.host);
	kv_int(l, "pid", p->pid);
	kv_int(l, "ppid", p->ppid);
	kv_text(l, "program", program_name(c, p));
}

static void
say_meta(struct collect *c, const char *id, const char *pid, const char *event_type,
    const struct kv_list *subject, int64_t interval_ns)
{
	struct nw_kv params[] = {
		{ .key = "collectionInterval",
		    .type = NW_KV_REAL,
		    .v.d = (double)interval_ns * 1e-9 },
		{ .key = "datumSchema",
		    .type = NW_KV_TEXT,
		    .v.text = "http://unis.incntre.iu.edu/schema/20120709/datum#" },
	};

	c->sink->meta(c->sink->arg, id, pid, event_type, subject->kv, subject->n, params, 2);
}

/* --- numbers by name: a number that is zero or unknown throughout is left out --- */

struct field_list {
	const char *name[24];
	double value[24];
	size_t n;
	bool any;
};

static void
field(struct field_list *f, const char *name, double value)
{
	f->name[f->n] = name;
	f->value[f->n++] = value;
	f->any |= value != 0;
}

/* --- processes --- */

static void
say_process_meta(struct collect *c, unsigned index, int64_t now_mono_ns)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	uint32_t images = atomic_load_explicit(&p->images, memory_order_acquire);
	struct watch *w = &c->watch[index];
	struct kv_list subject = { .n = 0 };

	if (w->said && ((images & 1) != 0 || images == w->images_said))
		return;
	w->said = true;
	w->images_said = images;
	kv_process(&subject, c, p);
	kv_text(&subject, "argv", p->argv);
	say_meta(
	    c, w->id, NULL, "nw:process", &subject, collect_interval_ns(c, index, now_mono_ns));
}

static void
field_io(struct field_list *f, const struct usage *from, const struct usage *to)
{
	if (!from->io_known || !to->io_known)
		return;
	field(f, "rchar", (double)to->io.rchar - (double)from->io.rchar);
	field(f, "wchar", (double)to->io.wchar - (double)from->io.wchar);
	field(f, "read_bytes", (double)to->io.read_bytes - (double)from->io.read_bytes);
	field(f, "write_bytes", (double)to->io.write_bytes - (double)from->io.write_bytes);
}

/* Most processes never use a pipe. */
static void
field_pipes(struct field_list *f, const struct watch *w)
{
	if (w->pipe_total[NWSHM_READ].bytes + w->pipe_total[NWSHM_WRITE].bytes == 0)
		return;
	field(f, "pipe_read_bytes", (double)w->pipe[NWSHM_READ].bytes);
	field(f, "pipe_write_bytes", (double)w->pipe[NWSHM_WRITE].bytes);
	field(f, "pipe_read_s", (double)w->pipe[NWSHM_READ].ns * 1e-9);
	field(f, "pipe_write_s", (double)w->pipe[NWSHM_WRITE].ns * 1e-9);
}

/* Ticks of /proc are coarser than a process's own word: a difference may come out below nothing. */
static double
positive(double x)
{
	return x > 0 ? x : 0;
}

/* Shells start many processes that do next to nothing: such a process is not worth a series. */
static bool
is_trifle(const struct watch *w)
{
	return !w->said &&
	    w->seen_bytes[NWSHM_READ] + w->seen_bytes[NWSHM_WRITE] + w->other_bytes[NWSHM_READ] +
		w->other_bytes[NWSHM_WRITE] + w->pipe[NWSHM_READ].bytes +
		w->pipe[NWSHM_WRITE].bytes ==
	    0 &&
	    w->now.user_s + w->now.sys_s - w->first.user_s - w->first.sys_s < 0.002;
}

void
say_process(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns)
{
	struct watch *w = &c->watch[index];
	const struct nwshm_proc *p = &c->shm->proc[index];
	struct field_list f = { .n = 0 };
	int dir;

	if (is_trifle(w))
		return;
	field(&f, "cpu_user", positive(w->now.user_s - w->last.user_s));
	field(&f, "cpu_sys", positive(w->now.sys_s - w->last.sys_s));
	if (w->now.wait_known)
		field(&f, "cpu_wait", positive(w->now.wait_s - w->last.wait_s));
	field_io(&f, &w->last, &w->now);
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		field(&f, dir == NWSHM_READ ? "seen_read" : "seen_written",
		    (double)(w->seen_bytes[dir] + w->other_bytes[dir] + w->pipe[dir].bytes));
		w->other_total[dir] += w->other_bytes[dir];
		w->pipe_total[dir].bytes += w->pipe[dir].bytes;
		w->pipe_total[dir].ns += w->pipe[dir].ns;
		w->other_bytes[dir] = w->seen_bytes[dir] = 0;
	}
	field_pipes(&f, w);
	field(&f, "combined_bytes", (double)w->combined_bytes);
	field(&f, "combined_s", (double)w->combined_ns * 1e-9);
	w->combined_bytes = w->combined_ns = 0;
	w->last = w->now;
	if (!f.any)
		return;
	field(&f, "window", (double)(end_mono_ns - w->window_begin_mono_ns) * 1e-9);
	field(&f, "rss", (double)w->rss_bytes);
	field(&f, "report", (double)w->reports++);
	field(&f, "missed_ops", (double)nwshm_get(&p->missed_ops));
	say_process_meta(c, index, end_mono_ns);
	c->sink->data(c->sink->arg, w->id, now_wall_ns, f.name, f.value, f.n);
}

/* --- stages --- */

static void
say_stage_meta(struct collect *c, unsigned index, unsigned stage, int64_t interval_ns)
{
	struct watch *w = &c->watch[index];
	struct kv_list subject = { .n = 0 };

	kv_process(&subject, c, &c->shm->proc[index]);
	kv_text(&subject, "argv", c->shm->proc[index].argv);
	kv_text(&subject, "type", stage < NWSHM_NET_READ ? "disk" : "network");
	kv_text(&subject, "stage", stage_names[stage]);
	kv_label(&subject, &w->stage[stage].label);
	w->stage[stage].said = true;
	w->stage[stage].label_said = w->stage[stage].label;
	say_meta(c, w->stage[stage].id, w->id,
	    stage % 2 == NWSHM_READ ? "nl:tools:calipers:summary:read"
				    : "nl:tools:calipers:summary:write",
	    &subject, interval_ns);
}

void
say_stage(
    struct collect *c, unsigned index, unsigned stage, struct stage_window *sw, int64_t now_wall_ns)
{
	struct watch *w = &c->watch[index];
	struct stage_total *total = &w->stage[stage].total;

	if (sw->w.n == 0 && sw->w.busy_ns == 0 && sw->w.wait_ns == 0)
		return;
	total->ops += sw->w.n;
	total->bytes += (uint64_t)sw->w.v.sum;
	total->busy_ns += (uint64_t)sw->w.busy_ns;
	total->wait_ns += (uint64_t)sw->w.wait_ns;
	w->seen_bytes[stage % 2] += (uint64_t)sw->w.v.sum;
	if (sw->w.threads > w->stage[stage].threads_max)
		w->stage[stage].threads_max = sw->w.threads;
	say_process_meta(c, index, w->window_begin_mono_ns);
	if (!w->stage[stage].said)
		say_stage_meta(
		    c, index, stage, collect_interval_ns(c, index, w->window_begin_mono_ns));
	c->sink->caliper(c->sink->arg, w->stage[stage].id, now_wall_ns, &sw->w);
}

/* --- files and connections --- */

static void
say_object_meta(struct collect *c, unsigned object)
{
	struct object_seen *seen = &c->object[object];
	struct kv_list subject = { .n = 0 };
	const char *process = NULL;
	uint32_t index = c->shm->object[object].owner;

	if (object >= NWSHM_OBJECTS_FIXED) {
		process = c->watch[index].id;
		say_process_meta(c, index, c->watch[index].window_begin_mono_ns);
		kv_process(&subject, c, &c->shm->proc[index]);
	} else {
		kv_text(&subject, "task_id", c->opts.task_id);
		kv_text(&subject, "hostname", c->opts.host);
		kv_text(&subject, "resource",
		    object == NWSHM_OTHER_FILES ? "other files" : "other connections");
	}
	kv_text(&subject, "type", seen->label.kind == NWSHM_FILE ? "disk" : "network");
	kv_label(&subject, &seen->label);
	if (!seen->said)
		c->objects_said++;
	seen->said = true;
	seen->relabelled = false;
	c->sink->meta(c->sink->arg, seen->id, process,
	    seen->label.kind == NWSHM_FILE ? "nw:file" : "nw:connection", subject.kv, subject.n,
	    NULL, 0);
}

void
say_object(struct collect *c, unsigned object, const struct object_delta *d,
    const struct tcp_sample *tcp, int64_t now_wall_ns)
{
	struct object_seen *seen = &c->object[object];
	bool file = seen->label.kind == NWSHM_FILE;
	struct field_list f = { .n = 0 };

	if (!seen->said)
		say_object_meta(c, object);
	field(&f, file ? "read_bytes" : "bytes_in", (double)d->bytes[NWSHM_READ]);
	field(&f, file ? "write_bytes" : "bytes_out", (double)d->bytes[NWSHM_WRITE]);
	if (file) {
		field(&f, "read_s", (double)d->ns[NWSHM_READ] * 1e-9);
		field(&f, "write_s", (double)d->ns[NWSHM_WRITE] * 1e-9);
	}
	if (tcp != NULL) {
		field(&f, "rtt_s", tcp->rtt_s);
		field(&f, "rtt_min_s", tcp->rtt_min_s);
		field(&f, "cwnd_bytes", tcp->cwnd_bytes);
		field(&f, "retrans", tcp->retrans);
		field(&f, "delivery_rate", tcp->delivery_rate);
		field(&f, "busy_s", tcp->busy_s);
		field(&f, "rwnd_limited_s", tcp->rwnd_limited_s);
		field(&f, "sndbuf_limited_s", tcp->sndbuf_limited_s);
		field(&f, "snd_mss", tcp->snd_mss);
		field(&f, "notsent_bytes", tcp->notsent_bytes);
	}
	c->sink->data(c->sink->arg, seen->id, now_wall_ns, f.name, f.value, f.n);
}

/* --- last words, and the text report --- */

void
collect_report_text(FILE *to, const char *key, const char *text)
{
	fprintf(to, " %s=", key);
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= ' ' || *text == '%' || *text == 0x7f)
			fprintf(to, "%%%02X", (unsigned char)*text);
		else
			putc(*text, to);
}

static void
report_object(struct collect *c, unsigned object)
{
	const struct object_seen *seen = &c->object[object];
	FILE *to = c->opts.report;
	char text[2][INET6_ADDRSTRLEN];
	bool file = seen->label.kind == NWSHM_FILE;

	if (to == NULL || seen->bytes[NWSHM_READ] + seen->bytes[NWSHM_WRITE] == 0)
		return;
	fprintf(to, "%s pid=%d read=%llu written=%llu", file ? "file" : "connection",
	    object < NWSHM_OBJECTS_FIXED ? 0 : c->shm->proc[c->shm->object[object].owner].pid,
	    (unsigned long long)seen->bytes[NWSHM_READ],
	    (unsigned long long)seen->bytes[NWSHM_WRITE]);
	if (!seen->label.known)
		collect_report_text(to, "resource", "other");
	else if (file)
		collect_report_text(to, "resource", seen->label.path);
	else
		fprintf(to, " src=%s sport=%d dst=%s dport=%d",
		    addr_text(&seen->label.local, text[0]), seen->label.local.port,
		    addr_text(&seen->label.peer, text[1]), seen->label.peer.port);
	putc('\n', to);
}

/* Sends the object's present size and last name. */
void
say_object_end(struct collect *c, unsigned object)
{
	report_object(c, object);
	if (!c->object[object].said)
		return;
	if (c->object[object].relabelled)
		say_object_meta(c, object);
	c->sink->end(c->sink->arg, c->object[object].id);
}

static void
report_process(struct collect *c, unsigned index, int64_t end_mono_ns)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	const struct watch *w = &c->watch[index];
	const struct stage_total *t;
	uint64_t seen[2] = { w->other_total[NWSHM_READ] + w->pipe_total[NWSHM_READ].bytes,
		w->other_total[NWSHM_WRITE] + w->pipe_total[NWSHM_WRITE].bytes };
	FILE *to = c->opts.report;
	unsigned stage;

	if (to == NULL)
		return;
	for (stage = 0; stage < NWSHM_LANES; stage++) {
		t = &w->stage[stage].total;
		seen[stage % 2] += t->bytes;
		if (t->ops > 0 || t->busy_ns > 0 || t->wait_ns > 0)
			fprintf(to,
			    "stage pid=%d stage=%s ops=%llu bytes=%llu busy_s=%.9f wait_s=%.9f "
			    "threads=%u\n",
			    p->pid, stage_names[stage], (unsigned long long)t->ops,
			    (unsigned long long)t->bytes, (double)t->busy_ns * 1e-9,
			    (double)t->wait_ns * 1e-9, w->stage[stage].threads_max);
	}
	fprintf(to, "process pid=%d ppid=%d", p->pid, p->ppid);
	collect_report_text(to, "program", program_name(c, p));
	fprintf(to, " wall_s=%.9f cpu_user_s=%.6f cpu_sys_s=%.6f seen_read=%llu seen_written=%llu",
	    (double)(end_mono_ns - p->attach_mono_ns) * 1e-9,
	    positive(w->now.user_s - w->first.user_s), positive(w->now.sys_s - w->first.sys_s),
	    (unsigned long long)seen[NWSHM_READ], (unsigned long long)seen[NWSHM_WRITE]);
	if (w->now.io_known && w->first.io_known)
		fprintf(to, " rchar=%llu wchar=%llu",
		    (unsigned long long)(w->now.io.rchar - w->first.io.rchar),
		    (unsigned long long)(w->now.io.wchar - w->first.io.wchar));
	fprintf(to, " pipe_read=%llu pipe_written=%llu pipe_read_s=%.9f pipe_write_s=%.9f",
	    (unsigned long long)w->pipe_total[NWSHM_READ].bytes,
	    (unsigned long long)w->pipe_total[NWSHM_WRITE].bytes,
	    (double)w->pipe_total[NWSHM_READ].ns * 1e-9,
	    (double)w->pipe_total[NWSHM_WRITE].ns * 1e-9);
	fprintf(to, " missed_ops=%llu missed_bytes=%llu",
	    (unsigned long long)nwshm_get(&p->missed_ops),
	    (unsigned long long)nwshm_get(&p->missed_bytes));
	collect_report_text(to, "argv", p->argv);
	putc('\n', to);
}

static bool
label_differs(const struct label *a, const struct label *b)
{
	return a->known != b->known || a->size_bytes != b->size_bytes ||
	    strcmp(a->path, b->path) != 0 || memcmp(&a->local, &b->local, sizeof(a->local)) != 0 ||
	    memcmp(&a->peer, &b->peer, sizeof(a->peer)) != 0;
}

void
say_process_end(struct collect *c, unsigned index, int64_t end_mono_ns)
{
	struct watch *w = &c->watch[index];
	unsigned stage;

	report_process(c, index, end_mono_ns);
	for (stage = 0; stage < NWSHM_LANES; stage++) {
		if (!w->stage[stage].said)
			continue;
		if (label_differs(&w->stage[stage].label, &w->stage[stage].label_said))
			say_stage_meta(c, index, stage, collect_interval_ns(c, index, end_mono_ns));
		c->sink->end(c->sink->arg, w->stage[stage].id);
	}
	if (w->said)
		c->sink->end(c->sink->arg, w->id);
}
