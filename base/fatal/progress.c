/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/terminal.h"

/* Short work shows nothing; long work, four times a second. */
#define FIRST_NS INT64_C(1000000000)
#define STEP_NS  INT64_C(250000000)

void
progress_begin(struct progress *p, const char *what, uint64_t of_bytes, bool quiet)
{
	*p = (struct progress){
		.what = what, .of_bytes = of_bytes, .shown = !quiet && isatty(STDERR_FILENO)
	};
	p->next_mono_ns = nw_mono_ns() + FIRST_NS;
}

void
progress_add(struct progress *p, uint64_t bytes)
{
	int64_t now;

	p->bytes += bytes;
	if (!p->shown || (now = nw_mono_ns()) < p->next_mono_ns)
		return;
	p->next_mono_ns = now + STEP_NS;
	p->drawn = true;
	terminal_steer(stderr, "\r\033[K");
	fprintf(stderr, "%s: %" PRIu64 ".%" PRIu64 " MB", p->what, p->bytes / 1000000,
	    p->bytes / 100000 % 10);
	if (p->of_bytes > 0)
		fprintf(stderr, ", %.0f %%", 100 * ((double)p->bytes / (double)p->of_bytes));
}

void
progress_end(struct progress *p)
{
	if (p->drawn)
		terminal_steer(stderr, "\r\033[K");
	p->drawn = false;
}
