/* SPDX-License-Identifier: BSD-3-Clause */
/* Which names are ours: hosts of the header Host, good, foreign and malformed. */
#include "web/http/host_check.h"

#include <unistd.h>

#include "tests/check.h"

static const struct {
	const char *host;
	int loopback, wide;
} cases[] = {
	{ "localhost", 0, 0 },
	{ "localhost:8080", 0, 0 },
	{ "LocalHost.", 0, 0 },
	{ "narrows.localhost:1", 0, 0 },
	{ "127.0.0.1:8080", 0, 0 },
	{ "127.255.0.9", 0, 0 },
	{ "[::1]", 0, 0 },
	{ "[::1]:8080", 0, 0 },
	{ "[0:0::1]:80", 0, 0 },
	{ "box.example.net", 0, 0 },
	{ "BOX.Example.NET:8443", 0, 0 },
	{ "192.0.2.7", 0, 0 },
	{ "other.example", 0, 0 },
	{ "192.0.2.8:8080", 421, 0 },
	{ "[2001:db8::1]:80", 421, 0 },
	{ "[::ffff:192.0.2.8]", 421, 0 },
	{ "evil.example", 421, 421 },
	{ "box.example.net.evil.example:8080", 421, 421 },
	{ "example.net", 421, 421 },
	{ "notlocalhost", 421, 421 },
	{ "127.0.0.1.evil.example", 421, 421 },
	{ "box", 421, 421 },
	{ "127.1", 421, 421 },
	{ "any", 421, 421 },
	{ ".localhost", 421, 421 },
	{ "xn--nxasmq6b", 421, 421 },
	{ "", 400, 400 },
	{ ":80", 400, 400 },
	{ "[]", 400, 400 },
	{ "[::1", 400, 400 },
	{ "[::1]x", 400, 400 },
	{ "::1", 400, 400 },
	{ "a b", 400, 400 },
	{ "localhost:8080x", 400, 400 },
	{ "localhost:-1", 400, 400 },
	{ "localhost:80:80", 400, 400 },
	{ "localhost/", 400, 400 },
	{ "user@localhost", 400, 400 },
	{ "localhost:123456", 400, 400 },
	{ "evil.example,localhost", 400, 400 },
	{ "l\xc3\xb6"
	  "calhost",
	    400, 400 },
	{ "localhost\t", 400, 400 },
};

int
main(void)
{
	static const char names[] = "box.example.net  192.0.2.7\tother.example";
	char own[300] = "", longest[600];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int loopback = host_check(cases[i].host, names, true),
		    wide = host_check(cases[i].host, names, false);

		CHECK_INT(loopback, cases[i].loopback);
		CHECK_INT(wide, cases[i].wide);
		if (loopback != cases[i].loopback || wide != cases[i].wide)
			fprintf(stderr, "%s\n", cases[i].host);
	}
	CHECK_INT(host_check("evil.example", "", false), 421);
	CHECK_INT(host_check("evil.example", "box any", true), 0);
	CHECK_INT(host_check("evil example", "any", true), 400);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_INT(host_check(longest, names, true), 400);
	CHECK_INT(gethostname(own, 255), 0);
	CHECK_INT(host_check(own, names, true), 0);
	strcat(own, ":80");
	CHECK_INT(host_check(own, names, true), 0);
	return check_done("test_host_check");
}
