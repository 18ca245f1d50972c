/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/announce.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

enum { MAPPED_BITS = 96, NETWORK_BYTES = 64 };

static bool
ip_parse(const char *text, uint8_t ip[16], bool *is_v4)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	*is_v4 = inet_pton(AF_INET, text, ip + 12) == 1;
	if (*is_v4)
		memcpy(ip, mapped, sizeof(mapped));
	return *is_v4 || inet_pton(AF_INET6, text, ip) == 1;
}

/* Whether the first bits of two addresses are equal. */
static bool
begins(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static int
network_parse(const char *text, struct nw_network *out, const char **why)
{
	char address[NETWORK_BYTES], *slash, *rest;
	static const uint8_t zero[16];
	uint8_t behind[16];
	unsigned long bits;
	bool is_v4;
	unsigned i;

	strcpy(address, text); /* nw_networks_parse() checked the length */
	slash = strchr(address, '/');
	if (slash != NULL)
		*slash++ = '\0';
	*why = "not a network: write 192.0.2.0/24 or 2001:db8::/32";
	if (!ip_parse(address, out->ip, &is_v4))
		return NW_EINVAL;
	bits = is_v4 ? 32 : 128;
	if (slash != NULL) {
		if (*slash < '0' || *slash > '9')
			return NW_EINVAL;
		if (strtoul(slash, &rest, 10) > bits || *rest != '\0')
			return NW_EINVAL;
		bits = strtoul(slash, NULL, 10);
	}
	out->bits = (unsigned)bits + (is_v4 ? MAPPED_BITS : 0);
	memcpy(behind, out->ip, sizeof(behind));
	for (i = 0; i < out->bits; i++)
		behind[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	*why = "a network with bits behind its prefix: write 192.0.2.0/24";
	return memcmp(behind, zero, sizeof(zero)) == 0 ? NW_OK : NW_EINVAL;
}

int
nw_networks_parse(const char *list, struct nw_networks *out, const char **why)
{
	const char *p = list + strspn(list, " \t");
	char one[NETWORK_BYTES];
	size_t len;
	int rc;

	out->n = 0;
	for (; *p != '\0'; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		*why = "not a network, or more than 64";
		if (len >= sizeof(one) || out->n == NW_NETWORKS_MAX)
			return NW_EINVAL;
		memcpy(one, p, len);
		one[len] = '\0';
		if ((rc = network_parse(one, &out->network[out->n++], why)) < 0)
			return rc;
	}
	return NW_OK;
}

bool
nw_networks_have(const struct nw_networks *n, const uint8_t ip[16])
{
	size_t i;

	for (i = 0; i < n->n; i++)
		if (begins(n->network[i].ip, ip, n->network[i].bits))
			return true;
	return false;
}

bool
nw_networks_have_text(const struct nw_networks *n, const char *address)
{
	uint8_t ip[16];
	bool is_v4;

	return ip_parse(address, ip, &is_v4) && nw_networks_have(n, ip);
}
