/* SPDX-License-Identifier: BSD-3-Clause */
/* When chronyd gets the box as a source: by choice alone if it follows another source. */
#include "host/join/timesource.h"

#include <string.h>
#include <unistd.h>

#include "host/join/boxtalk.h"
#include "narrows/err.h"
#include "tests/check.h"

static const struct {
	const char *what;
	struct timesource t;
	enum timesource_choice choice;
	bool staged;
	const char *say;
} cases[] = {
	{ "chrony is there, nothing runs", { .has_chrony = true }, TIMESOURCE_ASK, true, NULL },
	{ "chronyd without a source",
	    { .daemon = "chronyd", .is_chrony = true, .has_chrony = true }, TIMESOURCE_ASK, true,
	    NULL },
	{ "chronyd with another source",
	    { .daemon = "chronyd",
		.is_chrony = true,
		.has_chrony = true,
		.follows = true,
		.source = "192.0.2.9" },
	    TIMESOURCE_ASK, false, "chronyd follows 192.0.2.9, and was not changed" },
	{ "the same, by choice",
	    { .daemon = "chronyd",
		.is_chrony = true,
		.has_chrony = true,
		.follows = true,
		.source = "192.0.2.9" },
	    TIMESOURCE_BOX, true, NULL },
	{ "never", { .has_chrony = true }, TIMESOURCE_KEEP, false, "no time daemon" },
	{ "another daemon", { .daemon = "ntpd", .has_chrony = true }, TIMESOURCE_BOX, false,
	    "ntpd keeps the clock" },
	{ "no chrony", { .has_chrony = false }, TIMESOURCE_ASK, false, "install chrony" },
};

static void
test_choice(void)
{
	char why[CONF_WHY_BYTES], say[TIMESOURCE_SAY_BYTES];
	bool staged;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct staged full = { .n_files = STAGED_FILES }; /* nothing is written */
		int rc = timesource_stage(
		    &cases[i].t, cases[i].choice, "box.example.net", &full, &staged, why);

		CHECK_INT(staged, cases[i].staged);
		CHECK_INT(rc, cases[i].staged ? NW_EFULL : NW_OK);
		if (staged)
			continue;
		timesource_apply(&cases[i].t, false, "box.example.net", say);
		CHECK(strstr(say, cases[i].say) != NULL);
	}
}

static void
test_address(void)
{
	static const struct {
		const char *text, *url, *address;
	} good[] = {
		{ "https://box.example.net:8443", "https://box.example.net:8443",
		    "tls://box.example.net/5007" },
		{ "https://box/", "https://box:8443", "tls://box/5007" },
		{ "192.0.2.1", "https://192.0.2.1:8443", "tls://192.0.2.1/5007" },
		{ "box/443", "https://box:443", "tls://box/5007" },
		{ "[2001:db8::1]:9", "https://[2001:db8::1]:9", "tls://[2001:db8::1]:5007" },
	};
	static const char *const bad[] = { "", "/", "http://box", "https://", "box:x",
		"box:99999" };
	char address[BOXTALK_URL_BYTES];
	struct boxtalk b;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(boxtalk_parse(&b, good[i].text), NW_OK);
		CHECK_STR(b.url, good[i].url);
		b.port = 5007;
		boxtalk_address(&b, address);
		CHECK_STR(address, good[i].address);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(boxtalk_parse(&b, bad[i]), NW_EINVAL);
}

int
main(void)
{
	close(STDIN_FILENO); /* no terminal answers */
	test_choice();
	test_address();
	return check_done("timesource");
}
