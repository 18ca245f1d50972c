/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/flow_rules.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 128, KIND_BYTES = 16, PORT_MAX = 65535 };

struct rule {
	char kind[KIND_BYTES], value[WORD_BYTES];
};

struct network {
	struct net_addr addr;
	unsigned bits;
};

static bool
rule_parse(const char *line, size_t len, struct rule *out)
{
	char text[KIND_BYTES + WORD_BYTES + 8], rest[2];

	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	return sscanf(text, "%15s %127s %1s", out->kind, out->value, rest) == 2;
}

static bool
network_parse(const char *text, struct network *out)
{
	char address[WORD_BYTES], *slash, *end;
	unsigned long bits;

	memset(out, 0, sizeof(*out));
	snprintf(address, sizeof(address), "%s", text);
	if ((slash = strchr(address, '/')) != NULL)
		*slash = '\0';
	if (inet_pton(AF_INET, address, out->addr.ip) == 1)
		out->addr.family = AF_INET;
	else if (inet_pton(AF_INET6, address, out->addr.ip) == 1)
		out->addr.family = AF_INET6;
	else
		return false;
	out->bits = out->addr.family == AF_INET ? 32 : 128;
	if (slash == NULL)
		return true;
	bits = strtoul(slash + 1, &end, 10);
	if (end == slash + 1 || *end != '\0' || bits > out->bits)
		return false;
	out->bits = (unsigned)bits;
	return true;
}

static bool
port_parse(const char *text, unsigned *out)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	*out = (unsigned)port;
	return end != text && *end == '\0' && port > 0 && port <= PORT_MAX;
}

const char *
flow_rule_check(const char *line)
{
	struct network network;
	struct rule r;
	unsigned port;

	if (!rule_parse(line, strlen(line), &r))
		return "write program, user, port or network, and one value";
	if (strcmp(r.kind, "program") == 0 || strcmp(r.kind, "user") == 0)
		return NULL;
	if (strcmp(r.kind, "port") == 0)
		return port_parse(r.value, &port) ? NULL : "not a port";
	if (strcmp(r.kind, "network") == 0)
		return network_parse(r.value, &network) ? NULL
							: "not a network: write 192.0.2.0/24";
	return "write program, user, port or network, and one value";
}

static bool
in_network(const struct network *n, const struct net_addr *a)
{
	unsigned i, bit;

	if (n->addr.family != a->family)
		return false;
	for (i = 0; i < n->bits; i++) {
		bit = 0x80u >> (i & 7);
		if (((n->addr.ip[i / 8] ^ a->ip[i / 8]) & bit) != 0)
			return false;
	}
	return true;
}

static bool
is_user(const char *name, uint32_t uid)
{
	const struct passwd *p = getpwnam(name);
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	return p != NULL ? p->pw_uid == uid : strcmp(name, number) == 0;
}

/* The program of an interpreter also fits by either part of "borg (python3)". */
static bool
is_program(const char *pattern, const char *program)
{
	const char *open = strstr(program, " (");
	char part[WORD_BYTES];

	if (fnmatch(pattern, program, 0) == 0)
		return true;
	if (open == NULL)
		return false;
	snprintf(part, sizeof(part), "%.*s", (int)(open - program), program);
	if (fnmatch(pattern, part, 0) == 0)
		return true;
	snprintf(part, sizeof(part), "%s", open + 2);
	part[strcspn(part, ")")] = '\0';
	return fnmatch(pattern, part, 0) == 0;
}

static bool
rule_fits(const struct rule *r, const struct flow_facts *facts)
{
	struct network network;
	unsigned port;

	if (strcmp(r->kind, "program") == 0)
		return is_program(r->value, facts->program);
	if (strcmp(r->kind, "user") == 0)
		return is_user(r->value, facts->uid);
	if (strcmp(r->kind, "port") == 0)
		return port_parse(r->value, &port) &&
		    (facts->local.port == port || facts->peer.port == port);
	return network_parse(r->value, &network) && in_network(&network, &facts->peer);
}

static bool
any_fits(const char *lines, const struct flow_facts *facts)
{
	struct rule r;
	size_t len;

	for (; lines != NULL && *lines != '\0'; lines += len + (lines[len] == '\n')) {
		len = strcspn(lines, "\n");
		if (rule_parse(lines, len, &r) && rule_fits(&r, facts))
			return true;
	}
	return false;
}

bool
flow_rules_admit(const char *allow, const char *deny, const struct flow_facts *facts)
{
	return !any_fits(deny, facts) && (allow == NULL || any_fits(allow, facts));
}
