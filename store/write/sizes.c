/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/sizes.h"

#include <stdlib.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "store/write/writesql.h"

/* The index of a host. Adds a new host. */
static int
host_index(struct sizes *s, int64_t host_id, uint32_t *out)
{
	size_t i;

	for (i = s->n_hosts; i > 0; i--)
		if (s->hosts[i - 1].host_id == host_id) {
			*out = (uint32_t)(i - 1);
			return NW_OK;
		}
	if (!array_room(&s->hosts, &s->cap_hosts, s->n_hosts + 1, sizeof(*s->hosts)))
		return NW_ENOMEM;
	s->hosts[s->n_hosts] = (struct host_size){ .host_id = host_id };
	*out = (uint32_t)s->n_hosts++;
	return NW_OK;
}

int
sizes_change(struct sizes *s, int64_t host_id, int kind, int64_t bytes)
{
	uint32_t host;

	if (bytes == 0)
		return NW_OK;
	if (host_index(s, host_id, &host) != NW_OK ||
	    !array_room(&s->journal, &s->cap_journal, s->n_journal + 1, sizeof(*s->journal)))
		return NW_ENOMEM;
	s->journal[s->n_journal++] = (struct size_change){ host, (uint32_t)kind, bytes };
	s->hosts[host].bytes[kind] += bytes;
	s->bytes[kind] += bytes;
	return NW_OK;
}

void
sizes_undo(struct sizes *s, size_t n_kept)
{
	const struct size_change *c;

	while (s->n_journal > n_kept) {
		c = &s->journal[--s->n_journal];
		s->hosts[c->host].bytes[c->kind] -= c->bytes;
		s->bytes[c->kind] -= c->bytes;
	}
}

void
sizes_commit(struct sizes *s)
{
	s->n_journal = 0;
}

int
sizes_write(const struct sizes *s, struct db_stmts *stmts)
{
	const struct size_change *c;
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < s->n_journal; i++) {
		c = &s->journal[i];
		rc = db_run(stmts, W_SIZE_CHANGE, "iii", s->hosts[c->host].host_id,
		    (int64_t)c->kind, c->bytes);
	}
	return rc;
}

int
sizes_load(struct sizes *s, struct db_stmts *stmts)
{
	sqlite3_stmt *st;
	int64_t kind;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(stmts, W_SIZE_ALL, &st, "")) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		kind = sqlite3_column_int64(st, 1);
		if (kind < 0 || kind >= SIZE_KINDS)
			rc = NW_ECORRUPT;
		else
			rc = sizes_change(
			    s, sqlite3_column_int64(st, 0), (int)kind, sqlite3_column_int64(st, 2));
	}
	db_give(stmts, W_SIZE_ALL, st);
	sizes_commit(s);
	return rc == NW_OK ? db_code(step) : rc;
}

void
sizes_clear(struct sizes *s)
{
	free(s->hosts);
	free(s->journal);
}
