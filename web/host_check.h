/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom a request means to talk to. A page of somebody else's can have its own name lead to a box
 * that only its visitors reach (DNS rebinding), and read it through their browsers: so the box
 * answers to its own names only.
 */
#ifndef NARROWS_WEB_HOST_CHECK_H
#define NARROWS_WEB_HOST_CHECK_H

#include <stdbool.h>

/*
 * host: "name", "name:port", "[v6]:port", as in the header Host. names: further ones, separated by
 * blanks; "any": all.
 * 0: us; 400: that is nothing; 421: somebody else. localhost and the machine's host name are always us, and addresses:
 * of the loopback interface, and unless on_loopback any other, since no page can choose them.
 */
int host_check(const char *host, const char *names, bool on_loopback);

#endif
