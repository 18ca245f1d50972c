/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of the administrator: the directive, and numbers out of their output. */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"
#include "tests/check.h"

static void
test_directive(void)
{
	static const char *const bad[] = { "", "raid", "raid exec", "raid exec  ", "ra/id exec x",
		"raid every exec x", "raid every 1ms exec x", "raid every 2d exec x",
		"raid within x exec y", "raid twice 1s exec x", "raid as exec" };
	struct exec_command c;
	const char *why;
	size_t i;

	CHECK_INT(exec_parse("raid exec cat /proc/mdstat | wc -l\nnext exec x", &c, &why), NW_OK);
	CHECK_STR(c.name, "raid");
	CHECK_STR(c.command, "cat /proc/mdstat | wc -l");
	CHECK(c.interval_ns == INT64_C(10000000000) && c.timeout_ns == INT64_C(5000000000) &&
	    c.user[0] == '\0');
	CHECK_INT(
	    exec_parse("a.b-c_1 every 1m within 500ms as nobody exec x exec y", &c, &why), NW_OK);
	CHECK_STR(c.user, "nobody");
	CHECK_STR(c.command, "x exec y");
	CHECK(c.interval_ns == INT64_C(60000000000) && c.timeout_ns == INT64_C(500000000));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(exec_parse(bad[i], &c, &why), NW_EINVAL);
}

static void
test_output(void)
{
	static const struct {
		const char *text, *want; /* key=value, one a word */
	} cases[] = { { "a=1 b=2.5\nc=-3e2\n", "a=1 b=2.5 c=-300 " },
		{ "{\"temp\": 41.5, \"state\": \"clean=7, x\", \"n\":3}\n", "temp=41.5 n=3 " },
		{ "{\"a\":1}\n{\"a\":2}", "a=1 a=2 " },
		{ "a=text b=4 c= d=nan e=inf f=5", "b=4 f=5 " }, { "", "" }, { "====,,,\"", "" },
		{ "just words and 12 numbers", "" }, { "x=0x10 y=1z", "x=16 " },
		{ "long=1", "long=1 " }, { "\"a", "" }, { "a=", "" }, { "{\"a\":\"", "" } };
	struct scan text, key;
	char got[128];
	double value;
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = scan_text(cases[i].text, strlen(cases[i].text));
		got[n = 0] = '\0';
		while (exec_next(&text, &key, &value))
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s=%g ",
			    (int)(key.end - key.at), key.at, value);
		CHECK_STR(got, cases[i].want);
	}
}

int
main(void)
{
	test_directive();
	test_output();
	return check_done("probe_exec");
}
