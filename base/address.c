/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "narrows/err.h"

int
address_parse(const char *text, char host[ADDRESS_HOST_BYTES], uint16_t *port)
{
	const char *sep = strchr(text, '/'), *end;
	unsigned long number;
	char *rest;
	size_t len;

	if (sep == NULL)
		sep = strrchr(text, ':');
	if (sep == NULL || !isdigit((unsigned char)sep[1]) || strpbrk(text, " \t") != NULL)
		return NW_EINVAL;
	number = strtoul(sep + 1, &rest, 10);
	if (*rest != '\0' || number > UINT16_MAX)
		return NW_EINVAL;
	end = sep;
	if (*text == '[' && end > text && end[-1] == ']') {
		text++;
		end--;
	}
	len = (size_t)(end - text);
	if (end <= text || len >= ADDRESS_HOST_BYTES)
		return NW_EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = (uint16_t)number;
	return NW_OK;
}

bool
address_is_loopback(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcmp(host, "localhost") == 0;
}

bool
address_is_listed(const char *host, const char *list)
{
	size_t len;

	for (; *list != '\0'; list += len, list += strspn(list, " \t")) {
		len = strcspn(list, " \t");
		if ((len == strlen(host) && strncasecmp(list, host, len) == 0) ||
		    (len == 3 && strncmp(list, "any", 3) == 0))
			return true;
	}
	return false;
}
