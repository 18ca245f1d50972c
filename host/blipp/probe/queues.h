/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interrupts of the interfaces that carry followed connections, and the processors to which
 * these interrupts go or received packets are handed on.
 */
#ifndef HOST_QUEUES_H
#define HOST_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUEUES_IRQS_MAX = 512, QUEUES_CPUS_MAX = 4096 };

struct queues { /* zero to start */
	uint32_t irqs[QUEUES_IRQS_MAX];
	size_t n_irqs;
	uint64_t cpus[QUEUES_CPUS_MAX / 64]; /* a bit each */
};

bool queues_has_irq(const struct queues *q, uint64_t irq);
bool queues_has_cpu(const struct queues *q, uint64_t cpu);

/* Adds an interface and the interfaces below (members of a bond, the port of a VLAN). sys and proc:
 * "/sys" and "/proc". */
void queues_add(struct queues *q, const char *sys, const char *proc, const char *interface);
/* Takes the numbers of a list of the kernel ("0-3,8"), and of a mask ("00000000,0000000f"). */
void queues_take_list(struct queues *q, const char *text);
void queues_take_mask(struct queues *q, const char *text);

#endif
