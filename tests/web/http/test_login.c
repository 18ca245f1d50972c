/* SPDX-License-Identifier: BSD-3-Clause */
/* A login leads to pages of this box alone. */
#include "web/http/login.h"

#include "tests/check.h"

int
main(void)
{
	static const char *const good[] = { "/", "/session/1", "/?q=a%20b&sort=slowest",
		"/session/1?all=1" };
	static const char *const bad[] = { "", "session/1", "//evil.example", "/\\evil.example",
		"https://evil.example/", "/a b", "/a\r\nSet-Cookie: x=1", "/a\tb", "/\xc3\xa9" };
	char *longer = calloc(1, 2000);
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(login_next_ok(good[i]));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!login_next_ok(bad[i]));
	CHECK(!login_next_ok(NULL));
	memset(longer, '/', 1);
	memset(longer + 1, 'a', 1900);
	CHECK(!login_next_ok(longer));
	free(longer);
	return check_done("login");
}
