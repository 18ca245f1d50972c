/* SPDX-License-Identifier: BSD-3-Clause */
/* Known answers, and the instruction against the tables for every length around the lanes. */
#include "dpss/checksum.h"

#include "narrows/splitmix.h"
#include "tests/check.h"

enum { BYTES = 20000 };

static const struct {
	const char *text;
	size_t len;
	uint32_t sum;
} answers[] = { { "", 0, 0 }, { "a", 1, 0xc1d04330 }, { "123456789", 9, 0xe3069283 },
	{ "The quick brown fox jumps over the lazy dog", 43, 0x22620404 } };

static void
test_answers(void)
{
	size_t i;

	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		CHECK(checksum(answers[i].text, answers[i].len) == answers[i].sum);
		CHECK(checksum_by_table(answers[i].text, answers[i].len) == answers[i].sum);
	}
}

static void
test_lengths(void)
{
	static uint8_t bytes[BYTES];
	uint64_t state = 7;
	size_t len;

	for (len = 0; len < sizeof(bytes); len++)
		bytes[len] = (uint8_t)nw_splitmix(&state);
	for (len = 0; len < 64; len++)
		CHECK(checksum(bytes + 3, len) == checksum_by_table(bytes + 3, len));
	for (len = 6000; len < sizeof(bytes) - 8; len += 131)
		CHECK(checksum(bytes + 5, len) == checksum_by_table(bytes + 5, len));
}

int
main(void)
{
	test_answers();
	test_lengths();
	return check_done("test_checksum");
}
