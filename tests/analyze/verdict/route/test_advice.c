/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advice: every rule can be read, fires for facts that it is about, and does not fire when any of
 * its clauses fails. Cards are closed by later sessions, with the gain that was obtained.
 */
#include "analyze/verdict/advice/advice.h"
#include "analyze/verdict/advice/advice_in.h"
#include "analyze/verdict/route/routeadvice.h"

#include <ctype.h>

#include "narrows/result.h"
#include "tests/check.h"
#include "tests/filled.h"

enum { CLAUSES_MAX = 8 };

struct clauses {
	char text[CLAUSES_MAX][256];
	size_t n;
};

static void
clauses_read(const char *when, struct clauses *c)
{
	size_t len;

	c->n = 0;
	for (; *when != '\0' && c->n < CLAUSES_MAX; when += len + strspn(when + len, " ")) {
		len = strcspn(when, " ");
		snprintf(c->text[c->n++], sizeof(c->text[0]), "%.*s", (int)len, when);
	}
}

/* Puts a fact for which the clause holds, or fails. */
static void
clause_put(struct facts *f, const char *clause, bool holds)
{
	size_t len = strcspn(clause, "=!~<>");
	char name[256], value[256], *hash;
	const char *than = clause + len + 1;
	double number = strtod(than, NULL);
	long word = 0;

	snprintf(name, sizeof(name), "%.*s", (int)len, clause);
	if ((hash = strchr(name, '#')) != NULL) {
		word = strtol(hash + 1, NULL, 10);
		*hash = '\0';
	}
	switch (clause[len]) {
	case '<': snprintf(value, sizeof(value), "%.0f", holds ? number - 1 : number + 1); break;
	case '>': snprintf(value, sizeof(value), "%.3f", holds ? number + 1 : number - 0.01); break;
	case '!':
		snprintf(value, sizeof(value), "%.*s", holds ? 4 : (int)strcspn(than + 1, "|"),
		    holds ? "none" : than + 1);
		break;
	default:
		snprintf(value, sizeof(value), "%.*s", holds ? (int)strcspn(than, "|") : 8,
		    holds ? than : "anything");
	}
	if (word > 0) {
		char words[300];

		snprintf(words, sizeof(words), "%s%s%s", word == 3 ? "4096 131072 " : "", value,
		    word == 1 ? " #e3cc8837" : "");
		facts_put(f, name, words);
	} else
		facts_put(f, name, value);
}

/* Facts for all clauses, one of which fails. */
static bool
holds_but(const struct advice_rule *rule, size_t failing, bool lacking)
{
	struct clauses c;
	struct facts f = { 0 };
	bool well, holds;
	size_t i;

	clauses_read(rule->when, &c);
	for (i = 0; i < c.n; i++)
		if (i != failing || !lacking)
			clause_put(&f, c.text[i], i != failing);
	holds = advice_holds(rule->when, &f, &well);
	CHECK(well);
	facts_clear(&f);
	return holds;
}

/* Whether a command is one that looks and changes nothing: by its first words, and without an
 * assignment, a redirection or a second command; a count of lines may follow. */
static bool
only_reads(const char *check)
{
	static const char *const looks[] = { "sysctl ", "ss -ti", "ip link show", "findmnt",
		"ethtool {src.interface}", "ethtool -k {src.interface}",
		"ethtool -k {dst.interface}", "cat /sys/", "top -b -n 1", "tc qdisc show",
		"tc -s qdisc show", "ssh -Q cipher", "rsync --version", "ps -ww -eo ", "nproc",
		"iostat -x ", "find {src.directory} -type f -size -256k | wc -l",
		"cpupower frequency-info", "chronyc tracking", "blockdev --getra " };
	size_t i;

	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (strncmp(check, looks[i], strlen(looks[i])) == 0)
			return strpbrk(check, "=;&>`$") == NULL && strstr(check, " -w ") == NULL &&
			    (strchr(check, '|') == NULL || strstr(check, "| wc -l") != NULL);
	return false;
}

static void
test_rules(void)
{
	const struct advice_rule *rule, *other;
	struct clauses c;
	size_t i;

	CHECK(advice_rules_count >= 25);
	for (rule = advice_rules; rule < advice_rules + advice_rules_count; rule++) {
		clauses_read(rule->when, &c);
		CHECK(c.n >= 1 && rule->title[0] != '\0' && rule->evidence[0] != '\0');
		CHECK(rule->check[0] != '\0' && rule->change[0] != '\0' && rule->undo[0] != '\0');
		CHECK(only_reads(rule->check));
		CHECK(rule->reference[0] != '\0');
		if (!holds_but(rule, c.n, false))
			fprintf(stderr, "%s does not fire\n", rule->name);
		CHECK(holds_but(rule, c.n, false));
		for (i = 0; i < c.n; i++) {
			if (holds_but(rule, i, false))
				fprintf(stderr, "%s fires without %s\n", rule->name, c.text[i]);
			CHECK(!holds_but(rule, i, false));
			CHECK(!holds_but(rule, i, true));
		}
		for (other = advice_rules; other < rule; other++)
			CHECK(strcmp(other->name, rule->name) != 0);
	}
}

static void
test_bad_conditions(void)
{
	static const char *const bad[] = { "stage", "=x", "stage=", "rate>fast", "stage!x" };
	struct facts f = { 0 };
	bool well;
	size_t i;

	facts_put(&f, "stage", "network");
	facts_put(&f, "rate", "7");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(!advice_holds(bad[i], &f, &well));
		CHECK(!well);
	}
	CHECK(advice_holds("stage=disk.read|network rate>6 rate<8", &f, &well) && well);
	CHECK(!advice_holds("cause=window", &f, &well) && well);
	facts_clear(&f);
}

/* A document with a card about a setting, or without a card. */
static json_t *
document_with(const char *rule)
{
	return rule != NULL ? json_pack("{s:[{s:s, s:s, s:f, s:[{s:s, s:s, s:s}]}]}", "advice",
				  "rule", rule, "title", "Do", "gain", 2.5, "settings", "host", "a",
				  "name", "net.eth0.qdisc", "value", "tbf #1")
			    : json_pack("{s:[]}", "advice");
}

static const char *qdisc_now = "tbf #1";

static const char *
value_now(void *arg, const char *host, const char *name, bool *known)
{
	(void)arg;
	*known = strcmp(host, "a") == 0 && strcmp(name, "net.eth0.qdisc") == 0;
	return qdisc_now;
}

static json_t *
after(json_t *list, const char *rule, int64_t id, double rate)
{
	json_t *doc = document_with(rule),
	       *next = routeadvice_after(
		   list, &(struct routeadvice_session){ doc, id, rate, value_now, NULL });

	json_decref(doc);
	json_decref(list);
	return next;
}

static void
test_closing(void)
{
	json_t *list = NULL;
	const json_t *o;

	list = after(list, "shaper", 1, 100);
	list = after(list, "shaper", 2, 110);
	list = after(list, "shaper", 3, 90);
	CHECK_INT(json_array_size(list), 1);
	o = json_array_get(list, 0);
	CHECK(result_get(o, KEY_route_advice_closed) == NULL);
	list = after(list, NULL, 4, 20); /* another fault hides the rule: not tried */
	CHECK(result_get(json_array_get(list, 0), KEY_route_advice_closed) == NULL);
	qdisc_now = "fq";
	list = after(list, NULL, 4, 240);
	o = json_array_get(list, 0);
	CHECK_NEAR(json_number_value(
		       json_array_get(result_list(o, KEY_route_advice_obtained_interval), 0)),
	    240.0 / 110, 1e-9, 0);
	qdisc_now = "tbf #1";
	CHECK_INT(json_integer_value(result_get(o, KEY_route_advice_closed)), 4);
	CHECK_NEAR(result_number(o, KEY_route_advice_obtained), 2.4, 1e-9, 0);
	CHECK_NEAR(result_number(o, KEY_route_advice_predicted), 2.5, 1e-9, 0);
	list = after(list, "shaper", 5, 100);
	CHECK_INT(json_array_size(list), 2);
	list = after(list, "other", 6, 100);
	CHECK_INT(json_array_size(list), 3);
	CHECK(result_get(json_array_get(list, 1), KEY_route_advice_closed) == NULL);
	CHECK(advice_kept(2.5, 2.4) && !advice_kept(2.5, 1.1) && advice_kept(NAN, 2) &&
	    !advice_kept(NAN, 1));
	json_decref(list);
}

/* The list after a session whose document has cards against each of the names, and a file of
 * the most bytes in the directory. */
static json_t *
after_set_back(json_t *list, const char *const *name, size_t n, const char *directory, int64_t id)
{
	json_t *advice = json_array(), *doc, *next;
	char path[64];
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(advice,
		    json_pack("{s:s, s:s, s:f, s:[{s:s, s:s, s:s}]}", "rule", "set-back", "title",
			name[i], "gain_history", 2.0, "settings", "host", "a", "name", name[i],
			"value", "/new"));
	doc = json_pack("{s:o, s:{s:[]}}", "advice", advice, "session", "files");
	snprintf(path, sizeof(path), "%s/x", directory != NULL ? directory : "");
	if (directory != NULL)
		json_array_append_new(json_object_get(json_object_get(doc, "session"), "files"),
		    json_pack("{s:s, s:s, s:f}", "host", "a", "path", path, "read_bytes", 1e9));
	next =
	    routeadvice_after(list, &(struct routeadvice_session){ doc, id, 100, value_now, NULL });
	json_decref(doc);
	json_decref(list);
	return next;
}

/* Two settings that are set back are two cards, and what documents tell is asked of documents. */
static void
test_told_cards(void)
{
	static const char *const names[] = { "net.eth0.qdisc", "data.source" };
	json_t *list = after_set_back(NULL, names, 2, "/new", 1);

	qdisc_now = "/new";
	CHECK_INT(json_array_size(list), 2);
	list = after_set_back(list, names, 2, "/new", 2);
	CHECK_INT(json_array_size(list), 2);
	list = after_set_back(list, NULL, 0, NULL, 3); /* a session without files tells nothing */
	CHECK(result_get(json_array_get(list, 0), KEY_route_advice_closed) == NULL);
	list = after_set_back(list, NULL, 0, "/old", 4);
	CHECK_STR(result_text(json_array_get(list, 0), KEY_route_advice_title), "data.source");
	CHECK_INT(
	    json_integer_value(result_get(json_array_get(list, 0), KEY_route_advice_closed)), 4);
	CHECK(result_get(json_array_get(list, 1), KEY_route_advice_closed) == NULL);
	qdisc_now = "tbf #1";
	json_decref(list);
}

/* What held the one connection of a session whose verdict has this cause (NULL: none). */
static void
held_test(struct store_reader *r, const char *cause, const double held_s[2], double retrans,
    const char *expected)
{
	struct evidence e = { 0 };
	struct facts f = { 0 };
	json_t *doc = json_pack("{s:{s:[{s:f, s:f, s:f, s:f, s:f, s:f, s:f}]}, s:{s:s, s:s?}}",
	    "session", "connections", "bytes_out", 30e6, "bytes_in", 0.0, "retrans", retrans,
	    "rtt_min_s", 0.02, "busy_s", 13.8, "rwnd_limited_s", held_s[0], "sndbuf_limited_s",
	    held_s[1], "verdict", "stage", "network", "cause", cause);
	const char *held;

	CHECK_INT(facts_read(r, &e, doc, &f), NW_OK);
	held = facts_get(&f, "held_by");
	CHECK((held == NULL) == (expected == NULL));
	CHECK(held == NULL || expected == NULL || strcmp(held, expected) == 0);
	CHECK(advice_holds("retrans>9", &f, NULL) == (retrans > 9));
	facts_clear(&f);
	json_decref(doc);
}

static void
setting_put(struct nw_batch *b, int64_t t_wall_ns, const char *value)
{
	CHECK_INT(nw_batch_setting(b,
		      &(struct nw_setting_rec){ .host_id = 1,
			  .t_wall_ns = t_wall_ns,
			  .name = "sysctl.net.ipv4.tcp_rmem",
			  .value = value }),
	    NW_OK);
}

/* A setting that changed before the session, and was told two seconds after its begin. */
static void
late_test(struct store *store, struct store_reader *r)
{
	static char name[] = "h";
	struct nw_batch *b = nw_batch_new();
	struct evidence_host host = { .id = 1, .name = name };
	struct evidence e = { .hosts = &host,
		.n_hosts = 1,
		.first_wall_ns = INT64_C(10000000000),
		.last_wall_ns = INT64_C(20000000000) };
	struct facts f = { 0 };
	json_t *doc = json_pack(
	    "{s:{s:[{s:s, s:s}]}}", "session", "hosts", "name", "h", "role", "destination");
	const char *value;

	CHECK_INT(nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = name }), NW_OK);
	setting_put(b, INT64_C(1000000000), "4096 131072 33554432");
	setting_put(b, INT64_C(12000000000), "4096 16384 32768");
	filled_commit(store, b);
	CHECK_INT(facts_read(r, &e, doc, &f), NW_OK);
	value = facts_get(&f, "dst.sysctl.net.ipv4.tcp_rmem");
	CHECK(value != NULL && strcmp(value, "4096 16384 32768") == 0);
	facts_clear(&f);
	json_decref(doc);
}

/* Returns whether the card about small files is shown for a session of so many bytes and seconds:
 * `n` small files and as many copies, a rest without names, and a large file. */
static bool
small_files_say(struct store_reader *r, double session_bytes, double seconds, int n,
    double each_bytes, double rest_bytes)
{
	struct evidence e = { 0 };
	struct facts f = { 0 };
	const struct advice_rule *rule = advice_rules;
	json_t *doc = json_pack("{s:{s:f, s:f, s:[]}, s:{s:s}}", "session", "bytes", session_bytes,
		   "bytes_per_s", session_bytes / seconds, "files", "verdict", "stage",
		   "receiver.host"),
	       *files = json_object_get(json_object_get(doc, "session"), "files");
	bool shown;
	int i;

	for (i = 0; i < n; i++) {
		json_array_append_new(files,
		    json_pack("{s:s, s:f, s:f}", "path", "/a", "read_bytes", each_bytes,
			"write_bytes", 0.0));
		json_array_append_new(files,
		    json_pack("{s:s, s:f, s:f}", "path", "/b", "read_bytes", 0.0, "write_bytes",
			each_bytes));
	}
	json_array_append_new(files,
	    json_pack(
		"{s:s, s:f, s:f}", "path", "?", "read_bytes", rest_bytes, "write_bytes", 0.0));
	json_array_append_new(files,
	    json_pack("{s:s, s:f, s:f}", "path", "/big", "read_bytes", 60e6, "write_bytes", 0.0));
	while (strcmp(rule->name, "small-files") != 0)
		rule++;
	CHECK_INT(facts_read(r, &e, doc, &f), NW_OK);
	CHECK(facts_get(&f, "mean_file_bytes") != NULL); /* of all files, for other rules */
	shown = advice_holds(rule->when, &f, NULL);
	facts_clear(&f);
	json_decref(doc);
	return shown;
}

static void
small_files_test(struct store_reader *r)
{
	CHECK(!small_files_say(r, 60e6, 2, 24, 58256, 0)); /* an interpreter's modules */
	CHECK(small_files_say(r, 2.4e6, 2, 24, 5e4, 0));
	CHECK(!small_files_say(r, 2.4e6, 24, 24, 5e4, 0)); /* no file takes a second to open */
	CHECK(!small_files_say(r, 2.5e6, 2, 24, 5e4, 0));  /* read and written are no sum */
	CHECK(small_files_say(r, 60e6, 2, 24, 2e4, 58e6));
	CHECK(!small_files_say(r, 60e6, 2, 5, 2e4, 58e6));
	CHECK(!small_files_say(r, 60e6, 2, 30, 1e6, 0));
}

/* The number of workers on the card, 0 without card, where `n` workers hold the bytes for
 * `held` of their time, the next program for `next`, on four processors. */
static double
workers_say(struct store_reader *r, int n, double held, double cpu, double next, double busy,
    bool forks, double *gain)
{
	static char name[] = "h";
	struct evidence_host host = { .id = 1, .name = name, .cpu_busy = &busy };
	struct evidence e = {
		.hosts = &host, .n_hosts = 1, .n_windows = 1, .last_wall_ns = INT64_C(30000000000)
	};
	json_t *doc =
	    json_pack("{s:{s:s, s:n}, s:{s:i, s:f, s:[{s:s}, {s:s, s:s, s:i, s:b, s:f, s:f}]}}",
		"verdict", "cause", "computing", "stage", "chain", "limit", 1, "second_share", next,
		"nodes", "name", "loop.py", "name", "the workers of loop.py", "host", "h",
		"processes", n, "workers", forks, "held_share", held, "cpu_share", cpu);
	const struct advice_rule *rule = advice_rules;
	struct facts f;
	double more = 0;

	while (strcmp(rule->name, "more-workers") != 0)
		rule++;
	CHECK_INT(facts_read(r, &e, doc, &f), NW_OK);
	*gain = NAN;
	if (advice_holds(rule->when, &f, NULL)) {
		more = strtod(facts_get(&f, "more_workers"), NULL);
		*gain = strtod(facts_get(&f, "gain.more-workers"), NULL);
	}
	facts_clear(&f);
	json_decref(doc);
	return more;
}

/* More workers only where they compute, where processors are free, and for as many as count. */
static void
workers_test(struct store *store, struct store_reader *r)
{
	struct nw_batch *b = nw_batch_new();
	static char name[] = "h";
	double gain;

	CHECK_INT(nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = name }), NW_OK);
	CHECK_INT(nw_batch_setting(b,
		      &(struct nw_setting_rec){
			  .host_id = 1, .t_wall_ns = 1, .name = "cpu.count", .value = "4" }),
	    NW_OK);
	filled_commit(store, b);
	CHECK_INT((int)workers_say(r, 1, 1, 0.95, 0.4, 0.25, true, &gain), 3);
	CHECK(fabs(gain - 2.5) < 0.01); /* until the loop is at its limit */
	CHECK_INT((int)workers_say(r, 2, 1, 0.95, 0.1, 0.5, true, &gain), 4);
	CHECK(fabs(gain - 2) < 0.01); /* until no processor is free */
	CHECK_INT((int)workers_say(r, 4, 1, 0.95, 0.1, 0.99, true, &gain), 0);
	CHECK_INT((int)workers_say(r, 1, 1, 0.3, 0.4, 0.25, true, &gain), 0);
	CHECK_INT((int)workers_say(r, 1, 1, 0.95, 0.4, 0.25, false, &gain), 0);
	CHECK_INT((int)workers_say(r, 2, 1, 0.95, 0.9, 0.25, true, &gain), 0);
	CHECK_INT((int)workers_say(r, 1, 1, 0.95, 0.4, NAN, true, &gain), 0);
}

static void
test_held(void)
{
	static const double neither[2] = { 1, 2 }, window[2] = { 6, 0 }, buffer[2] = { 0, 5 };
	char why[STORE_WHY_BYTES];
	struct store *store = filled_open(NULL);
	struct store_reader *r;

	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	held_test(r, "window", neither, 50, "window");
	held_test(r, NULL, window, 1, "window");
	held_test(r, NULL, buffer, 1, "buffer");
	held_test(r, NULL, buffer, 50, NULL);
	held_test(r, NULL, neither, 1, NULL);
	late_test(store, r);
	small_files_test(r);
	workers_test(store, r);
	store_reader_close(r);
	store_close(store);
	filled_remove();
}

/* Commands come with the thing and the value, quoted where a shell would read more. */
static void
test_commands(void)
{
	static const struct {
		const char *name, *value, *check, *set;
	} cases[] = {
		{ "sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864", "sysctl net.ipv4.tcp_rmem",
		    "sysctl -w net.ipv4.tcp_rmem='4096 131072 67108864'" },
		{ "net.eth0.100.mtu", "9000", "ip link show dev eth0.100",
		    "ip link set dev eth0.100 mtu 9000" },
		{ "net.eth0.qdisc", "fq", "tc -s qdisc show dev eth0",
		    "tc qdisc replace dev eth0 root fq" },
		{ "net.eth0.qdisc", "tbf #e3cc8837", "tc -s qdisc show dev eth0", NULL },
		{ "net.eth0.qdisc", "pfifo_fast #7bca6f32", "tc -s qdisc show dev eth0",
		    "tc qdisc del dev eth0 root" },
		{ "net.eth0.qdisc", "noqueue", "tc -s qdisc show dev eth0",
		    "tc qdisc del dev eth0 root" },
		{ "mount./data/a b.options", "rw,noatime", "findmnt '/data/a b'",
		    "mount -o remount,rw,noatime '/data/a b'" },
		{ "sysctl.vm.x", "1'; reboot; '", "sysctl vm.x",
		    "sysctl -w vm.x='1'\\''; reboot; '\\'''" },
		{ "net.-rf.mtu", "1", "ip link show dev '-rf'", "ip link set dev '-rf' mtu 1" },
		{ "sysctl.vm.x", "a\nb", "sysctl vm.x", NULL },
		{ "program.rsync.build", "aa", "command -v rsync", NULL },
		{ "unheard.of", "1", NULL, NULL },
	};
	char *check, *set;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setback_commands(cases[i].name, cases[i].value, &check, &set);
		CHECK((check == NULL) == (cases[i].check == NULL));
		if (check != NULL && cases[i].check != NULL)
			CHECK_STR(check, cases[i].check);
		CHECK((set == NULL) == (cases[i].set == NULL));
		if (set != NULL && cases[i].set != NULL)
			CHECK_STR(set, cases[i].set);
		free(check);
		free(set);
	}
}

/* The setting named as the cause is the first card; another rule about it says no more. */
static void
test_set_back(void)
{
	json_t *doc = json_pack("{s:{s:f}, s:{s:[{s:s, s:s, s:s, s:s, s:s, s:f, s:b, s:s}]}}",
	    "usual", "ratio", 2.6, "changed", "differences", "kind", "setting", "host", "b", "name",
	    "sysctl.net.ipv4.tcp_rmem", "before", "4096 131072 67108864", "after",
	    "4096 4096 65536", "weight", 0.95, "named", 1, "at_ns", "1790000000000000000");
	struct advice a = { 0 };

	setback_cards(doc, &a);
	CHECK_INT(a.n, 1);
	CHECK_STR(
	    a.card[0].title, "Set sysctl net.ipv4.tcp_rmem on b back to 4096 131072 67108864");
	CHECK_STR(a.card[0].change, "On b: sysctl -w net.ipv4.tcp_rmem='4096 131072 67108864'");
	CHECK_STR(a.card[0].check, "sysctl net.ipv4.tcp_rmem");
	CHECK(fabs(a.card[0].gain_history - 2.6) < 1e-12 && isnan(a.card[0].gain));
	CHECK(a.card[0].n_settings == 1 &&
	    strcmp(a.card[0].setting[0].value, "4096 4096 65536") == 0);
	advice_clear(&a);
	json_object_set_new(
	    json_array_get(json_object_get(json_object_get(doc, "changed"), "differences"), 0),
	    "named", json_false());
	setback_cards(doc, &a);
	CHECK_INT(a.n, 0);
	json_decref(doc);
}

/* Where the box knows no command, a sentence that does not repeat the title, and that the page does
 * not show as a command. */
static void
test_set_back_by_person(void)
{
	static const struct {
		const char *name, *before, *after, *title, *change;
	} cases[] = {
		{ "kernel.release", "6.1.0-18", "6.1.0-21",
		    "Set kernel.release on b back to 6.1.0-18",
		    "Boot b with the kernel 6.1.0-18." },
		{ "kernel.boot_id", "aa", "bb",
		    "Find out why kernel.boot_id on b is not aa any more",
		    "Look for what the boot of b changed." },
		{ "cgroup.io.max", "", "8:0 rbps=4", "Take cgroup.io.max on b away again",
		    "Give the program's unit on b the former limit, by systemctl set-property." },
		{ "way.192.0.2.9.hops", "4", "9",
		    "Find out why way.192.0.2.9.hops on b is not 4 any more",
		    "Ask those who run the network between b and 192.0.2.9." },
		{ "program.mover.build", "a1", "b2", "Set program.mover.build on b back to a1",
		    "Install the former version of mover on b." },
		{ "os.version", "12", "13", "Set os.version on b back to 12",
		    "Bring os.version on b back to 12." },
	};
	struct advice a;
	json_t *doc;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		doc = json_pack("{s:{s:f}, s:{s:[{s:s, s:s, s:s, s:s, s:s, s:f, s:b, s:s}]}}",
		    "usual", "ratio", 2.6, "changed", "differences", "kind", "setting", "host", "b",
		    "name", cases[i].name, "before", cases[i].before, "after", cases[i].after,
		    "weight", 0.95, "named", 1, "at_ns", "1790000000000000000");
		a = (struct advice){ .n = 0 };
		setback_cards(doc, &a);
		CHECK_INT(a.n, 1);
		CHECK_STR(a.card[0].title, cases[i].title);
		CHECK_STR(a.card[0].change, cases[i].change);
		CHECK(strncmp(a.card[0].change, "On ", 3) != 0);
		advice_clear(&a);
		json_decref(doc);
	}
}

int
main(void)
{
	test_commands();
	test_set_back();
	test_set_back_by_person();
	test_held();
	test_rules();
	test_bad_conditions();
	test_closing();
	test_told_cards();
	return check_done("advice");
}
