/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents about processes, stages, files and connections; each metadata before its first data. */
#include "host/nwrun/collect/collect_in.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>

#include "host/nwrun/collect/place.h"
#include "narrows/eventtype.h"
#include "narrows/filesystem.h"
#include "narrows/stage_words.h"

static const enum nw_op lane_op[NWSHM_LANES] = { [NWSHM_DISK_READ] = NW_OP_DISK_READ,
	[NWSHM_DISK_WRITE] = NW_OP_DISK_WRITE,
	[NWSHM_NET_READ] = NW_OP_NET_READ,
	[NWSHM_NET_WRITE] = NW_OP_NET_WRITE };

const char *const collect_step_names[NWSHM_STEPS] = { "forward", "backward", "same", "strided",
	"random" };

/* --- subjects --- */

static void
kv_label(struct kv_list *l, const struct label *label)
{
	if (!label->known)
		return;
	if (label->kind == NWSHM_FILE) {
		kv_text(l, "resource", label->path);
		kv_int(l, "size", label->size_bytes);
		kv_mount(l, label->mount);
		return;
	}
	kv_text(l, "src", addr_text(&label->local, l->text[0]));
	kv_text(l, "dst", addr_text(&label->peer, l->text[1]));
	kv_int(l, "sport", label->local.port);
	kv_int(l, "dport", label->peer.port);
}

/* The device or interface behind a file or connection. */
static void
kv_place(struct kv_list *l, const struct label *label, char place[PLACE_BYTES])
{
	bool file = label->kind == NWSHM_FILE;

	/* a file over a network has no device of this host */
	if (file && label->mount != NULL &&
	    nw_fs_is_far(nw_fs_place(label->mount->type, label->mount->device)))
		return;
	if (label->known &&
	    (file ? label->path[0] == '/' && place_of_file(label->dev, place)
		  : place_of_address(&label->local, place)))
		kv_text(l, file ? "device" : "interface", place);
}

static const char *
program_name(const struct collect *c, const struct watch *w)
{
	return c->opts.program != NULL && w->pid == c->opts.root_pid ? c->opts.program : w->name;
}

static void
kv_process(struct kv_list *l, const struct collect *c, const struct watch *w)
{
	kv_text(l, "task_id", c->opts.task_id);
	kv_text(l, "hostname", c->opts.host);
	kv_int(l, "pid", w->pid);
	kv_int(l, "ppid", w->ppid);
	kv_text(l, "program", program_name(c, w));
	kv_text(l, "label", c->opts.label);
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

/* --- processes --- */

static void
kv_server(struct kv_list *l, const struct watch *w, enum nwshm_dir dir)
{
	const struct server *s = w->server_said[dir];

	if (s == NULL)
		return;
	kv_text(l, dir == NWSHM_READ ? "server_read" : "server_write", s->program);
	kv_text(l, dir == NWSHM_READ ? "socket_read" : "socket_write", s->path);
	if (s->pid > 0)
		kv_int(l, dir == NWSHM_READ ? "server_read_pid" : "server_write_pid", s->pid);
}

static bool
servers_changed(const struct watch *w)
{
	return w->servers != w->servers_said ||
	    w->server_said[NWSHM_READ] != local_server_of(w, NWSHM_READ) ||
	    w->server_said[NWSHM_WRITE] != local_server_of(w, NWSHM_WRITE);
}

static void
servers_note(struct watch *w)
{
	w->servers_said = w->servers;
	w->server_said[NWSHM_READ] = local_server_of(w, NWSHM_READ);
	w->server_said[NWSHM_WRITE] = local_server_of(w, NWSHM_WRITE);
}

static void
say_process_meta(struct collect *c, unsigned index, int64_t now_mono_ns)
{
	uint32_t images = atomic_load_explicit(&c->shm->proc[index].images, memory_order_acquire);
	struct watch *w = &c->watch[index];
	struct kv_list subject = { .n = 0 };

	if (w->said && ((images & 1) != 0 || images == w->images_said) &&
	    w->unseen_by == w->unseen_by_said && !servers_changed(w))
		return;
	w->said = true;
	w->images_said = images;
	w->unseen_by_said = w->unseen_by;
	servers_note(w);
	watch_describe(c, index);
	kv_process(&subject, c, w);
	kv_text(&subject, "unseen_by", w->unseen_by);
	if (c->opts.bytes_before > 0 && w->pid == c->opts.root_pid)
		kv_int(&subject, "bytes_before", (int64_t)c->opts.bytes_before);
	kv_server(&subject, w, NWSHM_READ);
	kv_server(&subject, w, NWSHM_WRITE);
	say_meta(
	    c, w->id, NULL, NW_TYPE_PROCESS, &subject, collect_interval_ns(c, index, now_mono_ns));
}

static void
field_io(struct field_list *f, const struct usage *from, const struct usage *to)
{
	if (!from->io_known || !to->io_known)
		return;
	field(f, "rchar", (double)to->io.rchar - (double)from->io.rchar);
	field(f, "wchar", (double)to->io.wchar - (double)from->io.wchar);
	field(f, "read_bytes",
	    (double)to->io.read_bytes - (double)from->io.read_bytes +
		(double)(to->mapped_bytes - from->mapped_bytes));
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

/* --- unseen bytes --- */

/* A smaller share of the kernel's count is no news: loaders and the collector's own timing. */
enum { UNSEEN_BYTES_MIN = 1 << 20, UNSEEN_SHARE = 50 };

/* Devices moved more than twice the bytes of all calls on files: by calls that the kernel does not
 * count, or through a memory map. */
static bool
is_moved_past(const struct watch *w)
{
	uint64_t device = w->now.io.read_bytes + w->now.io.write_bytes;
	uint64_t known =
	    w->first.io.read_bytes + w->first.io.write_bytes + w->children_device_bytes;
	uint64_t calls = w->counted_total[NWSHM_READ] + w->counted_total[NWSHM_WRITE] +
	    w->unseen_total[NWSHM_READ] + w->unseen_total[NWSHM_WRITE] + w->apart_total;

	return device > known && device - known > 2 * calls + UNSEEN_BYTES_MIN;
}

/* The program has used a way past the counts, and mapped files worth a word if it only mapped. */
static bool
has_way_past(const struct watch *w, uint64_t seen)
{
	if ((w->ways & (NWSHM_WAY_RING | NWSHM_WAY_AIO)) != 0)
		return true;
	return w->mapped_bytes >= UNSEEN_BYTES_MIN &&
	    w->mapped_bytes >= (seen + w->mapped_bytes) / UNSEEN_SHARE;
}

/* `past`: the bytes went past the calls that the kernel counts. */
static const char *
unseen_word(const struct watch *w, bool past)
{
	const char *word = proc_blind_word(w->blind);

	if (word != NULL)
		return word;
	if ((w->ways & NWSHM_WAY_RING) != 0)
		return "io_uring";
	if ((w->ways & NWSHM_WAY_AIO) != 0)
		return "aio";
	if (past)
		return (w->ways & NWSHM_WAY_MAP) != 0 ? "memory-map" : "uncounted-calls";
	return w->has_children ? "children" : "direct-calls";
}

/* Asks for the reason at the next look once there is something to explain. */
static void
unseen_explain(struct watch *w, const struct nwshm_proc *p)
{
	uint64_t unseen = w->unseen_total[NWSHM_READ] + w->unseen_total[NWSHM_WRITE];
	uint64_t seen = w->counted_total[NWSHM_READ] + w->counted_total[NWSHM_WRITE];
	bool past;

	w->ways = atomic_load_explicit(&p->ways, memory_order_relaxed);
	w->mapped_bytes = nwshm_get(&p->mapped_bytes);
	past = is_moved_past(w) || has_way_past(w, seen);
	if (!past && (unseen < UNSEEN_BYTES_MIN || unseen < (seen + unseen) / UNSEEN_SHARE)) {
		w->unseen_by = NULL;
		return;
	}
	w->blind_wanted = !w->blind_known;
	w->unseen_by = unseen_word(w, past);
}

/* The kernel's count since the image began, without children and without the seen bytes. A child
 * may be counted before its parent has waited: the sum is then too small for a while. */
static uint64_t
unseen_now(const struct watch *w, unsigned dir)
{
	uint64_t first = dir == NWSHM_READ ? w->first.io.rchar : w->first.io.wchar;
	uint64_t now = dir == NWSHM_READ ? w->now.io.rchar : w->now.io.wchar;
	uint64_t known = first + w->counted_total[dir] + w->children_total[dir];

	if (!w->first.io_known || !w->now.io_known)
		return 0;
	return now > known ? now - known : 0;
}

/* Adds `seen` bytes of the interval; the sum over all documents is the unseen rest. */
static void
field_unseen(struct field_list *f, struct watch *w, unsigned dir, uint64_t seen)
{
	uint64_t apart = w->apart_bytes[dir] < seen ? w->apart_bytes[dir] : seen, unseen;

	w->counted_total[dir] += seen - apart;
	w->apart_total += apart;
	w->apart_bytes[dir] = 0;
	unseen = unseen_now(w, dir);
	field(f, dir == NWSHM_READ ? "unseen_read" : "unseen_written",
	    (double)unseen - (double)w->unseen_total[dir]);
	w->unseen_total[dir] = unseen;
}

/* Ticks of /proc are coarser than a process's own word: a difference may come out below nothing. */
static double
positive(double x)
{
	return x > 0 ? x : 0;
}

/* Shells start many processes that do next to nothing: such a process is not worth a series. A
 * reader of a map that waits for its device uses hardly any processor time, and is no trifle. */
static bool
is_trifle(const struct watch *w)
{
	return !w->said &&
	    w->seen_bytes[NWSHM_READ] + w->seen_bytes[NWSHM_WRITE] + w->other_bytes[NWSHM_READ] +
		w->other_bytes[NWSHM_WRITE] + w->pipe[NWSHM_READ].bytes +
		w->pipe[NWSHM_WRITE].bytes ==
	    0 &&
	    w->now.user_s + w->now.sys_s - w->first.user_s - w->first.sys_s < 0.002 &&
	    !is_moved_past(w) && w->now.mapped_bytes == 0 &&
	    unseen_now(w, NWSHM_READ) + unseen_now(w, NWSHM_WRITE) < UNSEEN_BYTES_MIN;
}

/* Whether a process or an object of this run is worth a series. */
static bool
has_moved(const struct collect *c)
{
	size_t i, used = procs_used(c);

	for (i = 0; i < used; i++)
		if (!is_trifle(&c->watch[i]))
			return true;
	used = nwshm_used_get(&c->shm->objects_used, NWSHM_OBJECTS);
	for (i = 0; i < used; i++)
		if (c->object[i].used && c->object[i].label.kind < NWSHM_LOCAL)
			return true;
	return false;
}

/* The file behind a map, as other files are told of. */
static void
say_map_meta(struct collect *c, unsigned index, int64_t end_mono_ns)
{
	struct watch *w = &c->watch[index];
	struct kv_list subject = { .n = 0 };

	say_process_meta(c, index, end_mono_ns);
	kv_process(&subject, c, w);
	kv_text(&subject, "type", "disk");
	kv_text(&subject, "resource", w->map.path);
	kv_mount(&subject, w->map.mount);
	id_make(w->map.id);
	c->sink->meta(c->sink->arg, w->map.id, w->id, NW_TYPE_FILE, subject.kv, subject.n, NULL, 0);
}

static void
say_map(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns)
{
	struct watch *w = &c->watch[index];
	struct field_list f = { .n = 0 };

	if (w->now.mapped_bytes == w->last.mapped_bytes)
		return;
	if (w->map.id[0] == '\0')
		say_map_meta(c, index, end_mono_ns);
	field(&f, "read_bytes", (double)(w->now.mapped_bytes - w->last.mapped_bytes));
	c->sink->data(c->sink->arg, w->map.id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
}

void
say_process(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns)
{
	struct watch *w = &c->watch[index];
	const struct nwshm_proc *p = &c->shm->proc[index];
	struct field_list f = { .n = 0 };
	uint64_t seen;
	bool told;
	int dir;

	told = p->pid == c->opts.root_pid && atomic_load(&p->exit_told) != 0;
	/* a shell without bytes of its own has the status of a script that moved some */
	if (is_trifle(w) && !(told && (p->exit_status != 0 || has_moved(c))))
		return;
	if (told)
		field(&f, "exit_status", (double)p->exit_status);
	field(&f, "cpu_user", positive(w->now.user_s - w->last.user_s));
	field(&f, "cpu_sys", positive(w->now.sys_s - w->last.sys_s));
	if (w->now.wait_known)
		field(&f, "cpu_wait", positive(w->now.wait_s - w->last.wait_s));
	if (w->look_mono_ns != 0)
		field(&f, "blocked", positive(w->now.blocked_s - w->last.blocked_s));
	if (w->now.throttled_s > w->last.throttled_s)
		field(&f, "throttled", w->now.throttled_s - w->last.throttled_s);
	field_io(&f, &w->last, &w->now);
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		seen = w->seen_bytes[dir] + w->other_bytes[dir] + w->pipe[dir].bytes;
		field(&f, dir == NWSHM_READ ? "seen_read" : "seen_written", (double)seen);
		field_unseen(&f, w, dir, seen);
		w->other_total[dir] += w->other_bytes[dir];
		w->pipe_total[dir].bytes += w->pipe[dir].bytes;
		w->pipe_total[dir].ns += w->pipe[dir].ns;
		w->other_bytes[dir] = w->seen_bytes[dir] = 0;
	}
	field_pipes(&f, w);
	field(&f, "combined_bytes", (double)w->combined_bytes);
	field(&f, "combined_s", (double)w->combined_ns * 1e-9);
	field(&f, "paused_s", (double)w->pause_ns * 1e-9);
	if (w->first_waits)
		field(&f, "first_s", (double)w->first_ns * 1e-9);
	say_map(c, index, end_mono_ns, now_wall_ns);
	w->pause_total_ns += w->pause_ns;
	w->combined_bytes = w->combined_ns = w->pause_ns = w->first_ns = 0;
	w->last = w->now;
	unseen_explain(w, &c->shm->proc[index]);
	if (!f.any)
		return;
	field(&f, "window", (double)(end_mono_ns - w->window_begin_mono_ns) * 1e-9);
	field(&f, "rss", (double)w->rss_bytes);
	field(&f, "report", (double)w->reports++);
	field(&f, "missed_ops", (double)nwshm_get(&p->missed_ops));
	field(&f, "missed_bytes", (double)nwshm_get(&p->missed_bytes));
	say_process_meta(c, index, end_mono_ns);
	c->sink->data(c->sink->arg, w->id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
}

/* --- steps --- */

static void
say_steps_meta(struct collect *c, unsigned index, int64_t end_mono_ns)
{
	struct watch *w = &c->watch[index];
	struct kv_list subject = { .n = 0 };

	say_process_meta(c, index, end_mono_ns);
	kv_process(&subject, c, w);
	if (w->steps_are_turns)
		kv_text(&subject, "by", "calls");
	id_make(w->steps_id);
	c->sink->meta(
	    c->sink->arg, w->steps_id, w->id, NW_TYPE_STEPS, subject.kv, subject.n, NULL, 0);
}

/* A step counts in the interval of the end, with the whole time. */
void
say_steps(struct collect *c, unsigned index, int64_t end_mono_ns, int64_t now_wall_ns)
{
	struct watch *w = &c->watch[index];
	struct field_list f = { .n = 0 };

	if (w->steps == 0 && w->step_ns[0] == 0)
		return;
	if (w->steps_id[0] != '\0' && w->steps_are_turns == w->marks) {
		c->sink->end(c->sink->arg, w->steps_id);
		w->steps_id[0] = '\0';
	}
	w->steps_are_turns = !w->marks;
	if (w->steps_id[0] == '\0')
		say_steps_meta(c, index, end_mono_ns);
	field(&f, "steps", (double)w->steps);
	field(&f, "inside_s", (double)w->step_ns[1] * 1e-9);
	field(&f, "between_s", (double)w->step_ns[0] * 1e-9);
	field(&f, "window", (double)(end_mono_ns - w->window_begin_mono_ns) * 1e-9);
	c->sink->data(c->sink->arg, w->steps_id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
	w->steps = w->step_ns[0] = w->step_ns[1] = 0;
}

/* --- stages --- */

static void
say_stage_meta(struct collect *c, unsigned index, unsigned stage, int64_t interval_ns)
{
	struct watch *w = &c->watch[index];
	struct kv_list subject = { .n = 0 };

	kv_process(&subject, c, w);
	kv_text(&subject, "type", stage < NWSHM_NET_READ ? "disk" : "network");
	kv_text(&subject, "stage", nw_op_name(lane_op[stage]));
	kv_label(&subject, &w->stage[stage].label);
	if (!w->stage[stage].said)
		id_make(w->stage[stage].id);
	w->stage[stage].said = true;
	w->stage[stage].label_said = w->stage[stage].label;
	say_meta(c, w->stage[stage].id, w->id,
	    stage % 2 == NWSHM_READ ? NW_TYPE_SUMMARY "read" : NW_TYPE_SUMMARY "write", &subject,
	    interval_ns);
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
	char place[PLACE_BYTES];
	const char *process = NULL;
	uint32_t index = seen->owner;

	if (object >= NWSHM_OBJECTS_FIXED) {
		process = c->watch[index].id;
		say_process_meta(c, index, c->watch[index].window_begin_mono_ns);
		kv_process(&subject, c, &c->watch[index]);
	} else {
		kv_text(&subject, "task_id", c->opts.task_id);
		kv_text(&subject, "hostname", c->opts.host);
		kv_text(&subject, "resource",
		    object == NWSHM_OTHER_FILES ? "other files" : "other connections");
	}
	kv_text(&subject, "type", seen->label.kind == NWSHM_FILE ? "disk" : "network");
	kv_label(&subject, &seen->label);
	kv_place(&subject, &seen->label, place);
	if (!seen->said) {
		id_make(seen->id);
		c->objects_said++;
	}
	seen->said = true;
	seen->relabelled = false;
	c->sink->meta(c->sink->arg, seen->id, process,
	    seen->label.kind == NWSHM_FILE ? NW_TYPE_FILE : NW_TYPE_CONNECTION, subject.kv,
	    subject.n, NULL, 0);
}

/* A pipe has the pipe's inode, a lock the file's, an object in shared memory its place in a file; a
 * local socket has the inodes of both ends, the lower first. The waits of a process for its
 * children are one series. */
static void
pipe_name(const struct object_seen *seen, const struct nwshm_object *o, char *out, size_t size)
{
	const unsigned long long own = o->ino, far = seen->far_ino, dev = o->dev;

	switch (seen->label.kind) {
	case NWSHM_PIPE: snprintf(out, size, "pipe:%llu", own); break;
	case NWSHM_SEMAPHORE: snprintf(out, size, "semaphore:%llu-%llx", own, dev); break;
	case NWSHM_MUTEX: snprintf(out, size, "mutex:%llu-%llx", own, dev); break;
	case NWSHM_CONDITION: snprintf(out, size, "condition:%llu-%llx", own, dev); break;
	case NWSHM_LOCK: snprintf(out, size, "lock:%llu-%llx", own, dev); break;
	case NWSHM_CHILDREN: snprintf(out, size, "children"); break;
	default:
		snprintf(
		    out, size, "socket:%llu-%llu", own < far ? own : far, own < far ? far : own);
	}
}

static void
say_pipe_meta(struct collect *c, unsigned object)
{
	const struct nwshm_object *o = &c->shm->object[object];
	struct object_seen *seen = &c->object[object];
	struct watch *w = &c->watch[seen->owner];
	struct kv_list subject = { .n = 0 };
	char name[64];

	say_process_meta(c, seen->owner, w->window_begin_mono_ns);
	kv_process(&subject, c, w);
	pipe_name(seen, o, name, sizeof(name));
	kv_text(&subject, "pipe", name);
	id_make(seen->id);
	c->pipes_said++;
	seen->said = true;
	c->sink->meta(c->sink->arg, seen->id, w->id, NW_TYPE_PIPE, subject.kv, subject.n, NULL, 0);
}

/* Bytes and seconds at a file, pipe or local socket. */
static void
field_moved(struct field_list *f, const struct object_delta *d)
{
	field(f, "read_bytes", (double)d->bytes[NWSHM_READ]);
	field(f, "write_bytes", (double)d->bytes[NWSHM_WRITE]);
	field(f, "read_s", (double)d->ns[NWSHM_READ] * 1e-9);
	field(f, "write_s", (double)d->ns[NWSHM_WRITE] * 1e-9);
}

void
say_pipe(struct collect *c, unsigned object, const struct object_delta *d, int64_t from_wall_ns,
    int64_t now_wall_ns)
{
	struct object_seen *seen = &c->object[object];
	struct field_list f = { .n = 0 };

	if (!seen->said)
		say_pipe_meta(c, object);
	field_moved(&f, d);
	if (from_wall_ns != 0 && now_wall_ns > from_wall_ns)
		field(&f, "window", (double)(now_wall_ns - from_wall_ns) * 1e-9);
	c->sink->data(c->sink->arg, seen->id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
}

/* Child of the file's metadata, under the same name. */
void
say_cells_meta(struct collect *c, unsigned object, enum nwshm_dir dir)
{
	struct object_seen *seen = &c->object[object];
	struct kv_list subject = { .n = 0 };

	if (object >= NWSHM_OBJECTS_FIXED) {
		kv_process(&subject, c, &c->watch[seen->owner]);
	} else {
		kv_text(&subject, "task_id", c->opts.task_id);
		kv_text(&subject, "hostname", c->opts.host);
		kv_text(&subject, "resource", "other files");
	}
	kv_text(&subject, "type", "disk");
	kv_label(&subject, &seen->label);
	id_make(seen->cells_id[dir]);
	c->sink->meta(c->sink->arg, seen->cells_id[dir], seen->id,
	    dir == NWSHM_READ ? NW_TYPE_CELLS "read" : NW_TYPE_CELLS "write", subject.kv, subject.n,
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
	if (file) {
		field_moved(&f, d);
	} else {
		field(&f, "bytes_in", (double)d->bytes[NWSHM_READ]);
		field(&f, "bytes_out", (double)d->bytes[NWSHM_WRITE]);
	}
	if (tcp != NULL)
		fields_tcp(&f, tcp);
	c->sink->data(c->sink->arg, seen->id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
}

static void
say_handed_meta(struct collect *c, struct handed *h)
{
	struct watch *w = &c->watch[h->owner];
	struct kv_list subject = { .n = 0 };
	char name[64];

	say_process_meta(c, h->owner, w->window_begin_mono_ns);
	kv_process(&subject, c, w);
	kv_text(&subject, "type", "disk");
	snprintf(name, sizeof(name), NW_SMALL_FILES_OF "%d", h->writer_pid);
	kv_text(&subject, "resource", name);
	id_make(h->id);
	c->sink->meta(c->sink->arg, h->id, w->id, NW_TYPE_FILE, subject.kv, subject.n, NULL, 0);
}

void
say_handed(struct collect *c, struct handed *h, int64_t now_wall_ns)
{
	struct field_list f = { .n = 0 };

	if (h->id[0] == '\0')
		say_handed_meta(c, h);
	field_moved(&f, &h->due);
	c->sink->data(c->sink->arg, h->id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
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

static const char *
addr_word(const struct net_addr *a, char out[INET6_ADDRSTRLEN])
{
	return addr_text(a, out) != NULL ? out : "unknown";
}

static void
report_steps(const struct collect *c, unsigned object)
{
	const struct nwshm_cells *cells = &c->shm->cells[object];
	int i;

	if (object >= NWSHM_OBJECTS_FIXED &&
	    atomic_load_explicit(&c->shm->object[object].cells_ready, memory_order_acquire) == 0)
		return;
	for (i = 0; i < NWSHM_STEPS; i++)
		fprintf(c->opts.report, " %s=%llu", collect_step_names[i],
		    (unsigned long long)cells->steps[NWSHM_READ].n[i] +
			cells->steps[NWSHM_WRITE].n[i]);
}

static void
report_object(struct collect *c, unsigned object)
{
	const struct object_seen *seen = &c->object[object];
	FILE *to = c->opts.report;
	char text[2][INET6_ADDRSTRLEN];
	bool file = seen->label.kind == NWSHM_FILE;

	if (to == NULL || seen->bytes[NWSHM_READ] + seen->bytes[NWSHM_WRITE] == 0 ||
	    seen->label.kind >= NWSHM_LOCAL)
		return;
	fprintf(to, "%s pid=%d read=%llu written=%llu", file ? "file" : "connection",
	    object < NWSHM_OBJECTS_FIXED ? 0 : c->watch[seen->owner].pid,
	    (unsigned long long)seen->bytes[NWSHM_READ],
	    (unsigned long long)seen->bytes[NWSHM_WRITE]);
	if (file)
		report_steps(c, object);
	if (!seen->label.known || (file && seen->label.path[0] == '\0'))
		collect_report_text(to, "resource", "other");
	else if (file)
		collect_report_text(to, "resource", seen->label.path);
	else
		fprintf(to, " src=%s sport=%d dst=%s dport=%d",
		    addr_word(&seen->label.local, text[0]), seen->label.local.port,
		    addr_word(&seen->label.peer, text[1]), seen->label.peer.port);
	putc('\n', to);
}

/* Sends the object's present size and last name. */
void
say_object_end(struct collect *c, unsigned object)
{
	int dir;

	report_object(c, object);
	if (!c->object[object].said)
		return;
	if (c->object[object].relabelled)
		say_object_meta(c, object);
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++)
		if (c->object[object].cells_id[dir][0] != '\0')
			c->sink->end(c->sink->arg, c->object[object].cells_id[dir]);
	c->sink->end(c->sink->arg, c->object[object].id);
}

static void
report_server(FILE *to, const struct watch *w, enum nwshm_dir dir)
{
	const struct server *s = local_server_of(w, dir);

	if (s == NULL)
		return;
	if (s->program[0] != '\0')
		collect_report_text(
		    to, dir == NWSHM_READ ? "server_read" : "server_write", s->program);
	if (s->pid > 0)
		fprintf(to, " %s=%d", dir == NWSHM_READ ? "server_read_pid" : "server_write_pid",
		    s->pid);
	if (s->path[0] != '\0')
		collect_report_text(
		    to, dir == NWSHM_READ ? "socket_read" : "socket_write", s->path);
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
			    w->pid, nw_op_name(lane_op[stage]), (unsigned long long)t->ops,
			    (unsigned long long)t->bytes, (double)t->busy_ns * 1e-9,
			    (double)t->wait_ns * 1e-9, w->stage[stage].threads_max);
	}
	fprintf(to, "process pid=%d ppid=%d", w->pid, w->ppid);
	collect_report_text(to, "program", program_name(c, w));
	fprintf(to, " wall_s=%.9f cpu_user_s=%.6f cpu_sys_s=%.6f seen_read=%llu seen_written=%llu",
	    (double)(end_mono_ns - w->attach_mono_ns) * 1e-9,
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
	fprintf(to, " paused_s=%.9f", (double)w->pause_total_ns * 1e-9);
	fprintf(to, " missed_ops=%llu missed_bytes=%llu",
	    (unsigned long long)nwshm_get(&p->missed_ops),
	    (unsigned long long)nwshm_get(&p->missed_bytes));
	fprintf(to, " unseen_read=%llu unseen_written=%llu",
	    (unsigned long long)w->unseen_total[NWSHM_READ],
	    (unsigned long long)w->unseen_total[NWSHM_WRITE]);
	if (w->unseen_by != NULL)
		collect_report_text(to, "unseen_by", w->unseen_by);
	report_server(to, w, NWSHM_READ);
	report_server(to, w, NWSHM_WRITE);
	collect_report_text(to, "argv", w->argv);
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
	if (w->steps_id[0] != '\0')
		c->sink->end(c->sink->arg, w->steps_id);
	if (w->map.id[0] != '\0')
		c->sink->end(c->sink->arg, w->map.id);
	if (w->said)
		c->sink->end(c->sink->arg, w->id);
}

/* --- the first program, unseen --- */

static void
say_root_meta(struct collect *c)
{
	struct kv_list subject = { .n = 0 };

	kv_text(&subject, "task_id", c->opts.task_id);
	kv_text(&subject, "hostname", c->opts.host);
	kv_int(&subject, "pid", c->opts.root_pid);
	kv_int(&subject, "ppid", c->root.now.stat.ppid);
	kv_text(&subject, "program", c->opts.program != NULL ? c->opts.program : c->opts.root_name);
	kv_text(&subject, "label", c->opts.label);
	kv_text(&subject, "unseen_by", proc_blind_word(c->root.blind));
	say_meta(c, c->root.id, NULL, NW_TYPE_PROCESS, &subject, INT64_C(1000000000));
}

void
say_root(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns)
{
	const struct procfile_io *from = &c->root.last.io, *to = &c->root.now.io;
	const struct procfile_stat *a = &c->root.last.stat, *b = &c->root.now.stat;
	struct field_list f = { .n = 0 };

	if (!c->root.said)
		say_root_meta(c);
	c->root.said = true;
	field(&f, "cpu_user", (double)(b->user_ticks - a->user_ticks) * c->tick_s);
	field(&f, "cpu_sys", (double)(b->sys_ticks - a->sys_ticks) * c->tick_s);
	field(&f, "rchar", (double)(to->rchar - from->rchar));
	field(&f, "wchar", (double)(to->wchar - from->wchar));
	field(&f, "read_bytes", (double)(to->read_bytes - from->read_bytes));
	field(&f, "write_bytes", (double)(to->write_bytes - from->write_bytes));
	field(&f, "seen_read", 0);
	field(&f, "seen_written", 0);
	field(&f, "unseen_read", (double)(to->rchar - from->rchar));
	field(&f, "unseen_written", (double)(to->wchar - from->wchar));
	field(&f, "window", (double)(now_mono_ns - c->root.said_mono_ns) * 1e-9);
	c->sink->data(c->sink->arg, c->root.id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
}

void
say_root_end(struct collect *c)
{
	FILE *to = c->opts.report;
	const struct root *r = &c->root;

	if (to != NULL) {
		fprintf(to, "process pid=%d ppid=%d", c->opts.root_pid, r->now.stat.ppid);
		collect_report_text(
		    to, "program", c->opts.root_argv != NULL ? c->opts.root_argv : "");
		fprintf(to,
		    " seen_read=0 seen_written=0 rchar=%llu wchar=%llu unseen_read=%llu "
		    "unseen_written=%llu",
		    (unsigned long long)(r->now.io.rchar - r->first.io.rchar),
		    (unsigned long long)(r->now.io.wchar - r->first.io.wchar),
		    (unsigned long long)(r->now.io.rchar - r->first.io.rchar),
		    (unsigned long long)(r->now.io.wchar - r->first.io.wchar));
		if (r->blind != 0)
			collect_report_text(to, "unseen_by", proc_blind_word(r->blind));
		putc('\n', to);
	}
	if (r->said)
		c->sink->end(c->sink->arg, r->id);
}
