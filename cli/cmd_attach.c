/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows attach: the lines with which another program tells this box of its transfers, or joins
 * them. Prints lines and changes no file; with --check, waits for the first of them. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "pki/ask/ctlask.h"
#include "cli/source.h"
#include "narrows/address.h"
#include "narrows/clock.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

enum { HOST_BYTES = 256, CHECK_S = 60 };

/* Ports of the box that programs need. */
enum port { ANNOUNCEMENTS, HOSTS, HTTPS };
static const struct {
	const char *name; /* in the file of the running box */
	int usual;        /* of the manual's examples */
	const char *none; /* lines for a box without the port; NULL: none */
} ports[] = {
	[ANNOUNCEMENTS] = { "announcements", 10514,
	    "# The box has no port for announcements. In narrowsd.conf set\n"
	    "#   listen-announcements 0.0.0.0/10514\n"
	    "#   announce-from        NETWORK OF THE SERVERS\n" },
	[HOSTS] = { "xsp-tls", 5007,
	    "# The box has no port for hosts of the network. In narrowsd.conf set\n"
	    "#   listen-xsp-tls 0.0.0.0/5007\n" },
	[HTTPS] = { "https", 8443, NULL },
};

/* The first port of that name of the box in the state directory. 0: the box has no such port, or
 * the port is on loopback and "host", the box's name for other machines, is not. */
static int
port_of(const char *state_dir, const char *name, const char *host)
{
	char *addresses = source_run_value(state_dir, name);
	char *slash = addresses != NULL ? strchr(addresses, '/') : NULL;
	int port = slash != NULL ? atoi(slash + 1) : 0;

	if (slash != NULL)
		*slash = '\0';
	if (host != NULL && slash != NULL && address_is_loopback(addresses) &&
	    !address_is_loopback(host))
		port = 0;
	free(addresses);
	return port;
}

/* --- check --- */

/* Fates of announcements, in the order of interest. */
enum fate { TAKEN, FOREIGN, MALFORMED, STALE, OVER_LIMIT, FATES };
struct heard {
	double n[FATES]; /* so far */
};

struct listener {
	bool (*get)(const struct listener *l, const struct command_env *env, struct heard *out);
	enum result_key counter[FATES]; /* of the box */
	const char *words[FATES];       /* NULL: no such fate */
	long pause_ns;
	const char *begin; /* with the seconds */
	const char *none;
	const char *first; /* to do, if the source of the numbers does not answer; NULL: nothing */
};

/* What came to the running box since the start of the box. */
static bool
heard_by_box(const struct listener *l, const struct command_env *env, struct heard *out)
{
	int status, f;
	char *text = source_health(env->source, &status);
	json_t *doc = text != NULL ? json_loads(text, 0, NULL) : NULL;
	const json_t *counters = result_get(doc, KEY_health_counters);

	for (f = 0; f < FATES; f++)
		out->n[f] = l->words[f] != NULL ? result_number(counters, l->counter[f]) : 0;
	json_decref(doc);
	free(text);
	return doc != NULL;
}

static double
number_behind(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at != NULL ? strtod(at + strlen(name), NULL) : 0;
}

static void
on_status(void *arg, const char *line)
{
	struct heard *h = arg;

	h->n[TAKEN] += number_behind(line, " notices=");
	h->n[FOREIGN] += number_behind(line, " foreign=");
	h->n[MALFORMED] += number_behind(line, " malformed=");
}

/* Notices to the agents of all hosts, as the agents report. */
static bool
heard_by_agents(const struct listener *l, const struct command_env *env, struct heard *out)
{
	(void)l;
	*out = (struct heard){ { 0 } };
	return ctlask_each(env->state_dir, "all status\n", on_status, out) == 0;
}

static const struct listener by_box = { heard_by_box,
	{ KEY_counters_announcements, KEY_counters_announcements_foreign,
	    KEY_counters_announcements_malformed, KEY_counters_announcements_stale,
	    KEY_counters_announcements_over_limit },
	{ "an announcement came, and is a session: narrows sessions",
	    "a datagram came from another network, or of a flow outside of all networks: "
	    "see announce-from",
	    "a datagram came that is no announcement: see the box's log",
	    "an announcement came again, or its clock is ten minutes off",
	    "an announcement came beyond the limits of its source" },
	200000000, "# waiting %ld s for the first announcement\n", "no announcement came", NULL };
static const struct listener by_traces = { heard_by_box,
	{ KEY_counters_announcements, KEY_counters_announcements_foreign },
	{ "a trace of a transfer came, and is a session: narrows sessions",
	    "a trace of a transfer outside of all networks came: see announce-from", NULL, NULL,
	    NULL },
	200000000, "# waiting %ld s for the first trace of a transfer\n", "no trace came", NULL };
static const struct listener by_agents = {
	heard_by_agents, { 0 },
	{ "an agent was told of a data channel, and has a session: narrows sessions",
	    "an agent was told of a connection that another process holds",
	    "an agent got a datagram that is no notice: see the agent's log", NULL, NULL },
	500000000, "# waiting %ld s for the first data channel; agents report every 10 s\n",
	"no agent was told of a data channel",
	"no agent answers: run nwflow on the server's host with the lines above, then check again"
};
static const struct listener by_events = { heard_by_box, { KEY_counters_events },
	{ "an event came; transfers with a duration are in: narrows sessions", NULL, NULL, NULL,
	    NULL },
	200000000, "# waiting %ld s for the first event of the log\n", "no event came", NULL };
static const struct listener by_sessions = { heard_by_box, { KEY_counters_sessions_total },
	{ "a session began: narrows sessions", NULL, NULL, NULL, NULL }, 200000000,
	"# waiting %ld s for the first session\n", "no session began", NULL };

static int
run_check(const struct listener *l, const struct command_env *env, long seconds)
{
	const struct timespec pause = { .tv_nsec = l->pause_ns };
	int64_t until = nw_mono_ns() + seconds * INT64_C(1000000000);
	struct heard was, is;
	int f;

	(void)fflush(stdout);
	if (!l->get(l, env, &was))
		return l->first != NULL ? command_failed(NULL, l->first) : COMMAND_FAILED;
	printf(l->begin, seconds);
	while (nw_mono_ns() < until) {
		(void)fflush(stdout);
		nanosleep(&pause, NULL);
		if (!l->get(l, env, &is))
			return COMMAND_FAILED;
		for (f = 0; f < FATES; f++)
			if (is.n[f] > was.n[f]) {
				printf("# %s\n", l->words[f]);
				return f != TAKEN;
			}
	}
	return command_failed(NULL, l->none);
}

/* --- the programs --- */

/* %1$s: the box's host, or for the port of hosts the whole address; %2$d: the port. */
static const struct program {
	const char *name;
	enum port port;
	const char *lines;
	const struct listener *listener;
} programs[] = {
	{ "xrootd", ANNOUNCEMENTS,
	    "# XRootD 5: lines for the server's configuration; then restart the server.\n"
	    "# Files opened and closed, users, and third-party copies:\n"
	    "xrootd.monitor all auth fstat 2s lfn ops xfr 1 ident 1m dest fstat files info user "
	    "%1$s:%2$d\n"
	    "xrootd.mongstream tpc use flush 2s send json dflthdr %1$s:%2$d\n"
	    "# The connections of transfers whose client gives scitag.flow=N in the address,\n"
	    "# N = 64 * EXPERIMENT + ACTIVITY:\n"
	    "xrootd.pmark ffdest %1$s:%2$d\n"
	    "xrootd.pmark ffecho 10\n"
	    "xrootd.pmark use firefly scitag\n"
	    "xrootd.pmark domain any\n",
	    &by_box },
	{ "dcache", ANNOUNCEMENTS,
	    "# dCache 10: lines for /etc/dcache/dcache.conf on the pools; then restart the pools.\n"
	    "pool.enable.firefly=true\n"
	    "pool.firefly.destination=%1$s:%2$d\n"
	    "# the time that pools wait for storage; with these lines alone the box can name a "
	    "stage\n"
	    "pool.firefly.storage-statistics=true\n",
	    &by_box },
	{ "gridftp", HOSTS,
	    "# GridFTP (Grid Community Toolkit 6), on the server's host, with the package\n"
	    "# narrows-gridftp: \"narrows-gridftp install\" writes the line below into a file of\n"
	    "# /etc/gridftp.d, tries a transfer, and takes the file away if the transfer fails.\n"
	    "xnetmgr \"manager=narrows;\"\n"
	    "# The line tells nwflow of every data channel. /etc/narrows/nwflow.conf has:\n"
	    "#   watch yes\n"
	    "#   box %1$s\n",
	    &by_agents },
	{ "fts", HOSTS,
	    "# FTS3 publishes to a broker (/etc/fts3/fts-msg-monitoring.conf: ACTIVE=true); nwfts\n"
	    "# brings the messages here. Lines for /etc/narrows/nwfts.conf, on any host that "
	    "reaches\n"
	    "# the broker by STOMP; then: systemctl enable --now nwfts\n"
	    "broker     tls://BROKER/61614\n"
	    "broker-ca  /etc/narrows/broker-ca.crt\n"
	    "# a line with the user and a line with the password, mode 0600\n"
	    "login-file /etc/narrows/broker.login\n"
	    "box        %1$s\n",
	    &by_events },
	{ "rucio", HTTPS,
	    "# Rucio: lines for rucio.cfg of the clients. narrowsd.conf of the box has:\n"
	    "#   take-traces   yes\n"
	    "#   announce-from NETWORK OF THE CLIENTS\n"
	    "# A port with logins takes the token of: narrows access token -r traces rucio\n"
	    "[trace]\n"
	    "tracehost = https://rucio:TOKEN@%1$s:%2$d\n",
	    &by_traces },
	{ "nginx", HOSTS,
	    "# nginx: lines for the block http of nginx.conf; then reload the server.\n"
	    "log_format narrows '$msec $remote_addr $remote_port $server_port $request_method "
	    "$status $bytes_sent $request_length $request_time \"$request_uri\"';\n"
	    "access_log /var/log/nginx/narrows.log narrows;\n"
	    "# On the server's host, as a user who may read the log; each request is an event,\n"
	    "# and a session if it took a second at least:\n"
	    "#   nwlog -b %1$s -F /usr/share/doc/narrows/examples/log-nginx.conf -f "
	    "/var/log/nginx/narrows.log\n",
	    &by_events },
	{ "rclone", HOSTS,
	    "# rclone: options of the command; each file copied is an event.\n"
	    "-v --use-json-log --log-file /var/log/rclone.log\n"
	    "# On the same host:\n"
	    "#   nwlog -b %1$s -F /usr/share/doc/narrows/examples/log-rclone.conf -f "
	    "/var/log/rclone.log\n"
	    "# \"nwrun rclone ...\" makes a session with a verdict, without these options.\n",
	    &by_events },
	{ "kubernetes", HOSTS,
	    "# Kubernetes: nwflow and magnet on every node. The image: Containerfile beside the "
	    "manifest.\n"
	    "# Each node's certificate, of \"narrows enroll NODE\", stands in its "
	    "/etc/narrows/tls.\n"
	    "sed 's|tls://BOX.example.net/5007|%1$s|; "
	    "s|localhost/narrows-host|REGISTRY/narrows-host|' \\\n"
	    "    /usr/share/doc/narrows/examples/kubernetes.yaml | kubectl apply -f -\n",
	    &by_sessions },
	{ "slurm", HOSTS,
	    "#!/bin/sh\n"
	    "# Slurm: a script for the line TaskProlog=FILE of slurm.conf; then restart slurmd.\n"
	    "# What nwrun measures in a step, on all nodes, is one session with the job's number:\n"
	    "#   srun nwrun PROGRAM\n"
	    "# Each node's /etc/narrows/host.conf has: box %1$s\n"
	    "# The plug-in of \"make slurm\" does the same for steps of \"srun --narrows\" alone.\n"
	    "case ${NARROWS_TASK:-} in\n"
	    "\"\" | slurm-\"$SLURM_CLUSTER_NAME-$SLURM_JOB_ID\".*)\n"
	    "\tstep=${SLURM_STEP_ID:-batch}\n"
	    "\t[ ${#step} -lt 10 ] || step=batch # a number that stands for no step\n"
	    "\techo \"export NARROWS_TASK=slurm-$SLURM_CLUSTER_NAME-$SLURM_JOB_ID.$step\"\n"
	    "\techo \"export NARROWS_LABEL=job $SLURM_JOB_ID of $SLURM_JOB_USER\" ;;\n"
	    "esac\n",
	    &by_sessions },
};

static void
lines_print(const struct program *p, const char *state_dir, const char *host)
{
	const char *of = p->port == HOSTS ? host : NULL;
	int tls = port_of(state_dir, ports[p->port].name, of);
	int plain = p->port == HOSTS && tls == 0 ? port_of(state_dir, "xsp", of) : 0;
	int port = plain != 0 ? plain : tls != 0 ? tls : ports[p->port].usual;
	char *address = xasprintf("%s%s/%d", plain != 0 ? "" : "tls://", terminal_text(host), port);

	printf(p->lines, p->port == HOSTS ? address : terminal_text(host), port);
	if (tls == 0 && plain == 0 && ports[p->port].none != NULL)
		fputs(ports[p->port].none, stdout);
	free(address);
}

/* NULL for a name that is not in the table. */
static const struct program *
program_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	return NULL;
}

/* --- the command --- */

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "box", required_argument, NULL, 'b' },
		{ "check", optional_argument, NULL, 'c' }, { NULL, 0, NULL, 0 } };
	char host[HOST_BYTES] = "";
	long check_s = 0;
	const struct program *program;
	int ch;

	while ((ch = getopt_long(argc, argv, "b:", longs, NULL)) != -1) {
		if (ch == 'c')
			check_s = optarg != NULL ? strtol(optarg, NULL, 10) : CHECK_S;
		else if (ch != 'b' || strlen(optarg) >= sizeof(host))
			return command_misused(env->command);
		else
			strcpy(host, optarg);
		if (ch == 'c' && (check_s < 1 || check_s > 86400))
			return command_misused(env->command);
	}
	if (argc - optind != 1)
		return command_misused(env->command);
	if ((program = program_find(argv[optind])) == NULL)
		return command_failed(argv[optind],
		    "not known: write xrootd, dcache, gridftp, fts, rucio, nginx, rclone, "
		    "kubernetes or slurm");
	if (host[0] == '\0' && gethostname(host, sizeof(host) - 1) != 0)
		return command_failed(NULL, "this machine has no name: give --box");
	lines_print(program, env->state_dir, host);
	return check_s > 0 ? run_check(program->listener, env, check_s) : fflush(stdout) != 0;
}

const struct command command_attach = {
	.name = "attach",
	.summary = "print the lines with which other programs tell of their transfers",
	.usage = "xrootd|dcache|gridftp|fts|rucio|nginx|rclone|kubernetes|slurm [--box HOST] "
		 "[--check[=SECONDS]]",
	.help =
	    "Changes no file. --check waits for the first announcement (60 s), and says what\n"
	    "came; the exit status is 0 if the box took it, or for gridftp an agent of a host.\n"
	    "nginx, rclone and fts are events by nwlog and nwfts; slurm names the sessions of "
	    "nwrun by the job.\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
