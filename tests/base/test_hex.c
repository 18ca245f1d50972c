/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/hex.h"

#include "tests/check.h"

static void
all_bytes_come_back(void)
{
	unsigned char bytes[256], back[256];
	char text[513];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	nw_hex_put(text, bytes, sizeof(bytes));
	CHECK_INT(strlen(text), 512);
	CHECK_INT(strncmp(text, "000102", 6), 0);
	CHECK_STR(text + 506, "fdfeff");
	CHECK(nw_hex_take(text, back, sizeof(back)));
	CHECK_INT(memcmp(bytes, back, sizeof(bytes)), 0);
	nw_hex_put(text, bytes, 0);
	CHECK_STR(text, "");
}

static void
other_characters_are_refused(void)
{
	static const char *const bad[] = { "", "0", "0g", "g0", "0A", "/0", ":0", "`0", "0 " };
	unsigned char byte;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!nw_hex_take(bad[i], &byte, 1));
	CHECK(nw_hex_take("7fx", &byte, 1));
	CHECK_INT(byte, 0x7f);
}

int
main(void)
{
	all_bytes_come_back();
	other_characters_are_refused();
	return check_done("hex");
}
