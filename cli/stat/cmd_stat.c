/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat KIND [options] FILE ..`: options in, one document out. The kinds themselves are
 * elsewhere; see stat.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

static const struct stat_option common_options[] = { { "pretty", NULL, "indent the JSON" },
	{ "csv", NULL, "print the result's table as CSV instead, where there is one" },
	{ "better", NULL, "better defaults than the papers', where there are any" },
	{ "help", NULL, "this text" }, { NULL, NULL, NULL } };

struct given {
	const char *name, *value; /* value NULL: a switch */
};

struct stat_args {
	size_t n_given, n_files;
	struct given *given;
	const char **files;
};

/* --- kinds --- */

static const struct stat_kind *const kind_tables[] = { stat_series_kinds, stat_linear_kinds };

/* The next kind of all tables after `k`, which starts as NULL; NULL after the last. */
static const struct stat_kind *
next_kind(const struct stat_kind *k, size_t *table)
{
	if (k == NULL) {
		*table = 0;
		k = kind_tables[0];
	} else {
		k++;
	}
	while (k->name == NULL && k->case_kind == NULL) {
		if (++*table == sizeof(kind_tables) / sizeof(kind_tables[0]))
			return NULL;
		k = kind_tables[*table];
	}
	return k;
}

const struct stat_kind *
stat_kind_find(const char *name)
{
	const struct stat_kind *k = NULL;
	size_t table;

	while ((k = next_kind(k, &table)) != NULL)
		if (k->name != NULL && strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

const struct stat_kind *
stat_kind_find_case(const char *case_kind)
{
	const struct stat_kind *k = NULL;
	size_t table;

	while ((k = next_kind(k, &table)) != NULL)
		if (k->case_kind != NULL && strcmp(k->case_kind, case_kind) == 0)
			return k;
	return NULL;
}

/* --- options --- */

const char *
stat_arg(const struct stat_args *a, const char *name)
{
	size_t i;

	for (i = 0; i < a->n_given; i++)
		if (strcmp(a->given[i].name, name) == 0)
			return a->given[i].value;
	return NULL;
}

bool
stat_arg_given(const struct stat_args *a, const char *name)
{
	size_t i;

	for (i = 0; i < a->n_given; i++)
		if (strcmp(a->given[i].name, name) == 0)
			return true;
	return false;
}

int
stat_arg_number(const struct stat_args *a, const char *name, double min, double max, double *out,
    struct stat_error *err)
{
	const char *s = stat_arg(a, name);
	double v;

	if (s == NULL)
		return NW_OK;
	if (!stat_number_parse(s, strlen(s), &v) || v < min || v > max)
		return stat_fail(err, NW_EINVAL, "--%s: \"%.40s\" is not a number from %g to %g",
		    name, s, min, max);
	*out = v;
	return NW_OK;
}

int
stat_arg_count(const struct stat_args *a, const char *name, size_t min, size_t max, size_t *out,
    struct stat_error *err)
{
	const char *s = stat_arg(a, name);
	double v;

	if (s == NULL)
		return NW_OK;
	if (!stat_number_parse(s, strlen(s), &v) || v < (double)min || v > (double)max ||
	    v != floor(v))
		return stat_fail(err, NW_EINVAL,
		    "--%s: \"%.40s\" is not a whole number from %zu to %zu", name, s, min, max);
	*out = (size_t)v;
	return NW_OK;
}

size_t
stat_arg_files(const struct stat_args *a, const char *const **files)
{
	*files = a->files;
	return a->n_files;
}

static const struct stat_option *
find_option(const struct stat_option *o, const char *name, size_t len)
{
	for (; o != NULL && o->name != NULL; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

/* One option at argv[*i]; moves *i behind it. */
static int
parse_option(const struct stat_kind *k, int argc, char **argv, int *i, struct stat_args *a,
    struct stat_error *err)
{
	const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value = NULL;
	size_t len = equals == NULL ? strlen(name) : (size_t)(equals - name);
	const struct stat_option *o = find_option(k->options, name, len);

	if (o == NULL && (o = find_option(common_options, name, len)) == NULL)
		return stat_fail(err, NW_EINVAL,
		    "unknown option \"%.60s\" (see: narrows stat %s --help)", argv[*i], k->name);
	if (stat_arg_given(a, o->name))
		return stat_fail(err, NW_EINVAL, "--%s: given twice", o->name);
	if (o->arg == NULL && equals != NULL)
		return stat_fail(err, NW_EINVAL, "--%s: takes no value", o->name);
	if (o->arg != NULL) {
		value = equals != NULL ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
		if (value == NULL)
			return stat_fail(
			    err, NW_EINVAL, "--%s: wants a value (%s)", o->name, o->arg);
	}
	a->given[a->n_given++] = (struct given){ o->name, value };
	++*i;
	return NW_OK;
}

static int
parse_args(
    const struct stat_kind *k, int argc, char **argv, struct stat_args *a, struct stat_error *err)
{
	int i = 0, rc;

	a->given = calloc((size_t)argc + 1, sizeof(*a->given));
	a->files = calloc((size_t)argc + 1, sizeof(*a->files));
	if (a->given == NULL || a->files == NULL)
		return stat_fail(err, NW_ENOMEM, "%s", nw_strerror(NW_ENOMEM));
	while (i < argc) {
		if (strcmp(argv[i], "--") == 0) {
			for (i++; i < argc; i++)
				a->files[a->n_files++] = argv[i];
		} else if (strncmp(argv[i], "--", 2) == 0) {
			if ((rc = parse_option(k, argc, argv, &i, a, err)) != NW_OK)
				return rc;
		} else if (strcmp(argv[i], "-h") == 0) {
			a->given[a->n_given++] = (struct given){ "help", NULL };
			i++;
		} else if (argv[i][0] == '-' && argv[i][1] != '\0') {
			return stat_fail(err, NW_EINVAL, "unknown option \"%.60s\"", argv[i]);
		} else {
			a->files[a->n_files++] = argv[i++];
		}
	}
	return NW_OK;
}

/* --- help --- */

static void
print_options(const struct stat_option *o)
{
	char left[40];

	for (; o != NULL && o->name != NULL; o++) {
		snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg != NULL ? " " : "",
		    o->arg != NULL ? o->arg : "");
		printf("  %-26s %s\n", left, o->help);
	}
}

static void
print_kinds(FILE *f)
{
	const struct stat_kind *k = NULL;
	size_t table;

	fprintf(f,
	    "usage: narrows stat KIND [options] FILE\n"
	    "       narrows stat KIND --help\n\n"
	    "FILE is CSV with a header (empty, NA, NaN, Inf = missing), - for standard input, .gz "
	    ".xz .zst by name.\n"
	    "Prints one JSON object. Kinds:\n\n");
	while ((k = next_kind(k, &table)) != NULL)
		if (k->name != NULL)
			fprintf(f, "  %-12s %s\n", k->name, k->summary);
}

static void
print_kind_help(const struct stat_kind *k)
{
	printf("usage: narrows stat %s [options] FILE\n\n%s\n\n", k->name, k->summary);
	print_options(k->options);
	print_options(common_options);
}

/* --- run --- */

/* The result's table, on loan; NULL: it has none. */
static const json_t *
table_of(const struct stat_kind *k, const json_t *doc)
{
	const json_t *rows = k->csv == NULL ? NULL
	    : k->csv[0] == '\0'             ? doc
					    : json_object_get(doc, k->csv);

	return json_is_object(rows) || json_is_array(rows) ? rows : NULL;
}

static int
print_result(
    const struct stat_kind *k, const struct stat_args *a, const json_t *doc, struct stat_error *err)
{
	const json_t *rows = NULL;
	bool csv = stat_arg_given(a, "csv");
	char *text;

	if (csv && (rows = table_of(k, doc)) == NULL)
		return stat_fail(err, NW_EINVAL, "--csv: this result has no table");
	text = csv ? stat_out_csv(rows) : stat_out_text(doc, stat_arg_given(a, "pretty"));
	if (text == NULL)
		return stat_fail(err, NW_ENOMEM, "%s", nw_strerror(NW_ENOMEM));
	errno = 0;
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
		stat_fail(err, NW_EIO, "standard output: %s", strerror(errno));
	free(text);
	return err->text[0] == '\0' ? NW_OK : NW_EIO;
}

static int
run_kind(const struct stat_kind *k, const struct stat_args *a, struct stat_error *err)
{
	json_t *doc = NULL;
	int rc;

	if (a->n_files == 0)
		return stat_fail(
		    err, NW_EINVAL, "no file given (see: narrows stat %s --help)", k->name);
	if ((rc = k->run(a, &doc, err)) == NW_OK)
		rc = print_result(k, a, doc, err);
	json_decref(doc);
	return rc == NW_OK ? rc : stat_fail(err, rc, "%s", nw_strerror(rc));
}

int
cmd_stat(int argc, char **argv)
{
	struct stat_args a = { 0 };
	struct stat_error err = { "" };
	const struct stat_kind *k = NULL;
	int rc;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_kinds(argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	if ((k = stat_kind_find(argv[1])) == NULL) {
		stat_fail(
		    &err, NW_EINVAL, "unknown kind \"%.40s\" (see: narrows stat --help)", argv[1]);
		rc = NW_EINVAL;
	} else if ((rc = parse_args(k, argc - 2, argv + 2, &a, &err)) == NW_OK) {
		if (stat_arg_given(&a, "help"))
			print_kind_help(k);
		else
			rc = run_kind(k, &a, &err);
	}
	if (rc != NW_OK)
		fprintf(stderr, "narrows: %s\n", err.text);
	free(a.given);
	free(a.files);
	return rc == NW_OK ? 0 : rc == NW_ENOMEM ? 1 : 2;
}
