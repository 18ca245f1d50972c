/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows access: manage access to the report beyond loopback. */
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "narrows/account.h"
#include "narrows/audit.h"
#include "narrows/clock.h"
#include "narrows/format.h"

struct request {
	const char *state_dir, *name;
	enum account_role role;
	int64_t for_s; /* of a token; 0: for ever */
	bool make;     /* a password is made, not asked for */
};

/* --- passwords --- */

/* Reads a line without its end; from a terminal, which does not show what is typed, after a
 * question. */
static bool
line_ask(const char *question, char out[ACCOUNT_PASSWORD_BYTES + 1])
{
	struct termios before, quiet;
	bool asks = tcgetattr(STDIN_FILENO, &before) == 0, got;

	if (asks) {
		quiet = before;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		fputs(question, stderr);
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	got = fgets(out, ACCOUNT_PASSWORD_BYTES + 1, stdin) != NULL;
	if (asks) {
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		fputc('\n', stderr);
	}
	if (got)
		out[strcspn(out, "\r\n")] = '\0';
	return got;
}

static int
password_ask(char out[ACCOUNT_PASSWORD_BYTES + 1])
{
	char again[ACCOUNT_PASSWORD_BYTES + 1];
	int status = 0;

	if (!line_ask("Password: ", out))
		return command_failed(NULL, "no password on standard input");
	if (isatty(STDIN_FILENO) && (!line_ask("Again: ", again) || strcmp(out, again) != 0))
		status = command_failed(NULL, "the two passwords differ");
	explicit_bzero(again, sizeof(again));
	return status;
}

/* --- what is done --- */

static void
note(const struct request *q, const char *event)
{
	const struct passwd *pw = getpwuid(getuid());

	audit_note(q->state_dir, event, q->name, pw != NULL ? pw->pw_name : "?");
}

static int
user_put(const struct request *q)
{
	char password[ACCOUNT_PASSWORD_BYTES + 1], why[CONF_WHY_BYTES];
	int status = 0;

	if (q->make && account_password_make(password) < 0)
		return command_failed(NULL, strerror(errno));
	if (!q->make && (status = password_ask(password)) != 0)
		return status;
	if (account_user_put(q->state_dir, q->name, q->role, password, why) < 0)
		status = command_failed(NULL, why);
	else {
		note(q, "user.put");
		if (q->make)
			printf("%s\n", password);
	}
	explicit_bzero(password, sizeof(password));
	return status;
}

static int
token_make(const struct request *q)
{
	int64_t until = q->for_s != 0 ? nw_wall_ns() / 1000000000 + q->for_s : 0;
	char text[ACCOUNT_TOKEN_BYTES], why[CONF_WHY_BYTES];

	if (account_token_make(q->state_dir, q->name, q->role, until, text, why) < 0)
		return command_failed(NULL, why);
	note(q, "token.make");
	printf("%s\n", text);
	return 0;
}

static int
account_end(const struct request *q)
{
	char why[CONF_WHY_BYTES];
	bool user = account_remove(q->state_dir, false, q->name, why) == 0,
	     token = account_remove(q->state_dir, true, q->name, why) == 0;

	if (!user && !token)
		return command_failed(
		    q->name, "no user and no token has this name: narrows access list shows all");
	note(q, "remove");
	return 0;
}

static int
accounts_list(const struct request *q)
{
	struct accounts *a;
	char why[CONF_WHY_BYTES];
	size_t i;

	if (accounts_read(q->state_dir, &a, why) < 0)
		return command_failed(NULL, why);
	printf("%-24s  %-5s  %-8s  %s\n", "NAME", "KIND", "ROLE", "UNTIL");
	for (i = 0; i < a->n; i++)
		printf("%-24s  %-5s  %-8s  %s\n", a->list[i].name,
		    a->list[i].is_token ? "token" : "user", account_role_name(a->list[i].role),
		    a->list[i].until_wall_s != 0
			? fmt_iso_ns(a->list[i].until_wall_s * 1000000000).s
			: "-");
	free(a);
	return 0;
}

/* --- the command line --- */

static const struct action {
	const char *name, *options;
	bool named;
	int (*run)(const struct request *q);
} actions[] = {
	{ "user", "r:g", true, user_put },
	{ "token", "r:d:", true, token_make },
	{ "remove", "", true, account_end },
	{ "list", "", false, accounts_list },
};

static const struct action *
action_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

static bool
option_take(struct request *q, int opt)
{
	char *end;
	long days;

	switch (opt) {
	case 'r': return (q->role = account_role_parse(optarg)) != ACCOUNT_NOBODY;
	case 'g': q->make = true; return true;
	case 'd':
		days = strtol(optarg, &end, 10);
		q->for_s = days * 86400;
		return end != optarg && *end == '\0' && days > 0 && days <= 36500;
	}
	return false;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "role", required_argument, NULL, 'r' },
		{ "generate", no_argument, NULL, 'g' }, { "days", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 } };
	struct request q = { .state_dir = env->state_dir, .role = ACCOUNT_VIEWER };
	const struct action *what = argc > 1 ? action_find(argv[1]) : NULL;
	int opt;

	if (what == NULL)
		return command_misused(env->command);
	while ((opt = getopt_long(argc - 1, argv + 1, what->options, longs, NULL)) != -1)
		if (strchr(what->options, opt) == NULL || !option_take(&q, opt))
			return command_misused(env->command);
	if (argc - 1 - optind != what->named)
		return command_misused(env->command);
	q.name = what->named ? argv[1 + optind] : NULL;
	return what->run(&q);
}

const struct command command_access = {
	.name = "access",
	.summary = "manage access to the report beyond loopback",
	.usage = "user [-r ROLE] [-g] NAME | token [-r ROLE] [-d DAYS] NAME | remove NAME | list",
	.help = "user    adds a user, or replaces password and role of a known user\n"
		"token   makes a token for a program and prints it, once\n"
		"remove  ends a user's or a token's access, at once\n"
		"list    shows users and tokens\n"
		"  -r, --role ROLE   viewer (default), operator, admin; of a token also\n"
		"                    metrics, traces\n"
		"  -g, --generate    makes the password and prints it; else standard input has it\n"
		"  -d, --days DAYS   the token ends after so long; else never\n"
		"A metrics token reads /metrics, /healthz and /readyz alone, a traces token sends "
		"traces.\n"
		"An operator may also "
		"change\nwhat pages let people change, an admin see /access.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
