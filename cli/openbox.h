/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows enroll --open`: the box of this machine takes hosts from the network. */
#ifndef OPENBOX_H
#define OPENBOX_H

#include "narrows/conftable.h"

#define OPENBOX_CONF_DIR  "/etc/narrows"
#define OPENBOX_CONF_NAME "narrowsd.conf"
#define OPENBOX_CONF      OPENBOX_CONF_DIR "/" OPENBOX_CONF_NAME

/* Unless the box has ports in TLS for hosts and for their enrolment: writes both into
 * narrowsd.conf, lets the box's chronyd answer hosts, and has systemd restart the box. Prints what
 * is left to do on stderr. NW_EIO, NW_EINVAL: why. */
int openbox(const char *state_dir, char why[CONF_WHY_BYTES]);
/* The https address of the box, as far as narrowsd.run or narrowsd.conf say; free() it. NULL: the
 * box has none. */
char *openbox_url(const char *state_dir);
/* The text of a configuration with a line "name value": in place of a line or comment with the
 * name, else at the end. free() it. */
char *openbox_line_put(const char *text, const char *name, const char *value);

#endif
