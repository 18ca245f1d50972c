/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/partner/partner.h"

#include <ctype.h>
#include <string.h>

#include "narrows/err.h"

#define AT(field) offsetof(struct partner_conf, field)

/* The name becomes a part of the names of files and of hosts. */
bool
partner_is_site(const char *text)
{
	const char *p;

	for (p = text; isalnum((unsigned char)*p) || (p > text && *p != '\0' && strchr("-.", *p));
	     p++)
		continue;
	return *p == '\0' && p != text && p - text <= 64;
}

static int
parse_site(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	*why = "write at most 64 letters, digits, '-', '.'";
	return partner_is_site(value) ? conf_text_set(field, value, why) : NW_EINVAL;
}

static const struct conf_type site_type = { parse_site, 1 };

static const struct conf_row rows[] = {
	{ "site", &site_type, AT(site), NULL, NULL, NULL },
	{ "address", &conf_text, AT(address), NULL, NULL, NULL },
	{ "listen", &conf_text, AT(listen), "::/5010", NULL, NULL },
	{ "directory", &conf_text, AT(dir), "/var/lib/narrows-partner", NULL, NULL },
	{ "interval", &conf_duration, AT(interval_ns), "10s", "100ms", "1h" },
	{ "patience", &conf_duration, AT(patience_ns), "1d", "1s", "30d" },
	{ "rate", &conf_count, AT(rate), "60", "1", "100000" },
	{ "keep", &conf_size, AT(keep_bytes), "1GiB", "1MiB", NULL },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct partner_conf), false };

int
partner_conf_read(const char *path, struct partner_conf *c, char why[CONF_WHY_BYTES])
{
	int rc = conftable_init(&table, c, why);

	if (rc == NW_OK)
		rc = conftable_read(&table, c, path, NULL, why);
	if (rc == NW_OK && (c->site == NULL || c->address == NULL)) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: %s is missing", path,
		    c->site == NULL ? "site" : "address");
		rc = NW_EINVAL;
	}
	if (rc < 0)
		conftable_clear(&table, c);
	return rc;
}

void
partner_conf_clear(struct partner_conf *c)
{
	conftable_clear(&table, c);
}
