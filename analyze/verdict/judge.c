/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/judge_in.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

double
cpu_wait_s(const struct evidence *e, size_t process)
{
	return isfinite(e->processes[process].cpu_wait_s) ? e->processes[process].cpu_wait_s : 0;
}

size_t
limit_processes(const struct judgement *j, size_t process[2])
{
	const struct nw_path *p = &j->path;
	enum nw_stage_kind kind =
	    j->limit.stage < p->n ? p->stage[j->limit.stage].kind : NW_STAGE_COUNT;
	size_t n = 0;

	if (kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE)
		process[n++] = p->stage[j->limit.stage].process;
	if (kind == NW_STAGE_NETWORK || kind == NW_STAGE_NET_WRITE)
		process[n++] = p->sender_process;
	if (kind == NW_STAGE_NETWORK || kind == NW_STAGE_NET_READ)
		process[n++] = p->receiver_process;
	return n;
}

/*
 * A process without processor comes late to its socket: a wait for a processor within poll() looks
 * like a wait for the network and makes the other end wait, too; within write() the same wait looks
 * like a slow disk. The share is of the time in which the slowest stage held the bytes.
 */
static double
crowded_share(const struct judgement *j, const struct evidence *e)
{
	double wait_s = 0, held_s = limit_held(&j->limit) * j->path.active_s;
	size_t process[2], n = limit_processes(j, process);

	while (n > 0)
		wait_s += cpu_wait_s(e, process[--n]);
	return held_s > 0 ? wait_s / held_s : 0;
}

const struct evidence_process *
cpu_waiter(const struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *f, *most = NULL;

	for (f = e->processes; f < e->processes + e->n_processes; f++)
		if (f->program != NULL && f->cpu_wait_s >= 0.1 * j->path.active_s &&
		    j->path.active_s > 0 && (most == NULL || f->cpu_wait_s > most->cpu_wait_s))
			most = f;
	return most;
}

bool
stage_kind_is_host(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_SENDER_HOST || kind == NW_STAGE_RECEIVER_HOST ||
	    kind == NW_STAGE_HOST;
}

/*
 * A blocking sendfile() is disk and network in a single call: calipers see both stages held equally
 * and cannot choose, but the kernel's account of the connection can. The calls say nothing of how
 * much faster the other stage is.
 */
static bool
tie_break(struct judgement *j, const struct evidence *e, double margin)
{
	const char *says = tcp_opinion(j, e);
	double held = limit_held(&j->limit);
	size_t i, disk = j->path.n, net = j->path.n, n = 0;

	if (j->limit.known || says == NULL || strcmp(says, "the receiving end") == 0 ||
	    j->path.n < 2 || j->limit.n_windows < LIMIT_WINDOWS_MIN || !limit_is_held(&j->limit) ||
	    j->crowded_share >= CROWDED || !j->path.has_sender ||
	    e->processes[j->path.sender_process].combined_bytes < 0.5 * j->path.bytes)
		return false;
	for (i = 0; i < j->path.n; i++) {
		if (!j->limit.tests[i].candidate &&
		    (1 - j->limit.tests[i].group.mean) * (1 + margin) < held)
			continue;
		n++;
		if (j->path.stage[i].kind == NW_STAGE_DISK_READ)
			disk = i;
		else if (j->path.stage[i].kind == NW_STAGE_NETWORK ||
		    j->path.stage[i].kind == NW_STAGE_NET_WRITE)
			net = i;
	}
	if (n != 2 || disk == j->path.n || net == j->path.n)
		return false;
	j->limit.known = true;
	j->limit.claim = limit_is_sample(&j->limit) ? LIMIT_INFERENCE : LIMIT_ACCOUNT;
	j->limit.stage = strcmp(says, "network") == 0 ? net : disk;
	j->limit.effect = j->limit.effect_low = j->limit.effect_high = NAN;
	j->limit.bottleneck.runner_up = j->path.n;
	return true;
}

/* Whether the kernel read from disk for a program about as much as the program moved, without a
 * call of the program. */
static bool
reads_unseen(const struct judgement *j, const struct evidence *e)
{
	size_t i;

	if (!stage_kind_is_host(j->path.stage[j->limit.stage].kind) ||
	    j->path.stage[j->limit.stage].kind == NW_STAGE_RECEIVER_HOST)
		return false;
	for (i = 0; i < j->path.n; i++)
		if (j->path.stage[i].kind == NW_STAGE_DISK_READ)
			return false;
	return e->processes[j->path.stage[j->limit.stage].process].storage_read_bytes >
	    0.5 * j->bytes;
}

static void
confidence_set(struct judgement *j, const struct evidence *e)
{
	bool against = false, with = false;
	size_t i;

	for (i = 0; i < j->n_witnesses; i++) {
		if (strcmp(j->witnesses[i].name, "calipers") == 0)
			continue;
		against |= j->witnesses[i].agrees == AGREES_NOT;
		with |= j->witnesses[i].agrees == AGREES;
	}
	if (reads_unseen(j, e)) {
		against = true;
		reason_add(j,
		    "The program read from disk without calls, by memory mapping perhaps: its disk "
		    "may be behind this.");
	}
	j->confidence = against || j->limit.claim == LIMIT_ACCOUNT ? "low"
	    : with && limit_is_strong(&j->limit)                   ? "high"
								   : "medium";
	for (i = 0; i < j->n_witnesses && against; i++)
		if (j->witnesses[i].agrees == AGREES_NOT)
			break;
	if (against && i < j->n_witnesses)
		reason_add(j, "Not every witness agrees: see below.");
}

/* The processes as the path wants them; free() the array. */
static struct nw_process *
processes_view(const struct evidence *e)
{
	struct nw_process *v = xcalloc(e->n_processes + 1, sizeof(*v));
	const struct evidence_process *p;
	size_t i;
	int op;

	for (i = 0; i < e->n_processes; i++) {
		p = &e->processes[i];
		v[i].host = p->host;
		v[i].begin_s = (double)(p->first_wall_ns - e->t0_wall_ns) * 1e-9;
		v[i].end_s = (double)(p->last_wall_ns - e->t0_wall_ns) * 1e-9;
		v[i].one_thread = p->pid >= 0 && p->threads <= 1;
		for (op = 0; op < NW_OP_COUNT; op++) {
			v[i].bytes[op] = p->bytes[op];
			v[i].busy_s[op] = p->busy_s[op];
			v[i].wait_s[op] = p->wait_s[op];
		}
		for (op = 0; op < 2; op++) {
			v[i].pipe_bytes[op] = p->pipe_bytes[op];
			v[i].pipe_s[op] = p->pipe_s[op];
		}
	}
	return v;
}

/* Bytes, rate, route and program of the transfer. */
static void
transfer_describe(struct judgement *j, const struct evidence *e)
{
	evidence_extent(e, &j->path, &j->first_wall_ns, &j->last_wall_ns);
	j->duration_s = (double)(j->last_wall_ns - j->first_wall_ns) * 1e-9;
	j->bytes = round(j->path.bytes); /* bytes spread over windows add up with rounding errors */
	j->bytes_per_s = j->duration_s > 0 ? j->bytes / j->duration_s : NAN;
	j->route = route_text(e, &j->path);
	j->program = program_of(e, &j->path);
}

int
judge(const struct evidence *e, const struct judge_params *params, struct judgement *out)
{
	struct nw_process *processes = processes_view(e);
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = nw_path_build(processes, e->n_processes, e->n_windows, (double)e->step_ns * 1e-9,
		 &out->path)) < 0 ||
	    (rc = limit_find(
		 &out->path, 0, e->n_windows, params->alpha, params->margin, &out->limit)) < 0) {
		judgement_clear(out);
		goto out;
	}
	transfer_describe(out, e);
	out->crowded_share = crowded_share(out, e);
	out->limit.known =
	    out->limit.known && limit_is_held(&out->limit) && out->crowded_share < CROWDED;
	out->limit.claim = out->limit.known ? out->limit.claim : LIMIT_NONE;
	out->combined = tie_break(out, e, params->margin);
	witnesses_hear(out, e);
	judgement_words(out, e, params);
	out->confidence = "none";
	if (out->limit.known)
		confidence_set(out, e);
out:
	free(processes);
	return rc;
}

void
judgement_clear(struct judgement *j)
{
	size_t i;

	nw_path_clear(&j->path);
	free(j->words);
	free(j->sentence);
	free(j->route);
	for (i = 0; i < j->n_reasons; i++)
		free(j->reasons[i]);
	for (i = 0; i < j->n_witnesses; i++)
		free(j->witnesses[i].detail);
	memset(j, 0, sizeof(*j));
}
