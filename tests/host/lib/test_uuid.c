/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/uuid.h"

#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

int
main(void)
{
	char a[UUID_BYTES], b[UUID_BYTES];

	CHECK(uuid_make(a) == NW_OK && uuid_make(b) == NW_OK);
	CHECK(strlen(a) == UUID_BYTES - 1 && strcmp(a, b) != 0);
	CHECK(a[8] == '-' && a[13] == '-' && a[18] == '-' && a[23] == '-');
	CHECK(a[14] == '4' && strchr("89ab", a[19]) != NULL);
	uuid_of_random((const uint8_t[UUID_RANDOM_BYTES]){ 0, 1, [15] = 255 }, a);
	CHECK(strcmp(a, "00010000-0000-4000-8000-0000000000ff") == 0);
	return check_done("uuid");
}
