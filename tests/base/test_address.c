/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/address.h"

#include "narrows/err.h"
#include "tests/check.h"

static void
test_parse(void)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} good[] = {
		{ "127.0.0.1/5006", "127.0.0.1", 5006 },
		{ "box.example.net:80", "box.example.net", 80 },
		{ "[::1]:9", "::1", 9 },
		{ "::1/65535", "::1", 65535 },
	};
	static const char *const bad[] = { "", "/", ":", "/1", "host", "host/", "host/x",
		"host/65536", "host/1 ", "a b/1", "[]:1", "host/-1", "host/1/2" };
	char host[ADDRESS_HOST_BYTES], longest[400];
	uint16_t port;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(address_parse(good[i].text, host, &port), NW_OK);
		CHECK_STR(host, good[i].host);
		CHECK_INT(port, good[i].port);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(address_parse(bad[i], host, &port), NW_EINVAL);
	memset(longest, 'a', 300);
	strcpy(longest + 300, "/1");
	CHECK_INT(address_parse(longest, host, &port), NW_EINVAL);
	CHECK_INT(address_parse(longest + 300 - 255, host, &port), NW_OK);
	CHECK_INT(address_parse(longest + 300 - 256, host, &port), NW_EINVAL);
}

static void
test_loopback(void)
{
	CHECK(address_is_loopback("127.1.2.3") && address_is_loopback("::1") &&
	    address_is_loopback("localhost"));
	CHECK(!address_is_loopback("0.0.0.0") && !address_is_loopback("::") &&
	    !address_is_loopback("10.0.0.1") && !address_is_loopback("box.example.net"));
}

int
main(void)
{
	test_parse();
	test_loopback();
	return check_done("address");
}
