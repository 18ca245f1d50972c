/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Host check: whether a request is meant for this box. A foreign page can have its own name
 * lead to a box that only the visitors of the page reach (DNS rebinding), and read the box through
 * their browsers. So the box answers to its own names only.
 */
#ifndef NARROWS_WEB_HOST_CHECK_H
#define NARROWS_WEB_HOST_CHECK_H

#include <stdbool.h>

/*
 * `host` is the value of the header Host: "name", "name:port" or "[v6]:port". `names` are further
 * names of the box, separated by blanks; "any" allows all names. Returns 0 for a name of the box,
 * 400 for malformed text, 421 for another name. Names of the box are always localhost, the
 * machine's host name, loopback addresses and, unless on_loopback, all other addresses: no page can
 * choose addresses.
 */
int host_check(const char *host, const char *names, bool on_loopback);

#endif
