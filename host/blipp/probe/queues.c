/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/queues.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/procread.h"

enum { PATH_BYTES = 320, TEXT_BYTES = 2048, DEPTH_MAX = 4 };

static void
cpu_add(struct queues *q, uint64_t cpu)
{
	if (cpu < QUEUES_CPUS_MAX)
		q->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool
queues_has_cpu(const struct queues *q, uint64_t cpu)
{
	return cpu < QUEUES_CPUS_MAX && (q->cpus[cpu / 64] >> cpu % 64 & 1) != 0;
}

bool
queues_has_irq(const struct queues *q, uint64_t irq)
{
	size_t i;

	for (i = 0; i < q->n_irqs; i++)
		if (q->irqs[i] == irq)
			return true;
	return false;
}

void
queues_take_list(struct queues *q, const char *text)
{
	unsigned long first, last;
	char *end;

	while (*text >= '0' && *text <= '9') {
		last = first = strtoul(text, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < QUEUES_CPUS_MAX; first++)
			cpu_add(q, first);
		text = *end == ',' ? end + 1 : end;
	}
}

void
queues_take_mask(struct queues *q, const char *text)
{
	size_t len = strcspn(text, "\n"), cpu = 0, bit;
	char digit[2] = "";
	unsigned long v;

	while (len-- > 0) {
		if (text[len] == ',')
			continue;
		digit[0] = text[len];
		v = strtoul(digit, NULL, 16);
		for (bit = 0; bit < 4; bit++, cpu++)
			if ((v >> bit & 1) != 0)
				cpu_add(q, cpu);
	}
}

static void
irq_add(struct queues *q, const char *proc, const char *number)
{
	char path[PATH_BYTES], text[TEXT_BYTES], *end;
	unsigned long irq = strtoul(number, &end, 10);

	if (end == number || *end != '\0' || q->n_irqs == QUEUES_IRQS_MAX || queues_has_irq(q, irq))
		return;
	q->irqs[q->n_irqs++] = (uint32_t)irq;
	snprintf(path, sizeof(path), "%s/irq/%lu/effective_affinity_list", proc, irq);
	if (procread_path(path, text, sizeof(text)) == 0) {
		snprintf(path, sizeof(path), "%s/irq/%lu/smp_affinity_list", proc, irq);
		procread_path(path, text, sizeof(text));
	}
	queues_take_list(q, text);
}

/* Interrupts of a device. Returns false if the directory names none. */
static bool
irqs_add(struct queues *q, const char *proc, const char *directory)
{
	DIR *d = opendir(directory);
	size_t before = q->n_irqs;
	struct dirent *e;

	if (d == NULL)
		return false;
	while ((e = readdir(d)) != NULL)
		irq_add(q, proc, e->d_name);
	closedir(d);
	return q->n_irqs > before;
}

/* Processors to which the interface's queues hand received packets on. */
static void
handed_on_add(struct queues *q, const char *directory)
{
	char path[2 * PATH_BYTES], text[TEXT_BYTES];
	DIR *d = opendir(directory);
	struct dirent *e;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, "rx-", 3) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s/rps_cpus", directory, e->d_name);
		if (procread_path(path, text, sizeof(text)) > 0)
			queues_take_mask(q, text);
	}
	closedir(d);
}

static void
add_below(struct queues *q, const char *sys, const char *proc, const char *interface, int depth);

/* "lower_eth0" */
static void
lower_add(struct queues *q, const char *sys, const char *proc, const char *directory, int depth)
{
	DIR *d = opendir(directory);
	struct dirent *e;

	if (d == NULL)
		return;
	while (depth < DEPTH_MAX && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, "lower_", 6) == 0)
			add_below(q, sys, proc, e->d_name + 6, depth + 1);
	closedir(d);
}

static void
add_below(struct queues *q, const char *sys, const char *proc, const char *interface, int depth)
{
	char path[PATH_BYTES];

	if (strchr(interface, '/') != NULL || strlen(interface) > 64)
		return;
	snprintf(path, sizeof(path), "%s/class/net/%s/device/msi_irqs", sys, interface);
	if (!irqs_add(q, proc, path)) { /* of a virtual device: those of the device above */
		snprintf(path, sizeof(path), "%s/class/net/%s/device/../msi_irqs", sys, interface);
		(void)irqs_add(q, proc, path);
	}
	snprintf(path, sizeof(path), "%s/class/net/%s/queues", sys, interface);
	handed_on_add(q, path);
	snprintf(path, sizeof(path), "%s/class/net/%s", sys, interface);
	lower_add(q, sys, proc, path, depth);
}

void
queues_add(struct queues *q, const char *sys, const char *proc, const char *interface)
{
	add_below(q, sys, proc, interface, 0);
}
