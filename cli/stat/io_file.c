/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads io-model output. See io_file.h. */
#include "cli/stat/io_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

#define FIELDS_MAX 64

struct slice {
	const char *s;
	size_t len;
};

static struct slice
trimmed(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	while (s < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (struct slice){ s, (size_t)(end - s) };
}

static bool
slice_is(const struct slice *a, const char *word)
{
	return a->len == strlen(word) && memcmp(a->s, word, a->len) == 0;
}

static bool
slice_starts(const struct slice *a, const char *word)
{
	return a->len >= strlen(word) && memcmp(a->s, word, strlen(word)) == 0;
}

/* The line at *at without its end; *at moves behind the line. False at the end of the bytes. */
static bool
next_line(const char **at, const char *end, struct slice *line)
{
	const char *start = *at, *stop;

	if (start >= end)
		return false;
	stop = memchr(start, '\n', (size_t)(end - start));
	*at = stop == NULL ? end : stop + 1;
	*line = trimmed(start, stop == NULL ? end : stop);
	return true;
}

/* Fields of a line, at most FIELDS_MAX; an empty field behind a trailing comma does not count. */
static size_t
split(const struct slice *line, struct slice *fields)
{
	const char *p = line->s, *end = line->s + line->len, *comma;
	size_t n = 0;

	while (p <= end && n < FIELDS_MAX) {
		comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
		fields[n++] = trimmed(p, comma == NULL ? end : comma);
		if (comma == NULL)
			break;
		p = comma + 1;
	}
	return n > 0 && fields[n - 1].len == 0 ? n - 1 : n;
}

/* --- operations and statistics --- */

enum column { START, DURATION, SIZE, OFFSET, OP, N_KNOWN };

static const char *const column_names[N_KNOWN] = { "start_time", "duration", "size", "offset",
	"op" };

static void
find_columns(const struct slice *fields, size_t n, size_t *at)
{
	size_t i, k;

	for (k = 0; k < N_KNOWN; k++)
		for (i = 0, at[k] = SIZE_MAX; i < n; i++)
			if (slice_is(&fields[i], column_names[k]) && at[k] == SIZE_MAX)
				at[k] = i;
}

static int
reserve(struct io_file *f, size_t *room, const size_t *at)
{
	size_t more = *room == 0 ? 1024 : 2 * *room;
	double **arrays[] = { &f->start_s, &f->duration_s, &f->size_bytes, &f->offset_bytes }, *v;
	size_t i;

	if (f->n < *room)
		return NW_OK;
	for (i = 0; i < 4; i++) {
		if (at[i] == SIZE_MAX)
			continue;
		if ((v = reallocarray(*arrays[i], more, sizeof(*v))) == NULL)
			return NW_ENOMEM;
		*arrays[i] = v;
	}
	*room = more;
	return NW_OK;
}

/* A number of the row, NaN if the field is missing or something else. */
static double
number_at(const struct slice *fields, size_t n, size_t i)
{
	double v;

	return i < n && stat_number_parse(fields[i].s, fields[i].len, &v) ? v : NAN;
}

static int
add_operation(
    struct io_file *f, const struct slice *fields, size_t n, const size_t *at, size_t *room)
{
	double start = number_at(fields, n, at[START]),
	       duration = number_at(fields, n, at[DURATION]);
	int rc;

	if (isnan(start) || isnan(duration)) {
		f->n_rejected++;
		return NW_OK;
	}
	f->n_rows++;
	if (at[OP] < n &&
	    (slice_is(&fields[at[OP]], "sync") || slice_is(&fields[at[OP]], "fsync"))) {
		f->sync_s = duration;
		return NW_OK;
	}
	if (duration < 0) {
		f->n_negative++;
		return NW_OK;
	}
	if ((rc = reserve(f, room, at)) != NW_OK)
		return rc;
	f->start_s[f->n] = start;
	f->duration_s[f->n] = duration;
	if (f->size_bytes != NULL)
		f->size_bytes[f->n] = number_at(fields, n, at[SIZE]);
	if (f->offset_bytes != NULL)
		f->offset_bytes[f->n] = number_at(fields, n, at[OFFSET]);
	f->n++;
	return NW_OK;
}

static int
parse_operations(const char *p, const char *end, bool keep_last, struct io_file *f)
{
	struct slice line = { p, 0 }, fields[FIELDS_MAX];
	size_t at[N_KNOWN], room = 0, n, negative = 0;
	int rc;

	next_line(&p, end, &line);
	f->n_columns = split(&line, fields);
	find_columns(fields, f->n_columns, at);
	while (next_line(&p, end, &line)) {
		if (line.len == 0)
			continue;
		n = split(&line, fields);
		negative = f->n_negative;
		if ((rc = add_operation(f, fields, n, at, &room)) != NW_OK)
			return rc;
	}
	/* An old file's last row is the sync; a row that was rejected is dropped already. */
	if (at[OP] == SIZE_MAX && !keep_last && f->n > 0 && f->n_negative == negative)
		f->sync_s = f->duration_s[--f->n];
	f->n_offsets = f->offset_bytes == NULL ? 0 : f->n;
	return NW_OK;
}

static void
parse_statistics(const char *p, const char *end, struct io_file *f)
{
	struct slice line = { p, 0 }, fields[FIELDS_MAX];

	next_line(&p, end, &line);
	f->n_columns = split(&line, fields);
	while (next_line(&p, end, &line)) {
		if (line.len == 0)
			continue;
		if (split(&line, fields) < 2 || isnan(number_at(fields, 2, 0)) ||
		    isnan(number_at(fields, 2, 1)))
			f->n_rejected++;
		else
			f->n_rows++;
	}
}

/* --- text --- */

static void
set_param(struct io_file *f, const char *name, size_t len, double value)
{
	struct io_file_param *p = &f->param[f->n_params];

	if (f->n_params == IO_FILE_PARAMS_MAX || len == 0 || len >= IO_FILE_NAME_MAX)
		return;
	memcpy(p->name, name, len);
	p->name[len] = '\0';
	p->value = value;
	f->n_params++;
}

/* "2-0-8388608" */
static void
add_locality(struct io_file *f, const char *s, const char *end)
{
	const char *dash;
	double v;
	int i;

	for (i = 0; i < 3 && f->n_locality < 6; i++) {
		dash = memchr(s, '-', (size_t)(end - s));
		if (!stat_number_parse(s, (size_t)((dash == NULL ? end : dash) - s), &v))
			return;
		f->locality[f->n_locality++] = v;
		if (dash == NULL)
			return;
		s = dash + 1;
	}
}

/* "name:value name:value .."; values without a number (the file, the program's version) are
 * skipped. */
static void
parse_params(const struct slice *line, struct io_file *f)
{
	const char *p = line->s, *end = line->s + line->len, *stop, *colon;
	double v;

	for (; p < end; p = stop + 1) {
		if ((stop = memchr(p, ' ', (size_t)(end - p))) == NULL)
			stop = end;
		if ((colon = memchr(p, ':', (size_t)(stop - p))) == NULL)
			continue;
		if (colon - p == 11 && memcmp(p, "localityMem", 11) == 0)
			add_locality(f, colon + 1, stop);
		else if (colon - p == 12 && memcmp(p, "localityFile", 12) == 0)
			add_locality(f, colon + 1, stop);
		else if (stat_number_parse(colon + 1, (size_t)(stop - colon - 1), &v))
			set_param(f, p, (size_t)(colon - p), v);
	}
}

/* Numbers separated by commas behind a label; *bad counts the words that are no numbers. */
static int
parse_list(const char *p, const char *end, double **list, size_t *n, size_t *bad)
{
	const char *comma;
	struct slice field;
	size_t room = *n;
	double v, *grown;

	while (p < end) {
		if ((comma = memchr(p, ',', (size_t)(end - p))) == NULL)
			comma = end;
		field = trimmed(p, comma);
		p = comma + 1;
		if (!stat_number_parse(field.s, field.len, &v)) {
			*bad += field.len > 0;
			continue;
		}
		if (*n == room) {
			room = room < 1024 ? 1024 : 2 * room;
			if ((grown = reallocarray(*list, room, sizeof(*grown))) == NULL)
				return NW_ENOMEM;
			*list = grown;
		}
		(*list)[(*n)++] = v;
	}
	return NW_OK;
}

static void
drop_negative(struct io_file *f)
{
	size_t i, kept = 0;

	for (i = 0; i < f->n; i++)
		if (f->duration_s[i] >= 0)
			f->duration_s[kept++] = f->duration_s[i];
	f->n_negative = f->n - kept;
	f->n = kept;
}

static const char times_label[] = "Times per operation:", offset_label[] = "Offset per operation:";

static bool
has_param_line(const struct slice *line)
{
	return memmem(line->s, line->len, "accessSize:", 11) != NULL;
}

static int
parse_text(const char *p, const char *end, struct io_file *f)
{
	struct slice line;
	const char *stop;
	size_t ignored = 0;
	int rc = NW_OK;

	while (rc == NW_OK && next_line(&p, end, &line)) {
		stop = line.s + line.len;
		if (slice_starts(&line, times_label))
			rc = parse_list(line.s + strlen(times_label), stop, &f->duration_s, &f->n,
			    &f->n_rejected);
		else if (slice_starts(&line, offset_label))
			rc = parse_list(line.s + strlen(offset_label), stop, &f->offset_bytes,
			    &f->n_offsets, &ignored);
		else if (f->n_params == 0 && has_param_line(&line))
			parse_params(&line, f);
	}
	f->n_rows = f->n;
	drop_negative(f);
	return rc;
}

/* --- all --- */

enum io_file_layout
io_file_sniff(const char *bytes, size_t n_bytes)
{
	const char *p = bytes, *end = bytes + n_bytes;
	struct slice line, fields[FIELDS_MAX];
	size_t n;

	if (!next_line(&p, end, &line))
		return IO_FILE_UNKNOWN;
	n = split(&line, fields);
	if (n >= 2 && slice_is(&fields[0], "start_time")) {
		if (slice_is(&fields[1], "duration"))
			return IO_FILE_OPERATIONS;
		return slice_starts(&fields[1], "self_") ? IO_FILE_STATISTICS : IO_FILE_UNKNOWN;
	}
	do {
		if (slice_starts(&line, times_label) || has_param_line(&line))
			return IO_FILE_TEXT;
	} while (next_line(&p, end, &line));
	return IO_FILE_UNKNOWN;
}

int
io_file_parse(const char *bytes, size_t n_bytes, bool keep_last, struct io_file *out)
{
	const char *end = bytes + n_bytes;

	*out = (struct io_file){ .layout = io_file_sniff(bytes, n_bytes), .sync_s = NAN };
	switch (out->layout) {
	case IO_FILE_OPERATIONS: return parse_operations(bytes, end, keep_last, out);
	case IO_FILE_STATISTICS: parse_statistics(bytes, end, out); return NW_OK;
	case IO_FILE_TEXT: return parse_text(bytes, end, out);
	default: return NW_EPROTO;
	}
}

void
io_file_clear(struct io_file *f)
{
	free(f->start_s);
	free(f->duration_s);
	free(f->size_bytes);
	free(f->offset_bytes);
	*f = (struct io_file){ 0 };
}

double
io_file_param(const struct io_file *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->n_params; i++)
		if (strcmp(f->param[i].name, name) == 0)
			return f->param[i].value;
	return NAN;
}

bool
io_file_params_from_name(struct io_file *f, const char *path)
{
	static const char *const names[] = { "memBuffer", "fileSizeInMiB", "maxRepeats", "truncate",
		"accessSize" };
	const char *p = strrchr(path, '/'), *stop;
	double v[5];
	size_t i;

	p = strchr(p == NULL ? path : p, '_');
	for (i = 0; i < 5; i++) {
		if (p == NULL || (stop = strchr(p + 1, '_')) == NULL ||
		    !stat_number_parse(p + 1, (size_t)(stop - p - 1), &v[i]))
			return false;
		p = stop;
	}
	for (i = 0; i < 5; i++)
		set_param(f, names[i], strlen(names[i]), v[i]);
	return true;
}
