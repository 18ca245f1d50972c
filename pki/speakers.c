/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/speakers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "narrows/ca.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

static const char file_name[] = "speakers";

/* --- a line --- */

static bool
thing_ok(const char *thing)
{
	static const char *const kinds[] = { "switch:", "host:", "storage:" };
	size_t i, n;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		n = strlen(kinds[i]);
		if (strncmp(thing, kinds[i], n) == 0)
			return strcmp(thing + n, "*") == 0 || nw_cert_name_ok(thing + n);
	}
	return false;
}

static bool
has_kind(const char *owner)
{
	return strncmp(owner, "user:", 5) == 0 || strncmp(owner, "addr:", 5) == 0 ||
	    strncmp(owner, "host:", 5) == 0;
}

int
speakers_line(const char *text, char out[SPEAKERS_LINE_BYTES], const char **why)
{
	char owner[NW_TLS_NAME_BYTES + 8], thing[NW_TLS_NAME_BYTES + 8], rest[2];

	*why = "not a grant: write dtn1 switch:core, host:NAME or storage:NAME";
	if (sscanf(text, "%262s %262s %1s", owner, thing, rest) != 2 || !nw_cert_name_ok(owner) ||
	    !thing_ok(thing))
		return NW_EINVAL;
	snprintf(out, SPEAKERS_LINE_BYTES, "%s%s %s", has_kind(owner) ? "" : "host:", owner, thing);
	return NW_OK;
}

/* --- the list --- */

struct list {
	char *text;
	size_t len, n;
};

static void
line_append(struct list *l, const char *line)
{
	size_t n = strlen(line);

	l->text = xreallocarray(l->text, l->len + n + 2, 1);
	memcpy(l->text + l->len, line, n);
	memcpy(l->text + l->len + n, "\n", 2);
	l->len += n + 1;
	l->n++;
}

/* Adds the good lines of a file, except lines of the owner `but` (NULL: of none). */
static int
file_add(struct list *l, const char *dir, const char *but)
{
	char *path = xasprintf("%s/%s", dir, file_name), text[SPEAKERS_LINE_BYTES],
	     line[SPEAKERS_LINE_BYTES];
	FILE *in = fopen(path, "re");
	size_t n = but != NULL ? strlen(but) : 0;
	const char *why;
	int rc;

	free(path);
	if (in == NULL)
		return errno == ENOENT ? NW_OK : NW_EIO;
	while (l->n < SPEAKERS_MAX && fgets(text, sizeof(text), in) != NULL)
		if (speakers_line(text, line, &why) == NW_OK &&
		    (but == NULL || strncasecmp(line, but, n) != 0 || line[n] != ' '))
			line_append(l, line);
	rc = ferror(in) ? NW_EIO : NW_OK;
	fclose(in);
	return rc;
}

char *
speakers_read(const char *tls_dir, const char *conf_lines)
{
	char text[SPEAKERS_LINE_BYTES], line[SPEAKERS_LINE_BYTES];
	struct list l = { 0 };
	const char *why;
	size_t n;

	for (; conf_lines != NULL && *conf_lines != '\0' && l.n < SPEAKERS_MAX;
	     conf_lines += n + (conf_lines[n] == '\n')) {
		n = strcspn(conf_lines, "\n");
		snprintf(text, sizeof(text), "%.*s", (int)n, conf_lines);
		if (speakers_line(text, line, &why) == NW_OK)
			line_append(&l, line);
	}
	(void)file_add(&l, tls_dir, NULL); /* a file that cannot be read grants nothing */
	return l.text != NULL ? l.text : xstrdup("");
}

static bool
is_box(const char *owner)
{
	char own[32];

	snprintf(own, sizeof(own), "user:%lu", (unsigned long)geteuid());
	return strcmp(owner, own) == 0 || strcmp(owner, "user:0") == 0;
}

bool
speakers_may(const char *list, const char *owner, const char *kind, const char *name)
{
	size_t n, k = strlen(kind);
	const char *thing;

	if (owner == NULL || owner[0] == '\0' || is_box(owner))
		return true;
	for (n = strlen(owner); list != NULL && *list != '\0'; list = strchr(list, '\n') + 1) {
		thing = list + n + 1;
		if (strncasecmp(list, owner, n) != 0 || list[n] != ' ' ||
		    strncmp(thing, kind, k) != 0 || thing[k] != ':')
			continue;
		thing += k + 1;
		if (strncmp(thing, "*\n", 2) == 0 ||
		    (strncasecmp(thing, name, strlen(name)) == 0 && thing[strlen(name)] == '\n'))
			return true;
	}
	return false;
}

/* --- changes --- */

struct change {
	const char *add; /* a line, or NULL */
	const char *but; /* an owner without lines from now on, or NULL */
};

static int
change_work(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES])
{
	const struct change *c = arg;
	struct list l = { 0 };
	char *line;
	int rc;

	(void)ca;
	if ((rc = file_add(&l, dir, c->but)) < 0)
		snprintf(why, CONF_WHY_BYTES, "%.150s/%s: cannot be read", dir, file_name);
	else if (c->add != NULL && l.n >= SPEAKERS_MAX) {
		snprintf(why, CONF_WHY_BYTES, "%.150s/%s: has %d lines already", dir, file_name,
		    SPEAKERS_MAX);
		rc = NW_EFULL;
	}
	line = c->add != NULL ? xasprintf("%s\n", c->add) : NULL;
	if (rc == NW_OK && c->add != NULL && (l.text == NULL || strstr(l.text, line) == NULL))
		line_append(&l, c->add);
	if (rc == NW_OK)
		rc = ca_file_write(dir, file_name, l.text != NULL ? l.text : "", 0644, why);
	free(line);
	free(l.text);
	return rc;
}

int
speakers_grant(const char *tls_dir, const char *host, const char *thing, char why[CONF_WHY_BYTES])
{
	char line[SPEAKERS_LINE_BYTES], *text = xasprintf("host:%s %s", host, thing);
	struct change c = { .add = line };
	const char *reason;
	int rc = speakers_line(text, line, &reason);

	free(text);
	if (rc == NW_OK)
		return ca_use(tls_dir, change_work, &c, why);
	snprintf(why, CONF_WHY_BYTES, "%.100s: %s", thing, reason);
	return rc;
}

int
speakers_revoke(const char *tls_dir, const char *host, char why[CONF_WHY_BYTES])
{
	char *owner = xasprintf("host:%s", host), *path = xasprintf("%s/%s", tls_dir, file_name);
	struct change c = { .but = owner };
	int rc = access(path, F_OK) == 0 ? ca_use(tls_dir, change_work, &c, why) : NW_OK;

	free(path);
	free(owner);
	return rc;
}
