/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/hostname.h"

#include <stdlib.h>
#include <unistd.h>

#include "host/lib/hostconf.h"

const char *
hostname_get(const char *given, char buf[HOSTNAME_BYTES])
{
	if (given == NULL || given[0] == '\0')
		given = secure_getenv("NARROWS_HOST");
	if ((given = hostconf_or(given, hostconf_get()->host)) != NULL)
		return given;
	if (gethostname(buf, HOSTNAME_BYTES) < 0)
		return "localhost";
	buf[HOSTNAME_BYTES - 1] = '\0';
	return buf;
}
