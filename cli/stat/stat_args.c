/* SPDX-License-Identifier: BSD-3-Clause */
/* The words behind `narrows stat KIND`: options by name, and files. */
#include "cli/stat/stat_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

const struct stat_option stat_common_options[] = {
	{ "csv", NULL, "print the result's table as CSV instead" },
	{ "cases", NULL, "print all there is, as one JSON object" },
	{ "pretty", NULL, "the same, indented" },
	{ "format", "WORD", "table, csv or json; -f for short" },
	{ "sep", "C", "what stands between fields: a character, or tab (,)" },
	{ "decimal", "C", "decimal mark of numbers; a comma implies --sep ';' (.)" },
	{ "faithful", NULL, "the published rules and constants instead of sound ones" },
	{ "better", NULL, "no effect: today's default" },
	{ "help", NULL, "this text" },
	{ NULL, NULL, NULL },
};

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

bool
stat_arg_sound(const struct stat_args *a)
{
	return !stat_arg_given(a, "faithful");
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

int
stat_arg_form(const struct stat_args *a, enum stat_form *out, struct stat_error *err)
{
	const char *word = stat_arg(a, "format");

	*out = stat_arg_given(a, "csv")   ? STAT_CSV
	    : stat_arg_given(a, "pretty") ? STAT_INDENTED
	    : stat_arg_given(a, "cases")  ? STAT_JSON
					  : STAT_TABLE;
	if (word == NULL)
		return NW_OK;
	if (strcmp(word, "csv") == 0)
		*out = STAT_CSV;
	else if (strcmp(word, "json") == 0)
		*out = *out == STAT_INDENTED ? STAT_INDENTED : STAT_JSON;
	else if (strcmp(word, "table") == 0)
		*out = STAT_TABLE;
	else
		return stat_fail(
		    err, NW_EINVAL, "--format: \"%.40s\" is not table, csv or json", word);
	return NW_OK;
}

bool
stat_arg_is_form(const struct stat_args *a, enum stat_form form)
{
	struct stat_error unused = { "" };
	enum stat_form f;

	return stat_arg_form(a, &f, &unused) == NW_OK && f == form;
}

static const struct stat_option *
find_option(const struct stat_option *o, const char *name, size_t len)
{
	for (; o != NULL && o->name != NULL; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

/* Takes the option at argv[*i] and its value; *i moves behind both. */
static int
parse_option(const struct stat_kind *k, int argc, char **argv, int *i, struct stat_args *a,
    struct stat_error *err)
{
	const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value = NULL;
	size_t len = equals == NULL ? strlen(name) : (size_t)(equals - name);
	const struct stat_option *o = find_option(k->options, name, len);

	if (o == NULL && (o = find_option(stat_common_options, name, len)) == NULL)
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
	a->given[a->n_given++] = (struct stat_given){ o->name, value };
	++*i;
	return NW_OK;
}

int
stat_args_parse(
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
		} else if (strcmp(argv[i], "-f") == 0 && i + 1 < argc) {
			a->given[a->n_given++] = (struct stat_given){ "format", argv[i + 1] };
			i += 2;
		} else if (strcmp(argv[i], "-h") == 0) {
			a->given[a->n_given++] = (struct stat_given){ "help", NULL };
			i++;
		} else if (argv[i][0] == '-' && argv[i][1] != '\0') {
			return stat_fail(err, NW_EINVAL, "unknown option \"%.60s\"", argv[i]);
		} else {
			a->files[a->n_files++] = argv[i++];
		}
	}
	return NW_OK;
}

void
stat_args_clear(struct stat_args *a)
{
	free(a->given);
	free(a->files);
	*a = (struct stat_args){ 0 };
}
