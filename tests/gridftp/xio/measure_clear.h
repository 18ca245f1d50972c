/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a measure, which a process of GridFTP never has. No sender runs any more, and no
 * operation is under way. */
#ifndef TEST_MEASURE_CLEAR_H
#define TEST_MEASURE_CLEAR_H

#include <stdlib.h>
#include <string.h>

#include "gridftp/xio/measure.h"

static void
measure_clear(struct measure *m)
{
	struct session *s;
	struct op *o;
	unsigned i;

	while (m->flows != NULL)
		flow_free(m, m->flows);
	while ((s = m->sessions) != NULL) {
		m->sessions = s->next;
		for (i = 0; i < STAGES; i++)
			meter_clear(&s->meter[i]);
		free(s->sent);
		free(s);
	}
	while ((o = m->free_ops) != NULL) {
		m->free_ops = o->next;
		free(o);
	}
	memset(m, 0, sizeof(*m));
}

#endif
