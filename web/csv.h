/* SPDX-License-Identifier: BSD-3-Clause */
/* CSV text: cells by RFC 4180, JSON objects as k=v;k=v. */
#ifndef NARROWS_WEB_CSV_H
#define NARROWS_WEB_CSV_H

#include <stdbool.h>
#include <stdio.h>

enum csv_cell {
	CSV_QUOTED = 1, /* quotes even where none are needed: free text */
	CSV_SAFE = 2,   /* a ' goes before text that a spreadsheet would take for a formula */
};

/* Writes one cell, without the comma. */
void csv_cell(FILE *f, const char *text, unsigned how);

/*
 * {"sport":1,"dport":2} as sport=1;dport=2. Text that is not an object stays unchanged. Free the
 * result with free(); NULL: no memory.
 */
char *csv_flatten(const char *json);

#endif
