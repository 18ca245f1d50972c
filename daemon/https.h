/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTPS for the web room, which knows neither TLS nor us: a bufferevent with TLS below. */
#ifndef HTTPS_H
#define HTTPS_H

struct bufferevent;
struct event_base;

/* arg is the struct box. From the thread that runs the base. */
struct bufferevent *https_wrap(struct event_base *base, void *arg);

#endif
