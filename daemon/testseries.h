/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active tests of paths as series of a host, so that every reader of series has the tests: a series
 * for each kind, tool and pair of ends, with a row at the end of each test that succeeded.
 */
#ifndef TESTSERIES_H
#define TESTSERIES_H

struct box;
struct nw_active_test;
struct testseries;

/* Net thread. The series belong to the source, else to the destination, else, if the box knows
 * neither host, to the host that stands for all announcers (SESSION_ANNOUNCER). */
struct testseries *testseries_new(struct box *box);
void testseries_free(struct testseries *s);
/* Puts the test's row, and its number as the newest handed over, into the current batch. Beyond
 * 2,000 pairs of a life of the box, tests stay in their table alone. */
void testseries_put(void *testseries, const struct nw_active_test *t);

#endif
