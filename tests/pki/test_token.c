/* SPDX-License-Identifier: BSD-3-Clause */
/* A token is good once, for a while, for one host; what is kept of it does not give it away. */
#include "narrows/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mbedtls/x509_crt.h>

#include "tests/check.h"
#include "narrows/ca.h"
#include "narrows/err.h"

#define HOUR_S INT64_C(3600)
#define DAY_S  INT64_C(86400)

static char dir[] = "/tmp/test_token.XXXXXX";
static const int64_t now_s = INT64_C(1795000000);

static const char *
secret_of(const char *token)
{
	static char secret[TOKEN_SECRET_CHARS + 1];
	uint8_t pin[NW_TLS_PIN_BYTES];

	CHECK_INT(token_parse(token, pin, secret), NW_OK);
	return secret;
}

static void
file_read(const char *name, char *out, size_t cap)
{
	char path[128];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	n = f != NULL ? fread(out, 1, cap - 1, f) : 0;
	out[n] = '\0';
	if (f != NULL)
		fclose(f);
}

static int
redeem(
    const char *secret, const char *request, int64_t at_s, struct token_grant *g, const char *says)
{
	char why[CONF_WHY_BYTES] = "";
	int rc = token_redeem(dir, secret, request, at_s, g, why);

	if (says != NULL && strstr(why, says) == NULL)
		fprintf(stderr, "%s\n", why);
	CHECK(says == NULL || strstr(why, says) != NULL);
	return rc;
}

static int
on_host(void *arg, const struct ca_host *h)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%s ", h->name);
	return NW_OK;
}

static int
make(const char *host, const char *addresses, int64_t at_s, int64_t until_s, int64_t for_s,
    char out[TOKEN_TEXT_BYTES])
{
	const struct ca_enrolment e = {
		.host = host, .addresses = addresses, .now_wall_s = at_s, .for_s = for_s
	};
	char why[CONF_WHY_BYTES];

	return token_make(dir, &e, until_s, out, why);
}

/* Counts the addresses among the names of a certificate. */
static int
addresses_of(const char *pem)
{
	const mbedtls_x509_sequence *s;
	mbedtls_x509_crt crt;
	int n = 0;

	mbedtls_x509_crt_init(&crt);
	CHECK_INT(mbedtls_x509_crt_parse(&crt, (const unsigned char *)pem, strlen(pem) + 1), 0);
	for (s = &crt.subject_alt_names; s != NULL && s->buf.p != NULL; s = s->next)
		n += (s->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK) == 7; /* iPAddress, RFC 5280 */
	mbedtls_x509_crt_free(&crt);
	return n;
}

/* After a month a token that was used is forgotten. */
static void
test_forgotten(const char *secret, const char *cert_pem)
{
	static char kept[4096];
	char path[128];
	struct token_grant g;

	CHECK_INT(make("dtn3", NULL, now_s + 40 * DAY_S, now_s + 41 * DAY_S, DAY_S, path), NW_OK);
	file_read("tokens", kept, sizeof(kept));
	CHECK(strstr(kept, "dtn1") == NULL && strstr(kept, "dtn2") == NULL &&
	    strstr(kept, " dtn3\n") != NULL);
	CHECK_INT(redeem(secret, cert_pem, now_s, &g, "no such token"), NW_ECONFLICT);
}

static void
test_life(void)
{
	static char kept[4096], ca_pem[4096], hosts[256];
	char one[TOKEN_TEXT_BYTES], two[TOKEN_TEXT_BYTES], why[CONF_WHY_BYTES];
	uint8_t pin[NW_TLS_PIN_BYTES], pin_of_ca[NW_TLS_PIN_BYTES];
	char secret[TOKEN_SECRET_CHARS + 1], path[128];
	struct token_grant g;
	struct nw_cert asked;
	struct stat st;

	CHECK_INT(ca_ensure(dir, why), NW_OK);
	CHECK_INT(nw_cert_request("host", &asked), NW_OK);
	CHECK_INT(make("dtn1", "10.0.9.1 fd00::1", now_s, now_s + HOUR_S, 30 * DAY_S, one), NW_OK);
	CHECK_INT(make("dtn2", NULL, now_s, now_s + HOUR_S, 30 * DAY_S, two), NW_OK);
	CHECK_INT(make("../x", NULL, now_s, now_s + HOUR_S, DAY_S, path), NW_EINVAL);
	CHECK(strlen(one) == TOKEN_TEXT_BYTES - 1 && strcmp(one, two) != 0);

	/* the token's text, and the hash that the file keeps */
	file_read("ca.crt", ca_pem, sizeof(ca_pem));
	CHECK_INT(nw_cert_pin(ca_pem, pin_of_ca), NW_OK);
	CHECK_INT(token_parse(one, pin, secret), NW_OK);
	CHECK(memcmp(pin, pin_of_ca, sizeof(pin)) == 0);
	file_read("tokens", kept, sizeof(kept));
	CHECK(strstr(kept, secret) == NULL && strstr(kept, "open ") == kept &&
	    strstr(kept, " dtn1 10.0.9.1 fd00::1\n") != NULL && strstr(kept, " dtn2\n") != NULL);
	snprintf(path, sizeof(path), "%s/tokens", dir);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);

	/* no guess, no part of one, and not what is kept either */
	CHECK_INT(
	    redeem("00000000000000000000000000000000", asked.cert_pem, now_s, &g, "no such token"),
	    NW_ECONFLICT);
	CHECK_INT(redeem("", asked.cert_pem, now_s, &g, "no such token"), NW_ECONFLICT);
	CHECK_INT(redeem("open", asked.cert_pem, now_s, &g, "no such token"), NW_ECONFLICT);
	kept[5 + 64] = '\0';
	CHECK_INT(redeem(kept + 5, asked.cert_pem, now_s, &g, "no such token"), NW_ECONFLICT);
	secret[31] = '\0';
	CHECK_INT(redeem(secret, asked.cert_pem, now_s, &g, "no such token"), NW_ECONFLICT);

	/* a malformed request does not use the token up; a request does, once */
	CHECK_INT(redeem(secret_of(one), "nonsense", now_s, &g, "no request"), NW_EINVAL);
	CHECK_INT(redeem(secret_of(one), ca_pem, now_s, &g, "no request"), NW_EINVAL);
	CHECK_INT(redeem(secret_of(one), asked.cert_pem, now_s + HOUR_S, &g, NULL), NW_OK);
	CHECK_STR(g.host, "dtn1");
	CHECK_STR(g.ca_pem, ca_pem);
	CHECK(strstr(g.cert.cert_pem, "BEGIN CERTIFICATE") != NULL && g.cert.key_pem[0] == '\0');
	CHECK_INT(addresses_of(g.cert.cert_pem), 2);
	CHECK_INT(redeem(secret_of(one), asked.cert_pem, now_s, &g, "used already"), NW_ECONFLICT);
	CHECK_INT(redeem(secret_of(one), asked.cert_pem, now_s + 2 * HOUR_S, &g, "used already"),
	    NW_ECONFLICT);
	CHECK_INT(redeem(secret_of(two), asked.cert_pem, now_s + HOUR_S + 1, &g, "has expired"),
	    NW_ECONFLICT);
	CHECK_INT(ca_hosts(dir, on_host, hosts, why), NW_OK);
	CHECK_STR(hosts, "dtn1 ");

	test_forgotten(secret_of(one), asked.cert_pem);
}

static void
test_parse(void)
{
	static const char *const wrong[] = { "", ".", "abc", "-",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef:"
		"0123456789abcdef0123456789abcdef",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef."
		"0123456789abcdef0123456789abcdeg",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef."
		"0123456789abcdef0123456789abcde",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef."
		"0123456789abcdef0123456789abcdef0",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF."
		"0123456789abcdef0123456789abcdef" };
	char secret[TOKEN_SECRET_CHARS + 1];
	uint8_t pin[NW_TLS_PIN_BYTES];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_INT(token_parse(wrong[i], pin, secret), NW_EINVAL);
	CHECK_INT(token_parse("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef."
			      "0123456789abcdef0123456789abcdef",
		      pin, secret),
	    NW_OK);
	CHECK(pin[0] == 0x01 && pin[31] == 0xef);
	CHECK_STR(secret, "0123456789abcdef0123456789abcdef");
}

int
main(void)
{
	char command[64];
	int status;

	if (mkdtemp(dir) == NULL)
		return 1;
	test_life();
	test_parse();
	status = check_done("token");
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) != 0 || status;
}
