/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/embed.h"

#include <stdint.h>
#include <stdio.h>

#include "tests/check.h"

EMBED(first, "tests/base/test_embed.c");
EMBED(second, "tests/base/test_embed.c");
extern const unsigned char first[], second[];
extern const size_t first_bytes, second_bytes;

static void
bytes_are_those_of_the_file(void)
{
	static unsigned char file[16384];
	FILE *f = fopen("tests/base/test_embed.c", "r");
	size_t n;

	CHECK(f != NULL);
	n = fread(file, 1, sizeof(file), f);
	fclose(f);
	CHECK(n > 100 && n < sizeof(file));
	CHECK_INT(first_bytes, n);
	CHECK_INT(second_bytes, n);
	CHECK_INT(memcmp(first, file, n), 0);
	CHECK_INT(memcmp(second, file, n), 0);
	CHECK_INT(second[n], 0);
}

/* The loader of programs reads a structure at the first byte. */
static void
first_byte_is_aligned(void)
{
	CHECK_INT((uintptr_t)first % 8, 0);
	CHECK_INT((uintptr_t)second % 8, 0);
}

int
main(void)
{
	bytes_are_those_of_the_file();
	first_byte_is_aligned();
	return check_done("embed");
}
