/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The labels of series, as Prometheus has them. Names of labels have letters, digits and '_' alone,
 * so label_clean() puts '_' in the place of every other byte. The keys of a subject are labels,
 * except under the names of a series' own labels.
 */
#ifndef STORE_LABEL_H
#define STORE_LABEL_H

#include <stdbool.h>

#include <sqlite3.h>

enum { LABEL_NAME_BYTES = 64 };

/* Puts '_' in the place of each byte that a name cannot have, and of a digit at the beginning.
 * `colon`: ':' may stay. */
void label_clean(char *name, bool colon);

/* Whether a name is that of a label that no subject has. Of these labels the table label has "host"
 * and "session". */
bool label_is_own(const char *name);

/* Name and value are on loan. Returns 0 to go on, or a negative code. */
typedef int label_fn(void *arg, const char *name, const char *value);
/*
 * The labels of a subject (a JSON object), in the order of its keys. Of keys with one clean name
 * the first is a label. Numbers and booleans have their text; objects, lists, null and "" no label.
 * Codes of fn, NW_ENOMEM.
 */
int label_of_subject(const char *subject_json, label_fn *fn, void *arg);

/* The labels of a metadata that lists count (schema.c, table label): "host", "session" and those of
 * the subject, each if not NULL or "". */
int label_of_metadata(
    const char *host, const char *session, const char *subject_json, label_fn *fn, void *arg);

/* narrows_labels(host, session, subject): the labels of label_of_metadata() as a JSON object, for
 * migrations and checks. SQLite's codes. */
int label_sql_register(sqlite3 *db);

#endif
