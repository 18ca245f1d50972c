/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/partner/partner.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/cert.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

static const char format_name[] = "narrows-windows/1";

/* --- windows --- */

char *
windows_seal(json_t *head, const char *docs, size_t docs_len, const char *key_pem, size_t *len,
    char why[PARTNER_WHY_BYTES])
{
	char signature[NW_CERT_SIGNATURE_BYTES], *line, *bytes;
	size_t head_len, signed_len;

	json_object_set_new(head, "format", json_string(format_name));
	json_object_set_new(head, "bytes", json_integer((json_int_t)docs_len));
	line = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(head);
	head_len = line != NULL ? strlen(line) + 1 : 0;
	if (line == NULL || head_len > PARTNER_LINE_BYTES || docs_len > PARTNER_WINDOWS_BYTES) {
		snprintf(why, PARTNER_WHY_BYTES, "the windows are too large");
		free(line);
		return NULL;
	}
	signed_len = head_len + docs_len;
	bytes = xmalloc(signed_len + sizeof(signature) + 1);
	memcpy(bytes, line, head_len - 1);
	bytes[head_len - 1] = '\n';
	memcpy(bytes + head_len, docs, docs_len);
	free(line);
	if (nw_cert_sign(key_pem, bytes, signed_len, signature) < 0) {
		snprintf(why, PARTNER_WHY_BYTES, "the windows cannot be signed");
		free(bytes);
		return NULL;
	}
	*len = signed_len + (size_t)sprintf(bytes + signed_len, "%s\n", signature);
	return bytes;
}

static int
windows_fail(struct windows *w, const char *fault, char why[PARTNER_WHY_BYTES])
{
	windows_close(w);
	snprintf(why, PARTNER_WHY_BYTES, "%s", fault);
	return NW_EPROTO;
}

int
windows_open(const char *bytes, size_t len, const char *cert_pem, struct windows *out,
    char why[PARTNER_WHY_BYTES])
{
	size_t line_max = len < PARTNER_LINE_BYTES ? len : PARTNER_LINE_BYTES, signed_len;
	const char *end = memchr(bytes, '\n', line_max), *name;
	char signature[NW_CERT_SIGNATURE_BYTES];
	json_int_t n;

	*out = (struct windows){ 0 };
	if (end == NULL)
		return windows_fail(out, "no windows", why);
	out->head = json_loadb(bytes, (size_t)(end - bytes), JSON_REJECT_DUPLICATES, NULL);
	name = json_string_value(json_object_get(out->head, "format"));
	n = json_integer_value(json_object_get(out->head, "bytes"));
	if (name == NULL || strcmp(name, format_name) != 0 || n < 0 || n > PARTNER_WINDOWS_BYTES)
		return windows_fail(out, "no windows", why);
	out->docs = end + 1;
	out->docs_len = (size_t)n;
	signed_len = (size_t)(end + 1 - bytes) + out->docs_len;
	if (signed_len >= len || len - signed_len > sizeof(signature) || bytes[len - 1] != '\n')
		return windows_fail(out, "the windows are cut off", why);
	memcpy(signature, bytes + signed_len, len - signed_len - 1);
	signature[len - signed_len - 1] = '\0';
	if (strlen(signature) != len - signed_len - 1 ||
	    (cert_pem != NULL && !nw_cert_signed(cert_pem, bytes, signed_len, signature)))
		return windows_fail(
		    out, "the windows were changed: the signature is of other bytes", why);
	return NW_OK;
}

int
windows_file(const struct partner_conf *c, const char *path, char **bytes, struct windows *out,
    char why[PARTNER_WHY_BYTES])
{
	const size_t max = PARTNER_WINDOWS_BYTES + 2 * PARTNER_LINE_BYTES;
	struct partners p = { 0 };
	FILE *f = fopen(path, "re");
	size_t len, i;
	char *own;
	int rc;

	*bytes = NULL;
	*out = (struct windows){ 0 };
	if (f == NULL) {
		snprintf(why, PARTNER_WHY_BYTES, "%.200s: cannot be read", path);
		return NW_EIO;
	}
	*bytes = xmalloc(max);
	len = fread(*bytes, 1, max, f);
	fclose(f);
	if ((rc = partners_read(c, &p, why)) == NW_OK) {
		own = partner_file(c, "self.crt", why);
		rc = own != NULL ? windows_open(*bytes, len, own, out, why) : NW_EIO;
		for (i = 0; rc == NW_EPROTO && i < p.n; i++)
			rc = windows_open(*bytes, len, p.list[i].cert_pem, out, why);
		free(own);
	}
	partners_clear(&p);
	return rc;
}

void
windows_close(struct windows *w)
{
	json_decref(w->head);
	*w = (struct windows){ 0 };
}

/* --- connections --- */

json_t *
ends_write(const struct partner_end *ends, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(list,
		    json_pack(
			"[s, i, s, i]", ends[i].src, ends[i].sport, ends[i].dst, ends[i].dport));
	return list;
}

/* The usual form of a numeric address, an IPv4 address in IPv6 as IPv4. */
static bool
address_take(const json_t *text, char out[64])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const char *value = json_string_value(text);
	uint8_t ip[16];

	if (value == NULL)
		return false;
	if (inet_pton(AF_INET, value, ip) == 1)
		return inet_ntop(AF_INET, ip, out, 64) != NULL;
	if (inet_pton(AF_INET6, value, ip) != 1)
		return false;
	return memcmp(ip, mapped, sizeof(mapped)) == 0
	    ? inet_ntop(AF_INET, ip + 12, out, 64) != NULL
	    : inet_ntop(AF_INET6, ip, out, 64) != NULL;
}

static bool
port_take(const json_t *number, uint16_t *out)
{
	json_int_t n = json_integer_value(number);

	*out = (uint16_t)n;
	return n > 0 && n <= UINT16_MAX;
}

int
ends_read(const json_t *list, struct partner_end *ends, size_t *n)
{
	const json_t *e;
	size_t i;

	*n = 0;
	if (json_array_size(list) == 0 || json_array_size(list) > PARTNER_ENDS_MAX)
		return NW_EPROTO;
	json_array_foreach(list, i, e) if (json_array_size(e) != 4 ||
	    !address_take(json_array_get(e, 0), ends[i].src) ||
	    !port_take(json_array_get(e, 1), &ends[i].sport) ||
	    !address_take(json_array_get(e, 2), ends[i].dst) ||
	    !port_take(json_array_get(e, 3), &ends[i].dport)) return NW_EPROTO;
	*n = i;
	return NW_OK;
}

bool
end_in(const struct partner_end *ends, size_t n, const struct partner_end *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(ends[i].src, e->src) == 0 && strcmp(ends[i].dst, e->dst) == 0 &&
		    ends[i].sport == e->sport && ends[i].dport == e->dport)
			return true;
	return false;
}

struct partner_end
end_turned(const struct partner_end *e)
{
	struct partner_end turned = { .sport = e->dport, .dport = e->sport };

	memcpy(turned.src, e->dst, sizeof(turned.src));
	memcpy(turned.dst, e->src, sizeof(turned.dst));
	return turned;
}
