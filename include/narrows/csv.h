/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV by RFC 4180, read from memory and written to a stream. No allocation.
 *
 *	struct csv_cursor c = csv_begin(bytes, n);
 *	while (c.at < c.end)
 *		do {
 *			if (!csv_next(&c, &field))
 *				fail("%s:%zu:%zu: %s", file, c.line, csv_column(&c), c.why);
 *		} while (!field.last);
 */
#ifndef NARROWS_CSV_H
#define NARROWS_CSV_H

#include <stdbool.h>
#include <stdio.h>

/* --- reading --- */

struct csv_cursor {
	const char *at, *end;
	const char *line_start;
	size_t line;     /* 1-based */
	char separator;  /* between fields; a comma at the start */
	bool lenient;    /* quotes, NUL and lone carriage returns inside of a field are text */
	const char *why; /* static text of the failure at `at` */
};

struct csv_field {
	const char *s; /* text between the quotes, if any; doubled quotes are still doubled */
	size_t len;
	bool doubled;      /* the text has doubled quotes */
	bool last;         /* the field ends its row */
	const char *start; /* first byte, for messages */
	size_t line, byte; /* place of that byte, 1-based */
};

/* A byte order mark is passed over. */
struct csv_cursor csv_begin(const char *bytes, size_t n);
/* Reads a field and the separator or line end behind the field. Returns false if the bytes are
 * no CSV, with the fault in why and its place in `at`. */
bool csv_next(struct csv_cursor *c, struct csv_field *f);
/* Copies the field's text, quotes undone, to `out`, which has room for len + 1 bytes. Returns the
 * length of the text. */
size_t csv_copy(const struct csv_field *f, char *out);
/* The 1-based byte of `at` in its line. */
size_t csv_column(const struct csv_cursor *c);

/* --- writing --- */

enum csv_how {
	CSV_QUOTED = 1, /* quotes even where none are needed: free text */
	CSV_SAFE = 2,   /* a ' goes before what a spreadsheet would take for a formula */
};

/* One cell, without the comma. */
void csv_cell(FILE *f, const char *text, unsigned how);

#endif
