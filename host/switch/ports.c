/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/switch/ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

enum { SECRET_MIN = 8 }; /* RFC 3414, 11.2 */

static bool
word_take(const char **at, char *out, size_t cap)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strcspn(*at, " \t\n");
	if (len == 0 || len >= cap)
		return false;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at += len;
	return true;
}

static bool
is_at_end(const char *at)
{
	at += strspn(at, " \t");
	return *at == '\0' || *at == '\n';
}

static int
choice(const char *word, const char *const *names, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	return -1;
}

static int
secrets_parse(const char *at, struct switch_line *out, const char **why)
{
	static const char *const auths[] = { "none", "md5", "sha", "sha256", "sha512" };
	static const char *const privacies[] = { "none", "des", "aes" };
	char word[16];
	int n;

	if (is_at_end(at))
		return NW_OK;
	*why = "write md5, sha, sha256 or sha512 and a secret of 8 to 64 bytes";
	if (!word_take(&at, word, sizeof(word)) || (n = choice(word, auths, 5)) <= 0 ||
	    !word_take(&at, out->auth_secret, sizeof(out->auth_secret)) ||
	    strlen(out->auth_secret) < SECRET_MIN)
		return NW_EINVAL;
	out->auth = (enum switch_auth)n;
	if (is_at_end(at))
		return NW_OK;
	*why = "write des or aes and a secret of 8 to 64 bytes";
	if (!word_take(&at, word, sizeof(word)) || (n = choice(word, privacies, 3)) <= 0 ||
	    !word_take(&at, out->privacy_secret, sizeof(out->privacy_secret)) ||
	    strlen(out->privacy_secret) < SECRET_MIN || !is_at_end(at))
		return NW_EINVAL;
	out->privacy = (enum switch_privacy)n;
	return NW_OK;
}

int
switch_line_parse(const char *text, struct switch_line *out, const char **why)
{
	char version[8];

	memset(out, 0, sizeof(*out));
	*why = "write NAME ADDRESS v2c COMMUNITY, or NAME ADDRESS v3 USER ...";
	if (!word_take(&text, out->name, sizeof(out->name)) ||
	    !word_take(&text, out->address, sizeof(out->address)) ||
	    !word_take(&text, version, sizeof(version)) ||
	    !word_take(&text, out->user, sizeof(out->user)))
		return NW_EINVAL;
	out->v3 = strcmp(version, "v3") == 0;
	if (out->v3)
		return secrets_parse(text, out, why);
	return strcmp(version, "v2c") == 0 && is_at_end(text) ? NW_OK : NW_EINVAL;
}

int
port_line_parse(const char *text, struct port_line *out, const char **why)
{
	char index[16], *end;
	unsigned long n;
	size_t len;

	memset(out, 0, sizeof(*out));
	*why = "write NAME IFINDEX HOST ...; HOST: a host whose traffic passes the port";
	if (!word_take(&text, out->name, sizeof(out->name)) ||
	    !word_take(&text, index, sizeof(index)))
		return NW_EINVAL;
	n = strtoul(index, &end, 10);
	text += strspn(text, " \t");
	len = strcspn(text, "\n");
	if (*end != '\0' || n < 1 || n > INT32_MAX || len == 0 || len >= sizeof(out->serves))
		return NW_EINVAL;
	out->index = (uint32_t)n;
	memcpy(out->serves, text, len);
	out->serves[len] = '\0';
	return NW_OK;
}
