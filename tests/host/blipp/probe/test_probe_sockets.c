/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/net/sockstat, sockstat6 and snmp6. */
#include "host/blipp/probe/probe.h"

#include <math.h>

#include "narrows/err.h"
#include "tests/check.h"

static const char sockstat[] = "sockets: used 806\n"
			       "TCP: inuse 549 orphan 2 tw 1613 alloc 799 mem 7\n"
			       "UDP: inuse 4 mem\n"
			       "rubbish\n";
static const char snmp6[] = "Ip6InReceives                   \t12\n"
			    "Udp6OutDatagrams\t3\n"
			    "Udp6Broken\n";

int
main(void)
{
	static const struct table_style style = { "x", "1", false, NULL, NULL };
	struct table t = { .n = 0 };

	CHECK_INT(table_begin(&t, &style), NW_OK);
	sockets_parse(scan_text(sockstat, sizeof(sockstat) - 1), &t);
	CHECK(table_get(&t, "sockets_used") == 806 && table_get(&t, "TCP_tw") == 1613);
	CHECK(table_get(&t, "TCP_orphan") == 2 && table_get(&t, "UDP_inuse") == 4);
	CHECK(isnan(table_get(&t, "UDP_mem")));
	CHECK_INT(t.n, 7);
	CHECK_INT(table_begin(&t, &style), NW_OK);
	snmp6_parse(scan_text(snmp6, sizeof(snmp6) - 1), &t);
	CHECK(table_get(&t, "Ip6InReceives") == 12 && table_get(&t, "Udp6OutDatagrams") == 3);
	CHECK_INT(t.n, 2);
	table_clear(&t);
	return check_done("probe_sockets");
}
