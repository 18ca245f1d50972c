/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/conf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static char path[] = "/tmp/test_conf.XXXXXX";

static int
read_text(struct conf *c, const char *text, char why[CONF_WHY_BYTES])
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
	return conf_read(c, path, why);
}

static void
test_good(void)
{
	char why[CONF_WHY_BYTES];
	struct conf c;

	conf_init(&c);
	CHECK_STR(c.state_dir, "/var/lib/narrows");
	CHECK_STR(c.listen_xsp, "127.0.0.1/5006");
	CHECK_STR(c.listen_http, "127.0.0.1/8080");
	CHECK_INT(c.handshake_timeout_ns, 10000000000);
	CHECK_INT(c.max_block_bytes, 1 << 20);
	CHECK(c.durability == DURABILITY_FULL && !c.plain_xsp_beyond_loopback);
	CHECK_NEAR(c.margin, 0.1, 1e-12, 0);
	CHECK_INT(read_text(&c,
		      "# a comment\n\n  state-dir /srv/n  # behind\nflush-interval = 250 "
		      "ms\nmax-block-size 2MiB\n"
		      "durability normal\nkeep-raw 36 h\nmax-store-size 1 GiB\nidle-timeout "
		      "2h\nalpha 1 %\n"
		      "reduction-response operation-time\nreduction-window 1 h\n",
		      why),
	    NW_OK);
	CHECK_STR(c.state_dir, "/srv/n");
	CHECK_INT(c.flush_interval_ns, 250000000);
	CHECK_INT(c.max_block_bytes, 2 << 20);
	CHECK_INT(c.idle_timeout_ns, 7200000000000);
	CHECK_INT(c.durability, DURABILITY_NORMAL);
	CHECK_INT(c.keep_ns[STORE_ROWS], INT64_C(36) * 3600 * 1000000000);
	CHECK_INT(c.keep_ns[STORE_1H], 0);
	CHECK_INT(c.max_store_bytes, 1 << 30);
	CHECK_NEAR(c.alpha, 0.01, 1e-12, 0);
	CHECK_STR(c.reduction_response, "operation-time");
	CHECK(!c.reduction_faithful && c.reduction_every_ns == INT64_C(86400000000000));
	CHECK_INT(c.reduction_window_ns, 3600000000000);
	CHECK_INT(conf_override(&c, "reduction-response=app:cactus seconds", why), NW_OK);
	CHECK_STR(c.reduction_response, "app:cactus seconds");
	CHECK_INT(conf_override(&c, "listen-http=[::1]:9", why), NW_OK);
	CHECK_STR(c.listen_http, "::1/9");
	CHECK_INT(conf_override(&c, "http-names=box.example.net 2001:db8::1", why), NW_OK);
	CHECK_STR(c.http_names, "box.example.net 2001:db8::1");
	CHECK_INT(conf_check(&c, why), NW_OK);
	conf_clear(&c);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *line, *says;
	} cases[] = {
		{ "state-dir /a\nno-such-thing 1\n", ":2:", "no-such-thing: unknown directive" },
		{ "flush-interval fast\n", ":1:", "not a number" },
		{ "flush-interval 5 parsecs\n", ":1:", "unknown unit" },
		{ "\n\nflush-interval 2 h\n", ":3:", "out of range 1 ms to 60 s" },
		{ "state-dir /a\nstate-dir /b\n", ":2:", "given twice" },
		{ "reduction-response speed\n", ":1:", "write rate, operation-time, or" },
		{ "reduction-response a b c\n", ":1:", "write rate, operation-time, or" },
		{ "segment-min-windows 4\n", ":1:", "out of range 5 to 1000" },
		{ "state-dir\n", ":1:", "no value" },
		{ "listen-xsp nowhere\n", ":1:", "not an address" },
		{ "listen-xsp 127.0.0.1/99999\n", ":1:", "not an address" },
		{ "listen-http 127.0.0.1/1 127.0.0.1/2\n", ":1:", "not an address" },
		{ "durability perhaps\n", ":1:", "full or normal" },
		{ "max-store-size 1 MiB\n", ":1:", "at least 16 MiB" },
		{ "max-connections -3\n", ":1:", "not a number" },
		{ "http-names box https://box.example.net\n", ":1:", "not a name" },
		{ "\ntls-names box.example.net:8443/x\n", ":2:", "not a name" },
	};
	char why[CONF_WHY_BYTES];
	struct conf c;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conf_init(&c);
		CHECK(read_text(&c, cases[i].text, why) < 0);
		CHECK(strstr(why, path) == why && strstr(why, cases[i].line) != NULL);
		CHECK(strstr(why, cases[i].says) != NULL);
		CHECK_STR(c.state_dir, "/var/lib/narrows"); /* nothing of a bad file is taken */
		conf_clear(&c);
	}
	conf_init(&c);
	CHECK_INT(conf_read(&c, "/nonexistent/file", why), NW_EIO);
	CHECK(conf_override(&c, "alpha=7", why) == NW_EINVAL && strstr(why, "alpha=7") != NULL);
	conf_clear(&c);
}

/* Closed by default: what would cross a network in clear needs a word. */
static void
test_whole(void)
{
	char why[CONF_WHY_BYTES];
	struct conf c;

	conf_init(&c);
	CHECK_INT(conf_override(&c, "listen-xsp=127.0.0.1/1 192.0.2.1/5006", why), NW_OK);
	CHECK_INT(conf_check(&c, why), NW_EINVAL);
	CHECK(strstr(why, "192.0.2.1/5006") != NULL &&
	    strstr(why, "plain-xsp-beyond-loopback") != NULL);
	CHECK_INT(conf_override(&c, "plain-xsp-beyond-loopback=yes", why), NW_OK);
	CHECK_INT(conf_check(&c, why), NW_OK);
	CHECK_INT(conf_override(&c, "max-message-size=5KiB", why), NW_OK);
	CHECK_INT(conf_check(&c, why), NW_EINVAL);
	conf_clear(&c);

	/* where it stands, if it stands somewhere; the command line wins */
	conf_init(&c);
	CHECK_INT(
	    read_text(&c,
		"# nothing\nstate-dir /a\nlisten-xsp 127.0.0.1/1 no.such.host.invalid/5006\n", why),
	    NW_OK);
	CHECK_INT(conf_check(&c, why), NW_EINVAL);
	CHECK(strstr(why, path) == why &&
	    strstr(why, ":3: listen-xsp no.such.host.invalid/5006: ") != NULL);
	CHECK_INT(conf_override(&c, "listen-xsp=another.host.invalid/1", why), NW_OK);
	CHECK_INT(conf_check(&c, why), NW_EINVAL);
	CHECK(strstr(why, "listen-xsp another.host.invalid/1: ") == why);
	CHECK_INT(conf_override(&c, "listen-xsp=127.0.0.1/1", why), NW_OK);
	CHECK_INT(conf_check(&c, why), NW_OK);
	CHECK_INT(conf_override(&c,
		      "listen-xsp-tls=0.0.0.0/1 ::/1 1.1.1.1/1 1.1.1.1/2 1.1.1.1/3 1.1.1.1/4 "
		      "1.1.1.1/5 1.1.1.1/6 1.1.1.1/7 "
		      "1.1.1.1/8 1.1.1.1/9 1.1.1.1/10 1.1.1.1/11 1.1.1.1/12 1.1.1.1/13 1.1.1.1/14 "
		      "1.1.1.1/15",
		      why),
	    NW_OK);
	CHECK(conf_check(&c, why) == NW_EINVAL && strstr(why, "more than 16") != NULL);
	CHECK_INT(conf_override(&c, "listen-xsp-tls=none", why), NW_OK);
	CHECK_INT(
	    read_text(&c, "listen-https 0.0.0.0/1\n\nlisten-http no.such.host.invalid/1\n", why),
	    NW_OK);
	CHECK(conf_check(&c, why) == NW_EINVAL && strstr(why, ":3: listen-http ") != NULL);
	conf_clear(&c);
}

int
main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	test_good();
	test_bad();
	test_whole();
	unlink(path);
	return check_done("test_conf");
}
