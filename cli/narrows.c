/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows: asks a state directory, or a running box, what it knows; and the statistics on anybody's
 * files. */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "daemon/conf.h"
#include "narrows/log.h"
#include "cli/source.h"
#include "cli/stat/stat.h"
#include "narrows/xmalloc.h"

static const char DEFAULT_CONF[] = "/etc/narrows/narrowsd.conf";
static const char HOST_TLS_DIR[] = "/etc/narrows/tls";

static const struct command {
	const char *name;
	int (*run)(struct source *s, int argc, char **argv);
	int (*run_local)(const char *state_dir, int argc, char **argv);
	const char *help;
} commands[] = {
	{ "sessions", cmd_sessions, NULL, "list sessions, newest first" },
	{ "report", cmd_report, NULL, "the verdict of a session (ID, or \"last\")" },
	{ "export", cmd_export, NULL,
	    "everything measured for a session, as CSV and other tables" },
	{ "import", NULL, cmd_import, "files that were exported, or that others recorded" },
	{ "health", cmd_health, NULL, "how the running box is" },
	{ "pin", NULL, cmd_pin, "keep the samples of a session (ID, or \"last\") for ever" },
	{ "unpin", NULL, cmd_unpin, "let them get old like others" },
	{ "control", NULL, cmd_control, "have a host measure more or faster for a while" },
	{ "sql", NULL, cmd_sql, "SQL on everything there is, samples included" },
	{ "backup", NULL, cmd_backup, "copy the store to a file, while the box runs" },
	{ "verify", NULL, cmd_verify, "check a store, or a copy, down to every sample" },
	{ "restore", NULL, cmd_restore, "put a copy in the place of the store" },
};

static const struct {
	const char *name;
	int (*run)(const char *tls_dir, int argc, char **argv);
	const char *help;
} site_commands[] = {
	{ "enroll", cmd_enroll, "a key and a certificate for a host" },
	{ "join", cmd_join, "on a host: get them from a box, with a token" },
	{ "revoke", cmd_revoke, "the certificates of a host are no longer good" },
	{ "hosts", cmd_hosts, "certificates, and until when they are good" },
};
enum { N_SITE_COMMANDS = sizeof(site_commands) / sizeof(site_commands[0]) };

static void
usage(FILE *f)
{
	size_t i;

	fputs("usage: narrows [-s STATE_DIR | [-C CA_FILE] -u URL] COMMAND [ARG ...]\n", f);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(f, "  %-9s  %s\n", commands[i].name, commands[i].help);
	for (i = 0; i < N_SITE_COMMANDS; i++)
		fprintf(f, "  %-9s  %s\n", site_commands[i].name, site_commands[i].help);
	fputs("  stat       the statistics on a CSV file of yours\n"
	      "narrows COMMAND --help says how one is used\n"
	      "without -s and -u: the environment's NARROWS_STATE, else the state-dir of "
	      "narrowsd.conf\n",
	    f);
}

/* The box's configuration, when it is where it usually is; the state directory is what the user
 * says, if anything. */
static void
conf_find(struct conf *c, const char *state_dir)
{
	const char *env = getenv("NARROWS_STATE");
	char why[CONF_WHY_BYTES];

	conf_init(c);
	if (state_dir == NULL && env != NULL && *env != '\0')
		state_dir = env;
	if (state_dir == NULL && access(DEFAULT_CONF, R_OK) == 0 &&
	    conf_read(c, DEFAULT_CONF, why) < 0)
		fprintf(stderr, "narrows: %s\n", why);
	if (state_dir == NULL)
		return;
	free(c->state_dir);
	c->state_dir = xstrdup(state_dir);
}

/*
 * Who must have signed what an https box shows: said, else where hosts have it (host/tlsfiles.h),
 * else, on a box, what it made itself.
 */
static char *
ca_find(const struct conf *c, const char *said)
{
	const char *dir = secure_getenv("NARROWS_TLS");
	char *tls_dir, *path;

	if (said != NULL || (said = secure_getenv("NARROWS_TLS_CA")) != NULL)
		return xstrdup(said);
	path = xasprintf("%s/ca.crt", dir != NULL ? dir : HOST_TLS_DIR);
	if (dir != NULL || access(path, F_OK) == 0)
		return path;
	free(path);
	tls_dir = conf_tls_dir(c);
	path = xasprintf("%s/ca.crt", tls_dir);
	free(tls_dir);
	return path;
}

static int
command_run(const struct command *cmd, const char *state_dir, const char *url, const char *ca,
    int argc, char **argv)
{
	struct conf c;
	struct source *s;
	int status = 1;
	char *ca_path;

	conf_find(&c, state_dir);
	ca_path = ca_find(&c, ca);
	optind = 0; /* 0, not 1: getopt begins anew and may permute again */
	if (cmd->run_local != NULL && url != NULL)
		fprintf(
		    stderr, "narrows: %s works on a state directory, not over HTTP\n", cmd->name);
	else if (cmd->run_local != NULL)
		status = cmd->run_local(c.state_dir, argc, argv);
	else if ((s = source_open(c.state_dir, url)) != NULL) {
		source_trust(s, ca_path);
		status = cmd->run(s, argc, argv);
		source_close(s);
	}
	free(ca_path);
	conf_clear(&c);
	return status;
}

static int
site_command_run(size_t i, const char *state_dir, int argc, char **argv)
{
	struct conf c;
	char *dir;
	int status;

	conf_find(&c, state_dir);
	dir = conf_tls_dir(&c);
	optind = 0;
	status = site_commands[i].run(dir, argc, argv);
	free(dir);
	conf_clear(&c);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	const char *state_dir = NULL, *url = NULL, *ca = NULL;
	bool help;
	size_t i;
	int ch;

	log_open("narrows", true, false);
	signal(SIGPIPE, SIG_IGN);
	while ((ch = getopt_long(argc, argv, "+C:hs:u:V", longs, NULL)) != -1) {
		switch (ch) {
		case 'C': ca = optarg; break;
		case 's': state_dir = optarg; break;
		case 'u': url = optarg; break;
		case 'V': puts("narrows " NW_VERSION); return 0;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	argc -= optind;
	argv += optind;
	if (argc == 0) {
		usage(stderr);
		return 2;
	}
	if (strcmp(argv[0], "stat") == 0) {
		optind = 0; /* 0, not 1: getopt begins anew and may permute again */
		return cmd_stat(argc, argv);
	}
	if (strcmp(argv[0], "help") == 0) {
		usage(stdout);
		return 0;
	}
	help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[0], commands[i].name) == 0)
			return help ? cmd_usage(argv[0], stdout)
				    : command_run(&commands[i], state_dir, url, ca, argc, argv);
	for (i = 0; i < N_SITE_COMMANDS; i++)
		if (strcmp(argv[0], site_commands[i].name) == 0)
			return help ? cmd_usage(argv[0], stdout)
				    : site_command_run(i, state_dir, argc, argv);
	fprintf(stderr, "narrows: %s: no such command\n", argv[0]);
	usage(stderr);
	return 2;
}
