/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat KIND`: the analysis library on any files.
 *
 *   FILE --stat_table_read--> stat_table --kind->run--> json_t --stat_out_*--> stdout
 *
 * A kind is a row of the table in stat_kinds.c: a word, options, functions. Kinds about one series
 * (summaries, tests, densities, change points) share stat_series.c; kinds about many metrics (from
 * correlation to reduction) share stat_metrics.c. stat_command.c runs a kind for a person,
 * tests/stat-cases.c runs the same kind for a recorded case.
 *
 * Errors: 0 or a negative NW_E*, with the one line for stderr in struct stat_error. One thread.
 */
#ifndef CLI_STAT_H
#define CLI_STAT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/err.h"

/* --- errors --- */
struct stat_error {
	/* one line without newline, control bytes replaced; empty until the first error */
	char text[512];
};

/* Writes the line unless err holds a line already (the first cause wins) and returns `code`. */
int stat_fail(struct stat_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* --- input: files (stat_file.c), and CSV files as columns (stat_table.c) --- */
#define STAT_FILE_BYTES_MAX ((size_t)4 << 30)

/* A file ("-" = stdin), decompressed by name, into `to`; NW_EIO also where `to` cannot be
 * written. Holds some 100 KB in memory. */
int stat_file_copy(const char *path, FILE *to, struct stat_error *err);
/* Whole file ("-" = stdin), decompressed by name (.gz, .xz, .zst), at most STAT_FILE_BYTES_MAX of
 * it. A NUL follows the last byte. The caller frees. */
int stat_file_read(const char *path, char **bytes, size_t *n_bytes, struct stat_error *err);

struct stat_column {
	char *name;
	double *value;    /* n_rows numbers; NaN where a field is missing or not a number */
	size_t n_missing; /* empty, NA, NaN, +-Inf in the file */
	size_t n_text;    /* neither number nor missing */
	size_t text_row;  /* the first such row; SIZE_MAX when every row is a number or missing */
	char **text;      /* NULL until stat_table_texts */
};

struct stat_table {
	char *file; /* for messages; "-" reads as "stdin" */
	size_t n_rows, n_cols;
	struct stat_column *cols;
	/* the decompressed file, whose rows start at row_at; callers read the bytes through the
	 * calls below */
	char *bytes;
	size_t n_bytes;
	size_t *row_at;
	uint32_t *row_line;     /* 1-based line of each row */
	bool names_are_numbers; /* the line of names may be missing */
};

/* The separator (a character, or "tab") and the decimal mark (a point or a comma) of all files read
 * from now on; NULL for a separator of its own: a semicolon beside a decimal comma, else a comma.
 * NW_EINVAL. */
int stat_table_dialect(const char *separator, const char *decimal, struct stat_error *err);
/* Reads `path` as stat_file_read does. RFC 4180: header required, names unique (an empty one
 * becomes "column N"), every row as wide as the header, quoted fields, LF or CRLF; an UTF-8 mark at
 * the start, lines that begin with #, blank lines at the end, and beside several columns all blank
 * lines are skipped. The last such comment before a first line of numbers names the columns, if it
 * has as many fields. A warning on standard error says that the names are numbers. Messages say
 * file:line:byte and the column's name. Free with stat_table_free (NULL is fine). O(bytes). */
int stat_table_read(const char *path, struct stat_table **out, struct stat_error *err);
/* The same from memory; takes no ownership. */
int stat_table_parse(const char *file, const char *bytes, size_t n_bytes, struct stat_table **out,
    struct stat_error *err);
void stat_table_free(struct stat_table *t);

/* Column index, or -1. */
long stat_table_find(const struct stat_table *t, const char *name);
/* The column's numbers, on loan until stat_table_free; NULL and an error with file, line and column
 * if it does not exist or holds text. */
const double *
stat_table_numbers(const struct stat_table *t, const char *name, struct stat_error *err);
/* The same for column `col`. */
const double *stat_table_numbers_at(const struct stat_table *t, size_t col, struct stat_error *err);
/* The column's fields as text, unquoted ("" = missing), on loan until stat_table_free. NULL: no
 * such column, no memory. */
const char *const *stat_table_texts(struct stat_table *t, const char *name, struct stat_error *err);

/* A finite decimal number of exactly `len` bytes, blanks around it tolerated; whatever the locale.
 * False otherwise. */
bool stat_number_parse(const char *s, size_t len, double *out);

/* --- output (stat_out.c) --- */
json_t *stat_json(double v); /* NaN -> null, infinite -> "Inf"/"-Inf" */
json_t *stat_json_array(const double *v, size_t n);
json_t *stat_json_strings(const char *const *s, size_t n);
/* One line, or indented; numbers in the shortest form that reads back to the same double. The
 * caller frees; NULL = no memory. */
char *stat_out_text(const json_t *doc, bool pretty);
/* RFC 4180 table from an array of objects, or from an object of objects (then the first column is
 * "name"). */
char *stat_out_csv(const json_t *rows);
/* The rows of a result without a table of its own: its objects, or the result as the only row;
 * nested objects are columns "outer.inner". A new reference. */
json_t *stat_out_rows(const json_t *doc);
/* Lines and aligned tables for people (stat_text.c), without the keys in `hide`, words with a blank
 * before and after each. The caller frees; NULL = no memory. */
char *stat_text(const json_t *doc, const char *hide);

/* --- options of the command line (stat_command.c) --- */
struct stat_option {
	const char *name; /* "rho0": given as --rho0 R or --rho0=R; NULL ends the list */
	const char *arg;  /* "R"; NULL for a switch */
	const char *help;
};

/* options and files of the command line */
struct stat_args;
const char *stat_arg(const struct stat_args *a, const char *name); /* NULL = not given */
bool stat_arg_given(const struct stat_args *a, const char *name);
bool stat_arg_sound(const struct stat_args *a); /* Returns true without --faithful. */
/* `*out` keeps its value, the default, when the option was not given. */
int stat_arg_number(const struct stat_args *a, const char *name, double min, double max,
    double *out, struct stat_error *err);
int stat_arg_count(const struct stat_args *a, const char *name, size_t min, size_t max, size_t *out,
    struct stat_error *err);
/* The form of the output. NW_EINVAL for a word that is no form. */
enum stat_form { STAT_TABLE, STAT_CSV, STAT_JSON, STAT_INDENTED };
int stat_arg_form(const struct stat_args *a, enum stat_form *out, struct stat_error *err);
bool stat_arg_is_form(const struct stat_args *a, enum stat_form form);
/* Files after the options; at least one file. */
size_t stat_arg_files(const struct stat_args *a, const char *const **files);

/* --- a recorded case: parameters and inputs (stat_case.c) --- */
struct stat_case {
	const char *id; /* name for messages; no result depends on the name */
	const char *dir;
	const json_t *params; /* an object, possibly empty */
	const json_t *inputs; /* an object whose keys are file names relative to dir */
};

/* Input whose file name up to the first dot is `stem` (NULL stands for the first input in the
 * file's order). NULL without such an input. On loan. */
const char *stat_case_input(const struct stat_case *c, const char *stem);
/* Reads the input with that stem. NW_ENOTFOUND without a message if the case has no such input. */
int stat_case_table(
    const struct stat_case *c, const char *stem, struct stat_table **out, struct stat_error *err);
/* Any input by its name in `inputs`, read as stat_file_read reads. */
int stat_case_bytes(const struct stat_case *c, const char *input, char **bytes, size_t *n_bytes,
    struct stat_error *err);
int
stat_case_json(const struct stat_case *c, const char *stem, json_t **out, struct stat_error *err);
/* Parameters with defaults; a parameter of another type counts as absent. */
double stat_case_number(const struct stat_case *c, const char *key, double dflt);
bool stat_case_bool(const struct stat_case *c, const char *key, bool dflt);
const char *stat_case_text(const struct stat_case *c, const char *key, const char *dflt);

/* --- kinds --- */
struct stat_kind {
	/* the word after `narrows stat`; NULL for a kind of recorded cases only */
	const char *name;
	const char *case_kind; /* the word in case.json; NULL for a kind of the command line only */
	const char *summary;   /* one line of help */
	/* key of the result whose value is the table for --csv; "" for the result itself; NULL for
	 * a result without a table of its own */
	const char *csv;
	/* keys that people are not shown, because the result's table has them: each between blanks;
	 * NULL for none */
	const char *hide;
	/* besides the common options; may be NULL */
	const struct stat_option *options;
	/* Both set *out to a new object, or return an error. */
	int (*run)(const struct stat_args *a, json_t **out, struct stat_error *err);
	int (*run_case)(const struct stat_case *c, json_t **out, struct stat_error *err);
};

/* `narrows stat ...`: argv[0] is "stat". Returns the exit status: 0, 1 (no memory), 2 (bad use or
 * bad input). */
int cmd_stat(int argc, char **argv);

#endif
