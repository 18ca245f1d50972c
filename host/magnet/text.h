/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as text: lines for people, CSV, or five columns as a packet capture has them. */
#ifndef MAGNET_TEXT_H
#define MAGNET_TEXT_H

#include <stdio.h>

#include "narrows/magnet.h"

enum text_form { TEXT_LINES, TEXT_CSV, TEXT_COLUMNS };

void text_head(FILE *f, enum text_form form);
/* name is the point's; t0_mono_ns is what times count from (CSV: the wall clock at mono 0). */
void text_record(
    FILE *f, enum text_form form, const char *name, int64_t t0_ns, const struct magnet_record *r);

#endif
