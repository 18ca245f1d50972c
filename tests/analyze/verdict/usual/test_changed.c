/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What changed: histories of 30 sessions of one route, with a sysctl, a queueing discipline, a
 * mount option, a slower disk, a moved directory, a longer way, a slower switch port or others at
 * the disk planted in some, among settings that change without any effect. The planted change must
 * come first in nine of ten histories, and nothing be named in 19 of 20 without one.
 */
#include "analyze/verdict/usual/changed.h"
#include "analyze/verdict/usual/usual.h"

#include "narrows/resultdoc.h"
#include "tests/filled.h"
#include "tests/noise.h"

enum { SESSIONS = 30, NOISE_SETTINGS = 3, UPGRADED = 12 };
static const int64_t DAY_NS = INT64_C(86400) * 1000000000, T0 = INT64_C(1790000000000000000);

enum plant {
	PLANT_NOTHING,
	PLANT_SYSCTL,
	PLANT_QDISC,
	PLANT_MOUNT,
	PLANT_DISK,
	PLANT_DATA,
	PLANT_WAY,
	PLANT_PORT,
	PLANT_OTHERS,
	PLANTS
};

static const struct {
	const char *name, *before, *after;
	bool receiver;
} planted[PLANTS] = {
	[PLANT_SYSCTL] = { "sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864", "4096 4096 65536",
	    true },
	[PLANT_QDISC] = { "net.eth0.qdisc", "fq", "tbf", false },
	[PLANT_DATA] = { "data.destination", NULL, NULL, true },
	[PLANT_WAY] = { "way.192.0.2.2.hops", NULL, NULL, false },
	[PLANT_PORT] = { "switch.core.ge-1.speed_mbit_s", NULL, NULL, true },
	[PLANT_OTHERS] = { CHANGED_OTHERS, NULL, NULL, true },
	[PLANT_MOUNT] = { "mount./data.options", "rw,noatime", "rw,noatime,sync", true },
};

struct trial {
	enum plant plant;
	size_t at; /* first session after the change */
	int64_t host[2];
	int64_t first_id;
	char route[64];
};

static struct store *store;
static struct store_reader *reader;
static int trials; /* of each plant */

/* --- a history in the store --- */

static void
setting_put(
    struct nw_batch *b, int64_t host, const char *name, int64_t t_wall_ns, const char *value)
{
	CHECK_INT(nw_batch_setting(b,
		      &(struct nw_setting_rec){
			  .host_id = host, .t_wall_ns = t_wall_ns, .name = name, .value = value }),
	    NW_OK);
}

/* Between two sessions, the first of which is `before`. */
static int64_t
time_after(size_t before)
{
	return T0 + (int64_t)before * DAY_NS + (int64_t)((0.1 + 0.8 * noise_uniform()) * 86400e9);
}

/* Of a change before session `at`: between the sessions, or as blipp tells it, at its look at the
 * session's start, seconds later. */
static int64_t
time_told(size_t at)
{
	return noise_uniform() < 0.5
	    ? time_after(at - 1)
	    : T0 + (int64_t)at * DAY_NS + (int64_t)((1 + 9 * noise_uniform()) * 1e9);
}

static size_t
anywhere(void)
{
	return (size_t)(noise_uniform() * (SESSIONS - 1));
}

static void
settings_make(struct nw_batch *b, const struct trial *t)
{
	int64_t at;
	char name[64];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "h%d", (int)t->host[i]);
		CHECK_INT(nw_batch_host(b, &(struct nw_host_rec){ .id = t->host[i], .name = name }),
		    NW_OK);
	}
	for (i = 0; i < NOISE_SETTINGS; i++) {
		snprintf(name, sizeof(name), "sysctl.net.core.noise%d", i);
		setting_put(b, t->host[i % 2], name, T0 - DAY_NS, "1");
		if (noise_uniform() < 0.7)
			setting_put(b, t->host[i % 2], name, time_after(anywhere()), "2");
	}
	at = time_after(anywhere());
	for (i = 0; i < UPGRADED; i++) {
		snprintf(name, sizeof(name), "kernel.part%d", i);
		setting_put(b, t->host[0], name, T0 - DAY_NS, "6.1");
		if (t->first_id % 3 == 0)
			setting_put(b, t->host[0], name, at, "6.2");
	}
	/* told for the first time when the rates change, by a newer blipp and a new program: no
	 * change */
	setting_put(b, t->host[0], "program.cp.build", T0 - DAY_NS, "aa");
	setting_put(b, t->host[0], "program.mover.build", time_after(t->at - 1), "bb");
	setting_put(b, t->host[1], "sysctl.net.core.told_late", time_after(t->at - 1), "1");
	if (planted[t->plant].before == NULL)
		return;
	setting_put(b, t->host[planted[t->plant].receiver], planted[t->plant].name, T0 - DAY_NS,
	    planted[t->plant].before);
	setting_put(b, t->host[planted[t->plant].receiver], planted[t->plant].name,
	    time_told(t->at), planted[t->plant].after);
}

/* What the session's stages carry; the lowest is the rate. */
struct rates {
	double read, network, write;
};

static struct rates
rates_of(const struct trial *t, size_t i)
{
	struct rates r = { 900e6 * exp(0.15 * noise_normal()), 100e6 * exp(0.12 * noise_normal()),
		400e6 * exp(0.15 * noise_normal()) };

	if (i < t->at || t->plant == PLANT_NOTHING)
		return r;
	if (t->plant == PLANT_SYSCTL || t->plant == PLANT_QDISC || t->plant == PLANT_WAY ||
	    t->plant == PLANT_PORT)
		r.network /= 2;
	else
		r.write /= 8;
	return r;
}

static double
lowest(const struct rates *r)
{
	return fmin(r->network, r->write);
}

/* The longer way and the slower port meet a program with a deadline, which moves what it can. */
static double
bytes_of(const struct trial *t, const struct rates *r)
{
	return t->plant == PLANT_WAY || t->plant == PLANT_PORT ? 100 * lowest(r) : 1e10;
}

static json_t *
stage_make(const char *stage, const char *host, double rate)
{
	return json_pack("{s:s, s:s, s:f, s:f}", "stage", stage, "host", host, "bytes_per_s", rate,
	    "tput_i", rate * 1.5 * exp(0.1 * noise_normal()));
}

static json_t *
host_make(const char *host, double disk)
{
	return json_pack("{s:s, s:[ff], s:[f], s:[f]}", "host", host, "cpu_busy",
	    0.3 * exp(0.2 * noise_normal()), 0.3 * exp(0.2 * noise_normal()), "cpu_iowait",
	    0.02 * exp(noise_normal()), "disk_busy", disk);
}

/* Reads in two classes of sizes: six in ten took 1024 ns, the others longer. */
static json_t *
durations_make(void)
{
	json_t *list = json_array(), *counts;
	int k;
	uint32_t i;

	for (k = 0; k < 2; k++) {
		counts = json_array();
		for (i = 0; i < 42; i++)
			json_array_append_new(
			    counts, json_integer(i < 40 ? 0 : (k + 1) * (i == 40 ? 60 : 40)));
		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:o}", "op", "disk.read", "host", "a", "counts", counts));
	}
	return list;
}

static json_t *
file_make(const char *host, const char *format, const char *directory, size_t i, const char *bytes)
{
	char path[64];

	snprintf(path, sizeof(path), format, directory, (int)i);
	return json_pack("{s:s, s:s, s:f}", "host", host, "path", path, bytes, 5e9);
}

/* The source is another directory each day; the destination moves where it is planted. */
static json_t *
files_make(const struct trial *t, size_t i)
{
	const bool moved = t->plant == PLANT_DATA && i >= t->at;

	return json_pack("[ooo]", file_make("a", "/%s/%d/run", "raw", i, "read_bytes"),
	    file_make("b", "/%s/run%d", moved ? "scratch" : "data", i, "write_bytes"),
	    json_pack("{s:s, s:s, s:f}", "host", "b", "path", "/var/log/run", "write_bytes", 1e3));
}

/* The way back and the MTU stay as they are; routers are silent at times. */
static json_t *
ways_make(const struct trial *t, size_t i)
{
	const double hops = t->plant == PLANT_WAY && i >= t->at ? 11 : 7;

	return json_pack("[{s:s, s:s, s:o, s:f}, {s:s, s:s, s:f}]", "host", "a", "peer",
	    "192.0.2.2", "hops", noise_uniform() < 0.2 ? json_null() : json_real(hops), "mtu_bytes",
	    1500.0, "host", "b", "peer", "192.0.2.1", "hops", 7.0);
}

static json_t *
ports_make(const struct trial *t, size_t i)
{
	const double speed = t->plant == PLANT_PORT && i >= t->at ? 1e9 : 1e10;

	return json_pack("[{s:s, s:s, s:s, s:f, s:f, s:f}]", "switch", "core", "port", "ge-1",
	    "host", "b", "speed_bit_s", speed, "dropped", floor(3 * noise_uniform()), "errors",
	    0.0);
}

/* Others read the disk: much of it where they are planted, and some of it after other changes, for
 * a slow session has a smaller part of what all read. */
static json_t *
others_make(const struct trial *t, size_t i)
{
	const double share = t->plant == PLANT_OTHERS ? 0.75 : 0.2;

	return i < t->at || t->plant == PLANT_NOTHING
	    ? json_array()
	    : json_pack("[{s:f}]", "share", share * (0.9 + 0.2 * noise_uniform()));
}

static json_t *
document_make(const struct trial *t, size_t i, const struct rates *r)
{
	double rate = lowest(r);

	return json_pack("{s:{s:f, s:o, s:o, s:o, s:[{s:s, s:f, s:f, s:f, s:f, s:f}]}, s:{s:s, "
			 "s:o}, s:{s:[ooo]}, "
			 "s:{s:[oo]}, s:o}",
	    "session", "bytes", bytes_of(t, r), "files", files_make(t, i), "ways", ways_make(t, i),
	    "ports", ports_make(t, i), "connections", "host", "a", "bytes_out", 1e10, "bytes_in",
	    1e6, "retrans", floor(20 * exp(noise_normal())), "rtt_min_s",
	    0.02 * exp(0.02 * noise_normal()), "cwnd_bytes", 2e6 * exp(0.2 * noise_normal()),
	    "verdict", "stage", r->network < r->write ? "network" : "disk.write", "others",
	    others_make(t, i), "bottleneck", "stages", stage_make("disk.read", "a", r->read),
	    stage_make("network", "a -> b", r->network), stage_make("disk.write", "b", r->write),
	    "timeline", "hosts", host_make("a", rate / r->read),
	    host_make("b", fmin(1, rate / r->write)), "density", durations_make());
}

static void
session_make(struct nw_batch *b, const struct trial *t, size_t i, const struct rates *r)
{
	int64_t id = t->first_id + (int64_t)i, start = T0 + (int64_t)i * DAY_NS;
	json_t *doc = document_make(t, i, r);
	char *json = json_dumps(doc, JSON_COMPACT);

	CHECK_INT(
	    nw_batch_session(b,
		&(struct nw_session_rec){
		    .id = id, .opened_wall_ns = start, .closed_wall_ns = start + DAY_NS / 24 }),
	    NW_OK);
	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = id,
			  .json = json,
			  .route = t->route,
			  .program = "rsync",
			  .bytes = bytes_of(t, r),
			  .bytes_per_s = lowest(r),
			  .effect = NAN,
			  .start_wall_ns = start,
			  .duration_ns = DAY_NS / 24,
			  .usual = NAN,
			  .exit_status = 0 }),
	    NW_OK);
	free(json);
	json_decref(doc);
}

/* --- one trial --- */

/* The last session is judged; the earlier ones are in the store. */
static void
trial_run(struct trial *t, struct changed *out, bool *asked)
{
	static char a[] = "a", b_name[] = "b";
	struct evidence_host hosts[2] = { { .id = t->host[0], .name = a },
		{ .id = t->host[1], .name = b_name } };
	struct evidence e = {
		.session_id = t->first_id + SESSIONS - 1, .hosts = hosts, .n_hosts = 2
	};
	struct judgement j = {
		.route = t->route, .program = "rsync", .first_wall_ns = T0 + (SESSIONS - 1) * DAY_NS
	};
	struct nw_batch *b = nw_batch_new();
	struct changed_ask ask = { .evidence = &e };
	struct rates r = { 0 };
	struct usual u;
	json_t *own;
	size_t i;

	settings_make(b, t);
	for (i = 0; i < SESSIONS; i++) {
		r = rates_of(t, i);
		if (i + 1 < SESSIONS)
			session_make(b, t, i, &r);
	}
	filled_commit(store, b);
	j.bytes_per_s = lowest(&r);
	j.bytes = bytes_of(t, &r);
	CHECK_INT(usual_find(reader, NULL, &e, &j, &u), NW_OK);
	CHECK(u.usual.n >= NW_USUAL_MIN && u.usual.n < SESSIONS);
	CHECK_INT(u.ops.n, 1);
	CHECK(u.ops.op[0].n >= NW_USUAL_MIN && u.ops.op[0].low[39] == 0);
	CHECK(fabs(u.ops.op[0].median[40] - 0.6) < 1e-9 && u.ops.op[0].high[41] == 1);
	own = document_make(t, SESSIONS - 1, &r);
	ask = (struct changed_ask){ u.session, u.n, u.split, u.low, u.high, &e, own, NULL };
	*out = (struct changed){ 0 };
	*asked = u.n > 0;
	if (*asked)
		CHECK_INT(changed_find(reader, &ask, out), NW_OK);
	json_decref(own);
	usual_clear(&u);
}

static bool
names_planted(const struct trial *t, const struct changed *c)
{
	const struct difference *d = c->difference;

	if (c->n == 0 || !d->beyond)
		return false;
	if (t->plant == PLANT_DISK)
		return d->kind == DIFFERENCE_METRIC && d->host != NULL &&
		    strcmp(d->host, "b") == 0 && strstr(d->name, "disk") != NULL;
	return strcmp(d->name, planted[t->plant].name) == 0;
}

/* What was told for the first time is no difference. */
static void
first_told_test(const struct changed *c)
{
	size_t i;

	for (i = 0; i < c->n; i++) {
		CHECK(strcmp(c->difference[i].name, "program.mover.build") != 0);
		CHECK(strcmp(c->difference[i].name, "sysctl.net.core.told_late") != 0);
		CHECK(!c->difference[i].named || strcmp(c->difference[i].name, "data.source") != 0);
	}
}

/* Returns in how many histories the planted change is named first. */
static int
plant_test(enum plant plant)
{
	static int64_t serial;
	int i, first = 0, named = 0, asked_n = 0;
	struct changed c;
	bool asked;

	for (i = 0; i < trials; i++, serial++) {
		struct trial t = { .plant = plant,
			.at = 8 + (size_t)(noise_uniform() * 15),
			.host = { 2 * serial + 1, 2 * serial + 2 },
			.first_id = serial * SESSIONS + 1 };

		snprintf(t.route, sizeof(t.route), "a%d -> b%d", (int)serial, (int)serial);
		trial_run(&t, &c, &asked);
		first_told_test(&c);
		asked_n += asked;
		named += c.n > 0 && c.difference[0].beyond;
		first += plant != PLANT_NOTHING && names_planted(&t, &c);
		if (plant != PLANT_NOTHING && !names_planted(&t, &c) && getenv("V") != NULL)
			printf("  %s | %zu settings, q %.3f\n", c.sentence, c.n_settings,
			    c.n > 0 ? c.difference[0].q : NAN);
		changed_clear(&c);
	}
	printf("plant %d: asked %d, something named %d, planted first %d of %d\n", plant, asked_n,
	    named, first, trials);
	if (plant == PLANT_NOTHING)
		CHECK(named <= trials / 20);
	return first;
}

int
main(int argc, char **argv)
{
	char why[STORE_WHY_BYTES];
	int p, first = 0;

	noise_seed(argc, argv, 1717);
	trials = (int)check_repeats(60, 20);
	store = filled_open(NULL);
	CHECK_INT(store_reader_open(filled_path, &reader, why), NW_OK);
	for (p = 0; p < PLANTS; p++)
		first += plant_test((enum plant)p);
	CHECK(first >= trials * (PLANTS - 1) * 9 / 10);
	store_reader_close(reader);
	store_close(store);
	filled_remove();
	return check_done("changed");
}
