/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/tcplisten.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "narrows/address.h"
#include "narrows/err.h"

enum { BACKLOG = 128 };

void
tcplisten_name(const struct sockaddr_storage *ss, socklen_t len, char name[TCPLISTEN_NAME_BYTES])
{
	char host[64], port[8];

	if (getnameinfo((const struct sockaddr *)ss, len, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(name, TCPLISTEN_NAME_BYTES, "?");
	else
		snprintf(name, TCPLISTEN_NAME_BYTES, "%s/%s", host, port);
}

int
tcplisten_open(const char *address, int *fd, char name[TCPLISTEN_NAME_BYTES], const char **fault)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	char host[ADDRESS_HOST_BYTES], service[8];
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	struct addrinfo *ai = NULL;
	uint16_t port;
	int rc, s, one = 1;

	*fault = "write address/port";
	if (address_parse(address, host, &port) < 0)
		return NW_EINVAL;
	snprintf(service, sizeof(service), "%u", port);
	if ((rc = getaddrinfo(host, service, &hints, &ai)) != 0) {
		*fault = gai_strerror(rc);
		return NW_EIO;
	}
	s = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    bind(s, ai->ai_addr, ai->ai_addrlen) != 0 || listen(s, BACKLOG) != 0 ||
	    getsockname(s, (struct sockaddr *)&ss, &len) != 0) {
		*fault = strerror(errno);
		freeaddrinfo(ai);
		if (s >= 0)
			close(s);
		return NW_EIO;
	}
	freeaddrinfo(ai);
	tcplisten_name(&ss, len, name);
	*fd = s;
	return NW_OK;
}

pid_t
tcplisten_child(int listening)
{
	const struct rlimit none = { 0, 0 };
	pid_t pid = fork();

	if (pid == 0) {
		close(listening);
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		setrlimit(RLIMIT_CORE, &none);
	}
	return pid;
}
