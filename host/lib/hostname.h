/* SPDX-License-Identifier: BSD-3-Clause */
/* The name a host goes by in measurements. */
#ifndef HOST_HOSTNAME_H
#define HOST_HOSTNAME_H

enum { HOSTNAME_BYTES = 256 };

/* `given`, else NARROWS_HOST, else the name in host.conf, else the system's name. Points to the
 * chosen text or to buf. */
const char *hostname_get(const char *given, char buf[HOSTNAME_BYTES]);

#endif
