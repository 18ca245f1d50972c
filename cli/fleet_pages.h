/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fleet's reports as pages: an HTML file, or documents in a directory. narrowsd shows the
 * documents below /fleet in the box's frame, to the box's users. The box asks no fleet: a slow or
 * absent fleet slows no page. One thread.
 */
#ifndef FLEET_PAGES_H
#define FLEET_PAGES_H

#include "cli/fleet_table.h"
#include "fleet/fleet.h"

/* The reports as an HTML file without requests; free() *html. */
int fleet_pages_file(struct fleet *f, int64_t after_ns, char **html, char why[FLEET_WHY_BYTES]);

/* Writes the reports, and a document of each of the worst routes and of those with most sessions,
 * into a directory, which is made. NW_EIO with why. */
int fleet_pages_publish(struct fleet *f, const struct fleet_conf *c, int64_t after_ns,
    const char *directory, char why[FLEET_WHY_BYTES]);

/* What leaves the site, by table and column. */
void fleet_leaves(const struct fleet_conf *c, struct fleet_texts *out);
/* The same for the health page, with a sentence about the last push. A directory that cannot be
 * made belongs to no box of this machine, and is no fault. NW_EIO with why. */
int fleet_leaves_publish(
    const struct fleet_conf *c, const char *said, const char *directory, char why[FLEET_WHY_BYTES]);

#endif
