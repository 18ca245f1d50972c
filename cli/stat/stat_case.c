/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded case: parameters and input files. See stat.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

/* "../data/big.csv.xz" has the stem "big". */
static bool
has_stem(const char *input, const char *stem)
{
	const char *name = strrchr(input, '/');
	size_t n = strlen(stem);

	name = name == NULL ? input : name + 1;
	return strncmp(name, stem, n) == 0 && (name[n] == '.' || name[n] == '\0');
}

const char *
stat_case_input(const struct stat_case *c, const char *stem)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)c->inputs, key,
	    value) if (stem == NULL || has_stem(key, stem)) return key;
	return NULL;
}

/* The input's path; the caller frees. NULL without a message: there is no such input. */
static char *
input_path(const struct stat_case *c, const char *stem, struct stat_error *err)
{
	const char *input = stat_case_input(c, stem);
	char *path;

	if (input == NULL)
		return NULL;
	if (asprintf(&path, "%s/%s", c->dir, input) < 0) {
		stat_fail(err, NW_ENOMEM, "%s: %s", c->id, nw_strerror(NW_ENOMEM));
		return NULL;
	}
	return path;
}

int
stat_case_table(
    const struct stat_case *c, const char *stem, struct stat_table **out, struct stat_error *err)
{
	char *path = input_path(c, stem, err);
	int rc;

	*out = NULL;
	if (path == NULL)
		return NW_ENOTFOUND;
	rc = stat_table_read(path, out, err);
	free(path);
	return rc;
}

int
stat_case_bytes(const struct stat_case *c, const char *input, char **bytes, size_t *n_bytes,
    struct stat_error *err)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", c->dir, input) < 0)
		return stat_fail(err, NW_ENOMEM, "%s: %s", c->id, nw_strerror(NW_ENOMEM));
	rc = stat_file_read(path, bytes, n_bytes, err);
	free(path);
	return rc;
}

int
stat_case_json(const struct stat_case *c, const char *stem, json_t **out, struct stat_error *err)
{
	const char *input = stat_case_input(c, stem);
	json_error_t why;
	size_t n;
	char *bytes;
	int rc;

	*out = NULL;
	if (input == NULL)
		return NW_ENOTFOUND;
	if ((rc = stat_case_bytes(c, input, &bytes, &n, err)) != NW_OK)
		return rc;
	*out = json_loadb(bytes, n, JSON_DECODE_ANY, &why);
	free(bytes);
	if (*out == NULL)
		return stat_fail(err, NW_EPROTO, "%s/%s:%d:%d: %s", c->dir, input, why.line,
		    why.column, why.text);
	return NW_OK;
}

double
stat_case_number(const struct stat_case *c, const char *key, double dflt)
{
	const json_t *v = json_object_get(c->params, key);

	return json_is_number(v) ? json_number_value(v) : dflt;
}

bool
stat_case_bool(const struct stat_case *c, const char *key, bool dflt)
{
	const json_t *v = json_object_get(c->params, key);

	return json_is_boolean(v) ? json_is_true(v) : dflt;
}

const char *
stat_case_text(const struct stat_case *c, const char *key, const char *dflt)
{
	const json_t *v = json_object_get(c->params, key);

	return json_is_string(v) ? json_string_value(v) : dflt;
}
