/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/question.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bytes that pass in a shorter time at the rate of the transfer say little: a throttle lets bursts
 * of a tenth of a second pass. Likewise fewer operations. */
static const double WORTH_S = 0.25;
enum { MANY_OPS = 4 };
/* Bounds of a gain as near as this need no replay. */
static const double TOLD = 2;

/* --- patterns --- */

static void
target_set(struct nw_replay *y, const char *text)
{
	if (strlen(text) < sizeof(y->target))
		memcpy(y->target, text, strlen(text) + 1);
}

/* Size and steps of the operations on the files of a host in one direction, and the file with most
 * bytes. Files over a network say nothing of steps. */
static void
pattern_of_files(const struct iotime *t, size_t host, bool write, struct nw_replay *y)
{
	double ops = 0, bytes = 0, steps = 0, apart = 0, most = 0;
	const struct io_file *f;
	int i;

	for (f = t->files; f < t->files + t->n_files; f++) {
		if (f->host != host || f->write != write || !(f->ops > 0))
			continue;
		ops += f->ops;
		bytes += f->bytes;
		for (i = 0; i < IO_STEPS; i++) {
			steps += f->steps[i];
			apart += i > 0 ? f->steps[i] : 0; /* the first kind goes on forward */
		}
		if (f->path[0] == '/' && f->bytes > most) {
			most = f->bytes;
			target_set(y, f->path);
		}
	}
	y->op_bytes = ops > 0 ? llround(bytes / ops) : 0;
	y->random_share = steps > 0 ? fmin(1, apart / steps) : 0;
}

static double
sum_of(const double *a, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; a != NULL && i < n; i++)
		sum += a[i];
	return sum;
}

/* The size of send calls, and the far end of the connection with most bytes. */
static void
pattern_of_sends(const struct evidence *e, const struct nw_path *p, struct nw_replay *y)
{
	const struct evidence_process *s = &e->processes[p->sender_process];
	double ops = sum_of(s->ops[NW_OP_NET_WRITE], e->n_windows), most = 0;
	const struct evidence_connection *c;

	y->op_bytes = ops > 0 ? llround(sum_of(s->bytes[NW_OP_NET_WRITE], e->n_windows) / ops) : 0;
	for (c = e->connections; c < e->connections + e->n_connections; c++)
		if (c->host == p->sender_host && c->bytes_out > most) {
			most = c->bytes_out;
			target_set(y, c->dst);
		}
}

/* The program's own time of an operation, at the end of a stage; none where a program is the limit
 * to be lifted. */
static int64_t
own_ns(const struct judgement *j, size_t stage, int64_t op_bytes)
{
	const struct nw_path *p = &j->path;
	double own = 0;
	size_t i;

	if (j->limit.known && replayed_way(p->stage[j->limit.stage].kind) == NW_REPLAY_NONE)
		return 0;
	for (i = 0; i < p->n; i++)
		if (replayed_way(p->stage[i].kind) == NW_REPLAY_NONE &&
		    !stage_kind_is_net(p->stage[i].kind) &&
		    p->stage[i].host == p->stage[stage].host)
			own = fmax(own, p->stage[i].busy_share);
	own *= (double)op_bytes / j->bytes_per_s * 1e9;
	return own > 0 && own <= (double)NW_REPLAY_PAUSE_MAX_NS ? llround(own) : 0;
}

/* --- the question --- */

/* Of two stages, the stage that memory hides first: a written disk, then a read disk, whose file
 * must be written before. */
static int
way_rank(const struct judgement *j, size_t stage)
{
	switch (replayed_way(j->path.stage[stage].kind)) {
	case NW_REPLAY_WRITE: return 0;
	case NW_REPLAY_READ: return 1;
	default: return 2;
	}
}

/* The two stages between which the test did not decide; returns their number. */
static size_t
pair_choose(const struct judgement *j, size_t chosen[NW_STAGE_COUNT])
{
	const struct limit *l = &j->limit;
	size_t second = j->second < j->path.n ? j->second : l->bottleneck.runner_up;

	if (l->n_windows < LIMIT_WINDOWS_MIN || !limit_is_held(l) || second >= j->path.n)
		return 0;
	chosen[0] = l->stage;
	chosen[1] = second;
	if (way_rank(j, chosen[1]) < way_rank(j, chosen[0])) {
		chosen[0] = second;
		chosen[1] = l->stage;
	}
	return 2;
}

/* The stages besides the limit, unless the gain is known from both sides. */
static size_t
others_choose(const struct judgement *j, size_t chosen[NW_STAGE_COUNT])
{
	size_t n = 0, i;

	if (j->gain.low > 1 && j->gain.high <= TOLD * j->gain.low)
		return 0;
	for (i = 0; i < j->path.n; i++)
		if (i != j->limit.stage)
			chosen[n++] = i;
	return n;
}

/* Whether the question makes sense: the session is over, and its bytes were seen; no replay has
 * been; a program that keeps its own pace has no gain. */
static bool
is_askable(const struct evidence *e, const struct judgement *j)
{
	return !e->open && e->n_replays == 0 && j->chained.how != CHAINED_INSTEAD &&
	    !j->pace.found && !j->crowd.limits && !j->blind_reads && j->path.n > 0 &&
	    j->bytes_per_s > 0 && j->limit.stage < j->path.n;
}

static bool
pattern_find(const struct evidence *e, const struct iotime *t, const struct judgement *j,
    size_t stage, struct nw_replay *y)
{
	const struct nw_path_stage *s = &j->path.stage[stage];

	*y = (struct nw_replay){ .way = replayed_way(s->kind) };
	if (y->way == NW_REPLAY_SEND)
		pattern_of_sends(e, &j->path, y);
	else if (y->way != NW_REPLAY_NONE && !s->mapped)
		pattern_of_files(t, s->host, y->way == NW_REPLAY_WRITE, y);
	if (y->op_bytes > NW_REPLAY_OP_MAX)
		y->op_bytes = NW_REPLAY_OP_MAX;
	if (y->op_bytes < 1 || y->target[0] == '\0')
		return false;
	y->pause_ns = own_ns(j, stage, y->op_bytes);
	return true;
}

/* Bytes and time of a replay: all of a decisive question's, or a part of those for the gain.
 * Returns false where the bytes would say little. */
static bool
bounds_set(struct nw_replay *y, const struct judgement *j, bool one, size_t n)
{
	double bytes = (one ? QUESTION_SHARE : QUESTION_GAIN_SHARE / (double)n) * j->bytes;

	if (y->way == NW_REPLAY_READ) /* a file is written before it is read */
		bytes /= 2;
	y->bytes = llround(fmin(bytes, NW_REPLAY_BYTES_MAX));
	y->time_ns = one ? QUESTION_NS : QUESTION_NS / (int64_t)n;
	return bytes >= WORTH_S * j->bytes_per_s && y->bytes >= MANY_OPS * y->op_bytes;
}

void
question_find(const struct evidence *e, const struct iotime *t, const struct judgement *j,
    struct nw_question *out)
{
	size_t chosen[NW_STAGE_COUNT], n, i, known = 0;

	out->n = 0;
	if (!is_askable(e, j))
		return;
	out->one = !j->limit.known;
	n = out->one ? pair_choose(j, chosen) : others_choose(j, chosen);
	for (i = 0; i < n && known < NW_QUESTION_MAX; i++) {
		if (!pattern_find(e, t, j, chosen[i], &out->ask[known].replay))
			continue;
		snprintf(out->ask[known].host, sizeof(out->ask[known].host), "%s",
		    evidence_host_name(e, j->path.stage[chosen[i]].host, ""));
		known++;
	}
	for (i = 0; i < known; i++)
		if (bounds_set(&out->ask[i].replay, j, out->one, known))
			out->ask[out->n++] = out->ask[i];
}
