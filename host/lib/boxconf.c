/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/boxconf.h"

#include "host/lib/conn_addr.h"
#include "narrows/err.h"

static int
box_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct conn_addr a;

	(void)row;
	if (conn_addr_parse(value, &a) == NW_OK)
		return conf_text_set(field, value, why);
	*why = CONN_ADDR_WHY;
	return NW_EINVAL;
}

const struct conf_type conf_box = { box_parse, true };
