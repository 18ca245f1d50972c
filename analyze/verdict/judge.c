/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/result_keys.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

/* waiting for processors explains all the time that the slowest stage took */
static const double CROWDED = 1;
static const double CROWDED_DOUBT = 0.5; /* .. half of it */
/* a stage hardly used says little of its limits: beyond this, "more than" */
static const double FASTER_CAP = 100;

const char *
judge_stage_words(enum nw_stage_kind kind)
{
	return result_stage_words(nw_stage_kind_name(kind));
}

static const char *
scale(double *v)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T", "P" };
	size_t i = 0;

	while (*v >= 999.5 && i + 1 < sizeof(prefix) / sizeof(prefix[0])) {
		*v /= 1000;
		i++;
	}
	return prefix[i];
}

char *
judge_rate_text(double bytes_per_s)
{
	double bytes = bytes_per_s, bits = bytes_per_s * 8;
	const char *pb = scale(&bytes), *pt = scale(&bits);

	return xasprintf("%.3g %sB/s (%.3g %sbit/s)", bytes, pb, bits, pt);
}

static void __attribute__((format(printf, 2, 3)))
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

static void
witness_add(struct judgement *j, const char *name, const char *says, int agrees, char *detail)
{
	if (j->n_witnesses == JUDGE_WITNESSES_MAX) {
		free(detail);
		return;
	}
	j->witnesses[j->n_witnesses++] = (struct witness){ name, says, agrees, detail };
}

static const char *
host_name(const struct evidence *e, size_t host)
{
	return host < e->n_hosts ? e->hosts[host].name : "?";
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
		return xasprintf("the network path from %s to %s", host_name(e, s->host),
		    host_name(e, s->to_host));
	if (s->kind == NW_STAGE_NETWORK)
		return xasprintf("the network path within %s", host_name(e, s->host));
	if (s->kind == NW_STAGE_NET_WRITE)
		return xasprintf(
		    "the network path from %s (or the end it leads to)", host_name(e, s->host));
	if (s->kind == NW_STAGE_NET_READ)
		return xasprintf(
		    "the network path to %s (or the end it comes from)", host_name(e, s->host));
	if (s->kind == NW_STAGE_DISK_READ || s->kind == NW_STAGE_DISK_WRITE)
		return xasprintf("%s on %s", judge_stage_words(s->kind), host_name(e, s->host));
	if (program != NULL)
		return xasprintf(
		    "the %s %s on %s", judge_stage_words(s->kind), program, host_name(e, s->host));
	return xasprintf("the %s on %s", judge_stage_words(s->kind), host_name(e, s->host));
}

static char *
route_text(const struct evidence *e, const struct nw_path *p)
{
	const struct evidence_connection *c = e->n_connections > 0 ? &e->connections[0] : NULL;

	if (p->has_sender && p->has_receiver)
		return p->sender_host != p->receiver_host
		    ? xasprintf(
			  "%s -> %s", host_name(e, p->sender_host), host_name(e, p->receiver_host))
		    : xasprintf("%s (both ends)", host_name(e, p->sender_host));
	if (p->has_sender)
		return xasprintf(
		    "%s -> %s", host_name(e, p->sender_host), c != NULL ? c->dst : "?");
	if (p->has_receiver)
		return xasprintf(
		    "%s -> %s", c != NULL ? c->dst : "?", host_name(e, p->receiver_host));
	if (p->n > 0)
		return xasprintf("%s (local)", host_name(e, p->stage[0].host));
	return e->n_hosts > 0 ? xstrdup(host_name(e, 0)) : xstrdup("?");
}

/* What was started is the name, unless it was a wrapper that became something else: then no process
 * has that name. */
static const char *
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

/* --- words --- */

/* Everybody waited for somebody: say who waited longest at a pipe, because its other end is where
 * to look. */
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
		    host_name(e, waits->host), 100 * fmin(1, most / j->path.active_s));
}

static double
cpu_wait_s(const struct evidence *e, size_t process)
{
	return isfinite(e->processes[process].cpu_wait_s) ? e->processes[process].cpu_wait_s : 0;
}

/* The processes in whose time the slowest stage was measured; 0: it is a program's own time. */
static size_t
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
 * Who gets a processor late comes late to its socket: waiting for a processor within poll() looks
 * like waiting for the network, and makes the other end wait for it; within write() it looks like a
 * slow disk. So of the time in which the slowest stage held the bytes, the share that its programs
 * could have run, but for a processor.
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

/* The process that waited most for a processor, if that was long; NULL: none did. */
static const struct evidence_process *
cpu_waiter(const struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *f, *most = NULL;

	for (f = e->processes; f < e->processes + e->n_processes; f++)
		if (f->program != NULL && f->cpu_wait_s >= 0.1 * j->path.active_s &&
		    j->path.active_s > 0 && (most == NULL || f->cpu_wait_s > most->cpu_wait_s))
			most = f;
	return most;
}

static void
cpu_wait_reason(struct judgement *j, const struct evidence *e, const struct evidence_process *f)
{
	reason_add(j, "%s on %s could run, but had no processor, for %.0f %% of the time.",
	    f->program != NULL ? f->program : "The program", host_name(e, f->host),
	    100 * fmin(f->cpu_wait_s / j->path.active_s, 1));
}

static void
crowded_words(struct judgement *j, const struct evidence *e)
{
	char *what = judge_stage_text(e, &j->path.stage[j->limit.stage]);
	size_t process[2], n = limit_processes(j, process), i;

	for (i = 0; i < n; i++)
		if (cpu_wait_s(e, process[i]) > 0)
			cpu_wait_reason(j, e, &e->processes[process[i]]);
	j->sentence = xasprintf("Cannot tell whether %s limited this transfer: programs waited for "
				"a processor for as long as "
				"they seem to have waited for it.",
	    what);
	free(what);
}

static void
unknown_words(struct judgement *j, const struct evidence *e, const struct judge_params *params)
{
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	const struct evidence_process *waiter;
	char *first, *second;

	if (j->path.n == 0) {
		reason_add(j, "No operation that moved bytes was reported.");
		j->sentence =
		    xstrdup("Cannot tell what limited this session: nothing was seen to move.");
	} else if (j->limit.n_windows < LIMIT_WINDOWS_MIN) {
		reason_add(j, "%zu measured interval%s; %d are needed.", j->limit.n_windows,
		    j->limit.n_windows == 1 ? "" : "s", LIMIT_WINDOWS_MIN);
		j->sentence = xstrdup("Cannot tell what limited this transfer: it was too short "
				      "for its reporting interval.");
	} else if (j->path.n == 1) {
		first = judge_stage_text(e, &j->path.stage[0]);
		reason_add(j, "Only %s was measured.", first);
		j->sentence =
		    xasprintf("Cannot tell what limited this transfer: only %s was measured, "
			      "with nothing to compare it to.",
			first);
		free(first);
	} else if (!limit_is_held(&j->limit)) {
		first = judge_stage_text(e, &j->path.stage[b->lowest]);
		reason_add(j,
		    "No measured stage held the bytes up for long; most of all %s, for %.0f %% of "
		    "the time.",
		    first, 100 * limit_held(&j->limit));
		neighbour_reason(j, e);
		j->sentence = xstrdup("Cannot tell what limited this transfer: most of its time "
				      "passed outside the disk and "
				      "network calls that were measured.");
		free(first);
	} else if (j->crowded_share >= CROWDED) {
		crowded_words(j, e);
	} else {
		first = judge_stage_text(e, &j->path.stage[b->lowest]);
		second = b->runner_up < j->path.n
		    ? judge_stage_text(e, &j->path.stage[b->runner_up])
		    : xstrdup("another stage");
		if (b->unique)
			reason_add(j, "The slowest two differ by less than the margin of %.3g %%.",
			    params->margin * 100);
		else
			reason_add(j,
			    "The test does not tell %zu of %zu stages apart (alpha %.3g).",
			    b->n_candidates, j->path.n, b->alpha);
		if ((waiter = cpu_waiter(j, e)) != NULL)
			cpu_wait_reason(j, e, waiter);
		if (b->n_candidates > 2)
			j->sentence = xasprintf("No single stage stands out: %zu of %zu may have "
						"limited this transfer, first of all "
						"%s and %s.",
			    b->n_candidates, j->path.n, first, second);
		else
			j->sentence = xasprintf("Cannot tell whether %s or %s limited this "
						"transfer: their rates are too close for "
						"the evidence.",
			    first, second);
		free(first);
		free(second);
	}
	j->words = xstrdup("cannot tell");
	j->confidence = "none";
}

static bool
kind_is_host(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_SENDER_HOST || kind == NW_STAGE_RECEIVER_HOST ||
	    kind == NW_STAGE_HOST;
}

/*
 * What the program did outside its calls: computing, waiting for a processor that others had, or
 * pausing. Own time is whoever's is at work: so is the CPU, of the processes of one kind on that
 * host.
 */
static const char *
host_stage_manner(struct judgement *j, const struct evidence *e, const struct nw_path_stage *s)
{
	const struct evidence_process *main_process = &e->processes[s->process], *f;
	double own = s->busy_share * j->path.active_s, cpu_s = 0, wait_s = 0;

	for (f = e->processes; f < e->processes + e->n_processes; f++)
		if (f->host == main_process->host && f->program != NULL &&
		    main_process->program != NULL &&
		    strcmp(f->program, main_process->program) == 0) {
			cpu_s += isfinite(f->cpu_s) ? f->cpu_s : 0;
			wait_s += isfinite(f->cpu_wait_s) ? f->cpu_wait_s : 0;
		}
	if (!isfinite(main_process->cpu_s) || !(own > 0))
		return "";
	if (wait_s >= 0.3 * own && cpu_s + wait_s >= 0.6 * own) {
		reason_add(j,
		    "The program could run, but had no processor, for %.0f %% of the time.",
		    100 * fmin(wait_s / j->path.active_s, 1));
		return ", which had to wait for a processor,";
	}
	if (cpu_s >= 0.6 * own)
		return ", which was busy computing,";
	if (cpu_s + wait_s < 0.3 * own)
		return ", which paused by itself or waited for something not measured,";
	return "";
}

static void
known_words(struct judgement *j, const struct evidence *e)
{
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	char *what = judge_stage_text(e, s), *rate = judge_rate_text(j->bytes_per_s), *next,
	     *factor, *than;
	const char *manner = "";

	if (kind_is_host(s->kind))
		manner = host_stage_manner(j, e, s);
	next = b->runner_up < j->path.n ? judge_stage_text(e, &j->path.stage[b->runner_up])
					: xstrdup("the next stage");
	factor = j->limit.effect >= FASTER_CAP ? xasprintf("more than %.0f times", FASTER_CAP)
					       : xasprintf("%.2g times", j->limit.effect);
	than = isfinite(j->limit.effect)
	    ? xasprintf("; %s could have gone %s as fast", next, factor)
	    : xstrdup("");
	if (what[0] >= 'a' && what[0] <= 'z')
		what[0] = (char)(what[0] - 'a' + 'A');
	j->sentence = xasprintf("%s%s limited this transfer to %s%s.", what, manner, rate, than);
	j->words = judge_stage_text(e, s);
	if (kind_is_host(s->kind))
		reason_add(j,
		    "%.0f %% of the time passed in the program, outside its disk and network "
		    "calls.",
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
	free(what);
	free(rate);
	free(next);
	free(factor);
	free(than);
}

/* --- witnesses --- */

static void
caliper_witness(struct judgement *j)
{
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	double worst_p = 0;
	size_t i;

	for (i = 0; i < j->path.n; i++)
		if (i != b->lowest && j->limit.tests[i].p_holm > worst_p)
			worst_p = j->limit.tests[i].p_holm;
	if (j->path.n < 2)
		return;
	witness_add(j, "calipers", nw_stage_kind_name(j->path.stage[b->lowest].kind),
	    j->limit.known ? 1 : -1,
	    xasprintf(
		"held the bytes longest of %zu stages over %zu windows (%.0f effective), p %s %.2g",
		j->path.n, j->limit.n_windows, j->limit.tests[b->lowest].group.n,
		worst_p < 1e-12 ? "<" : "=", worst_p < 1e-12 ? 1e-12 : worst_p));
}

/* The sending kernel's own account of what it waited for. */
static void
tcp_witness(struct judgement *j, const struct evidence *e)
{
	const struct evidence_connection *c = NULL;
	double busy, rwnd, sndbuf;
	const char *says = NULL;
	enum nw_stage_kind kind;
	size_t i;
	int agrees;

	for (i = 0; i < e->n_connections; i++)
		if (isfinite(e->connections[i].busy_s) &&
		    (c == NULL || e->connections[i].bytes_out > c->bytes_out))
			c = &e->connections[i];
	if (c == NULL || !(j->duration_s > 0) || c->bytes_out < 0.1 * j->bytes)
		return;
	busy = c->busy_s / j->duration_s;
	rwnd = isfinite(c->rwnd_limited_s) ? c->rwnd_limited_s / j->duration_s : 0;
	sndbuf = isfinite(c->sndbuf_limited_s) ? c->sndbuf_limited_s / j->duration_s : 0;
	if (rwnd > 0.5)
		says = "the receiving end";
	else if (busy - rwnd > 0.7)
		says = "network";
	else if (busy < 0.5)
		says = "the sending end";
	kind = j->limit.known ? j->path.stage[j->limit.stage].kind : NW_STAGE_COUNT;
	agrees = -1;
	if (says != NULL && j->limit.known) {
		bool at_sender = kind == NW_STAGE_DISK_READ || kind == NW_STAGE_SENDER_HOST;
		bool at_receiver = kind == NW_STAGE_DISK_WRITE || kind == NW_STAGE_RECEIVER_HOST;

		if (strcmp(says, "network") == 0)
			agrees = !at_sender && !at_receiver;
		else if (strcmp(says, "the receiving end") == 0)
			agrees = at_receiver || kind == NW_STAGE_NET_WRITE;
		else
			agrees = at_sender || kind == NW_STAGE_NET_READ;
	}
	witness_add(j, "tcp", says, agrees,
	    xasprintf("the sender's kernel had data in flight for %.0f %% of the time, "
		      "and was held by the receive window for %.0f %%, by the send buffer for %.0f "
		      "%%; %.0f retransmissions",
		100 * fmin(busy, 1), 100 * fmin(rwnd, 1), 100 * fmin(sndbuf, 1),
		isfinite(c->retrans) ? c->retrans : 0));
}

/*
 * A blocking sendfile() is disk and network in one call: the two stages are held equally, and
 * calipers cannot choose. The kernel's account of the connection can.
 */
static bool
tie_break(struct judgement *j, const struct evidence *e, double margin)
{
	const struct witness *tcp = NULL;
	double held = limit_held(&j->limit);
	size_t i, disk = j->path.n, net = j->path.n, n = 0;

	for (i = 0; i < j->n_witnesses; i++)
		if (strcmp(j->witnesses[i].name, "tcp") == 0 && j->witnesses[i].says != NULL)
			tcp = &j->witnesses[i];
	if (j->limit.known || tcp == NULL || j->path.n < 2 ||
	    j->limit.n_windows < LIMIT_WINDOWS_MIN || !limit_is_held(&j->limit) ||
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
	if (n != 2 || disk == j->path.n || net == j->path.n ||
	    strcmp(tcp->says, "the receiving end") == 0)
		return false;
	j->limit.known = true;
	j->limit.stage = strcmp(tcp->says, "network") == 0 ? net : disk;
	/* the calls did not tell them apart: how much faster the other one is nobody knows */
	j->limit.effect = j->limit.effect_low = j->limit.effect_high = NAN;
	j->limit.bottleneck.runner_up = j->path.n;
	free(j->words);
	free(j->sentence);
	while (j->n_reasons > 0)
		free(j->reasons[--j->n_reasons]);
	reason_add(j,
	    "One call did both, reading the disk and sending; the kernel's account of the "
	    "connection decides.");
	return true;
}

static double
mean_known(const double *x, size_t n)
{
	double sum = 0;
	size_t i, k = 0;

	for (i = 0; x != NULL && i < n; i++)
		if (isfinite(x[i])) {
			sum += x[i];
			k++;
		}
	return k > 0 ? sum / (double)k : NAN;
}

/* The device's own busy time, for disk stages and against everything else. */
static void
disk_witness(struct judgement *j, const struct evidence *e)
{
	enum nw_stage_kind kind =
	    j->limit.known ? j->path.stage[j->limit.stage].kind : NW_STAGE_COUNT;
	bool disk = kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE;
	double busy, most = 0;
	size_t i, where = 0;
	bool have = false;

	for (i = 0; i < e->n_hosts; i++) {
		busy = mean_known(e->hosts[i].disk_busy, e->n_windows);
		if (isfinite(busy) && (!have || busy > most)) {
			most = busy;
			where = i;
			have = true;
		}
	}
	if (!have)
		return;
	/* An idle device proves nothing: the limit may be a quota, or a disk that this host does
	 * not see. */
	witness_add(j, "disk", most > 0.8 ? "disk" : NULL,
	    !j->limit.known || most <= 0.8 ? -1 : disk,
	    xasprintf("the busiest device, on %s, was busy %.0f %% of the time",
		e->hosts[where].name, 100 * most));
}

static void
cpu_witness(struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *waiter = cpu_waiter(j, e);
	char *text = NULL, *more;
	double busy;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		busy = mean_known(e->hosts[i].cpu_busy, e->n_windows);
		if (!isfinite(busy))
			continue;
		more = xasprintf("%s%s%s %.0f %% busy", text != NULL ? text : "",
		    text != NULL ? ", " : "", e->hosts[i].name, 100 * busy);
		free(text);
		text = more;
	}
	if (waiter != NULL) {
		more = xasprintf("%s%s%s waited for a processor %.0f %% of the time",
		    text != NULL ? text : "", text != NULL ? "; " : "", waiter->program,
		    100 * fmin(waiter->cpu_wait_s / j->path.active_s, 1));
		free(text);
		text = more;
	}
	if (text != NULL)
		witness_add(j, "host cpu", j->crowded_share >= CROWDED_DOUBT ? "processor" : NULL,
		    j->limit.known && j->crowded_share >= CROWDED_DOUBT ? 0 : -1, text);
}

/* What the published method would have said: the lowest mean throughput of single operations. */
static void
per_call_witness(struct judgement *j, const struct evidence *e)
{
	double rate, lowest = INFINITY, rate_sum[NW_OP_COUNT] = { 0 }, ops[NW_OP_COUNT] = { 0 };
	int op, which = -1;
	char *text;
	size_t f, i;

	for (f = 0; f < e->n_processes; f++)
		for (op = 0; op < NW_OP_COUNT; op++)
			for (i = 0; e->processes[f].ops[op] != NULL && i < e->n_windows; i++) {
				rate_sum[op] += e->processes[f].rate_sum[op][i];
				ops[op] += e->processes[f].ops[op][i];
			}
	for (op = 0; op < NW_OP_COUNT; op++) {
		rate = ops[op] > 0 ? rate_sum[op] / ops[op] : 0;
		if (rate > 0 && rate < lowest) {
			lowest = rate;
			which = op;
		}
	}
	if (which < 0)
		return;
	text = judge_rate_text(lowest);
	witness_add(j, "per call", nw_op_name((enum nw_op)which), -1,
	    xasprintf("lowest mean throughput of single calls, waits in poll not counted: %s at "
		      "%s; shown for comparison",
		nw_op_name((enum nw_op)which), text));
	free(text);
}

/* The kernel read about as much from disk for a program as it moved, and no call of it shows
 * that. */
static bool
reads_unseen(const struct judgement *j, const struct evidence *e)
{
	size_t i;

	if (!kind_is_host(j->path.stage[j->limit.stage].kind) ||
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
		against |= j->witnesses[i].agrees == 0;
		with |= j->witnesses[i].agrees == 1;
	}
	if (reads_unseen(j, e)) {
		against = true;
		reason_add(j,
		    "The program read from disk without calls, by memory mapping perhaps: its disk "
		    "may be behind this.");
	}
	j->confidence = against                                   ? "low"
	    : with && j->limit.n_windows >= 2 * LIMIT_WINDOWS_MIN ? "high"
								  : "medium";
	for (i = 0; i < j->n_witnesses && against; i++)
		if (j->witnesses[i].agrees == 0)
			break;
	if (against && i < j->n_witnesses)
		reason_add(j, "Not every witness agrees: see below.");
}

static int
processes_view(const struct evidence *e, struct nw_process **out)
{
	struct nw_process *v = xcalloc(e->n_processes + 1, sizeof(*v));
	size_t f;
	int op;

	for (f = 0; f < e->n_processes; f++) {
		v[f].host = e->processes[f].host;
		v[f].begin_s = (double)(e->processes[f].first_wall_ns - e->t0_wall_ns) * 1e-9;
		v[f].end_s = (double)(e->processes[f].last_wall_ns - e->t0_wall_ns) * 1e-9;
		v[f].one_thread = e->processes[f].pid >= 0 && e->processes[f].threads <= 1;
		for (op = 0; op < NW_OP_COUNT; op++) {
			v[f].bytes[op] = e->processes[f].bytes[op];
			v[f].busy_s[op] = e->processes[f].busy_s[op];
			v[f].wait_s[op] = e->processes[f].wait_s[op];
		}
		for (op = 0; op < 2; op++) {
			v[f].pipe_bytes[op] = e->processes[f].pipe_bytes[op];
			v[f].pipe_s[op] = e->processes[f].pipe_s[op];
		}
	}
	*out = v;
	return NW_OK;
}

/* The headline stays short; the story is the first reason. */
void
judge_add_story(struct judgement *j, const char *story)
{
	char *sentence;

	if (story == NULL || j->crowded_share >= CROWDED)
		return;
	sentence = xasprintf("%s What limited it changed on the way.", j->sentence);
	free(j->sentence);
	j->sentence = sentence;
	if (j->n_reasons == JUDGE_REASONS_MAX)
		free(j->reasons[--j->n_reasons]);
	memmove(j->reasons + 1, j->reasons, j->n_reasons * sizeof(j->reasons[0]));
	j->reasons[0] = xasprintf("%c%s.",
	    story[0] >= 'a' && story[0] <= 'z' ? story[0] - 'a' + 'A' : story[0], story + 1);
	j->n_reasons++;
}

int
judge(const struct evidence *e, const struct judge_params *params, struct judgement *out)
{
	struct nw_process *processes = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = processes_view(e, &processes)) < 0 ||
	    (rc = nw_path_build(processes, e->n_processes, e->n_windows, (double)e->step_ns * 1e-9,
		 &out->path)) < 0 ||
	    (rc = limit_find(
		 &out->path, 0, e->n_windows, params->alpha, params->margin, &out->limit)) < 0)
		goto out;
	out->crowded_share = crowded_share(out, e);
	out->limit.known =
	    out->limit.known && limit_is_held(&out->limit) && out->crowded_share < CROWDED;
	evidence_extent(e, &out->path, &out->first_wall_ns, &out->last_wall_ns);
	out->duration_s = (double)(out->last_wall_ns - out->first_wall_ns) * 1e-9;
	out->bytes = round(out->path.bytes); /* spread over windows and summed: off by rounding */
	out->bytes_per_s = out->duration_s > 0 ? out->bytes / out->duration_s : NAN;
	out->route = route_text(e, &out->path);
	out->program = program_of(e, &out->path);
	if (out->limit.known)
		known_words(out, e);
	else
		unknown_words(out, e, params);
	caliper_witness(out);
	tcp_witness(out, e);
	if (tie_break(out, e, params->margin))
		known_words(out, e);
	disk_witness(out, e);
	cpu_witness(out, e);
	per_call_witness(out, e);
	if (out->limit.known)
		confidence_set(out, e);
	rc = NW_OK;
out:
	free(processes);
	if (rc < 0)
		judgement_clear(out);
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
