/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows control: hands one line to the running box (daemon/ctl.h) and prints the answer. Exit
 * status 0 means that the box said "ok". */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "pki/ask/ctlask.h"
#include "narrows/err.h"
#include "narrows/quantity.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

/* Appends "NAMEVALUE" to the line. Blanks separate the words of the line, so a value with blanks
 * is refused. */
static bool
line_add(char **line, const char *name, const char *value)
{
	char *longer;

	if (value[0] == '\0' || strpbrk(value, " \t\r\n") != NULL) {
		fprintf(
		    stderr, "narrows: \"%s\": an argument is not empty and has no blanks\n", value);
		return false;
	}
	longer = xasprintf("%s%s%s%s", *line, **line != '\0' ? " " : "", name, value);
	free(*line);
	*line = longer;
	return true;
}

/* Whether the words after the options are a whole order: HOST VERB, and what the verb takes. */
static bool
words_are_whole(int n, char *const *words)
{
	static const struct {
		const char *verb;
		int min, max; /* words, HOST and verb included */
	} verbs[] = { { "rate", 3, 3 }, { "start", 2, 2 }, { "stop", 2, 3 }, { "status", 2, 2 } };
	size_t i;

	for (i = 0; n >= 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(words[1], verbs[i].verb) == 0)
			return n >= verbs[i].min && n <= verbs[i].max;
	return false;
}

/* Whether the box can read a duration; says why not. */
static bool
duration_is_good(const char *text)
{
	int64_t unused;
	const char *why;

	if (quantity_duration(text, &unused, &why) == NW_OK)
		return true;
	fprintf(stderr, "narrows: control: %s: %s\n", terminal_text(text), why);
	return false;
}

static bool
value_is_good(int letter, const char *value)
{
	return strchr("fir", letter) == NULL || duration_is_good(value);
}

/* Makes the line for the box out of the arguments. NULL after a message on stderr. free() the
 * line. */
static char *
line_make(const struct command *self, int argc, char **argv)
{
	static const struct {
		int letter;
		const char *name;
	} names[] = { { 'c', "tcp=" }, { 't', "task=" }, { 'e', "event=" }, { 'i', "interval=" },
		{ 'r', "report=" }, { 'f', "for=" } };
	char *words = xstrdup(""), *options = xstrdup(""), *line = NULL;
	bool good = true;
	size_t i;
	int ch;

	while (good && (ch = getopt(argc, argv, "c:e:f:i:r:t:")) != -1) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]) && names[i].letter != ch; i++)
			continue;
		if (i == sizeof(names) / sizeof(names[0])) {
			command_misused(self);
			good = false;
		} else {
			good =
			    value_is_good(ch, optarg) && line_add(&options, names[i].name, optarg);
		}
	}
	if (good && !words_are_whole(argc - optind, argv + optind)) {
		command_misused(self);
		good = false;
	}
	if (good && strcmp(argv[optind + 1], "rate") == 0)
		good = duration_is_good(argv[optind + 2]);
	for (; good && optind < argc; optind++)
		good = line_add(&words, "", argv[optind]);
	if (good)
		line = xasprintf("%s %s\n", words, options);
	free(words);
	free(options);
	return line;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	char *line = line_make(env->command, argc, argv);
	int status = line != NULL ? ctlask(env->state_dir, line) : COMMAND_MISUSED;

	free(line);
	return status;
}

const struct command command_control = {
	.name = "control",
	.summary = "have a host measure more or faster for a while",
	.usage = "HOST rate INTERVAL [-e EVENT] [-r REPORT] [-f FOR]\n"
		 "       narrows control HOST start [-c SRC/PORT-DST/PORT] [-t TASK] [-e EVENT] "
		 "[-i INTERVAL] [-r REPORT] [-f FOR]\n"
		 "       narrows control HOST stop [ID]\n"
		 "       narrows control HOST|all status",
	.help = "  INTERVAL    time between two samples: 100ms, 1s\n"
		"  -c CONNECTION  a TCP connection, the host's own end first\n"
		"  -e EVENT    event types that begin so: ps: (blipp), nl: or nw: (nwrun)\n"
		"  -f FOR      how long; 60s if not given\n"
		"  -i INTERVAL time between two samples\n"
		"  -r REPORT   time between two reports; else each sample at once\n"
		"  -t TASK     the session that the measurements belong to\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
