/* SPDX-License-Identifier: BSD-3-Clause */
/* A box's certificates through years: the CA is made once, the box's is renewed in time, hosts
 * come, go and come again. */
#include "daemon/tlsctx.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "narrows/ca.h"
#include "narrows/log.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define DAY_NS INT64_C(86400000000000)

static char dir[] = "/tmp/test_tlsctx.XXXXXX";

static char *
path_of(const char *name)
{
	static char paths[8][128];
	static unsigned turn;
	char *p = paths[turn++ % 8];

	snprintf(p, sizeof(paths[0]), "%s/tls/%s", dir, name);
	return p;
}

static void
file_read(const char *name, char out[8192])
{
	FILE *f = fopen(path_of(name), "r");
	size_t n = f != NULL ? fread(out, 1, 8191, f) : 0;

	out[n] = '\0';
	if (f != NULL)
		fclose(f);
}

static unsigned
mode_of(const char *name)
{
	struct stat st;

	return stat(path_of(name), &st) == 0 ? st.st_mode & 0777 : 0;
}

static void
conf_make(struct conf *c)
{
	char line[128], why[CONF_WHY_BYTES];

	conf_init(c);
	snprintf(line, sizeof(line), "state-dir=%s", dir);
	CHECK_INT(conf_override(c, line, why), NW_OK);
	CHECK_INT(conf_override(c, "tls-names=box.example 192.0.2.9", why), NW_OK);
}

/* The host's context, with what ca_enroll() made. */
static struct nw_tls_ctx *
host_context(const char *host, int64_t now_wall_s)
{
	struct nw_tls_opts o = { .ca_path = path_of("ca.crt"),
		.cert_path = path_of("host.crt"),
		.key_path = path_of("host.key") };
	char why[CONF_WHY_BYTES];
	struct nw_tls_ctx *ctx = NULL;
	struct nw_cert c;

	CHECK_INT(ca_enroll(path_of(""),
		      &(struct ca_enrolment){ .host = host,
			  .addresses = "192.0.2.7 fd00::7",
			  .now_wall_s = now_wall_s,
			  .for_s = 86400 },
		      &c, why),
	    NW_OK);
	CHECK_INT(ca_file_write(path_of(""), "host.key", c.key_pem, 0600, why), NW_OK);
	CHECK_INT(ca_file_write(path_of(""), "host.crt", c.cert_pem, 0644, why), NW_OK);
	CHECK_INT(nw_tls_ctx_new(&o, &ctx, why), NW_OK);
	nw_cert_clear(&c);
	return ctx;
}

static void
carry(struct nw_tls *from, struct nw_tls *to)
{
	const uint8_t *bytes;
	size_t n = nw_tls_output(from, &bytes);

	nw_tls_feed(to, bytes, n);
	nw_tls_handshake(to);
	nw_tls_sent(from, n);
}

/* The box's end of a finished handshake, or NULL. */
static struct nw_tls *
meet(struct tlsctx *t, enum tlsctx_port port, struct nw_tls_ctx *client, const char *name)
{
	struct nw_tls *box = tlsctx_accept(t, port), *host = NULL;
	const char *why;
	int i;

	CHECK_INT(nw_tls_new(client, name, &host), NW_OK);
	nw_tls_handshake(host);
	for (i = 0; i < 6; i++) {
		carry(host, box);
		carry(box, host);
	}
	why = nw_tls_is_open(host) ? nw_tls_why(box) : nw_tls_why(host);
	if (!nw_tls_is_open(box) || !nw_tls_is_open(host)) {
		fprintf(stderr, "%s: %s\n", name, why);
		nw_tls_free(box);
		box = NULL;
	}
	nw_tls_free(host);
	return box;
}

static int
on_host(void *arg, const struct ca_host *h)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%s%s ", h->revoked ? "-" : "+", h->name);
	return NW_OK;
}

static void
test_years(void)
{
	static char first[8192], second[8192], ca_first[8192], ca_second[8192];
	int64_t now = nw_wall_ns();
	char why[CONF_WHY_BYTES] = "";
	struct tlsctx *t = NULL;
	struct conf c;

	conf_make(&c);
	CHECK_INT(tlsctx_open(&c, &t, why), NW_OK);
	CHECK_INT(mode_of("ca.key"), 0600);
	CHECK_INT(mode_of("box.key"), 0600);
	file_read("box.crt", first);
	file_read("ca.crt", ca_first);
	CHECK(strlen(first) > 200 && strlen(ca_first) > 200);
	CHECK(!tlsctx_tick(t, now));
	CHECK(!tlsctx_tick(t, now + 300 * DAY_NS));
	file_read("box.crt", second);
	CHECK_STR(second, first);
	CHECK(tlsctx_tick(t, now + 336 * DAY_NS)); /* a month before its end */
	file_read("box.crt", second);
	CHECK(strcmp(first, second) != 0);
	CHECK(!tlsctx_tick(t, now + 336 * DAY_NS));
	tlsctx_close(t);
	/* with every start a new one, of the same CA */
	CHECK_INT(tlsctx_open(&c, &t, why), NW_OK);
	file_read("box.crt", first);
	file_read("ca.crt", ca_second);
	CHECK(strcmp(first, second) != 0);
	CHECK_STR(ca_second, ca_first);
	tlsctx_close(t);
	conf_clear(&c);
}

static void
test_hosts(void)
{
	int64_t now = nw_wall_ns();
	struct nw_tls_ctx *dtn, *again;
	struct nw_tls *box;
	char why[CONF_WHY_BYTES] = "", all[256] = "";
	struct tlsctx *t = NULL;
	struct nw_cert unused;
	struct conf c;

	conf_make(&c);
	CHECK_INT(tlsctx_open(&c, &t, why), NW_OK);
	dtn = host_context("dtn1", now / 1000000000);
	CHECK(tlsctx_tick(t, now));
	CHECK((box = meet(t, TLSCTX_XSP, dtn, "box.example")) != NULL);
	if (box != NULL) {
		CHECK_STR(nw_tls_peer_name(box), "dtn1");
		CHECK(strstr(nw_tls_peer_addresses(box), "192.0.2.7") != NULL &&
		    strstr(nw_tls_peer_addresses(box), "fd00::7") != NULL);
		CHECK(tlsctx_objection(t, box, now) == NULL);
		CHECK_STR(
		    tlsctx_objection(t, box, now + 2 * DAY_NS), "its certificate has expired");
		CHECK_INT(ca_revoke(path_of(""), "DTN1", why), NW_OK);
		CHECK(tlsctx_tick(t, now));
		CHECK_STR(tlsctx_objection(t, box, now), "its certificate was revoked");
		nw_tls_free(box);
	}
	/* a reader needs no certificate */
	CHECK((box = meet(t, TLSCTX_HTTPS, dtn, "192.0.2.9")) != NULL);
	nw_tls_free(box);
	CHECK(meet(t, TLSCTX_XSP, dtn, "127.0.0.1") == NULL);
	again = host_context("dtn1", now / 1000000000);
	CHECK(tlsctx_tick(t, now));
	CHECK((box = meet(t, TLSCTX_XSP, again, "localhost")) != NULL);
	nw_tls_free(box);
	CHECK_INT(ca_revoke(path_of(""), "nobody", why), NW_ENOTFOUND);
	CHECK_INT(ca_enroll(path_of(""), &(struct ca_enrolment){ .host = "../x", .for_s = 1 },
		      &unused, why),
	    NW_EINVAL);
	CHECK_INT(ca_hosts(path_of(""), on_host, all, why), NW_OK);
	CHECK_STR(all, "-dtn1 +dtn1 ");
	nw_tls_ctx_release(dtn);
	nw_tls_ctx_release(again);
	tlsctx_close(t);
	conf_clear(&c);
}

/* Files that come from elsewhere are used, watched, and never made; a broken one changes
 * nothing. */
static void
test_elsewhere(void)
{
	static char mine[8192], after[8192];
	int64_t now = nw_wall_ns();
	struct nw_tls_ctx *host;
	struct nw_tls *box;
	char why[CONF_WHY_BYTES] = "";
	struct tlsctx *t = NULL;
	struct nw_cert unused;
	struct conf c;

	conf_make(&c);
	host = host_context("dtn2", now / 1000000000);
	CHECK_INT(unlink(path_of("ca.key")), 0);
	file_read("box.crt", mine);
	CHECK_INT(tlsctx_open(&c, &t, why), NW_OK);
	file_read("box.crt", after);
	CHECK_STR(after, mine);
	CHECK(!tlsctx_tick(t, now + 360 * DAY_NS));
	CHECK_INT(ca_enroll(path_of(""),
		      &(struct ca_enrolment){
			  .host = "dtn3", .now_wall_s = now / 1000000000, .for_s = 1 },
		      &unused, why),
	    NW_ENOTFOUND);
	CHECK(strstr(why, "made elsewhere") != NULL);
	CHECK_INT(ca_file_write(path_of(""), "box.crt", "nonsense\n", 0644, why), NW_OK);
	CHECK(!tlsctx_tick(t, now));
	CHECK((box = meet(t, TLSCTX_XSP, host, "box.example")) != NULL);
	nw_tls_free(box);
	CHECK_INT(ca_file_write(path_of(""), "box.crt", mine, 0644, why), NW_OK);
	CHECK(tlsctx_tick(t, now));
	tlsctx_close(t);
	CHECK_INT(unlink(path_of("box.key")), 0);
	CHECK(tlsctx_open(&c, &t, why) < 0);
	CHECK(strstr(why, "box.key") != NULL && strstr(why, "BEGIN") == NULL);
	nw_tls_ctx_release(host);
	conf_clear(&c);
}

int
main(void)
{
	char command[64];
	int status;

	if (mkdtemp(dir) == NULL)
		return 1;
	log_open("test", true, false);
	test_years();
	test_hosts();
	test_elsewhere();
	status = check_done("trust");
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) != 0 || status;
}
