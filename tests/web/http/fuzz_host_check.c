/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever stands in the header Host: form is a matter of the text alone, and who listens to all
 * refuses no name. */
#include "web/http/host_check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *host = malloc(len + 1); /* of its size, so that a sanitizer sees where it ends */
	int loopback, wide, any;

	if (host == NULL)
		return 0;
	memcpy(host, data, len);
	host[len] = '\0';
	loopback = host_check(host, "", true);
	wide = host_check(host, "", false);
	any = host_check(host, "any", true);
	MUST(loopback == 0 || loopback == 400 || loopback == 421);
	MUST((loopback == 400) == (wide == 400) && (loopback == 400) == (any == 400));
	MUST(loopback != 0 || wide == 0);
	MUST(any != 421);
	free(host);
	return 0;
}
