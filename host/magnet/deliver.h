/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delivery to the box: waiting times between layers per followed connection and per host, counts of
 * points that the box ordered, and their own cost, once per interval. What the box wants comes as
 * orders on lease (narrows-xsp(7)); without an order in force nothing is attached and nothing is
 * sent. The programs run time is measured for a tenth of each interval. One thread, the owner's.
 */
#ifndef MAGNET_DELIVER_H
#define MAGNET_DELIVER_H

#include <stdint.h>

#include "host/magnet/magnet_kernel.h"
#include "host/magnet/serve_conf.h"

struct deliver;

/* NULL: out of memory, or the spool cannot be used. conf and k are on loan until the close. */
struct deliver *deliver_open(const struct serve_conf *conf, struct kernel *k, const char **why);
/* Sends the queue within 2 s at most. */
void deliver_close(struct deliver *d);

/* Does the due work, without waiting. */
void deliver_step(struct deliver *d);
/* The time of CLOCK_MONOTONIC by which to call deliver_step(), and the socket to wait for (-1:
 * none) with its events of poll(2). */
int64_t deliver_due_mono_ns(const struct deliver *d);
int deliver_fd(const struct deliver *d, short *events);

#endif
