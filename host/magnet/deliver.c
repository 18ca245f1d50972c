/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/deliver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "host/lib/addresses.h"
#include "host/lib/control_client.h"
#include "host/lib/hostname.h"
#include "host/lib/ticker.h"
#include "host/magnet/budget.h"
#include "host/magnet/flows.h"
#include "host/magnet/wait_doc.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/frame.h"
#include "narrows/provider.h"

#define POINT_EVENT_TYPE NW_TYPE_KERNEL ":point:"
#define SECOND_NS        INT64_C(1000000000)
#define GOODBYE_NS       (2 * SECOND_NS)
#define POLL_NS          (SECOND_NS / 4)
#define INTERVAL_MIN_NS  (SECOND_NS / 10)

enum {
	ADDRESSES_BYTES = 1024,
	HOST_SERIES_MAX = 128,
	DEVICE_BYTES = 64,
	COLLECTING_BYTES = 2048,
	EVENT_TYPE_BYTES = 128,
	MEASURED_PART = 10, /* the run time of programs is measured for one part of so many */
	ON_BY_ORDER = 2     /* a bit of magnet_control.on; bit 0 is the owner's own */
};

/* A series of the whole host: a waiting time, of a device where the waiting time is of devices. */
struct host_series {
	uint32_t wait;
	uint64_t device;
};

struct deliver {
	const struct serve_conf *conf;
	struct kernel *kernel;
	struct nw_provider *provider;
	struct control_client control;
	struct flows flows;
	struct wait_budget budget;
	struct ticker ticker;
	struct host_series host_series[HOST_SERIES_MAX];
	size_t n_host_series;
	bool cost_announced, host_wanted, attached, connected;
	bool point_ordered[MAGNET_POINTS_MAX], point_announced[MAGNET_POINTS_MAX];
	struct magnet_counts point_before[MAGNET_POINTS_MAX];
	/* of the statistics that gather now, and of the measurement of the programs' cost */
	int64_t window_mono_ns, own_mono_ns, measure_mono_ns, measure_end_mono_ns;
	uint64_t run_before_ns, lost_before;
	double programs_share,
	    own_before_s; /* share of a processor; processor time of this process */
	char hostname[HOSTNAME_BYTES];
	const char *host;
	struct clock_pair now; /* of the step in hand */
};

static double
own_cpu_s(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct deliver *
deliver_open(const struct serve_conf *conf, struct kernel *k, const char **why)
{
	struct nw_provider_opts opts = { .box = conf->box,
		.software = "magnet",
		.tls_dir = conf->tls_dir,
		.spool_dir = conf->spool_dir,
		.queue_max_bytes = (uint32_t)conf->queue_bytes,
		.can = "start stop rate status kernel",
		.on_order = control_client_order };
	struct deliver *d = calloc(1, sizeof(*d));
	char addresses[ADDRESSES_BYTES];
	int rc = NW_ENOMEM;

	if (d != NULL) {
		d->conf = conf;
		d->kernel = k;
		addresses_list(addresses, sizeof(addresses));
		opts.addresses = addresses;
		opts.host = d->host = hostname_get(conf->host, d->hostname);
		opts.on_order_arg = &d->control;
		control_client_init(&d->control, opts.can);
		flows_init(&d->flows);
		wait_budget_init(&d->budget, conf->budget);
		d->control.budget = conf->budget;
		rc = nw_provider_new(&opts, &d->provider);
		d->control.provider = d->provider;
		d->control.changed = true; /* the first step reads the wishes */
	}
	*why = nw_strerror(rc);
	if (rc == NW_OK)
		return d;
	if (d != NULL)
		flows_clear(&d->flows);
	free(d);
	return NULL;
}

/* --- documents --- */

/* The name of a block device, or its numbers. */
static void
device_name(uint64_t device, char name[DEVICE_BYTES])
{
	unsigned major = (unsigned)(device >> 20), minor = (unsigned)(device & 0xfffff);
	char path[80], line[128];
	FILE *f;

	snprintf(name, DEVICE_BYTES, "%u:%u", major, minor);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major, minor);
	if ((f = fopen(path, "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "DEVNAME=%63s", name) == 1)
			break;
	fclose(f);
}

/* Empty: not the number of a waiting time. */
static const char *
wait_word(uint32_t wait)
{
	const struct wait_name *n;

	for (n = wait_names; n->name != NULL; n++)
		if (n->id == wait)
			return n->name;
	return "";
}

static int
announce(struct deliver *d, const char *id, const char *what, const struct nw_kv *subject, size_t n)
{
	struct nw_kv interval = { "collectionInterval", NW_KV_REAL,
		{ .d = (double)d->ticker.interval_ns / 1e9 } };
	char type[EVENT_TYPE_BYTES];

	snprintf(type, sizeof(type), NW_TYPE_KERNEL ":%.100s", what);
	return nw_provider_meta(d->provider, id, NULL, type, subject, n, &interval, 1);
}

/* Sends a waiting time's row of the interval. */
static void
wait_send(struct deliver *d, const char *id, const struct magnet_stat *s)
{
	double values[WAIT_DOC_FIELDS];
	uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	size_t len = wait_doc_fill(
	    s, (double)(d->now.mono_ns - d->window_mono_ns) / 1e9, d->budget.slots, values, hist);

	(void)nw_provider_data(d->provider, id, d->now.wall_ns, wait_doc_names, values,
	    WAIT_DOC_FIELDS, len > 0 ? hist : NULL, len);
}

static void
flow_row(struct deliver *d, struct flow *w, uint32_t wait, const struct magnet_stat *s)
{
	const struct nw_kv subject[] = {
		{ "hostname", NW_KV_TEXT, { .text = d->host } },
		{ "type", NW_KV_TEXT, { .text = "network" } },
		{ "src", NW_KV_TEXT, { .text = w->order.src } },
		{ "sport", NW_KV_INT, { .i = w->order.sport } },
		{ "dst", NW_KV_TEXT, { .text = w->order.dst } },
		{ "dport", NW_KV_INT, { .i = w->order.dport } },
		{ "task_id", NW_KV_TEXT,
		    { .text = w->order.task_id[0] != '\0' ? w->order.task_id : NULL } },
	};
	uint32_t bit = 1U << (wait - MAGNET_POINTS_MAX);
	char id[FLOW_ID_BYTES + 32];

	snprintf(id, sizeof(id), "%s/%s", w->id, wait_word(wait));
	if (!(w->announced & bit) &&
	    announce(d, id, wait_word(wait), subject, sizeof(subject) / sizeof(subject[0])) < 0)
		return;
	w->announced |= bit;
	wait_send(d, id, s);
}

static bool
host_series_is_new(struct deliver *d, uint32_t wait, uint64_t device, bool *full)
{
	size_t i;

	*full = false;
	for (i = 0; i < d->n_host_series; i++)
		if (d->host_series[i].wait == wait && d->host_series[i].device == device)
			return false;
	if (!(*full = d->n_host_series == HOST_SERIES_MAX))
		d->host_series[d->n_host_series++] = (struct host_series){ wait, device };
	return true;
}

static void
host_row(struct deliver *d, uint32_t wait, uint64_t device, const struct magnet_stat *s)
{
	bool block = wait == WAIT_BLOCK, full;
	char name[DEVICE_BYTES], id[FLOW_ID_BYTES];
	struct nw_kv subject[] = {
		{ "hostname", NW_KV_TEXT, { .text = d->host } },
		{ "type", NW_KV_TEXT, { .text = block ? "disk" : "host" } },
		{ "device", NW_KV_TEXT, { .text = name } },
	};

	snprintf(id, sizeof(id), "%.150s/kernel/host/%s/%llu", d->host, wait_word(wait),
	    (unsigned long long)device);
	if (host_series_is_new(d, wait, device, &full)) {
		device_name(device, name);
		if (full || announce(d, id, wait_word(wait), subject, block ? 3 : 2) < 0)
			return;
	}
	wait_send(d, id, s);
}

static void
on_stat(void *arg, const struct magnet_stat_key *key, const struct magnet_stat *s)
{
	struct deliver *d = arg;
	struct flow *w = flows_of(&d->flows, key->id);

	if (wait_word(key->point)[0] == '\0')
		return;
	if (key->point == WAIT_BLOCK || key->id == 0)
		host_row(d, key->point, key->id, s);
	else if (w != NULL)
		flow_row(d, w, key->point, s);
}

static void
cost_send(struct deliver *d, double own_share)
{
	static const char *const names[] = { "programs_share", "own_share", "budget_share",
		"one_in", "paused", "lost" };
	const struct nw_kv subject[] = {
		{ "hostname", NW_KV_TEXT, { .text = d->host } },
		{ "type", NW_KV_TEXT, { .text = "host" } },
	};
	struct magnet_counts c;
	double values[6];
	char id[FLOW_ID_BYTES];

	kernel_counts(d->kernel, POINT_STREAM, &c);
	values[0] = d->programs_share;
	values[1] = own_share;
	values[2] = d->budget.share;
	values[3] = d->budget.slots;
	values[4] = d->budget.pause > 0;
	values[5] = (double)(c.lost - d->lost_before);
	d->lost_before = c.lost;
	snprintf(id, sizeof(id), "%.150s/kernel/cost", d->host);
	if (!d->cost_announced && announce(d, id, "cost", subject, 2) < 0)
		return;
	d->cost_announced = true;
	(void)nw_provider_data(d->provider, id, d->now.wall_ns, names, values, 6, NULL, 0);
}

/* Sends a point's counts since the last time. */
static void
point_send(struct deliver *d, const struct point *p)
{
	static const char *const names[] = { "hits", "filtered", "sampled", "kept", "lost" };
	const struct nw_kv subject[] = {
		{ "hostname", NW_KV_TEXT, { .text = d->host } },
		{ "type", NW_KV_TEXT, { .text = "host" } },
		{ "point", NW_KV_TEXT, { .text = p->name } },
	};
	struct magnet_counts c, *before = &d->point_before[p->id];
	char id[FLOW_ID_BYTES], what[EVENT_TYPE_BYTES];
	double values[5];

	kernel_counts(d->kernel, p->id, &c);
	values[0] = (double)(c.hits - before->hits);
	values[1] = (double)(c.filtered - before->filtered);
	values[2] = (double)(c.sampled - before->sampled);
	values[3] = (double)(c.kept - before->kept);
	values[4] = (double)(c.lost - before->lost);
	*before = c;
	snprintf(id, sizeof(id), "%.150s/kernel/point/%s", d->host, p->name);
	snprintf(what, sizeof(what), "point:%.60s", p->name);
	if (!d->point_announced[p->id] && announce(d, id, what, subject, 3) < 0)
		return;
	d->point_announced[p->id] = true;
	(void)nw_provider_data(d->provider, id, d->now.wall_ns, names, values, 5, NULL, 0);
}

/* --- orders --- */

/* Switches a point on when an order comes, and off when none is left. */
static void
point_order(struct deliver *d, const struct point *p, bool ordered)
{
	volatile struct magnet_control *c = kernel_control(d->kernel);

	if (ordered && !d->point_ordered[p->id]) {
		if (kernel_point_attach(d->kernel, p) < 0) {
			snprintf(
			    d->control.refused, CONTROL_REFUSED_BYTES, "%s", kernel_why(d->kernel));
			return;
		}
		kernel_counts(d->kernel, p->id, &d->point_before[p->id]);
		c->on[p->id] |= ON_BY_ORDER;
	} else if (!ordered && d->point_ordered[p->id]) {
		c->on[p->id] &= (uint8_t)~ON_BY_ORDER;
	}
	d->point_ordered[p->id] = ordered;
}

static bool
point_is_ordered(const struct leases *l, const struct point *p)
{
	const struct nw_order *o;
	const char *name;
	size_t i;

	for (i = 0; i < l->n; i++) {
		o = &l->list[i].order;
		if (o->opt != NW_OPT_START || !nw_type_begins(o->event_type, POINT_EVENT_TYPE))
			continue;
		name = o->event_type + strlen(POINT_EVENT_TYPE);
		if (strcmp(name, p->name) == 0 || strcmp(name, p->layer) == 0)
			return true;
	}
	return false;
}

static bool
host_is_ordered(const struct leases *l)
{
	const struct nw_order *o;
	size_t i;

	for (i = 0; i < l->n; i++) {
		o = &l->list[i].order;
		if (o->opt == NW_OPT_START && !nw_order_has_connection(o) &&
		    nw_type_begins(o->event_type, NW_TYPE_KERNEL) &&
		    !nw_type_begins(o->event_type, POINT_EVENT_TYPE))
			return true;
	}
	return false;
}

/* The shortest interval of orders that name the kernel's series; orders for all series of the host
 * do not hurry the kernel's. */
static int64_t
interval_of(const struct deliver *d)
{
	const struct leases *l = &d->control.leases;
	const struct nw_order *o;
	int64_t shortest = 0;
	size_t i;

	for (i = 0; i < l->n; i++) {
		o = &l->list[i].order;
		if (o->collection_ns > 0 && nw_type_begins(o->event_type, NW_TYPE_KERNEL) &&
		    (shortest == 0 || o->collection_ns < shortest))
			shortest = o->collection_ns;
	}
	if (shortest == 0)
		return d->conf->interval_ns;
	return shortest > INTERVAL_MIN_NS ? shortest : INTERVAL_MIN_NS;
}

/* --- the programs in the kernel --- */

static void
on_old_stat(void *arg, const struct magnet_stat_key *key, const struct magnet_stat *s)
{
	(void)arg;
	(void)key;
	(void)s;
}

static void
measure_begin(struct deliver *d)
{
	uint64_t runs, recursions;

	if (!d->attached || kernel_own_cost(d->kernel, true) < 0)
		return;
	kernel_own_cost_get(d->kernel, &d->run_before_ns, &runs, &recursions);
	d->measure_mono_ns = d->now.mono_ns;
	d->measure_end_mono_ns = d->now.mono_ns + d->ticker.interval_ns / MEASURED_PART;
}

static void
measure_end(struct deliver *d)
{
	uint64_t run_ns, runs, recursions;

	kernel_own_cost_get(d->kernel, &run_ns, &runs, &recursions);
	if (run_ns >= d->run_before_ns && d->now.mono_ns > d->measure_mono_ns)
		d->programs_share = (double)(run_ns - d->run_before_ns) /
		    (double)(d->now.mono_ns - d->measure_mono_ns);
	(void)kernel_own_cost(d->kernel, false);
	d->measure_end_mono_ns = 0;
}

static void
programs_switch(struct deliver *d, bool on)
{
	if (on == d->attached)
		return;
	if (on && kernel_waits_attach(d->kernel) < 0) {
		snprintf(d->control.refused, CONTROL_REFUSED_BYTES, "%s", kernel_why(d->kernel));
		return;
	}
	if (!on) {
		if (d->measure_end_mono_ns != 0)
			measure_end(d);
		kernel_control(d->kernel)->latency = 0;
		kernel_waits_detach(d->kernel);
	} else {
		kernel_stats_take(d->kernel, on_old_stat, NULL);
	}
	d->attached = on;
	d->now = clock_pair_now();
	d->window_mono_ns = d->now.mono_ns;
	d->own_mono_ns = d->now.mono_ns;
	d->own_before_s = own_cpu_s(); /* attaching costs once */
	d->programs_share = 0;
}

/* Lets the programs in the kernel follow what is wanted now. */
static void
programs_set(struct deliver *d)
{
	volatile struct magnet_control *c = kernel_control(d->kernel);
	bool wanted = d->host_wanted || d->flows.n > 0;

	programs_switch(d, wanted && d->budget.pause == 0);
	c->wait_slots = d->budget.slots;
	if (d->attached)
		c->latency = (uint8_t)((d->flows.n > 0 ? MAGNET_WAITS_FLOWS : 0) |
		    (d->host_wanted ? MAGNET_WAITS_HOST : 0));
}

static void
orders_look(struct deliver *d)
{
	bool ordered[MAGNET_POINTS_MAX] = { false };
	const struct point *p;

	d->control.refused[0] = '\0';
	flows_sync(&d->flows, &d->control.leases, d->kernel, d->provider, d->host);
	if (d->flows.n_refused > 0)
		snprintf(d->control.refused, CONTROL_REFUSED_BYTES,
		    "%zu connections are not followed: there is room for %d", d->flows.n_refused,
		    FLOWS_MAX);
	for (p = points; p->layer != NULL; p++)
		ordered[p->id] = point_is_ordered(&d->control.leases, p);
	kernel_points_expect(d->kernel, ordered);
	for (p = points; p->layer != NULL; p++)
		point_order(d, p, ordered[p->id]);
	d->host_wanted = d->conf->host_waits || host_is_ordered(&d->control.leases);
	ticker_set(&d->ticker, interval_of(d), d->now);
	if (!d->host_wanted && d->flows.n == 0)
		wait_budget_init(&d->budget, d->conf->budget);
	programs_set(d);
}

/* --- the interval --- */

static void
interval_end(struct deliver *d)
{
	double own_s = own_cpu_s(), own_share;
	bool wanted = d->host_wanted || d->flows.n > 0;
	const struct point *p;

	own_share = d->now.mono_ns > d->own_mono_ns
	    ? (own_s - d->own_before_s) / ((double)(d->now.mono_ns - d->own_mono_ns) / 1e9)
	    : 0;
	d->own_before_s = own_s;
	d->own_mono_ns = d->now.mono_ns;
	for (p = points; p->layer != NULL; p++)
		if (d->point_ordered[p->id])
			point_send(d, p);
	if (!wanted)
		return;
	if (d->measure_end_mono_ns != 0)
		measure_end(d);
	if (d->attached) {
		kernel_stats_take(d->kernel, on_stat, d);
		d->window_mono_ns = d->now.mono_ns;
	}
	cost_send(d, own_share);
	if (wait_budget_step(&d->budget, d->programs_share + own_share))
		d->control.status_mono_ns = 0;
	flows_find(&d->flows, d->kernel);
	programs_set(d);
	measure_begin(d);
}

static void
status_say(struct deliver *d)
{
	char words[COLLECTING_BYTES] = "";
	size_t i, len = 0;
	const struct nw_order *o;

	if (d->now.mono_ns < d->control.status_mono_ns)
		return;
	if (d->host_wanted || d->flows.n > 0)
		len = (size_t)snprintf(words, sizeof(words), "waits%s:1-in-%u",
		    d->budget.pause > 0 ? "-paused" : "", d->budget.slots);
	for (i = 0; i < d->flows.n && len + 128 < sizeof(words); i++) {
		o = &d->flows.list[i].order;
		len += (size_t)snprintf(words + len, sizeof(words) - len, " tcp:%s/%u-%s/%u",
		    o->src, o->sport, o->dst, o->dport);
	}
	control_client_status(&d->control, d->now.mono_ns, words, d->ticker.interval_ns, 0);
}

/* A box that has just come is told the status at once. */
static void
connection_look(struct deliver *d)
{
	struct nw_provider_stats s;

	nw_provider_get_stats(d->provider, &s);
	if (s.connected && !d->connected)
		d->control.status_mono_ns = 0;
	d->connected = s.connected;
}

void
deliver_step(struct deliver *d)
{
	d->now = clock_pair_now();
	nw_provider_run(d->provider, 0);
	connection_look(d);
	if (control_client_step(&d->control, d->now.mono_ns))
		orders_look(d);
	if (d->measure_end_mono_ns != 0 && d->now.mono_ns >= d->measure_end_mono_ns)
		measure_end(d);
	if (ticker_is_due(&d->ticker, d->now))
		interval_end(d);
	status_say(d);
	nw_provider_run(d->provider, 0);
}

int64_t
deliver_due_mono_ns(const struct deliver *d)
{
	int64_t due = control_client_deadline(&d->control);

	if (d->control.changed)
		return 0;
	if (d->ticker.due_mono_ns < due)
		due = d->ticker.due_mono_ns;
	if (d->measure_end_mono_ns != 0 && d->measure_end_mono_ns < due)
		due = d->measure_end_mono_ns;
	if (!d->connected && due > d->now.mono_ns + POLL_NS)
		due = d->now.mono_ns + POLL_NS;
	return due;
}

int
deliver_fd(const struct deliver *d, short *events)
{
	return nw_provider_fd(d->provider, events);
}

void
deliver_close(struct deliver *d)
{
	if (d == NULL)
		return;
	d->now = clock_pair_now();
	programs_switch(d, false);
	nw_provider_close(d->provider, GOODBYE_NS);
	flows_clear(&d->flows);
	control_client_clear(&d->control);
	free(d);
}
