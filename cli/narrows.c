/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows: reads the options before the command, prepares the command's needs, runs the command. */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/openbox.h"
#include "narrows/log.h"
#include "narrows/siteconf.h"
#include "cli/source.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

static const char DEFAULT_CONF[] = OPENBOX_CONF;
static const char HOST_TLS_DIR[] = "/etc/narrows/tls";

/* Every command, in the order of the help. */
#define COMMANDS(X)   \
	X(sessions)   \
	X(routes)     \
	X(route)      \
	X(incidents)  \
	X(accept)     \
	X(compare)    \
	X(expected)   \
	X(keep)       \
	X(report)     \
	X(export)     \
	X(import)     \
	X(health)     \
	X(selftest)   \
	X(pin)        \
	X(unpin)      \
	X(lifelines)  \
	X(annotate)   \
	X(attach)     \
	X(control)    \
	X(sql)        \
	X(backup)     \
	X(verify)     \
	X(restore)    \
	X(enroll)     \
	X(revoke)     \
	X(hosts)      \
	X(baselines)  \
	X(collectors) \
	X(diet)       \
	X(access)     \
	X(hook)       \
	X(fleet)      \
	X(partner)    \
	X(stat)

#define DECLARE(name) extern const struct command command_##name;
COMMANDS(DECLARE)
#define ADDRESS(name) &command_##name,
static const struct command *const commands[] = { COMMANDS(ADDRESS) };
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* Options before the command. */
struct globals {
	const char *state_dir, *url, *ca_path; /* NULL where the user gave none */
};

static void
usage(FILE *f)
{
	size_t i;

	fputs("usage: narrows [-s STATE_DIR | [-C CA_FILE] -u URL] COMMAND [ARG ...]\n", f);
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-9s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\"narrows help COMMAND\" prints the options of a command.\n"
	      "Without -s and -u the state directory is NARROWS_STATE of the environment, else "
	      "state-dir of narrowsd.conf.\n",
	    f);
}

static const struct command *
command_find(const char *name)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	fprintf(stderr, "narrows: %s: no such command\n", name);
	usage(stderr);
	return NULL;
}

/* --- the needs of a command --- */

/* Directives of narrowsd.conf for the command. */
struct site {
	char *state_dir, *tls_dir;
};
static const struct conf_row site_rows[] = { SITECONF_ROWS(struct site) };
static const struct conf_table site_table = { site_rows, sizeof(site_rows) / sizeof(site_rows[0]),
	sizeof(struct site), true };

/* Fills the box's configuration from the place where the file usually lies; a state directory
 * named by the user or the environment wins. */
static void
site_find(struct site *s, const char *state_dir)
{
	const char *env = getenv("NARROWS_STATE");
	char why[CONF_WHY_BYTES];

	if (conftable_init(&site_table, s, why) < 0)
		abort(); /* the table contradicts itself */
	if (state_dir == NULL && env != NULL && *env != '\0')
		state_dir = env;
	if (state_dir == NULL && access(DEFAULT_CONF, R_OK) == 0 &&
	    conftable_read(&site_table, s, DEFAULT_CONF, NULL, why) < 0)
		fprintf(stderr, "narrows: %s\n", why);
	if (state_dir == NULL)
		return;
	free(s->state_dir);
	s->state_dir = xstrdup(state_dir);
}

/* The CA file for https boxes: the user's, else the file in the directory of a host's keys
 * (host/lib/tlsfiles.h), else the box's own. */
static char *
ca_find(const struct site *site, const char *given)
{
	const char *dir = secure_getenv("NARROWS_TLS");
	char *tls_dir, *path;

	if (given != NULL || (given = secure_getenv("NARROWS_TLS_CA")) != NULL)
		return xstrdup(given);
	path = xasprintf("%s/ca.crt", dir != NULL ? dir : HOST_TLS_DIR);
	if (dir != NULL || access(path, F_OK) == 0)
		return path;
	free(path);
	tls_dir = siteconf_tls_dir(site->state_dir, site->tls_dir);
	path = xasprintf("%s/ca.crt", tls_dir);
	free(tls_dir);
	return path;
}

static int
run_with_source(struct command_env *env, const struct globals *g, const struct site *site, int argc,
    char **argv)
{
	char *ca_path;
	int status;

	env->source = source_open(site->state_dir, g->url);
	ca_path = ca_find(site, g->ca_path);
	source_trust(env->source, ca_path);
	free(ca_path);
	status = env->command->run(env, argc, argv);
	source_close(env->source);
	return status;
}

static int
command_run(const struct command *cmd, const struct globals *g, int argc, char **argv)
{
	struct command_env env = { .command = cmd };
	struct site site;
	char *tls_dir = NULL;
	int status;

	site_find(&site, g->state_dir);
	env.state_dir = site.state_dir;
	if (cmd->needs == NEEDS_TLS_DIR)
		env.tls_dir = tls_dir = siteconf_tls_dir(site.state_dir, site.tls_dir);
	optind = 0; /* 0, not 1: getopt begins anew and may permute again */
	if (cmd->needs == NEEDS_SOURCE)
		status = run_with_source(&env, g, &site, argc, argv);
	else if (cmd->needs == NEEDS_STATE_DIR && g->url != NULL)
		status = command_failed(cmd->name, "works on a state directory, not over HTTP");
	else
		status = cmd->run(&env, argc, argv);
	free(tls_dir);
	conftable_clear(&site_table, &site);
	return status;
}

/* --- the choice of the command --- */

static bool
is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* Runs `narrows help` and `narrows help COMMAND [ARG ...]`. The latter is `narrows COMMAND [ARG
 * ...] --help` for a command without help text. */
static int
help_run(const struct globals *g, int argc, char **argv)
{
	static char help[] = "--help";
	const struct command *cmd;
	char **args;
	int status;

	if (argc < 2) {
		usage(stdout);
		return 0;
	}
	if ((cmd = command_find(argv[1])) == NULL)
		return COMMAND_MISUSED;
	if (cmd->help != NULL)
		return command_help(cmd);
	args = xcalloc((size_t)argc + 1, sizeof(*args));
	memcpy(args, argv + 1, ((size_t)argc - 1) * sizeof(*args));
	args[argc - 1] = help;
	status = command_run(cmd, g, argc, args);
	free(args);
	return status;
}

static int
words_run(const struct globals *g, int argc, char **argv)
{
	const struct command *cmd;

	if (argc == 0) {
		usage(stderr);
		return COMMAND_MISUSED;
	}
	if (strcmp(argv[0], "help") == 0)
		return help_run(g, argc, argv);
	if ((cmd = command_find(argv[0])) == NULL)
		return COMMAND_MISUSED;
	if (cmd->help != NULL && argc > 1 && is_help(argv[1]))
		return command_help(cmd);
	return command_run(cmd, g, argc, argv);
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	struct globals g = { 0 };
	int ch;

	terminal_guard();
	log_open("narrows", true, false);
	signal(SIGPIPE, SIG_IGN);
	while ((ch = getopt_long(argc, argv, "+C:hs:u:V", longs, NULL)) != -1) {
		switch (ch) {
		case 'C': g.ca_path = optarg; break;
		case 's': g.state_dir = optarg; break;
		case 'u': g.url = optarg; break;
		case 'V': puts("narrows " NW_VERSION); return 0;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return COMMAND_MISUSED;
		}
	}
	return words_run(&g, argc - optind, argv + optind);
}
