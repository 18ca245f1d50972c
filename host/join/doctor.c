/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/join/doctor.h"

#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/join/boxtalk.h"
#include "host/join/permits.h"
#include "host/join/timesource.h"
#include "host/lib/hostconf.h"
#include "host/lib/hostname.h"
#include "host/lib/tlsfiles.h"
#include "narrows/err.h"
#include "narrows/format.h"

/* a larger bound is advice to synchronise the clocks (advice_rules.def) */
#define AHEAD_GOOD_S 0.05

enum { REMEDY_BYTES = 400 };

const char doctor_usage[] = "usage: narrows-host doctor\n";
const char doctor_help[] =
    "Prints what this host reaches, and what may be measured here; behind each \"no\" the reason, "
    "and a command.\n"
    "Exit status 1: the box does not take measurements of this host, or the clock is wrong.\n";

struct doctor {
	bool wrong; /* whether a need of the host's measurements is not met */
	const struct hostconf *conf;
	char name[HOSTNAME_BYTES];
	const char *host;
};

static void
line_print(bool good, const char *subject, const char *text, const char *remedy)
{
	printf("%-3s  %-9s %s\n", good ? "yes" : "no", subject, text);
	if (!good && remedy[0] != '\0')
		printf("     %-9s -> %s\n", "", remedy);
}

/* Prints the line of a need: without the need the host is not measured. */
static void
need_print(struct doctor *d, bool good, const char *subject, const char *text, const char *remedy)
{
	line_print(good, subject, text, remedy);
	d->wrong = d->wrong || !good;
}

/* --- the box --- */

static void
box_examine(struct doctor *d)
{
	const struct boxtalk_files usual = { NULL, NULL, NULL };
	const char *box = hostconf_or(getenv("NARROWS_BOX"), d->conf->box);
	char why[BOXTALK_WHY_BYTES], text[BOXTALK_WHY_BYTES + 300];
	bool good = boxtalk_session(NULL, d->host, &usual, why) == NW_OK;

	snprintf(text, sizeof(text), "%s %s of %s%s%s", box != NULL ? box : "127.0.0.1/5006",
	    good ? "takes the measurements" : "takes no measurements", d->host, good ? "" : ": ",
	    good ? "" : why);
	need_print(d, good, "box", text,
	    box == NULL ? "narrows-host join https://BOX:8443 TOKEN"
			: "read why above; a new token and \"narrows-host join\" replace key and "
			  "certificate");
}

/* The command after which the clock follows the box. */
static void
clock_remedy(const struct timesource *t, const char *box, char remedy[REMEDY_BYTES])
{
	if (t->is_chrony && t->follows)
		snprintf(remedy, REMEDY_BYTES, "chronyc makestep");
	else if (t->daemon[0] != '\0' && !t->is_chrony)
		snprintf(remedy, REMEDY_BYTES, "%s keeps the clock: read its log", t->daemon);
	else if (!t->has_chrony)
		snprintf(remedy, REMEDY_BYTES, "apt install chrony");
	else
		snprintf(remedy, REMEDY_BYTES, "echo 'server %.200s iburst' >%s; %s", box,
		    TIMESOURCE_FILE,
		    t->is_chrony ? "chronyc reload sources" : "systemctl restart chrony");
}

static void
clock_examine(struct doctor *d, const struct boxtalk *b)
{
	double off_s = fabs(b->ahead_s);
	bool good = off_s - b->error_s <= AHEAD_GOOD_S;
	char text[400], remedy[REMEDY_BYTES];
	struct timesource t;

	timesource_look(&t);
	clock_remedy(&t, b->host, remedy);
	if (good)
		snprintf(text, sizeof(text), "within %s of the box's",
		    fmt_plain(fmt_duration(off_s + b->error_s)).s);
	else
		snprintf(text, sizeof(text), "%s %s the box's", fmt_plain(fmt_duration(off_s)).s,
		    b->ahead_s > 0 ? "ahead of" : "behind");
	need_print(d, good, "clock", text, remedy);
	if (t.follows)
		snprintf(text, sizeof(text), "chronyd follows %s%s", t.source,
		    t.has_file ? "" : "; " TIMESOURCE_FILE " would add the box");
	else
		snprintf(text, sizeof(text), "%s",
		    t.is_chrony               ? "chronyd follows no source"
			: t.daemon[0] != '\0' ? t.daemon
					      : "no time daemon runs");
	line_print(t.follows || (t.daemon[0] != '\0' && !t.is_chrony), "time", text, remedy);
}

static void
report_examine(struct doctor *d)
{
	static const struct tlsfiles_opts usual;
	char why[BOXTALK_WHY_BYTES] = "", text[BOXTALK_WHY_BYTES + 100];
	struct tlsfiles files = { NULL, NULL, NULL };
	struct boxtalk b = { .port = 0 };
	bool good;

	if (d->conf->report == NULL || boxtalk_parse(&b, d->conf->report) < 0 ||
	    tlsfiles_find(&files, &usual, d->host) < 0) {
		line_print(false, "report", "this host does not know the address of the report",
		    "narrows-host join https://BOX:8443 TOKEN");
		tlsfiles_clear(&files);
		return;
	}
	b.ca_path = files.ca;
	good = boxtalk_facts(&b, why) == NW_OK;
	snprintf(text, sizeof(text), "%s%s", good ? b.url : why, good ? " answers in TLS" : "");
	need_print(d, good, "report", text, "let the port through the firewalls, or start the box");
	tlsfiles_clear(&files);
	if (good)
		clock_examine(d, &b);
}

int
doctor_run(int argc, char **argv)
{
	char text[PERMIT_TEXT_BYTES], remedy[PERMIT_TEXT_BYTES];
	struct doctor d = { .conf = hostconf_get() };
	bool good;
	int i;

	if (getopt(argc, argv, "") != -1 || optind != argc) {
		fputs(doctor_usage, stderr);
		return 2;
	}
	d.host = hostname_get(NULL, d.name);
	if (hostconf_fault() != NULL)
		need_print(&d, false, "file", hostconf_fault(), "correct the line");
	box_examine(&d);
	report_examine(&d);
	for (i = 0; i < n_permits; i++) {
		text[0] = remedy[0] = '\0';
		good = permits[i].may(text, remedy);
		line_print(good, permits[i].subject, text, remedy);
	}
	return fflush(stdout) != 0 || d.wrong;
}
