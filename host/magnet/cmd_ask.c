/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet view, on, off, filter, sample, status: lines to a running owner. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"
#include "host/magnet/owner.h"
#include "narrows/err.h"

/* Says the words of the command line to the owner as one line, and prints the answer. */
static int
ask(const struct command *c, int argc, char **argv, int words_min)
{
	char line[OWNER_LINE_BYTES], answer[OWNER_LINE_BYTES];
	const char *path = NULL;
	size_t n;
	int o, s, rc, i;

	while ((o = getopt(argc, argv, "+S:")) != -1)
		if (o == 'S')
			path = optarg;
		else
			return usage(c);
	if (argc - optind < words_min)
		return usage(c);
	n = (size_t)snprintf(line, sizeof(line), "%s", c->name);
	for (i = optind; i < argc && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, " %s", argv[i]);
	if (n >= sizeof(line))
		return fail("the line is too long");
	if ((s = owner_dial(path)) < 0)
		return fail("%s: %s; is magnet serve running?", path != NULL ? path : OWNER_SOCKET,
		    strerror(errno));
	rc = owner_ask(s, line, answer, NULL);
	close(s);
	if (rc < 0)
		return fail("%s",
		    rc == NW_ECLOSED ? "the owner (magnet serve) has ended: start it again"
				     : answer);
	fputs(answer, stdout);
	return 0;
}

static int
view_run(int argc, char **argv)
{
	return ask(&magnet_cmd_view, argc, argv, 1);
}

static int
on_run(int argc, char **argv)
{
	return ask(&magnet_cmd_on, argc, argv, 1);
}

static int
off_run(int argc, char **argv)
{
	return ask(&magnet_cmd_off, argc, argv, 1);
}

static int
filter_run(int argc, char **argv)
{
	return ask(&magnet_cmd_filter, argc, argv, 2);
}

static int
sample_run(int argc, char **argv)
{
	return ask(&magnet_cmd_sample, argc, argv, 1);
}

static int
add_run(int argc, char **argv)
{
	return ask(&magnet_cmd_add, argc, argv, 2);
}

static int
remove_run(int argc, char **argv)
{
	return ask(&magnet_cmd_remove, argc, argv, 1);
}

static int
event_run(int argc, char **argv)
{
	return ask(&magnet_cmd_event, argc, argv, 3);
}

static int
status_run(int argc, char **argv)
{
	return ask(&magnet_cmd_status, argc, argv, 0);
}

const struct command magnet_cmd_view = { "view",
	"view [-S SOCKET] NAME [cgroup=PATH] [vm=PID] [netns=PATH] [device=NAME] [uid=N] [bytes=N]",
	"makes a view for a user: the events of a control group or network namespace", view_run };
const struct command magnet_cmd_on = { "on", "on [-S SOCKET] POINT", "switches a point or layer on",
	on_run };
const struct command magnet_cmd_off = { "off", "off [-S SOCKET] POINT",
	"switches a point or layer off", off_run };
const struct command magnet_cmd_filter = { "filter", "filter [-S SOCKET] KIND VALUE|none",
	"lets only events of a cpu, id, cgroup, netns, port or pid through", filter_run };
const struct command magnet_cmd_sample = { "sample", "sample [-S SOCKET] N", "keeps one event in N",
	sample_run };
const struct command magnet_cmd_status = { "status", "status [-S SOCKET]",
	"shows what is on, and the counts of each point", status_run };
const struct command magnet_cmd_add = { "add", "add [-S SOCKET] NAME PLACE [FIELD ...]",
	"adds a point: a tracepoint, a function, a probe or an object of your own", add_run };
const struct command magnet_cmd_remove = { "remove", "remove [-S SOCKET] NAME",
	"removes a point that was added", remove_run };
const struct command magnet_cmd_event = { "event", "event [-S SOCKET] NAME ID VALUE",
	"makes an event at a point that was added", event_run };
