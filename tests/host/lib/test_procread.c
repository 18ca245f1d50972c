/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/procread.h"

#include <unistd.h>

#include "tests/check.h"

int
main(void)
{
	char text[64] = "before", five[6], want[32];
	size_t n;

	snprintf(want, sizeof(want), "%d (", (int)getpid());
	n = procread(getpid(), "stat", text, sizeof(text));
	CHECK(n > 0 && n < sizeof(text) && strlen(text) == n);
	CHECK_INT(strncmp(text, want, strlen(want)), 0);
	CHECK_INT(procread(getpid(), "stat", five, sizeof(five)), 5);
	CHECK_INT(strncmp(five, text, 5), 0);
	CHECK_INT(five[5], '\0');
	CHECK_INT(procread(getpid(), "nothing", text, sizeof(text)), 0);
	CHECK_STR(text, "");
	CHECK_INT(procread_path("/dev/null", text, sizeof(text)), 0);
	CHECK_STR(text, "");
	return check_done("procread");
}
