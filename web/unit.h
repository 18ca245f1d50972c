/* SPDX-License-Identifier: BSD-3-Clause */
/* In which unit the values of a field are. */
#ifndef NARROWS_WEB_UNIT_H
#define NARROWS_WEB_UNIT_H

#include <stddef.h>

/*
 * The unit of a field (UCUM): what the parameters say (`unit_FIELD`, else `unit`); else, for
 * calipers and nwrun, what the field's name says; else "". Written to buf, which is returned.
 */
const char *unit_of_field(
    const char *event_type, const char *params_json, const char *field, char *buf, size_t size);

#endif
