/* SPDX-License-Identifier: BSD-3-Clause */
/* A judgement in words: sentence, reasons, route and names of stages. */
#include "analyze/verdict/judge/judge_in.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
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

/* A smaller gain, or share of the time, is not worth a number. */
static const double GAIN_WORTH = 1.1, HELD_WORTH = 0.01;

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

char *
route_text(const struct evidence *e, const struct nw_path *p)
{
	const struct evidence_connection *c = e->n_connections > 0 ? &e->connections[0] : NULL;

	if (p->has_sender && p->has_receiver)
		return p->sender_host != p->receiver_host
		    ? xasprintf("%s -> %s", evidence_host_name(e, p->sender_host, "?"),
			  evidence_host_name(e, p->receiver_host, "?"))
		    : xasprintf("%s (both ends)", evidence_host_name(e, p->sender_host, "?"));
	if (p->has_sender)
		return xasprintf("%s -> %s", evidence_host_name(e, p->sender_host, "?"),
		    c != NULL ? c->dst : "?");
	if (p->has_receiver)
		return xasprintf("%s -> %s", c != NULL ? c->dst : "?",
		    evidence_host_name(e, p->receiver_host, "?"));
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

/* Where all processes waited, the longest wait at a pipe tells where to look: behind that pipe. */
static void
neighbour_reason(struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *waits = NULL;
	double most = 0.5 * j->path.active_s, s;
	size_t f, i;

	for (f = 0; f < e->n_processes; f++) {
		for (i = 0, s = 0; e->processes[f].pipe_s[0] != NULL && i < e->n_windows; i++)
			s += e->processes[f].pipe_s[0][i] + e->processes[f].pipe_s[1][i];
		if (s > most) {
			most = s;
			waits = &e->processes[f];
		}
	}
	if (waits != NULL)
		reason_add(j,
		    "%s on %s waited at a pipe for %.0f %% of the time; what is behind it waited "
		    "too, or was not measured.",
		    waits->program != NULL ? waits->program : "A program",
		    evidence_host_name(e, waits->host, "?"),
		    100 * fmin(1, most / j->path.active_s));
}

static void
cpu_wait_reason(struct judgement *j, const struct evidence *e, const struct evidence_process *f)
{
	reason_add(j, "%s on %s could run, but had no processor, for %.0f %% of the time.",
	    f->program != NULL ? f->program : "The program", evidence_host_name(e, f->host, "?"),
	    100 * fmin(f->cpu_wait_s / j->path.active_s, 1));
}

static void
unseen_words(struct judgement *j, const struct evidence *e)
{
	const struct nw_path_stage *s = &j->path.stage[j->limit.bottleneck.lowest];
	char *most = judge_stage_text(e, s);

	if (limit_held(&j->limit) < HELD_WORTH)
		reason_add(j, "No measured stage held the bytes up.");
	else
		reason_add(j,
		    "No measured stage held the bytes up for long; most of all %s, for %.0f %% of "
		    "the time.",
		    most, 100 * limit_held(&j->limit));
	neighbour_reason(j, e);
	j->sentence = xstrdup("Cannot tell what limited this transfer: most of its time passed "
			      "outside the disk and network calls that were measured.");
	free(most);
}

/* Why a disk with little held time is a candidate: memory hides its work up to its limit. */
static void
hidden_disk_reason(struct judgement *j)
{
	bool reads = j->path.stage[j->second].kind == NW_STAGE_DISK_READ;

	if (!reads && j->path.stage[j->second].kind != NW_STAGE_DISK_WRITE)
		return;
	reason_add(j,
	    "A disk %s makes its program wait only near its limit; it did so in %.0f %% of the "
	    "intervals.",
	    reads ? "that reads ahead" : "that writes behind a cache",
	    100 * j->resources.peaks[j->second]);
}

/* The rate of a disk as a share of its throttle's rate; NaN or 0 without a throttle. */
static double
throttle_share(const struct judgement *j, size_t stage)
{
	return resources_rate(&j->path, stage) / j->resources.throttle[stage];
}

/* Two stages at their limits: a sentence with an answer. The marks of a hidden disk prove a
 * possible limit, not a certain limit. */
static void
both_words(struct judgement *j, const struct evidence *e)
{
	const struct limit *l = &j->limit;
	char *first = judge_stage_text(e, &j->path.stage[l->stage]);
	char *second = judge_stage_text(e, &j->path.stage[j->second]);
	char *rate = judge_rate_text(j->bytes_per_s);
	double held = limit_held(l), worked = gain_worked(&j->path, l, &j->resources, j->second);
	double throttled = throttle_share(j, j->second);
	bool sure = judge_tie_is_sure(j);

	if (sure && worked >= TIE_LITTLE)
		j->sentence = xasprintf("Both %s and %s limited this transfer to %s; lifting one "
					"of the two gains little.",
		    first, second, rate);
	else if (sure)
		j->sentence = xasprintf("Both %s and %s limited this transfer to %s; lifting one "
					"of the two makes it at most %.2g times as fast.",
		    first, second, rate, j->gain.high);
	else
		j->sentence = xasprintf(
		    "Either %s or %s, or both, limited this transfer to %s.", first, second, rate);
	if (isfinite(throttled))
		reason_add(j,
		    "%.0f %% of the time went to the first of them; the second moved its bytes at "
		    "%.0f %% of the rate that its throttle allows.",
		    100 * held, 100 * throttled);
	else
		reason_add(j,
		    "%.0f %% of the time went to the first of them; the second %s for %.0f %% of "
		    "the time.",
		    100 * held, sure ? "worked" : "held the bytes",
		    100 * (sure ? worked : 1 - l->tests[j->second].group.mean));
	if (!sure)
		hidden_disk_reason(j);
	free(first);
	free(second);
	free(rate);
}

static void
idle_words(struct judgement *j, const struct evidence *e)
{
	char *what = judge_stage_text(e, &j->path.stage[j->limit.stage]);

	reason_add(j,
	    "Programs waited for %s for %.0f %% of the time, but data was in flight for %.0f %% "
	    "only.",
	    what, 100 * limit_held(&j->limit), 100 * j->resources.in_flight);
	j->sentence = xstrdup("Cannot tell what limited this transfer: its programs waited for the "
			      "network, but the network was idle nearly all the time.");
	free(what);
}

/* Writers were slowed down, but not by the disk. */
static void
idle_disk_reason(struct judgement *j, const struct evidence *e)
{
	size_t disk = j->limit.bottleneck.lowest;
	char *what = judge_stage_text(e, &j->path.stage[disk]);

	reason_add(j,
	    "Programs waited in %s for %.0f %% of the time, but what they wrote waited %s for the "
	    "disk itself: the kernel was short of processors to write with.",
	    what, 100 * (1 - j->limit.tests[disk].group.mean),
	    fmt_plain(fmt_duration(j->resources.backlog_s[disk])).s);
	free(what);
}

static void
idle_disk_words(struct judgement *j, const struct evidence *e)
{
	idle_disk_reason(j, e);
	j->sentence = xstrdup("Cannot tell what limited this transfer: writes were slow, but the "
			      "disk was idle and the processors were not.");
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
		j->sentence = xstrdup("Cannot tell what limited this session: its bytes moved "
				      "outside the calls that are measured.");
		return;
	}
	reason_add(j, "No operation that moved bytes was reported.");
	if (local > 0) {
		reason_add(j, "%s went between programs of one host, by pipes and local sockets.",
		    fmt_plain(fmt_bytes(local)).s);
		j->sentence = xstrdup("Cannot tell what limited this session: its bytes stayed "
				      "between programs of one host.");
	} else
		j->sentence =
		    xstrdup("Cannot tell what limited this session: nothing was seen to move.");
}

static void
missed_words(struct judgement *j, const struct evidence *e)
{
	reason_add(j, "No measured call moved %.0f %% of the bytes that the kernel counted.",
	    100 * j->unseen);
	(void)unseen_reason(j, e);
	j->sentence = xstrdup("Cannot tell what limited this transfer: too many of its bytes moved "
			      "outside the calls that were measured.");
}

static void
mapped_words(struct judgement *j, const struct evidence *e)
{
	char *what = judge_stage_text(e, &j->path.stage[j->limit.stage]);

	reason_add(j, "The program read from disk without calls, by memory mapping perhaps.");
	j->sentence =
	    xasprintf("Cannot tell whether %s limited this transfer, or the disk that was "
		      "read by memory mapping.",
		what);
	free(what);
}

static void
alone_words(struct judgement *j, const struct evidence *e)
{
	char *only = judge_stage_text(e, &j->path.stage[0]);

	reason_add(j, "Only %s was measured.", only);
	j->sentence = xasprintf("Cannot tell what limited this transfer: only %s was measured, "
				"with nothing to compare it to.",
	    only);
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
		reason_add(j, "The slowest two differ by less than the margin of %.3g %%.",
		    params->margin * 100);
	else
		reason_add(j, "The test does not tell %zu of %zu stages apart (alpha %.3g).",
		    b->n_candidates, j->path.n, b->alpha);
	if (waiter != NULL)
		cpu_wait_reason(j, e, waiter);
	if (b->n_candidates > 2)
		j->sentence =
		    xasprintf("No single stage stands out: %zu of %zu may have limited this "
			      "transfer, first of all %s and %s.",
			b->n_candidates, j->path.n, first, second);
	else
		j->sentence = xasprintf("Cannot tell whether %s or %s limited this transfer: their "
					"rates are too close for the evidence.",
		    first, second);
	free(first);
	free(second);
}

static void
unknown_words(struct judgement *j, const struct evidence *e, const struct judge_params *params)
{
	if (j->path.n == 0) {
		nothing_words(j, e);
	} else if (j->limit.n_windows < LIMIT_WINDOWS_MIN) {
		reason_add(j, "%zu measured interval%s; %d are needed.", j->limit.n_windows,
		    j->limit.n_windows == 1 ? "" : "s", LIMIT_WINDOWS_MIN);
		j->sentence = xstrdup("Cannot tell what limited this transfer: it was too short "
				      "for its reporting interval.");
	} else if (j->path.n == 1)
		alone_words(j, e);
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

/* For a program without a processor: the quota, or the other programs, in its way. */
static const char *
starved_manner(
    struct judgement *j, const struct evidence *e, const struct evidence_process *p, double wait_s)
{
	double busy = mean_known(e->hosts[p->host].cpu_busy, e->n_windows);

	reason_add(j, "%s on %s was ready to run, but had no processor, for %.0f %% of the time.",
	    p->program != NULL ? p->program : "The program", evidence_host_name(e, p->host, "?"),
	    100 * fmin(wait_s / j->path.active_s, 1));
	if (p->throttled_s >= 0.5 * wait_s) {
		j->cause = "quota";
		return ", which had used up its quota of processor time,";
	}
	if (busy >= 0.85) {
		j->cause = "hog";
		return ", which had to wait for a processor that other programs used,";
	}
	j->cause = "processors";
	return ", which had to wait for a processor,";
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
		return ", which paused by itself or waited for something not measured,";
	}
	return "";
}

static void
known_reasons(struct judgement *j, const struct nw_path_stage *s)
{
	if (stage_kind_is_host(s->kind))
		reason_add(j,
		    "%.0f %% of the time passed in the program, outside its disk and network "
		    "calls.",
		    100 * s->busy_share);
	else if (s->mapped)
		reason_add(j,
		    "%.0f %% of the time the program was blocked while pages of the file were "
		    "read.",
		    100 * s->busy_share);
	else
		reason_add(j,
		    "%.0f %% of the time went there: %.0f %% inside calls, %.0f %% waiting.",
		    100 * (s->busy_share + s->wait_share), 100 * s->busy_share,
		    100 * s->wait_share);
	if (s->kind == NW_STAGE_NETWORK)
		reason_add(j,
		    "Both ends waited for the network; with a slow sender or a slow receiver only "
		    "one of them would.");
	if (s->kind == NW_STAGE_NETWORK && j->path.end_at_pipe)
		reason_add(j,
		    "One end was measured at a pipe: the program between it and the network counts "
		    "as the network.");
	if (s->kind == NW_STAGE_NET_WRITE || s->kind == NW_STAGE_NET_READ)
		reason_add(j,
		    "Only one end is instrumented: the network and the other end cannot be told "
		    "apart.");
}

/* "; without this limit it could have gone about 2.1 times as fast, until disk write on dtn-b
 * limits", or nothing. */
static char *
faster_text(const struct judgement *j, const struct evidence *e)
{
	const struct gain *g = &j->gain;
	char *next, *text;

	if (!isfinite(g->low) && !isfinite(g->high))
		return xstrdup("");
	if (!isfinite(g->high))
		return xasprintf(
		    "; without this limit it could have gone at least %.2g times as fast", g->low);
	next = g->next < j->path.n ? judge_stage_text(e, &j->path.stage[g->next])
				   : xstrdup("another stage");
	if (isfinite(g->about))
		text = xasprintf("; without this limit it could have gone about %.2g times as "
				 "fast (%.2g to %.2g), until %s limits",
		    g->about, g->low, g->high, next);
	else if (g->high < GAIN_WORTH)
		text = xasprintf("; without this limit it could hardly have gone faster: %s "
				 "limits next",
		    next);
	else if (g->low > 1)
		text = xasprintf("; without this limit it could have gone %.2g to %.2g times as "
				 "fast, until %s limits",
		    g->low, g->high, next);
	else
		text = xasprintf("; without this limit it could have gone at most %.2g times as "
				 "fast, until %s limits",
		    g->high, next);
	free(next);
	return text;
}

static char *
receive_window_text(struct judgement *j, const char *path)
{
	const struct resources *r = &j->resources;
	struct fmt window = fmt_plain(fmt_bytes(r->window_bytes));
	struct fmt trip = fmt_plain(fmt_duration(r->rtt_s));
	struct fmt needed = fmt_plain(fmt_bytes(2 * j->bytes_per_s * r->rtt_s));

	j->cause = "window";
	reason_add(j,
	    "There was more to send, but the receive window was full for %.0f %% of the "
	    "time.",
	    100 * r->rwnd);
	if (!(r->rtt_s > 0))
		return xasprintf("The receive window on %s", path);
	reason_add(j, "At a round trip of %s a window of %s would carry twice the rate.", trip.s,
	    needed.s);
	if (!isfinite(r->window_bytes))
		return xasprintf("The receive window on %s", path);
	return xasprintf("The receive window of %s on %s", window.s, path);
}

/* A network limited by the receive window or the send buffer, not by its links; else NULL. */
static char *
window_text(struct judgement *j, const struct evidence *e, const struct nw_path_stage *s)
{
	char *path, *text = NULL;

	if (s->kind != NW_STAGE_NETWORK && s->kind != NW_STAGE_NET_WRITE)
		return NULL;
	path = judge_stage_text(e, s);
	if (j->resources.rwnd >= 0.5)
		text = receive_window_text(j, path);
	else if (j->resources.sndbuf >= 0.5) {
		j->cause = "buffer";
		text = xasprintf("The send buffer for %s", path);
		reason_add(j,
		    "There was more to send, but the send buffer was full for %.0f %% of the time; "
		    "a "
		    "larger one would keep more data in flight.",
		    100 * j->resources.sndbuf);
	}
	free(path);
	return text;
}

/* A disk hidden from the calls: the rate beside the throttle names the holder of the bytes. */
static char *
throttle_text(struct judgement *j, const char *what, const char *rate, const char *faster)
{
	reason_add(j,
	    "The network delivered %.2g times the mean rate at times, and the calls do not tell of "
	    "a disk behind readahead or dirty pages: the throttle decides.",
	    j->resources.room);
	return xasprintf("In this transfer, %s moved its bytes at %.0f %% of the rate that its "
			 "throttle allows; the transfer ran at %s%s.",
	    what, 100 * throttle_share(j, j->limit.stage), rate, faster);
}

/* Where the time of this transfer went, without a word about another transfer. */
static char *
account_text(
    struct judgement *j, const char *what, const char *manner, const char *rate, const char *faster)
{
	if (limit_is_sample(&j->limit))
		reason_add(j,
		    "This is an account of this transfer: over its %zu intervals the next stage is "
		    "within the reach of chance, so another transfer may differ.",
		    j->limit.n_windows);
	else if (j->limit.n_eff >= (double)j->limit.n_windows / 2)
		reason_add(j,
		    "This is an account of this transfer: its %zu intervals are too few to say "
		    "that "
		    "another transfer would go the same way.",
		    j->limit.n_windows);
	else
		reason_add(j,
		    "This is an account of this transfer: its %zu intervals resemble each other "
		    "and count as %.2g independent ones, too few to say that another transfer "
		    "would "
		    "go the same way.",
		    j->limit.n_windows, j->limit.n_eff);
	return xasprintf("In this transfer, %s%s held the bytes for %.0f %% of the time%s; the "
			 "transfer ran at %s%s.",
	    what, manner, 100 * limit_held(&j->limit),
	    j->limit.stage == j->limit.bottleneck.lowest ? ", longer than any other stage" : "",
	    rate, faster);
}

static void
known_words(struct judgement *j, const struct evidence *e)
{
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];
	char *what = window_text(j, e, s), *rate = judge_rate_text(j->bytes_per_s);
	char *faster = faster_text(j, e);
	const char *manner = stage_kind_is_host(s->kind) ? host_stage_manner(j, e, s) : "";

	if (what == NULL)
		what = judge_stage_text(e, s);
	if (s->mapped) {
		j->cause = "mmap";
		manner = ", by page faults of a mapped file,";
	}
	if (j->combined && (s->kind == NW_STAGE_DISK_READ || stage_kind_is_net(s->kind)))
		reason_add(j,
		    "One call did both, reading the disk and sending; the kernel's account of the "
		    "connection decides.");
	if (j->by_throttle)
		j->sentence = throttle_text(j, what, rate, faster);
	else if (j->limit.claim == LIMIT_ACCOUNT)
		j->sentence = account_text(j, what, manner, rate, faster);
	else {
		if (what[0] >= 'a' && what[0] <= 'z')
			what[0] = (char)(what[0] - 'a' + 'A');
		j->sentence =
		    xasprintf("%s%s limited this transfer to %s%s.", what, manner, rate, faster);
	}
	if (j->idle_disk)
		idle_disk_reason(j, e);
	j->words = judge_stage_text(e, s);
	j->manner = manner;
	known_reasons(j, s);
	free(what);
	free(rate);
	free(faster);
}

void
judgement_words(struct judgement *j, const struct evidence *e, const struct judge_params *params)
{
	if (j->limit.known)
		known_words(j, e);
	else
		unknown_words(j, e, params);
}

void
judge_add_reason(struct judgement *j, const char *sentence)
{
	reason_add(j, "%s", sentence);
}

/* Two limits in succession are no tie, and the gain of the whole without either limit is
 * unknown. */
static void
moved_set(struct judgement *j)
{
	j->second = j->gain.next = j->path.n;
	j->gain.about = j->gain.low = j->gain.high = NAN;
	if (j->limit.known)
		return;
	while (j->n_reasons > 0)
		free(j->reasons[--j->n_reasons]);
	free(j->words);
	j->words = xstrdup("one after the other");
	j->confidence = "medium";
}

/* "What limited this transfer to 15 MB/s changed on the way: most of the time disk read on a." */
static void
moved_words(struct judgement *j)
{
	char *rate = judge_rate_text(j->bytes_per_s);
	/* without the comma behind */
	int len = j->manner != NULL && *j->manner != '\0' ? (int)strlen(j->manner) - 1 : 0;

	free(j->sentence);
	if (j->limit.known)
		j->sentence = xasprintf("What limited this transfer to %s " RESULT_CHANGED
					": most of the time %s%.*s.",
		    rate, j->words, len, len > 0 ? j->manner : "");
	else
		j->sentence =
		    xasprintf("What limited this transfer to %s " RESULT_CHANGED ".", rate);
	free(rate);
}

/* The sentence stays short; the story is the first reason. */
void
judge_add_story(struct judgement *j, const char *story)
{
	if (story == NULL)
		return;
	moved_set(j);
	moved_words(j);
	if (j->n_reasons == JUDGE_REASONS_MAX)
		free(j->reasons[--j->n_reasons]);
	memmove(j->reasons + 1, j->reasons, j->n_reasons * sizeof(j->reasons[0]));
	j->reasons[0] = xasprintf("%c%s.",
	    story[0] >= 'a' && story[0] <= 'z' ? story[0] - 'a' + 'A' : story[0], story + 1);
	j->n_reasons++;
}
