/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of boxes as people write them, and a connection that finds nobody. */
#include "host/lib/conn.h"

#include "tests/check.h"
#include "narrows/clock.h"
#include "narrows/err.h"

static const struct {
	const char *text, *host, *port;
} good[] = {
	{ "127.0.0.1/5006", "127.0.0.1", "5006" },
	{ "127.0.0.1:5007", "127.0.0.1", "5007" },
	{ "box.example.net", "box.example.net", "5006" },
	{ "box/5010", "box", "5010" },
	{ "[::1]:99", "::1", "99" },
	{ "[::1]/99", "::1", "99" },
	{ "[::1]", "::1", "5006" },
	{ "::1", "::1", "5006" },
	{ "::1/7", "::1", "7" },
	{ "box:xsp", "box", "xsp" },
	{ "tls://box.example.net", "box.example.net", "5007" },
	{ "tls://127.0.0.1/5010", "127.0.0.1", "5010" },
	{ "tls://[::1]:99", "::1", "99" },
};
static const char *const bad[] = { "", "/5006", ":5006", "box/", "box:", "[::1", "[]:1", "[::1]x",
	"a b/1", "a/b/c", "a/1:2", "tls://", "tls:///5007", "https://box" };

static void
test_addresses(void)
{
	struct conn_addr a;
	char longer[400];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(conn_addr_parse(good[i].text, &a), NW_OK);
		CHECK_STR(a.host, good[i].host);
		CHECK_STR(a.port, good[i].port);
		CHECK_INT(a.tls, strncmp(good[i].text, "tls:", 4) == 0);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(conn_addr_parse(bad[i], &a), NW_EINVAL);
	memset(longer, 'h', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	CHECK_INT(conn_addr_parse(longer, &a), NW_EINVAL);
}

static void
test_nobody(void)
{
	struct conn_addr a;
	struct nw_frame f;
	struct conn c;
	int rc;

	conn_init(&c);
	CHECK_INT(conn_step(&c, nw_mono_ns()), NW_ECLOSED);
	CHECK_INT(conn_recv(&c, &f), NW_ECLOSED);
	CHECK_INT(conn_addr_parse("127.0.0.1/1", &a), NW_OK);
	rc = conn_connect(&c, &a, NULL, 0, 1000000000);
	while (rc == NW_OK)
		rc = conn_step(&c, nw_mono_ns());
	CHECK(c.state == CONN_CLOSED && c.fd == -1);
	CHECK_STR(c.why, "no server listens at the address");
	CHECK_INT(conn_addr_parse("127.0.0.1/no-such-service", &a), NW_OK);
	CHECK_INT(conn_connect(&c, &a, NULL, 0, 1000000000), NW_EIO);
	CHECK_INT(conn_addr_parse("tls://127.0.0.1/1", &a), NW_OK);
	CHECK_INT(conn_connect(&c, &a, NULL, 0, 1000000000), NW_EIO);
	CHECK_STR(c.why, "TLS is not offered here");
	conn_clear(&c);
}

int
main(void)
{
	test_addresses();
	test_nobody();
	return check_done("conn");
}
