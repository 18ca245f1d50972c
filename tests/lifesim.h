/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulated lifelines of a storage system with known truth: lists of blocks go through a master to
 * servers, each with a disk, a writer and a connection that deliver in order; a client receives and
 * uses blocks one by one. A plant adds a delay of known size at one place.
 */
#ifndef LIFESIM_H
#define LIFESIM_H
#include "narrows/lifeline.h"
#include "tests/noise.h"

enum sim_point {
	SIM_SEND,
	SIM_MASTER_IN,
	SIM_MASTER_OUT,
	SIM_SERV_IN,
	SIM_START_READ,
	SIM_END_READ,
	SIM_START_WRITE,
	SIM_RECEIVE,
	SIM_USED,
	SIM_POINTS
};

enum sim_place { SIM_NOWHERE, SIM_DISK, SIM_CPU, SIM_LOSS, SIM_CLIENT, SIM_PLACES };
/* a share of blocks, a server, from a time on; a server stands still once for size_s */
enum sim_who { SIM_SOME, SIM_SERVER, SIM_LATER, SIM_ONCE };
enum sim_shape { SIM_EXPONENTIAL, SIM_LOGNORMAL, SIM_GAMMA, SIM_HEAVY, SIM_SHAPES };

static const char *const sim_place_names[SIM_PLACES] = { "nothing", "disk", "server CPU",
	"link loss", "client" };
static const char *const sim_shape_names[SIM_SHAPES] = { "exponential", "lognormal", "gamma",
	"heavy tails" };

struct sim {
	size_t lists, blocks, servers; /* blocks of a list */
	double period_s;
	enum sim_shape shape;
	bool queues; /* false: lines do not hinder each other */
	enum sim_place place;
	enum sim_who who;
	double size_s, share;
};

struct sim_lines {
	struct nw_lines lines;
	int64_t *t;
	uint32_t *lane, *host;
	double *bound;
};

/* The segment at which the delay is planted. */
static inline unsigned
sim_from(enum sim_place place)
{
	static const unsigned from[SIM_PLACES] = { SIM_POINTS, SIM_START_READ, SIM_SERV_IN,
		SIM_START_WRITE, SIM_RECEIVE };

	return from[place];
}

static double
sim_draw(enum sim_shape shape, double mean_s)
{
	switch (shape) {
	case SIM_EXPONENTIAL: return -mean_s * log(1 - noise_uniform());
	case SIM_LOGNORMAL: return mean_s * exp(0.4 * noise_normal() - 0.08);
	case SIM_GAMMA:
		return -mean_s / 3 *
		    (log(1 - noise_uniform()) + log(1 - noise_uniform()) +
			log(1 - noise_uniform()));
	default: return mean_s * exp(1.0 * noise_normal() - 0.5);
	}
}

struct sim_free { /* when each resource is free again, seconds */
	double disk[16], writer[16], wire[16], client;
};

static double
sim_planted(const struct sim *m, enum sim_place place, size_t server, double at_s)
{
	bool hit = m->who == SIM_SOME ? noise_uniform() < m->share
	    : m->who == SIM_SERVER    ? server == 1
				      : at_s > m->period_s * (double)m->lists * (1 - m->share);

	return place == m->place && hit && m->who != SIM_ONCE ? m->size_s : 0;
}

/* When what is ready at a time passes a server that stands still once, in the middle of the run. */
static double
sim_pass(const struct sim *m, enum sim_place place, size_t server, double at_s)
{
	double begin = m->period_s * (double)m->lists / 2, end = begin + m->size_s;

	return m->who == SIM_ONCE && m->place == place && server == 1 && at_s >= begin && at_s < end
	    ? end
	    : at_s;
}

/* Serves from `at` or when free, for s; returns the beginning. */
static double
sim_serve(const struct sim *m, double *free_s, double at, double s)
{
	double begin = m->queues && *free_s > at ? *free_s : at;

	*free_s = begin + s;
	return begin;
}

static void
sim_block(const struct sim *m, struct sim_free *f, size_t server, double *t)
{
	double parse = sim_draw(m->shape, 1e-3) + sim_planted(m, SIM_CPU, server, t[SIM_SEND]),
	       read = sim_draw(m->shape, 4e-3) + sim_planted(m, SIM_DISK, server, t[SIM_SEND]),
	       arrive;

	t[SIM_START_READ] = sim_serve(m, &f->disk[server], t[SIM_SERV_IN] + parse, read);
	t[SIM_END_READ] = sim_pass(m, SIM_DISK, server, t[SIM_START_READ] + read);
	if (f->disk[server] < t[SIM_END_READ])
		f->disk[server] = t[SIM_END_READ];
	t[SIM_START_WRITE] = sim_serve(m, &f->writer[server],
	    t[SIM_END_READ] + sim_draw(m->shape, 2e-4), sim_draw(m->shape, 1e-3));
	arrive = t[SIM_START_WRITE] + 5e-3 + sim_draw(m->shape, 1e-3) +
	    sim_planted(m, SIM_LOSS, server, t[SIM_SEND]);
	arrive = sim_pass(m, SIM_LOSS, server, arrive);
	if (m->queues && f->wire[server] > arrive)
		arrive = f->wire[server] + 1e-5;
	f->wire[server] = arrive;
	t[SIM_RECEIVE] = arrive;
	t[SIM_USED] =
	    arrive + sim_draw(m->shape, 1e-3) + sim_planted(m, SIM_CLIENT, server, t[SIM_SEND]);
}

static void
sim_list(const struct sim *m, size_t list, struct sim_free *f, struct sim_lines *out)
{
	double t[SIM_POINTS], shared[SIM_SERV_IN + 1], at = m->period_s * (double)list;
	size_t i, p, server;

	shared[SIM_SEND] = at + sim_draw(m->shape, 1e-4);
	shared[SIM_MASTER_IN] = shared[SIM_SEND] + 5e-4 + sim_draw(m->shape, 2e-4);
	shared[SIM_MASTER_OUT] = shared[SIM_MASTER_IN] + sim_draw(m->shape, 3e-4);
	for (i = 0; i < m->blocks; i++) {
		size_t line = list * m->blocks + i;

		server = i * m->servers / m->blocks;
		memcpy(t, shared, sizeof(shared));
		if (i == 0 || server != (i - 1) * m->servers / m->blocks)
			shared[SIM_SERV_IN] = t[SIM_SERV_IN] =
			    t[SIM_MASTER_OUT] + 5e-4 + sim_draw(m->shape, 2e-4);
		sim_block(m, f, server, t);
		for (p = 0; p < SIM_POINTS; p++)
			out->t[line * SIM_POINTS + p] = 1700000000000000000 + llround(t[p] * 1e9);
		out->lane[line] = (uint32_t)server;
	}
}

static inline void
sim_free(struct sim_lines *s)
{
	free(s->t);
	free(s->lane);
	free(s->host);
	free(s->bound);
}

static inline void
sim_run(const struct sim *m, struct sim_lines *out)
{
	struct sim_free f = { .client = 0 };
	size_t i, p, n = m->lists * m->blocks;

	out->t = calloc(n * SIM_POINTS, sizeof(*out->t));
	out->lane = calloc(n, sizeof(*out->lane));
	out->host = calloc(m->servers * SIM_POINTS, sizeof(*out->host));
	out->bound = calloc(m->servers + 2, sizeof(*out->bound));
	for (i = 0; i < m->servers; i++)
		for (p = 0; p < SIM_POINTS; p++)
			out->host[i * SIM_POINTS + p] = p == SIM_MASTER_IN || p == SIM_MASTER_OUT
			    ? 1
			    : p >= SIM_SERV_IN && p <= SIM_START_WRITE ? (uint32_t)i + 2
								       : 0;
	for (i = 0; i < m->lists; i++)
		sim_list(m, i, &f, out);
	out->lines = (struct nw_lines){ .n = n,
		.n_points = SIM_POINTS,
		.n_lanes = m->servers,
		.n_hosts = m->servers + 2,
		.t_ns = out->t,
		.lane = out->lane,
		.host = out->host,
		.bound_s = out->bound };
}

#endif
