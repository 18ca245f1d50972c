/* SPDX-License-Identifier: BSD-3-Clause */
/* The name under which programs written for the original library look for its calls. */
#ifndef LIBXSP_CLIENT_H
#define LIBXSP_CLIENT_H

#include "narrows/xsp.h"

#endif
