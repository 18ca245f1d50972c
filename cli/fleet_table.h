/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of a fleet as tables of texts. One thread. */
#ifndef FLEET_TABLE_H
#define FLEET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fleet_form { FORM_TABLE, FORM_CSV, FORM_JSON };

/* All zero but for the first two members before the first row. */
struct fleet_texts {
	/* whether a row is kept; NULL: all rows. The texts of a row as of fleet_table_fn */
	bool (*keeps)(int64_t after_ns, const char *const *texts);
	int64_t after_ns; /* time without a push until a site is silent */
	size_t n, n_rows; /* columns; rows, the names are the first */
	char **cells;     /* of all rows; NULL: no value */
	size_t cap;
};
/* A fleet_table_fn: adds a row. */
int fleet_texts_add(void *arg, size_t n, const char *const *texts);
/* The place of a column, or -1. */
int fleet_texts_column(const struct fleet_texts *t, const char *name);
/* Prints to stdout. */
void fleet_texts_print(const struct fleet_texts *t, enum fleet_form form);
void fleet_texts_clear(struct fleet_texts *t);

/* Rows of the report of sites: of a site that is silent; whose clock is not synchronised. */
bool fleet_is_silent(int64_t after_ns, const char *const *texts);
bool fleet_is_clockless(int64_t after_ns, const char *const *texts);

#endif
