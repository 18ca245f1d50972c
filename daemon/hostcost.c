/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/hostcost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/box.h"
#include "daemon/hostlist.h"
#include "daemon/hostseries.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

/* A collector that sends STATUS all the time makes a row a second. */
#define PUT_EVERY_NS INT64_C(1000000000)

enum { KINDS_MAX = 16, NAME_BYTES = 64 };

struct hostcost {
	char name[NAME_BYTES]; /* of the software, without its version */
	int64_t layout_id;
	int64_t put_wall_ns; /* time of the newest row */
	struct hostcost *next;
};

#define PARAM(name, unit, kind) ",\"unit_" #name "\":\"" unit "\",\"kind_" #name "\":\"" kind "\""
static const char params[] = "{\"unit\":\"1\",\"kind\":\"gauge\"" NW_COLLECTOR_LIST(PARAM) "}";
static const char *const fields[NW_COLLECTOR_FIELDS] = NW_COLLECTOR_NAMES;

/* NULL: the host has too many kinds of collectors. */
static struct hostcost *
kind_get(struct host *h, const char *software)
{
	struct hostcost *k;
	char name[NAME_BYTES] = "unknown";
	size_t len = software != NULL ? strcspn(software, " /") : 0, n = 0;

	if (len > 0 && len < sizeof(name)) {
		memcpy(name, software, len);
		name[len] = '\0';
	}
	LL_FOREACH (h->collectors, k) {
		n++;
		if (strcmp(k->name, name) == 0)
			return k;
	}
	if (n == KINDS_MAX)
		return NULL;
	k = xcalloc(1, sizeof(*k));
	memcpy(k->name, name, sizeof(k->name));
	LL_APPEND(h->collectors, k);
	return k;
}

static double
count_of(int64_t said)
{
	return said != NW_STATUS_UNSAID ? (double)said : NAN;
}

void
hostcost_put(struct box *box, struct host *h, int64_t xsp_id, const char *software,
    const struct nw_order_status *s, int64_t now_wall_ns)
{
	const double values[NW_COLLECTOR_FIELDS] = {
		[NW_COLLECTOR_cpu_share] = s->cpu_share,
		[NW_COLLECTOR_resident_bytes] = (double)s->rss_bytes,
		[NW_COLLECTOR_samples] = count_of(s->samples),
		[NW_COLLECTOR_documents] = (double)s->docs_queued,
		[NW_COLLECTOR_dropped] = (double)s->docs_dropped,
		[NW_COLLECTOR_interval_s] = s->collection_s,
		[NW_COLLECTOR_slowed] = s->slowed,
		[NW_COLLECTOR_overruns] = (double)s->overruns,
		[NW_COLLECTOR_diet_series] = count_of(s->diet_series),
		[NW_COLLECTOR_diet_unknown] = count_of(s->diet_unknown),
	};
	struct hostcost *k = kind_get(h, software);

	if (k == NULL ||
	    (now_wall_ns >= k->put_wall_ns && now_wall_ns - k->put_wall_ns < PUT_EVERY_NS))
		return;
	if (k->layout_id == 0)
		k->layout_id = hostseries_new(box, h,
		    &(struct hostseries_words){ .event_type = NW_TYPE_COLLECTOR,
			.key = "collector",
			.name = k->name,
			.params_json = params,
			.fields = fields,
			.n_fields = NW_COLLECTOR_FIELDS },
		    xsp_id, now_wall_ns);
	hostseries_put(box, k->layout_id, values, NW_COLLECTOR_FIELDS, now_wall_ns);
	k->put_wall_ns = now_wall_ns;
}

void
hostcost_free_all(struct hostcost *list)
{
	struct hostcost *k, *tmp;

	LL_FOREACH_SAFE(list, k, tmp)
	free(k);
}
