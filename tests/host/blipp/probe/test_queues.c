/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts and processors of interfaces, in a made-up /sys and /proc. */
#include "host/blipp/probe/queues.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

static char root[] = "/tmp/narrows-queues-XXXXXX";

/* Makes the directories of a path below the root, and the file with a text; without a text the last
 * part is a directory, too. */
static void
put(const char *name, const char *text)
{
	char path[512], *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s%s", root, name, text != NULL ? "" : "/");
	for (slash = path + sizeof(root); (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	if (text == NULL)
		return;
	CHECK((f = fopen(path, "w")) != NULL);
	if (f != NULL) {
		fputs(text, f);
		fclose(f);
	}
}

static size_t
cpus_of(const struct queues *q)
{
	size_t i, n = 0;

	for (i = 0; i < QUEUES_CPUS_MAX; i++)
		n += queues_has_cpu(q, i);
	return n;
}

static void
test_numbers(void)
{
	static const char *const nothing[] = { "", "\n", "x", "-3", "0-4294967295,z", ",," };
	struct queues q = { .n_irqs = 0 };
	size_t i;

	queues_take_list(&q, "0-2,8,70-71\n");
	CHECK(cpus_of(&q) == 6 && queues_has_cpu(&q, 0) && queues_has_cpu(&q, 2) &&
	    queues_has_cpu(&q, 8) && queues_has_cpu(&q, 71) && !queues_has_cpu(&q, 3));
	q = (struct queues){ .n_irqs = 0 };
	queues_take_mask(&q, "00000001,00000000,c0000004\n");
	CHECK(cpus_of(&q) == 4 && queues_has_cpu(&q, 2) && queues_has_cpu(&q, 30) &&
	    queues_has_cpu(&q, 31) && queues_has_cpu(&q, 64));
	CHECK(!queues_has_cpu(&q, UINT64_MAX));
	for (i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		queues_take_list(&q, nothing[i]); /* ends */
		queues_take_mask(&q, nothing[i]);
	}
}

/* A network card, a virtual one, and a bond of both. */
static void
test_interfaces(void)
{
	struct queues q = { .n_irqs = 0 };
	char sys[64], proc[64];

	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	put("sys/class/net/ens1/device/msi_irqs/40", "");
	put("sys/class/net/ens1/device/msi_irqs/41", "");
	put("sys/class/net/ens1/queues/rx-0/rps_cpus", "00000000,00000100\n");
	put("sys/class/net/ens1/queues/tx-0/xps_cpus", "ff\n");
	put("proc/irq/40/effective_affinity_list", "3\n");
	put("proc/irq/41/smp_affinity_list", "5-6\n"); /* an older kernel */
	put("sys/class/net/eth0/device", NULL);
	put("sys/class/net/eth0/msi_irqs/50", "");
	put("proc/irq/50/effective_affinity_list", "1\n");
	put("sys/class/net/bond0/lower_ens1", NULL);
	put("sys/class/net/bond0/lower_eth0", NULL);
	put("sys/class/net/bond0/lower_bond0", NULL); /* never, but no circle either */
	queues_add(&q, sys, proc, "ens1");
	CHECK(q.n_irqs == 2 && queues_has_irq(&q, 40) && queues_has_irq(&q, 41));
	CHECK(cpus_of(&q) == 4 && queues_has_cpu(&q, 3) && queues_has_cpu(&q, 5) &&
	    queues_has_cpu(&q, 6) && queues_has_cpu(&q, 8));
	q = (struct queues){ .n_irqs = 0 };
	queues_add(&q, sys, proc, "bond0");
	CHECK(q.n_irqs == 3 && queues_has_irq(&q, 50) && queues_has_cpu(&q, 1));
	q = (struct queues){ .n_irqs = 0 };
	queues_add(&q, sys, proc, "lo");
	queues_add(&q, sys, proc, "../net/ens1");
	CHECK(q.n_irqs == 0 && cpus_of(&q) == 0);
}

int
main(void)
{
	char command[80];

	CHECK(mkdtemp(root) != NULL);
	test_numbers();
	test_interfaces();
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CHECK_INT(system(command), 0);
	return check_done("queues");
}
