/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts in announcements of strangers: names for persons, times, addresses. */
#ifndef FIELDTEXT_H
#define FIELDTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies at most len bytes, up to the first NUL, and as many whole characters as fit into `size`.
 * Control characters and bytes that are no UTF-8 become question marks. */
void fieldtext_copy(char *out, size_t size, const char *text, size_t len);
/* A text of a document of JSON, and its place in a structure. */
struct fieldtext_place {
	const char *path;
	char *at;
	size_t size;
};
struct jsonscan_value;
/* Copies a value that is a text to the place with the path, if there is one. Returns whether. */
bool fieldtext_take(const struct fieldtext_place *places, size_t n, const char *path,
    const struct jsonscan_value *v);
/* "2026-11-23T01:18:56.984221+00:00"; fraction and zone may have any usual form. Returns false for
 * any other text. */
bool fieldtext_time(const char *text, int64_t *t_wall_ns);
/* Seconds of an ISO 8601 duration of days and smaller ("PT1M3.2S", "P1DT2H"); NaN for any other
 * text. */
double fieldtext_duration(const char *text);
/* Writes a numeric address in the form of inet_ntop(), IPv4 in IPv6 as IPv4. Returns false for any
 * other text. The size of `out` is NW_ANNOUNCE_ADDRESS_BYTES. */
bool fieldtext_address(const char *text, char *out);
/* Copies the host of a URL, without user, port and brackets; cut to `size`, which is at least 1. */
void fieldtext_url_host(const char *url, char *out, size_t size);

#endif
