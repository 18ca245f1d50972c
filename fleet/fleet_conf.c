/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <string.h>

#include "fleet/fleet.h"
#include "narrows/err.h"

#define AT(field) offsetof(struct fleet_conf, field)

static int
parse_route(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	return conf_line_add(field, value, why);
}

/* The name becomes a part of file names and of queries. */
static bool
is_site(const char *value)
{
	const char *p;

	for (p = value; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr("-_", *p) == NULL &&
		    (*p != '.' || p == value))
			break;
	return *p == '\0' && p != value && p - value <= 64;
}

static int
parse_site(const struct conf_row *row, const char *value, void *field, const char **why)
{
	if (!is_site(value)) {
		*why = "write at most 64 letters, digits, '-', '_', '.'";
		return NW_EINVAL;
	}
	return row->type->is_text == CONF_LINES ? conf_line_add(field, value, why)
						: conf_text_set(field, value, why);
}

static int
parse_drop(const struct conf_row *row, const char *value, void *field, const char **why)
{
	const struct fleet_table *t = &fleet_tables[FLEET_SESSIONS];
	size_t n, i;
	const char *p;

	(void)row;
	for (p = value; *p != '\0' && strcmp(value, "none") != 0; p += n, p += strspn(p, " \t")) {
		n = strcspn(p, " \t");
		for (i = FLEET_start_ns + 1; i < t->n; i++)
			if (strlen(t->column[i].name) == n && strncmp(t->column[i].name, p, n) == 0)
				break;
		if (i == t->n) {
			*why = "a word is no column that may be left out: narrows fleet preview";
			return NW_EINVAL;
		}
	}
	return conf_text_set(field, value, why);
}

/* A site and the address of its pages. */
static int
parse_box(const struct conf_row *row, const char *value, void *field, const char **why)
{
	size_t n = strcspn(value, " \t");
	char site[80];
	const char *url = value + n + strspn(value + n, " \t");

	(void)row;
	snprintf(site, sizeof(site), "%.*s", (int)(n < 79 ? n : 79), value);
	if (!is_site(site) ||
	    (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0) ||
	    strpbrk(url, " \t\"<>") != NULL) {
		*why = "write a site and the address of its pages, https://host:port";
		return NW_EINVAL;
	}
	return conf_line_add(field, value, why);
}

static const struct conf_type route_type = { parse_route, CONF_LINES },
			      site_type = { parse_site, 1 }, take_type = { parse_site, CONF_LINES },
			      drop_type = { parse_drop, 1 }, box_type = { parse_box, CONF_LINES };

static const struct conf_row rows[] = {
	{ "site", &site_type, AT(site), NULL, NULL, NULL },
	{ "fleet", &conf_text, AT(fleet), NULL, NULL, NULL },
	{ "names", &conf_word, AT(names), "clear", "clear or hashed", NULL },
	{ "key-file", &conf_text, AT(key_file), "none", NULL, NULL },
	{ "drop", &drop_type, AT(drop), "none", NULL, NULL },
	{ "route", &route_type, AT(routes), NULL, NULL, NULL },
	{ "ca-file", &conf_text, AT(ca_file), "/etc/ssl/certs/ca-certificates.crt", NULL, NULL },
	{ "user", &conf_text, AT(user), "none", NULL, NULL },
	{ "password-file", &conf_text, AT(password_file), "none", NULL, NULL },
	{ "proxy", &conf_text, AT(proxy), "none", NULL, NULL },
	{ "cert-file", &conf_text, AT(cert_file), "none", NULL, NULL },
	{ "cert-key-file", &conf_text, AT(cert_key_file), "none", NULL, NULL },
	{ "take", &take_type, AT(takes), NULL, NULL, NULL },
	{ "tls-dir", &conf_text, AT(tls_dir), "/var/lib/narrows/tls", NULL, NULL },
	{ "levels", &conf_bool, AT(levels), "yes", NULL, NULL },
	{ "chunks", &conf_word, AT(chunks), "none", "none or pinned", NULL },
	{ "box", &box_type, AT(boxes), NULL, NULL, NULL },
	{ "replicated", &conf_bool, AT(replicated), "no", NULL, NULL },
	{ "cluster", &conf_text, AT(cluster), "none", NULL, NULL },
	{ "shard", &route_type, AT(shards), NULL, NULL, NULL },
	{ "region", &conf_text, AT(region), "us-east-1", NULL, NULL },
	{ "days", &conf_text, AT(days), "/var/lib/narrows-fleet/days", NULL, NULL },
	{ "duckdb-library", &conf_text, AT(duckdb_library), "libduckdb.so", NULL, NULL },
	{ "rate", &conf_count, AT(rate), "1000", "1", "100000" },
	{ "timeout", &conf_duration, AT(timeout_ns), "60s", "1s", "1h" },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct fleet_conf), false };

int
fleet_conf_read(const char *path, struct fleet_conf *c, char why[CONF_WHY_BYTES])
{
	int rc = conftable_init(&table, c, why);

	if (rc == NW_OK)
		rc = conftable_read(&table, c, path, NULL, why);
	if (rc == NW_OK && (c->site == NULL || c->fleet == NULL)) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s is missing", path,
		    c->site == NULL ? "site" : "fleet");
		rc = NW_EINVAL;
	}
	if (rc < 0)
		conftable_clear(&table, c);
	return rc;
}

bool
fleet_conf_drops(const struct fleet_conf *c, enum fleet_column column)
{
	const char *list = c->drop, *name = fleet_tables[FLEET_SESSIONS].column[column].name;
	size_t n;

	for (; *list != '\0'; list += n, list += strspn(list, " \t")) {
		n = strcspn(list, " \t");
		if (n == strlen(name) && strncmp(list, name, n) == 0)
			return true;
	}
	return false;
}

/* Without a list all routes leave. */
bool
fleet_conf_route(const struct fleet_conf *c, const char *route)
{
	size_t n, len = route != NULL ? strlen(route) : 0;
	const char *lines = c->routes;

	if (lines == NULL)
		return true;
	for (; *lines != '\0'; lines += n + (lines[n] == '\n')) {
		n = strcspn(lines, "\n");
		if (route != NULL && n == len && strncmp(lines, route, n) == 0)
			return true;
	}
	return false;
}

void
fleet_conf_clear(struct fleet_conf *c)
{
	conftable_clear(&table, c);
}
