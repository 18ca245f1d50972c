/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reading end of a ring of kernel events. The ring's memory is mapped; the kernel appends, the
 * reader moves its position. The kernel wakes a sleeping reader once per watermark, which takes a
 * word that both share:
 *
 *	reader: drain, store 1 in the word, look again, sleep only if the watermark is not reached
 *	kernel: at the watermark, take the word from 1 to 0, and wake only if that was so
 *
 * With the word cleared before the drain, a wake-up between the two would be lost; level-triggered,
 * epoll would return for every record. So epoll is edge-triggered here.
 */
#ifndef MAGNET_RING_H
#define MAGNET_RING_H

#include <stdint.h>

#include "narrows/magnet.h"

struct ring;

/*
 * Takes both descriptors (of the ring, and of the array with the word), also after an error.
 * NW_EINVAL: the descriptors are not of such maps; NW_ENOMEM; NW_EIO.
 */
int ring_open(
    int ring_fd, int armed_fd, uint64_t ring_bytes, uint64_t watermark_bytes, struct ring **out);
void ring_close(struct ring *r);

/* Sleeps until the watermark is reached, or timeout_ms (-1: for ever). */
void ring_wait(struct ring *r, int timeout_ms);

/* The oldest record, on loan until the next call of ring_pass(); NULL: none waits. */
const struct magnet_record *ring_peek(struct ring *r);
void ring_pass(struct ring *r);

/* Bytes between the reader and the kernel, headers included. */
uint64_t ring_waiting_bytes(const struct ring *r);
/* Records between the reader and the kernel, with the records still in writing. */
uint64_t ring_waiting_records(const struct ring *r);
/* The bytes from which ring_wait() does not sleep; the kernel's control has a number of its own. */
void ring_watermark_set(struct ring *r, uint64_t watermark_bytes);
/* Bytes of the ring that a record of record_bytes takes. */
uint64_t ring_record_bytes(uint64_t record_bytes);
/* Records that are missing so far, by the gaps in their numbers. */
uint64_t ring_lost(const struct ring *r);

#endif
