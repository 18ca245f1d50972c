/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/look_budget.h"

bool
look_budget_is_due(const struct look_budget *b, int64_t now_mono_ns, uint64_t host_bytes)
{
	uint64_t moved = host_bytes - b->host_bytes;
	double s = (double)(now_mono_ns - b->looked_mono_ns) * 1e-9;

	if (b->looked_mono_ns == 0)
		return true;
	if (now_mono_ns < b->next_mono_ns)
		return false;
	return host_bytes == 0 || moved >= b->bytes || (double)moved >= (double)b->bytes_per_s * s;
}

void
look_budget_spend(struct look_budget *b, int64_t now_mono_ns, uint64_t host_bytes, int64_t cost_ns)
{
	b->looked_mono_ns = now_mono_ns;
	b->next_mono_ns = now_mono_ns + (int64_t)((double)cost_ns / b->share);
	b->host_bytes = host_bytes;
}
