/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/control_client.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/frame.h"

#define STATUS_PERIOD_NS (10 * INT64_C(1000000000))
#define COST_STRETCH_NS  INT64_C(1000000000)

void
control_client_init(struct control_client *o, const char *can)
{
	memset(o, 0, offsetof(struct control_client, leases.list));
	o->can = can;
	o->samples = NW_STATUS_UNSAID;
	o->diet_series = o->diet_unknown = NW_STATUS_UNSAID;
	o->cpu_share = NAN;
}

void
control_client_clear(struct control_client *o)
{
	nw_doc_buf_clear(&o->doc);
}

static const char *
order_word(uint16_t opt)
{
	switch (opt) {
	case NW_OPT_START: return "start";
	case NW_OPT_STOP: return "stop";
	case NW_OPT_RATE: return "rate";
	}
	return "";
}

void
control_client_order(void *arg, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct control_client *o = arg;
	struct nw_order order;
	const char *why = NULL;
	bool changed = false;
	int rc = NW_EUNSUPPORTED;

	if (opt == NW_OPT_DIET && o->take_diet != NULL) {
		rc = o->take_diet(o->diet_arg, doc, len, &why);
	} else if (nw_order_word(o->can, order_word(opt)) &&
	    (rc = nw_order_decode(&order, opt, doc, len, &why)) == NW_OK)
		rc = leases_take(&o->leases, &order, nw_mono_ns(), &changed);
	if (rc < 0) {
		o->rejected++;
		o->why = why != NULL ? why : nw_strerror(rc);
		o->status_mono_ns = 0; /* the box should know */
	}
	o->changed |= changed;
}

bool
control_client_step(struct control_client *o, int64_t now_mono_ns)
{
	bool changed = leases_expire(&o->leases, now_mono_ns) || o->changed;

	o->changed = false;
	if (changed)
		o->status_mono_ns = 0;
	return changed;
}

void
control_client_id_add(char ids[CONTROL_IDS_BYTES], const char *id)
{
	size_t len = strlen(ids);

	if (len + strlen(id) + 2 <= CONTROL_IDS_BYTES)
		snprintf(ids + len, CONTROL_IDS_BYTES - len, "%s%s", len > 0 ? " " : "", id);
}

/* 0: not to be had. */
static int64_t
rss_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long long pages = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%*d %lld", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

double
control_client_cpu_s(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* The share of a core since the last look, over stretches of a second at least. */
static double
cpu_share(struct control_client *o, double cpu_s, int64_t now_mono_ns)
{
	int64_t passed_ns = now_mono_ns - o->cost_mono_ns;

	if (o->cost_mono_ns != 0 && passed_ns < COST_STRETCH_NS)
		return o->cpu_share;
	if (o->cost_mono_ns != 0)
		o->cpu_share =
		    (cpu_s > o->cost_cpu_s ? cpu_s - o->cost_cpu_s : 0) / ((double)passed_ns / 1e9);
	o->cost_mono_ns = now_mono_ns;
	o->cost_cpu_s = cpu_s;
	return o->cpu_share;
}

void
control_client_status(struct control_client *o, int64_t now_mono_ns, const char *collecting,
    int64_t collection_ns, int64_t report_ns)
{
	struct nw_provider_stats stats;
	struct nw_order_status s = { .collecting = collecting,
		.collection_s = (double)collection_ns / 1e9,
		.report_s = (double)report_ns / 1e9,
		.budget = o->budget,
		.slowed = o->slowed > 1 ? o->slowed : 1,
		.samples = o->samples,
		.overruns = o->overruns,
		.diet_series = o->diet_series,
		.diet_unknown = o->diet_unknown,
		.orders_rejected = (int64_t)o->rejected };
	char ids[CONTROL_IDS_BYTES] = "";
	size_t i;

	if (now_mono_ns < o->status_mono_ns)
		return;
	o->status_mono_ns = now_mono_ns + STATUS_PERIOD_NS;
	s.cpu_s = control_client_cpu_s();
	s.rss_bytes = rss_bytes();
	s.cpu_share = cpu_share(o, s.cpu_s, now_mono_ns);
	nw_provider_get_stats(o->provider, &stats);
	for (i = 0; i < o->leases.n; i++)
		control_client_id_add(ids, o->leases.list[i].order.id);
	s.orders = ids;
	s.refused = o->refused;
	s.declined = o->declined;
	s.docs_queued = (int64_t)stats.docs_queued;
	s.docs_dropped = (int64_t)stats.docs_dropped;
	if (nw_order_status_encode(&o->doc, &s) == NW_OK)
		/* without a connection the status is not worth keeping */
		(void)nw_provider_tell(o->provider, NW_OPT_STATUS, o->doc.data, o->doc.len);
}

int64_t
control_client_deadline(const struct control_client *o)
{
	int64_t first = leases_deadline(&o->leases);

	return o->status_mono_ns < first ? o->status_mono_ns : first;
}
