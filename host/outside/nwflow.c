/* SPDX-License-Identifier: BSD-3-Clause */
/* nwflow: measures transfers from outside, without the programs' help. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/hostconf.h"
#include "host/lib/procfile.h"
#include "host/outside/agent.h"
#include "host/outside/attach.h"
#include "narrows/log.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"

enum { STATUS_USAGE = 125, ASSIGNMENTS_MAX = 32 };

static void
usage(FILE *to)
{
	fputs("usage: nwflow [-dhnV] [-f file] [-o name=value]\n"
	      "       nwflow [-qv] [-b box] [-H host] [-i seconds] [-l label] [-N name] [-R "
	      "descriptor] [-t "
	      "task] [-W descriptor] "
	      "-p pid | -g cgroup | -u unit\n"
	      "  -f FILE        configuration of the service (/etc/narrows/nwflow.conf)\n"
	      "  -o NAME=VALUE  override a directive\n"
	      "  -n             check the configuration and stop\n"
	      "  -d             stay in the foreground, log to stderr\n"
	      "  -p PID, -g CGROUP, -u UNIT  measure these processes alone\n"
	      "  -b BOX         host/port or tls://host of the box\n"
	      "  -H HOST        name of this host\n"
	      "  -i SECONDS     length of an interval\n"
	      "  -l LABEL       text for the list of sessions;  -N NAME  of the program\n"
	      "  -t TASK        id of the session\n"
	      "  -R FD, -W FD   for nwrun: byte after the start of the watch, and verdict\n"
	      "  -q             print nothing;  -v  print the task\n"
	      "  -V             version\n",
	    to);
}

struct options {
	struct attach_opts attach;
	const char *file;
	bool in_front, only_check;
	struct flow_conf conf;
};

static uint32_t
pid_of(const char *text)
{
	int pid;

	if (!procfile_parse_pid(text, &pid)) {
		fprintf(stderr, "nwflow: -p %.60s: not the number of a process\n", text);
		exit(STATUS_USAGE);
	}
	return (uint32_t)pid;
}

static void
option_attach(struct options *o, int ch)
{
	struct attach_opts *a = &o->attach;
	struct collect_opts *c = &a->run.collect;

	switch (ch) {
	case 'b': a->run.box = optarg; break;
	case 'g': a->group = optarg; break;
	case 'H': c->host = optarg; break;
	case 'i': c->interval_ns = (int64_t)(strtod(optarg, NULL) * 1e9); break;
	case 'l': c->label = optarg; break;
	case 'N': c->program = optarg; break;
	case 'p': a->pid = pid_of(optarg); break;
	case 'q': a->quiet = true; break;
	case 'R': a->ready_fd = atoi(optarg); break;
	case 't': c->task_id = optarg; break;
	case 'u': a->unit = optarg; break;
	case 'v': a->verbose = true; break;
	case 'W': a->run.verdict_fd = atoi(optarg); break;
	default: usage(stderr); exit(STATUS_USAGE);
	}
}

/* Single directives come after the file, whatever the order on the command line. */
static void
parse_options(int argc, char *argv[], struct options *o)
{
	const char *assignments[ASSIGNMENTS_MAX];
	char why[CONF_WHY_BYTES];
	size_t n = 0, i;
	int ch;

	while ((ch = getopt(argc, argv, "b:df:g:H:hi:l:nN:o:p:qR:t:u:VvW:")) != -1) {
		switch (ch) {
		case 'd': o->in_front = true; break;
		case 'f': o->file = optarg; break;
		case 'n': o->only_check = true; break;
		case 'o':
			if (n < ASSIGNMENTS_MAX)
				assignments[n++] = optarg;
			break;
		case 'h': usage(stdout); exit(0);
		case 'V': puts("nwflow " NW_VERSION); exit(0);
		default: option_attach(o, ch);
		}
	}
	flow_conf_init(&o->conf);
	o->conf.watch = hostconf_get()->watch;
	if (o->file != NULL && flow_conf_read(&o->conf, o->file, why) < 0)
		fatalx("%s", why);
	for (i = 0; i < n; i++)
		if (flow_conf_override(&o->conf, assignments[i], why) < 0)
			fatalx("-o %s: %s", assignments[i], why);
}

static int
run_agent(struct options *o)
{
	const char *box = o->attach.run.box, *why;
	int status;

	if (o->only_check)
		return 0;
	if (hostconf_fault() != NULL)
		fatalx("%s", hostconf_fault());
	if (o->conf.box == NULL && box != NULL && conf_text_set(&o->conf.box, box, &why) < 0)
		fatalx("%s", why);
	if (!o->conf.watch) {
		log_warnx("agent.off why=\"no configuration has the line: watch yes\"");
		return 0;
	}
	status = agent_run(&o->conf);
	flow_conf_clear(&o->conf);
	return status;
}

int
main(int argc, char *argv[])
{
	static struct options o = { .attach = { .ready_fd = -1,
					.run.verdict_fd = -1,
					.run.final_wait_ns = 5 * INT64_C(1000000000) } };
	const struct attach_opts *a = &o.attach;
	int targets;

	terminal_guard();
	o.attach.run.box = hostconf_or(getenv("NARROWS_BOX"), hostconf_get()->box);
	o.attach.run.report_path = getenv("NWRUN_REPORT");
	o.attach.run.collect.task_id = getenv("NARROWS_TASK");
	o.attach.run.collect.label = getenv("NARROWS_LABEL");
	o.attach.run.collect.host = hostconf_or(getenv("NARROWS_HOST"), hostconf_get()->host);
	log_open("nwflow", true, false);
	if (nw_program_words(argc, argv, "nwflow"))
		return 0;
	parse_options(argc, argv, &o);
	targets = (a->pid != 0) + (a->group != NULL) + (a->unit != NULL);
	if (optind != argc || targets > 1) {
		usage(stderr);
		return STATUS_USAGE;
	}
	if (targets == 1)
		return attach_run(&o.attach);
	log_open("nwflow", o.in_front, false);
	return run_agent(&o);
}
