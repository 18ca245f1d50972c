/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/hex.h"
#include "narrows/task.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/tls.h"
#include "narrows/xmalloc.h"

enum { UUID_CHARS = 36 };

bool
task_is_secret(const char *task_id)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	size_t i;

	if (strlen(task_id) != UUID_CHARS)
		return false;
	for (i = 0; i < UUID_CHARS; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? task_id[i] != '-'
							    : strchr(hex, task_id[i]) == NULL)
			return false;
	return true;
}

char *
task_label(const char *task_id)
{
	uint8_t hash[NW_TLS_PIN_BYTES];
	char digits[2 * NW_TLS_PIN_BYTES + 1];

	if (!task_is_secret(task_id) && !task_is_label(task_id))
		return xstrdup(task_id);
	nw_tls_sha256(task_id, strlen(task_id), hash);
	nw_hex_put(digits, hash, sizeof(hash));
	return xasprintf("%s%.*s", TASK_LABEL_PREFIX, TASK_LABEL_DIGITS, digits);
}

void
task_mask(const char *task_id, char *bytes, size_t len)
{
	char *label = NULL, *end = bytes + len, *at;

	if (!task_is_secret(task_id))
		return;
	for (at = bytes; (at = memmem(at, (size_t)(end - at), task_id, UUID_CHARS)) != NULL;) {
		if (label == NULL)
			label = task_label(task_id);
		memcpy(at, label, UUID_CHARS);
		at += UUID_CHARS;
	}
	free(label);
}

char *
task_of_report(const char *text, size_t len)
{
	uint8_t hash[NW_TLS_PIN_BYTES];
	char digits[2 * NW_TLS_PIN_BYTES + 1];

	nw_tls_sha256(text, len, hash);
	nw_hex_put(digits, hash, sizeof(hash));
	return xasprintf("%s%.32s", TASK_REPORT, digits);
}
