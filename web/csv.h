/* SPDX-License-Identifier: BSD-3-Clause */
/* Text as the tables have it: cells by RFC 4180, objects as k=v;k=v. */
#ifndef NARROWS_WEB_CSV_H
#define NARROWS_WEB_CSV_H

#include <stdbool.h>
#include <stdio.h>

enum csv_cell {
	CSV_QUOTED = 1, /* quotes even where none are needed: free text */
	CSV_SAFE = 2,   /* a spreadsheet shall not take it for a formula: ' goes first */
};

/* One cell, without the comma. */
void csv_cell(FILE *f, const char *text, unsigned how);

/* {"sport":1,"dport":2} as sport=1;dport=2. What is not an object stays as it is. free() it; NULL:
 * no memory. */
char *csv_flatten(const char *json);

#endif
