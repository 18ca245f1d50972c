/* SPDX-License-Identifier: BSD-3-Clause */
#include "gridftp/xio/meter.h"

#include <string.h>

#include "narrows/err.h"

int
meter_ready(struct meter *m)
{
	return m->cal != NULL ? NW_OK : nw_caliper_new(&m->cal);
}

void
meter_clear(struct meter *m)
{
	nw_caliper_free(m->cal);
	memset(m, 0, sizeof(*m));
}

static int64_t
stretch_ns(const struct meter *m, int64_t now_mono_ns, int64_t apart_ns)
{
	int64_t ns = now_mono_ns - m->since_mono_ns - (apart_ns - m->since_apart_ns);

	return m->under_way > 0 && ns > 0 ? ns : 0;
}

void
meter_begin(struct meter *m, int64_t now_mono_ns, int64_t apart_ns)
{
	if (m->under_way++ == 0) {
		m->since_mono_ns = now_mono_ns;
		m->since_apart_ns = apart_ns;
	}
	if (m->under_way > m->most_under_way)
		m->most_under_way = m->under_way;
}

void
meter_end(struct meter *m, int64_t now_mono_ns, int64_t apart_ns)
{
	if (m->under_way == 1)
		m->union_ns += stretch_ns(m, now_mono_ns, apart_ns);
	if (m->under_way > 0)
		m->under_way--;
}

void
meter_count(struct meter *m, uint64_t bytes, int64_t duration_ns, int64_t end_mono_ns)
{
	m->ops++;
	m->bytes += bytes;
	nw_caliper_begin(m->cal, end_mono_ns - duration_ns);
	nw_caliper_end(m->cal, (int64_t)bytes, end_mono_ns);
}

int64_t
meter_busy_ns(const struct meter *m, int64_t now_mono_ns, int64_t apart_ns)
{
	return m->union_ns + stretch_ns(m, now_mono_ns, apart_ns);
}

bool
meter_take(struct meter *m, int64_t now_mono_ns, int64_t apart_ns, bool one_thread,
    struct nw_caliper_window *out)
{
	int64_t busy_ns;

	if (m->cal == NULL)
		return false;
	busy_ns = meter_busy_ns(m, now_mono_ns, apart_ns) - m->taken_ns;
	if (busy_ns < 0)
		busy_ns = 0;
	m->taken_ns += busy_ns;
	nw_caliper_take(m->cal, now_mono_ns, out);
	/* clocks that were read a moment apart */
	if (busy_ns > out->window_ns && out->window_ns > 0)
		busy_ns = out->window_ns;
	out->busy_ns = out->busy_max_ns = busy_ns;
	out->threads = one_thread ? 1 : m->most_under_way > 2 ? m->most_under_way : 2;
	return out->n > 0 || busy_ns > 0;
}
