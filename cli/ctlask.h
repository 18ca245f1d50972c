/* SPDX-License-Identifier: BSD-3-Clause */
/* One line to the control socket of the box that runs on a state directory (daemon/ctl.h), and its
 * answer. */
#ifndef CTLASK_H
#define CTLASK_H

/* Prints the answer: what is behind "ok" goes to stdout, an error to stderr. Returns an exit
 * status. */
int ctlask(const char *state_dir, const char *line);

#endif
