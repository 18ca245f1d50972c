/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/experiments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/put/resultdoc_put.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/natural.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum {
	DAYS = 60,
	ROUTES_MAX = 2000,
	SESSIONS_MAX = 2000, /* of a route */
	SETTINGS_MAX = 300,
	MOVES_MAX = 20000, /* changes of settings that are read */
	PERMUTATIONS = 999,
	NAMES_SHOWN = 5,
};
#define DAY_NS (INT64_C(86400) * 1000000000)

struct fleet {
	struct store_reader *r;
	int64_t from_wall_ns;
	struct {
		char *name;
		int64_t id;
	} host[NW_NATURAL_HOSTS_MAX];
	size_t n_hosts;
	double *sum, *n; /* of the sessions' log rates, by host and day */
	struct move {
		char *name, *value;
		size_t host;
		int64_t t_wall_ns;
	} * move; /* changes of settings */
	size_t n_moves;
};

/* --- rates --- */

static int
on_host(void *arg, const struct nw_host_rec *rec)
{
	*(int64_t *)arg = rec->id;
	return 1;
}

/* The host's index; NW_NATURAL_HOSTS_MAX: the fleet is full, or the box does not know the host. */
static size_t
host_of(struct fleet *f, const char *name, size_t len)
{
	char *own;
	int64_t id = 0;
	size_t i;

	for (i = 0; i < f->n_hosts; i++)
		if (strlen(f->host[i].name) == len && memcmp(f->host[i].name, name, len) == 0)
			return i;
	if (len == 0 || i == NW_NATURAL_HOSTS_MAX)
		return NW_NATURAL_HOSTS_MAX;
	own = xasprintf("%.*s", (int)len, name);
	if (store_host_named(f->r, own, on_host, &id) != NW_OK || id == 0) {
		free(own);
		return NW_NATURAL_HOSTS_MAX;
	}
	f->host[f->n_hosts].name = own;
	f->host[f->n_hosts].id = id;
	return f->n_hosts++;
}

/* The sessions of a route, latest first. */
struct rates {
	int64_t from_wall_ns;
	double y[SESSIONS_MAX];
	size_t day[SESSIONS_MAX], n;
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct rates *rates = arg;
	int64_t day;

	if (res == NULL || s->closed_wall_ns == 0 || res->exit_status > 0 ||
	    !(res->bytes_per_s > 0) || !isfinite(res->bytes_per_s))
		return 0;
	if (res->start_wall_ns < rates->from_wall_ns)
		return 1;
	if ((day = (res->start_wall_ns - rates->from_wall_ns) / DAY_NS) >= DAYS)
		return 0;
	rates->day[rates->n] = (size_t)day;
	rates->y[rates->n++] = log(res->bytes_per_s);
	return rates->n == SESSIONS_MAX;
}

static void
host_add(struct fleet *f, const struct rates *rates, double mean, const char *name, size_t len)
{
	const size_t host = host_of(f, name, len);
	size_t i;

	for (i = 0; i < rates->n && host < NW_NATURAL_HOSTS_MAX; i++) {
		f->sum[host * DAYS + rates->day[i]] += rates->y[i] - mean;
		f->n[host * DAYS + rates->day[i]]++;
	}
}

struct route_names {
	char **route, **program;
	size_t n;
};

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	struct route_names *names = arg;

	names->route = xreallocarray(names->route, names->n + 1, sizeof(*names->route));
	names->program = xreallocarray(names->program, names->n + 1, sizeof(*names->program));
	names->route[names->n] = xstrdup(rec->route);
	names->program[names->n++] = xstrdup(rec->program);
	return 0;
}

/* Rates are told from the mean of their route, so that a day with other routes is no other day. */
static int
route_add(struct fleet *f, const char *route, const char *program, struct rates *rates)
{
	static const char arrow[] = " -> ";
	const char *to = strstr(route, arrow);
	double mean = 0;
	size_t i;
	int rc;

	rates->n = 0;
	rates->from_wall_ns = f->from_wall_ns;
	rc = store_sessions_of_route(
	    f->r, route, program, INT64_MAX, SESSIONS_MAX, on_session, rates);
	for (i = 0; i < rates->n; i++)
		mean += rates->y[i] / (double)rates->n;
	if (rc == NW_OK && rates->n > 0) {
		host_add(
		    f, rates, mean, route, to != NULL ? (size_t)(to - route) : strcspn(route, " "));
		if (to != NULL)
			host_add(f, rates, mean, to + strlen(arrow), strlen(to + strlen(arrow)));
	}
	return rc;
}

static int
rates_read(struct fleet *f)
{
	struct route_names names = { .n = 0 };
	struct rates *rates = xcalloc(1, sizeof(*rates));
	int rc = store_routes(f->r, ROUTES_MAX, on_route, &names);
	size_t i;

	for (i = 0; i < names.n; i++) {
		if (rc == NW_OK)
			rc = route_add(f, names.route[i], names.program[i], rates);
		free(names.route[i]);
		free(names.program[i]);
	}
	free(names.route);
	free(names.program);
	free(rates);
	return rc;
}

/* --- settings --- */

struct reading {
	struct fleet *f;
	size_t host;
};

static int
on_setting(void *arg, const struct nw_setting_rec *s)
{
	struct reading *reading = arg;
	struct fleet *f = reading->f;

	if (s->first || s->before == NULL || s->value == NULL || f->n_moves == MOVES_MAX)
		return 0;
	f->move = xreallocarray(f->move, f->n_moves + 1, sizeof(*f->move));
	f->move[f->n_moves++] =
	    (struct move){ xstrdup(s->name), xstrdup(s->value), reading->host, s->t_wall_ns };
	return 0;
}

static int
move_compare(const void *a, const void *b)
{
	const struct move *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->t_wall_ns < y->t_wall_ns ? -1 : x->t_wall_ns > y->t_wall_ns;
}

static int
settings_read(struct fleet *f)
{
	struct reading reading = { .f = f };
	int rc = NW_OK;

	for (; reading.host < f->n_hosts && rc == NW_OK; reading.host++)
		rc = store_config_changes(f->r, f->host[reading.host].id, f->from_wall_ns,
		    f->from_wall_ns + DAYS * DAY_NS, on_setting, &reading);
	if (f->n_moves > 0)
		qsort(f->move, f->n_moves, sizeof(*f->move), move_compare);
	return rc;
}

/* A new value of a setting, with the day of each host. */
struct trial {
	const char *name, *value;
	int day[NW_NATURAL_HOSTS_MAX];
	int64_t from_wall_ns, to_wall_ns; /* of the first and the last change */
	size_t n_changed, n_kept;
};

/* Hosts whose setting moved once, to this value, have changed; hosts whose setting moved in another
 * way are left out. move: those of the name. */
static bool
trial_make(
    const struct fleet *f, const struct move *move, size_t n, const char *value, struct trial *t)
{
	size_t i, h;

	*t = (struct trial){ .name = move[0].name, .value = value };
	for (h = 0; h < f->n_hosts; h++)
		t->day[h] = NW_NATURAL_KEPT;
	for (i = 0; i < n; i++) {
		int *day = &t->day[move[i].host];

		if (*day != NW_NATURAL_KEPT || strcmp(move[i].value, value) != 0) {
			*day = NW_NATURAL_LEFT_OUT;
			continue;
		}
		*day = (int)((move[i].t_wall_ns - f->from_wall_ns) / DAY_NS);
		*day = *day < DAYS ? *day : DAYS - 1;
		if (t->from_wall_ns == 0 || move[i].t_wall_ns < t->from_wall_ns)
			t->from_wall_ns = move[i].t_wall_ns;
		if (move[i].t_wall_ns > t->to_wall_ns)
			t->to_wall_ns = move[i].t_wall_ns;
	}
	for (h = 0; h < f->n_hosts; h++) {
		t->n_changed += t->day[h] >= 0;
		t->n_kept += t->day[h] == NW_NATURAL_KEPT;
	}
	return t->n_changed >= NW_NATURAL_HOSTS_MIN && t->n_kept >= NW_NATURAL_HOSTS_MIN;
}

static bool
is_seen(const struct trial *t, size_t n, const char *name, const char *value)
{
	return n > 0 && strcmp(t[n - 1].name, name) == 0 &&
	    (strcmp(t[n - 1].value, value) == 0 || is_seen(t, n - 1, name, value));
}

static size_t
trials_make(const struct fleet *f, struct trial *t)
{
	size_t i, k, end, n = 0;

	for (i = 0; i < f->n_moves; i = end) {
		for (end = i; end < f->n_moves && strcmp(f->move[end].name, f->move[i].name) == 0;
		     end++)
			;
		for (k = i; k < end && n < SETTINGS_MAX; k++)
			if (!is_seen(t, n, f->move[k].name, f->move[k].value))
				n += trial_make(f, &f->move[i], end - i, f->move[k].value, &t[n]);
	}
	return n;
}

/* --- the document --- */

static char *
names_text(const struct trial *t, size_t n, size_t own, const size_t *same)
{
	char *out = xasprintf("%.80s became %.40s", t[own].name, t[own].value), *longer;
	size_t i, shown = 1;

	for (i = 0; i < n && shown < NAMES_SHOWN; i++) {
		if (i == own || same[i] != own)
			continue;
		longer = xasprintf("%s and %.80s became %.40s", out, t[i].name, t[i].value);
		free(out);
		out = longer;
		shown++;
	}
	return out;
}

static json_t *
experiment_doc(const struct trial *t, const struct nw_natural_setting *s, const char *names)
{
	const bool fell = s->effect < 0;
	const size_t moved = fell ? s->changed.n_fell : s->changed.n_rose,
		     others = fell ? s->kept.n_fell : s->kept.n_rose;
	json_t *o = json_object();
	char *sentence = xasprintf(
	    "%s on %zu hosts: %zu of them became %s, by %s on average; of %zu hosts without the "
	    "change %zu did on the same days.",
	    names, s->changed.n, moved, fell ? "slower" : "faster",
	    fmt_share(fabs(1 - exp(s->effect))).s, s->kept.n, others);

	put_text(o, KEY_experiment_name, t->name);
	put_text(o, KEY_experiment_after, t->value);
	put_ns(o, KEY_experiment_from_ns, t->from_wall_ns);
	put_ns(o, KEY_experiment_to_ns, t->to_wall_ns);
	put_count(o, KEY_experiment_n_changed, s->changed.n);
	put_count(o, KEY_experiment_n_changed_moved, moved);
	put_count(o, KEY_experiment_n_kept, s->kept.n);
	put_count(o, KEY_experiment_n_kept_moved, others);
	put_real(o, KEY_experiment_ratio, exp(s->effect));
	put_real(o, KEY_experiment_p, s->p);
	put_text(o, KEY_experiment_sentence, sentence);
	free(sentence);
	return o;
}

/* Settings with the same days on all hosts cannot be told apart, and are told together. */
static void
same_find(const struct fleet *f, const struct trial *t, size_t n, size_t *same)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		for (same[i] = i, k = 0; k < i; k++)
			if (memcmp(t[i].day, t[k].day, f->n_hosts * sizeof(t[i].day[0])) == 0) {
				same[i] = k;
				break;
			}
}

static json_t *
experiments_list(
    const struct fleet *f, const struct trial *t, const struct nw_natural_setting *s, size_t n)
{
	json_t *list = json_array();
	size_t *same = xcalloc(n + 1, sizeof(*same)), i;
	char *names;

	same_find(f, t, n, same);
	for (i = 0; i < n; i++) {
		if (!s[i].told || same[i] != i)
			continue;
		names = names_text(t, n, i, same);
		json_array_append_new(list, experiment_doc(&t[i], &s[i], names));
		free(names);
	}
	free(same);
	return list;
}

static json_t *
experiments_doc(const struct fleet *f, json_t *list, size_t n_settings, int64_t now_wall_ns)
{
	json_t *o = json_object();
	char *sentence = json_array_size(list) > 0
	    ? xasprintf("Compared: %zu changes of settings on %zu hosts over %d days.", n_settings,
		  f->n_hosts, DAYS)
	    : xasprintf("No setting that came to some hosts and not to others moved their rates "
			"beyond chance: %zu changes on %zu hosts over %d days were compared.",
		  n_settings, f->n_hosts, DAYS);

	put_text(o, KEY_experiments_schema, "narrows-experiments/1");
	put_text(o, KEY_experiments_made, fmt_iso(now_wall_ns, 3).s);
	put_count(o, KEY_experiments_n_hosts, f->n_hosts);
	put_count(o, KEY_experiments_n_settings, n_settings);
	put_text(o, KEY_experiments_sentence, sentence);
	result_set(o, KEY_experiments_experiments, list);
	free(sentence);
	return o;
}

static int
fleet_ask(const struct fleet *f, int64_t now_wall_ns, char **json)
{
	struct trial *t = xcalloc(SETTINGS_MAX, sizeof(*t));
	struct nw_natural_setting *s;
	double *y = xcalloc(f->n_hosts * DAYS + 1, sizeof(*y));
	size_t i, n = trials_make(f, t);
	json_t *doc;
	int rc;

	s = xcalloc(n + 1, sizeof(*s));
	for (i = 0; i < n; i++)
		s[i].day = t[i].day;
	for (i = 0; i < f->n_hosts * DAYS; i++)
		y[i] = f->n[i] > 0 ? f->sum[i] / f->n[i] : NAN;
	/* the same data give the same answer */
	rc = nw_natural(y, f->n_hosts, DAYS, s, n, PERMUTATIONS, 1);
	if (rc == NW_OK) {
		doc = experiments_doc(f, experiments_list(f, t, s, n), n, now_wall_ns);
		*json = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(12));
		json_decref(doc);
		rc = *json != NULL ? NW_OK : NW_ENOMEM;
	}
	free(y);
	free(s);
	free(t);
	return rc;
}

int
experiments_make(struct store_reader *r, int64_t now_wall_ns, char **json)
{
	struct fleet f = { .r = r,
		/* whole days, the last one is today */
		.from_wall_ns = (now_wall_ns / DAY_NS + 1 - DAYS) * DAY_NS,
		.sum = xcalloc(NW_NATURAL_HOSTS_MAX * DAYS, sizeof(*f.sum)),
		.n = xcalloc(NW_NATURAL_HOSTS_MAX * DAYS, sizeof(*f.n)) };
	int rc;

	*json = NULL;
	if ((rc = rates_read(&f)) == NW_OK && (rc = settings_read(&f)) == NW_OK)
		rc = fleet_ask(&f, now_wall_ns, json);
	while (f.n_moves > 0) {
		free(f.move[--f.n_moves].name);
		free(f.move[f.n_moves].value);
	}
	free(f.move);
	while (f.n_hosts > 0)
		free(f.host[--f.n_hosts].name);
	free(f.sum);
	free(f.n);
	return rc;
}
