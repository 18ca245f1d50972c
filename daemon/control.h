/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The box's end of control: providers that said in HELLO what they can, and the orders in force for
 * them, by hand
 * (ctl.c) or by rule (rules.c). An order is sent on lease and renewed while its reason lasts; a box that dies renews
 * nothing, and the providers go back by themselves. Nobody else is ever told anything. Net thread
 * only; time is an argument.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/order.h"

struct conf;
struct control;
struct event_base;

enum control_can { CAN_START = 1, CAN_STOP = 2, CAN_RATE = 4, CAN_STATUS = 8, CAN_CLOCK = 16 };

/* What HELLO says; on loan during the call. */
struct control_hello {
	const char *host, *address;  /* the host's name; where the connection comes from */
	const char *addresses, *can; /* words; NULL: none */
	bool for_host;               /* it measures the host, not one program */
};

struct control_peer {
	struct control *control;
	struct control_peer *prev, *next;
	char *host, *address, *addresses;
	unsigned can;
	bool for_host;
	void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len);
	void *arg;
	int64_t clock_mono_ns, clock_t1_wall_ns; /* next question; the one without answer, or 0 */
	int64_t status_wall_ns;                  /* of the last STATUS; 0: none yet */
	struct nw_order_status status;           /* its text is ours */
};

/* Calls of a rule that gives orders by itself (rules.c). */
struct control_rule {
	void (*joined)(void *arg, struct control_peer *p); /* a provider has come */
	void (*tick)(void *arg, bool renew);               /* renew: repeat every order */
	bool (*is_idle)(const void *arg);                  /* no order is in force */
	void *arg;
};

/* base NULL: only the caller (a test) calls control_tick(). */
struct control *control_new(struct event_base *base, const struct conf *conf);
void control_free(struct control *c);
void control_set_rule(struct control *c, const struct control_rule *rule);

/* NULL when it can nothing. send is called from here and from every other function. */
struct control_peer *control_join(struct control *c, const struct control_hello *h,
    void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len), void *arg);
void control_leave(struct control_peer *p);
/* By name or address. */
bool control_peer_is(const struct control_peer *p, const char *host);
/* Sends one order to a provider that can obey it. */
void control_tell(struct control_peer *p, const struct nw_order *o);

/* What a provider says. NW_E* with *why: not what it should be. */
int control_take_status(
    struct control_peer *p, const uint8_t *data, size_t len, int64_t now_wall_ns, const char **why);
int control_take_clock(struct control_peer *p, const uint8_t *data, size_t len, int64_t now_wall_ns,
    double *offset_s, double *bound_s, const char **why);

/* Ends what is over, renews what is not, asks for the time. Now and then, at least once a
 * second. */
void control_tick(struct control *c, int64_t now_mono_ns);
/* There is something to renew: tick more often until there is not. */
void control_wake(struct control *c);

/*
 * By hand: for `keep_ns`, renewed as long as the box lives. o needs neither id, which is made and
 * written to it, nor lease. NW_EINVAL with *why; NW_ENOTFOUND: no provider of this host can do
 * that; NW_EFULL.
 */
int control_order(struct control *c, const char *host, struct nw_order *o, int64_t keep_ns,
    int64_t now_mono_ns, const char **why);
/* NW_ENOTFOUND: no such order by hand. id NULL: all of this host. */
int control_stop(struct control *c, const char *host, const char *id);
/* One line per provider of this host (NULL: of all). Text is escaped. Returns how many. */
size_t control_describe(const struct control *c, const char *host, int64_t now_wall_ns,
    void (*line)(void *arg, const char *text), void *arg);

/* For rules.c: calls fn for every provider. */
void control_each(struct control *c, void (*fn)(struct control_peer *p, void *arg), void *arg);

#endif
