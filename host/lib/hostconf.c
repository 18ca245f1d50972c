/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/hostconf.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/boxconf.h"
#include "narrows/err.h"

/* --- who hears of connections --- */

static int
listener_parse(const char *word, size_t len, struct net_addr *out)
{
	char text[INET6_ADDRSTRLEN + 8], *slash, *end = NULL;
	unsigned long port = HOSTCONF_FIREFLY_PORT;

	if (len >= sizeof(text))
		return NW_EINVAL;
	memcpy(text, word, len);
	text[len] = '\0';
	if ((slash = strchr(text, '/')) != NULL) {
		*slash = '\0';
		if (slash[1] < '0' || slash[1] > '9')
			return NW_EINVAL;
		port = strtoul(slash + 1, &end, 10);
		if (*end != '\0')
			return NW_EINVAL;
	}
	if (port < 1 || port > UINT16_MAX)
		return NW_EINVAL;
	return net_addr_parse(out, text, (uint16_t)port) ? NW_OK : NW_EINVAL;
}

int
hostconf_listeners(const char *text, struct hostconf_listeners *out)
{
	static const char far[] = "destination";
	size_t len;

	memset(out, 0, sizeof(*out));
	for (text += strspn(text, " \t"); *text != '\0'; text += len, text += strspn(text, " \t")) {
		len = strcspn(text, " \t");
		if (len == strlen(far) && memcmp(text, far, len) == 0)
			out->destination = true;
		else if (out->n == HOSTCONF_LISTENERS ||
		    listener_parse(text, len, &out->at[out->n++]) < 0)
			return NW_EINVAL;
	}
	return NW_OK;
}

int
hostconf_scitag(const char *text, unsigned *experiment, unsigned *activity)
{
	char after;

	if (text[strspn(text, "0123456789.")] != '\0' ||
	    sscanf(text, "%5u.%5u%c", experiment, activity, &after) != 2 ||
	    *experiment > UINT16_MAX || *activity > UINT16_MAX)
		return NW_EINVAL;
	return NW_OK;
}

static int
fireflies_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct hostconf_listeners l;

	(void)row;
	if (hostconf_listeners(value, &l) == NW_OK)
		return conf_text_set(field, value, why);
	*why = "not \"destination\" and up to four numbers of addresses, as 192.0.2.1/10514";
	return NW_EINVAL;
}

static int
scitag_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	unsigned experiment, activity;

	(void)row;
	if (hostconf_scitag(value, &experiment, &activity) == NW_OK)
		return conf_text_set(field, value, why);
	*why = "not EXPERIMENT.ACTIVITY, two numbers as 2.9";
	return NW_EINVAL;
}

static const struct conf_type conf_fireflies = { fireflies_parse, true };
static const struct conf_type conf_scitag = { scitag_parse, true };

/* --- the files --- */

#define AT(field) offsetof(struct hostconf, field)
static const struct conf_row rows[] = {
	{ "box", &conf_box, AT(box), NULL, NULL, NULL },
	{ "host", &conf_text, AT(host), NULL, NULL, NULL },
	{ "tls-dir", &conf_text, AT(tls_dir), NULL, NULL, NULL },
	{ "report", &conf_text, AT(report), NULL, NULL, NULL },
	{ "watch", &conf_bool, AT(watch), NULL, NULL, NULL },
	{ "fireflies", &conf_fireflies, AT(fireflies), NULL, NULL, NULL },
	{ "scitag", &conf_scitag, AT(scitag), NULL, NULL, NULL },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct hostconf), false };

struct files {
	struct hostconf conf;
	char fault[CONF_WHY_BYTES];
};
static _Atomic(struct files *) all; /* NULL before the first call */

/* The user's own file: a process of root with another user's HOME does not follow that user. */
static bool
users_path(char path[PATH_MAX])
{
	const char *xdg = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	struct stat st;
	int n = -1;

	if (xdg != NULL && xdg[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/narrows/host.conf", xdg);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/.config/narrows/host.conf", home);
	return n > 0 && n < PATH_MAX && stat(path, &st) == 0 && st.st_uid == geteuid();
}

static void
file_take(struct files *f, const char *path)
{
	char why[CONF_WHY_BYTES];

	if (conftable_read(&table, &f->conf, path, NULL, why) < 0 && f->fault[0] == '\0')
		memcpy(f->fault, why, sizeof(f->fault));
}

/* Threads that come first at the same time read the files each; the first result stays. */
static const struct files *
files_get(void)
{
	static const struct files none;
	struct files *f = atomic_load(&all), *other = NULL;
	char path[PATH_MAX];

	if (f != NULL)
		return f;
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return &none;
	if (access(HOSTCONF_PATH, F_OK) == 0)
		file_take(f, HOSTCONF_PATH);
	if (users_path(path))
		file_take(f, path);
	if (atomic_compare_exchange_strong(&all, &other, f))
		return f;
	conftable_clear(&table, &f->conf);
	free(f);
	return other;
}

const struct hostconf *
hostconf_get(void)
{
	return &files_get()->conf;
}

const char *
hostconf_fault(void)
{
	const struct files *f = files_get();

	return f->fault[0] != '\0' ? f->fault : NULL;
}

int
hostconf_read(struct hostconf *c, const char *path, char why[CONF_WHY_BYTES])
{
	int rc = conftable_init(&table, c, why);

	return rc < 0 ? rc : conftable_read(&table, c, path, NULL, why);
}

void
hostconf_clear(struct hostconf *c)
{
	conftable_clear(&table, c);
}
