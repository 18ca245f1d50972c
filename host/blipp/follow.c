/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/lib/addresses.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/field.h"
#include "narrows/frame.h"

/* SEGMENTS: times the sender's segment size, as RFC 4898 counts windows in bytes. */
/* NIBBLE_*: half a byte; BIT: its lowest bit. */
enum width { U8, BIT, NIBBLE_LOW, NIBBLE_HIGH, U16, U32, U64, SEGMENTS };

/* Same order as `where`. */
static const struct series_field fields[] = {
	{ "SegsOut", "{segment}", true },
	{ "SegsIn", "{segment}", true },
	{ "DataSegsOut", "{segment}", true },
	{ "DataSegsIn", "{segment}", true },
	{ "HCDataOctetsOut", "By", true },
	{ "SegsRetrans", "{segment}", true },
	{ "OctetsRetrans", "By", true },
	{ "CurMSS", "By", false },
	{ "SmoothedRTT", "ms", false },
	{ "MinRTT", "ms", false },
	{ "CurRTO", "ms", false },
	{ "RcvRTT", "us", false },
	{ "CurCwnd", "By", false },
	{ "CurSsthresh", "By", false },
	{ "CurTimeoutCount", "1", false },
	{ "CurRwinSent", "By", false },
	{ "CurRwinRcvd", "By", false },
	{ "DSACKDups", "{segment}", true },
	{ "CurAppWQueue", "By", false },
	{ "HCThruOctetsAcked", "By", true },
	{ "HCThruOctetsReceived", "By", true },
	{ "linux_rttvar", "us", false },
	{ "linux_unacked", "{segment}", false },
	{ "linux_lost", "{segment}", false },
	{ "linux_rcv_space", "By", false },
	{ "linux_pacing_rate", "By/s", false },
	{ "linux_delivery_rate", "By/s", false },
	{ "linux_busy_time", "us", true },
	{ "linux_rwnd_limited", "us", true },
	{ "linux_sndbuf_limited", "us", true },
	{ "linux_delivered", "{segment}", true },
	{ "linux_reord_seen", "{event}", true },
	{ "linux_rcv_ooopack", "{segment}", true },
	{ "linux_ca_state", "1", false },
	{ "linux_options", "1", false },
	{ "SndWindScale", "1", false },
	{ "RcvWindScale", "1", false },
	{ "linux_backoff", "1", false },
	{ "linux_sacked", "{segment}", false },
	{ "linux_retrans_out", "{segment}", false },
	{ "linux_reordering", "{segment}", false },
	{ "linux_pmtu", "By", false },
	{ "linux_delivered_ce", "{segment}", true },
	{ "linux_rehash", "{event}", true },
	{ "linux_total_rto", "{event}", true },
	{ "linux_total_rto_recoveries", "{event}", true },
	{ "linux_total_rto_time", "ms", true },
	{ "linux_state", "1", false },
	{ "MSSSent", "By", false },
	{ "MSSRcvd", "By", false },
	{ "linux_max_pacing_rate", "By/s", false },
	{ "linux_delivery_rate_app_limited", "1", false },
	{ "linux_received_ce", "{segment}", true },
	/* computed, or beyond struct tcp_info: see follow_more() */
	{ "PipeSize", "By", false },
	{ "IpTosOut", "1", false },
	{ "CurAppRQueue", "By", false },
	{ "CurRetxQueue", "By", false },
	{ "linux_skmem_rmem", "By", false },
	{ "linux_skmem_rcvbuf", "By", false },
	{ "linux_skmem_wmem", "By", false },
	{ "linux_skmem_sndbuf", "By", false },
	{ "linux_skmem_fwd_alloc", "By", false },
	{ "linux_skmem_wmem_queued", "By", false },
	{ "linux_skmem_optmem", "By", false },
	{ "linux_skmem_backlog", "By", false },
	{ "linux_skmem_drops", "{packet}", true },
	{ "linux_bbr_bw", "By/s", false },
	{ "linux_bbr_min_rtt", "us", false },
	{ "linux_bbr_pacing_gain", "1", false },
	{ "linux_bbr_cwnd_gain", "1", false },
};

static const struct where {
	enum tcpinfo_at at;
	enum width width;
	double unit;
	uint64_t none; /* the kernel's number for "no value"; 0 when there is none */
} where[] = {
	{ TCP_SEGS_OUT, U32, 1, 0 },
	{ TCP_SEGS_IN, U32, 1, 0 },
	{ TCP_DATA_SEGS_OUT, U32, 1, 0 },
	{ TCP_DATA_SEGS_IN, U32, 1, 0 },
	{ TCP_BYTES_SENT, U64, 1, 0 },
	{ TCP_TOTAL_RETRANS, U32, 1, 0 },
	{ TCP_BYTES_RETRANS, U64, 1, 0 },
	{ TCP_SND_MSS, U32, 1, 0 },
	{ TCP_RTT_US, U32, 1e-3, 0 },
	{ TCP_MIN_RTT_US, U32, 1e-3, UINT32_MAX },
	{ TCP_RTO_US, U32, 1e-3, 0 },
	{ TCP_RCV_RTT_US, U32, 1, 0 },
	{ TCP_SND_CWND, SEGMENTS, 1, 0 },
	{ TCP_SND_SSTHRESH, SEGMENTS, 1, INT32_MAX },
	{ TCP_RETRANSMITS, U8, 1, 0 },
	{ TCP_RCV_WND, U32, 1, 0 },
	{ TCP_SND_WND, U32, 1, 0 },
	{ TCP_DSACK_DUPS, U32, 1, 0 },
	{ TCP_NOTSENT_BYTES, U32, 1, 0 },
	{ TCP_BYTES_ACKED, U64, 1, 0 },
	{ TCP_BYTES_RECEIVED, U64, 1, 0 },
	{ TCP_RTTVAR_US, U32, 1, 0 },
	{ TCP_UNACKED, U32, 1, 0 },
	{ TCP_LOST, U32, 1, 0 },
	{ TCP_RCV_SPACE, U32, 1, 0 },
	{ TCP_PACING_RATE, U64, 1, UINT64_MAX },
	{ TCP_DELIVERY_RATE, U64, 1, 0 },
	{ TCP_BUSY_US, U64, 1, 0 },
	{ TCP_RWND_LIMITED_US, U64, 1, 0 },
	{ TCP_SNDBUF_LIMITED_US, U64, 1, 0 },
	{ TCP_DELIVERED, U32, 1, 0 },
	{ TCP_REORD_SEEN, U32, 1, 0 },
	{ TCP_RCV_OOOPACK, U32, 1, 0 },
	{ TCP_CA_STATE, U8, 1, 0 },
	{ TCP_OPTIONS, U8, 1, 0 },
	{ TCP_WSCALES, NIBBLE_LOW, 1, 0 },
	{ TCP_WSCALES, NIBBLE_HIGH, 1, 0 },
	{ TCP_BACKOFF, U8, 1, 0 },
	{ TCP_SACKED, U32, 1, 0 },
	{ TCP_RETRANS_OUT, U32, 1, 0 },
	{ TCP_REORDERING, U32, 1, 0 },
	{ TCP_PMTU, U32, 1, 0 },
	{ TCP_DELIVERED_CE, U32, 1, 0 },
	{ TCP_REHASH, U32, 1, 0 },
	{ TCP_TOTAL_RTO, U16, 1, 0 },
	{ TCP_TOTAL_RTO_RECOVERIES, U16, 1, 0 },
	{ TCP_TOTAL_RTO_TIME, U32, 1, 0 },
	{ TCP_STATE, U8, 1, 0 },
	{ TCP_ADVMSS, U32, 1, 0 },
	{ TCP_RCV_MSS, U32, 1, 0 },
	{ TCP_MAX_PACING_RATE, U64, 1, UINT64_MAX },
	{ TCP_APP_LIMITED, BIT, 1, 0 },
	{ TCP_RECEIVED_CE, U32, 1, 0 },
};

enum {
	N_FIELDS = sizeof(fields) / sizeof(fields[0]),
	N_INFO = sizeof(where) / sizeof(where[0]),
	N_MORE = 4 + TCP_SKMEM_NUMBERS + 4
};
_Static_assert(N_INFO + N_MORE == N_FIELDS, "one place for every field");

const struct series_kind follow_kind = { NW_TYPE_TCP, NULL, fields, N_FIELDS };

static double
field_value(const uint8_t *info, size_t len, const struct where *w)
{
	double v = NAN;

	switch (w->width) {
	case U8: v = len > (size_t)w->at ? info[w->at] : NAN; break;
	case BIT: v = len > (size_t)w->at ? info[w->at] & 1 : NAN; break;
	case NIBBLE_LOW: v = len > (size_t)w->at ? info[w->at] & 15 : NAN; break;
	case NIBBLE_HIGH: v = len > (size_t)w->at ? info[w->at] >> 4 : NAN; break;
	case U16: v = len > (size_t)w->at + 1 ? info[w->at] | info[w->at + 1] << 8 : NAN; break;
	case U64: v = tcpinfo_u64(info, len, w->at, 1); break;
	case U32:
	case SEGMENTS: v = tcpinfo_u32(info, len, w->at, 1); break;
	}
	if (w->none != 0 && v >= (double)w->none)
		return NAN;
	return v * w->unit * (w->width == SEGMENTS ? tcpinfo_u32(info, len, TCP_SND_MSS, 1) : 1);
}

void
follow_parse(const uint8_t *info, size_t len, double *values)
{
	size_t i;

	for (i = 0; i < N_FIELDS; i++)
		values[i] = i < N_INFO ? field_value(info, len, &where[i]) : NAN;
}

/* Bytes on their way: segments sent and neither acknowledged nor lost. */
static double
pipe_size(const uint8_t *info, size_t len)
{
	return (tcpinfo_u32(info, len, TCP_UNACKED, 1) - tcpinfo_u32(info, len, TCP_SACKED, 1) -
		   tcpinfo_u32(info, len, TCP_LOST, 1) +
		   tcpinfo_u32(info, len, TCP_RETRANS_OUT, 1)) *
	    tcpinfo_u32(info, len, TCP_SND_MSS, 1);
}

void
follow_more(const struct tcpinfo_more *more, const uint8_t *info, size_t len, double *values)
{
	double *v = values + N_INFO, unsent = tcpinfo_u32(info, len, TCP_NOTSENT_BYTES, 1);

	*v++ = pipe_size(info, len);
	*v++ = more->tos;
	*v++ = more->receive_queue_bytes;
	*v++ = more->send_queue_bytes - unsent;
	memcpy(v, more->skmem, sizeof(more->skmem));
	v += TCP_SKMEM_NUMBERS;
	*v++ = more->bbr_bytes_per_s;
	*v++ = more->bbr_min_rtt_us;
	*v++ = more->bbr_pacing_gain;
	*v++ = more->bbr_cwnd_gain;
}

bool
follow_is_read(const char *field)
{
#define X(name) #name,
	static const char *const read[] = { NW_FIELDS_READ(X) };
#undef X
	size_t i;

	for (i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		if (strcmp(field, read[i]) == 0)
			return true;
	return false;
}

/* --- the connections followed --- */

void
followers_init(struct followers *f)
{
	f->n = 0;
	f->all_fields = false;
	f->fd = tcpinfo_open();
	f->error = f->fd < 0 ? errno : 0;
}

void
followers_clear(struct followers *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->n = 0;
	f->fd = -1;
}

static struct follower *
follower_of(struct followers *f, const char *order_id)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strcmp(f->list[i].order_id, order_id) == 0)
			return &f->list[i];
	return NULL;
}

static bool
same_connection(const struct nw_order *a, const struct nw_order *b)
{
	return strcmp(a->src, b->src) == 0 && strcmp(a->dst, b->dst) == 0 && a->sport == b->sport &&
	    a->dport == b->dport && strcmp(a->task_id, b->task_id) == 0;
}

static void
follower_start(struct followers *f, const struct nw_order *o, const struct report *r)
{
	struct follower *w;

	if (f->n == LEASES_MAX)
		return;
	w = &f->list[f->n];
	memset(w, 0, sizeof(*w));
	if (!net_addr_parse(&w->local, o->src, o->sport) ||
	    !net_addr_parse(&w->peer, o->dst, o->dport) || w->local.family != w->peer.family)
		return;
	memcpy(w->order_id, o->id, sizeof(w->order_id));
	w->order = *o;
	snprintf(w->id, sizeof(w->id), "%.150s/tcp/%s/%s/%u-%s/%u", r->host, o->id, o->src,
	    o->sport, o->dst, o->dport);
	f->n++;
}

static void
follower_end(struct follower *w, struct report *r)
{
	if (w->announced)
		nw_provider_meta_end(r->provider, w->id);
}

void
followers_sync(struct followers *f, const struct leases *l, int64_t base_ns, struct report *r,
    struct clock_pair now)
{
	const struct lease *s;
	struct follower *w;
	size_t i, kept = 0;

	for (i = 0; i < f->n; i++) {
		s = leases_find(l, f->list[i].order_id);
		if (s == NULL || !same_connection(&s->order, &f->list[i].order)) {
			follower_end(&f->list[i], r);
			continue;
		}
		if (kept != i)
			f->list[kept] = f->list[i];
		kept++;
	}
	f->n = kept;
	for (i = 0; i < l->n; i++) {
		s = &l->list[i];
		if (s->order.opt != NW_OPT_START || !nw_order_has_connection(&s->order))
			continue;
		if (follower_of(f, s->order.id) == NULL)
			follower_start(f, &s->order, r);
		if ((w = follower_of(f, s->order.id)) != NULL)
			ticker_set(&w->ticker,
			    s->order.collection_ns != 0
				? s->order.collection_ns * (f->stretch > 0 ? f->stretch : 1)
				: base_ns,
			    now);
	}
}

/* --- sampling --- */

static int
announce(struct follower *w, struct report *r)
{
	struct nw_kv subject[] = {
		{ "hostname", NW_KV_TEXT, { .text = r->host } },
		{ "type", NW_KV_TEXT, { .text = "network" } },
		{ "src", NW_KV_TEXT, { .text = w->order.src } },
		{ "sport", NW_KV_INT, { .i = w->order.sport } },
		{ "dst", NW_KV_TEXT, { .text = w->order.dst } },
		{ "dport", NW_KV_INT, { .i = w->order.dport } },
		{ "task_id", NW_KV_TEXT,
		    { .text = w->order.task_id[0] != '\0' ? w->order.task_id : NULL } },
	};
	struct series_params params;
	size_t n = series_describe(&follow_kind, (double)w->ticker.interval_ns / 1e9, &params);
	int rc;

	if (w->congestion[0] != '\0')
		params.kv[n++] =
		    (struct nw_kv){ "congestion", NW_KV_TEXT, { .text = w->congestion } };
	rc = nw_provider_meta(r->provider, w->id, NULL, follow_kind.event_type, subject,
	    sizeof(subject) / sizeof(subject[0]), params.kv, n);
	w->announced = rc == NW_OK;
	return rc;
}

static int
follower_sample(struct follower *w, int fd, bool all_fields, struct report *r)
{
	const char *names[N_FIELDS];
	uint8_t info[TCPINFO_BYTES];
	double values[N_FIELDS];
	struct tcpinfo_more more;
	size_t i, n = 0, len = tcpinfo_ask_more(fd, &w->local, &w->peer, info, &more);
	int rc;

	if (len > 0 && strcmp(more.congestion, w->congestion) != 0) {
		memcpy(w->congestion, more.congestion, sizeof(w->congestion));
		follower_end(w, r); /* another algorithm is another description */
		w->announced = false;
	}

	w->found |= len > 0;
	if (len == 0 || (!w->announced && (rc = announce(w, r)) < 0))
		return len == 0 ? NW_OK : rc;
	follow_parse(info, len, values);
	follow_more(&more, info, len, values);
	for (i = 0; i < N_FIELDS; i++)
		if (all_fields || follow_is_read(fields[i].name)) {
			names[n] = fields[i].name;
			values[n++] = values[i];
		}
	r->values += n;
	return nw_provider_data(r->provider, w->id, r->t_wall_ns, names, values, n, NULL, 0);
}

int
followers_sample(struct followers *f, struct report *r, struct clock_pair now)
{
	int rc, worst = NW_OK;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (ticker_is_due(&f->list[i].ticker, now) &&
		    (rc = follower_sample(&f->list[i], f->fd, f->all_fields, r)) < 0)
			worst = rc;
	return worst;
}

size_t
followers_ends(const struct followers *f, char out[][PEER_HOST_BYTES], size_t max)
{
	size_t i, k, n = 0;

	for (i = 0; i < f->n && n < max; i++) {
		const char *dst = f->list[i].order.dst;

		for (k = 0; k < n && strcmp(out[k], dst) != 0; k++)
			continue;
		if (k == n && f->list[i].found && strcmp(dst, f->list[i].order.src) != 0 &&
		    strlen(dst) < PEER_HOST_BYTES)
			strcpy(out[n++], dst);
	}
	return n;
}

void
followers_queues(const struct followers *f, struct queues *out)
{
	char interface[IF_NAMESIZE];
	const char *before = "", *src;
	size_t i;

	*out = (struct queues){ .n_irqs = 0 };
	for (i = 0; i < f->n; before = src, i++) {
		src = f->list[i].order.src;
		if (strcmp(src, before) != 0 && addresses_interface(src, interface))
			queues_add(out, "/sys", "/proc", interface);
	}
}

int64_t
followers_due(const struct followers *f)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->list[i].ticker.due_mono_ns < first)
			first = f->list[i].ticker.due_mono_ns;
	return first;
}
