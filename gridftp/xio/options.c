/* SPDX-License-Identifier: BSD-3-Clause */
#include "gridftp/xio/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "narrows/utf8.h"

static const double INTERVAL_MIN_S = 0.1, INTERVAL_MAX_S = 3600;

enum key { KEY_TASK, KEY_INTERVAL, KEY_EXACT, KEY_STACK, KEY_LABEL, KEY_IGNORED };

/* "id", "uuid" and the last keys are names of older drivers; "globus-url-copy -nlb" still sends the
 * keys. */
const char *const options_keys[] = { "task_id", "id", "uuid", "interval", "exact", "stack",
	"io_type", "label", "mask", "level", "type", NULL };
static const enum key meanings[] = { KEY_TASK, KEY_TASK, KEY_TASK, KEY_INTERVAL, KEY_EXACT,
	KEY_STACK, KEY_STACK, KEY_LABEL, KEY_IGNORED, KEY_IGNORED, KEY_IGNORED };

void
options_init(struct options *o)
{
	memset(o, 0, sizeof(*o));
	o->exact = true;
}

bool
options_id_joins(const char *id)
{
	static const char *const no_id[] = { "none", "unset", "null", "(null)" };
	size_t i, len = strlen(id);

	if (len == 0 || len >= OPTIONS_ID_BYTES)
		return false;
	for (i = 0; i < len; i++)
		if (id[i] <= ' ' || id[i] > '~')
			return false;
	for (i = 0; i < sizeof(no_id) / sizeof(no_id[0]); i++)
		if (strcasecmp(id, no_id[i]) == 0)
			return false;
	return true;
}

/* A word for "no id" removes an earlier id. */
static bool
task_set(struct options *o, const char *value)
{
	o->task_id[0] = '\0';
	if (!options_id_joins(value))
		return false;
	strcpy(o->task_id, value);
	return true;
}

static bool
interval_set(struct options *o, const char *value)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end != '\0' || !isfinite(s) || s < 0 || s > INTERVAL_MAX_S ||
	    (s > 0 && s < INTERVAL_MIN_S))
		return false;
	o->interval_ns = llround(s * 1e9);
	return true;
}

/* The value's index among the words; -1 for another value. */
static int
word_of(const char *value, const char *const *words, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (strcasecmp(value, words[i]) == 0)
			return i;
	return -1;
}

static bool
exact_set(struct options *o, const char *value)
{
	static const char *const words[] = { "no", "yes", "0", "1", "false", "true", "off", "on" };
	int i = word_of(value, words, 8);

	if (i >= 0)
		o->exact = i % 2 == 1;
	return i >= 0;
}

static bool
stack_set(struct options *o, const char *value)
{
	static const char *const words[] = { "auto", "disk", "net", "both", "fs", "network" };
	static const enum options_stack stacks[] = { STACK_AUTO, STACK_DISK, STACK_NET, STACK_AUTO,
		STACK_DISK, STACK_NET };
	int i = word_of(value, words, 6);

	if (i >= 0)
		o->stack = stacks[i];
	return i >= 0;
}

static bool
label_set(struct options *o, const char *value)
{
	size_t len = strlen(value);

	if (len >= OPTIONS_LABEL_BYTES || !utf8_whole(value))
		return false;
	memcpy(o->label, value, len + 1);
	return true;
}

void
options_set(struct options *o, unsigned key, const char *value)
{
	bool taken = false;

	if (value == NULL || key >= sizeof(meanings) / sizeof(meanings[0]))
		return;
	switch (meanings[key]) {
	case KEY_TASK: taken = task_set(o, value); break;
	case KEY_INTERVAL: taken = interval_set(o, value); break;
	case KEY_EXACT: taken = exact_set(o, value); break;
	case KEY_STACK: taken = stack_set(o, value); break;
	case KEY_LABEL: taken = label_set(o, value); break;
	case KEY_IGNORED: taken = true; break;
	}
	if (!taken && o->refused < 1000)
		o->refused++;
}

void
options_text(const struct options *o, char out[OPTIONS_TEXT_BYTES])
{
	static const char *const stacks[] = { "auto", "disk", "net" };

	snprintf(out, OPTIONS_TEXT_BYTES, "interval=%g;exact=%s;stack=%s;refused=%u",
	    (double)o->interval_ns * 1e-9, o->exact ? "yes" : "no", stacks[o->stack], o->refused);
}
