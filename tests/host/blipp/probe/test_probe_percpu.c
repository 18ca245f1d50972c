/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/interrupts: sums over processors, lines without numbers. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"

static const char text[] = "           CPU0       CPU1       \n"
			   "  0:         45          5   IO-APIC   2-edge      timer\n"
			   " 24:    1000000    2000000  PCI-MSI 512-edge      eth0-rx-0\n"
			   "NMI:          0          0   Non-maskable interrupts\n"
			   "ERR:          7\n";

int
main(void)
{
	struct scan s = scan_text(text, sizeof(text) - 1), name;
	double count;

	CHECK(interrupt_next(&s, &name, &count) && scan_is(name, "0") && count == 50);
	CHECK(interrupt_next(&s, &name, &count) && scan_is(name, "24") && count == 3000000);
	CHECK(interrupt_next(&s, &name, &count) && scan_is(name, "NMI") && count == 0);
	CHECK(interrupt_next(&s, &name, &count) && scan_is(name, "ERR") && count == 7);
	CHECK(!interrupt_next(&s, &name, &count));
	return check_done("probe_percpu");
}
