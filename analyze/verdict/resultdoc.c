/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/format.h"
#include "narrows/resultdoc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "analyze/verdict/judge/judge_in.h"
#include "analyze/verdict/resultdoc_in.h"
#include "analyze/verdict/put/resultdoc_usual.h"
#include "narrows/xmalloc.h"

enum {
	/* of all others: more would be noise, and a document is kept for every session */
	NUMBER_DIGITS = 12
};

static json_t *
iso_text(int64_t wall_ns)
{
	return wall_ns > 0 ? json_string(fmt_iso(wall_ns, 3).s) : json_null();
}

static json_t *
hosts_doc(const struct evidence *e, const struct nw_path *p)
{
	json_t *list = json_array(), *h, *clock;
	const char *role;
	size_t i;

	for (i = 0; i < e->n_hosts; i++) {
		role = p->has_sender && p->sender_host == i    ? "source"
		    : p->has_receiver && p->receiver_host == i ? "destination"
							       : NULL;
		h = json_object();
		result_set(h, KEY_session_host_id, json_integer(e->hosts[i].id));
		put_text(h, KEY_session_host_name, e->hosts[i].name);
		put_text(h, KEY_session_host_role, role);
		clock = json_object();
		result_set(clock, KEY_clock_known, json_boolean(e->hosts[i].clock_known));
		result_set(
		    clock, KEY_clock_synchronised, json_boolean(e->hosts[i].clock_synchronised));
		put_real(clock, KEY_clock_offset_s, e->hosts[i].clock_offset_s);
		put_real(clock, KEY_clock_bound_s, e->hosts[i].clock_bound_s);
		put_real(clock, KEY_clock_bound_lowest_s, e->hosts[i].bound_lowest_s);
		put_real(clock, KEY_clock_bound_highest_s, e->hosts[i].bound_highest_s);
		result_set(h, KEY_session_host_clock, clock);
		json_array_append_new(list, h);
	}
	return list;
}

/* Whether an earlier file of the list is the same: opened to be written, later to be renamed or to
 * have its times set. */
static bool
file_is_again(const struct evidence *e, size_t k)
{
	size_t i;

	for (i = 0; i < k; i++)
		if (e->files[i].host == e->files[k].host && e->files[i].path != NULL &&
		    e->files[k].path != NULL && strcmp(e->files[i].path, e->files[k].path) == 0)
			return true;
	return false;
}

static void
known_add(double *sum, double v)
{
	if (isfinite(v))
		*sum = (isfinite(*sum) ? *sum : 0) + v;
}

static const char *
file_mount(const struct evidence *e, const struct evidence_file *f)
{
	return f->mount < e->n_mounts && e->mounts[f->mount].point[0] != '\0'
	    ? e->mounts[f->mount].point
	    : NULL;
}

/* The file with the counts of its reports. */
static json_t *
file_doc(const struct evidence *e, size_t k)
{
	double read = NAN, written = NAN;
	int64_t size = -1;
	json_t *f = json_object();
	size_t i;

	for (i = k; i < e->n_files; i++) {
		if (i != k &&
		    !(file_is_again(e, i) && e->files[i].host == e->files[k].host &&
			strcmp(e->files[i].path, e->files[k].path) == 0))
			continue;
		known_add(&read, e->files[i].read_bytes);
		known_add(&written, e->files[i].write_bytes);
		size = e->files[i].size_bytes > size ? e->files[i].size_bytes : size;
	}
	put_text(f, KEY_file_host, evidence_host_name(e, e->files[k].host, "?"));
	put_text(f, KEY_file_path, e->files[k].path);
	result_set(f, KEY_file_size_bytes, size >= 0 ? json_integer(size) : json_null());
	put_real(f, KEY_file_read_bytes, read);
	put_real(f, KEY_file_write_bytes, written);
	put_text(f, KEY_file_mount, file_mount(e, &e->files[k]));
	return f;
}

static json_t *
files_doc(const struct evidence *e)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < e->n_files; i++)
		if (!file_is_again(e, i))
			json_array_append_new(list, file_doc(e, i));
	return list;
}

static const char *
text_or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static json_t *
mount_doc(const struct evidence *e, const struct evidence_mount *m)
{
	json_t *o = json_object();

	put_text(o, KEY_mount_host, evidence_host_name(e, m->host, "?"));
	put_text(o, KEY_mount_point, text_or_null(m->point));
	put_text(o, KEY_mount_type, m->type);
	put_text(o, KEY_mount_place, nw_fs_place_name(m->place));
	put_text(o, KEY_mount_source, text_or_null(m->source));
	put_text(o, KEY_mount_server, text_or_null(m->server[0] != '\0' ? m->server : m->address));
	put_text(o, KEY_mount_measured, evidence_host_name(e, m->serves, NULL));
	put_real(o, KEY_mount_read_bytes, m->bytes[0]);
	put_real(o, KEY_mount_write_bytes, m->bytes[1]);
	return o;
}

static json_t *
mounts_doc(const struct evidence *e)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < e->n_mounts; i++)
		if (e->mounts[i].type[0] != '\0')
			json_array_append_new(list, mount_doc(e, &e->mounts[i]));
	return list;
}

static json_t *
connections_doc(const struct evidence *e)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < e->n_connections; i++) {
		const struct evidence_connection *c = &e->connections[i];

		o = json_object();
		put_text(o, KEY_connection_host, evidence_host_name(e, c->host, "?"));
		put_text(o, KEY_connection_src, c->src);
		result_set(o, KEY_connection_sport, json_integer(c->sport));
		put_text(o, KEY_connection_dst, c->dst);
		result_set(o, KEY_connection_dport, json_integer(c->dport));
		put_real(o, KEY_connection_bytes_out, c->bytes_out);
		put_real(o, KEY_connection_bytes_in, c->bytes_in);
		put_real(o, KEY_connection_rtt_s, c->rtt_s);
		put_real(o, KEY_connection_rtt_min_s, c->rtt_min_s);
		put_real(o, KEY_connection_retrans, c->retrans);
		put_real(o, KEY_connection_cwnd_bytes, c->cwnd_bytes);
		put_real(o, KEY_connection_busy_s, c->busy_s);
		put_real(o, KEY_connection_rwnd_limited_s, c->rwnd_limited_s);
		put_real(o, KEY_connection_sndbuf_limited_s, c->sndbuf_limited_s);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
announced_doc(const struct evidence *e)
{
	static const enum result_key keys[NW_ANNOUNCED_COUNT] = {
#define X(name) [NW_ANNOUNCED_##name] = KEY_announced_##name,
		NW_ANNOUNCED_FIELDS(X)
#undef X
	};
	const struct evidence_announced *a;
	json_t *list = json_array(), *o;
	int i;

	for (a = e->announced;
	     a < e->announced + e->n_announced && json_array_size(list) < EVIDENCE_LIST_MAX; a++) {
		o = json_object();
		put_text(o, KEY_announced_by, a->by);
		put_text(o, KEY_announced_source, a->source);
		put_text(o, KEY_announced_program, a->program);
		put_text(o, KEY_announced_label, a->label);
		put_text(o, KEY_announced_user, a->user);
		put_text(o, KEY_announced_file, a->file);
		put_text(o, KEY_announced_src, a->src);
		result_set(o, KEY_announced_sport, json_integer(a->sport));
		put_text(o, KEY_announced_dst, a->dst);
		result_set(o, KEY_announced_dport, json_integer(a->dport));
		for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
			put_real(o, keys[i], a->value[i]);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
ways_doc(const struct evidence *e)
{
	const struct evidence_path *p;
	json_t *list = json_array(), *o;

	for (p = e->paths; p < e->paths + e->n_paths; p++) {
		o = json_object();
		put_text(o, KEY_way_host, e->hosts[p->host].name);
		put_text(o, KEY_way_peer, p->peer);
		put_real(o, KEY_way_hops, p->hops);
		put_real(o, KEY_way_mtu_bytes, p->mtu_bytes);
		json_array_append_new(list, o);
	}
	return list;
}

/* A port without a look during the session is another life of the sender. */
static json_t *
ports_doc(const struct evidence *e)
{
	const struct evidence_switch *p;
	json_t *list = json_array(), *o;

	for (p = e->switches; p < e->switches + e->n_switches; p++) {
		if (p->rows == 0)
			continue;
		o = json_object();
		put_text(o, KEY_port_switch, p->name);
		put_text(o, KEY_port_port, p->port);
		put_text(o, KEY_port_host, p->serves);
		put_real(o, KEY_port_speed_bit_s, p->speed_bit_s);
		put_real(o, KEY_port_dropped, p->dropped);
		put_real(o, KEY_port_errors, p->errors);
		put_real(o, KEY_port_used, p->used);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
session_doc(const struct evidence *e, const struct judgement *j)
{
	int64_t start = j->first_wall_ns ? j->first_wall_ns : e->opened_wall_ns;
	int64_t end = j->last_wall_ns ? j->last_wall_ns : e->closed_wall_ns;
	json_t *s = json_object();

	result_set(s, KEY_session_id, json_integer(e->session_id));
	put_text(s, KEY_session_task_id, e->task_id);
	put_text(s, KEY_session_state, e->open ? "open" : "closed");
	put_text(s, KEY_session_program, j->program);
	put_text(s, KEY_session_route, j->route);
	put_ns(s, KEY_session_start_ns, start);
	put_ns(s, KEY_session_end_ns, end);
	result_set(s, KEY_session_start, iso_text(start));
	result_set(s, KEY_session_end, iso_text(end));
	put_real(s, KEY_session_duration_s, j->duration_s);
	put_real(s, KEY_session_bytes, j->bytes);
	put_real(s, KEY_session_bytes_per_s, j->bytes_per_s);
	put_text(s, KEY_session_label, e->label);
	put_real(s, KEY_session_exit_status, e->exit_status);
	result_set(s, KEY_session_hosts, hosts_doc(e, &j->path));
	result_set(s, KEY_session_files, files_doc(e));
	result_set(s, KEY_session_mounts, mounts_doc(e));
	result_set(s, KEY_session_connections, connections_doc(e));
	result_set(s, KEY_session_ways, ways_doc(e));
	result_set(s, KEY_session_ports, ports_doc(e));
	result_set(s, KEY_session_announced, announced_doc(e));
	result_set(s, KEY_session_announced_alone, json_boolean(j->announced.alone));
	return s;
}

static json_t *
witnesses_doc(const struct judgement *j)
{
	json_t *list = json_array(), *w;
	size_t i;

	for (i = 0; i < j->n_witnesses; i++) {
		w = json_object();
		put_text(w, KEY_witness_name, nw_witness_name(j->witnesses[i].name));
		put_text(w, KEY_witness_says, nw_says_name(j->witnesses[i].says));
		result_set(w, KEY_witness_agrees,
		    j->witnesses[i].agrees == NO_OPINION
			? json_null()
			: json_boolean(j->witnesses[i].agrees == AGREES));
		put_text(w, KEY_witness_detail, j->witnesses[i].detail);
		json_array_append_new(list, w);
	}
	return list;
}

static json_t *
tests_doc(const struct evidence *e)
{
	json_t *list = json_array(), *o;
	const struct evidence_test *t;

	for (t = e->tests; t < e->tests + e->n_tests; t++) {
		o = result_active_test(&t->test);
		put_real(o, KEY_active_test_apart_s, t->apart_s);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
replays_doc(const struct evidence *e)
{
	json_t *list = json_array(), *o;
	const struct evidence_replay *y;

	for (y = e->replays; y < e->replays + e->n_replays; y++) {
		o = json_object();
		put_text(o, KEY_replay_host, evidence_host_name(e, y->host, "?"));
		put_text(o, KEY_replay_way, nw_replay_word(y->way));
		put_real(o, KEY_replay_bytes, y->bytes);
		put_real(o, KEY_replay_took_s, y->took_s);
		put_real(o, KEY_replay_bytes_per_s, y->bytes / y->took_s);
		put_real(o, KEY_replay_cost_bytes, y->cost_bytes);
		put_real(o, KEY_replay_cost_s, y->cost_s);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
others_doc(const struct evidence *e, const struct others *others)
{
	json_t *list = json_array(), *o;
	size_t i;

	for (i = 0; i < others->n; i++) {
		const struct other *u = &others->other[i];

		o = json_object();
		put_text(o, KEY_other_resource, u->link ? "link" : "disk");
		put_text(o, KEY_other_host, evidence_host_name(e, u->host, "?"));
		put_text(o, KEY_other_place, u->place);
		put_text(o, KEY_other_way,
		    u->link ? (u->out ? "sent" : "received") : (u->out ? "written" : "read"));
		result_set(o, KEY_other_session,
		    u->session_id != 0 ? json_integer(u->session_id) : json_null());
		put_text(o, KEY_other_program, u->program);
		put_real(o, KEY_other_bytes, u->bytes);
		put_real(o, KEY_other_share, u->share);
		put_text(o, KEY_other_sentence, u->sentence);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
verdict_doc(const struct analysis *a)
{
	const struct judgement *j = &a->judgement;
	const struct nw_bottleneck *b = &j->limit.bottleneck;
	json_t *v = json_object(), *list;
	size_t next = j->gain.next < j->path.n ? j->gain.next : b->runner_up, i;
	const bool instead = j->chained.how == CHAINED_INSTEAD;
	enum nw_stage_kind kind;

	put_text(v, KEY_verdict_stage, judge_stage(j, &kind) ? nw_stage_kind_name(kind) : NULL);
	put_text(v, KEY_verdict_words, j->words);
	put_text(v, KEY_verdict_confidence, j->confidence);
	put_text(v, KEY_verdict_claim,
	    limit_claim_name(
		j->announced.known || j->chained.known ? LIMIT_ACCOUNT : j->limit.claim));
	put_real(v, KEY_verdict_n_eff, j->limit.n_eff);
	put_text(v, KEY_verdict_sentence, j->sentence);
	put_text(v, KEY_verdict_cause, j->cause);
	put_real(v, KEY_verdict_effect, j->gain.about);
	result_set(v, KEY_verdict_interval,
	    json_pack("[oo]", resultdoc_real(j->gain.low), resultdoc_real(j->gain.high)));
	put_text(v, KEY_verdict_effect_from, gain_source_name(j->gain.source));
	result_set(v, KEY_verdict_runner_up,
	    next < j->path.n && !instead
		? resultdoc_text(nw_stage_kind_name(j->path.stage[next].kind))
		: json_null());
	list = json_array();
	for (i = 0; i < j->path.n && !instead; i++)
		if (j->second < j->path.n ? i == j->limit.stage || i == j->second
					  : j->limit.tests[i].candidate)
			json_array_append_new(
			    list, resultdoc_text(nw_stage_kind_name(j->path.stage[i].kind)));
	if (j->chained.known)
		json_array_append_new(list, resultdoc_text(nw_stage_kind_name(kind)));
	result_set(v, KEY_verdict_candidates, list);
	list = json_array();
	for (i = 0; i < j->n_reasons; i++)
		json_array_append_new(list, resultdoc_text(j->reasons[i]));
	result_set(v, KEY_verdict_reasons, list);
	result_set(v, KEY_verdict_others, others_doc(&a->evidence, &a->others));
	result_set(v, KEY_verdict_witnesses, witnesses_doc(j));
	result_set(v, KEY_verdict_replays, replays_doc(&a->evidence));
	result_set(v, KEY_verdict_tests, tests_doc(&a->evidence));
	return v;
}

/* Mean throughput of single operations: of the stage's operation, if any. */
static double
per_call_rate(const struct evidence *e, enum nw_stage_kind kind)
{
	static const int op_of[NW_STAGE_COUNT] = { [NW_STAGE_DISK_READ] = NW_OP_DISK_READ,
		[NW_STAGE_STORAGE_READ] = NW_OP_DISK_READ,
		[NW_STAGE_SENDER_HOST] = -1,
		[NW_STAGE_NET_WRITE] = NW_OP_NET_WRITE,
		[NW_STAGE_NETWORK] = NW_OP_NET_WRITE,
		[NW_STAGE_NET_READ] = NW_OP_NET_READ,
		[NW_STAGE_RECEIVER_HOST] = -1,
		[NW_STAGE_HOST] = -1,
		[NW_STAGE_DISK_WRITE] = NW_OP_DISK_WRITE,
		[NW_STAGE_STORAGE_WRITE] = NW_OP_DISK_WRITE };
	double rate = 0, ops = 0;
	int op = op_of[kind];
	size_t f, i;

	for (f = 0; op >= 0 && f < e->n_processes; f++)
		for (i = 0; e->processes[f].ops[op] != NULL && i < e->n_windows; i++) {
			rate += e->processes[f].rate_sum[op][i];
			ops += e->processes[f].ops[op][i];
		}
	return ops > 0 ? rate / ops : NAN;
}

/* The limit carries its own rate, and so do two stages sure to limit together. The gain from
 * lifting the limit bounds the capacity of all further stages, from above only of the next
 * limit. */
static void
put_could(json_t *o, const struct judgement *j, size_t i)
{
	bool tie = judge_tie_is_sure(j);
	bool limits = i == j->limit.stage ? j->limit.known || tie : tie && i == j->second;
	const struct gain *g = &j->gain;
	double low = j->limit.known && isfinite(g->low) ? fmax(1, g->low) : 1;
	double high = j->limit.known && i == g->next ? g->high : NAN;

	put_real(o, KEY_stage_could_low, j->bytes_per_s * (limits ? 1 : low));
	put_real(o, KEY_stage_could_high, j->bytes_per_s * (limits ? 1 : high));
}

static json_t *
stage_doc(const struct evidence *e, const struct judgement *j, size_t i)
{
	const struct nw_component_result *t = &j->limit.tests[i];
	const struct nw_path_stage *s = &j->path.stage[i];
	const char *words = nw_stage_kind_words(s->kind), *program = judge_stage_program(e, s);
	const struct evidence_mount *mount = judge_stage_mount(e, s);
	double held = 1 - t->group.mean,
	       half = t->group.n >= 2 ? 1.96 * t->group.sd / sqrt(t->group.n) : NAN;
	json_t *o = json_object(), *host;
	char *named;

	host = s->to_host != s->host ? json_sprintf("%s -> %s", evidence_host_name(e, s->host, "?"),
					   evidence_host_name(e, s->to_host, "?"))
				     : NULL;
	put_text(o, KEY_stage_stage, nw_stage_kind_name(s->kind));
	result_set(o, KEY_stage_host,
	    host != NULL ? host : resultdoc_text(evidence_host_name(e, s->host, "?")));
	named = program != NULL ? xasprintf("%s %s", words, program) : xstrdup(words);
	put_text(o, KEY_stage_words, named);
	put_text(o, KEY_stage_program, program);
	result_set(o, KEY_stage_mount, mount != NULL ? mount_doc(e, mount) : json_null());
	free(named);
	put_real(o, KEY_stage_bytes, s->bytes);
	put_real(o, KEY_stage_bytes_per_s, s->service_rate);
	put_real(o, KEY_stage_alone_bytes_per_s,
	    j->replayed.stage[i].by != NULL ? j->replayed.stage[i].bytes_per_s : NAN);
	put_could(o, j, i);
	put_real(o, KEY_stage_low, s->service_rate * held / (held + half));
	result_set(o, KEY_stage_high,
	    held > half ? resultdoc_real(s->service_rate * held / (held - half)) : json_null());
	put_real(o, KEY_stage_free_share, t->group.mean);
	put_real(o, KEY_stage_tput_i, per_call_rate(e, s->kind));
	put_count(o, KEY_stage_windows, t->n_values);
	put_real(o, KEY_stage_n_eff, t->group.n);
	put_real(o, KEY_stage_busy_share, s->busy_share);
	put_real(o, KEY_stage_wait_share, s->wait_share);
	result_set(o, KEY_stage_candidate, json_boolean(t->candidate));
	result_set(o, KEY_stage_lowest, json_boolean(i == j->limit.bottleneck.lowest));
	result_set(o, KEY_stage_t,
	    i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->test.t));
	result_set(o, KEY_stage_df,
	    i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->test.df));
	result_set(o, KEY_stage_p,
	    i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->test.p));
	result_set(o, KEY_stage_p_holm,
	    i == j->limit.bottleneck.lowest ? json_null() : resultdoc_real(t->p_holm));
	return o;
}

static json_t *
bottleneck_doc(
    const struct evidence *e, const struct judgement *j, const struct judge_params *params)
{
	json_t *b = json_object(), *list = json_array();
	size_t i;

	for (i = 0; i < j->path.n; i++)
		json_array_append_new(list, stage_doc(e, j, i));
	put_text(b, KEY_bottleneck_test, "welch");
	put_text(b, KEY_bottleneck_tested, "share of each window that the stage left free");
	/* of two stages, half of the parameter */
	put_real(b, KEY_bottleneck_alpha,
	    j->limit.bottleneck.alpha > 0 ? j->limit.bottleneck.alpha : params->alpha);
	result_set(b, KEY_bottleneck_n_eff, json_true());
	put_real(b, KEY_bottleneck_window_s, (double)e->step_ns * 1e-9);
	result_set(b, KEY_bottleneck_stages, list);
	return b;
}

/* --- quality and run --- */

static void
clock_notes(json_t *notes, const struct evidence_host *h)
{
	if (!h->clock_known)
		json_array_append_new(
		    notes, json_sprintf("%s does not report its clock.", h->name));
	else if (h->ahead_ns != 0)
		json_array_append_new(notes,
		    json_sprintf(
			"The clock of %s is %.3g s %s the box's, give or take %.1g s; that "
			"is taken off.",
			h->name, fabs((double)h->ahead_ns / 1e9),
			h->ahead_ns > 0 ? "ahead of" : "behind", h->exchange_bound_s));
	if (h->apart_ns != 0)
		json_array_append_new(notes,
		    json_sprintf("A sender on %s has a clock of its own, %.3g s %s the box's; that "
				 "is taken off.",
			h->name, fabs((double)h->apart_ns / 1e9),
			h->apart_ns > 0 ? "ahead of" : "behind"));
}

/* The bytes that moved before the measurement began: each end says it of the same bytes. */
static double
bytes_before(const struct evidence *e)
{
	double most = 0;
	size_t i;

	for (i = 0; i < e->n_processes; i++)
		most = fmax(most, e->processes[i].bytes_before);
	return most;
}

static json_t *
quality_doc(const struct evidence *e)
{
	json_t *q = json_object(), *notes = json_array();
	const struct evidence_process *most;
	double seen, kernel, unseen, before = bytes_before(e);
	size_t i;

	evidence_seen(e, &seen, &kernel);
	for (i = 0; i < e->n_hosts; i++)
		clock_notes(notes, &e->hosts[i]);
	put_count(q, KEY_quality_intervals_expected, e->intervals_expected);
	put_count(q, KEY_quality_intervals_got, e->intervals_got);
	put_count(q, KEY_quality_documents, e->documents);
	put_count(q, KEY_quality_documents_rejected, e->documents_rejected);
	put_count(q, KEY_quality_documents_dropped, e->documents_dropped);
	put_real(q, KEY_quality_bytes_seen_share, kernel > 0 ? fmin(1, seen / kernel) : NAN);
	most = evidence_most_unseen(e, &unseen);
	put_text(q, KEY_quality_unseen_by, most != NULL ? most->unseen_by : NULL);
	put_real(q, KEY_quality_unseen_bytes, most != NULL ? unseen : NAN);
	put_real(q, KEY_quality_bytes_before, before > 0 ? before : NAN);
	if (before > 0)
		json_array_append_new(notes,
		    json_sprintf("The measurement began in the middle: %s had moved before.",
			fmt_bytes(before).s));
	if (e->durations_rejected > 0)
		json_array_append_new(notes,
		    json_sprintf("Durations of operations are missing from %llu reports.",
			(unsigned long long)e->durations_rejected));
	if (e->documents_dropped > 0)
		json_array_append_new(notes,
		    json_sprintf(
			"%llu documents are missing: their hosts could not keep them until "
			"they were sent.",
			(unsigned long long)e->documents_dropped));
	if (e->senders_cut_off > 0)
		json_array_append_new(notes,
		    json_sprintf("%llu senders were cut off when the box ended suddenly, and did "
				 "not return: what they sent last may be missing.",
			(unsigned long long)e->senders_cut_off));
	result_set(q, KEY_quality_notes, notes);
	return q;
}

/* Lists the senders of the session, the data of each, and whether the verdict uses the data. */
static json_t *
senders_doc(const struct owners *o)
{
	json_t *list = json_array(), *w, *addresses;
	const struct owner *from;
	size_t k;

	for (from = o->owner; from < o->owner + o->n; from++) {
		w = json_object();
		addresses = json_array();
		for (k = 0; k < from->n_addresses; k++)
			json_array_append_new(addresses, json_string(from->address[k]));
		put_text(w, KEY_sender_owner, from->name[0] != '\0' ? from->name : NULL);
		result_set(w, KEY_sender_addresses, addresses);
		put_count(w, KEY_sender_documents, from->documents);
		put_count(w, KEY_sender_bytes, from->bytes);
		result_set(w, KEY_sender_used, json_boolean(from->used));
		put_text(w, KEY_sender_why,
		    from->used ? NULL
			       : "names no connection or address of the other senders, or is not "
				 "named by them");
		json_array_append_new(list, w);
	}
	return list;
}

static json_t *
with_all_doc(const struct analysis *a)
{
	json_t *o;

	if (a->with_all.sentence == NULL)
		return json_null();
	o = json_object();
	put_text(o, KEY_with_all_stage, a->with_all.stage);
	put_text(o, KEY_with_all_sentence, a->with_all.sentence);
	return o;
}

/* Whatever a number in the document depends on and the operator may change. */
static json_t *
parameters_doc(const struct analysis *a, const struct analysis_params *p)
{
	json_t *o = json_object();

	put_real(o, KEY_run_parameters_alpha, p->judge.alpha);
	put_real(o, KEY_run_parameters_margin, p->judge.margin);
	put_text(o, KEY_run_parameters_test, "welch");
	result_set(o, KEY_run_parameters_n_eff, json_true());
	put_real(o, KEY_run_parameters_window_s, (double)a->evidence.step_ns * 1e-9);
	put_count(o, KEY_run_parameters_windows_min, LIMIT_WINDOWS_MIN);
	result_set(o, KEY_run_parameters_changes, resultdoc_changes_parameters(a));
	result_set(o, KEY_run_parameters_density, resultdoc_density_parameters(&p->classes));
	result_set(
	    o, KEY_run_parameters_reduction, resultdoc_reduction_parameters(a, &p->reduction));
	return o;
}

static json_t *
run_doc(const struct analysis *a, const struct result_run *run)
{
	json_t *o = json_object();

	result_set(o, KEY_run_id, json_integer(run->id));
	result_set(o, KEY_run_started, iso_text(run->started_wall_ns));
	put_real(o, KEY_run_took_s, (double)run->took_ns * 1e-9);
	put_text(o, KEY_run_version, NW_VERSION);
	put_count(o, KEY_run_rows, a->evidence.rows);
	put_count(o, KEY_run_samples, a->evidence.samples);
	result_set(o, KEY_run_parameters, parameters_doc(a, &run->params));
	return o;
}

static json_t *
before_doc(const struct result_run *run)
{
	json_t *list = json_array(), *o;
	const struct result_before *b;

	for (b = run->before; b < run->before + run->n_before; b++) {
		o = json_object();
		result_set(o, KEY_before_run, json_integer(b->run_id));
		result_set(o, KEY_before_replaced, iso_text(b->replaced_wall_ns));
		put_text(o, KEY_before_why, b->why);
		put_text(o, KEY_before_stage, b->stage);
		put_text(o, KEY_before_sentence, b->sentence);
		put_real(o, KEY_before_bytes_per_s, b->bytes_per_s);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *
resultdoc_facts(const struct analysis *a, const struct judge_params *params)
{
	json_t *doc = json_object();

	result_set(doc, KEY_result_session, session_doc(&a->evidence, &a->judgement));
	result_set(doc, KEY_result_verdict, verdict_doc(a));
	result_set(doc, KEY_result_bottleneck, bottleneck_doc(&a->evidence, &a->judgement, params));
	result_set(doc, KEY_result_chain, resultdoc_chain(a));
	result_set(doc, KEY_result_timeline, resultdoc_timeline(a));
	return doc;
}

static void
put_claims(json_t *doc, enum result_key key, const struct claims *c)
{
	char *text = claims_text(c);

	put_text(doc, key, text);
	free(text);
}

char *
resultdoc_build(const struct analysis *a, const struct result_run *run)
{
	const struct evidence *e = &a->evidence;
	const struct judgement *j = &a->judgement;
	json_t *doc = json_object();
	char *out;

	put_text(doc, KEY_result_schema, "narrows-result/1");
	put_claims(doc, KEY_result_headline, &a->headline);
	put_claims(doc, KEY_result_remedy, &a->remedy);
	result_set(doc, KEY_result_session, session_doc(e, j));
	result_set(doc, KEY_result_verdict, verdict_doc(a));
	result_set(doc, KEY_result_usual, resultdoc_usual(&a->usual));
	result_set(doc, KEY_result_changed, resultdoc_changed(&a->changed));
	result_set(doc, KEY_result_advice, resultdoc_advice(a));
	result_set(doc, KEY_result_claims, resultdoc_claims(a));
	result_set(doc, KEY_result_bottleneck, bottleneck_doc(e, j, &run->params.judge));
	result_set(doc, KEY_result_changes, resultdoc_changes(a));
	result_set(doc, KEY_result_density, resultdoc_density(a, &run->params.classes));
	result_set(doc, KEY_result_io, resultdoc_iotime(a));
	result_set(doc, KEY_result_kernel, resultdoc_kernel(a));
	result_set(doc, KEY_result_chain, resultdoc_chain(a));
	result_set(doc, KEY_result_steps, resultdoc_steps(a));
	result_set(doc, KEY_result_reduction, resultdoc_reduction(a, &run->params.reduction));
	result_set(doc, KEY_result_timeline, resultdoc_timeline(a));
	result_set(doc, KEY_result_quality, quality_doc(e));
	result_set(doc, KEY_result_senders, senders_doc(&e->owners));
	result_set(doc, KEY_result_with_all, with_all_doc(a));
	result_set(doc, KEY_result_run, run_doc(a, run));
	result_set(doc, KEY_result_before, before_doc(run));
	out = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(NUMBER_DIGITS));
	json_decref(doc);
	return out;
}
