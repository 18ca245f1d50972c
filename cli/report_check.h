/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows report --check: the sentences of documents beside their figures. */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

struct source;

/* `what` is a session's number, "last", "all", or "-" for documents on standard input, one a line.
 * Prints the contradictions, and returns the exit status: 1 with contradictions. */
int report_check(struct source *s, const char *what);

#endif
