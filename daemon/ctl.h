/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way into a running box: a unix socket in its state directory, open to the owner only. A
 * caller sends a line, gets lines and the end. The first word of the answer is "ok" or "error"; the
 * fault follows "error".
 *
 *	HOST rate INTERVAL [report=TIME] [for=TIME] [event=PREFIX]
 *	HOST start [event=PREFIX] [tcp=SRC/PORT-DST/PORT] [task=TASK] [interval=TIME]
 *	     [report=TIME] [for=TIME]
 *	HOST stop [ID]
 *	HOST status                                        ("all": every host)
 *	SITE partner ...                                   (daemon/partners.h)
 */
#ifndef CTL_H
#define CTL_H

#include "daemon/conf.h"

struct control;
struct ctl;
struct event_base;
struct evbuffer;

/* NW_EIO with why. */
int ctl_start(struct event_base *base, struct control *control, const char *path, struct ctl **out,
    char why[CONF_WHY_BYTES]);
void ctl_stop(struct ctl *ctl); /* NULL is fine */

/* Answers a line (without line end, modified by the call). */
void ctl_answer(struct control *control, char *line, int64_t now_mono_ns, int64_t now_wall_ns,
    struct evbuffer *out);

#endif
