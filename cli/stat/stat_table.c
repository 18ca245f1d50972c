/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV to columns. The bytes are walked twice: once to check their shape and count rows, once to
 * read the numbers, so that nothing is allocated before its size is known to be backed by as many
 * bytes. Text is cut out when asked for.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/stat/stat.h"
#include "narrows/csv.h"
#include "narrows/utf8.h"

#define NUMBER_LEN_MAX 512 /* longer than any meaningful number */
#define EXCERPT        40  /* bytes of a bad field in a message */

/* How files are written; one for all files of a command. */
static struct {
	char separator, decimal;
} dialect = { ',', '.' };

int
stat_table_dialect(const char *separator, const char *decimal, struct stat_error *err)
{
	if (separator != NULL && strcmp(separator, "tab") == 0)
		separator = "\t";
	if (separator != NULL &&
	    (strlen(separator) != 1 || strpbrk(separator, "\"\r\n.+-") != NULL))
		return stat_fail(err, NW_EINVAL, "--sep: one character, or \"tab\"");
	if (decimal != NULL && strcmp(decimal, ".") != 0 && strcmp(decimal, ",") != 0)
		return stat_fail(err, NW_EINVAL, "--decimal: a point or a comma");
	dialect.decimal = decimal != NULL ? *decimal : '.';
	dialect.separator = separator != NULL ? *separator : dialect.decimal == ',' ? ';' : ',';
	if (dialect.separator == dialect.decimal)
		return stat_fail(err, NW_EINVAL, "--sep and --decimal: a comma cannot be both");
	return NW_OK;
}

/* --- numbers --- */

static const char *
skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before the exponent */
static bool
is_decimal(const char *p, const char *end)
{
	const char *start, *digits;
	size_t n;

	p += p < end && (*p == '+' || *p == '-');
	start = p;
	p = skip_digits(p, end);
	n = (size_t)(p - start);
	if (p < end && *p == '.') {
		digits = p + 1;
		p = skip_digits(digits, end);
		n += (size_t)(p - digits);
	}
	if (n == 0)
		return false;
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		digits = p;
		p = skip_digits(digits, end);
		if (p == digits)
			return false;
	}
	return p == end;
}

/* Up to 15 digits and a power of ten up to 22 are both exact doubles, so one division is the
 * nearest double (Clinger 1990). Returns false for all other numbers, which strtod reads. Most
 * numbers in files have no exponent and end here. */
static bool
parse_short(const char *p, const char *end, double *out)
{
	static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15 };
	bool negative = *p == '-', after_point = false;
	uint64_t mantissa = 0;
	int n_digits = 0, n_after = 0;

	for (p += *p == '-' || *p == '+'; p < end; p++) {
		if (*p == '.' && !after_point) {
			after_point = true;
			continue;
		}
		if (*p < '0' || *p > '9' || ++n_digits > 15)
			return false;
		mantissa = 10 * mantissa + (uint64_t)(*p - '0');
		n_after += after_point;
	}
	*out = (double)mantissa / tens[n_after];
	if (negative)
		*out = -*out;
	return n_digits > 0;
}

static void
trim(const char **p, const char **end)
{
	while (*p < *end && (**p == ' ' || **p == '\t'))
		(*p)++;
	while (*p < *end && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
		(*end)--;
}

bool
stat_number_parse(const char *s, size_t len, double *out)
{
	const char *end = s + len;
	char copy[NUMBER_LEN_MAX + 1];

	trim(&s, &end);
	if (s == end)
		return false;
	if (parse_short(s, end, out))
		return true;
	len = (size_t)(end - s);
	if (len > NUMBER_LEN_MAX || !is_decimal(s, end))
		return false;
	memcpy(copy, s, len);
	copy[len] = '\0';
	*out = strtod(copy, NULL);
	return isfinite(*out);
}

/* A number of a file, whose decimal mark the dialect names. */
static bool
number_of(const struct csv_field *f, double *out)
{
	char copy[NUMBER_LEN_MAX + 1], *comma;

	if (dialect.decimal == '.')
		return stat_number_parse(f->s, f->len, out);
	if (f->len > NUMBER_LEN_MAX || memchr(f->s, '.', f->len) != NULL)
		return false;
	memcpy(copy, f->s, f->len);
	if ((comma = memchr(copy, ',', f->len)) != NULL)
		*comma = '.';
	return stat_number_parse(copy, f->len, out);
}

/* Empty, NA, NaN, infinite: in words or by being too large for a double. */
static bool
is_missing(const char *s, size_t len)
{
	static const char *const words[] = { "na", "nan", "inf", "infinity" };
	const char *end = s + len;
	size_t i;

	trim(&s, &end);
	if (s == end)
		return true;
	if (end - s <= NUMBER_LEN_MAX && is_decimal(s, end))
		return true; /* a word, and not finite: stat_number_parse takes finite numbers */
	s += *s == '+' || *s == '-';
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((size_t)(end - s) == strlen(words[i]) &&
		    strncasecmp(s, words[i], (size_t)(end - s)) == 0)
			return true;
	return false;
}

/* --- fields --- */

static int
fail_cursor(const struct stat_table *t, const struct csv_cursor *c, struct stat_error *err)
{
	return stat_fail(err, NW_EPROTO, "%s:%zu:%zu: %s", t->file, c->line, csv_column(c), c->why);
}

/* JSON is UTF-8; bytes in other encodings, such as Latin-1, become question marks. */
static void
make_utf8(char *s, size_t len)
{
	size_t i, n;

	for (i = 0; i < len; i += n)
		if ((n = utf8_length(s + i, len - i)) == 0) {
			s[i] = '?';
			n = 1;
		}
}

/* Copies the field's text, quotes undone, to `out` (len + 1 bytes at most). Returns its length. */
static size_t
field_copy(const struct csv_field *f, char *out)
{
	size_t n = csv_copy(f, out);

	make_utf8(out, n);
	return n;
}

/* --- shape --- */

static int
add_row(struct stat_table *t, size_t *room, size_t at, size_t line)
{
	size_t *row_at;
	uint32_t *row_line;

	if (line > UINT32_MAX)
		return NW_ETOOBIG;
	if (t->n_rows == *room) {
		*room = *room == 0 ? 256 : 2 * *room;
		if ((row_at = realloc(t->row_at, *room * sizeof(*row_at))) == NULL)
			return NW_ENOMEM;
		t->row_at = row_at;
		if ((row_line = realloc(t->row_line, *room * sizeof(*row_line))) == NULL)
			return NW_ENOMEM;
		t->row_line = row_line;
	}
	t->row_at[t->n_rows] = at;
	t->row_line[t->n_rows++] = (uint32_t)line;
	return NW_OK;
}

static int
compare_names(const void *a, const void *b)
{
	const struct stat_column *x = *(const struct stat_column *const *)a,
				 *y = *(const struct stat_column *const *)b;

	return strcmp(x->name, y->name);
}

static int
check_names(const struct stat_table *t, struct stat_error *err)
{
	const struct stat_column **sorted;
	int rc = NW_OK;
	size_t i;

	if ((sorted = malloc(t->n_cols * sizeof(*sorted))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < t->n_cols; i++)
		sorted[i] = &t->cols[i];
	qsort(sorted, t->n_cols, sizeof(*sorted), compare_names);
	for (i = 1; i < t->n_cols && rc == NW_OK; i++)
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			rc = stat_fail(err, NW_EPROTO, "%s:1:1: two columns are named \"%.*s\"",
			    t->file, EXCERPT, sorted[i]->name);
	free(sorted);
	return rc;
}

static int
add_column(struct stat_table *t, const struct csv_field *f)
{
	struct stat_column *cols, *c;
	struct csv_field inner = *f;
	const char *end = f->s + f->len;

	trim(&inner.s, &end);
	inner.len = (size_t)(end - inner.s);
	if ((t->n_cols & (t->n_cols - 1)) == 0) { /* a power of two: full */
		if ((cols = realloc(
			 t->cols, (t->n_cols == 0 ? 1 : 2 * t->n_cols) * sizeof(*cols))) == NULL)
			return NW_ENOMEM;
		t->cols = cols;
	}
	c = &t->cols[t->n_cols];
	*c = (struct stat_column){ .text_row = SIZE_MAX };
	if ((c->name = malloc(inner.len + 32)) == NULL)
		return NW_ENOMEM;
	t->n_cols++;
	if (field_copy(&inner, c->name) == 0)
		snprintf(c->name, 32, "column %zu", t->n_cols);
	return NW_OK;
}

/* Passes the rest of the line, which is no row: a quote means nothing there. */
static void
line_pass(struct csv_cursor *c)
{
	const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));

	c->at = end != NULL ? end + 1 : c->end;
	c->line_start = c->at;
	c->line++;
}

/* Passes lines that begin with #, and with `blanks` empty lines, too; *comment: the last of the
 * former, if there is one. */
static void
comments_pass(struct csv_cursor *c, bool blanks, struct csv_cursor *comment)
{
	for (; c->at < c->end; line_pass(c))
		if (*c->at == '#')
			*comment = *c;
		else if (!blanks || (*c->at != '\n' && *c->at != '\r'))
			return;
}

/* Number of fields of the line at the cursor; *numbers: whether each of them is a number. */
static size_t
line_look(struct csv_cursor c, bool *numbers)
{
	struct csv_field f;
	size_t n = 0;
	double v;

	*numbers = true;
	do {
		if (c.at == c.end || !csv_next(&c, &f))
			return 0;
		*numbers = *numbers && number_of(&f, &v);
		n++;
	} while (!f.last);
	return n;
}

/* The cursor comes to the line of names: the first line, or the last comment before the first
 * number, if the comment has as many fields as the line of numbers. */
static void
header_find(struct stat_table *t, struct csv_cursor *c)
{
	struct csv_cursor comment = { 0 };
	bool words;
	size_t n;

	comments_pass(c, false, &comment);
	n = line_look(*c, &t->names_are_numbers);
	if (comment.at == NULL || !t->names_are_numbers || line_look(comment, &words) != n)
		return;
	*c = comment;
	c->at += strspn(c->at, "#");
	t->names_are_numbers = false;
}

static int
read_header(struct stat_table *t, struct csv_cursor *c, struct stat_error *err)
{
	struct csv_field f = { 0 };
	int rc;

	header_find(t, c);
	if (c->at == c->end || *c->at == '\n' || *c->at == '\r')
		return stat_fail(err, NW_EPROTO, "%s:1:1: no header line", t->file);
	do {
		if (!csv_next(c, &f))
			return fail_cursor(t, c, err);
		if ((rc = add_column(t, &f)) != NW_OK)
			return rc;
	} while (!f.last);
	return check_names(t, err);
}

/* Only line ends from here on. */
static bool
rest_is_blank(const struct csv_cursor *c)
{
	const char *p;

	for (p = c->at; p < c->end; p++)
		if (*p != '\n' && *p != '\r')
			return false;
	return true;
}

/* A file with commas for decimals divides its fields by semicolons: so does its header. */
static const char *
header_hint(const struct stat_table *t)
{
	return t->n_cols == 1 && strchr(t->cols[0].name, ';') != NULL
	    ? " (fields apart by semicolons, and decimal commas? --decimal ,)"
	    : "";
}

static int
check_row(struct stat_table *t, struct csv_cursor *c, size_t *room, struct stat_error *err)
{
	size_t n = 0, at = (size_t)(c->at - t->bytes), line = c->line;
	struct csv_field f;

	do {
		if (!csv_next(c, &f))
			return fail_cursor(t, c, err);
		if (++n > t->n_cols)
			return stat_fail(err, NW_EPROTO,
			    "%s:%zu:%zu: more fields than the header's %zu%s", t->file, f.line,
			    f.byte, t->n_cols, header_hint(t));
	} while (!f.last);
	if (n < t->n_cols)
		return stat_fail(err, NW_EPROTO, "%s:%zu:%zu: row ends after %zu of %zu fields",
		    t->file, f.line, f.byte + (size_t)(f.s - f.start) + f.len, n, t->n_cols);
	return add_row(t, room, at, line);
}

/* --- values --- */

static struct csv_cursor
row_cursor(const struct stat_table *t, size_t row)
{
	const char *at = t->bytes + t->row_at[row];

	return (struct csv_cursor){ .at = at,
		.end = t->bytes + t->n_bytes,
		.line_start = at,
		.line = t->row_line[row],
		.separator = dialect.separator };
}

static int
read_values(struct stat_table *t)
{
	struct csv_cursor c;
	struct csv_field f;
	size_t row, col;
	double v;

	for (col = 0; col < t->n_cols; col++) {
		t->cols[col].value = malloc((t->n_rows + 1) * sizeof(double));
		if (t->cols[col].value == NULL)
			return NW_ENOMEM;
	}
	for (row = 0; row < t->n_rows; row++) {
		c = row_cursor(t, row);
		for (col = 0; col < t->n_cols; col++) {
			struct stat_column *k = &t->cols[col];

			csv_next(&c, &f); /* cannot fail: the row's shape was checked */
			if (number_of(&f, &v)) {
				k->value[row] = v;
				continue;
			}
			k->value[row] = NAN;
			if (is_missing(f.s, f.len)) {
				k->n_missing++;
			} else if (k->n_text++ == 0) {
				k->text_row = row;
			}
		}
	}
	return NW_OK;
}

/* Takes `bytes`. */
static int
table_build(
    const char *file, char *bytes, size_t n_bytes, struct stat_table **out, struct stat_error *err)
{
	struct stat_table *t = calloc(1, sizeof(*t));
	struct csv_cursor c = csv_begin(bytes, n_bytes), comment;
	size_t room = 0;
	int rc = NW_ENOMEM;

	c.separator = dialect.separator;
	*out = NULL;
	if (t == NULL) {
		free(bytes);
		goto out;
	}
	t->bytes = bytes;
	t->n_bytes = n_bytes;
	if ((t->file = strdup(strcmp(file, "-") == 0 ? "stdin" : file)) == NULL)
		goto out;
	if ((rc = read_header(t, &c, err)) != NW_OK)
		goto out;
	for (;;) {
		/* in one column an empty line is a missing value */
		comments_pass(&c, t->n_cols > 1, &comment);
		if (c.at == c.end || rest_is_blank(&c))
			break;
		if ((rc = check_row(t, &c, &room, err)) != NW_OK)
			goto out;
	}
	rc = read_values(t);
out:
	if (rc != NW_OK) {
		stat_table_free(t);
		return stat_fail(err, rc, "%s: %s", file, nw_strerror(rc));
	}
	*out = t;
	return NW_OK;
}

int
stat_table_read(const char *path, struct stat_table **out, struct stat_error *err)
{
	char *bytes;
	size_t n;
	int rc;

	*out = NULL;
	if ((rc = stat_file_read(path, &bytes, &n, err)) != NW_OK)
		return rc;
	if ((rc = table_build(path, bytes, n, out, err)) == NW_OK && (*out)->names_are_numbers)
		fprintf(stderr,
		    "narrows: %s: the first line has numbers alone, and names the columns: is a "
		    "line of names missing?\n",
		    (*out)->file);
	return rc;
}

int
stat_table_parse(const char *file, const char *bytes, size_t n_bytes, struct stat_table **out,
    struct stat_error *err)
{
	char *copy = malloc(n_bytes + 1);

	*out = NULL;
	if (copy == NULL)
		return stat_fail(err, NW_ENOMEM, "%s: %s", file, nw_strerror(NW_ENOMEM));
	if (n_bytes > 0)
		memcpy(copy, bytes, n_bytes);
	copy[n_bytes] = '\0';
	return table_build(file, copy, n_bytes, out, err);
}

void
stat_table_free(struct stat_table *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->n_cols; i++) {
		free(t->cols[i].name);
		free(t->cols[i].value);
		if (t->cols[i].text != NULL)
			free(t->cols[i].text[0]);
		free(t->cols[i].text);
	}
	free(t->cols);
	free(t->row_at);
	free(t->row_line);
	free(t->bytes);
	free(t->file);
	free(t);
}

/* --- columns --- */

long
stat_table_find(const struct stat_table *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->n_cols; i++)
		if (strcmp(t->cols[i].name, name) == 0)
			return (long)i;
	return -1;
}

/* The field at (row, col), with its place in the file. */
static void
find_field(const struct stat_table *t, size_t row, size_t col, struct csv_field *f)
{
	struct csv_cursor c = row_cursor(t, row);
	size_t i;

	for (i = 0; i <= col; i++)
		csv_next(&c, f);
}

/* "1,000" and "12,345,678": with a decimal comma another number. */
static bool
is_grouped(const struct csv_field *f)
{
	const char *comma = memchr(f->s, ',', f->len), *end = f->s + f->len;
	size_t i;

	for (; comma != NULL && comma > f->s; comma = comma + 4 < end ? comma + 4 : NULL) {
		if (*comma != ',' || end - comma < 4)
			return false;
		for (i = 1; i < 4; i++)
			if (comma[i] < '0' || comma[i] > '9')
				return false;
		if (comma + 4 == end)
			return true;
	}
	return false;
}

/* What the field of a column may want: another separator where the name of the only column holds
 * one, another decimal mark where the field is a number with a comma. */
static const char *
dialect_hint(const struct stat_table *t, const struct csv_field *f)
{
	const char *name = t->cols[0].name;
	struct csv_field piece = *f;
	char decimal = dialect.decimal;
	double v;
	bool comma;

	if (t->n_cols == 1 && strpbrk(name, ";\t|") != NULL)
		return strchr(name, ';') != NULL ? " (fields apart by semicolons? --sep ';')"
		    : strchr(name, '|') != NULL  ? " (fields apart by bars? --sep '|')"
						 : " (fields apart by tabs? --sep tab)";
	dialect.decimal = ',';
	comma = decimal == '.' && memchr(f->s, ',', f->len) != NULL && number_of(&piece, &v);
	dialect.decimal = decimal;
	return is_grouped(f) ? " (thousands apart by commas? leave the commas out)"
	    : comma          ? " (a decimal comma? --decimal ,)"
			     : "";
}

const double *
stat_table_numbers_at(const struct stat_table *t, size_t col, struct stat_error *err)
{
	const struct stat_column *c = &t->cols[col];
	struct csv_field f;

	if (c->text_row == SIZE_MAX)
		return c->value;
	find_field(t, c->text_row, col, &f);
	stat_fail(err, NW_EPROTO, "%s:%zu:%zu: column %zu (%.*s): \"%.*s\" is not a number%s",
	    t->file, f.line, f.byte, col + 1, EXCERPT, c->name,
	    f.len < EXCERPT ? (int)f.len : EXCERPT, f.s, dialect_hint(t, &f));
	return NULL;
}

static long
find_or_fail(const struct stat_table *t, const char *name, struct stat_error *err)
{
	long col = stat_table_find(t, name);

	if (col < 0)
		stat_fail(err, NW_ENOTFOUND, "%s:1:1: no column \"%.*s\"", t->file, EXCERPT, name);
	return col;
}

const double *
stat_table_numbers(const struct stat_table *t, const char *name, struct stat_error *err)
{
	long col = find_or_fail(t, name, err);

	return col < 0 ? NULL : stat_table_numbers_at(t, (size_t)col, err);
}

/* All texts in one block, owned by text[0]; text[0] exists even without rows. */
static int
cut_texts(struct stat_table *t, size_t col)
{
	struct stat_column *k = &t->cols[col];
	struct csv_field f;
	size_t row, n_bytes = 1;
	char *block;

	for (row = 0; row < t->n_rows; row++) {
		find_field(t, row, col, &f);
		n_bytes += f.len + 1;
	}
	if ((k->text = malloc((t->n_rows + 1) * sizeof(*k->text))) == NULL)
		return NW_ENOMEM;
	if ((k->text[0] = block = malloc(n_bytes)) == NULL) {
		free(k->text);
		k->text = NULL;
		return NW_ENOMEM;
	}
	*block = '\0';
	for (row = 0; row < t->n_rows; row++) {
		find_field(t, row, col, &f);
		k->text[row] = block;
		block += field_copy(&f, block) + 1;
	}
	return NW_OK;
}

const char *const *
stat_table_texts(struct stat_table *t, const char *name, struct stat_error *err)
{
	long col = find_or_fail(t, name, err);

	if (col < 0)
		return NULL;
	if (t->cols[col].text == NULL && cut_texts(t, (size_t)col) != NW_OK) {
		stat_fail(err, NW_ENOMEM, "%s: %s", t->file, nw_strerror(NW_ENOMEM));
		return NULL;
	}
	return (const char *const *)t->cols[col].text;
}
