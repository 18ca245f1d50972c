/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/flow_conf.h"

#include <stddef.h>
#include <stdlib.h>

#include "host/lib/boxconf.h"
#include "host/notice/flow_notice.h"
#include "host/outside/flow_rules.h"
#include "narrows/err.h"

static int
rule_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	(void)row;
	if ((*why = flow_rule_check(value)) != NULL)
		return NW_EINVAL;
	return conf_line_add(field, value, why);
}

static const struct conf_type rule = { rule_parse, CONF_LINES };

#define AT(field) offsetof(struct flow_conf, field)
static const struct conf_row rows[] = {
	{ "watch", &conf_bool, AT(watch), "no", NULL, NULL },
	{ "box", &conf_box, AT(box), NULL, NULL, NULL },
	{ "host", &conf_text, AT(host), NULL, NULL, NULL },
	{ "tls-dir", &conf_text, AT(tls_dir), NULL, NULL, NULL },
	{ "allow", &rule, AT(allow), NULL, NULL, NULL },
	{ "deny", &rule, AT(deny), NULL, NULL, NULL },
	{ "notices", &conf_text, AT(notices), FLOW_NOTICE_SOCKET, NULL, NULL },
	{ "loopback", &conf_bool, AT(loopback), "no", NULL, NULL },
	{ "bytes", &conf_size, AT(bytes), "64 MiB", "64 KiB", "1024 GiB" },
	{ "after", &conf_duration, AT(after_ns), "5 s", "100 ms", "60 m" },
	{ "rate", &conf_size, AT(rate_bytes_per_s), "1 MiB", "1 KiB", "100 GiB" },
	{ "quiet", &conf_duration, AT(quiet_ns), "5 s", "1 s", "60 m" },
	{ "look", &conf_duration, AT(look_ns), "100 ms", "20 ms", "10 s" },
	{ "budget", &conf_fraction, AT(budget), "0.005", "0.0001", "1" },
	{ "max-sessions", &conf_count, AT(sessions_max), "16", "1", "64" },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct flow_conf), false };

void
flow_conf_init(struct flow_conf *c)
{
	char why[CONF_WHY_BYTES];

	if (conftable_init(&table, c, why) < 0)
		abort(); /* the table contradicts itself */
}

void
flow_conf_clear(struct flow_conf *c)
{
	conftable_clear(&table, c);
}

int
flow_conf_read(struct flow_conf *c, const char *path, char why[CONF_WHY_BYTES])
{
	return conftable_read(&table, c, path, NULL, why);
}

int
flow_conf_override(struct flow_conf *c, const char *assignment, char why[CONF_WHY_BYTES])
{
	return conftable_override(&table, c, assignment, NULL, why);
}
