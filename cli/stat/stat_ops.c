/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations out of files. See stat_ops.h. */
#include "cli/stat/stat_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_series.h"
#include "narrows/format.h"

static int
ops_reserve(struct ops *o, size_t more)
{
	size_t room = o->n + more;
	struct op *grown;

	if (room <= o->room)
		return NW_OK;
	room = room < 2 * o->room ? 2 * o->room : room;
	if ((grown = realloc(o->op, (room + 1) * sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	o->op = grown;
	o->room = room;
	return NW_OK;
}

int
ops_add_table(struct ops *o, const struct stat_table *t, const uint32_t *of, uint32_t group,
    struct stat_error *err)
{
	const double *size = stat_table_numbers(t, "size", err),
		     *duration = stat_table_numbers(t, "duration", err);
	size_t i;
	int rc;

	if (size == NULL || duration == NULL)
		return NW_EPROTO;
	if ((rc = ops_reserve(o, t->n_rows)) != NW_OK)
		return rc;
	for (i = 0; i < t->n_rows; i++)
		if ((of == NULL || of[i] == group) && !isnan(size[i]) && !isnan(duration[i]))
			o->op[o->n++] = (struct op){ size[i], duration[i] };
	return NW_OK;
}

int
io_file_read(const char *path, bool keep_last, struct io_file *out, char **bytes, size_t *n_bytes,
    struct stat_error *err)
{
	int rc;

	*out = (struct io_file){ 0 };
	*bytes = NULL;
	if ((rc = stat_file_read(path, bytes, n_bytes, err)) != NW_OK)
		return rc;
	if ((rc = io_file_parse(*bytes, *n_bytes, keep_last, out)) == NW_EPROTO)
		return NW_ENOTFOUND;
	return rc;
}

/* The size: the file's own column, its parameters, its name, the text printed beside the numbers,
 * or the user's option. */
static double
io_file_size(struct io_file *io, const char *path, double given)
{
	static const char *const beside[] = { "output.txt", "stdout.txt" };
	double size = io_file_param(io, "accessSize");
	const char *slash = strrchr(path, '/');
	struct io_file printed;
	char *bytes = NULL, *name;
	size_t i, n_bytes;

	if (isnan(size) && io_file_params_from_name(io, path))
		size = io_file_param(io, "accessSize");
	for (i = 0; i < 2 && isnan(size) && isnan(given); i++) {
		struct stat_error unused = { "" };

		if (asprintf(&name, "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - path), path,
			beside[i]) < 0)
			break;
		if (io_file_read(name, false, &printed, &bytes, &n_bytes, &unused) == NW_OK)
			size = io_file_param(&printed, "accessSize");
		io_file_clear(&printed);
		free(bytes);
		bytes = NULL;
		free(name);
	}
	return isnan(given) ? size : given;
}

static int
ops_add_io(
    struct ops *o, struct io_file *io, const char *path, double given_size, struct stat_error *err)
{
	double size = io->size_bytes == NULL ? io_file_size(io, path, given_size) : NAN;
	size_t i;
	int rc;

	if (io->size_bytes == NULL && isnan(size))
		return stat_fail(err, NW_EPROTO, "%s:1:1: access size unknown; give --size", path);
	if ((rc = ops_reserve(o, io->n)) != NW_OK)
		return rc;
	for (i = 0; i < io->n; i++) {
		struct op op = { io->size_bytes != NULL ? io->size_bytes[i] : size,
			io->duration_s[i] };

		if (!isnan(op.size_bytes))
			o->op[o->n++] = op;
	}
	return NW_OK;
}

/* --- traces of other programs --- */

/* An operation without time on the clock took less than a step: the step is an upper bound. */
static int
ops_add_one(struct ops *o, double size, double duration_s, double clock_s)
{
	int rc;

	if (!(size > 0) || !(duration_s >= 0) || !isfinite(size) || !isfinite(duration_s)) {
		o->n_left_out++;
		return NW_OK;
	}
	if (duration_s < clock_s / 2) { /* a difference of two rounded times is not exact */
		duration_s = clock_s;
		o->n_below++;
	}
	o->clock_s = fmax(o->clock_s, clock_s);
	if ((rc = ops_reserve(o, 1)) == NW_OK)
		o->op[o->n++] = (struct op){ size, duration_s };
	return rc;
}

/* The step of a printed time in seconds: its last decimal place. */
static double
decimal_step_s(const char *text)
{
	const char *point = strchr(text, '.');

	return point == NULL ? 1 : pow(10, -(double)strspn(point + 1, "0123456789"));
}

/* A line of fio's latency log: time (ms), latency (ns), direction (0 read, 1 write, 2 trim), size,
 * and more since fio 3.0. */
static int
fio_line(struct ops *o, const char *line, bool write)
{
	double time, latency_ns, direction, size;

	if (sscanf(line, " %lf , %lf , %lf , %lf", &time, &latency_ns, &direction, &size) != 4 ||
	    direction != write)
		return NW_OK;
	return ops_add_one(o, size, latency_ns * 1e-9, 1e-9);
}

/* A line of darshan-dxt-parser: module, rank, write or read, segment, offset, length, start and end
 * (s), and more. POSIX is what the kernel sees of MPI-IO. */
static int
dxt_line(struct ops *o, const char *line, bool write)
{
	double offset, size;
	char module[16], way[16], start[32], end[32];

	if (sscanf(line, " %15s %*s %15s %*s %lf %lf %31s %31s", module, way, &offset, &size, start,
		end) != 6 ||
	    strcmp(module, "X_POSIX") != 0 || strcmp(way, write ? "write" : "read") != 0)
		return NW_OK;
	return ops_add_one(o, size, strtod(end, NULL) - strtod(start, NULL), decimal_step_s(end));
}

/* Says how coarse the clock of a trace is, and what was left out. */
static void
trace_tell(const struct ops *o, const char *path, size_t n, size_t n_below, size_t n_left_out)
{
	struct stat_error note = { "" }, other = { "" };

	if (n_below > 0) {
		stat_fail(&note, NW_OK,
		    "%s: the clock of this trace is %s; %zu of %zu operations are faster than it, "
		    "and "
		    "count as one step%s",
		    path, fmt_duration(o->clock_s).s, n_below, n,
		    2 * n_below > n ? ": limits are upper bounds" : "");
		fprintf(stderr, "narrows: %s\n", note.text);
	}
	if (n_left_out > 0) {
		stat_fail(&other, NW_OK,
		    "%s: left out, without a size or a duration: %zu operations", path, n_left_out);
		fprintf(stderr, "narrows: %s\n", other.text);
	}
}

static int
ops_add_trace(struct ops *o, const char *path, const struct stat_args *a, struct stat_error *err)
{
	const char *from = stat_arg(a, "from"), *op = stat_arg(a, "op"), *line;
	bool fio = strcmp(from, "fio") == 0, write = op != NULL && strcmp(op, "write") == 0;
	size_t before = o->n, below = o->n_below, left_out = o->n_left_out, n_bytes;
	char *bytes = NULL;
	int rc;

	if (!fio && strcmp(from, "dxt") != 0)
		return stat_fail(err, NW_EINVAL, "--from takes fio or dxt");
	if (op != NULL && !write && strcmp(op, "read") != 0)
		return stat_fail(err, NW_EINVAL, "--op takes read or write");
	if ((rc = stat_file_read(path, &bytes, &n_bytes, err)) != NW_OK)
		return rc;
	for (line = bytes; rc == NW_OK && *line != '\0';
	     line += strcspn(line, "\n"), line += *line == '\n')
		rc = fio ? fio_line(o, line, write) : dxt_line(o, line, write);
	free(bytes);
	if (rc == NW_OK && o->n == before)
		return stat_fail(err, NW_EPROTO, "%s: no %s operation in the form of %s", path,
		    write ? "write" : "read", from);
	if (rc == NW_OK)
		trace_tell(o, path, o->n - before, o->n_below - below, o->n_left_out - left_out);
	return rc;
}

int
ops_add_file(struct ops *o, const char *path, const struct stat_args *a, struct stat_table **t,
    struct stat_error *err)
{
	double size = NAN;
	struct io_file io = { 0 };
	struct stat_table *table = NULL;
	char *bytes = NULL;
	size_t n_bytes;
	int rc;

	if (stat_arg(a, "from") != NULL)
		return ops_add_trace(o, path, a, err);
	if ((rc = stat_arg_number(a, "size", 0, 1e18, &size, err)) != NW_OK)
		return rc;
	rc = io_file_read(path, stat_arg_given(a, "keep-last"), &io, &bytes, &n_bytes, err);
	if (rc == NW_OK) {
		rc = ops_add_io(o, &io, path, size, err);
	} else if (rc == NW_ENOTFOUND &&
	    (rc = stat_table_parse(path, bytes, n_bytes, &table, err)) == NW_OK) {
		if (t != NULL) {
			*t = table;
			table = NULL;
		} else {
			rc = ops_add_table(o, table, NULL, 0, err);
		}
	}
	stat_table_free(table);
	free(bytes);
	io_file_clear(&io);
	return rc;
}
