/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole histories of a route: sessions, planted slowdowns with and without a recorded change,
 * unrelated changes of settings at random times, undone changes. Each session of a slowdown is
 * judged as the box would judge it then: the story of the route so far, the sessions around the
 * begin, what moved there, the weights of the causes, and the cards. The cards go on from session
 * to session, until a setting has changed and closes them.
 *
 * No threshold was chosen by these histories; their planted changes are not those of causes.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/advice/advice_in.h"
#include "analyze/verdict/route/routeadvice.h"
#include "narrows/cause.h"
#include "narrows/err.h"
#include "narrows/moves.h"
#include "narrows/result.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

enum {
	SESSIONS = 400,
	CHANGES = 52,
	LINES = 3,
	SLOWDOWNS = 2,
	METRICS = 5,
	JUDGED = 10, /* sessions of a slowdown that are judged */
	YOUNG = 15   /* usual sessions before a slowdown that the bounds ask for */
};
static const double BY_ITSELF = 0.3; /* share of the slowdowns without a recorded change */

static const struct {
	const char *name, *before, *after;
	enum nw_stage_kind stage;
} plants[] = {
	{ "sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 87380 524288",
	    NW_STAGE_NETWORK },
	{ "sysctl.net.ipv4.tcp_wmem", "4096 16384 4194304", "4096 16384 262144", NW_STAGE_NETWORK },
	{ "sysctl.net.core.rmem_max", "67108864", "212992", NW_STAGE_NETWORK },
	{ "net.eth0.qdisc", "fq_codel", "netem #12ab34cd", NW_STAGE_NETWORK },
	{ "net.eth0.qdisc", "noqueue", "tbf #7bca6f32", NW_STAGE_NETWORK },
	{ "net.eth0.offload.tso", "on", "off", NW_STAGE_SENDER_HOST },
	{ "net.eth0.rx_ring", "4096", "256", NW_STAGE_RECEIVER_HOST },
	{ "mount./data.options", "rw,relatime", "rw,relatime,sync", NW_STAGE_DISK_WRITE },
	{ "disk.sda.read_ahead_kb", "4096", "128", NW_STAGE_DISK_READ },
	{ "disk.sda.scheduler", "mq-deadline", "bfq", NW_STAGE_DISK_READ },
	{ "cgroup.io.max", "", "8:0 rbps=20000000", NW_STAGE_DISK_READ },
	{ "cgroup.cpu.max", "max 100000", "50000 100000", NW_STAGE_RECEIVER_HOST },
	{ "cpu.governor", "schedutil", "powersave", NW_STAGE_SENDER_HOST },
	{ "program.cp.build", "0a1b", "2c3d", NW_STAGE_SENDER_HOST },
	{ "kernel.release", "5.10.0-28", "6.1.0-18", NW_STAGE_NETWORK },
};

static const char *const metrics[METRICS] = { "Share of others at the limiting resource",
	"Busy share of the processors", "Shortest round trip time", "Connections that send",
	"Mean size of a file" };

struct change {
	const char *name;
	size_t host, n_elsewhere; /* moves of the setting on other hosts */
	struct nw_setting_line line[LINES];
	size_t n_lines;
	char value[LINES][24];
};

struct slowdown {
	size_t begin, end, n_before; /* end: n while it lasts */
	double sd;
	bool recorded;
	size_t change; /* index of the change */
	enum nw_stage_kind stage;
	struct nw_reach reach;
};

struct history {
	const struct calibrate_route *route;
	struct nw_job job[SESSIONS];
	int64_t settled[SESSIONS];
	double spread; /* of the log rate */
	size_t n, n_changes, n_unrelated, n_slow;
	struct change change[CHANGES];
	struct slowdown slow[SLOWDOWNS];
};

static size_t
up_to(size_t n)
{
	size_t i = (size_t)(noise_uniform() * (double)n);

	return i < n ? i : n - 1;
}

static int64_t
time_between(int64_t from, int64_t to)
{
	return from + (int64_t)(noise_uniform() * (double)(to - from));
}

/* --- making --- */

static void
line_add(struct change *c, int64_t t_wall_ns, const char *before, const char *value)
{
	c->line[c->n_lines++] = (struct nw_setting_line){
		.name = c->name, .value = value, .before = before, .t_wall_ns = t_wall_ns
	};
}

static int
line_compare(const void *a, const void *b)
{
	const struct nw_setting_line *x = a, *y = b;

	return (x->t_wall_ns > y->t_wall_ns) - (x->t_wall_ns < y->t_wall_ns);
}

/* A setting that moves once, or there and back, or to a third value. */
static void
unrelated_make(struct history *h)
{
	struct change *c = &h->change[h->n_changes++];
	const int64_t from = h->job[0].start_wall_ns, to = h->job[h->n - 1].start_wall_ns;
	double v = exp(6 * noise_uniform());
	size_t i, n = noise_uniform() < 0.8 ? 1 : 2;

	*c = (struct change){ .name = calibrate_setting(),
		.host = up_to(2),
		.n_elsewhere = noise_uniform() < 0.2 ? up_to(10) : 0 };
	for (i = 0; i <= n; i++, v *= exp(3 * noise_normal()))
		(void)snprintf(c->value[i], sizeof(c->value[i]), "%.0f", v);
	if (noise_uniform() < 0.5)
		memcpy(c->value[2], c->value[0], sizeof(c->value[0]));
	for (i = 0; i < n; i++)
		line_add(c, time_between(from, to), NULL, NULL);
	qsort(c->line, n, sizeof(*c->line), line_compare);
	for (i = 0; i < n; i++) {
		c->line[i].before = c->value[i];
		c->line[i].value = c->value[i + 1];
	}
}

/* The change that slows a route down, and its undo where the slowdown ends. */
static void
planted_make(struct history *h, struct slowdown *s, size_t plant)
{
	struct change *c = &h->change[h->n_changes];

	s->change = h->n_changes++;
	*c = (struct change){ .name = plants[plant].name, .host = up_to(2) };
	line_add(c, time_between(h->settled[s->begin - 1], h->job[s->begin].start_wall_ns),
	    plants[plant].before, plants[plant].after);
	if (s->end < h->n)
		line_add(c, time_between(h->settled[s->end - 1], h->job[s->end].start_wall_ns),
		    plants[plant].after, plants[plant].before);
}

static size_t
falling(size_t n, double each)
{
	size_t fell = 0;

	while (n-- > 0)
		fell += noise_uniform() < each;
	return fell;
}

/* In half of the slowdowns other routes vouch. The cause is at an end, or (2) between both. */
static struct nw_reach
reach_make(size_t end)
{
	struct nw_reach r = { .place = NW_REACH_UNKNOWN };

	if (noise_uniform() < 0.5)
		return r;
	r.n_from = up_to(5);
	r.n_to = up_to(5);
	r.n_from_fell = falling(r.n_from, end == 0 && noise_uniform() < 0.6 ? 0.9 : 0.02);
	r.n_to_fell = falling(r.n_to, end == 1 && noise_uniform() < 0.6 ? 0.9 : 0.02);
	return r;
}

static bool
slowdown_make(struct history *h, size_t from, double spread)
{
	struct slowdown *s = &h->slow[h->n_slow];
	size_t plant = up_to(COUNT(plants)), i, last = h->n_slow > 0 ? h->slow[0].end : 0;

	*s = (struct slowdown){ .begin = from + up_to(1 + (h->n - from) / 2),
		.recorded = noise_uniform() >= BY_ITSELF,
		.stage = plants[plant].stage };
	s->end = s->begin + 4 + up_to(18);
	s->end = s->end + 4 > h->n || noise_uniform() < 0.2 ? h->n : s->end;
	if (s->begin < last + 8 || s->begin + 4 > h->n || s->end > s->begin + 25)
		return false;
	s->n_before = h->n_slow > 0 ? h->slow[0].begin + s->begin - last : s->begin;
	s->sd = 2 + 6 * noise_uniform();
	for (i = s->begin; i < s->end; i++)
		h->job[i].bytes_per_s *= exp(-s->sd * spread);
	if (s->recorded)
		planted_make(h, s, plant);
	s->reach = reach_make(s->recorded ? h->change[s->change].host : up_to(3));
	if (noise_uniform() < 0.1) /* the verdict names another stage, or none */
		s->stage = (enum nw_stage_kind)up_to(NW_STAGE_COUNT + 1);
	h->n_slow++;
	return true;
}

static void
settle(struct history *h)
{
	size_t i;

	for (i = 0; i < h->n; i++)
		h->settled[i] = h->job[i].start_wall_ns +
		    (int64_t)(h->job[i].bytes / h->job[i].bytes_per_s * 1e9);
}

static size_t
elsewhere(const struct history *h, const struct change *c, int64_t until)
{
	size_t i, k, n = c->n_elsewhere;

	for (i = 0; i < h->n_changes; i++)
		for (k = 0; k < h->change[i].n_lines && strcmp(h->change[i].name, c->name) == 0;
		     k++)
			n += h->change[i].line[k].t_wall_ns < until;
	return n;
}

/* The sessions before which the settings moved, as a box knows these at the session's end. */
static void
suspect(struct history *h)
{
	double chance[SESSIONS] = { 0 }, earlier = 0;
	const struct change *c;
	size_t i, k, n_quiet;

	for (c = h->change; c < h->change + h->n_changes; c++)
		for (k = 0; k < c->n_lines; k++) {
			for (i = 0; i < h->n && h->settled[i] < c->line[k].t_wall_ns; i++)
				;
			n_quiet = elsewhere(h, c, c->line[k].t_wall_ns - NW_CHANGE_NEWS_NS);
			if (i > 0 && i < h->n)
				chance[i] += nw_change_chance(c->name, c->line[k].before,
				    c->line[k].value, n_quiet > k ? n_quiet : k);
		}
	for (i = 0; i < h->n; earlier += chance[i++])
		h->job[i].suspicion = nw_change_log_odds(chance[i], earlier);
}

static void
history_make(struct history *h)
{
	static const size_t unrelated[] = { 0, 3, 10, 50 };
	const double spread = calibrate_spread();
	size_t n_routes, i;
	const struct calibrate_route *routes = calibrate_routes(&n_routes);

	h->n_changes = h->n_slow = 0;
	h->spread = spread;
	h->n = (size_t)(10 * exp(log(40) * noise_uniform()));
	h->route = &routes[noise_uniform() < 0.4 ? 0 : up_to(n_routes)];
	calibrate_jobs(h->route, h->n, spread, h->job);
	settle(h);
	if (noise_uniform() < 0.85 && slowdown_make(h, h->n < 30 ? 8 : 15, spread) &&
	    noise_uniform() < 0.4 && h->slow[0].end < h->n)
		slowdown_make(h, h->slow[0].end + 8, spread);
	settle(h);
	h->n_unrelated = unrelated[up_to(COUNT(unrelated))];
	for (i = 0; i < h->n_unrelated; i++)
		unrelated_make(h);
	suspect(h);
}

/* --- what the box says --- */

struct answer {
	struct nw_cause cause[CHANGES + METRICS];
	struct nw_move move[CHANGES];
	size_t change[CHANGES]; /* of each move */
	size_t n_moves, n;
	double weight[CHANGES + METRICS];
	size_t named;
};

static void
moves_add(const struct history *h, const struct nw_moves_ask *ask, int64_t since,
    struct nw_begin *b, struct answer *a)
{
	const int64_t until =
	    ask->settled_wall_ns[ask->low > 0 ? ask->low - 1 : 0] - NW_CHANGE_NEWS_NS;
	const struct change *c;
	struct nw_move *m;
	size_t i, k;
	int rc;

	for (i = 0; i < h->n_changes; i++) {
		c = &h->change[i];
		for (k = 0; k < c->n_lines; k++)
			b->n_survived +=
			    c->line[k].t_wall_ns >= since && nw_move_is_quiet(ask, &c->line[k]);
		m = &a->move[a->n_moves];
		if (!nw_move_find(ask, c->line, c->n_lines, m, &rc))
			continue;
		a->change[a->n_moves++] = i;
		a->cause[a->n++] = (struct nw_cause){ .name = c->name,
			.before = m->before,
			.after = m->after,
			.host = c->host,
			.place = c->host == 0 ? NW_CAUSE_FROM : NW_CAUSE_TO,
			.moved = m->moved,
			.n_quiet = elsewhere(h, c, until) };
	}
}

static int
weight_compare(const void *a, const void *b)
{
	const struct nw_cause *x = a, *y = b;

	return x->weight < y->weight ? 1 : -(x->weight > y->weight);
}

static void
answer_make(const struct history *h, const struct slowdown *s, const struct nw_around *around,
    struct answer *a)
{
	struct nw_begin b = {
		.n = around->n, .low = around->low, .high = around->high, .reach = s->reach
	};
	int64_t at[NW_AROUND_BEFORE + NW_AROUND_AFTER];
	const struct nw_moves_ask ask = { at, around->n, around->low };
	double unexplained;
	size_t i;

	*a = (struct answer){ .n = 0 };
	for (i = 0; i < around->n; i++)
		at[i] = h->settled[around->session[i]];
	moves_add(h, &ask, h->job[around->session[0]].start_wall_ns, &b, a);
	for (i = 0; i < METRICS; i++)
		a->cause[a->n++] = (struct nw_cause){
			.name = metrics[i], .chance = noise_uniform(), .rose = noise_uniform() < 0.5
		};
	nw_causes_weigh(a->cause, a->n, &b, s->stage, &unexplained);
	qsort(a->cause, a->n, sizeof(*a->cause), weight_compare);
	for (i = 0; i < a->n; i++)
		a->weight[i] = a->cause[i].weight;
	a->named = nw_causes_named(a->weight, a->n, unexplained);
}

static void
answer_clear(struct answer *a)
{
	while (a->n_moves > 0)
		free(a->move[--a->n_moves].moved);
}

/* --- cards --- */

static const char *const host_names[] = { "a", "b" };

/* What the page of the session tells of causes, as far as cards need. */
static json_t *
document_make(const struct answer *a, double ratio)
{
	json_t *list = json_array(), *advice = json_array(), *doc;
	struct advice cards = { .n = 0 };
	const struct nw_cause *c;
	size_t i;

	for (i = 0; i < a->named; i++) {
		c = &a->cause[i];
		if (c->moved != NULL)
			json_array_append_new(list,
			    json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b, s:f}", "kind", "setting",
				"host", host_names[c->host], "name", c->name, "before", c->before,
				"after", c->after, "named", 1, "weight", a->weight[i]));
	}
	doc = json_pack("{s:{s:o}, s:{s:f}, s:o}", "changed", "differences", list, "usual", "ratio",
	    isfinite(ratio) ? ratio : 1, "advice", advice);
	setback_cards(doc, &cards);
	for (i = 0; i < cards.n; i++)
		json_array_append_new(advice,
		    json_pack("{s:s, s:s, s:f, s:[{s:s, s:s, s:s?}]}", "rule",
			cards.card[i].rule->name, "title", cards.card[i].title, "gain_history",
			cards.card[i].gain_history, "settings", "host",
			cards.card[i].setting[0].host, "name", cards.card[i].setting[0].name,
			"value", cards.card[i].setting[0].value));
	advice_clear(&cards);
	return doc;
}

struct history_at {
	const struct history *h;
	size_t session;
};

/* A setting with several changes has the last value. */
static const char *
value_at(void *arg, const char *host, const char *name, bool *known)
{
	const struct history_at *at = arg;
	const struct change *c = at->h->change;
	const char *value = NULL;
	int64_t newest = INT64_MIN;
	size_t k;

	for (*known = false; c < at->h->change + at->h->n_changes; c++) {
		if (strcmp(c->name, name) != 0 || strcmp(host_names[c->host], host) != 0)
			continue;
		if (!*known)
			value = c->line[0].before;
		*known = true;
		for (k = 0; k < c->n_lines; k++)
			if (c->line[k].t_wall_ns <= at->h->settled[at->session] &&
			    c->line[k].t_wall_ns > newest) {
				newest = c->line[k].t_wall_ns;
				value = c->line[k].value;
			}
	}
	return value;
}

static void
cards_go_on(
    const struct history *h, size_t session, const struct answer *a, double ratio, json_t **list)
{
	struct history_at at = { h, session };
	json_t *doc = document_make(a, ratio),
	       *next = routeadvice_after(*list,
		   &(struct routeadvice_session){
		       doc, (int64_t)session + 1, h->job[session].bytes_per_s, value_at, &at });

	json_decref(doc);
	json_decref(*list);
	*list = next;
}

/* --- scores --- */

/* Slowdowns by size: from each to the next, in standard deviations. */
static const double size_from[] = { 2, 3, 4, 5, 6, 9 };
enum { SIZES = COUNT(size_from) - 1, DELAYS = 6 };
static const size_t delays[DELAYS] = { 1, 2, 3, 5, 8, 12 };

struct size_score {
	size_t n, by[DELAYS];
};

struct cause_score {
	size_t n, first, set, sure, sure_right, cards, alone, silent, alone_sure;
};

/* Cards against the planted change. After an undo: closed by the first session, gain as predicted,
 * word kept; without an undo: open to the end. Cards about an innocent setting with a move while
 * the route was slow: not kept. */
struct card_score {
	size_t undone, closed, gain, kept, left, open, innocent, failed;
};

struct scores {
	struct card_score card;
	struct size_score known[SIZES], other[SIZES]; /* independent routes; the other kinds */
	size_t healthy, openings;
	size_t opened, begin_right, ends, ended, inside, usual_inside, live, usual_live;
	struct cause_score cause[2]; /* up to ten unrelated changes; more */
};

static bool
is_planted(const struct history *h, const struct slowdown *s, const struct answer *a,
    const struct nw_cause *c)
{
	size_t i;

	for (i = 0; i < a->n_moves; i++)
		if (c->moved == a->move[i].moved)
			return s->recorded &&
			    (a->change[i] == s->change ||
				/* the same setting moved twice at once */
				(strcmp(h->change[a->change[i]].name, c->name) == 0 &&
				    strcmp(c->name, h->change[s->change].name) == 0 &&
				    h->change[a->change[i]].host == h->change[s->change].host));
	return false;
}

/* Whether the card that sets the planted change back is among the first two. */
static bool
has_card(const struct history *h, const struct slowdown *s, const struct answer *a)
{
	char *check, *set;
	bool shown = false;
	size_t i;

	for (i = 0; i < a->named && i < 2; i++) {
		if (!is_planted(h, s, a, &a->cause[i]) || a->weight[i] < 0.25)
			continue;
		setback_commands(a->cause[i].name, a->cause[i].before, &check, &set);
		shown = check != NULL || set != NULL;
		free(check);
		free(set);
	}
	return shown;
}

static void
answer_score(const struct history *h, const struct slowdown *s, const struct answer *a,
    struct cause_score *score)
{
	const bool right = a->n > 0 && is_planted(h, s, a, &a->cause[0]),
		   sure = a->named > 0 && a->weight[0] > NW_CAUSE_SURE;
	bool hit = false;
	size_t i;

	if (!s->recorded) {
		score->alone++;
		score->silent += a->named == 0;
		score->alone_sure += sure;
		return;
	}
	for (i = 0; i < a->named; i++)
		hit |= is_planted(h, s, a, &a->cause[i]);
	score->n++;
	score->first += a->named > 0 && right;
	score->set += hit;
	score->sure += sure;
	score->sure_right += sure && right;
	score->cards += has_card(h, s, a);
}

static bool
is_about(const json_t *card, const struct change *c)
{
	const json_t *o = json_array_get(result_list(card, KEY_route_advice_settings), 0);
	const char *host = result_text(o, KEY_advice_setting_host),
		   *name = result_text(o, KEY_advice_setting_name);

	return host != NULL && name != NULL && strcmp(host, host_names[c->host]) == 0 &&
	    strcmp(name, c->name) == 0;
}

/* Whether another change moves the planted setting, too. */
static bool
is_moved_twice(const struct history *h, const struct slowdown *s)
{
	const struct change *planted = &h->change[s->change], *c;

	for (c = h->change; c < h->change + h->n_changes; c++)
		if (c != planted && c->host == planted->host && strcmp(c->name, planted->name) == 0)
			return true;
	return false;
}

static void
card_count(const struct history *h, const struct slowdown *s, const json_t *card, double spread,
    struct card_score *score)
{
	const double closed = result_number(card, KEY_route_advice_closed),
		     gain = result_number(card, KEY_route_advice_obtained),
		     predicted = result_number(card, KEY_route_advice_predicted);
	const bool kept = result_bool(card, KEY_route_advice_kept) == 1;

	if (!s->recorded || !is_about(card, &h->change[s->change])) {
		if (closed <= (double)s->end) { /* by another session of the slowdown */
			score->innocent++;
			score->failed += !kept;
		}
		return;
	}
	if (is_moved_twice(h, s))
		return;
	if (s->end == h->n) {
		score->left++;
		score->open += isnan(closed);
		return;
	}
	score->undone++;
	score->closed += closed == (double)(s->end + 1);
	score->gain += fabs(log(gain / predicted)) < 3 * M_SQRT2 * spread;
	score->kept += kept;
}

/* Each of the first sessions of a slowdown, at its own end. */
static void
slowdown_live(const struct history *h, const struct slowdown *s, struct scores *scores)
{
	struct cause_score *score = &scores->cause[h->n_unrelated > 10];
	struct nw_around around;
	struct nw_story story;
	struct answer a;
	json_t *cards = NULL, *card;
	size_t k;

	for (k = s->begin; k < s->end && k < s->begin + JUDGED; k++) {
		if (nw_story_make_from(h->job, k + 1, NULL, 0, k, &story) != NW_OK)
			abort();
		scores->live++;
		a = (struct answer){ .n = 0 };
		if (nw_story_around(&story, &around) == NW_OK)
			answer_make(h, s, &around, &a);
		else
			scores->usual_live++;
		answer_score(h, s, &a, score);
		cards_go_on(h, k, &a, story.usual[k].ratio, &cards);
		answer_clear(&a);
		nw_story_clear(&story);
	}
	for (a = (struct answer){ .n = 0 }; k < h->n && k <= s->end; k++)
		cards_go_on(h, k, &a, NAN, &cards);
	json_array_foreach(cards, k, card) card_count(h, s, card, h->spread, &scores->card);
	json_decref(cards);
}

static const struct nw_incident *
incident_in(const struct nw_story *story, size_t from, size_t to)
{
	const struct nw_incident *in;

	for (in = story->incident; in < story->incident + story->n_incidents; in++)
		if (in->kind == NW_INCIDENT_STEP && in->opened >= from && in->opened < to)
			return in;
	return NULL;
}

static void
slowdown_score(const struct history *h, const struct slowdown *s, const struct nw_story *story,
    struct scores *scores)
{
	const struct nw_incident *in = incident_in(story, s->begin, s->end);
	struct size_score *size = h->route->name == calibrate_routes(&(size_t){ 0 })->name
	    ? scores->known
	    : scores->other;
	size_t i = 0;

	while (i + 1 < SIZES && s->sd >= size_from[i + 1])
		i++;
	size[i].n++;
	for (size_t d = 0; d < DELAYS; d++)
		size[i].by[d] += in != NULL && in->opened < s->begin + delays[d];
	if (in == NULL || s->sd < 4)
		return;
	scores->opened++;
	scores->begin_right += in->begin + 1 >= s->begin && in->begin <= s->begin + 1;
	if (s->end + 3 <= h->n) {
		scores->ends++;
		scores->ended += in->closed >= s->end && in->closed < s->end + 3;
	}
	for (i = in->begin; i < s->end; i++, scores->inside++)
		scores->usual_inside += story->usual[i].said == NW_AGAINST_USUAL ||
		    nw_story_incident_of(story, i) == NULL;
}

static void
false_score(const struct history *h, const struct nw_story *story, struct scores *scores)
{
	const struct nw_incident *in;
	bool inside;
	size_t i;

	scores->healthy += h->n;
	for (i = 0; i < h->n_slow; i++)
		scores->healthy -= h->slow[i].end - h->slow[i].begin;
	for (in = story->incident; in < story->incident + story->n_incidents; in++) {
		inside = in->kind != NW_INCIDENT_STEP;
		for (i = 0; i < h->n_slow; i++)
			inside |= in->opened >= h->slow[i].begin && in->begin < h->slow[i].end;
		scores->openings += !inside;
	}
}

static void
history_score(const struct history *h, struct scores *scores)
{
	struct nw_story story;
	size_t i;

	if (nw_story_make(h->job, h->n, NULL, 0, &story) != NW_OK)
		abort();
	false_score(h, &story, scores);
	for (i = 0; i < h->n_slow; i++) {
		if (h->slow[i].n_before < YOUNG)
			continue;
		slowdown_score(h, &h->slow[i], &story, scores);
		if (h->slow[i].sd >= 4)
			slowdown_live(h, &h->slow[i], scores);
	}
	nw_story_clear(&story);
}

/* --- words --- */

static void
sizes_tell(struct calibration *c, const struct size_score *size, const char *kind, double third,
    double first)
{
	char text[96];
	size_t i, d;

	for (i = 0; i < SIZES; i++)
		for (d = 0; d < DELAYS && size[i].n > 0; d++) {
			(void)snprintf(text, sizeof(text), "%s, %g to %g sd: open by session %zu",
			    kind, size_from[i], size_from[i + 1], delays[d]);
			cell_at_least(c, text, size[i].by[d], size[i].n,
			    size_from[i] >= 4 && delays[d] == 3       ? third
				: size_from[i] >= 5 && delays[d] == 1 ? first
								      : 0);
		}
}

static void
causes_tell(struct calibration *c, const struct cause_score *s, const char *what, double first)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "%s: the planted change first", what);
	cell_at_least(c, text, s->first, s->n, first);
	cell_at_least(c, "  in the named set", s->set, s->n, first);
	cell_at_least(c, "  a card that sets it back", s->cards, s->n, first);
	if (s->sure > 0)
		cell_at_least(c, "  sure and right", s->sure_right, s->sure, 0.9);
	cell_at_most(
	    c, "  wrong and sure", s->sure - s->sure_right + s->alone_sure, s->n + s->alone, 0.02);
	if (s->alone > 0)
		cell_at_least(c, "  no recorded change: none named", s->silent, s->alone, 0.95);
}

static void
cards_tell(struct calibration *c, const struct card_score *s)
{
	if (s->undone > 0) {
		cell_at_least(
		    c, "card closed by the session after the undo", s->closed, s->undone, 0.97);
		cell_at_least(c, "  its gain as predicted", s->gain, s->undone, 0.85);
		cell_at_least(c, "  its word kept", s->kept, s->undone, 0.85);
	}
	if (s->left > 0)
		cell_at_least(c, "card not tried: open to the end", s->open, s->left, 0.99);
	if (s->innocent > 0)
		cell_at_least(c, "card about an innocent: not kept", s->failed, s->innocent, 0.9);
}

void
calibrate_histories(struct calibration *c)
{
	static struct history h;
	struct scores s = { .healthy = 0 };
	size_t run, runs = calibrate_runs(c, 2);

	calibrate_title(c, "whole histories of 10 to 400 sessions, each session judged at its end");
	for (run = 0; run < runs; run++) {
		history_make(&h);
		history_score(&h, &s);
	}
	cell_at_most(c, "false incidents by healthy session", s.openings, s.healthy, 0.0008);
	sizes_tell(c, s.known, "independent", 0.9, 0.8);
	sizes_tell(c, s.other, "other kinds", 0.85, 0.75);
	if (s.opened > 0)
		cell_at_least(c, "begin right within one session", s.begin_right, s.opened, 0.9);
	if (s.ends > 0)
		cell_at_least(c, "ended within three usual sessions", s.ended, s.ends, 0.95);
	cell_at_most(c, "as usual inside, as known later", s.usual_inside, s.inside, 0.01);
	cell_at_most(c, "as usual inside, as told then", s.usual_live, s.live, 0.1);
	causes_tell(c, &s.cause[0], "up to 10 unrelated", 0.9);
	causes_tell(c, &s.cause[1], "50 unrelated", 0.8);
	cards_tell(c, &s.card);
}
