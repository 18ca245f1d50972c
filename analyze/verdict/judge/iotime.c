/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/iotime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/judge/classes.h"
#include "narrows/cells.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/filesystem.h"
#include "narrows/format.h"
#include "narrows/xmalloc.h"

static const double NS = 1e-9;

const char *const io_step_names[IO_STEPS] = { "forward", "backward", "same", "strided", "random" };

static const char io_either[] = "either";

const char *
io_named_by_word(enum io_named_by by)
{
	return by == IO_BY_BASELINE ? "baseline"
	    : by == IO_BY_EVIDENCE  ? "evidence"
				    : "own durations";
}

/* --- metadata and rows --- */

struct source {
	int64_t meta_id;
	size_t file;
};

struct reading {
	struct iotime *out;
	const struct evidence *e;
	struct source *sources;
	size_t n_sources;
	struct io_file *file; /* whose rows are in hand */
	struct {
		int64_t id;
		int ops, bytes, s, step[IO_STEPS], pause[IO_STEPS];
	} layout[8];
	size_t n_layouts, now;
};

static size_t
host_of(const struct evidence *e, int64_t host_id)
{
	size_t i;

	for (i = 0; i < e->n_hosts; i++)
		if (e->hosts[i].id == host_id)
			break;
	return i;
}

static size_t
file_get(struct iotime *t, size_t host, int64_t pid, const char *path, bool far, bool write)
{
	struct io_file *f;
	size_t i;

	for (i = 0; i < t->n_files; i++)
		if (t->files[i].host == host && t->files[i].pid == pid &&
		    t->files[i].write == write && t->files[i].far == far &&
		    strcmp(t->files[i].path, path) == 0)
			return i;
	t->files = xreallocarray(t->files, t->n_files + 1, sizeof(*t->files));
	f = &t->files[t->n_files++];
	*f = (struct io_file){ .host = host,
		.pid = pid,
		.path = xstrdup(path),
		.write = write,
		.far = far,
		.counts = xcalloc(NW_HIST_BUCKETS, sizeof(*f->counts)) };
	return t->n_files - 1;
}

/* Whether the subject names a file system other than those on devices of the host. */
static bool
is_far(const json_t *subject)
{
	const char *type = json_string_value(json_object_get(subject, "filesystem"));

	return type != NULL &&
	    nw_fs_is_far(nw_fs_place(type, json_string_value(json_object_get(subject, "source"))));
}

static int
on_cells_meta(void *reading, const struct nw_meta_rec *m)
{
	struct reading *g = reading;
	size_t host = host_of(g->e, m->host_id);
	json_t *subject;
	const char *path;
	const json_t *pid;

	if (host == g->e->n_hosts)
		return 0;
	subject = json_loads(m->subject_json, 0, NULL);
	path = json_string_value(json_object_get(subject, "resource"));
	pid = json_object_get(subject, "pid");
	g->sources = xreallocarray(g->sources, g->n_sources + 1, sizeof(*g->sources));
	g->sources[g->n_sources++] = (struct source){ m->id,
		file_get(g->out, host, json_is_integer(pid) ? json_integer_value(pid) : -1,
		    path != NULL ? path : "?", is_far(subject),
		    strcmp(m->event_type, NW_TYPE_CELLS "write") == 0) };
	json_decref(subject);
	return 0;
}

static int
field_find(const struct nw_layout_rec *l, const char *name, const char *suffix)
{
	size_t i, n = strlen(name);

	for (i = 0; i < l->n_fields; i++)
		if (strncmp(l->fields[i], name, n) == 0 && strcmp(l->fields[i] + n, suffix) == 0)
			return (int)i;
	return -1;
}

static int
on_cells_layout(void *reading, const struct nw_layout_rec *l)
{
	struct reading *g = reading;
	int i;

	if (g->n_layouts == sizeof(g->layout) / sizeof(g->layout[0]))
		return 1;
	g->layout[g->n_layouts].id = l->id;
	g->layout[g->n_layouts].ops = field_find(l, "ops", "");
	g->layout[g->n_layouts].bytes = field_find(l, "bytes", "");
	g->layout[g->n_layouts].s = field_find(l, "s", "");
	for (i = 0; i < IO_STEPS; i++) {
		g->layout[g->n_layouts].step[i] = field_find(l, io_step_names[i], "");
		g->layout[g->n_layouts].pause[i] = field_find(l, io_step_names[i], "_pause_s");
	}
	g->n_layouts++;
	return 0;
}

static double
cell_or_0(const struct store_block *b, int column, size_t row)
{
	double v = column >= 0 ? b->columns[column][row] : 0;

	return isfinite(v) && v > 0 ? v : 0;
}

static int
on_cells(void *reading, const struct store_block *b)
{
	struct reading *g = reading;
	struct io_file *f = g->file;
	size_t i;
	int k;

	for (i = 0; i < b->n_rows; i++) {
		f->ops += cell_or_0(b, g->layout[g->now].ops, i);
		f->bytes += cell_or_0(b, g->layout[g->now].bytes, i);
		f->time_s += cell_or_0(b, g->layout[g->now].s, i);
		for (k = 0; k < IO_STEPS; k++) {
			f->steps[k] += cell_or_0(b, g->layout[g->now].step[k], i);
			f->pause_s[k] += cell_or_0(b, g->layout[g->now].pause[k], i);
		}
		if (b->hist != NULL && b->hist[i] != NULL)
			(void)nw_hist_decode_add(b->hist[i], b->hist_len[i], f->counts);
	}
	return 0;
}

static int
rows_read(struct store_reader *r, struct reading *g)
{
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < g->n_sources && rc == NW_OK; i++) {
		g->file = &g->out->files[g->sources[i].file];
		g->n_layouts = 0;
		rc = store_layouts(r, g->sources[i].meta_id, on_cells_layout, g);
		for (g->now = 0; g->now < g->n_layouts && rc == NW_OK; g->now++)
			rc = store_rows(r, g->layout[g->now].id, INT64_MIN, INT64_MAX, on_cells, g);
	}
	return rc;
}

/* --- classes --- */

static struct io_class *
class_get(struct io_file *f, const char *name, bool by_administrator)
{
	struct io_class *k;
	size_t i;

	for (i = 0; i < f->n_classes; i++)
		if (strcmp(f->classes[i].name, name) == 0)
			return &f->classes[i];
	if (f->n_classes == IO_CLASSES_MAX)
		return &f->classes[IO_CLASSES_MAX - 1];
	k = &f->classes[f->n_classes++];
	*k = (struct io_class){ .by_administrator = by_administrator };
	snprintf(k->name, sizeof(k->name), "%s", name);
	return k;
}

static void
class_count(struct io_file *f, struct io_class *k, double ops, double each_s, double usual_s)
{
	double lost_s = isfinite(usual_s) && each_s > usual_s ? ops * (each_s - usual_s) : 0;

	k->ops += ops;
	k->time_s += ops * each_s;
	k->lost_s += lost_s;
	f->lost_s += lost_s;
}

static double
middle_s(unsigned cell)
{
	double low, high;

	nw_cell_duration_bounds(cell, &low, &high);
	return (low + high) / 2 * NS;
}

/* Mean size of the operations of an octave: known where the file has one octave. */
static double
size_of(const struct io_file *f, unsigned octave)
{
	double top = nw_cell_octave_bytes(octave), n = 0, all = 0;
	unsigned i;

	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		all += (double)f->counts[i];
		if (i / NW_HIST_SUB == octave)
			n += (double)f->counts[i];
	}
	if (n < all || !(f->bytes > 0))
		return top;
	return fmin(top, fmax(f->bytes / n, top / 2));
}

/* Steps of which a class needs some: a file read forward alone has no seeks, and no place twice. */
enum {
	STEP_FORWARD = 1 << 0,
	STEP_BACKWARD = 1 << 1,
	STEP_SAME = 1 << 2,
	STEP_STRIDED = 1 << 3,
	STEP_RANDOM = 1 << 4
};
static const struct {
	const char *class;
	unsigned steps;
} needs[] = {
	{ "sequential device", STEP_FORWARD },
	{ "device cache", STEP_BACKWARD | STEP_SAME | STEP_STRIDED | STEP_RANDOM },
	{ "short seek", STEP_BACKWARD | STEP_STRIDED | STEP_RANDOM },
	{ "long seek", STEP_BACKWARD | STEP_STRIDED | STEP_RANDOM },
	{ "random device", STEP_BACKWARD | STEP_STRIDED | STEP_RANDOM },
};

/* Whether the steps that were counted rule a class out: a hundredth of them would do. */
static bool
is_refuted(const struct io_file *f, const char *class)
{
	static const double SHARE_MIN = 0.01;
	double all = 0, fit = 0;
	size_t i;
	int k;

	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (strcmp(needs[i].class, class) == 0)
			break;
	if (i == sizeof(needs) / sizeof(needs[0]))
		return false;
	for (k = 0; k < IO_STEPS; k++) {
		all += f->steps[k];
		fit += (needs[i].steps & 1u << k) != 0 ? f->steps[k] : 0;
	}
	return all > 0 && fit < SHARE_MIN * all;
}

/* The class of operations: `of`, unless several are near, or the steps rule the class out. Between
 * the page cache and a device the name is "either". */
static struct io_class *
class_of(struct io_file *f, size_t of, const bool *near, size_t n_near)
{
	const struct baseline *b = f->baseline;
	bool cached = false;
	size_t i;

	if (of >= b->n)
		return class_get(
		    f, of == b->n ? "slower than all classes" : "faster than all classes", false);
	for (i = 0; i < b->n; i++)
		cached |= near[i] && b->classes[i].cached;
	if (n_near > 1)
		return class_get(f, cached ? io_either : baseline_device, false);
	if (is_refuted(f, b->classes[of].class))
		return class_get(f, baseline_device, false);
	return class_get(f, b->classes[of].name, b->classes[of].by_administrator);
}

static void
octave_classify(struct io_file *f, unsigned octave)
{
	const uint64_t *count = f->counts + octave * NW_HIST_SUB;
	const struct baseline *b = f->baseline;
	double size = size_of(f, octave), cached_s = baseline_cached_s(b, f->write, size), each_s;
	bool *near = xcalloc(b->n + 1, sizeof(*near));
	struct io_class *k;
	unsigned i;
	size_t of, n_near;

	for (i = 0; i < NW_CELL_DURATIONS; i++) {
		if (count[i] == 0)
			continue;
		each_s = middle_s(i);
		of = baseline_classify(b, f->write, size, each_s, near, &n_near);
		k = class_of(f, of, near, n_near);
		class_count(f, k, (double)count[i], each_s,
		    (of < b->n && b->classes[of].cached) || strcmp(k->name, io_either) == 0
			? NAN
			: cached_s);
	}
	free(near);
}

/* The classes of the durations of one octave of sizes; A is the fastest. */
static int
octave_divide(struct io_file *f, unsigned octave)
{
	const uint64_t *count = f->counts + octave * NW_HIST_SUB;
	struct nw_density_bucket buckets[NW_CELL_DURATIONS];
	struct nw_density d = { .status = NW_STATUS_INSUFFICIENT };
	struct nw_classes c = { 0 };
	char name[2] = "A";
	double total = 0, usual_s = NAN;
	size_t n = 0, of;
	unsigned i;
	int rc = NW_OK;

	for (i = 0; i < NW_CELL_DURATIONS; i++)
		if (count[i] > 0) {
			nw_cell_duration_bounds(i, &buckets[n].low, &buckets[n].high);
			buckets[n].low = fmax(buckets[n].low, 1);
			buckets[n++].count = (double)count[i];
			total += (double)count[i];
		}
	if (total >= CLASSES_OPS_MIN &&
	    (rc = nw_density_buckets(buckets, n, 1, &nw_density_defaults, &d)) == NW_OK &&
	    (rc = nw_classes_test(
		 &d, buckets, n, 1, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, &c)) == NW_OK)
		nw_classes_count_buckets(&c, &d, buckets, n, 1);
	if (c.n > 0 && c.class[0].count > 0)
		usual_s = c.class[0].sum / c.class[0].count * NS;
	for (i = 0; i < NW_CELL_DURATIONS && rc == NW_OK; i++) {
		if (count[i] == 0)
			continue;
		of = c.n > 0 ? nw_classes_of(&c, middle_s(i) / NS) : 0;
		name[0] = (char)('A' + (of < 25 ? of : 25));
		class_count(f, class_get(f, of < c.n || of == 0 ? name : "slower", false),
		    (double)count[i], middle_s(i), of > 0 ? usual_s : NAN);
	}
	nw_classes_clear(&c);
	nw_density_clear(&d);
	return rc;
}

/* Whether the kernel fetched next to nothing from devices for the process that read the file. */
static bool
is_all_cached(const struct evidence *e, const struct io_file *f)
{
	const struct evidence_process *p;

	for (p = e->processes; !f->write && !f->far && p < e->processes + e->n_processes; p++)
		if (p->host == f->host && p->pid == f->pid && p->bytes[NW_OP_DISK_READ] != NULL)
			return evidence_reads_cached(e, p);
	return false;
}

static int
file_classify(const struct evidence *e, struct io_file *f)
{
	bool cached = f->baseline == NULL && is_all_cached(e, f);
	unsigned octave, i;
	int rc = NW_OK;

	f->by = f->baseline != NULL ? IO_BY_BASELINE : cached ? IO_BY_EVIDENCE : IO_BY_OWN;
	for (octave = 0; octave < NW_CELL_OCTAVES && rc == NW_OK; octave++) {
		if (f->by == IO_BY_BASELINE)
			octave_classify(f, octave);
		else if (f->by == IO_BY_OWN)
			rc = octave_divide(f, octave);
		for (i = 0; f->by == IO_BY_EVIDENCE && i < NW_CELL_DURATIONS; i++)
			class_count(f, class_get(f, "page cache", false),
			    (double)f->counts[octave * NW_HIST_SUB + i], middle_s(i), NAN);
	}
	return rc;
}

/* --- the whole --- */

static bool
has_classes(const struct baseline *b, bool write)
{
	size_t i;

	for (i = 0; b != NULL && i < b->n; i++)
		if (b->classes[i].write == write && baseline_class_is_usable(&b->classes[i]))
			return true;
	return false;
}

static int
files_classify(const struct evidence *e, struct iotime *t)
{
	struct io_file *f;
	int rc = NW_OK;

	for (f = t->files; f < t->files + t->n_files && rc == NW_OK; f++) {
		f->baseline = baselines_find(&t->baselines[f->host], f->path);
		/* files without a name are believed on the only mount that was measured */
		if (f->baseline == NULL && f->path[0] != '/' && t->baselines[f->host].n == 1)
			f->baseline = &t->baselines[f->host].list[0];
		if (f->far || !has_classes(f->baseline, f->write))
			f->baseline = NULL;
		rc = file_classify(e, f);
	}
	return rc;
}

static int
most_time_first(const void *a, const void *b)
{
	const struct io_file *x = a, *y = b;
	int c;

	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? 1 : -1;
	if ((c = strcmp(x->path, y->path)) != 0)
		return c;
	return x->write != y->write ? x->write - y->write : (x->pid > y->pid) - (x->pid < y->pid);
}

int
iotime_load(struct store_reader *r, const struct evidence *e, struct iotime *out)
{
	struct reading g = { .out = out, .e = e };
	size_t i;
	int rc;

	*out = (struct iotime){ .n_hosts = e->n_hosts };
	out->baselines = xcalloc(e->n_hosts + 1, sizeof(*out->baselines));
	if ((rc = store_metas(r, e->session_id, 0, NW_TYPE_CELLS, on_cells_meta, &g)) == NW_OK)
		rc = rows_read(r, &g);
	free(g.sources);
	for (i = 0; i < e->n_hosts && rc == NW_OK && out->n_files > 0; i++)
		rc = baselines_load(r, e->hosts[i].id, &out->baselines[i]);
	if (rc == NW_OK)
		rc = files_classify(e, out);
	if (rc < 0)
		iotime_clear(out);
	else if (out->n_files > 0)
		qsort(out->files, out->n_files, sizeof(*out->files), most_time_first);
	return rc;
}

void
iotime_clear(struct iotime *t)
{
	size_t i;

	for (i = 0; i < t->n_files; i++) {
		free(t->files[i].path);
		free(t->files[i].counts);
	}
	free(t->files);
	for (i = 0; t->baselines != NULL && i < t->n_hosts; i++)
		baselines_clear(&t->baselines[i]);
	free(t->baselines);
	*t = (struct iotime){ 0 };
}

/* The models that a baseline could not have, for people; NULL without. */
static char *
refused_words(const struct iotime *t)
{
	const struct baseline *b;
	char *words = NULL, *more;
	size_t i, k;

	for (i = 0; i < t->n_hosts; i++)
		for (b = t->baselines[i].list; b < t->baselines[i].list + t->baselines[i].n; b++)
			for (k = 0; k < b->n; k++) {
				if (b->classes[k].durations.status != NW_STATUS_REFUSED)
					continue;
				more = xasprintf("%s The model of %s of %s is refused: its "
						 "durations fall where the size rises.",
				    words != NULL ? words : "", b->classes[k].name, b->mount);
				free(words);
				words = more;
			}
	return words;
}

char *
iotime_sentence(const struct iotime *t)
{
	double time_s = 0, lost_s = 0, ops = 0;
	bool own = false, baseline = false;
	char *refused, *sentence;
	size_t i;

	for (i = 0; i < t->n_files; i++) {
		ops += t->files[i].ops;
		time_s += t->files[i].time_s;
		lost_s += t->files[i].lost_s;
		own |= t->files[i].by == IO_BY_OWN;
		baseline |= t->files[i].by == IO_BY_BASELINE;
	}
	if (ops == 0)
		return NULL;
	refused = refused_words(t);
	sentence =
	    xasprintf("File operations took %s, %s of it beyond what cached operations of the "
		      "same sizes take, measured against %s.%s",
		fmt_duration(time_s).s, lost_s > 0 ? fmt_duration(lost_s).s : "none",
		baseline && own
		    ? "the host's baseline where it has one, else each file's own fastest class"
		    : baseline ? "the host's baseline"
		    : own      ? "each file's own fastest class"
			       : "the kernel's count, which says that the page cache served all",
		refused != NULL ? refused : "");
	free(refused);
	return sentence;
}
