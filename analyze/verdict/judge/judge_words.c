/* SPDX-License-Identifier: BSD-3-Clause */
/* A judgement in words: sentence, reasons, route and names of stages. */
#include "analyze/verdict/judge/judge_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result_keys.h"
#include "narrows/result_keys.h"
#include "narrows/xmalloc.h"

void
reason_add(struct judgement *j, const char *fmt, ...)
{
	va_list ap;

	if (j->n_reasons == JUDGE_REASONS_MAX)
		return;
	va_start(ap, fmt);
	if (vasprintf(&j->reasons[j->n_reasons], fmt, ap) >= 0)
		j->n_reasons++;
	va_end(ap);
}

void
reason_claim(struct judgement *j, enum claim_kind kind, size_t stage,
    const struct claim_value *value, size_t n)
{
	struct claims *c = &j->because[j->n_reasons];

	if (j->n_reasons == JUDGE_REASONS_MAX)
		return;
	claims_add(c, kind, stage, value, n);
	j->reasons[j->n_reasons++] = claims_text(c);
}

static void
reason_drop(struct judgement *j)
{
	free(j->reasons[--j->n_reasons]);
	claims_clear(&j->because[j->n_reasons]);
}

/* Prints the sentence from its claims. */
static void
sentence_print(struct judgement *j)
{
	free(j->sentence);
	j->sentence = claims_text(&j->said);
}

/* A smaller gain, or share of the time, is not worth a number. */
static const double GAIN_WORTH = 1.1, HELD_WORTH = 0.01;
/* A device with less of the time at work does not hold the bytes itself. */
static const double DEVICE_IDLE = 0.1;
/* The least bound of a gain that is printed above 1. */
static const double GAIN_SURE = 1.05;

/* The network's better windows tell its rate up to so many times the mean. Measured with ties of
 * links and throttled disks: 0.98 to 1.05 of the link's rate. */
static const double ROOM_TOLD = 1.6;
/* A gain of at most so many times may be little. */
static const double LITTLE_MOST = 1.5;
/* A stage that carries less alone, against the transfer's rate, had no room. */
static const double REPLAY_ROOM = 1.2;

/* The session's own programs used their host's processors from such a part of all their time on. */
static const double OWN_PART = 0.7;

/* --- names --- */

static const char *
stage_words(enum nw_stage_kind kind)
{
	return nw_stage_kind_words(kind);
}

const char *
judge_stage_program(const struct evidence *e, const struct nw_path_stage *s)
{
	return s->of_several && s->process < e->n_processes ? e->processes[s->process].program
							    : NULL;
}

char *
judge_stage_text(const struct evidence *e, const struct nw_path_stage *s)
{
	const char *program = judge_stage_program(e, s);

	if (nw_stage_kind_is_storage(s->kind))
		return storage_text(e, s);
	if (s->kind == NW_STAGE_NETWORK && s->to_host != s->host)
		return xasprintf("the network path from %s to %s",
		    evidence_host_name(e, s->host, "?"), evidence_host_name(e, s->to_host, "?"));
	if (s->kind == NW_STAGE_NETWORK)
		return xasprintf("the network path within %s", evidence_host_name(e, s->host, "?"));
	if (s->kind == NW_STAGE_NET_WRITE)
		return xasprintf("the network path from %s (or the end it leads to)",
		    evidence_host_name(e, s->host, "?"));
	if (s->kind == NW_STAGE_NET_READ)
		return xasprintf("the network path to %s (or the end it comes from)",
		    evidence_host_name(e, s->host, "?"));
	if (s->kind == NW_STAGE_DISK_READ || s->kind == NW_STAGE_DISK_WRITE)
		return xasprintf(
		    "%s on %s", stage_words(s->kind), evidence_host_name(e, s->host, "?"));
	if (program != NULL)
		return xasprintf("the %s %s on %s", stage_words(s->kind), program,
		    evidence_host_name(e, s->host, "?"));
	return xasprintf("the %s on %s", stage_words(s->kind), evidence_host_name(e, s->host, "?"));
}

char *
judge_rate_text(double bytes_per_s)
{
	return xasprintf("%s (%s)", fmt_plain(fmt_bytes_per_s(bytes_per_s)).s,
	    fmt_plain(fmt_bits_per_s(bytes_per_s)).s);
}

/* The connection with most bytes of the measured end, by its process where a process is named. */
static const struct evidence_connection *
end_connection(const struct evidence *e, size_t host, size_t process)
{
	const int64_t pid = process < e->n_processes ? e->processes[process].pid : -1;
	const struct evidence_connection *c, *of_host = NULL;

	for (c = e->connections; c < e->connections + e->n_connections; c++) {
		if (c->host != host)
			continue;
		if (pid >= 0 && c->pid == pid)
			return c;
		if (of_host == NULL)
			of_host = c;
	}
	return of_host != NULL ? of_host : e->n_connections > 0 ? e->connections : NULL;
}

/* A route with one measured end; the other end has the name of its host, or its address. */
static char *
route_of_end(const struct evidence *e, size_t host, size_t process, bool sends)
{
	const struct evidence_connection *c = end_connection(e, host, process);
	const char *own = evidence_host_name(e, host, "?"),
		   *far = c == NULL ? "?"
	    : c->far_host != NULL   ? c->far_host
				    : c->dst;

	if (strcmp(own, far) == 0)
		return xasprintf("%s (both ends)", own);
	return sends ? xasprintf("%s -> %s", own, far) : xasprintf("%s -> %s", far, own);
}

char *
route_text(const struct evidence *e, const struct nw_path *p)
{
	if (p->has_sender && p->has_receiver)
		return p->sender_host != p->receiver_host
		    ? xasprintf("%s -> %s", evidence_host_name(e, p->sender_host, "?"),
			  evidence_host_name(e, p->receiver_host, "?"))
		    : xasprintf("%s (both ends)", evidence_host_name(e, p->sender_host, "?"));
	if (p->has_sender)
		return route_of_end(e, p->sender_host, p->sender_process, true);
	if (p->has_receiver)
		return route_of_end(e, p->receiver_host, p->receiver_process, false);
	if (p->n > 0)
		return xasprintf("%s (local)", evidence_host_name(e, p->stage[0].host, "?"));
	return e->n_hosts > 0 ? xstrdup(evidence_host_name(e, 0, "?")) : xstrdup("?");
}

/* The name of the started program, or of the first process if a wrapper became another program. */
const char *
program_of(const struct evidence *e, const struct nw_path *p)
{
	const char *first = NULL;
	size_t i;

	for (i = 0; i < e->n_processes && e->program != NULL; i++) {
		if (e->processes[i].program != NULL &&
		    strcmp(e->processes[i].program, e->program) == 0)
			return e->program;
		if (first == NULL)
			first = e->processes[i].program;
	}
	if (e->program != NULL)
		return first != NULL ? first : e->program;
	if (p->n > 0 && p->sender_process < e->n_processes &&
	    e->processes[p->sender_process].program != NULL)
		return e->processes[p->sender_process].program;
	return e->n_processes > 0 ? e->processes[0].program : NULL;
}

/* --- cannot tell --- */

static double
waited_s(const struct evidence *e, const struct evidence_process *p, int dir)
{
	double s = 0;
	size_t i;

	for (i = 0; p->pipe_s[dir] != NULL && i < e->n_windows; i++)
		s += p->pipe_s[dir][i];
	return s;
}

/* The server behind the local socket at which a process waited; NULL without one, and where the
 * session has the server's own measurement. */
static const struct evidence_server *
server_of(const struct evidence *e, const struct evidence_process *p)
{
	const struct evidence_server *s = &p->server[waited_s(e, p, 1) > waited_s(e, p, 0) ? 1 : 0];
	size_t f;

	for (f = 0; s->pid > 0 && f < e->n_processes; f++)
		if (e->processes[f].host == p->host && e->processes[f].pid == s->pid)
			return NULL;
	return s->program != NULL || s->socket != NULL ? s : NULL;
}

/* "postgres (pid 812) behind the Unix socket /run/postgresql/.s.PGSQL.5432". */
static char *
server_text(const struct evidence_server *s)
{
	char *name = s->program == NULL ? xstrdup("the server")
	    : s->pid > 0                ? xasprintf("%s (pid %" PRId64 ")", s->program, s->pid)
					: xstrdup(s->program);
	char *text = s->socket == NULL ? xasprintf("%s behind a Unix socket", name)
				       : xasprintf("%s behind the Unix socket %s", name, s->socket);

	free(name);
	return text;
}

/* Where all processes waited, the longest wait at a pipe tells where to look: behind that pipe. A
 * process that waited about as long for a named server comes first: the others wait for it. */
static const struct evidence_process *
neighbour_waiter(const struct judgement *j, const struct evidence *e, double *wait_s)
{
	const struct evidence_process *p, *waits = NULL;
	double s;

	*wait_s = 0.5 * j->path.active_s;
	for (p = e->processes; p < e->processes + e->n_processes; p++) {
		s = waited_s(e, p, 0) + waited_s(e, p, 1);
		if (s > 0.5 * j->path.active_s &&
		    (waits == NULL || (server_of(e, p) != NULL) > (server_of(e, waits) != NULL) ||
			((server_of(e, p) != NULL) == (server_of(e, waits) != NULL) &&
			    s > *wait_s))) {
			*wait_s = s;
			waits = p;
		}
	}
	return waits;
}

/* Says in the reasons, and of a server in the sentence, behind what the time passed. */
static void
neighbour_words(struct judgement *j, const struct evidence *e)
{
	double wait_s;
	const struct evidence_process *p = neighbour_waiter(j, e, &wait_s);
	const struct evidence_server *s = p != NULL ? server_of(e, p) : NULL;
	const char *host = p != NULL ? evidence_host_name(e, p->host, "?") : NULL;
	double share = fmin(1, wait_s / j->path.active_s);
	char *server;

	CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
	if (s == NULL) {
		CLAIM_SAY(&j->said, time_outside, CLAIM_NO_STAGE);
		if (p != NULL)
			REASON_SAY(j, waited_at_pipe, CLAIM_NO_STAGE,
			    claim_text(p->program != NULL ? p->program : "A program"),
			    claim_text(host), claim_number(share));
		return;
	}
	server = server_text(s);
	CLAIM_SAY(&j->said, time_at_server, CLAIM_NO_STAGE,
	    claim_text(p->program != NULL ? p->program : "a program"), claim_text(host),
	    claim_text(server));
	REASON_SAY(j, waited_at_socket, CLAIM_NO_STAGE,
	    claim_text(p->program != NULL ? p->program : "A program"), claim_text(host),
	    claim_text(s->program != NULL ? s->program : "the server"), claim_number(share));
	free(server);
}

static void
cpu_wait_reason(struct judgement *j, const struct evidence *e, const struct evidence_process *f)
{
	REASON_SAY(j, had_no_processor, CLAIM_NO_STAGE,
	    claim_text(f->program != NULL ? f->program : "The program"),
	    claim_text(evidence_host_name(e, f->host, "?")),
	    claim_number(fmin(f->cpu_wait_s / j->path.active_s, 1)));
}

static void
unseen_words(struct judgement *j, const struct evidence *e)
{
	size_t lowest = j->limit.bottleneck.lowest;
	char *most = judge_stage_text(e, &j->path.stage[lowest]);

	if (limit_held(&j->limit) < HELD_WORTH)
		REASON_SAY(j, nothing_held, CLAIM_NO_STAGE);
	else
		REASON_SAY(j, nothing_held_long, j->limit.stage, claim_text(most),
		    claim_number(limit_held(&j->limit)));
	neighbour_words(j, e);
	free(most);
}

/* Why a disk with little held time is a candidate: memory hides its work up to its limit. */
static void
hidden_disk_reason(struct judgement *j)
{
	bool reads = j->path.stage[j->second].kind == NW_STAGE_DISK_READ;

	if (!reads && j->path.stage[j->second].kind != NW_STAGE_DISK_WRITE)
		return;
	REASON_SAY(j, hidden_disk, j->second,
	    claim_text(reads ? "that reads ahead" : "that writes behind a cache"),
	    claim_number(j->resources.peaks[j->second]));
}

/* The rate of a disk as a share of its throttle's rate; NaN or 0 without a throttle. */
static double
throttle_share(const struct judgement *j, size_t stage)
{
	return resources_rate(&j->path, stage) / j->resources.throttle[stage];
}

/* The rate that a stage of a tie carries alone: a disk by its throttle, the network by its better
 * windows; NaN if unknown. */
static double
rate_alone(const struct judgement *j, size_t stage)
{
	const struct resources *r = &j->resources;
	enum nw_stage_kind kind = j->path.stage[stage].kind;

	if (j->replayed.stage[stage].by != NULL)
		return j->replayed.stage[stage].bytes_per_s;
	if (kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE)
		return r->throttle[stage];
	return stage_kind_is_net(kind) && r->room >= 1 && r->room <= ROOM_TOLD
	    ? r->room * j->bytes_per_s
	    : NAN;
}

/* Two stages at their limits: a sentence with an answer. The marks of a hidden disk prove a
 * possible limit, not a certain limit. */
static void
both_words(struct judgement *j, const struct evidence *e)
{
	const struct limit *l = &j->limit;
	char *first = judge_stage_text(e, &j->path.stage[l->stage]);
	char *second = judge_stage_text(e, &j->path.stage[j->second]);
	const struct claim_value places[2] = { claim_text(first), claim_text(second) },
				 rate = claim_number(j->bytes_per_s);
	double held = limit_held(l), worked = gain_worked(&j->path, l, &j->resources, j->second);
	double throttled = throttle_share(j, j->second);
	bool sure = judge_tie_is_sure(j);

	if (sure)
		CLAIM_SAY(&j->said, both, l->stage, places[0], places[1], rate);
	else
		CLAIM_SAY(&j->said, either, l->stage, places[0], places[1], rate);
	if (sure && isfinite(rate_alone(j, l->stage)) && isfinite(rate_alone(j, j->second)))
		CLAIM_SAY(&j->said, both_rates, CLAIM_NO_STAGE,
		    claim_number(rate_alone(j, l->stage)), claim_number(rate_alone(j, j->second)));
	if (sure && worked >= TIE_LITTLE && !(j->gain.high >= LITTLE_MOST))
		CLAIM_SAY(&j->said, both_little, CLAIM_NO_STAGE);
	else if (sure)
		CLAIM_SAY(&j->said, both_most, CLAIM_NO_STAGE, claim_number(j->gain.high));
	if (isfinite(throttled))
		REASON_SAY(j, tie_throttled, l->stage, claim_number(held), claim_number(throttled));
	else
		REASON_SAY(j, tie_shares, l->stage, claim_number(held),
		    claim_text(sure ? "worked" : "held the bytes"),
		    claim_number(sure ? worked : 1 - l->tests[j->second].group.mean));
	if (!sure)
		hidden_disk_reason(j);
	free(first);
	free(second);
}

static const char *starved_manner(
    struct judgement *j, const struct evidence *e, const struct evidence_process *p, double wait_s);

static void
paused_beside_say(struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *p = &e->processes[j->pace.process];

	REASON_SAY(j, paused_beside, j->limit.stage,
	    claim_text(p->program != NULL ? p->program : "The program"),
	    claim_text(evidence_host_name(e, p->host, "?")), claim_number(j->pace.share));
}

/* A limit beside a program without a processor. The rates of both: of the network in its better
 * windows, and of the program by its time on a processor and its waits for one. */
static void
crowd_words(struct judgement *j, const struct evidence *e)
{
	const struct nw_path_stage *s = &j->path.stage[j->crowd.program];
	const struct evidence_process *p = &e->processes[s->process];
	double used = (p->cpu_wait_s + (isfinite(p->cpu_s) ? p->cpu_s : 0)) / j->path.active_s;
	const bool alike = j->pace.found && j->crowd.program == j->crowd.stage;
	char *stage = judge_stage_text(e, &j->path.stage[j->limit.stage]);
	char *first = j->pace.found ? xasprintf("the pace of %s", stage) : xstrdup(stage);
	char *program = alike ? xstrdup("the program itself") : judge_stage_text(e, s);
	const char *manner = starved_manner(j, e, p, p->cpu_wait_s);

	if (j->crowd.is_open) { /* the manner without the comma behind */
		char *second = xasprintf("%s%.*s", program, (int)strlen(manner) - 1, manner);

		CLAIM_SAY(&j->said, either, j->limit.stage, claim_text(first), claim_text(second),
		    claim_number(j->bytes_per_s));
		free(second);
	} else
		CLAIM_SAY(&j->said, both_crowded, j->limit.stage, claim_text(first),
		    claim_text(program), claim_text(manner), claim_number(j->bytes_per_s));
	REASON_SAY(
	    j, program_alone, j->crowd.program, claim_number(j->bytes_per_s / fmin(1, used)));
	if (isfinite(j->crowd.room))
		REASON_SAY(
		    j, ran_dry, j->limit.stage, claim_number(j->bytes_per_s * j->crowd.room));
	if (j->pace.found)
		paused_beside_say(j, e);
	free(stage);
	free(first);
	free(program);
}

static void
idle_words(struct judgement *j, const struct evidence *e)
{
	char *what = judge_stage_text(e, &j->path.stage[j->limit.stage]);

	REASON_SAY(j, waited_for_idle, j->limit.stage, claim_text(what),
	    claim_number(limit_held(&j->limit)), claim_number(j->resources.in_flight));
	CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
	CLAIM_SAY(&j->said, idle_network, CLAIM_NO_STAGE);
	free(what);
}

/* Writers were slowed down, but not by the disk. */
static void
idle_disk_reason(struct judgement *j, const struct evidence *e)
{
	size_t disk = j->limit.bottleneck.lowest;
	char *what = judge_stage_text(e, &j->path.stage[disk]);

	REASON_SAY(j, waited_in_idle_disk, disk, claim_text(what),
	    claim_number(1 - j->limit.tests[disk].group.mean),
	    claim_number(j->resources.backlog_s[disk]));
	free(what);
}

static void
idle_disk_words(struct judgement *j, const struct evidence *e)
{
	idle_disk_reason(j, e);
	CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
	CLAIM_SAY(&j->said, idle_disk, CLAIM_NO_STAGE);
}

static bool
unseen_reason(struct judgement *j, const struct evidence *e)
{
	const char *advice;
	char *text = unseen_text(e, &advice);

	if (text == NULL)
		return false;
	reason_add(j, "%s", text);
	reason_add(j, "%s", advice);
	free(text);
	return true;
}

/* A session without any measured operation. */
static void
nothing_words(struct judgement *j, const struct evidence *e)
{
	double local = evidence_local_bytes(e);

	if (unseen_reason(j, e)) {
		CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("session"));
		CLAIM_SAY(&j->said, bytes_outside, CLAIM_NO_STAGE);
		return;
	}
	REASON_SAY(j, no_operation, CLAIM_NO_STAGE);
	CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("session"));
	if (local > 0) {
		REASON_SAY(j, bytes_between, CLAIM_NO_STAGE, claim_number(local));
		CLAIM_SAY(&j->said, bytes_stayed, CLAIM_NO_STAGE);
	} else
		CLAIM_SAY(&j->said, nothing_moved, CLAIM_NO_STAGE);
}

static void
missed_words(struct judgement *j, const struct evidence *e)
{
	REASON_SAY(j, bytes_missed, CLAIM_NO_STAGE, claim_number(j->unseen));
	(void)unseen_reason(j, e);
	CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
	CLAIM_SAY(&j->said, too_many_outside, CLAIM_NO_STAGE);
}

static void
mapped_words(struct judgement *j, const struct evidence *e)
{
	char *what = judge_stage_text(e, &j->path.stage[j->limit.stage]);

	REASON_SAY(j, read_without_calls, CLAIM_NO_STAGE);
	CLAIM_SAY(&j->said, cannot_tell_mapped, j->limit.stage, claim_text(what));
	free(what);
}

static void
alone_words(struct judgement *j, const struct evidence *e)
{
	char *only = judge_stage_text(e, &j->path.stage[0]);

	REASON_SAY(j, only_measured, 0, claim_text(only));
	CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
	CLAIM_SAY(&j->said, only_stage, 0, claim_text(only));
	free(only);
}

static void
close_words(struct judgement *j, const struct evidence *e, const struct judge_params *params)
{
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	const struct evidence_process *waiter = cpu_waiter(j, e);
	char *first = judge_stage_text(e, &j->path.stage[b->lowest]);
	char *second = b->runner_up < j->path.n ? judge_stage_text(e, &j->path.stage[b->runner_up])
						: xstrdup("another stage");

	if (b->unique)
		REASON_SAY(j, within_margin, CLAIM_NO_STAGE, claim_number(params->margin * 100));
	else
		REASON_SAY(j, not_told_apart, CLAIM_NO_STAGE, claim_number((double)b->n_candidates),
		    claim_number((double)j->path.n), claim_number(b->alpha));
	if (waiter != NULL)
		cpu_wait_reason(j, e, waiter);
	if (b->n_candidates > 2)
		CLAIM_SAY(&j->said, none_stands_out, b->lowest,
		    claim_number((double)b->n_candidates), claim_number((double)j->path.n),
		    claim_text(first), claim_text(second));
	else
		CLAIM_SAY(&j->said, cannot_tell_whether, b->lowest, claim_text(first),
		    claim_text(second));
	free(first);
	free(second);
}

/* --- announced --- */

/* With a smaller share of the time in flight, the sending end held the bytes. */
static const double FLIGHT_IDLE = 0.3;
/* Shorter phases explain no slow transfer. */
static const double PHASE_LEAST_S = 1;

static const char *
announced_text(const char *s)
{
	return s != NULL ? s : "?";
}

static void
announced_say(struct judgement *j)
{
	const struct announced *a = &j->announced;
	const struct claim_value server = claim_text(announced_text(a->by->src)),
				 share = claim_number(a->share);

	if (a->from == ANNOUNCED_TCP)
		CLAIM_SAY(&j->said, announced_flight, CLAIM_NO_STAGE, server, share);
	else if (a->stage == NW_STAGE_DISK_READ || a->stage == NW_STAGE_DISK_WRITE)
		CLAIM_SAY(&j->said, announced_storage, CLAIM_NO_STAGE, server, share);
	else
		CLAIM_SAY(&j->said, announced_network, CLAIM_NO_STAGE, server, share);
}

static void
kernel_reasons(struct judgement *j)
{
	const struct announced *a = &j->announced;
	const double busy = a->by->value[NW_ANNOUNCED_busy_s],
		     window = a->by->value[NW_ANNOUNCED_rwnd_limited_s],
		     buffer = a->by->value[NW_ANNOUNCED_sndbuf_limited_s];

	if (window >= 0.5 * busy && busy > 0)
		REASON_SAY(j, announced_window, CLAIM_NO_STAGE, claim_number(window / busy));
	else if (buffer >= 0.5 * busy && busy > 0)
		REASON_SAY(j, announced_buffer, CLAIM_NO_STAGE, claim_number(buffer / busy));
	if (a->share <= FLIGHT_IDLE)
		REASON_SAY(j, announced_idle, CLAIM_NO_STAGE,
		    claim_text(announced_text(a->by->src)), claim_number(1 - a->share));
	else if (!a->known)
		REASON_SAY(j, announced_in_flight, CLAIM_NO_STAGE,
		    claim_text(announced_text(a->by->src)), claim_number(a->share));
}

static void
resent_reason(struct judgement *j)
{
	const struct evidence_announced *a = j->announced.resent;
	double round_s = a != NULL ? a->value[NW_ANNOUNCED_rtt_min_s] : NAN;

	if (a != NULL && isnan(round_s))
		round_s = a->value[NW_ANNOUNCED_rtt_s];
	if (isfinite(round_s))
		REASON_SAY(j, announced_again, CLAIM_NO_STAGE, claim_text(announced_text(a->src)),
		    claim_number(a->value[NW_ANNOUNCED_retrans]), claim_number(round_s));
}

/* What a server says of storage and network, if neither is a stage. */
static void
undecided_reason(struct judgement *j)
{
	const struct announced *a = &j->announced;
	const bool is_storage = a->stage == NW_STAGE_DISK_READ || a->stage == NW_STAGE_DISK_WRITE;

	REASON_SAY(j, announced_undecided, CLAIM_NO_STAGE, claim_text(announced_text(a->by->src)),
	    claim_number(is_storage ? a->share : a->other_share),
	    claim_number(is_storage ? a->other_share : a->share));
}

static double
phase_of(const struct announced *a, enum nw_announced_field field)
{
	return a->phases != NULL ? a->phases->value[field] : NAN;
}

/* Phases that FTS or Rucio announces, each from a second. */
static void
phase_reasons(struct judgement *j)
{
	const struct announced *a = &j->announced;
	const double queue = phase_of(a, NW_ANNOUNCED_queue_s),
		     prepare = phase_of(a, NW_ANNOUNCED_prepare_s),
		     source = phase_of(a, NW_ANNOUNCED_source_check_s),
		     target = phase_of(a, NW_ANNOUNCED_target_check_s);

	if (queue >= PHASE_LEAST_S)
		REASON_SAY(j, announced_queue, CLAIM_NO_STAGE, claim_number(queue));
	if (prepare >= PHASE_LEAST_S)
		REASON_SAY(j, announced_prepare, CLAIM_NO_STAGE,
		    claim_text(strcmp(a->phases->by, "rucio") == 0 ? "Rucio's client" : "FTS"),
		    claim_number(prepare));
	if (source >= PHASE_LEAST_S)
		REASON_SAY(
		    j, announced_check, CLAIM_NO_STAGE, claim_text("source"), claim_number(source));
	if (target >= PHASE_LEAST_S)
		REASON_SAY(
		    j, announced_check, CLAIM_NO_STAGE, claim_text("target"), claim_number(target));
}

static void
announced_words(struct judgement *j)
{
	const struct announced *a = &j->announced;
	const double queue = phase_of(a, NW_ANNOUNCED_queue_s);
	const bool waited = queue >= PHASE_LEAST_S && queue > j->duration_s;

	if (a->known) {
		announced_say(j);
	} else if (waited && j->is_usual_rate) {
		CLAIM_SAY(&j->said, announced_waited, CLAIM_NO_STAGE, claim_number(queue));
	} else {
		CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
		CLAIM_SAY(&j->said, announced_alone, CLAIM_NO_STAGE);
	}
	if (waited && (a->known || !j->is_usual_rate))
		CLAIM_SAY(&j->said, announced_queued, CLAIM_NO_STAGE, claim_number(queue));
	if (waited && j->is_usual_rate)
		CLAIM_SAY(&j->said, announced_at_usual, CLAIM_NO_STAGE);
	if (waited && j->is_usual_rate && !a->known)
		CLAIM_SAY(&j->said, announced_rate_open, CLAIM_NO_STAGE);
	phase_reasons(j);
	if (a->from == ANNOUNCED_TCP)
		kernel_reasons(j);
	else if (a->from == ANNOUNCED_STORAGE && !a->known)
		undecided_reason(j);
	resent_reason(j);
	if (a->lost > 0)
		REASON_SAY(j, announced_lost, CLAIM_NO_STAGE, claim_number(a->lost));
	if (a->is_uncounted)
		REASON_SAY(j, announced_uncounted, CLAIM_NO_STAGE);
	else if (isnan(j->bytes))
		REASON_SAY(j, announced_no_bytes, CLAIM_NO_STAGE);
	if (a->slack_s > 0)
		REASON_SAY(j, announced_slack, CLAIM_NO_STAGE, claim_number(a->slack_s));
	if (!a->is_told)
		REASON_SAY(j, announced_hearsay, CLAIM_NO_STAGE);
	REASON_SAY(j, announced_missing, CLAIM_NO_STAGE, claim_text(announced_text(a->sender)),
	    claim_text(announced_text(a->receiver)));
	j->words = xstrdup(a->known ? nw_stage_kind_words(a->stage) : "cannot tell");
}

static void
unknown_words(struct judgement *j, const struct evidence *e, const struct judge_params *params)
{
	if (j->announced.alone) {
		announced_words(j);
		sentence_print(j);
		return;
	}
	if (j->path.n == 0) {
		nothing_words(j, e);
	} else if (j->limit.n_windows < LIMIT_WINDOWS_MIN) {
		REASON_SAY(j, few_intervals, CLAIM_NO_STAGE,
		    claim_number((double)j->limit.n_windows),
		    claim_text(j->limit.n_windows == 1 ? "" : "s"),
		    claim_number(LIMIT_WINDOWS_MIN));
		CLAIM_SAY(&j->said, cannot_tell, CLAIM_NO_STAGE, claim_text("transfer"));
		CLAIM_SAY(&j->said, too_short, CLAIM_NO_STAGE);
	} else if (j->path.n == 1)
		alone_words(j, e);
	else if (j->crowd.limits)
		crowd_words(j, e);
	else if (j->second < j->path.n)
		both_words(j, e);
	else if (j->idle_disk)
		idle_disk_words(j, e);
	else if (!limit_is_held(&j->limit))
		unseen_words(j, e);
	else if (j->idle_network)
		idle_words(j, e);
	else if (j->unseen > UNSEEN_MOST)
		missed_words(j, e);
	else if (j->blind_reads)
		mapped_words(j, e);
	else
		close_words(j, e, params);
	sentence_print(j);
	j->words = xstrdup(j->second < j->path.n ? "two stages at once" : "cannot tell");
}

/* --- known --- */

/* Processor and waiting time of all processes of a program on a host. */
static void
program_time(
    const struct evidence *e, const struct evidence_process *of, double *cpu_s, double *wait_s)
{
	const struct evidence_process *p;

	*cpu_s = *wait_s = 0;
	for (p = e->processes; p < e->processes + e->n_processes; p++)
		if (p->host == of->host && p->program != NULL && of->program != NULL &&
		    strcmp(p->program, of->program) == 0) {
			*cpu_s += isfinite(p->cpu_s) ? p->cpu_s : 0;
			*wait_s += isfinite(p->cpu_wait_s) ? p->cpu_wait_s : 0;
		}
}

static bool
is_busy(const struct evidence *e, size_t host)
{
	return mean_known(e->hosts[host].cpu_busy, e->n_windows) >= 0.85;
}

double
judge_own_cpu_s(const struct evidence *e, size_t host)
{
	const struct evidence_process *p;
	double own_s = 0;

	for (p = e->processes; p < e->processes + e->n_processes; p++)
		own_s += p->host == host && isfinite(p->cpu_s) ? p->cpu_s : 0;
	return own_s;
}

bool
judge_own_users(const struct evidence *e, size_t host)
{
	const double all_s =
	    e->hosts[host].processors * (double)(e->last_wall_ns - e->first_wall_ns) * 1e-9;

	return is_busy(e, host) && all_s > 0 && judge_own_cpu_s(e, host) >= OWN_PART * all_s;
}

const char *
judge_starved_cause(const struct evidence *e, const struct evidence_process *p, double wait_s)
{
	if (p->throttled_s >= 0.5 * wait_s)
		return "quota";
	return is_busy(e, p->host) && !judge_own_users(e, p->host) ? "hog" : "processors";
}

/* For a program without a processor: the quota, or the other programs, in its way. */
static const char *
starved_manner(
    struct judgement *j, const struct evidence *e, const struct evidence_process *p, double wait_s)
{
	REASON_SAY(j, was_ready, CLAIM_NO_STAGE,
	    claim_text(p->program != NULL ? p->program : "The program"),
	    claim_text(evidence_host_name(e, p->host, "?")),
	    claim_number(fmin(wait_s / j->path.active_s, 1)));
	j->cause = judge_starved_cause(e, p, wait_s);
	if (strcmp(j->cause, "quota") == 0)
		return ", which had used up its quota of processor time,";
	return strcmp(j->cause, "hog") == 0
	    ? ", which had to wait for a processor that other programs used,"
	    : ", which had to wait for a processor,";
}

/* How a program spent the time outside its calls: computing, waiting for a processor, or
 * pausing. */
static const char *
host_stage_manner(struct judgement *j, const struct evidence *e, const struct nw_path_stage *s)
{
	const struct evidence_process *p = &e->processes[s->process];
	double own = s->busy_share * j->path.active_s, cpu_s, wait_s;

	program_time(e, p, &cpu_s, &wait_s);
	if (!isfinite(p->cpu_s) || !(own > 0))
		return "";
	if (wait_s >= 0.3 * own && wait_s >= cpu_s && cpu_s + wait_s >= 0.6 * own)
		return starved_manner(j, e, p, wait_s);
	if (cpu_s >= 0.6 * own) {
		j->cause = "computing";
		return ", which was busy computing,";
	}
	if (cpu_s + wait_s < 0.3 * own) {
		j->cause = "pause";
		return p->paused != NULL
		    ? ", which waited for something not measured,"
		    : ", which paused by itself or waited for something not measured,";
	}
	return "";
}

/* "The sending program on dtn-a limited this transfer: it paces itself at 50 MB/s (400 Mbit/s)." */
static void
pace_say(struct judgement *j, const struct evidence *e, const char *what)
{
	const struct evidence_process *p = &e->processes[j->pace.process];

	j->cause = "pace";
	CLAIM_SAY(&j->said, paced, j->limit.stage, claim_text(what), claim_number(j->bytes_per_s));
	REASON_SAY(j, paused_itself, j->limit.stage,
	    claim_text(p->program != NULL ? p->program : "The program"),
	    claim_text(evidence_host_name(e, p->host, "?")), claim_number(j->pace.share));
	if (j->pace.even)
		REASON_SAY(j, paused_evenly, j->limit.stage);
}

void
judge_add_idle_device(struct judgement *j, size_t stage)
{
	const struct witness *w;

	for (w = j->witnesses; w < j->witnesses + j->n_witnesses; w++)
		if (w->name == NW_WITNESS_DISK && w->told.claim->value[1].number < DEVICE_IDLE)
			REASON_SAY(j, idle_device, stage, w->told.claim->value[1]);
}

static void
known_reasons(struct judgement *j, const struct nw_path_stage *s)
{
	size_t i = (size_t)(s - j->path.stage);

	if (stage_kind_is_host(s->kind))
		REASON_SAY(j, in_program, i, claim_number(s->busy_share));
	else if (s->mapped)
		REASON_SAY(j, in_faults, i, claim_number(s->busy_share));
	else
		REASON_SAY(j, went_there, i, claim_number(s->busy_share + s->wait_share),
		    claim_number(s->busy_share), claim_number(s->wait_share));
	if (s->kind == NW_STAGE_DISK_READ || s->kind == NW_STAGE_DISK_WRITE)
		judge_add_idle_device(j, i);
	if (s->kind == NW_STAGE_NETWORK)
		REASON_SAY(j, both_ends_waited, i);
	if (s->kind == NW_STAGE_NETWORK && j->path.end_at_pipe)
		REASON_SAY(j, end_at_pipe, i);
	if (s->kind == NW_STAGE_NET_WRITE || s->kind == NW_STAGE_NET_READ)
		REASON_SAY(j, one_end, i);
}

/* Bounds by this session: until the next stage limits. Bounds that include no gain are an upper
 * bound. */
static void
bounds_say(struct judgement *j, const struct evidence *e)
{
	const struct gain *g = &j->gain;
	const struct claim_value low = claim_number(g->low), high = claim_number(g->high);
	char *stage = g->next < j->path.n ? judge_stage_text(e, &j->path.stage[g->next])
					  : xstrdup("another stage");
	const struct claim_value next = claim_text(stage);

	if (g->high < GAIN_WORTH)
		CLAIM_SAY(&j->said, gain_hardly, j->limit.stage, next);
	else if (!(g->low >= GAIN_SURE))
		CLAIM_SAY(&j->said, gain_most, j->limit.stage, high, next);
	else if (isfinite(g->about))
		CLAIM_SAY(
		    &j->said, gain_about, j->limit.stage, claim_number(g->about), low, high, next);
	else
		CLAIM_SAY(&j->said, gain_range, j->limit.stage, low, high, next);
	free(stage);
}

/* "; without this limit it could have gone about 2.1 times as fast, until disk write on dtn-b
 * limits, by the kernel's account of the network", or nothing. */
static void
faster_say(struct judgement *j, const struct evidence *e)
{
	const struct gain *g = &j->gain;
	struct fmt day = fmt_time(g->seen_wall_ns);

	day.s[10] = '\0'; /* behind the date */
	if (g->source == GAIN_HISTORY) {
		CLAIM_SAY(&j->said, gain_reached, j->limit.stage, claim_number(g->about),
		    claim_number(g->low), claim_number(g->high), claim_number(g->seen_bytes_per_s),
		    claim_text(day.s));
		return;
	}
	if (isfinite(g->high))
		bounds_say(j, e);
	else if (g->low >= GAIN_SURE)
		CLAIM_SAY(&j->said, gain_least, j->limit.stage, claim_number(g->low));
	else
		return;
	if (g->source == GAIN_STAGES)
		CLAIM_SAY(&j->said, gain_by_stages, CLAIM_NO_STAGE);
	else if (g->source == GAIN_NETWORK)
		CLAIM_SAY(&j->said, gain_by_network, CLAIM_NO_STAGE);
	else if (g->source == GAIN_THROTTLE)
		CLAIM_SAY(&j->said, gain_by_throttle, CLAIM_NO_STAGE);
	else if (g->source == GAIN_REPLAY)
		CLAIM_SAY(&j->said, gain_by_replay, CLAIM_NO_STAGE);
}

static char *
receive_window_text(struct judgement *j, const char *path)
{
	const struct resources *r = &j->resources;
	struct fmt window = fmt_plain(fmt_bytes(r->window_bytes));

	j->cause = "window";
	REASON_SAY(j, window_full, CLAIM_NO_STAGE, claim_number(r->rwnd));
	if (!(r->rtt_s > 0))
		return xasprintf("The receive window on %s", path);
	REASON_SAY(j, window_needed, CLAIM_NO_STAGE, claim_number(r->rtt_s),
	    claim_number(2 * j->bytes_per_s * r->rtt_s));
	if (!isfinite(r->window_bytes))
		return xasprintf("The receive window on %s", path);
	return xasprintf("The receive window of %s on %s", window.s, path);
}

/* A window that is full although it is large enough for the path. */
static const double WINDOW_NEEDED = 0.5;

static char *
slow_reader_text(struct judgement *j, const char *path)
{
	const struct resources *r = &j->resources;

	j->cause = "reader";
	REASON_SAY(j, window_unneeded, CLAIM_NO_STAGE, claim_number(r->rwnd),
	    claim_number(r->rtt_s), claim_number(r->window_used));
	return xasprintf("The program that reads behind %s", path);
}

/* A network limited by the receive window or the send buffer, not by its links; else NULL. */
static char *
window_text(struct judgement *j, const struct evidence *e, const struct nw_path_stage *s)
{
	char *path, *text = NULL;

	if (s->kind != NW_STAGE_NETWORK && s->kind != NW_STAGE_NET_WRITE)
		return NULL;
	path = judge_stage_text(e, s);
	if (j->resources.rwnd >= 0.5 && s->kind == NW_STAGE_NET_WRITE &&
	    j->resources.window_used < WINDOW_NEEDED)
		text = slow_reader_text(j, path);
	else if (j->resources.rwnd >= 0.5)
		text = receive_window_text(j, path);
	else if (j->resources.sndbuf >= 0.5) {
		j->cause = "buffer";
		text = xasprintf("The send buffer for %s", path);
		REASON_SAY(j, buffer_full, CLAIM_NO_STAGE, claim_number(j->resources.sndbuf));
	}
	free(path);
	return text;
}

/* A disk hidden from the calls: the rate beside the throttle names the holder of the bytes. */
static void
throttle_say(struct judgement *j, const char *what)
{
	REASON_SAY(j, throttle_decides, CLAIM_NO_STAGE, claim_number(j->resources.room));
	CLAIM_SAY(&j->said, throttled, j->limit.stage, claim_text(what),
	    claim_number(throttle_share(j, j->limit.stage)));
	CLAIM_SAY(&j->said, ran_at, CLAIM_NO_STAGE, claim_number(j->bytes_per_s));
}

/* Where the time of this transfer went, without a word about another transfer. */
static void
account_say(struct judgement *j, const char *what, const char *manner)
{
	const struct claim_value n = claim_number((double)j->limit.n_windows);

	if (limit_is_sample(&j->limit))
		REASON_SAY(j, account_chance, CLAIM_NO_STAGE, n);
	else if (j->limit.n_eff >= (double)j->limit.n_windows / 2)
		REASON_SAY(j, account_few, CLAIM_NO_STAGE, n);
	else
		REASON_SAY(j, account_alike, CLAIM_NO_STAGE, n, claim_number(j->limit.n_eff));
	CLAIM_SAY(&j->said, held, j->limit.stage, claim_text(what), claim_text(manner),
	    claim_number(limit_held(&j->limit)));
	if (j->limit.stage == j->limit.bottleneck.lowest)
		CLAIM_SAY(&j->said, held_longest, j->limit.stage);
	CLAIM_SAY(&j->said, ran_at, CLAIM_NO_STAGE, claim_number(j->bytes_per_s));
}

/* Least share of the time for a busy device or busy processors of a server. */
static const double SERVER_BUSY = 0.8;

/* What the server was busy with, in words behind the stage's; adds the reasons. */
static const char *
storage_manner(struct judgement *j, const struct evidence *e)
{
	struct storage_server s;
	const char *name;

	if (!storage_server(j, e, &s))
		return "";
	name = evidence_host_name(e, s.host, "?");
	if (isfinite(s.disk_busy))
		REASON_SAY(
		    j, server_device, CLAIM_NO_STAGE, claim_text(name), claim_number(s.disk_busy));
	if (isfinite(s.cpu_busy))
		REASON_SAY(
		    j, server_cpu, CLAIM_NO_STAGE, claim_text(name), claim_number(s.cpu_busy));
	if (s.disk_busy > SERVER_BUSY) {
		j->cause = "server-disk";
		return ", where the server's disk was busy,";
	}
	if (s.cpu_busy > SERVER_BUSY) {
		j->cause = "server-processors";
		return ", where the server's processors were busy,";
	}
	return "";
}

static void
known_words(struct judgement *j, const struct evidence *e)
{
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];
	char *what = window_text(j, e, s);
	const char *manner = j->pace.found ? ", which " RESULT_PACE ","
	    : stage_kind_is_host(s->kind)  ? host_stage_manner(j, e, s)
					   : "";

	if (what == NULL)
		what = judge_stage_text(e, s);
	if (nw_stage_kind_is_storage(s->kind))
		manner = storage_manner(j, e);
	if (s->mapped) {
		j->cause = "mmap";
		manner = ", by page faults of a mapped file,";
	}
	if (j->combined && (nw_stage_kind_reads(s->kind) || stage_kind_is_net(s->kind)))
		REASON_SAY(j, one_call, j->limit.stage);
	if (j->pace.found)
		pace_say(j, e, what);
	else if (j->by_throttle)
		throttle_say(j, what);
	else if (j->limit.claim == LIMIT_ACCOUNT)
		account_say(j, what, manner);
	else
		CLAIM_SAY(&j->said, limited, j->limit.stage, claim_text(what), claim_text(manner),
		    claim_number(j->bytes_per_s));
	faster_say(j, e);
	sentence_print(j);
	if (j->idle_disk)
		idle_disk_reason(j, e);
	j->words = judge_stage_text(e, s);
	j->manner = manner;
	known_reasons(j, s);
	free(what);
}

/* Rates of stages alone, where replays decided or bound the gain, and the costs. */
static void
replay_reasons(struct judgement *j, const struct evidence *e)
{
	struct claims told = { 0 };
	char *what;
	size_t i;

	for (i = 0; i < j->path.n; i++) {
		const struct replayed_stage *s = &j->replayed.stage[i];

		if (s->by == NULL)
			continue;
		what = judge_stage_text(e, &j->path.stage[i]);
		CLAIM_SAY(&told, replayed, i, claim_text(what), claim_number(s->bytes_per_s));
		if (j->by_replay && j->limit.known && i != j->limit.stage &&
		    s->bytes_per_s >= REPLAY_ROOM * j->bytes_per_s)
			CLAIM_SAY(&told, replay_decides, i,
			    claim_number(s->bytes_per_s / j->bytes_per_s));
		judge_add_reason(j, &told);
		claims_clear(&told);
		free(what);
	}
	if (j->replayed.cost_s > 0)
		REASON_SAY(j, replay_cost, CLAIM_NO_STAGE, claim_number(j->replayed.cost_bytes),
		    claim_number(j->replayed.cost_s));
}

void
judgement_words(struct judgement *j, const struct evidence *e, const struct judge_params *params)
{
	if (j->limit.known)
		known_words(j, e);
	else
		unknown_words(j, e, params);
	replay_reasons(j, e);
}

void
judge_add_reason(struct judgement *j, const struct claims *told)
{
	struct claims *c = &j->because[j->n_reasons];

	if (j->n_reasons == JUDGE_REASONS_MAX)
		return;
	claims_append(c, told);
	j->reasons[j->n_reasons++] = claims_text(c);
}

void
judge_replace(struct judgement *j, struct claims *said, char *words)
{
	while (j->n_reasons > 0)
		reason_drop(j);
	claims_clear(&j->said);
	j->said = *said;
	*said = (struct claims){ 0 };
	sentence_print(j);
	free(j->words);
	j->words = words;
	j->cause = j->manner = NULL;
}

void
judge_add_said(struct judgement *j, const struct claims *more)
{
	claims_append(&j->said, more);
	sentence_print(j);
}

void
judge_add_interim(struct judgement *j)
{
	struct claims first = { 0 };
	size_t len;

	if (j->sentence == NULL)
		return;
	if (j->said.n == 0) { /* a sentence without records is one of plain words */
		len = strlen(j->sentence);
		j->sentence[len > 0 ? len - 1 : 0] = '\0';
		CLAIM_SAY(&j->said, plain, CLAIM_NO_STAGE, claim_text(j->sentence));
	}
	CLAIM_SAY(&first, interim, CLAIM_NO_STAGE);
	claims_prepend(&j->said, &first);
	sentence_print(j);
}

/* Two limits in succession are no tie, and the gain of the whole without either limit is
 * unknown. */
static void
moved_set(struct judgement *j)
{
	j->second = j->gain.next = j->path.n;
	j->gain.about = j->gain.low = j->gain.high = NAN;
	j->gain.source = GAIN_UNKNOWN;
	if (j->limit.known)
		return;
	while (j->n_reasons > 0)
		reason_drop(j);
	free(j->words);
	j->words = xstrdup("one after the other");
	j->confidence = "medium";
}

/* "What limited this transfer to 15 MB/s changed on the way: most of the time disk read on a." */
static void
moved_words(struct judgement *j)
{
	char *manner = xstrdup(j->manner != NULL ? j->manner : "");

	if (*manner != '\0') /* without the comma behind */
		manner[strlen(manner) - 1] = '\0';
	claims_clear(&j->said);
	CLAIM_SAY(&j->said, moved, CLAIM_NO_STAGE, claim_number(j->bytes_per_s));
	if (j->limit.known)
		CLAIM_SAY(&j->said, moved_mostly, j->limit.stage, claim_text(j->words),
		    claim_text(manner));
	sentence_print(j);
	free(manner);
}

/* The sentence stays short; the story is the first reason. */
void
judge_add_story(struct judgement *j, struct claims *story)
{
	if (story->n == 0 || (j->pace.found && j->pace.even))
		return;
	/* of two limits at a time, now the one shows, now the other */
	if (j->crowd.limits || judge_tie_is_steady(j)) {
		claims_clear(story);
		return;
	}
	moved_set(j);
	moved_words(j);
	if (j->n_reasons == JUDGE_REASONS_MAX)
		reason_drop(j);
	memmove(j->reasons + 1, j->reasons, j->n_reasons * sizeof(j->reasons[0]));
	memmove(j->because + 1, j->because, j->n_reasons * sizeof(j->because[0]));
	j->reasons[0] = claims_text(story);
	j->because[0] = *story;
	*story = (struct claims){ 0 };
	j->n_reasons++;
}
