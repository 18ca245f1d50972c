/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of an imported file: lines, slices, places in messages. */
#include <stdarg.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

/* --- errors --- */

int
import_fail(struct import *im, const char *at, const char *fmt, ...)
{
	size_t line = 1;
	const char *p, *start = im->bytes;
	char text[384];
	va_list ap;

	while (start < at && (p = memchr(start, '\n', (size_t)(at - start))) != NULL) {
		start = p + 1;
		line++;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return stat_fail(
	    im->err, NW_EPROTO, "%s:%zu:%zu: %s", im->name, line, (size_t)(at - start) + 1, text);
}

int
import_fail_json(struct import *im, struct slice text, const json_error_t *e)
{
	size_t at =
	    e->position > 0 && (size_t)e->position <= text.len ? (size_t)e->position - 1 : 0;

	return import_fail(im, text.s + at, "%s", e->text);
}

/* --- text --- */

bool
slice_is(struct slice a, const char *text)
{
	return a.len == strlen(text) && memcmp(a.s, text, a.len) == 0;
}

bool
slice_starts(struct slice a, const char *text)
{
	return a.len >= strlen(text) && memcmp(a.s, text, strlen(text)) == 0;
}

bool
import_line(const char **at, const char *end, struct slice *line)
{
	const char *stop;

	if (*at >= end)
		return false;
	if ((stop = memchr(*at, '\n', (size_t)(end - *at))) == NULL)
		stop = end;
	*line = (struct slice){ *at, (size_t)(stop - *at) };
	*at = stop < end ? stop + 1 : end;
	if (line->len > 0 && line->s[line->len - 1] == '\r')
		line->len--;
	return true;
}

char *
import_text_take(struct import *im, const char *at, struct slice text, const char *what, size_t max)
{
	json_t *valid;
	char *copy;

	if (text.len == 0 || text.len > max)
		import_fail(im, at, text.len == 0 ? "%s is missing" : "%s is too long", what);
	else if (memchr(text.s, '\0', text.len) != NULL ||
	    (valid = json_stringn(text.s, text.len)) == NULL)
		import_fail(im, at, "%s is not UTF-8", what);
	else {
		copy = xstrdup(json_string_value(valid));
		json_decref(valid);
		return copy;
	}
	return NULL;
}

int
import_set(struct import *im, const char *at, json_t *object, struct slice key, struct slice value)
{
	char *k, *v;
	int rc = NW_OK;

	if (value.len == 0)
		return NW_OK;
	if ((k = import_text_take(im, at, key, "a name", 255)) == NULL)
		return NW_EPROTO;
	if ((v = import_text_take(im, at, value, k, IMPORT_TEXT_MAX_BYTES)) == NULL)
		rc = NW_EPROTO;
	else
		json_object_set_new(object, k, json_string(v));
	free(v);
	free(k);
	return rc;
}
