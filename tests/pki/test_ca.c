/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses a certificate may list, and how many. */
#include "narrows/ca.h"

#include "narrows/err.h"
#include "tests/check.h"

int
main(void)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{ "10.0.9.1", NW_OK },
		{ "FD00:0::1", NW_OK },
		{ "127.0.0.1", NW_EINVAL },
		{ "::1", NW_EINVAL },
		{ "::", NW_EINVAL },
		{ "0.0.0.0", NW_EINVAL },
		{ "224.0.0.1", NW_EINVAL },
		{ "255.255.255.255", NW_EINVAL },
		{ "ff02::1", NW_EINVAL },
		{ "fe80::1", NW_EINVAL },
		{ "::ffff:10.0.0.1", NW_EINVAL },
		{ "10.0.0", NW_EINVAL },
		{ "10.0.0.1/24", NW_EINVAL },
		{ "dtn1", NW_EINVAL },
		{ "", NW_EINVAL },
		{ "10.0.0.1 10.0.0.2", NW_EINVAL },
	};
	char addresses[CA_ADDRESSES_BYTES] = "", text[64];
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(ca_address_add(addresses, cases[i].text, &why), cases[i].rc);
	CHECK_STR(addresses, "10.0.9.1 fd00::1");
	for (i = 2; i < CA_ADDRESSES_MAX; i++) {
		snprintf(text, sizeof(text), "2001:db8:1111:2222:3333:4444:5555:666%zu", i);
		CHECK_INT(ca_address_add(addresses, text, &why), NW_OK);
	}
	CHECK_INT(ca_address_add(addresses, "10.0.9.2", &why), NW_ETOOBIG);
	CHECK(strlen(addresses) < CA_ADDRESSES_BYTES && strstr(addresses, "6667") != NULL);
	return check_done("ca");
}
