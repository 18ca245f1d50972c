/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/net/dev: headings, names with and without a blank behind the colon, aliases. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"

static const char text[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier "
    "compressed\n"
    "    lo: 22615135    9111    0    0    0     0          0         0 22615135    9111    0    0 "
    "   0     0       0 0\n"
    "eth0:157101971 3014 1 2 3 4 5 6 119558 1670 7 8 9 10 11 12\n"
    "eth0:1: 5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n"
    "cut: 1 2 3\n"
    ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";

int
main(void)
{
	struct scan s = scan_text(text, sizeof(text) - 1);
	struct net_line n;

	CHECK(net_next(&s, &n));
	CHECK(scan_is(n.interface, "lo"));
	CHECK_INT(n.v[NET_BYTES_IN], 22615135);
	CHECK_INT(n.v[NET_PACKETS_OUT], 9111);
	CHECK(net_next(&s, &n));
	CHECK(scan_is(n.interface, "eth0"));
	CHECK_INT(n.v[NET_BYTES_IN], 157101971);
	CHECK_INT(n.v[NET_ERRORS_IN], 1);
	CHECK_INT(n.v[NET_DROPS_IN], 2);
	CHECK_INT(n.v[NET_MULTICAST_IN], 6);
	CHECK_INT(n.v[NET_BYTES_OUT], 119558);
	CHECK_INT(n.v[NET_DROPS_OUT], 8);
	CHECK_INT(n.v[NET_CARRIER], 11);
	CHECK(net_next(&s, &n));
	CHECK(scan_is(n.interface, "eth0:1"));
	CHECK_INT(n.v[NET_BYTES_OUT], 7);
	CHECK(!net_next(&s, &n));
	return check_done("probe_net");
}
