/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/conn_addr.h"

#include <string.h>

#include "narrows/err.h"

#define DEFAULT_PORT     "5006"
#define DEFAULT_TLS_PORT "5007"
#define TLS_SCHEME       "tls://"

static int
copy_part(char *out, size_t cap, const char *from, size_t len)
{
	if (len == 0 || len >= cap)
		return NW_EINVAL;
	memcpy(out, from, len);
	out[len] = '\0';
	return NW_OK;
}

int
conn_addr_parse(const char *text, struct conn_addr *out)
{
	const char *port, *host, *host_end;

	if ((out->tls = strncmp(text, TLS_SCHEME, strlen(TLS_SCHEME)) == 0))
		text += strlen(TLS_SCHEME);
	host = text;
	if (text[0] == '[') {
		host = text + 1;
		if ((host_end = strchr(host, ']')) == NULL)
			return NW_EINVAL;
		port = host_end + 1;
		if (port[0] != '\0' && port[0] != ':' && port[0] != '/')
			return NW_EINVAL;
	} else if ((port = strchr(text, '/')) != NULL) {
		host_end = port;
	} else {
		port = strchr(text, ':');
		/* none, or a bare IPv6 address */
		if (port == NULL || strchr(port + 1, ':') != NULL)
			port = text + strlen(text);
		host_end = port;
	}
	if (strpbrk(host, " \t\r\n") != NULL ||
	    copy_part(out->host, sizeof(out->host), host, (size_t)(host_end - host)) < 0)
		return NW_EINVAL;
	if (port[0] == '\0')
		port = out->tls ? "/" DEFAULT_TLS_PORT : "/" DEFAULT_PORT;
	if (strpbrk(port + 1, "/:") != NULL)
		return NW_EINVAL;
	return copy_part(out->port, sizeof(out->port), port + 1, strlen(port + 1));
}
