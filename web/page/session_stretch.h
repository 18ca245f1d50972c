/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stretch of a session that a reader chose: what limited the transfer in that time, by the test
 * that judges whole sessions, and statistics of every series of the timeline, in the stretch and in
 * the rest.
 */
#ifndef NARROWS_WEB_SESSION_STRETCH_H
#define NARROWS_WEB_SESSION_STRETCH_H

#include <jansson.h>

#include "web/draw/html.h"

/* The section of h->from_s .. h->to_s; nothing where no stretch was chosen. Figures that are asked
 * for as CSV get the statistics under the id "stretch". */
void session_stretch(struct html *h, const json_t *doc);

#endif
