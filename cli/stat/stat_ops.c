/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations out of files. See stat_ops.h. */
#include "cli/stat/stat_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_series.h"

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
		return stat_fail(
		    err, NW_EPROTO, "%s:1:1: access size unknown; say it with --size", path);
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
