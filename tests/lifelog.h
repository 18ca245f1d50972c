/* SPDX-License-Identifier: BSD-3-Clause */
/* A store with a session with events, for tests and measurements. */
#ifndef LIFELOG_H
#define LIFELOG_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/store.h"
#include "tests/lifesim.h"

struct lifelog {
	struct store *st;
	struct nw_batch *b;
	size_t n;
};

static inline int
lifelog_begin(struct lifelog *l, const char *path)
{
	char why[STORE_WHY_BYTES];
	const struct nw_host_rec host = { .id = 1, .name = "app" };
	const struct nw_session_rec session = {
		.id = 1, .program = "tv_sim", .opened_wall_ns = 1, .closed_wall_ns = 2
	};

	*l = (struct lifelog){ .b = nw_batch_new() };
	if (store_open(path, &store_opts_default, &l->st, why) != NW_OK)
		return NW_EIO;
	nw_batch_host(l->b, &host);
	return nw_batch_session(l->b, &session);
}

static inline int
lifelog_put(struct lifelog *l, const struct nw_event *e)
{
	int rc = nw_batch_event(l->b, 1, 1, e);

	l->n++;
	if (rc == NW_OK && nw_batch_bytes(l->b) > 4 << 20) {
		if (store_submit(l->st, l->b) != NW_OK || store_sync(l->st) != NW_OK)
			return NW_EIO;
		l->b = nw_batch_new();
	}
	return rc;
}

static inline void
lifelog_end(struct lifelog *l)
{
	store_submit(l->st, l->b);
	store_close(l->st);
}

static const char *const lifelog_points[SIM_POINTS] = { "APP_SEND", "DPSS_MASTER_IN",
	"DPSS_MASTER_OUT", "DPSS_SERV_IN", "DPSS_START_READ", "DPSS_END_READ", "DPSS_START_WRITE",
	"APP_RECEIVE" };

/* The events of simulated lines, as the storage system names them. */
static inline void
lifelog_sim(struct lifelog *l, const struct sim_lines *s)
{
	static const char *const hosts[] = { "app", "master", "s1", "s2", "s3" };
	size_t i, p;

	for (i = 0; i < s->lines.n; i++)
		for (p = 0; p < SIM_USED; p++) {
			const struct nw_attr attrs[] = {
				{ .key = "block",
				    .type = NW_ATTR_INT,
				    .is_id = true,
				    .v.i = (int64_t)i },
				{ .key = "list",
				    .type = NW_ATTR_INT,
				    .is_id = true,
				    .v.i = (int64_t)i / 50 },
				{ .key = "server", .type = NW_ATTR_INT, .v.i = s->lane[i] },
			};
			const struct nw_event e = { .t_wall_ns = s->t[i * SIM_POINTS + p],
				.host = hosts[s->host[s->lane[i] * SIM_POINTS + p]],
				.name = lifelog_points[p],
				.n_attrs = 3,
				.attrs = attrs };

			if (lifelog_put(l, &e) != NW_OK)
				abort();
		}
}

#endif
