/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/draw/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/format.h"
#include "narrows/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

static void
put(struct html *h, const char *text, size_t len)
{
	if (!h->failed && len > 0 && evbuffer_add(h->out, text, len) != 0)
		h->failed = true;
}

void
html_constant(struct html *h, const char *text, size_t len)
{
	put(h, text, len);
}

/* Replacement of the character at s, or NULL: the character itself. */
static const char *
replacement(const unsigned char *s, size_t len, char picture[4])
{
	switch (s[0]) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	}
	if (len == 0 || utf8_steers((const char *)s, len))
		return REPLACEMENT;
	if (s[0] >= 0x20 && s[0] != 0x7f)
		return NULL;
	memcpy(picture, "\xe2\x90\x80", 4); /* U+2400 and on: SYMBOL FOR ... */
	picture[2] = (char)(0x80 + (s[0] == 0x7f ? 0x21 : s[0]));
	return picture;
}

void
html_text(struct html *h, const char *text)
{
	const unsigned char *s = (const unsigned char *)text, *from = s;
	const char *instead;
	char picture[4];
	size_t len;

	if (text == NULL)
		return;
	while (*s != '\0') {
		len = utf8_length((const char *)s, strnlen((const char *)s, 4));
		if ((instead = replacement(s, len, picture)) != NULL) {
			put(h, (const char *)from, (size_t)(s - from));
			put(h, instead, strlen(instead));
			from = s + (len > 0 ? len : 1);
		}
		s += len > 0 ? len : 1;
	}
	put(h, (const char *)from, (size_t)(s - from));
}

void
html_attribute(struct html *h, const char *open, size_t open_len, const char *value)
{
	if (value == NULL)
		return;
	put(h, open, open_len);
	html_text(h, value);
	html_raw(h, "\"");
}

/* '<' stands in JSON only within strings, where an escape means the same. */
void
html_json(struct html *h, const char *json)
{
	size_t len;

	for (; *json != '\0'; json += len) {
		len = strcspn(json, "<");
		html_constant(h, json, len);
		if (json[len] == '<') {
			html_raw(h, "\\u003c");
			len++;
		}
	}
}

void
html_data(struct html *h, const char *bytes, size_t len)
{
	static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "-._~,;:=()*!/";
	const char *end = bytes + len, *from;
	char code[4];

	while (bytes < end) {
		for (from = bytes; bytes < end && *bytes != '\0' && strchr(plain, *bytes) != NULL;)
			bytes++;
		put(h, from, (size_t)(bytes - from));
		if (bytes < end) {
			snprintf(code, sizeof(code), "%%%02X", (unsigned char)*bytes++);
			put(h, code, 3);
		}
	}
}

void
html_int(struct html *h, int64_t v)
{
	struct fmt text = fmt_int(v);

	put(h, text.s, strlen(text.s));
}

void
html_coord(struct html *h, double v)
{
	char text[64];
	int len;

	if (!isfinite(v) || fabs(v) > 1e9)
		v = 0;
	len = snprintf(text, sizeof(text), "%.2f", v);
	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	put(h, len == 2 && text[0] == '-' && text[1] == '0' ? "0" : text,
	    len == 2 && text[0] == '-' && text[1] == '0' ? 1 : (size_t)len);
}
