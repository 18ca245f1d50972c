/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of connections: of the session's own programs, and of blipp, for programs without
 * reports of their TCP. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NS = 1e-9, US = 1e-6, MS = 1e-3;

/* The kernel's word of a connection; NaN where a row leaves a value out. Counters rise. */
struct tcp_word {
	double rtt_s, rtt_min_s, cwnd_bytes, delivery_bytes_per_s, snd_wnd_bytes, snd_mss_bytes;
	double busy_s, rwnd_limited_s, sndbuf_limited_s, retrans; /* counters */
	double unread_share;
	double out_bytes; /* counter; NaN where rows tell the bytes of their own time */
};

/* The span since the row before; the first row of a connection covers a window. */
static struct span
connection_span(const struct loader *l, const struct row *r)
{
	struct span s = { .begin_wall_ns = l->source->last_wall_ns,
		.end_wall_ns = r->b->t_wall_ns[r->i] };

	if (s.begin_wall_ns == 0 || s.begin_wall_ns >= s.end_wall_ns)
		s.begin_wall_ns = s.end_wall_ns - l->e->step_ns;
	return s;
}

/* Spreads the increase of a kernel's counter. */
static void
counter_spread(const struct loader *l, double **a, const struct span *s, double *before, double now)
{
	if (!isfinite(now))
		return;
	grid_spread(l->e, grid_array(l->e, a, 0), s, now - *before);
	*before = now;
}

/* The kernel may have been asked at the end alone: its counters then cover all rows before, and of
 * the first row at least the time in which data was in flight. */
static void
counters_spread(struct loader *l, const struct tcp_word *w, struct evidence_connection *k,
    const struct span *row)
{
	struct evidence_counters *at = &k->at;
	struct span s = *row;
	int64_t grown_ns;

	if (at->wall_ns == 0)
		at->wall_ns = row->begin_wall_ns;
	if (!isfinite(w->busy_s))
		return;
	s.begin_wall_ns = at->wall_ns;
	grown_ns = llround((w->busy_s - at->busy_s) / NS);
	if (grown_ns > s.end_wall_ns - s.begin_wall_ns)
		s.begin_wall_ns = s.end_wall_ns - grown_ns;
	at->wall_ns = s.end_wall_ns;
	k->asked++;
	counter_spread(l, &k->busy, &s, &at->busy_s, w->busy_s);
	counter_spread(l, &k->rwnd, &s, &at->rwnd_s, w->rwnd_limited_s);
	counter_spread(l, &k->sndbuf, &s, &at->sndbuf_s, w->sndbuf_limited_s);
	counter_spread(l, &k->resent, &s, &at->retrans, w->retrans);
	counter_spread(l, &k->sent, &s, &at->out_bytes, w->out_bytes);
}

static void
word_add(struct loader *l, const struct tcp_word *w, const struct span *s)
{
	struct evidence_connection *k = &l->e->connections[l->source->item];
	const struct evidence *e = l->e;

	last_known(&k->rtt_s, w->rtt_s);
	last_known(&k->rtt_min_s, w->rtt_min_s);
	last_known(&k->retrans, w->retrans);
	last_known(&k->cwnd_bytes, w->cwnd_bytes);
	last_known(&k->busy_s, w->busy_s);
	last_known(&k->rwnd_limited_s, w->rwnd_limited_s);
	last_known(&k->sndbuf_limited_s, w->sndbuf_limited_s);
	last_known(&k->snd_wnd_bytes, w->snd_wnd_bytes);
	k->snd_wnd_most_bytes = fmax(k->snd_wnd_most_bytes, known_or_0(w->snd_wnd_bytes));
	last_known(&k->snd_mss_bytes, w->snd_mss_bytes);
	counters_spread(l, w, k, s);
	grid_gauge(e, grid_array(e, &k->rtt, NAN), s, w->rtt_s);
	grid_gauge(e, grid_array(e, &k->cwnd, NAN), s, w->cwnd_bytes);
	grid_gauge(e, grid_array(e, &k->delivery, NAN), s, w->delivery_bytes_per_s);
	if (isfinite(w->unread_share))
		grid_gauge(e, grid_array(e, &k->unread, NAN), s, w->unread_share);
}

void
connection_row(struct loader *l, const struct row *r)
{
	struct evidence_connection *k = &l->e->connections[l->source->item];
	struct span s = connection_span(l, r);
	const struct columns *c = r->c;
	double out_bytes = known_or_0(row_cell(r, c->bytes_out));
	struct tcp_word w = { .rtt_s = row_cell(r, c->rtt_s),
		.rtt_min_s = row_cell(r, c->rtt_min_s),
		.cwnd_bytes = row_cell(r, c->cwnd_bytes),
		.delivery_bytes_per_s = row_cell(r, c->delivery_rate),
		.snd_wnd_bytes = row_cell(r, c->snd_wnd),
		.snd_mss_bytes = row_cell(r, c->snd_mss),
		.busy_s = row_cell(r, c->busy_s),
		.rwnd_limited_s = row_cell(r, c->rwnd_limited_s),
		.sndbuf_limited_s = row_cell(r, c->sndbuf_limited_s),
		.retrans = row_cell(r, c->retrans),
		.unread_share = row_cell(r, c->unread_share),
		.out_bytes = NAN };

	k->bytes_in += known_or_0(row_cell(r, c->bytes_in));
	k->bytes_out += out_bytes;
	if (c->bytes_out >= 0)
		grid_spread(l->e, grid_array(l->e, &k->sent, 0), &s, out_bytes);
	word_add(l, &w, &s);
}

/* Times in ms and us, as RFC 4898 and the kernel have them. */
void
tcp_row(struct loader *l, const struct row *r)
{
	struct evidence_connection *k = &l->e->connections[l->source->item];
	struct span s = connection_span(l, r);
	const struct columns *c = r->c;
	struct tcp_word w = { .rtt_s = MS * row_cell(r, c->SmoothedRTT),
		.rtt_min_s = MS * row_cell(r, c->MinRTT),
		.cwnd_bytes = row_cell(r, c->CurCwnd),
		.delivery_bytes_per_s = row_cell(r, c->linux_delivery_rate),
		.snd_wnd_bytes = row_cell(r, c->CurRwinRcvd),
		.snd_mss_bytes = row_cell(r, c->CurMSS),
		.busy_s = US * row_cell(r, c->linux_busy_time),
		.rwnd_limited_s = US * row_cell(r, c->linux_rwnd_limited),
		.sndbuf_limited_s = US * row_cell(r, c->linux_sndbuf_limited),
		.retrans = row_cell(r, c->SegsRetrans),
		.unread_share = NAN,
		.out_bytes = row_cell(r, c->HCThruOctetsAcked) };

	last_known(&k->bytes_out, w.out_bytes);
	last_known(&k->bytes_in, row_cell(r, c->HCThruOctetsReceived));
	word_add(l, &w, &s);
}

void
connection_clear(struct evidence_connection *c)
{
	free(c->src);
	free(c->dst);
	free(c->far_host);
	free(c->busy);
	free(c->rwnd);
	free(c->sndbuf);
	free(c->sent);
	free(c->resent);
	free(c->rtt);
	free(c->cwnd);
	free(c->delivery);
	free(c->unread);
}

/* --- a connection, reported twice --- */

static bool
is_same_end(const struct evidence_connection *a, const struct evidence_connection *b)
{
	return a->sport == b->sport && a->dport == b->dport && a->sport != 0 &&
	    strcmp(a->src, b->src) == 0 && strcmp(a->dst, b->dst) == 0;
}

size_t
connection_watched(struct evidence *e, size_t added)
{
	struct evidence_connection *c = &e->connections[added];
	size_t i;

	for (i = 0; i < added; i++)
		if (e->connections[i].watched && e->connections[i].host == c->host &&
		    is_same_end(&e->connections[i], c)) {
			connection_clear(c);
			e->n_connections--;
			return i;
		}
	return added;
}

/* The program's entry for blipp's connection: original senders have an entry per direction; the
 * entry with most bytes out is the sending end. NULL if the program reported nothing. */
static struct evidence_connection *
own_entry(struct evidence *e, const struct evidence_connection *watched)
{
	struct evidence_connection *o, *best = NULL;

	for (o = e->connections; o < e->connections + e->n_connections; o++)
		if (!o->watched && is_same_end(o, watched) &&
		    (best == NULL || o->asked > best->asked ||
			(o->asked == best->asked && o->bytes_out > best->bytes_out)))
			best = o;
	return best;
}

static void
array_take(double **to, double **from)
{
	free(*to);
	*to = *from;
	*from = NULL;
}

/* The bytes stay the program's own in the session. */
static void
account_take(struct evidence_connection *to, struct evidence_connection *from)
{
	array_take(&to->busy, &from->busy);
	array_take(&to->rwnd, &from->rwnd);
	array_take(&to->sndbuf, &from->sndbuf);
	array_take(&to->resent, &from->resent);
	array_take(&to->rtt, &from->rtt);
	array_take(&to->cwnd, &from->cwnd);
	array_take(&to->delivery, &from->delivery);
	if (to->unread == NULL)
		array_take(&to->unread, &from->unread);
	if (to->sent == NULL)
		array_take(&to->sent, &from->sent);
	to->asked = from->asked;
	to->rtt_s = from->rtt_s;
	to->rtt_min_s = from->rtt_min_s;
	to->retrans = from->retrans;
	to->cwnd_bytes = from->cwnd_bytes;
	to->busy_s = from->busy_s;
	to->rwnd_limited_s = from->rwnd_limited_s;
	to->sndbuf_limited_s = from->sndbuf_limited_s;
	to->snd_wnd_bytes = from->snd_wnd_bytes;
	to->snd_wnd_most_bytes = from->snd_wnd_most_bytes;
	to->snd_mss_bytes = from->snd_mss_bytes;
}

/* Both ask the same kernel. The account that is more than twice as dense over time stays, else the
 * program's own. */
void
connections_join(struct evidence *e)
{
	struct evidence_connection *w, *own;
	size_t i, kept = 0;

	for (i = 0; i < e->n_connections; i++) {
		w = &e->connections[i];
		own = w->watched ? own_entry(e, w) : NULL;
		if (own != NULL && w->asked > 2 * own->asked)
			account_take(own, w);
		if (own != NULL)
			w->asked = 0;
	}
	for (i = 0; i < e->n_connections; i++) {
		w = &e->connections[i];
		if (w->watched && w->asked == 0)
			connection_clear(w);
		else
			e->connections[kept++] = *w;
	}
	e->n_connections = kept;
}
