/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/overhead.h"

/* Half the interval costs twice as much, and a little more: only then do intervals shorten. */
static const double ROOM = 0.4;

void
overhead_begin(struct overhead *b, double share, int64_t now_mono_ns, double cpu_s)
{
	*b = (struct overhead){
		.share = share, .stretch = 1, .begun_mono_ns = now_mono_ns, .begun_cpu_s = cpu_s
	};
}

bool
overhead_step(struct overhead *b, int64_t now_mono_ns, double cpu_s)
{
	int64_t passed_ns = now_mono_ns - b->begun_mono_ns;
	unsigned before = b->stretch;
	double left;

	if (b->share <= 0 || passed_ns < OVERHEAD_WINDOW_NS)
		return false;
	b->used = (cpu_s - b->begun_cpu_s) / ((double)passed_ns / 1e9);
	b->begun_mono_ns = now_mono_ns;
	b->begun_cpu_s = cpu_s;
	for (left = b->used; left > b->share && b->stretch < OVERHEAD_STRETCH_MAX; left /= 2)
		b->stretch *= 2;
	b->overruns += b->stretch > before;
	if (b->stretch == before && b->stretch > 1 && b->used < ROOM * b->share)
		b->stretch /= 2;
	return b->stretch != before;
}
