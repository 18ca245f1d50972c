/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/meta_table.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

void
meta_table_init(struct meta_table *c, uint64_t bytes_max)
{
	memset(c, 0, sizeof(*c));
	TAILQ_INIT(&c->entries);
	c->bytes_max = bytes_max;
}

static void
forget(struct meta_table *c, struct meta_entry *m)
{
	if (c->unsent == m)
		c->unsent = TAILQ_NEXT(m, link);
	TAILQ_REMOVE(&c->entries, m, link);
	c->bytes -= m->cost_bytes;
	c->ended_count -= m->ended;
	free(m);
}

void
meta_table_clear(struct meta_table *c)
{
	while (!TAILQ_EMPTY(&c->entries))
		forget(c, TAILQ_FIRST(&c->entries));
}

/* One allocation: the struct, then the document, the id and the event type. */
static struct meta_entry *
meta_new(const char *id, const char *event_type, const uint8_t *bytes, size_t len)
{
	size_t id_size = strlen(id) + 1, type_size = strlen(event_type) + 1;
	size_t cost_bytes = sizeof(struct meta_entry) + len + id_size + type_size;
	struct meta_entry *m = calloc(1, cost_bytes);

	if (m == NULL)
		return NULL;
	m->bytes = (uint8_t *)(m + 1);
	m->len = len;
	m->cost_bytes = cost_bytes;
	m->id = (char *)memcpy(m->bytes + len, id, id_size);
	m->event_type = memcpy(m->id + id_size, event_type, type_size);
	memcpy(m->bytes, bytes, len);
	return m;
}

static void
forget_same(struct meta_table *c, const char *id, const char *event_type)
{
	struct meta_entry *m;

	TAILQ_FOREACH_REVERSE(m, &c->entries, meta_list, link)
	{
		if (strcmp(m->id, id) == 0 && strcmp(m->event_type, event_type) == 0) {
			forget(c, m);
			return;
		}
	}
}

static void
forget_oldest_ended(struct meta_table *c)
{
	struct meta_entry *m;

	TAILQ_FOREACH(m, &c->entries, link)
	{
		if (m->ended) {
			forget(c, m);
			return;
		}
	}
}

int
meta_table_put(
    struct meta_table *c, const char *id, const char *event_type, const uint8_t *bytes, size_t len)
{
	struct meta_entry *m = meta_new(id, event_type, bytes, len);

	if (m == NULL)
		return NW_ENOMEM;
	forget_same(c, id, event_type);
	while (c->bytes + m->cost_bytes > c->bytes_max && c->ended_count > 0)
		forget_oldest_ended(c);
	if (c->bytes + m->cost_bytes > c->bytes_max) {
		free(m);
		return NW_EFULL;
	}
	m->serial = ++c->serial;
	TAILQ_INSERT_TAIL(&c->entries, m, link);
	c->bytes += m->cost_bytes;
	if (c->unsent == NULL)
		c->unsent = m;
	return NW_OK;
}

static void
end(struct meta_table *c, struct meta_entry *m, uint64_t last_seq)
{
	if (m->ended)
		return;
	m->ended = true;
	m->keep_seq = last_seq;
	c->ended_count++;
}

void
meta_table_end(struct meta_table *c, const char *id, uint64_t last_seq)
{
	struct meta_entry *m;

	TAILQ_FOREACH(m, &c->entries, link)
	if (strcmp(m->id, id) == 0)
		end(c, m, last_seq);
}

void
meta_table_end_all(struct meta_table *c, uint64_t last_seq)
{
	struct meta_entry *m;

	TAILQ_FOREACH(m, &c->entries, link)
	end(c, m, last_seq);
}

void
meta_table_mark_sent(struct meta_table *c, uint64_t next_seq)
{
	c->unsent->sent_seq = next_seq;
	c->unsent = TAILQ_NEXT(c->unsent, link);
}

void
meta_table_release(struct meta_table *c, uint64_t stored_seq)
{
	struct meta_entry *m, *next;

	for (m = c->ended_count > 0 ? TAILQ_FIRST(&c->entries) : NULL; m != NULL; m = next) {
		next = TAILQ_NEXT(m, link);
		if (m->ended && m->sent_seq != 0 && m->sent_seq <= stored_seq &&
		    m->keep_seq <= stored_seq)
			forget(c, m);
	}
}

void
meta_table_rewind(struct meta_table *c)
{
	c->unsent = TAILQ_FIRST(&c->entries);
}
