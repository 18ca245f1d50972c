/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/openbox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/ca.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

static const char chrony_dir[] = "/etc/chrony/conf.d", chrony_name[] = "narrows.conf";

struct ports {
	char *xsp_tls, *https;
};
static const struct conf_row rows[] = {
	{ "listen-xsp-tls", &conf_text, offsetof(struct ports, xsp_tls), "none", NULL, NULL },
	{ "listen-https", &conf_text, offsetof(struct ports, https), "none", NULL, NULL },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]), sizeof(struct ports),
	true };

/* --- what is there --- */

/* A whole small file; free() it. NULL: there is none, or it cannot be read. */
static char *
file_text(const char *path)
{
	char *text = NULL;
	FILE *f = fopen(path, "re");
	size_t cap = 0;
	ssize_t n;

	if (f == NULL)
		return NULL;
	n = getdelim(&text, &cap, '\0', f);
	fclose(f);
	if (n >= 0)
		return text;
	free(text);
	return xstrdup("");
}

/* A value of narrowsd.run; free() it. "" without a box, or without such a port. */
static char *
run_value(const char *state_dir, const char *name)
{
	char *path = xasprintf("%s/narrowsd.run", state_dir), *text = file_text(path), *at = text,
	     *value = NULL;
	size_t len = strlen(name);

	for (; at != NULL && *at != '\0' && value == NULL; at += *at == '\n') {
		if (strncmp(at, name, len) == 0 && at[len] == ' ')
			value = xasprintf("%.*s", (int)strcspn(at + len + 1, " \n"), at + len + 1);
		at += strcspn(at, "\n");
	}
	free(text);
	free(path);
	return value != NULL ? value : xstrdup("");
}

static bool
box_listens(const char *state_dir)
{
	char *tls = run_value(state_dir, "xsp-tls"), *https = run_value(state_dir, "https");
	bool both = tls[0] != '\0' && https[0] != '\0';

	free(tls);
	free(https);
	return both;
}

char *
openbox_url(const char *state_dir)
{
	char *https = run_value(state_dir, "https"), host[256] = "", why[CONF_WHY_BYTES],
	     *url = NULL;
	const char *port;
	struct ports p = { NULL, NULL };

	if (https[0] == '\0' && conftable_init(&table, &p, why) == NW_OK &&
	    conftable_read(&table, &p, OPENBOX_CONF, NULL, why) == NW_OK &&
	    strcmp(p.https, "none") != 0) {
		free(https);
		https = xasprintf("%.*s", (int)strcspn(p.https, " "), p.https);
	}
	conftable_clear(&table, &p);
	if ((port = strrchr(https, '/')) == NULL)
		port = strrchr(https, ':');
	if (port != NULL && gethostname(host, sizeof(host) - 1) == 0)
		url = xasprintf("https://%s:%s", host, port + 1);
	free(https);
	return url;
}

/* --- changes --- */

/* The line "name ...", or with a comment "#name ..."; NULL: there is none. */
static const char *
line_find(const char *text, const char *name, bool comment)
{
	size_t len = strlen(name);
	const char *at, *word;

	for (at = text; *at != '\0'; at += *at == '\n') {
		word = at + (comment && *at == '#');
		if (strncmp(word, name, len) == 0 && word[len] != '\0' &&
		    strchr(" \t=", word[len]) != NULL)
			return at;
		at += strcspn(at, "\n");
	}
	return NULL;
}

char *
openbox_line_put(const char *text, const char *name, const char *value)
{
	const char *at = line_find(text, name, false);
	size_t n = strlen(text);

	if (at == NULL)
		at = line_find(text, name, true);
	if (at != NULL)
		return xasprintf(
		    "%.*s%s %s%s", (int)(at - text), text, name, value, at + strcspn(at, "\n"));
	return xasprintf(
	    "%s%s%s %s\n", text, n > 0 && text[n - 1] != '\n' ? "\n" : "", name, value);
}

static int
conf_write(char why[CONF_WHY_BYTES])
{
	static const char *const defaults[] = { "0.0.0.0/5007", "0.0.0.0/8443" };
	struct ports p = { NULL, NULL };
	char *text, *next;
	const char *now;
	int rc = NW_OK;
	size_t i;

	if (mkdir(OPENBOX_CONF_DIR, 0755) != 0 && errno != EEXIST) {
		snprintf(why, CONF_WHY_BYTES, OPENBOX_CONF_DIR ": %s", strerror(errno));
		return NW_EIO;
	}
	text = file_text(OPENBOX_CONF);
	if ((rc = conftable_init(&table, &p, why)) == NW_OK && text != NULL)
		rc = conftable_read(&table, &p, OPENBOX_CONF, NULL, why);
	for (i = 0; i < 2 && rc == NW_OK; i++) {
		now = i == 0 ? p.xsp_tls : p.https;
		if (strcmp(now, "none") != 0)
			continue;
		next = openbox_line_put(text != NULL ? text : "", rows[i].name, defaults[i]);
		free(text);
		text = next;
	}
	if (rc == NW_OK && text != NULL)
		rc = ca_file_write(OPENBOX_CONF_DIR, OPENBOX_CONF_NAME, text, 0644, why);
	free(text);
	conftable_clear(&table, &p);
	return rc;
}

/* Hosts may ask the box's chronyd for the time: the package's file forbids them at first. A site
 * without this file has arranged its clocks by itself. */
static void
chrony_open(void)
{
	char *path = xasprintf("%s/%s", chrony_dir, chrony_name), *text = file_text(path), *at,
	     why[CONF_WHY_BYTES];

	if (text != NULL && (at = strstr(text, "\n#allow ")) != NULL) {
		char *rest = at + 1 + strcspn(at + 1, "\n"),
		     *opened = xasprintf("%.*s\nallow%s", (int)(at - text), text, rest);

		if (ca_file_write(chrony_dir, chrony_name, opened, 0644, why) < 0 ||
		    system("chronyc allow >/dev/null 2>&1") != 0)
			fputs("narrows: restart chronyd: hosts may ask it for the time then\n",
			    stderr);
		free(opened);
	}
	free(text);
	free(path);
}

int
openbox(const char *state_dir, char why[CONF_WHY_BYTES])
{
	char *pid;
	int rc;

	if (mkdir(state_dir, 0750) != 0 && errno != EEXIST) { /* no box has run yet */
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s", state_dir, strerror(errno));
		return NW_EIO;
	}
	chrony_open();
	if (box_listens(state_dir))
		return NW_OK;
	if ((rc = conf_write(why)) < 0)
		return rc;
	if (access("/run/systemd/system", F_OK) == 0 &&
	    system("systemctl restart narrowsd.service >/dev/null 2>&1") == 0 &&
	    box_listens(state_dir))
		return NW_OK;
	pid = run_value(state_dir, "pid");
	fprintf(stderr, "narrows: %s narrowsd: it listens for hosts then (" OPENBOX_CONF ")\n",
	    pid[0] != '\0' ? "restart" : "start");
	free(pid);
	return NW_OK;
}
