/* SPDX-License-Identifier: BSD-3-Clause */
/* Readiness for a service manager (the datagram protocol of sd_notify): nothing happens without
 * NOTIFY_SOCKET. */
#ifndef NOTIFY_H
#define NOTIFY_H

void notify_ready(void);

#endif
