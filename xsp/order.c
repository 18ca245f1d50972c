/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/order.h"

#include <math.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/frame.h"

/* --- lists of keys and values --- */

/* Too long a text is refused: cut text would mean something else. */
static bool
take_text(const struct nw_kv *kv, size_t n, const char *key, char *out, size_t cap)
{
	const char *text = nw_kv_text(kv, n, key);
	size_t len = text != NULL ? strlen(text) : 0;

	if (len >= cap)
		return false;
	memcpy(out, text != NULL ? text : "", len + 1);
	return true;
}

static bool
take_port(const struct nw_kv *kv, size_t n, const char *key, uint16_t *out)
{
	int64_t port = nw_kv_int(kv, n, key, 0);

	*out = (uint16_t)port;
	return port >= 0 && port <= UINT16_MAX;
}

/* Bounds are checked before the double becomes an integer. A missing key is 0. */
static bool
take_seconds(const struct nw_kv *kv, size_t n, const char *key, int64_t *out_ns)
{
	double s = nw_kv_real(kv, n, key, 0);

	if (!(s >= 0 && s <= 1e6))
		return false;
	*out_ns = llround(s * 1e9);
	return true;
}

/* --- orders --- */

static bool
within(int64_t ns, int64_t min_ns, int64_t max_ns)
{
	return ns >= min_ns && ns <= max_ns;
}

/* Why the pattern of a replay is none; NULL for a good pattern, and without a pattern. */
static const char *
replay_fault(const struct nw_order *o)
{
	const struct nw_replay *r = &o->replay;

	if (r->way == NW_REPLAY_NONE)
		return NULL;
	if (o->opt != NW_OPT_START || nw_order_has_connection(o) || o->task_id[0] == '\0')
		return "a replay is a START for a session, without connection";
	if (r->target[0] == '\0')
		return "a replay without target";
	if (!within(r->op_bytes, 1, NW_REPLAY_OP_MAX) ||
	    !within(r->bytes, r->op_bytes, NW_REPLAY_BYTES_MAX))
		return "bytes of a replay out of range: operation 1 to 16 MiB, at most 1 GiB";
	if (!(r->random_share >= 0 && r->random_share <= 1))
		return "share of a replay out of range 0 to 1";
	if (!within(r->pause_ns, 0, NW_REPLAY_PAUSE_MAX_NS) ||
	    !within(r->time_ns, 1, NW_REPLAY_TIME_MAX_NS))
		return "time of a replay out of range: pause up to 1 s, at most 10 s";
	return NULL;
}

int
nw_order_check(const struct nw_order *o, const char **why)
{
	bool some_connection =
	    o->src[0] != '\0' || o->dst[0] != '\0' || o->sport != 0 || o->dport != 0;

	*why = NULL;
	if (o->opt != NW_OPT_START && o->opt != NW_OPT_STOP && o->opt != NW_OPT_RATE)
		*why = "no such order";
	else if (o->id[0] == '\0' || strpbrk(o->id, " \t\r\n") != NULL)
		*why = "an order without id, or with blanks in it";
	else if (o->opt == NW_OPT_STOP)
		return NW_OK;
	else if (o->opt == NW_OPT_START && some_connection && !nw_order_has_connection(o))
		*why = "a connection is src, sport, dst and dport";
	else if (o->opt == NW_OPT_START && !some_connection && o->event_type[0] == '\0')
		*why = "nothing named to start";
	else if (o->opt == NW_OPT_RATE && o->collection_ns == 0)
		*why = "a rate without collection interval";
	else if (o->collection_ns != 0 &&
	    !within(o->collection_ns, NW_ORDER_COLLECTION_MIN_NS, NW_ORDER_PERIOD_MAX_NS))
		*why = "collection interval out of range 10 ms to 1 h";
	else if (o->report_ns != 0 &&
	    !within(o->report_ns, o->collection_ns, NW_ORDER_PERIOD_MAX_NS))
		*why = "report period out of range: collection interval to 1 h";
	else if (o->keep_ns != 0 &&
	    (o->opt != NW_OPT_RATE || !within(o->keep_ns, o->collection_ns, NW_ORDER_KEEP_MAX_NS)))
		*why = "kept samples out of range: of RATE, collection interval to 10 m";
	else if (!within(o->lease_ns, NW_ORDER_LEASE_MIN_NS, NW_ORDER_LEASE_MAX_NS))
		*why = "lease out of range 100 ms to 1 d";
	else
		*why = replay_fault(o);
	return *why == NULL ? NW_OK : NW_EPROTO;
}

static void
put_text(struct nw_kv *kv, size_t *n, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		kv[(*n)++] = (struct nw_kv){ key, NW_KV_TEXT, { .text = text } };
}

static void
put_int(struct nw_kv *kv, size_t *n, const char *key, int64_t i)
{
	kv[(*n)++] = (struct nw_kv){ key, NW_KV_INT, { .i = i } };
}

static void
put_real(struct nw_kv *kv, size_t *n, const char *key, double d)
{
	kv[(*n)++] = (struct nw_kv){ key, NW_KV_REAL, { .d = d } };
}

static void
put_seconds(struct nw_kv *kv, size_t *n, const char *key, int64_t ns)
{
	if (ns != 0)
		put_real(kv, n, key, (double)ns / 1e9);
}

static void
put_replay(struct nw_kv *kv, size_t *n, const struct nw_replay *r)
{
	if (r->way == NW_REPLAY_NONE)
		return;
	put_text(kv, n, "replay", nw_replay_word(r->way));
	put_text(kv, n, "replay_target", r->target);
	put_int(kv, n, "replay_op_bytes", r->op_bytes);
	put_real(kv, n, "replay_random_share", r->random_share);
	put_seconds(kv, n, "replay_pause_s", r->pause_ns);
	put_int(kv, n, "replay_bytes", r->bytes);
	put_seconds(kv, n, "replay_time_s", r->time_ns);
}

/* A way unknown to this version is no replay. */
static bool
take_replay(const struct nw_kv *kv, size_t n, struct nw_replay *r)
{
	const char *way = nw_kv_text(kv, n, "replay");

	if (way == NULL || (r->way = nw_replay_parse(way)) == NW_REPLAY_NONE)
		return true;
	r->op_bytes = nw_kv_int(kv, n, "replay_op_bytes", 0);
	r->bytes = nw_kv_int(kv, n, "replay_bytes", 0);
	r->random_share = nw_kv_real(kv, n, "replay_random_share", 0);
	return take_text(kv, n, "replay_target", r->target, sizeof(r->target)) &&
	    take_seconds(kv, n, "replay_pause_s", &r->pause_ns) &&
	    take_seconds(kv, n, "replay_time_s", &r->time_ns);
}

int
nw_order_encode(struct nw_doc_buf *out, const struct nw_order *o)
{
	struct nw_kv kv[NW_ORDER_KEYS_MAX];
	const char *why;
	size_t n = 0;

	if (nw_order_check(o, &why) < 0)
		return NW_EINVAL;
	put_text(kv, &n, "id", o->id);
	if (o->opt != NW_OPT_STOP) {
		put_text(kv, &n, "event_type", o->event_type);
		put_text(kv, &n, "task_id", o->task_id);
		if (nw_order_has_connection(o)) {
			put_text(kv, &n, "src", o->src);
			put_int(kv, &n, "sport", o->sport);
			put_text(kv, &n, "dst", o->dst);
			put_int(kv, &n, "dport", o->dport);
		}
		put_seconds(kv, &n, "collection_interval_s", o->collection_ns);
		put_seconds(kv, &n, "report_period_s", o->report_ns);
		put_seconds(kv, &n, "lease_s", o->lease_ns);
		put_seconds(kv, &n, "keep_s", o->keep_ns);
		put_replay(kv, &n, &o->replay);
	}
	return nw_kv_encode(out, kv, n);
}

int
nw_order_decode(struct nw_order *o, uint16_t opt, const uint8_t *buf, size_t len, const char **why)
{
	struct nw_kv kv[NW_ORDER_KEYS_MAX];
	size_t n = 0;
	int rc;

	memset(o, 0, sizeof(*o));
	if ((rc = nw_kv_decode(buf, len, kv, NW_ORDER_KEYS_MAX, &n, why)) < 0)
		return rc;
	o->opt = opt;
	if (!take_text(kv, n, "id", o->id, sizeof(o->id)) ||
	    !take_text(kv, n, "event_type", o->event_type, sizeof(o->event_type)) ||
	    !take_text(kv, n, "task_id", o->task_id, sizeof(o->task_id)) ||
	    !take_text(kv, n, "src", o->src, sizeof(o->src)) ||
	    !take_text(kv, n, "dst", o->dst, sizeof(o->dst))) {
		*why = "text of an order too long";
		return NW_ETOOBIG;
	}
	if (!take_port(kv, n, "sport", &o->sport) || !take_port(kv, n, "dport", &o->dport) ||
	    !take_seconds(kv, n, "collection_interval_s", &o->collection_ns) ||
	    !take_seconds(kv, n, "report_period_s", &o->report_ns) ||
	    !take_seconds(kv, n, "lease_s", &o->lease_ns) ||
	    !take_seconds(kv, n, "keep_s", &o->keep_ns) || !take_replay(kv, n, &o->replay)) {
		*why = "number of an order out of range";
		return NW_EPROTO;
	}
	return nw_order_check(o, why);
}

/* --- DIET --- */

static int
diet_check(const struct nw_diet *d, const char **why)
{
	*why = NULL;
	if (d->series == NULL || strlen(d->series) > NW_DIET_BYTES_MAX)
		*why = "a diet without series, or with too many";
	else if (!within(d->interval_ns, NW_ORDER_COLLECTION_MIN_NS, NW_ORDER_PERIOD_MAX_NS))
		*why = "interval of a diet out of range 10 ms to 1 h";
	else if (!within(d->lease_ns, NW_ORDER_LEASE_MIN_NS, NW_ORDER_LEASE_MAX_NS))
		*why = "lease out of range 100 ms to 1 d";
	return *why == NULL ? NW_OK : NW_EPROTO;
}

int
nw_diet_encode(struct nw_doc_buf *out, const struct nw_diet *d)
{
	struct nw_kv kv[3];
	const char *why;
	size_t n = 0;

	if (diet_check(d, &why) < 0)
		return NW_EINVAL;
	kv[n++] = (struct nw_kv){ "series", NW_KV_TEXT, { .text = d->series } };
	put_seconds(kv, &n, "interval_s", d->interval_ns);
	put_seconds(kv, &n, "lease_s", d->lease_ns);
	return nw_kv_encode(out, kv, n);
}

int
nw_diet_decode(struct nw_diet *d, const uint8_t *buf, size_t len, const char **why)
{
	struct nw_kv kv[NW_ORDER_KEYS_MAX];
	size_t n = 0;
	int rc;

	memset(d, 0, sizeof(*d));
	if ((rc = nw_kv_decode(buf, len, kv, NW_ORDER_KEYS_MAX, &n, why)) < 0)
		return rc;
	d->series = nw_kv_text(kv, n, "series");
	if (d->series == NULL)
		d->series = ""; /* the end of a diet */
	if (!take_seconds(kv, n, "interval_s", &d->interval_ns) ||
	    !take_seconds(kv, n, "lease_s", &d->lease_ns)) {
		*why = "number of a diet out of range";
		return NW_EPROTO;
	}
	return diet_check(d, why);
}

/* --- STATUS --- */

int
nw_order_status_encode(struct nw_doc_buf *out, const struct nw_order_status *s)
{
	struct nw_kv kv[NW_ORDER_KEYS_MAX];
	size_t n = 0;

	put_text(kv, &n, "collecting", s->collecting);
	put_text(kv, &n, "orders", s->orders);
	put_text(kv, &n, "refused", s->refused);
	put_text(kv, &n, "declined", s->declined);
	put_real(kv, &n, "collection_interval_s", s->collection_s);
	put_real(kv, &n, "report_period_s", s->report_s);
	put_real(kv, &n, "cpu_s", s->cpu_s);
	put_real(kv, &n, "budget", s->budget);
	put_real(kv, &n, "slowed", s->slowed);
	if (!isnan(s->cpu_share))
		put_real(kv, &n, "cpu_share", s->cpu_share);
	put_int(kv, &n, "rss_bytes", s->rss_bytes);
	put_int(kv, &n, "docs_queued", s->docs_queued);
	put_int(kv, &n, "docs_dropped", s->docs_dropped);
	put_int(kv, &n, "orders_rejected", s->orders_rejected);
	if (s->samples != NW_STATUS_UNSAID)
		put_int(kv, &n, "samples", s->samples);
	put_int(kv, &n, "overruns", s->overruns);
	if (s->diet_series != NW_STATUS_UNSAID) {
		put_int(kv, &n, "diet_series", s->diet_series);
		put_int(kv, &n, "diet_unknown", s->diet_unknown);
	}
	return nw_kv_encode(out, kv, n);
}

int
nw_order_status_decode(struct nw_order_status *s, const uint8_t *buf, size_t len, const char **why)
{
	struct nw_kv kv[NW_ORDER_KEYS_MAX];
	size_t n = 0;
	int rc;

	memset(s, 0, sizeof(*s));
	if ((rc = nw_kv_decode(buf, len, kv, NW_ORDER_KEYS_MAX, &n, why)) < 0)
		return rc;
	s->collecting = nw_kv_text(kv, n, "collecting");
	s->orders = nw_kv_text(kv, n, "orders");
	s->refused = nw_kv_text(kv, n, "refused");
	s->declined = nw_kv_text(kv, n, "declined");
	s->collection_s = nw_kv_real(kv, n, "collection_interval_s", NAN);
	s->report_s = nw_kv_real(kv, n, "report_period_s", NAN);
	s->cpu_s = nw_kv_real(kv, n, "cpu_s", NAN);
	s->budget = nw_kv_real(kv, n, "budget", 0);
	s->slowed = nw_kv_real(kv, n, "slowed", 1);
	s->cpu_share = nw_kv_real(kv, n, "cpu_share", NAN);
	s->rss_bytes = nw_kv_int(kv, n, "rss_bytes", 0);
	s->docs_queued = nw_kv_int(kv, n, "docs_queued", 0);
	s->docs_dropped = nw_kv_int(kv, n, "docs_dropped", 0);
	s->orders_rejected = nw_kv_int(kv, n, "orders_rejected", 0);
	s->samples = nw_kv_int(kv, n, "samples", NW_STATUS_UNSAID);
	s->overruns = nw_kv_int(kv, n, "overruns", 0);
	s->diet_series = nw_kv_int(kv, n, "diet_series", NW_STATUS_UNSAID);
	s->diet_unknown = nw_kv_int(kv, n, "diet_unknown", NW_STATUS_UNSAID);
	if (!(s->cpu_s >= 0)) {
		*why = "STATUS without cpu_s";
		return NW_EPROTO;
	}
	return NW_OK;
}

/* --- CLOCK --- */

int
nw_clock_encode(struct nw_doc_buf *out, const struct nw_clock *c)
{
	struct nw_kv kv[3];
	size_t n = 0;

	put_int(kv, &n, "t1_ns", c->t1_wall_ns);
	if (c->t2_wall_ns != 0) {
		put_int(kv, &n, "t2_ns", c->t2_wall_ns);
		put_int(kv, &n, "t3_ns", c->t3_wall_ns);
	}
	return nw_kv_encode(out, kv, n);
}

int
nw_clock_decode(struct nw_clock *c, const uint8_t *buf, size_t len, const char **why)
{
	struct nw_kv kv[NW_ORDER_KEYS_MAX];
	size_t n = 0;
	int rc;

	memset(c, 0, sizeof(*c));
	if ((rc = nw_kv_decode(buf, len, kv, NW_ORDER_KEYS_MAX, &n, why)) < 0)
		return rc;
	c->t1_wall_ns = nw_kv_int(kv, n, "t1_ns", 0);
	c->t2_wall_ns = nw_kv_int(kv, n, "t2_ns", 0);
	c->t3_wall_ns = nw_kv_int(kv, n, "t3_ns", 0);
	if (c->t1_wall_ns <= 0 || c->t2_wall_ns < 0 || c->t3_wall_ns < c->t2_wall_ns) {
		*why = "CLOCK with times that cannot be";
		return NW_EPROTO;
	}
	return NW_OK;
}

int
nw_clock_offset(const struct nw_clock *c, int64_t t4_wall_ns, double *offset_s, double *bound_s)
{
	int64_t away_ns = t4_wall_ns - c->t1_wall_ns, held_ns = c->t3_wall_ns - c->t2_wall_ns;

	if (c->t1_wall_ns <= 0 || c->t2_wall_ns <= 0 || held_ns < 0 || held_ns > away_ns)
		return NW_EPROTO;
	/* Differences of positive times are exact and do not overflow; their sum may: a peer's
	 * clock can say anything. */
	*offset_s =
	    ((double)(c->t2_wall_ns - c->t1_wall_ns) + (double)(c->t3_wall_ns - t4_wall_ns)) / 2e9;
	*bound_s = (double)(away_ns - held_ns) / 2e9;
	return NW_OK;
}

bool
nw_order_word(const char *words, const char *word)
{
	size_t len = strlen(word), n;

	for (; words != NULL && *words != '\0'; words += n) {
		words += strspn(words, " ");
		n = strcspn(words, " ");
		if (n == len && n > 0 && memcmp(words, word, n) == 0)
			return true;
	}
	return false;
}
