/* SPDX-License-Identifier: BSD-3-Clause */
/* The first advice after a slowdown: to set the changed setting back, with the exact command. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/verdict/advice/advice.h"
#include "analyze/verdict/advice/advice_in.h"
#include "analyze/verdict/claim/setting_text.h"
#include "narrows/cause.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

/* Least weight of a cause that is worth an undo. */
static const double WORTH_AN_UNDO = 0.25;
enum { SET_BACK_MAX = 2, COMMAND_BYTES = 1024 };

static const struct {
	const char *pattern, *check, *set; /* of a default: words in the place of check */
} commands[] = {
#define COMMAND(pattern, check, set) { pattern, check, set },
#define DEFAULT(pattern, words, set)
#define WORDS(pattern, text)
#include "analyze/verdict/advice/commands.def"
#undef COMMAND
#undef DEFAULT
#undef WORDS
}, defaults[] = {
#define COMMAND(pattern, check, set)
#define DEFAULT(pattern, words, set) { pattern, words, set },
#define WORDS(pattern, text)
#include "analyze/verdict/advice/commands.def"
#undef COMMAND
#undef DEFAULT
#undef WORDS
}, texts[] = {
#define COMMAND(pattern, check, set)
#define DEFAULT(pattern, words, set)
#define WORDS(pattern, text) { pattern, NULL, text },
#include "analyze/verdict/advice/commands.def"
#undef COMMAND
#undef DEFAULT
#undef WORDS
};

static const struct advice_rule set_back = { "set-back", "", "Set it back", "", "", "", "",
	"narrows(1), What changed" };

/* --- commands --- */

/* Appends a text quoted for the shell; returns false if the text does not fit, or has a byte that
 * no setting has. */
static bool
quoted_put(char *out, size_t size, const char *text, size_t len)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@%+,=-";
	size_t at = strlen(out), i;
	bool quote = len == 0 || strspn(text, plain) < len || *text == '-';

	if (at + 4 * len + 3 > size)
		return false;
	if (quote)
		out[at++] = '\'';
	for (i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' && text[i] != '\t')
			return false;
		if (text[i] == '\'') {
			memcpy(out + at, "'\\''", 4);
			at += 4;
		} else
			out[at++] = text[i];
	}
	if (quote)
		out[at++] = '\'';
	out[at] = '\0';
	return true;
}

/* The text of a template; NULL where the template or a value of the text is missing. free() the
 * text. */
static char *
command_fill(const char *template, const char *name, const char *thing, size_t thing_len,
    const char *value, const char *host)
{
	const char *key = strchr(name, '.');
	char out[COMMAND_BYTES] = "";
	size_t len, at;
	bool well = true;

	if (template == NULL)
		return NULL;
	for (; *template != '\0' && well; template += len) {
		len = strcspn(template, "{");
		at = strlen(out);
		if ((well = at + len + 1 < sizeof(out))) {
			memcpy(out + at, template, len);
			out[at + len] = '\0';
		}
		template += len;
		if (*template == '\0')
			break;
		len = strcspn(template, "}") + 1;
		if (strncmp(template, "{value}", len) == 0)
			well &= value != NULL && quoted_put(out, sizeof(out), value, strlen(value));
		else if (strncmp(template, "{host}", len) == 0)
			well &= host != NULL && quoted_put(out, sizeof(out), host, strlen(host));
		else if (strncmp(template, "{thing}", len) == 0)
			well &= quoted_put(out, sizeof(out), thing, thing_len);
		else
			well &=
			    key != NULL && quoted_put(out, sizeof(out), key + 1, strlen(key + 1));
	}
	return well ? xstrdup(out) : NULL;
}

/* No command can set options of which the hash alone is known. */
static bool
is_settable(const char *value)
{
	return value != NULL && *value != '\0' && setting_mark(value) == NULL;
}

/* Whether the value's first word is one of the texts apart by '|'. */
static bool
is_default(const char *words, const char *value)
{
	const size_t own = value != NULL ? strcspn(value, " ") : 0;
	size_t len;

	for (;; words += len + 1) {
		len = strcspn(words, "|");
		if (own == len && len > 0 && memcmp(words, value, len) == 0)
			return true;
		if (words[len] == '\0')
			return false;
	}
}

/* The command that brings the kernel's own value back, or NULL. */
static char *
default_command(const char *name, const char *value)
{
	const char *thing = name;
	size_t i, len = 0;

	for (i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (nw_cause_fits(defaults[i].pattern, name, &thing, &len) &&
		    is_default(defaults[i].check, value))
			return command_fill(defaults[i].set, name, thing, len, NULL, NULL);
	return NULL;
}

void
setback_commands(const char *name, const char *value, char **check, char **set)
{
	const char *thing = name;
	size_t i, len = 0;

	*check = *set = NULL;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (nw_cause_fits(commands[i].pattern, name, &thing, &len)) {
			*check = command_fill(commands[i].check, name, thing, len, NULL, NULL);
			if ((*set = default_command(name, value)) == NULL && is_settable(value))
				*set = command_fill(commands[i].set, name, thing, len, value, NULL);
			return;
		}
}

/* --- cards --- */

/* "sysctl net.ipv4.tcp_rmem" of "sysctl.net.ipv4.tcp_rmem". */
static char *
setting_words(const char *name)
{
	return strncmp(name, "sysctl.", 7) == 0 ? xasprintf("sysctl %s", name + 7) : xstrdup(name);
}

/* What a person does to bring the value back; NULL where no row fits. free() the text. */
static char *
person_words(const char *host, const char *name, const char *value)
{
	const char *thing = name;
	size_t i, len = 0;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (nw_cause_fits(texts[i].pattern, name, &thing, &len))
			return command_fill(texts[i].set, name, thing, len, value, host);
	return NULL;
}

static char *
change_words(const char *host, const char *words, const char *value, char *command)
{
	const char *mark;
	char *out;

	if (command != NULL)
		out = xasprintf("On %s: %s", host, command);
	else if (value == NULL || *value == '\0')
		out = xasprintf("Remove %s on %s.", words, host);
	else if ((mark = setting_mark(value)) != NULL)
		out = xasprintf("Bring %s on %s back to %.*s, with the options of that time.",
		    words, host, (int)(mark - value), value);
	else
		out = xasprintf("Bring %s on %s back to %.200s.", words, host, value);
	free(command);
	return out;
}

static void
card_say(struct advice_card *c, const char *words, const char *before, const char *after,
    int64_t at_wall_ns)
{
	char *was = setting_text(before, after), *is = setting_text(after, before);

	CLAIM_SAY(&c->told, card_was, CLAIM_NO_STAGE, claim_text(words), claim_text(was),
	    claim_text(fmt_time(at_wall_ns).s), claim_text(is));
	c->evidence = claims_text(&c->told);
	free(was);
	free(is);
}

/* What is measured beside a session (changed_told.h), or is new with each boot, has no value that a
 * host could set. */
static bool
is_measured(const char *name)
{
	return strncmp(name, "way.", 4) == 0 || strncmp(name, "switch.", 7) == 0 ||
	    strncmp(name, "data.", 5) == 0 || strcmp(name, "kernel.boot_id") == 0;
}

static char *
title_words(const char *host, const char *name, const char *words, const char *before)
{
	const char *mark = setting_mark(before);
	const int len = mark != NULL ? (int)(mark - before) : 80;

	return xasprintf(is_measured(name) ? "Find out why %s on %s is not %.*s any more"
					   : "Set %s on %s back to %.*s",
	    words, host, len, before);
}

static void
card_make(const json_t *d, double gain, struct advice_card *c)
{
	const char *host = result_text(d, KEY_difference_host),
		   *name = result_text(d, KEY_difference_name),
		   *before = result_text(d, KEY_difference_before),
		   *after = result_text(d, KEY_difference_after);
	const bool some = before != NULL && *before != '\0';
	char *words = setting_words(name), *person = person_words(host, name, before), *check, *set,
	     *undo, *unused;

	setback_commands(name, before, &check, &set);
	setback_commands(name, after, &unused, &undo);
	free(unused);
	*c = (struct advice_card){ .rule = &set_back,
		.title = some ? title_words(host, name, words, before)
			      : xasprintf("Take %s on %s away again", words, host),
		.check = check,
		.change = set == NULL && person != NULL ? xstrdup(person)
							: change_words(host, words, before, set),
		.undo = change_words(host, words, after, undo),
		.gain = NAN,
		.gain_history = gain };
	card_say(c, words, before, after, result_ns(d, KEY_difference_at_ns));
	advice_card_setting(c, host, name, after);
	free(words);
	free(person);
}

void
setback_cards(const json_t *doc, struct advice *out)
{
	const json_t *list =
			 result_list(result_get(doc, KEY_result_changed), KEY_changed_differences),
		     *d;
	const double ratio = result_number(result_get(doc, KEY_result_usual), KEY_usual_ratio);
	const char *kind;
	size_t i;

	json_array_foreach(list, i, d)
	{
		kind = result_text(d, KEY_difference_kind);
		if (out->n == SET_BACK_MAX || kind == NULL || strcmp(kind, "setting") != 0 ||
		    result_bool(d, KEY_difference_named) != 1 ||
		    !(result_number(d, KEY_difference_weight) >= WORTH_AN_UNDO) ||
		    result_text(d, KEY_difference_host) == NULL ||
		    result_text(d, KEY_difference_name) == NULL)
			continue;
		card_make(d, ratio > 1 ? ratio : NAN, &out->card[out->n++]);
	}
}
