/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/watch.h"
#include "narrows/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static int
on_progress(void *arg, const char *doing, uint64_t done, uint64_t total)
{
	struct watch *w = arg;
	int percent = total == 0 ? 0 : (int)(100 * (double)done / (double)total);

	if (isatty(STDERR_FILENO) && (w->doing != doing || w->percent != percent)) {
		terminal_steer(stderr, "\r\033[K");
		fprintf(stderr, "%s: %d %%", doing, percent);
		w->doing = doing;
		w->percent = percent;
	}
	return interrupted;
}

static int
on_fault(void *arg, const char *what)
{
	watch_end(arg);
	puts(terminal_text(what));
	return ferror(stdout);
}

void
watch_begin(struct watch *w)
{
	struct sigaction sa = { .sa_handler = on_interrupt };

	*w = (struct watch){ .store = { .progress = on_progress, .fault = on_fault, .arg = w },
		.percent = -1 };
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

void
watch_end(struct watch *w)
{
	if (w->doing != NULL)
		terminal_steer(stderr, "\r\033[K");
	w->doing = NULL;
}
