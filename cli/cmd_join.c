/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows join: enrols this host with the token that `narrows enroll --token` printed on the
 * box. This host makes the key, and keeps the key to itself. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "narrows/ca.h"
#include "cli/cmd.h"
#include "pki/ask/httpask.h"
#include "narrows/token.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

static const char DEFAULT_DIR[] = "/etc/narrows/tls";
static const char PEM_BEGIN[] = "-----BEGIN CERTIFICATE-----";

/* Takes the token from the argument, or for "-" from standard input, out of sight of process
 * lists. */
static bool
token_take(const char *text, uint8_t pin[NW_TLS_PIN_BYTES], char secret[TOKEN_SECRET_CHARS + 1])
{
	char line[256];

	if (strcmp(text, "-") == 0) {
		if (fgets(line, sizeof(line), stdin) == NULL)
			return false;
		line[strcspn(line, " \t\r\n")] = '\0';
		text = line;
	}
	return token_parse(text, pin, secret) == NW_OK;
}

/* --- the box's answer --- */

struct reply {
	char text[10240];
	size_t len;
};

static int
on_data(void *arg, const char *data, size_t len)
{
	struct reply *r = arg;

	if (len >= sizeof(r->text) - r->len)
		return NW_ETOOBIG;
	memcpy(r->text + r->len, data, len);
	r->len += len;
	return NW_OK;
}

/* Cuts the reply into name, certificate and CA. The CA must have the token's pin. */
static bool
reply_parse(
    struct reply *r, const uint8_t pin[NW_TLS_PIN_BYTES], char **host, char **cert, char **ca)
{
	uint8_t pin_of_ca[NW_TLS_PIN_BYTES];
	char *end = strchr(r->text, '\n');

	if (end == NULL)
		return false;
	*end = '\0';
	*host = r->text;
	if (strncmp(end + 1, PEM_BEGIN, strlen(PEM_BEGIN)) != 0 ||
	    (*ca = strstr(end + 2, PEM_BEGIN)) == NULL)
		return false;
	*cert = xasprintf("%.*s", (int)(*ca - (end + 1)), end + 1);
	if (nw_cert_name_ok(*host) && nw_cert_pin(*ca, pin_of_ca) == NW_OK &&
	    memcmp(pin, pin_of_ca, sizeof(pin_of_ca)) == 0)
		return true;
	free(*cert);
	return false;
}

static int
box_ask(const char *url, const uint8_t pin[NW_TLS_PIN_BYTES], const char *secret,
    const char *request_pem, struct reply *r)
{
	char *body = xasprintf("%s\n%s", secret, request_pem), why[HTTPASK_WHY_BYTES];
	const struct httpask q = { .base = url, .ca_pin = pin, .path = "/enroll", .body = body };
	int status = 0, rc = httpask(&q, on_data, r, &status, why);

	free(body);
	if (rc < 0) {
		command_failed(url, why);
		return rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	}
	if (status == 200)
		return 0;
	r->text[strcspn(r->text, "\r\n")] = '\0';
	return command_failed(url,
	    status == 403 || status == 400
		? r->text
		: "this box enrols no hosts: set listen-https and tls-dir in its narrowsd.conf");
}

/* --- the host's directory --- */

/* Whether the directory has the CA of another site, which is never replaced by accident. */
static bool
is_other_site(const char *dir, const uint8_t pin[NW_TLS_PIN_BYTES])
{
	char *path = xasprintf("%s/ca.crt", dir), pem[4096];
	FILE *f = fopen(path, "re");
	size_t n = f != NULL ? fread(pem, 1, sizeof(pem) - 1, f) : 0;
	uint8_t pin_here[NW_TLS_PIN_BYTES];

	pem[n] = '\0';
	if (f != NULL)
		fclose(f);
	free(path);
	return n > 0 &&
	    (nw_cert_pin(pem, pin_here) < 0 || memcmp(pin, pin_here, sizeof(pin_here)) != 0);
}

/* Writes the key first: a certificate without its key is useless. */
static int
files_write(const char *dir, const char *host, const char *key, const char *cert, const char *ca)
{
	char *names[2] = { xasprintf("%s.key", host), xasprintf("%s.crt", host) },
	     why[CONF_WHY_BYTES];
	int rc;

	if ((rc = ca_file_write(dir, names[0], key, 0600, why)) == NW_OK &&
	    (rc = ca_file_write(dir, names[1], cert, 0644, why)) == NW_OK)
		rc = ca_file_write(dir, "ca.crt", ca, 0644, why);
	if (rc == NW_OK)
		printf("%s/%s  %s/%s  %s/ca.crt\n", dir, names[0], dir, names[1], dir);
	free(names[0]);
	free(names[1]);
	return rc == NW_OK ? 0 : command_failed(host, why);
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	char secret[TOKEN_SECRET_CHARS + 1], *host, *cert, *ca;
	uint8_t pin[NW_TLS_PIN_BYTES];
	const char *dir = DEFAULT_DIR;
	struct reply r = { .len = 0 };
	struct nw_cert c;
	int ch, status;

	while ((ch = getopt(argc, argv, "o:")) == 'o')
		dir = optarg;
	if (ch != -1 || optind != argc - 2)
		return command_misused(env->command);
	if (!token_take(argv[optind + 1], pin, secret)) {
		command_failed("join", "not a token: \"narrows enroll --token\" prints tokens");
		return COMMAND_MISUSED;
	}
	if (mkdir(dir, 0755) != 0 && errno != EEXIST)
		return command_failed(dir, strerror(errno));
	if (is_other_site(dir, pin))
		return command_failed(
		    dir, "ca.crt belongs to another site: remove the file to move this host");
	if (nw_cert_request("host", &c) < 0)
		return command_failed("join", "no key can be made");
	if ((status = box_ask(argv[optind], pin, secret, c.cert_pem, &r)) == 0) {
		if (!reply_parse(&r, pin, &host, &cert, &ca))
			status = command_failed(
			    argv[optind], "the answer is not a certificate of the token's site");
		else {
			status = files_write(dir, host, c.key_pem, cert, ca);
			free(cert);
		}
	}
	nw_cert_clear(&c);
	return status != 0 || fflush(stdout) != 0;
}

const struct command command_join = {
	.name = "join",
	.summary = "on a host: get key and certificate from a box, with a token",
	.usage = "[-o DIR] URL TOKEN",
	.help = "  -o DIR   where HOST.key, HOST.crt and ca.crt go; /etc/narrows/tls if not given\n"
		"  URL      the box's https address\n"
		"  TOKEN    what \"narrows enroll --token\" printed on the box; \"-\": from "
		"standard input\n",
	.needs = NEEDS_NOTHING,
	.run = run,
};
