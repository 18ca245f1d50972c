/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of hosts. A metadata of event type NW_TYPE_CONFIG is no description of a
 * series: the parameters are all settings of the host whose names lie in a range, and the store
 * keeps what has changed. Net thread.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

struct nw_meta;
struct xsess;

/* bounds; settings beyond them are refused and counted */
enum { SETTING_NAME_MAX = 120, SETTING_VALUE_MAX = 256, SETTINGS_PER_DOCUMENT = 256 };

bool settings_are(const struct nw_meta *m);
/* Takes the document's settings. NW_OK also when settings were refused; NW_EPROTO, NW_ENOMEM. */
int settings_take(struct xsess *x, const struct nw_meta *m);

#endif
