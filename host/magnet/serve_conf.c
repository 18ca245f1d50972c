/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/serve_conf.h"

#include <stddef.h>
#include <stdlib.h>

#include "host/lib/boxconf.h"

#define AT(field) offsetof(struct serve_conf, field)
static const struct conf_row rows[] = {
	{ "box", &conf_box, AT(box), NULL, NULL, NULL },
	{ "tls-dir", &conf_text, AT(tls_dir), NULL, NULL, NULL },
	{ "host", &conf_text, AT(host), NULL, NULL, NULL },
	{ "spool-dir", &conf_text, AT(spool_dir), NULL, NULL, NULL },
	{ "interval", &conf_duration, AT(interval_ns), "1 s", "100 ms", "60 m" },
	{ "budget", &conf_fraction, AT(budget), "0.02", "0.0001", "1" },
	{ "host-waits", &conf_bool, AT(host_waits), "no", NULL, NULL },
	{ "queue-size", &conf_size, AT(queue_bytes), "8 MiB", "64 KiB", "1024 MiB" },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct serve_conf), false };

void
serve_conf_init(struct serve_conf *c)
{
	char why[CONF_WHY_BYTES];

	if (conftable_init(&table, c, why) < 0)
		abort(); /* the table contradicts itself */
}

void
serve_conf_clear(struct serve_conf *c)
{
	conftable_clear(&table, c);
}

int
serve_conf_read(struct serve_conf *c, const char *path, char why[CONF_WHY_BYTES])
{
	return conftable_read(&table, c, path, NULL, why);
}

int
serve_conf_set(struct serve_conf *c, const char *name, const char *value, char why[CONF_WHY_BYTES])
{
	return conftable_set(&table, c, name, value, why);
}

int
serve_conf_override(struct serve_conf *c, const char *assignment, char why[CONF_WHY_BYTES])
{
	return conftable_override(&table, c, assignment, NULL, why);
}
