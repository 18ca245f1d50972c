/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw content of io-model files: parameters, operations, statistics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_series.h"

/* "out-0.csv" and "stats-0.csv" belong to rank "0"; "0" too where the name does not say. */
static void
rank_of(const char *input, char *rank, size_t size)
{
	const char *dash = strrchr(input, '-');
	size_t n = dash == NULL ? 0 : strcspn(dash + 1, ".");

	if (dash == NULL || n == 0 || strspn(dash + 1, "0123456789") != n)
		snprintf(rank, size, "0");
	else
		snprintf(rank, size, "%.*s", (int)n, dash + 1);
}

/* The object at key, made on first use. On loan. */
static json_t *
child(json_t *o, const char *key)
{
	json_t *c = json_object_get(o, key);

	if (c == NULL) {
		c = json_object();
		json_object_set_new(o, key, c);
	}
	return c;
}

/* Whole numbers as such. */
static json_t *
plain_number(double v)
{
	return v == floor(v) && fabs(v) < 1e15 ? json_integer((json_int_t)v) : stat_json(v);
}

static void
set_operations(json_t *o, const struct io_file *io)
{
	struct nw_summary s = nw_summary_of(io->duration_s, io->n);

	json_object_set_new(o, "operations", summary_json(&s));
	json_object_set_new(o, "rejected", json_integer((json_int_t)io->n_rejected));
	json_object_set_new(o, "negative", json_integer((json_int_t)io->n_negative));
}

static void
set_text(json_t *out, const struct io_file *io)
{
	json_t *params = child(out, "parameters"), *locality = json_array();
	size_t i;

	for (i = 0; i < io->n_params; i++)
		json_object_set_new(params, io->param[i].name, plain_number(io->param[i].value));
	for (i = 0; i < io->n_locality; i++)
		json_array_append_new(locality, plain_number(io->locality[i]));
	json_object_set_new(out, "locality", locality);
	if (!isnan(io_file_param(io, "accessSize")))
		json_object_set_new(
		    out, "access_size", plain_number(io_file_param(io, "accessSize")));
	if (io->n_rows > 0)
		set_operations(out, io);
	if (io->n_offsets > 0)
		json_object_set_new(out, "offsets_first_last",
		    json_pack("[o,o]", plain_number(io->offset_bytes[0]),
			plain_number(io->offset_bytes[io->n_offsets - 1])));
}

static void
set_io_file(json_t *out, const char *input, const struct io_file *io)
{
	char rank[32];
	json_t *o;

	rank_of(input, rank, sizeof(rank));
	if (io->layout == IO_FILE_TEXT) {
		set_text(out, io);
	} else if (io->layout == IO_FILE_STATISTICS) {
		o = child(child(out, "stats"), rank);
		json_object_set_new(o, "columns", json_integer((json_int_t)io->n_columns));
		json_object_set_new(o, "samples", json_integer((json_int_t)io->n_rows));
	} else {
		o = child(child(out, "ranks"), rank);
		json_object_set_new(o, "rows", json_integer((json_int_t)io->n_rows));
		set_operations(o, io);
		json_object_set_new(o, "sync_duration", stat_json(io->sync_s));
		json_object_set_new(o, "first_start", stat_json(io->n > 0 ? io->start_s[0] : NAN));
		json_object_set_new(
		    o, "last_start", stat_json(io->n > 0 ? io->start_s[io->n - 1] : NAN));
	}
}

int
formats_case(const struct stat_case *c, json_t **out, struct stat_error *err)
{
	bool keep_last = stat_case_bool(c, "keep_last", false);
	const char *input;
	json_t *unused;
	int rc = NW_OK;

	*out = json_object();
	json_object_foreach((json_t *)(uintptr_t)c->inputs, input, unused)
	{
		struct io_file io;
		char *bytes;
		size_t n_bytes;

		if ((rc = stat_case_bytes(c, input, &bytes, &n_bytes, err)) != NW_OK)
			break;
		if ((rc = io_file_parse(bytes, n_bytes, keep_last, &io)) == NW_OK)
			set_io_file(*out, input, &io);
		io_file_clear(&io);
		free(bytes);
		if (rc == NW_EPROTO)
			rc = stat_fail(err, rc, "%s/%s:1:1: not an io-model file", c->dir, input);
		if (rc != NW_OK)
			break;
	}
	return rc;
}
