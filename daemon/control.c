/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/control.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <utlist.h>

#include "daemon/conf.h"
#include "narrows/eventtype.h"
#include "narrows/provoked.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/frame.h"

#define CLOCK_PERIOD_NS (10 * INT64_C(1000000000))

enum {
	TICK_MS = 250,
	HANDS_MAX = 64,       /* orders by hand at once */
	ASKED_MAX = 8,        /* orders by hand of one owner's programs */
	OPERATOR_WEIGHT = 64, /* an operator's order displaces a program's */
	OWNERS_MAX = 256
};

/* An order by hand. */
struct hand {
	struct hand *prev, *next;
	struct fairq_item place;
	char *host;
	struct nw_order order;
	int64_t until_mono_ns;
};

struct control {
	const struct conf *conf;
	struct control_rule rule; /* joined NULL: without rule */
	struct diets *diets;      /* NULL: none */
	struct box *box;          /* NULL: none */
	struct control_peer *peers;
	struct hand *hands;
	struct fairq *places; /* of orders by hand */
	struct fairrate *log_rate;
	uint64_t next_hand;
	int64_t renew_mono_ns;
	struct event *timer; /* runs while an order needs renewal; NULL: no timer runs */
};

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;

	(void)fd;
	(void)what;
	control_tick(c, nw_mono_ns());
	if (c->hands != NULL || (c->rule.joined != NULL && !c->rule.is_idle(c->rule.arg)))
		control_wake(c);
}

struct control *
control_new(struct event_base *base, const struct conf *conf)
{
	static const struct fairq_limits places = { HANDS_MAX, HANDS_MAX, OWNERS_MAX };
	struct control *c = xcalloc(1, sizeof(*c));

	c->conf = conf;
	if ((c->places = fairq_new(&places)) == NULL ||
	    fairq_weigh(c->places, CONTROL_OPERATOR, OPERATOR_WEIGHT) < 0)
		fatalx("control.places: out of memory");
	if (base != NULL && (c->timer = event_new(base, -1, 0, on_timer, c)) == NULL)
		fatalx("control.timer: libevent refuses");
	return c;
}

static void
hand_free(struct control *c, struct hand *h)
{
	DL_DELETE(c->hands, h);
	fairq_remove(c->places, &h->place);
	free(h->host);
	free(h);
}

void
control_free(struct control *c)
{
	if (c == NULL)
		return;
	while (c->peers != NULL)
		control_leave(c->peers);
	while (c->hands != NULL)
		hand_free(c, c->hands);
	if (c->timer != NULL)
		event_free(c->timer);
	fairq_free(c->places);
	fairrate_free(c->log_rate);
	free(c);
}

void
control_set_rule(struct control *c, const struct control_rule *rule)
{
	c->rule = *rule;
}

void
control_set_diets(struct control *c, struct diets *d)
{
	c->diets = d;
}

struct diets *
control_get_diets(const struct control *c)
{
	return c->diets;
}

void
control_set_box(struct control *c, struct box *box)
{
	c->box = box;
}

struct box *
control_get_box(const struct control *c)
{
	return c->box;
}

void
control_wake(struct control *c)
{
	struct timeval tv = { 0, TICK_MS * 1000 };

	if (c->timer != NULL && !event_pending(c->timer, EV_TIMEOUT, NULL))
		event_add(c->timer, &tv);
}

/* --- providers --- */

static unsigned
can_parse(const char *words)
{
	static const struct {
		const char *word;
		unsigned bit;
	} known[] = {
		{ "start", CAN_START },
		{ "stop", CAN_STOP },
		{ "rate", CAN_RATE },
		{ "status", CAN_STATUS },
		{ "keep", CAN_KEEP },
		{ "diet", CAN_DIET },
		{ "replay", CAN_REPLAY },
		{ "clock", CAN_CLOCK },
		{ "kernel", CAN_KERNEL },
	};
	unsigned can = 0;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (nw_order_word(words, known[i].word))
			can |= known[i].bit;
	return can;
}

static void
hand_tell(const struct control *c, const struct hand *h, struct control_peer *p)
{
	struct nw_order o = h->order;

	if (!control_peer_is(p, h->host))
		return;
	o.lease_ns = c->conf->escalate_lease_ns;
	control_tell(p, &o);
}

struct control_peer *
control_join(struct control *c, const struct control_hello *h,
    void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len), void *arg)
{
	unsigned can = can_parse(h->can);
	struct control_peer *p;
	struct hand *hand;

	if (can == 0)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->control = c;
	p->host = xstrdup(h->host);
	p->address = xstrdup(h->address);
	p->addresses = xstrdup(h->addresses);
	p->can = can;
	p->for_host = h->for_host;
	p->send = send;
	p->arg = arg;
	DL_APPEND(c->peers, p);
	if (c->rule.joined != NULL)
		c->rule.joined(c->rule.arg, p);
	DL_FOREACH (c->hands, hand)
		hand_tell(c, hand, p);
	return p;
}

static void
status_clear(struct nw_order_status *s)
{
	free((char *)s->collecting);
	free((char *)s->orders);
	free((char *)s->refused);
	free((char *)s->declined);
	memset(s, 0, sizeof(*s));
}

void
control_leave(struct control_peer *p)
{
	if (p == NULL)
		return;
	DL_DELETE(p->control->peers, p);
	status_clear(&p->status);
	free(p->host);
	free(p->address);
	free(p->addresses);
	free(p);
}

bool
control_peer_is(const struct control_peer *p, const char *host)
{
	return strcmp(p->host, host) == 0 || strcmp(p->address, host) == 0 ||
	    nw_order_word(p->addresses, host);
}

void
control_each(struct control *c, void (*fn)(struct control_peer *p, void *arg), void *arg)
{
	struct control_peer *p;

	DL_FOREACH (c->peers, p)
		fn(p, arg);
}

static unsigned
can_of(uint16_t opt)
{
	switch (opt) {
	case NW_OPT_START: return CAN_START;
	case NW_OPT_STOP: return CAN_STOP;
	case NW_OPT_RATE: return CAN_RATE;
	}
	return 0;
}

static bool
takes(const struct control_peer *p, const struct nw_order *o)
{
	bool kernel = nw_type_begins(o->event_type, NW_TYPE_KERNEL);

	return (p->can & can_of(o->opt)) != 0 &&
	    (o->replay.way == NW_REPLAY_NONE || (p->can & CAN_REPLAY) != 0) &&
	    (o->opt != NW_OPT_START || kernel == ((p->can & CAN_KERNEL) != 0));
}

void
control_tell(struct control_peer *p, const struct nw_order *o)
{
	struct nw_doc_buf doc = { 0 };
	struct nw_order told = *o;

	if (!takes(p, o))
		return;
	if ((p->can & CAN_KEEP) == 0)
		told.keep_ns = 0; /* samples faster, and sends all */
	if (nw_order_encode(&doc, &told) == NW_OK)
		p->send(p->arg, o->opt, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

/* --- STATUS and CLOCK --- */

/* An order that a host cannot carry out is news when the reason is new. */
static void
log_refused(const struct control_peer *p, const struct nw_order_status *s)
{
	char why[600];

	if (s->refused == NULL || s->refused[0] == '\0' ||
	    (p->status.refused != NULL && strcmp(s->refused, p->status.refused) == 0))
		return;
	log_escape(why, sizeof(why), s->refused);
	provoked_warnx(
	    &p->control->log_rate, p->host, "control.refused host=\"%s\" why=\"%s\"", p->host, why);
}

int
control_take_status(
    struct control_peer *p, const uint8_t *data, size_t len, int64_t now_wall_ns, const char **why)
{
	struct nw_order_status s;
	int rc;

	if ((rc = nw_order_status_decode(&s, data, len, why)) < 0)
		return rc;
	if (s.orders_rejected > p->status.orders_rejected)
		provoked_warnx(&p->control->log_rate, p->host,
		    "control.rejected host=\"%s\" orders=%" PRId64, p->host, s.orders_rejected);
	s.collecting = xstrdup(s.collecting);
	s.orders = xstrdup(s.orders);
	s.refused = xstrdup(s.refused);
	s.declined = xstrdup(s.declined);
	log_refused(p, &s);
	status_clear(&p->status);
	p->status = s;
	p->status_wall_ns = now_wall_ns;
	if (p->control->rule.declined != NULL && s.declined != NULL)
		p->control->rule.declined(p->control->rule.arg, p);
	return NW_OK;
}

int
control_take_clock(struct control_peer *p, const uint8_t *data, size_t len, int64_t now_wall_ns,
    double *offset_s, double *bound_s, const char **why)
{
	struct nw_clock c;
	int rc;

	if ((rc = nw_clock_decode(&c, data, len, why)) < 0)
		return rc;
	if (p->clock_t1_wall_ns == 0 || c.t1_wall_ns != p->clock_t1_wall_ns) {
		*why = "CLOCK answers another question";
		return NW_EPROTO;
	}
	p->clock_t1_wall_ns = 0;
	if ((rc = nw_clock_offset(&c, now_wall_ns, offset_s, bound_s)) < 0)
		*why = "CLOCK with times that cannot be";
	return rc;
}

/* --- orders by hand --- */

static void
hand_stop(struct control *c, struct hand *h)
{
	struct nw_order stop = { .opt = NW_OPT_STOP };
	struct control_peer *p;

	memcpy(stop.id, h->order.id, sizeof(stop.id));
	DL_FOREACH (c->peers, p)
		if (control_peer_is(p, h->host))
			control_tell(p, &stop);
	hand_free(c, h);
}

/* Makes an order by hand; programs' orders go for an operator's where no place is left. */
static int
hand_add(struct control *c, const char *asker, const char *host, const struct nw_order *o,
    int64_t until_mono_ns, struct hand **out)
{
	struct fairq_item *displaced;
	struct hand *h;
	int rc;

	if (strcmp(asker, CONTROL_OPERATOR) != 0 &&
	    fairq_count_owner(c->places, asker) >= ASKED_MAX)
		return NW_EFULL;
	h = xcalloc(1, sizeof(*h));
	if ((rc = fairq_put(c->places, asker, &h->place, &displaced)) < 0) {
		free(h);
		return rc;
	}
	if (displaced != NULL)
		hand_stop(c, fairq_of(displaced, struct hand, place));
	h->host = xstrdup(host);
	h->order = *o;
	h->until_mono_ns = until_mono_ns;
	DL_APPEND(c->hands, h);
	*out = h;
	return NW_OK;
}

int
control_order(struct control *c, const char *asker, const char *host, struct nw_order *o,
    int64_t keep_ns, int64_t now_mono_ns, const char **why)
{
	struct control_peer *p;
	struct hand *h;
	int rc;
	bool any = false;

	*why = NULL;
	snprintf(o->id, sizeof(o->id), "h%" PRIu64, c->next_hand + 1);
	o->lease_ns = c->conf->escalate_lease_ns;
	if (nw_order_check(o, why) < 0)
		return NW_EINVAL;
	DL_FOREACH (c->peers, p)
		any |= control_peer_is(p, host) && takes(p, o);
	if (!any)
		return NW_ENOTFOUND;
	if ((rc = hand_add(c, asker, host, o, now_mono_ns + keep_ns, &h)) < 0)
		return rc;
	c->next_hand++;
	DL_FOREACH (c->peers, p)
		hand_tell(c, h, p);
	control_wake(c);
	return NW_OK;
}

int
control_stop(struct control *c, const char *host, const char *id)
{
	struct hand *h, *tmp;
	int rc = NW_ENOTFOUND;

	DL_FOREACH_SAFE(c->hands, h, tmp)
	if (strcmp(h->host, host) == 0 && (id == NULL || strcmp(h->order.id, id) == 0)) {
		hand_stop(c, h);
		rc = NW_OK;
	}
	return rc;
}

/* --- time --- */

void
control_ask_clock(struct control_peer *p, int64_t now_mono_ns)
{
	struct nw_clock c = { .t1_wall_ns = nw_wall_ns() };
	struct nw_doc_buf doc = { 0 };

	if (p == NULL || (p->can & CAN_CLOCK) == 0 || now_mono_ns < p->clock_mono_ns)
		return;
	p->clock_mono_ns = now_mono_ns + CLOCK_PERIOD_NS;
	p->clock_t1_wall_ns = c.t1_wall_ns;
	if (nw_clock_encode(&doc, &c) == NW_OK)
		p->send(p->arg, NW_OPT_CLOCK, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

void
control_tick(struct control *c, int64_t now_mono_ns)
{
	bool renew = now_mono_ns >= c->renew_mono_ns;
	struct hand *h, *tmp;
	struct control_peer *p;

	if (renew)
		c->renew_mono_ns = now_mono_ns + c->conf->escalate_lease_ns / 3;
	if (c->rule.joined != NULL)
		c->rule.tick(c->rule.arg, renew);
	DL_FOREACH_SAFE(c->hands, h, tmp)
	{
		if (now_mono_ns >= h->until_mono_ns) {
			hand_stop(c, h);
			continue;
		}
		for (p = renew ? c->peers : NULL; p != NULL; p = p->next)
			hand_tell(c, h, p);
	}
	DL_FOREACH (c->peers, p)
		control_ask_clock(p, now_mono_ns);
}

/* --- for people --- */

size_t
control_describe(const struct control *c, const char *host, int64_t now_wall_ns,
    void (*line)(void *arg, const char *text), void *arg)
{
	char name[300], collecting[4200], orders[2100], refused[600], diet[80], text[7700];
	const struct control_peer *p;
	size_t n = 0;

	DL_FOREACH (c->peers, p) {
		if (host != NULL && !control_peer_is(p, host))
			continue;
		n++;
		log_escape(name, sizeof(name), p->host);
		if (p->status_wall_ns == 0) {
			snprintf(text, sizeof(text), "%s %s: no status yet", name,
			    p->for_host ? "host" : "program");
			line(arg, text);
			continue;
		}
		log_escape(collecting, sizeof(collecting),
		    p->status.collecting != NULL ? p->status.collecting : "-");
		log_escape(
		    orders, sizeof(orders), p->status.orders != NULL ? p->status.orders : "-");
		log_escape(
		    refused, sizeof(refused), p->status.refused != NULL ? p->status.refused : "");
		diet[0] = '\0';
		if (p->on_diet)
			snprintf(diet, sizeof(diet), " diet=%" PRId64 " diet_unknown=%" PRId64,
			    p->status.diet_series, p->status.diet_unknown);
		snprintf(text, sizeof(text),
		    "%s %s: age_s=%.1f interval_s=%g report_s=%g orders=\"%s\" collecting=\"%s\" "
		    "cpu_s=%.3f budget=%g slowed=%g rss_bytes=%" PRId64 " dropped=%" PRId64
		    " rejected=%" PRId64 "%s%s%s%s",
		    name, p->for_host ? "host" : "program",
		    (double)(now_wall_ns - p->status_wall_ns) / 1e9, p->status.collection_s,
		    p->status.report_s, orders, collecting, p->status.cpu_s, p->status.budget,
		    p->status.slowed, p->status.rss_bytes, p->status.docs_dropped,
		    p->status.orders_rejected, diet, refused[0] != '\0' ? " refused=\"" : "",
		    refused, refused[0] != '\0' ? "\"" : "");
		line(arg, text);
	}
	return n;
}
