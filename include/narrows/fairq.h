/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A weighted fair queue of what owners want from something scarce: the analysis thread, places of
 * connections, lines of a log. An owner is a text: the name of a certificate, a user, an address.
 *
 * Work is served by start-time fair queueing (Goyal, Vin, Cheng 1996): each owner has a virtual
 * time that grows by cost / weight of what was done for the owner; the owner with the least virtual
 * time is served next, and an owner that was idle begins at the virtual time of the newest service.
 * So an owner with one job waits for at most one job of each other owner, however many jobs wait.
 *
 * Places are bounded for each owner and in all. When all places are taken, an owner that has fewer
 * places than any other displaces the newest item of the owner with the most.
 *
 * A queue belongs to one thread, or to its caller's lock. Memory: owners_max accounts at most;
 * owners beyond share the account with the empty name. Items are the caller's memory.
 */
#ifndef NARROWS_FAIRQ_H
#define NARROWS_FAIRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fairq;
struct fairq_owner;

/* Member of the caller's item: fairq_of() finds the item. */
struct fairq_item {
	struct fairq_item *prev, *next;
	struct fairq_owner *owner; /* NULL outside a queue */
};

#define fairq_of(item, type, member) ((type *)((char *)(item)-offsetof(type, member)))

struct fairq_limits {
	size_t items_max;       /* of all owners together */
	size_t owner_items_max; /* of one owner */
	size_t owners_max;      /* accounts kept */
};

/* NULL without memory. */
struct fairq *fairq_new(const struct fairq_limits *limits);
/* Accepts NULL. Items that are left in the queue are unlinked, and stay the caller's. */
void fairq_free(struct fairq *q);
/* The owner's share is `weight` (above 0) times that of an owner with the default weight 1.
 * NW_ENOMEM. */
int fairq_weigh(struct fairq *q, const char *owner, double weight);
/*
 * Puts the item behind the owner's others. NW_EFULL: the owner has owner_items_max items, or all
 * places are taken and no owner has two places more than this one. *displaced is NULL, or the item
 * that lost its place (no longer in the queue). NW_ENOMEM.
 */
int fairq_put(
    struct fairq *q, const char *owner, struct fairq_item *item, struct fairq_item **displaced);
/* Takes the next item by the owners' shares, NULL if the queue is empty. The caller charges what
 * the item cost, before or after the next take. O(owners with items). */
struct fairq_item *fairq_take(struct fairq *q);
/* The same, without the owners for which `waits` returns true. */
struct fairq_item *
fairq_take_unless(struct fairq *q, bool (*waits)(void *arg, const char *owner), void *arg);
/* Adds what was done for an owner, in any unit that is the same for all of a queue. */
void fairq_charge(struct fairq *q, const char *owner, double cost);
/* Unlinks an item that was not taken; nothing if the item is in no queue. */
void fairq_remove(struct fairq *q, struct fairq_item *item);
size_t fairq_count(const struct fairq *q);
size_t fairq_count_owner(const struct fairq *q, const char *owner);
/* Name of the owner of an item that is in a queue, on loan until the next call. */
const char *fairq_item_owner(const struct fairq_item *item);

/*
 * A rate that owners share: of `per_s` events a second, each owner that asked in this second or in
 * the last one may have an equal part, and always one; all together have twice the rate at most.
 */
struct fairrate;

struct fairrate *fairrate_new(unsigned per_s, size_t owners_max);
void fairrate_free(struct fairrate *r);
/* Returns true if the owner's event may happen now; then *refused is the number of the owner's
 * events that were refused since the last one that was allowed. Refuses without memory. */
bool fairrate_allows(struct fairrate *r, const char *owner, int64_t now_mono_ns, uint64_t *refused);

#endif
