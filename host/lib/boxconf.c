/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/boxconf.h"

#include "host/lib/conn.h"
#include "narrows/err.h"

static int
box_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct conn_addr a;

	(void)row;
	if (conn_addr_parse(value, &a) == NW_OK)
		return conf_text_set(field, value, why);
	*why = "not an address: write 192.0.2.1/5006 or tls://box.example.net";
	return NW_EINVAL;
}

const struct conf_type conf_box = { box_parse, true };
