/* SPDX-License-Identifier: BSD-3-Clause */
/* The directive of the administrator's own probes. */
#include "host/blipp/probe/probe.h"

#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/quantity.h"

#define SECOND_NS INT64_C(1000000000)

static bool
name_is_good(const char *name)
{
	return name[0] != '\0' &&
	    name[strspn(
		name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")] == '\0';
}

static int
word_take(struct scan *line, char *out, size_t cap)
{
	struct scan word;
	size_t len;

	if (!scan_word(line, &word) || (len = (size_t)(word.end - word.at)) == 0 || len >= cap)
		return NW_EINVAL;
	memcpy(out, word.at, len);
	out[len] = '\0';
	return NW_OK;
}

/* A word before the command, and its value. */
static int
setting_take(struct scan *line, const char *word, struct exec_command *out, const char **why)
{
	char value[32];
	int64_t *ns = strcmp(word, "every") == 0 ? &out->interval_ns
	    : strcmp(word, "within") == 0        ? &out->timeout_ns
						 : NULL;

	*why = "write NAME [every TIME] [within TIME] [as USER] exec COMMAND";
	if (strcmp(word, "as") == 0)
		return word_take(line, out->user, sizeof(out->user));
	if (ns == NULL || word_take(line, value, sizeof(value)) < 0)
		return NW_EINVAL;
	if (quantity_duration(value, ns, why) < 0)
		return NW_EINVAL;
	*why = "a time from 100ms to 1d, without a blank";
	return *ns >= SECOND_NS / 10 && *ns <= 86400 * SECOND_NS ? NW_OK : NW_EINVAL;
}

int
exec_parse(const char *text, struct exec_command *out, const char **why)
{
	struct scan line = scan_text(text, strcspn(text, "\n"));
	char word[16];
	size_t len;

	*out = (struct exec_command){ .interval_ns = 10 * SECOND_NS, .timeout_ns = 5 * SECOND_NS };
	*why = "the name of a probe has letters, digits, _, - and .";
	if (word_take(&line, out->name, sizeof(out->name)) < 0 || !name_is_good(out->name))
		return NW_EINVAL;
	for (;;) {
		*why = "write NAME [every TIME] [within TIME] [as USER] exec COMMAND";
		if (word_take(&line, word, sizeof(word)) < 0)
			return NW_EINVAL;
		if (strcmp(word, "exec") == 0)
			break;
		if (setting_take(&line, word, out, why) < 0)
			return NW_EINVAL;
	}
	scan_blanks(&line);
	len = (size_t)(line.end - line.at);
	*why = "the command is missing or longer than 900 bytes";
	if (len == 0 || len >= sizeof(out->command))
		return NW_EINVAL;
	memcpy(out->command, line.at, len);
	out->command[len] = '\0';
	return NW_OK;
}
