/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/gate/bindlist.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "narrows/address.h"
#include "narrows/err.h"

static void
address_note(struct bindlist *b, int fd)
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint16_t port = 0;
	size_t at = strlen(b->addresses);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0) {
		if (ss.ss_family == AF_INET6) {
			inet_ntop(
			    AF_INET6, &((struct sockaddr_in6 *)&ss)->sin6_addr, host, sizeof(host));
			port = ntohs(((struct sockaddr_in6 *)&ss)->sin6_port);
		} else {
			inet_ntop(
			    AF_INET, &((struct sockaddr_in *)&ss)->sin_addr, host, sizeof(host));
			port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
		}
	}
	snprintf(
	    b->addresses + at, sizeof(b->addresses) - at, "%s%s/%u", at > 0 ? " " : "", host, port);
}

static int
open_one(struct bindlist *b, const char *address, char why[CONF_WHY_BYTES])
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = b->type },
			*ai = NULL;
	char host[ADDRESS_HOST_BYTES], service[8];
	uint16_t port;
	int rc, fd;

	if (b->n == b->most || address_parse(address, host, &port) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%s %.100s: not an address, or too many",
		    b->directive, address);
		return NW_EINVAL;
	}
	snprintf(service, sizeof(service), "%u", port);
	if ((rc = getaddrinfo(host, service, &hints, &ai)) != 0) {
		snprintf(
		    why, CONF_WHY_BYTES, "%s %.100s: %s", b->directive, address, gai_strerror(rc));
		return NW_EIO;
	}
	errno = 0;
	if ((fd = b->fn(b->arg, ai)) < 0)
		snprintf(
		    why, CONF_WHY_BYTES, "%s %.100s: %s", b->directive, address, strerror(errno));
	freeaddrinfo(ai);
	if (fd < 0)
		return NW_EIO;
	b->n++;
	address_note(b, fd);
	return NW_OK;
}

int
bindlist_open(struct bindlist *b, const char *addresses, char why[CONF_WHY_BYTES])
{
	const char *p = strcmp(addresses, "none") == 0 ? "" : addresses;
	char one[300];
	size_t len;
	int rc = NW_OK;

	for (; *p != '\0' && rc == NW_OK; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		rc = open_one(b, one, why);
	}
	return rc;
}
