/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * narrows-host join. The order is that of safety: first everything that can be tried without
 * changes (box, port, clock, directories), then the token, then a session with the new certificate.
 * Only then files get their names, the clock its source, and services start. The host makes its
 * key, and keeps the key to itself.
 */
#include "host/join/enlist.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/join/boxtalk.h"
#include "host/join/helper.h"
#include "host/join/staged.h"
#include "host/join/timesource.h"
#include "host/lib/hostconf.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/token.h"
#include "narrows/xmalloc.h"

#define DEFAULT_DIR   "/etc/narrows/tls"
#define DEFAULT_GROUP "narrows-host"
/* beyond this a host's times contradict those of the box; chronyd sets smaller offsets right */
#define AHEAD_MAX_S 1.0

enum { STATUS_FAILED = 1, STATUS_MISUSED = 2 };

const char enlist_usage[] =
    "usage: narrows-host join [--clock box|keep] [-g GROUP] [--no-agents] [--watch] BOX TOKEN\n"
    "       narrows-host join -o DIR BOX TOKEN\n";
const char enlist_help[] =
    "  BOX              the box's https address; port 8443 if not given\n"
    "  TOKEN            what \"narrows enroll --token\" printed on the box; \"-\": from standard "
    "input\n"
    "  --clock box      chronyd follows the box, also where chronyd follows another source\n"
    "  --clock keep     no time daemon is changed\n"
    "  -g GROUP         members may use the host's key; narrows-host if not given\n"
    "  --no-agents      do not start blipp and nwflow\n"
    "  --watch          nwflow makes sessions of all large transfers of this host\n"
    "  -o DIR           only write HOST.key, HOST.crt and ca.crt, into DIR\n";

struct enlisting {
	const char *only_dir, *group;
	enum timesource_choice choice;
	bool no_agents, watch;
	struct boxtalk box;
	uint8_t pin[NW_TLS_PIN_BYTES];
	char secret[TOKEN_SECRET_CHARS + 1];
	struct nw_cert request; /* key, and request for a certificate */
	struct boxtalk_grant grant;
	struct staged staged;
	struct timesource time;
	bool time_staged;
	gid_t gid;
};

/* Prints the sentence of a failure. */
static int
failed(const char *why, const char *rest)
{
	fprintf(stderr, "narrows-host: %s%s\n", why, rest);
	return STATUS_FAILED;
}

/* --- the command line --- */

/* Takes the token from the argument, or for "-" from standard input, out of sight of process
 * lists. */
static bool
token_take(struct enlisting *e, const char *text)
{
	char line[256];

	if (strcmp(text, "-") == 0) {
		if (fgets(line, sizeof(line), stdin) == NULL)
			return false;
		line[strcspn(line, " \t\r\n")] = '\0';
		text = line;
	}
	return token_parse(text, e->pin, e->secret) == NW_OK;
}

static bool
choice_take(struct enlisting *e, const char *word)
{
	e->choice = strcmp(word, "box") == 0 ? TIMESOURCE_BOX : TIMESOURCE_KEEP;
	return e->choice == TIMESOURCE_BOX || strcmp(word, "keep") == 0;
}

static int
options_take(struct enlisting *e, int argc, char **argv)
{
	static const struct option longs[] = { { "clock", required_argument, NULL, 'c' },
		{ "no-agents", no_argument, NULL, 'n' }, { "watch", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int ch;

	while (good && (ch = getopt_long(argc, argv, "g:ho:", longs, NULL)) != -1)
		switch (ch) {
		case 'c': good = choice_take(e, optarg); break;
		case 'g': e->group = optarg; break;
		case 'n': e->no_agents = true; break;
		case 'o': e->only_dir = optarg; break;
		case 'w': e->watch = true; break;
		default: good = false;
		}
	if (!good || optind != argc - 2) {
		fputs(enlist_usage, stderr);
		return STATUS_MISUSED;
	}
	if (boxtalk_parse(&e->box, argv[optind]) < 0) {
		failed(argv[optind], ": not a box: write https://HOST:PORT");
		return STATUS_MISUSED;
	}
	if (!token_take(e, argv[optind + 1])) {
		failed("not a token: \"narrows enroll --token HOST\" on the box prints tokens", "");
		return STATUS_MISUSED;
	}
	return 0;
}

/* --- before the token is spent --- */

/* Returns true if the directory has the CA of another site, which is never replaced by accident. */
static bool
is_other_site(const char *dir, const uint8_t pin[NW_TLS_PIN_BYTES])
{
	char *path = xasprintf("%s/ca.crt", dir), pem[4096];
	FILE *f = fopen(path, "re");
	size_t n = f != NULL ? fread(pem, 1, sizeof(pem) - 1, f) : 0;
	uint8_t pin_here[NW_TLS_PIN_BYTES];

	pem[n] = '\0';
	if (f != NULL)
		fclose(f);
	free(path);
	return n > 0 &&
	    (nw_cert_pin(pem, pin_here) < 0 || memcmp(pin, pin_here, sizeof(pin_here)) != 0);
}

static int
group_find(struct enlisting *e)
{
	const struct group *g = getgrnam(e->group != NULL ? e->group : DEFAULT_GROUP);

	e->gid = g != NULL ? g->gr_gid : (gid_t)-1;
	return g != NULL || e->group == NULL ? 0 : failed(e->group, ": no such group");
}

static int
clock_check(const struct enlisting *e)
{
	double off_s = fabs(e->box.ahead_s);
	char why[BOXTALK_WHY_BYTES];

	if (off_s - e->box.error_s <= AHEAD_MAX_S)
		return 0;
	snprintf(why, sizeof(why),
	    "the clock of this host is %s %s that of the box: set the clock (chronyd -q 'server %s "
	    "iburst', or date), then join again",
	    fmt_plain(fmt_duration(off_s)).s, e->box.ahead_s > 0 ? "ahead of" : "behind",
	    e->box.host);
	return failed(why, "; nothing was changed, the token is still good");
}

/* Everything that can fail without the token. */
static int
box_check(struct enlisting *e)
{
	static const char rest[] = "; nothing was changed, the token is still good";
	char why[BOXTALK_WHY_BYTES], text[BOXTALK_WHY_BYTES];
	const char *reason;
	int status;

	e->box.pin = e->pin;
	if (boxtalk_facts(&e->box, why) < 0)
		return failed(why, rest);
	if (e->only_dir != NULL)
		return 0;
	if ((status = clock_check(e)) != 0)
		return status;
	if (boxtalk_reaches(&e->box, e->box.port, &reason))
		return 0;
	snprintf(text, sizeof(text),
	    "port %u of %s for measurements: %s: let the port through the firewall", e->box.port,
	    e->box.host, reason);
	return failed(text, rest);
}

/* --- the files --- */

/* "NAME VALUE" of a line that stays; nothing without a value. */
static char *
kept_line(const char *name, const char *value)
{
	return value != NULL ? xasprintf("%s %s\n", name, value) : xasprintf("%s", "");
}

/* The text of host.conf; what a file that is there says of measuring stays. */
static char *
host_lines(const struct enlisting *e, const char *dir)
{
	struct hostconf before = { .watch = false };
	char address[BOXTALK_URL_BYTES], why[CONF_WHY_BYTES];
	char *text, *fireflies, *scitag;

	(void)hostconf_read(&before, HOSTCONF_PATH, why);
	boxtalk_address(&e->box, address);
	fireflies = kept_line("fireflies", before.fireflies);
	scitag = kept_line("scitag", before.scitag);
	text = xasprintf("# Written by narrows-host join; narrows-host(5) describes the lines.\n"
			 "box %s\nhost %s\ntls-dir %s\nreport %s\n%s%s%s",
	    address, e->grant.host, dir, e->box.url, e->watch || before.watch ? "watch yes\n" : "",
	    fireflies, scitag);
	free(fireflies);
	free(scitag);
	hostconf_clear(&before);
	return text;
}

static int
identity_stage(struct enlisting *e, const char *dir, struct boxtalk_files *f, char why[])
{
	const char *host = e->grant.host;
	char *key = xasprintf("%s/%s.key", dir, host), *crt = xasprintf("%s/%s.crt", dir, host),
	     *ca = xasprintf("%s/ca.crt", dir);
	bool shared = e->only_dir == NULL && e->gid != (gid_t)-1;
	int rc;

	if ((rc = staged_put(&e->staged, key, e->request.key_pem, shared ? 0640 : 0600,
		 shared ? e->gid : (gid_t)-1, &f->key, why)) == NW_OK &&
	    (rc = staged_put(&e->staged, crt, e->grant.cert_pem, 0644, (gid_t)-1, &f->cert, why)) ==
		NW_OK)
		rc = staged_put(&e->staged, ca, e->grant.ca_pem, 0644, (gid_t)-1, &f->ca, why);
	free(key);
	free(crt);
	free(ca);
	return rc;
}

/* A disk that is full, or a directory of another user, is found out before the token is spent. */
static int
room_try(struct enlisting *e, const char *dir)
{
	char why[CONF_WHY_BYTES] = "", *path = xasprintf("%s/room", dir), text[8192];
	struct staged trial = { .n_files = 0 };
	int rc;

	memset(text, '#', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	if ((rc = staged_dir(&e->staged, dir, why)) == NW_OK)
		rc = staged_put(&trial, path, text, 0600, (gid_t)-1, NULL, why);
	staged_drop(&trial);
	free(path);
	return rc == NW_OK ? 0 : failed(why, "; nothing was changed, the token is still good");
}

/* Spends the token, and tries the certificate. */
static int
certificate_get(struct enlisting *e, const char *dir, struct boxtalk_files *f)
{
	char why[BOXTALK_WHY_BYTES] = "", address[BOXTALK_URL_BYTES];

	if (nw_cert_request("host", &e->request) < 0)
		return failed("no key can be made", "");
	if (boxtalk_enroll(&e->box, e->secret, e->request.cert_pem, &e->grant, why) < 0)
		return failed(why, "");
	if (identity_stage(e, dir, f, why) < 0)
		return failed(why, ": make another token");
	if (e->only_dir != NULL)
		return 0;
	boxtalk_address(&e->box, address);
	if (boxtalk_session(address, e->grant.host, f, why) == NW_OK)
		return 0;
	fprintf(stderr,
	    "narrows-host: %s does not take measurements: %s: nothing was changed; make "
	    "another token\n",
	    address, why);
	return STATUS_FAILED;
}

/* --- afterwards --- */

static int
agent_start(const char *name)
{
	const char *const enable[] = { "systemctl", "enable", name, NULL },
			  *const restart[] = { "systemctl", "restart", name, NULL };

	if (helper_run(enable, NULL, 0) == 0 && helper_run(restart, NULL, 0) == 0)
		return 0;
	fprintf(stderr, "narrows-host: %s does not start: read \"journalctl -u %s\"\n", name, name);
	return STATUS_FAILED;
}

static int
agents_start(const struct enlisting *e)
{
	int status;

	if (e->no_agents)
		return 0;
	if (!helper_has_systemd()) {
		printf("agents  systemd does not run here: start \"blipp\"%s yourself\n",
		    e->watch ? " and \"nwflow -d\"" : "");
		return 0;
	}
	status = agent_start("blipp.service");
	if (e->watch && status == 0)
		status = agent_start("nwflow.service");
	if (status == 0)
		printf("agents  blipp%s run%s, also after the next boot\n",
		    e->watch ? " and nwflow" : "", e->watch ? "" : "s");
	return status;
}

static void
result_print(const struct enlisting *e)
{
	char say[TIMESOURCE_SAY_BYTES];

	timesource_apply(&e->time, e->time_staged, e->box.host, say);
	printf("box     %s takes the measurements of %s (port %u, TLS)\n", e->box.host,
	    e->grant.host, e->box.port);
	printf("clock   within %s of the box's; %s\n",
	    fmt_plain(fmt_duration(fabs(e->box.ahead_s) + e->box.error_s)).s, say);
	printf("report  %s/\n", e->box.url);
}

static int
rest_stage(struct enlisting *e, const char *dir)
{
	char *text = host_lines(e, dir), why[CONF_WHY_BYTES];
	int rc;

	if ((rc = timesource_stage(
		 &e->time, e->choice, e->box.host, &e->staged, &e->time_staged, why)) == NW_OK)
		rc = staged_put(&e->staged, HOSTCONF_PATH, text, 0644, (gid_t)-1, NULL, why);
	free(text);
	return rc == NW_OK ? 0 : failed(why, ": make another token");
}

static int
work(struct enlisting *e)
{
	const char *dir = e->only_dir != NULL ? e->only_dir : DEFAULT_DIR;
	struct boxtalk_files files;
	char why[CONF_WHY_BYTES];
	int status;

	if (is_other_site(dir, e->pin))
		return failed(
		    dir, ": ca.crt belongs to another site: remove the file to move this host");
	if ((status = group_find(e)) != 0 || (status = box_check(e)) != 0 ||
	    (status = room_try(e, dir)) != 0)
		return status;
	if (e->only_dir == NULL)
		timesource_look(&e->time);
	if ((status = certificate_get(e, dir, &files)) != 0 ||
	    (e->only_dir == NULL && (status = rest_stage(e, dir)) != 0))
		return status;
	if (staged_commit(&e->staged, why) < 0)
		return failed(why, ": make another token");
	if (e->only_dir != NULL) {
		printf("%s/%s.key  %s/%s.crt  %s/ca.crt\n", dir, e->grant.host, dir, e->grant.host,
		    dir);
		return 0;
	}
	result_print(e);
	return agents_start(e);
}

int
enlist_run(int argc, char **argv)
{
	static struct enlisting e;
	int status;

	if ((status = options_take(&e, argc, argv)) != 0)
		return status;
	status = work(&e);
	staged_drop(&e.staged);
	nw_cert_clear(&e.request);
	explicit_bzero(e.secret, sizeof(e.secret));
	return fflush(stdout) != 0 ? STATUS_FAILED : status;
}
