/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector's two processes: the sender, which holds the key, talks to the box and asks the
 * system, and below the sender the reader, which maps the region. A reader of root is nobody. A
 * program that writes into the region can at worst end the reader; the sender then reports the
 * loss.
 */
#ifndef HOST_COLLECT_RUN_H
#define HOST_COLLECT_RUN_H

#include "host/nwrun/collect/collect.h"
#include "narrows/public.h"

struct collect_run_opts {
	struct collect_opts collect;
	const char *box;
	const char *software;    /* NULL: nwrun */
	const char *program;     /* subject of the run, for the box */
	const char *report_path; /* NULL: none */
	int64_t final_wait_ns;   /* at most, for the box to take the rest */
	int notice_fd;           /* end of a pipe to nwrun: the first word on the box; -1: none */
	/* with collect.outside: the run is over when no process has the other end open */
	int outside_fd;
	int verdict_fd;  /* where the verdict goes; 2 and below: nowhere */
	int complain_fd; /* where a last line of complaint may go; -1: nowhere */
};

/* The sender's words at notice_fd: a byte when the box has answered, or a reason as text. */
#define COLLECT_NOTICE_OK "+"

/* The sender, from its birth on; returns when the process should exit. Frees the region. */
NW_PUBLIC void collect_run(struct region *region, const struct collect_run_opts *opts);

#endif
