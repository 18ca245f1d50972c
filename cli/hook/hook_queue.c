/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue is an array of {"id", "event", "since", "due", "tries"}, oldest first. */
#include "cli/hook/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "narrows/hex.h"

enum { AGAIN_MIN_S = 10, AGAIN_MAX_S = 3600, GIVE_UP_S = 3 * 86400 };

void
hook_queue_put(json_t *queue, const json_t *event, int64_t now_wall_s)
{
	uint8_t bytes[HOOK_ID_BYTES / 2];
	char id[HOOK_ID_BYTES + 1] = "";

	if (getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes))
		nw_hex_put(id, bytes, sizeof(bytes));
	if (json_array_size(queue) >= HOOK_QUEUE_MAX) {
		fprintf(stderr, "narrows: hook: the queue is full: its oldest event is dropped\n");
		json_array_remove(queue, 0);
	}
	json_array_append_new(queue,
	    json_pack("{s:s, s:o, s:I, s:I, s:i}", "id", id, "event", json_deep_copy(event),
		"since", (json_int_t)now_wall_s, "due", (json_int_t)now_wall_s, "tries", 0));
}

static int64_t
integer_of(const json_t *o, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(o, key));
}

int64_t
hook_queue_since(const json_t *queue)
{
	return integer_of(json_array_get(queue, 0), "since");
}

/* Notes a failure. Returns false if the event is given up. */
static bool
again_later(const struct hook *h, json_t *at, int64_t now_wall_s, const char *why)
{
	int64_t tries = integer_of(at, "tries"), wait = AGAIN_MIN_S;

	for (; tries > 0 && wait < AGAIN_MAX_S; tries--)
		wait *= 2;
	wait = wait < AGAIN_MAX_S ? wait : AGAIN_MAX_S;
	json_object_set_new(at, "tries", json_integer(integer_of(at, "tries") + 1));
	json_object_set_new(at, "due", json_integer((json_int_t)(now_wall_s + wait)));
	fprintf(stderr, "narrows: hook %s: %s: %s\n", h->name, h->url, why);
	return now_wall_s - integer_of(at, "since") < GIVE_UP_S;
}

const json_t *
hook_queue_due(const json_t *queue, int64_t now_wall_s, const char **id)
{
	json_t *at = json_array_get(queue, 0);

	if ((*id = json_string_value(json_object_get(at, "id"))) == NULL ||
	    integer_of(at, "due") > now_wall_s)
		return NULL;
	return json_object_get(at, "event");
}

void
hook_queue_settle(
    const struct hook *h, json_t *queue, const char *id, const char *why, int64_t now_wall_s)
{
	json_t *at = json_array_get(queue, 0);
	const char *oldest = json_string_value(json_object_get(at, "id"));

	if (oldest == NULL || strcmp(oldest, id) != 0)
		return; /* a full queue has dropped the event meanwhile */
	if (why != NULL && again_later(h, at, now_wall_s, why))
		return;
	if (why != NULL)
		fprintf(stderr, "narrows: hook %s: an event is given up\n", h->name);
	json_array_remove(queue, 0);
}
