/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/join/timesource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/join/helper.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* Names of processes, of which the kernel keeps 15 characters. */
static const char daemons[] = "chronyd ntpd ntpd-rs openntpd systemd-timesyn ptp4l phc2sys";

enum { TRACKING_SOURCE = 1, TRACKING_OFFSET = 4, TRACKING_LEAP = 13, SOURCES_NAME = 2 };

/* Field n, from 0, of a line with commas. */
static void
field_get(const char *line, int n, char *out, size_t cap)
{
	for (; n > 0 && *line != '\0'; line++)
		n -= *line == ',';
	snprintf(out, cap, "%.*s", (int)strcspn(line, ","), line);
}

void
timesource_look(struct timesource *t)
{
	static const char *const tracking[] = { "chronyc", "-n", "-c", "tracking", NULL },
				 *const sources[] = { "chronyc", "-n", "-c", "sources", "-a",
					 NULL },
				 *const version[] = { "chronyd", "--version", NULL };
	char line[400], offset[40], leap[40];

	*t = (struct timesource){ .has_file = access(TIMESOURCE_FILE, F_OK) == 0 };
	t->has_chrony = access(TIMESOURCE_DIR, F_OK) == 0 && helper_run(version, NULL, 0) == 0;
	if (!helper_is_running(daemons, t->daemon))
		t->daemon[0] = '\0';
	t->is_chrony = strcmp(t->daemon, "chronyd") == 0;
	if (!t->is_chrony || helper_run(tracking, line, sizeof(line)) != 0)
		return;
	field_get(line, TRACKING_SOURCE, t->source, sizeof(t->source));
	field_get(line, TRACKING_OFFSET, offset, sizeof(offset));
	field_get(line, TRACKING_LEAP, leap, sizeof(leap));
	t->offset_s = strtod(offset, NULL);
	t->follows = leap[0] != '\0' && strcmp(leap, "Not synchronised") != 0 &&
	    t->source[0] != '\0' && strcmp(t->source, "127.127.1.1") != 0;
	if (t->follows)
		return;
	/* a daemon that was started a moment ago, or whose servers are silent */
	t->source[0] = '\0';
	if (helper_run(sources, line, sizeof(line)) == 0)
		field_get(line, SOURCES_NAME, t->source, sizeof(t->source));
	/* chronyc has a number in the place of a name that no name server has answered */
	if (strncmp(t->source, "ID#", 3) == 0)
		snprintf(t->source, sizeof(t->source), "a server without an address so far");
}

/* Asks the person at the terminal. Without a terminal the answer is no. */
static bool
person_agrees(const struct timesource *t, const char *box)
{
	char answer[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fprintf(stderr, "chronyd %s %s. Shall chronyd follow the box %s, too? [y/N] ",
	    t->follows ? "follows" : "tries to follow", t->source, box);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y');
}

int
timesource_stage(const struct timesource *t, enum timesource_choice choice, const char *box,
    struct staged *s, bool *staged, char why[CONF_WHY_BYTES])
{
	char text[512];

	*staged = false;
	if (choice == TIMESOURCE_KEEP || !t->has_chrony || (t->daemon[0] != '\0' && !t->is_chrony))
		return NW_OK;
	if (choice == TIMESOURCE_ASK && t->source[0] != '\0' && !t->has_file &&
	    !person_agrees(t, box))
		return NW_OK;
	*staged = true;
	/* xleave: the box returns the times at which packets really left */
	snprintf(text, sizeof(text),
	    "# Written by narrows-host join: all hosts of a transfer share the clock of the box.\n"
	    "server %s iburst minpoll 2 maxpoll 6 xleave prefer\n",
	    box);
	return staged_put(s, TIMESOURCE_FILE, text, 0644, (gid_t)-1, NULL, why);
}

/* chronyd has a new source. Returns the words behind "chronyd ". */
static const char *
chronyd_tell(const struct timesource *t)
{
	static const char *const reload[] = { "chronyc", "reload", "sources", NULL },
				 *const enable[] = { "systemctl", "enable", "--now",
					 "chrony.service", NULL };

	if (t->is_chrony)
		return helper_run(reload, NULL, 0) == 0 ? "follows the box"
							: "must be restarted to follow the box";
	if (helper_has_systemd() && helper_run(enable, NULL, 0) == 0)
		return "runs, and follows the box";
	return "follows the box once you start chronyd";
}

void
timesource_apply(
    const struct timesource *t, bool staged, const char *box, char say[TIMESOURCE_SAY_BYTES])
{
	if (staged)
		snprintf(
		    say, TIMESOURCE_SAY_BYTES, "chronyd %s (%s)", chronyd_tell(t), TIMESOURCE_FILE);
	else if (t->source[0] != '\0')
		snprintf(say, TIMESOURCE_SAY_BYTES,
		    "chronyd %s %s, and was not changed (--clock box adds the box)",
		    t->follows ? "follows" : "tries to follow", t->source);
	else if (t->daemon[0] != '\0')
		snprintf(say, TIMESOURCE_SAY_BYTES, "%s keeps the clock, and was not changed",
		    t->daemon);
	else
		snprintf(say, TIMESOURCE_SAY_BYTES,
		    "no time daemon: install chrony with the line \"server %s iburst\"", box);
}
