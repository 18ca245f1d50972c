/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/judge_announced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/judge/judge_in.h"
#include "narrows/xmalloc.h"

/* Least share of the time for a stage named by a server's own account of storage and network: with
 * less, the other has nearly as much. */
static const double ACCOUNT_HELD = 0.6;
/* Least share with data in flight for the network by a kernel's account. A kernel counts the time
 * until the last acknowledgement, so a stage in front of the network lowers the share at once. */
static const double FLIGHT_HELD = 0.85;
/* Least share of the fireflies' bytes for the f-stream's to be whole: protocols add far less. */
static const double FILES_LEAST = 0.99;
/* Most uncertainty of a duration, in its own size, for a rate. */
static const double SLACK_MOST = 0.1;
/* The kernel's or the storage's seconds must stand for a real transfer. */
static const double ACCOUNT_LEAST_S = 1;

static double
value(const struct evidence_announced *a, enum nw_announced_field field)
{
	return a->value[field];
}

static double
known(double v)
{
	return isfinite(v) ? v : 0;
}

static bool
is_form(const struct evidence_announced *a, enum nw_announce_form form)
{
	return a->by != NULL && strcmp(a->by, nw_announce_form_name(form)) == 0;
}

/* Whether an earlier announcement of the list is of the same flow: the box restarted, or program
 * and kernel both announce. */
static bool
is_again(const struct evidence *e, size_t k)
{
	const struct evidence_announced *a = &e->announced[k], *b;

	for (b = e->announced; b < a; b++)
		if (!is_form(b, NW_ANNOUNCE_XROOTD) && a->src != NULL && b->src != NULL &&
		    a->dst != NULL && b->dst != NULL && a->sport == b->sport &&
		    a->dport == b->dport && strcmp(a->src, b->src) == 0 &&
		    strcmp(a->dst, b->dst) == 0)
			return true;
	return false;
}

/* --- the transfer --- */

/* Whether bytes went from src to dst. A server that reads does not wait for writes, though it may
 * count the whole time as idle for writes. */
static bool
sends(const struct evidence_announced *a)
{
	const double out = value(a, NW_ANNOUNCED_bytes_out), in = value(a, NW_ANNOUNCED_bytes_in);
	const double reads = known(value(a, NW_ANNOUNCED_read_wait_s)),
		     writes = known(value(a, NW_ANNOUNCED_write_wait_s));

	if (isfinite(out) || isfinite(in))
		return known(out) >= known(in);
	if (reads != writes)
		return reads > writes;
	return known(value(a, NW_ANNOUNCED_read_net_s)) >=
	    known(value(a, NW_ANNOUNCED_write_net_s));
}

static double
bytes_of(const struct evidence_announced *a)
{
	const double moved =
	    fmax(known(value(a, NW_ANNOUNCED_bytes_out)), known(value(a, NW_ANNOUNCED_bytes_in)));

	return moved > 0 ? moved : known(value(a, NW_ANNOUNCED_storage_bytes));
}

/*
 * Bytes of files, as XRootD's f-stream counts them, are exact; fireflies count the bytes of the
 * connections, with the protocol's own. If the f-stream has clearly less than the fireflies, it
 * lost datagrams, or did not count uploads by HTTP, and the fireflies stand. Rucio's traces repeat
 * the sizes of files from its catalogue, and stand alone.
 */
static double
bytes_announced(const struct evidence *e)
{
	double files = 0, flows = 0, traced = 0;
	bool is_unknown = e->announced_more, is_said = false;
	const struct evidence_announced *a;
	size_t n_files = 0, n_traced = 0, i;

	for (i = 0; i < e->n_announced; i++) {
		a = &e->announced[i];
		is_said |= isfinite(value(a, NW_ANNOUNCED_bytes_out)) ||
		    isfinite(value(a, NW_ANNOUNCED_bytes_in)) ||
		    isfinite(value(a, NW_ANNOUNCED_storage_bytes));
		if (is_form(a, NW_ANNOUNCE_XROOTD)) {
			n_files++;
			is_unknown |= isnan(value(a, NW_ANNOUNCED_bytes_in)) ||
			    isnan(value(a, NW_ANNOUNCED_bytes_out));
			files += bytes_of(a);
		} else if (is_form(a, NW_ANNOUNCE_RUCIO)) {
			n_traced++;
			traced += bytes_of(a);
		} else if (is_form(a, NW_ANNOUNCE_XROOTD_TPC) || !is_again(e, i)) {
			flows += bytes_of(a);
		}
	}
	if (flows > 0 && (is_unknown || files < FILES_LEAST * flows))
		return flows;
	if (n_files > 0 && !is_unknown)
		return files;
	if (traced > 0 && flows == 0 && n_traced >= n_files)
		return traced;
	return n_files > 0 || !is_said ? NAN : flows;
}

static void
extend(struct judgement *j, const struct evidence_announced *a)
{
	if (a->first_wall_ns != 0 && (j->first_wall_ns == 0 || a->first_wall_ns < j->first_wall_ns))
		j->first_wall_ns = a->first_wall_ns;
	if (a->last_wall_ns > j->last_wall_ns)
		j->last_wall_ns = a->last_wall_ns;
}

/* The times of fireflies and copies are exact; without them, those of files have a slack. */
static void
times_announced(struct judgement *j, const struct evidence *e)
{
	const struct evidence_announced *a;

	j->first_wall_ns = j->last_wall_ns = 0;
	j->announced.slack_s = j->announced.lost = 0;
	for (a = e->announced; a < e->announced + e->n_announced; a++) {
		j->announced.lost = fmax(j->announced.lost, known(value(a, NW_ANNOUNCED_lost)));
		if (!is_form(a, NW_ANNOUNCE_XROOTD))
			extend(j, a);
	}
	for (a = e->announced; j->first_wall_ns == 0 && a < e->announced + e->n_announced; a++)
		j->announced.slack_s =
		    fmax(j->announced.slack_s, known(value(a, NW_ANNOUNCED_slack_s)));
	if (j->first_wall_ns == 0)
		for (a = e->announced; a < e->announced + e->n_announced; a++)
			extend(j, a);
	j->duration_s = (double)(j->last_wall_ns - j->first_wall_ns) * 1e-9;
}

static void
transfer_announced(struct judgement *j, const struct evidence *e)
{
	const struct evidence_announced *a, *most = e->announced;

	times_announced(j, e);
	j->bytes = bytes_announced(e);
	for (a = e->announced; a < e->announced + e->n_announced; a++)
		if (is_form(a, NW_ANNOUNCE_XROOTD) && isnan(j->bytes) && !e->announced_more)
			j->announced.is_uncounted = true;
	for (a = e->announced; a < e->announced + e->n_announced; a++)
		if (is_form(a, NW_ANNOUNCE_RUCIO) != is_form(most, NW_ANNOUNCE_RUCIO)
			? is_form(most, NW_ANNOUNCE_RUCIO)
			: bytes_of(a) > bytes_of(most))
			most = a;
	j->bytes_per_s =
	    j->duration_s > 0 && j->bytes > 0 && j->announced.slack_s <= SLACK_MOST * j->duration_s
	    ? j->bytes / j->duration_s
	    : NAN;
	j->announced.sender = sends(most) ? most->src : most->dst;
	j->announced.receiver = sends(most) ? most->dst : most->src;
	free(j->route);
	j->route = xasprintf("%s -> %s", j->announced.sender != NULL ? j->announced.sender : "?",
	    j->announced.receiver != NULL ? j->announced.receiver : "?");
	if (j->program == NULL)
		j->program = most->program;
}

/* --- the accounts --- */

/* dCache: seconds that the server waited for its storage and for the network. */
static bool
storage_says(struct announced *out, const struct evidence_announced *a)
{
	const bool reads = sends(a);
	const double wait = value(a, reads ? NW_ANNOUNCED_read_wait_s : NW_ANNOUNCED_write_wait_s),
		     net = value(a, reads ? NW_ANNOUNCED_read_net_s : NW_ANNOUNCED_write_net_s);
	const double connected = value(a, NW_ANNOUNCED_connection_s);
	const double whole = fmax(wait + net, known(connected));

	if (!isfinite(wait) || !isfinite(net) || !(whole >= ACCOUNT_LEAST_S))
		return false;
	out->from = ANNOUNCED_STORAGE;
	out->by = a;
	out->known = fmax(wait, net) >= ACCOUNT_HELD * whole;
	out->share = fmin(1, fmax(wait, net) / whole);
	out->other_share = fmin(1, fmin(wait, net) / whole);
	if (wait >= net)
		out->stage = reads ? NW_STAGE_DISK_READ : NW_STAGE_DISK_WRITE;
	else
		out->stage = reads ? NW_STAGE_NET_WRITE : NW_STAGE_NET_READ;
	return true;
}

/* The sending kernel: seconds with data in flight. */
static bool
kernel_says(struct announced *out, const struct evidence_announced *a)
{
	const double busy = value(a, NW_ANNOUNCED_busy_s),
		     elapsed = value(a, NW_ANNOUNCED_elapsed_s);

	if (!isfinite(busy) || !(elapsed >= ACCOUNT_LEAST_S) || !sends(a) ||
	    !isfinite(value(a, NW_ANNOUNCED_rwnd_limited_s)))
		return false;
	out->from = ANNOUNCED_TCP;
	out->by = a;
	out->share = fmin(1, busy / elapsed);
	out->known = out->share >= FLIGHT_HELD;
	out->stage = NW_STAGE_NET_WRITE;
	return true;
}

/* The sender's flow with most segments sent again; NULL if no kernel counts any. */
static const struct evidence_announced *
resent_most(const struct evidence *e)
{
	const struct evidence_announced *a, *most = NULL;

	for (a = e->announced; a < e->announced + e->n_announced; a++)
		if (sends(a) &&
		    known(value(a, NW_ANNOUNCED_retrans)) >
			(most != NULL ? value(most, NW_ANNOUNCED_retrans) : 0))
			most = a;
	return most;
}

void
announced_find(struct judgement *j, const struct evidence *e)
{
	const struct evidence_announced *a;

	if (j->path.n > 0 || e->n_announced == 0)
		return;
	j->announced.alone = j->announced.is_told = true;
	transfer_announced(j, e);
	for (a = e->announced; a < e->announced + e->n_announced; a++) {
		if (is_form(a, NW_ANNOUNCE_FTS) ||
		    (is_form(a, NW_ANNOUNCE_RUCIO) && j->announced.phases == NULL))
			j->announced.phases = a;
		else if (!is_form(a, NW_ANNOUNCE_LOG) && !is_form(a, NW_ANNOUNCE_RUCIO))
			j->announced.is_told = false;
	}
	j->announced.resent = resent_most(e);
	for (a = e->announced; a < e->announced + e->n_announced; a++)
		if (storage_says(&j->announced, a))
			return;
	for (a = e->announced; a < e->announced + e->n_announced; a++)
		if (kernel_says(&j->announced, a))
			return;
}
