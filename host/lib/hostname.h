/* SPDX-License-Identifier: BSD-3-Clause */
/* The name a host goes by in measurements. */
#ifndef HOST_HOSTNAME_H
#define HOST_HOSTNAME_H

enum { HOSTNAME_BYTES = 256 };

/* `given`, else NARROWS_HOST, else what the system says. Points to one of them or to buf. */
const char *hostname_get(const char *given, char buf[HOSTNAME_BYTES]);

#endif
