/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for files of another process. No call tells of such a wait: the reader sleeps and looks
 * again, or is woken by a notice. So the wait is the time without any known act of the reader, as
 * long as nothing was there to be read: the writer has not written the last file of the two, no
 * complete file lies unread, and of a shared file the reader has most. A reader behind the writer
 * takes time of the reader's own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/chain/chain_in.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

/* Least part of the reader's time for a channel; part of a growing file that may lie unread. */
static const double WAITS_MIN = 0.1, LIES_MAX = 0.1;
static const double LIES_BYTES = 1 << 20;

static double
at(const double *a, size_t i)
{
	return a != NULL && a[i] > 0 ? a[i] : 0;
}

/* Whether a process writes a file, and another process only reads the file: no writer hands on a
 * file to another writer. */
static bool
is_handed(
    const struct evidence *e, const struct evidence_shared *from, const struct evidence_shared *to)
{
	return from->is_shared && to->is_shared && from->process != to->process &&
	    from->sum[1] > 0 && to->sum[0] > 0 && !(to->sum[1] > 0) &&
	    e->processes[from->process].host == e->processes[to->process].host &&
	    strcmp(from->path, to->path) == 0;
}

/* A session may have any number of files: so many of two processes count. */
enum { FILES_MAX = 64 };

/* A file of a pair, and its bytes up to the window in hand: written before, read by its end. */
struct handed {
	const struct evidence_shared *from, *to;
	double written, read;
	bool are_small; /* many files, told when closed */
};

struct pair {
	const struct evidence *e;
	size_t writer, reader;
	struct handed file[FILES_MAX];
	size_t n;
	int64_t first_wall_ns, last_wall_ns; /* of the writer's writing of the files */
	int64_t read_wall_ns;                /* last reading */
	double bytes;
};

/* Whether bytes of a file lie unread at the end of a window. */
static bool
lies_unread(const struct pair *p, const struct handed *f, size_t window)
{
	int64_t begin_wall_ns = p->e->t0_wall_ns + (int64_t)window * p->e->step_ns;

	if (f->from->last_wall_ns[1] <= begin_wall_ns)
		return f->to->last_wall_ns[0] > begin_wall_ns;
	if (f->to->first_wall_ns[0] > begin_wall_ns + p->e->step_ns)
		return false; /* such a reader takes whole files */
	if (f->are_small)
		return f->written - f->read > LIES_MAX * f->from->sum[1];
	return f->written - f->read > fmax(LIES_BYTES, LIES_MAX * f->written);
}

/* Asked window by window. */
static bool
has_something_to_read(struct pair *p, size_t window)
{
	struct handed *f;
	bool has = false;

	for (f = p->file; f < p->file + p->n; f++) {
		f->written += window > 0 ? at(f->from->bytes[1], window - 1) : 0;
		f->read += at(f->to->bytes[0], window);
		has = has || lies_unread(p, f, window);
	}
	return has;
}

/* Seconds of a window in which a process did nothing that is known of. */
static double
idle_s(const struct evidence *e, const struct evidence_process *p, size_t w)
{
	double used = at(p->cpu, w) + at(p->starved, w) + at(p->blocked, w) + at(p->pipe_s[0], w) +
	    at(p->pipe_s[1], w);
	int op;

	for (op = 0; op < NW_OP_COUNT; op++)
		used += at(p->busy_s[op], w) + at(p->wait_s[op], w);
	return fmax(0, (double)e->step_ns * 1e-9 - used);
}

/* The reader's waits in each window; returns their sum. */
static double
waits_fill(struct pair *p, double *wait_s)
{
	const struct evidence *e = p->e;
	const struct evidence_process *reader = &e->processes[p->reader];
	int64_t begin_wall_ns;
	double sum = 0;
	bool has;
	size_t w;

	for (w = 0; w < e->n_windows; w++) {
		begin_wall_ns = e->t0_wall_ns + (int64_t)w * e->step_ns;
		has = has_something_to_read(p, w);
		if (!has && begin_wall_ns >= p->first_wall_ns &&
		    begin_wall_ns + e->step_ns <= p->last_wall_ns &&
		    begin_wall_ns >= reader->first_wall_ns)
			sum += wait_s[w] = idle_s(e, reader, w);
	}
	return sum;
}

static void
pair_join(struct finder *f, struct pair *p)
{
	double *wait_s = chain_array(f), begin_s, end_s;
	struct nw_chain_end *end;

	begin_s = chain_seconds_of(p->e,
	    p->first_wall_ns > p->e->processes[p->reader].first_wall_ns
		? p->first_wall_ns
		: p->e->processes[p->reader].first_wall_ns);
	end_s = chain_seconds_of(
	    p->e, p->read_wall_ns > p->last_wall_ns ? p->read_wall_ns : p->last_wall_ns);
	if (!(waits_fill(p, wait_s) >= WAITS_MIN * (end_s - begin_s)))
		return;
	if ((end = chain_end_add(f, p->writer, f->n_channels, NULL)) == NULL)
		return;
	end->by = NW_CHAIN_FILE;
	end->bytes[1] = p->bytes;
	end->begin_s = chain_seconds_of(p->e, p->first_wall_ns);
	end->end_s = chain_seconds_of(p->e, p->last_wall_ns);
	if ((end = chain_end_add(f, p->reader, f->n_channels++, NULL)) == NULL)
		return;
	end->by = NW_CHAIN_FILE;
	end->bytes[0] = p->bytes;
	end->wait_s[0] = wait_s;
	end->begin_s = begin_s;
	end->end_s = end_s;
}

static void
pair_add(struct pair *p, const struct evidence_shared *from, const struct evidence_shared *to)
{
	if (p->n == FILES_MAX)
		return;
	p->file[p->n++] = (struct handed){ .from = from,
		.to = to,
		.are_small =
		    strncmp(from->path, NW_SMALL_FILES_OF, strlen(NW_SMALL_FILES_OF)) == 0 };
	if (p->n == 1 || from->first_wall_ns[1] < p->first_wall_ns)
		p->first_wall_ns = from->first_wall_ns[1];
	if (from->last_wall_ns[1] > p->last_wall_ns)
		p->last_wall_ns = from->last_wall_ns[1];
	if (to->last_wall_ns[0] > p->read_wall_ns)
		p->read_wall_ns = to->last_wall_ns[0];
	p->bytes += fmin(from->sum[1], to->sum[0]);
}

/* The pair of two processes, new or known; NULL: too many. */
static struct pair *
pair_get(struct pair *pair, size_t *n, const struct evidence *e, size_t writer, size_t reader)
{
	struct pair *p;

	for (p = pair; p < pair + *n; p++)
		if (p->writer == writer && p->reader == reader)
			return p;
	if (*n == CHAIN_PAIRS_MAX)
		return NULL;
	++*n;
	*p = (struct pair){ .e = e, .writer = writer, .reader = reader };
	return p;
}

static void
alike_note(struct finder *f, const struct pair *p)
{
	const char *writer = f->e->processes[p->writer].program,
		   *reader = f->e->processes[p->reader].program;

	if (writer == NULL || reader == NULL || strcmp(writer, reader) != 0)
		return;
	f->handed[f->n_handed][0] = p->writer;
	f->handed[f->n_handed++][1] = p->reader;
}

void
chain_files_add(struct finder *f)
{
	const struct evidence *e = f->e;
	const struct evidence_shared *from, *to;
	struct pair *pair, *p;
	size_t n = 0, i;

	if (e->n_shared == 0)
		return;
	pair = xcalloc(CHAIN_PAIRS_MAX, sizeof(*pair));
	for (from = e->shared; from < e->shared + e->n_shared; from++)
		for (to = e->shared; from->is_shared && to < e->shared + e->n_shared; to++)
			if (is_handed(e, from, to) &&
			    (p = pair_get(pair, &n, e, from->process, to->process)) != NULL)
				pair_add(p, from, to);
	for (i = 0; i < n; i++) {
		alike_note(f, &pair[i]);
		pair_join(f, &pair[i]);
	}
	free(pair);
}
