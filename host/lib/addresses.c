/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool
address_text(const struct sockaddr *sa, char text[INET6_ADDRSTRLEN])
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (sa != NULL && sa->sa_family == AF_INET) {
		memcpy(&v4, sa, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 != 127 &&
		    inet_ntop(AF_INET, &v4.sin_addr, text, INET6_ADDRSTRLEN) != NULL;
	}
	if (sa != NULL && sa->sa_family == AF_INET6) {
		memcpy(&v6, sa, sizeof(v6));
		return !IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) &&
		    !IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) &&
		    inet_ntop(AF_INET6, &v6.sin6_addr, text, INET6_ADDRSTRLEN) != NULL;
	}
	return false;
}

void
addresses_list(char *out, size_t cap)
{
	struct ifaddrs *list = NULL, *a;
	char text[INET6_ADDRSTRLEN];
	size_t len = 0;

	out[0] = '\0';
	if (getifaddrs(&list) != 0)
		return;
	for (a = list; a != NULL; a = a->ifa_next)
		if (address_text(a->ifa_addr, text) && len + 1 + strlen(text) < cap)
			len += (size_t)snprintf(
			    out + len, cap - len, "%s%s", len > 0 ? " " : "", text);
	freeifaddrs(list);
}

bool
addresses_interface(const char *address, char out[IF_NAMESIZE])
{
	struct ifaddrs *list = NULL, *a;
	char text[INET6_ADDRSTRLEN];
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (a = list; a != NULL && !found; a = a->ifa_next)
		if (address_text(a->ifa_addr, text) && strcmp(text, address) == 0)
			found = snprintf(out, IF_NAMESIZE, "%s", a->ifa_name) < IF_NAMESIZE;
	freeifaddrs(list);
	return found;
}
