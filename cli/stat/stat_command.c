/* SPDX-License-Identifier: BSD-3-Clause */
/* `narrows stat KIND [options] FILE ..`: options in, one document out. stat_kinds.c lists the
 * kinds; stat.h draws the way of a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat_args.h"
#include "cli/stat/stat_kinds.h"

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
	const struct stat_kind *k;

	fprintf(f,
	    "usage: narrows stat KIND [options] FILE\n"
	    "       narrows stat KIND --help\n\n"
	    "FILE is CSV with a header (empty, NA, NaN, Inf = missing), - for standard input, .gz "
	    ".xz .zst by name.\n"
	    "Prints tables for people; --csv and --cases (JSON) are for programs. Kinds:\n\n");
	for (k = stat_kinds; k->name != NULL || k->case_kind != NULL; k++)
		if (k->name != NULL)
			fprintf(f, "  %-12s %s\n", k->name, k->summary);
}

static void
print_kind_help(const struct stat_kind *k)
{
	printf("usage: narrows stat %s [options] FILE\n\n%s\n\n", k->name, k->summary);
	print_options(k->options);
	print_options(stat_common_options);
}

/* --- run --- */

/* The result's table, a new reference. */
static json_t *
table_of(const struct stat_kind *k, const json_t *doc)
{
	json_t *rows = k->csv == NULL ? NULL
	    : k->csv[0] == '\0'       ? (json_t *)(uintptr_t)doc
				      : json_object_get(doc, k->csv);

	return json_object_size(rows) > 0 || json_array_size(rows) > 0 ? json_incref(rows)
								       : stat_out_rows(doc);
}

/* The result as text; the caller frees. */
static char *
text_of(const struct stat_kind *k, enum stat_form form, const json_t *doc)
{
	json_t *rows;
	char *text;

	if (form == STAT_TABLE)
		return stat_text(doc, k->hide);
	if (form != STAT_CSV)
		return stat_out_text(doc, form == STAT_INDENTED);
	rows = table_of(k, doc);
	text = stat_out_csv(rows);
	json_decref(rows);
	return text;
}

static int
print_result(
    const struct stat_kind *k, enum stat_form form, const json_t *doc, struct stat_error *err)
{
	char *text = text_of(k, form, doc);

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
	enum stat_form form;
	json_t *doc = NULL;
	int rc;

	if ((rc = stat_arg_form(a, &form, err)) != NW_OK ||
	    (rc = stat_table_dialect(stat_arg(a, "sep"), stat_arg(a, "decimal"), err)) != NW_OK)
		return rc;
	if (a->n_files == 0 && !stat_arg_given(a, "paper"))
		return stat_fail(
		    err, NW_EINVAL, "no file given (see: narrows stat %s --help)", k->name);
	if ((rc = k->run(a, &doc, err)) == NW_OK)
		rc = print_result(k, form, doc, err);
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
	} else if ((rc = stat_args_parse(k, argc - 2, argv + 2, &a, &err)) == NW_OK) {
		if (stat_arg_given(&a, "help"))
			print_kind_help(k);
		else
			rc = run_kind(k, &a, &err);
	}
	if (rc != NW_OK)
		fprintf(stderr, "narrows: %s\n", err.text);
	stat_args_clear(&a);
	return rc == NW_OK ? 0 : rc == NW_ENOMEM ? 1 : 2;
}
