/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions to switches by SNMP, with the library of net-snmp, one for each port and round, none
 * of which waits for another. One thread. net-snmp reads no configuration and no MIB here, and
 * keeps no state on disk.
 */
#ifndef HOST_POLL_H
#define HOST_POLL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>

#include "host/switch/ports.h"

enum poll_field {
	POLL_OCTETS_IN,
	POLL_OCTETS_OUT,
	POLL_DISCARDS_IN,
	POLL_DISCARDS_OUT,
	POLL_ERRORS_IN,
	POLL_ERRORS_OUT,
	POLL_QUEUE_LENGTH,
	POLL_SPEED_BIT_S,
	POLL_UPTIME_S,
	POLL_FIELDS
};

/* An answer: NaN where the switch has no such number. */
struct poll_answer {
	int64_t t_wall_ns; /* the middle between question and answer */
	double values[POLL_FIELDS];
	char port_name[64]; /* ifName; empty: none */
};

struct polled_port;
struct poller;
typedef void
poll_answer_fn(void *arg, const struct port_line *port, const struct poll_answer *answer);
/* A port without answer, or with one that is none; static text. */
typedef void poll_failure_fn(void *arg, const struct port_line *port, const char *why);

/* NULL: no memory. timeout_ns: for an answer. */
struct poller *
poller_new(int64_t timeout_ns, poll_answer_fn *answer, poll_failure_fn *failure, void *arg);
void poller_free(struct poller *p);
/* Copies the lines. NW_ENOTFOUND: no such switch; NW_EFULL; NW_EIO: net-snmp refuses. */
int poller_switch(struct poller *p, const struct switch_line *line);
int poller_port(struct poller *p, const struct port_line *line);
/* Asks every port that is not waiting for an answer. */
void poller_ask(struct poller *p);
/* For select(2): adds descriptors, and shortens *timeout. Then poller_run(). */
void poller_select(struct poller *p, int *n_fds, fd_set *fds, struct timeval *timeout);
void poller_run(struct poller *p, fd_set *fds);
size_t poller_waiting(const struct poller *p);

#endif
