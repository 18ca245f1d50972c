/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows fleet: sends a box's sessions to a fleet, and asks the fleet about all sites. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cmd.h"
#include "cli/source.h"
#include "fleet/push.h"
#include "fleet/receive/receive.h"
#include "narrows/clock.h"
#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/quantity.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/web.h"
#include "narrows/xmalloc.h"

static const char DEFAULT_CONF[] = "/etc/narrows/fleet.conf",
		  DEFAULT_MEMORY[] = "/var/lib/narrows-fleet/memory.json";
enum { WIDTH_MAX = 48 };
static const int64_t WAIT_MAX_NS = INT64_C(3600) * 1000000000;

enum form { FORM_TABLE, FORM_CSV, FORM_JSON };
struct fleeting {
	const struct command_env *env;
	const char *conf_path, *memory_path, *argument, *listen;
	char **sessions; /* of delete, n_sessions: arguments as they are */
	int n_sessions;
	enum form form;
	bool all, apply;
	int64_t every_ns, after_ns;
	uint64_t count;
	struct fleet_conf conf;
};

static volatile sig_atomic_t stopping;

static void
on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

/* --- tables --- */

struct table {
	const struct fleeting *f;
	bool (*keeps)(const struct fleeting *f, const char *const *texts); /* NULL: all rows */
	size_t n, n_rows;
	char **cells; /* of all rows, the names first */
	size_t cap;
};

static int
on_table(void *arg, size_t n, const char *const *texts)
{
	struct table *t = arg;
	size_t i;

	if (t->n_rows > 0 && t->keeps != NULL && !t->keeps(t->f, texts))
		return NW_OK;
	if ((t->n_rows + 1) * n > t->cap) {
		t->cap = 2 * (t->n_rows + 1) * n;
		t->cells = xreallocarray(t->cells, t->cap, sizeof(*t->cells));
	}
	t->n = n;
	for (i = 0; i < n; i++)
		t->cells[t->n_rows * n + i] = xstrdup(texts[i]);
	t->n_rows++;
	return NW_OK;
}

static void
table_print(const struct table *t)
{
	int *width = xcalloc(t->n + 1, sizeof(*width)), len;
	const char *text;
	size_t r, c;

	for (r = 0; r < t->n_rows; r++)
		for (c = 0; c < t->n; c++) {
			text = t->cells[r * t->n + c];
			len = text != NULL ? (int)strlen(terminal_text(text)) : 1;
			len = len < WIDTH_MAX ? len : WIDTH_MAX;
			width[c] = len > width[c] ? len : width[c];
		}
	for (r = 0; r < t->n_rows; r++)
		for (c = 0; c < t->n; c++) {
			text = t->cells[r * t->n + c];
			printf("%-*s%s", c + 1 < t->n ? width[c] : 0,
			    text != NULL ? terminal_text(text) : "-", c + 1 < t->n ? "  " : "\n");
		}
	free(width);
}

static void
table_print_json(const struct table *t)
{
	json_t *o;
	size_t r, c;

	for (r = 1; r < t->n_rows; r++) {
		o = json_object();
		for (c = 0; c < t->n; c++)
			json_object_set_new(o, t->cells[c],
			    t->cells[r * t->n + c] != NULL ? json_string(t->cells[r * t->n + c])
							   : json_null());
		json_dumpf(o, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(o);
	}
}

static void
table_print_csv(const struct table *t)
{
	size_t i;

	for (i = 0; i < t->n * t->n_rows; i++) {
		if (t->cells[i] != NULL)
			csv_cell(stdout, t->cells[i], 0);
		fputs((i + 1) % t->n == 0 ? "\r\n" : ",", stdout);
	}
}

static void
table_clear(struct table *t)
{
	size_t i;

	for (i = 0; i < t->n * t->n_rows; i++)
		free(t->cells[i]);
	free(t->cells);
}

static int
ask(const struct fleeting *f, const char *sql, enum fleet_report report,
    bool (*keeps)(const struct fleeting *f, const char *const *texts))
{
	struct table t = { .f = f, .keeps = keeps };
	char why[FLEET_WHY_BYTES] = "";
	const struct fleet_engine *engine;
	struct fleet *fleet;
	void *e;
	int rc = fleet_open(&f->conf, false, &fleet, why);

	if (rc == NW_OK) {
		engine = fleet_engine_of(fleet, &e);
		rc = engine->ask(
		    e, sql != NULL ? sql : engine->report(report), f->argument, on_table, &t, why);
	}
	if (rc == NW_OK && t.n_rows > 0)
		(f->form == FORM_CSV           ? table_print_csv
			: f->form == FORM_JSON ? table_print_json
					       : table_print)(&t);
	table_clear(&t);
	fleet_close(fleet);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
}

/* Columns of FLEET_SITES: site, seen_ns, clock, ... */
static bool
is_silent(const struct fleeting *f, const char *const *texts)
{
	return texts[1] == NULL || strtoll(texts[1], NULL, 10) < nw_wall_ns() - f->after_ns;
}

static bool
is_clockless(const struct fleeting *f, const char *const *texts)
{
	(void)f;
	return texts[2] == NULL || strcmp(texts[2], "synchronised") != 0;
}

/* --- sending --- */

static const char *
clock_of(struct source *s)
{
	json_t *doc, *clock;
	char *text;
	int status;
	const char *word = "unknown";

	if (source_is_remote(s) || !source_is_live(s))
		return word;
	if ((text = source_health(s, &status)) == NULL)
		return word;
	doc = json_loads(text, 0, NULL);
	clock = json_object_get(
	    result_get(doc, KEY_health_clock), result_key_name(KEY_clock_synchronised));
	if (json_is_boolean(clock))
		word = json_is_true(clock) ? "synchronised" : "not synchronised";
	json_decref(doc);
	free(text);
	return word;
}

static struct fleet_push
push_of(const struct fleeting *f, const char *store_path)
{
	return (struct fleet_push){ .conf = &f->conf,
		.store_path = store_path,
		.memory_path = f->memory_path,
		.clock = "unknown",
		.all = f->all };
}

static void
on_preview(void *arg, const struct fleet_row *r)
{
	json_t *o = json_object(), *v;
	size_t i;

	(void)arg;
	for (i = 0; i < FLEET_COLUMNS; i++) {
		const struct fleet_cell *c = &r->cell[i];

		v = !c->known                             ? json_null()
		    : fleet_columns[i].type == FLEET_TEXT ? json_string(c->text)
		    : fleet_columns[i].type == FLEET_REAL ? json_real(c->d)
							  : json_integer((json_int_t)c->i);
		json_object_set_new(o, fleet_columns[i].name, v != NULL ? v : json_null());
	}
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static int
preview(const struct fleeting *f, const char *store_path)
{
	struct fleet_push p = push_of(f, store_path);
	char why[FLEET_WHY_BYTES] = "";

	if (fleet_preview(&p, f->count, on_preview, NULL, why) == NW_OK)
		return 0;
	return command_failed(NULL, why);
}

static int
push(const struct fleeting *f, const char *store_path, bool says)
{
	struct fleet_push p = push_of(f, store_path);
	char why[FLEET_WHY_BYTES] = "";
	int rc;

	p.clock = clock_of(f->env->source);
	if ((rc = fleet_push(&p, why)) < 0)
		return command_failed(f->conf.fleet, why);
	if (says)
		printf("%" PRIu64 " sessions sent, %" PRIu64 " stay here.\n", p.sent, p.kept);
	return 0;
}

/* Pushes again and again; behind a failure the next push waits twice as long, an hour at most. */
static int
pushes_run(struct fleeting *f, const char *store_path)
{
	struct sigaction stop = { .sa_handler = on_stop };
	int64_t wait_ns = f->every_ns;
	struct timespec wait;

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	while (!stopping) {
		if (push(f, store_path, false) == 0)
			wait_ns = f->every_ns;
		else
			wait_ns = wait_ns < WAIT_MAX_NS / 2 ? 2 * wait_ns : WAIT_MAX_NS;
		f->all = false;
		wait = (struct timespec){ wait_ns / 1000000000, wait_ns % 1000000000 };
		if (!stopping)
			nanosleep(&wait, NULL);
	}
	return 0;
}

static int
schema(const struct fleeting *f)
{
	char why[FLEET_WHY_BYTES] = "";
	struct fleet *fleet;
	void *e;
	int rc = fleet_open(&f->conf, f->apply, &fleet, why);

	if (rc == NW_OK)
		rc = fleet_engine_of(fleet, &e)->schema(e, f->apply, stdout, why);
	fleet_close(fleet);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
}

/* --- deleting, receiving --- */

static int
sessions_delete(const struct fleeting *f, const char *store_path)
{
	bool all = f->n_sessions == 1 && strcmp(f->sessions[0], "all") == 0;
	int64_t *numbers = xcalloc((size_t)f->n_sessions + 1, sizeof(*numbers));
	struct fleet_push p = push_of(f, store_path);
	char why[FLEET_WHY_BYTES] = "", *end;
	int i, rc = NW_OK;

	for (i = 0; !all && rc == NW_OK && i < f->n_sessions; i++) {
		numbers[i] = strtoll(f->sessions[i], &end, 10);
		if (*end != '\0' || numbers[i] <= 0)
			rc = command_failed(f->sessions[i], "is no number of a session");
	}
	if (rc == NW_OK && fleet_delete(&p, numbers, all ? 0 : (size_t)f->n_sessions, why) < 0)
		rc = command_failed(f->conf.fleet, why);
	free(numbers);
	return rc;
}

static void
on_ready(const char *address)
{
	printf("%s\n", address);
	fflush(stdout);
}

static int
receive(const struct fleeting *f)
{
	struct sigaction stop = { .sa_handler = on_stop };
	char why[FLEET_WHY_BYTES] = "";

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	return receive_run(&f->conf, f->listen, &stopping, on_ready, why) == NW_OK
	    ? 0
	    : command_failed(NULL, why);
}

/* --- the command line --- */

static const struct {
	const char *word;
	enum fleet_report report;
	bool (*keeps)(const struct fleeting *f, const char *const *texts);
	bool has_argument;
} reports[] = {
	{ "routes", FLEET_ROUTES, NULL, false },
	{ "worst", FLEET_WORST, NULL, false },
	{ "verdicts", FLEET_VERDICTS, NULL, false },
	{ "history", FLEET_HISTORY, NULL, true },
	{ "sites", FLEET_SITES, NULL, false },
	{ "silent", FLEET_SITES, is_silent, false },
	{ "clocks", FLEET_SITES, is_clockless, false },
};

/* -1: no report has the name. */
static int
report(const struct fleeting *f, const char *what)
{
	size_t i;

	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (strcmp(what, reports[i].word) == 0 &&
		    (!reports[i].has_argument || f->argument != NULL))
			return ask(f, NULL, reports[i].report, reports[i].keeps);
	return -1;
}

/* The reports as a page, a file without requests. */
static int
page(const struct fleeting *f)
{
	static const struct {
		const char *title, *words, *empty;
		enum fleet_report report;
		bool (*keeps)(const struct fleeting *f, const char *const *texts);
	} parts[] = {
		{ "Sites that went silent", "No push came from these boxes lately.",
		    "All boxes pushed lately.", FLEET_SITES, is_silent },
		{ "Sites whose clock is unknown",
		    "These boxes did not say at their last push that their clock is synchronised.",
		    "The clocks of all boxes are synchronised.", FLEET_SITES, is_clockless },
		{ "Worst routes", "Routes by how much slower than usual their middle session was.",
		    "No session can be compared with usual ones.", FLEET_WORST, NULL },
		{ "Verdicts by site and week", "Weeks begin on Monday, UTC.",
		    "No session is in the fleet.", FLEET_VERDICTS, NULL },
		{ "Routes of all sites", "The rate is that of the middle session.",
		    "No session is in the fleet.", FLEET_ROUTES, NULL },
	};
	enum { N = sizeof(parts) / sizeof(parts[0]) };
	struct table tables[N] = { 0 };
	struct web_table shown[N];
	char why[FLEET_WHY_BYTES] = "", *html = NULL;
	const struct fleet_engine *engine;
	struct fleet *fleet;
	size_t i;
	void *e;
	int rc = fleet_open(&f->conf, false, &fleet, why);

	for (i = 0; rc == NW_OK && i < N; i++) {
		engine = fleet_engine_of(fleet, &e);
		tables[i] = (struct table){ .f = f, .keeps = parts[i].keeps };
		rc = engine->ask(
		    e, engine->report(parts[i].report), NULL, on_table, &tables[i], why);
		shown[i] = (struct web_table){ parts[i].title, parts[i].words, parts[i].empty,
			tables[i].n, tables[i].n_rows, tables[i].cells };
	}
	if (rc == NW_OK && (html = web_tables_file("Fleet", shown, N)) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		fputs(html, stdout);
	free(html);
	for (i = 0; i < N; i++)
		table_clear(&tables[i]);
	fleet_close(fleet);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
}

static int
fleet_do(struct fleeting *f, const char *what)
{
	char why[CONF_WHY_BYTES], *store_path;
	int status = -1;

	if (fleet_conf_read(f->conf_path, &f->conf, why) < 0)
		return command_failed(NULL, why);
	store_path = xasprintf("%s/narrows.db", f->env->state_dir);
	if (strcmp(what, "preview") == 0)
		status = preview(f, store_path);
	else if (strcmp(what, "push") == 0)
		status = push(f, store_path, true);
	else if (strcmp(what, "run") == 0)
		status = pushes_run(f, store_path);
	else if (strcmp(what, "schema") == 0)
		status = schema(f);
	else if (strcmp(what, "page") == 0)
		status = page(f);
	else if (strcmp(what, "delete") == 0 && f->n_sessions > 0)
		status = sessions_delete(f, store_path);
	else if (strcmp(what, "receive") == 0)
		status = receive(f);
	else if (strcmp(what, "query") == 0 && f->argument != NULL) {
		const char *sql = f->argument;

		f->argument = NULL;
		status = ask(f, sql, FLEET_ROUTES, NULL);
	} else
		status = report(f, what);
	free(store_path);
	fleet_conf_clear(&f->conf);
	return status >= 0 ? status : command_misused(f->env->command);
}

static bool
option_take(struct fleeting *f, int opt)
{
	double count;
	const char *why;

	switch (opt) {
	case 'f': f->conf_path = optarg; return true;
	case 'm': f->memory_path = optarg; return true;
	case 'j': f->form = FORM_JSON; return true;
	case 'c': f->form = FORM_CSV; return true;
	case 'a': f->all = true; return true;
	case 'A': f->apply = true; return true;
	case 'l': f->listen = optarg; return true;
	case 'i':
		return quantity_duration(optarg, &f->every_ns, &why) == 0 &&
		    f->every_ns >= 100000000;
	case 's': return quantity_duration(optarg, &f->after_ns, &why) == 0;
	case 'n':
		if (quantity_parse(optarg, quantity_count, &count, &why) < 0 || count > 1e9)
			return false;
		f->count = (uint64_t)count;
		return true;
	}
	return false;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "file", required_argument, NULL, 'f' },
		{ "memory", required_argument, NULL, 'm' }, { "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, 'c' }, { "all", no_argument, NULL, 'a' },
		{ "apply", no_argument, NULL, 'A' }, { "interval", required_argument, NULL, 'i' },
		{ "after", required_argument, NULL, 's' },
		{ "listen", required_argument, NULL, 'l' },
		{ "count", required_argument, NULL, 'n' }, { NULL, 0, NULL, 0 } };
	struct fleeting f = { .env = env,
		.conf_path = DEFAULT_CONF,
		.memory_path = DEFAULT_MEMORY,
		.listen = "::/5009",
		.every_ns = INT64_C(60) * 1000000000,
		.after_ns = INT64_C(86400) * 1000000000,
		.count = 100 };
	const char *what;
	int opt;

	while ((opt = getopt_long(argc, argv, "f:m:jcai:n:l:", longs, NULL)) != -1)
		if (!option_take(&f, opt))
			return command_misused(env->command);
	what = optind < argc ? argv[optind++] : "";
	f.sessions = argv + optind;
	f.n_sessions = argc - optind;
	f.argument = optind < argc ? argv[optind++] : NULL;
	if (optind < argc && strcmp(what, "delete") != 0)
		return command_misused(env->command);
	return fleet_do(&f, what);
}

const struct command command_fleet = {
	.name = "fleet",
	.summary = "send sessions to a fleet of many boxes, and ask the fleet",
	.usage = "[-f FILE] [-m MEMORY] [--json | --csv] [ARG ...] preview | push | run | schema | "
		 "routes |\n"
		 "       worst | verdicts | history ROUTE | sites | silent | clocks | page |\n"
		 "       query SQL | delete SESSION ... | all | receive",
	.help = "preview   the rows that the next push would send, one JSON object a line\n"
		"push      sends what the fleet lacks; run does so again and again\n"
		"schema    the fleet's tables; --apply makes them\n"
		"routes    routes of all sites\n"
		"worst     routes by how much slower than usual, with p10, p50 and p90\n"
		"verdicts  verdicts by site and week\n"
		"history   days of a route\n"
		"sites     all sites; silent: without a push for a day; clocks: without a\n"
		"          synchronised clock\n"
		"page      these reports as one HTML file\n"
		"query     an SQL statement on the tables session and site\n"
		"delete    takes sessions of this site out of the fleet, for ever\n"
		"receive   takes the rows of other boxes, over HTTPS\n"
		"  -f, --file      configuration (/etc/narrows/fleet.conf)\n"
		"  -m, --memory    what the fleet has (/var/lib/narrows-fleet/memory.json)\n"
		"  -n, --count     rows of preview (100)\n"
		"  -a, --all       preview and push begin with the first session again\n"
		"  -i, --interval  between two pushes of run (60s)\n"
		"  -l, --listen    address/port of receive (::/5009)\n"
		"      --after     time until a site is silent (1d)\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
