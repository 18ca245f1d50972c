/* SPDX-License-Identifier: BSD-3-Clause */
/* The site's key, by which names in announcements are hidden (announce-hide): a file that the
 * administrator may copy to the site's other boxes. */
#ifndef HIDEKEY_H
#define HIDEKEY_H

#include <stdint.h>

#include "daemon/gate/hearsay.h"

enum { HIDEKEY_BYTES = 32 };

/* Reads announce.key of the state directory, or makes one. NW_EIO with why. */
int hidekey_read(const char *state_dir, uint8_t key[HIDEKEY_BYTES], char why[CONF_WHY_BYTES]);
/* HMAC-SHA-256 of a name: a plain hash of a name can be found by trying names. */
void
hidekey_hide(const uint8_t key[HIDEKEY_BYTES], const char *name, char out[ANNOUNCE_HIDDEN_BYTES]);

#endif
