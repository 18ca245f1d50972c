/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of lines: old names, kernel names, negative "no limit", lines that do not match. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"
#include "narrows/err.h"

static const struct table_alias tcp_aliases[] = {
	{ "InSegs", "segments_in", "{segment}", false },
	{ "CurrEstab", "established", "{connection}", true },
	{ NULL, NULL, NULL, false },
};
static const struct pairs_protocol protocols[] = {
	{ "Ip:", { "test:ip", "1", true, NULL, NULL } },
	{ "Tcp:", { "test:tcp", "1", true, tcp_aliases, NULL } },
};

#define PARSE(text) pairs_parse(scan_text(text, strlen(text)), protocols, 2, tables)

int
main(void)
{
	static struct table tables[2];

	CHECK_INT(PARSE("Ip: Forwarding InReceives\nIp: 2 12107\nIcmp: A B\nIcmp: 1 2\n"
			"Tcp: MaxConn CurrEstab InSegs RetransSegs\nTcp: -1 7 12065 3\n"),
	    NW_OK);
	CHECK_INT(tables[0].n, 2);
	CHECK_NEAR(table_get(&tables[0], "InReceives"), 12107, 0, 0);
	CHECK_INT(tables[1].n, 4);
	CHECK_NEAR(table_get(&tables[1], "MaxConn"), -1, 0, 0);
	CHECK_NEAR(table_get(&tables[1], "established"), 7, 0, 0);
	CHECK_NEAR(table_get(&tables[1], "segments_in"), 12065, 0, 0);
	CHECK_NEAR(table_get(&tables[1], "RetransSegs"), 3, 0, 0);
	CHECK(!tables[1].fields[1].counter);
	CHECK(tables[1].fields[2].counter);
	CHECK_STR(tables[1].fields[2].unit, "{segment}");
	CHECK_STR(tables[1].fields[3].unit, "1");

	CHECK_INT(PARSE("Tcp: InSegs More\nTcp: 5\n"), NW_OK); /* fewer numbers than names */
	CHECK_INT(tables[1].n, 1);
	CHECK_INT(PARSE("Tcp: InSegs\nUdp: 5\n"), NW_EPROTO);
	CHECK_INT(PARSE("Udp: InSegs\nUdp: 5\n"), NW_EPROTO);
	CHECK_INT(PARSE("Tcp: InSegs"), NW_EPROTO);
	CHECK_INT(PARSE(""), NW_EPROTO);
	CHECK_INT(PARSE("\n\n"), NW_EPROTO);
	table_clear(&tables[0]);
	table_clear(&tables[1]);
	return check_done("probe_snmp");
}
