/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTPS for the web room: a bufferevent with TLS below, made by the daemon. */
#ifndef HTTPS_H
#define HTTPS_H

struct bufferevent;
struct event_base;

/* arg is the struct box. Call from the thread of the base. */
struct bufferevent *https_wrap(struct event_base *base, void *arg);

#endif
