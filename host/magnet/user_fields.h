/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The fields of a user's point: shared by the templates in the kernel and the owner, which fills
 * the templates in. */
#ifndef MAGNET_USER_FIELDS_H
#define MAGNET_USER_FIELDS_H

#include "narrows/magnet.h"

enum {
	USER_STEPS_MAX = 4, /* pointers to follow, the argument's own included */
	USER_ARGS_MAX = 6,
	USER_FIELDS = 2 + MAGNET_FIELDS_MAX, /* the identity, the value, and the payload */
	USER_NO_ARG = 255
};

struct user_field {
	uint8_t arg;        /* argument of the place, or USER_NO_ARG: the field is 0 */
	uint8_t steps;      /* loads after the argument; 0: the argument itself */
	uint8_t size_bytes; /* of the last load: 1, 2, 4 or 8 */
	uint8_t is_signed;
	uint32_t offset[USER_STEPS_MAX]; /* of each load */
};

struct user_template {
	struct user_field field[USER_FIELDS];
};

#endif
