/* SPDX-License-Identifier: BSD-3-Clause */
/* What handlers ask of the running box. */
#include "web/web_in.h"

#include <stdio.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/answer/health.h"
#include "web/http/conns.h"

const struct nw_health *
web_read_health(const struct web *w, struct nw_health *health)
{
	const struct conns_stats *stats;
	const struct port *p;

	*health = (struct nw_health){ 0 };
	if (w == NULL || w->opts.health == NULL)
		return NULL;
	w->opts.health(w->opts.health_arg, health);
	snprintf(
	    health->listen_http, sizeof(health->listen_http), "%.63s", w->ports[PORT_HTTP].address);
	snprintf(health->listen_https, sizeof(health->listen_https), "%.63s",
	    w->ports[PORT_HTTPS].address);
	health->counts.http_requests = w->n_requests;
	health->counts.http_misdirected = w->n_misdirected;
	health->counts.http_malformed = w->n_malformed;
	for (p = w->ports; p < w->ports + PORTS; p++) {
		if (p->conns == NULL)
			continue;
		stats = conns_get_stats(p->conns);
		health->counts.http_connections += conns_count(p->conns);
		health->counts.http_refused += stats->refused;
		health->counts.http_timeouts += stats->timeouts;
		health->counts.http_malformed += stats->malformed;
	}
	(void)store_incidents_open(w->reader, &health->incidents_open);
	health_judge(health);
	return health;
}

const struct expected_list *
web_read_expected(struct web *w, const struct nw_health *health)
{
	int rc = expected_read(&w->expected, w->reader, w->opts.expect,
	    health != NULL ? health->started_wall_ns : 0, nw_wall_ns(), nw_mono_ns());

	return rc == NW_OK ? &w->expected : NULL;
}

struct hosts_now
web_hosts_now(const struct web *w)
{
	struct nw_health health;
	const struct nw_health *known = web_read_health(w, &health);

	return (struct hosts_now){ known != NULL ? known->started_wall_ns : 0, nw_wall_ns(),
		w != NULL ? w->index : NULL };
}
