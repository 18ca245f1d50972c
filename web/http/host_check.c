/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/http/host_check.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "narrows/address.h"

enum { NAME_BYTES = 256 };

static bool
is_port(const char *text)
{
	return *text == '\0' ||
	    (*text == ':' && strlen(text) <= 6 && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

/* Cuts off brackets, port, and the dot of the root. Returns false for a name of another form. */
static bool
name_take(char name[NAME_BYTES], const char *host)
{
	bool v6 = *host == '[';
	size_t len;

	host += v6;
	len = strcspn(host, v6 ? "]" : ":");
	if (len == 0 || len >= NAME_BYTES || (v6 && host[len] != ']') || !is_port(host + len + v6))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	if (!v6 && len > 1 && name[len - 1] == '.')
		name[len - 1] = '\0';
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:") ==
	    strlen(name);
}

/* The machine's host name, whole or up to its first dot. */
static bool
is_own(const char *name)
{
	char own[NAME_BYTES] = "";

	if (gethostname(own, sizeof(own) - 1) != 0 || own[0] == '\0')
		return false;
	if (strcasecmp(name, own) == 0)
		return true;
	own[strcspn(own, ".")] = '\0';
	return strcasecmp(name, own) == 0;
}

static bool
is_localhost(const char *name)
{
	static const char last[] = ".localhost";
	size_t len = strlen(name), n = sizeof(last) - 1;

	return strcasecmp(name, last + 1) == 0 ||
	    (len > n && strcasecmp(name + len - n, last) == 0);
}

int
host_check(const char *host, const char *names, bool on_loopback)
{
	char name[NAME_BYTES];
	struct in6_addr v6;
	struct in_addr v4;
	bool good;

	if (!name_take(name, host))
		return 400;
	if (inet_pton(AF_INET, name, &v4) == 1)
		good = !on_loopback || ntohl(v4.s_addr) >> 24 == 127;
	else if (inet_pton(AF_INET6, name, &v6) == 1)
		good = !on_loopback || IN6_IS_ADDR_LOOPBACK(&v6);
	else
		good = is_localhost(name) || is_own(name);
	return good || address_is_listed(name, names) ? 0 : 421;
}
