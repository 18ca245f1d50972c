/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/spool.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static uint64_t
cost_bytes(size_t len)
{
	return sizeof(struct spool_doc) + len;
}

void
spool_init(struct spool *s, uint64_t bytes_max)
{
	memset(s, 0, sizeof(*s));
	STAILQ_INIT(&s->docs);
	s->next_seq = 1;
	s->bytes_max = bytes_max;
}

static void
drop_oldest(struct spool *s)
{
	struct spool_doc *d = STAILQ_FIRST(&s->docs);

	if (s->unsent == d)
		s->unsent = STAILQ_NEXT(d, link);
	STAILQ_REMOVE_HEAD(&s->docs, link);
	s->bytes -= cost_bytes(d->len);
	free(d);
}

void
spool_clear(struct spool *s)
{
	while (!spool_empty(s))
		drop_oldest(s);
}

int
spool_put(struct spool *s, const uint8_t *bytes, size_t len, uint64_t *dropped)
{
	struct spool_doc *d;

	*dropped = 0;
	if (len > UINT32_MAX || cost_bytes(len) > s->bytes_max)
		return NW_ETOOBIG;
	if ((d = malloc(sizeof(*d) + len)) == NULL)
		return NW_ENOMEM;
	for (; s->bytes + cost_bytes(len) > s->bytes_max; (*dropped)++)
		drop_oldest(s);
	d->seq = s->next_seq++;
	d->written_at = 0;
	d->len = (uint32_t)len;
	memcpy(d->bytes, bytes, len);
	STAILQ_INSERT_TAIL(&s->docs, d, link);
	s->bytes += cost_bytes(len);
	if (s->unsent == NULL)
		s->unsent = d;
	return NW_OK;
}

uint64_t
spool_release(struct spool *s, uint64_t seq)
{
	uint64_t n;

	for (n = 0; !spool_empty(s) && STAILQ_FIRST(&s->docs)->seq <= seq; n++)
		drop_oldest(s);
	return n;
}

void
spool_rewind(struct spool *s)
{
	s->unsent = STAILQ_FIRST(&s->docs);
}
