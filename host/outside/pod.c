/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/pod.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/procread.h"

enum { CGROUPS_BYTES = 8192, UID_GROUPS = 5 };

/* The id at p, in which the driver of systemd has "_" for "-". A static pod's id has no groups.
 * Returns false for any other text. */
static bool
uid_take(const char *p, char out[POD_UID_BYTES])
{
	size_t n, groups = 1;

	for (n = 0; n + 1 < POD_UID_BYTES; n++) {
		if (!isxdigit((unsigned char)p[n]) && p[n] != '-' && p[n] != '_')
			break;
		out[n] = p[n] == '_' ? '-' : p[n];
		groups += out[n] == '-';
	}
	out[n] = '\0';
	return (n == 36 && groups == UID_GROUPS) || (n == 32 && groups == 1);
}

bool
pod_uid(const char *cgroups, char out[POD_UID_BYTES])
{
	const char *p = cgroups;

	while ((p = strstr(p, "pod")) != NULL) {
		p += 3;
		if (p - cgroups > 3 && (p[-4] == '/' || p[-4] == '-') && uid_take(p, out))
			return true;
	}
	return false;
}

/* Copies a name of Kubernetes: letters, digits, "-" and ".". */
static bool
name_copy(const char *text, size_t len, char *out, size_t size)
{
	size_t i;

	if (len == 0 || len >= size)
		return false;
	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '.')
			return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

/* Finds namespace and name in a directory's name. */
static bool
entry_take(const char *entry, const char *uid, char out[POD_LABEL_BYTES])
{
	const char *first = strchr(entry, '_'), *last = strrchr(entry, '_');
	char space[64], name[64];

	if (first == NULL || last == first || strcmp(last + 1, uid) != 0 ||
	    !name_copy(entry, (size_t)(first - entry), space, sizeof(space)) ||
	    !name_copy(first + 1, (size_t)(last - first - 1), name, sizeof(name)))
		return false;
	(void)snprintf(out, POD_LABEL_BYTES, "pod %s/%s", space, name);
	return true;
}

bool
pod_label(uint32_t pid, const char *logs, char out[POD_LABEL_BYTES])
{
	char text[CGROUPS_BYTES], uid[POD_UID_BYTES];
	const struct dirent *entry;
	bool found = false;
	DIR *d;

	(void)procread((int)pid, "cgroup", text, sizeof(text));
	if (!pod_uid(text, uid))
		return false;
	if ((d = opendir(logs)) != NULL) {
		while (!found && (entry = readdir(d)) != NULL)
			found = entry_take(entry->d_name, uid, out);
		closedir(d);
	}
	if (!found)
		(void)snprintf(out, POD_LABEL_BYTES, "pod %s", uid);
	return true;
}
