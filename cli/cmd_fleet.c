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
#include "cli/fleet_pages.h"
#include "cli/fleet_table.h"
#include "cli/source.h"
#include "fleet/push.h"
#include "fleet/receive/receive.h"
#include "narrows/clock.h"
#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/quantity.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

static const char DEFAULT_CONF[] = "/etc/narrows/fleet.conf",
		  DEFAULT_MEMORY[] = "/var/lib/narrows-fleet/memory.json";
static const int64_t WAIT_MAX_NS = INT64_C(3600) * 1000000000,
		     LEVELS_WAIT_NS = INT64_C(600) * 1000000000;

struct fleeting {
	const struct command_env *env;
	const char *conf_path, *memory_path, *argument, *listen;
	char *directory; /* of published pages */
	char **sessions; /* of delete, n_sessions: arguments as they are */
	int n_sessions;
	enum fleet_form form;
	bool all, apply, repeats;
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

/* --- reports --- */

static int
ask(const struct fleeting *f, const char *sql, enum fleet_report report,
    bool (*keeps)(int64_t after_ns, const char *const *texts))
{
	struct fleet_texts t = { .keeps = keeps, .after_ns = f->after_ns };
	char why[FLEET_WHY_BYTES] = "";
	const struct fleet_engine *engine;
	struct fleet *fleet;
	void *e;
	int rc = fleet_open(&f->conf, false, &fleet, why);

	if (rc == NW_OK) {
		engine = fleet_engine_of(fleet, &e);
		rc = engine->ask(e, sql != NULL ? sql : engine->report(report), f->argument,
		    fleet_texts_add, &t, why);
	}
	if (rc == NW_OK)
		fleet_texts_print(&t, f->form);
	fleet_texts_clear(&t);
	fleet_close(fleet);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
}

static int
leaves(const struct fleeting *f)
{
	struct fleet_texts t = { 0 };

	fleet_leaves(&f->conf, &t);
	fleet_texts_print(&t, f->form);
	fleet_texts_clear(&t);
	return 0;
}

/* --- series of a session, from the fleet or from its box --- */

struct printing {
	const char *session;
	uint64_t n;
};

static int
on_value(void *arg, const struct fleet_value *v)
{
	const char *const texts[] = { v->host, v->event_type, v->subject, v->field };
	struct printing *p = arg;
	size_t i;

	if (p->n++ == 0)
		fputs("session,t_ns,value,host,event_type,subject,field\r\n", stdout);
	printf("%s,%" PRId64 ",%.17g", p->session, v->t_wall_ns, v->value);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		putchar(',');
		if (texts[i] != NULL)
			csv_cell(stdout, texts[i], 0);
	}
	fputs("\r\n", stdout);
	return ferror(stdout) ? NW_EIO : NW_OK;
}

/* The address of a site's pages; free() it. NULL: the configuration has none. */
static char *
box_of(const struct fleet_conf *c, const char *site)
{
	const char *line = c->boxes, *url;
	size_t n;

	for (; line != NULL && *line != '\0'; line += n, line += *line == '\n') {
		n = strcspn(line, "\n");
		url = line + strcspn(line, " \t");
		if (strlen(site) == (size_t)(url - line) &&
		    strncmp(line, site, (size_t)(url - line)) == 0) {
			url += strspn(url, " \t");
			return xasprintf("%.*s", (int)(line + n - url), url);
		}
	}
	return NULL;
}

static int
on_part(void *arg, const char *text, size_t len)
{
	(void)arg;
	return fwrite(text, 1, len, stdout) == len ? NW_OK : NW_EIO;
}

/* The box decides with a token of its own (NARROWS_TOKEN) whether it answers. */
static int
series_of_box(const struct fleeting *f, const char *site, int64_t session)
{
	char *url = box_of(&f->conf, site), why[FLEET_WHY_BYTES];
	struct source *s;
	int rc;

	if (url == NULL) {
		snprintf(why, sizeof(why),
		    "the fleet has no series of this session: give them at the box (narrows fleet "
		    "give %" PRId64 "), or name the box in the configuration (box %.64s URL)",
		    session, site);
		return command_failed(site, why);
	}
	s = source_open(NULL, url);
	if (strcmp(f->conf.ca_file, "none") != 0)
		source_trust(s, f->conf.ca_file);
	rc = source_export(s, session, ".csv", "", on_part, NULL);
	source_close(s);
	free(url);
	return rc == NW_OK ? 0 : COMMAND_FAILED;
}

static int
series(const struct fleeting *f)
{
	struct printing p = { f->sessions[1], 0 };
	char why[FLEET_WHY_BYTES] = "", *end;
	int64_t session = strtoll(f->sessions[1], &end, 10);
	struct fleet *fleet;
	int rc;

	if (*end != '\0' || session <= 0)
		return command_failed(f->sessions[1], "is no number of a session");
	if ((rc = fleet_open(&f->conf, false, &fleet, why)) == NW_OK)
		rc = fleet_series(fleet, f->sessions[0], session, on_value, &p, why);
	fleet_close(fleet);
	if (rc == NW_ENOTFOUND)
		return series_of_box(f, f->sessions[0], session);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
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

static json_t *
cell_json(const struct fleet_cell *c, enum fleet_type type)
{
	json_t *v = !c->known     ? json_null()
	    : type == FLEET_TEXT  ? json_string(c->text)
	    : type == FLEET_BYTES ? json_integer((json_int_t)c->len)
	    : type == FLEET_REAL  ? json_real(c->d)
				  : json_integer((json_int_t)c->i);

	return v != NULL ? v : json_null();
}

static void
on_preview(void *arg, const struct fleet_rows *rows)
{
	const struct fleet_table *t = &fleet_tables[rows->table];
	size_t r, i;
	json_t *o;

	(void)arg;
	for (r = 0; r < rows->n; r++) {
		o = json_pack("{s:s}", "table", t->name);
		for (i = 0; i < t->n; i++)
			json_object_set_new(o, t->column[i].name,
			    cell_json(&rows->row[r].cell[i], t->column[i].type));
		json_dumpf(o, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(o);
	}
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

/* Tells the health page about a push that sent something or failed. */
static void
pushed_say(const struct fleeting *f, const char *fault, uint64_t sent)
{
	char *said, *path = xasprintf("%s/leaves.json", f->directory), unsaid[FLEET_WHY_BYTES];
	struct fmt now = fmt_iso_ns(nw_wall_ns());

	if (sent > 0 || fault != NULL || access(path, F_OK) != 0) {
		said = fault != NULL
		    ? xasprintf("The last push, at %s, failed: %s", now.s, fault)
		    : xasprintf(
			  "The last push with sessions, at %s, sent %" PRIu64 ".", now.s, sent);
		(void)fleet_leaves_publish(&f->conf, said, f->directory, unsaid);
		free(said);
	}
	free(path);
}

static int
push(const struct fleeting *f, const char *store_path, bool says)
{
	struct fleet_push p = push_of(f, store_path);
	char why[FLEET_WHY_BYTES] = "";
	int rc;

	p.clock = clock_of(f->env->source);
	p.levels_wait_ns = says ? 0 : LEVELS_WAIT_NS;
	rc = fleet_push(&p, why);
	pushed_say(f, rc == NW_OK ? NULL : why, p.sent);
	if (rc < 0)
		return command_failed(f->conf.fleet, why);
	if (says)
		printf("%" PRIu64 " sessions sent, %" PRIu64 " stay here.\n", p.sent, p.kept);
	if (says && p.chunks > 0)
		printf("%" PRIu64 " chunks of series sent.\n", p.chunks);
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

/* Has fleet_delete(), or fleet_give(), do its work with the sessions of the arguments. */
static int
sessions_do(const struct fleeting *f, const char *store_path,
    int (*act)(struct fleet_push *p, const int64_t *sessions, size_t n, char *why), bool takes_all)
{
	bool all = takes_all && f->n_sessions == 1 && strcmp(f->sessions[0], "all") == 0;
	int64_t *numbers = xcalloc((size_t)f->n_sessions + 1, sizeof(*numbers));
	struct fleet_push p = push_of(f, store_path);
	char why[FLEET_WHY_BYTES] = "", *end;
	int i, rc = NW_OK;

	for (i = 0; !all && rc == NW_OK && i < f->n_sessions; i++) {
		numbers[i] = strtoll(f->sessions[i], &end, 10);
		if (*end != '\0' || numbers[i] <= 0)
			rc = command_failed(f->sessions[i], "is no number of a session");
	}
	if (rc == NW_OK && act(&p, numbers, all ? 0 : (size_t)f->n_sessions, why) < 0)
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
	bool (*keeps)(int64_t after_ns, const char *const *texts);
	bool has_argument;
} reports[] = {
	{ "routes", FLEET_ROUTES, NULL, false },
	{ "worst", FLEET_WORST, NULL, false },
	{ "verdicts", FLEET_VERDICTS, NULL, false },
	{ "history", FLEET_HISTORY, NULL, true },
	{ "newest", FLEET_NEWEST, NULL, true },
	{ "sites", FLEET_SITES, NULL, false },
	{ "silent", FLEET_SITES, fleet_is_silent, false },
	{ "clocks", FLEET_SITES, fleet_is_clockless, false },
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
	char why[FLEET_WHY_BYTES] = "", *html = NULL;
	struct fleet *fleet;
	int rc = fleet_open(&f->conf, false, &fleet, why);

	if (rc == NW_OK && (rc = fleet_pages_file(fleet, f->after_ns, &html, why)) == NW_OK)
		fputs(html, stdout);
	free(html);
	fleet_close(fleet);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
}

static int
publish(const struct fleeting *f)
{
	char why[FLEET_WHY_BYTES] = "";
	struct fleet *fleet;
	int rc = fleet_open(&f->conf, false, &fleet, why);

	if (rc == NW_OK)
		rc = fleet_pages_publish(fleet, &f->conf, f->after_ns, f->directory, why);
	fleet_close(fleet);
	if (rc == NW_OK)
		rc = fleet_leaves_publish(&f->conf, "", f->directory, why);
	return rc == NW_OK ? 0 : command_failed(f->conf.fleet, why);
}

/* Does the work again and again; behind a failure after twice as long, an hour at most. */
static int
works_run(struct fleeting *f, int (*work)(struct fleeting *f, const char *store_path),
    const char *store_path)
{
	struct sigaction stop = { .sa_handler = on_stop };
	int64_t wait_ns = f->every_ns;
	struct timespec wait;

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	while (!stopping) {
		if (work(f, store_path) == 0)
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
push_work(struct fleeting *f, const char *store_path)
{
	return push(f, store_path, false);
}

static int
publish_work(struct fleeting *f, const char *store_path)
{
	(void)store_path;
	return publish(f);
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
		status = works_run(f, push_work, store_path);
	else if (strcmp(what, "schema") == 0)
		status = schema(f);
	else if (strcmp(what, "page") == 0)
		status = page(f);
	else if (strcmp(what, "delete") == 0 && f->n_sessions > 0)
		status = sessions_do(f, store_path, fleet_delete, true);
	else if (strcmp(what, "give") == 0 && f->n_sessions > 0)
		status = sessions_do(f, store_path, fleet_give, false);
	else if (strcmp(what, "series") == 0 && f->n_sessions == 2)
		status = series(f);
	else if (strcmp(what, "leaves") == 0)
		status = leaves(f);
	else if (strcmp(what, "publish") == 0)
		status = f->repeats ? works_run(f, publish_work, NULL) : publish(f);
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
	case 'o':
		free(f->directory);
		f->directory = xstrdup(optarg);
		return true;
	case 'i':
		f->repeats = true;
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
		{ "output", required_argument, NULL, 'o' },
		{ "count", required_argument, NULL, 'n' }, { NULL, 0, NULL, 0 } };
	struct fleeting f = { .env = env,
		.conf_path = DEFAULT_CONF,
		.memory_path = DEFAULT_MEMORY,
		.listen = "::/5009",
		.directory = xasprintf("%s/fleet", env->state_dir),
		.every_ns = INT64_C(60) * 1000000000,
		.after_ns = INT64_C(86400) * 1000000000,
		.count = 100 };
	const char *what;
	int opt, status;

	while ((opt = getopt_long(argc, argv, "f:m:jcai:n:l:o:", longs, NULL)) != -1)
		if (!option_take(&f, opt))
			return command_misused(env->command);
	what = optind < argc ? argv[optind++] : "";
	f.sessions = argv + optind;
	f.n_sessions = argc - optind;
	f.argument = optind < argc ? argv[optind++] : NULL;
	if (optind < argc && strcmp(what, "delete") != 0 && strcmp(what, "give") != 0 &&
	    strcmp(what, "series") != 0)
		return command_misused(env->command);
	status = fleet_do(&f, what);
	free(f.directory);
	return status;
}

const struct command command_fleet = {
	.name = "fleet",
	.summary = "send sessions to a fleet of many boxes, and ask the fleet",
	.usage =
	    "[-f FILE] [-m MEMORY] [--json | --csv] [ARG ...] leaves | preview | push | run | "
	    "schema |\n"
	    "       routes | worst | verdicts | history ROUTE | newest ROUTE | sites | silent | "
	    "clocks |\n"
	    "       page | publish | query SQL | series SITE SESSION | give SESSION ... |\n"
	    "       delete SESSION ... | all | receive",
	.help = "leaves    which columns leave this site, and how\n"
		"preview   the rows that the next push would send, one JSON object a line\n"
		"push      sends what the fleet lacks; run does so again and again\n"
		"schema    the fleet's tables; --apply makes them\n"
		"routes    routes of all sites\n"
		"worst     routes by how much slower than usual, with p10, p50 and p90\n"
		"verdicts  verdicts by site and week\n"
		"history   days of a route; newest: its newest sessions\n"
		"sites     all sites; silent: without a push for a day; clocks: without a\n"
		"          synchronised clock\n"
		"page      these reports as one HTML file; publish: as pages of this box\n"
		"query     an SQL statement on the tables session and site\n"
		"series    what was measured for a session, as CSV\n"
		"give      has the next push send what was measured for sessions\n"
		"delete    takes sessions of this site out of the fleet, for ever\n"
		"receive   takes the rows of other boxes, over HTTPS\n"
		"  -f, --file      configuration (/etc/narrows/fleet.conf)\n"
		"  -m, --memory    what the fleet has (/var/lib/narrows-fleet/memory.json)\n"
		"  -n, --count     rows of preview (100)\n"
		"  -a, --all       preview and push begin with the first session again\n"
		"  -i, --interval  between two pushes of run (60s); publish goes on so\n"
		"  -o, --output    directory of the pages (fleet in the state directory)\n"
		"  -l, --listen    address/port of receive (::/5009)\n"
		"      --after     time until a site is silent (1d)\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
