/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/utf8.h"

/* A series may lack some of these labels, and a subject takes the place of none. */
static const char *const own[] = { "__name__", "host", "session", "event_type", "field",
	"series_id" };

void
label_clean(char *name, bool colon)
{
	size_t i;

	for (i = 0; name[i] != '\0'; i++)
		if (!isalnum((unsigned char)name[i]) && !(colon && name[i] == ':'))
			name[i] = '_';
	if (isdigit((unsigned char)name[0]))
		name[0] = '_';
}

bool
label_is_own(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(own[i], name) == 0)
			return true;
	return false;
}

static bool
name_of(const char *key, char name[LABEL_NAME_BYTES])
{
	if (strlen(key) >= LABEL_NAME_BYTES || key[0] == '\0')
		return false;
	strcpy(name, key);
	label_clean(name, false);
	return !label_is_own(name);
}

static bool
has_value(const json_t *v)
{
	return json_is_string(v) ? json_string_length(v) > 0
				 : json_is_number(v) || json_is_boolean(v);
}

static int
one(label_fn *fn, void *arg, const char *name, const json_t *v)
{
	if (json_is_string(v))
		return fn(arg, name, json_string_value(v));
	if (json_is_integer(v))
		return fn(arg, name, fmt_int(json_integer_value(v)).s);
	if (json_is_real(v))
		return fn(arg, name, fmt_exact(json_real_value(v)).s);
	return fn(arg, name, json_is_true(v) ? "true" : "false");
}

int
label_of_subject(const char *subject_json, label_fn *fn, void *arg)
{
	json_error_t error = { .text = "" };
	json_t *subject = json_loads(subject_json, 0, &error), *taken = json_object(), *v;
	char name[LABEL_NAME_BYTES];
	const char *key;
	int rc = taken != NULL ? NW_OK : NW_ENOMEM;

	/* without memory within a string the parser finds a fault of the text: look again */
	if (subject == NULL)
		subject = json_loads(subject_json, 0, &error);
	/* other faults have a text */
	if (subject == NULL &&
	    (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory))
		rc = NW_ENOMEM;

	json_object_foreach(subject, key, v)
	{
		if (rc != NW_OK || !has_value(v) || !name_of(key, name) ||
		    json_object_get(taken, name) != NULL)
			continue;
		rc = json_object_set_new(taken, name, json_true()) == 0 ? one(fn, arg, name, v)
									: NW_ENOMEM;
	}
	json_decref(taken);
	json_decref(subject);
	return rc;
}

int
label_of_metadata(
    const char *host, const char *session, const char *subject_json, label_fn *fn, void *arg)
{
	int rc = NW_OK;

	if (host != NULL && *host != '\0' && utf8_whole(host))
		rc = fn(arg, "host", host);
	if (rc == NW_OK && session != NULL)
		rc = fn(arg, "session", session);
	return rc == NW_OK && subject_json != NULL ? label_of_subject(subject_json, fn, arg) : rc;
}

/* --- in SQL --- */

static int
on_label(void *arg, const char *name, const char *value)
{
	return json_object_set_new(arg, name, json_string(value)) == 0 ? NW_OK : NW_ENOMEM;
}

static void
on_labels(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	json_t *labels = json_object();
	const char *of[3];
	char *text = NULL;
	int i, rc = labels != NULL ? NW_OK : NW_ENOMEM;

	for (i = 0; i < argc; i++)
		if ((of[i] = (const char *)sqlite3_value_text(argv[i])) == NULL &&
		    sqlite3_value_type(argv[i]) != SQLITE_NULL)
			rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = label_of_metadata(of[0], of[1], of[2], on_label, labels);
	if (rc == NW_OK && (text = json_dumps(labels, JSON_COMPACT)) != NULL)
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_error_nomem(ctx);
	free(text);
	json_decref(labels);
}

int
label_sql_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "narrows_labels", 3,
	    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, on_labels, NULL, NULL,
	    NULL);
}
