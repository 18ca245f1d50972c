/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The box's end of control: providers that said in HELLO which orders they take, and the orders in
 * force, by hand (ctl.c) or by rule (rules.c). Every order is on lease, and the box renews the
 * lease while the order's reason lasts. A box that dies renews nothing, and its providers return to
 * their own rates. Other peers never get an order. Net thread only; time is an argument.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/order.h"

struct box;
struct conf;
struct control;
struct diets;
struct event_base;

enum control_can {
	CAN_START = 1,
	CAN_STOP = 2,
	CAN_RATE = 4,
	CAN_STATUS = 8,
	CAN_CLOCK = 16,
	CAN_KEEP = 64,
	CAN_DIET = 128,
	CAN_REPLAY = 256, /* the host's configuration allows replays of some stage */
	CAN_KERNEL = 32 /* measures inside the kernel: takes START of NW_TYPE_KERNEL and no other */
};

/* Contents of HELLO, on loan during the call. */
struct control_hello {
	const char *host, *address;  /* the host's name; where the connection comes from */
	const char *addresses, *can; /* words; NULL: none */
	bool for_host;               /* the provider measures the host, not a single program */
};

struct control_peer {
	struct control *control;
	struct control_peer *prev, *next;
	char *host, *address, *addresses;
	unsigned can;
	bool for_host;
	void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len);
	void *arg;
	/* time of the next CLOCK; sending time of the unanswered CLOCK, or 0 */
	int64_t clock_mono_ns, clock_t1_wall_ns;
	/* for diets.c: what the provider was told, until when the lease is good enough, and whether
	 * it has a diet */
	uint64_t diet_version;
	int64_t diet_mono_ns;
	bool on_diet;
	int64_t status_wall_ns;        /* of the last STATUS; 0: none yet */
	struct nw_order_status status; /* text in memory of control.c */
};

/* Calls of a rule with orders (rules.c). */
struct control_rule {
	void (*joined)(void *arg, struct control_peer *p); /* a provider has come */
	void (*tick)(void *arg, bool renew);               /* renew: repeat every order */
	bool (*is_idle)(const void *arg);                  /* no order is in force */
	/* orders that the provider will not carry out are in status.declined */
	void (*declined)(void *arg, const struct control_peer *p);
	void *arg;
};

/* base NULL: only the caller (a test) calls control_tick(). */
struct control *control_new(struct event_base *base, const struct conf *conf);
void control_free(struct control *c);
void control_set_rule(struct control *c, const struct control_rule *rule);
/* The diets decided by ctl.c; NULL, as at first: none. */
void control_set_diets(struct control *c, struct diets *d);
struct diets *control_get_diets(const struct control *c);
/* The box for lines of partners (partners.h); NULL, as at first: none. */
void control_set_box(struct control *c, struct box *box);
struct box *control_get_box(const struct control *c);

/* Adds a provider, NULL if the provider takes no order. Every function here may call send. */
struct control_peer *control_join(struct control *c, const struct control_hello *h,
    void (*send)(void *arg, uint16_t opt, const uint8_t *data, size_t len), void *arg);
void control_leave(struct control_peer *p);
/* By name or address. */
bool control_peer_is(const struct control_peer *p, const char *host);
/* Sends an order, unless the provider did not offer to take such orders. A START below
 * NW_TYPE_KERNEL goes to the providers of kernel events alone, every other START to all others. */
void control_tell(struct control_peer *p, const struct nw_order *o);

/* Take a message of a provider. A negative code comes with *why. */
int control_take_status(
    struct control_peer *p, const uint8_t *data, size_t len, int64_t now_wall_ns, const char **why);
int control_take_clock(struct control_peer *p, const uint8_t *data, size_t len, int64_t now_wall_ns,
    double *offset_s, double *bound_s, const char **why);

/* Asks a peer for its clock, if the peer (NULL is fine) can tell and a while has passed. */
void control_ask_clock(struct control_peer *p, int64_t now_mono_ns);
/* Ends and renews orders, asks for clocks. To be called at least once a second. */
void control_tick(struct control *c, int64_t now_mono_ns);
/* Ticks more often while orders are in force. */
void control_wake(struct control *c);

/* The asker of orders that an operator gives; all others are owners of programs. */
#define CONTROL_OPERATOR "operator"

/*
 * Gives an order by hand and renews the order for `keep_ns`. control.c makes o's id and lease.
 * NW_EINVAL with *why; NW_ENOTFOUND if no provider of the host takes such an order. NW_EFULL: the
 * asker has as many orders as it may have. An operator's order ends a program's order if no place
 * is left.
 */
int control_order(struct control *c, const char *asker, const char *host, struct nw_order *o,
    int64_t keep_ns, int64_t now_mono_ns, const char **why);
/* Ends an order by hand (id NULL: every such order of the host). NW_ENOTFOUND without such an
 * order. */
int control_stop(struct control *c, const char *host, const char *id);
/* Writes a line for each provider of the host (NULL: of every host), text escaped. Returns the
 * number of lines. */
size_t control_describe(const struct control *c, const char *host, int64_t now_wall_ns,
    void (*line)(void *arg, const char *text), void *arg);

/* For rules.c: calls fn for every provider. */
void control_each(struct control *c, void (*fn)(struct control_peer *p, void *arg), void *arg);

#endif
