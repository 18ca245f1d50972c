/* SPDX-License-Identifier: BSD-3-Clause */
/* One line to the control socket of the box that runs on a state directory (daemon/ctl.h), and its
 * answer. */
#ifndef CTLASK_H
#define CTLASK_H

/* Prints the answer: what is behind "ok" goes to stdout, an error to stderr. Returns an exit
 * status. */
int ctlask(const char *state_dir, const char *line);
/* The same, but hands each line of a good answer to fn, on loan, and prints errors alone. */
typedef void ctlask_fn(void *arg, const char *line);
int ctlask_each(const char *state_dir, const char *line, ctlask_fn *fn, void *arg);

#endif
