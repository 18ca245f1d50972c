/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot gives back its own block or says what is wrong, whichever byte has changed. */
#include "dpss/server/slot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpss/checksum.h"
#include "narrows/err.h"
#include "tests/check.h"

enum { BLOCK = 600, HEAD = 40 };

static int fd;
static uint8_t block[BLOCK];

static void
test_round_trip(void)
{
	struct slot_head head = { 7, 500, 0, 41, 99 }, back;
	uint8_t data[BLOCK];
	size_t i;

	for (i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(i * 31);
	head.sum = checksum(block, head.len);
	CHECK_INT(slot_read(fd, 3, BLOCK, 7, 41, &back, data), NW_ENOTFOUND);
	CHECK_INT(slot_write(fd, 3, BLOCK, &head, block), NW_OK);
	CHECK_INT(slot_read(fd, 3, BLOCK, 7, 41, &back, data), NW_OK);
	CHECK(back.len == 500 && back.sum == head.sum && memcmp(data, block, 500) == 0);
	CHECK_INT(slot_read(fd, 3, BLOCK, 7, 42, &back, data), NW_ENOTFOUND);
	CHECK_INT(slot_read(fd, 3, BLOCK, 8, 41, &back, data), NW_ENOTFOUND);
	CHECK_INT(slot_read(fd, 2, BLOCK, 7, 41, &back, data), NW_ENOTFOUND);
}

/* All bytes that carry something: the head but its last four, and the data. */
static void
test_damage(void)
{
	off_t at = (off_t)(3 * slot_bytes(BLOCK)), i;
	uint8_t data[BLOCK], byte, changed;
	struct slot_head back;

	for (i = 0; i < HEAD + 500; i++) {
		if (i >= HEAD - 4 && i < HEAD)
			continue;
		CHECK(pread(fd, &byte, 1, at + i) == 1);
		changed = byte ^ 0x10;
		CHECK(pwrite(fd, &changed, 1, at + i) == 1);
		CHECK_INT(slot_read(fd, 3, BLOCK, 7, 41, &back, data), NW_ECORRUPT);
		CHECK(pwrite(fd, &byte, 1, at + i) == 1);
	}
	CHECK_INT(slot_read(fd, 3, BLOCK, 7, 41, &back, data), NW_OK);
	CHECK(ftruncate(fd, at + HEAD + 499) == 0);
	CHECK_INT(slot_read(fd, 3, BLOCK, 7, 41, &back, data), NW_ECORRUPT);
}

int
main(void)
{
	char path[] = "/tmp/nw-slot-XXXXXX";

	fd = mkstemp(path);
	unlink(path);
	test_round_trip();
	test_damage();
	close(fd);
	return check_done("test_slot");
}
