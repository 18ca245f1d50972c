/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows accept: the rate of an open incident is usual from now on. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/store.h"
#include "narrows/utf8.h"
#include "narrows/xmalloc.h"

/* The open step with this first session; the texts are the caller's to free. */
static int
on_incident(void *arg, const struct nw_incident_rec *rec)
{
	struct nw_acceptance_rec *a = arg;

	if (strcmp(rec->kind, "step") != 0)
		return 0;
	a->route = xstrdup(rec->route);
	a->program = xstrdup(rec->program);
	return 1;
}

static int
incident_find(const char *path, struct nw_acceptance_rec *a, char why[STORE_WHY_BYTES])
{
	const struct nw_incident_select select = {
		.session_id = a->session_id, .state = "open", .limit = 10
	};
	struct store_reader *r;
	int rc = store_reader_open(path, &r, why);

	if (rc != NW_OK)
		return rc;
	rc = store_incidents(r, &select, on_incident, a);
	store_reader_close(r);
	snprintf(why, STORE_WHY_BYTES, "%s",
	    rc < 0 ? nw_strerror(rc)
		   : "no open incident begins with this session: \"narrows incidents --open\" has "
		     "their numbers; a drift cannot be accepted");
	return rc == NW_OK && a->route == NULL ? NW_ENOTFOUND : rc;
}

static const char *
own_name(void)
{
	const struct passwd *user = getpwuid(getuid());

	return user != NULL ? user->pw_name : "an operator";
}

static int
accept_incident(const struct command_env *env, struct nw_acceptance_rec *a)
{
	char *path = xasprintf("%s/narrows.db", env->state_dir), why[STORE_WHY_BYTES];
	int rc = incident_find(path, a, why), status = 0;

	if (rc == NW_OK)
		rc = store_acceptance_add(path, a, why);
	if (rc < 0)
		status = command_failed("accept", why);
	else
		printf("The rate of %s is usual from now on. A running box takes that over within "
		       "20 s.\n",
		    a->route);
	free((char *)(uintptr_t)a->route);
	free((char *)(uintptr_t)a->program);
	free(path);
	return status != 0 ? status : fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "who", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 } };
	struct nw_acceptance_rec a = { .t_wall_ns = nw_wall_ns(), .who = own_name() };
	char *end;
	int ch;

	while ((ch = getopt_long(argc, argv, "w:", longs, NULL)) != -1) {
		if (ch != 'w')
			return command_misused(env->command);
		a.who = optarg;
	}
	if (optind + 2 != argc)
		return command_misused(env->command);
	errno = 0;
	a.session_id = strtoll(argv[optind], &end, 10);
	a.why = argv[optind + 1];
	if (*end != '\0' || errno != 0 || a.session_id < 1) {
		command_failed(argv[optind], "not the number of an incident's first session");
		return COMMAND_MISUSED;
	}
	if (a.why[strspn(a.why, " \t\r\n")] == '\0' || !utf8_whole(a.why) || !utf8_whole(a.who)) {
		command_failed("accept", "the reason is a text in UTF-8, not blank");
		return COMMAND_MISUSED;
	}
	return accept_incident(env, &a);
}

const struct command command_accept = {
	.name = "accept",
	.summary = "take the rate of an open incident as usual from now on",
	.usage = "[--who NAME] NUMBER REASON     (NUMBER: of the incident's first session)",
	.help = "  -w, --who NAME  the name that is kept with the acceptance (the user's)\n"
		"\"narrows incidents --open\" lists the incidents with their numbers.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
