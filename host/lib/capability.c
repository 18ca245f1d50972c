/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/capability.h"

#include <stdio.h>

enum { SYS_ADMIN = 21 };

static const char *
name_of(int bit)
{
	switch (bit) {
	case CAPABILITY_NET_ADMIN: return "CAP_NET_ADMIN";
	case CAPABILITY_PERFMON: return "CAP_PERFMON";
	case CAPABILITY_BPF: return "CAP_BPF";
	}
	return "a capability";
}

const char *
capability_missing(const int *needed, int n)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];
	int i;

	if (f == NULL)
		return NULL;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	fclose(f);
	for (i = 0; i < n && !(caps >> SYS_ADMIN & 1); i++)
		if (!(caps >> needed[i] & 1))
			return name_of(needed[i]);
	return NULL;
}
