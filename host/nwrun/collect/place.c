/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/place.h"

#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The last part of a path, without the part: "" for a path without one. */
static const char *
last_part(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL)
		return "";
	*slash = '\0';
	return slash + 1;
}

/* A partition's directory stands in that of its device. "!" in a name of /sys means "/". */
bool
place_of_device(const char *dev, dev_t number, char out[PLACE_BYTES])
{
	char path[PATH_MAX], *real, *p;
	const char *name;
	size_t len;

	snprintf(path, sizeof(path), "%s/%u:%u", dev, major(number), minor(number));
	if ((real = realpath(path, NULL)) == NULL)
		return false;
	snprintf(path, sizeof(path), "%s/partition", real);
	name = last_part(real);
	if (access(path, F_OK) == 0)
		name = last_part(real);
	len = strlen(name);
	if (len > 0 && len < PLACE_BYTES)
		memcpy(out, name, len + 1);
	free(real);
	if (len == 0 || len >= PLACE_BYTES)
		return false;
	for (p = out; *p != '\0'; p++)
		if (*p == '!')
			*p = '/';
	return true;
}

/* Files come in groups from one file system: the answer for the last is kept, as a walk below /sys
 * costs more than all else that is told of a small file. */
bool
place_of_file(uint64_t dev, char out[PLACE_BYTES])
{
	static struct {
		bool known, found;
		uint64_t dev;
		char place[PLACE_BYTES];
	} last;

	if (!last.known || last.dev != dev) {
		last.known = true;
		last.dev = dev;
		last.found = place_of_device(
		    "/sys/dev/block", makedev((unsigned)(dev >> 32), (unsigned)dev), last.place);
	}
	if (last.found)
		memcpy(out, last.place, PLACE_BYTES);
	return last.found;
}

static bool
has_address(const struct sockaddr *s, const struct net_addr *a)
{
	if (s == NULL || s->sa_family != a->family)
		return false;
	if (a->family == AF_INET)
		return memcmp(&((const struct sockaddr_in *)(const void *)s)->sin_addr, a->ip, 4) ==
		    0;
	return a->family == AF_INET6 &&
	    memcmp(&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr, a->ip, 16) == 0;
}

/* Every address of 127/8 is the loopback interface's. */
static bool
is_loopback(const struct ifaddrs *i, const struct net_addr *a)
{
	return a->family == AF_INET && a->ip[0] == 127 && strcmp(i->ifa_name, "lo") == 0;
}

bool
place_of_address(const struct net_addr *a, char out[PLACE_BYTES])
{
	struct ifaddrs *list, *i;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (i = list; i != NULL && !found; i = i->ifa_next)
		if (has_address(i->ifa_addr, a) || is_loopback(i, a)) {
			/* the label of an old-fashioned alias: eth0:1 */
			snprintf(
			    out, PLACE_BYTES, "%.*s", (int)strcspn(i->ifa_name, ":"), i->ifa_name);
			found = true;
		}
	freeifaddrs(list);
	return found;
}
