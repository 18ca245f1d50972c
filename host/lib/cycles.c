/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/cycles.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "host/lib/procread.h"

#define FIRST_NS  INT64_C(20000000) /* from the first reading to the first calibration */
#define PERIOD_NS INT64_C(1000000000)
#define SOON_NS   INT64_C(1000000)
/* error of a prediction that ends the trust: a jump of the counter, or of the clock; the second
 * part is the fastest slewing of a clock */
#define ERROR_NS    INT64_C(20000)
#define SLEW_PER_NS 1e-3
#define TWO_TO_32   4294967296.0
#define SOURCE_PATH "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define PAIR_TRIES  8

/* Whether the kernel keeps time by the counter that nw_ticks() reads. */
static bool
is_trusted(void)
{
#if defined(__x86_64__)
	static const char source[] = "tsc\n";
#else
	static const char source[] = "arch_sys_counter\n";
#endif
	char text[64];

	return procread_path(SOURCE_PATH, text, sizeof(text)) > 0 && strcmp(text, source) == 0;
}

/* Both clocks at one instant: of a few tries the fastest, in which the least can have come
 * between. */
static void
read_pair(uint64_t *ticks, int64_t *mono_ns)
{
	uint64_t before, after, best = UINT64_MAX;
	int64_t ns;
	int i;

	for (i = 0; i < PAIR_TRIES; i++) {
		before = nw_ticks();
		ns = nw_mono_ns();
		after = nw_ticks();
		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = before + best / 2;
		*mono_ns = ns;
	}
}

static void
publish(struct nw_cycles *c, uint32_t seq, uint64_t mult, uint64_t ticks, int64_t mono_ns)
{
	__atomic_store_n(&c->seq, seq - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&c->mult, mult, __ATOMIC_RELAXED);
	__atomic_store_n(&c->base_ticks, ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&c->base_mono_ns, mono_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->seq, seq, __ATOMIC_RELEASE);
}

void
nw_cycles_share(const struct nw_cycles *from, struct nw_cycles *to)
{
	if (from->seq == 0)
		__atomic_store_n(&to->seq, 0, __ATOMIC_RELEASE);
	else
		publish(to, from->seq, from->mult, from->base_ticks, from->base_mono_ns);
}

static void
give_up(struct nw_cycles *c)
{
	c->given_up = 1;
	__atomic_store_n(&c->seq, 0, __ATOMIC_RELEASE);
}

/* Whether the numbers in force predict the present. */
static bool
predicts(const struct nw_cycles *c, uint64_t ticks, int64_t mono_ns)
{
	double predicted_ns =
	    (double)(int64_t)(ticks - c->base_ticks) * (double)c->mult / TWO_TO_32;
	double passed_ns = (double)(mono_ns - c->base_mono_ns), error_ns = predicted_ns - passed_ns;

	if (error_ns < 0)
		error_ns = -error_ns;
	return error_ns <= (double)ERROR_NS + passed_ns * SLEW_PER_NS;
}

static void
calibrate(struct nw_cycles *c, uint64_t ticks, int64_t mono_ns)
{
	if (ticks <= c->first_ticks || (c->seq != 0 && !predicts(c, ticks, mono_ns))) {
		give_up(c);
		return;
	}
	publish(c, c->seq + 2,
	    (uint64_t)((double)(mono_ns - c->first_mono_ns) / (double)(ticks - c->first_ticks) *
		TWO_TO_32),
	    ticks, mono_ns);
	/* the rate of the last period alone, from the second calibration on: slewing changes it */
	c->first_ticks = ticks;
	c->first_mono_ns = mono_ns;
}

void
nw_cycles_calibrate(struct nw_cycles *c, int64_t now_mono_ns)
{
	uint64_t ticks;
	int64_t mono_ns;

	if (c->given_up != 0 || now_mono_ns < c->next_mono_ns)
		return;
	if (c->first_mono_ns == 0) {
		if (!is_trusted()) {
			give_up(c);
			return;
		}
		read_pair(&c->first_ticks, &c->first_mono_ns);
		c->next_mono_ns = now_mono_ns + FIRST_NS;
		return;
	}
	read_pair(&ticks, &mono_ns);
	c->next_mono_ns = now_mono_ns + PERIOD_NS;
	if (mono_ns - c->first_mono_ns < FIRST_NS / 2)
		give_up(c);
	else
		calibrate(c, ticks, mono_ns);
}

void
nw_cycles_calibrate_soon(struct nw_cycles *c)
{
	struct timespec rest = { 0, 0 };
	uint64_t ticks;
	int64_t mono_ns;

	if (c->given_up != 0 || c->first_mono_ns == 0)
		return;
	rest.tv_nsec = (long)(c->first_mono_ns + SOON_NS - nw_mono_ns());
	if (rest.tv_nsec > 0)
		nanosleep(&rest, NULL);
	read_pair(&ticks, &mono_ns);
	if (mono_ns - c->first_mono_ns >= SOON_NS / 2)
		calibrate(c, ticks, mono_ns);
}
