/* SPDX-License-Identifier: BSD-3-Clause */
/* The directive by which programs on hosts name their box. */
#ifndef BOXCONF_H
#define BOXCONF_H

#include "narrows/conftable.h"

extern const struct conf_type conf_box; /* char *, an address that conn_addr_parse() takes */

#endif
