/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of RFC 4898: the table answers by the agents' names, and nothing for names of Linux. */
#include "narrows/tcpname.h"

#include "tests/check.h"

int
main(void)
{
	static const struct {
		const char *field, *name;
	} cases[] = {
		{ "SmoothedRTT", "SmoothedRTT" },
		{ "rtt_s", "SmoothedRTT" },
		{ "retrans", "SegsRetrans" },
		{ "SndWindScale", "WinScaleRcvd" },
		{ "linux_rwnd_limited", "SndLimTimeRwin" },
		{ "linux_pacing_rate", "" },
		{ "delivery_rate", "" },
		{ "", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_STR(nw_tcp_rfc4898(cases[i].field), cases[i].name);
		CHECK((nw_tcp_name(cases[i].field) != NULL) == (cases[i].name[0] != '\0'));
	}
	return check_done("test_tcpname");
}
