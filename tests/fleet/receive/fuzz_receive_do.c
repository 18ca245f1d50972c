/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the head of a request: what is taken has a known address and a bounded body. */
#include <stdlib.h>
#include <string.h>

#include "fleet/receive/receive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct receive_head head;
	char *copy = malloc(len + 1);
	int status;

	if (copy == NULL)
		return 0;
	memcpy(copy, data, len);
	status = receive_head(copy, len, &head);
	if (status == 0 && (head.what > RECEIVE_ASK || head.body_bytes > RECEIVE_BODY_MAX_BYTES))
		abort();
	if (status != 0 && (status < 400 || status > 413))
		abort();
	free(copy);
	return 0;
}
