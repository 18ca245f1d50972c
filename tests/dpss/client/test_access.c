/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of tiles: every tile of every level has one of its own, and nothing else has one. */
#include <string.h>

#include "narrows/dpss.h"
#include "tests/check.h"

static void
test_tiles(void)
{
	const struct dpss_tiles t = { 4096, 5, 3, 4 }; /* 5x3, 3x2, 2x1, 1x1 */
	const uint32_t width[] = { 5, 3, 2, 1 }, height[] = { 3, 2, 1, 1 };
	bool seen[15 + 6 + 2 + 1] = { false };
	uint32_t x, y, level;
	uint64_t n;

	for (level = 0; level < 4; level++)
		for (y = 0; y < height[level]; y++)
			for (x = 0; x < width[level]; x++) {
				n = dpss_tile_number(&t, x, y, level);
				CHECK(n < sizeof(seen) && !seen[n]);
				seen[n < sizeof(seen) ? n : 0] = true;
			}
	CHECK(dpss_tile_number(&t, 5, 0, 0) == UINT64_MAX);
	CHECK(dpss_tile_number(&t, 0, 2, 1) == UINT64_MAX);
	CHECK(dpss_tile_number(&t, 0, 0, 4) == UINT64_MAX);
}

int
main(void)
{
	test_tiles();
	return check_done("test_access");
}
