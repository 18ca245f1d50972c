/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows enroll: makes a key and a certificate for a host, or a token for one. Only files
 * change; a running box notices. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/quantity.h"
#include "narrows/ca.h"
#include "cli/cmd.h"
#include "cli/openbox.h"
#include "cli/show.h"
#include "narrows/speakers.h"
#include "narrows/token.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { GRANTS_MAX = 16 };

#define DAY_S            86400
#define DAYS_DEFAULT     730.0
#define DAYS_MAX         3650.0
#define TOKEN_FOR_NS     (INT64_C(3600) * 1000000000)
#define TOKEN_FOR_MAX_NS (INT64_C(30) * 86400 * 1000000000)

/* Fractions of a day are for trials of a certificate's end. */
static bool
days_parse(const char *text, double *days)
{
	char *end;

	*days = strtod(text, &end);
	return end != text && *end == '\0' && *days > 0 && *days <= DAYS_MAX;
}

static int
files_write(const char *tls_dir, const char *dir, const char *host, const struct nw_cert *c,
    char why[CONF_WHY_BYTES])
{
	char *key = xasprintf("%s.key", host), *crt = xasprintf("%s.crt", host),
	     *ca_path = xasprintf("%s/ca.crt", tls_dir);
	char ca[sizeof(c->cert_pem)];
	FILE *f = fopen(ca_path, "re");
	size_t n = f != NULL ? fread(ca, 1, sizeof(ca) - 1, f) : 0;
	int rc = NW_EIO;

	ca[n] = '\0';
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		snprintf(why, CONF_WHY_BYTES, "%.200s: cannot be made: %s", dir, strerror(errno));
	else if (n == 0)
		snprintf(why, CONF_WHY_BYTES, "%.200s: cannot be read", ca_path);
	else if ((rc = ca_file_write(dir, key, c->key_pem, 0600, why)) == NW_OK &&
	    (rc = ca_file_write(dir, crt, c->cert_pem, 0644, why)) == NW_OK)
		rc = ca_file_write(dir, "ca.crt", ca, 0644, why);
	if (f != NULL)
		fclose(f);
	free(ca_path);
	free(crt);
	free(key);
	return rc;
}

struct enrolling {
	const char *dir;
	bool token, serves, opens;
	int64_t token_for_ns;
	double days;
	char addresses[CA_ADDRESSES_BYTES];
	const char *speaks_for[GRANTS_MAX];
	size_t n_grants;
};

static bool
address_take(struct enrolling *e, const char *text)
{
	const char *why;

	if (ca_address_add(e->addresses, text, &why) == NW_OK)
		return true;
	command_failed(text, why);
	return false;
}

static bool
grant_take(struct enrolling *e, const char *thing)
{
	char *text = xasprintf("host %s", thing), line[SPEAKERS_LINE_BYTES];
	const char *why = "more than 16 at once";
	bool good = e->n_grants < GRANTS_MAX && speakers_line(text, line, &why) == NW_OK;

	free(text);
	if (!good)
		command_failed(thing, why);
	else
		e->speaks_for[e->n_grants++] = thing;
	return good;
}

static int
grants_make(const char *tls_dir, const char *host, const struct enrolling *e)
{
	char why[CONF_WHY_BYTES];
	size_t i;

	for (i = 0; i < e->n_grants; i++)
		if (speakers_grant(tls_dir, host, e->speaks_for[i], why) < 0)
			return command_failed(NULL, why);
	return 0;
}

static bool
options_parse(struct enrolling *e, int argc, char **argv)
{
	static const struct option longs[] = { { "days", required_argument, NULL, 'd' },
		{ "token", no_argument, NULL, 't' }, { "server", no_argument, NULL, 's' },
		{ "for", required_argument, NULL, 'f' },
		{ "address", required_argument, NULL, 'a' },
		{ "speaks-for", required_argument, NULL, 'w' }, { "open", no_argument, NULL, 'O' },
		{ NULL, 0, NULL, 0 } };
	const char *why;
	bool good = true, timed = false;
	int ch;

	while (good && (ch = getopt_long(argc, argv, "o:", longs, NULL)) != -1)
		switch (ch) {
		case 'o': e->dir = optarg; break;
		case 'd': good = days_parse(optarg, &e->days); break;
		case 't': e->token = true; break;
		case 's': e->serves = true; break;
		case 'O': e->opens = true; break;
		case 'a': good = address_take(e, optarg); break;
		case 'w': good = grant_take(e, optarg); break;
		case 'f':
			good = quantity_duration(optarg, &e->token_for_ns, &why) == NW_OK &&
			    e->token_for_ns > 0 && e->token_for_ns <= TOKEN_FOR_MAX_NS;
			timed = true;
			break;
		default: good = false;
		}
	return good && optind < argc && (!e->token || (e->dir == NULL && !e->serves)) &&
	    (e->token || (!timed && !e->opens)) &&
	    (optind == argc - 1 || (e->token && e->addresses[0] == '\0' && e->n_grants == 0));
}

static int
files_make(const char *tls_dir, const struct ca_enrolment *enrolment, const struct enrolling *e)
{
	const char *dir = e->dir != NULL ? e->dir : ".", *host = enrolment->host;
	char why[CONF_WHY_BYTES], unused[CONF_WHY_BYTES];
	struct nw_cert c;
	int rc;

	if (ca_enroll(tls_dir, enrolment, &c, why) < 0)
		return command_failed(NULL, why);
	if ((rc = files_write(tls_dir, dir, host, &c, why)) < 0)
		(void)ca_revoke(tls_dir, c.serial, unused); /* no host has the certificate's key */
	nw_cert_clear(&c);
	if (rc < 0)
		return command_failed(NULL, why);
	printf("%s/%s.key  %s/%s.crt  %s/ca.crt  good until %s UTC\n", dir, host, dir, host, dir,
	    show_minute(enrolment->now_wall_s + enrolment->for_s));
	return fflush(stdout) != 0;
}

/* For a person the whole command of the host, for a program the token alone. */
static int
token_print(const struct command_env *env, const struct ca_enrolment *c, const struct enrolling *e)
{
	char text[TOKEN_TEXT_BYTES], why[CONF_WHY_BYTES], *url;

	if (token_make(env->tls_dir, c, c->now_wall_s + e->token_for_ns / 1000000000, text, why) <
	    0)
		return command_failed(NULL, why);
	url = isatty(STDOUT_FILENO) ? openbox_url(env->state_dir) : NULL;
	if (url != NULL)
		printf("on %s: narrows-host join %s %s\n", c->host, url, text);
	else
		puts(text);
	free(url);
	return fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct enrolling e = { .token_for_ns = TOKEN_FOR_NS, .days = DAYS_DEFAULT };
	struct ca_enrolment c = { .now_wall_s = nw_wall_ns() / 1000000000 };
	char why[CONF_WHY_BYTES];
	int status = 0;

	if (!options_parse(&e, argc, argv))
		return command_misused(env->command);
	if ((e.opens && openbox(env->state_dir, why) < 0) || ca_ensure(env->tls_dir, why) < 0)
		return command_failed(NULL, why);
	c.addresses = e.addresses;
	c.for_s = (int64_t)(e.days * DAY_S);
	c.serves = e.serves;
	for (; optind < argc && status == 0; optind++) {
		c.host = argv[optind];
		status = e.token ? token_print(env, &c, &e) : files_make(env->tls_dir, &c, &e);
		if (status == 0)
			status = grants_make(env->tls_dir, c.host, &e);
	}
	return status;
}

const struct command command_enroll = {
	.name = "enroll",
	.summary = "a key and a certificate for a host",
	.usage =
	    "[--days N] [--address ADDR ...] [--speaks-for WHAT:NAME ...] [[--server] [-o DIR] | "
	    "--token [--for TIME] [--open]] HOST ...",
	.help = "  --days N     how long the certificate is good; 730 days if not given\n"
		"  --address A  a further address of the host, as of a second interface; up to 8\n"
		"  --speaks-for WHAT:NAME\n"
		"               the host may speak for switch:NAME, host:NAME or storage:NAME\n"
		"  -o DIR       where HOST.key, HOST.crt and ca.crt go, and which is made; here if "
		"not given\n"
		"  --server     others connect to the host, too: a server of the storage system\n"
		"  --token      print a token for \"narrows-host join\" on the host\n"
		"  --open       with --token: let the box listen for hosts, if it does not yet\n"
		"  --for TIME   how long the token is good; 1h if not given, at most 30d\n",
	.needs = NEEDS_TLS_DIR,
	.run = run,
};
