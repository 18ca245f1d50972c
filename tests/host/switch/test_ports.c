/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the directives `switch` and `port`. */
#include "host/switch/ports.h"

#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

static void
test_switches(void)
{
	static const struct {
		const char *text;
		int rc;
		bool v3;
		enum switch_auth auth;
		enum switch_privacy privacy;
	} lines[] = {
		{ "core 192.0.2.1 v2c public", NW_OK, false, AUTH_NONE, PRIVACY_NONE },
		{ "core 192.0.2.1:1161 v3 me", NW_OK, true, AUTH_NONE, PRIVACY_NONE },
		{ "core x v3 me sha secret12", NW_OK, true, AUTH_SHA, PRIVACY_NONE },
		{ "core x v3 me sha256 secret12 aes secret34\nnext", NW_OK, true, AUTH_SHA256,
		    PRIVACY_AES },
		{ "core x v3 me sha short", NW_EINVAL, true, AUTH_NONE, PRIVACY_NONE },
		{ "core x v3 me none secret12", NW_EINVAL, true, AUTH_NONE, PRIVACY_NONE },
		{ "core x v3 me sha secret12 aes", NW_EINVAL, true, AUTH_NONE, PRIVACY_NONE },
		{ "core x v3 me sha secret12 aes secret34 x", NW_EINVAL, true, AUTH_NONE,
		    PRIVACY_NONE },
		{ "core x v2c public more", NW_EINVAL, false, AUTH_NONE, PRIVACY_NONE },
		{ "core x v1 public", NW_EINVAL, false, AUTH_NONE, PRIVACY_NONE },
		{ "core", NW_EINVAL, false, AUTH_NONE, PRIVACY_NONE },
		{ "", NW_EINVAL, false, AUTH_NONE, PRIVACY_NONE },
	};
	struct switch_line line;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		CHECK_INT(switch_line_parse(lines[i].text, &line, &why), lines[i].rc);
		if (lines[i].rc != NW_OK)
			continue;
		CHECK_STR(line.name, "core");
		CHECK(line.v3 == lines[i].v3 && line.auth == lines[i].auth &&
		    line.privacy == lines[i].privacy);
	}
}

static void
test_ports(void)
{
	static const char *const wrong[] = { "core", "core 7", "core x dtn", "core 0 dtn",
		"core 7x dtn", "core -1 dtn", "core 99999999999 dtn" };
	char long_line[600];
	struct port_line line;
	const char *why;
	size_t i;

	CHECK_INT(port_line_parse("core 517  dtn1 192.0.2.20\nport x", &line, &why), NW_OK);
	CHECK_INT(line.index, 517);
	CHECK_STR(line.serves, "dtn1 192.0.2.20");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_INT(port_line_parse(wrong[i], &line, &why), NW_EINVAL);
	memset(long_line, 'h', sizeof(long_line));
	memcpy(long_line, "core 7 ", 7);
	long_line[sizeof(long_line) - 1] = '\0';
	CHECK_INT(port_line_parse(long_line, &line, &why), NW_EINVAL);
}

int
main(void)
{
	test_switches();
	test_ports();
	return check_done("test_ports");
}
