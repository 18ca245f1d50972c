/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * narrows-result(5) and the JSON schema name every key of the result document. With -w the test
 * writes the tables of the manual anew.
 */
#include "narrows/result.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

static const char page_path[] = "web/narrows-result.5";
static const char begin[] = ".Sh OBJECTS\n", end[] = ".Sh STAGES\n";

static char *
file_text(const char *path)
{
	static char text[256 * 1024];
	FILE *f = fopen(path, "r");
	size_t n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

static const char *
kind_words(const struct result_key_info *k)
{
	static const char *const words[] = { [RESULT_TEXT] = "text",
		[RESULT_NUMBER] = "number",
		[RESULT_INTEGER] = "integer",
		[RESULT_FLAG] = "true or false",
		[RESULT_NS] = "text of digits",
		[RESULT_SCALAR] = "number or text",
		[RESULT_OBJECT] = "object",
		[RESULT_LIST] = "list of",
		[RESULT_TEXTS] = "list of texts",
		[RESULT_NUMBERS] = "list of numbers",
		[RESULT_TIMES] = "list of texts of digits",
		[RESULT_ROWS] = "list of lists of numbers or texts",
		[RESULT_MAP] = "object of free keys" };

	return words[k->kind];
}

static void
key_write(FILE *f, const struct result_key_info *k)
{
	fprintf(f, ".It Li %s No (%s", k->name, kind_words(k));
	if (k->child != OBJECT_none)
		fprintf(f, " %s", result_object_info(k->child)->name);
	if (k->unit[0] != '\0')
		fprintf(f, ", %s", k->unit);
	fprintf(f, ")\n%s\n", k->meaning);
}

/* The section OBJECTS of the manual. */
static char *
objects_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int i, k;

	fputs(begin, f);
	for (i = 0; i < OBJECT_none; i++) {
		const struct result_object_info *o = result_object_info((enum result_object)i);

		fprintf(f, ".Ss %s\n%s\n.Bl -tag -width Ds -compact\n", o->name, o->meaning);
		for (k = 0; k < RESULT_KEYS; k++)
			if ((int)result_key_info((enum result_key)k)->object == i)
				key_write(f, result_key_info((enum result_key)k));
		fputs(".El\n", f);
	}
	fputs(end, f);
	fclose(f);
	return text;
}

static void
page_write(const char *objects)
{
	char *page = file_text(page_path), *tail = strstr(page, end);
	FILE *f;

	if (tail == NULL || strstr(page, begin) == NULL || (f = fopen(page_path, "w")) == NULL) {
		fprintf(stderr, "%s cannot be written\n", page_path);
		exit(1);
	}
	fwrite(page, 1, (size_t)(strstr(page, begin) - page), f);
	fputs(objects, f);
	fputs(tail + strlen(end), f);
	fclose(f);
}

/* Every key of the table has a description in the schema, and every reference leads somewhere. */
static void
test_schema(void)
{
	json_t *schema = result_schema(), *defs = json_object_get(schema, "$defs"), *key;
	const struct result_key_info *info;
	int k;

	CHECK_INT(json_object_size(defs), OBJECT_none);
	for (k = 0; k < RESULT_KEYS; k++) {
		info = result_key_info((enum result_key)k);
		CHECK_STR(info->name, result_key_name((enum result_key)k));
		key = json_object_get(
		    json_object_get(json_object_get(defs, result_object_info(info->object)->name),
			"properties"),
		    info->name);
		CHECK_STR(json_string_value(json_object_get(key, "description")), info->meaning);
		CHECK_INT(info->child != OBJECT_none,
		    info->kind == RESULT_OBJECT || info->kind == RESULT_LIST);
		CHECK((info->kind == RESULT_NUMBER) <=
		    (info->unit[0] != '\0' || strstr(info->meaning, "of the") != NULL ||
			strstr(info->meaning, "per unit") != NULL));
	}
	json_decref(schema);
}

int
main(int argc, char **argv)
{
	char *objects = objects_text();

	if (argc > 1 && strcmp(argv[1], "-w") == 0) {
		page_write(objects);
		free(objects);
		return 0;
	}
	CHECK(strstr(file_text(page_path), objects) != NULL); /* else: test_result_schema -w */
	free(objects);
	test_schema();
	return check_done("test_result_schema");
}
