/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows partner: transfers between the hosts of this box and of boxes of other sites. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/partner/partner.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

static const char DEFAULT_CONF[] = "/etc/narrows/partner.conf";

static volatile sig_atomic_t stopping;

static void
on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

struct asking {
	const struct command_env *env;
	struct partner_conf conf;
	int n;
	char **words; /* behind the verb */
	bool json;
	char why[PARTNER_WHY_BYTES];
};

/* The words from `first` on, by blanks: networks. free() it. */
static char *
networks_of(const struct asking *a, int first)
{
	char *text = NULL, *more;
	int i;

	for (i = first; i < a->n; i++) {
		more = xasprintf(
		    "%s%s%s", text != NULL ? text : "", text != NULL ? " " : "", a->words[i]);
		free(text);
		text = more;
	}
	return text;
}

static int
invite(struct asking *a)
{
	char token[TOKEN_TEXT_BYTES], *networks = networks_of(a, 1);
	int rc = partner_invite(&a->conf, a->words[0], networks, token, a->why);

	free(networks);
	if (rc == NW_OK) {
		printf("%s\n", token);
		fprintf(stderr,
		    "Good for an hour and for %s alone. There, with the networks of this site's "
		    "hosts:\n  narrows partner join %s TOKEN NETWORK ...\n",
		    a->words[0], a->conf.address);
	}
	return rc;
}

static int
join(struct asking *a)
{
	char *networks = networks_of(a, 2);
	int rc = partner_join(&a->conf, a->words[0], a->words[1], networks, a->why);

	free(networks);
	return rc;
}

static int
list(struct asking *a)
{
	struct partners p;
	size_t i;
	int rc = partners_read(&a->conf, &p, a->why);

	for (i = 0; i < p.n; i++)
		printf("%s  %s  %s\n", terminal_text(p.list[i].site), p.list[i].address,
		    p.list[i].networks_text);
	if (rc == NW_OK && p.n == 0)
		puts("no partners");
	partners_clear(&p);
	return rc;
}

static int
drop(struct asking *a)
{
	return partner_remove(&a->conf, a->words[0], a->why);
}

/* Prints the head of good windows. */
static int
verify(struct asking *a)
{
	struct windows w;
	char *bytes, *head;
	int rc = windows_file(&a->conf, a->words[0], &bytes, &w, a->why);

	if (rc == NW_OK) {
		head = json_dumps(w.head, JSON_COMPACT | JSON_SORT_KEYS);
		printf("%s\n", terminal_text(head));
		free(head);
	}
	windows_close(&w);
	free(bytes);
	return rc;
}

/* Prints the verdict of the windows of both sites. */
static int
judge(struct asking *a)
{
	const char *const path[2] = { a->words[0], a->words[1] };
	const json_t *verdict;
	json_t *doc;
	char *text = NULL;
	int rc = partner_judge(&a->conf, path, &text, a->why);

	if (rc == NW_OK && a->json)
		printf("%s\n", text);
	else if (rc == NW_OK) {
		doc = json_loads(text, 0, NULL);
		verdict = result_get(doc, KEY_result_verdict);
		printf("%s\nConfidence: %s.\n", show_text(verdict, KEY_verdict_sentence, "?"),
		    show_text(verdict, KEY_verdict_confidence, "none"));
		json_decref(doc);
	}
	free(text);
	return rc;
}

static char *
xsp_address(const char *state_dir)
{
	char *xsp = NULL;

	if (source_box_runs(state_dir) && (xsp = source_run_value(state_dir, "xsp")) != NULL)
		xsp[strcspn(xsp, " ,")] = '\0';
	return xsp;
}

static void
on_ready(const char *address)
{
	printf("%s\n", address);
	fflush(stdout);
}

static int
work(struct asking *a)
{
	struct sigaction stop = { .sa_handler = on_stop };
	char *store_path = xasprintf("%s/narrows.db", a->env->state_dir);
	const struct partner_env env = { &a->conf, a->env->state_dir, store_path, xsp_address,
		&stopping };
	int rc;

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	rc = partner_run(&env, on_ready, a->why);
	free(store_path);
	return rc;
}

static const struct {
	const char *word;
	int least, most; /* words behind it */
	int (*fn)(struct asking *a);
} verbs[] = {
	{ "invite", 2, 1000, invite },
	{ "join", 3, 1000, join },
	{ "judge", 2, 2, judge },
	{ "list", 0, 0, list },
	{ "remove", 1, 1, drop },
	{ "run", 0, 0, work },
	{ "verify", 1, 1, verify },
};

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "file", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 } };
	struct asking a = { .env = env };
	const char *path = DEFAULT_CONF, *word;
	char why[CONF_WHY_BYTES];
	size_t i;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "f:j", longs, NULL)) != -1) {
		if (opt != 'f' && opt != 'j')
			return command_misused(env->command);
		if (opt == 'f')
			path = optarg;
		a.json |= opt == 'j';
	}
	word = optind < argc ? argv[optind++] : "";
	a.words = argv + optind;
	a.n = argc - optind;
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(word, verbs[i].word) == 0 && a.n >= verbs[i].least &&
		    a.n <= verbs[i].most)
			break;
	if (i == sizeof(verbs) / sizeof(verbs[0]))
		return command_misused(env->command);
	if (partner_conf_read(path, &a.conf, why) < 0)
		return command_failed(NULL, why);
	rc = verbs[i].fn(&a);
	partner_conf_clear(&a.conf);
	return rc == NW_OK ? 0 : command_failed(NULL, a.why[0] != '\0' ? a.why : nw_strerror(rc));
}

const struct command command_partner = {
	.name = "partner",
	.summary = "boxes of other sites that measure the other ends of transfers",
	.usage = "[-f FILE] invite SITE NETWORK ... | join HOST/PORT TOKEN NETWORK ... |\n"
		 "       list | remove SITE | run | verify FILE | judge [-j] FILE FILE",
	.help = "  -f, --file FILE   configuration (/etc/narrows/partner.conf)\n"
		"NETWORK: of the partner's hosts, as 192.0.2.0/24; the partner may ask about "
		"transfers with them\n"
		"         and no others.\n"
		"invite prints a token for the box of SITE, join uses the token there. run "
		"answers partners and asks them.\n"
		"verify checks the signature of kept windows. judge computes the verdict again "
		"from the windows of both sites.\n"
		"  -j, --json        judge prints the result document\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
