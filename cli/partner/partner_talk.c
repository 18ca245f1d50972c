/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/partner/partner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/address.h"
#include "narrows/cert.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"
#include "pki/ask/dial.h"

int
talk_context(
    const struct partner_conf *c, bool server, struct nw_tls_ctx **out, char why[PARTNER_WHY_BYTES])
{
	char *crt = xasprintf("%s/self.crt", c->dir), *key = xasprintf("%s/self.key", c->dir);
	const struct nw_tls_opts opts = {
		.server = server, .any_certificate = true, .cert_path = crt, .key_path = key
	};
	char reason[NW_TLS_WHY_BYTES] = "";
	int rc = nw_tls_ctx_new(&opts, out, reason);

	if (rc < 0)
		snprintf(why, PARTNER_WHY_BYTES, "%s", reason);
	free(crt);
	free(key);
	return rc;
}

char *
talk_line(struct dial *d, char **rest, size_t *rest_len, const char **why)
{
	char *text = xmalloc(PARTNER_LINE_BYTES + 1), *end = NULL;
	size_t n = 0;
	long got;

	*why = "no whole line came";
	while (end == NULL && n < PARTNER_LINE_BYTES) {
		if ((got = dial_recv(d, text + n, PARTNER_LINE_BYTES - n, why)) <= 0)
			break;
		end = memchr(text + n, '\n', (size_t)got);
		n += (size_t)got;
	}
	if (end == NULL) {
		free(text);
		return NULL;
	}
	*end = '\0';
	*rest = end + 1;
	*rest_len = n - (size_t)(end + 1 - text);
	return text;
}

bool
talk_send(struct dial *d, const json_t *head, const char *body, size_t len)
{
	char *line = json_dumps(head, JSON_COMPACT);
	const char *why;
	bool good = line != NULL && dial_send(d, line, strlen(line), &why) == NW_OK &&
	    dial_send(d, "\n", 1, &why) == NW_OK &&
	    (len == 0 || dial_send(d, body, len, &why) == NW_OK);

	free(line);
	return good;
}

static int
answer_read(struct dial *d, json_t **answer, char **body, size_t *body_len, const char **why)
{
	size_t rest_len, have;
	char *rest, *line = talk_line(d, &rest, &rest_len, why);
	json_int_t n;
	long got;

	if (line == NULL)
		return NW_EIO;
	*answer = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	n = json_integer_value(json_object_get(*answer, "bytes"));
	if (!json_is_object(*answer) || n < 0 ||
	    n > PARTNER_WINDOWS_BYTES + 2 * PARTNER_LINE_BYTES) {
		free(line);
		*why = "the answer is malformed, or too large";
		return NW_EPROTO;
	}
	*body_len = (size_t)n;
	*body = xmalloc(*body_len + 1);
	have = rest_len < *body_len ? rest_len : *body_len;
	memcpy(*body, rest, have);
	free(line);
	for (; have < *body_len; have += (size_t)got)
		if ((got = dial_recv(d, *body + have, *body_len - have, why)) <= 0)
			return NW_EIO;
	(*body)[have] = '\0';
	return NW_OK;
}

int
talk_ask(const struct partner_conf *c, const char *address, const uint8_t *pin,
    const json_t *question, json_t **answer, char **body, size_t *body_len,
    char why[PARTNER_WHY_BYTES])
{
	uint8_t its_pin[NW_TLS_PIN_BYTES];
	char host[ADDRESS_HOST_BYTES];
	struct nw_tls_ctx *ctx = NULL;
	const char *fault = NULL;
	struct dial *d = NULL;
	uint16_t port;
	int rc;

	*answer = NULL;
	*body = NULL;
	if (address_parse(address, host, &port) < 0) {
		snprintf(why, PARTNER_WHY_BYTES, "%.200s: write host/port", address);
		return NW_EINVAL;
	}
	if ((rc = talk_context(c, false, &ctx, why)) < 0)
		return rc;
	if ((rc = dial_open(host, port, ctx, &d, &fault)) == NW_OK &&
	    (!dial_peer_pin(d, its_pin) || memcmp(its_pin, pin, sizeof(its_pin)) != 0)) {
		fault = "another machine answers there: its certificate is not the partner's";
		rc = NW_EPROTO;
	}
	if (rc == NW_OK && !talk_send(d, question, NULL, 0)) {
		fault = "the connection broke off";
		rc = NW_EIO;
	}
	if (rc == NW_OK)
		rc = answer_read(d, answer, body, body_len, &fault);
	if (rc < 0) {
		snprintf(why, PARTNER_WHY_BYTES, "%.200s: %.200s", address,
		    fault != NULL && *fault != '\0' ? fault : nw_strerror(rc));
		json_decref(*answer);
		free(*body);
		*answer = NULL;
		*body = NULL;
	}
	dial_close(d);
	nw_tls_ctx_release(ctx);
	return rc;
}

int
partner_join(const struct partner_conf *c, const char *address, const char *token,
    const char *networks, char why[PARTNER_WHY_BYTES])
{
	char secret[TOKEN_SECRET_CHARS + 1], *own = NULL, *body = NULL;
	uint8_t pin[NW_TLS_PIN_BYTES], cert_pin[NW_TLS_PIN_BYTES];
	json_t *question = NULL, *answer = NULL;
	const char *site, *cert;
	size_t body_len;
	int rc;

	if (token_parse(token, pin, secret) < 0) {
		snprintf(why, PARTNER_WHY_BYTES, "not a token");
		return NW_EINVAL;
	}
	if ((rc = partner_self(c, why)) < 0)
		return rc;
	if ((own = partner_file(c, "self.crt", why)) == NULL)
		return NW_EIO;
	question = json_pack("{s:s, s:s, s:s, s:s, s:s}", "ask", "join", "secret", secret, "site",
	    c->site, "address", c->address, "cert", own);
	rc = talk_ask(c, address, pin, question, &answer, &body, &body_len, why);
	if (rc == NW_OK && json_unpack(answer, "{s:s, s:s}", "site", &site, "cert", &cert) != 0) {
		const char *said = json_string_value(json_object_get(answer, "why"));

		snprintf(why, PARTNER_WHY_BYTES, "%.200s: %.200s", address,
		    said != NULL ? said : "the answer is malformed");
		rc = NW_ECONFLICT;
	}
	if (rc == NW_OK &&
	    (nw_cert_pin(cert, cert_pin) < 0 || memcmp(pin, cert_pin, sizeof(pin)))) {
		snprintf(why, PARTNER_WHY_BYTES, "%.200s: sends a certificate that is not its own",
		    address);
		rc = NW_EPROTO;
	}
	if (rc == NW_OK)
		rc = partner_keep(c, site, cert, address, networks, why);
	free(body);
	json_decref(answer);
	json_decref(question);
	free(own);
	return rc;
}
