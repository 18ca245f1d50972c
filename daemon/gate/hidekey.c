/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/gate/hidekey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <mbedtls/md.h>

#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/log.h"
#include "narrows/ownfile.h"
#include "narrows/xmalloc.h"

enum { HIDDEN_BYTES = 12 }; /* of a name's HMAC: 96 bits tell all names of a site apart */

void
hidekey_hide(const uint8_t key[HIDEKEY_BYTES], const char *name, char out[ANNOUNCE_HIDDEN_BYTES])
{
	static const char prefix[] = "hidden:";
	uint8_t mac[32];

	if (mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key, HIDEKEY_BYTES,
		(const uint8_t *)name, strlen(name), mac) != 0)
		fatalx("announce-hide: SHA-256 fails");
	memcpy(out, prefix, sizeof(prefix));
	nw_hex_put(out + sizeof(prefix) - 1, mac, HIDDEN_BYTES);
}

int
hidekey_read(const char *state_dir, uint8_t key[HIDEKEY_BYTES], char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/announce.key", state_dir);
	char text[2 * HIDEKEY_BYTES + 2] = "";
	int fd = ownfile_open(path, O_RDONLY), rc = NW_OK;
	bool is_new = fd < 0 && errno == ENOENT;

	if (is_new && getrandom(key, HIDEKEY_BYTES, 0) == HIDEKEY_BYTES &&
	    (fd = ownfile_make(path, 0600)) >= 0) {
		nw_hex_put(text, key, HIDEKEY_BYTES);
		text[sizeof(text) - 2] = '\n';
		if (write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1 ||
		    fsync(fd) != 0)
			rc = NW_EIO;
	} else if (fd < 0 || is_new ||
	    read(fd, text, sizeof(text) - 1) < (ssize_t)sizeof(text) - 2 ||
	    !nw_hex_take(text, key, HIDEKEY_BYTES)) {
		rc = NW_EIO;
	}
	if (rc < 0)
		snprintf(why, CONF_WHY_BYTES,
		    "announce-hide: %.150s cannot be made, or has no 64 hexadecimal digits", path);
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}
