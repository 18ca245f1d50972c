/* SPDX-License-Identifier: BSD-3-Clause */
/* One HTTP exchange by libcurl, in the process narrows-send. */
#ifndef SEND_TRANSFER_H
#define SEND_TRANSFER_H

#include "send/exchange.h"

/* As exchange(), in this process. */
int transfer(const struct exchange *x, exchange_fn *fn, void *arg, int *status,
    char why[EXCHANGE_WHY_BYTES]);

#endif
