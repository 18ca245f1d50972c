/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/question.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bytes that pass in a shorter time at the rate of the transfer say little: a throttle lets bursts
 * of a tenth of a second pass. Likewise fewer operations. */
static const double WORTH_S = 0.25;
enum { MANY_OPS = 4 };
/* .. but a burst only makes a stage look faster: two stages are repeated for so long each, and a
 * stage with a slow replay is the limit. */
static const double WORTH_EACH_S = 0.05;
/* Operations of this size, in order, are as fast as larger operations: few larger operations give
 * way to many of this size. */
static const int64_t LARGE_OP = 65536;
static const double IN_ORDER = 0.1; /* share of other steps, at most */
/* A young connection sends so many bytes in the first round trip, and twice as many in each next
 * round trip. The start may take this share of a replay, or the network would look slow. */
static const double FIRST_BYTES = 14600, START_SHARE = 0.15;
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

/* The sender's connection with most bytes; NULL: none is known. */
static const struct evidence_connection *
largest_find(const struct evidence *e, const struct nw_path *p)
{
	const struct evidence_connection *c, *found = NULL;

	for (c = e->connections; c < e->connections + e->n_connections; c++)
		if (c->host == p->sender_host && c->bytes_out > 0 &&
		    (found == NULL || c->bytes_out > found->bytes_out))
			found = c;
	return found;
}

/* The size of send calls, and the far end of the connection with most bytes. */
static void
pattern_of_sends(const struct evidence *e, const struct nw_path *p, struct nw_replay *y)
{
	const struct evidence_process *s = &e->processes[p->sender_process];
	const struct evidence_connection *c = largest_find(e, p);
	double ops = sum_of(s->ops[NW_OP_NET_WRITE], e->n_windows);

	y->op_bytes = ops > 0 ? llround(sum_of(s->bytes[NW_OP_NET_WRITE], e->n_windows) / ops) : 0;
	if (c != NULL)
		target_set(y, c->dst);
}

/* How long a new connection takes until the connection can be as fast as the transfer. */
static double
start_s(const struct evidence *e, const struct judgement *j)
{
	const struct evidence_connection *c = largest_find(e, &j->path);
	double on_way = c != NULL ? j->bytes_per_s * c->rtt_min_s : 0;

	return on_way > FIRST_BYTES ? c->rtt_min_s * log2(on_way / FIRST_BYTES) : 0;
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

/* Bytes and time of a replay by a part of the session's bytes and of the question's time. Returns
 * false where the bytes would pass in less than worth_s at the transfer's rate, or be few
 * operations. */
static bool
bounds_set(struct nw_replay *y, const struct judgement *j, double share, size_t n, double worth_s)
{
	double bytes = share / (double)n * j->bytes;

	if (y->way == NW_REPLAY_READ) /* a file is written before it is read */
		bytes /= 2;
	y->bytes = llround(fmin(bytes, NW_REPLAY_BYTES_MAX));
	y->time_ns = QUESTION_NS / (int64_t)n;
	while (y->random_share <= IN_ORDER && y->op_bytes >= 2 * LARGE_OP &&
	    y->bytes < 2 * MANY_OPS * y->op_bytes) {
		y->op_bytes /= 2;
		y->pause_ns /= 2;
	}
	return bytes >= worth_s * j->bytes_per_s && y->bytes >= MANY_OPS * y->op_bytes;
}

/* Keeps the replays of a question that are worth the cost, each alone or as a part of n. */
static size_t
worth_keep(const struct evidence *e, const struct judgement *j, struct nw_question *q, size_t known,
    double share, size_t n, double worth_s)
{
	size_t i, kept = 0;
	double least_s;

	for (i = 0; i < known; i++) {
		least_s = q->ask[i].replay.way == NW_REPLAY_SEND
		    ? fmax(worth_s, start_s(e, j) / START_SHARE)
		    : worth_s;
		if (bounds_set(&q->ask[i].replay, j, share, n, least_s))
			q->ask[kept++] = q->ask[i];
	}
	return kept;
}

void
question_find(const struct evidence *e, const struct iotime *t, const struct judgement *j,
    struct nw_question *out)
{
	size_t chosen[NW_STAGE_COUNT], n, i, known = 0;

	out->n = 0;
	out->short_s = 0;
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
	if (known == 0)
		return;
	if (!out->one) {
		out->n = worth_keep(e, j, out, known, QUESTION_GAIN_SHARE, known, WORTH_S);
		return;
	}
	out->n = worth_keep(e, j, out, known, QUESTION_SHARE, 1, WORTH_S);
	if (out->n > 0 || known < 2)
		return;
	out->one = false;
	if (worth_keep(e, j, out, known, QUESTION_SHARE, known, WORTH_EACH_S) == known)
		out->n = known;
	else if (QUESTION_SHARE * j->duration_s < (double)known * WORTH_EACH_S)
		out->short_s = QUESTION_SHARE * j->duration_s;
}
