/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of settings as sentences show them. A value may end with a mark of its options, as in
 * "tbf #e3cc8837": a host reports such options by their hash alone. */
#ifndef SETTING_TEXT_H
#define SETTING_TEXT_H

/* The blank before the mark; NULL without a mark. */
const char *setting_mark(const char *value);
/* A value, cut to the part that differs from another value (NULL: none); of a value with a mark the
 * mark alone tells nothing, unless the other value differs by the mark alone. free() the text. */
char *setting_text(const char *value, const char *other);

#endif
