/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to the report: the accounts of the state directory, as the web thread asks for them.
 * The file is read again after a change. Logins, refusals and removals stand in
 * audit.log beside the store.
 */
#ifndef WEBACCESS_H
#define WEBACCESS_H

#include "daemon/conf.h"
#include "narrows/web.h"

struct webaccess;

/* Fills what the web thread calls, which lives as long as the result. Ends the box if the accounts
 * cannot be read. */
struct webaccess *webaccess_open(const struct conf *c, struct web_access *out);
void webaccess_close(struct webaccess *a);

/*
 * Makes the first administrator of a box that wants logins and has no account, and writes the
 * password into the file first-password of the state directory, which belongs to the starting user,
 * normally root. Comes before the box becomes another user.
 */
void webaccess_first(const struct conf *c);

#endif
