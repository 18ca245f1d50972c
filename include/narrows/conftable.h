/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration files: one line a directive, "name value" or "name = value"; '#' begins a comment.
 * A program describes its directives once, in a table; the engine reads, checks and sets them.
 *
 * An unknown name, a name that stands twice in a file and a value out of bounds are errors. A file
 * is read into a copy of the struct, so a bad file changes nothing. `why` then holds "file:line:
 * what is wrong".
 */
#ifndef NARROWS_CONFTABLE_H
#define NARROWS_CONFTABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { CONF_LINES = 2 };
enum { CONF_WHY_BYTES = 256, CONF_ROWS_MAX = 80 };

struct conf_row;
/* Parses `value` into `field`. NW_EINVAL with static *why, or NW_ENOMEM. */
typedef int
conf_parse_fn(const struct conf_row *row, const char *value, void *field, const char **why);

struct conf_type {
	conf_parse_fn *parse;
	/* true: the field is a char * on the heap, which belongs to the struct. CONF_LINES: the
	 * same, and the directive may stand several times; `parse` adds a line */
	unsigned is_text;
};

struct conf_row {
	const char *name;
	const struct conf_type *type;
	size_t offset;   /* of the field in the program's struct */
	const char *def; /* default, in the directive's own syntax; NULL leaves the field 0 */
	/* bounds in the directive's own syntax; NULL is no bound. conf_word: min has the words as a
	 * sentence would, "full or normal", "no, undecided or always" */
	const char *min, *max;
};

struct conf_table {
	const struct conf_row *rows;
	size_t n_rows; /* at most CONF_ROWS_MAX */
	size_t struct_bytes;
	bool skips_others; /* the file has directives of another program, too */
};

/* Types that several programs use, by field. */
extern const struct conf_type conf_text;     /* char *, not empty */
extern const struct conf_type conf_bool;     /* bool: yes or no */
extern const struct conf_type conf_duration; /* int64_t, nanoseconds */
extern const struct conf_type conf_size;     /* uint64_t, bytes */
extern const struct conf_type conf_count;    /* uint64_t */
extern const struct conf_type conf_fraction; /* double */
extern const struct conf_type conf_word;     /* int, or an enum: the place of the word, from 0 */

/* The text of a field whose word for nothing is "none"; NULL then. */
const char *conf_or_null(const char *value);
/* Replaces the text of a field: what a parser of a text type ends with. NW_ENOMEM. */
int conf_text_set(void *field, const char *value, const char **why);

/* Adds a line to the text of a field: what a parser of CONF_LINES ends with. NW_ENOMEM. */
int conf_line_add(void *field, const char *value, const char **why);

/* Zeroes the struct and sets the defaults. NW_ENOMEM, or NW_EINVAL where the table contradicts
 * itself. */
int conftable_init(const struct conf_table *t, void *conf, char why[CONF_WHY_BYTES]);
/* Frees the texts of the struct and zeroes them. */
void conftable_clear(const struct conf_table *t, void *conf);
/*
 * Reads a file over the struct. line, which has n_rows members or is NULL, gets the line number of
 * each directive, 0 for a directive that the file does not have. NW_EINVAL, NW_EIO, NW_ENOMEM.
 */
int conftable_read(const struct conf_table *t, void *conf, const char *path, unsigned *line,
    char why[CONF_WHY_BYTES]);
/* One directive. NW_EINVAL, NW_ENOMEM. */
int conftable_set(const struct conf_table *t, void *conf, const char *name, const char *value,
    char why[CONF_WHY_BYTES]);
/* One "name=value" of the command line; *row gets the directive unless row is NULL. */
int conftable_override(const struct conf_table *t, void *conf, const char *assignment,
    const struct conf_row **row, char why[CONF_WHY_BYTES]);
/* NULL: the table has no directive of this name. */
const struct conf_row *conftable_find(const struct conf_table *t, const char *name);

#endif
